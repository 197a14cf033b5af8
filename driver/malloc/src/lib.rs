//! The C library's allocation functions, done by mimalloc. `unseen-clang` preloads this library into the linker, which spends an
//! eighth of a link in the C library's own while it optimises. Programs never get it.

use libmimalloc_sys as mi;
use std::ffi::{c_int, c_void};

/// Defines functions of the C library by those of mimalloc that mean the same.
macro_rules! allocate {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $function:ident;)*) => {
        $(
            /// # Safety
            /// As in the C library.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: the caller keeps the C library's contract, which is that of the function called.
                unsafe { mi::$function($($argument),*) }
            }
        )*
    };
}

allocate! {
    malloc(size: usize) -> *mut c_void = mi_malloc;
    calloc(count: usize, size: usize) -> *mut c_void = mi_calloc;
    realloc(old: *mut c_void, size: usize) -> *mut c_void = mi_realloc;
    reallocarray(old: *mut c_void, count: usize, size: usize) -> *mut c_void = mi_reallocn;
    free(old: *mut c_void) = mi_free;
    posix_memalign(to: *mut *mut c_void, alignment: usize, size: usize) -> c_int = mi_posix_memalign;
    malloc_usable_size(of: *const c_void) -> usize = mi_usable_size;
}

/// The alignment comes first in C, and second in mimalloc.
///
/// # Safety
/// As in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: see above.
    unsafe { mi::mi_malloc_aligned(size, alignment) }
}

/// The old name of [`aligned_alloc`].
///
/// # Safety
/// As in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: see above.
    unsafe { mi::mi_malloc_aligned(size, alignment) }
}
