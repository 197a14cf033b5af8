//! The tour of the README: what its commands print is what it shows.

mod toolbox;

use toolbox::{Place, root};

/// A command and what is shown of its output; nothing if it is not shown.
type Shown = (String, Vec<String>);

#[test]
fn the_tour_shows_what_is_printed() {
    let place = Place::new();
    for file in std::fs::read_dir(root().join("demo/c")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), place.path(file.file_name().to_str().unwrap())).unwrap();
    }
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let blocks = readme.split("```").filter_map(|b| b.strip_prefix("console\n")).map(commands);
    let mut compared = 0;
    // Other blocks are about projects of the reader's.
    for (command, shown) in blocks.filter(|b| b[0].0.starts_with("unseen")).flatten() {
        let ran = place.shell(&format!("{command} 2>&1")).fine();
        if !shown.is_empty() {
            compared += 1;
            let printed: Vec<&str> = ran.stdout.trim_end().lines().collect();
            assert!(fits(&shown, &printed), "{command} prints\n{}\nnot\n{}", ran.stdout, shown.join("\n"));
        }
    }
    assert!(compared >= 6, "only {compared} outputs are shown");
}

/// The commands of a block, without the comments behind them.
fn commands(block: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => all.push((command.split("  #").next().unwrap().into(), Vec::new())),
            (None, Some((_, shown))) => shown.push(line.into()),
            (None, None) => panic!("output without a command: {line}"),
        }
    }
    all
}

/// Whether that is what was printed; `...` stands for any lines.
fn fits(shown: &[String], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((dots, shown)), _) if dots == "..." => (0..=printed.len()).any(|n| fits(shown, &printed[n..])),
        (Some((a, shown)), Some((b, printed))) => same(a, b) && fits(shown, printed),
        (Some(_), None) => false,
    }
}

/// Numbers that depend on the reader's environment are large ones, and shares of them.
fn same(shown: &str, printed: &str) -> bool {
    let large = |line: &str| line.split(|c: char| !c.is_ascii_digit()).any(|n| n.len() > 3);
    let words = |line: &str| line.split(|c: char| c.is_ascii_digit()).filter(|w| !w.is_empty()).collect::<String>();
    shown == printed || large(shown) && words(shown) == words(printed)
}
