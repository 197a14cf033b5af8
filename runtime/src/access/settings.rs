//! What the user asked of `access`. In: the environment. Out: [`Settings`].

use crate::environment::{self, number, value};
use unseen_abi::options::{self, EnvOption};

/// What is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings<'a> {
    /// The list of units, if not all.
    pub units: Option<&'a [u8]>,
    /// So many first calls of each unit.
    pub calls: u64,
    /// For so many seconds; 0 is for ever.
    pub seconds: u64,
    /// For so many per cent of the time.
    pub effort: u64,
}

impl<'a> Settings<'a> {
    fn from_variables(variables: &mut dyn Iterator<Item = &'a [u8]>) -> Settings<'a> {
        let (mut units, mut calls, mut seconds, mut effort) = (None, None, None, None);
        for variable in variables {
            // The first definition counts, as for `getenv`.
            units = units.or(value(variable, &options::ACCESS_UNITS));
            calls = calls.or(value(variable, &options::ACCESS_CALLS));
            seconds = seconds.or(value(variable, &options::ACCESS_SECONDS));
            effort = effort.or(value(variable, &options::ACCESS_EFFORT));
        }
        let or_default = |value: Option<&[u8]>, option: &EnvOption| {
            value.and_then(number).or(number(option.default.as_bytes())).unwrap_or(0)
        };
        Settings {
            units,
            calls: or_default(calls, &options::ACCESS_CALLS),
            seconds: or_default(seconds, &options::ACCESS_SECONDS),
            effort: or_default(effort, &options::ACCESS_EFFORT),
        }
    }
}

/// Reads the settings and hands them to `f`.
pub fn with<T>(f: impl FnOnce(Settings<'_>) -> T) -> T {
    environment::with_variables(|variables| f(Settings::from_variables(variables)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_definition_counts_and_what_is_no_number_is_the_default() {
        let variables = ["UNSEEN_ACCESS_CALLS=7", "UNSEEN_ACCESS_CALLS=8", "UNSEEN_ACCESS_SECONDS=1x", "PATH=/bin"];
        let settings = Settings::from_variables(&mut variables.iter().map(|v| v.as_bytes()));
        assert_eq!(settings, Settings { units: None, calls: 7, seconds: 0, effort: 25 });
        let settings = Settings::from_variables(&mut [&b"UNSEEN_ACCESS_UNITS=a:1,b:2"[..]].into_iter());
        assert_eq!(settings, Settings { units: Some(b"a:1,b:2"), calls: 100, seconds: 0, effort: 25 });
    }
}
