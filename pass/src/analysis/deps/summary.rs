//! What a caller must know of a function: its sets, what it stores where, what it returns. In the function's own names:
//! a caller puts its arguments in place of parameters.

use super::memory::{Content, ENDLESS};
use super::must::Written;
use super::paths::{ANYWHERE, Base, Object, Paths, Set, contains};
use rustc_hash::FxHashSet as HashSet;
use unseen_abi::deps::{Offset, Reason};
use unseen_abi::manifest::Place;

/// How many items a set holds before what lies behind one root becomes one item.
const ITEMS: usize = 256;
/// How many effects a function has before those on one object become one.
const EFFECTS: usize = 40;
/// How many items are kept of a function of which others are hidden anyway.
const KNOWN: usize = 48;

/// The answer for a function.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Summary {
    pub reads: Vec<Entry>,
    pub writes: Vec<Entry>,
    /// What is stored, where callers may see it.
    pub effects: Vec<Effect>,
    pub returns: Set,
    /// What is certainly written when the function returns.
    pub written: Written,
    /// The first of each reason.
    pub causes: Vec<Cause>,
}

/// A member of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub thing: Thing,
    pub at: Option<Place>,
    /// Inherited from this function.
    pub via: Option<u32>,
}

/// What is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thing {
    Param(u32),
    Memory { base: Base, offset: Offset, span: Span },
}

/// How far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Span {
    Bytes(u64),
    Text,
    Rest,
    Object,
    ByParam { param: u32, scale: u64 },
    ByMemory { base: Base, at: i64, size: u64, scale: u64 },
}

/// A store that callers may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub base: Base,
    pub at: Offset,
    pub length: u64,
    pub content: Content,
}

/// Why a set is opaque.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub reason: Reason,
    /// Only on ways that do not return.
    pub ends: bool,
    pub name: String,
    pub at: Option<Place>,
    pub via: Option<u32>,
}

impl Cause {
    /// Without name or place.
    pub fn new(reason: Reason) -> Cause {
        Cause { reason, ends: false, name: String::new(), at: None, via: None }
    }
}

impl Summary {
    /// Of a function that does nothing.
    pub const fn nothing() -> Summary {
        Summary {
            reads: Vec::new(),
            writes: Vec::new(),
            effects: Vec::new(),
            returns: Set(Vec::new()),
            written: Written::new(),
            causes: Vec::new(),
        }
    }

    /// Whether there may be more than is listed in calls that return.
    pub fn hides(&self) -> bool {
        self.causes.iter().any(|c| c.reason.hides() && !c.ends)
    }

    /// Adds a cause. Of one reason the first is kept, or the first that holds for calls that return.
    pub fn add_cause(&mut self, cause: Cause) {
        match self.causes.iter_mut().find(|c| c.reason == cause.reason) {
            Some(old) if old.ends && !cause.ends => *old = cause,
            Some(_) => {}
            None => self.causes.push(cause),
        }
    }

    /// Adds what another summary says, for functions of which either may be called.
    pub fn join(&mut self, paths: &mut Paths, other: &Summary) {
        let mut seen: HashSet<Thing> = self.reads.iter().map(|e| e.thing).collect();
        self.reads.extend(other.reads.iter().filter(|e| seen.insert(e.thing)));
        let mut seen: HashSet<Thing> = self.writes.iter().map(|e| e.thing).collect();
        self.writes.extend(other.writes.iter().filter(|e| seen.insert(e.thing)));
        for effect in &other.effects {
            add_effect(paths, &mut self.effects, effect);
        }
        paths.join_all(&mut self.returns, &other.returns);
        self.written = Written::default();
        for cause in &other.causes {
            self.add_cause(cause.clone());
        }
        self.bound(paths);
    }

    /// Takes out what others include, and keeps the summary within bounds.
    pub fn bound(&mut self, paths: &mut Paths) {
        self.returns.0.shrink_to_fit();
        let hides = self.hides();
        for list in [&mut self.reads, &mut self.writes] {
            reduce(paths, list);
            if list.len() > ITEMS {
                gather_roots(paths, list);
                reduce(paths, list);
            }
            if hides {
                list.truncate(KNOWN);
            }
            // There is one of these for every function.
            list.shrink_to_fit();
        }
        if self.effects.len() > EFFECTS {
            self.widen_effects(paths, |_, base| base);
        }
        if self.effects.len() > EFFECTS {
            self.widen_effects(paths, |paths, base| {
                let root = paths.root(base);
                if paths.is_entry(base) { paths.reach(root) } else { base }
            });
        }
        if self.effects.len() > EFFECTS * 4 {
            self.effects.truncate(EFFECTS);
            self.add_cause(Cause::new(Reason::Limit));
        }
    }

    /// One effect for each object that `of` makes of the objects: any of the values, anywhere.
    fn widen_effects(&mut self, paths: &mut Paths, of: impl Fn(&mut Paths, Base) -> Base) {
        let all = std::mem::take(&mut self.effects);
        for effect in all {
            let content = match effect.content {
                Content::Copy(from) => {
                    let (from, _) = paths.get(from);
                    if paths.is_entry(from) {
                        let held = paths.follow(from, ANYWHERE, true);
                        Content::Values(Set::of(paths.pointer(held, Offset::At(0))))
                    } else {
                        Content::Copy(paths.pointer(from, ANYWHERE))
                    }
                }
                values => values,
            };
            let base = of(paths, effect.base);
            add_effect(paths, &mut self.effects, &Effect { base, at: ANYWHERE, length: ENDLESS, content });
        }
    }
}

/// Adds an effect to a list. Returns whether that is news.
pub fn add_effect(paths: &mut Paths, effects: &mut Vec<Effect>, effect: &Effect) -> bool {
    let same = |e: &&mut Effect| (e.base, e.at, e.length) == (effect.base, effect.at, effect.length);
    for old in effects.iter_mut().filter(same) {
        match (&mut old.content, &effect.content) {
            (Content::Values(set), Content::Values(more)) => return paths.join_all(set, more),
            (Content::Copy(a), Content::Copy(b)) if a == b => return false,
            _ => {}
        }
    }
    effects.push(effect.clone());
    true
}

/// Takes out entries that others include.
fn reduce(paths: &Paths, list: &mut Vec<Entry>) {
    let mut seen = HashSet::default();
    list.retain(|entry| seen.insert(entry.thing));
    let mut wide: Vec<(usize, (Base, Offset, Span))> = Vec::new();
    for (number, entry) in list.iter().enumerate() {
        if let Thing::Memory { base, offset, span } = entry.thing {
            let many = matches!(paths.object(base), Object::Closure(..) | Object::Reach(_));
            if many || span == Span::Object || matches!(offset, Offset::Every { .. }) {
                wide.push((number, (base, offset, span)));
            }
        }
    }
    if wide.is_empty() {
        return;
    }
    let includes = |(other, at, extent): (Base, Offset, Span), (base, offset, span): (Base, Offset, Span)| {
        paths.includes(other, base)
            && match (extent, span) {
                (Span::Object, _) => true,
                (Span::Bytes(n), Span::Bytes(m)) => m <= n && contains(at, offset),
                _ => extent == span && contains(at, offset),
            }
    };
    let mut number = 0;
    list.retain(|entry| {
        let here = number;
        number += 1;
        let Thing::Memory { base, offset, span } = entry.thing else { return true };
        let own = (base, offset, span);
        // Of two that include each other, such as all of an object from two places in it, the first stays.
        let goes_for = |&(there, other): &(usize, (Base, Offset, Span))| {
            there != here && includes(other, own) && (there < here || !includes(own, other))
        };
        !wide.iter().any(goes_for)
    });
}

/// Makes "everything reachable" of all entries behind one root.
fn gather_roots(paths: &mut Paths, list: &mut [Entry]) {
    for entry in list {
        let Thing::Memory { base, .. } = entry.thing else { continue };
        let mut root = base;
        while let Object::Deref(from, _) | Object::Closure(from, _) | Object::Reach(from) = *paths.object(root) {
            root = from;
        }
        if root != base {
            let base = paths.reach(root);
            entry.thing = Thing::Memory { base, offset: Offset::At(0), span: Span::Object };
        }
    }
}
