//! Written by the pass, read by the driver: the table of sites.

use crate::codec::{Damaged, Reader, Writer};
use crate::records::{Error, Form};

/// What the numbers mean that the runtime reports: one record per module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sites {
    /// The id of the manifest that they belong to.
    pub id: [u8; 16],
    /// The watched instructions.
    pub sites: Vec<Site>,
    /// The names of the variables of [`super::AccessRecord::sets`].
    pub variables: Vec<String>,
}

/// A watched instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// The function it stands in; index into the manifest's functions.
    pub function: u32,
    pub at: Option<crate::manifest::Place>,
}

/// How they are written.
const SITES: Form = Form { what: "table of sites", magic: *b"UNSEENST", version: 2 };

impl Sites {
    /// The record as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer(Vec::new());
        w.0.extend(self.id);
        w.list(&self.sites, |w, s| {
            w.int(u64::from(s.function));
            w.list(s.at.as_slice(), Writer::place);
        });
        w.list(&self.variables, |w, name| w.text(name));
        SITES.frame(w)
    }

    /// All records of a section.
    pub fn decode_all(bytes: &[u8]) -> Result<Vec<Sites>, Error> {
        SITES.read_all(bytes, Sites::decode)
    }

    fn decode(r: &mut Reader) -> Result<Sites, Damaged> {
        Ok(Sites {
            id: r.array()?,
            sites: r.list(|r| Ok(Site { function: r.int32()?, at: r.optional(Reader::place)? }))?,
            variables: r.list(Reader::text)?,
        })
    }
}
