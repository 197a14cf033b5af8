//! The event log of a run: append-only, written by several processes at once, readable after any crash.
//!
//! Each record stands for itself: a fixed head, then the payload. A process appends a record with one
//! `write` to a file opened with `O_APPEND`. A record that was cut short by a death fails its checksum; a
//! reader skips to the next magic number.

/// First bytes of every record.
pub const MAGIC: [u8; 4] = *b"UnEv";
/// Version of the record layout.
pub const VERSION: u16 = 2;
/// File name of the log in a run's directory.
pub const FILE: &str = "events";

/// What happened. Payloads are text, fields separated by NUL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum Kind {
    /// `unseen run` starts a program. Payload: time in ns, working directory, arguments...
    RunStart = 1,
    /// It ended. Payload: time in ns, `exit N` or `signal N`.
    RunEnd = 2,
    /// An instrumented module of a process begins to record. Payload: time in ns, pid, parent pid, module id
    /// in hex, counter file name, path of the module.
    Module = 3,
    /// Something could not be recorded. Payload: time in ns, pid, what, why (`errno N`).
    Dropped = 4,
    /// A unit read memory that is not in its dependency set; once per unit and site. Payload: time in ns, pid, module id in hex,
    /// unit, site, address in hex, bytes missed there, the object (`variable N OFFSET`, `heap SIZE OFFSET`, `stack`,
    /// `thread-local`, `unknown`), the units that were active, innermost last, separated by spaces.
    Miss = 5,
    /// A test failed, crashed, took too long or could not be run to its end. Payload: time in ns, pid, module id in hex, the number of
    /// the test, what became of it (`fail`, `fail HOW`, `crash signal N at ADDRESS`, `timeout`, `environment WHY`), a hash of the state in hex
    /// (empty if it could not be told), which protections were missing (bits), the end of what it printed.
    ///
    /// Since version 2 also: id and name of the thread that called the unit; the files of the code that frames are in, a line each; who
    /// called the unit, and where the test was when it ended: frames separated by spaces, innermost first, `FILE:ADDRESS` in hex with
    /// the number of the file and the linker's address (`?` and the address itself if there is no file), `!` behind one that is
    /// not where a call returns to, `...` at the end if there are more; the unit's arguments in hex, separated by spaces, or, of a unit
    /// whose state is a few bytes, `PARAMS=BYTES`: the bits of the parameters that its state begins with, and the state; what it
    /// reads, `PLACE:BYTES` in hex, separated by spaces, `PLACE` being its number among the unit's places
    /// ([`crate::state::Attached::reads`]), `+` behind bytes that go on. The last two are empty unless values are allowed.
    Test = 6,
    /// So many calls of a test's unit were in states that no test had seen, in a process and its children; written less and less often as
    /// the number grows. Payload: time in ns, pid of the file of counts, module id in hex, the number of the test, how many.
    States = 7,
}

impl Kind {
    /// The kind with that number.
    pub fn from_number(n: u16) -> Option<Kind> {
        [Kind::RunStart, Kind::RunEnd, Kind::Module, Kind::Dropped, Kind::Miss, Kind::Test, Kind::States]
            .into_iter()
            .find(|k| *k as u16 == n)
    }
}

/// Size of a record's head: magic, version, kind, payload length, checksum.
pub const HEAD: usize = 16;

/// The head of the record with this payload.
pub fn head(kind: Kind, payload: &[u8]) -> [u8; HEAD] {
    let mut out = [0; HEAD];
    out[0..4].copy_from_slice(&MAGIC);
    out[4..6].copy_from_slice(&VERSION.to_le_bytes());
    out[6..8].copy_from_slice(&(kind as u16).to_le_bytes());
    out[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    let sum = checksum(&out[4..12], payload);
    out[12..16].copy_from_slice(&sum.to_le_bytes());
    out
}

/// FNV-1a over head fields and payload: enough to tell a torn record from a whole one.
fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    head.iter().chain(payload).fold(0x811c_9dc5, |h, b| (h ^ u32::from(*b)).wrapping_mul(0x0100_0193))
}

/// What a reader finds at the front of a log.
#[derive(PartialEq, Eq, Debug)]
pub enum Read<'a> {
    /// A whole record: its kind number, its payload, and what follows it.
    Record(u16, &'a [u8], &'a [u8]),
    /// Bytes that belong to no whole record, and what follows them.
    Torn(&'a [u8], &'a [u8]),
    /// A record of a newer version.
    Newer(u16),
    /// The end.
    End,
}

/// Reads one record from the front of `log`.
pub fn read(log: &[u8]) -> Read<'_> {
    if log.is_empty() {
        return Read::End;
    }
    if let Some((fields, payload, rest)) = split(log) {
        let version = u16::from_le_bytes([fields[0], fields[1]]);
        if version > VERSION {
            return Read::Newer(version);
        }
        return Read::Record(u16::from_le_bytes([fields[2], fields[3]]), payload, rest);
    }
    let next = (1..log.len()).find(|i| log[*i..].starts_with(&MAGIC)).unwrap_or(log.len());
    Read::Torn(&log[..next], &log[next..])
}

fn split(log: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let head = log.get(..HEAD)?;
    if head[..4] != MAGIC {
        return None;
    }
    let len = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize;
    let payload = log.get(HEAD..HEAD.checked_add(len)?)?;
    let sum = u32::from_le_bytes([head[12], head[13], head[14], head[15]]);
    (checksum(&head[4..12], payload) == sum).then(|| (&head[4..12], payload, &log[HEAD + len..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: Kind, payload: &[u8]) -> Vec<u8> {
        [&head(kind, payload)[..], payload].concat()
    }

    #[test]
    fn whole_records_come_back_in_order() {
        let log = [record(Kind::RunStart, b"a"), record(Kind::RunEnd, b"")].concat();
        let Read::Record(k, p, rest) = read(&log) else { panic!() };
        assert_eq!((Kind::from_number(k), p), (Some(Kind::RunStart), &b"a"[..]));
        let Read::Record(k, p, rest) = read(rest) else { panic!() };
        assert_eq!((Kind::from_number(k), p), (Some(Kind::RunEnd), &b""[..]));
        assert_eq!(read(rest), Read::End);
    }

    #[test]
    fn a_tear_at_any_byte_loses_only_that_record() {
        let torn = record(Kind::Module, b"some payload");
        let whole = record(Kind::RunEnd, b"x");
        for cut in 0..torn.len() {
            let log = [&torn[..cut], &whole].concat();
            let mut rest = &log[..];
            let mut seen = Vec::new();
            loop {
                match read(rest) {
                    Read::Record(k, p, r) => {
                        seen.push((k, p));
                        rest = r;
                    }
                    Read::Torn(_, r) => rest = r,
                    Read::End => break,
                    Read::Newer(_) => panic!("cut {cut}"),
                }
            }
            assert_eq!(seen, [(Kind::RunEnd as u16, &b"x"[..])], "cut {cut}");
        }
    }

    #[test]
    fn newer_versions_are_named_not_guessed() {
        let mut r = record(Kind::RunEnd, b"");
        r[4] = 9;
        let sum = checksum(&r[4..12], b"");
        r[12..16].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(read(&r), Read::Newer(9));
    }
}
