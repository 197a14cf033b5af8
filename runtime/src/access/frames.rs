//! The frames of callers, found by following frame pointers: functions with hooks have one.
//!
//! Code without frame pointers may hold anything there. What is taken for a frame lies above the one before and has the address
//! behind a call instruction as its return address.

use crate::arch;
use crate::memory::{Memory, Room, WORD};

/// How many frames are looked for, and how large one may be.
const MOST: usize = 256;
const LARGEST: usize = 1 << 20;

/// Puts the frames above `frame` into the list, outermost first; returns how many.
pub fn above(frame: usize, list: &mut [usize]) -> usize {
    let mut room = Room::new();
    let mut memory = Memory::new(&mut room);
    let mut count = 0;
    let mut last = frame;
    while count < MOST.min(list.len()) {
        let Some(next) = memory.number(last, WORD) else { break };
        let next = next as usize;
        if next <= last || next - last > LARGEST || !next.is_multiple_of(WORD) {
            break;
        }
        let Some(back) = memory.number(next.wrapping_add(WORD), WORD) else { break };
        if !arch::follows_call(back as usize, |address, size| memory.number(address, size)) {
            break;
        }
        if let Some(place) = list.get_mut(count) {
            *place = next;
        }
        (count, last) = (count + 1, next);
    }
    let found = list.get_mut(..count).unwrap_or_default();
    for i in 0..count / 2 {
        if let Ok([a, b]) = found.get_disjoint_mut([i, count - 1 - i]) {
            core::mem::swap(a, b);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_frame_ends_the_list() {
        let mut list = [0; 8];
        let chain = [0_usize, 0, 0, 0];
        assert_eq!(above(chain.as_ptr().addr(), &mut list), 0);
        // A pointer upwards, but nothing behind it that anybody would return to.
        let mut chain = [0_usize; 4];
        chain[0] = chain.as_ptr().addr() + 2 * WORD;
        assert_eq!(above(chain.as_ptr().addr(), &mut list), 0);
        assert_eq!(above(8, &mut list), 0);
    }
}
