//! The link: where the program comes together and the pass runs. Reads what goes in ([`survey`]), adds the linker, the
//! plugin, the runtime and a small object that lists the inputs ([`extend`]).

use object::write::{Object as Writer, StandardSegment};
use object::{
    Architecture, BinaryFormat, Endianness, FileFlags, Object as _, ObjectSection as _, SectionFlags, SectionKind,
};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use unseen_abi::mechanism::Mechanism;
use unseen_abi::{hooks, sections};

use super::account;
use super::args::{Args, Meaning};
use super::clang::{Surroundings, joined};
use super::inputs::{self, Content, Input};
use super::launch::{After, Plan};
use super::step::{self, Class, Step};
use super::{Outcome, Scope};
use crate::command::Failure;
use crate::context::Llvm;

/// Internal, from `cargo unseen` and `unseen-rustc`: what a link is for. `program` is the usual; `plain` serves the build
/// (proc-macros, build scripts) and gets nothing from us; `build` is whatever else cargo starts that links: executables
/// of build scripts are probes and tools, those of doctests are gone before they could be reported on.
pub const LINK: &str = "UNSEEN_LINK";
/// A value of [`LINK`]: a program as usual, of a Rust crate, which nothing but the link can instrument.
pub const CRATE: &str = "crate";
/// Internal, from `unseen-rustc`: what was declined on the way here, as `source: reason`.
pub const DECLINED: &str = "UNSEEN_DECLINED";

/// The dynamic loader's: libraries that come before all others, separated by spaces or colons.
const PRELOAD: &str = "LD_PRELOAD";
/// mimalloc's: after how many milliseconds memory that is free goes back to the kernel. A link would soon ask for it again.
const PURGE: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "-1");

/// What the caller wants of a link, if not the usual.
#[derive(Clone, Default, Debug)]
pub struct Request {
    /// Nothing is added to the product.
    pub plain: bool,
    /// Nothing is added to executables.
    pub plain_executables: bool,
    /// Without LTO there is nothing to instrument.
    pub is_crate: bool,
    /// What was declined on the way here.
    pub declined: Option<String>,
}

impl Request {
    /// From the environment.
    pub fn of(env: &HashMap<OsString, OsString>) -> Request {
        let purpose = env.get(OsStr::new(LINK)).and_then(|v| v.to_str());
        Request {
            plain: purpose == Some("plain"),
            plain_executables: purpose == Some("build"),
            is_crate: purpose == Some(CRATE),
            declined: env.get(OsStr::new(DECLINED)).map(|v| v.to_string_lossy().into_owned()),
        }
    }
}

/// What a link was given.
#[derive(Clone, Default, Debug)]
pub struct Survey {
    /// Objects and members of archives, in order.
    pub inputs: Vec<Input>,
    /// Those that were named by their path: they must fit.
    pub named: HashSet<PathBuf>,
    /// Libraries that the linker finds by itself.
    pub libraries: Vec<String>,
}

/// Reads the objects and archives on a command line.
pub fn survey(args: &Args, step: &Step) -> Survey {
    let dirs = library_dirs(args);
    let mut survey = Survey::default();
    let mut only_static = step.only_static;
    let mut named: Vec<PathBuf> = step.of_class(Class::Object).map(PathBuf::from).collect();
    for arg in &args.list {
        match arg.meaning {
            Meaning::Library => survey.library(&arg.value, &dirs, only_static),
            Meaning::LinkerWords | Meaning::LinkerWord => {
                for word in arg.value.as_bytes().split(|b| *b == b',') {
                    match word {
                        b"-Bstatic" | b"-static" | b"-dn" => only_static = true,
                        b"-Bdynamic" | b"-dy" => only_static = step.only_static,
                        [b'-', b'l', name @ ..] => survey.library(OsStr::from_bytes(name), &dirs, only_static),
                        [b'-', ..] => {}
                        // Values of linker options look like files, too; only objects and archives count.
                        file => named.push(PathBuf::from(OsStr::from_bytes(file))),
                    }
                }
            }
            _ => {}
        }
    }
    for path in named {
        let read = inputs::read(&path);
        if read.iter().any(|i| i.content != Content::Unknown) {
            survey.inputs.extend(read);
            survey.named.insert(path);
        }
    }
    survey
}

/// Where libraries are looked for, but for the system's own places: as clang orders them for the linker. With a sysroot the linker
/// may find others; what it really read is asked of it later.
fn library_dirs(args: &Args) -> Vec<PathBuf> {
    let mut dirs: Vec<OsString> = args.with(Meaning::LibraryDir).map(|a| a.value.clone()).collect();
    if let Some(list) = std::env::var_os("LIBRARY_PATH") {
        dirs.extend(std::env::split_paths(&list).map(PathBuf::into_os_string));
    }
    for word in step::linker_words(args) {
        let dir = word.as_bytes().strip_prefix(b"-L").or_else(|| word.as_bytes().strip_prefix(b"--library-path="));
        dirs.extend(dir.map(|d| OsStr::from_bytes(d).to_owned()));
    }
    dirs.iter()
        .map(|d| PathBuf::from(OsStr::from_bytes(d.as_bytes().strip_prefix(b"=").unwrap_or(d.as_bytes()))))
        .collect()
}

impl Survey {
    /// What is to be known of these files, which the linker has read, and is not: all code if another file follows from it, else
    /// what has bitcode in it.
    pub fn missed(&self, read: &[PathBuf], all: bool) -> Vec<Input> {
        let known: HashSet<&Path> = self.inputs.iter().map(|i| account::undotted(&i.path)).collect();
        let counts = |input: &Input| match input.content {
            Content::Bitcode | Content::ThinBitcode => true,
            Content::Native | Content::Unit | Content::Outdated(_) => all,
            _ => false,
        };
        let files = read.iter().filter(|path| !known.contains(account::undotted(path))).map(|path| inputs::read(path));
        files.filter(|file| file.iter().any(counts)).flatten().collect()
    }

    /// Adds what was missed.
    pub fn learn(&mut self, missed: Vec<Input>) {
        for input in &missed {
            let file = input.path.file_name().unwrap_or_default().to_string_lossy();
            self.libraries.retain(|name| file != format!("lib{name}.a") && Some(&*file) != name.strip_prefix(':'));
        }
        self.inputs.extend(missed);
    }

    fn library(&mut self, name: &OsStr, dirs: &[PathBuf], only_static: bool) {
        match inputs::find_library(name, dirs, only_static) {
            Some(path) => self.inputs.extend(inputs::read(&path)),
            None => self.libraries.push(name.to_string_lossy().into_owned()),
        }
    }

    fn has(&self, content: &Content) -> bool {
        self.inputs.iter().any(|i| i.content == *content)
    }

    /// What the linker most likely failed for, where its own words don't say what to do. That can't be told before: what archives
    /// hold is not always used, and other linkers than lld pass over libraries for another machine.
    pub fn culprit(&self, lld: bool) -> Option<Failure> {
        self.inputs.iter().find_map(|input| match &input.content {
            Content::Foreign(machine) if lld => Some(foreign(input, machine)),
            Content::Outdated(hook) => Some(
                Failure::environment(format!(
                    "{} was instrumented by another version of Unseen: this one has no {hook}",
                    input.name()
                ))
                .next("compile it again with this version"),
            ),
            _ => None,
        })
    }

    /// Inputs that would be lost on the way.
    fn check(&self) -> Result<(), Failure> {
        for input in &self.inputs {
            match &input.content {
                Content::ThinBitcode => {
                    return Err(Failure::environment(format!(
                        "{} is bitcode for thin LTO, which the pass never gets to see",
                        input.name()
                    ))
                    .next("compile it with unseen-clang, or with -flto=full instead of -flto=thin"));
                }
                Content::Foreign(machine) if self.named.contains(&input.path) => return Err(foreign(input, machine)),
                _ => {}
            }
        }
        Ok(())
    }
}

fn foreign(input: &Input, machine: &str) -> Failure {
    Failure::environment(format!("{} is code for {machine}; this link is for x86-64", input.name()))
        .next("compile it again for x86-64, or remove what an earlier build for another target left")
}

/// The argument that names our linker.
pub fn ld_path(llvm: &Llvm) -> OsString {
    joined("--ld-path=", &llvm.tool("ld.lld"))
}

/// Whether a link came out wrong because these were not known: the pass never saw them, or they are not in a file of bitcode alone.
pub fn would_differ(plan: &Plan, around: &Surroundings, missed: &[Input]) -> bool {
    let loaded = plan.args.contains(&pass_plugin(around));
    missed.iter().any(|i| i.content == Content::ThinBitcode || !loaded)
}

/// Removes what a link has made that must not be used.
pub fn discard(step: &Step) -> Result<(), Failure> {
    let file = step.linked();
    if !std::fs::metadata(&file).is_ok_and(|m| m.is_file()) {
        return Ok(());
    }
    std::fs::remove_file(&file).map_err(|e| {
        Failure::environment(format!("{}: bitcode was linked, but the pass did not run: {e}", file.display()))
            .next("remove the file, it must not be used")
    })
}

/// Adds to a plan what its link needs.
pub fn extend(
    plan: &mut Plan,
    args: &Args,
    step: &Step,
    around: &Surroundings,
    survey: &Survey,
    scratch: &Path,
) -> Result<(), Failure> {
    survey.check()?;
    let sources = step.has_class(Class::Source) && plan.outcome == Outcome::Handled(Scope::Program);
    let bitcode = sources || survey.has(&Content::Bitcode);
    if let Some(linker) = step.linker.as_ref().filter(|_| bitcode && !around.replace_linker) {
        return Err(Failure::environment(format!("{} was demanded, but only lld can run the pass", linker.display()))
            .next(match around.request.is_crate {
                true => "drop it, or set UNSEEN_LINKER=lld to link with lld all the same",
                false => {
                    "drop it, or set UNSEEN_LINKER=lld to link with lld all the same, or UNSEEN_LTO=off to do without"
                }
            }));
    }
    if bitcode || (around.build.lto && step.linker.is_none()) {
        plan.add([ld_path(&around.llvm)]);
    }
    if bitcode {
        plan.add(["-flto=full"]);
    }
    let plain = matches!(plan.outcome, Outcome::Declined(_)) && super::clang::is_plain(step, &around.request);
    if plain {
        return Ok(());
    }
    let whole_bitcode = bitcode
        && !step.has_class(Class::Assembly)
        && survey.inputs.iter().all(|i| i.content == Content::Bitcode)
        && (sources || !step.has_class(Class::Source));
    if step.relocatable && whole_bitcode {
        // The object stays bitcode, and as it was written: the final link will see it.
        plan.add(["-Wl,--lto-emit-llvm", "-Wl,--lto-O0"]);
        return Ok(());
    }
    if bitcode {
        load_plugin(plan, step, around);
        if let Some(how) = shows_names(args, step, survey) {
            plan.env.push((super::EXPOSED, how.into()));
        }
        let archives_only =
            !sources && !survey.inputs.iter().any(|i| i.content == Content::Bitcode && i.member.is_none());
        if !archives_only {
            plan.after.push(After::RequireManifest { file: step.linked() });
        }
    }
    let whole_archives = step::linker_words(args).iter().any(|w| w == "--whole-archive" || w == "-whole-archive");
    if bitcode && !step.relocatable && !whole_archives && survey.inputs.iter().any(|i| i.member.is_some()) {
        let report = scratch.join("extracted");
        plan.add([OsString::from("-Xlinker"), joined("--why-extract=", &report)]);
        plan.after.push(After::KeepExtracted { file: step.linked(), report });
    }
    let list = scratch.join("inputs.o");
    plan.files.push((list.clone(), inputs_object(plan, step, around, survey)));
    plan.add([OsString::from("-Xlinker"), list.into_os_string()]);
    if bitcode && step.only_static && !step.relocatable {
        // Nothing but a use takes it out of a static musl, and without it children share their parent's counters.
        plan.add(["-Wl,--undefined-glob=pthread_atfork"]);
    }
    if !step.relocatable {
        link_runtime(plan, around, bitcode || unit_code(plan, step, survey));
    }
    Ok(())
}

/// Which code that the pass does not see may know the program's functions by name: native objects in it, or libraries that it loads
/// and shows its symbols to.
fn shows_names(args: &Args, step: &Step, survey: &Survey) -> Option<&'static str> {
    let is_native = survey.has(&Content::Native) || step.has_class(Class::Assembly);
    let exports = |word: &OsString| {
        let word = word.to_string_lossy();
        let name = word.trim_start_matches('-');
        name == "E" || ["export-dynamic", "dynamic-list"].iter().any(|option| name.starts_with(option))
    };
    let has_exports = step::linker_words(args).iter().any(exports)
        || args.list.iter().any(|arg| arg.words.iter().any(|word| word == "-rdynamic"));
    if is_native { Some("native") } else { has_exports.then_some("exports") }
}

/// Whether something was instrumented while it was compiled.
fn unit_code(plan: &Plan, step: &Step, survey: &Survey) -> bool {
    survey.inputs.iter().any(|i| matches!(i.content, Content::Unit | Content::Outdated(_)))
        || (step.has_class(Class::Source) && plan.outcome == Outcome::Handled(Scope::Unit))
}

/// Every binary has the runtime inside, so that it does not depend on a library's; at run time the hooks of the
/// executable, which are exported for that, serve all.
fn link_runtime(plan: &mut Plan, around: &Surroundings, instrumented: bool) {
    plan.links_runtime = true;
    let watches = around.build.mechanisms.has(Mechanism::Access);
    let access = if watches { hooks::ACCESS } else { &[] };
    // That part is in programs only if they have tests.
    let may_have_tests = around.build.mechanisms.has(Mechanism::State) || !around.build.is_chosen;
    let state = if may_have_tests { hooks::STATE } else { &[] };
    for hook in hooks::BASIC.iter().chain(access).chain(state) {
        plan.add(["-Xlinker".to_owned(), format!("--export-dynamic-symbol={}", hook.symbol)]);
    }
    let runtime = [OsString::from("-Xlinker"), around.own.runtime.clone().into_os_string()];
    if instrumented && around.build.mechanisms != Default::default() {
        // Before the libraries: the first one that defines the hook would keep the archive out.
        plan.add_first(runtime);
        plan.add_first([format!("-Wl,--undefined={}", hooks::ENTER.symbol)]);
        if watches {
            plan.add_first([format!("-Wl,--undefined={}", hooks::ACCESS_ENTER_MODULE.symbol)]);
        }
    } else {
        plan.add(runtime);
    }
}

/// The linker's argument that loads the plugin.
fn pass_plugin(around: &Surroundings) -> OsString {
    joined("--load-pass-plugin=", &around.own.plugin)
}

/// The plugin, its variables, and a level at which it is called.
fn load_plugin(plan: &mut Plan, step: &Step, around: &Surroundings) {
    plan.loads_plugin = true;
    let named = around.build.level.or(step.level).or(around.level);
    let level = named.unwrap_or(if step.has_class(Class::Source) { '0' } else { '2' });
    let codegen = match level {
        '0' | '1' | '3' => level,
        _ => '2',
    };
    plan.add([OsString::from("-Xlinker"), pass_plugin(around)]);
    // The plugin runs the pipeline of the user's level itself. At level 1 the linker's own adds next to nothing to it,
    // at level 0 the linker would not call the plugin.
    plan.add([String::from("-Wl,--lto-O1"), format!("-Wl,--lto-CGO{codegen}")]);
    // Rewriting the tests at loops' ends pays where a second pipeline cleans up behind it.
    plan.add(["-Wl,-mllvm,-disable-lftr"]);
    // The plugin checks the module after each of its steps; the linker would do so once more before and behind it.
    plan.add(["-Wl,--disable-verify"]);
    plan.env.extend(around.build.variables());
    plan.env.push((super::LEVEL, level.into()));
    plan.env.push((super::SCOPE, "program".into()));
}

/// The linker's allocations go to our allocator, unless the user preloads something, or the allocator is not there: it only saves
/// time.
pub fn allocator(malloc: &Path, env: &HashMap<OsString, OsString>) -> Vec<(&'static str, String)> {
    match malloc.to_str().filter(|p| !p.contains([' ', ':']) && malloc.exists()) {
        Some(path) if !env.contains_key(OsStr::new(PRELOAD)) => vec![(PRELOAD, path.into()), (PURGE.0, PURGE.1.into())],
        _ => Vec::new(),
    }
}

/// The lines of the list of inputs.
fn input_lines(plan: &Plan, step: &Step, survey: &Survey) -> String {
    let mut lines = Vec::new();
    for (class, name) in &step.inputs {
        let kind = match (class, &plan.outcome) {
            (Class::Source, Outcome::Handled(Scope::Program)) => "bitcode",
            (Class::Source, Outcome::Handled(Scope::Unit)) => "unit",
            (Class::Source | Class::Assembly, _) => "native",
            _ => continue,
        };
        lines.push(format!("{kind} {}", name.to_string_lossy()));
    }
    for input in &survey.inputs {
        let kind = match input.content {
            Content::Bitcode => "bitcode",
            Content::Unit | Content::Outdated(_) => "unit",
            Content::Native => "native",
            Content::Library => "library",
            _ => continue,
        };
        lines.push(format!("{kind} {}", input.name()));
    }
    lines.extend(survey.libraries.iter().map(|l| format!("library -l{l}")));
    lines.iter().map(|l| l.replace('\n', " ") + "\n").collect()
}

/// The object that carries the list of inputs, and what was declined on the way.
fn inputs_object(plan: &Plan, step: &Step, around: &Surroundings, survey: &Survey) -> Vec<u8> {
    let mut object = Writer::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    // GNU ld's --gc-sections drops objects in which nothing is loaded and nothing asks to stay, which GNU objects alone can.
    object.flags = FileFlags::Elf { os_abi: object::elf::ELFOSABI_GNU, abi_version: 0, e_flags: 0 };
    let mut add = |name: &str, data: &[u8]| {
        let id =
            object.add_section(object.segment_name(StandardSegment::Debug).to_vec(), name.into(), SectionKind::Other);
        let section = object.section_mut(id);
        section.set_data(data.to_vec(), 1);
        section.flags = SectionFlags::Elf { sh_flags: u64::from(object::elf::SHF_GNU_RETAIN) };
    };
    add(sections::INPUTS, input_lines(plan, step, survey).as_bytes());
    let mut declined: Vec<String> = around.request.declined.iter().cloned().collect();
    for (class, name) in &step.inputs {
        match (class, &plan.outcome) {
            (Class::Assembly, _) => declined.push(format!("{}: assembly", name.display())),
            (Class::Source, Outcome::Declined(why)) => declined.push(format!("{}: {why}", name.display())),
            _ => {}
        }
    }
    if !declined.is_empty() {
        let text: String = declined.iter().map(|d| format!("{d}\0")).collect();
        add(sections::DECLINED, text.as_bytes());
    }
    // Without it GNU ld takes the object for one that wants an executable stack.
    add(".note.GNU-stack", b"");
    object.write().unwrap_or_default()
}

/// Blanks the lines of archive members that the linker did not extract, in place.
pub fn keep_extracted(file: &Path, report: &Path) -> Result<(), String> {
    let text = |e: std::io::Error| e.to_string();
    let extracted = std::fs::read_to_string(report).map_err(text)?;
    let extracted: HashSet<&str> = extracted.lines().skip(1).filter_map(|l| l.split('\t').nth(1)).collect();
    let data = std::fs::read(file).map_err(text)?;
    let parsed = object::File::parse(&*data).map_err(|e| e.to_string())?;
    let Some(section) = parsed.section_by_name(sections::INPUTS) else { return Ok(()) };
    let Some((offset, _)) = section.file_range() else { return Ok(()) };
    let lines = section.data().map_err(|e| e.to_string())?;
    let kept = without_unused_members(lines, &extracted);
    let mut out = std::fs::OpenOptions::new().write(true).open(file).map_err(text)?;
    out.seek(SeekFrom::Start(offset)).map_err(text)?;
    out.write_all(&kept).map_err(text)
}

/// The same bytes, with the lines of members that were not extracted made empty.
fn without_unused_members(lines: &[u8], extracted: &HashSet<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(lines.len());
    for line in lines.split_inclusive(|b| *b == b'\n') {
        let text = String::from_utf8_lossy(line);
        let name = text.trim_end().split_once(' ').map_or("", |(_, name)| name);
        if name.ends_with(')') && !extracted.contains(name) {
            out.resize(out.len() + line.len(), b'\n');
        } else {
            out.extend_from_slice(line);
        }
    }
    out
}
