// A call through a trait object calls what stands at its place in the tables.
// f reads (*s.vtable)[3]; by; s.pointer[0..8]
pub trait Shape { fn skew(&self, by: u16) -> u64; }
pub struct One { pub a: u64 }
pub struct Two { pub b: u32, pub c: u64 }
impl Shape for One { fn skew(&self, _: u16) -> u64 { self.a } }
impl Shape for Two { fn skew(&self, by: u16) -> u64 { self.c ^ u64::from(by) } }
#[unsafe(no_mangle)]
pub fn trait_object_f(s: &dyn Shape, by: u16) -> u64 { s.skew(by) }
#[unsafe(no_mangle)]
pub fn trait_object_make(c: bool) -> Box<dyn Shape> {
    if c { Box::new(One { a: 1 }) } else { Box::new(Two { b: 1, c: 2 }) }
}
#[unsafe(no_mangle)]
pub extern "C" fn main() -> i32 { 0 }
