//! What is attached to which functions: tests, and who rescues them: the descriptors that `unseen.h` and the crate `unseen` leave in a section.

use crate::llvm::memory::{Kind, Shape, Value};
use crate::llvm::tests::demangle;
use crate::llvm::{Function, Module};
use crate::options::Options;
use std::mem::offset_of;
use unseen_abi::state::{Descriptor, Kind as What, TESTS};

/// A function with its tests.
pub struct Attached {
    pub unit: Function,
    pub tests: Vec<Test>,
}

/// Something that is attached to a function.
#[derive(Clone, Copy)]
pub struct Test {
    pub kind: What,
    /// The function that is called; none if its kind has none.
    pub function: Option<Function>,
    /// For a test that runs after the unit: a function that calls both, which is there only as long as the program is analysed.
    pub both: Option<Function>,
}

/// What descriptors say.
#[derive(Default)]
pub struct Found {
    pub units: Vec<Attached>,
    /// The variables that hold them.
    pub descriptors: Vec<Value>,
    /// What can't be done, for people.
    pub wrong: Vec<String>,
}

/// Reads the module's descriptors.
pub fn find(module: Module, functions: &[Function]) -> Found {
    let mut found = Found::default();
    for variable in module.variables() {
        if variable.initial().is_none() || variable.section() != TESTS {
            continue;
        }
        found.descriptors.push(variable);
        match read(variable, functions) {
            Ok((unit, test)) => match found.units.iter_mut().find(|a| a.unit == unit) {
                Some(attached) => attached.tests.push(test),
                None => found.units.push(Attached { unit, tests: vec![test] }),
            },
            Err(wrong) => found.wrong.push(wrong),
        }
    }
    found
}

/// Of these functions those that are to be watched, and neither have tests nor are any.
pub fn watched(functions: &[Function], options: &Options, attached: &[Attached]) -> Vec<Attached> {
    let is_asked = |f: &Function| {
        let name = demangle(&f.name());
        let bare = name.split_once('(').map_or(name.as_str(), |(before, _)| before);
        options.watch.is_match(&name) || options.watch.is_match(bare)
    };
    let is_free =
        |f: &Function| attached.iter().all(|a| a.unit != *f && a.tests.iter().all(|t| t.function != Some(*f)));
    let can_be = |f: &Function| !f.is_declaration() && f.subprogram().is_some() && reachable(*f, "").is_ok();
    let all = functions.iter().copied().filter(|f| can_be(f) && is_asked(f) && is_free(f));
    all.map(|unit| Attached { unit, tests: vec![Test { kind: What::Watch, function: None, both: None }] }).collect()
}

fn read(descriptor: Value, functions: &[Function]) -> Result<(Function, Test), String> {
    let function = |value: Value| {
        let mut value = value;
        loop {
            match value.kind() {
                Kind::Alias(aliasee) => value = aliasee,
                Kind::Function(function) => return Some(function),
                _ => return None,
            }
        }
    };
    let pointer = |field: usize| descriptor.pointer_at(field as u64);
    let number = descriptor.number_at(offset_of!(Descriptor, kind) as u64).unwrap_or(0);
    let Some(kind) = What::from_number(number) else {
        return Err(format!("something of the unknown kind {number} is attached: unseen.h is of another version"));
    };
    let test = pointer(offset_of!(Descriptor, test)).and_then(function);
    match test {
        None if !matches!(kind, What::Determinism | What::Watch) => {
            return Err("a test is attached that is no function".into());
        }
        Some(test) if test.is_declaration() => {
            return Err(format!("the test '{}' is attached, but is not in the program", demangle(&test.name())));
        }
        _ => {}
    }
    let title = test.map_or_else(|| "UNSEEN_DETERMINISTIC".into(), |test| demangle(&test.name()));
    let unit = match pointer(offset_of!(Descriptor, unit)).and_then(function) {
        Some(unit) => unit,
        None => {
            let name = match pointer(offset_of!(Descriptor, name)).map(Value::kind) {
                Some(Kind::Variable(variable)) => variable.initial().and_then(Value::text),
                _ => None,
            };
            named(&name.unwrap_or_default(), &title, functions)?
        }
    };
    reachable(unit, &title)?;
    if let Some(test) = test {
        fits(unit, test, kind)?;
    }
    Ok((unit, Test { kind, function: test, both: None }))
}

/// The function of that name: the linker's, or the source's, with or without scopes and parameters.
fn named(name: &str, test: &str, functions: &[Function]) -> Result<Function, String> {
    let defined = || functions.iter().copied().filter(|f| !f.is_declaration());
    if let Some(exact) = defined().find(|f| f.name() == name) {
        return Ok(exact);
    }
    let is_called = |f: &Function| {
        let whole = demangle(&f.name());
        let scoped = whole.split_once('(').map_or(whole.as_str(), |(before, _)| before);
        name == whole || name == scoped || f.subprogram().is_some_and(|s| s.name() == name)
    };
    let all: Vec<Function> = defined().filter(is_called).collect();
    match all[..] {
        [one] => Ok(one),
        [] => Err(format!("the test '{test}' is attached to '{name}', which is not in the program")),
        _ => {
            let names: Vec<String> = all.iter().map(|f| format!("  {}  ({})", demangle(&f.name()), f.name())).collect();
            Err(format!("the test '{test}' is attached to '{name}', and there are several:\n{}", names.join("\n")))
        }
    }
}

/// Whether something can be attached to the unit.
fn reachable(unit: Function, test: &str) -> Result<(), String> {
    let name = demangle(&unit.name());
    let why = match () {
        () if unit.is_declaration() => ", which is not in the program",
        () if unit.is_inline_copy() || unit.has_attribute("naked") => ", whose code is not the program's own",
        () if unit.signature().2 => ": a variable number of arguments can't be passed on",
        () => return Ok(()),
    };
    Err(format!("the test '{test}' is attached to '{name}'{why}"))
}

/// A test takes what its unit takes, and tells whether all is well. One that runs after the unit takes the result, too, or a pointer
/// to it where the unit returns it in memory.
fn fits(unit: Function, test: Function, kind: What) -> Result<(), String> {
    let (unit_name, test_name) = (demangle(&unit.name()), demangle(&test.name()));
    let (params, result, _) = unit.signature();
    let (takes, gives, more) = test.signature();
    let is_result = |i: &usize| unit.param_has_attribute(*i as u32, "sret");
    let mut wanted: Vec<_> = (0..params.len()).filter(|i| !is_result(i)).map(|i| params[i]).collect();
    let mut also = "";
    if kind == What::After {
        also = " and then what it returned";
        wanted.extend((0..params.len()).filter(is_result).map(|i| params[i]));
        wanted.extend((!matches!(result.shape(), Shape::Void)).then_some(result));
    }
    // A struct that is returned in registers is taken in as many.
    let mut apart = wanted.clone();
    if kind == What::After && result.shape() == Shape::Struct {
        apart.pop();
        apart.extend((0..result.part_count() as u32).map(|i| result.part(i)));
    }
    let tells = matches!(gives.shape(), Shape::Integer(_) | Shape::Void);
    if (wanted != takes && apart != takes) || !tells || more {
        let list =
            |types: &[_]| types.iter().map(|t: &crate::llvm::memory::Type| t.text()).collect::<Vec<_>>().join(", ");
        return Err(format!(
            "a test does not fit its unit: it takes what the unit takes{also}, and gives true, false or nothing\n  unit  {unit_name}: ({}) -> {}\n  test  {test_name}: ({}) -> {}",
            list(&params),
            result.text(),
            list(&takes),
            gives.text()
        ));
    }
    Ok(())
}
