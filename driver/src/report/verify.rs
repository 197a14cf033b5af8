//! Reads held against dependency sets, as text and as json (docs/verify-json.md).

use std::io::{self, Write};

use super::text::tenths;
use super::{document, many};
use crate::study::verify::Findings;

/// Version of the json document.
const VERSION: u32 = 1;

/// Writes the json document on one line.
pub fn json(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    document::write("unseen-verify", VERSION, findings, out)
}

/// Writes the misses and the sums; with `units` also a line for each unit.
pub fn text(findings: &Findings, units: bool, out: &mut dyn Write) -> io::Result<()> {
    for miss in &findings.misses {
        let place = miss.place.as_ref().map(|p| format!(" ({p})")).unwrap_or_default();
        let at = miss.at.as_deref().unwrap_or("an unknown line");
        writeln!(out, "miss: {}{place} depends on {}, which is not in its set", miss.unit, miss.object)?;
        writeln!(out, "  {} read at {at} in {}", many(miss.bytes as usize, "byte"), miss.function)?;
        writeln!(out, "  called: {}", miss.chain.join(" > "))?;
    }
    if units {
        for unit in &findings.units {
            let state = match (unit.hidden, unit.missed_bytes, unit.checked) {
                (true, ..) => "not checked: the set may be incomplete, see `unseen deps`".to_owned(),
                (_, 0, 0) if unit.partly > 0 => "checked in part".into(),
                (_, 0, 0) => "not checked".into(),
                (_, 0, n) => format!("{n} checked, {} of {} bytes read", unit.read_bytes, unit.set_bytes),
                (_, missed, n) => format!("{n} checked, {missed} bytes missed"),
            };
            let more =
                if unit.unwalked > 0 { format!(", {} too large to check", unit.unwalked) } else { String::new() };
            writeln!(out, "{}: {}, {state}{more}", unit.name, many(unit.calls as usize, "call"))?;
        }
    }
    let s = &findings.summary;
    let share = tenths(100.0 * s.read_bytes as f64 / s.set_bytes.max(1) as f64);
    writeln!(
        out,
        "{} checked; of {} {} checked, {} in part, {} not, {} with sets that may be incomplete",
        many(s.checked_calls as usize, "call"),
        many(s.called, "called unit"),
        s.checked,
        s.partly,
        s.unchecked,
        s.hidden,
    )?;
    writeln!(out, "{} in the sets, {share} % of them read", many(s.set_bytes as usize, "byte"))?;
    if s.unwalked_calls > 0 {
        writeln!(
            out,
            "{} not checked: their sets were too large or could not be walked",
            many(s.unwalked_calls as usize, "call")
        )?;
    }
    writeln!(out, "{}; the program ended with {}", many(s.misses, "miss"), findings.ending)
}
