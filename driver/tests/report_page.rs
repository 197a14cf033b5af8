//! The page with tests, looked at in a headless Chromium: nothing fails, nothing overlaps, and the pictures are there, in light and dark.

mod report_fixture;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use report_fixture::{House, PROGRAM};
use serde_json::Value;
use unseen_abi::event::Kind;
use unseen_abi::manifest::{Function, Outcome, Reason};
use unseen_abi::state::{Attached, Attachments, Tally, Test};

/// Collects what fails while the page is loaded.
const BEFORE: &str = "<script>window.faults = [];
addEventListener('error', (e) => faults.push(e.message));
addEventListener('securitypolicyviolation', (e) => faults.push(e.violatedDirective));</script>";

/// Measures the page when it is there, in one theme.
const AFTER: &str = r##"<script>
addEventListener("load", () => setTimeout(() => {
  document.documentElement.dataset.theme = "THEME";
  const colour = (text) => (text.match(/[\d.]+/g) || [0, 0, 0]).slice(0, 3).map(Number);
  const light = (c) => {
    const [r, g, b] = c.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const box = (r) => [r.left + scrollX, r.top + scrollY, r.right + scrollX, r.bottom + scrollY];
  // What is seen of a text: names are cut off by the box around them.
  const seen = (text) => {
    const [t, s] = [box(text.getBoundingClientRect()), box(text.ownerSVGElement.getBoundingClientRect())];
    return [Math.max(t[0], s[0]), Math.max(t[1], s[1]), Math.min(t[2], s[2]), Math.min(t[3], s[3])];
  };
  const figures = [...document.querySelectorAll("figure")].map((figure) => {
    const svg = figure.querySelector(".canvas > svg"), paper = colour(getComputedStyle(figure).backgroundColor);
    const texts = [...svg.querySelectorAll("text")], boxes = texts.map(seen), all = box(svg.getBoundingClientRect());
    const overlaps = [];
    for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
      const [a, b] = [boxes[i], boxes[j]];
      if (Math.min(a[2], b[2]) - Math.max(a[0], b[0]) > 1 && Math.min(a[3], b[3]) - Math.max(a[1], b[1]) > 1)
        overlaps.push(texts[i].textContent + " over " + texts[j].textContent);
    }
    const outside = texts.filter((_, i) => boxes[i][0] < all[0] - 1 || boxes[i][2] > all[2] + 1 || boxes[i][3] > all[3] + 1).map((t) => t.textContent);
    const faint = texts.filter((t) => contrast(colour(getComputedStyle(t).fill), paper) < 4).map((t) => t.textContent);
    const bars = [...svg.querySelectorAll("rect.first, rect.second")].filter((r) => r.getBoundingClientRect().width > 0.5);
    const pale = bars.filter((r) => contrast(colour(getComputedStyle(r).fill), paper) < 2).length;
    const line = svg.querySelector(".line");
    return { id: figure.id, box: all, texts: texts.length, overlaps, outside, faint, bars: bars.length, pale,
      line: line ? line.getTotalLength() : 0, caption: figure.querySelector("figcaption").textContent };
  });
  const out = document.createElement("pre");
  out.id = "measured";
  out.textContent = JSON.stringify({ faults, figures, wide: document.documentElement.scrollWidth - innerWidth,
    failures: document.querySelectorAll("article.failure").length, rows: document.querySelectorAll("#tests tbody tr").length,
  }).replace(/[&<>]/g, "_");
  document.body.append(out);
}, 100));
</script>"##;

/// Counts the pixels of a picture that are not those of its corner, and the colours, in some places.
const PIXELS: &str = r#"<!doctype html><body><img src="shot.png"><script>
addEventListener("load", () => {
  const image = document.querySelector("img"), canvas = document.createElement("canvas");
  canvas.width = image.width; canvas.height = image.height;
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  const places = PLACES;
  const found = places.map(([x, y, right, bottom]) => {
    const { data } = pen.getImageData(x, y, right - x, bottom - y), words = new Uint32Array(data.buffer), colours = new Map();
    for (const word of words) colours.set(word, (colours.get(word) || 0) + 1);
    return [words.length, words.length - Math.max(...colours.values()), colours.size];
  });
  document.body.innerHTML = "<pre id='measured'>" + JSON.stringify(found) + "</pre>";
});
</script>"#;

/// A browser that needs no screen.
fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium-headless-shell", "chromium", "google-chrome"];
    let found = names.iter().find_map(|n| std::env::split_paths(&path).map(|d| d.join(n)).find(|p| p.exists()));
    found.expect("there is no Chromium: run scripts/setup test")
}

struct Browser {
    dir: tempfile::TempDir,
}

impl Browser {
    fn new() -> Browser {
        Browser { dir: tempfile::tempdir().unwrap() }
    }

    fn command(&self, width: u32, height: u32) -> Command {
        let mut command = Command::new(chromium());
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--allow-file-access-from-files",
        ]);
        command.args(["--disable-dev-shm-usage", "--no-first-run", "--virtual-time-budget=3000"]);
        command.arg(format!("--user-data-dir={}", self.dir.path().join("profile").display()));
        command.arg(format!("--window-size={width},{height}"));
        command
    }

    /// What a page has measured of itself.
    fn measured(&self, page: &str, width: u32, height: u32) -> Value {
        let file = self.dir.path().join("page.html");
        fs::write(&file, page).unwrap();
        let output = self.command(width, height).arg("--dump-dom").arg(&file).output().unwrap();
        let dom = String::from_utf8_lossy(&output.stdout);
        let measured = dom.split_once("id=\"measured\">").and_then(|(_, rest)| rest.split_once("</pre>"));
        let (json, _) = measured.unwrap_or_else(|| panic!("{}\n{dom}", String::from_utf8_lossy(&output.stderr)));
        serde_json::from_str(json).unwrap()
    }

    /// A picture of the page that was measured last, and what is in these places of it: pixels, those that are not background, colours.
    fn pixels(&self, places: &[Value], width: u32, height: u32) -> Vec<[u64; 3]> {
        let shot = self.dir.path().join("shot.png");
        let mut command = self.command(width, height);
        command.arg(format!("--screenshot={}", shot.display())).arg(self.dir.path().join("page.html"));
        let output = command.output().unwrap();
        assert!(shot.exists(), "{}", String::from_utf8_lossy(&output.stderr));
        let page = PIXELS.replace("PLACES", &serde_json::to_string(places).unwrap());
        serde_json::from_value(self.measured(&page, width, height)).unwrap()
    }
}

/// The page of a store.
fn page(house: &House) -> String {
    house.unseen(&["report", "-o", "page.html"]).fine();
    fs::read_to_string(house.path("page.html")).unwrap()
}

/// Looks at the page; what was measured of it in each theme.
fn look(page: &str, width: u32) -> Vec<Value> {
    let browser = Browser::new();
    let height = 4000;
    ["light", "dark"]
        .map(|theme| {
            let page = page.replacen("<body>", &format!("<body>{BEFORE}"), 1);
            let page = page.replacen("</body>", &format!("{}</body>", AFTER.replace("THEME", theme)), 1);
            let found = browser.measured(&page, width, height);
            assert_eq!(found["faults"], serde_json::json!([]), "{theme}");
            assert!(
                found["wide"].as_i64().unwrap() <= 0,
                "{theme}: the page is wider than the window by {}",
                found["wide"]
            );
            let figures = found["figures"].as_array().unwrap();
            let ids: Vec<&str> = figures.iter().map(|f| f["id"].as_str().unwrap()).collect();
            assert_eq!(ids, ["states-over-time", "distinct-states", "cost"]);
            for figure in figures {
                for fault in ["overlaps", "outside", "faint"] {
                    assert_eq!(figure[fault], serde_json::json!([]), "{theme}: {fault} in {}", figure["id"]);
                }
                assert_eq!(figure["pale"], 0, "{theme}: {}", figure["id"]);
            }
            // On a narrow window pictures are scrolled, and only their beginnings are to be seen.
            let places: Vec<Value> = figures
                .iter()
                .map(|f| {
                    let [left, top, right, bottom] = [0, 1, 2, 3].map(|i| f["box"][i].as_f64().unwrap());
                    serde_json::json!([
                        left.ceil(),
                        top.ceil(),
                        right.min(f64::from(width) - 40.0).floor(),
                        bottom.floor()
                    ])
                })
                .collect();
            for (figure, [all, drawn, colours]) in figures.iter().zip(browser.pixels(&places, width, height)) {
                let share = drawn as f64 / all as f64;
                assert!(
                    (0.004..0.9).contains(&share) && colours > 3,
                    "{theme}: {share} of {} in {colours} colours",
                    figure["id"]
                );
            }
            found
        })
        .to_vec()
}

#[test]
fn pictures_are_seen_in_light_and_dark() {
    let page = page(&House::tested());
    for found in look(&page, 1300) {
        let figures = found["figures"].as_array().unwrap();
        assert!(figures[0]["line"].as_f64().unwrap() > 100.0, "{found}");
        // Three units: of one all states are distinct, of another nothing was spent.
        assert_eq!((&figures[1]["bars"], &figures[2]["bars"]), (&3.into(), &6.into()), "{found}");
        assert_eq!((&found["failures"], &found["rows"]), (&5.into(), &7.into()));
    }
    look(&page, 420);
}

/// A store with so many units, with names as C++ and Rust have them.
fn many_units(count: u32) -> House {
    let house = House::new();
    let mut program = house.program();
    let first = program.functions.len() as u32;
    let function = |name: String| Function {
        name,
        source_name: String::new(),
        place: None,
        outcome: Outcome::Left(Reason::Standard),
        cover: None,
    };
    for i in 0..count {
        let unit = match i % 3 {
            0 => format!(
                "std::map<std::basic_string<char>, company::project::Widget<{i}>, std::less<void>>::lower_bound(company::Key const&) const"
            ),
            1 => format!(
                "<project::tree::Node<alloc::string::String, [u8; {i}]> as core::iter::traits::collect::Extend<T>>::extend"
            ),
            _ => format!("f{i}"),
        };
        program.functions.extend([function(unit), function(format!("test_of_{i}"))]);
    }
    let unit = |i: u32| Attached {
        function: first + 2 * i,
        tests: vec![Test { function: first + 2 * i + 1, kind: Default::default() }],
        opaque: String::new(),
        reads: Vec::new(),
    };
    let attached = Attachments { id: PROGRAM, units: (0..count).map(unit).collect() };
    house.write_tested_binary("bin/shape", &[program], &[attached]);
    let counts: Vec<Vec<(Tally, u64)>> = (0..u64::from(count))
        .map(|i| {
            let ran = 1 + i % 17;
            let calls = 10 + i * i;
            vec![
                (Tally::Calls, calls),
                (Tally::Unseen, calls * (10 + i % 80) / 100),
                (Tally::Passed, ran),
                (Tally::Stall, ran * (50_000 + 1000 * i)),
                (Tally::Cpu, ran * 7_000 * i),
                (Tally::Checks, calls),
                (Tally::Check, calls * 300 * (i % 200)),
                (Tally::Notes, ran),
                (Tally::Note, ran * 20_000),
            ]
        })
        .collect();
    let counts: Vec<&[(Tally, u64)]> = counts.iter().map(Vec::as_slice).collect();
    let run = "20260101T000000.000000Z-1";
    house.tallies(run, PROGRAM, 101, &counts);
    let id = "11".repeat(16);
    for i in 0..400u64 {
        let time = 1_767_225_600_000_000_000 + i * i * 90_000_000_000;
        let payload = format!("{time}\0101\0{id}\0{}\0{}", i % u64::from(count), 1 + i / 50);
        house.event(run, Kind::States, payload.as_bytes());
    }
    house
}

#[test]
fn five_hundred_units_fit() {
    let found = look(&page(&many_units(500)), 1300);
    let figures = found[0]["figures"].as_array().unwrap();
    for figure in &figures[1..] {
        assert!(figure["caption"].as_str().unwrap().contains("24 of 500 units with the "), "{figure}");
    }
    assert_eq!((&figures[1]["bars"], &found[0]["rows"]), (&24.into(), &1000.into()));
}

#[test]
fn a_program_that_did_nothing_has_a_page() {
    let house = House::tested();
    for run in fs::read_dir(house.path(".unseen/runs")).unwrap() {
        for file in fs::read_dir(run.unwrap().path()).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
    }
    house.tallies("20260101T000000.000000Z-1", PROGRAM, 101, &[&[], &[], &[], &[]]);
    let found = look(&page(&house), 1300);
    assert_eq!((&found[0]["figures"][1]["bars"], &found[0]["figures"][2]["bars"]), (&0.into(), &0.into()));
}
