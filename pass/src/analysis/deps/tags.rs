//! Which field of which struct an access is, as the source's types say: by the metadata that the optimiser relies on too
//! (type-based alias analysis). A field is known by the name of the innermost struct that it lies in, and its offset there.

use super::flow::Held;
use crate::llvm::Inst;
use crate::llvm::memory::{Layout, Shape, Type};
use crate::llvm::tbaa::Node;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeMap;

/// How deep structs lie in each other.
const DEPTH: usize = 32;
/// How many elements of an array in an initial value are looked at.
const ELEMENTS: u64 = 64;
/// The prefix of mangled names of types.
const MANGLED: &str = "_ZTS";

/// All fields that were met.
#[derive(Default)]
pub struct Tags {
    known: HashMap<Node, Held>,
    fields: HashMap<(String, u64), u32>,
    /// The scalars in each struct; structs of different files may share a name.
    structs: BTreeMap<String, Vec<Vec<Leaf>>>,
    described: HashSet<Node>,
}

/// A scalar in a struct.
type Leaf = (u64, Scalar);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scalar {
    Pointer,
    Number,
    /// A union, or what is not told.
    Other,
}

impl Tags {
    /// What a load or store accesses.
    pub fn held(&mut self, inst: Inst) -> Held {
        let Some(tag) = inst.access_tag() else { return Held::Untold };
        if let Some(held) = self.known.get(&tag) {
            return *held;
        }
        let held = self.look(tag).unwrap_or(Held::Pointer);
        self.known.insert(tag, held);
        held
    }

    fn look(&mut self, tag: Node) -> Option<Held> {
        let parts = tag.operands();
        let (mut node, access, mut at) = (*parts.first()?, *parts.get(1)?, parts.get(2)?.number()?);
        let held = scalar(&name(access)?);
        if node == access {
            return Some(held);
        }
        self.describe(node);
        if held != Held::Pointer {
            return Some(held);
        }
        for _ in 0..DEPTH {
            let (member, start) = members(node).into_iter().rfind(|(_, start)| *start <= at)?;
            if member == access {
                let of = source_name(&name(node)?);
                return (start == at).then(|| Held::Field(self.field(&of, at)));
            }
            (node, at) = (member, at - start);
        }
        None
    }

    /// The number of a field.
    pub fn field(&mut self, of: &str, at: u64) -> u32 {
        let next = self.fields.len() as u32;
        *self.fields.entry((of.to_owned(), at)).or_insert(next)
    }

    /// Whether the IR's names of structs can be told from the source's: not with C++'s scopes and templates.
    pub fn has_plain_names(&self) -> bool {
        self.structs.keys().all(|name| !name.starts_with(MANGLED))
    }

    /// Remembers the scalars of a struct, and of those in it.
    fn describe(&mut self, node: Node) {
        if !self.described.insert(node) || is_scalar(node) {
            return;
        }
        let mut leaves = Vec::new();
        flatten(node, 0, &mut leaves, 0);
        if let Some(name) = name(node) {
            let known = self.structs.entry(source_name(&name)).or_default();
            if !known.contains(&leaves) {
                known.push(leaves);
            }
        }
        members(node).into_iter().for_each(|(member, _)| self.describe(member));
    }

    /// The fields that a place in an initial value may be, when all accesses are known: those of all structs that have pointers and
    /// numbers at the same places.
    pub fn initial_fields(&mut self, ty: Type, at: u64, layout: Layout) -> Vec<u32> {
        let mut leaves = Vec::new();
        scalars(ty, 0, layout, &mut leaves);
        let is_one = |all: &Vec<Vec<Leaf>>| all.iter().any(|known| known.iter().all(|leaf| fits(leaf, &leaves)));
        let found = self.structs.iter().filter(|(_, all)| is_one(all)).map(|(name, _)| name.clone());
        let found: Vec<String> = found.collect();
        found.iter().map(|name| self.field(name, at)).collect()
    }
}

/// Whether a scalar of the source's may lie among those of the IR.
fn fits((at, scalar): &Leaf, leaves: &[(u64, bool)]) -> bool {
    let found = leaves.binary_search_by_key(at, |(at, _)| *at).ok().map(|i| leaves[i].1);
    match scalar {
        Scalar::Pointer => found == Some(true),
        Scalar::Number => found != Some(true),
        Scalar::Other => true,
    }
}

/// The scalars in a type of the IR, and whether they are pointers.
fn scalars(ty: Type, at: u64, layout: Layout, out: &mut Vec<(u64, bool)>) {
    match ty.shape() {
        Shape::Struct => {
            for i in 0..ty.part_count() as u32 {
                scalars(ty.part(i), at + layout.offset(ty, i), layout, out);
            }
        }
        Shape::Array => {
            let size = layout.size(ty.part(0));
            (0..ty.part_count().min(ELEMENTS)).for_each(|i| scalars(ty.part(0), at + i * size, layout, out));
        }
        shape => out.push((at, shape == Shape::Pointer)),
    }
}

fn name(node: Node) -> Option<String> {
    node.operands().first()?.text()
}

/// The parts of a struct, or what a scalar is a kind of.
fn members(node: Node) -> Vec<(Node, u64)> {
    let parts = node.operands();
    let pairs = parts.get(1..).unwrap_or_default().chunks_exact(2);
    pairs.filter_map(|pair| Some((pair[0], pair[1].number()?))).collect()
}

/// What an access of a scalar that is no field is.
fn scalar(name: &str) -> Held {
    match name {
        "any pointer" => Held::Pointer,
        "omnipotent char" => Held::Union,
        _ => Held::Data,
    }
}

fn is_pointer(name: &str) -> bool {
    let counted = name.strip_prefix('p').and_then(|rest| rest.split_once(' '));
    name == "any pointer"
        || counted.is_some_and(|(count, _)| !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether it is no struct, or one that can't be told from a scalar.
fn is_scalar(node: Node) -> bool {
    let Some(name) = name(node) else { return true };
    let members = members(node);
    let single = members.len() <= 1 && members.iter().all(|(_, at)| *at == 0);
    is_pointer(&name) || single && members.iter().all(|(of, _)| self::name(*of).is_none_or(|n| is_number(&n)))
}

fn is_number(name: &str) -> bool {
    matches!(name, "omnipotent char" | "Simple C/C++ TBAA" | "Simple C++ TBAA")
}

fn flatten(node: Node, at: u64, out: &mut Vec<Leaf>, depth: usize) {
    let name = name(node).unwrap_or_default();
    if is_pointer(&name) {
        out.push((at, Scalar::Pointer));
    } else if is_scalar(node) {
        let number =
            matches!(&name[..], "int" | "long" | "long long" | "short" | "float" | "double" | "_Bool" | "bool");
        out.push((at, if number { Scalar::Number } else { Scalar::Other }));
    } else if depth < DEPTH {
        members(node).into_iter().for_each(|(member, start)| flatten(member, at + start, out, depth + 1));
    }
}

/// A struct's name as C writes it, where that is all there is to it.
fn source_name(name: &str) -> String {
    let mangled = name.strip_prefix(MANGLED).unwrap_or_default();
    let plain = mangled.trim_start_matches(|c: char| c.is_ascii_digit());
    let counted = mangled[..mangled.len() - plain.len()].parse() == Ok(plain.len());
    if counted { plain.to_owned() } else { name.to_owned() }
}
