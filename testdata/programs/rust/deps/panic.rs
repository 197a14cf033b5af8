// A panic ends the call.
// f reads a; b
#[unsafe(no_mangle)]
pub fn panic_f(a: u32, b: u32) -> u32 {
    assert!(b != 0, "division by zero");
    a / b
}
