//! The memory functions that compiled Rust code may call at any place. Ours, so that the runtime works without libc
//! and never runs a function that the program has put in libc's place. Local to the runtime object.
//!
//! The loops are assembly or volatile: the compiler must not recognise them and replace them by calls of themselves.

use crate::arch;
use core::ptr::{read_volatile, write_volatile};

#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    // SAFETY: the contract of memcpy.
    unsafe { arch::copy_up(to, from, n) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    if to.addr().wrapping_sub(from.addr()) >= n {
        // SAFETY: the target does not begin inside the source.
        unsafe { arch::copy_up(to, from, n) };
    } else {
        for i in (0..n).rev() {
            // SAFETY: the contract of memmove; from high to low no byte is overwritten before it is read.
            unsafe { write_volatile(to.add(i), read_volatile(from.add(i))) };
        }
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, n: usize) -> *mut u8 {
    // SAFETY: the contract of memset.
    unsafe { arch::fill(to, byte as u8, n) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    for i in 0..n {
        // SAFETY: the contract of memcmp.
        let (x, y) = unsafe { (read_volatile(a.add(i)), read_volatile(b.add(i))) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    // SAFETY: the same contract.
    unsafe { memcmp(a, b, n) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const u8) -> usize {
    let mut n = 0;
    // SAFETY: the contract of strlen.
    while unsafe { read_volatile(text.add(n)) } != 0 {
        n += 1;
    }
    n
}
