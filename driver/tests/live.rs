//! `unseen run --live`: a line that tells how it goes, and nothing else is changed by it.

mod toolbox;

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

use serde_json::Value;
use toolbox::{Place, root};

fn built() -> Place {
    let place = Place::new();
    let file = root().join("testdata/programs/c/vivo/steady.c");
    place.run(&format!("unseen-clang -w -g -O2 --unseen=state,cover {} -o program", file.display())).fine();
    place
}

fn live(place: &Place, tenths: &str) -> Command {
    let mut command = place.command("unseen");
    command.args(["run", "--live", "--", "./program", tenths]);
    command
}

/// Calls, states, tests, passed, failed and under way, of a line.
fn numbers(line: &str) -> [u64; 6] {
    let words: Vec<&str> = line.split([' ', ',', ':']).collect();
    ["calls", "states", "tests", "passed", "failed", "under"].map(|what| {
        let at = words.iter().position(|w| *w == what).unwrap_or_else(|| panic!("no {what} in {line:?}"));
        words[at - 1].parse().unwrap_or_else(|_| panic!("{what} in {line:?}"))
    })
}

#[test]
fn off_a_terminal_there_is_a_line_each_two_seconds_and_one_at_the_end() {
    let place = built();
    // What somebody else recorded in the same run is not ours.
    place.run("unseen run --name shared -- ./program 1");
    let mut command = place.command("unseen");
    let output = command.args(["run", "--live", "--name", "shared", "--", "./program", "28"]).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, b"ready\n2520\n");
    let err = String::from_utf8(output.stderr).unwrap();
    let (ours, others): (Vec<&str>, Vec<&str>) = err.lines().partition(|l| l.starts_with("unseen: "));
    assert_eq!(others, ["half"]);
    assert!(err.ends_with('\n') && !err.contains(['\r', '\x1b']), "{err:?}");
    assert!(ours.len() >= 2, "{err}");
    let [first, last] = [numbers(ours[0]), numbers(ours[ours.len() - 1])];
    assert!(0 < first[0] && first[0] < last[0], "{err}");
    assert_eq!(last, [280, 0, 0, 0, 0, 0], "all states were seen before: {err}");
}

#[test]
fn the_last_line_says_what_the_report_says() {
    let place = built();
    let output = live(&place, "3").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    let last = numbers(err.lines().last().unwrap());
    // Two tests of one unit: its calls and states count once.
    assert_eq!(last, [30, 10, 20, 18, 2, 0], "{err}");
    let found: Value = serde_json::from_str(&place.run("unseen tests --format json").stdout).unwrap();
    let said =
        ["calls", "unseen", "ran", "passed", "failed", "under_way"].map(|k| found["summary"][k].as_u64().unwrap());
    assert_eq!(said, last);
    // The paper's times were taken where tests ran.
    let unit = &found["units"][0];
    assert!(unit["note_us"].as_f64().unwrap() > 0.0 && unit["stall_us"].as_f64().unwrap() > 0.0, "{unit}");
    // Each of ten states was told as it came.
    let points = found["growth"]["points"].as_array().unwrap();
    assert_eq!((points[0][1].as_u64(), points.last().unwrap()[1].as_u64()), (Some(0), Some(10)), "{points:?}");
    assert!(points.len() >= 8 && points.is_sorted_by_key(|p| (p[0].as_u64(), p[1].as_u64())), "{points:?}");
}

#[test]
fn on_a_terminal_one_line_is_rewritten() {
    let place = built();
    let (mut master, mut slave) = (0, 0);
    let size = libc::winsize { ws_row: 24, ws_col: 70, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: two places for descriptors, and a size that is only read.
    let made = unsafe { libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size) };
    assert_eq!(made, 0);
    // SAFETY: just opened, and nobody else's.
    let (mut master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
    let mut command = live(&place, "12");
    command.stdout(Stdio::piped()).stderr(slave);
    let child = command.spawn().unwrap();
    // Its end of the terminal must be closed for ours to end.
    drop(command);
    let mut seen = Vec::new();
    let mut bytes = [0; 4096];
    while let Ok(n @ 1..) = master.read(&mut bytes) {
        seen.extend(&bytes[..n]);
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(7), &b"ready\n1080\n"[..]));
    let seen = String::from_utf8(seen).unwrap();
    let shown: Vec<&str> = seen.split("\r\x1b[2K").skip(1).collect();
    assert!(shown.len() >= 4, "{seen:?}");
    assert_eq!(shown.iter().filter(|s| s.contains("half")).count(), 1, "{seen:?}");
    // None but the last one ends a line, and none is broken by the edge.
    let (last, others) = shown.split_last().unwrap();
    for one in others {
        let (line, rest) = one.split_at(one.find("half").unwrap_or(one.len()));
        assert!(line.starts_with("unseen: ") && line.chars().count() < 70, "{line:?}");
        assert!(rest.is_empty() || rest == "half\r\n", "{rest:?}");
    }
    assert!(last.contains(" 0 under way\r\nunseen: run "), "{seen:?}");
}

#[test]
fn signals_reach_the_program() {
    let place = built();
    let mut child = live(&place, "100").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    // SAFETY: kill has no memory preconditions; the child was not waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGTERM) }, 0);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(42));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("unseen: ") && err.ends_with(" under way\n"), "{err:?}");
}

#[test]
fn programs_without_tests_and_without_a_record_run_as_ever() {
    let place = Place::new();
    place.write("file", "");
    let ran = place.run("unseen run --live --dir file/x -- true");
    assert!(ran.code == Some(0) && !ran.stderr.contains("under way"), "{}", ran.stderr);
    let ran = place.run("unseen run --live -- false");
    assert!(ran.code == Some(1) && ran.stderr.contains("s, 0 calls, 0 states, 0 tests:"), "{}", ran.stderr);
    assert_eq!(place.run("unseen run --live -- no-such-program").code, Some(127));
}
