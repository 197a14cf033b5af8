//! Files with what was counted for each unit of a module: one per process and module, mapped by the runtime, read by the driver. A
//! page of [`Header`], then for each unit as many words as the [`Form`] says. All numbers are little-endian.

/// What such a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// Of the file's name.
    pub extension: &'static str,
    /// Its first bytes.
    pub magic: [u8; 8],
    /// Version of its layout.
    pub version: u32,
    /// Words per unit.
    pub words: usize,
}

/// Where the words begin.
pub const START: usize = 4096;

/// The first page of the file.
#[repr(C)]
#[derive(Clone)]
pub struct Header {
    /// [`Form::magic`], written last.
    pub magic: [u8; 8],
    /// [`Form::version`].
    pub version: u32,
    /// The process that made it; its children go on with it.
    pub pid: u32,
    /// The module.
    pub id: [u8; 16],
    /// How many units there are.
    pub units: u32,
    /// How many bytes of `path` are used.
    pub path_len: u32,
    /// The file the module was loaded from.
    pub path: [u8; START - 40],
}

const _: () = assert!(core::mem::size_of::<Header>() == START);

impl Form {
    /// Size of the file for so many units.
    pub const fn file_size(&self, units: u32) -> u64 {
        START as u64 + (units as u64 * self.words as u64 * 8).next_multiple_of(4096)
    }
}
