//! From summaries to what travels in the binary: only what sets name, in the encoding's terms.

use super::Analysed;
use super::paths::{Base, Object};
use super::summary::{Cause, Entry, Span, Summary, Thing};
use rustc_hash::FxHashMap as HashMap;
use unseen_abi::deps::{Because, Deps, Extent, Function, Global, Item, Link, Path, Place, What};

/// The sets of the functions that have code, and which of the program's globals each of theirs is. `numbers` gives each
/// function's place in the manifest, if it is there.
pub fn encode(analysed: &Analysed, numbers: &[Option<u32>]) -> (Deps, Vec<u32>) {
    let functions: Vec<u32> = (0..numbers.len() as u32)
        .filter(|f| numbers[*f as usize].is_some() && analysed.program.functions[*f as usize].defined)
        .collect();
    let places = functions.iter().enumerate().map(|(i, f)| (*f, i as u32)).collect();
    let mut encoder =
        Encoder { analysed, places, deps: Deps::default(), paths: HashMap::default(), globals: HashMap::default() };
    // What each function has must be known before others refer to it.
    for function in &functions {
        let summary = &analysed.summaries[*function as usize];
        let mut out = Function {
            function: numbers[*function as usize].expect("it was filtered"),
            params: analysed.program.functions[*function as usize].params.clone(),
            ..Function::default()
        };
        out.reads = summary.reads.iter().map(|e| encoder.item(e)).collect();
        out.writes = summary.writes.iter().map(|e| encoder.item(e)).collect();
        out.reasons = summary.causes.iter().map(|c| encoder.because(c)).collect();
        out.reasons.sort_by_key(|b| b.ends);
        encoder.deps.functions.push(out);
    }
    encoder.link(&functions);
    let mut globals = vec![0; encoder.deps.globals.len()];
    for (from, to) in &encoder.globals {
        globals[*to as usize] = *from;
    }
    (encoder.deps, globals)
}

struct Encoder<'a> {
    analysed: &'a Analysed,
    /// Where functions stand in the output.
    places: HashMap<u32, u32>,
    deps: Deps,
    paths: HashMap<Base, u32>,
    globals: HashMap<u32, u32>,
}

impl Encoder<'_> {
    fn item(&mut self, entry: &Entry) -> Item {
        let what = match entry.thing {
            Thing::Param(i) => What::Param(i),
            Thing::Memory { base, offset, span } => {
                let path = self.path(base);
                What::Memory(Place { path, offset, extent: self.extent(span) })
            }
        };
        Item { what, at: entry.at, via: None }
    }

    fn because(&self, cause: &Cause) -> Because {
        let via = cause.via.and_then(|f| self.places.get(&f)).copied();
        Because { reason: cause.reason, ends: cause.ends, name: cause.name.clone(), at: cause.at, via }
    }

    fn extent(&mut self, span: Span) -> Extent {
        match span {
            Span::Bytes(n) => Extent::Bytes(n),
            Span::Text => Extent::Text,
            Span::Rest => Extent::Rest,
            Span::Object => Extent::Object,
            Span::ByParam { param, scale } => Extent::ByParam { param, scale },
            Span::ByMemory { base, at, size, scale } => Extent::ByMemory { path: self.path(base), at, size, scale },
        }
    }

    fn path(&mut self, base: Base) -> u32 {
        if let Some(path) = self.paths.get(&base) {
            return *path;
        }
        let path = match self.analysed.paths.object(base).clone() {
            Object::Param(i) => Path::Param(i),
            Object::Global(g) => Path::Global(self.global(g)),
            Object::Variadic => Path::Variadic,
            Object::Deref(from, at) => Path::Deref { from: self.path(from), at },
            Object::Closure(from, at) => Path::Closure { from: self.path(from), at },
            Object::Reach(from) => Path::Reach { from: self.path(from) },
            other => unreachable!("{other:?} is nobody's state"),
        };
        let index = self.deps.paths.len() as u32;
        self.deps.paths.push(path);
        self.paths.insert(base, index);
        index
    }

    fn global(&mut self, global: u32) -> u32 {
        let next = self.deps.globals.len() as u32;
        let index = *self.globals.entry(global).or_insert(next);
        if index == next {
            let from = &self.analysed.program.globals[global as usize];
            self.deps.globals.push(Global {
                name: from.name.clone(),
                source_name: String::new(),
                size: from.size,
                thread_local: from.thread_local,
                ty: None,
            });
        }
        index
    }

    /// Finds the items through which others are inherited: the same place with the callee's names is not known here, so
    /// the first item of the callee that comes from the same kind of root serves.
    fn link(&mut self, functions: &[u32]) {
        for (index, function) in functions.iter().enumerate() {
            let summary = &self.analysed.summaries[*function as usize];
            let reads = self.links(&summary.reads, |s| &s.reads);
            let writes = self.links(&summary.writes, |s| &s.writes);
            let out = &mut self.deps.functions[index];
            out.reads.iter_mut().zip(reads).for_each(|(item, link)| item.via = link);
            out.writes.iter_mut().zip(writes).for_each(|(item, link)| item.via = link);
        }
    }

    /// Where each entry of a list comes from. Most stand in the callee's list as they are, and are found by name.
    fn links(&self, list: &[Entry], side: fn(&Summary) -> &Vec<Entry>) -> Vec<Option<Link>> {
        let mut order: Vec<usize> = (0..list.len()).filter(|i| list[*i].via.is_some()).collect();
        order.sort_by_key(|i| list[*i].via);
        let mut links = vec![None; list.len()];
        for same in order.chunk_by(|a, b| list[*a].via == list[*b].via) {
            let Some(callee) = list[same[0]].via else { continue };
            let Some(function) = self.places.get(&callee) else { continue };
            let there = side(&self.analysed.summaries[callee as usize]);
            let by_name: HashMap<&Thing, usize> = match same {
                [_] => HashMap::default(),
                _ => there.iter().enumerate().map(|(i, e)| (&e.thing, i)).collect(),
            };
            for i in same {
                let thing = &list[*i].thing;
                let item = by_name.get(thing).copied().or_else(|| self.most_like(thing, there));
                links[*i] = item.map(|item| Link { function: *function, item: item as u32 });
            }
        }
        links
    }

    fn most_like(&self, thing: &Thing, list: &[Entry]) -> Option<usize> {
        let likeness = |entry: &Entry| self.likeness(thing, &entry.thing);
        list.iter().enumerate().max_by_key(|(i, entry)| (likeness(entry), usize::MAX - i)).map(|(i, _)| i)
    }

    /// How much a callee's item looks like what it became.
    fn likeness(&self, here: &Thing, there: &Thing) -> u32 {
        let paths = &self.analysed.paths;
        match (here, there) {
            (Thing::Memory { base: a, offset: at, span: n }, Thing::Memory { base: b, offset: bt, span: m }) => {
                if here == there {
                    return 10;
                }
                let global = |b: Base| matches!(paths.object(paths.root(b)), Object::Global(_));
                let shape = |b: Base| std::mem::discriminant(paths.object(b));
                let mut likeness = 1;
                likeness += 3 * u32::from(at == bt && n == m);
                likeness += u32::from(shape(*a) == shape(*b));
                likeness += u32::from(n == m);
                // A parameter may have become a global, but never the other way round.
                if global(*b) { if paths.root(*a) == paths.root(*b) { likeness + 2 } else { 0 } } else { likeness }
            }
            (Thing::Param(_), Thing::Param(_)) => 5,
            (Thing::Param(_), Thing::Memory { .. }) => 1,
            _ => 0,
        }
    }
}
