//! rustc's command line, read: what crate is compiled into what. Arguments print back word for word; those we must
//! replace can be taken out by name.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Options that take their value from the next word if none is in the same.
const VALUES: &[&str] = &[
    "--cfg",
    "--check-cfg",
    "--crate-type",
    "--crate-name",
    "--edition",
    "--emit",
    "--print",
    "--out-dir",
    "--explain",
    "--target",
    "--force-warn",
    "--cap-lints",
    "--codegen",
    "--extern",
    "--sysroot",
    "--error-format",
    "--json",
    "--color",
    "--diagnostic-width",
    "--remap-path-prefix",
    "--remap-path-scope",
    "--allow",
    "--warn",
    "--deny",
    "--forbid",
    "--env-set",
];

/// Short ones, whose value may follow in the same word.
const SHORT: &[u8] = b"LlACDFWZo";

/// One option or input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arg {
    /// `--emit`, `-C`, ...; empty for an input.
    pub name: String,
    /// Its value; the input itself.
    pub value: OsString,
    /// The words it is made of.
    pub words: Vec<OsString>,
}

/// A command line of rustc.
#[derive(Clone, Default, Debug)]
pub struct Args {
    /// In order.
    pub list: Vec<Arg>,
}

impl Args {
    /// Reads a command line. `@file` stands for the lines of a file.
    pub fn parse(words: Vec<OsString>) -> Args {
        let words: Vec<OsString> = words.into_iter().flat_map(expand).collect();
        let mut list = Vec::new();
        let mut next = 0;
        while next < words.len() {
            let arg = read(&words[next..]);
            next += arg.words.len();
            list.push(arg);
        }
        Args { list }
    }

    /// The values of an option, in order.
    pub fn values<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a OsStr> {
        self.list.iter().filter(move |a| a.name == name).map(|a| a.value.as_os_str())
    }

    /// Whether the option is there.
    pub fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// The inputs: one source file, or `-`.
    pub fn inputs(&self) -> impl Iterator<Item = &OsStr> {
        self.list.iter().filter(|a| a.name.is_empty()).map(|a| a.value.as_os_str())
    }

    /// The last `-C name=value` (or `-C name`, with an empty value).
    pub fn codegen(&self, name: &str) -> Option<String> {
        self.list.iter().rev().find_map(|a| a.codegen().filter(|(n, _)| n == name).map(|(_, v)| v))
    }

    /// The words, without what `dropped` says.
    pub fn without(&self, dropped: impl Fn(&Arg) -> bool) -> Vec<OsString> {
        self.list.iter().filter(|a| !dropped(a)).flat_map(|a| a.words.iter().cloned()).collect()
    }

    /// What is to be made; `link` if nothing is said.
    pub fn emit(&self) -> Vec<(String, Option<PathBuf>)> {
        let mut out = Vec::new();
        for list in self.values("--emit") {
            for one in list.to_string_lossy().split(',') {
                let (kind, path) = one.split_once('=').map_or((one, None), |(k, p)| (k, Some(PathBuf::from(p))));
                out.push((kind.to_owned(), path));
            }
        }
        if out.is_empty() {
            out.push(("link".to_owned(), None));
        }
        out
    }

    /// The crate types named on the command line.
    pub fn crate_types(&self) -> Vec<String> {
        self.values("--crate-type")
            .flat_map(|v| v.to_string_lossy().split(',').map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }

    /// The level as one of `0 1 2 3 s z`: the last of `-O` and `-C opt-level`.
    pub fn level(&self) -> char {
        let last = self.list.iter().rev().find_map(|a| match a.codegen() {
            Some((name, value)) if name == "opt-level" => value.chars().next(),
            _ if a.name == "-O" => Some('3'),
            _ => None,
        });
        last.unwrap_or('0')
    }

    /// Whether debug information is asked for.
    pub fn debug(&self) -> bool {
        let last = self.list.iter().rev().find_map(|a| match a.codegen() {
            Some((name, value)) if name == "debuginfo" => Some(value != "0" && value != "none"),
            _ if a.name == "-g" => Some(true),
            _ => None,
        });
        last.unwrap_or(false)
    }

    /// Where dep-info is written, if it is.
    pub fn dep_info(&self) -> Option<PathBuf> {
        let (_, path) = self.emit().into_iter().find(|(kind, _)| kind == "dep-info")?;
        if path.is_some() {
            return path;
        }
        let name = self.values("--crate-name").next_back()?.to_string_lossy().into_owned();
        let extra = self.codegen("extra-filename").unwrap_or_default();
        let dir = self.values("--out-dir").next_back().map_or(Path::new(""), Path::new);
        Some(dir.join(format!("{name}{extra}.d")))
    }
}

impl Arg {
    /// Name and value of a `-C` option; dashes and underscores are the same.
    pub fn codegen(&self) -> Option<(String, String)> {
        if self.name != "-C" && self.name != "--codegen" {
            return None;
        }
        let text = self.value.to_string_lossy();
        let (name, value) = text.split_once('=').unwrap_or((&text, ""));
        Some((name.replace('_', "-"), value.to_owned()))
    }

    /// Whether it is one of these `-C` options.
    pub fn is_codegen(&self, names: &[&str]) -> bool {
        self.codegen().is_some_and(|(name, _)| names.contains(&name.as_str()))
    }
}

fn expand(word: OsString) -> Vec<OsString> {
    let Some(path) = word.as_bytes().strip_prefix(b"@") else { return vec![word] };
    match std::fs::read(OsStr::from_bytes(path)) {
        Ok(text) => {
            let lines = text.strip_suffix(b"\n").unwrap_or(&text).split(|b| *b == b'\n');
            lines.map(|l| OsString::from_vec(l.strip_suffix(b"\r").unwrap_or(l).to_vec())).collect()
        }
        Err(_) => vec![word],
    }
}

fn read(words: &[OsString]) -> Arg {
    let word = words[0].as_bytes();
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    let value = |b: &[u8]| OsString::from_vec(b.to_vec());
    let next = |name: &[u8]| {
        let taken = &words[..words.len().min(2)];
        Arg { name: text(name), value: taken.get(1).cloned().unwrap_or_default(), words: taken.to_vec() }
    };
    let one = |name: &[u8], v: OsString| Arg { name: text(name), value: v, words: words[..1].to_vec() };
    if word == b"-" || !word.starts_with(b"-") {
        return one(b"", words[0].clone());
    }
    if word.starts_with(b"--") {
        return match word.iter().position(|b| *b == b'=') {
            Some(at) => one(&word[..at], value(&word[at + 1..])),
            None if VALUES.iter().any(|v| v.as_bytes() == word) => next(word),
            None => one(word, OsString::new()),
        };
    }
    if word.len() > 1 && SHORT.contains(&word[1]) {
        return if word.len() == 2 { next(word) } else { one(&word[..2], value(&word[2..])) };
    }
    one(word, OsString::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(line: &str) -> Args {
        Args::parse(line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn a_line_of_cargo() {
        let args = parse(
            "--crate-name x --edition=2021 src/main.rs --error-format=json --json=diagnostic-rendered-ansi,artifacts \
             --crate-type bin --emit=dep-info,link -C opt-level=3 -Cembed-bitcode=no --cfg feature=\"a\" \
             -C metadata=1 -C extra-filename=-1 --out-dir /t/deps -L dependency=/t/deps --extern y=/t/deps/liby.rlib",
        );
        assert_eq!(args.inputs().collect::<Vec<_>>(), ["src/main.rs"]);
        assert_eq!((args.level(), args.debug()), ('3', false));
        assert_eq!(args.codegen("embed-bitcode").as_deref(), Some("no"));
        assert_eq!(args.crate_types(), ["bin"]);
        assert_eq!(args.dep_info(), Some("/t/deps/x-1.d".into()));
        assert_eq!(args.emit()[1].0, "link");
        assert_eq!(args.values("--extern").next().unwrap(), "y=/t/deps/liby.rlib");
    }

    #[test]
    fn levels_and_debug_information_follow_the_last_word() {
        assert_eq!(
            [parse("-O a.rs").level(), parse("-Copt-level=s a.rs").level(), parse("a.rs").level()],
            ['3', 's', '0']
        );
        assert_eq!(parse("-C opt_level=2 -C opt-level=0").level(), '0');
        assert!(
            parse("-g").debug() && !parse("-g -Cdebuginfo=0").debug() && parse("-Cdebuginfo=line-tables-only").debug()
        );
    }

    proptest! {
        #[test]
        fn any_words_print_back(words in proptest::collection::vec("[-a-zLCO=, ]{0,8}", 0..12)) {
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            prop_assert_eq!(Args::parse(words.clone()).without(|_| false), words);
        }
    }
}
