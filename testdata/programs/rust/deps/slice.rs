// A slice: its length is looked at, an element is read, or a panic ends the call.
// f reads i; s.data_ptr[0..s.length*4]; s.length
// f ends panic
#[unsafe(no_mangle)]
pub fn slice_f(s: &[u32], i: usize) -> u32 { s[i] }
