//! The pictures of tests: states over time, distinct states per unit, cost per unit. Plain SVG that needs no script; colours are the
//! page's (page.css), so that they suit light and dark.
//!
//! A picture has a fixed width in its own units and is scaled to the page. Names stand in boxes of their own that cut off what does not fit.

use std::fmt::Write as _;

use super::escape;
use crate::report::many;
use crate::report::tests::cells::{duration, percent, shorten};
use crate::study::tests::{Findings, Growth, Unit};

/// Width of all pictures.
const WIDTH: f64 = 640.0;
/// So many units are in a picture; the tables have all.
const MOST: usize = 24;
/// Where bars begin and end: names are before, numbers behind them.
const BARS: (f64, f64) = (262.0, 560.0);
/// So many letters of a name fit before the bars.
const LETTERS: usize = 38;

/// All pictures.
pub fn figures(findings: &Findings) -> String {
    let figures = [growth(&findings.growth), distinct(&findings.units), cost(&findings.units)];
    format!("<section class=\"figures\" aria-label=\"Pictures of states and costs\">\n{}</section>\n", figures.concat())
}

fn figure(id: &str, title: &str, caption: &str, svg: &str) -> String {
    format!(
        "<figure id=\"{id}\" class=\"picture\"><h3>{title}</h3>\n<div class=\"canvas\">{svg}</div>\n\
         <figcaption class=\"sub\">{caption}</figcaption></figure>\n"
    )
}

fn svg(height: f64, label: &str, content: &str) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{}\">{content}</svg>", escape(label))
}

/// Distinct states over the time in which programs ran.
fn growth(growth: &Growth) -> String {
    const PLOT: (f64, f64, f64, f64) = (62.0, 14.0, 622.0, 212.0);
    let (left, top, right, bottom) = PLOT;
    let clock = Clock::new(growth);
    let states = growth.points.last().map_or(0, |p| p.1);
    let title = "Distinct states over time";
    if growth.points.len() < 2 || clock.total == 0 {
        let text = "<text x=\"320\" y=\"112\" text-anchor=\"middle\">No time has passed in these runs.</text>";
        return figure("states-over-time", title, "", &svg(224.0, title, text));
    }
    let mut out = String::new();
    let y_ticks = ticks(states.max(1) as f64, 1.0);
    let highest = y_ticks.last().copied().unwrap_or(1.0).max(states as f64);
    let y = |n: f64| bottom - (bottom - top) * n / highest;
    for tick in &y_ticks {
        let at = y(*tick);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            at + 4.0,
            short(*tick)
        );
    }
    let (unit, per_unit) = time_unit(clock.total);
    let x = |ns: f64| left + (right - left) * ns / clock.total as f64;
    for tick in ticks(clock.total as f64 / per_unit, 0.0) {
        let at = x(tick * per_unit);
        if at <= right + 0.5 {
            let _ = write!(
                out,
                "<path class=\"grid\" d=\"M{at:.1} {bottom}v5\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                short(tick)
            );
        }
    }
    let starts: Vec<f64> = growth.runs.iter().skip(1).map(|r| x(clock.at(r.start) as f64)).collect();
    if starts.len() <= 40 {
        for at in &starts {
            let _ = write!(out, "<path class=\"run\" d=\"M{at:.1} {top}V{bottom}\"/>");
        }
    }
    let known = thin(&growth.points, 500);
    let at: Vec<(f64, f64)> = known.iter().map(|p| (x(clock.at(p.0) as f64), y(p.1 as f64))).collect();
    let line: Vec<String> = at.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    let (first, last) = (at[0].0, at[at.len() - 1].0);
    let _ = write!(out, "<path class=\"area\" d=\"M{}L{last:.1} {bottom}L{first:.1} {bottom}Z\"/>", line.join("L"));
    let _ = write!(out, "<path class=\"line\" d=\"M{}\"/>", line.join("L"));
    let has_dots = at.len() <= 120;
    if has_dots {
        for ((x, y), (_, n)) in at.iter().zip(&known) {
            let _ =
                write!(out, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.2\"><title>{n}</title></circle>");
        }
    }
    let gaps = match growth.runs.len() {
        1 => String::new(),
        n if starts.len() <= 40 => {
            format!(" {n} runs, without the time between them; dashed lines are where they begin.")
        }
        n => format!(" {n} runs, without the time between them."),
    };
    let dots = if has_dots {
        "Dots are what programs told, the line only joins them."
    } else {
        "The line joins what programs told."
    };
    let caption = format!("{states} states; time in {unit}. {dots}{gaps}");
    figure("states-over-time", title, &caption, &svg(244.0, &format!("{title}: {states} at the end"), &out))
}

/// The time in which at least one run was going on.
struct Clock {
    /// Begin and end of such times, and how much came before.
    spans: Vec<(u64, u64, u64)>,
    total: u64,
}

impl Clock {
    fn new(growth: &Growth) -> Clock {
        let (mut spans, mut total): (Vec<(u64, u64, u64)>, u64) = (Vec::new(), 0);
        for run in &growth.runs {
            match spans.last_mut() {
                Some(last) if run.start <= last.1 => {
                    total += run.end.saturating_sub(last.1);
                    last.1 = last.1.max(run.end);
                }
                _ => {
                    spans.push((run.start, run.end, total));
                    total += run.end.saturating_sub(run.start);
                }
            }
        }
        Clock { spans, total }
    }

    /// How much of it had passed at that time.
    fn at(&self, time: u64) -> u64 {
        let before = self.spans.partition_point(|s| s.0 <= time);
        match before.checked_sub(1).map(|i| self.spans[i]) {
            Some((start, end, passed)) => passed + time.min(end) - start,
            None => 0,
        }
    }
}

/// The share of distinct states, and up to where it pays to look states up.
fn distinct(units: &[Unit]) -> String {
    let mut shown: Vec<&Unit> = units.iter().collect();
    shown.sort_by_key(|u| std::cmp::Reverse(u.numbers.calls));
    shown.truncate(MOST);
    let x = |percent: f64| BARS.0 + (BARS.1 - BARS.0) * percent / 100.0;
    let mut out = String::new();
    for (i, unit) in shown.iter().enumerate() {
        let (n, top) = (&unit.numbers, 4.0 + 22.0 * i as f64);
        let said = format!(
            "{}: {} in {}, break-even {}",
            unit.unit,
            many(n.states() as usize, "distinct state"),
            many(n.calls as usize, "call"),
            percent(n.break_even)
        );
        let _ = write!(out, "<g><title>{}</title>{}", escape(&said), name(&unit.unit, top, 22.0));
        let _ = write!(
            out,
            "<rect class=\"track\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"10\" rx=\"2\"/>",
            BARS.0,
            top + 6.0,
            BARS.1 - BARS.0
        );
        if let Some(dsp) = n.distinct_states {
            let _ = write!(
                out,
                "<rect class=\"first\" x=\"{}\" y=\"{}\" width=\"{:.1}\" height=\"10\" rx=\"2\"/>",
                BARS.0,
                top + 6.0,
                if dsp > 0.0 { (x(dsp) - BARS.0).max(1.0) } else { 0.0 }
            );
        }
        if let Some(at) = n.break_even.filter(|b| (0.0..=100.0).contains(b)) {
            let _ = write!(out, "<path class=\"tick\" d=\"M{:.1} {:.1}v16\"/>", x(at), top + 3.0);
        }
        let _ = write!(
            out,
            "<text class=\"value\" x=\"{}\" y=\"{}\">{}</text></g>",
            BARS.1 + 10.0,
            top + 15.0,
            percent(n.distinct_states)
        );
    }
    let caption = format!(
        "<span class=\"key first\"></span>share of calls in distinct states (DSP) \
         <span class=\"key tick\"></span>break-even: left of it, looking states up pays.{}",
        of_all(shown.len(), units.len(), "the most calls")
    );
    let height = 8.0 + 22.0 * shown.len() as f64;
    figure(
        "distinct-states",
        "Distinct states per unit",
        &caption,
        &svg(height, "Distinct states per unit; the table below has the numbers", &out),
    )
}

/// What tests cost in all: callers stood still, and CPU time.
fn cost(units: &[Unit]) -> String {
    let total = |unit: &Unit| {
        let n = &unit.numbers;
        [n.stall_us, n.cpu_us].map(|mean| mean.map(|us| us * n.ran as f64))
    };
    let mut shown: Vec<(&Unit, [Option<f64>; 2])> = units.iter().map(|u| (u, total(u))).collect();
    let sum = |of: &[Option<f64>; 2]| of.iter().flatten().sum::<f64>();
    shown.sort_by(|a, b| sum(&b.1).total_cmp(&sum(&a.1)));
    shown.truncate(MOST);
    let most = shown.iter().flat_map(|(_, of)| of.iter().flatten()).fold(0.0, |a: f64, b| a.max(*b)).max(1e-9);
    let mut out = String::new();
    for (i, (unit, of)) in shown.iter().enumerate() {
        let top = 4.0 + 38.0 * i as f64;
        let said = format!("{}: callers stood still {}, CPU time {}", unit.unit, duration(of[0]), duration(of[1]));
        let _ = write!(out, "<g><title>{}</title>{}", escape(&said), name(&unit.unit, top, 36.0));
        for ((value, class), down) in of.iter().zip(["first", "second"]).zip([4.0, 21.0]) {
            let at = top + down;
            let width = (BARS.1 - BARS.0) * value.unwrap_or(0.0) / most;
            let _ = write!(
                out,
                "<rect class=\"track\" x=\"{}\" y=\"{at}\" width=\"{}\" height=\"10\" rx=\"2\"/>",
                BARS.0,
                BARS.1 - BARS.0
            );
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{}\" y=\"{at}\" width=\"{width:.1}\" height=\"10\" rx=\"2\"/>",
                BARS.0
            );
            let _ = write!(
                out,
                "<text class=\"value\" x=\"{}\" y=\"{}\">{}</text>",
                BARS.1 + 10.0,
                at + 9.0,
                duration(*value)
            );
        }
        out += "</g>";
    }
    let caption = format!(
        "<span class=\"key first\"></span>how long callers stood still, in all \
         <span class=\"key second\"></span>CPU time of tests, in all.{}",
        of_all(shown.len(), units.len(), "the highest cost")
    );
    let height = 8.0 + 38.0 * shown.len() as f64;
    figure("cost", "Cost per unit", &caption, &svg(height, "Cost per unit; the table below has the means", &out))
}

/// A name before the bars, in a box that cuts it off.
fn name(name: &str, top: f64, height: f64) -> String {
    let width = BARS.0 - 8.0;
    format!(
        "<svg x=\"0\" y=\"{top}\" width=\"{width}\" height=\"{height}\"><text class=\"who\" x=\"{width}\" y=\"{}\" \
         text-anchor=\"end\">{}</text></svg>",
        height / 2.0 + 4.0,
        escape(&shorten(name, LETTERS))
    )
}

fn of_all(shown: usize, all: usize, why: &str) -> String {
    if shown < all {
        format!(" {shown} of {} with {why}; the tables have all.", many(all, "unit"))
    } else {
        String::new()
    }
}

/// At most so many points, the last among them.
fn thin(points: &[(u64, u64)], most: usize) -> Vec<(u64, u64)> {
    let every = points.len().div_ceil(most).max(1);
    let last = points.len().saturating_sub(1);
    points.iter().enumerate().filter(|(i, _)| i % every == 0 || *i == last).map(|(_, p)| *p).collect()
}

/// Round numbers, at least so far apart, from 0 to the first that reaches `most`; at most seven.
fn ticks(most: f64, apart: f64) -> Vec<f64> {
    if most <= 0.0 || !most.is_finite() {
        return vec![0.0];
    }
    let magnitude = 10f64.powf((most / 5.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|s| s * magnitude);
    let step = steps.into_iter().find(|s| most / s <= 5.0).unwrap_or(most).max(apart);
    (0..=(most / step).ceil() as u32).map(|i| f64::from(i) * step).collect()
}

/// A number that fits beside an axis.
fn short(n: f64) -> String {
    let digits = |n: f64| {
        let text = format!("{n:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match n {
        n if n >= 1e9 => digits(n / 1e9) + "G",
        n if n >= 1e6 => digits(n / 1e6) + "M",
        n if n >= 1e4 => digits(n / 1e3) + "k",
        n => digits(n),
    }
}

/// The unit that suits a time, and how many ns it has.
fn time_unit(ns: u64) -> (&'static str, f64) {
    match ns {
        0..2_000_000 => ("microseconds", 1e3),
        2_000_000..2_000_000_000 => ("milliseconds", 1e6),
        2_000_000_000..180_000_000_000 => ("seconds", 1e9),
        180_000_000_000..10_800_000_000_000 => ("minutes", 60e9),
        10_800_000_000_000..259_200_000_000_000 => ("hours", 3600e9),
        _ => ("days", 86400e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::growth::Span;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(7.0, 0.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(ticks(1.0, 1.0), [0.0, 1.0]);
        assert_eq!(ticks(0.0, 0.0), [0.0]);
        for most in [0.003, 0.9, 11.0, 99.0, 101.0, 123_456.0, 1e12] {
            let ticks = ticks(most, 0.0);
            assert!(ticks.len() <= 7 && *ticks.last().unwrap() >= most, "{most}: {ticks:?}");
        }
    }

    #[test]
    fn the_clock_stands_still_between_runs_and_counts_overlaps_once() {
        let span = |start, end| Span { run: String::new(), start, end };
        let clock = Clock::new(&Growth { runs: vec![span(10, 20), span(15, 30), span(100, 110)], points: vec![] });
        assert_eq!(clock.total, 30);
        assert_eq!([5, 10, 25, 50, 100, 105, 200].map(|t| clock.at(t)), [0, 0, 15, 20, 20, 25, 30]);
    }

    #[test]
    fn the_last_point_stays() {
        let points: Vec<(u64, u64)> = (0..1234).map(|i| (i, i)).collect();
        let thinned = thin(&points, 500);
        assert!(thinned.len() <= 502 && thinned.last() == points.last());
        assert!(thin(&[], 5).is_empty());
    }
}
