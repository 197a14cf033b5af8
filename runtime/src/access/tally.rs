//! The file with what was counted for each unit of a module: mapped, so that it survives any end of the process. Children go on
//! with their parent's.

use crate::run::Run;
use crate::scratch::Scratch;
use crate::sys::{self, Errno, File, Open, Result};
use crate::text::Text;
use core::sync::atomic::{AtomicU64, Ordering};
use unseen_abi::access::{AccessRecord, EXTENSION, Header, MAGIC, TALLIES, TALLY_WORDS, Tally, VERSION, file_size};

/// The counts of a module.
#[derive(Clone, Copy)]
pub struct Tallies {
    words: *const AtomicU64,
    units: u32,
}

// SAFETY: only atomics, in memory that is never unmapped.
unsafe impl Send for Tallies {}
// SAFETY: as above.
unsafe impl Sync for Tallies {}

impl Tallies {
    /// Adds to a count; returns what it was before.
    pub fn add(&self, unit: u32, tally: Tally, n: u64) -> u64 {
        self.word(unit, tally).map_or(0, |w| w.fetch_add(n, Ordering::Relaxed))
    }

    /// A count.
    pub fn get(&self, unit: u32, tally: Tally) -> u64 {
        self.word(unit, tally).map_or(0, |w| w.load(Ordering::Relaxed))
    }

    fn word(&self, unit: u32, tally: Tally) -> Option<&AtomicU64> {
        let index = unit as usize * TALLY_WORDS + tally as usize;
        // SAFETY: inside the mapping, which has these words for each unit.
        (unit < self.units).then(|| unsafe { &*self.words.add(index) })
    }

    /// Makes the file of a module in the run's directory, and maps it.
    pub fn create(run: &Run, record: &AccessRecord, path: &[u8], scratch: &mut Scratch) -> Result<Tallies> {
        let size = file_size(record.units);
        if size > sys::file_size_limit() {
            return Err(Errno::TOO_BIG);
        }
        let file = open(run, record, scratch)?;
        file.allocate(size)?;
        // Room that is as long as a header; its bytes are put together one after another.
        let head = scratch.input.get_mut(..TALLIES).ok_or(Errno::INVALID)?;
        head.fill(0);
        let path_len = if path.len() <= TALLIES - core::mem::offset_of!(Header, path) { path.len() } else { 0 };
        let mut at = 0;
        for part in [
            &[0; 8][..],
            &VERSION.to_le_bytes(),
            &sys::process_id().to_le_bytes(),
            &record.id,
            &record.units.to_le_bytes(),
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
        file.write_at(&MAGIC, 0)?;
        let length = (size as usize) - TALLIES;
        if length == 0 {
            return Ok(Tallies { words: core::ptr::null(), units: 0 });
        }
        let memory = sys::map_memory(length)?;
        // SAFETY: just mapped, whole pages.
        unsafe { file.map_over(memory, length, TALLIES)? };
        Ok(Tallies { words: memory.cast(), units: record.units })
    }
}

fn open(run: &Run, record: &AccessRecord, scratch: &mut Scratch) -> Result<File> {
    let mut time = sys::time();
    for _ in 0..16 {
        let [a, b, c, d, ..] = record.id;
        let text = Text::new(&mut scratch.name).hex_bytes(&[a, b, c, d]).bytes(b"-");
        let text = text.decimal(sys::process_id().into()).bytes(b"-").hex(time).bytes(b".").bytes(EXTENSION.as_bytes());
        let name = text.finish().ok_or(Errno::NAME_TOO_LONG)?;
        match File::open(run.path(name, &mut scratch.path)?, Open::CreateNew) {
            Err(Errno::NO_ENTRY) => run.make_directory(run.is_new(), &mut scratch.path)?,
            Err(Errno::EXISTS) => time += 1,
            result => return result,
        }
    }
    Err(Errno::EXISTS)
}
