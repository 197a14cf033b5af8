// A slice of slices: the inner pointers and lengths, and what they lead to.
// f reads *s.data_ptr[*].data_ptr; s.data_ptr; s.data_ptr[0..s.length*16]; s.length
// f ends panic
#[unsafe(no_mangle)]
pub fn slices_f(s: &[&[u32]]) -> u32 {
    let mut sum = 0u32;
    for inner in s {
        sum = sum.wrapping_add(inner[0]);
    }
    sum
}
