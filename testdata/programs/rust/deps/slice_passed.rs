// A slice that is passed on: the callee's length is the caller's.
// f reads s.data_ptr; s.data_ptr[0..s.length*2]; s.length
#[unsafe(no_mangle)]
pub fn slice_passed_f(s: &[u16]) -> u16 { last(s) }

#[inline(never)]
fn last(s: &[u16]) -> u16 { s.iter().fold(0, |_, x| *x) }
