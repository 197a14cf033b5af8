// A slice whose elements are written: as many as it has.
// f reads s.data_ptr; s.length
// f writes s.data_ptr[0..s.length*8]
#[unsafe(no_mangle)]
pub fn slice_written_f(s: &mut [u64]) {
    for x in s {
        *x = 1;
    }
}
