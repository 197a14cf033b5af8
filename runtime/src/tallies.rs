//! The file with what was counted for each unit of a module: mapped, so that it survives any end of the process. Children go on
//! with their parent's.

use crate::run::Run;
use crate::scratch::Scratch;
use crate::sys::{self, Errno, File, Open, Result};
use crate::text::Text;
use core::sync::atomic::{AtomicU64, Ordering};
use unseen_abi::tallies::{Form, Header, START};

/// The counts of a module.
#[derive(Clone, Copy)]
pub struct Tallies {
    words: *const AtomicU64,
    units: u32,
    /// Per unit.
    count: usize,
}

/// The module whose units are counted.
pub struct Module<'a> {
    pub id: &'a [u8; 16],
    pub units: u32,
    /// The file it was loaded from.
    pub path: &'a [u8],
}

// SAFETY: only atomics, in memory that is never unmapped.
unsafe impl Send for Tallies {}
// SAFETY: as above.
unsafe impl Sync for Tallies {}

impl Tallies {
    /// Adds to a word of a unit; returns what it was before.
    pub fn add(&self, unit: u32, word: impl Into<usize>, n: u64) -> u64 {
        self.word(unit, word.into()).map_or(0, |w| w.fetch_add(n, Ordering::Relaxed))
    }

    /// A word of a unit.
    pub fn get(&self, unit: u32, word: impl Into<usize>) -> u64 {
        self.word(unit, word.into()).map_or(0, |w| w.load(Ordering::Relaxed))
    }

    fn word(&self, unit: u32, word: usize) -> Option<&AtomicU64> {
        let index = unit as usize * self.count + word;
        // SAFETY: inside the mapping, which has these words for each unit.
        (unit < self.units && word < self.count).then(|| unsafe { &*self.words.add(index) })
    }

    /// Makes the file of a module in the run's directory, and maps it.
    pub fn create(run: &Run, form: &Form, module: &Module<'_>, scratch: &mut Scratch) -> Result<Tallies> {
        let Module { id, units, path } = *module;
        let size = form.file_size(units);
        if size > sys::file_size_limit() {
            return Err(Errno::TOO_BIG);
        }
        let file = open(run, form, id, scratch)?;
        file.allocate(size)?;
        // Room that is as long as a header; its bytes are put together one after another.
        let head = scratch.input.get_mut(..START).ok_or(Errno::INVALID)?;
        head.fill(0);
        let path_len = if path.len() <= START - core::mem::offset_of!(Header, path) { path.len() } else { 0 };
        let mut at = 0;
        for part in [
            &[0; 8][..],
            &form.version.to_le_bytes(),
            &sys::process_id().to_le_bytes(),
            id,
            &units.to_le_bytes(),
            &(path_len as u32).to_le_bytes(),
            path.get(..path_len).unwrap_or_default(),
        ] {
            for byte in part {
                if let Some(to) = head.get_mut(at) {
                    *to = *byte;
                }
                at += 1;
            }
        }
        file.write_at(head, 0)?;
        file.write_at(&form.magic, 0)?;
        let length = (size as usize) - START;
        if length == 0 {
            return Ok(Tallies { words: core::ptr::null(), units: 0, count: 0 });
        }
        let memory = sys::map_memory(length)?;
        // SAFETY: just mapped, whole pages.
        unsafe { file.map_over(memory, length, START)? };
        Ok(Tallies { words: memory.cast(), units, count: form.words })
    }
}

fn open(run: &Run, form: &Form, id: &[u8; 16], scratch: &mut Scratch) -> Result<File> {
    let mut time = sys::time();
    for _ in 0..16 {
        let [a, b, c, d, ..] = *id;
        let text = Text::new(&mut scratch.name).hex_bytes(&[a, b, c, d]).bytes(b"-");
        let text =
            text.decimal(sys::process_id().into()).bytes(b"-").hex(time).bytes(b".").bytes(form.extension.as_bytes());
        let name = text.finish().ok_or(Errno::NAME_TOO_LONG)?;
        match File::open(run.path(name, &mut scratch.path)?, Open::CreateNew) {
            Err(Errno::NO_ENTRY) => run.make_directory(run.is_new(), &mut scratch.path)?,
            Err(Errno::EXISTS) => time += 1,
            result => return result,
        }
    }
    Err(Errno::EXISTS)
}
