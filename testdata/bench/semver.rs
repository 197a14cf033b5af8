//! Workload for semver: parses versions, sorts them, matches them against requirements, prints them again.

use semver::{Version, VersionReq};
use std::fmt::Write;

fn main() {
    let path = std::env::args().nth(1).expect("usage: bench FILE");
    let text = std::fs::read_to_string(path).expect("the file of versions");
    let mut versions: Vec<Version> = text.lines().map(|line| line.parse().expect("a version")).collect();
    versions.sort();
    let requirements: Vec<VersionReq> = ["^1.2", ">=2.1.3, <4", "~3.4.5", "*", "=5.6.7-rc.1", ">0.9"]
        .iter()
        .map(|text| text.parse().expect("a requirement"))
        .collect();
    let mut matches = 0;
    let mut printed = String::new();
    for version in &versions {
        matches += requirements.iter().filter(|req| req.matches(version)).count();
        writeln!(printed, "{version}").expect("printing to memory");
    }
    println!("{matches} {}", printed.len());
}
