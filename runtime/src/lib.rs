//! The runtime that rides in every instrumented program.
#![cfg_attr(not(test), no_std)]
#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
