//! Cobertura's XML (coverage-04.dtd). A directory is a package, a file is a class, a function is a method.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use quick_xml::events::{BytesText, Event};

use super::xml::{self, Xml, element, empty};
use crate::study::cover::{Branch, Coverage, File, Function, Share, Totals};

/// Writes the document.
pub fn write(coverage: &Coverage, out: &mut dyn Write) -> io::Result<()> {
    let mut xml = xml::begin(out)?;
    let doctype = r#"coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd""#;
    xml.write_event(Event::DocType(BytesText::from_escaped(doctype)))?;
    let Totals { lines, branches, .. } = coverage.totals;
    let mut attributes = rates(&coverage.totals);
    attributes.extend([
        ("lines-covered", lines.covered.to_string()),
        ("lines-valid", lines.total.to_string()),
        ("branches-covered", branches.covered.to_string()),
        ("branches-valid", branches.total.to_string()),
        ("version", concat!("unseen ", env!("CARGO_PKG_VERSION")).into()),
        ("timestamp", coverage.last.unwrap_or(0).to_string()),
    ]);
    element(&mut xml, "coverage", &attributes, |xml| {
        element(xml, "sources", &[], |xml| xml::text(xml, "source", &[], &coverage.root))?;
        element(xml, "packages", &[], |xml| packages(coverage, xml))
    })?;
    xml.get_mut().write_all(b"\n")
}

fn packages(coverage: &Coverage, xml: &mut Xml<'_>) -> io::Result<()> {
    let mut packages: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in &coverage.files {
        let directory = file.shown.rsplit_once('/').map_or(".", |(directory, _)| directory);
        packages.entry(directory).or_default().push(file);
    }
    for (name, files) in packages {
        let mut totals = Totals::default();
        files.iter().for_each(|f| totals.add(&f.totals));
        let mut attributes = vec![("name", name.to_owned())];
        attributes.extend(rates(&totals));
        element(xml, "package", &attributes, |xml| {
            element(xml, "classes", &[], |xml| files.iter().try_for_each(|f| class(f, xml)))
        })?;
    }
    Ok(())
}

fn class(file: &File, xml: &mut Xml<'_>) -> io::Result<()> {
    let name = file.shown.rsplit_once('/').map_or(&*file.shown, |(_, name)| name);
    let mut attributes = vec![("name", name.to_owned()), ("filename", file.shown.clone())];
    attributes.extend(rates(&file.totals));
    let mut decisions: HashMap<u32, Vec<&Branch>> = HashMap::new();
    for branch in &file.branches {
        decisions.entry(branch.line).or_default().push(branch);
    }
    element(xml, "class", &attributes, |xml| {
        element(xml, "methods", &[], |xml| file.functions.iter().try_for_each(|f| method(f, xml)))?;
        element(xml, "lines", &[], |xml| {
            for line in &file.lines {
                let here = decisions.get(&line.number).map_or(&[][..], Vec::as_slice);
                write_line(line.number, line.hits, here, xml)?;
            }
            Ok(())
        })
    })
}

fn method(function: &Function, xml: &mut Xml<'_>) -> io::Result<()> {
    let attributes = [
        ("name", function.name.clone()),
        ("signature", String::new()),
        ("line-rate", rate(function.statements)),
        ("branch-rate", rate(Share::default())),
        ("complexity", "0".into()),
    ];
    element(xml, "method", &attributes, |xml| {
        element(xml, "lines", &[], |xml| write_line(function.line, function.hits, &[], xml))
    })
}

fn write_line(number: u32, hits: u32, decisions: &[&Branch], xml: &mut Xml<'_>) -> io::Result<()> {
    let shares: Vec<(&str, Share)> =
        decisions.iter().map(|b| (kind(b), share(b))).filter(|(_, s)| s.total > 0).collect();
    let mut attributes = vec![("number", number.to_string()), ("hits", hits.to_string())];
    if shares.is_empty() {
        attributes.push(("branch", "false".into()));
        return empty(xml, "line", &attributes);
    }
    let all = shares.iter().fold(Share::default(), |mut sum, (_, s)| {
        sum.add(*s);
        sum
    });
    attributes.push(("branch", "true".into()));
    attributes.push(("condition-coverage", format!("{} ({}/{})", percent(all), all.covered, all.total)));
    element(xml, "line", &attributes, |xml| {
        element(xml, "conditions", &[], |xml| {
            for (number, (kind, share)) in shares.iter().enumerate() {
                let attributes =
                    [("number", number.to_string()), ("type", (*kind).to_owned()), ("coverage", percent(*share))];
                empty(xml, "condition", &attributes)?;
            }
            Ok(())
        })
    })
}

fn kind(branch: &Branch) -> &'static str {
    if branch.arms.iter().any(|a| a.label == "true" || a.label == "false") { "jump" } else { "switch" }
}

fn share(branch: &Branch) -> Share {
    let reachable = branch.arms.iter().filter(|a| a.reachable);
    reachable.fold(Share::default(), |mut share, arm| {
        share.count(arm.hits > 0);
        share
    })
}

fn percent(share: Share) -> String {
    format!("{}%", share.percent().unwrap_or(100.0).floor())
}

fn rates(totals: &Totals) -> Vec<(&'static str, String)> {
    vec![
        ("line-rate", rate(totals.lines)),
        ("branch-rate", rate(totals.branches)),
        // Nothing here measures complexity; the format demands a number.
        ("complexity", "0".into()),
    ]
}

fn rate(share: Share) -> String {
    format!("{:.4}", share.percent().unwrap_or(100.0) / 100.0)
}
