//! Real command lines and what becomes of them: `testdata/args/*.txt`.
//!
//! `$ ...` is a command line; the lines below say its outcome and how the compiler's command line differs (`+` added,
//! `-` taken out). `UNSEEN_BLESS=1` rewrites the files. Every line must also print back word for word.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::args::Args;
use super::clang::{self, Language, Surroundings};
use super::inputs::{Content, Input};
use super::link::{Request, Survey};
use super::step::{Class, Step};
use crate::config::Build;
use crate::context::{Llvm, Own};

fn around() -> Surroundings {
    Surroundings {
        own: Own {
            bin: "/unseen/bin".into(),
            plugin: "/unseen/pass.so".into(),
            runtime: "/unseen/rt.a".into(),
            malloc: "/unseen/malloc.so".into(),
            header: "/unseen/include/unseen.h".into(),
            cmake: "/unseen/unseen.cmake".into(),
        },
        llvm: Llvm { prefix: "/llvm".into() },
        build: Build::default(),
        build_named: false,
        request: Request::default(),
        level: None,
        replace_linker: false,
    }
}

/// Objects and archives are taken for bitcode; libraries for the system's.
fn survey(step: &Step) -> Survey {
    let mut survey = Survey::default();
    for name in step.of_class(Class::Object) {
        let path = PathBuf::from(name);
        let is = |e: &str| path.extension().is_some_and(|x| x == e);
        let (member, content) = match () {
            () if is("o") || is("lo") => (None, Content::Bitcode),
            () if is("a") => (Some("x.o".to_owned()), Content::Bitcode),
            () => (None, Content::Library),
        };
        survey.inputs.push(Input { path, member, content });
    }
    survey
}

fn describe(line: &str) -> String {
    let mut words = split(line);
    let language = if words.remove(0) == "clang++" { Language::Cpp } else { Language::C };
    let given: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    let args = Args::parse(given.clone());
    let back: Vec<_> = args.list.iter().flat_map(|a| a.words.iter().cloned()).collect();
    assert_eq!(back, given, "{line}");
    let step = Step::of(&args);
    let survey = survey(&step);
    let linking = step.other_target.is_none().then_some((&survey, Path::new("/tmp/s")));
    let plan = match clang::plan(language, &args, &step, &around(), linking) {
        Ok(plan) => plan,
        Err(failure) => return format!("error: {failure}\n"),
    };
    let mut out = format!("{}\n", plan.outcome);
    // The one argument that is taken away: see clang.rs.
    let (gone, kept): (Vec<_>, Vec<_>) = given.into_iter().partition(|w| w == FAT && !plan.args.contains(w));
    if !gone.is_empty() {
        out.push_str(&format!("- {FAT}\n"));
    }
    let (before, after) = around_given(&kept, &plan.args);
    for (sign, words) in [("+first", before), ("+", after)] {
        if !words.is_empty() {
            out.push_str(&format!("{sign} {}\n", words.join(" ")));
        }
    }
    for (name, value) in &plan.env {
        if ["UNSEEN_LEVEL", "UNSEEN_SCOPE", "UNSEEN_EXPOSED"].contains(name) {
            out.push_str(&format!("env {name}={value}\n"));
        }
    }
    for after in &plan.after {
        out.push_str(&format!("after {after:?}\n"));
    }
    out
}

const FAT: &str = "-ffat-lto-objects";

/// What was added before and behind the given words, which must be there unchanged and in order.
fn around_given(given: &[OsString], all: &[OsString]) -> (Vec<String>, Vec<String>) {
    let end = given.iter().position(|w| w == "--").unwrap_or(given.len());
    let (head, tail) = given.split_at(end);
    let start = (0..=all.len()).find(|i| all[*i..].starts_with(head));
    let start = start.unwrap_or_else(|| panic!("arguments of the user's are missing or moved: {all:?}"));
    assert!(all.ends_with(tail), "{all:?}");
    let text = |words: &[OsString]| words.iter().map(|w| w.to_string_lossy().into_owned()).collect();
    (text(&all[..start]), text(&all[start + head.len()..all.len() - tail.len()]))
}

/// Words of a line; only double quotes group.
fn split(line: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (i, part) in line.split('"').enumerate() {
        if i % 2 == 0 {
            out.extend(part.split_whitespace().map(str::to_owned));
        } else {
            out.push(part.to_owned());
        }
    }
    out
}

#[test]
fn command_lines_become_what_the_files_say() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("testdata").join("args");
    let bless = std::env::var_os("UNSEEN_BLESS").is_some();
    let mut count = 0;
    let mut wrong = Vec::new();
    for file in std::fs::read_dir(&dir).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut fresh = String::new();
        for line in text.lines() {
            if line.starts_with('#') {
                fresh.push_str(&format!("{line}\n"));
            } else if let Some(command) = line.strip_prefix("$ ") {
                fresh.push_str(&format!("\n{line}\n{}", describe(command)));
                count += 1;
            }
        }
        if bless {
            std::fs::write(&path, fresh).unwrap();
        } else if fresh != text {
            wrong.push(path);
        }
    }
    assert!(count > 80, "only {count} command lines");
    assert!(wrong.is_empty(), "differ (UNSEEN_BLESS=1 rewrites them): {wrong:?}");
}
