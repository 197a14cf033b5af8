//! Findings to text, json, lcov, cobertura, junit, sarif, html: one file per format.
//!
//! A report sees only findings, and the source files they name. It never looks into a store.

mod accounts;
pub mod cobertura;
pub mod deps;
mod document;
pub mod html;
pub mod json;
pub mod lcov;
pub mod manifest;
pub mod output;
pub mod seen;
pub mod source;
pub mod tests;
pub mod text;
pub mod verify;
mod xml;

use std::ffi::OsStr;
use std::path::Path;

/// In which form findings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Tables for people
    Text,
    /// For programs; see docs/report-json.md
    Json,
    /// Coverage as the tracefile of lcov, for genhtml and many services
    Lcov,
    /// Coverage as Cobertura's XML, for CI servers
    Cobertura,
    /// One page with everything in it, pictures and sources included
    Html,
    /// Tests alone, as JUnit's XML, for CI servers
    Junit,
    /// Failures of tests alone, as SARIF 2.1.0, for code scanning
    Sarif,
}

impl Format {
    /// The format that a file of this name is expected to have.
    pub fn of(file: &Path) -> Option<Format> {
        match file.extension().and_then(OsStr::to_str)? {
            "json" => Some(Format::Json),
            "info" | "lcov" => Some(Format::Lcov),
            "xml" => Some(Format::Cobertura),
            "html" | "htm" => Some(Format::Html),
            "sarif" => Some(Format::Sarif),
            "txt" => Some(Format::Text),
            _ => None,
        }
    }
}

/// `1 file`, `2 files`.
pub fn many(n: usize, one: &str) -> String {
    match (n, one.strip_suffix('y')) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{n} {stem}ies"),
        _ if one.ends_with('s') || one.ends_with("ch") => format!("{n} {one}es"),
        _ => format!("{n} {one}s"),
    }
}
