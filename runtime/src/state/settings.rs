//! What the environment says about tests.

use super::budget;
use crate::environment::{self, number, value};
use crate::sandbox::{self, Limits};
use unseen_abi::options;

/// When tests run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// In states that no test has seen.
    Unseen,
    /// At each call.
    Always,
    Never,
    /// Never; but what is strange is recorded.
    Watch,
}

/// What holds for a module.
#[derive(Clone, Copy)]
pub struct Settings {
    pub policy: Policy,
    pub limits: Limits,
    /// The most bytes of the seen set; 0 is no limit.
    pub seen_bytes: u64,
    /// Of so many calls in unseen states one is tested.
    pub sample: u64,
    /// What tests may cost, in parts of [`budget::WHOLE`]; 0 is no limit.
    pub budget: u64,
    /// Whether states are compared as they are, not their hashes.
    pub exact: bool,
    /// Whether values may be told: of arguments, and of what units read.
    pub values: bool,
}

/// Reads it.
pub fn read() -> Settings {
    let strict = sandbox::is_strict();
    environment::with_variables(|variables| from_variables(variables, strict))
}

fn from_variables(variables: &mut dyn Iterator<Item = &[u8]>, strict: bool) -> Settings {
    let limits = Limits { deadline_ns: 0, cpu_seconds: 0, memory_bytes: 1 << 30, at_once: 4, strict };
    let mut settings =
        Settings { policy: Policy::Unseen, limits, seen_bytes: 0, sample: 1, budget: 0, exact: false, values: false };
    let (mut policy, mut seconds, mut at_once, mut seen) = (None, None, None, None);
    let (mut sample, mut share, mut exact, mut values) = (None, None, None, None);
    for variable in variables {
        // The first definition counts, as for `getenv`.
        policy = policy.or(value(variable, &options::POLICY));
        seconds = seconds.or(value(variable, &options::TEST_SECONDS));
        at_once = at_once.or(value(variable, &options::TESTS_AT_ONCE));
        seen = seen.or(value(variable, &options::SEEN_BYTES));
        sample = sample.or(value(variable, &options::SAMPLE));
        share = share.or(value(variable, &options::BUDGET));
        exact = exact.or(value(variable, &options::EXACT));
        values = values.or(value(variable, &options::VALUES));
    }
    settings.policy = match policy {
        Some(b"always") => Policy::Always,
        Some(b"never") => Policy::Never,
        Some(b"watch") => Policy::Watch,
        _ => Policy::Unseen,
    };
    let or = |value: Option<&[u8]>, default: u64| value.and_then(number).filter(|n| *n > 0).unwrap_or(default);
    let seconds = or(seconds, 10);
    settings.limits.deadline_ns = seconds.saturating_mul(1_000_000_000);
    settings.limits.cpu_seconds = seconds;
    settings.limits.at_once = or(at_once, 4).min(u32::MAX.into()) as u32;
    settings.seen_bytes = or(seen, 0);
    settings.sample = or(sample, 1);
    settings.budget = share.and_then(percent).unwrap_or(0);
    settings.exact = exact == Some(b"on");
    settings.values = values == Some(b"on");
    settings
}

/// `1%`, `1` or `0.5%`, in parts of [`budget::WHOLE`]; at least one of them.
fn percent(text: &[u8]) -> Option<u64> {
    let text = text.strip_suffix(b"%").unwrap_or(text);
    let dot = text.iter().position(|b| *b == b'.').unwrap_or(text.len());
    let (whole, rest) = (text.get(..dot)?, text.get(dot + 1..).unwrap_or_default());
    let mut parts = number(whole)?.checked_mul(budget::WHOLE / 100)?;
    let mut unit = budget::WHOLE / 1000;
    for digit in rest {
        parts = parts.checked_add(number(&[*digit])?.checked_mul(unit)?)?;
        unit /= 10;
    }
    Some(parts.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[&str]) -> Settings {
        from_variables(&mut variables.iter().map(|v| v.as_bytes()), true)
    }

    #[test]
    fn what_is_not_set_or_not_understood_is_as_always() {
        let settings = of(&["UNSEEN_POLICY=sometimes", "UNSEEN_TEST_SECONDS=x", "UNSEEN_TESTS_AT_ONCE=0"]);
        assert_eq!((settings.policy, settings.limits.deadline_ns), (Policy::Unseen, 10_000_000_000));
        assert_eq!((settings.limits.at_once, settings.seen_bytes, settings.values), (4, 0, false));
        assert_eq!((settings.sample, settings.budget), (1, 0));
        assert_eq!(of(&["UNSEEN_BUDGET=much", "UNSEEN_SAMPLE=0"]).budget, 0);
        assert!(!of(&["UNSEEN_VALUES=yes", "UNSEEN_VALUES=on"]).values, "only what was meant, and the first");
    }

    #[test]
    fn what_is_set_counts() {
        let variables = [
            "UNSEEN_POLICY=always",
            "UNSEEN_TEST_SECONDS=3",
            "UNSEEN_TESTS_AT_ONCE=7",
            "UNSEEN_SEEN_BYTES=100",
            "UNSEEN_VALUES=on",
        ];
        let settings = of(&variables);
        assert_eq!((settings.policy, settings.limits.cpu_seconds), (Policy::Always, 3));
        assert_eq!((settings.limits.at_once, settings.seen_bytes, settings.values), (7, 100, true));
        assert_eq!(of(&["UNSEEN_POLICY=watch"]).policy, Policy::Watch);
        for (text, parts) in [("1%", 1000), ("1", 1000), ("0.5%", 500), ("0.05", 50), ("12.25%", 12_250), ("0%", 1)] {
            assert_eq!(of(&[&format!("UNSEEN_BUDGET={text}")]).budget, parts, "{text}");
        }
        assert_eq!(of(&["UNSEEN_SAMPLE=20"]).sample, 20);
        assert!(of(&["UNSEEN_EXACT=on"]).exact && !of(&["UNSEEN_EXACT=1"]).exact);
    }
}
