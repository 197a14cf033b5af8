//! Where LLVM comes in: the plugin's entry point and what the shim asks.

use crate::emit;
use crate::instrument::cover::Loops;
use crate::instrument::off;
use crate::llvm::{Function, Module};
use crate::options::{self, Options};
use std::ffi::{c_char, c_int, c_void};

/// `LLVM_PLUGIN_API_VERSION`, asserted by the shim.
const API_VERSION: u32 = 2;

/// LLVM's `PassPluginLibraryInfo`; size and offsets are asserted by the shim.
#[repr(C)]
pub struct PluginInfo {
    api_version: u32,
    name: *const c_char,
    version: *const c_char,
    register: unsafe extern "C" fn(*mut c_void),
    before_codegen: *const c_void,
}
const _: () = assert!(size_of::<PluginInfo>() == 40);
const _: () = assert!(std::mem::offset_of!(PluginInfo, register) == 24);

unsafe extern "C" {
    fn unseen_shim_register(pass_builder: *mut c_void);
}

/// Called by `ld.lld --load-pass-plugin`, `opt -load-pass-plugin` and `clang -fpass-plugin`.
#[unsafe(no_mangle)]
pub extern "C" fn llvmGetPassPluginInfo() -> PluginInfo {
    PluginInfo {
        api_version: API_VERSION,
        name: c"unseen".as_ptr(),
        version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
        register: unseen_shim_register,
        before_codegen: std::ptr::null(),
    }
}

/// Tells the driver which version of the abi this plugin speaks.
#[unsafe(no_mangle)]
pub static unseen_pass_abi_v1: u32 = unseen_abi::ABI_VERSION;

// What `opt` may be asked for. The shim knows these numbers.
const NONE: c_int = -1;
const COVER: c_int = 0;
const PRINT: c_int = 1;
const LINK: c_int = 2;
const SETTLE: c_int = 3;
const LAST: c_int = 4;
const PROBES: c_int = 5;
const DEPS: c_int = 6;
const TRACES: c_int = 7;

/// The step with that pipeline name.
///
/// # Safety
/// `name` points to `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn unseen_pass_step(name: *const u8, length: usize) -> c_int {
    // SAFETY: see above.
    match unsafe { std::slice::from_raw_parts(name, length) } {
        b"unseen-cover" => COVER,
        b"unseen-print" => PRINT,
        b"unseen-link" => LINK,
        b"unseen-probes" => PROBES,
        b"unseen-settle" => SETTLE,
        b"unseen-last" => LAST,
        b"unseen-deps" => DEPS,
        b"unseen-traces" => TRACES,
        _ => NONE,
    }
}

/// Drops probes of a function that say nothing new. Returns whether there were any.
///
/// # Safety
/// `function` is a valid function of this process's LLVM.
#[unsafe(no_mangle)]
unsafe extern "C" fn unseen_pass_drop_repeats(function: *mut c_void) -> bool {
    // SAFETY: see above.
    crate::drop_repeats(unsafe { Function::from_raw(function.cast()) })
}

/// Whether hooks of the module are behind gates.
///
/// # Safety
/// `module` is a valid module of this process's LLVM.
#[unsafe(no_mangle)]
unsafe extern "C" fn unseen_pass_has_gates(module: *mut c_void) -> bool {
    // SAFETY: see above.
    crate::has_gates(unsafe { Module::from_raw(module.cast()) })
}

/// What [`off`] marks functions with.
#[unsafe(no_mangle)]
extern "C" fn unseen_pass_off_attribute(length: &mut usize) -> *const u8 {
    text(off::ATTRIBUTE, length)
}

/// The name of the counters.
#[unsafe(no_mangle)]
extern "C" fn unseen_pass_counters(length: &mut usize) -> *const u8 {
    text(emit::COUNTERS, length)
}

/// The name of the epoch.
#[unsafe(no_mangle)]
extern "C" fn unseen_pass_epoch(length: &mut usize) -> *const u8 {
    text(emit::EPOCH, length)
}

/// The name of the units' gates.
#[unsafe(no_mangle)]
extern "C" fn unseen_pass_gates(length: &mut usize) -> *const u8 {
    text(emit::STATE_GATES, length)
}

/// The name of the function that probes call.
#[unsafe(no_mangle)]
extern "C" fn unseen_pass_probe(length: &mut usize) -> *const u8 {
    text(emit::PROBE, length)
}

fn text(text: &'static str, length: &mut usize) -> *const u8 {
    *length = text.len();
    text.as_ptr()
}

/// Whether the pass runs in the compiler, on one translation unit.
#[unsafe(no_mangle)]
extern "C" fn unseen_pass_per_unit() -> bool {
    options::per_unit(environment)
}

/// A compiler runs its pipeline with the plugin in it, and nobody asked for the pass.
#[unsafe(no_mangle)]
extern "C" fn unseen_pass_warn_alone() {
    eprintln!(
        "unseen-pass: warning: nothing is instrumented: the plugin works for unseen-clang, unseen-clang++ and \
         unseen-rustc, not by itself; compile with one of these"
    );
}

/// The level of the pipeline that follows the pass at link time.
#[unsafe(no_mangle)]
extern "C" fn unseen_pass_level() -> c_int {
    c_int::from(options::level(environment))
}

/// Runs a step. `COVER` does all that there is to do to a module that is not optimised; `LINK` (`PROBES` without what the shim adds
/// behind it), `SETTLE` and `LAST` come before, in the middle of and after its optimisation.
///
/// # Safety
/// `module` is a valid module of this process's LLVM.
#[unsafe(no_mangle)]
unsafe extern "C" fn unseen_pass_run(module: *mut c_void, step: c_int) -> bool {
    std::panic::set_hook(Box::new(|info| {
        eprintln!("unseen-pass: internal error: {info}\nunseen-pass: please report it with the command that failed");
    }));
    let options = Options::read(environment).unwrap_or_else(|invalid| {
        eprintln!("unseen-pass: error: {}", invalid.0);
        std::process::exit(2);
    });
    // SAFETY: the shim passes LLVM's own reference.
    let module = unsafe { Module::from_raw(module.cast()) };
    match step {
        COVER => {
            let changed = crate::run(module, &options, false);
            if changed {
                crate::settle(module, Loops::Leave);
            }
            changed
        }
        LINK | PROBES => crate::run(module, &options, true),
        SETTLE => crate::settle(module, Loops::Copy),
        LAST => crate::last(module),
        PRINT => {
            print!("{}", crate::analysis::plan(&module.functions(), &options));
            false
        }
        DEPS => {
            let mut sources = crate::analysis::sources::Sources::default();
            print!("{}", crate::analysis::deps::analyse(module, &module.functions(), &options, &mut sources));
            false
        }
        _ => unreachable!("the shim asks for steps that it got from here"),
    }
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
