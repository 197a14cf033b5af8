//! Written by the pass, read by the driver: which tests belong to which unit.

use super::Kind;
use crate::codec::{Damaged, Reader, Writer};
use crate::deps::Link;
use crate::records::{Error, Form};

/// The units of a module that have tests: one record per module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attachments {
    /// The id of the manifest that they belong to.
    pub id: [u8; 16],
    /// The units, in the order of [`super::StateRecord::list`].
    pub units: Vec<Attached>,
}

/// A unit with tests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attached {
    /// Index into the manifest's functions.
    pub function: u32,
    /// Its tests.
    pub tests: Vec<Test>,
    /// Why its tests always run; empty if the state decides.
    pub opaque: String,
    /// The places that its state has, in the order of its set in the program: an item among the `reads` of the unit or of one of its tests,
    /// in [`crate::deps::Deps::functions`].
    pub reads: Vec<Link>,
}

/// A test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Test {
    /// Index into the manifest's functions; the unit's own if its kind has no function.
    pub function: u32,
    pub kind: Kind,
}

/// How they are written.
const FORM: Form = Form { what: "list of tests", magic: *b"UNSEENUN", version: 2 };

impl Attachments {
    /// The record as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer(Vec::new());
        w.0.extend(self.id);
        w.list(&self.units, |w, u| {
            w.int(u64::from(u.function));
            w.list(&u.tests, |w, t| {
                w.int(u64::from(t.function));
                w.int(t.kind as u64);
            });
            w.text(&u.opaque);
            w.list(&u.reads, |w, l| {
                w.int(u64::from(l.function));
                w.int(u64::from(l.item));
            });
        });
        FORM.frame(w)
    }

    /// All records of a section.
    pub fn decode_all(bytes: &[u8]) -> Result<Vec<Attachments>, Error> {
        FORM.read_all(bytes, Attachments::decode)
    }

    fn decode(r: &mut Reader) -> Result<Attachments, Damaged> {
        let unit = |r: &mut Reader| {
            let function = r.int32()?;
            let test =
                |r: &mut Reader| Ok(Test { function: r.int32()?, kind: Kind::from_number(r.int()?).ok_or(Damaged)? });
            let tests = r.list(test)?;
            let opaque = r.text()?;
            let reads = r.list(|r| Ok(Link { function: r.int32()?, item: r.int32()? }))?;
            Ok(Attached { function, tests, opaque, reads })
        };
        Ok(Attachments { id: r.array()?, units: r.list(unit)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let unit = Attached {
            function: 3,
            tests: Kind::ALL.map(|kind| Test { function: 7, kind }).into(),
            opaque: "time".into(),
            reads: vec![Link { function: 2, item: 300 }],
        };
        let all = Attachments { id: [9; 16], units: vec![unit, Attached::default()] };
        let bytes = [all.encode(), Attachments::default().encode()].concat();
        assert_eq!(Attachments::decode_all(&bytes).unwrap(), [all, Attachments::default()]);
        assert!(Attachments::decode_all(&bytes[..bytes.len() - 1]).is_err());
    }
}
