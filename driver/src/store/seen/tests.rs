//! Sets of stores and files against plain sets of keys.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use unseen_abi::seen::{Narrow, Wide};

const ID: [u8; 16] = *b"the build's id..";

/// A plain set.
type Model = BTreeSet<Key>;

/// Keys of which many are in several sets; some have numbers that only the file of wide states has a place for.
fn keys() -> impl Strategy<Value = Model> {
    let unit = prop_oneof![0..3_u32, Just(NarrowFormat::UNITS), Just(u32::MAX)];
    let narrow = (unit.clone(), 0..40_u64).prop_map(|(unit, state)| Key::Narrow(Narrow { unit, state }));
    let wide = (unit, 0..40_u128).prop_map(|(unit, state)| Key::Wide(Wide { unit, state: state << 60 }));
    prop::collection::btree_set(prop_oneof![narrow, wide], 0..60)
}

fn states(model: &Model) -> States {
    let (mut narrow, mut wide) = (Vec::new(), Vec::new());
    for key in model {
        match key {
            Key::Narrow(key) => narrow.push(*key),
            Key::Wide(key) => wide.push(*key),
        }
    }
    States::new(ID, narrow, wide)
}

fn model(states: &States) -> Model {
    let wide = states.wide().iter().copied().map(Key::Wide);
    states.narrow().iter().copied().map(Key::Narrow).chain(wide).collect()
}

struct House {
    dir: tempfile::TempDir,
    store: Store,
}

impl House {
    fn new() -> House {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(&dir.path().join("store")).unwrap();
        House { dir, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn live(&self) -> PathBuf {
        self.store.seen_set(ModuleId(ID))
    }

    fn imports(&self) -> PathBuf {
        with_suffix(&self.live(), IMPORTS)
    }

    /// What the store has; nothing may be wrong with it.
    fn set(&self) -> Set {
        let (set, problems) = of_build(&self.store, ModuleId(ID));
        assert!(problems.is_empty(), "{problems:?}");
        set
    }

    fn import(&self, model: &Model) -> Imported {
        import(&self.store, states(model)).unwrap()
    }
}

fn key(state: u64) -> Key {
    Key::Narrow(Narrow { unit: 1, state })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn the_union_is_the_same_file_whatever_the_order_and_the_form(
        sets in prop::collection::vec((keys(), any::<bool>()), 1..5),
        turn in any::<prop::sample::Index>(),
    ) {
        let house = House::new();
        let mut files = Vec::new();
        for (i, (set, is_raw)) in sets.iter().enumerate() {
            let file = house.path(&format!("{i}.seen"));
            if *is_raw {
                prop_assert!(become_live(&file, &states(set)).unwrap());
            } else {
                fs::write(&file, states(set).encode().0).unwrap();
            }
            let read = read_file(&file).unwrap();
            prop_assert_eq!(&model(&read.states), set);
            prop_assert_eq!(read.tables.len(), if *is_raw { 2 } else { 0 });
            files.push(file);
        }
        let all: Model = sets.iter().flat_map(|(set, _)| set.iter().copied()).collect();
        let merge = |files: &[PathBuf]| {
            files.iter().map(|f| read_file(f).unwrap().states).reduce(States::union).unwrap().encode().0
        };
        let once = merge(&files);
        let at = turn.index(files.len());
        files.rotate_left(at);
        files.extend(files.clone());
        prop_assert!(merge(&files) == once);
        prop_assert_eq!(model(&States::decode(&once).unwrap()), all);
    }

    #[test]
    fn a_store_has_what_was_imported_and_says_what_was_new(sets in prop::collection::vec(keys(), 1..5)) {
        let house = House::new();
        let mut all = Model::new();
        for set in &sets {
            let is_waiting = !all.is_empty();
            let new = set.difference(&all).count();
            let imported = house.import(set);
            prop_assert_eq!(imported, Imported { new, is_waiting: is_waiting && new > 0 });
            all.extend(set);
            prop_assert_eq!(model(&house.set().states), all.clone());
        }
        prop_assert_eq!(builds(&house.store).unwrap().len(), usize::from(!all.is_empty()));
    }

    #[test]
    fn without_is_the_difference(a in keys(), b in keys()) {
        let left: Model = a.difference(&b).copied().collect();
        prop_assert_eq!(model(&states(&a).without(&states(&b))), left);
    }

    #[test]
    fn parts_are_small_and_make_the_whole(set in keys(), most in 1..20_usize) {
        let parts: Vec<States> = states(&set).parts(most).collect();
        prop_assert!(parts.iter().all(|p| (1..=most).contains(&p.count())));
        prop_assert_eq!(parts.iter().map(States::count).sum::<usize>(), set.len());
        prop_assert_eq!(parts.iter().flat_map(model).collect::<Model>(), set);
    }
}

#[test]
fn many_states_make_a_set_that_has_them_all() {
    let house = House::new();
    // Some find no place among the narrow.
    let all: Model = (0..600_000).map(key).collect();
    assert!(!house.import(&all).is_waiting);
    let set = house.set();
    assert!(model(&set.states) == all);
    let [narrow, wide] = set.tables[..] else { panic!("{:?}", set.tables) };
    assert!(!narrow.is_wide && wide.is_wide && narrow.is_spilled == (set.spilled > 0));
    assert_eq!(narrow.taken + wide.taken, 600_000);
    assert_eq!((wide.taken, narrow.bytes), (set.spilled, file_size(narrow.lines)));
    assert_eq!(set.bytes, narrow.bytes + wide.bytes);
    assert!(narrow.taken <= narrow.room && narrow.room == narrow.lines * 7);
}

#[test]
fn a_set_that_is_there_is_never_written() {
    for other in ["", WIDE_SUFFIX] {
        let house = House::new();
        fs::create_dir_all(house.store.seen()).unwrap();
        let theirs = with_suffix(&house.live(), other);
        fs::write(&theirs, "a program's").unwrap();
        assert!(!become_live(&house.live(), &states(&Model::from([key(1)]))).unwrap());
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "a program's");
    }
    let house = House::new();
    house.import(&Model::from([key(1)]));
    let before = fs::read(house.live()).unwrap();
    assert!(house.import(&Model::from([key(1), key(2)])).is_waiting);
    assert!(fs::read(house.live()).unwrap() == before);
    assert_eq!((house.set().waiting, house.set().states.count()), (1, 2));
}

#[test]
fn what_waits_and_is_damaged_harms_nothing_and_is_healed() {
    let house = House::new();
    house.import(&Model::from([key(1)]));
    house.import(&Model::from([key(2)]));
    let [file] = &waiting(&house.imports())[..] else { panic!() };
    fs::write(house.imports().join(".tmp"), "not finished").unwrap();
    fs::write(file, &fs::read(file).unwrap()[..70]).unwrap();
    let (set, problems) = of_build(&house.store, ModuleId(ID));
    assert_eq!(model(&set.states), Model::from([key(1)]));
    assert!(problems[0].to_string().ends_with("cut short: it has 70 of 76 bytes"), "{problems:?}");
    assert_eq!(house.import(&Model::from([key(2)])), Imported { new: 1, is_waiting: true });
    assert_eq!(model(&house.set().states), Model::from([key(1), key(2)]));
}

#[test]
fn what_waits_finds_its_place_though_programs_remove_the_directory() {
    let house = House::new();
    house.import(&Model::from([key(0)]));
    // Ends by itself, whatever becomes of the other.
    let (imports, end) = (house.imports(), std::time::Instant::now() + std::time::Duration::from_secs(2));
    let remover = std::thread::spawn(move || {
        while std::time::Instant::now() < end {
            let _ = fs::remove_dir(&imports);
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
    });
    for i in 1..50 {
        assert!(house.import(&Model::from([key(i)])).is_waiting);
        assert_eq!(house.set().states.count(), 2);
        fs::remove_file(&waiting(&house.imports())[0]).unwrap();
    }
    remover.join().unwrap();
}

#[test]
fn a_set_that_programs_refuse_is_named_and_takes_nothing() {
    let house = House::new();
    house.import(&Model::from([key(1)]));
    let good = fs::read(house.live()).unwrap();
    let told = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        fs::write(house.live(), bytes).unwrap();
        let error = import(&house.store, states(&Model::from([key(2)]))).unwrap_err();
        assert!(!house.imports().exists() && error.path() == house.live());
        error.to_string()
    };
    let other = told(&|b| b[16..32].fill(0xab));
    assert!(other.ends_with(&format!("is of build {}, not of {}", ModuleId([0xab; 16]), ModuleId(ID))), "{other}");
    let version = format!("a seen set of version 9, this is version {}", unseen_abi::seen::VERSION);
    assert!(told(&|b| b[8] = 9).ends_with(&version));
    assert!(told(&|b| b[65] = 0).ends_with("a seen set with sizes that can't be"));
    assert!(told(&|b| b.truncate(100)).ends_with("cut short: it has 100 of 4096 bytes"));
    assert!(told(&|b| b.truncate(50_000)).contains("cut short: it has 50000 of"));
    assert!(told(&|b| b.fill(b'x')).ends_with("is no seen set, neither exported nor of a store"));
}

#[test]
fn only_builds_are_listed() {
    let house = House::new();
    assert!(builds(&house.store).unwrap().is_empty());
    house.import(&Model::from([key(1)]));
    for name in ["readme", ".tmpabc", "0123", "zz3456789abcdef0123456789abcdef0", "x-wide"] {
        fs::write(house.store.seen().join(name), "").unwrap();
    }
    assert_eq!(builds(&house.store).unwrap(), [ModuleId(ID)]);
    fs::create_dir(with_suffix(&house.store.seen_set(ModuleId([1; 16])), IMPORTS)).unwrap();
    assert_eq!(builds(&house.store).unwrap(), [ModuleId([1; 16]), ModuleId(ID)]);
}
