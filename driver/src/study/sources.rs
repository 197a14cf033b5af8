//! Which source files a study is about, and how their paths are shown.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::{Serialize, Serializer};
use unseen_abi::manifest::{Manifest, Place};

/// What the user chose.
#[derive(Debug, Default, Clone)]
pub struct Choice {
    /// Sources of the toolchain and of dependencies too.
    pub all: bool,
    /// Only files that match one of these (if there is any), also from the toolchain and dependencies.
    pub include: Vec<String>,
    /// No files that match one of these.
    pub exclude: Vec<String>,
}

/// A choice, made ready for paths seen from one directory.
#[derive(Debug)]
pub struct Sources {
    all: bool,
    include: Option<GlobSet>,
    exclude: GlobSet,
    cwd: PathBuf,
    cargo_home: Option<PathBuf>,
}

/// A line of a source file; prints and is serialised as `file:line`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// As it is shown.
    pub file: String,
    pub line: u32,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Serialize for Spot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Sources {
    /// The error is the text about the pattern that is none.
    pub fn new(choice: &Choice, cwd: &Path, cargo_home: Option<PathBuf>) -> Result<Sources, String> {
        Ok(Sources {
            all: choice.all,
            include: if choice.include.is_empty() { None } else { Some(globs(&choice.include)?) },
            exclude: globs(&choice.exclude)?,
            cwd: cwd.into(),
            cargo_home,
        })
    }

    /// Whether the file (a path as [`normalise`] leaves it) belongs to the study.
    pub fn has(&self, path: &str) -> bool {
        let shown = self.shown(path);
        let matches = |set: &GlobSet| set.is_match(path) || set.is_match(shown);
        if matches(&self.exclude) {
            return false;
        }
        match &self.include {
            Some(include) => matches(include),
            None => self.all || !self.foreign(path) || self.at_home_among_foreigners(path),
        }
    }

    /// The path as people see it: relative where it lies below the working directory.
    pub fn shown<'a>(&self, path: &'a str) -> &'a str {
        Path::new(path).strip_prefix(&self.cwd).ok().and_then(Path::to_str).filter(|p| !p.is_empty()).unwrap_or(path)
    }

    /// The file of a place that a manifest names, as it is shown.
    pub fn file(&self, manifest: &Manifest, place: Place) -> Option<String> {
        Some(self.shown(&normalise(manifest.files.get(place.file as usize)?)).to_owned())
    }

    /// The place as `file:line`.
    pub fn at(&self, manifest: &Manifest, place: Option<Place>) -> Option<String> {
        Some(self.spot(manifest, place?)?.to_string())
    }

    /// The place, its file as it is shown.
    pub fn spot(&self, manifest: &Manifest, place: Place) -> Option<Spot> {
        Some(Spot { file: self.file(manifest, place)?, line: place.line })
    }

    /// What is left out, in words.
    pub fn leave_out(&self) -> &'static str {
        match (&self.include, self.exclude.is_empty(), self.all) {
            (None, true, false) => "toolchain and dependencies",
            (None, false, false) => "toolchain, dependencies and what was excluded",
            (None, _, true) => "what was excluded",
            (Some(_), ..) => "what was not chosen",
        }
    }

    /// The directory that shown paths are relative to.
    pub fn root(&self) -> &Path {
        &self.cwd
    }

    /// Sources of compilers, systems and dependencies.
    fn foreign(&self, path: &str) -> bool {
        // rustc calls its own sources /rustc/<commit>/... and those of std's dependencies /rust/deps/...; in a toolchain
        // they lie in lib/rustlib.
        const SYSTEM: [&str; 5] = ["/rustc/", "/rust/deps/", "/usr/include/", "/usr/lib/", "/usr/local/include/"];
        const ANYWHERE: [&str; 3] = ["/lib/rustlib/src/", "/.cargo/registry/src/", "/.cargo/git/checkouts/"];
        SYSTEM.iter().any(|p| path.starts_with(p))
            || ANYWHERE.iter().any(|p| path.contains(p))
            || self.cargo_home.as_ref().is_some_and(|home| {
                ["registry/src", "git/checkouts"].iter().any(|d| Path::new(path).starts_with(home.join(d)))
            })
    }

    /// Somebody who works inside a dependency's sources wants to see them.
    fn at_home_among_foreigners(&self, path: &str) -> bool {
        let inside = self.cwd.join("x");
        Path::new(path).starts_with(&self.cwd) && inside.to_str().is_some_and(|p| self.foreign(p))
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        // A directory means what is in it.
        let bare = pattern.trim_end_matches('/');
        for text in [bare.to_owned(), format!("{bare}/**")] {
            set.add(Glob::new(&text).map_err(|e| format!("{pattern:?} is not a pattern: {e}", e = e.kind()))?);
        }
    }
    set.build().map_err(|e| e.to_string())
}

/// One spelling for one file: no `.`, no `..` where it can be resolved without looking.
pub fn normalise(path: &str) -> String {
    let mut out = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            Component::ParentDir if out.has_root() => {}
            part => out.push(part),
        }
    }
    out.into_os_string().into_string().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(choice: &Choice, cwd: &str) -> Sources {
        Sources::new(choice, Path::new(cwd), Some("/opt/cargo".into())).unwrap()
    }

    #[test]
    fn toolchain_and_dependencies_are_left_out_by_default() {
        let s = sources(&Choice::default(), "/home/me/p");
        for foreign in [
            "/rustc/abc/library/core/src/fmt.rs",
            "/rust/deps/hashbrown-0.16.1/src/raw/mod.rs",
            "/usr/include/c++/12/vector",
            "/usr/lib/llvm-22/lib/clang/22/include/x.h",
            "/home/me/.cargo/registry/src/index/serde-1/src/lib.rs",
            "/opt/cargo/registry/src/index/serde-1/src/lib.rs",
            "/opt/cargo/git/checkouts/a/b/src/lib.rs",
            "/home/me/.rustup/toolchains/stable/lib/rustlib/src/rust/library/std/src/io.rs",
        ] {
            assert!(!s.has(foreign), "{foreign}");
            assert!(sources(&Choice { all: true, ..Choice::default() }, "/").has(foreign), "{foreign}");
        }
        for own in ["/home/me/p/src/main.rs", "/srv/other/a.c", "relative/a.c", "/usr/src/a.c"] {
            assert!(s.has(own), "{own}");
        }
    }

    #[test]
    fn who_works_in_a_dependency_sees_it() {
        let s = sources(&Choice::default(), "/opt/cargo/registry/src/index/serde-1");
        assert!(s.has("/opt/cargo/registry/src/index/serde-1/src/lib.rs"));
        assert!(!s.has("/opt/cargo/registry/src/index/itoa-1/src/lib.rs"));
        assert!(!sources(&Choice::default(), "/").has("/usr/include/stdio.h"));
    }

    #[test]
    fn patterns_see_relative_and_absolute_paths() {
        let with = |include: &[&str], exclude: &[&str]| {
            let own = |l: &[&str]| l.iter().map(ToString::to_string).collect();
            sources(&Choice { all: false, include: own(include), exclude: own(exclude) }, "/p")
        };
        assert!(with(&["src/*.rs"], &[]).has("/p/src/a.rs"));
        assert!(!with(&["src/*.rs"], &[]).has("/p/tests/a.rs"));
        assert!(with(&["src/"], &[]).has("/p/src/deep/a.rs"));
        assert!(with(&["/usr/include"], &[]).has("/usr/include/a.h"));
        assert!(!with(&[], &["**/gen_*.c"]).has("/p/x/gen_a.c"));
        assert!(!with(&["src"], &["src/a.rs"]).has("/p/src/a.rs"));
        assert!(
            Sources::new(&Choice { include: vec!["[".into()], ..Choice::default() }, Path::new("/"), None).is_err()
        );
    }

    #[test]
    fn paths_have_one_spelling() {
        assert_eq!(normalise("/a/b/../c/./d.h"), "/a/c/d.h");
        assert_eq!(normalise("../a.c"), "../a.c");
        assert_eq!(normalise("/../a.c"), "/a.c");
        assert_eq!(normalise("a/../../b.c"), "../b.c");
    }
}
