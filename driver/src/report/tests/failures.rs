//! What is said of a failure, in every form: one headline, then facts. Failures of one test that ended alike are told together.

use super::super::{accounts, many};
use crate::calendar;
use crate::study::sources::Spot;
use crate::study::tests::{Ending, Failure};

/// Failures of one test that ended alike, in other states.
#[derive(Debug)]
pub struct Group<'a> {
    /// It is told in full.
    pub first: &'a Failure,
    pub others: Vec<&'a Failure>,
}

/// Puts failures together, in the order of the first ones.
pub fn grouped(failures: &[Failure]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for failure in failures {
        let key = (&failure.build, &failure.unit, &failure.test, failure.outcome.word());
        match places.get(&key) {
            Some(place) => {
                let group: &mut Group<'_> = &mut groups[*place];
                group.others.push(failure);
            }
            None => {
                places.insert(key, groups.len());
                groups.push(Group { first: failure, others: Vec::new() });
            }
        }
    }
    groups
}

impl Group<'_> {
    /// How often it was told, in all states.
    pub fn count(&self) -> u64 {
        std::iter::once(&self.first).chain(&self.others).map(|f| f.more + 1).sum()
    }

    /// What else there is of the kind, in words, with at most so many ids.
    pub fn more(&self, ids: usize) -> Option<String> {
        let more = self.count() - 1;
        if more == 0 {
            return None;
        }
        let mut text = format!("and {more} more like it");
        if !self.others.is_empty() {
            let listed: Vec<&str> = self.others.iter().take(ids).map(|f| f.id.as_str()).collect();
            let dots = if self.others.len() > ids { ", ..." } else { "" };
            text += &format!(", in {}: {}{dots}", many(self.others.len(), "other state"), listed.join(", "));
        }
        Some(text)
    }
}

/// Which test of which unit ended how.
pub fn headline(failure: &Failure) -> String {
    let at = |place: &Option<Spot>| place.as_ref().map(|p| format!(" ({p})")).unwrap_or_default();
    let details = if failure.details.is_empty() { String::new() } else { format!(": {}", failure.details) };
    format!(
        "{}: {}{} of {}{}{details}",
        failure.outcome.word(),
        failure.test,
        at(&failure.test_place),
        failure.unit,
        at(&failure.unit_place)
    )
}

/// What else is known of it, but for what it printed: names and values.
pub fn facts(failure: &Failure) -> Vec<(&'static str, String)> {
    let mut facts = vec![("id", failure.id.clone())];
    if !failure.state.is_empty() {
        facts.push(("state", failure.state.clone()));
    }
    facts.push(("process", failure.pid.to_string()));
    facts.push(("time", calendar::plain(failure.time)));
    facts.push(("build", failure.build.clone()));
    facts
}

/// All of it as text.
pub fn in_full(failure: &Failure) -> String {
    let mut text = headline(failure);
    for (what, value) in facts(failure) {
        text += &format!("\n{what}: {value}");
    }
    if !failure.output.is_empty() {
        text += &format!("\n\n{}", failure.output.trim_end());
    }
    let account = accounts::lines(&failure.account);
    if !account.is_empty() {
        text += &format!("\n\n{}", account.join("\n"));
    }
    text
}

/// Whether it says something of the program.
pub fn counts(failure: &Failure) -> bool {
    failure.outcome != Ending::Environment
}
