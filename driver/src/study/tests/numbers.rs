//! The numbers of a test, of a unit with all its tests, and of all units: what was counted, and what follows from it.

use serde::Serialize;
use unseen_abi::state::{FILE, Tally};

/// What was counted, by [`Tally`].
pub type Words = [u64; FILE.words];

/// Numbers of a test, of a unit, or of all.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct Numbers {
    /// Calls of the unit.
    pub calls: u64,
    /// Calls in states that no test had seen.
    pub unseen: u64,
    /// Calls whose state could not be told.
    pub untold: u64,
    /// Tests that are over.
    pub ran: u64,
    pub passed: u64,
    pub failed: u64,
    pub crashed: u64,
    pub late: u64,
    pub hindered: u64,
    /// Tests that were started, and are not over.
    pub under_way: u64,
    /// Tests that were due, but could not be started.
    pub skipped: u64,
    /// Tests that were due, but a policy said no.
    pub spared: u64,
    /// Calls in states outside the seen set, while the program was only watched; and those that were handed to a handler.
    pub strange: u64,
    pub rescued: u64,
    /// The paper's DSP and RSP, in per cent of the calls; those whose state could not be told count as distinct.
    pub distinct_states: Option<f64>,
    pub repeated_states: Option<f64>,
    /// Means in µs; nothing where nothing was measured. How long a caller stood still for a test: t_s.
    pub stall_us: Option<f64>,
    /// How long it took to find out whether a state was seen: t_d.
    pub check_us: Option<f64>,
    /// How long it took to note that a state was seen: t_u.
    pub note_us: Option<f64>,
    /// How long a test took, and its CPU time.
    pub wall_us: Option<f64>,
    pub cpu_us: Option<f64>,
    /// What all of it has cost: checks, callers that stood still, CPU time of tests and of who watched them.
    pub spent_us: f64,
    /// Up to which share of distinct states, in per cent, it pays to look states up: (t_s - t_d) / (t_u + t_s).
    pub break_even: Option<f64>,
}

impl Numbers {
    /// From what was counted.
    pub fn of(words: &Words) -> Numbers {
        let get = |tally: Tally| words[tally as usize];
        let ran: u64 = Tally::OVER.map(get).iter().sum();
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let mean = |sum: Tally, count: u64| share(get(sum), count).map(|ns| ns / 1000.0);
        let (calls, distinct) = (get(Tally::Calls), get(Tally::Unseen) + get(Tally::Untold));
        let distinct_states = share(distinct.min(calls), calls).map(|s| 100.0 * s);
        let stall_us = mean(Tally::Stall, ran);
        let check_us = mean(Tally::Check, get(Tally::Checks));
        let note_us = mean(Tally::Note, get(Tally::Notes));
        let break_even = || {
            let (t_s, t_d, t_u) = (stall_us?, check_us?, note_us?);
            (t_u + t_s > 0.0).then(|| 100.0 * (t_s - t_d) / (t_u + t_s))
        };
        Numbers {
            calls,
            unseen: get(Tally::Unseen),
            untold: get(Tally::Untold),
            ran,
            passed: get(Tally::Passed),
            failed: get(Tally::Failed),
            crashed: get(Tally::Crashed),
            late: get(Tally::Late),
            hindered: get(Tally::Hindered),
            under_way: get(Tally::Started).saturating_sub(ran),
            skipped: get(Tally::Skipped),
            spared: get(Tally::Spared),
            strange: get(Tally::Strange),
            rescued: get(Tally::Rescued),
            distinct_states,
            repeated_states: distinct_states.map(|d| 100.0 - d),
            stall_us,
            check_us,
            note_us,
            wall_us: mean(Tally::Wall, ran),
            cpu_us: mean(Tally::Cpu, ran),
            spent_us: get(Tally::Spent) as f64 / 1000.0,
            break_even: break_even(),
        }
    }

    /// Calls in states that count as distinct.
    pub fn states(&self) -> u64 {
        self.unseen + self.untold
    }

    /// Tests that found something.
    pub fn bad(&self) -> u64 {
        self.failed + self.crashed + self.late
    }
}

/// What all units have cost, and of what.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// The sum over the units.
    pub spent_us: f64,
    /// The CPU time of the programs, and how many per cent of it that is; nothing if it is not known.
    pub process_us: Option<f64>,
    pub share: Option<f64>,
}

impl Cost {
    /// From the sums of what was counted.
    pub fn of(words: &Words) -> Cost {
        let [spent, process] = [Tally::Spent, Tally::Process].map(|tally| words[tally as usize] as f64 / 1000.0);
        let process_us = Some(process).filter(|process| *process > 0.0);
        Cost { spent_us: spent, process_us, share: process_us.map(|process| 100.0 * spent / process) }
    }
}

/// What was counted for a unit: one call of it is a call for each of its tests, but each test runs for itself.
pub fn of_unit(tests: &[Words]) -> Words {
    const OF_CALLS: [Tally; 5] = [Tally::Calls, Tally::Unseen, Tally::Untold, Tally::Strange, Tally::Rescued];
    std::array::from_fn(|word| {
        let all = tests.iter().map(|words| words[word]);
        if OF_CALLS.iter().any(|t| *t as usize == word) { all.max().unwrap_or(0) } else { all.sum() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(counts: &[(Tally, u64)]) -> Words {
        let mut words = Words::default();
        counts.iter().for_each(|(tally, n)| words[*tally as usize] = *n);
        words
    }

    #[test]
    fn the_papers_example() {
        // States A, B, A, C, B, C, A, A.
        let numbers = Numbers::of(&words(&[
            (Tally::Calls, 8),
            (Tally::Unseen, 3),
            (Tally::Passed, 3),
            (Tally::Stall, 300_000),
            (Tally::Checks, 8),
            (Tally::Check, 8_000),
            (Tally::Notes, 3),
            (Tally::Note, 30_000),
        ]));
        assert_eq!((numbers.distinct_states, numbers.repeated_states), (Some(37.5), Some(62.5)));
        assert_eq!((numbers.stall_us, numbers.check_us, numbers.note_us), (Some(100.0), Some(1.0), Some(10.0)));
        assert_eq!(numbers.break_even, Some(90.0));
    }

    #[test]
    fn what_was_not_measured_is_not_nought() {
        let none = Numbers::of(&Words::default());
        assert_eq!((none.distinct_states, none.stall_us, none.check_us, none.break_even), (None, None, None, None));
        let some = Numbers::of(&words(&[(Tally::Calls, 5), (Tally::Passed, 1), (Tally::Stall, 1000)]));
        assert_eq!(
            (some.distinct_states, some.stall_us, some.note_us, some.break_even),
            (Some(0.0), Some(1.0), None, None)
        );
    }

    #[test]
    fn costs_are_shares_of_what_is_known() {
        assert_eq!(Cost::of(&words(&[(Tally::Spent, 5000)])).share, None);
        let cost = Cost::of(&words(&[(Tally::Spent, 5000), (Tally::Process, 500_000)]));
        assert_eq!((cost.spent_us, cost.process_us, cost.share), (5.0, Some(500.0), Some(1.0)));
    }

    #[test]
    fn a_call_of_a_unit_with_two_tests_is_one_call() {
        let one = words(&[(Tally::Calls, 8), (Tally::Unseen, 3), (Tally::Passed, 3)]);
        let two = words(&[(Tally::Calls, 8), (Tally::Unseen, 4), (Tally::Failed, 3), (Tally::Hindered, 1)]);
        let unit = Numbers::of(&of_unit(&[one, two]));
        assert_eq!((unit.calls, unit.unseen, unit.ran, unit.passed, unit.bad()), (8, 4, 7, 3, 3));
    }

    proptest! {
        /// At the break-even looking states up costs as much as testing at each call, below it less.
        #[test]
        fn the_break_even_is_where_both_ways_cost_the_same(s in 1u64..1_000_000, d in 0u64..1_000_000, u in 0u64..1_000_000) {
            let counts =
                [(Tally::Passed, 1), (Tally::Stall, s), (Tally::Checks, 1), (Tally::Check, d), (Tally::Notes, 1), (Tally::Note, u)];
            let dsp = Numbers::of(&words(&counts)).break_even.unwrap() / 100.0;
            let [s, d, u] = [s, d, u].map(|n| n as f64);
            let unseen = dsp * (d + u + s) + (1.0 - dsp) * d;
            prop_assert!((unseen - s).abs() <= 1e-6 * (s + d + u));
        }
    }
}
