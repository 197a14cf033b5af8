//! Stores that can't be written: the program must not notice, and nothing half-written may stay.

mod support;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Bench, End, Store, is_root, skip};

/// A program with 5000 counters (two pages) that exits with 3 if its counters work, whatever is behind them.
fn build(bench: &Bench) -> PathBuf {
    bench.build(
        "program",
        "#define COUNT 5000
        #include \"module.h\"
        int main(void) { hit(1); hit(4999); return counters[1] + counters[4999] + !__unseen_active(); }",
        &[],
    )
}

const RECORDED: End = End::Exit(2);
const NOT_RECORDED: End = End::Exit(3);

/// The program runs with that store and can't use it.
#[track_caller]
fn unusable(dir: impl AsRef<Path>) {
    let bench = Bench::new();
    let program = build(&bench);
    support::run(Store::new().command(program).env("UNSEEN_DIR", dir.as_ref()), NOT_RECORDED);
}

#[test]
fn a_store_in_a_place_where_nothing_can_be_made() {
    unusable("/proc/store");
    unusable("/proc/no/such/directory/store");
}

#[test]
fn directories_above_the_store_are_made() {
    let bench = Bench::new();
    let program = build(&bench);
    for (dir, made) in [("a/b//c/./store", "a/b/c/store"), ("deep/", "deep"), ("./x/y/../z", "x/z")] {
        // From the root, and from where the program is started.
        for relative in [false, true] {
            let store = Store::new();
            let base = if relative { PathBuf::new() } else { store.around().to_path_buf() };
            let mut command = store.command(&program);
            command.current_dir(store.around()).env("UNSEEN_DIR", base.join(dir));
            support::run(&mut command, RECORDED);
            let [counts] = &support::counts(&store.around().join(made).join("runs/direct"))[..] else {
                panic!("{dir}")
            };
            assert_eq!(counts.hits(), [1, 4999]);
        }
    }
}

#[test]
fn a_store_below_a_link_to_nowhere_is_not_made() {
    let store = Store::new();
    std::os::unix::fs::symlink("nowhere", store.around().join("link")).unwrap();
    unusable(store.around().join("link/store"));
    assert!(!store.around().join("nowhere").exists());
}

#[test]
fn many_processes_make_a_deep_store_at_once() {
    let bench = Bench::new();
    let program = build(&bench);
    let store = Store::new();
    let dir = store.around().join("a/b/c/d/e");
    let start = || store.command(&program).env("UNSEEN_DIR", &dir).spawn().unwrap();
    for mut child in (0..30).map(|_| start()).collect::<Vec<_>>() {
        assert_eq!(child.wait().unwrap().code(), Some(2));
    }
    assert_eq!(support::counts(&dir.join("runs/direct")).len(), 30);
}

#[test]
fn a_store_that_is_a_file() {
    let store = Store::new();
    fs::write(store.path(), "mine").unwrap();
    unusable(store.path());
    unusable(store.path().join("below"));
    assert_eq!(fs::read(store.path()).unwrap(), b"mine");
}

#[test]
fn a_run_that_is_a_file() {
    let store = Store::new();
    fs::create_dir_all(store.path().join("runs")).unwrap();
    fs::write(store.direct(), "mine").unwrap();
    unusable(store.path());
    assert_eq!(fs::read(store.direct()).unwrap(), b"mine");
}

#[test]
fn a_log_that_is_a_link_a_directory_or_a_pipe_is_not_written() {
    type Make = fn(&Path);
    let makers: [Make; 3] = [
        |log| std::os::unix::fs::symlink("../../../elsewhere", log).unwrap(),
        |log| fs::create_dir(log).unwrap(),
        |log| drop(support::succeed(Command::new("mkfifo").arg(log))),
    ];
    let bench = Bench::new();
    let program = build(&bench);
    for make in makers {
        let store = Store::new();
        fs::create_dir_all(store.direct()).unwrap();
        make(&store.direct().join("events"));
        store.run(&program, RECORDED);
        assert_eq!(store.only().hits(), [1, 4999]);
        assert!(!store.around().join("elsewhere").exists());
    }
}

#[test]
fn paths_up_to_the_kernels_limit_are_used_and_longer_ones_are_not() {
    let bench = Bench::new();
    let program = build(&bench);
    unusable(format!("/tmp/{}", "x/".repeat(3000)));
    unusable(format!("/tmp/{}", "x".repeat(5000)));
    // A path of 4 KB is more than some systems let a test make; with many small steps to nowhere it is the same length.
    let store = Store::new();
    let room = 4096 - 64 - "/runs/direct/".len() - 1;
    let path = |length: usize| {
        let base = store.around().to_str().unwrap().to_owned();
        let rest = length - base.len() - "/s".len();
        base + &"/.".repeat(rest / 2) + &"/"[..rest % 2] + "/s"
    };
    let mut command = store.command(&program);
    support::run(command.env("UNSEEN_DIR", path(room)), RECORDED);
    assert_eq!(support::counts(&store.around().join("s/runs/direct"))[0].hits(), [1, 4999]);
    fs::remove_dir_all(store.around().join("s")).unwrap();
    support::run(command.env("UNSEEN_DIR", path(room + 1)), NOT_RECORDED);
    assert!(store.is_empty());
}

#[test]
fn a_store_without_the_right_to_write() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let bench = Bench::new();
    let program = build(&bench);
    let store = Store::new();
    fs::create_dir_all(store.direct()).unwrap();
    fs::set_permissions(program.parent().unwrap(), PermissionsExt::from_mode(0o755)).unwrap();
    fs::set_permissions(store.around(), PermissionsExt::from_mode(0o755)).unwrap();
    fs::set_permissions(store.direct(), PermissionsExt::from_mode(0o555)).unwrap();
    let mut command = store.command(&program);
    if is_root() {
        command.uid(65534).gid(65534);
    }
    support::run(&mut command, NOT_RECORDED);
    assert_eq!((store.counts(), store.events()), (vec![], vec![]));
    // If the log may be written, it says what was dropped.
    let log = store.direct().join("events");
    fs::set_permissions(store.direct(), PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(&log, "").unwrap();
    fs::set_permissions(&log, PermissionsExt::from_mode(0o666)).unwrap();
    fs::set_permissions(store.direct(), PermissionsExt::from_mode(0o555)).unwrap();
    support::run(&mut command, NOT_RECORDED);
    assert_eq!(store.dropped(), [(format!("counters of {}: open", program.display()), "errno 13".into())]);
}

/// A file system mounted for a test.
struct Mount(tempfile::TempDir);

impl Mount {
    fn new(kind: &str, options: &str) -> Option<Mount> {
        let directory = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        let done = mount.args(["-t", kind, "-o", options, kind]).arg(directory.path()).output();
        done.is_ok_and(|output| output.status.success()).then(|| Mount(directory))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_drops_the_counters_and_says_so() {
    let Some(disk) = Mount::new("tmpfs", "size=64k") else { return skip("mounting a file system needs root") };
    let bench = Bench::new();
    let program = bench.build(
        "large",
        "#define COUNT 100000
        #include \"module.h\"
        int main(void) { for (int i = 0; i < COUNT; i++) hit(i); return counters[COUNT - 1] + 2 * __unseen_active(); }",
        &[],
    );
    let store = Store::new();
    support::run(store.command(&program).env("UNSEEN_DIR", disk.0.path().join("s")), End::Exit(1));
    let run = disk.0.path().join("s/runs/direct");
    assert_eq!(support::counts(&run), []);
    let [event] = &support::events(&run)[..] else { panic!() };
    assert_eq!(event.fields[2..], [format!("counters of {}: fallocate", program.display()), "errno 28".into()]);
    // What fits is recorded until the disk is full; each program runs on.
    let small = build(&bench);
    let ends: Vec<_> = (0..10)
        .map(|_| store.command(&small).env("UNSEEN_DIR", disk.0.path().join("s")).status().unwrap().code().unwrap())
        .collect();
    let recorded = ends.iter().filter(|end| **end == 2).count();
    assert!(ends.is_sorted() && recorded > 0 && recorded < 10, "{ends:?}");
    let counts = support::counts(&run);
    assert_eq!(counts.len(), recorded);
    assert!(counts.iter().all(|c| c.hits() == [1, 4999]));
}

#[test]
fn a_disk_that_fills_up_later_harms_nobody() {
    let Some(disk) = Mount::new("tmpfs", "size=256k") else { return skip("mounting a file system needs root") };
    let bench = Bench::new();
    let program = bench.build(
        "program",
        "#define COUNT 40000
        #include \"module.h\"
        #include <fcntl.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(int argc, char **argv) {
          static char block[4096] = \"x\";
          int fd = open(argv[argc - 1], O_WRONLY | O_CREAT, 0666);
          while (write(fd, block, sizeof block) > 0) {}
          for (int i = 0; i < COUNT; i++) hit(i);
          /* A child finds no room: it shares. */
          counters[7] = 0;
          if (!fork()) { hit(7); _exit(0); }
          wait(0);
          return counters[7];
        }",
        &[],
    );
    let mut command = Store::new().command(&program);
    command.env("UNSEEN_DIR", disk.0.path().join("s")).arg(disk.0.path().join("filler"));
    support::run(&mut command, End::Exit(1));
    let [counts] = &support::counts(&disk.0.path().join("s/runs/direct"))[..] else { panic!() };
    assert_eq!(counts.hits().len(), 40000);
}

#[test]
fn a_read_only_disk() {
    let Some(disk) = Mount::new("tmpfs", "ro") else { return skip("mounting a file system needs root") };
    unusable(disk.0.path());
    unusable(disk.0.path().join("s"));
}

#[test]
fn a_file_system_that_can_not_reserve_blocks_gets_zeros() {
    let Some(disk) = Mount::new("ramfs", "mode=755") else { return skip("mounting a file system needs root") };
    let bench = Bench::new();
    let program = build(&bench);
    support::run(Store::new().command(&program).env("UNSEEN_DIR", disk.0.path()), RECORDED);
    assert_eq!(support::counts(&disk.0.path().join("runs/direct"))[0].hits(), [1, 4999]);
}

/// A program that enters under a filter that makes a system call fail.
fn refused(call: &str, flags: &str, error: &str) -> (Store, String) {
    let bench = Bench::new();
    let program = bench.build(
        "program",
        &format!(
            "#define NO_CONSTRUCTOR
            #define COUNT 200000
            #include \"module.h\"
            #include \"filter.h\"
            #include <sys/mman.h>
            int main(void) {{
              hit(0);
              refuse(SYS_{call}, {flags}, {error});
              __unseen_abi_v1(&record);
              hit(199999);
              return counters[0] + counters[199999] + !__unseen_active();
            }}"
        ),
        &[],
    );
    let store = Store::new();
    let end = store.command(&program).status().unwrap().code();
    assert_eq!(end, Some(if store.counts().is_empty() { 3 } else { 2 }));
    (store, format!("counters of {}", program.display()))
}

#[test]
fn every_step_that_fails_is_undone_and_named() {
    for (call, flags, error, step, number) in [
        ("openat", "0", "EMFILE", None, 24),
        ("fallocate", "0", "EDQUOT", Some("fallocate"), 122),
        ("pwrite64", "0", "EIO", Some("header"), 5),
        ("mmap", "MAP_SHARED | MAP_FIXED", "ENODEV", Some("mmap"), 19),
    ] {
        let (store, what) = refused(call, flags, error);
        assert_eq!(store.counts(), [], "{call}");
        let said = step.map(|step| (format!("{what}: {step}"), format!("errno {number}")));
        assert_eq!(store.dropped(), Vec::from_iter(said), "{call}");
        let left = fs::read_dir(store.direct()).map_or(0, Iterator::count);
        assert_eq!(left, usize::from(step.is_some()), "{call}: only the log stays");
    }
}

#[test]
fn where_blocks_can_not_be_reserved_zeros_are_written() {
    for error in ["EOPNOTSUPP", "ENOSYS"] {
        let (store, _) = refused("fallocate", "0", error);
        assert_eq!(store.only().hits(), [0, 199999], "{error}");
    }
}

#[test]
fn what_is_only_asked_may_fail() {
    for call in ["readlinkat", "prlimit64", "getppid", "clock_gettime", "getcwd", "read", "munmap"] {
        let (store, _) = refused(call, "0", "EPERM");
        assert_eq!(
            support::counts(&store.direct()).iter().map(|c| c.hits()).collect::<Vec<_>>(),
            [[0, 199999]],
            "{call}"
        );
    }
}

#[test]
fn many_processes_write_one_store_at_once() {
    let bench = Bench::new();
    let program = build(&bench);
    let store = Store::new();
    let children: Vec<_> = (0..60).map(|_| store.command(&program).spawn().unwrap()).collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(2));
    }
    let counts = store.counts();
    assert_eq!(counts.len(), 60);
    assert!(counts.iter().all(|c| c.hits() == [1, 4999]));
    assert_eq!(store.events().len(), 60);
}
