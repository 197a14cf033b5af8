//! The one table of `UNSEEN_*` options. `unseen options` prints it; the readers take names from here.

/// Who reads an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// The runtime, inside the program.
    Program,
    /// The compiler wrappers and the pass.
    Build,
    /// The command-line tools.
    Tools,
}

/// One option of the environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnvOption {
    /// The variable.
    pub name: &'static str,
    /// Who reads it.
    pub reader: Reader,
    /// Accepted values, for people.
    pub values: &'static str,
    /// What holds when it is not set.
    pub default: &'static str,
    /// One sentence.
    pub help: &'static str,
}

macro_rules! options {
    ($($constant:ident $name:literal $reader:ident $values:literal $default:literal $help:literal;)*) => {
        $(#[doc = $help] pub const $constant: EnvOption = EnvOption {
            name: $name, reader: Reader::$reader, values: $values, default: $default, help: $help,
        };)*
        /// All options.
        pub const ALL: &[EnvOption] = &[$($constant),*];
    };
}

options! {
    UNSEEN "UNSEEN" Program "on, off" "on" "off: nothing is recorded, no file is touched, and functions run without probes.";
    DIR "UNSEEN_DIR" Program "a directory" "none: nothing is recorded" "The store; made if it is missing. `unseen run` and `cargo unseen run|test` set it to .unseen.";
    RUN "UNSEEN_RUN" Program "a name" "direct" "The run inside the store to which this process belongs; set by `unseen run`.";
    COVER "UNSEEN_COVER" Program "on, off" "on" "Whether coverage is recorded.";
    ACCESS_UNITS "UNSEEN_ACCESS_UNITS" Program "ID:NUMBER,..." "all" "Which units `access` watches; `unseen verify` sets it.";
    ACCESS_CALLS "UNSEEN_ACCESS_CALLS" Program "a number" "100" "So many first calls of each unit are watched, then fewer and fewer.";
    ACCESS_SECONDS "UNSEEN_ACCESS_SECONDS" Program "a number" "no limit" "After so many seconds of a process no more calls are watched, after twice as many none of what was never checked.";
    ACCESS_EFFORT "UNSEEN_ACCESS_EFFORT" Program "per cent" "25" "Beyond the first fifth of a second, so much of a process's own CPU time is spent on watching; 100 is no limit.";
    SANDBOX "UNSEEN_SANDBOX" Program "strict, best" "strict" "What a test in the running program is protected by. strict: where the kernel has no Landlock or no seccomp, tests are not run, and that is said. best: they are run with what there is.";
    POLICY "UNSEEN_POLICY" Program "unseen, always, never, watch" "unseen" "When tests that are attached to functions run: in states that no test has seen, at each call, or never. watch: never, but calls in states outside the seen set are recorded, and handed to UNSEEN_RESCUE functions.";
    UNITS "UNSEEN_UNITS" Program "globs of functions, separated by commas" "all" "Only these functions are tested. One that begins with ! is left out.";
    SAMPLE "UNSEEN_SAMPLE" Program "a number" "1" "Of so many calls in unseen states one is tested.";
    BUDGET "UNSEEN_BUDGET" Program "per cent" "no limit" "So much of a process's own CPU time may go into tests of its functions: their CPU time, what the callers wait, and what it takes to recognise states. Functions with few tests so far come first.";
    TEST_SECONDS "UNSEEN_TEST_SECONDS" Program "a number" "10" "So long an attached test may take, by the clock and of CPU time.";
    TESTS_AT_ONCE "UNSEEN_TESTS_AT_ONCE" Program "a number" "4" "So many attached tests of a process run at once; a caller waits for the next.";
    SEEN_BYTES "UNSEEN_SEEN_BYTES" Program "a number" "no limit" "The most bytes of a build's seen set. What it forgets is tested again.";
    EXACT "UNSEEN_EXACT" Program "on, off" "off" "on: states of more than 16 bytes are kept whole in the store and compared byte by byte, instead of hashes of 128 bits. Slower, in a seen set of its own, which can't be exported.";
    VALUES "UNSEEN_VALUES" Program "on, off" "off" "on: what is recorded of a test that did not pass has the values too: the arguments of the unit, and up to 4096 bytes of what it reads.";
    BUILD "UNSEEN_BUILD" Build "mechanisms, none or default" "default" "What to instrument; by default cover, and state in programs with tests. The flag --unseen=... beats it, it beats [build] mechanisms in unseen.toml.";
    WATCH "UNSEEN_WATCH" Build "globs of functions, separated by commas" "none" "The states of these functions are collected without a test, where they are known and have at most 64 bytes; with UNSEEN_POLICY=watch a call in any other state is recorded. Needs the mechanism state, which it brings along if nobody chose what to build in.";
    LTO "UNSEEN_LTO" Build "on, off" "on" "off instruments each translation unit by itself, for builds that refuse link-time optimisation.";
    EXCLUDE "UNSEEN_EXCLUDE" Build "globs of source paths, separated by commas" "none" "Functions from these files are not instrumented.";
    STD "UNSEEN_STD" Build "on, off" "off" "on instruments the language's own library (Rust's std, system headers) too.";
    LINK_LEVEL "UNSEEN_LINK_LEVEL" Build "0, 1, 2, 3, s, z" "the command line's -O" "How much the whole program is optimised when it is linked: 0 links large programs several times as fast. It beats [build] level in unseen.toml.";
    LINKER "UNSEEN_LINKER" Build "lld" "none" "lld: link with LLVM's lld even where the build demands another linker.";
    LLVM "UNSEEN_LLVM" Tools "a directory" "what llvm-config-22 --prefix says" "Prefix of LLVM 22.";
    RUSTC "UNSEEN_RUSTC" Tools "a path" "rustc" "The real rustc behind unseen-rustc.";
    LOG "UNSEEN_LOG" Build "off, on" "off" "on prints what the wrappers decide and run to standard error.";
}

/// The option of that name.
pub fn find(name: &str) -> Option<&'static EnvOption> {
    ALL.iter().find(|o| o.name == name)
}
