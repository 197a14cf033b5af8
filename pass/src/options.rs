//! What the pass is asked to do. The linker rejects options of plugins, so they come by the environment, where
//! the driver has put the result of flags, `unseen.toml` and variables.

use globset::{Glob, GlobSet, GlobSetBuilder};
use unseen_abi::manifest::Scope;
use unseen_abi::mechanism::{Mechanism, Mechanisms, NO_CHOICE};
use unseen_abi::options;

/// Flags of compile units whose line tables were asked for by the wrapper, not by the user.
pub const ADDED_LINES: &str = "unseen-lines";

/// What to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to instrument with.
    pub mechanisms: Mechanisms,
    /// Whether somebody chose that.
    pub is_chosen: bool,
    /// Whether the module is the whole program.
    pub scope: Scope,
    /// Which code that is not in the module may call the program by the names of its functions.
    pub exposed: Option<Exposed>,
    /// Whether the language's own library is instrumented too.
    pub standard: bool,
    /// Source files that are left alone.
    pub exclude: GlobSet,
    /// Functions whose states are watched.
    pub watch: GlobSet,
}

/// Who knows the program's functions by name, and is not seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exposed {
    /// Native code in the program.
    Native,
    /// What the program loads, if it does. Build systems ask for that of all programs.
    Exports,
}

/// An environment that contradicts itself: what is wrong, for people.
#[derive(Debug, PartialEq, Eq)]
pub struct Invalid(pub String);

impl Options {
    /// From the environment, through `get` so that tests need not change theirs.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Options, Invalid> {
        let chosen = get(options::BUILD.name).filter(|list| list != NO_CHOICE);
        let is_chosen = chosen.is_some();
        let mechanisms = match chosen {
            None => Mechanisms::DEFAULT,
            Some(list) => Mechanisms::parse(&list).map_err(|name| {
                let known: Vec<_> = Mechanism::ALL.iter().map(|m| m.name()).collect();
                Invalid(format!("{}: unknown mechanism `{name}`; known: {}", options::BUILD.name, known.join(", ")))
            })?,
        };
        // The driver has checked them, unless nobody asked it.
        let globs = |option: &options::EnvOption, forms: fn(&str) -> Vec<String>| {
            let mut globs = GlobSetBuilder::new();
            for pattern in get(option.name).iter().flat_map(|v| options::patterns(v)) {
                let bad = |e| Invalid(format!("{}: bad pattern `{pattern}`: {e}", option.name));
                for form in forms(pattern) {
                    globs.add(Glob::new(&form).map_err(bad)?);
                }
            }
            globs.build().map_err(|e| Invalid(e.to_string()))
        };
        Ok(Options {
            mechanisms,
            is_chosen,
            scope: if per_unit(&get) { Scope::TranslationUnit } else { Scope::Program },
            exposed: get("UNSEEN_EXPOSED").map(|how| if how == "exports" { Exposed::Exports } else { Exposed::Native }),
            standard: get(options::STD.name).is_some_and(|v| v == "on"),
            exclude: globs(&options::EXCLUDE, of_files)?,
            watch: globs(&options::WATCH, |pattern| vec![pattern.to_owned()])?,
        })
    }

    /// The same for a program that has tests, or not: they bring `state` along, unless somebody chose. Where only one source is seen, tests of
    /// what is in others would be errors.
    #[must_use]
    pub fn with_tests(&self, has_tests: bool) -> Options {
        let brings = has_tests && !self.is_chosen && self.scope == Scope::Program;
        let mechanisms = if brings { self.mechanisms.with(Mechanism::State) } else { self.mechanisms };
        Options { mechanisms, ..self.clone() }
    }
}

/// Debug information has whole paths. A relative pattern means their ends, one of a directory what is in it.
fn of_files(pattern: &str) -> Vec<String> {
    let bare = pattern.trim_start_matches("./").trim_end_matches('/');
    let anywhere = (!bare.starts_with('/')).then(|| format!("**/{bare}"));
    // As it stands, too: paths may have been made relative (-ffile-prefix-map).
    let ways = std::iter::once(bare.to_owned()).chain(anywhere);
    ways.flat_map(|way| [format!("{way}/**"), way]).collect()
}

/// Whether the compiler, not the linker, runs us.
pub fn per_unit(get: impl Fn(&str) -> Option<String>) -> bool {
    get("UNSEEN_SCOPE").is_some_and(|v| v == "unit")
}

/// The user's optimisation level: `0`, `1`, `2`, `3`, `s` or `z`.
pub fn level(get: impl Fn(&str) -> Option<String>) -> u8 {
    get("UNSEEN_LEVEL").and_then(|v| v.bytes().next()).unwrap_or(b'2')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Options, Invalid> {
        Options::read(|name| pairs.iter().find(|p| p.0 == name).map(|p| p.1.to_owned()))
    }

    #[test]
    fn nothing_set_means_the_default() {
        let o = read(&[]).unwrap();
        assert_eq!((o.mechanisms, o.scope, o.standard), (Mechanisms::DEFAULT, Scope::Program, false));
    }

    #[test]
    fn tests_bring_state_along_unless_somebody_chose() {
        let state = |pairs: &[(&str, &str)], has_tests| {
            read(pairs).unwrap().with_tests(has_tests).mechanisms.has(Mechanism::State)
        };
        assert!(state(&[], true) && state(&[("UNSEEN_BUILD", "default")], true));
        assert!(!state(&[], false) && !state(&[("UNSEEN_BUILD", "cover")], true));
        assert!(!state(&[("UNSEEN_SCOPE", "unit")], true) && state(&[("UNSEEN_BUILD", "state")], false));
    }

    #[test]
    fn an_unknown_mechanism_is_named_with_the_known_ones() {
        let Err(Invalid(text)) = read(&[("UNSEEN_BUILD", "cover,cowver")]) else { panic!() };
        assert_eq!(text, "UNSEEN_BUILD: unknown mechanism `cowver`; known: state, access, cover");
    }

    #[test]
    fn excluded_files_are_globs() {
        let o = read(&[("UNSEEN_EXCLUDE", "**/third_party/**,*.y")]).unwrap();
        assert!(
            o.exclude.is_match("/a/third_party/b/c.c") && o.exclude.is_match("x.y") && !o.exclude.is_match("/a/b.c")
        );
        let excluded = |pattern: &str, path: &str| read(&[("UNSEEN_EXCLUDE", pattern)]).unwrap().exclude.is_match(path);
        for pattern in ["b.c", "./b.c", "src/b.c", "src", "src/", "s*/{a,b}.c", "/p/src", "/p/src/b.c", "**/b.c"] {
            assert!(excluded(pattern, "/p/src/b.c"), "{pattern}");
        }
        for pattern in ["c", ".c", "rc/b.c", "p/b.c", "/src/b.c", "/b.c", "b"] {
            assert!(!excluded(pattern, "/p/src/b.c"), "{pattern}");
        }
        assert!(excluded("src/b.c", "src/b.c"));
    }
}
