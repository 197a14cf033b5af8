use std::path::Path;

use unseen_abi::manifest::{self, Cover, Label, Manifest, Outcome, Place, Region};
use unseen_abi::mechanism::Mechanisms;

use super::*;
use crate::store::counters::samples;
use crate::store::manifests;
use crate::study::sources::Choice;

/// A store with some modules and processes.
struct House {
    dir: tempfile::TempDir,
    store: Store,
}

impl House {
    fn new(modules: &[Manifest]) -> House {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path()).unwrap();
        modules.iter().for_each(|m| manifests::save(&store, m).unwrap());
        House { dir, store }
    }

    /// A process of its own run, with these counters of a module set.
    fn process(&self, manifest: &Manifest, pid: u32, set: &[usize]) {
        let run = self.run();
        let mut counters = vec![0; manifest.counters as usize];
        set.iter().for_each(|c| counters[*c] = 1);
        samples::write(&run, manifest.id, pid, 1, &counters);
    }

    fn run(&self) -> Run {
        let directory = self.dir.path().join("runs/r");
        std::fs::create_dir_all(&directory).unwrap();
        Run { name: "r".into(), directory }
    }

    fn study(&self) -> Coverage {
        let sources = Sources::new(&Choice::default(), Path::new("/p"), None).unwrap();
        study(&self.store, &[self.run()], &sources)
    }
}

fn at(file: u32, line: u32, column: u32) -> Place {
    Place { file, line, column }
}

fn region(probes: &[u32], statements: &[Place]) -> Region {
    Region { probes: probes.to_vec(), statements: statements.to_vec() }
}

fn branch(place: Place, arms: &[(Label, &[u32])]) -> manifest::Branch {
    let arms = arms.iter().map(|(label, probes)| manifest::Arm { label: *label, probes: probes.to_vec() }).collect();
    manifest::Branch { place, arms }
}

fn function(name: &str, source_name: &str, place: Place, cover: Cover) -> manifest::Function {
    manifest::Function {
        name: name.into(),
        source_name: source_name.into(),
        place: Some(place),
        outcome: Outcome::Instrumented(Mechanisms::DEFAULT),
        cover: Some(cover),
    }
}

fn module(id: u8, counters: u32, functions: Vec<manifest::Function>) -> Manifest {
    Manifest { id: [id; 16], counters, files: vec!["/p/a.h".into()], functions, ..Manifest::default() }
}

fn simple(probe: u32, line: u32) -> Cover {
    Cover { entry: vec![probe], regions: vec![region(&[probe], &[at(0, line, 1)])], branches: vec![] }
}

#[test]
fn a_process_that_reaches_two_instances_is_one_process() {
    let instances = vec![
        function("_Z1fIiEvv", "f<int>", at(0, 1, 0), simple(0, 2)),
        function("_Z1fIcEvv", "f<char>", at(0, 1, 0), simple(1, 2)),
    ];
    let (program, library) = (module(1, 2, instances.clone()), module(2, 2, instances));
    let house = House::new(&[program.clone(), library.clone()]);
    house.process(&program, 10, &[0, 1]);
    house.process(&library, 10, &[1]);
    house.process(&library, 11, &[]);
    let coverage = house.study();
    assert_eq!(coverage.processes, 2);
    let file = &coverage.files[0];
    assert_eq!((file.shown.as_str(), file.path.as_str()), ("a.h", "/p/a.h"));
    assert_eq!(file.functions.len(), 1);
    let f = &file.functions[0];
    assert_eq!((f.name.as_str(), f.hits, f.instances.len()), ("f", 1, 2));
    assert_eq!(file.lines.iter().map(|l| (l.number, l.hits)).collect::<Vec<_>>(), [(2, 1)]);
    assert_eq!(coverage.totals.functions, Share { covered: 1, total: 1 });
}

#[test]
fn functions_that_begin_on_one_line_stay_apart() {
    let m = module(
        1,
        2,
        vec![function("f", "f", at(0, 1, 0), simple(0, 1)), function("g", "g", at(0, 1, 0), simple(1, 1))],
    );
    let house = House::new(std::slice::from_ref(&m));
    house.process(&m, 1, &[1]);
    let functions = &house.study().files[0].functions;
    assert_eq!(functions.iter().map(|f| (f.name.as_str(), f.hits)).collect::<Vec<_>>(), [("f", 0), ("g", 1)]);
}

#[test]
fn a_statement_in_several_regions_is_reached_by_any_of_them() {
    let cover = Cover {
        entry: vec![0],
        regions: vec![region(&[1], &[at(0, 3, 5)]), region(&[2, 3], &[at(0, 3, 5), at(0, 3, 9)])],
        branches: vec![],
    };
    let m = module(1, 4, vec![function("f", "f", at(0, 1, 0), cover)]);
    let house = House::new(std::slice::from_ref(&m));
    house.process(&m, 1, &[0, 1]);
    house.process(&m, 2, &[0, 3]);
    let coverage = house.study();
    let hits: Vec<_> = coverage.files[0].statements.iter().map(|s| (s.column, s.hits)).collect();
    assert_eq!(hits, [(5, 2), (9, 1)]);
    assert_eq!(coverage.files[0].lines[0].hits, 2);
}

#[test]
fn several_decisions_at_one_place_are_told_apart_and_merged_across_instances() {
    use Label::{Case, Default, False, True};
    let decisions = |base: u32| {
        vec![
            branch(at(0, 5, 1), &[(True, &[base]), (False, &[base + 1])]),
            branch(at(0, 5, 1), &[(True, &[base + 2]), (False, &[])]),
            branch(at(0, 6, 1), &[(Default, &[base]), (Case(7), &[base + 1]), (Case(-1), &[base + 2])]),
        ]
    };
    let cover = |base: u32| Cover { entry: vec![base], regions: vec![], branches: decisions(base) };
    let m = module(
        1,
        6,
        vec![
            function("_Z1fIiEvv", "f<int>", at(0, 1, 0), cover(0)),
            function("_Z1fIcEvv", "f<char>", at(0, 1, 0), cover(3)),
        ],
    );
    let house = House::new(std::slice::from_ref(&m));
    house.process(&m, 1, &[0, 4]);
    house.process(&m, 2, &[0]);
    let coverage = house.study();
    let arms: Vec<Vec<(&str, u32, bool)>> = coverage.files[0]
        .branches
        .iter()
        .map(|b| b.arms.iter().map(|a| (a.label.as_str(), a.hits, a.reachable)).collect())
        .collect();
    assert_eq!(arms[0], [("true", 2, true), ("false", 1, true)]);
    assert_eq!(arms[1], [("true", 0, true), ("false", 0, false)]);
    assert_eq!(arms[2], [("case -1", 0, true), ("case 7", 1, true), ("default", 2, true)]);
    assert_eq!(coverage.totals.branches, Share { covered: 4, total: 6 });
}

#[test]
fn probes_and_places_that_do_not_exist_are_borne() {
    let cover =
        Cover { entry: vec![99], regions: vec![region(&[0, 77], &[at(9, 1, 1), at(0, 1, 1)])], branches: vec![] };
    let m = module(1, 1, vec![function("f", "f", at(5, 1, 0), cover)]);
    let house = House::new(std::slice::from_ref(&m));
    house.process(&m, 1, &[0]);
    let coverage = house.study();
    assert_eq!(coverage.totals.statements, Share { covered: 1, total: 1 });
}

#[test]
fn a_module_without_manifest_is_a_problem_and_the_others_are_kept() {
    let (known, lost) = (module(1, 1, vec![function("f", "f", at(0, 1, 0), simple(0, 1))]), module(2, 1, vec![]));
    let house = House::new(std::slice::from_ref(&known));
    house.process(&known, 1, &[0]);
    house.process(&lost, 2, &[0]);
    house.process(&lost, 3, &[0]);
    let coverage = house.study();
    assert_eq!(coverage.totals.functions, Share { covered: 1, total: 1 });
    assert_eq!(coverage.problems.len(), 1, "once per module: {:?}", coverage.problems);
    assert!(coverage.problems[0].contains("no saved manifest for module 0202"), "{:?}", coverage.problems);
}
