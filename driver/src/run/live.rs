//! A line of progress on standard error while a program runs: calls, states and tests, from the files of counts that the program maps.
//!
//! On a terminal one line is rewritten a few times a second; elsewhere there is a line each few seconds. The last one says how it ended. The
//! program knows nothing of it.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use unseen_abi::state::FILE;

use crate::store::tallies::Tallies;
use crate::store::{ModuleId, attached, tallies};
use crate::study::tests::{Numbers, Words, of_unit};

/// How often the line is rewritten, or written.
const REWRITTEN: Duration = Duration::from_millis(250);
const WRITTEN: Duration = Duration::from_secs(2);
/// Looking takes at most this share of the time.
const SHARE: u32 = 20;

/// The line while it is written.
#[derive(Debug)]
pub struct Live {
    over: Sender<()>,
    thread: JoinHandle<()>,
}

impl Live {
    /// Begins to write about the run in this directory.
    pub fn begin(run: &Path) -> Live {
        let (over, is_over) = mpsc::channel();
        let mut watch = Watch::new(run);
        let thread = thread::spawn(move || {
            let mut line = Line::new();
            loop {
                let begin = Instant::now();
                line.show(&watch.look());
                let pause = line.every.max(begin.elapsed() * SHARE);
                if is_over.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            line.end(&watch.look());
        });
        Live { over, thread }
    }

    /// Writes the last line.
    pub fn end(self) {
        // A thread that is gone has nothing more to say.
        let _ = self.over.send(());
        let _ = self.thread.join();
    }
}

/// Where the line goes.
struct Line {
    rewritten: bool,
    every: Duration,
    begin: Instant,
    shown: bool,
}

impl Line {
    fn new() -> Line {
        let rewritten = io::stderr().is_terminal();
        Line { rewritten, every: if rewritten { REWRITTEN } else { WRITTEN }, begin: Instant::now(), shown: false }
    }

    fn show(&mut self, numbers: &Numbers) {
        // Off a terminal the first line would say that nothing has happened yet.
        if self.rewritten {
            let mut text = describe(numbers, self.begin.elapsed());
            if let Some(width) = width() {
                text = text.chars().take(width.saturating_sub(1)).collect();
            }
            put(&format!("\r\x1b[2K{text}"));
        } else if self.shown {
            put(&(describe(numbers, self.begin.elapsed()) + "\n"));
        }
        self.shown = true;
    }

    fn end(&mut self, numbers: &Numbers) {
        let start = if self.rewritten { "\r\x1b[2K" } else { "" };
        put(&format!("{start}{}\n", describe(numbers, self.begin.elapsed())));
    }
}

/// One write; what can't be written is not.
fn put(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// How many columns the terminal has.
fn width() -> Option<usize> {
    // SAFETY: a zeroed winsize is valid, and the request writes one.
    let size = unsafe {
        let mut size = std::mem::zeroed::<libc::winsize>();
        (libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &mut size) == 0).then_some(size)
    };
    size.map(|s| usize::from(s.ws_col)).filter(|w| *w > 0)
}

fn describe(n: &Numbers, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let time = match seconds {
        0..60 => format!("{}.{} s", seconds, elapsed.subsec_millis() / 100),
        60..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    };
    let hindered = if n.hindered > 0 { format!(", {} not to the end", n.hindered) } else { String::new() };
    format!(
        "unseen: {time}, {} calls, {} states, {} tests: {} passed, {} failed{hindered}, {} under way",
        n.calls,
        n.states(),
        n.ran + n.under_way,
        n.passed,
        n.bad(),
        n.under_way
    )
}

/// What the programs of a run have counted since we began to look.
struct Watch {
    run: PathBuf,
    /// For each module how many tests each of its units has.
    units: HashMap<ModuleId, Vec<usize>>,
    before: Words,
}

impl Watch {
    fn new(run: &Path) -> Watch {
        let mut watch = Watch { run: run.into(), units: HashMap::new(), before: Words::default() };
        // Others may have recorded into the same run.
        watch.before = watch.sum();
        watch
    }

    fn look(&mut self) -> Numbers {
        let now = self.sum();
        Numbers::of(&std::array::from_fn(|i| now[i].saturating_sub(self.before[i])))
    }

    fn sum(&mut self) -> Words {
        let mut all = Words::default();
        // What can't be read now may be under construction.
        for file in tallies::read(&self.run, &FILE).0 {
            let mut tests: Vec<Words> =
                file.units.iter().map(|words| std::array::from_fn(|i| words.get(i).copied().unwrap_or(0))).collect();
            for count in self.units_of(&file) {
                let rest = tests.split_off((*count).min(tests.len()));
                let unit = of_unit(&tests);
                all.iter_mut().zip(unit).for_each(|(sum, n)| *sum += n);
                tests = rest;
            }
        }
        all
    }

    fn units_of(&mut self, file: &Tallies) -> &[usize] {
        self.units.entry(file.id).or_insert_with(|| {
            let known = attached::units(&file.binary).unwrap_or_default();
            match known.into_iter().find(|a| a.id == file.id.0) {
                Some(attached) => attached.units.iter().map(|u| u.tests.len()).collect(),
                // Each test for itself.
                None => vec![1; file.units.len()],
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unseen_abi::state::Tally;

    #[test]
    fn the_line_says_it_all() {
        let mut words = Words::default();
        for (tally, n) in [
            (Tally::Calls, 120),
            (Tally::Unseen, 7),
            (Tally::Untold, 1),
            (Tally::Started, 8),
            (Tally::Passed, 4),
            (Tally::Failed, 1),
            (Tally::Late, 1),
            (Tally::Hindered, 1),
        ] {
            words[tally as usize] = n;
        }
        let line = |ms| describe(&Numbers::of(&words), Duration::from_millis(ms));
        assert_eq!(
            line(1299),
            "unseen: 1.2 s, 120 calls, 8 states, 8 tests: 4 passed, 2 failed, 1 not to the end, 1 under way"
        );
        assert!(line(125_000).starts_with("unseen: 2:05, ") && line(3_725_000).starts_with("unseen: 1:02:05, "));
    }
}
