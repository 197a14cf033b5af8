//! How records stand in sections and files: magic, version, length, then the fields as [`crate::codec`] writes them. Several may
//! follow each other, with zero bytes between them.

use crate::codec::{Damaged, Reader, Writer};

/// A kind of record.
pub struct Form {
    /// What people call it.
    pub what: &'static str,
    /// Its first bytes.
    pub magic: [u8; 8],
    /// Version of its fields.
    pub version: u32,
}

/// Why bytes are no records of the kind that was looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// What they should be.
    pub what: &'static str,
    pub fault: Fault,
}

/// What is wrong with them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// They do not begin like one.
    NoMagic,
    /// A newer version of Unseen wrote them.
    Newer { version: u32, known: u32 },
    /// They end too early, or contradict themselves.
    Damaged,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = self.what;
        match self.fault {
            Fault::NoMagic => write!(f, "bytes that are no {what}"),
            Fault::Newer { version, known } => {
                write!(f, "{what} of version {version}, this build of Unseen reads up to {known}")
            }
            Fault::Damaged => write!(f, "damaged {what}"),
        }
    }
}
impl std::error::Error for Error {}

impl Form {
    /// For whoever finds that records contradict themselves, or can't be had whole.
    pub fn damaged(&self) -> Error {
        Error { what: self.what, fault: Fault::Damaged }
    }

    /// The whole record with these fields.
    pub(crate) fn frame(&self, fields: Writer) -> Vec<u8> {
        let length = (fields.0.len() as u64).to_le_bytes();
        [&self.magic[..], &self.version.to_le_bytes(), &length, &fields.0].concat()
    }

    /// All records in `bytes`; `fields` reads those of one. Zero bytes between them (alignment) are skipped.
    pub(crate) fn read_all<'a, T>(
        &self,
        bytes: &'a [u8],
        mut fields: impl FnMut(&mut Reader<'a>) -> Result<T, Damaged>,
    ) -> Result<Vec<T>, Error> {
        let mut out = Vec::new();
        let mut rest = bytes;
        while let Some(start) = rest.iter().position(|b| *b != 0) {
            let mut r = Reader(&rest[start..]);
            let record = self.read(&mut r, &mut fields).map_err(|fault| Error { what: self.what, fault })?;
            out.push(record);
            rest = r.0;
        }
        Ok(out)
    }

    fn read<'a, T>(
        &self,
        r: &mut Reader<'a>,
        fields: &mut impl FnMut(&mut Reader<'a>) -> Result<T, Damaged>,
    ) -> Result<T, Fault> {
        if r.take(8)? != self.magic {
            return Err(Fault::NoMagic);
        }
        let version = u32::from_le_bytes(r.array()?);
        if version > self.version {
            return Err(Fault::Newer { version, known: self.version });
        }
        let length = usize::try_from(u64::from_le_bytes(r.array()?)).map_err(|_| Damaged)?;
        Ok(fields(&mut Reader(r.take(length)?))?)
    }
}

impl From<Damaged> for Fault {
    fn from(Damaged: Damaged) -> Fault {
        Fault::Damaged
    }
}
