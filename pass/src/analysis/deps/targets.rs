//! What a call through a pointer may call: functions whose address is used as a value, with the signature of the call.
//!
//! Functions that are only in tables of virtual functions (C++) or of trait methods (Rust) are called only through such
//! tables, at their own offset: the languages give no other way to their addresses.

use super::body::{Callee, Global, Group, Op, Operand, Program};
use super::flow::{self, Flow};
use super::paths::{add, contains};
use crate::llvm::memory::{Layout, Shape, Type};
use rustc_hash::FxHashMap as HashMap;
use std::collections::{BTreeMap, BTreeSet};
use unseen_abi::deps::Offset;

/// How a function pointer is found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Slot {
    Anywhere,
    /// In a C++ object's table, at an offset from where its pointer points.
    Virtual(i64),
    /// In a Rust trait object's table, at an offset from its start.
    Trait(i64),
    /// In a C++ object's table, or by two loads that only look like it.
    Perhaps(i64),
    /// In a global that never changes, at an offset, or with a stride also at any multiple of it more or less.
    Table {
        global: u32,
        at: i64,
        stride: u64,
    },
}

/// The shapes of parameters and of the result; variadic functions have an open end.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Signature {
    params: Vec<u32>,
    result: Option<u32>,
    variadic: bool,
}

impl Signature {
    pub fn of((params, result, variadic): (Vec<Type>, Type, bool)) -> Signature {
        let result = (result.shape() != Shape::Void).then(|| code(result));
        Signature { params: params.into_iter().map(code).collect(), result, variadic }
    }

    /// Pointers to an `int`.
    pub fn pointers(count: usize) -> Signature {
        Signature { params: vec![1; count], result: Some(1000 + 32), variadic: false }
    }

    /// Whether a call by this signature may reach a function of that one.
    fn fits(&self, function: &Signature) -> bool {
        let shared = self.params.len().min(function.params.len());
        let open = self.variadic || function.variadic;
        let count = self.params.len() == function.params.len() || open;
        count
            && self.params[..shared] == function.params[..shared]
            && (self.result.is_none() || self.result == function.result)
    }
}

fn code(ty: Type) -> u32 {
    match ty.shape() {
        Shape::Void => 0,
        Shape::Pointer => 1,
        Shape::Float => 2,
        Shape::Vector => 3,
        Shape::Array => 4,
        Shape::Struct => 5,
        Shape::Other => 6,
        Shape::Integer(bits) => 1000 + bits,
    }
}

/// What is known of addresses of functions.
#[derive(Default)]
pub struct Targets {
    signatures: Vec<Signature>,
    /// Used as a value.
    free: BTreeSet<u32>,
    in_virtual: BTreeMap<i64, BTreeSet<u32>>,
    in_trait: BTreeMap<i64, BTreeSet<u32>>,
    groups: HashMap<(Signature, Slot), u32>,
    asked: Vec<(Signature, Slot)>,
}

impl Targets {
    /// Functions are declared in the order of their numbers.
    pub fn declare(&mut self, function: u32, signature: Signature) {
        debug_assert_eq!(function as usize, self.signatures.len());
        self.signatures.push(signature);
    }

    /// The address of a function is used as a value.
    pub fn take(&mut self, function: u32) {
        self.free.insert(function);
    }

    /// The group that such a call calls.
    pub fn group(&mut self, signature: Signature, slot: Slot) -> u32 {
        let next = self.asked.len() as u32;
        let group = *self.groups.entry((signature.clone(), slot)).or_insert(next);
        if group == next {
            self.asked.push((signature, slot));
        }
        group
    }

    /// Looks for functions in an initial value, which is one of `rustcs` tables or may look like one.
    pub fn look_at_table(&mut self, global: &Global, rustcs: bool, ty: Type, layout: Layout) {
        let functions = || {
            global.pointers.iter().filter_map(|(at, p)| match p {
                Operand::Function(f) => Some((*at as i64, *f)),
                _ => None,
            })
        };
        if functions().next().is_none() {
            return;
        }
        if global.constant && global.name.starts_with("_ZTV") && ty.shape() == Shape::Struct {
            // One array per base class. The object's pointer points to the first function of it.
            for part in 0..ty.part_count() as u32 {
                let start = layout.offset(ty, part) as i64;
                let end = start + layout.size(ty.part(part)) as i64;
                let inside = || functions().filter(|(at, _)| (start..end).contains(at));
                let Some(first) = inside().map(|(at, _)| at).min() else { continue };
                for (at, function) in inside() {
                    self.in_virtual.entry(at - first).or_default().insert(function);
                }
            }
        } else if global.constant && rustcs && is_trait_table(ty, layout) {
            for (at, function) in functions() {
                self.in_trait.entry(at).or_default().insert(function);
            }
        } else {
            let all: Vec<u32> = functions().map(|(_, f)| f).collect();
            self.free.extend(all);
        }
    }

    /// Fills the groups of the program, and names what has only one member or none.
    pub fn resolve(&self, program: &mut Program, flow: &Flow) {
        let group = |(signature, slot): &(Signature, Slot)| Group {
            members: self.members(signature, *slot, program),
            open: program.open && !matches!(slot, Slot::Table { .. }),
        };
        let mut groups: Vec<Group> = self.asked.iter().map(group).collect();
        self.follow(program, flow, &mut groups);
        for function in &mut program.functions {
            for inst in function.body.iter_mut().flat_map(|b| &mut b.insts) {
                if let Op::Call { callee, .. } = &mut inst.op
                    && let Callee::Group(group) = callee
                {
                    match groups[*group as usize] {
                        Group { ref members, .. } if members.is_empty() => *callee = Callee::Nobody,
                        Group { ref members, open: false } if members.len() == 1 => {
                            *callee = Callee::Function(members[0])
                        }
                        _ => {}
                    }
                }
            }
        }
        program.groups = groups;
    }

    /// Gives calls whose pointers can be followed back to functions smaller groups.
    fn follow(&self, program: &mut Program, flow: &Flow, groups: &mut Vec<Group>) {
        if program.open {
            return;
        }
        let called = |program: &Program, site: &flow::Site| {
            let body = program.functions[site.function as usize].body.as_ref();
            match body.map(|b| &b.insts[site.inst as usize].op) {
                Some(Op::Call { callee: Callee::Group(group), .. }) => *group as usize,
                other => unreachable!("{other:?} calls through no pointer"),
            }
        };
        let asked: Vec<u32> = flow.sites.iter().map(|site| called(program, site) as u32).collect();
        let members: Vec<Vec<u32>> = groups.iter().map(|g| g.members.clone()).collect();
        // Where it is known in which tables a function lies, there is nothing to follow.
        let wanted = |site: usize| matches!(self.asked[asked[site] as usize].1, Slot::Anywhere | Slot::Perhaps(_));
        let tables = self.in_virtual.values().chain(self.in_trait.values()).flatten();
        let taken: BTreeSet<u32> = self.free.iter().chain(tables).copied().collect();
        let asks = flow::Groups { of_site: &asked, members: &members, taken: &taken };
        let found = flow::resolve(program, flow, &asks, wanted);
        let mut known: HashMap<(Vec<u32>, bool), u32> = HashMap::default();
        for ((site, group), found) in flow.sites.iter().zip(&asked).zip(found) {
            let all = &groups[*group as usize].members;
            let mut here: Vec<u32> = match found.functions {
                Some(found) => all.iter().copied().filter(|m| found.contains(m)).collect(),
                None => all.clone(),
            };
            // What nobody put there was put there by somebody who is not seen.
            if here.is_empty() {
                here.clone_from(all);
            }
            if here.len() == all.len() && !found.foreign {
                continue;
            }
            let number = *known.entry((here, found.foreign)).or_insert_with_key(|(members, open)| {
                groups.push(Group { members: members.clone(), open: *open });
                groups.len() as u32 - 1
            });
            let body = program.functions[site.function as usize].body.as_mut();
            if let Some(Op::Call { callee, .. }) = body.map(|b| &mut b.insts[site.inst as usize].op) {
                *callee = Callee::Group(number);
            }
        }
    }

    fn members(&self, signature: &Signature, slot: Slot, program: &Program) -> Vec<u32> {
        let in_table = |tables: &BTreeMap<i64, BTreeSet<u32>>, at: i64| tables.get(&at).cloned().unwrap_or_default();
        let candidates = match slot {
            Slot::Anywhere => {
                // A pointer to a member function finds virtual ones at an offset that is not constant.
                let all = self.in_virtual.values().flatten().copied();
                self.free.iter().copied().chain(all).collect()
            }
            Slot::Virtual(at) => in_table(&self.in_virtual, at),
            Slot::Trait(at) => in_table(&self.in_trait, at),
            Slot::Table { global, at, stride } => {
                let wanted =
                    if stride == 0 { Offset::At(at) } else { add(Offset::Every { stride, at: 0 }, Offset::At(at)) };
                let pointers = program.globals[global as usize].pointers.iter();
                let here = pointers.filter(|(at, _)| contains(wanted, Offset::At(*at as i64)));
                here.filter_map(|(_, p)| if let Operand::Function(f) = p { Some(*f) } else { None }).collect()
            }
            Slot::Perhaps(at) => self.free.iter().copied().chain(in_table(&self.in_virtual, at)).collect(),
        };
        candidates.into_iter().filter(|f| signature.fits(&self.signatures[*f as usize])).collect()
    }
}

/// A Rust table: what drops the object (or null), its size and alignment as bytes, then methods.
fn is_trait_table(ty: Type, layout: Layout) -> bool {
    if ty.shape() != Shape::Struct || ty.part_count() < 2 {
        return false;
    }
    let bytes = ty.part(1);
    let numbers = bytes.shape() == Shape::Array && layout.size(bytes) == 16 && layout.size(bytes.part(0)) == 1;
    numbers && ty.part(0).shape() == Shape::Pointer
        || layout.size(ty.part(0)) == 24 && ty.part(0).shape() == Shape::Array
}
