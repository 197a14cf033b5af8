//! How the number of states grows: now and then the log is told how many a test has met. Runs in the supervisor, so that no caller waits
//! for it.
//!
//! Each of the first 16 notes is told, then eight in each doubling: a curve with an error of at most an eighth, from a handful of records.

use super::Module;
use crate::scratch::Scratch;
use crate::{run, sink, sys};
use unseen_abi::event::Kind;
use unseen_abi::state::Tally;

/// Tells the log how many states there are, if the number of notes is one that is told.
pub fn tell(module: &Module, test: u32, notes: u64) {
    if !is_told(notes) {
        return;
    }
    let (Some(run), Ok(mut scratch)) = (run::decided(), Scratch::map()) else { return };
    let scratch = &mut *scratch;
    let states = module.tallies.get(test, Tally::Unseen);
    let _ = sink::append(run, Kind::States, &mut scratch.path, &mut scratch.record, |text| {
        let text = text.decimal(sys::time()).bytes(b"\0").decimal(module.maker.into()).bytes(b"\0");
        let text = text.hex_bytes(&module.id).bytes(b"\0").decimal(test.into()).bytes(b"\0");
        text.decimal(states)
    });
}

/// Whether only the first four binary digits of a number may be set.
fn is_told(number: u64) -> bool {
    let digits = u64::BITS - number.leading_zeros();
    number.trailing_zeros() >= digits.saturating_sub(4)
}

#[cfg(test)]
mod tests {
    use super::is_told;

    #[test]
    fn what_is_told_grows_with_the_logarithm() {
        let told: Vec<u64> = (1..=48).filter(|n| is_told(*n)).collect();
        assert_eq!(told[..16], (1..=16).collect::<Vec<_>>());
        assert_eq!(told[16..], [18, 20, 22, 24, 26, 28, 30, 32, 36, 40, 44, 48]);
        assert_eq!((1..=1_000_000).filter(|n| is_told(*n)).count(), 15 + 8 * 16);
    }
}
