// An atomic counter reads and writes.
// f reads COUNT.v.value
// f writes COUNT.v.value
use std::sync::atomic::{AtomicU32, Ordering};
static COUNT: AtomicU32 = AtomicU32::new(0);
#[unsafe(no_mangle)]
pub fn atomic_f() -> u32 { COUNT.fetch_add(1, Ordering::Relaxed) }
