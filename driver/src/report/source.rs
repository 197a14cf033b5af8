//! The lines of a source file, if it is still there.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Sources beyond this are not shown: nobody reads them, and they would fill a page.
const LIMIT: u64 = 16 << 20;

/// A source file as it is now.
#[derive(Debug)]
pub struct Source {
    pub lines: Vec<String>,
    /// It was changed after the first process was recorded: lines may have moved.
    pub changed: bool,
}

/// Reads the file; `recorded` is when the first process was recorded, in seconds since 1970.
pub fn read(path: &str, recorded: Option<u64>) -> Option<Source> {
    let path = Path::new(path);
    let meta = fs::metadata(path).ok().filter(|m| m.is_file() && m.len() <= LIMIT)?;
    let bytes = fs::read(path).ok()?;
    let modified = meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok()).map(|d| d.as_secs());
    let changed = modified.zip(recorded).is_some_and(|(m, r)| m > r);
    Some(Source { lines: String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect(), changed })
}
