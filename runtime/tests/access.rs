//! Reads held against dependency sets, in programs that call the hooks as the pass makes them do.

mod support;

use std::fs;
use support::{Bench, End, Event, Store};
use unseen_abi::access::FILE;
use unseen_abi::deps::{Because, Deps, Extent, Function, Global, Item, Offset, Path, Place, Reason, What};
use unseen_abi::event::Kind;
use unseen_abi::sets::{Lies, words};
use unseen_abi::tallies::START;

/// Two units. The first reads `*p`, as its set says, and `secret` (variable 0), which its set has only if `honest`. The sets may say
/// nothing of calls that do not return.
fn sets(honest: bool, hide_at_end: bool) -> String {
    let item = |path, n| {
        let place = Place { path, offset: Offset::At(0), extent: Extent::Bytes(n) };
        Item { what: What::Memory(place), at: None, via: None }
    };
    let panics = Because { reason: Reason::Panic, ends: true, name: String::new(), at: None, via: None };
    let reasons = if hide_at_end { vec![panics] } else { Vec::new() };
    let mut reads = vec![item(0, 4)];
    if honest {
        reads.push(item(1, 8));
    }
    let global = Global { name: "secret".into(), source_name: String::new(), size: 8, thread_local: false, ty: None };
    let deps = Deps {
        globals: vec![global],
        paths: vec![Path::Param(0), Path::Global(0)],
        functions: vec![
            Function { reads: reads.clone(), reasons: reasons.clone(), ..Function::default() },
            Function { function: 1, reads, reasons, ..Function::default() },
        ],
        ..Deps::default()
    };
    let words: Vec<String> = words(&deps, &[Lies::Here(0)]).iter().map(|w| format!("{w}ull")).collect();
    words.join(",")
}

/// A program with these sets that does `body` in `main`.
fn source(honest: bool, body: &str) -> String {
    source_with(&sets(honest, false), body)
}

fn source_with(words: &str, body: &str) -> String {
    format!(
        r#"
        #include <pthread.h>
        #include <setjmp.h>
        #include <signal.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static const uint64_t words[] = {{{words}}};
        static uint64_t secret = 42;
        static const uint64_t fixed = 1;
        static int gate, countdown[2];
        static const struct {{ const void *address; uint64_t size; }} variables[] =
            {{{{&secret, sizeof secret}}, {{&fixed, sizeof fixed | 1ull << 63}}}};
        static const struct {{
          uint32_t size, units;
          uint8_t id[16];
          const uint64_t *words;
          uint64_t word_count;
          const void *variables;
          uint64_t variable_count;
          void *resolve;
          int *gate, *countdown;
        }} watched = {{80, 2, {{0xab, 1}}, words, sizeof words / 8, variables, 2, 0, &gate, countdown}};
        void __unseen_access_v1(const void *);
        void __unseen_access_leave_v1(const void *);
        __attribute__((constructor)) static void watched_enter(void) {{ __unseen_access_v1(&watched); }}
        __attribute__((destructor)) static void watched_leave(void) {{ __unseen_access_leave_v1(&watched); }}
        #include "module.h"
        void __unseen_access_enter(const void *, int, const void *, int, void *);
        void __unseen_access_leave(void *);
        void __unseen_access_read(const void *, uint64_t, int);
        void __unseen_access_write(const void *, uint64_t);
        void __unseen_access_new(const void *, uint64_t);
        #define FRAME __builtin_frame_address(0)
        static void begin(int unit, const void *p, void *frame) {{
          uint64_t arguments[1] = {{(uint64_t)p}};
          if (((countdown[unit] -= 1) | gate) < 0) __unseen_access_enter(&watched, unit, arguments, 1, frame);
        }}
        __attribute__((noinline)) int unit(int *p) {{
          begin(0, p, FRAME);
          __unseen_access_read(p, 4, 1);
          __unseen_access_read(&secret, 8, 2);
          __unseen_access_leave(FRAME);
          return *p;
        }}
        __attribute__((noinline)) int outer(int *p, int throws, jmp_buf to) {{
          begin(1, p, FRAME);
          unit(p);
          if (throws) longjmp(to, 1);
          __unseen_access_leave(FRAME);
          return 0;
        }}
        __attribute__((noinline)) int writes(int *p) {{
          int local = 0;
          begin(0, p, FRAME);
          char *fresh = malloc(16);
          __unseen_access_new(fresh, 16);
          __unseen_access_read(fresh, 16, 3);
          __unseen_access_read(&local, 4, 4);
          __unseen_access_read(&fixed, 8, 5);
          __unseen_access_write(&secret, 8);
          __unseen_access_read(&secret, 8, 6);
          __unseen_access_leave(FRAME);
          free(fresh);
          return *p;
        }}
        static int value;
        static void *thread(void *p) {{ unit(p); return 0; }}
        int main(void) {{
          jmp_buf to;
          {body}
          return 0;
        }}"#
    )
}

fn misses(store: &Store) -> Vec<Event> {
    store.events().into_iter().filter(|e| e.kind == Kind::Miss).collect()
}

/// The counts of the units, of all files.
fn tallies(store: &Store) -> Vec<[u64; FILE.words]> {
    let mut all = vec![[0; FILE.words]; 2];
    for entry in fs::read_dir(store.direct()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension() == Some(FILE.extension.as_ref()) {
            let bytes = fs::read(path).unwrap();
            for (unit, tally) in all.iter_mut().enumerate() {
                for (i, n) in tally.iter_mut().enumerate() {
                    let at = START + 8 * (unit * FILE.words + i);
                    *n += u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
                }
            }
        }
    }
    all
}

#[test]
fn a_read_outside_a_wrong_set_is_a_miss() {
    let store = Bench::new().run(&source(false, "unit(&value); unit(&value);"), End::Exit(0));
    let misses = misses(&store);
    assert_eq!(misses.len(), 1, "once per unit and site: {misses:#?}");
    assert_eq!(misses[0].fields[2..5], ["ab010000000000000000000000000000", "0", "2"]);
    assert_eq!(misses[0].fields[6..], ["8", "variable 0 0", "0 "]);
    assert_eq!(tallies(&store)[0], [2, 2, 0, 8, 8, 16, 0]);
}

#[test]
fn a_whole_set_has_no_misses_and_a_precision() {
    let store = Bench::new().run(&source(true, "unit(&value); writes(&value);"), End::Exit(0));
    assert_eq!(misses(&store), []);
    assert_eq!(tallies(&store)[0], [2, 2, 0, 24, 12, 0, 0]);
}

#[test]
fn what_is_fresh_local_constant_or_written_first_is_no_miss() {
    let store = Bench::new().run(&source(false, "writes(&value);"), End::Exit(0));
    assert_eq!(misses(&store), []);
}

#[test]
fn callers_get_the_reads_of_their_callees_and_the_chain_is_told() {
    let store = Bench::new().run(&source(false, "outer(&value, 0, to);"), End::Exit(0));
    let chains: Vec<_> = misses(&store).into_iter().map(|e| (e.fields[3].clone(), e.fields[8].clone())).collect();
    assert_eq!(chains, [("1".into(), "1 0 ".into()), ("0".into(), "1 0 ".into())]);
}

#[test]
fn a_unit_that_is_jumped_out_of_is_over() {
    let body = "if (!setjmp(to)) outer(&value, 1, to); __unseen_access_read(&secret, 8, 9); unit(&value);";
    let store = Bench::new().run(&source(true, body), End::Exit(0));
    assert_eq!(misses(&store), []);
    assert_eq!(tallies(&store)[1][..2], [1, 1]);
}

#[test]
fn what_calls_read_that_do_not_return_is_held_back() {
    let body = "if (!setjmp(to)) outer(&value, 1, to); unit(&value); outer(&value, 0, to);";
    let store = Bench::new().run(&source_with(&sets(false, true), body), End::Exit(0));
    // All calls of the first unit return, and one of two of the second.
    let mut found: Vec<_> = misses(&store).into_iter().map(|e| (e.fields[3].clone(), e.fields[8].clone())).collect();
    found.sort();
    assert_eq!(found, [("0".into(), "1 0 ".into()), ("1".into(), "1 0 ".into())]);
    assert_eq!((tallies(&store)[0][5], tallies(&store)[1][5]), (24, 8));
    let never = "if (!setjmp(to)) outer(&value, 1, to); if (!setjmp(to)) outer(&value, 1, to);";
    let store = Bench::new().run(&source_with(&sets(false, true), never), End::Exit(0));
    assert!(misses(&store).iter().all(|miss| miss.fields[3] == "0"), "{:#?}", misses(&store));
}

#[test]
fn misses_survive_any_end() {
    let body = "unit(&value); *(volatile int *)8 = 1;";
    let store = Bench::new().run(&source(false, body), End::Signal(11));
    assert_eq!((misses(&store).len(), tallies(&store)[0][0]), (1, 1));
}

#[test]
fn threads_and_children_are_watched() {
    let body = "pthread_t t; pthread_create(&t, 0, thread, &value); pthread_join(t, 0);
                if (!fork()) { unit(&value); _exit(0); } wait(0);";
    let store = Bench::new().run(&source(true, body), End::Exit(0));
    assert_eq!((misses(&store).len(), tallies(&store)[0][..2].to_vec()), (0, vec![2, 2]));
}

#[test]
fn only_chosen_units_and_samples_are_watched() {
    let bench = Bench::new();
    let program = bench.build("program", &source(false, "for (int i = 0; i < 1000; i++) outer(&value, 0, to);"), &[]);
    let store = Store::new();
    let mut command = store.command(&program);
    command.env("UNSEEN_ACCESS_UNITS", "ab010000:1,ffffffff:0").env("UNSEEN_ACCESS_CALLS", "10");
    support::run(&mut command, End::Exit(0));
    let tallies = tallies(&store);
    assert_eq!((tallies[0][0], tallies[0][1]), (1000, 0));
    assert!((10..100).contains(&tallies[1][1]), "{tallies:?}");
    assert!(misses(&store).iter().all(|m| m.fields[3] == "1"));
}
