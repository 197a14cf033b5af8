// The same between threads.
// f reads *r; *r[24..28]
// g reads *r; *r[0..8]
// g ends panic
use std::sync::Arc;
#[unsafe(no_mangle)]
pub fn arc_f(r: &Arc<[u32; 4]>) -> u32 {
    r[2]
}
#[unsafe(no_mangle)]
pub fn arc_g(r: &Arc<u32>) -> usize {
    Arc::strong_count(r)
}
