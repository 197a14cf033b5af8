// What is written through an exclusive reference is not what another reference finds.
// f reads *q
// f writes *p
#[unsafe(no_mangle)]
pub fn exclusive_f(p: &mut i32, q: &i32) -> i32 {
    *p = 1;
    *q + *p - 1
}
