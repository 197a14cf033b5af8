//! Where addresses of functions go: which functions a pointer that is called may point to.
//!
//! Followed backwards from each call: through values, parameters, results, local variables, and the fields of structs,
//! each of which is one place for all objects. Where a way leads elsewhere, any function may come from there: one that is not in the
//! program only where code was loaded, handed over as a result, or passed by code that is not seen. It rests on
//! what the optimiser relies on too (`-fstrict-aliasing`; without that metadata nothing is concluded):
//! * a function's address is kept as a pointer to a function or to `void`, not to other data;
//! * what is stored as a field is called as the same field of the same struct. Other stores reach a field only by a pointer
//!   to it, which somebody made by naming the field;
//! * what is copied as a block is read as what it was written as;
//! * what is stored as a member of a union is called as one.

use super::arrivals::Arrivals;
use super::body::{Body, Callee, Function, Loaded, Op, Operand, Program};
use super::extract::is_rust;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeSet;
use std::rc::Rc;
use unseen_abi::deps::Reason;
use unseen_abi::models::{self, Effect};

/// How an access names what it accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// A field, by number.
    Field(u32),
    /// Some pointer to a function or to anything.
    Pointer,
    /// Something else: a pointer to data of a known type, a number.
    Data,
    /// A member of a union, or bytes.
    Union,
    /// An unnamed argument.
    Unnamed,
    /// The source says nothing.
    Untold,
}

/// A variable that functions may lie in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    Field(u32),
    Global(u32),
    /// It is not known in which.
    Any,
}

/// What extraction knows of it.
#[derive(Default)]
pub struct Flow {
    /// By function, in the order of instructions: loads of pointers and stores of which the source says something. Those of
    /// stack variables are left out.
    pub held: Vec<Vec<(u32, Held)>>,
    pub sites: Vec<Site>,
    /// Whether the names of structs in accesses are all that there is to them.
    pub is_told: bool,
    /// Functions in initial values.
    pub initial: Vec<(Place, u32)>,
    /// Global variables whose address is a value.
    pub leaked: HashSet<u32>,
}

/// A call through a pointer.
pub struct Site {
    pub function: u32,
    pub inst: u32,
    pub pointer: Operand,
}

impl Flow {
    fn held(&self, function: u32, inst: u32) -> Held {
        let held = &self.held[function as usize];
        held.binary_search_by_key(&inst, |(i, _)| *i).map_or(Held::Untold, |i| held[i].1)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    Value(u32, u32),
    Param(u32, u32),
    Result(u32),
    /// What calls of a group pass for a parameter, and what its members return.
    Passed(u32, u32),
    Answer(u32),
    Local(u32, u32),
    Place(Place),
    /// Unnamed arguments of a function, or of any that passes a list of them on.
    Unnamed(Option<u32>),
    /// What is given to functions that are not seen, and may be called by them.
    Outside,
    /// Where stores go of which the source says nothing.
    Everywhere,
}

/// What the sites call at most.
pub struct Groups<'a> {
    /// By site.
    pub of_site: &'a [u32],
    /// By group.
    pub members: &'a [Vec<u32>],
    /// Functions whose addresses are somewhere.
    pub taken: &'a BTreeSet<u32>,
}

/// What a site may call.
#[derive(Clone, Default)]
pub struct Callees {
    /// In the program; without them, any of the signature.
    pub functions: Option<Rc<BTreeSet<u32>>>,
    /// Perhaps one that is not.
    pub foreign: bool,
}

/// What each site may call, as far as that can be told. Only those that are `wanted` are looked at.
pub fn resolve(program: &Program, flow: &Flow, groups: &Groups, wanted: impl Fn(usize) -> bool) -> Vec<Callees> {
    let mut answers = vec![Callees::default(); flow.sites.len()];
    let sites: Vec<usize> = (0..flow.sites.len()).filter(|site| wanted(*site)).collect();
    if sites.is_empty() {
        return answers;
    }
    if is_open(program) {
        let is_ours = |site: usize| !is_rust(&program.functions[flow.sites[site].function as usize].name);
        sites.iter().for_each(|site| answers[*site].foreign = is_ours(*site));
    }
    if !flow.is_told || flow.held.iter().all(Vec::is_empty) {
        return answers;
    }
    let mut search = Search {
        program,
        flow,
        index: Index::of(program, flow, groups),
        groups,
        sites: flow
            .sites
            .iter()
            .zip(groups.of_site)
            .map(|(site, group)| ((site.function, site.inst), *group))
            .collect(),
        private: HashMap::default(),
        nodes: HashMap::default(),
        found: Arrivals::default(),
        work: Vec::new(),
    };
    let mut ends = Vec::new();
    for site in sites {
        let end = search.found.add();
        let Site { function, pointer, .. } = flow.sites[site];
        search.from(function, pointer, end, true);
        ends.push((site, end));
    }
    let outside = search.found.add();
    search.edge(Node::Outside, outside, true);
    while let Some(node) = search.work.pop() {
        let number = search.nodes[&node];
        search.expand(node, number);
    }
    // Whoever is given a function's address may call it with anything; and who is given a pointer may find it in memory.
    let named = search.found.functions(outside);
    let given = if search.index.is_memory_outside { groups.taken } else { &named };
    for (node, number) in &search.nodes {
        let Node::Param(function, _) = node else { continue };
        let is_visible = program.visible.binary_search(function).is_ok();
        if is_visible {
            search.found.put_foreign(*number);
        }
        if is_visible || given.contains(function) {
            search.found.put_any(*number);
        }
    }
    let (any, foreign) = (search.found.any(), search.found.foreign());
    for (site, end) in &ends {
        let answer = &mut answers[*site];
        answer.foreign = foreign[*end as usize] || any[*end as usize] && answer.foreign;
    }
    ends.retain(|(_, end)| !any[*end as usize]);
    let known = search.found.functions_of(&ends.iter().map(|(_, end)| *end).collect::<Vec<_>>());
    for ((site, _), functions) in ends.iter().zip(known) {
        answers[*site].foreign |= functions.is_empty() && search.index.is_memory_outside;
        answers[*site].functions = Some(functions);
    }
    answers
}

/// Whether the program loads code that is not in it, or is called by such code: then nobody knows which functions lie in memory. How
/// Rust's library asks for functions of the C library does not count, nor do pointers that Rust calls.
fn is_open(program: &Program) -> bool {
    let is_loader = |f: &Function| {
        f.body.is_none() && models::model(&f.name).is_some_and(|effects| effects.contains(&Effect::Loads))
    };
    let loaders: Vec<u32> =
        (0..).zip(&program.functions).filter(|(_, f)| is_loader(f)).map(|(number, _)| number).collect();
    let calls = |body: &Body| {
        body.insts.iter().any(|inst| match &inst.op {
            Op::Call { callee: Callee::Function(callee), .. } => loaders.contains(callee),
            _ => false,
        })
    };
    let mut callers = program.functions.iter().filter(|f| !is_rust(&f.name)).filter_map(|f| f.body.as_ref());
    program.exposed || !loaders.is_empty() && callers.any(calls)
}

/// Stores, calls and results by what they are looked for by.
#[derive(Default)]
struct Index {
    stores: HashMap<Place, Vec<(u32, Operand, bool)>>,
    untold: Vec<(u32, Operand, bool)>,
    unnamed: HashMap<u32, Vec<(u32, Operand)>>,
    outside: Vec<(u32, Operand)>,
    /// Whether functions of which nothing is known get more than numbers and addresses of functions.
    is_memory_outside: bool,
    calls: HashMap<u32, Vec<(u32, u32)>>,
    /// Calls through pointers by their group, and the groups that a function is in.
    calls_of: HashMap<u32, Vec<(u32, u32)>>,
    groups_of: HashMap<u32, Vec<u32>>,
}

impl Index {
    fn of(program: &Program, flow: &Flow, groups: &Groups) -> Index {
        let mut index = Index { is_memory_outside: program.exposed, ..Index::default() };
        for (function, body) in program.functions.iter().enumerate() {
            if let Some(body) = &body.body {
                index.body(program, flow, function as u32, body);
            }
        }
        for (site, group) in flow.sites.iter().zip(groups.of_site) {
            index.calls_of.entry(*group).or_default().push((site.function, site.inst));
        }
        for (group, calls) in index.calls_of.clone() {
            let members = &groups.members[group as usize];
            members.iter().for_each(|member| index.groups_of.entry(*member).or_default().push(group));
            // Most members take what they are passed as parameters alone: that is not looked at for each call.
            let is_other = |member: &u32| {
                let function = &program.functions[*member as usize];
                function.body.is_none() || function.variadic
            };
            let others: Vec<u32> = members.iter().copied().filter(is_other).collect();
            for (function, inst) in calls.into_iter().filter(|_| !others.is_empty()) {
                let args = arguments(program, function, inst);
                others.iter().for_each(|member| index.pass(program, function, *member, args));
            }
        }
        index
    }

    fn body(&mut self, program: &Program, flow: &Flow, function: u32, body: &Body) {
        let private = private(body);
        for (number, inst) in body.insts.iter().enumerate() {
            let number = number as u32;
            match &inst.op {
                Op::Call { callee: Callee::Function(callee), args, .. } => {
                    self.calls.entry(*callee).or_default().push((function, number));
                    self.pass(program, function, *callee, args);
                }
                Op::Store { address: Operand::Inst(to), .. } if private[*to as usize] => {}
                Op::Store { value: Operand::Number(_) | Operand::Global { .. }, .. } => {}
                // Whoever has the variable calls what is put there.
                Op::Store { address: Operand::Global { global, .. }, value, .. } if is_elsewhere(program, *global) => {
                    self.outside.push((function, *value));
                }
                Op::Store { address, value, size, .. } if *size >= 8 => {
                    let held = flow.held(function, number);
                    let (place, any) = match (held, variable(program, *address)) {
                        (Held::Field(field), _) => (Place::Field(field), true),
                        (_, Some(global)) => (Place::Global(global), true),
                        (Held::Pointer | Held::Unnamed | Held::Union, _) => (Place::Any, true),
                        (Held::Data, _) => continue,
                        (Held::Untold, _) => {
                            // On the stack, these are the parts of a struct that is passed by value.
                            self.untold.push((function, *value, !is_own(body, *address)));
                            continue;
                        }
                    };
                    self.stores.entry(place).or_default().push((function, *value, any));
                }
                _ => {}
            }
        }
    }

    /// Arguments that a function finds by a list, or that one gets that is not seen.
    fn pass(&mut self, program: &Program, caller: u32, callee: u32, args: &[Operand]) {
        let called = &program.functions[callee as usize];
        if called.body.is_none() {
            let keeps = |effects: &[Effect]| {
                let reasons = [Reason::Process, Reason::Threads, Reason::Unmodelled];
                effects.iter().any(|e| matches!(e, Effect::Because(reason) if reasons.contains(reason)))
            };
            let model = models::model(&called.name);
            if model.is_none_or(keeps) {
                self.outside.extend(args.iter().map(|arg| (caller, *arg)));
            }
            let is_memory = |arg: &Operand| !matches!(arg, Operand::Number(_) | Operand::Function(_));
            self.is_memory_outside |= model.is_none() && args.iter().any(is_memory);
        } else if called.variadic {
            let unnamed = self.unnamed.entry(callee).or_default();
            unnamed.extend(args.iter().skip(called.params.len()).map(|arg| (caller, *arg)));
        }
    }
}

/// What a call passes.
fn arguments(program: &Program, function: u32, inst: u32) -> &[Operand] {
    let body = program.functions[function as usize].body.as_ref().expect("calls are in code");
    match &body.insts[inst as usize].op {
        Op::Call { args, .. } => args,
        other => unreachable!("{other:?} is no call"),
    }
}

/// The variable that an address is of, if that holds one pointer.
fn variable(program: &Program, address: Operand) -> Option<u32> {
    match address {
        Operand::Global { global, at: 0 } if program.globals[global as usize].size == 8 => Some(global),
        _ => None,
    }
}

/// Whether a variable is one of a library's.
fn is_elsewhere(program: &Program, global: u32) -> bool {
    let is_own = global == program.foreign() || global == program.output();
    program.globals[global as usize].size == 0 && !is_own
}

/// Stack variables of which nobody has the address.
pub(super) fn private(body: &Body) -> Vec<bool> {
    let mut all: Vec<bool> = body.insts.iter().map(|inst| matches!(inst.op, Op::Alloca)).collect();
    let mut known = |operand: &Operand| {
        if let Operand::Inst(i) = operand {
            all[*i as usize] = false;
        }
    };
    for inst in &body.insts {
        match &inst.op {
            Op::Alloca | Op::Load { .. } | Op::Opaque(..) => {}
            Op::Store { value, .. } => known(value),
            Op::Offset { base: of, .. } | Op::Near(of) | Op::Forge(of) | Op::Return(of) => known(of),
            Op::Fill { to: of, .. } | Op::VaStart { list: of } => known(of),
            Op::Copy(of) | Op::Compute(of) | Op::Use(of) | Op::Call { args: of, .. } => of.iter().for_each(&mut known),
            Op::CopyBytes { to, from, .. } => [to, from].into_iter().for_each(&mut known),
        }
    }
    all
}

/// Whether an address is one in a stack variable.
fn is_own(body: &Body, mut address: Operand) -> bool {
    loop {
        let Operand::Inst(i) = address else { return false };
        match &body.insts[i as usize].op {
            Op::Alloca => return true,
            Op::Offset { base, .. } => address = *base,
            _ => return false,
        }
    }
}

struct Search<'a> {
    program: &'a Program,
    flow: &'a Flow,
    index: Index,
    groups: &'a Groups<'a>,
    /// The groups of calls, by function and instruction.
    sites: HashMap<(u32, u32), u32>,
    private: HashMap<u32, Vec<bool>>,
    nodes: HashMap<Node, u32>,
    found: Arrivals,
    work: Vec<Node>,
}

impl Search<'_> {
    /// What comes to a node goes on to another.
    fn edge(&mut self, from: Node, to: u32, any: bool) {
        let number = *self.nodes.entry(from).or_insert_with(|| {
            self.work.push(from);
            self.found.add()
        });
        self.found.edge(number, to, any);
    }

    /// A value of a function goes to a node.
    fn from(&mut self, function: u32, operand: Operand, to: u32, any: bool) {
        match operand {
            Operand::Function(f) => self.found.put(to, f),
            Operand::Inst(i) => self.edge(Node::Value(function, i), to, any),
            Operand::Param(i) => self.edge(Node::Param(function, i), to, any),
            Operand::Thrown | Operand::Unknown(_) if any => self.found.put_any(to),
            Operand::Thrown | Operand::Unknown(_) | Operand::Number(_) | Operand::Global { .. } => {}
        }
    }

    fn is_private(&mut self, function: u32, inst: u32) -> bool {
        let program = self.program;
        let body = program.functions[function as usize].body.as_ref();
        self.private.entry(function).or_insert_with(|| body.map(private).unwrap_or_default())[inst as usize]
    }

    /// Finds what comes to a node.
    fn expand(&mut self, node: Node, number: u32) {
        match node {
            Node::Value(function, inst) => self.value(function, inst, number),
            Node::Param(function, param) => self.param(function, param, number),
            Node::Result(function) => {
                let body = self.program.functions[function as usize].body.as_ref();
                for inst in body.map_or(&[][..], |b| &b.insts) {
                    if let Op::Return(value) = inst.op {
                        self.from(function, value, number, true);
                    }
                }
            }
            Node::Passed(group, param) => {
                let program = self.program;
                for (function, inst) in self.index.calls_of.get(&group).cloned().unwrap_or_default() {
                    if let Some(arg) = arguments(program, function, inst).get(param as usize) {
                        self.from(function, *arg, number, true);
                    }
                }
            }
            Node::Answer(group) => {
                let (program, groups) = (self.program, self.groups);
                let is_seen = |callee: &&u32| program.functions[**callee as usize].body.is_some();
                for callee in groups.members[group as usize].iter().filter(is_seen) {
                    self.edge(Node::Result(*callee), number, true);
                }
            }
            Node::Local(function, alloca) => {
                let program = self.program;
                for inst in program.functions[function as usize].body.iter().flat_map(|b| &b.insts) {
                    match inst.op {
                        Op::Store { address: Operand::Inst(to), value, .. } if to == alloca => {
                            self.from(function, value, number, true);
                        }
                        _ => {}
                    }
                }
            }
            Node::Place(place) => {
                for (function, value, any) in self.index.stores.get(&place).cloned().unwrap_or_default() {
                    self.from(function, value, number, any);
                }
                let initial = self.flow.initial.iter().filter(|(p, _)| *p == place).map(|(_, f)| *f);
                initial.for_each(|function| self.found.put(number, function));
                // It takes a pointer to the variable itself to store in it otherwise than by its name. One to a field can be had in many ways.
                if !matches!(place, Place::Global(global) if !self.flow.leaked.contains(&global)) {
                    self.edge(Node::Place(Place::Any), number, true);
                }
                self.edge(Node::Everywhere, number, true);
            }
            Node::Unnamed(Some(callee)) => {
                for (function, value) in self.index.unnamed.get(&callee).cloned().unwrap_or_default() {
                    self.from(function, value, number, true);
                }
            }
            Node::Unnamed(None) => {
                let all: Vec<u32> = self.index.unnamed.keys().copied().collect();
                all.into_iter().for_each(|callee| self.edge(Node::Unnamed(Some(callee)), number, true));
            }
            Node::Outside => {
                for (function, value) in self.index.outside.clone() {
                    self.from(function, value, number, true);
                }
                self.program.visible.iter().for_each(|function| self.found.put(number, *function));
            }
            Node::Everywhere => {
                for (function, value, any) in self.index.untold.clone() {
                    self.from(function, value, number, any);
                }
                // Functions that are not seen may put those they were given wherever they can reach, and those of the program their own.
                if self.index.is_memory_outside {
                    self.edge(Node::Outside, number, false);
                }
                if self.program.exposed {
                    self.found.put_foreign(number);
                }
            }
        }
    }

    fn value(&mut self, function: u32, index: u32, number: u32) {
        let program = self.program;
        let body = program.functions[function as usize].body.as_ref().expect("values are of code");
        match &body.insts[index as usize].op {
            Op::Copy(of) => of.iter().for_each(|operand| self.from(function, *operand, number, true)),
            Op::Near(of) | Op::Offset { base: of, at: 0, stride: 0 } => self.from(function, *of, number, true),
            Op::Load { kind: Loaded::Integer | Loaded::Number, .. } | Op::Load { data: true, .. } => {}
            Op::Load { address: Operand::Inst(i), .. } if self.is_private(function, *i) => {
                self.edge(Node::Local(function, *i), number, true);
            }
            Op::Load { address, .. } => {
                let held = self.flow.held(function, index);
                match (held, variable(program, *address)) {
                    (Held::Field(field), _) => self.edge(Node::Place(Place::Field(field)), number, true),
                    (_, Some(global)) => self.edge(Node::Place(Place::Global(global)), number, true),
                    (Held::Unnamed, _) => {
                        let own = body.insts.iter().any(|inst| matches!(inst.op, Op::VaStart { .. }));
                        self.edge(Node::Unnamed(own.then_some(function)), number, true);
                    }
                    (Held::Data, _) => {}
                    (Held::Pointer | Held::Union | Held::Untold, _) => self.found.put_any(number),
                }
            }
            Op::Call { callee: Callee::Function(callee), args, .. } => self.result(function, *callee, args, number),
            Op::Call { args, .. } => match self.sites.get(&(function, index)) {
                Some(group) => {
                    let (group, groups) = (*group, self.groups);
                    self.edge(Node::Answer(group), number, true);
                    // What these return depends on what they are passed.
                    let is_seen = |callee: &u32| program.functions[*callee as usize].body.is_some();
                    for callee in groups.members[group as usize].iter().filter(|callee| !is_seen(callee)) {
                        self.result(function, *callee, args, number);
                    }
                }
                None => self.found.put_any(number),
            },
            Op::Forge(_) | Op::Opaque(..) => self.found.put_any(number),
            // An address in an object, or a number.
            Op::Offset { .. } | Op::Alloca | Op::Compute(_) => {}
            Op::Use(_) | Op::Store { .. } | Op::CopyBytes { .. } | Op::Fill { .. } => {}
            Op::VaStart { .. } | Op::Return(_) => {}
        }
    }

    fn result(&mut self, function: u32, callee: u32, args: &[Operand], number: u32) {
        let called = &self.program.functions[callee as usize];
        if called.body.is_some() {
            self.edge(Node::Result(callee), number, true);
            return;
        }
        let Some(effects) = models::model(&called.name) else {
            self.found.put_any(number);
            self.found.put_foreign(number);
            return;
        };
        for effect in effects {
            match effect {
                Effect::Returns(i) => {
                    if let Some(arg) = args.get(usize::from(*i)) {
                        self.from(function, *arg, number, true);
                    }
                }
                Effect::Foreign => self.found.put_any(number),
                Effect::Loads => {
                    self.found.put_any(number);
                    self.found.put_foreign(number);
                }
                _ => {}
            }
        }
    }

    fn param(&mut self, function: u32, param: u32, number: u32) {
        let program = self.program;
        for (caller, inst) in self.index.calls.get(&function).cloned().unwrap_or_default() {
            if let Some(arg) = arguments(program, caller, inst).get(param as usize) {
                self.from(caller, *arg, number, true);
            }
        }
        for group in self.index.groups_of.get(&function).cloned().unwrap_or_default() {
            self.edge(Node::Passed(group, param), number, true);
        }
    }
}
