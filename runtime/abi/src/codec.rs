//! How plain data becomes bytes and comes back: integers as LEB128, strings and lists with their length in front.
//! Used by all [`crate::records`]; reading never panics and never allocates for a lie.

/// The bytes end too early, or contradict themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Damaged;

/// Bytes being written.
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    pub fn int(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.0.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.0.push(v as u8);
    }

    pub fn signed(&mut self, v: i64) {
        self.int(((v << 1) ^ (v >> 63)) as u64);
    }

    pub fn text(&mut self, s: &str) {
        self.int(s.len() as u64);
        self.0.extend(s.as_bytes());
    }

    pub fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Writer, &T)) {
        self.int(items.len() as u64);
        for item in items {
            each(self, item);
        }
    }
}

/// Bytes being read.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Damaged> {
        let (head, rest) = self.0.split_at_checked(n).ok_or(Damaged)?;
        self.0 = rest;
        Ok(head)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        Ok(self.take(N)?.try_into().expect("N bytes were taken"))
    }

    pub fn int(&mut self) -> Result<u64, Damaged> {
        let mut v = 0u64;
        for shift in (0..64).step_by(7) {
            let [b] = self.array()?;
            v |= u64::from(b & 0x7f) << shift;
            if b < 0x80 {
                return Ok(v);
            }
        }
        Err(Damaged)
    }

    pub fn int32(&mut self) -> Result<u32, Damaged> {
        u32::try_from(self.int()?).map_err(|_| Damaged)
    }

    pub fn signed(&mut self) -> Result<i64, Damaged> {
        let v = self.int()?;
        Ok((v >> 1) as i64 ^ -((v & 1) as i64))
    }

    pub fn text(&mut self) -> Result<String, Damaged> {
        let len = self.int()? as usize;
        String::from_utf8(self.take(len)?.to_vec()).map_err(|_| Damaged)
    }

    pub fn list<T>(&mut self, mut each: impl FnMut(&mut Reader<'a>) -> Result<T, Damaged>) -> Result<Vec<T>, Damaged> {
        let len = self.int()? as usize;
        // Every element takes at least a byte: a longer list is a lie, and must not be allocated for.
        if len > self.0.len() {
            return Err(Damaged);
        }
        (0..len).map(|_| each(self)).collect()
    }

    pub fn optional<T>(
        &mut self,
        each: impl FnMut(&mut Reader<'a>) -> Result<T, Damaged>,
    ) -> Result<Option<T>, Damaged> {
        let mut list = self.list(each)?;
        if list.len() > 1 { Err(Damaged) } else { Ok(list.pop()) }
    }
}
