//! The paper's experiment: what it costs to test a function in all its states, or in those alone that no test has seen. In: a program.
//! Out: a table, and a picture.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use super::super::Failure;
use crate::context::Own;

/// The shares of distinct states, in per cent of 100 calls.
const SHARES: [u32; 11] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
const POLICIES: [&str; 3] = ["never", "always", "unseen"];
/// Each is measured so often, in turn; the fastest counts.
const ROUNDS: usize = 3;

/// What a share took with each policy, in ms.
struct Row {
    share: u32,
    took: [f64; POLICIES.len()],
}

/// Runs the program `sieve` of that directory, prints the table, and leaves the picture there.
pub fn experiment(dir: &Path, own: &Own) -> Result<(), Failure> {
    let mut rows = Vec::new();
    println!("\n100 calls of sieve, ms; so many of them in states that no test has seen:\n");
    println!("distinct{}", POLICIES.map(|policy| format!("{policy:>9}")).concat());
    for share in SHARES {
        let mut took = [f64::INFINITY; POLICIES.len()];
        for _ in 0..ROUNDS {
            for (policy, best) in POLICIES.iter().zip(&mut took) {
                *best = best.min(measure(dir, own, share, policy)?);
            }
        }
        println!("{share:>6} %{}", took.map(|ms| format!("{ms:>9.1}")).concat());
        rows.push(Row { share, took });
    }
    let path = dir.join("sieve.svg");
    std::fs::write(&path, picture(&rows))
        .map_err(|e| Failure::environment(format!("can't write {}: {e}", path.display())).next("choose --dir DIR"))?;
    println!("\nPicture: {}", path.display());
    Ok(())
}

/// One run, in a store in which one state was tested: how long the calls took, in ms.
fn measure(dir: &Path, own: &Own, share: u32, policy: &str) -> Result<f64, Failure> {
    let store = dir.join("sieve.unseen");
    let _ = std::fs::remove_dir_all(&store);
    run(dir, own, &store, 0, "unseen")?;
    run(dir, own, &store, share, policy)
}

fn run(dir: &Path, own: &Own, store: &Path, share: u32, policy: &str) -> Result<f64, Failure> {
    let failed =
        |why: String| Failure::environment(format!("the experiment failed: {why}")).next("run `unseen doctor`");
    let mut command = Command::new(own.tool("unseen"));
    command.args(["run", "--", "./sieve", &share.to_string()]).current_dir(dir);
    for name in ["UNSEEN_RUN", "UNSEEN", "UNSEEN_COVER", "UNSEEN_BUDGET", "UNSEEN_SAMPLE", "UNSEEN_UNITS"] {
        command.env_remove(name);
    }
    let out =
        command.env("UNSEEN_DIR", store).env("UNSEEN_POLICY", policy).output().map_err(|e| failed(e.to_string()))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let ns = text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    ns.filter(|_| out.status.success())
        .map(|ns| ns / 1e6)
        .ok_or_else(|| failed(String::from_utf8_lossy(&out.stderr).into_owned()))
}

/// The rows as lines over the share of distinct states.
fn picture(rows: &[Row]) -> String {
    const COLOURS: [&str; POLICIES.len()] = ["#777777", "#c0392b", "#2471a3"];
    let (width, height, left, top) = (560.0, 300.0, 60.0, 20.0);
    let most = rows.iter().flat_map(|row| row.took).fold(1.0, f64::max);
    let x = |share: f64| left + width * share / 100.0;
    let y = |ms: f64| top + height * (1.0 - ms / most);
    let mut out = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 380\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"740\" height=\"380\" fill=\"white\"/>\n",
    );
    let mut add = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    for part in 0..=4 {
        let ms = most * f64::from(part) / 4.0;
        add(format!("<path d=\"M{left} {0:.1}h{width}\" stroke=\"#dddddd\"/>", y(ms)));
        add(format!("<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{ms:.0} ms</text>", left - 6.0, y(ms) + 4.0));
    }
    for share in SHARES.iter().step_by(2) {
        add(format!(
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{share} %</text>",
            x((*share).into()),
            top + height + 20.0
        ));
    }
    add(format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">calls in distinct states</text>",
        left + width / 2.0,
        top + height + 44.0
    ));
    for (i, (policy, colour)) in POLICIES.iter().zip(COLOURS).enumerate() {
        let points = rows.iter().fold(String::new(), |mut points, row| {
            let _ = write!(points, "{:.1},{:.1} ", x(row.share.into()), y(row.took[i]));
            points
        });
        add(format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.trim_end()
        ));
        let end = top + 14.0 + 20.0 * i as f64;
        add(format!("<path d=\"M{} {}h20\" stroke=\"{colour}\" stroke-width=\"2\"/>", left + width + 16.0, end - 4.0));
        add(format!("<text x=\"{}\" y=\"{end}\">{policy}</text>", left + width + 42.0));
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_has_a_line_for_each_policy() {
        let rows: Vec<Row> =
            SHARES.iter().map(|s| Row { share: *s, took: [10.0, 50.0, 10.0 + f64::from(*s)] }).collect();
        let text = picture(&rows);
        assert_eq!(text.matches("<polyline").count(), 3);
        // The highest is at the top, on the right.
        assert!(text.contains("620.0,20.0\" fill=\"none\" stroke=\"#2471a3\""), "{text}");
        assert!(POLICIES.iter().all(|policy| text.contains(&format!(">{policy}</text>"))));
    }
}
