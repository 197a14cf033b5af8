//! Dependency sets, as text and as json (docs/deps-json.md).

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::document;
use super::text::tenths;
use crate::study::dependencies::{Findings, Member, Step, Summary, Unit};

/// Version of the json document.
const VERSION: u32 = 1;

/// Writes the json document on one line.
pub fn json(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    document::write("unseen-deps", VERSION, findings, out)
}

/// Writes each function with its sets.
pub fn text(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    for (i, unit) in findings.functions.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        heading(unit, out)?;
        for member in &unit.reads {
            writeln!(out, "  reads   {}", member.item)?;
        }
        for member in &unit.writes {
            writeln!(out, "  writes  {}", member.item)?;
        }
        for why in &unit.reasons {
            let end = if why.hides { "; more may be read and written" } else { "" };
            let kind = if why.ends { "ends  " } else { "opaque" };
            writeln!(out, "  {kind}  {}{end}", why.text)?;
        }
    }
    Ok(())
}

fn heading(unit: &Unit, out: &mut dyn Write) -> io::Result<()> {
    let place = unit.place.as_ref().map(|p| format!("  {p}")).unwrap_or_default();
    let pure = if unit.pure { ", pure" } else { "" };
    let params: Vec<String> = unit.params.iter().filter_map(|p| Some(declared(p.ty.as_ref()?, &p.name))).collect();
    // A readable C++ name has its parameters already.
    let params =
        if unit.name.contains('(') || params.is_empty() { String::new() } else { format!("({})", params.join(", ")) };
    writeln!(out, "{}{params}{place}  {}{pure}", unit.name, unit.class)
}

/// `int *p`.
fn declared(ty: &str, name: &str) -> String {
    if ty.ends_with('*') { format!("{ty}{name}") } else { format!("{ty} {name}") }
}

/// Writes what brings an item in.
pub fn why(unit: &Unit, chains: &[&[Step]], out: &mut dyn Write) -> io::Result<()> {
    heading(unit, out)?;
    for chain in chains {
        for (depth, step) in chain.iter().enumerate() {
            let at = step.at.as_deref().unwrap_or("-");
            let item = if step.item.is_empty() { String::new() } else { format!("  {}", step.item) };
            writeln!(out, "  {}{at}  {}{item}", "  ".repeat(depth), step.function)?;
        }
    }
    Ok(())
}

/// The chains of the members whose text is, or contains, what was asked for.
pub fn chains<'a>(unit: &'a Unit, item: &str) -> Vec<&'a [Step]> {
    let members = || unit.reads.iter().chain(&unit.writes);
    let chain = |m: &'a Member| &m.why[..];
    let exact: Vec<&[Step]> = members().filter(|m| m.item == item).map(chain).collect();
    if !exact.is_empty() {
        return exact;
    }
    let reasons = unit.reasons.iter().filter(|r| r.reason == item || r.text.contains(item)).map(|r| &r.why[..]);
    members().filter(|m| m.item.contains(item)).map(chain).chain(reasons).collect()
}

/// Writes the shares.
pub fn summary(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let share = |n: usize| tenths(100.0 * n as f64 / summary.functions.max(1) as f64);
    writeln!(out, "{} functions", summary.functions)?;
    for (name, n) in [("exact", summary.exact), ("bounded", summary.bounded), ("opaque", summary.opaque)] {
        writeln!(out, "  {name:8} {n:6}  {:>5} %", share(n))?;
    }
    writeln!(out, "  pure     {:6}  {:>5} %", summary.pure, share(summary.pure))?;
    writeln!(out, "opaque by reason ({} of them with complete sets):", summary.complete)?;
    let list = |reasons: &BTreeMap<&str, usize>, out: &mut dyn Write| {
        let mut reasons: Vec<(&str, usize)> = reasons.iter().map(|(r, n)| (*r, *n)).collect();
        reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        reasons.iter().try_for_each(|(reason, n)| writeln!(out, "  {reason:20} {n:6}  {:>5} %", share(*n)))
    };
    list(&summary.reasons, out)?;
    if summary.ending > 0 {
        writeln!(out, "of the others, {} have reasons for calls that do not return:", summary.ending)?;
        list(&summary.endings, out)?;
    }
    writeln!(out, "items per set: median {}, 90th percentile {}", summary.median, summary.ninetieth)
}
