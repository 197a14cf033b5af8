//! Each format, on one small store, against a golden file in testdata/reports.

mod report_fixture;

use std::collections::{HashMap, HashSet};
use std::fs;

use quick_xml::events::Event;
use report_fixture::{House, golden};

#[test]
fn text() {
    let house = House::new();
    golden("table.txt", &house.unseen(&["report"]).fine());
    golden("functions.txt", &house.unseen(&["report", "--functions", "--all"]).fine());
    golden("lines.txt", &house.unseen(&["report", "--lines", "shape.c", "--lines", "src/clamp.hpp"]).fine());
}

#[test]
fn json() {
    let house = House::new();
    let out = house.unseen(&["report", "--format", "json"]).fine();
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    golden("report.json", &(serde_json::to_string_pretty(&document).unwrap() + "\n"));
}

#[test]
fn lcov() {
    golden("report.info", &House::new().unseen(&["report", "--format", "lcov"]).fine());
}

#[test]
fn cobertura() {
    golden("report.xml", &House::new().unseen(&["report", "--format", "cobertura"]).fine());
}

#[test]
fn manifest() {
    let house = House::new();
    golden("manifest.txt", &house.unseen(&["manifest", "bin/shape"]).fine());
    golden("manifest-all.txt", &house.unseen(&["manifest", "bin/shape", "--all"]).fine());
    let out = house.unseen(&["manifest", "bin/shape", "--format", "json"]).fine();
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    golden("manifest.json", &(serde_json::to_string_pretty(&document).unwrap() + "\n"));
}

/// Elements of coverage-04.dtd: parents, and the attributes that must be there.
const DTD: &[(&str, &[&str], &[&str])] = &[
    (
        "coverage",
        &[""],
        &[
            "line-rate",
            "branch-rate",
            "lines-covered",
            "lines-valid",
            "branches-covered",
            "branches-valid",
            "complexity",
            "version",
            "timestamp",
        ],
    ),
    ("sources", &["coverage"], &[]),
    ("source", &["sources"], &[]),
    ("packages", &["coverage"], &[]),
    ("package", &["packages"], &["name", "line-rate", "branch-rate", "complexity"]),
    ("classes", &["package"], &[]),
    ("class", &["classes"], &["name", "filename", "line-rate", "branch-rate", "complexity"]),
    ("methods", &["class"], &[]),
    ("method", &["methods"], &["name", "signature", "line-rate", "branch-rate", "complexity"]),
    ("lines", &["class", "method"], &[]),
    ("line", &["lines"], &["number", "hits", "branch"]),
    ("conditions", &["line"], &[]),
    ("condition", &["conditions"], &["number", "type", "coverage"]),
];

#[test]
fn cobertura_has_the_structure_of_its_dtd() {
    let house = House::new();
    // Names that XML must escape, or can't hold at all.
    let mut program = house.program();
    program.functions[0].name = "a<b> & \"c\"\u{1}".into();
    house.write_binary("bin/shape", &[program]);
    let xml = house.unseen(&["report", "--format", "cobertura"]).fine();
    let mut reader = quick_xml::Reader::from_str(&xml);
    let mut open: Vec<String> = Vec::new();
    let mut names = Vec::new();
    loop {
        let (element, empty) = match reader.read_event().unwrap() {
            Event::Start(e) => (e, false),
            Event::Empty(e) => (e, true),
            Event::End(_) => {
                open.pop();
                continue;
            }
            Event::Eof => break,
            _ => continue,
        };
        let name = String::from_utf8(element.name().as_ref().to_vec()).unwrap();
        let (_, parents, required) = DTD.iter().find(|(n, ..)| *n == name).expect("an element of the DTD");
        assert!(parents.contains(&open.last().map_or("", String::as_str)), "{name} in {open:?}");
        let attributes: HashMap<String, String> = element
            .attributes()
            .map(|a| a.unwrap())
            .map(|a| (String::from_utf8(a.key.0.to_vec()).unwrap(), a.unescape_value().unwrap().into_owned()))
            .collect();
        assert!(required.iter().all(|r| attributes.contains_key(*r)), "{name} has {attributes:?}");
        let known = |k: &String| required.contains(&k.as_str()) || (name == "line" && k == "condition-coverage");
        assert!(attributes.keys().all(known), "{name} has {attributes:?}");
        if name == "method" {
            names.push(attributes["name"].clone());
        }
        if !empty {
            open.push(name);
        }
    }
    assert!(names.contains(&"a<b> & \"c\"\u{fffd}".to_owned()), "{names:?}");
}

#[test]
fn lcov_sums_are_those_of_its_records() {
    let text = House::new().unseen(&["report", "--format", "lcov", "--all"]).fine();
    for record in text.split_terminator("end_of_record\n") {
        let values = |key: &str| -> Vec<&str> { record.lines().filter_map(|l| l.strip_prefix(key)).collect() };
        let number = |key: &str| values(key)[0].parse::<usize>().unwrap();
        let hit = |v: &&&str, at: usize| !matches!(v.split(',').nth(at).unwrap(), "0" | "-");
        assert_eq!(number("LF:"), values("DA:").len());
        assert_eq!(number("LH:"), values("DA:").iter().filter(|v| hit(v, 1)).count());
        assert_eq!(number("FNF:"), values("FN:").len());
        assert_eq!(number("FNH:"), values("FNDA:").iter().filter(|v| hit(v, 0)).count());
        assert_eq!(number("BRF:"), values("BRDA:").len());
        assert_eq!(number("BRH:"), values("BRDA:").iter().filter(|v| hit(v, 3)).count());
        let names: HashSet<_> = values("FN:").iter().map(|v| v.split_once(',').unwrap().1).collect();
        assert_eq!(names.len(), number("FNF:"), "names are unique");
        assert_eq!(values("SF:").len(), 1);
    }
}

#[test]
fn the_page_is_whole_and_fetches_nothing() {
    let house = House::new();
    let nasty = "int x; // </script><script>alert(1)</script> <!-- & \u{2028}\n";
    let source = fs::read_to_string(house.path("src/shape.c")).unwrap();
    fs::write(house.path("src/shape.c"), source + nasty).unwrap();
    let mut program = house.program();
    program.functions[0].name = "<img src=x onerror=alert(1)>".into();
    house.write_binary("bin/shape", &[program]);
    house.unseen(&["report", "-o", "page.html"]).fine();
    let page = fs::read_to_string(house.path("page.html")).unwrap();

    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for forbidden in ["http://", "https://", "src=\"", "@import", "url(", "fetch(", "<img src", "<script>alert"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let files = data["files"].as_array().unwrap();
    assert_eq!(files.len(), 2);
    assert_eq!(files[1]["path"], "src/shape.c");
    assert!(files[1]["source"].as_str().unwrap().contains("</script><script>alert(1)"));
    assert_eq!(files[1]["gaps"], serde_json::json!([[21, 15, 0]]));
    for shown in ["src/</span>shape.c", "4 processes in 2 runs", "76.9", "<h2>Branches</h2>"] {
        assert!(page.contains(shown), "{shown}");
    }
}

#[test]
fn sources_are_chosen_and_what_is_left_out_is_counted() {
    let house = House::new();
    let files = |args: &[&str]| -> (Vec<String>, u64) {
        let out = house.unseen(&[&["report", "--format", "json"], args].concat()).fine();
        let document: serde_json::Value = serde_json::from_str(&out).unwrap();
        let shown = |f: &serde_json::Value| f["shown"].as_str().unwrap().to_owned();
        let files = document["files"].as_array().unwrap().iter().map(shown).collect();
        (files, document["left_out"]["files"].as_u64().unwrap())
    };
    let dependency = "/home/me/.cargo/registry/src/index/dep-1.0.0/src/lib.rs";
    assert_eq!(files(&[]), (vec!["src/clamp.hpp".into(), "src/shape.c".into()], 2));
    assert_eq!(files(&["--all"]).1, 0);
    assert_eq!(files(&["--all"]).0.len(), 4);
    assert_eq!(files(&["--include", "*.c"]), (vec!["src/shape.c".into()], 3));
    assert_eq!(files(&["--include", "/home"]), (vec![dependency.into()], 3));
    assert_eq!(files(&["--exclude", "src/clamp.*"]), (vec!["src/shape.c".into()], 3));
    let ran = house.unseen(&["report", "--exclude", "**"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.contains("no source file is left: 4 files left out"), "{}", ran.err);
}

#[test]
fn a_threshold_decides_the_exit_code() {
    let house = House::new();
    house.unseen(&["report", "--fail-under", "76.9"]).fine();
    let ran = house.unseen(&["report", "--fail-under", "80"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("76.9 % of lines covered, less than 80 %"), "{}", ran.err);
    assert!(ran.out.contains("Total"));
}

#[test]
fn the_name_of_the_file_decides_the_format() {
    let house = House::new();
    for (name, begin) in
        [("a.json", "{\"format\""), ("a.info", "TN:"), ("a.xml", "<?xml"), ("a.html", "<!doctype"), ("a", "File")]
    {
        assert_eq!(house.unseen(&["report", "-o", name]).fine(), "");
        assert!(fs::read_to_string(house.path(name)).unwrap().starts_with(begin), "{name}");
    }
}

#[test]
fn sources_that_are_gone_do_not_matter() {
    let house = House::new();
    let before = house.unseen(&["report"]).fine();
    fs::remove_dir_all(house.path("src")).unwrap();
    assert_eq!(house.unseen(&["report"]).fine(), before);
    let lines = house.unseen(&["report", "--lines", "shape.c"]).fine();
    assert!(lines.contains("the source is not there") && lines.contains("line 12: not reached"), "{lines}");
    house.unseen(&["report", "-o", "page.html"]).fine();
}

#[test]
fn the_nearest_store_above_is_found() {
    let house = House::new();
    let mut command = house.command();
    command.current_dir(house.path("src")).args(["report", "--format", "json"]);
    let output = command.output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["files"][0]["shown"], "clamp.hpp");
}
