//! How much tests may cost: `UNSEEN_BUDGET`. In: what was spent. Out: whether one more may start.
//!
//! What is spent: the CPU time of tests and of their supervisors, the time for which callers stand still, the time in which states are
//! recognised, and what it costs to sleep. What may be spent is a share of the CPU time of the process. A unit for which it is not enough is asleep until
//! it is: its gate is closed, and somebody who shares our memory wakes it ([`sandbox::nap`]). So what is not tested costs nothing.

use super::desks::{self, Own};
use super::{Module, modules};
use crate::{run, sandbox, sys};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use unseen_abi::state::Tally;

/// Shares are parts of this.
pub const WHOLE: u64 = 100_000;
/// What a test is expected to cost before any was run, in ns.
const FIRST: u64 = 1_000_000;
/// What it costs to find out that a state is known, in ns.
const HIT: u64 = 3;
/// What it costs to look at the account, in ns.
const LOOK: u64 = 1000;
/// What it costs to sleep, in ns: a process is made, for which the program waits, and it may go on on another processor, whose caches know
/// nothing of it.
const NAP: u64 = 250_000;
/// Sleeping may cost one part of so many of what may be spent.
const NAPS_PART: u64 = 4;
/// The longest sleep, if it need not be longer for that.
const LONGEST: u64 = 1_000_000_000;

static SPENT: AtomicU64 = AtomicU64::new(0);
/// The CPU time of this process that is in the file of counts already.
static TOLD: AtomicU64 = AtomicU64::new(0);
static IS_NAPPING: AtomicBool = AtomicBool::new(false);

/// So much was spent for a test, in ns.
pub fn spend(module: &Module, test: u32, ns: u64) {
    SPENT.fetch_add(ns, Relaxed);
    module.tallies.add(test, Tally::Spent, ns);
}

/// So many calls were answered by a unit's cache.
pub fn spend_hits(module: &Module, test: u32, hits: u64) {
    spend(module, test, hits.saturating_mul(HIT));
}

/// Counts the CPU time of this process, which must be the program's. Returns it.
pub fn note_process(module: &Module) -> u64 {
    let now = sys::cpu_time();
    let before = TOLD.fetch_max(now, Relaxed);
    module.tallies.add(0, Tally::Process, now.saturating_sub(before));
    now
}

/// How long it is until `cost` may be spent, if the process goes on using the processor; 0 if it may be now. Whoever is modest leaves a
/// quarter to others.
fn wait(share: u64, cost: u64, cpu: u64, spent: u64, modest: bool) -> u64 {
    let share = if modest { share / 4 * 3 } else { share }.max(1);
    let total = spent.saturating_add(cost);
    // In two parts: nobody but a library can divide 128 bits.
    let (shares, rest) = (total / share, total % share);
    let needed = shares.saturating_mul(WHOLE).saturating_add(rest.saturating_mul(WHOLE) / share);
    needed.saturating_sub(cpu)
}

/// Whether a test may start. If not, its unit sleeps.
pub fn allows(module: &'static Module, test: u32, desk: Own) -> bool {
    let share = module.settings.budget;
    if share == 0 {
        return true;
    }
    let get = |test, tally| module.tallies.get(test, tally);
    let over = |test| Tally::OVER.iter().map(|tally| get(test, *tally)).sum::<u64>();
    let (ran, cost) = (over(test), get(test, Tally::Stall).saturating_add(get(test, Tally::Cpu)));
    let expected = cost.checked_div(ran).unwrap_or(FIRST);
    // Those that have had more than their part wait for the others.
    let (all, tests) = module.tests().fold((0, 0), |(all, n), test| (all + over(test), n + 1));
    let modest = ran.saturating_mul(tests) > all;
    let wait = wait(share, expected, sys::cpu_time(), SPENT.load(Relaxed), modest);
    if wait > 0 {
        sleep(module, test, desk, wait);
    }
    wait == 0
}

/// A unit has had many calls that were known. If there is a budget, and it is used up, the unit sleeps.
pub fn look(module: &'static Module, test: u32, desk: Own) {
    if module.settings.budget != 0 && !run::is_locked_in() {
        checks(module, test, desk, LOOK);
    }
}

/// Checks of a unit took so long together. If that alone is too much, the unit sleeps.
pub fn checks(module: &'static Module, test: u32, desk: Own, took: u64) {
    spend(module, test, took);
    let cpu = note_process(module);
    let share = module.settings.budget;
    if share == 0 {
        return;
    }
    let spent = SPENT.load(Relaxed);
    // If nothing is left for anybody, nobody has to find that out for himself.
    if wait(share, 0, cpu, spent, false) > 0 {
        modules().flat_map(|module| desks::all(module.record())).for_each(|desk| desk.close());
    }
    let wait = wait(share, 0, cpu, spent, true);
    if wait > 0 {
        sleep(module, test, desk, wait);
    }
}

/// How long to sleep if something is to be had after so many ns.
fn length(share: u64, ns: u64) -> u64 {
    let least = (NAP * NAPS_PART * WHOLE).div_ceil(share.max(1));
    ns.min(LONGEST).max(least)
}

fn sleep(module: &'static Module, test: u32, desk: Own, ns: u64) {
    desk.close();
    // Somebody who is about to wake all says so first: either he sees that it is closed, or we see that he is done.
    if IS_NAPPING.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
        return;
    }
    spend(module, test, NAP);
    if !sandbox::nap(length(module.settings.budget, ns), wake) {
        wake();
    }
}

/// All units ask again.
fn wake() {
    IS_NAPPING.store(false, SeqCst);
    modules().flat_map(|module| desks::all(module.record())).for_each(|desk| desk.reopen());
}

/// In a new child: nothing is spent, and nobody would wake anybody.
pub fn forget() {
    SPENT.store(0, SeqCst);
    TOLD.store(0, SeqCst);
    wake();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_share() {
        let percent = WHOLE / 100;
        let ms = 1_000_000;
        assert_eq!(wait(percent, 10 * ms, 1000 * ms, 0, false), 0);
        assert_eq!(wait(percent, 10 * ms, 1000 * ms, ms, false), 100 * ms);
        assert_eq!(wait(percent, 10 * ms, 0, 0, false), 1000 * ms);
        assert!(wait(percent, 10 * ms, 1000 * ms, 0, true) > 300 * ms, "a quarter is left");
        assert_eq!(wait(WHOLE, u64::MAX, 5, 7, false), u64::MAX - 5);
    }

    #[test]
    fn sleeping_costs_a_part_of_the_share() {
        for share in [1, WHOLE / 1000, WHOLE / 100, WHOLE] {
            for ns in [0, 1_000_000, u64::MAX] {
                let (length, cost) = (u128::from(length(share, ns)), u128::from(NAP));
                assert!(cost * u128::from(WHOLE) * u128::from(NAPS_PART) <= length * u128::from(share));
            }
        }
    }
}
