//! The event log of the run: each record is one append to a file that is opened for it and closed again.

use crate::run::Run;
use crate::scratch::Scratch;
use crate::sys::{self, Errno, File, Open, Result};
use crate::text::Text;
use unseen_abi::event::{self, FILE, HEAD, Kind};

/// Appends a record whose payload `fields` writes. `path` and `record` are room to work in. The run's directory must be
/// there.
pub fn append(
    run: &Run,
    kind: Kind,
    path: &mut [u8],
    record: &mut [u8],
    fields: impl FnOnce(Text<'_>) -> Text<'_>,
) -> Result<()> {
    let (head, payload) = record.split_at_mut_checked(HEAD).ok_or(Errno::INVALID)?;
    let payload = fields(Text::new(payload)).finish().ok_or(Errno::TOO_BIG)?;
    let length = HEAD + payload.len();
    head.copy_from_slice(&event::head(kind, payload));
    let file = File::open(run.path(FILE.as_bytes(), path)?, Open::Append)?;
    let limit = sys::file_size_limit();
    if limit != u64::MAX && file.length()?.saturating_add(length as u64) > limit {
        // Writing would send the program a signal that kills it.
        return Err(Errno::TOO_BIG);
    }
    file.append(record.get(..length).ok_or(Errno::INVALID)?)
}

/// Says what could not be recorded, if that can be said.
pub fn append_dropped(run: &Run, what: &[&[u8]], why: Errno, scratch: &mut Scratch) {
    let _ = append(run, Kind::Dropped, &mut scratch.path, &mut scratch.record, |text| {
        let text = text.decimal(sys::time()).bytes(b"\0").decimal(sys::process_id().into()).bytes(b"\0");
        let text = what.iter().fold(text, |text, part| text.bytes(part));
        text.bytes(b"\0errno ").decimal(why.0.into())
    });
}
