// A boxed trait object: what any of the program's methods at that place of the table reads.
// f reads (*b->vtable)[3]; b->pointer; b->pointer[0..8]; b->vtable
pub trait Shape {
    fn area(&self) -> u64;
}
pub struct Square(u64);
pub struct Disc {
    _name: u32,
    radius: u64,
}
impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0.wrapping_mul(self.0)
    }
}
impl Shape for Disc {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.radius.wrapping_mul(3)
    }
}
#[unsafe(no_mangle)]
pub fn box_dyn_f(b: &Box<dyn Shape>) -> u64 {
    b.area()
}
#[unsafe(no_mangle)]
pub fn box_dyn_made(square: bool) -> Box<dyn Shape> {
    if square { Box::new(Square(2)) } else { Box::new(Disc { _name: 0, radius: 3 }) }
}
