//! Objects that pointers point into, as far as a walk knows them.

use super::Walk;
use crate::access::objects::{self, Object};

/// How far an object may reach that nobody knows.
pub(super) const AROUND: usize = 16 << 10;

impl Walk<'_> {
    /// The object that a pointer points into, or just behind.
    pub(super) fn object(&self, pointer: usize) -> Span {
        let found = objects::find(pointer).or_else(|| objects::find(pointer.wrapping_sub(1)));
        if let Some(object) = found {
            return Span::of(&object);
        }
        self.stack(pointer).unwrap_or(Span {
            start: pointer.saturating_sub(AROUND),
            end: pointer.saturating_add(AROUND),
            is_guess: true,
        })
    }

    /// The frame that a pointer points into: from the top of the frame below to its own top.
    pub(super) fn stack(&self, pointer: usize) -> Option<Span> {
        let below = self.frames.iter().copied().filter(|f| *f <= pointer).max()?.max(self.frame);
        let above = self.frames.iter().copied().filter(|f| *f > pointer).min();
        let end = above.unwrap_or(pointer.saturating_add(AROUND));
        // The innermost frame is the unit's own: what lies below is nobody's.
        (pointer >= self.frame && (above.is_some() || pointer - below < AROUND)).then_some(Span {
            start: below,
            end,
            is_guess: false,
        })
    }
}

/// From where to where.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    end: usize,
    /// Nobody knows the object.
    pub(super) is_guess: bool,
}

impl Span {
    fn of(object: &Object) -> Span {
        Span { start: object.start, end: object.end(), is_guess: false }
    }

    pub(super) fn end(&self) -> usize {
        self.end.max(self.start)
    }
}

/// The addresses in an object that are `at` behind the pointer, or any number of strides away.
pub(super) fn every(object: &Span, pointer: usize, stride: u64, at: u64) -> impl Iterator<Item = usize> + use<> {
    let stride = (stride as usize).max(1);
    let anchor = pointer.wrapping_add(at as usize);
    let (start, end) = (object.start, object.end());
    // The lowest address that is not below the object and as far from the anchor as strides are.
    let first = match anchor.checked_sub(start) {
        Some(above) => start + above.checked_rem(stride).unwrap_or(0),
        None => anchor,
    };
    (first..end.max(first)).step_by(stride)
}
