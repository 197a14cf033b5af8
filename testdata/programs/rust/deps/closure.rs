// What a closure has captured is the caller's.
// f reads x; y
#[inline(never)]
fn twice(g: impl Fn(u32) -> u32) -> u32 { g(g(1)) }
#[unsafe(no_mangle)]
pub fn closure_f(x: u32, y: u32) -> u32 { twice(|z| (x ^ y) ^ z) }
