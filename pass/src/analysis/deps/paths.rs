//! Objects and pointers by name, interned. An *entry* object is named by the path that led to it when the function was
//! entered; the name means the same address throughout the call. A function's own objects (stack, fresh heap) are never
//! part of anybody's state.
//!
//! Names are bounded: a load in a loop that follows an offset twice becomes a closure ("`next`, again and again"), and
//! chains deeper than [`DEPTH`] become "everything reachable".

use rustc_hash::FxHashMap as HashMap;
use unseen_abi::deps::{Offset, Reason};

/// How many pointers a chain may follow.
pub const DEPTH: u8 = 6;
/// How many offsets into one object a set of pointers holds before they become a stride.
const OFFSETS: usize = 6;
/// How many objects behind one root a set holds before they become everything reachable from it.
const OBJECTS: usize = 10;
/// How many pointers a set holds before it is given up.
const POINTERS: usize = 32;

/// Anywhere in an object.
pub const ANYWHERE: Offset = Offset::Every { stride: 1, at: 0 };

/// An object, by index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Base(pub u32);

/// A pointer, by index; the highest bit says that it may include others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Pointer(u32);

/// The bit of pointers that may include others.
const WIDE: u32 = 1 << 31;

impl Pointer {
    fn is_wide(self) -> bool {
        self.0 & WIDE != 0
    }
}

/// What an object is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Object {
    /// What a parameter points into. Also stands for the value of a parameter that is a number.
    Param(u32),
    Global(u32),
    Variadic,
    /// What a pointer points into that memory held at entry.
    Deref(Base, Offset),
    /// The first, and what is reached by following the offsets again and again.
    Closure(Base, Vec<Offset>),
    /// Everything reachable.
    Reach(Base),
    /// A constant global: no state.
    Constant(u32),
    /// A stack variable.
    Local(u32),
    /// What an instruction allocated.
    Fresh(u32),
    /// An exception: made since entry, but the pointers in it are not known.
    Thrown,
    /// No object: a number that is not known.
    Number,
    /// Who knows.
    Unknown(Reason),
}

struct Node {
    object: Object,
    /// Where its path starts.
    root: Base,
    depth: u8,
    one: bool,
    entry: bool,
}

/// The table of all names.
#[derive(Default)]
pub struct Paths {
    nodes: Vec<Node>,
    by_object: HashMap<Object, Base>,
    pointers: Vec<(Base, Offset)>,
    by_pointer: HashMap<(Base, Offset), Pointer>,
    /// How much has been done with sets, to know when it is too much.
    pub work: u64,
    /// How much of it went beyond what a function may ordinarily cost.
    pub over: u64,
}

impl Paths {
    pub fn base(&mut self, object: Object) -> Base {
        if let Some(base) = self.by_object.get(&object) {
            return *base;
        }
        let (depth, one) = match &object {
            Object::Deref(from, at) => {
                (self.nodes[from.0 as usize].depth + 1, self.is_one(*from) && matches!(at, Offset::At(_)))
            }
            Object::Closure(from, _) | Object::Reach(from) => (self.nodes[from.0 as usize].depth, false),
            _ => (0, true),
        };
        let entry = matches!(
            object,
            Object::Param(_)
                | Object::Global(_)
                | Object::Variadic
                | Object::Deref(..)
                | Object::Closure(..)
                | Object::Reach(_)
        );
        let base = Base(self.nodes.len() as u32);
        let root = match &object {
            Object::Deref(from, _) | Object::Closure(from, _) | Object::Reach(from) => self.root(*from),
            _ => base,
        };
        self.nodes.push(Node { object: object.clone(), root, depth, one, entry });
        self.by_object.insert(object, base);
        base
    }

    pub fn object(&self, base: Base) -> &Object {
        &self.nodes[base.0 as usize].object
    }

    /// The parameter or global that its path starts from.
    pub fn root(&self, base: Base) -> Base {
        self.nodes[base.0 as usize].root
    }

    /// Whether the object was there at entry.
    pub fn is_entry(&self, base: Base) -> bool {
        self.nodes[base.0 as usize].entry
    }

    /// Whether the name means one address per call.
    pub fn is_one(&self, base: Base) -> bool {
        self.nodes[base.0 as usize].one
    }

    pub fn pointer(&mut self, base: Base, offset: Offset) -> Pointer {
        let offset = if matches!(self.object(base), Object::Reach(_)) { ANYWHERE } else { offset };
        let many = matches!(self.object(base), Object::Closure(..) | Object::Reach(_));
        let wide = if many || matches!(offset, Offset::Every { .. }) { WIDE } else { 0 };
        let next = Pointer(self.pointers.len() as u32 | wide);
        let pointer = *self.by_pointer.entry((base, offset)).or_insert(next);
        if pointer == next {
            self.pointers.push((base, offset));
        }
        pointer
    }

    pub fn get(&self, pointer: Pointer) -> (Base, Offset) {
        self.pointers[(pointer.0 & !WIDE) as usize]
    }

    /// A pointer to the start of an object.
    pub fn start(&mut self, object: Object) -> Pointer {
        let base = self.base(object);
        self.pointer(base, Offset::At(0))
    }

    /// The pointer, moved.
    pub fn shift(&mut self, pointer: Pointer, by: Offset) -> Pointer {
        let (base, offset) = self.get(pointer);
        if matches!(self.object(base), Object::Number | Object::Unknown(_)) {
            return pointer;
        }
        self.pointer(base, add(offset, by))
    }

    /// What the pointer points into that `base` held at `at` at entry. In a loop, chains that repeat close.
    pub fn follow(&mut self, base: Base, at: Offset, looping: bool) -> Base {
        match self.object(base) {
            Object::Reach(_) => return base,
            Object::Closure(_, offsets) if offsets.contains(&at) => return base,
            _ => {}
        }
        if looping && let Some(closed) = self.close(base, at) {
            return closed;
        }
        if self.nodes[base.0 as usize].depth >= DEPTH {
            return self.reach(base);
        }
        self.base(Object::Deref(base, at))
    }

    /// Everything reachable from an object.
    pub fn reach(&mut self, base: Base) -> Base {
        match self.object(base) {
            Object::Reach(_) => base,
            // What is reached from here is reached from the start of the chain as well: one name for both.
            Object::Closure(from, _) => {
                let from = *from;
                self.reach(from)
            }
            _ => self.base(Object::Reach(base)),
        }
    }

    /// The closure that following `at` from `base` makes, if `at` was followed before.
    fn close(&mut self, base: Base, at: Offset) -> Option<Base> {
        let mut offsets = vec![at];
        let mut current = base;
        loop {
            match self.object(current).clone() {
                Object::Deref(from, followed) => {
                    offsets.push(followed);
                    if followed == at {
                        return Some(self.closure(from, offsets));
                    }
                    current = from;
                }
                Object::Closure(from, inside) => {
                    let closes = inside.contains(&at);
                    offsets.extend(inside);
                    if closes {
                        return Some(self.closure(from, offsets));
                    }
                    current = from;
                }
                _ => return None,
            }
        }
    }

    fn closure(&mut self, from: Base, mut offsets: Vec<Offset>) -> Base {
        offsets.sort_unstable();
        offsets.dedup();
        if offsets.len() > OFFSETS {
            return self.reach(from);
        }
        self.base(Object::Closure(from, offsets))
    }

    /// Whether every object that `b` may be is one that `a` may be.
    pub fn includes(&self, a: Base, b: Base) -> bool {
        if a == b {
            return true;
        }
        match self.object(a) {
            Object::Reach(root) => {
                let mut current = b;
                loop {
                    if current == *root {
                        return true;
                    }
                    match self.object(current) {
                        Object::Deref(from, _) | Object::Closure(from, _) | Object::Reach(from) => current = *from,
                        _ => return false,
                    }
                }
            }
            Object::Closure(root, offsets) => {
                let mut current = b;
                loop {
                    if current == *root {
                        return true;
                    }
                    match self.object(current) {
                        Object::Deref(from, at) if offsets.contains(at) => current = *from,
                        Object::Closure(from, inside) if inside.iter().all(|o| offsets.contains(o)) => current = *from,
                        _ => return false,
                    }
                }
            }
            _ => false,
        }
    }

    /// Adds a pointer to a set. Returns whether the set has grown.
    pub fn join(&mut self, set: &mut Set, pointer: Pointer) -> bool {
        if set.0.binary_search(&pointer).is_ok() {
            return false;
        }
        // Wide ones come last.
        let wide = set.0.partition_point(|p| !p.is_wide());
        self.work += 1 + (set.0.len() - wide) as u64;
        if set.0[wide..].iter().any(|p| self.covers(*p, pointer)) {
            return false;
        }
        let (base, offset) = self.get(pointer);
        let before = set.0.len();
        let mut kept = std::mem::take(&mut set.0);
        if pointer.is_wide() {
            self.work += kept.len() as u64;
            kept.retain(|p| !self.covers(pointer, *p));
        }
        if kept.len() < OFFSETS {
            let place = kept.partition_point(|p| *p < pointer);
            kept.insert(place, pointer);
            set.0 = kept;
            return true;
        }
        self.work += kept.len() as u64;
        let same: Vec<Offset> = kept.iter().map(|p| self.get(*p)).filter(|p| p.0 == base).map(|p| p.1).collect();
        let mut added = pointer;
        if same.len() >= OFFSETS {
            let stride = same.iter().fold(offset, |all, o| unite(all, *o));
            kept.retain(|p| self.get(*p).0 != base);
            added = self.pointer(base, stride);
        }
        let root = self.root(base);
        if kept.len() >= OBJECTS && self.is_entry(base) && root != base {
            let near = kept.iter().filter(|p| self.root(self.get(**p).0) == root).count();
            if near >= OBJECTS {
                kept.retain(|p| self.root(self.get(*p).0) != root);
                let all = self.reach(root);
                added = self.pointer(all, ANYWHERE);
            }
        }
        if kept.len() >= POINTERS {
            added = self.start(Object::Unknown(Reason::Limit));
            if kept.contains(&added) {
                set.0 = kept;
                return set.0.len() != before;
            }
        }
        let place = kept.partition_point(|p| *p < added);
        kept.insert(place, added);
        set.0 = kept;
        true
    }

    /// Adds all pointers of a set to another. Returns whether it has grown.
    pub fn join_all(&mut self, set: &mut Set, other: &Set) -> bool {
        self.work += 1;
        if set.0.is_empty() {
            set.0.clone_from(&other.0);
            return !set.0.is_empty();
        }
        let mut grown = false;
        for pointer in &other.0 {
            grown |= self.join(set, *pointer);
        }
        grown
    }

    fn covers(&self, a: Pointer, b: Pointer) -> bool {
        let ((a, a_offset), (b, b_offset)) = (self.get(a), self.get(b));
        match self.object(a) {
            Object::Reach(_) => self.includes(a, b),
            _ => {
                (a == b || matches!(self.object(a), Object::Closure(..)))
                    && contains(a_offset, b_offset)
                    && self.includes(a, b)
            }
        }
    }
}

/// Pointers that a value may be, sorted. Nothing but `Number`, or nothing: no pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Set(pub Vec<Pointer>);

impl Set {
    pub fn of(pointer: Pointer) -> Set {
        Set(vec![pointer])
    }

    pub fn iter(&self) -> impl Iterator<Item = Pointer> + '_ {
        self.0.iter().copied()
    }

    /// The only member.
    pub fn single(&self) -> Option<Pointer> {
        match self.0[..] {
            [one] => Some(one),
            _ => None,
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn every(stride: u64, at: i64) -> Offset {
    Offset::Every { stride, at: at.rem_euclid(stride as i64) as u64 }
}

/// The sum of two offsets.
pub fn add(a: Offset, b: Offset) -> Offset {
    match (a, b) {
        (Offset::At(a), Offset::At(b)) => a.checked_add(b).map_or(ANYWHERE, Offset::At),
        (Offset::Every { stride, at }, Offset::At(b)) | (Offset::At(b), Offset::Every { stride, at }) => {
            every(stride, (at as i64).wrapping_add(b.rem_euclid(stride as i64)))
        }
        (Offset::Every { stride: s, at: a }, Offset::Every { stride: t, at: b }) => every(gcd(s, t), (a + b) as i64),
    }
}

/// An offset that means both.
fn unite(a: Offset, b: Offset) -> Offset {
    let (stride, first, second) = match (a, b) {
        (Offset::At(a), Offset::At(b)) => (0, a, b),
        (Offset::Every { stride, at }, Offset::At(b)) | (Offset::At(b), Offset::Every { stride, at }) => {
            (stride, at as i64, b)
        }
        (Offset::Every { stride: s, at: a }, Offset::Every { stride: t, at: b }) => (gcd(s, t), a as i64, b as i64),
    };
    match gcd(stride, first.abs_diff(second)) {
        0 => a,
        stride => every(stride.min(1 << 40), first),
    }
}

/// Whether `a` means all that `b` means.
pub fn contains(a: Offset, b: Offset) -> bool {
    match (a, b) {
        (Offset::At(a), Offset::At(b)) => a == b,
        (Offset::At(_), Offset::Every { .. }) => false,
        (Offset::Every { stride, at }, Offset::At(b)) => b.rem_euclid(stride as i64) as u64 == at,
        (Offset::Every { stride: s, at: a }, Offset::Every { stride: t, at: b }) => t % s == 0 && b % s == a,
    }
}

/// Whether `n` bytes at `a` and `m` bytes at `b` may share one.
pub fn overlap(a: Offset, n: u64, b: Offset, m: u64) -> bool {
    let (stride, a, b) = match (a, b) {
        (Offset::At(a), Offset::At(b)) => {
            let (a, b, n, m) = (i128::from(a), i128::from(b), i128::from(n), i128::from(m));
            return a < b + m && b < a + n;
        }
        (Offset::Every { stride, at }, Offset::At(b)) => (stride, at as i64, b),
        (Offset::At(a), Offset::Every { stride, at }) => (stride, a, at as i64),
        (Offset::Every { stride: s, at: a }, Offset::Every { stride: t, at: b }) => (gcd(s, t), a as i64, b as i64),
    };
    // How far b lies behind some a.
    let behind = (i128::from(b) - i128::from(a)).rem_euclid(i128::from(stride)) as u64;
    behind < n || behind.saturating_add(m) > stride
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets() -> Vec<Offset> {
        let mut all: Vec<Offset> = (-9..9).map(Offset::At).collect();
        for stride in 1..6 {
            all.extend((0..stride).map(|at| Offset::Every { stride, at }));
        }
        all
    }

    /// The places an offset means, in a window.
    fn places(o: Offset) -> Vec<i64> {
        (-60..60).filter(|p| contains(o, Offset::At(*p))).collect()
    }

    #[test]
    fn offsets_behave_as_the_places_they_mean() {
        for a in offsets() {
            for b in offsets() {
                let (left, right) = (places(a), places(b));
                let sum = add(a, b);
                for (x, y) in left.iter().flat_map(|x| right.iter().map(move |y| (*x, *y))) {
                    assert!(contains(sum, Offset::At(x + y)), "{a:?} + {b:?}");
                }
                let both = unite(a, b);
                assert!(left.iter().chain(&right).all(|p| contains(both, Offset::At(*p))), "{a:?} | {b:?}");
                assert_eq!(contains(a, b), right.iter().all(|p| left.contains(p)), "{a:?} in {b:?}");
                for (n, m) in [(1, 1), (2, 3), (4, 1)] {
                    let shared = left.iter().any(|x| right.iter().any(|y| *x < y + m as i64 && *y < x + n as i64));
                    assert_eq!(overlap(a, n, b, m), shared, "{a:?}:{n} {b:?}:{m}");
                }
            }
        }
    }

    #[test]
    fn a_list_closes_and_a_tree_closes_over_both_ways() {
        let mut paths = Paths::default();
        let root = paths.base(Object::Param(0));
        let (left, right) = (Offset::At(8), Offset::At(16));
        let next = paths.follow(root, left, true);
        let list = paths.follow(next, left, true);
        assert_eq!(*paths.object(list), Object::Closure(root, vec![left]));
        assert_eq!(paths.follow(list, left, true), list);
        assert!(paths.includes(list, next) && paths.includes(list, root) && !paths.includes(next, list));
        let other = paths.follow(next, right, true);
        let tree = paths.follow(other, left, true);
        assert_eq!(*paths.object(tree), Object::Closure(root, vec![left, right]));
        assert!(paths.includes(tree, list) && paths.includes(tree, other));
    }

    #[test]
    fn straight_chains_stay_exact_until_the_depth_is_reached() {
        let mut paths = Paths::default();
        let mut base = paths.base(Object::Param(0));
        for _ in 0..DEPTH {
            base = paths.follow(base, Offset::At(0), false);
            assert!(paths.is_one(base));
        }
        let all = paths.follow(base, Offset::At(0), false);
        assert_eq!(*paths.object(all), Object::Reach(base));
    }

    #[test]
    fn many_offsets_into_one_object_become_a_stride() {
        let mut paths = Paths::default();
        let base = paths.base(Object::Param(0));
        let mut set = Set::default();
        for i in 0..20 {
            let pointer = paths.pointer(base, Offset::At(4 + 12 * i));
            paths.join(&mut set, pointer);
        }
        assert_eq!(set.single().map(|p| paths.get(p)), Some((base, Offset::Every { stride: 12, at: 4 })));
    }
}
