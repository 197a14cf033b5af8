//! Room to work in, for the time of one hook: fresh pages, not the stack.
//!
//! Hooks run on the program's stacks, and a thread's may be 16 KB small, a signal handler's smaller still. A static buffer
//! would need a lock, and a handler that interrupts its owner would wait for ever.

use crate::sys::{self, Result};
use core::ops::{Deref, DerefMut};
use core::ptr;
use unseen_abi::{counters::Header, event};

/// Longest path the kernel takes, with its NUL.
pub const PATH: usize = linux_raw_sys::general::PATH_MAX as usize;

/// The buffers. All zero at first; pages that are not used cost nothing.
#[repr(C)]
pub struct Scratch {
    /// The path of a file.
    pub path: [u8; PATH],
    /// A file name.
    pub name: [u8; 64],
    /// What is being read.
    pub input: [u8; 4 * PATH],
    /// The header of a counter file.
    pub header: Header,
    /// An event record: what a test printed, its stacks and its values are the longest.
    pub record: [u8; event::HEAD + 16 * PATH],
    /// Never written.
    pub zeros: [u8; 64 * 1024],
}

/// Scratch memory, given back when dropped.
pub struct Mapped(*mut Scratch);

impl Scratch {
    /// Fresh buffers.
    pub fn map() -> Result<Mapped> {
        sys::map_memory(size_of::<Scratch>()).map(|at| Mapped(at.cast()))
    }
}

impl Deref for Mapped {
    type Target = Scratch;
    fn deref(&self) -> &Scratch {
        // SAFETY: ours alone, page aligned, and all zero is a value of this type.
        unsafe { &*self.0 }
    }
}

impl DerefMut for Mapped {
    fn deref_mut(&mut self) -> &mut Scratch {
        // SAFETY: as above.
        unsafe { &mut *self.0 }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by us, with this size, and borrowed by nobody any more.
        unsafe { sys::unmap_memory(self.0.cast(), size_of::<Scratch>()) };
        self.0 = ptr::null_mut();
    }
}
