//! The report for programs. Its fields are described in docs/report-json.md; a change that could break a reader
//! raises the version.

use std::io::{self, Write};

use serde::Serialize;

use super::document;
use crate::study::cover::Coverage;
use crate::study::tests::Findings;

/// Version of the document.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Produced<'a> {
    producer: &'static str,
    #[serde(flatten)]
    coverage: &'a Coverage,
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<&'a Findings>,
}

/// Writes the report on one line.
pub fn write(coverage: &Coverage, tests: Option<&Findings>, out: &mut dyn Write) -> io::Result<()> {
    let producer = concat!("unseen ", env!("CARGO_PKG_VERSION"));
    document::write("unseen-coverage", VERSION, &Produced { producer, coverage, tests }, out)
}
