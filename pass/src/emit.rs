//! What the runtime and the driver need inside the module: counters, the module record, constructor and
//! destructor, the manifest. The only file that names hooks, sections and our own symbols.

use crate::analysis::state::StatePlan;
use crate::instrument::access::Hooks;
use crate::llvm::gates::Gates;
use crate::llvm::memory::Value;
use crate::llvm::tests::{Asking, NUMBERS, demangle};
use crate::llvm::{self, Field, Function, Global, Module};
use crate::options::Options;
use crate::plan::Plan;
use unseen_abi::access::{AccessRecord, Site, Sites};
use unseen_abi::deps::Deps;
use unseen_abi::manifest::{self, Cover, Manifest};
use unseen_abi::mechanism::Mechanisms;
use unseen_abi::module::{COUNTER_PAGE, ModuleRecord};
use unseen_abi::sets::{self, CONSTANT, Lies};
use unseen_abi::state::{self, Attachments, Desk, StateRecord, TRACE_PLACES};
use unseen_abi::{ABI_VERSION, hooks, sections};

const DONE_FLAG: &str = "unseen";
/// The counters; `shim/off.cpp` finds probes by it.
pub const COUNTERS: &str = "__unseen_counters";
pub const PROBE: &str = "__unseen_probe";
/// The epoch; `shim/off.cpp` makes functions look at it.
pub const EPOCH: &str = "__unseen_epoch";
const RECORD: &str = "__unseen_module";
const ACCESS: &str = "__unseen_access";
const SETS: &str = "__unseen_access_sets";
const VARIABLES: &str = "__unseen_access_variables";
const RESOLVE: &str = "__unseen_access_resolve";
const ENTRY: &str = "__unseen_access_entry";
const TELL: &str = "__unseen_access_tell";
const GATE: &str = "__unseen_access_gate";
const COUNTDOWN: &str = "__unseen_access_countdown";
const STATE: &str = "__unseen_state";
const STATE_SETS: &str = "__unseen_state_sets";
const STATE_VARIABLES: &str = "__unseen_state_variables";
const STATE_RESOLVE: &str = "__unseen_state_resolve";
const STATE_UNITS: &str = "__unseen_state_units";
pub const STATE_GATES: &str = "__unseen_state_gates";
const STATE_DESKS: &str = "__unseen_state_desks";
const STATE_TRACES: &str = "__unseen_state_traces";
const STATE_HITS: &str = "__unseen_state_hits";
const STATE_HITS_HERE: &str = "__unseen_state_hits_here";
const STATE_KINDS: &str = "__unseen_state_kinds";
const STATE_NAMES: &str = "__unseen_state_names";
const STATE_CONSTRUCTOR: &str = "__unseen_state_module_enter";
const STATE_DESTRUCTOR: &str = "__unseen_state_module_leave";
const CONSTRUCTOR: &str = "__unseen_enter";
const DESTRUCTOR: &str = "__unseen_leave";
const ACCESS_CONSTRUCTOR: &str = "__unseen_access_module_enter";
const ACCESS_DESTRUCTOR: &str = "__unseen_access_module_leave";

/// Whether the pass has been here before.
pub fn is_done(module: Module) -> bool {
    module.has_flag(DONE_FLAG)
}

/// Leaves a sign that the pass has been here.
pub fn mark_done(module: Module) {
    module.set_flag(DONE_FLAG, ABI_VERSION);
}

/// Adds `count` counters, on whole pages of their own: the runtime maps a file over them.
pub fn counters(module: Module, count: u32) -> Global {
    module.add_bytes(COUNTERS, u64::from(count).next_multiple_of(COUNTER_PAGE as u64), COUNTER_PAGE as u32)
}

/// The counters that [`counters`] added.
pub fn existing_counters(module: Module) -> Option<Global> {
    module.global(COUNTERS)
}

/// Declares what a probe calls until it becomes a store.
pub fn probe(module: Module) -> Function {
    module.declare_probe(PROBE)
}

/// What [`probe`] declared.
pub fn existing_probe(module: Module) -> Option<Function> {
    module.function(PROBE)
}

/// The module's epoch, which [`registration`] added.
pub fn existing_epoch(module: Module) -> Option<Global> {
    module.global(EPOCH)
}

/// Makes the module introduce itself to the runtime when it is loaded, and take its leave when it goes.
pub fn registration(module: Module, manifest: &Manifest, counters: Global) {
    // The fields of ModuleRecord, in order.
    let record = module.add_constant(
        RECORD,
        &[
            Field::I32(size_of::<ModuleRecord>() as u32),
            Field::I32(manifest.mechanisms.0),
            Field::Bytes(manifest.id.to_vec()),
            Field::Address(Some(counters)),
            Field::I64(u64::from(manifest.counters)),
            Field::Address(Some(module.add_i32(EPOCH, 1))),
        ],
    );
    module.add_constructor(module.add_caller(CONSTRUCTOR, &hooks::ENTER, record));
    module.add_destructor(module.add_caller(DESTRUCTOR, &hooks::LEAVE, record));
}

/// As [`registration`], for what [`access`] added.
pub fn access_registration(module: Module, record: Global) {
    module.add_constructor(module.add_caller(ACCESS_CONSTRUCTOR, &hooks::ACCESS_ENTER_MODULE, record));
    module.add_destructor(module.add_caller(ACCESS_DESTRUCTOR, &hooks::ACCESS_LEAVE_MODULE, record));
}

/// The name of what stands for a function.
pub fn wrapper(name: &str) -> String {
    format!("{}wrapped_{name}", sections::SYMBOL_PREFIX)
}

/// The hooks of `access`, as they are called until [`gates`].
pub fn access_hooks(module: Module) -> Hooks {
    let hooks = Hooks {
        entry: module.declare_entry(ENTRY),
        leave: module.declare_hook(&hooks::ACCESS_LEAVE),
        read: module.declare_hook(&hooks::ACCESS_READ),
        text: module.declare_hook(&hooks::ACCESS_TEXT),
        write: module.declare_hook(&hooks::ACCESS_WRITE),
        new: module.declare_hook(&hooks::ACCESS_NEW),
        free: module.declare_hook(&hooks::ACCESS_FREE),
    };
    for hook in [hooks.leave, hooks.read, hooks.write] {
        hook.describe_hook(false);
    }
    hooks.text.describe_hook(true);
    hooks
}

/// Whether hooks are behind gates, or will be.
pub fn has_gates(module: Module) -> bool {
    module.global(GATE).is_some()
}

/// The hooks and variables with which gates are built, if there is anything to be put behind them.
pub fn gates(module: Module) -> Option<Gates> {
    let (record, entry) = (module.global(ACCESS)?, module.function(ENTRY)?);
    Some(Gates {
        gate: module.global(GATE)?,
        countdown: module.global(COUNTDOWN)?,
        entry,
        enter: module.function(TELL).unwrap_or_else(|| module.add_forwarder(TELL, &hooks::ACCESS_ENTER, record)),
        leave: module.declare_hook(&hooks::ACCESS_LEAVE),
        read: module.declare_hook(&hooks::ACCESS_READ),
        text: module.declare_hook(&hooks::ACCESS_TEXT),
        write: module.declare_hook(&hooks::ACCESS_WRITE),
    })
}

/// Adds what the runtime needs for `access`, and the section that says where its sites are. `globals` tells which of the module's
/// variables each global of the sets is.
pub fn access(
    module: Module,
    manifest: &Manifest,
    deps: &Deps,
    globals: &[u32],
    variables: &[Value],
    sites: Vec<Site>,
) -> Global {
    let (table, names) = table(module, deps, globals, variables, &[SETS, VARIABLES, RESOLVE]);
    let sites = Sites { id: manifest.id, sites, variables: names };
    section(module, sections::SITES, &sites.encode());
    // The fields of AccessRecord, in order.
    module.add_constant(
        ACCESS,
        &[
            Field::I32(size_of::<AccessRecord>() as u32),
            Field::I32(deps.functions.len() as u32),
            Field::Bytes(manifest.id.to_vec()),
        ]
        .into_iter()
        .chain(table)
        .chain([
            Field::Address(Some(module.add_i32(GATE, 0))),
            Field::Address(Some(module.add_bytes(COUNTDOWN, 4 * deps.functions.len().max(1) as u64, 4))),
        ])
        .collect::<Vec<_>>(),
    )
}

/// The fields of [`sets::Table`], in order, and the names of its variables. `globals` tells which of the module's variables each global of
/// the sets is; `variables` are those that become part of the table. The names are for what is added.
fn table(
    module: Module,
    deps: &Deps,
    globals: &[u32],
    variables: &[Value],
    [words_name, variables_name, resolve_name]: &[&str; 3],
) -> (Vec<Field>, Vec<String>) {
    let layout = module.layout();
    let own = |v: &Value| v.name().starts_with(sections::SYMBOL_PREFIX) || v.name().starts_with("llvm.");
    let (mut table, mut names, mut local, mut lies) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for variable in variables {
        if own(variable) {
            lies.push(Lies::Elsewhere);
        } else if variable.is_thread_local() {
            lies.push(Lies::Thread(local.len() as u32));
            local.push(*variable);
        } else {
            lies.push(Lies::Here(names.len() as u32));
            names.push(variable.name());
            let constant = if variable.is_constant() { CONSTANT } else { 0 };
            let size = variable.initial().map_or(0, |_| layout.size(variable.held_type()));
            table.extend([Field::Address(Some(variable.global())), Field::I64(size | constant)]);
        }
    }
    let lies: Vec<Lies> = globals.iter().map(|g| lies.get(*g as usize).copied().unwrap_or(Lies::Elsewhere)).collect();
    let words = sets::words(deps, &lies);
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let resolve = (!local.is_empty()).then(|| module.add_resolver(resolve_name, &local).global());
    let fields = vec![
        Field::Address(Some(module.add_data(words_name, &bytes))),
        Field::I64(words.len() as u64),
        Field::Address(Some(module.add_constant(variables_name, &table))),
        Field::I64(names.len() as u64),
        Field::Address(resolve),
    ];
    (fields, names)
}

/// The name of a function that calls a unit and then a test.
pub fn both_name(number: usize) -> String {
    format!("{}both_{number}", sections::SYMBOL_PREFIX)
}

/// Adds what the runtime needs for `state`, and the section that says which tests there are.
pub fn state(module: Module, manifest: &Manifest, plan: &StatePlan, variables: &[Value]) -> Asking {
    // Only what the sets name: each is one of the list, by its place there.
    let known = |g: &&u32| (**g as usize) < variables.len();
    let used: Vec<Value> = plan.globals.iter().filter(known).map(|g| variables[*g as usize]).collect();
    let mut place = 0..;
    let globals: Vec<u32> =
        plan.globals.iter().map(|g| if known(&g) { place.next().unwrap_or(u32::MAX) } else { u32::MAX }).collect();
    let (table, _) = table(module, &plan.sets, &globals, &used, &[STATE_SETS, STATE_VARIABLES, STATE_RESOLVE]);
    let units: Vec<Field> = plan.units.iter().flat_map(|u| unit_fields(&u.told)).collect();
    let count = plan.units.len() as u64;
    let gates = module.add_bytes(STATE_GATES, count, align_of::<Desk>() as u32);
    let desks = module.add_bytes(STATE_DESKS, count * size_of::<Desk>() as u64, align_of::<Desk>() as u32);
    let hits = module.add_bytes(STATE_HITS, 4 * count, 4);
    hits.set_thread_local();
    let traces = module.add_bytes(STATE_TRACES, 16 * TRACE_PLACES as u64, align_of::<Desk>() as u32);
    let kinds: Vec<u8> = plan.units.iter().flat_map(|u| &u.tests).map(|t| t.kind as u8).collect();
    let names: Vec<u8> =
        plan.units.iter().flat_map(|u| demangle(&u.function.name()).into_bytes().into_iter().chain([0])).collect();
    // The fields of StateRecord, in order.
    let head = [
        Field::I32(size_of::<StateRecord>() as u32),
        Field::I32(plan.units.len() as u32),
        Field::Bytes(manifest.id.to_vec()),
    ];
    let tail = [
        Field::Address(Some(module.add_constant(STATE_UNITS, &units))),
        Field::Address(Some(gates)),
        Field::Address(Some(desks)),
        Field::Address(Some(module.add_data(STATE_KINDS, &kinds))),
        Field::Address(Some(module.add_data(STATE_NAMES, &names))),
        Field::I64(names.len() as u64),
        Field::Address(Some(module.add_resolver(STATE_HITS_HERE, &[Value::of(hits)]).global())),
    ];
    let fields: Vec<Field> = head.into_iter().chain(table).chain(tail).collect();
    let record = module.add_constant(STATE, &fields);
    let units = plan.units.iter().map(|u| u.attached.clone()).collect();
    section(module, sections::UNITS, &Attachments { id: manifest.id, units }.encode());
    module.add_constructor(module.add_caller(STATE_CONSTRUCTOR, &hooks::STATE_ENTER_MODULE, record));
    module.add_destructor(module.add_caller(STATE_DESTRUCTOR, &hooks::STATE_LEAVE_MODULE, record));
    Asking {
        call: module.declare_hook(&hooks::STATE_CALL),
        after: module.declare_hook(&hooks::STATE_AFTER),
        verdict: module.declare_hook(&hooks::STATE_VERDICT),
        compare: module.declare_hook(&hooks::STATE_COMPARE),
        compared: module.declare_hook(&hooks::STATE_COMPARED),
        record,
        gates,
        desks,
        hits,
        traces,
        numbers: NUMBERS,
    }
}

/// The fields of a unit, in order.
fn unit_fields(unit: &state::Unit) -> [Field; 6] {
    [
        Field::I64(unit.params),
        Field::I64(unit.pointers),
        Field::I32(unit.first),
        Field::I32(unit.tests),
        Field::I32(unit.flags),
        Field::I32(unit.exact),
    ]
}

/// The manifest of a plan. Its id also tells this `code` from any other; empty where that does not matter.
pub fn manifest(plan: &Plan, options: &Options, code: &[u8]) -> Manifest {
    let functions = plan.functions.iter().map(|f| manifest::Function {
        name: f.name.clone(),
        source_name: f.source_name.clone(),
        place: f.place,
        outcome: f.outcome.clone(),
        cover: f.cover.as_ref().map(|c| Cover {
            entry: c.entry.clone(),
            regions: c.regions.clone(),
            branches: c.branches.clone(),
        }),
    });
    let mut manifest = Manifest {
        id: [0; 16],
        scope: options.scope,
        mechanisms: Mechanisms(options.mechanisms.0),
        producer: format!("unseen {}, LLVM {}", env!("CARGO_PKG_VERSION"), llvm::version()),
        counters: plan.probe_count(),
        files: plan.files.clone(),
        functions: functions.collect(),
    };
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(&manifest.content());
    hash.update(code);
    manifest.id = hash.digest128().to_le_bytes();
    manifest
}

/// Puts the manifest into its section.
pub fn manifest_section(module: Module, manifest: &Manifest) {
    section(module, sections::MANIFEST, &manifest.encode());
}

/// Puts dependency sets into their section.
pub fn deps_section(module: Module, manifest: &Manifest, mut deps: Deps) {
    deps.id = manifest.id;
    section(module, sections::DEPS, &deps.encode());
}

/// Adds a section. By assembly, because LLVM has no globals in sections that are not loaded.
fn section(module: Module, name: &str, bytes: &[u8]) {
    let mut text = format!(".pushsection {name},\"\",@progbits\n").into_bytes();
    text.reserve(bytes.len() * 2);
    for line in bytes.chunks(4096) {
        text.extend(b".ascii \"");
        for (i, byte) in line.iter().enumerate() {
            match byte {
                b'"' | b'\\' => text.extend([b'\\', *byte]),
                0x20..=0x7e | 0x80.. => text.push(*byte),
                _ => {
                    // As few digits as will do: the linker keeps this text, and a copy of it, to the end.
                    let digits = [b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)];
                    let ends = !line.get(i + 1).is_some_and(u8::is_ascii_digit);
                    let zeros = if ends { digits[..2].iter().take_while(|d| **d == b'0').count() } else { 0 };
                    text.push(b'\\');
                    text.extend(&digits[zeros..]);
                }
            }
        }
        text.extend(b"\"\n");
    }
    text.extend(b".popsection\n");
    module.append_assembly(&text);
}
