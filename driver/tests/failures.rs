//! What a test that did not pass tells: who called the unit, where the test was, in which thread, and with which values, where these are
//! allowed.

mod toolbox;

use serde_json::Value;
use toolbox::{Place, llvm, root};

/// What `unseen tests` says of the last run.
fn failures(place: &Place) -> Vec<Value> {
    let ran = place.run("unseen tests --last --format json").failed(1, &[]);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    found["failures"].as_array().unwrap().clone()
}

/// Runs the program, one test at a time: the first that fails is the first that is told.
fn run(place: &Place) {
    place.run_with("unseen run ./program", &[("UNSEEN_TESTS_AT_ONCE", "1")]).fine();
}

/// The failure of a test.
fn failure(place: &Place, test: &str) -> Value {
    let all = failures(place);
    let bare = |name: &str| name.split('(').next().unwrap().rsplit("::").next().unwrap().to_owned();
    let is_it = |f: &&Value| bare(f["test"].as_str().unwrap()) == test;
    all.iter().find(is_it).unwrap_or_else(|| panic!("no failure of {test} in {all:#?}")).clone()
}

/// Frames as `function place`, up to the C library's start of `main` or of threads.
fn frames(stack: &Value) -> Vec<String> {
    let all = stack.as_array().unwrap().iter();
    let own = all.take_while(|f| !f["file"].as_str().unwrap().contains("libc.so"));
    own.map(|f| format!("{} {}", f["function"].as_str().unwrap(), f["place"].as_str().unwrap_or("-"))).collect()
}

const C: &str = r#"#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <unseen.h>

__attribute__((noinline)) int unit(int a, const char *text) {
  return a + (int)strlen(text);
}

static int fails(int a, const char *text) {
  return unit(a, text) < 1000;
}
UNSEEN_TEST(unit, fails)

__attribute__((noinline)) static int touch(volatile int *p) {
  int n = *p;
  return n + 1;
}
static int crashes(int a, const char *text) {
  int n = touch((int *)(long)(a & 8));
  return n + 1;
}
UNSEEN_TEST(unit, crashes)

static int crashes_in_libc(int a, const char *text) {
  void *volatile wild = (void *)(16 + (long)text);
  free(wild);
  __asm__ volatile("");
  return 1;
}
UNSEEN_TEST(unit, crashes_in_libc)

static inline __attribute__((always_inline)) int inlined(int a) {
  int n = unit(a, "inlined");
  return n + 1;
}

static int compare(const void *a, const void *b) {
  int n = unit(*(const int *)a, "abc");
  return *(const int *)a - *(const int *)b + n - n;
}

static void *work(void *p) {
  int list[] = {4711000, 4711001};
  qsort(list, 2, sizeof *list, compare);
  return p;
}

int main(void) {
  int n = inlined(4711002);
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  pthread_setname_np(thread, "worker");
  pthread_join(thread, 0);
  return n < 0;
}
"#;

fn build_c(place: &Place, flags: &str) {
    place.write("source.c", C);
    place.run(&format!("unseen-clang -w -D_GNU_SOURCE --unseen=state,cover {flags} source.c -o program")).fine();
}

#[test]
fn a_failure_in_c_tells_its_callers_and_its_place() {
    for flags in ["-g -O0", "-g -O2 -fomit-frame-pointer", "-g -O3 -fomit-frame-pointer", "-g -O2 -static"] {
        let place = Place::new();
        build_c(&place, flags);
        run(&place);
        let failed = failure(&place, "fails");
        assert_eq!(failed["outcome"], "fail", "{flags}: {failed:#}");
        assert_eq!(failed["stack"]["test"].as_array().unwrap().len(), 0, "{failed:#}");
        let expected = ["unit source.c:6", "inlined source.c:34", "main source.c:50"];
        let callers = frames(&failed["stack"]["callers"]);
        assert_eq!(callers[..3], expected, "{flags}: {failed:#}");
        assert_eq!(failed["stack"]["callers"][1]["inlined"], true, "{flags}: {failed:#}");
        assert_eq!(failed["stack"]["cut"], false, "{flags}: {failed:#}");
        // In the main thread, whose name is the program's, and whose id is the process's.
        assert_eq!(failed["thread"]["name"], "program", "{failed:#}");
        let crashed = failure(&place, "crashes");
        assert_eq!(crashed["details"], "signal 11 at 0x8", "{crashed:#}");
        assert_eq!(
            frames(&crashed["stack"]["test"]),
            ["touch source.c:16", "crashes source.c:20"],
            "{flags}: {crashed:#}"
        );
        let in_libc = failure(&place, "crashes_in_libc");
        let test = in_libc["stack"]["test"].as_array().unwrap();
        let last = test.last().unwrap();
        assert_eq!(
            (&last["function"], &last["place"]),
            (&"crashes_in_libc".into(), &"source.c:27".into()),
            "{in_libc:#}"
        );
        assert!(test.len() > 1, "{in_libc:#}");
        // And for people.
        let text = place.run("unseen tests --last").failed(1, &[]).stdout;
        for line in [
            "  the test was at\n    touch (source.c:16)\n    crashes (source.c:20)\n",
            "    unit (source.c:6)\n    inlined (source.c:34, inlined)\n    main (source.c:50)\n",
        ] {
            assert!(text.contains(line), "{flags}: {text}");
        }
    }
}

#[test]
fn a_unit_that_is_called_back_in_a_thread_tells_so() {
    let place = Place::new();
    build_c(&place, "-g -O2 -fomit-frame-pointer");
    // Only one failure of a test is shown: that of the last run.
    place.write(
        "other.c",
        &C.replace("int n = inlined(4711002);", "int n = 0; prctl(PR_SET_NAME, \"other\");")
            .replace("#include <stdlib.h>", "#include <sys/prctl.h>\n#include <stdlib.h>"),
    );
    place.run("unseen-clang -w -g -D_GNU_SOURCE --unseen=state,cover -O2 other.c -o program").fine();
    run(&place);
    let failed = failure(&place, "fails");
    let callers: Vec<&str> =
        failed["stack"]["callers"].as_array().unwrap().iter().map(|f| f["function"].as_str().unwrap()).collect();
    assert_eq!(callers[..2], ["unit", "compare"], "{failed:#}");
    let work = callers.iter().position(|f| *f == "work").unwrap_or_else(|| panic!("{failed:#}"));
    assert!(work > 2, "the C library sorts in between: {failed:#}");
    assert!(["worker", "other"].contains(&failed["thread"]["name"].as_str().unwrap()), "{failed:#}");
    assert!(failed["thread"]["id"].as_u64().unwrap() > 1);
}

#[test]
fn without_debug_info_functions_have_names_and_without_symbols_addresses() {
    let place = Place::new();
    build_c(&place, "-O2");
    run(&place);
    let failed = failure(&place, "fails");
    // The manifest knows where functions begin.
    assert_eq!(frames(&failed["stack"]["callers"])[..2], ["unit source.c:6", "main source.c:49"], "{failed:#}");
    place.shell(&format!("{} --strip-unneeded program", llvm("llvm-strip").display())).fine();
    let stripped = failure(&place, "fails");
    let names = |f: &Value| -> Vec<(String, String)> {
        let all = f["stack"]["callers"].as_array().unwrap().iter();
        all.map(|f| (f["file"].as_str().unwrap().into(), f["address"].as_str().unwrap().into())).collect()
    };
    assert_eq!(names(&stripped), names(&failed));
    assert!(stripped["stack"]["callers"][0]["address"].as_str().unwrap().starts_with("0x"), "{stripped:#}");
}

#[test]
fn a_failure_in_cpp_tells_its_callers_and_its_place() {
    let source = r#"#include <stdexcept>
#include <string>
#include <vector>
#include <unseen.h>

namespace shop {
struct Cart {
  std::vector<int> prices;
  __attribute__((noinline)) int total(int rebate) const {
    int sum = 0;
    for (int p : prices) sum += p;
    return sum - rebate;
  }
};
template <typename T> __attribute__((noinline)) int ask(const T &cart, int n) {
  std::string text(n, 'x');
  return cart.total(n) + (int)text.size();
}
}

__attribute__((noinline)) static int check(const shop::Cart *cart, int rebate) {
  if (cart->total(rebate) < 5) throw std::runtime_error("too little");
  return 1;
}
static void is_enough(const shop::Cart *cart, int rebate) {
  check(cart, rebate);
  __asm__ volatile("");
}
UNSEEN_TEST_NAMED("shop::Cart::total", is_enough)

int main() {
  shop::Cart cart{{1, 2}};
  int n = 0;
  try {
    n = shop::ask(cart, 3);
  } catch (...) { return 3; }
  return n == 77;
}
"#;
    for level in ["-O0", "-O2", "-O3"] {
        let place = Place::new();
        place.write("cart.cpp", source);
        let flags = format!("-w -g {level} -fomit-frame-pointer --unseen=state,cover");
        place.run(&format!("unseen-clang++ {flags} cart.cpp -o program")).fine();
        run(&place);
        let failed = failure(&place, "is_enough");
        let callers = frames(&failed["stack"]["callers"]);
        let expected =
            ["shop::Cart::total(int) const cart.cpp:9", "shop::ask<shop::Cart>(shop::Cart const&, int) cart.cpp:17"];
        assert_eq!(callers[..2], expected, "{level}: {failed:#}");
        assert_eq!(callers[2], "main cart.cpp:35", "{level}: {failed:#}");
        // What nobody catches ends in the library; the throw is on the way.
        let test = frames_of_program(&failed["stack"]["test"]);
        assert!(test.iter().any(|f| f.starts_with("check(") && f.ends_with("cart.cpp:22")), "{level}: {failed:#}");
        assert!(test.iter().any(|f| f.starts_with("is_enough(") && f.ends_with("cart.cpp:26")), "{level}: {failed:#}");
    }
}

/// All frames that have a place.
fn frames_of_program(stack: &Value) -> Vec<String> {
    let all = stack.as_array().unwrap().iter();
    all.filter_map(|f| Some(format!("{} {}", f["function"].as_str().unwrap(), f["place"].as_str()?))).collect()
}

#[test]
fn a_failure_in_rust_tells_its_callers_and_its_place() {
    let source = r#"#[inline(never)]
pub fn unit(n: u32) -> u32 {
    n * 2
}

#[inline(never)]
fn check(n: u32) {
    assert!(unit(n) < 10, "too large");
}

fn is_small(n: u32) {
    check(n);
    std::hint::black_box(n);
}
unseen::attach!(unit, is_small);

struct Caller(u32);

impl Caller {
    #[inline(never)]
    fn call(&self) -> u32 {
        unit(self.0) + 1
    }
}

fn main() {
    let sum: u32 = [7_u32].iter().map(|n| Caller(*n).call()).sum();
    println!("{sum}");
}
"#;
    let place = Place::new();
    place.write("src/main.rs", source);
    let api = root().join("runtime/api");
    let manifest = "[package]\nname = 'queue'\nversion = '0.1.0'\nedition = '2024'\n[profile.release]\ndebug = true\n";
    place.write("Cargo.toml", &format!("{manifest}[dependencies]\nunseen = {{ path = '{}' }}\n", api.display()));
    for profile in ["", "--release"] {
        place.shell("rm -rf .unseen").fine();
        let line = format!("cargo unseen run --quiet --offline {profile}");
        assert_eq!(place.run_with(&line, &[("UNSEEN_BUILD", "state,cover")]).fine().stdout, "15\n");
        let failed = failure(&place, "is_small");
        let callers = frames_of_program(&failed["stack"]["callers"]);
        assert_eq!(
            callers[..2],
            ["queue::unit src/main.rs:2", "queue::Caller::call src/main.rs:22"],
            "{profile}: {failed:#}"
        );
        assert!(
            callers.iter().any(|f| f.starts_with("queue::main") && f.ends_with("src/main.rs:27")),
            "{profile}: {failed:#}"
        );
        let test = frames_of_program(&failed["stack"]["test"]);
        assert!(test.contains(&"queue::check src/main.rs:8".into()), "{profile}: {failed:#}");
        assert!(test.contains(&"queue::is_small src/main.rs:12".into()), "{profile}: {failed:#}");
    }
}

/// What is in the event logs of all runs.
fn log(place: &Place) -> Vec<u8> {
    let runs = std::fs::read_dir(place.path(".unseen/runs")).unwrap();
    runs.flat_map(|run| std::fs::read(run.unwrap().path().join("events")).unwrap_or_default()).collect()
}

#[test]
fn values_are_recorded_where_they_are_allowed_and_nowhere_else() {
    let source = r#"#include <unseen.h>
struct pair { int first; struct pair *next; };
static unsigned global = 0xfeedbee5;

__attribute__((noinline)) int unit(int a, double b, const struct pair *p, const char *text) {
  return a + (b > 0) + p->next->first + (int)global + text[0];
}
static int fails(int a, double b, const struct pair *p, const char *text) {
  return unit(a, b, p, text) == 0;
}
UNSEEN_TEST(unit, fails)

/* The state of this one is its argument and a byte. */
static unsigned char mode;
__attribute__((noinline)) int small(int a) { return a + mode; }
static int small_fails(int a) { return small(a) == 0; }
UNSEEN_TEST(small, small_fails)
static int after_fails(int a, int result) { return result == 0; }
UNSEEN_TEST_AFTER(small, after_fails)

int main(int argc, char **argv) {
  mode = argc + 6;
  struct pair last = {-77001177, 0}, first = {1, &last};
  return unit(1122334455, 2.5, &first, "z") + small(1122334455) == 0;
}
"#;
    let place = Place::new();
    place.write("source.c", source);
    for level in ["-O0", "-O2"] {
        place.run(&format!("unseen-clang -w -g {level} --unseen=state,cover source.c -o program")).fine();
        for allowed in [None, Some("off"), Some("ON"), Some("on")] {
            place.shell("rm -rf .unseen").fine();
            let mut env: Vec<(&str, &str)> = allowed.iter().map(|v| ("UNSEEN_VALUES", *v)).collect();
            // What `unseen run` refuses, programs that are run without it still meet.
            env.push(("UNSEEN_DIR", ".unseen"));
            place.run_with("./program", &env).fine();
            let failed = failure(&place, "fails");
            let log = log(&place);
            let has = |text: &str| log.windows(text.len()).any(|w| w == text.as_bytes());
            let magic = ["42e576f7", "270e69fb", "e5beedfe", "f776e542"].map(has);
            if allowed != Some("on") {
                assert_eq!(magic, [false; 4], "{allowed:?}");
                assert_eq!((&failed["arguments"], &failed["values"]), (&Value::Null, &Value::Null), "{failed:#}");
                // Nor in another form.
                assert!(!has("1122334455") && !has("-77001177"));
                continue;
            }
            assert_eq!(magic, [true; 4], "{failed:#}");
            let shown_of = |failed: &Value, key: &str| -> Vec<String> {
                let all = failed[key].as_array().unwrap_or_else(|| panic!("{failed:#}")).iter();
                all.map(|v| {
                    format!(
                        "{}: {} = {}",
                        v["name"].as_str().unwrap(),
                        v["type"].as_str().unwrap_or("-"),
                        v["value"].as_str().unwrap()
                    )
                })
                .collect()
            };
            let shown = |key: &str| shown_of(&failed, key);
            let arguments = shown("arguments");
            assert_eq!(arguments[..2], ["a: int = 1122334455", "b: double = 2.5"], "{failed:#}");
            assert!(
                arguments[2].starts_with("p: pair * = 0x") || arguments[2].starts_with("p: struct pair * = 0x"),
                "{failed:#}"
            );
            let values = shown("values");
            assert!(values.contains(&"global: unsigned int = 4276993765".into()), "{failed:#}");
            assert!(values.contains(&"p->next->first: int = -77001177".into()), "{failed:#}");
            assert!(values.contains(&"*text: char = 122 'z'".into()), "{failed:#}");
            for test in ["small_fails", "after_fails"] {
                let small = failure(&place, test);
                assert_eq!(shown_of(&small, "arguments"), ["a: int = 1122334455"], "{small:#}");
                assert_eq!(shown_of(&small, "values"), ["mode: unsigned char = 7"], "{small:#}");
                assert_eq!(frames(&small["stack"]["callers"])[1].split(' ').next(), Some("main"), "{small:#}");
            }
            let text = place.run("unseen tests --last").failed(1, &[]).stdout;
            assert!(
                text.contains("    a = 1122334455\n    b = 2.5\n") && text.contains("    p->next->first = -77001177\n"),
                "{text}"
            );
        }
    }
}
