//! The inventory of a binary, as text and as json (docs/manifest-json.md).

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::text::tenths;
use super::{document, many};
use crate::study::inventory::{Inventory, Kind, Listed};

/// Version of the json document.
const VERSION: u32 = 1;

/// Writes the json document on one line.
pub fn json(inventory: &Inventory, out: &mut dyn Write) -> io::Result<()> {
    document::write("unseen-manifest", VERSION, inventory, out)
}

/// Writes a table of the functions with code here, or of all, and the summary.
pub fn text(inventory: &Inventory, all: bool, out: &mut dyn Write) -> io::Result<()> {
    let shown: Vec<[String; 3]> = inventory.functions.iter().filter(|f| all || f.kind.counts()).map(row).collect();
    // One endless path must not push everything off the screen.
    let width = |i: usize| shown.iter().map(|r: &[String; 3]| r[i].chars().count()).max().unwrap_or(0).min(48);
    let (what, place) = (width(0), width(1));
    for [how, at, name] in &shown {
        writeln!(out, "{how:what$}  {at:place$}  {name}")?;
    }
    if !inventory.native_inputs.is_empty() {
        writeln!(out, "\nlinked without bitcode:")?;
        inventory.native_inputs.iter().try_for_each(|input| writeln!(out, "  {input}"))?;
    }
    if !inventory.declined.is_empty() {
        writeln!(out, "\ndeclined:")?;
        inventory.declined.iter().try_for_each(|d| writeln!(out, "  {}: {}", d.source, d.reason))?;
    }
    if inventory.stripped {
        writeln!(out, "\nthe symbol table was removed: functions of native code can't be listed")?;
    }
    writeln!(out, "\n{}", summary(inventory))
}

fn row(f: &Listed) -> [String; 3] {
    let how = match f.kind {
        Kind::Instrumented => f.mechanisms.join(","),
        _ => f.reason.clone().unwrap_or_default(),
    };
    let place = f.place.as_ref().map(|p| format!("{}:{}", p.file, p.line));
    let at = place.or_else(|| f.origin.clone()).unwrap_or_else(|| "-".into());
    [how, at, f.name.clone()]
}

/// `41 of 43 functions instrumented (95.3 %): ...`.
fn summary(inventory: &Inventory) -> String {
    let summary = inventory.summary;
    let percent = 100.0 * summary.instrumented as f64 / summary.functions.max(1) as f64;
    let scope = match inventory.scope {
        "program" => "whole program".to_owned(),
        "nothing" => "nothing came as bitcode".to_owned(),
        _ => format!("{}, each by itself", many(inventory.modules.len(), "translation unit")),
    };
    let mut text = format!(
        "{} of {} instrumented ({} %); {}; {scope}",
        summary.instrumented,
        many(summary.functions, "function"),
        tenths(percent),
        if inventory.mechanisms.is_empty() { "no mechanism".into() } else { inventory.mechanisms.join(",") },
    );
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in inventory.functions.iter().filter(|f| f.kind.counts()).filter_map(|f| f.reason.as_deref()) {
        *reasons.entry(reason).or_default() += 1;
    }
    let rest: Vec<String> = reasons.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
    if !rest.is_empty() {
        text += &format!("\nnot instrumented: {}", rest.join(", "));
    }
    text
}
