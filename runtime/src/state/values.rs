//! Tells what a unit was called with: its arguments, and what it and its tests read. Only where `UNSEEN_VALUES` allows it.
//!
//! In: what the pass told of the unit, and its arguments, or its state if that is a few bytes. Out: two parts of the test's account, in
//! which the driver finds names for them.
//! It runs in a test, before that changes anything.

use super::fingerprint::State;
use super::pieces::{PIECES, Walk};
use crate::memory;
use crate::sandbox::{self, Part};
use crate::sys;
use crate::text::Text;
use unseen_abi::state::{StateRecord, Unit};

/// So many bytes are told.
const MOST_BYTES: usize = 4096;
/// So many bytes are read at once.
const STEP: usize = 64;

/// Tells all of it.
///
/// # Safety
/// The record is what the pass wrote, and its module stays.
pub unsafe fn tell(record: &StateRecord, number: u32, arguments: &[u64]) {
    sandbox::tell(Part::Arguments, |text| arguments.iter().fold(text, |text, word| separate(text).hex(*word)));
    let Some(set) = number.checked_mul(2) else { return };
    let mut blocks = memory::Room::new();
    // SAFETY: the caller's promise.
    let mut walk = unsafe { Walk::new(record, arguments, &mut blocks) };
    sandbox::tell(Part::Values, |text| {
        let mut room = Room { text: Some(text), bytes: MOST_BYTES, pieces: PIECES };
        for n in 0..walk.places(set).unwrap_or(0) {
            // A place that can't be told is left out.
            let _ = walk.pieces(set, n, |start, length| room.put(n, start, length));
        }
        room.text.unwrap_or_else(|| Text::new(&mut []))
    });
}

/// Tells a state that is a few bytes: which parameters it begins with, and the bytes.
pub fn tell_state(unit: &Unit, state: State) {
    let bytes = match state {
        State::Narrow(state) => u128::from(state),
        State::Wide(state) => state,
    }
    .to_le_bytes();
    let bytes = bytes.get(..unit.exact as usize).unwrap_or_default();
    sandbox::tell(Part::Arguments, |text| text.hex(unit.params).bytes(b"=").hex_bytes(bytes));
}

/// A space behind what is there already.
fn separate(text: Text<'_>) -> Text<'_> {
    if text.length() > 0 { text.bytes(b" ") } else { text }
}

/// A text, and what still fits.
struct Room<'a> {
    text: Option<Text<'a>>,
    bytes: usize,
    pieces: usize,
}

impl Room<'_> {
    /// Tells a piece of memory of a place: its number, its bytes, `+` if there are more.
    fn put(&mut self, place: u32, start: usize, length: usize) -> Option<()> {
        self.pieces = self.pieces.checked_sub(1)?;
        let mut text = separate(self.text.take()?).decimal(place.into()).bytes(b":");
        let (process, told) = (sys::process_id(), length.min(self.bytes));
        let mut done = 0;
        while done < told {
            let mut words = [0_u64; STEP / 8];
            let wanted = (told - done).min(STEP);
            let n = sys::read_memory(process, start.wrapping_add(done), &mut words, wanted);
            text = words.iter().flat_map(|w| w.to_le_bytes()).take(n).fold(text, |text, b| text.hex_bytes(&[b]));
            done += n;
            if n < wanted {
                break;
            }
        }
        self.bytes -= done;
        self.text = Some(if done < length { text.bytes(b"+") } else { text });
        Some(())
    }
}
