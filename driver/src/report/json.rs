//! The report for programs. Its fields are described in docs/report-json.md; a change that could break a reader
//! raises the version.

use std::io::{self, Write};

use serde::Serialize;

use crate::study::cover::Coverage;

/// Version of the document.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    producer: &'static str,
    #[serde(flatten)]
    coverage: &'a Coverage,
}

/// Writes the report on one line.
pub fn write(coverage: &Coverage, out: &mut dyn Write) -> io::Result<()> {
    let producer = concat!("unseen ", env!("CARGO_PKG_VERSION"));
    let document = Document { format: "unseen-coverage", version: VERSION, producer, coverage };
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}
