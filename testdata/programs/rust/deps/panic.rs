// A panic ends the call: what its message, its hook and its counters read says nothing of calls that return.
// f reads a; b
// f ends panic
#[unsafe(no_mangle)]
pub fn panic_f(a: u32, b: u32) -> u32 {
    assert!(b != 0, "division by zero");
    a / b
}
