// A panic that is caught: what it read and wrote on its way was part of a call that returned.
// f opaque external; indirect-call; input; integer-to-pointer; limit; output; panic; process
// g reads a; b
// g ends panic
#[unsafe(no_mangle)]
pub fn caught_f(a: u32, b: u32) -> u32 {
    std::panic::catch_unwind(|| caught_g(a, b)).unwrap_or(0)
}

#[unsafe(no_mangle)]
pub fn caught_g(a: u32, b: u32) -> u32 {
    a.checked_div(b).expect("a divisor")
}
