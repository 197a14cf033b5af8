//! The counter file: coverage of one module in one process.
//!
//! Written by the runtime, which maps it over the module's counters; read and merged by the driver.
//! One page of header, then one byte per counter: 0 not reached, anything else reached. The rest of the
//! last page is zero.

use crate::module::COUNTER_PAGE;

/// First bytes of every counter file.
pub const MAGIC: [u8; 8] = *b"UNSEENCV";
/// Version of this layout.
pub const VERSION: u32 = 1;
/// File name extension.
pub const EXTENSION: &str = "cov";
/// Where the counters begin.
pub const COUNTERS_OFFSET: usize = COUNTER_PAGE;
/// Longest path that fits into the header.
pub const MAX_PATH: usize = COUNTERS_OFFSET - 72;

/// The first page of a counter file. All numbers little-endian.
#[repr(C)]
#[derive(Clone)]
pub struct Header {
    /// [`MAGIC`], written last: a file without it was never finished.
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// The process.
    pub pid: u32,
    /// Its parent when the file was made.
    pub parent: u32,
    /// How many bytes of `path` are used.
    pub path_len: u32,
    /// The module, as in its [`crate::module::ModuleRecord`].
    pub id: [u8; 16],
    /// How many counters follow.
    pub counter_count: u64,
    /// Wall-clock time at which the file was made, in nanoseconds since 1970.
    pub time: u64,
    /// Zero.
    pub reserved: [u64; 2],
    /// The file the module was loaded from (executable or shared object).
    pub path: [u8; MAX_PATH],
}

const _: () = assert!(core::mem::size_of::<Header>() == COUNTERS_OFFSET);
const _: () = assert!(core::mem::offset_of!(Header, path) == 72);

/// Size of the file that holds `count` counters.
pub const fn file_size(count: u64) -> u64 {
    COUNTERS_OFFSET as u64 + count.next_multiple_of(COUNTER_PAGE as u64)
}
