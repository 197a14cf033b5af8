//! `unseen run`: as if it were not there, but for what is recorded.

mod report_fixture;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::Duration;

use report_fixture::House;
use unseen_abi::event::{self, Kind, Read};

/// Kinds and payload fields of a log.
fn events(bytes: &[u8]) -> Vec<(Kind, Vec<String>)> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Read::Record(kind, payload, more) = event::read(rest) {
        let fields = payload.split(|b| *b == 0).map(|f| String::from_utf8_lossy(f).into_owned()).collect();
        out.push((Kind::from_number(kind).unwrap(), fields));
        rest = more;
    }
    out
}

#[test]
fn streams_and_exit_codes_are_the_programs() {
    let house = House::empty();
    let script = "read x; echo out $x; echo err >&2; exit 7";
    let mut child = house
        .command()
        .args(["run", "--name", "one", "--", "sh", "-c", script, "--name"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"in\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out in\n");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.starts_with("err\nunseen: warning: nothing recorded: neither /"), "{err}");
    let log = events(&fs::read(house.path(".unseen/runs/one/events")).unwrap());
    assert_eq!(log.iter().map(|(k, _)| *k).collect::<Vec<_>>(), [Kind::RunStart, Kind::RunEnd]);
    assert_eq!(log[0].1[1..5], [house.path("").to_str().unwrap().trim_end_matches('/'), "sh", "-c", script]);
    assert_eq!(log[1].1[1], "exit 7");
}

#[test]
fn programs_get_the_store_and_the_run_in_their_environment() {
    let house = House::empty();
    let script = "cd /; echo $UNSEEN_DIR $UNSEEN_RUN";
    let out = house.unseen(&["run", "--dir", "deep/store", "--name", "n", "--", "sh", "-c", script]).out;
    assert_eq!(out, "$DIR/deep/store n\n");
    let mut command = house.command();
    command.env("UNSEEN_DIR", "elsewhere").args(["run", "--", "sh", "-c", script]);
    let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(out.contains("/elsewhere 2"), "{out}");
    assert!(house.path("elsewhere/store.json").exists());
}

#[test]
fn a_death_by_signal_is_128_and_its_number() {
    let house = House::empty();
    assert_eq!(house.unseen(&["run", "--name", "x", "--", "sh", "-c", "kill -9 $$"]).code, Some(137));
    assert_eq!(house.unseen(&["run", "--name", "x", "--", "sh", "-c", "kill -TERM $$"]).code, Some(143));
    let log = events(&fs::read(house.path(".unseen/runs/x/events")).unwrap());
    assert_eq!((log[1].1[1].as_str(), log[3].1[1].as_str()), ("signal 9", "signal 15"));
}

#[test]
fn what_cannot_be_started_is_said_as_shells_say_it_and_leaves_no_run() {
    let house = House::empty();
    let ran = house.unseen(&["run", "--", "no-such-program"]);
    assert_eq!(
        (ran.code, ran.err.contains("cannot run no-such-program: No such file")),
        (Some(127), true),
        "{}",
        ran.err
    );
    fs::write(house.path("data"), "").unwrap();
    assert_eq!(house.unseen(&["run", "--", "./data"]).code, Some(126));
    assert_eq!(fs::read_dir(house.path(".unseen/runs")).unwrap().count(), 0);
}

/// What is sent to programs here.
const SIGNALS: [i32; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1];

/// Starts a shell script under `unseen run` and waits until it says that it is ready.
fn started(house: &House, script: &str, own_group: bool) -> std::process::Child {
    let mut command = house.command();
    command.args(["run", "--", "sh", "-c", script]).stdout(Stdio::piped()).stderr(Stdio::null());
    if own_group {
        command.process_group(0);
    }
    // Whoever runs tests in the background ignores some signals, and a shell does not trap what it was given as ignored.
    // SAFETY: `signal` may be called between `fork` and `exec`.
    unsafe {
        command.pre_exec(|| {
            for signal in SIGNALS {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    let mut child = command.spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    assert_eq!(&ready, b"ready\n");
    child
}

fn kill(signal: i32, pid: i32) {
    // SAFETY: kill has no memory preconditions; the pid is of a child that was not waited for.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
}

#[test]
fn signals_sent_to_us_reach_the_program() {
    let house = House::empty();
    for signal in SIGNALS {
        let script = "trap 'exit 42' TERM INT HUP USR1; echo ready; while :; do sleep 0.02; done";
        let child = started(&house, script, false);
        kill(signal, child.id() as i32);
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(42), "signal {signal}");
    }
}

#[test]
fn we_outlive_a_signal_to_the_group_and_give_the_programs_code() {
    let house = House::empty();
    let script = "trap 'sleep 0.1; exit 5' INT; echo ready; while :; do sleep 0.02; done";
    let child = started(&house, script, true);
    kill(libc::SIGINT, -(child.id() as i32));
    let status = child.wait_with_output().unwrap().status;
    assert_eq!((status.code(), status.signal()), (Some(5), None));
}

#[test]
fn the_program_has_the_default_actions() {
    let house = House::empty();
    let child = started(&house, "echo ready; exec sleep 30", false);
    std::thread::sleep(Duration::from_millis(20));
    kill(libc::SIGTERM, child.id() as i32);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
}

#[test]
fn a_store_that_cannot_be_written_does_not_stop_the_program() {
    let house = House::empty();
    fs::write(house.path("file"), "").unwrap();
    let script = "echo ran ${UNSEEN_DIR-nowhere}; exit 3";
    for dir in ["file/store", "/proc/nowhere", "/dev/null/x"] {
        let ran = house.unseen(&["run", "--dir", dir, "--", "sh", "-c", script]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(3), "ran nowhere\n"), "{dir}: {}", ran.err);
        assert!(ran.err.contains("cannot write the store"), "{dir}: {}", ran.err);
        assert!(ran.err.contains("running the program without recording"), "{dir}: {}", ran.err);
    }
    fs::create_dir(house.path("newer")).unwrap();
    fs::write(house.path("newer/store.json"), r#"{"version":9}"#).unwrap();
    let ran = house.unseen(&["run", "--dir", "newer", "--", "sh", "-c", script]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), "ran nowhere\n"));
    assert!(ran.err.contains("has version 9"), "{}", ran.err);
}

#[test]
fn silence_is_explained() {
    let house = House::new();
    let ran = house.unseen(&["run", "--", "true"]);
    assert!(ran.err.contains("true nor what it started is instrumented; build it with unseen-clang"), "{}", ran.err);
    fs::write(house.path("script"), "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(house.path("script"), fs::Permissions::from_mode(0o755)).unwrap();
    let ran = house.unseen(&["run", "--", "./script"]);
    assert!(ran.err.contains("is a script, and no program it ran is instrumented"), "{}", ran.err);
    let off = |variable: &str| {
        let mut command = house.command();
        command.env(variable, "off").args(["run", "-v", "--", "true"]);
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    assert!(off("UNSEEN").contains("nothing recorded, UNSEEN is off"));
    assert!(off("UNSEEN_COVER").contains("nothing recorded, UNSEEN_COVER is off"));
}

#[test]
fn what_the_runtime_dropped_is_told() {
    let house = House::new();
    house.event("full", Kind::Dropped, b"1\x007\0counters of /bin/x\0errno 28");
    house.event("full", Kind::Dropped, b"2\x008\0counters of /bin/x\0errno 28");
    let ran = house.unseen(&["run", "--name", "full", "--", "true"]);
    assert!(ran.err.contains("not recorded 2 times: counters of /bin/x: No space left on device"), "{}", ran.err);
}

#[test]
fn manifests_of_all_modules_are_kept_for_later_reports() {
    let house = House::new();
    let before = house.unseen(&["report", "--run", "20260101T000000.000000Z-1"]).fine();
    // The program's part is played by a copy of its counters.
    let from = house.path(".unseen/runs/20260101T000000.000000Z-1");
    let script = format!("cp {}/*.cov $UNSEEN_DIR/runs/$UNSEEN_RUN/", from.display());
    let ran = house.unseen(&["run", "-v", "--name", "again", "--", "sh", "-c", &script]);
    assert!(ran.err.contains("run again: 2 processes of 2 instrumented binaries recorded"), "{}", ran.err);
    assert_eq!(fs::read_dir(house.path(".unseen/manifests")).unwrap().count(), 2);
    fs::remove_dir_all(house.path("bin")).unwrap();
    assert_eq!(house.unseen(&["report", "--run", "again"]).fine(), before);
    assert_eq!(house.unseen(&["report", "--last"]).fine(), before);
}

#[test]
fn many_runs_at_once_keep_apart() {
    let house = House::empty();
    let children: Vec<_> = (0..20)
        .map(|_| {
            let mut command: Command = house.command();
            command.args(["run", "--", "sh", "-c", "echo $UNSEEN_RUN"]).stdout(Stdio::piped()).stderr(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    let mut names: Vec<_> = children.into_iter().map(|c| c.wait_with_output().unwrap().stdout).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 20);
}
