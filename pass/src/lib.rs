//! The pass: sees a whole program as one LLVM module, decides what to do to each function, does it, and writes
//! down what it did.
//!
//! The order of steps is [`run`]: [`analysis`] reads the module and never changes it; its answer is a [`plan`],
//! plain data; [`instrument`] carries the plan out; [`emit`] adds what the runtime and the driver need. Only
//! [`llvm`] calls LLVM, only [`emit`] names hooks and sections.

pub mod analysis;
mod emit;
mod instrument;
pub mod llvm;
pub mod options;
pub mod plan;
mod plugin;

use analysis::attached::{Attached, Found};
use instrument::cover::Loops;
use llvm::{Function, Module};
use options::Options;
use unseen_abi::mechanism::Mechanism;

/// Runs the pass on a module, before it is optimised if it will be; [`settle`] must follow. Returns whether it was changed: a second run
/// changes nothing.
pub fn run(module: Module, options: &Options, optimised: bool) -> bool {
    if emit::is_done(module) {
        return false;
    }
    let found = analysis::attached::find(module, &module.functions());
    let options = &options.with_tests(!found.descriptors.is_empty() || !options.watch.is_empty());
    let (mut tests, code) = take_tests(module, found, options);
    let both = instrument::state::call_both(&mut tests);
    let mut functions = module.functions();
    let mut plan = analysis::plan(&functions, options);
    let watches = options.mechanisms.has(Mechanism::Access);
    let has_sets = watches || options.mechanisms.has(Mechanism::State);
    let sets = has_sets.then(|| analysis::dependencies(module, &functions, &both, options, &mut plan));
    // They are the last.
    functions.truncate(functions.len() - both.len());
    instrument::state::remove(&both);
    if let Some(sets) = sets.as_ref().filter(|_| options.mechanisms.has(Mechanism::State)) {
        tests.extend(analysis::watched(&functions, options, &plan, &tests, sets));
    }
    let access = sets.as_ref().filter(|_| watches).map(|sets| {
        let units: Vec<u32> = sets.deps.functions.iter().map(|f| f.function).collect();
        analysis::access::plan(module, &functions, &units, &mut plan)
    });
    let manifest = emit::manifest(&plan, options, &code);
    let variables = module.variables();
    if plan.probe_count() > 0 {
        instrument::cover::run(&functions, &plan, emit::probe(module));
        instrument::verify(&functions, "cover");
    }
    if let Some((access, sets)) = access.zip(sets.as_ref()) {
        let record = emit::access(module, &manifest, &sets.deps, &sets.globals, &variables, access.sites.clone());
        let hooks = emit::access_hooks(module);
        instrument::access::wrap(module, &analysis::access::allocators(&functions), emit::wrapper, &hooks);
        instrument::access::run(module, &access, &hooks);
        if let Some(gates) = emit::gates(module) {
            instrument::access::split(&access, &gates);
        }
        instrument::verify(&module.functions(), "access");
        emit::access_registration(module, record);
    }
    if let Some(sets) = sets.as_ref().filter(|_| !tests.is_empty()) {
        let with_traces = optimised && !watches;
        let state = analysis::state::plan(&tests, &functions, &plan, sets, with_traces);
        let asking = emit::state(module, &manifest, &state, &variables);
        instrument::state::run(&state, &variables, &asking);
        instrument::verify(&module.functions(), "state");
    }
    if plan.probe_count() > 0 {
        emit::registration(module, &manifest, emit::counters(module, plan.probe_count()));
    }
    emit::manifest_section(module, &manifest);
    if let Some(sets) = sets {
        emit::deps_section(module, &manifest, sets.deps);
    }
    llvm::strip_units(module, options::ADDED_LINES);
    emit::mark_done(module);
    true
}

/// The tests that are attached to functions, and what tells this program from any other that has them. What can't be done ends the link.
fn take_tests(module: Module, found: Found, options: &Options) -> (Vec<Attached>, Vec<u8>) {
    if !options.mechanisms.has(Mechanism::State) {
        if !found.descriptors.is_empty() {
            let why = if options.is_chosen { "without `state`" } else { "without link-time optimisation" };
            eprintln!("unseen-pass: warning: tests are attached, but this is built {why}: they never run");
        }
        return (Vec::new(), Vec::new());
    }
    for wrong in &found.wrong {
        eprintln!("unseen-pass: error: {wrong}");
    }
    if !found.wrong.is_empty() {
        std::process::exit(1);
    }
    // States that tests have seen are those of this code, and of no other.
    let code = if found.units.is_empty() && options.watch.is_empty() { Vec::new() } else { module.bitcode() };
    instrument::state::detach(&found);
    (found.units, code)
}

/// Drops probes of a function that say nothing new.
pub fn drop_repeats(function: Function) -> bool {
    emit::existing_probe(function.module()).is_some_and(|probe| instrument::cover::drop_repeats(function, probe))
}

/// Makes stores of the probes that [`run`] left as calls, and puts hooks behind gates: when functions are inlined and simplified, before loops are unrolled
/// and vectorised.
pub fn settle(module: Module, loops: Loops) -> bool {
    let gates = emit::gates(module);
    if let Some(gates) = &gates {
        instrument::access::gate(module, gates);
        instrument::verify(&module.functions(), "gates");
    }
    let Some(probe) = emit::existing_probe(module) else { return gates.is_some() };
    let counters = emit::existing_counters(module).expect("probes have counters");
    let epoch = emit::existing_epoch(module).expect("counters have an epoch");
    instrument::cover::settle(module, probe, counters, (loops == Loops::Copy).then_some(epoch));
    instrument::verify(&module.functions(), "settle");
    true
}

/// Whether hooks are behind gates, or will be.
pub fn has_gates(module: Module) -> bool {
    emit::has_gates(module)
}

/// What is left to do when the module is optimised, before its code is generated.
pub fn last(module: Module) -> bool {
    match emit::existing_counters(module) {
        Some(counters) => instrument::off::run(counters),
        None => false,
    }
}
