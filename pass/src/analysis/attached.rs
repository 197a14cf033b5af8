//! Which tests are attached to which functions: the descriptors that `unseen.h` and the crate `unseen` leave in a section.

use crate::llvm::memory::{Kind, Shape, Value};
use crate::llvm::tests::demangle;
use crate::llvm::{Function, Module};
use unseen_abi::state::TESTS;

/// A function with its tests.
pub struct Attached {
    pub unit: Function,
    pub tests: Vec<Function>,
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
        let Some(initial) = variable.initial().filter(|_| variable.section() == TESTS) else { continue };
        found.descriptors.push(variable);
        match read(initial, functions) {
            Ok((unit, test)) => match found.units.iter_mut().find(|a| a.unit == unit) {
                Some(attached) => attached.tests.push(test),
                None => found.units.push(Attached { unit, tests: vec![test] }),
            },
            Err(wrong) => found.wrong.push(wrong),
        }
    }
    found
}

fn read(initial: Value, functions: &[Function]) -> Result<(Function, Function), String> {
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
    let Some(test) = function(initial.part(2)) else {
        return Err("a test is attached that is no function".into());
    };
    if test.is_declaration() {
        return Err(format!("the test '{}' is attached, but is not in the program", demangle(&test.name())));
    }
    let unit = match function(initial.part(0)) {
        Some(unit) => unit,
        None => {
            let name = match initial.part(1).kind() {
                Kind::Variable(variable) => variable.initial().and_then(Value::text),
                _ => None,
            };
            named(&name.unwrap_or_default(), test, functions)?
        }
    };
    fits(unit, test)?;
    Ok((unit, test))
}

/// The function of that name: the linker's, or the source's, with or without scopes and parameters.
fn named(name: &str, test: Function, functions: &[Function]) -> Result<Function, String> {
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
        [] => {
            Err(format!("the test '{}' is attached to '{name}', which is not in the program", demangle(&test.name())))
        }
        _ => {
            let names: Vec<String> = all.iter().map(|f| format!("  {}  ({})", demangle(&f.name()), f.name())).collect();
            Err(format!(
                "the test '{}' is attached to '{name}', and there are several:\n{}",
                demangle(&test.name()),
                names.join("\n")
            ))
        }
    }
}

/// A test takes what its unit takes, and tells whether all is well.
fn fits(unit: Function, test: Function) -> Result<(), String> {
    let (unit_name, test_name) = (demangle(&unit.name()), demangle(&test.name()));
    if unit.is_declaration() {
        return Err(format!("the test '{test_name}' is attached to '{unit_name}', which is not in the program"));
    }
    if unit.is_inline_copy() || unit.has_attribute("naked") {
        return Err(format!(
            "the test '{test_name}' is attached to '{unit_name}', whose code is not the program's own"
        ));
    }
    let (params, result, variadic) = unit.signature();
    let (takes, gives, more) = test.signature();
    if variadic || more {
        return Err(format!(
            "the test '{test_name}' is attached to '{unit_name}': a variable number of arguments can't be passed on"
        ));
    }
    let is_result = |i: &usize| unit.param_has_attribute(*i as u32, "sret");
    let wanted: Vec<_> = (0..params.len()).filter(|i| !is_result(i)).map(|i| params[i]).collect();
    let tells = matches!(gives.shape(), Shape::Integer(_) | Shape::Void);
    if wanted != takes || !tells {
        let list =
            |types: &[_]| types.iter().map(|t: &crate::llvm::memory::Type| t.text()).collect::<Vec<_>>().join(", ");
        return Err(format!(
            "a test does not fit its unit: it takes what the unit takes, and gives true, false or nothing\n  unit  {unit_name}: ({}) -> {}\n  test  {test_name}: ({}) -> {}",
            list(&params),
            result.text(),
            list(&takes),
            gives.text()
        ));
    }
    Ok(())
}
