//! Measures the seen set, for `scripts/bench seen`: seen DIRECTORY STATES ROUNDS
//!
//! One line of JSON for each number of states: 100 k, then ten times as many, up to STATES. The files are in DIRECTORY. What is compared is
//! measured in turn, in one process, on the same keys: units below 64, states of 31 bits without a pattern. All numbers are ns, medians
//! of the rounds, unless they say otherwise. *Free* checks do not wait for each other. *Single* ones do: the processor begins nothing
//! of the next before the last is over. That the next key depends on the last result would not do: results are guessed.
//!
//! Against it: Judy1 (libJudy, found at run time) with unit and state made one number by Cantor's pairing; and one read of a
//! random place in a mapped file of the same size.

// Parts of the runtime, as they are: it is a static library, which nothing can import.
#[cfg_attr(target_arch = "x86_64", path = "../src/arch/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "../src/arch/aarch64.rs")]
#[allow(dead_code, unused_macros, unused_imports)]
mod arch;
#[path = "../src/registers.rs"]
#[allow(dead_code, unused_macros, unused_imports)]
mod registers;
#[path = "../src/seen/mod.rs"]
#[allow(dead_code)]
mod seen;
#[path = "../src/sys.rs"]
#[allow(dead_code)]
mod sys;
#[path = "../src/text.rs"]
#[allow(dead_code)]
mod text;

use seen::{Narrow, Seen};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::hint::black_box;
use std::time::Instant;

/// How many keys are looked for in one round; with fewer states, as many keys, again and again.
const LOOKUPS: usize = 1_000_000;
/// How many are put in by each thread where threads are compared.
const THREAD_STATES: u64 = 4_000_000;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
    fn getrusage(who: c_int, usage: *mut [i64; 18]) -> c_int;
}

/// The array that the set is compared with.
struct Judy {
    array: *mut c_void,
    set: unsafe extern "C" fn(*mut *mut c_void, usize, *mut c_void) -> c_int,
    test: unsafe extern "C" fn(*const c_void, usize, *mut c_void) -> c_int,
}

impl Judy {
    fn load() -> Option<Judy> {
        // SAFETY: the library's own functions, with the types its header gives them.
        unsafe {
            let library = dlopen(c"libJudy.so.1".as_ptr(), 2);
            let symbol =
                |name: &CStr| (!library.is_null()).then(|| dlsym(library, name.as_ptr())).filter(|p| !p.is_null());
            let set = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(_, _, _) -> _>(symbol(c"Judy1Set")?);
            let test = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(_, _, _) -> _>(symbol(c"Judy1Test")?);
            Some(Judy { array: std::ptr::null_mut(), set, test })
        }
    }

    fn insert(&mut self, key: Narrow) -> bool {
        // SAFETY: our array.
        unsafe { (self.set)(&raw mut self.array, cantor(key), std::ptr::null_mut()) == 1 }
    }

    #[inline(always)]
    fn contains(&self, key: Narrow) -> bool {
        // SAFETY: as above.
        unsafe { (self.test)(self.array, cantor(key), std::ptr::null_mut()) == 1 }
    }
}

/// Cantor's pairing of a unit and its state.
#[inline(always)]
fn cantor(key: Narrow) -> usize {
    let (a, b) = (u64::from(key.unit), key.state);
    ((a + b) * (a + b + 1) / 2 + b) as usize
}

/// A bijection of numbers to numbers without a pattern.
#[inline(always)]
fn stir(i: u64) -> u64 {
    let x = (i ^ i >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The key with that number. All are different: 37 bits are a bijection of the number's.
#[inline(always)]
fn key(i: u64) -> Narrow {
    const MASK: u64 = (1 << 37) - 1;
    let x = (i ^ i >> 18).wrapping_mul(0xbf58_476d_1ce4_e5b9) & MASK;
    let x = (x ^ x >> 19).wrapping_mul(0x94d0_49bb_1331_11eb) & MASK;
    let x = x ^ x >> 18;
    Narrow { unit: (x & 63) as u32, state: x >> 6 }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// CPU time of this thread, in ns: others may have the processor for a while.
fn cpu_time() -> u64 {
    let mut now = [0_i64; 2];
    // SAFETY: writes a timespec, which is two words.
    unsafe { clock_gettime(3, &raw mut now) };
    now[0] as u64 * 1_000_000_000 + now[1] as u64
}

/// ns of CPU time for each of so many steps.
fn each(steps: usize, work: impl FnOnce()) -> f64 {
    let start = cpu_time();
    work();
    (cpu_time() - start) as f64 / steps as f64
}

/// A clock that costs little.
#[inline(always)]
fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every such processor has it.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    return sys::time();
}

/// Waits until all that was begun is over.
#[inline(always)]
fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: touches nothing.
    unsafe {
        core::arch::x86_64::_mm_lfence();
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("dsb ld", "isb", options(nostack, preserves_flags));
    }
}

/// How often this thread was made to wait for others.
fn switches() -> i64 {
    let mut usage = [0; 18];
    // SAFETY: writes a rusage, which is 18 words.
    unsafe { getrusage(1, &raw mut usage) };
    usage[16] + usage[17]
}

/// The slowest calls so far, in ticks.
#[derive(Default)]
struct Slowest {
    /// Of those during which the thread was not made to wait for others.
    own: u64,
    any: u64,
    /// How many of the former took 1 ms,
    over: u64,
    /// and of which time, in ns.
    of: f64,
    switches: i64,
}

/// A file like the set's, mapped like it, all pages there.
struct Plain(*mut u64, usize);

impl Plain {
    fn new(path: &CStr, size: usize) -> Plain {
        let file = sys::File::open(path, sys::Open::CreateNew).expect("a new file");
        file.allocate(size as u64).expect("room");
        let at = file.map(size).expect("a mapping").cast::<u64>();
        // SAFETY: inside the mapping.
        (0..size / 8).step_by(512).for_each(|i| unsafe { at.add(i).write_volatile(0) });
        sys::remove(path);
        Plain(at, size / 8)
    }

    #[inline(always)]
    fn read(&self, i: usize) -> u64 {
        // SAFETY: callers stay inside.
        unsafe { self.0.add(i).read_volatile() }
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        // SAFETY: ours, and no longer used.
        unsafe { sys::unmap_memory(self.0.cast(), self.1 * 8) };
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [directory, most, rounds] = &arguments[..] else { panic!("seen DIRECTORY STATES ROUNDS") };
    let (most, rounds): (u64, usize) = (most.parse().expect("a number"), rounds.parse().expect("a number"));
    let path = |name: &str| CString::new(format!("{directory}/{name}")).expect("a path");
    let seen = Seen::open(&path("bench.seen"), &[7; 16], 0).expect("a new set");
    let mut judy = Judy::load();
    let rate = {
        let (start, before) = (Instant::now(), ticks());
        while start.elapsed().as_millis() < 50 {}
        (ticks() - before) as f64 / start.elapsed().as_nanos() as f64
    };
    // What the machine does to a thread that does nothing: the longest time between two looks at the clock.
    let mut idle = Slowest { switches: switches(), ..Slowest::default() };
    let start = Instant::now();
    while start.elapsed().as_secs() < 5 {
        (0..1000).for_each(|_| idle.note(ticks(), || (), rate));
    }
    idle.of = start.elapsed().as_nanos() as f64;
    let mut states = 0;
    let mut slowest = Slowest::default();
    for n in std::iter::successors(Some(100_000_u64), |n| Some(n * 10)).take_while(|n| *n <= most) {
        let added = n - states;
        let fill = each(added as usize, || fill(&seen, states..n, &mut slowest, rate));
        let judy_fill =
            judy.as_mut().map(|judy| each(added as usize, || (states..n).for_each(|i| assert!(judy.insert(key(i))))));
        states = n;
        let figures = look(&seen, judy.as_ref(), n, rounds, &path("bench.plain"));
        let sizes = ["bench.seen", "bench.seen-wide"]
            .map(|name| std::fs::metadata(format!("{directory}/{name}")).map_or(0, |m| m.len()) as f64);
        println!(
            "{{\"states\":{n},{figures},\"bytes\":{:.2},\"bytes_wide\":{:.2},\"fill\":{fill:.1},\"judy_fill\":{},\
             \"slowest_us\":{:.0},\"slowest_any_us\":{:.0},\"over_1ms\":{},\"idle_us\":{:.0},\"idle_over_1ms\":{:.1}}}",
            sizes[0] / n as f64,
            sizes[1] / n as f64,
            judy_fill.map_or("null".into(), |f| format!("{f:.1}")),
            slowest.own as f64 / rate / 1e3,
            slowest.any as f64 / rate / 1e3,
            slowest.over,
            idle.own as f64 / rate / 1e3,
            // In as long a time as all was put in.
            idle.over as f64 * slowest.of / idle.of,
        );
    }
    drop(seen);
    sys::remove(&path("bench.seen"));
    sys::remove(&path("bench.seen-wide"));
    threads(rounds, &path("bench.seen"), &path("bench.seen-wide"));
}

impl Slowest {
    /// Times one call.
    #[inline(always)]
    fn note(&mut self, before: u64, work: impl FnOnce(), rate: f64) {
        work();
        let took = ticks() - before;
        let millisecond = (rate * 1e6) as u64;
        if took > self.own || took > millisecond {
            let now = switches();
            self.any = self.any.max(took);
            if now == self.switches {
                self.own = self.own.max(took);
                self.over += u64::from(took > millisecond);
            }
            self.switches = now;
        }
    }
}

fn fill(seen: &Seen, numbers: std::ops::Range<u64>, slowest: &mut Slowest, rate: f64) {
    slowest.switches = switches();
    let start = Instant::now();
    for i in numbers {
        slowest.note(ticks(), || assert!(seen.insert(key(i))), rate);
    }
    slowest.of += start.elapsed().as_nanos() as f64;
}

/// Checks of states that are there, of some that are not, and what they are compared with.
fn look(seen: &Seen, judy: Option<&Judy>, n: u64, rounds: usize, plain: &CStr) -> String {
    let keys = (LOOKUPS as u64).min(n);
    let again = LOOKUPS / keys as usize;
    let there: Vec<_> = (0..keys).map(|i| key(stir(i ^ n) % n)).collect();
    let missing: Vec<_> = (0..keys).map(|i| key(n + i)).collect();
    let plain = Plain::new(plain, seen.bytes() as usize);
    let places: Vec<_> = (0..keys).map(|i| (stir(i ^ n << 1) % plain.1 as u64) as usize).collect();
    let mut figures: Vec<(&str, Vec<f64>)> = Vec::new();
    for round in 0..=rounds {
        let mut note = |name, value: f64| match figures.iter_mut().find(|(n, _)| *n == name) {
            // The first round is for the caches.
            Some((_, values)) if round > 0 => values.push(value),
            Some(_) => {}
            None => figures.push((name, Vec::new())),
        };
        let mut measure = |name, work: &dyn Fn()| {
            let value = each(LOOKUPS, || (0..again).for_each(|_| work()));
            note(name, value);
        };
        measure("free", &|| assert!(there.iter().all(|key| !seen.insert(black_box(*key)))));
        measure("memory_free", &|| assert!(places.iter().all(|i| plain.read(*i) == 0)));
        measure("missing", &|| assert!(!missing.iter().any(|key| seen.contains(black_box(*key)))));
        measure("single", &|| {
            for key in &there {
                fence();
                assert!(!seen.insert(black_box(*key)));
            }
        });
        measure("memory", &|| {
            for i in &places {
                fence();
                assert_eq!(plain.read(*i), 0);
            }
        });
        let Some(judy) = judy else { continue };
        measure("judy_free", &|| assert!(there.iter().all(|key| judy.contains(black_box(*key)))));
        measure("judy", &|| {
            for key in &there {
                fence();
                assert!(judy.contains(black_box(*key)));
            }
        });
    }
    let figures = figures.into_iter().map(|(name, values)| format!("\"{name}\":{:.2}", median(values)));
    figures.collect::<Vec<_>>().join(",")
}

/// The same work by one thread, and by two: how many times as fast two are, by the clock, and by the CPU time of the slower one,
/// which others on the machine do not add to.
fn threads(rounds: usize, path: &CStr, wide: &CStr) {
    let mut figures = [(); 4].map(|()| Vec::new());
    for _ in 0..rounds {
        let mut times = [[0.0; 4]; 2];
        for (count, times) in [1, 2].into_iter().zip(&mut times) {
            let seen = Seen::open(path, &[7; 16], 0).expect("a new set");
            let share = THREAD_STATES / count;
            let insert = |t: u64| (t * share..(t + 1) * share).for_each(|i| assert!(seen.insert(key(i))));
            let check = |t: u64| {
                (t * share..(t + 1) * share).for_each(|i| assert!(!seen.insert(key(stir(i) % THREAD_STATES))));
            };
            [times[0], times[1]] = spent(count, &insert);
            [times[2], times[3]] = spent(count, &check);
            drop(seen);
            sys::remove(path);
            sys::remove(wide);
        }
        (0..4).for_each(|i| figures[i].push(times[0][i] / times[1][i]));
    }
    let [insert, insert_cpu, check, check_cpu] = figures.map(median);
    println!(
        "{{\"check_2\":{check:.2},\"check_2_cpu\":{check_cpu:.2},\"insert_2\":{insert:.2},\"insert_2_cpu\":{insert_cpu:.2}}}"
    );
}

/// Time until all threads have done their work, and CPU time of the one that needed most.
fn spent(count: u64, work: &(dyn Fn(u64) + Sync)) -> [f64; 2] {
    let start = Instant::now();
    let most = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|t| scope.spawn(move || each(1, || work(t)))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).fold(0.0, f64::max)
    });
    [start.elapsed().as_nanos() as f64, most]
}
