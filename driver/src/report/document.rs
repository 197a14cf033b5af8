//! What all json documents of ours have in common: they say what they are.

use std::io::{self, Write};

use serde::Serialize;

#[derive(Serialize)]
struct Document<'a, T: Serialize> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    content: &'a T,
}

/// Writes the document on one line: its format, the version of that, and the fields of the content.
pub fn write(format: &'static str, version: u32, content: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Document { format, version, content })?;
    out.write_all(b"\n")
}
