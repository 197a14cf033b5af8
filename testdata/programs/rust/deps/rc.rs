// A counted value: reading it does not look at the counts, sharing it does.
// f reads *r; *r[20..24]
// g reads *r; *r[0..8]
use std::rc::Rc;
#[unsafe(no_mangle)]
pub fn rc_f(r: &Rc<(u32, u32)>) -> u32 {
    r.1
}
#[unsafe(no_mangle)]
pub fn rc_g(r: &Rc<u32>) -> usize {
    Rc::strong_count(r)
}
