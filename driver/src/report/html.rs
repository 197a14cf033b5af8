//! The page for people: tests with pictures, coverage with a picture and every file with its source, in one file that loads nothing from
//! anywhere.
//!
//! Tests and the overview are plain HTML and work without scripts. Sources and findings lie in the page as JSON; the script
//! (html/page.js) draws from it what is looked at, so that a page with a thousand files opens at once.

mod pictures;
mod tests;

use std::io::{self, Write};

use serde::Serialize;

use super::{many, source, text};
use crate::study::cover::{Coverage, File, Share, Totals};
use crate::study::tests::Findings;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Writes the page.
pub fn write(coverage: &Coverage, findings: Option<&Findings>, out: &mut dyn Write) -> io::Result<()> {
    let title = title(coverage, findings.is_some());
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        title = escape(&title),
    )?;
    header(coverage, &title, out)?;
    if let Some(findings) = findings {
        tests::write(findings, out)?;
    }
    if !coverage.modules.is_empty() {
        overview(coverage, findings.is_some(), out)?;
    }
    out.write_all(b"</main>\n<main id=\"file\" hidden></main>\n<script type=\"application/json\" id=\"data\">")?;
    data(coverage, out)?;
    write!(out, "</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n")
}

/// The program's name, if it is one program.
fn title(coverage: &Coverage, has_tests: bool) -> String {
    let what = if has_tests { "Tests and coverage" } else { "Coverage" };
    let mut names: Vec<&str> = coverage.modules.iter().map(|m| m.path.rsplit('/').next().unwrap_or(&m.path)).collect();
    names.sort_unstable();
    names.dedup();
    match names[..] {
        [] => "Tests inside programs".into(),
        [one] => format!("{what} of {one}"),
        [one, other] => format!("{what} of {one} and {other}"),
        _ => format!("{what} of {}", many(names.len(), "binary")),
    }
}

fn header(coverage: &Coverage, title: &str, out: &mut dyn Write) -> io::Result<()> {
    let sub = if coverage.modules.is_empty() { String::new() } else { text::summary(coverage) };
    write!(
        out,
        "<header class=\"top\">\n<div><h1><a href=\"#\">{}</a></h1>\n<p class=\"sub\">{}</p></div>\n\
         <button id=\"theme\" type=\"button\" aria-label=\"Switch between light and dark\" hidden></button>\n</header>\n\
         <main id=\"overview\">\n",
        escape(title),
        escape(&sub),
    )
}

fn overview(coverage: &Coverage, is_part: bool, out: &mut dyn Write) -> io::Result<()> {
    if is_part {
        writeln!(out, "<h2 class=\"chapter\">Coverage</h2>")?;
    }
    if !coverage.problems.is_empty() {
        let count = many(coverage.problems.len(), "problem");
        writeln!(out, "<details class=\"problems\"><summary>{count} with recorded files</summary><ul>")?;
        for problem in &coverage.problems {
            writeln!(out, "<li>{}</li>", escape(problem))?;
        }
        writeln!(out, "</ul></details>")?;
    }
    writeln!(out, "<section class=\"cards\" aria-label=\"Totals\">")?;
    for (name, share) in columns(&coverage.totals) {
        card(name, share, out)?;
    }
    out.write_all(
        b"</section>\n\
          <section id=\"map\" aria-label=\"Picture of all files\" hidden></section>\n\
          <div class=\"bar-of-tools\">\n\
          <div class=\"tabs\" role=\"tablist\" hidden>\
          <button role=\"tab\" id=\"tab-files\" aria-selected=\"true\" aria-controls=\"files\">Files</button>\
          <button role=\"tab\" id=\"tab-functions\" aria-selected=\"false\" aria-controls=\"functions\" tabindex=\"-1\">\
          Functions</button></div>\n\
          <label class=\"search\" hidden><span class=\"aside\">Filter</span>\
          <input id=\"filter\" type=\"search\" placeholder=\"Filter  ( / )\" autocomplete=\"off\" spellcheck=\"false\"></label>\n\
          <label class=\"check\" hidden><input id=\"gaps\" type=\"checkbox\"> Only with gaps</label>\n\
          <output id=\"count\" class=\"sub\"></output>\n</div>\n\
          <noscript><p class=\"sub\">Sources, sorting and the picture need scripts; nothing is loaded from \
          anywhere.</p></noscript>\n\
          <div id=\"files\" role=\"tabpanel\" aria-labelledby=\"tab-files\" class=\"wide\"><table>\n<thead><tr>\
          <th scope=\"col\" data-key=\"name\">File</th>",
    )?;
    for (name, _) in columns(&coverage.totals) {
        write!(out, "<th scope=\"col\" class=\"num\" data-key=\"{0}\">{0}</th>", name)?;
    }
    writeln!(out, "</tr></thead>\n<tbody>")?;
    coverage.files.iter().enumerate().try_for_each(|(i, f)| row(i, f, out))?;
    out.write_all(
        b"</tbody></table></div>\n\
          <div id=\"functions\" role=\"tabpanel\" aria-labelledby=\"tab-functions\" class=\"wide\" hidden></div>\n",
    )
}

fn columns(totals: &Totals) -> [(&'static str, Share); 4] {
    [
        ("Lines", totals.lines),
        ("Branches", totals.branches),
        ("Functions", totals.functions),
        ("Statements", totals.statements),
    ]
}

fn card(name: &str, share: Share, out: &mut dyn Write) -> io::Result<()> {
    let (percent, fraction) = match share.percent() {
        Some(percent) => (format!("{}<small> %</small>", text::tenths(percent)), percent / 100.0),
        None => ("\u{2013}".into(), 0.0),
    };
    writeln!(
        out,
        "<div class=\"card\" style=\"--p:{fraction:.4}\"><h2>{name}</h2><p class=\"big\">{percent}</p>\
         <div class=\"meter\"><i></i></div><p class=\"sub\">{} of {}</p></div>",
        share.covered, share.total
    )
}

fn row(index: usize, file: &File, out: &mut dyn Write) -> io::Result<()> {
    let (directory, name) = match file.shown.rsplit_once('/') {
        Some((directory, name)) => (format!("{directory}/"), name),
        None => (String::new(), file.shown.as_str()),
    };
    write!(
        out,
        "<tr data-i=\"{index}\"><th scope=\"row\"><a href=\"#/{}\"><span class=\"dir\">{}</span>{}</a></th>",
        escape(&file.shown),
        escape(&directory),
        escape(name)
    )?;
    for (_, share) in columns(&file.totals) {
        match share.percent() {
            Some(percent) => write!(
                out,
                "<td class=\"num\" style=\"--p:{:.4}\"><span class=\"of\">{}/{}</span> \
                 <b>{}</b><div class=\"meter\"><i></i></div></td>",
                percent / 100.0,
                share.covered,
                share.total,
                text::tenths(percent)
            )?,
            None => write!(out, "<td class=\"num none\">\u{2013}</td>")?,
        }
    }
    writeln!(out, "</tr>")
}

/// What the script draws from. Short names: there may be a million statements.
#[derive(Serialize)]
struct Data<'a> {
    files: Vec<FileData<'a>>,
}

/// Label and hits.
type Arms<'a> = Vec<(&'a str, u32)>;

#[derive(Serialize)]
struct FileData<'a> {
    path: &'a str,
    /// Lines, branches, functions, statements: covered and total.
    totals: [[u32; 2]; 4],
    /// Name, line, hits, covered and total statements, reached and all instances.
    functions: Vec<(&'a str, u32, u32, u32, u32, usize, usize)>,
    /// Line, hits.
    lines: Vec<[u32; 2]>,
    /// Line, column of statements that were not reached on lines that were.
    gaps: Vec<[u32; 3]>,
    /// Line, column, arms: label, hits.
    branches: Vec<(u32, u32, Arms<'a>)>,
    source: Option<String>,
    changed: bool,
}

fn data(coverage: &Coverage, out: &mut dyn Write) -> io::Result<()> {
    let files = coverage.files.iter().map(|f| file_data(f, coverage.first)).collect();
    // Nothing in the text may end the script element; in JSON `<` stands only inside strings.
    let json = serde_json::to_string(&Data { files })?.replace('<', "\\u003c");
    out.write_all(json.as_bytes())
}

fn file_data(file: &File, recorded: Option<u64>) -> FileData<'_> {
    let source = source::read(&file.path, recorded);
    FileData {
        path: &file.shown,
        totals: columns(&file.totals).map(|(_, s)| [s.covered, s.total]),
        functions: file
            .functions
            .iter()
            .map(|f| {
                let reached = f.instances.iter().filter(|i| i.hits > 0).count();
                (f.name.as_str(), f.line, f.hits, f.statements.covered, f.statements.total, reached, f.instances.len())
            })
            .collect(),
        lines: file.lines.iter().map(|l| [l.number, l.hits]).collect(),
        gaps: gaps(file),
        branches: file
            .branches
            .iter()
            .map(|b| {
                let arms = b.arms.iter().filter(|a| a.reachable).map(|a| (a.label.as_str(), a.hits)).collect();
                (b.line, b.column, arms)
            })
            .collect(),
        changed: source.as_ref().is_some_and(|s| s.changed),
        source: source.map(|s| s.lines.join("\n")),
    }
}

/// Line, and first and last column (0: to the end) of what was not reached on a line that was reached.
fn gaps(file: &File) -> Vec<[u32; 3]> {
    let mut out = Vec::new();
    for (i, s) in file.statements.iter().enumerate().filter(|(_, s)| s.hits == 0) {
        let partly = file.lines.binary_search_by_key(&s.line, |l| l.number).is_ok_and(|at| file.lines[at].hits > 0);
        if partly {
            let next = file.statements.get(i + 1).filter(|n| n.line == s.line);
            out.push([s.line, s.column.max(1), next.map_or(0, |n| n.column)]);
        }
    }
    out
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
