//! What a test that did not pass says of itself, in the words of the source: the thread and the stack that called the unit, where the test
//! was, and with what values, where these were recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use unseen_abi::deps::{Deps, Extent, Function, Place, What};
use unseen_abi::manifest::Manifest;
use unseen_abi::state::Attached;

use super::dependencies::words::Words;
use super::names;
use super::sources::{Sources, normalise};
use super::values;
use crate::store::attached::{self, Told};
use crate::store::code::{Code, Spot};
use crate::store::tallies::Tallies;
use crate::store::{ModuleId, deps};

/// All of it. What was not recorded is not there.
#[derive(Debug, Default, Serialize)]
pub struct Account {
    pub thread: Option<Thread>,
    pub stack: Option<Stack>,
    /// Of the unit.
    pub arguments: Option<Vec<Value>>,
    /// What the unit and its tests read, before the test began.
    pub values: Option<Vec<Value>>,
}

/// The thread that called the unit.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Thread {
    pub id: u32,
    pub name: String,
}

/// Frames, innermost first.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stack {
    /// Where the test was when it ended, if it did not end by its own verdict.
    pub test: Vec<Frame>,
    /// The unit, and who called it.
    pub callers: Vec<Frame>,
    /// There are more frames than are listed, of the one or the other.
    pub cut: bool,
}

/// A call that was under way.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// Empty if nobody knows it.
    pub function: String,
    /// `file:line`.
    pub place: Option<String>,
    /// The file with the code, and the linker's address there.
    pub file: String,
    pub address: String,
    /// It has no frame of its own, but is a part of the next function.
    pub inlined: bool,
}

/// A value that was recorded.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Value {
    pub name: String,
    #[serde(rename = "type")]
    pub ty: Option<String>,
    pub value: String,
}

/// The module of a unit: the file it was in, and what the pass said about it.
struct Own<'a> {
    manifest: &'a Manifest,
    file: &'a str,
    /// The file is another one by now.
    is_gone: bool,
}

impl Own<'_> {
    fn is_in(&self, file: &str) -> bool {
        !file.is_empty() && file == self.file
    }

    fn manifest_of(&self, file: &str) -> Option<&Manifest> {
        self.is_in(file).then_some(self.manifest)
    }
}

/// Functions of ours that stand between a unit and its test.
const OURS: &str = "__unseen_";

/// What accounts are read with.
pub struct Reader<'a> {
    code: Code,
    deps: BTreeMap<ModuleId, Deps>,
    /// Modules that the files they were loaded from no longer have: addresses there would be those of another build.
    gone: BTreeSet<ModuleId>,
    pub sources: &'a Sources,
}

impl<'a> Reader<'a> {
    /// For what was told of the modules that left these files.
    pub fn new(files: &[Tallies], told: &[Told], sources: &'a Sources) -> Reader<'a> {
        let mut reader = Reader { code: Code::default(), deps: BTreeMap::new(), gone: BTreeSet::new(), sources };
        let binaries: BTreeMap<ModuleId, &Path> = files.iter().map(|file| (file.id, &*file.binary)).collect();
        for (id, binary) in binaries {
            let name = id.to_string();
            let mut own = told.iter().filter(|t| t.module == name).filter_map(|t| t.more.as_ref()).peekable();
            if own.peek().is_none() {
                continue;
            }
            if !attached::units(binary).is_ok_and(|all| all.iter().any(|a| a.id == id.0)) {
                reader.gone.insert(id);
            } else if own.any(|more| !more.arguments.is_empty()) {
                let sets = deps::read(binary).unwrap_or_default();
                reader.deps.extend(sets.into_iter().map(|(manifest, sets)| (ModuleId(manifest.id), sets)));
            }
        }
        reader
    }

    /// What is told of a failure of a unit of a module.
    pub fn read(&mut self, told: &Told, manifest: &Manifest, unit: &Attached) -> Account {
        let Some(more) = &told.more else { return Account::default() };
        let files: Vec<&str> = more.files.lines().collect();
        // The unit is the first of the callers: its file is the one that the manifest is about.
        let own = more.callers.split(':').next().and_then(|n| usize::from_str_radix(n, 16).ok());
        let file = own.and_then(|n| files.get(n)).copied().unwrap_or_default();
        let own = Own { manifest, file, is_gone: self.gone.contains(&ModuleId(manifest.id)) };
        let (test, test_cut) = self.frames(&files, &more.place, &own);
        let (callers, callers_cut) = self.frames(&files, &more.callers, &own);
        let is_known = !(test.is_empty() && callers.is_empty());
        let deps = self.deps.get(&ModuleId(manifest.id));
        let (arguments, values) = match more.arguments.split_once('=') {
            Some((params, bytes)) => state(deps, unit, params, bytes),
            None => (arguments(deps, unit, &more.arguments), read_values(deps, unit, &more.values)),
        };
        Account {
            thread: Some(Thread { id: more.thread, name: more.thread_name.clone() }),
            stack: is_known.then_some(Stack { test, callers, cut: test_cut || callers_cut }),
            arguments,
            values,
        }
    }

    /// Frames as they are recorded: `0:1a2b 1:29d90! ...`.
    fn frames(&mut self, files: &[&str], text: &str, own: &Own<'_>) -> (Vec<Frame>, bool) {
        let (mut frames, mut cut) = (Vec::new(), false);
        for word in text.split_ascii_whitespace() {
            let Some((file, address)) = word.split_once(':') else {
                cut |= word == "...";
                continue;
            };
            let exact = address.strip_suffix('!');
            let Ok(address) = u64::from_str_radix(exact.unwrap_or(address), 16) else { continue };
            // The call is what comes before the place it returns to.
            let inside = if exact.is_some() { address } else { address.wrapping_sub(1) };
            let number = usize::from_str_radix(file, 16).ok();
            let file = number.and_then(|n| files.get(n)).copied().unwrap_or_default();
            let is_unknown = file.is_empty() || (own.is_gone && own.is_in(file));
            let spots = if is_unknown { Vec::new() } else { self.code.at(Path::new(file), inside) };
            if spots.last().is_some_and(|spot| spot.symbol.starts_with(OURS)) {
                // Where the unit asked for the test: what lies beyond are the callers.
                return (frames, false);
            }
            let last = spots.len().saturating_sub(1);
            let frame = |spot: &Spot, inlined| Frame {
                function: names::demangle(without_body(&spot.symbol)),
                place: self.place(spot, own.manifest_of(file)),
                file: file.into(),
                address: format!("{address:#x}"),
                inlined,
            };
            match spots.is_empty() {
                true => frames.push(frame(&Spot::default(), false)),
                false => frames.extend(spots.iter().enumerate().map(|(i, spot)| frame(spot, i < last))),
            }
        }
        (frames, cut)
    }

    /// Where it is, by debug info; without any, where the function begins, by the manifest.
    fn place(&self, spot: &Spot, manifest: Option<&Manifest>) -> Option<String> {
        if let (Some(file), Some(line)) = (&spot.file, spot.line) {
            return Some(format!("{}:{line}", self.sources.shown(&normalise(file))));
        }
        let manifest = manifest?;
        let function = manifest.functions.iter().find(|f| f.name == without_body(&spot.symbol))?;
        self.sources.at(manifest, function.place)
    }
}

/// The linker's name of a function, of which a body with or without probes was found.
fn without_body(symbol: &str) -> &str {
    symbol.strip_suffix(".on").or_else(|| symbol.strip_suffix(".off")).unwrap_or(symbol)
}

fn arguments(deps: Option<&Deps>, unit: &Attached, text: &str) -> Option<Vec<Value>> {
    let words: Vec<u64> = text.split_ascii_whitespace().filter_map(|w| u64::from_str_radix(w, 16).ok()).collect();
    if words.is_empty() {
        return None;
    }
    let known = function(deps, unit);
    let all = words.iter().enumerate().map(|(i, word)| {
        let size = known.and_then(|(_, f)| f.params.get(i)).map_or(8, |p| p.size).clamp(1, 8) as usize;
        argument(known, i, &word.to_le_bytes()[..size])
    });
    Some(all.collect())
}

/// The set of a unit.
type Known<'a> = Option<(&'a Deps, &'a Function)>;

fn function<'a>(deps: Option<&'a Deps>, unit: &Attached) -> Known<'a> {
    deps.and_then(|d| Some((d, d.functions.iter().find(|f| f.function == unit.function)?)))
}

fn argument(known: Known<'_>, i: usize, bytes: &[u8]) -> Value {
    let param = known.and_then(|(_, f)| f.params.get(i));
    let name = param.map(|p| p.name.clone()).filter(|n| !n.is_empty()).unwrap_or_else(|| format!("arg{i}"));
    // A struct by value, or in two halves, is not what the word holds.
    let ty = param.filter(|p| !p.by_value).and_then(|p| p.ty);
    let ty_name = known.zip(ty).map(|((deps, function), ty)| Words { deps, function }.type_name(ty));
    Value { name, ty: ty_name, value: values::show(known.map(|(deps, _)| deps), ty, bytes, false) }
}

/// A list of arguments, and one of what is read.
type Lists = (Option<Vec<Value>>, Option<Vec<Value>>);

/// A state of a few bytes: the parameters that count, then the places. As one number if their sizes are not known.
fn state(deps: Option<&Deps>, unit: &Attached, params: &str, digits: &str) -> Lists {
    let Some(bytes) = values::from_hex(digits) else { return (None, None) };
    let pieces = u64::from_str_radix(params, 16).ok().and_then(|params| pieces(deps, unit, params, &bytes));
    pieces.unwrap_or_else(|| {
        let value = values::show(None, None, &bytes, false);
        (None, Some(vec![Value { name: "state".into(), ty: None, value }]))
    })
}

fn pieces(deps: Option<&Deps>, unit: &Attached, params: u64, bytes: &[u8]) -> Option<Lists> {
    let known = function(deps, unit);
    let (deps, own) = known?;
    let mut rest = bytes;
    let mut take = |size: u64| {
        let (piece, behind) = rest.split_at_checked(usize::try_from(size).ok().filter(|n| *n > 0)?)?;
        rest = behind;
        Some(piece)
    };
    let (mut arguments, mut values) = (Vec::new(), Vec::new());
    for i in (0..64).filter(|i| params >> i & 1 == 1) {
        arguments.push(argument(known, i, take(own.params.get(i)?.size)?));
    }
    for read in &unit.reads {
        let function = deps.functions.get(read.function as usize)?;
        let what = &function.reads.get(read.item as usize)?.what;
        let What::Memory(Place { extent: Extent::Bytes(size), .. }) = what else { return None };
        values.push(place(&Words { deps, function }, what, take(*size)?));
    }
    // A state without any bytes has one nevertheless.
    (rest.is_empty() || rest == [0]).then_some((Some(arguments), Some(values)))
}

fn place(words: &Words<'_>, what: &What, bytes: &[u8]) -> Value {
    let (name, ty) = words.describe(what);
    let is_text = matches!(what, What::Memory(p) if p.extent == Extent::Text);
    let ty_name = ty.map(|ty| words.type_name(ty));
    Value { name, ty: ty_name, value: values::show(Some(words.deps), ty, bytes, is_text) }
}

/// What units read, as it is recorded: `0:2a000000 3:616263+`.
fn read_values(deps: Option<&Deps>, unit: &Attached, text: &str) -> Option<Vec<Value>> {
    if text.is_empty() {
        return None;
    }
    let pieces = text.split_ascii_whitespace().filter_map(|piece| {
        let (number, digits) = piece.split_once(':')?;
        let number: usize = number.parse().ok()?;
        let (digits, is_cut) = (digits.trim_end_matches('+'), digits.ends_with('+'));
        let bytes = values::from_hex(digits)?;
        let read = unit.reads.get(number);
        let known = read.zip(deps).and_then(|(read, deps)| {
            let function = deps.functions.get(read.function as usize)?;
            Some((Words { deps, function }, function.reads.get(read.item as usize)?.what))
        });
        let mut value = match &known {
            Some((words, what)) => place(words, what, &bytes),
            None => Value { name: format!("place {number}"), ty: None, value: values::show(None, None, &bytes, false) },
        };
        if is_cut {
            value.value += "...";
        }
        Some(value)
    });
    Some(pieces.collect())
}
