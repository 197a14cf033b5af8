//! What a process leaves behind, however it ends.

mod support;
use support::{Bench, End, Store, id};
use unseen_abi::event::Kind;

/// A program that hits counters 1 and 4999 of 5000 (two pages) and then does `ending`.
#[track_caller]
fn counts_survive(ending: &str, expected: End) {
    let store = Bench::new().run(
        &format!(
            "#define COUNT 5000
            #include \"module.h\"
            #include <signal.h>
            #include <stdlib.h>
            #include <sys/resource.h>
            #include <unistd.h>
            int main(void) {{
              struct rlimit none = {{0, 0}};
              setrlimit(RLIMIT_CORE, &none);
              hit(1);
              hit(4999);
              {ending}
            }}"
        ),
        expected,
    );
    assert_eq!(store.only().hits(), [1, 4999]);
}

#[test]
fn counts_survive_a_return_from_main() {
    counts_survive("return 7;", End::Exit(7));
}

#[test]
fn counts_survive_underscore_exit() {
    counts_survive("_exit(8);", End::Exit(8));
}

#[test]
fn counts_survive_abort() {
    counts_survive("abort();", End::Signal(6));
}

#[test]
fn counts_survive_kill_9() {
    counts_survive("kill(getpid(), SIGKILL); for (;;) pause();", End::Signal(9));
}

#[test]
fn counts_survive_a_wild_pointer() {
    counts_survive("return *(volatile int *)8;", End::Signal(11));
}

#[test]
fn counts_survive_exec() {
    counts_survive("execl(\"/bin/true\", \"true\", (char *)0);", End::Exit(0));
}

#[test]
fn the_file_and_the_log_say_who_recorded_what() {
    let bench = Bench::new();
    let program = bench.build(
        "program",
        "#include \"module.h\"
        #include <stdio.h>
        #include <unistd.h>
        int main(void) { hit(3); printf(\"%d %d %d\\n\", getpid(), getppid(), __unseen_active()); }",
        &[],
    );
    let store = Store::new();
    let said = store.run(&program, End::Exit(0));
    let counts = store.only();
    assert_eq!(said, format!("{} {} 1\n", counts.pid, counts.parent));
    assert_eq!((counts.id, &counts.path, counts.hits()), (id(0xab), &program, vec![3]));
    assert_eq!(counts.counters.len(), 10);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    assert!(counts.time < now && counts.time > now - 3_600_000_000_000, "{}", counts.time);
    let [event] = &store.events()[..] else { panic!("{:?}", store.events()) };
    let expected = [
        &counts.time.to_string(),
        &counts.pid.to_string(),
        &counts.parent.to_string(),
        "ab0102030405060708090a0b0c0d0e0f",
        &counts.name,
        program.to_str().unwrap(),
    ];
    assert_eq!((event.kind, &event.fields[..]), (Kind::Module, &expected.map(String::from)[..]));
}

#[test]
fn counts_from_before_the_constructor_are_kept() {
    let store = Bench::new().run(
        "#define COUNT 9000
        #define NO_CONSTRUCTOR
        #include \"module.h\"
        __attribute__((constructor(101))) static void early(void) { hit(0); hit(8999); }
        __attribute__((constructor(102))) static void enter(void) { hit(4096); __unseen_abi_v1(&record); hit(2); }
        int main(void) { return counters[0] + counters[8999] + counters[4096] + counters[2]; }",
        End::Exit(4),
    );
    assert_eq!(store.only().hits(), [0, 2, 4096, 8999]);
}

#[test]
fn counts_from_after_the_destructor_are_kept() {
    let store = Bench::new().run(
        "#include \"module.h\"
        __attribute__((destructor(101))) static void late(void) { hit(5); }
        int main(void) { hit(1); }",
        End::Exit(0),
    );
    assert_eq!(store.only().hits(), [1, 5]);
}

#[test]
fn a_module_without_counters_is_recorded_as_such() {
    let store = Bench::new().run(
        "#define COUNT 0
        #include \"module.h\"
        int main(void) { return __unseen_active(); }",
        End::Exit(1),
    );
    assert_eq!(store.only().counters, []);
    assert_eq!(store.events().len(), 1);
}

#[test]
fn a_module_without_cover_is_let_be() {
    let store = Bench::new().run(
        "#define NO_CONSTRUCTOR
        #include \"module.h\"
        int main(void) {
          struct module_record other = record;
          other.mechanisms = 0;
          __unseen_abi_v1(&other);
          hit(1);
          __unseen_leave_v1(&other);
          __unseen_abi_v1(0);
          __unseen_leave_v1(0);
          return __unseen_active();
        }",
        End::Exit(0),
    );
    assert!(store.is_empty());
}

#[test]
fn a_module_that_enters_twice_is_recorded_once() {
    let store = Bench::new().run(
        "#include \"module.h\"
        int main(void) { hit(1); __unseen_abi_v1(&record); hit(2); }",
        End::Exit(0),
    );
    assert_eq!(store.only().hits(), [1, 2]);
}

#[test]
fn reset_forgets_what_was_before_it() {
    let store = Bench::new().run(
        "#define COUNT 5000
        #include \"module.h\"
        int main(void) { hit(1); hit(4999); __unseen_cover_reset(); hit(2); return counters[1]; }",
        End::Exit(0),
    );
    assert_eq!(store.only().hits(), [2]);
}

#[test]
fn each_execution_has_its_own_file() {
    let bench = Bench::new();
    let program = bench.build("program", "#include \"module.h\"\nint main(int n, char **v) { (void)v; hit(n); }", &[]);
    let store = Store::new();
    for n in 1..=3 {
        let mut command = store.command(&program);
        assert!(command.args(&["x"; 9][..n]).status().unwrap().success());
    }
    let hits: Vec<_> = store.counts().iter().map(|c| c.hits()).collect();
    assert_eq!(hits, [[2], [3], [4]]);
    assert_eq!(store.events().len(), 3);
}

#[test]
fn a_run_has_a_directory_of_its_own() {
    let bench = Bench::new();
    let program = bench.build("program", "#include \"module.h\"\nint main(void) { hit(1); }", &[]);
    let store = Store::new();
    assert!(store.command(&program).env("UNSEEN_RUN", "mine").status().unwrap().success());
    assert_eq!(support::counts(&store.path().join("runs/mine"))[0].hits(), [1]);
    assert_eq!(support::events(&store.path().join("runs/mine")).len(), 1);
    assert!(!store.direct().exists());
}

#[test]
fn a_run_whose_name_is_a_path_is_recorded_without_it_and_the_log_says_so() {
    let bench = Bench::new();
    let program = bench.build("program", "#include \"module.h\"\nint main(void) { hit(1); }", &[]);
    for name in ["../../elsewhere", "..", "."] {
        let store = Store::new();
        assert!(store.command(&program).env("UNSEEN_RUN", name).status().unwrap().success());
        assert_eq!(store.only().hits(), [1], "{name}");
        assert_eq!(store.dropped(), [("UNSEEN_RUN".into(), "errno 22".into())], "{name}");
        assert_eq!(std::fs::read_dir(store.around()).unwrap().count(), 1, "{name}");
    }
}

#[test]
fn a_relative_store_is_relative_to_where_the_program_started() {
    let bench = Bench::new();
    let program = bench.build(
        "program",
        "#include \"module.h\"
        #include <sys/wait.h>
        #include <unistd.h>
        int main(void) {
          hit(1);
          if (chdir(\"/\")) return 1;
          if (fork() == 0) { hit(2); return 0; }
          wait(0);
        }",
        &[],
    );
    let store = Store::new();
    let mut command = store.command(&program);
    support::run(command.env("UNSEEN_DIR", "store").current_dir(store.around()), End::Exit(0));
    let hits: Vec<_> = store.counts().iter().map(|c| c.hits()).collect();
    assert_eq!(hits, [[1], [2]]);
}
