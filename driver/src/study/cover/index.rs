//! From manifests to points and back: gives everything that can be reached a number, and afterwards reads off how
//! often each was.

use std::collections::{BTreeMap, HashMap, HashSet};

use unseen_abi::manifest::{self, Cover, Label, Manifest, Place, Probes};

use super::{Arm, Branch, File, Function, Instance, LeftOut, Line, Statement, Totals};
use crate::store::merge::{Merged, Points};
use crate::study::names;
use crate::study::sources::{Sources, normalise};

/// Line and column.
type Position = (u32, u32);

/// Everything that can be reached, by file and place.
pub struct Index<'a> {
    sources: &'a Sources,
    /// By path; `None` is not of this study.
    files: HashMap<String, Option<usize>>,
    contents: Vec<Content>,
    /// Files with functions that are not of this study.
    foreign: HashSet<String>,
    left_out: LeftOut,
    points: u32,
}

/// What a file holds: point numbers by place.
#[derive(Default)]
struct Content {
    path: String,
    statements: BTreeMap<Position, u32>,
    lines: BTreeMap<u32, u32>,
    /// Several decisions may stand at one place (a macro's): told apart by their order in the function.
    branches: BTreeMap<(Position, usize), Arms>,
    functions: BTreeMap<(Position, String), Group>,
}

/// The functions that are instances of one function of the source.
struct Group {
    point: u32,
    instances: BTreeMap<String, u32>,
    statements: HashSet<Position>,
}

/// The arms of a decision; without a point where no instance can take it.
type Arms = BTreeMap<ArmOrder, (Label, Option<u32>)>;

/// Arms in the order people expect: true, false; cases by value, default last.
type ArmOrder = (u8, i64);

fn order(label: Label) -> ArmOrder {
    match label {
        Label::True => (0, 0),
        Label::False => (1, 0),
        Label::Case(value) => (2, value),
        Label::Default => (3, 0),
    }
}

fn text(label: Label) -> String {
    match label {
        Label::True => "true".into(),
        Label::False => "false".into(),
        Label::Case(value) => format!("case {value}"),
        Label::Default => "default".into(),
    }
}

/// Collects which counters tell of which points.
struct Pairs(Vec<(u32, u32)>);

impl Pairs {
    fn add(&mut self, probes: &Probes, point: u32) {
        self.0.extend(probes.iter().map(|counter| (*counter, point)));
    }
}

impl<'a> Index<'a> {
    pub fn new(sources: &'a Sources) -> Index<'a> {
        Index {
            sources,
            files: HashMap::new(),
            contents: Vec::new(),
            foreign: HashSet::new(),
            left_out: LeftOut::default(),
            points: 0,
        }
    }

    /// Takes a module in.
    pub fn add(&mut self, manifest: &Manifest) -> Points {
        let files: Vec<Option<usize>> = manifest.files.iter().map(|path| self.file(path)).collect();
        // Places in files that the manifest doesn't have are a fault of its writer; they belong to no file.
        let file = |place: &Place| files.get(place.file as usize).copied().flatten();
        let mut pairs = Pairs(Vec::new());
        for function in &manifest.functions {
            let Some(cover) = &function.cover else { continue };
            // Line 0 is the compiler's own: initialisers of globals and the like.
            match function.place.filter(|place| place.line > 0) {
                None => self.left_out.unplaced += 1,
                Some(place) => match file(&place) {
                    None => {
                        self.left_out.functions += 1;
                        self.foreign.extend(manifest.files.get(place.file as usize).map(|path| normalise(path)));
                    }
                    Some(content) => self.function(content, function, place, cover, &mut pairs),
                },
            }
            for region in &cover.regions {
                for place in region.statements.iter().filter(|place| place.line > 0) {
                    let Some(content) = file(place) else { continue };
                    let content = &mut self.contents[content];
                    let statement = *content.statements.entry((place.line, place.column)).or_insert_with(|| {
                        self.points += 1;
                        self.points - 1
                    });
                    let line = *content.lines.entry(place.line).or_insert_with(|| {
                        self.points += 1;
                        self.points - 1
                    });
                    pairs.add(&region.probes, statement);
                    pairs.add(&region.probes, line);
                }
            }
            self.branches(cover, file, &mut pairs);
        }
        Points::new(manifest.counters, pairs.0)
    }

    fn file(&mut self, path: &str) -> Option<usize> {
        let path = normalise(path);
        if let Some(known) = self.files.get(&path) {
            return *known;
        }
        let number = self.sources.has(&path).then(|| {
            self.contents.push(Content { path: path.clone(), ..Content::default() });
            self.contents.len() - 1
        });
        self.files.insert(path, number);
        number
    }

    fn function(
        &mut self,
        content: usize,
        function: &manifest::Function,
        place: Place,
        cover: &Cover,
        pairs: &mut Pairs,
    ) {
        // Debug info gives a function's line, rarely its column: the name tells apart what begins on one line.
        let key = ((place.line, place.column), names::without_arguments(&function.source_name));
        let points = &mut self.points;
        let mut next = || {
            *points += 1;
            *points - 1
        };
        let group = self.contents[content].functions.entry(key).or_insert_with(|| Group {
            point: next(),
            instances: BTreeMap::new(),
            statements: HashSet::new(),
        });
        let instance = *group.instances.entry(function.name.clone()).or_insert_with(next);
        pairs.add(&cover.entry, group.point);
        pairs.add(&cover.entry, instance);
        let own = cover.regions.iter().flat_map(|r| &r.statements).filter(|s| s.file == place.file && s.line > 0);
        group.statements.extend(own.map(|s| (s.line, s.column)));
    }

    fn branches(&mut self, cover: &Cover, file: impl Fn(&Place) -> Option<usize>, pairs: &mut Pairs) {
        let mut at_place: HashMap<Place, usize> = HashMap::new();
        for branch in &cover.branches {
            let Some(content) = file(&branch.place) else { continue };
            let nth = at_place.entry(branch.place).or_default();
            let key = ((branch.place.line, branch.place.column), *nth);
            *nth += 1;
            let arms = self.contents[content].branches.entry(key).or_default();
            for arm in &branch.arms {
                let (_, point) = arms.entry(order(arm.label)).or_insert((arm.label, None));
                if arm.probes.is_empty() {
                    continue;
                }
                let point = *point.get_or_insert_with(|| {
                    self.points += 1;
                    self.points - 1
                });
                pairs.add(&arm.probes, point);
            }
        }
    }

    /// Reads everything off.
    pub fn finish(mut self, merged: &Merged) -> (Vec<File>, LeftOut) {
        self.left_out.files = self.foreign.len();
        self.left_out.why = self.sources.leave_out();
        let sources = self.sources;
        let mut files: Vec<File> = self
            .contents
            .into_iter()
            .filter(|c| !(c.functions.is_empty() && c.statements.is_empty() && c.branches.is_empty()))
            .map(|content| content.finish(sources, merged))
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        (files, self.left_out)
    }
}

impl Content {
    fn finish(self, sources: &Sources, merged: &Merged) -> File {
        let mut totals = Totals::default();
        let mut on_line: BTreeMap<u32, super::Share> = BTreeMap::new();
        let mut statements = Vec::with_capacity(self.statements.len());
        for (&(line, column), &point) in &self.statements {
            let hits = merged.processes(point);
            totals.statements.count(hits > 0);
            on_line.entry(line).or_default().count(hits > 0);
            statements.push(Statement { line, column, hits, runs: merged.runs(point) });
        }
        let mut lines = Vec::with_capacity(self.lines.len());
        for (number, point) in self.lines {
            let hits = merged.processes(point);
            totals.lines.count(hits > 0);
            lines.push(Line { number, hits, statements: on_line[&number] });
        }
        let mut branches = Vec::with_capacity(self.branches.len());
        for (((line, column), _), arms) in self.branches {
            let arms: Vec<Arm> = arms
                .into_values()
                .map(|(label, point)| Arm {
                    label: text(label),
                    hits: point.map_or(0, |p| merged.processes(p)),
                    reachable: point.is_some(),
                })
                .collect();
            arms.iter().filter(|a| a.reachable).for_each(|a| totals.branches.count(a.hits > 0));
            branches.push(Branch { line, column, arms });
        }
        let mut functions = Vec::with_capacity(self.functions.len());
        for (((line, column), base), group) in self.functions {
            let hits = merged.processes(group.point);
            totals.functions.count(hits > 0);
            let mut own = super::Share::default();
            group.statements.iter().for_each(|s| own.count(merged.processes(self.statements[s]) > 0));
            let instances: Vec<Instance> = group
                .instances
                .into_iter()
                .map(|(symbol, point)| Instance {
                    name: names::demangle(&symbol),
                    symbol,
                    hits: merged.processes(point),
                })
                .collect();
            let (runs, name) = (merged.runs(group.point), group_name(&instances, base));
            functions.push(Function { name, line, column, hits, runs, statements: own, instances });
        }
        let shown = sources.shown(&self.path).to_owned();
        File { path: self.path, shown, totals, functions, statements, lines, branches }
    }
}

/// One instance: its name. Several: what their names have in common without arguments, else the source's name.
fn group_name(instances: &[Instance], base: String) -> String {
    let bare = |i: &Instance| names::without_arguments(names::without_parameters(&i.name));
    match instances {
        [one] => one.name.clone(),
        [first, rest @ ..] if base.is_empty() || rest.iter().all(|i| bare(i) == bare(first)) => bare(first),
        _ => base,
    }
}
