//! What a clang command line asks for, as plain facts. No decisions about Unseen here, no I/O.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::args::{Args, Meaning};

/// How far the command goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// It asks a question, or names nothing to work on.
    Query,
    /// It makes no object: preprocessing, assembly text, LLVM IR, precompiled headers.
    Text,
    /// It makes objects.
    Compile,
    /// It links.
    Link,
}

/// What an input is, by `-x` or by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// C, C++, Objective-C, or LLVM IR.
    Source,
    /// Assembly.
    Assembly,
    /// A header to precompile.
    Header,
    /// A language whose code does not go through clang's usual way (CUDA, Fortran, ...).
    Foreign,
    /// For the linker.
    Object,
}

/// A command line's facts.
#[derive(Clone, Debug)]
pub struct Step {
    /// How far it goes.
    pub stage: Stage,
    /// Its inputs in order.
    pub inputs: Vec<(Class, OsString)>,
    /// Some of them are LLVM IR, which brings a target of its own.
    pub has_ir: bool,
    /// Its output, if it is named.
    pub output: Option<PathBuf>,
    /// What only the linker is told to write to.
    pub linkers_output: Option<PathBuf>,
    /// The optimisation level as one of `0 1 2 3 s z`, if it is named.
    pub level: Option<char>,
    /// Debug information is asked for.
    pub debug: bool,
    /// `-shared`.
    pub shared: bool,
    /// `-r`.
    pub relocatable: bool,
    /// No shared libraries are looked for.
    pub only_static: bool,
    /// A target was named.
    pub target_named: bool,
    /// Why the code is not for this machine's usual target.
    pub other_target: Option<String>,
    /// Why the module can't be left as written until the link.
    pub needs_passes: Option<String>,
    /// A linker other than the default was demanded, by this argument.
    pub linker: Option<OsString>,
}

impl Step {
    /// Reads the facts off a command line.
    pub fn of(args: &Args) -> Step {
        let inputs = inputs(args);
        let (other_target, target_named) = target(args);
        let relocatable = args.has(Meaning::Relocatable) || linker_words(args).iter().any(|w| w == "-r");
        Step {
            stage: stage(args, &inputs),
            has_ir: args.last(Meaning::Language).is_some_and(|l| l == "ir")
                || inputs.iter().any(|(_, n)| Path::new(n).extension().is_some_and(|e| e == "ll" || e == "bc")),
            output: args.last(Meaning::Output).map(PathBuf::from),
            linkers_output: linkers_output(args),
            level: args.last(Meaning::Level).map(level),
            debug: args
                .list
                .iter()
                .rev()
                .find(|a| matches!(a.meaning, Meaning::Debug | Meaning::NoDebug))
                .is_some_and(|a| a.meaning == Meaning::Debug),
            shared: args.has(Meaning::Shared) || linker_words(args).iter().any(|w| w == "-shared" || w == "--shared"),
            relocatable,
            only_static: args.has(Meaning::Static),
            target_named,
            other_target,
            needs_passes: needs_passes(args),
            linker: linker(args),
            inputs,
        }
    }

    /// The inputs of a class.
    pub fn of_class(&self, class: Class) -> impl Iterator<Item = &OsStr> {
        self.inputs.iter().filter(move |(c, _)| *c == class).map(|(_, name)| name.as_os_str())
    }

    /// Whether there is an input of a class.
    pub fn has_class(&self, class: Class) -> bool {
        self.of_class(class).next().is_some()
    }

    /// The object that compiling an input leaves behind; none if it goes to standard output.
    pub fn object_of(&self, input: &OsStr) -> Option<PathBuf> {
        match &self.output {
            Some(output) if output == Path::new("-") => None,
            Some(output) => Some(output.clone()),
            None => Some(Path::new(Path::new(input).file_stem()?).with_extension("o")),
        }
    }

    /// The linked file.
    pub fn linked(&self) -> PathBuf {
        self.linkers_output.as_ref().or(self.output.as_ref()).cloned().unwrap_or_else(|| "a.out".into())
    }
}

/// The last output in the linker's words, which come behind clang's own.
fn linkers_output(args: &Args) -> Option<PathBuf> {
    let words = linker_words(args);
    words.iter().enumerate().rev().find_map(|(at, word)| {
        let word = word.to_string_lossy();
        match &*word {
            "-o" | "--output" => words.get(at + 1).map(PathBuf::from),
            _ => word.strip_prefix("--output=").map(PathBuf::from),
        }
    })
}

/// All words that go to the linker through `-Wl,` and `-Xlinker`.
pub fn linker_words(args: &Args) -> Vec<OsString> {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let mut out = Vec::new();
    for arg in &args.list {
        match arg.meaning {
            Meaning::LinkerWords => {
                out.extend(arg.value.as_bytes().split(|b| *b == b',').map(|w| OsString::from_vec(w.to_vec())));
            }
            Meaning::LinkerWord => out.push(arg.value.clone()),
            _ => {}
        }
    }
    out
}

fn stage(args: &Args, inputs: &[(Class, OsString)]) -> Stage {
    // To clang, a library is an input, too.
    if args.has(Meaning::Query) || (inputs.is_empty() && !args.has(Meaning::Library)) {
        Stage::Query
    } else if [Meaning::NoCode, Meaning::Assembly, Meaning::EmitLlvm].into_iter().any(|m| args.has(m))
        || inputs.iter().any(|(c, _)| *c == Class::Header)
    {
        Stage::Text
    } else if args.has(Meaning::Compile) {
        Stage::Compile
    } else {
        Stage::Link
    }
}

fn inputs(args: &Args) -> Vec<(Class, OsString)> {
    let mut language: Option<OsString> = None;
    let mut out = Vec::new();
    for arg in &args.list {
        match arg.meaning {
            Meaning::Language => language = (arg.value != "none").then(|| arg.value.clone()),
            Meaning::Input => {
                let class = match &language {
                    Some(language) => by_language(&language.to_string_lossy()),
                    None => by_name(Path::new(&arg.value)),
                };
                out.push((class, arg.value.clone()));
            }
            _ => {}
        }
    }
    out
}

fn by_language(language: &str) -> Class {
    match language {
        "c"
        | "c++"
        | "objective-c"
        | "objective-c++"
        | "cpp-output"
        | "c++-cpp-output"
        | "c++-module"
        | "objective-c-cpp-output"
        | "objective-c++-cpp-output"
        | "objc-cpp-output"
        | "objc++-cpp-output"
        | "ir" => Class::Source,
        "assembler" | "assembler-with-cpp" => Class::Assembly,
        header if header.contains("header") => Class::Header,
        _ => Class::Foreign,
    }
}

fn by_name(path: &Path) -> Class {
    match path.extension().and_then(OsStr::to_str).unwrap_or("") {
        "c" | "i" | "ii" | "cc" | "cp" | "cxx" | "cpp" | "c++" | "C" | "CC" | "CXX" | "CPP" | "C++" | "m" | "mi"
        | "mm" | "mii" | "M" | "ll" | "bc" | "cppm" | "ccm" | "cxxm" | "c++m" | "ixx" | "iim" | "pcm" => Class::Source,
        "s" | "S" | "asm" | "sx" => Class::Assembly,
        "h" | "hh" | "hpp" | "hxx" | "hp" | "h++" | "H" | "tcc" | "txx" => Class::Header,
        "cu" | "cui" | "hip" | "hipi" | "cl" | "clcpp" | "clii" | "hlsl" | "f" | "F" | "for" | "FOR" | "fpp"
        | "FPP" | "f90" | "F90" | "f95" | "F95" | "f03" | "f08" | "ads" | "adb" => Class::Foreign,
        _ => Class::Object,
    }
}

/// `0 1 2 3 s z`, as clang maps them.
fn level(value: &OsStr) -> char {
    match value.to_str().unwrap_or("") {
        "0" => '0',
        "" | "1" | "g" | "--optimize" => '1',
        "s" => 's',
        "z" => 'z',
        "2" => '2',
        _ => '3',
    }
}

/// Why the code is for another target, and whether a triple was named at all.
fn target(args: &Args) -> (Option<String>, bool) {
    let triple = args.last(Meaning::Target).map(OsStr::to_string_lossy);
    let machine = args.list.iter().rev().find(|a| matches!(a.meaning, Meaning::Machine64 | Meaning::MachineOther));
    let ours =
        |t: &str| t.starts_with("x86_64-") && t.contains("linux") && !t.contains("android") && !t.contains("x32");
    let other = match (&triple, machine) {
        (_, Some(m)) if m.meaning == Meaning::MachineOther => Some(format!("code for {}", m.value.display())),
        (Some(t), _) if !ours(t) => Some(format!("code for {t}")),
        _ => None,
    };
    (other, triple.is_some())
}

/// Sanitizers whose instrumentation is a pass that runs while compiling. The others are made by the front end, by the
/// code generator or at link time, and need nothing from us.
const PASS_SANITIZERS: &[&str] = &[
    "address",
    "alloc-token",
    "bounds",
    "dataflow",
    "fuzzer",
    "fuzzer-no-link",
    "hwaddress",
    "kernel-address",
    "kernel-hwaddress",
    "kernel-memory",
    "local-bounds",
    "memory",
    "memtag",
    "memtag-globals",
    "memtag-heap",
    "memtag-stack",
    "numerical",
    "realtime",
    "thread",
    "type",
];

fn needs_passes(args: &Args) -> Option<String> {
    let lto = args.list.iter().rev().find(|a| matches!(a.meaning, Meaning::Lto | Meaning::NoLto));
    if lto.is_some_and(|a| a.meaning == Meaning::NoLto) {
        return Some("-fno-lto".into());
    }
    if let Some(arg) = args.with(Meaning::CompilePasses).next() {
        return Some(arg.words[0].to_string_lossy().into_owned());
    }
    let mut on: Vec<String> = Vec::new();
    for arg in &args.list {
        let names = || arg.value.to_string_lossy().split(',').map(str::to_owned).collect::<Vec<_>>();
        match arg.meaning {
            Meaning::Sanitize => on.extend(names()),
            Meaning::NoSanitize => {
                let off = names();
                on.retain(|s| !off.contains(s) && !off.iter().any(|o| o == "all"));
            }
            _ => {}
        }
    }
    on.into_iter().find(|s| PASS_SANITIZERS.contains(&s.as_str())).map(|s| format!("-fsanitize={s}"))
}

/// The argument that demands a linker other than lld. `--ld-path` beats `-fuse-ld`.
fn linker(args: &Args) -> Option<OsString> {
    let arg = args.with(Meaning::LdPath).next_back().or_else(|| args.with(Meaning::UseLd).next_back())?;
    let name = Path::new(&arg.value).file_name().unwrap_or_default().to_string_lossy().into_owned();
    (!name.is_empty() && !name.contains("lld")).then(|| arg.words[0].clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(line: &str) -> Step {
        Step::of(&Args::parse(line.split_whitespace().map(OsString::from).collect()))
    }

    #[test]
    fn stages() {
        for (line, stage) in [
            ("--version", Stage::Query),
            ("-v", Stage::Query),
            ("-dumpmachine", Stage::Query),
            ("-print-search-dirs", Stage::Query),
            ("-### -c a.c", Stage::Query),
            ("-Wl,--version", Stage::Query),
            ("-c -o x.o", Stage::Query),
            ("-E a.c", Stage::Text),
            ("-MM a.c", Stage::Text),
            ("-S a.c", Stage::Text),
            ("-c -emit-llvm a.c", Stage::Text),
            ("-x c++-header a.h -o a.pch", Stage::Text),
            ("a.hpp", Stage::Text),
            ("-c a.c", Stage::Compile),
            ("-MMD -MF d -c a.c", Stage::Compile),
            ("-x c -c -", Stage::Compile),
            ("-v a.c", Stage::Link),
            ("a.o -lm", Stage::Link),
            ("-L. -lx -o prog", Stage::Link),
        ] {
            assert_eq!(step(line).stage, stage, "{line}");
        }
    }

    #[test]
    fn languages_hold_until_changed() {
        let classes: Vec<_> =
            step("-x c a.o -x none b.o -x assembler c.c -xcuda d").inputs.iter().map(|i| i.0).collect();
        assert_eq!(classes, [Class::Source, Class::Object, Class::Assembly, Class::Foreign]);
    }

    #[test]
    fn targets() {
        assert_eq!(step("-m32 a.c").other_target.as_deref(), Some("code for -m32"));
        assert_eq!(step("-m32 -m64 a.c").other_target, None);
        assert_eq!(step("--target=aarch64-linux-gnu a.c").other_target.as_deref(), Some("code for aarch64-linux-gnu"));
        assert!(step("-target x86_64-linux-musl a.c").other_target.is_none());
        assert!(step("-target x86_64-apple-darwin a.c").other_target.is_some());
    }

    #[test]
    fn levels_and_debug_information_follow_the_last_word() {
        let level = |l: &str| step(l).level;
        assert_eq!([level("-O2 -O0 a.c"), level("-O a.c"), level("-Og a.c")], [Some('0'), Some('1'), Some('1')]);
        assert_eq!([level("-Ofast a.c"), level("-Oz a.c"), level("a.c")], [Some('3'), Some('z'), None]);
        assert!(step("-g a.c").debug && !step("-g -g0 a.c").debug && !step("-gz a.c").debug);
        assert!(step("-g0 -ggdb3 a.c").debug);
    }

    #[test]
    fn what_needs_passes_while_compiling() {
        let why = |l: &str| step(l).needs_passes;
        assert_eq!(why("-fsanitize=undefined a.c"), None);
        assert_eq!(why("-fsanitize=undefined,address a.c").as_deref(), Some("-fsanitize=address"));
        assert_eq!(why("-fsanitize=address -fno-sanitize=all a.c"), None);
        assert_eq!(why("--coverage a.c").as_deref(), Some("--coverage"));
        assert_eq!(why("-flto=thin -fno-lto a.c").as_deref(), Some("-fno-lto"));
        assert_eq!(why("-fno-lto -flto a.c"), None);
    }

    #[test]
    fn linkers() {
        let linker = |l: &str| step(l).linker;
        assert_eq!(linker("-fuse-ld=lld a.o"), None);
        assert_eq!(linker("-fuse-ld=mold a.o"), Some("-fuse-ld=mold".into()));
        assert_eq!(linker("-fuse-ld=gold --ld-path=/x/ld.lld-22 a.o"), None);
    }
}
