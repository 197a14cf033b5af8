//! What a test that did not pass says of itself, as text.

use crate::study::accounts::{Account, Frame, Value};

/// Values are cut behind so many characters.
const LONGEST: usize = 80;

/// Lines of text; none if nothing was told.
pub fn lines(account: &Account) -> Vec<String> {
    let mut lines = Vec::new();
    values("arguments", account.arguments.as_deref().unwrap_or_default(), &mut lines);
    values("state", account.values.as_deref().unwrap_or_default(), &mut lines);
    let Some(stack) = &account.stack else { return lines };
    if !stack.test.is_empty() {
        lines.push("the test was at".into());
        lines.extend(stack.test.iter().map(frame));
    }
    if !stack.callers.is_empty() {
        let thread = account.thread.as_ref().map(|t| format!(" in thread {} ({})", t.id, t.name)).unwrap_or_default();
        lines.push(format!("the unit was called{thread}"));
        lines.extend(stack.callers.iter().map(frame));
    }
    if stack.cut {
        lines.push("  ...".into());
    }
    lines
}

fn frame(frame: &Frame) -> String {
    let name = if frame.function.is_empty() { "?" } else { &frame.function };
    let inlined = if frame.inlined { ", inlined" } else { "" };
    match &frame.place {
        Some(place) => format!("  {name} ({place}{inlined})"),
        None if frame.file.is_empty() => format!("  {name} ({}{inlined})", frame.address),
        None => format!("  {name} ({}+{}{inlined})", frame.file, frame.address),
    }
}

fn values(what: &str, values: &[Value], lines: &mut Vec<String>) {
    if !values.is_empty() {
        lines.push(what.into());
    }
    for Value { name, value, .. } in values {
        let mut value = value.clone();
        if let Some((end, _)) = value.char_indices().nth(LONGEST) {
            value.truncate(end);
            value += "...";
        }
        lines.push(format!("  {name} = {value}"));
    }
}
