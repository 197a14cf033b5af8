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

/// What an option takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One of the words in [`EnvOption::values`].
    Word,
    /// A whole number.
    Number,
    /// A whole number, but not 0.
    Count,
    /// A share: `1%`, `1` or `0.5%`.
    Share,
    /// Anything; who reads it has more to say.
    Text,
}

/// One option of the environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnvOption {
    /// The variable.
    pub name: &'static str,
    /// Who reads it.
    pub reader: Reader,
    /// What it takes.
    pub form: Form,
    /// Accepted values, for people; of a [`Form::Word`] all of them.
    pub values: &'static str,
    /// What holds when it is not set.
    pub default: &'static str,
    /// One sentence.
    pub help: &'static str,
}

macro_rules! options {
    ($($constant:ident $name:literal $reader:ident $form:ident $values:literal $default:literal $help:literal;)*) => {
        $(#[doc = $help] pub const $constant: EnvOption = EnvOption {
            name: $name, reader: Reader::$reader, form: Form::$form, values: $values, default: $default, help: $help,
        };)*
        /// All options.
        pub const ALL: &[EnvOption] = &[$($constant),*];
    };
}

options! {
    UNSEEN "UNSEEN" Program Word "on, off" "on" "off: nothing is recorded, no file is touched, and functions run without probes.";
    DIR "UNSEEN_DIR" Program Text "a directory" "none: nothing is recorded" "The store; made if it is missing. `unseen run` and `cargo unseen run|test` set it to .unseen.";
    RUN "UNSEEN_RUN" Program Text "a name" "direct" "The run inside the store to which this process belongs; set by `unseen run`.";
    COVER "UNSEEN_COVER" Program Word "on, off" "on" "Whether coverage is recorded.";
    ACCESS_UNITS "UNSEEN_ACCESS_UNITS" Program Text "ID:NUMBER,..." "all" "Which units `access` watches; `unseen verify` sets it.";
    ACCESS_CALLS "UNSEEN_ACCESS_CALLS" Program Number "a number" "100" "So many first calls of each unit are watched, then fewer and fewer.";
    ACCESS_SECONDS "UNSEEN_ACCESS_SECONDS" Program Number "a number" "no limit" "After so many seconds of a process no more calls are watched, after twice as many none of what was never checked.";
    ACCESS_EFFORT "UNSEEN_ACCESS_EFFORT" Program Number "a number of per cent" "25" "Beyond the first fifth of a second, so much of a process's own CPU time is spent on watching; 100 is no limit.";
    SANDBOX "UNSEEN_SANDBOX" Program Word "strict, best" "strict" "What a test in the running program is protected by. strict: where the kernel has no Landlock or no seccomp, tests are not run, and that is said. best: they are run with what there is.";
    POLICY "UNSEEN_POLICY" Program Word "unseen, always, never, watch" "unseen" "When tests that are attached to functions run: in states that no test has seen, at each call, or never. watch: never, but calls in states outside the seen set are recorded, and handed to UNSEEN_RESCUE functions.";
    UNITS "UNSEEN_UNITS" Program Text "globs of functions, separated by commas" "all" "Only these functions are tested. One that begins with ! is left out.";
    SAMPLE "UNSEEN_SAMPLE" Program Count "a number from 1" "1" "Of so many calls in unseen states one is tested.";
    BUDGET "UNSEEN_BUDGET" Program Share "per cent" "no limit" "So much of a process's own CPU time may go into tests of its functions: their CPU time, what the callers wait, and what it takes to recognise states. Functions with few tests so far come first.";
    TEST_SECONDS "UNSEEN_TEST_SECONDS" Program Count "a number from 1" "10" "So long an attached test may take, by the clock and of CPU time.";
    TESTS_AT_ONCE "UNSEEN_TESTS_AT_ONCE" Program Count "a number from 1" "4" "So many attached tests of a process run at once; a caller waits for the next.";
    SEEN_BYTES "UNSEEN_SEEN_BYTES" Program Number "a number" "no limit" "The most bytes of a build's seen set. What it forgets is tested again.";
    EXACT "UNSEEN_EXACT" Program Word "on, off" "off" "on: states of more than 16 bytes are kept whole in the store and compared byte by byte, instead of hashes of 128 bits. Slower, in a seen set of its own, which can't be exported.";
    VALUES "UNSEEN_VALUES" Program Word "on, off" "off" "on: what is recorded of a test that did not pass has the values too: the arguments of the unit, and up to 4096 bytes of what it reads.";
    BUILD "UNSEEN_BUILD" Build Text "mechanisms, none or default" "default" "What to instrument; by default cover, and state in programs with tests. The flag --unseen=... beats it, it beats [build] mechanisms in unseen.toml.";
    WATCH "UNSEEN_WATCH" Build Text "globs of functions, separated by commas" "none" "The states of these functions are collected without a test, where they are known and have at most 64 bytes; with UNSEEN_POLICY=watch a call in any other state is recorded. Needs the mechanism state, which it brings along if nobody chose what to build in.";
    LTO "UNSEEN_LTO" Build Word "on, off" "on" "off instruments each translation unit by itself, for builds that refuse link-time optimisation.";
    EXCLUDE "UNSEEN_EXCLUDE" Build Text "globs of source paths, separated by commas" "none" "Functions from these files are not instrumented.";
    STD "UNSEEN_STD" Build Word "on, off" "off" "on instruments the language's own library (Rust's std, system headers) too.";
    LINK_LEVEL "UNSEEN_LINK_LEVEL" Build Word "0, 1, 2, 3, s, z" "the command line's -O" "How much the whole program is optimised when it is linked: 0 links large programs several times as fast. It beats [build] level in unseen.toml.";
    LINKER "UNSEEN_LINKER" Build Word "lld" "none" "lld: link with LLVM's lld even where the build demands another linker.";
    LLVM "UNSEEN_LLVM" Tools Text "a directory" "what llvm-config-22 --prefix says" "Prefix of LLVM 22.";
    RUSTC "UNSEEN_RUSTC" Tools Text "a path" "rustc" "The real rustc behind unseen-rustc.";
    LOG "UNSEEN_LOG" Build Word "off, on" "off" "on prints what the wrappers decide and run to standard error.";
}

/// What the name of every option begins with but [`UNSEEN`]'s.
pub const PREFIX: &str = "UNSEEN_";

impl EnvOption {
    /// Whether it takes this value.
    pub fn takes(&self, value: &str) -> bool {
        let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let whole = |text: &str| number(text) && text.parse::<u64>().is_ok();
        match self.form {
            Form::Word => self.values.split(", ").any(|word| word == value),
            Form::Number => whole(value),
            Form::Count => whole(value) && value.parse() != Ok(0_u64),
            Form::Share => {
                let share = value.strip_suffix('%').unwrap_or(value);
                let (before, behind) = share.split_once('.').unwrap_or((share, "0"));
                whole(before) && number(behind)
            }
            Form::Text => true,
        }
    }
}

/// The patterns of a list. Commas part them, but not those in braces or brackets: `{a,b}.c` is one pattern.
pub fn patterns(list: &str) -> impl Iterator<Item = &str> {
    let (mut braces, mut bracket) = (0_usize, false);
    let parts = list.split(move |c| {
        match c {
            '[' => bracket = true,
            ']' => bracket = false,
            '{' if !bracket => braces += 1,
            '}' if !bracket => braces = braces.saturating_sub(1),
            _ => {}
        }
        c == ',' && braces == 0 && !bracket
    });
    parts.map(str::trim).filter(|pattern| !pattern.is_empty())
}

/// The option of that name.
pub fn find(name: &str) -> Option<&'static EnvOption> {
    ALL.iter().find(|o| o.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_options_take_is_what_their_readers_understand() {
        for (option, right, wrong) in [
            (COVER, &["on", "off"][..], &["offf", "0", "", "on, off"][..]),
            (POLICY, &["unseen", "watch"], &["nevr", "Always"]),
            (LINKER, &["lld"], &["gold"]),
            (ACCESS_EFFORT, &["0", "100"], &["25%", "-1", "99999999999999999999"]),
            (TEST_SECONDS, &["1", "10"], &["0", "1s"]),
            (BUDGET, &["1%", "1", "0.5%", "100000%"], &["much", "%", ".5", "0.5.1", "1%%"]),
            (DIR, &["", "anything"], &[]),
        ] {
            assert!(right.iter().all(|v| option.takes(v)), "{}", option.name);
            assert!(wrong.iter().all(|v| !option.takes(v)), "{}", option.name);
        }
        assert!(ALL.iter().all(|o| o.form != Form::Word || o.values.split(", ").all(|v| o.takes(v))));
    }

    #[test]
    fn commas_in_braces_and_brackets_part_no_patterns() {
        let parts = |list: &'static str| patterns(list).collect::<Vec<_>>();
        assert_eq!(parts("a, b/*,,{c,d{e,f}}.c,g[,{]h,i"), ["a", "b/*", "{c,d{e,f}}.c", "g[,{]h", "i"]);
        assert_eq!(parts("{a,b"), ["{a,b"]);
        assert!(parts("").is_empty());
    }
}
