// An enum without a tag of its own: the pointer, or the number that can't be zero, tells.
// f reads r; r[0..4]
// g reads n
// h reads *e; *e[0..4]
use std::num::NonZero;
#[unsafe(no_mangle)]
pub fn niche_f(r: Option<&u32>) -> u32 {
    r.map_or(0, |r| *r)
}
#[unsafe(no_mangle)]
pub fn niche_g(n: Option<NonZero<u32>>) -> u32 {
    n.map_or(9, |n| n.get())
}
pub enum Either {
    None,
    Text(Box<u32>),
}
#[unsafe(no_mangle)]
pub fn niche_h(e: &Either) -> u32 {
    match e {
        Either::None => 0,
        Either::Text(text) => **text,
    }
}
