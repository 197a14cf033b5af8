//! The `UNSEEN_*` variables of an environment: which names we know, and whether values are what their readers
//! understand. A misspelt variable would leave things as they are without a word.
//!
//! Who builds or runs a program on the user's word refuses any name that nobody knows ([`check`]). Compilers, which
//! strangers call too, refuse only what looks like a slip of the pen ([`refuse_typos`]); `unseen doctor` tells of the rest.

use std::collections::HashMap;
use std::ffi::OsString;

use unseen_abi::options::{self, EnvOption, Form, Reader};

use crate::command::Failure;
use crate::wrap::{self, link, runner, rustc};

/// Known, but not for users: between our tools, and of our own tests and scripts.
const INTERNAL: &[&str] = &[
    wrap::LEVEL,
    wrap::SCOPE,
    wrap::EXPOSED,
    link::LINK,
    link::DECLINED,
    runner::BEFORE,
    rustc::INNER_WRAPPER,
    "UNSEEN_BLESS",
    "UNSEEN_SEEDS",
    "UNSEEN_TORTURE",
];

/// For who builds or runs programs: all names are known, and programs will understand their values.
pub fn check(env: &HashMap<OsString, OsString>) -> Result<(), Failure> {
    problems(env).into_iter().next().map_or(Ok(()), Err)
}

/// For compilers: no name is nearly that of an option.
pub fn refuse_typos(env: &HashMap<OsString, OsString>) -> Result<(), Failure> {
    unknown(env).into_iter().find(|name| looks_meant(name)).map_or(Ok(()), |name| Err(unknown_name(&name)))
}

/// All that [`check`] refuses, the names first.
pub fn problems(env: &HashMap<OsString, OsString>) -> Vec<Failure> {
    let names = unknown(env).into_iter().map(|name| unknown_name(&name));
    let of_programs = options::ALL.iter().filter(|o| o.reader == Reader::Program);
    // The runtime takes an empty value for none.
    let values = of_programs.filter_map(|o| Some((o, get(env, o).filter(|v| !v.is_empty())?)));
    names.chain(values.filter_map(|(o, v)| take(o, &v).err())).collect()
}

/// The value of an option.
pub fn get(env: &HashMap<OsString, OsString>, option: &EnvOption) -> Option<String> {
    env.get(std::ffi::OsStr::new(option.name)).map(|v| v.to_string_lossy().into_owned())
}

/// The value of an option, if it is one that the option takes.
pub fn checked(env: &HashMap<OsString, OsString>, option: &EnvOption) -> Result<Option<String>, Failure> {
    get(env, option).map(|value| take(option, &value).map(|()| value)).transpose()
}

fn take(option: &EnvOption, value: &str) -> Result<(), Failure> {
    if option.takes(value) {
        return Ok(());
    }
    let what = match (option.form, option.values.rsplit_once(", ")) {
        (Form::Word, Some((first, last))) => format!("{first} or {last}"),
        _ => option.values.to_owned(),
    };
    Err(Failure::usage(format!("{} is '{value}'", option.name))
        .next(format!("set {} to {what}, or unset it", option.name)))
}

/// The names that are like ours and not known, sorted.
pub fn unknown(env: &HashMap<OsString, OsString>) -> Vec<String> {
    let names = env.keys().map(|name| name.to_string_lossy());
    let ours = names.filter(|name| name.starts_with(options::PREFIX));
    let known = |name: &str| options::find(name).is_some() || INTERNAL.contains(&name);
    let mut unknown: Vec<String> = ours.filter(|name| !known(name)).map(|name| name.into_owned()).collect();
    unknown.sort();
    unknown
}

fn unknown_name(name: &str) -> Failure {
    let (nearest, _) = nearest(name);
    Failure::usage(format!("the environment has {name}, which is no option; did you mean {}?", nearest.name))
        .next("correct or unset it; `unseen options` lists all there are")
}

/// The nearest option, and how many letters are wrong.
fn nearest(name: &str) -> (&'static EnvOption, usize) {
    let distance = |option: &EnvOption| strsim::damerau_levenshtein(option.name, &name.to_uppercase());
    let all = options::ALL.iter().map(|option| (option, distance(option)));
    all.min_by_key(|(_, distance)| *distance).expect("there are options")
}

/// Whether somebody meant an option: one wrong letter, or two in a longer name.
fn looks_meant(name: &str) -> bool {
    let (option, wrong) = nearest(name);
    wrong <= if option.name.len() < options::PREFIX.len() + 6 { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> HashMap<OsString, OsString> {
        pairs.iter().map(|(k, v)| (k.into(), v.into())).collect()
    }

    fn text(result: Result<(), Failure>) -> String {
        result.err().map(|f| f.to_string()).unwrap_or_default()
    }

    #[test]
    fn unknown_names_come_with_the_nearest_known_one() {
        for (name, nearest) in [
            ("UNSEEN_BUIL", "UNSEEN_BUILD"),
            ("UNSEEN_COVR", "UNSEEN_COVER"),
            ("UNSEEN_POLCY", "UNSEEN_POLICY"),
            ("UNSEEN_Cover", "UNSEEN_COVER"),
            ("UNSEEN_EXLCUDES", "UNSEEN_EXCLUDE"),
        ] {
            let said = format!("the environment has {name}, which is no option; did you mean {nearest}?");
            assert!(text(check(&env(&[(name, "x")]))).contains(&said));
            assert!(text(refuse_typos(&env(&[(name, "x")]))).contains(&said));
        }
    }

    #[test]
    fn compilers_leave_variables_of_others_alone() {
        for name in ["UNSEEN_HOME", "UNSEEN_BIN", "UNSEEN_PROJECT_ROOT", "UNSEEN_VERSION"] {
            let env = env(&[(name, "x")]);
            assert_eq!(text(refuse_typos(&env)), "", "{name}");
            assert!(text(check(&env)).contains(&format!("the environment has {name}")));
        }
    }

    #[test]
    fn every_known_name_passes() {
        let names = options::ALL.iter().map(|o| o.name).chain(INTERNAL.iter().copied());
        let env: HashMap<OsString, OsString> = names.map(|name| (name.into(), "".into())).collect();
        assert_eq!((text(check(&env)), text(refuse_typos(&env))), Default::default());
        assert_eq!(text(check(&self::env(&[("UNSEENLY", "x"), ("XUNSEEN_BUIL", "x"), ("PATH", "x")]))), "");
    }

    #[test]
    fn values_that_programs_would_not_understand_are_refused_with_what_they_do() {
        for (name, value, allowed) in [
            ("UNSEEN", "offf", "set UNSEEN to on or off"),
            ("UNSEEN_COVER", "0", "set UNSEEN_COVER to on or off"),
            ("UNSEEN_POLICY", "nevr", "set UNSEEN_POLICY to unseen, always, never or watch"),
            ("UNSEEN_TEST_SECONDS", "0", "set UNSEEN_TEST_SECONDS to a number from 1"),
            ("UNSEEN_BUDGET", "much", "set UNSEEN_BUDGET to per cent"),
        ] {
            let said = text(check(&env(&[(name, value)])));
            assert!(said.contains(&format!("{name} is '{value}'")) && said.contains(allowed), "{said}");
        }
        assert_eq!(text(check(&env(&[("UNSEEN_POLICY", "never"), ("UNSEEN_BUDGET", "0.5%")]))), "");
    }
}
