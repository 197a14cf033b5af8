// A field behind a reference.
// f reads s->y
pub struct S { pub x: i32, pub y: i32 }
#[unsafe(no_mangle)]
pub fn reference_f(s: &S) -> i32 { s.y }
