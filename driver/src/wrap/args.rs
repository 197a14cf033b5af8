//! Compiler arguments as clang's driver reads them: a table (name, shape, meaning) and a small loop.
//!
//! In: the words of a command line. Out: one [`Arg`] per argument, in order, each knowing the words it came from, so
//! that everything prints back byte for byte. What the table does not know passes through in place as
//! [`Meaning::Other`]. Response files are opened for reading only: their contents are looked at, the `@file` word
//! stays as it is.

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::response;

/// What an argument means to us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// Nothing: clang's own business.
    Other,
    /// A file, or `-` for standard input.
    Input,
    /// Stops before linking, with objects.
    Compile,
    /// Stops with assembly.
    Assembly,
    /// Makes clang write LLVM IR or bitcode where it would write assembly or objects.
    EmitLlvm,
    /// Ends before any code is made: preprocessing, dependencies, checking, precompiling.
    NoCode,
    /// A question that clang answers by itself.
    Query,
    /// Verbose; alone it is a question.
    Verbose,
    /// The output file.
    Output,
    /// The language of the inputs that follow.
    Language,
    /// Optimisation level.
    Level,
    /// Asks for debug information.
    Debug,
    /// Asks for none.
    NoDebug,
    /// Link-time optimisation of any kind.
    Lto,
    /// No link-time optimisation.
    NoLto,
    /// Objects with both bitcode and native code.
    /// The linker by name.
    UseLd,
    /// The linker by path.
    LdPath,
    /// The target triple.
    Target,
    /// x86-64 code.
    Machine64,
    /// Code for another machine of the family.
    MachineOther,
    /// Links a shared object.
    Shared,
    /// Links objects into an object.
    Relocatable,
    /// Links without shared objects.
    Static,
    /// Words for the linker, separated by commas.
    LinkerWords,
    /// One word for the linker.
    LinkerWord,
    /// A library to look for.
    Library,
    /// Where to look for libraries.
    LibraryDir,
    /// Sanitizers, of which some are passes that run at compile time.
    Sanitize,
    /// Takes sanitizers away again.
    NoSanitize,
    /// Needs passes that run while compiling, so that the module can't be left as written.
    CompilePasses,
    /// Code for accelerators beside the host's.
    Offload,
    /// Ours: the mechanisms to build in.
    Unseen,
    /// Only inputs follow.
    OnlyInputs,
}

/// How an argument takes its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// No value.
    Flag,
    /// In the same word.
    Joined,
    /// In the next word.
    Separate,
    /// In the same word if anything is left of it, else in the next.
    Either,
    /// In the same word, and another in the next.
    Both,
    /// In that many following words.
    Words(usize),
}

/// One line of the table.
struct Spec(&'static str, Shape, Meaning);

use Meaning as M;
use Shape::{Both, Either, Flag, Joined, Separate, Words};

/// The arguments we must know: those with a meaning, and those that take their value from the next word (which would
/// otherwise look like an input). A flag must match whole; a joined one by the longest name that fits.
#[rustfmt::skip]
const TABLE: &[Spec] = &[
    // What to do.
    Spec("-c", Flag, M::Compile), Spec("--compile", Flag, M::Compile),
    Spec("-S", Flag, M::Assembly), Spec("--assemble", Flag, M::Assembly),
    Spec("-emit-llvm", Flag, M::EmitLlvm),
    Spec("-E", Flag, M::NoCode), Spec("--preprocess", Flag, M::NoCode),
    Spec("-M", Flag, M::NoCode), Spec("--dependencies", Flag, M::NoCode),
    Spec("-MM", Flag, M::NoCode), Spec("--user-dependencies", Flag, M::NoCode),
    Spec("-fsyntax-only", Flag, M::NoCode), Spec("--analyze", Flag, M::NoCode), Spec("-emit-ast", Flag, M::NoCode),
    Spec("-emit-cir", Flag, M::NoCode), Spec("--precompile", Flag, M::NoCode), Spec("-extract-api", Flag, M::NoCode),
    Spec("-emit-interface-stubs", Flag, M::NoCode), Spec("-emit-merged-ifs", Flag, M::NoCode),
    Spec("-rewrite-objc", Flag, M::NoCode), Spec("-rewrite-legacy-objc", Flag, M::NoCode),
    Spec("-verify-pch", Flag, M::NoCode), Spec("-module-file-info", Flag, M::NoCode),
    Spec("-###", Flag, M::Query), Spec("--version", Flag, M::Query), Spec("--help", Flag, M::Query),
    Spec("-help", Flag, M::Query), Spec("--help-hidden", Flag, M::Query), Spec("--help=", Joined, M::Query),
    Spec("-dumpversion", Flag, M::Query), Spec("-dumpmachine", Flag, M::Query), Spec("-dumpspecs", Flag, M::Query),
    Spec("-print-", Joined, M::Query), Spec("--print-", Joined, M::Query), Spec("--autocomplete=", Joined, M::Query),
    Spec("--print-file-name", Separate, M::Query), Spec("--print-prog-name", Separate, M::Query),
    Spec("-ccc-print-phases", Flag, M::Query), Spec("-ccc-print-bindings", Flag, M::Query), Spec("-cc1", Flag, M::Query),
    Spec("-cc1as", Flag, M::Query), Spec("-cc1gen-reproducer", Flag, M::Query), Spec("-fdriver-only", Flag, M::Query),
    Spec("-v", Flag, M::Verbose), Spec("--verbose", Flag, M::Verbose),
    Spec("-o", Either, M::Output), Spec("--output", Separate, M::Output), Spec("--output=", Joined, M::Output),
    Spec("-x", Either, M::Language), Spec("--language", Separate, M::Language), Spec("--language=", Joined, M::Language),
    Spec("--", Flag, M::OnlyInputs),

    // How to generate code.
    Spec("-O", Joined, M::Level), Spec("--optimize", Flag, M::Level), Spec("--optimize=", Joined, M::Level),
    Spec("-g", Flag, M::Debug), Spec("--debug", Flag, M::Debug), Spec("-g1", Flag, M::Debug), Spec("-g2", Flag, M::Debug),
    Spec("-g3", Flag, M::Debug), Spec("-ggdb", Flag, M::Debug), Spec("-ggdb1", Flag, M::Debug),
    Spec("-ggdb2", Flag, M::Debug), Spec("-ggdb3", Flag, M::Debug), Spec("-glldb", Flag, M::Debug),
    Spec("-gsce", Flag, M::Debug), Spec("-gdbx", Flag, M::Debug), Spec("-gfull", Flag, M::Debug),
    Spec("-gused", Flag, M::Debug), Spec("-gmodules", Flag, M::Debug), Spec("-gdwarf", Flag, M::Debug),
    Spec("-gdwarf-2", Flag, M::Debug), Spec("-gdwarf-3", Flag, M::Debug), Spec("-gdwarf-4", Flag, M::Debug),
    Spec("-gdwarf-5", Flag, M::Debug), Spec("-gdwarf-6", Flag, M::Debug), Spec("-gline-tables-only", Flag, M::Debug),
    Spec("-gmlt", Flag, M::Debug), Spec("-gline-directives-only", Flag, M::Debug), Spec("-gcodeview", Flag, M::Debug),
    Spec("-g0", Flag, M::NoDebug), Spec("-ggdb0", Flag, M::NoDebug),
    Spec("-flto", Flag, M::Lto), Spec("-flto=", Joined, M::Lto), Spec("-fno-lto", Flag, M::NoLto),
    Spec("-ffat-lto-objects", Flag, M::Other), Spec("-fno-fat-lto-objects", Flag, M::Other),
    Spec("--target=", Joined, M::Target), Spec("-target", Separate, M::Target),
    Spec("-m64", Flag, M::Machine64), Spec("-m32", Flag, M::MachineOther), Spec("-m16", Flag, M::MachineOther),
    Spec("-mx32", Flag, M::MachineOther), Spec("-arch", Separate, M::Other),
    Spec("-fsanitize=", Joined, M::Sanitize), Spec("-fno-sanitize=", Joined, M::NoSanitize),
    Spec("-fsanitize-coverage=", Joined, M::CompilePasses),
    Spec("-fprofile-generate", Flag, M::CompilePasses), Spec("-fprofile-generate=", Joined, M::CompilePasses),
    Spec("-fcs-profile-generate", Flag, M::CompilePasses), Spec("-fcs-profile-generate=", Joined, M::CompilePasses),
    Spec("-fprofile-instr-generate", Flag, M::CompilePasses), Spec("-fprofile-instr-generate=", Joined, M::CompilePasses),
    Spec("-fprofile-use", Flag, M::CompilePasses), Spec("-fprofile-use=", Joined, M::CompilePasses),
    Spec("-fprofile-instr-use", Flag, M::CompilePasses), Spec("-fprofile-instr-use=", Joined, M::CompilePasses),
    Spec("-fprofile-sample-use", Flag, M::CompilePasses), Spec("-fprofile-sample-use=", Joined, M::CompilePasses),
    Spec("-fauto-profile=", Joined, M::CompilePasses), Spec("-fmemory-profile", Flag, M::CompilePasses),
    Spec("-fmemory-profile=", Joined, M::CompilePasses), Spec("-fprofile-arcs", Flag, M::CompilePasses),
    Spec("-ftest-coverage", Flag, M::CompilePasses), Spec("--coverage", Flag, M::CompilePasses),
    Spec("-coverage", Flag, M::CompilePasses), Spec("-finstrument-functions", Flag, M::CompilePasses),
    Spec("-finstrument-functions-after-inlining", Flag, M::CompilePasses),
    Spec("-finstrument-function-entry-bare", Flag, M::CompilePasses), Spec("-pg", Flag, M::CompilePasses),
    Spec("-fpass-plugin=", Joined, M::CompilePasses), Spec("-fno-integrated-as", Flag, M::CompilePasses),
    Spec("-no-integrated-as", Flag, M::CompilePasses), Spec("-fembed-bitcode", Flag, M::CompilePasses),
    Spec("-fembed-bitcode=", Joined, M::CompilePasses),
    Spec("--offload-arch=", Joined, M::Offload), Spec("--cuda-gpu-arch=", Joined, M::Offload),
    Spec("-fopenmp-targets=", Joined, M::Offload), Spec("--offload=", Joined, M::Offload),

    // How to link.
    Spec("-shared", Flag, M::Shared), Spec("--shared", Flag, M::Shared), Spec("-r", Flag, M::Relocatable),
    Spec("-static", Flag, M::Static), Spec("--static", Flag, M::Static), Spec("-static-pie", Flag, M::Static),
    Spec("-fuse-ld=", Joined, M::UseLd), Spec("--ld-path=", Joined, M::LdPath),
    Spec("-Wl,", Joined, M::LinkerWords), Spec("-Xlinker", Separate, M::LinkerWord),
    Spec("--for-linker", Separate, M::LinkerWord), Spec("--for-linker=", Joined, M::LinkerWord),
    Spec("-Zlinker-input", Separate, M::LinkerWord),
    Spec("-l", Either, M::Library), Spec("-L", Either, M::LibraryDir),
    Spec("--library-directory", Separate, M::LibraryDir), Spec("--library-directory=", Joined, M::LibraryDir),

    // Ours.
    Spec("--unseen", Flag, M::Unseen), Spec("--unseen=", Joined, M::Unseen),

    // Known only for the value they take from the next word.
    Spec("-A", Either, M::Other), Spec("-B", Either, M::Other), Spec("-D", Either, M::Other), Spec("-F", Either, M::Other),
    Spec("-G", Either, M::Other), Spec("-I", Either, M::Other), Spec("-T", Either, M::Other), Spec("-U", Either, M::Other),
    Spec("-V", Either, M::Other), Spec("-b", Either, M::Other), Spec("-e", Separate, M::Other), Spec("-u", Either, M::Other),
    Spec("-z", Separate, M::Other),
    Spec("--CLASSPATH", Separate, M::Other), Spec("--analyzer-output", Either, M::Other), Spec("--assert", Separate, M::Other),
    Spec("--bootclasspath", Separate, M::Other), Spec("--classpath", Separate, M::Other), Spec("--config", Separate, M::Other),
    Spec("--define-macro", Separate, M::Other), Spec("--dyld-prefix", Separate, M::Other),
    Spec("--encoding", Separate, M::Other), Spec("--extdirs", Separate, M::Other), Spec("--force-link", Separate, M::Other),
    Spec("--include-directory", Separate, M::Other), Spec("--include-directory-after", Separate, M::Other),
    Spec("--include-prefix", Separate, M::Other), Spec("--include-with-prefix", Separate, M::Other),
    Spec("--include-with-prefix-after", Separate, M::Other), Spec("--include-with-prefix-before", Separate, M::Other),
    Spec("--mhwdiv", Separate, M::Other), Spec("--no-system-header-prefix", Separate, M::Other),
    Spec("--output-class-directory", Separate, M::Other), Spec("--param", Separate, M::Other),
    Spec("--prefix", Separate, M::Other), Spec("--resource", Separate, M::Other), Spec("--rtlib", Separate, M::Other),
    Spec("--std", Separate, M::Other), Spec("--stdlib", Separate, M::Other), Spec("--sysroot", Separate, M::Other),
    Spec("--system-header-prefix", Separate, M::Other), Spec("--undefine-macro", Separate, M::Other),
    Spec("-MF", Either, M::Other), Spec("-MJ", Either, M::Other), Spec("-MQ", Either, M::Other), Spec("-MT", Either, M::Other),
    Spec("-Xanalyzer", Separate, M::Other), Spec("-Xarch_", Both, M::Other), Spec("-Xarch_device", Separate, M::Other),
    Spec("-Xarch_host", Separate, M::Other), Spec("-Xassembler", Separate, M::Other), Spec("-Xclang", Separate, M::Other),
    Spec("-Xclangas", Separate, M::Other), Spec("-Xcuda-fatbinary", Separate, M::Other),
    Spec("-Xcuda-ptxas", Separate, M::Other), Spec("-Xoffload-linker", Both, M::Other),
    Spec("-Xopenmp-target", Separate, M::Other), Spec("-Xopenmp-target=", Both, M::Other),
    Spec("-Xpreprocessor", Separate, M::Other),
    Spec("-ccc-gcc-name", Separate, M::Other), Spec("-ccc-install-dir", Separate, M::Other),
    Spec("-cxx-isystem", Either, M::Other), Spec("-dependency-dot", Separate, M::Other),
    Spec("-dependency-file", Separate, M::Other), Spec("-dumpdir", Separate, M::Other),
    Spec("-fdebug-compilation-dir", Separate, M::Other), Spec("-fmodule-implementation-of", Separate, M::Other),
    Spec("-fmodules-user-build-path", Separate, M::Other), Spec("-fnew-alignment", Separate, M::Other),
    Spec("-framework", Separate, M::Other), Spec("-ftrapv-handler", Separate, M::Other),
    Spec("-gen-cdb-fragment-path", Separate, M::Other), Spec("-iapinotes-modules", Either, M::Other),
    Spec("-idirafter", Either, M::Other), Spec("-iframework", Either, M::Other),
    Spec("-iframeworkwithsysroot", Either, M::Other), Spec("-imacros", Either, M::Other),
    Spec("-imultilib", Separate, M::Other), Spec("-include", Either, M::Other), Spec("-include-pch", Separate, M::Other),
    Spec("-init", Separate, M::Other), Spec("-install_name", Separate, M::Other), Spec("-iprefix", Either, M::Other),
    Spec("-iquote", Either, M::Other), Spec("-isysroot", Either, M::Other), Spec("-isystem", Either, M::Other),
    Spec("-isystem-after", Either, M::Other), Spec("-ivfsoverlay", Either, M::Other),
    Spec("-iwithprefix", Either, M::Other), Spec("-iwithprefixbefore", Either, M::Other),
    Spec("-iwithsysroot", Either, M::Other), Spec("-meabi", Separate, M::Other), Spec("-mllvm", Separate, M::Other),
    Spec("-mmlir", Separate, M::Other), Spec("-module-dependency-dir", Separate, M::Other),
    Spec("-mthread-model", Separate, M::Other), Spec("-object-file-name", Separate, M::Other),
    Spec("-resource-dir", Separate, M::Other), Spec("-rpath", Separate, M::Other),
    Spec("-sectalign", Words(3), M::Other), Spec("-sectcreate", Words(3), M::Other),
    Spec("-serialize-diagnostics", Separate, M::Other), Spec("-specs", Separate, M::Other),
    Spec("-stdlib++-isystem", Either, M::Other), Spec("-undefined", Either, M::Other),
    Spec("-vfsoverlay", Either, M::Other), Spec("-working-directory", Separate, M::Other),
];

/// One argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arg {
    /// What it means to us.
    pub meaning: Meaning,
    /// Its value, or the whole word where it has none.
    pub value: OsString,
    /// The words it is made of.
    pub words: Vec<OsString>,
    /// Which words of the command line it came from; a response file is one word.
    pub origin: Range<usize>,
}

/// A command line, read.
#[derive(Clone, Debug, Default)]
pub struct Args {
    /// As it was given, without the program's name.
    pub words: Vec<OsString>,
    /// Every argument, in order; those of response files in their place.
    pub list: Vec<Arg>,
}

impl Args {
    /// Reads a command line.
    pub fn parse(words: Vec<OsString>) -> Args {
        let expanded = response::expand(&words);
        let mut list = Vec::new();
        let mut next = 0;
        let mut only_inputs = false;
        while next < expanded.len() {
            let (meaning, value, count) =
                if only_inputs { (Meaning::Input, expanded[next].1.clone(), 1) } else { read(&expanded[next..]) };
            only_inputs |= meaning == Meaning::OnlyInputs;
            let taken = &expanded[next..next + count];
            list.push(Arg {
                meaning,
                value,
                words: taken.iter().map(|(_, w)| w.clone()).collect(),
                origin: taken[0].0..taken[count - 1].0 + 1,
            });
            next += count;
        }
        Args { words, list }
    }

    /// The arguments with that meaning.
    pub fn with(&self, meaning: Meaning) -> impl DoubleEndedIterator<Item = &Arg> {
        self.list.iter().filter(move |a| a.meaning == meaning)
    }

    /// Whether there is one with that meaning.
    pub fn has(&self, meaning: Meaning) -> bool {
        self.with(meaning).next().is_some()
    }

    /// The value of the last one with that meaning.
    pub fn last(&self, meaning: Meaning) -> Option<&OsStr> {
        self.with(meaning).next_back().map(|a| a.value.as_os_str())
    }

    /// The command line without our own arguments, and where additions belong: at the end, but before `--`.
    /// A response file is only taken apart if it holds one of ours.
    pub fn for_compiler(&self) -> (Vec<OsString>, usize) {
        let ours: Vec<_> = self.with(Meaning::Unseen).map(|a| a.origin.clone()).collect();
        let touched = |i: usize| ours.iter().any(|o| o.contains(&i));
        let mut out = Vec::new();
        let mut end = None;
        for (i, word) in self.words.iter().enumerate() {
            if touched(i) {
                let kept = self.list.iter().filter(|a| a.origin.contains(&i) && a.meaning != Meaning::Unseen);
                out.extend(kept.flat_map(|a| a.words.iter().cloned()));
            } else {
                if word == "--" && self.with(Meaning::OnlyInputs).any(|a| a.origin.start == i) {
                    end = Some(out.len());
                }
                out.push(word.clone());
            }
        }
        let end = end.unwrap_or(out.len());
        (out, end)
    }
}

/// Reads one argument from the front: its meaning, its value, and how many words it takes.
fn read(words: &[(usize, OsString)]) -> (Meaning, OsString, usize) {
    let word = words[0].1.as_bytes();
    let whole = || words[0].1.clone();
    if word == b"-" || !word.starts_with(b"-") {
        return (Meaning::Input, whole(), 1);
    }
    let fits = |s: &&Spec| match s.1 {
        Flag | Separate | Words(_) => word == s.0.as_bytes(),
        Joined | Either | Both => word.starts_with(s.0.as_bytes()),
    };
    let Some(Spec(name, shape, meaning)) = TABLE.iter().filter(fits).max_by_key(|s| s.0.len()) else {
        return (Meaning::Other, whole(), 1);
    };
    let rest = &word[name.len()..];
    let following = |n: usize| {
        // A value that is missing is clang's to complain about.
        let count = (1 + n).min(words.len());
        let value = words.get(1).map_or_else(OsString::new, |w| w.1.clone());
        (*meaning, value, count)
    };
    match shape {
        Flag => (*meaning, whole(), 1),
        Joined => (*meaning, OsString::from_vec(rest.to_vec()), 1),
        Either if !rest.is_empty() => (*meaning, OsString::from_vec(rest.to_vec()), 1),
        Separate | Either | Both => following(1),
        Words(n) => following(*n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(line: &str) -> Args {
        Args::parse(line.split_whitespace().map(OsString::from).collect())
    }

    fn meanings(line: &str) -> Vec<(Meaning, String)> {
        parse(line).list.iter().map(|a| (a.meaning, a.value.to_string_lossy().into_owned())).collect()
    }

    #[test]
    fn values_in_the_next_word_are_not_inputs() {
        let inputs: Vec<_> =
            parse("-I inc -include a.h -MF d.d -Xclang -x.c -o out -x c a.c -u sym -z now -rpath /x b.o")
                .with(Meaning::Input)
                .map(|a| a.value.clone())
                .collect();
        assert_eq!(inputs, ["a.c", "b.o"]);
    }

    #[test]
    fn the_longest_name_wins() {
        assert_eq!(meanings("-include-pch p.pch")[0], (Meaning::Other, "p.pch".into()));
        assert_eq!(meanings("-lm"), [(Meaning::Library, "m".into())]);
        assert_eq!(meanings("-MMD"), [(Meaning::Other, "-MMD".into())]);
        assert_eq!(meanings("-MD"), [(Meaning::Other, "-MD".into())]);
        assert_eq!(meanings("-gsplit-dwarf"), [(Meaning::Other, "-gsplit-dwarf".into())]);
        assert_eq!(meanings("-Os"), [(Meaning::Level, "s".into())]);
        assert_eq!(meanings("-print-prog-name=ld")[0].0, Meaning::Query);
        assert_eq!(meanings("-objcmt-migrate-all")[0].0, Meaning::Output);
    }

    #[test]
    fn everything_behind_a_double_dash_is_an_input() {
        assert_eq!(meanings("-c -- -o.c")[2], (Meaning::Input, "-o.c".into()));
        let args = parse("-c --unseen=cover -- a.c");
        let (words, end) = args.for_compiler();
        assert_eq!((words, end), (vec!["-c".into(), "--".into(), "a.c".into()], 1));
    }

    #[test]
    fn a_missing_value_is_left_to_clang() {
        assert_eq!(meanings("a.c -o"), [(Meaning::Input, "a.c".into()), (Meaning::Output, String::new())]);
    }

    #[test]
    fn the_table_has_no_name_twice() {
        let mut names: Vec<_> = TABLE.iter().map(|s| s.0).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    proptest! {
        #[test]
        fn any_words_print_back(words in proptest::collection::vec(proptest::collection::vec(1u8..=255, 0..12), 0..20)) {
            let words: Vec<OsString> = words.into_iter().map(OsString::from_vec).filter(|w| !w.as_bytes().starts_with(b"@")).collect();
            let args = Args::parse(words.clone());
            let back: Vec<_> = args.list.iter().flat_map(|a| a.words.iter().cloned()).collect();
            prop_assert_eq!(&back, &words);
        }

        #[test]
        fn known_names_in_any_order_print_back(picks in proptest::collection::vec((0..TABLE.len(), "[a-z,=./]{0,6}"), 0..20)) {
            let words: Vec<OsString> = picks.iter().map(|(i, tail)| format!("{}{tail}", TABLE[*i].0).into()).collect();
            let args = Args::parse(words.clone());
            let back: Vec<_> = args.list.iter().flat_map(|a| a.words.iter().cloned()).collect();
            prop_assert_eq!(back, words);
        }
    }
}
