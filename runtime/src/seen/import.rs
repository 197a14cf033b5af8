//! Sets that `unseen seen import` left beside the live one. In: a directory with files of other stores ([`exported`]). Out: their states are
//! in the set, and the files are gone.
//!
//! A file is read twice: to see that it is whole, then to put its states in. It is removed when all of them are in, and not before:
//! whoever is killed meanwhile leaves it to the next process that starts. Several may be at it at once, since a state that is there is
//! not put in again. A file's name is its checksum: whoever writes one again that is just being removed loses nothing.
//!
//! Where the disk is full, a file waits for better times, so that no state is forgotten for another. A set that is full because it must
//! not be larger forgets, as always.

use super::{Refused, Seen};
use crate::sys::{self, Errno, File, Open};
use crate::text::Text;
use core::ffi::CStr;
use unseen_abi::seen::exported::{self, Checksum, Fault, HEAD, Head, NARROW, WIDE};

/// Room to work in: not on the stack, which may be small.
struct Room {
    path: [u8; linux_raw_sys::general::PATH_MAX as usize],
    /// As many bytes as 8, [`NARROW`] and [`WIDE`] divide.
    bytes: [u8; BYTES],
}
const BYTES: usize = 512 * 120;
const _: () = assert!(BYTES.is_multiple_of(8) && BYTES.is_multiple_of(NARROW) && BYTES.is_multiple_of(WIDE));

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Refused {
        match fault {
            Fault::Foreign => Refused::Foreign,
            Fault::Version(version) | Fault::SetVersion(version) => Refused::Version(version),
            Fault::Cut { .. } | Fault::Damaged => Refused::Corrupt,
        }
    }
}

impl Seen {
    /// Takes over all files of that directory that are of this build. Tells why one of them is left, if one is.
    #[cold]
    #[inline(never)]
    pub fn import(&self, directory: &CStr, id: &[u8; 16]) -> Result<(), Refused> {
        let listed = match File::open(directory, Open::Read) {
            Err(Errno::NO_ENTRY) => return Ok(()),
            result => result?,
        };
        let room = sys::map_memory(size_of::<Room>())?.cast::<Room>();
        // SAFETY: fresh, ours alone, page aligned; all zero is a value of this type.
        let Room { path, bytes } = unsafe { &mut *room };
        let mut result = Ok(());
        let all_named = sys::for_each_entry(&listed, |name| {
            let name = name.to_bytes();
            if name.starts_with(b".") {
                return;
            }
            let Some(path) = Text::new(path).bytes(directory.to_bytes()).bytes(b"/").bytes(name).path() else { return };
            match self.import_file(path, id, bytes) {
                Ok(()) => sys::remove(path),
                // Another process was faster.
                Err(Refused::System(Errno::NO_ENTRY)) => {}
                Err(why) => result = Err(why),
            }
        });
        // SAFETY: mapped above, and borrowed by nobody any more.
        unsafe { sys::unmap_memory(room.cast(), size_of::<Room>()) };
        drop(listed);
        sys::remove_directory(directory);
        match all_named {
            // Another process took the last one, and removed the directory under us.
            Ok(()) | Err(Errno::NO_ENTRY) => result,
            Err(why) => Err(why.into()),
        }
    }

    fn import_file(&self, path: &CStr, id: &[u8; 16], bytes: &mut [u8; BYTES]) -> Result<(), Refused> {
        let file = File::open(path, Open::Read)?;
        let mut raw = [0; HEAD];
        // SAFETY: our own array.
        unsafe { file.read_exact_at(raw.as_mut_ptr(), HEAD, 0) }.map_err(|_| Refused::Foreign)?;
        let head = Head::read(&raw, file.length()?)?;
        if head.id != *id {
            return Err(Refused::OtherBuild);
        }
        let (Some(middle), Some(end)) = (head.wide_start(), head.length()) else { return Err(Refused::Corrupt) };
        let mut sum = Checksum::new(&raw);
        for_each_part(&file, HEAD as u64, end, bytes, |part| {
            sum.add(part);
            Ok(())
        })?;
        if sum.value() != head.checksum {
            return Err(Refused::Corrupt);
        }
        for_each_part(&file, HEAD as u64, middle, bytes, |part| {
            part.as_chunks().0.iter().try_for_each(|key| self.import_one(exported::narrow(key)))
        })?;
        for_each_part(&file, middle, end, bytes, |part| {
            part.as_chunks().0.iter().try_for_each(|key| self.import_one(exported::wide(key)))
        })
    }

    #[inline(never)]
    fn import_one(&self, key: impl super::State) -> Result<(), Refused> {
        if self.narrow.memory.is_stuck() || self.wide.memory.is_stuck() {
            return Err(Refused::System(Errno::NO_SPACE));
        }
        self.insert(key);
        Ok(())
    }
}

/// Reads a file from one place to another.
fn for_each_part(
    file: &File,
    mut from: u64,
    to: u64,
    bytes: &mut [u8; BYTES],
    mut f: impl FnMut(&[u8]) -> Result<(), Refused>,
) -> Result<(), Refused> {
    while from < to {
        let length = (to - from).min(BYTES as u64) as usize;
        // SAFETY: not more than there is room for.
        unsafe { file.read_exact_at(bytes.as_mut_ptr(), length, from as usize) }?;
        f(bytes.get(..length).unwrap_or_default())?;
        from += length as u64;
    }
    Ok(())
}
