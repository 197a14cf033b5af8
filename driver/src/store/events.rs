//! The event log of a run: append, and read up to and across tears.

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use unseen_abi::event::{self, Kind, Read};

use super::{Fault, Problem};

/// One event: its kind and the fields of its payload, the time first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub kind: Kind,
    pub fields: Vec<String>,
}

impl Event {
    /// When it happened, in nanoseconds since 1970.
    pub fn time(&self) -> Option<u64> {
        self.fields.first()?.parse().ok()
    }
}

/// What a log holds, as far as it can be read.
#[derive(Debug, Default)]
pub struct Log {
    pub events: Vec<Event>,
    pub problem: Option<Problem>,
}

/// Now, as events carry it.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64)
}

/// Appends one event with the time of now and these fields to the log in `run`. One write: others append too.
pub fn append<T: AsRef<std::ffi::OsStr>>(run: &Path, kind: Kind, fields: &[T]) -> io::Result<()> {
    let mut payload = now().to_string().into_bytes();
    for field in fields {
        payload.push(0);
        payload.extend(field.as_ref().as_bytes());
    }
    let record = [&event::head(kind, &payload)[..], &payload].concat();
    fs::File::options().append(true).create(true).open(run.join(event::FILE))?.write_all(&record)
}

/// Reads the log in `run`. No log is an empty one. Kinds that are not known yet are skipped.
pub fn read(run: &Path) -> Log {
    let path = run.join(event::FILE);
    match fs::read(&path) {
        Ok(bytes) => {
            let (events, fault) = decode(&bytes);
            Log { events, problem: fault.map(|fault| Problem { file: path, fault }) }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Log::default(),
        Err(e) => Log { events: Vec::new(), problem: Some(Problem { file: path, fault: e.into() }) },
    }
}

fn decode(mut bytes: &[u8]) -> (Vec<Event>, Option<Fault>) {
    let (mut events, mut torn) = (Vec::new(), 0);
    loop {
        match event::read(bytes) {
            Read::Record(kind, payload, rest) => {
                let fields = || payload.split(|b| *b == 0).map(|f| String::from_utf8_lossy(f).into_owned()).collect();
                events.extend(Kind::from_number(kind).map(|kind| Event { kind, fields: fields() }));
                bytes = rest;
            }
            Read::Torn(lost, rest) => {
                torn += lost.len();
                bytes = rest;
            }
            Read::Newer(version) => return (events, Some(Fault::NewerEvents(version))),
            Read::End => return (events, (torn > 0).then_some(Fault::TornEvents(torn))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_is_read_and_a_tear_in_the_middle_is_stepped_over() {
        let dir = tempfile::tempdir().unwrap();
        append(dir.path(), Kind::RunStart, &["/cwd", "prog"]).unwrap();
        let torn = event::head(Kind::Module, b"lost");
        fs::File::options().append(true).open(dir.path().join(event::FILE)).unwrap().write_all(&torn).unwrap();
        append(dir.path(), Kind::RunEnd, &["exit 0"]).unwrap();
        let log = read(dir.path());
        assert_eq!(log.events.iter().map(|e| e.kind).collect::<Vec<_>>(), [Kind::RunStart, Kind::RunEnd]);
        assert_eq!(log.events[0].fields[1..], ["/cwd", "prog"]);
        assert!(log.events[0].time().unwrap() <= log.events[1].time().unwrap());
        assert!(matches!(log.problem, Some(Problem { fault: Fault::TornEvents(event::HEAD), .. })));
    }

    #[test]
    fn no_log_is_an_empty_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = read(dir.path());
        assert!(log.events.is_empty() && log.problem.is_none());
    }
}
