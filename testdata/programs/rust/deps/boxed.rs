// Memory that was just allocated is nobody's state.
// f reads x
// f ends panic
#[inline(never)]
fn boxed(x: u32) -> Box<u32> { Box::new(x) }
#[unsafe(no_mangle)]
pub fn boxed_f(x: u32) -> u32 { *boxed(x) }
