//! `unseen-clang` and `unseen-clang++`: a command line in, a [`Plan`] out, then carried out.
//!
//! Compile steps leave the module as written, as bitcode; the link does everything. What can't wait for the link is
//! instrumented per translation unit; what can't be instrumented at all runs the real compiler, and the object says why.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use unseen_abi::options;

use super::account;
use super::args::{Args, Meaning};
use super::launch::{self, After, Plan};
use super::link;
use super::step::{Class, Stage, Step};
use super::{Outcome, Scope};
use crate::command::Failure;
use crate::config::{self, Build};
use crate::context::{Llvm, Own};

/// Which compiler is played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// `clang`
    C,
    /// `clang++`
    Cpp,
}

impl Language {
    /// The name we are called by.
    pub fn role(self) -> &'static str {
        match self {
            Language::C => "unseen-clang",
            Language::Cpp => "unseen-clang++",
        }
    }

    fn compiler(self) -> &'static str {
        match self {
            Language::C => "clang",
            Language::Cpp => "clang++",
        }
    }
}

/// rustc's name of the target: modules of both languages must agree on it, or the linker warns.
pub const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Marks debug information that the user did not ask for; the pass takes it out again after reading it.
const LINES_FLAG: &str = "unseen-lines";

/// What surrounds a command.
pub struct Surroundings {
    /// Our files.
    pub own: Own,
    /// LLVM's files.
    pub llvm: Llvm,
    /// The configuration.
    pub build: Build,
    /// `--unseen=` stood on the command line.
    pub build_named: bool,
    /// What the caller wants of the link, if not the usual.
    pub request: link::Request,
    /// The level that holds if the command names none.
    pub level: Option<char>,
    /// Whether lld may be used in place of another linker that is demanded.
    pub replace_linker: bool,
}

impl Surroundings {
    fn find(env: &HashMap<OsString, OsString>, args: &Args) -> Result<Surroundings, Failure> {
        let mut build = Build::resolve(&config::working_directory(), env)?;
        let named = args.last(Meaning::Unseen);
        match named.map(|l| l.to_string_lossy()) {
            Some(list) if list == "--unseen" => {
                return Err(Failure::usage("--unseen names no mechanism").next("write --unseen=cover or --unseen=none"));
            }
            Some(list) => build.choose(&list, "--unseen")?,
            None => {}
        }
        let get = |name: &str| env.get(OsStr::new(name)).and_then(|v| v.to_str());
        Ok(Surroundings {
            own: Own::find()?,
            llvm: Llvm::find(env)?,
            build,
            build_named: named.is_some(),
            request: link::Request::of(env),
            level: get(super::LEVEL).and_then(|l| l.chars().next()),
            replace_linker: get(options::LINKER.name) == Some("lld"),
        })
    }
}

/// Plays clang or clang++.
pub fn main(language: Language) -> ExitCode {
    run(language).unwrap_or_else(|failure| failure.print_as(language.role()))
}

fn run(language: Language) -> Result<ExitCode, Failure> {
    let args = Args::parse(std::env::args_os().skip(1).collect());
    let env = config::environment();
    let around = Surroundings::find(&env, &args)?;
    let mut step = Step::of(&args);
    let moved = args.list.iter().any(|a| a.words[0].to_string_lossy().starts_with("-working-directory"));
    let found = |name: &OsStr| name == "-" || Path::new(name).exists();
    if !moved && !args.has(Meaning::Library) && !step.inputs.iter().any(|(_, name)| found(name)) {
        // clang has something to say about that, and what we would add must not change what.
        step.stage = Stage::Query;
    }
    if step.stage == Stage::Link && !is_foreign(&args, &step) {
        return link(language, &args, &step, &around, &env);
    }
    let plan = plan(language, &args, &step, &around, None)?;
    if plan.loads_plugin {
        around.own.check_plugin()?;
    }
    plan.carry_out(language.role(), &env)
}

/// Links, with a directory for what only this command needs: it is gone before we die the compiler's death.
fn link(
    language: Language,
    args: &Args,
    step: &Step,
    around: &Surroundings,
    env: &HashMap<OsString, OsString>,
) -> Result<ExitCode, Failure> {
    let mut survey = link::survey(args, step);
    loop {
        let scratch = launch::scratch()?;
        let mut plan = plan(language, args, step, around, Some((&survey, scratch.path())))?;
        if plan.loads_plugin {
            around.own.check_plugin()?;
            plan.env.extend(link::allocator(&around.own.malloc, env));
        }
        if plan.links_runtime {
            around.own.check_runtime()?;
        }
        let account = account::ask(&mut plan, args, step, around, scratch.path());
        let status = plan.attempt(language.role(), env)?;
        if let Some(failure) = survey.culprit(account.is_some()).filter(|_| status.code().is_some_and(|code| code != 0))
        {
            return Err(failure);
        }
        let read = match account.filter(|_| status.success()) {
            Some(file) => account::read(&file, args, scratch.path())?,
            None => Vec::new(),
        };
        let missed = survey.missed(&read, step.relocatable);
        if !link::would_differ(&plan, around, &missed) {
            drop(scratch);
            return Ok(launch::leave_as(status));
        }
        // Rare, and the only way to know all that a link reads is to link: now that it is known, again.
        link::discard(step)?;
        survey.learn(missed);
    }
}

/// What is to be done for a command line. Pure: everything read from the disk comes in.
pub fn plan(
    language: Language,
    args: &Args,
    step: &Step,
    around: &Surroundings,
    linking: Option<(&link::Survey, &Path)>,
) -> Result<Plan, Failure> {
    let (words, end) = args.for_compiler();
    let mut plan = Plan::unchanged(around.llvm.tool(language.compiler()), words, end);
    plan.outcome = decide(args, step, around);
    if is_foreign(args, step) {
        mark_objects(&mut plan, step);
        if step.stage == Stage::Link {
            mark_linked(&mut plan, step);
        }
        return Ok(plan);
    }
    match (&plan.outcome, step.stage) {
        (_, Stage::Query) => {
            // What is asked of the linker is asked of the one we use.
            if args.has(Meaning::LinkerWords) && !args.has(Meaning::Query) {
                plan.add([link::ld_path(&around.llvm)]);
            }
        }
        (_, Stage::Text) => {
            add_header(&mut plan, around);
            // A precompiled header must agree with its users on the target.
            if step.has_class(Class::Header) && !step.target_named {
                plan.add([format!("--target={TRIPLE}")]);
            }
        }
        (_, Stage::Compile) => compile(&mut plan, step, around),
        (_, Stage::Link) => {
            compile(&mut plan, step, around);
            if let Some((survey, scratch)) = linking {
                link::extend(&mut plan, args, step, around, survey, scratch)?;
            }
        }
    }
    Ok(plan)
}

/// Handled, declined or not a compile.
fn decide(args: &Args, step: &Step, around: &Surroundings) -> Outcome {
    match step.stage {
        Stage::Query => return Outcome::NotACompile("nothing is compiled"),
        Stage::Text => return Outcome::NotACompile("no object is made"),
        Stage::Compile | Stage::Link => {}
    }
    if let Some(why) = &step.other_target {
        return Outcome::Declined(why.clone());
    }
    if let Some(arg) = args.with(Meaning::Offload).next() {
        return Outcome::Declined(format!("code for accelerators ({})", arg.words[0].display()));
    }
    if let Some(input) = step.of_class(Class::Foreign).next() {
        return Outcome::Declined(format!("the language of {}", input.display()));
    }
    if around.build_named && around.build.mechanisms == Default::default() && step.has_class(Class::Source) {
        return Outcome::Declined("--unseen=none".into());
    }
    if is_plain(step, &around.request) {
        return Outcome::Declined("part of the build, not of the program".into());
    }
    if step.stage == Stage::Compile && !step.has_class(Class::Source) {
        return match step.has_class(Class::Assembly) {
            true => Outcome::Declined("assembly".into()),
            false => Outcome::NotACompile("nothing to compile"),
        };
    }
    match &step.needs_passes {
        Some(_) => Outcome::Handled(Scope::Unit),
        None if !around.build.lto => Outcome::Handled(Scope::Unit),
        None => Outcome::Handled(Scope::Program),
    }
}

/// Whether the command is for another compiler than the one we know: it runs unchanged.
fn is_foreign(args: &Args, step: &Step) -> bool {
    matches!(step.stage, Stage::Compile | Stage::Link)
        && (step.other_target.is_some() || args.has(Meaning::Offload) || step.has_class(Class::Foreign))
}

/// Whether a link's product serves the build only.
pub fn is_plain(step: &Step, request: &link::Request) -> bool {
    step.stage == Stage::Link && (request.plain || (request.plain_executables && !step.shared && !step.relocatable))
}

/// Additions for the sources among the inputs, and marks on the objects of the rest.
fn compile(plan: &mut Plan, step: &Step, around: &Surroundings) {
    let has_sources = step.has_class(Class::Source);
    if has_sources {
        add_header(plan, around);
        if !step.target_named {
            plan.add([format!("--target={TRIPLE}")]);
            if step.has_ir {
                plan.add(["-Wno-override-module"]);
            }
        }
    }
    match &plan.outcome {
        Outcome::Handled(scope) if has_sources => {
            match scope {
                Scope::Program => {
                    plan.add(["-flto=full", "-Xclang", "-disable-llvm-passes"]);
                    // Not taken back by its negation: with both, clang 22 writes native code.
                    plan.remove("-ffat-lto-objects");
                }
                Scope::Unit => {
                    plan.loads_plugin = true;
                    plan.add([joined("-fpass-plugin=", &around.own.plugin)]);
                    plan.env.extend(around.build.variables());
                    plan.env.push((super::SCOPE, "unit".into()));
                    plan.env.push((super::LEVEL, step.level.unwrap_or('0').into()));
                }
            }
            if !step.debug {
                plan.add(["-gline-tables-only", "-Xclang", "-dwarf-debug-flags", "-Xclang", LINES_FLAG]);
            }
        }
        _ => {}
    }
    mark_objects(plan, step);
}

/// The objects of declined steps say why.
fn mark_objects(plan: &mut Plan, step: &Step) {
    if step.stage != Stage::Compile {
        return;
    }
    for (class, input) in &step.inputs {
        let declined = match (&plan.outcome, class) {
            (Outcome::Declined(why), Class::Source | Class::Foreign | Class::Assembly) => Some(why.clone()),
            (Outcome::Handled(_), Class::Assembly) => Some("assembly".to_owned()),
            _ => None,
        };
        if let (Some(why), Some(object)) = (declined, step.object_of(input)) {
            plan.after.push(After::MarkDeclined { file: object, text: format!("{}: {why}", input.display()) });
        }
    }
}

/// `unseen.h` is found last, so that it hides nothing. Inputs that include nothing must not be warned about it.
fn add_header(plan: &mut Plan, around: &Surroundings) {
    if let Some(dir) = around.own.header.parent() {
        plan.add(["--start-no-unused-arguments", "-idirafter"]);
        plan.add([dir]);
        plan.add(["--end-no-unused-arguments"]);
    }
}

/// A link we take no part in says so itself.
fn mark_linked(plan: &mut Plan, step: &Step) {
    if let Outcome::Declined(why) = &plan.outcome {
        let names: Vec<_> = step.inputs.iter().map(|(_, n)| n.to_string_lossy()).collect();
        plan.after.push(After::MarkDeclined { file: step.linked(), text: format!("{}: {why}", names.join(" ")) });
    }
}

/// A flag and a path in one word.
pub fn joined(flag: &str, path: &PathBuf) -> OsString {
    let mut word = OsString::from(flag);
    word.push(path);
    word
}
