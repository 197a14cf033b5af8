//! The hooks, from the one list in `unseen_abi`. Each is called if it is there.
//!
//! The references are weak, which Rust has no word for: a program of which nothing was instrumented has no runtime,
//! and must link all the same.

#![allow(dead_code, reason = "the list also has the hooks that only the pass calls")]

use unseen_abi::module::ModuleRecord;

macro_rules! rust_type {
    (void) => { () };
    (ptr) => { *const ModuleRecord };
    (i32) => { i32 };
}

/// The address of a symbol, null if nobody defines it.
#[cfg(target_arch = "x86_64")]
macro_rules! load_address {
    ($symbol:literal, $address:ident) => {
        core::arch::asm!(
            concat!(".weak ", $symbol),
            concat!("mov {}, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
            out(reg) $address,
            options(pure, nomem, nostack, preserves_flags),
        )
    };
}

/// The address of a symbol, null if nobody defines it.
#[cfg(target_arch = "aarch64")]
macro_rules! load_address {
    ($symbol:literal, $address:ident) => {
        core::arch::asm!(
            concat!(".weak ", $symbol),
            concat!("adrp {0}, :got:", $symbol),
            concat!("ldr {0}, [{0}, :got_lo12:", $symbol, "]"),
            out(reg) $address,
            options(pure, nomem, nostack, preserves_flags),
        )
    };
}

macro_rules! call_if_there {
    ($($(#[$doc:meta])* $constant:ident $name:ident $symbol:literal
        ($($param:ident: $ty:tt),*) -> $result:tt;)*) => {
        $($(#[$doc])*
        #[inline]
        pub fn $name($($param: rust_type!($ty)),*) -> Option<rust_type!($result)> {
            type Hook = extern "C" fn($(rust_type!($ty)),*) -> rust_type!($result);
            let address: *const ();
            // SAFETY: one load from the global offset table.
            unsafe { load_address!($symbol, address) };
            // SAFETY: null is None; otherwise it is the runtime's function of this type.
            let hook = unsafe { core::mem::transmute::<*const (), Option<Hook>>(address) };
            hook.map(|hook| hook($($param),*))
        })*
    };
}
unseen_abi::for_each_hook!(call_if_there);
