//! Text put together in a fixed buffer: paths, names, payloads. What does not fit makes the whole text invalid.

use core::ffi::CStr;

/// A text under construction. Always followed by a NUL in its buffer.
pub struct Text<'a> {
    buffer: &'a mut [u8],
    length: usize,
    overflown: bool,
}

impl<'a> Text<'a> {
    /// An empty text.
    pub fn new(buffer: &'a mut [u8]) -> Text<'a> {
        Text { buffer, length: 0, overflown: false }
    }

    /// Appends bytes.
    pub fn bytes(mut self, bytes: &[u8]) -> Text<'a> {
        let end = self.length.saturating_add(bytes.len());
        // One byte is kept for the NUL.
        match self.buffer.get_mut(self.length..end.saturating_add(1)) {
            Some([room @ .., nul]) if room.len() == bytes.len() => {
                room.copy_from_slice(bytes);
                *nul = 0;
                self.length = end;
            }
            _ => self.overflown = true,
        }
        self
    }

    /// Appends a number.
    pub fn decimal(self, mut number: u64) -> Text<'a> {
        let mut digits = [0; 20];
        let mut used = 0;
        for place in digits.iter_mut().rev() {
            *place = b'0' + (number % 10) as u8;
            number /= 10;
            used += 1;
            if number == 0 {
                break;
            }
        }
        let unused = digits.len() - used;
        self.bytes(digits.get(unused..).unwrap_or_default())
    }

    /// Appends a number in hexadecimal.
    pub fn hex(self, number: u64) -> Text<'a> {
        let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
        (0..digits).rev().fold(self, |text, i| text.bytes(&[hex_digit((number >> (4 * i)) as u8)]))
    }

    /// Appends bytes as pairs of hexadecimal digits.
    pub fn hex_bytes(self, bytes: &[u8]) -> Text<'a> {
        bytes.iter().fold(self, |text, byte| text.bytes(&[hex_digit(byte >> 4), hex_digit(*byte)]))
    }

    /// How long it is so far.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The text, if all of it fitted.
    pub fn finish(self) -> Option<&'a [u8]> {
        if self.overflown { None } else { self.buffer.get(..self.length) }
    }

    /// The text as a path for the kernel, if all of it fitted and no NUL is inside.
    pub fn path(self) -> Option<&'a CStr> {
        if self.overflown {
            return None;
        }
        CStr::from_bytes_with_nul(self.buffer.get(..=self.length)?).ok()
    }
}

fn hex_digit(nibble: u8) -> u8 {
    match nibble & 15 {
        n @ 0..=9 => b'0' + n,
        n => b'a' + n - 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_leading_zeros() {
        let mut buffer = [0; 64];
        let text = Text::new(&mut buffer).decimal(0).bytes(b" ").decimal(u64::MAX).bytes(b" ").hex(0).bytes(b" ");
        assert_eq!(text.hex(0xab01).finish(), Some(&b"0 18446744073709551615 0 ab01"[..]));
    }

    #[test]
    fn bytes_in_hex_keep_their_leading_zeros() {
        assert_eq!(Text::new(&mut [0; 9]).hex_bytes(&[0x00, 0x0f, 0xf0, 0xff]).finish(), Some(&b"000ff0ff"[..]));
    }

    #[test]
    fn a_text_that_does_not_fit_is_no_text() {
        assert_eq!(Text::new(&mut [0; 4]).bytes(b"abc").finish(), Some(&b"abc"[..]));
        assert_eq!(Text::new(&mut [0; 4]).bytes(b"abcd").finish(), None);
        assert_eq!(Text::new(&mut [0; 4]).bytes(b"abcd").bytes(b"e").path(), None);
        assert_eq!(Text::new(&mut []).path(), None);
    }

    #[test]
    fn a_path_ends_in_nul_and_has_none_inside() {
        assert_eq!(Text::new(&mut [1; 4]).path(), None, "nothing was written, not even the NUL");
        assert_eq!(Text::new(&mut [1; 4]).bytes(b"").path(), Some(c""));
        assert_eq!(Text::new(&mut [1; 4]).bytes(b"ab").path(), Some(c"ab"));
        assert_eq!(Text::new(&mut [1; 4]).bytes(b"a\0").path(), None);
    }
}
