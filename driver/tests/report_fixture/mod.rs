//! A store as instrumented programs leave it, with the sources and binaries it is about.
//!
//! The program: `src/shape.c` and a header `src/clamp.hpp` with a template, which a plug-in uses too; something from
//! a system header; something from a dependency. Two runs, four processes.

#![allow(dead_code, reason = "each test file uses its part")]

use std::ffi::OsStr;
use std::fs;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use object::write::{Object, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use unseen_abi::counters::{COUNTERS_OFFSET, Header, MAGIC, VERSION, file_size};
use unseen_abi::manifest::*;
use unseen_abi::mechanism::Mechanisms;
use unseen_abi::state::{Attached, Attachments, FILE, Kind, Tally, Test};
use unseen_abi::{event, sections, tallies};

/// A project directory with a store in it.
pub struct House {
    dir: tempfile::TempDir,
}

pub const PROGRAM: [u8; 16] = [0x11; 16];
pub const PLUGIN: [u8; 16] = [0x22; 16];

const SHAPE: &str = "\
#include \"clamp.hpp\"

/* Area of a shape; 0 if it is none. */
int area(int kind, int a, int b)
{
\tswitch (kind) {
\tcase 0:
\t\treturn a * a;
\tcase 1:
\t\treturn a * b;
\tdefault:
\t\treturn 0;
\t}
}

static int unused(int x) { return x ? 1 : 2; }

int main(int argc, char **argv)
{
\tint n = clamp(argc, 0, 9);
\tif (n > 5 && argv[1][0] == '<')
\t\treturn unused(n);
\treturn area(n, n, n) > 100;
}
";

const CLAMP: &str = "\
template <class T> T clamp(T x, T low, T high)
{
    if (x < low)
        return low;
    return x > high ? high : x;
}
";

impl House {
    /// A project with sources, two binaries and two runs.
    pub fn new() -> House {
        let house = House::empty();
        fs::create_dir_all(house.path("src")).unwrap();
        fs::write(house.path("src/shape.c"), SHAPE).unwrap();
        fs::write(house.path("src/clamp.hpp"), CLAMP).unwrap();
        house.write_binary("bin/shape", &[house.program()]);
        house.write_binary("bin/plugin.so", &[house.plugin()]);
        house.counters("20260101T000000.000000Z-1", PROGRAM, 101, &[0, 1, 2, 5, 8, 12, 16]);
        house.counters("20260101T000000.000000Z-1", PROGRAM, 102, &[0, 1, 3, 5, 8, 12, 16]);
        house.counters("20260101T000000.000000Z-1", PLUGIN, 102, &[0, 1]);
        house.counters("20260102T000000.000000Z-2", PROGRAM, 101, &[0, 1, 2, 5, 8, 12]);
        house.counters("20260102T000000.000000Z-2", PLUGIN, 300, &[0, 2]);
        house
    }

    /// A directory with nothing in it.
    pub fn empty() -> House {
        House { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(relative)
    }

    fn text(&self, relative: &str) -> String {
        self.path(relative).to_str().unwrap().to_owned()
    }

    /// What the pass says of the program. Counters: 0 main, 1 area, 2..4 arms of the switch, 5 after it,
    /// 6 unused, 7 its arm, 8 clamp<int>, 9 its arm, 10/11 main's decision, 12 the return, 13 other, 16 a header.
    pub fn program(&self) -> Manifest {
        let at = |file, line, column| Place { file, line, column };
        let arm = |label, probes: &[u32]| Arm { label, probes: probes.to_vec() };
        let region = |probes: &[u32], statements: &[(u32, u32)], file| Region {
            probes: probes.to_vec(),
            statements: statements.iter().map(|(l, c)| at(file, *l, *c)).collect(),
        };
        let cover = |entry: &[u32], regions, branches| Some(Cover { entry: entry.to_vec(), regions, branches });
        let instrumented = Outcome::Instrumented(Mechanisms::DEFAULT);
        let function = |name: &str, source: &str, place, outcome: &Outcome, cover| Function {
            name: name.into(),
            source_name: source.into(),
            place,
            outcome: outcome.clone(),
            cover,
        };
        Manifest {
            id: PROGRAM,
            scope: Scope::Program,
            mechanisms: Mechanisms::DEFAULT,
            producer: "unseen 0.1.0, LLVM 22.1.8".into(),
            counters: 17,
            files: vec![
                self.text("src/shape.c"),
                self.text("src/../src/./clamp.hpp"),
                "/usr/include/ctype.h".into(),
                "/home/me/.cargo/registry/src/index/dep-1.0.0/src/lib.rs".into(),
            ],
            functions: vec![
                function(
                    "area",
                    "area",
                    Some(at(0, 4, 0)),
                    &instrumented,
                    cover(
                        &[1],
                        vec![
                            region(&[1], &[(6, 10)], 0),
                            region(&[2], &[(8, 10), (8, 3)], 0),
                            region(&[3], &[(10, 10), (10, 3)], 0),
                            region(&[4], &[(12, 3)], 0),
                            region(&[2, 3, 4], &[(14, 1)], 0),
                        ],
                        vec![Branch {
                            place: at(0, 6, 2),
                            arms: vec![arm(Label::Default, &[4]), arm(Label::Case(0), &[2]), arm(Label::Case(1), &[3])],
                        }],
                    ),
                ),
                function(
                    "unused",
                    "unused",
                    Some(at(0, 16, 0)),
                    &instrumented,
                    cover(
                        &[6],
                        vec![region(&[6], &[(16, 35)], 0), region(&[7], &[(16, 28)], 0)],
                        vec![Branch {
                            place: at(0, 16, 35),
                            arms: vec![arm(Label::True, &[7]), arm(Label::False, &[6])],
                        }],
                    ),
                ),
                function(
                    "main",
                    "main",
                    Some(at(0, 18, 0)),
                    &instrumented,
                    cover(
                        &[0],
                        vec![
                            region(&[0], &[(20, 10), (21, 6)], 0),
                            region(&[10], &[(21, 15)], 0),
                            region(&[11], &[(22, 10)], 0),
                            region(&[12], &[(23, 9), (23, 2)], 0),
                        ],
                        vec![
                            Branch {
                                place: at(0, 21, 12),
                                arms: vec![arm(Label::True, &[10]), arm(Label::False, &[12])],
                            },
                            // What can't be taken is not counted.
                            Branch {
                                place: at(0, 21, 12),
                                arms: vec![arm(Label::True, &[]), arm(Label::False, &[12])],
                            },
                        ],
                    ),
                ),
                function("_Z5clampIiET_S0_S0_S0_", "clamp<int>", Some(at(1, 1, 0)), &instrumented, clamp(1, 8, 9, 12)),
                function(
                    "_ZN3dep6helper17h0123456789abcdefE",
                    "helper",
                    Some(at(3, 7, 0)),
                    &instrumented,
                    cover(&[13], vec![region(&[13], &[(8, 1)], 3)], vec![]),
                ),
                function("isblank", "isblank", Some(at(2, 9, 0)), &Outcome::Left(Reason::Standard), None),
                function("tolower", "tolower", Some(at(2, 5, 0)), &instrumented, cover(&[16], vec![], vec![])),
                function("nowhere", "", None, &instrumented, cover(&[15], vec![], vec![])),
                function("puts", "", None, &Outcome::Left(Reason::External), None),
                function("fast_copy", "", None, &Outcome::Left(Reason::External), None),
                function("memset_inline", "", None, &Outcome::Left(Reason::InlineCopy), None),
                function("__unseen_abi_v1", "", None, &Outcome::Left(Reason::External), None),
            ],
        }
    }

    /// What the pass says of the plug-in: another instance of the template.
    pub fn plugin(&self) -> Manifest {
        Manifest {
            id: PLUGIN,
            counters: 3,
            mechanisms: Mechanisms::DEFAULT,
            files: vec![self.text("src/clamp.hpp")],
            functions: vec![Function {
                name: "_Z5clampIdET_S0_S0_S0_".into(),
                source_name: "clamp<double>".into(),
                place: Some(Place { file: 0, line: 1, column: 0 }),
                outcome: Outcome::Instrumented(Mechanisms::DEFAULT),
                cover: clamp(0, 0, 1, 2),
            }],
            ..Manifest::default()
        }
    }

    /// An ELF file with these manifests, symbols, inputs and declined steps.
    pub fn write_binary(&self, name: &str, manifests: &[Manifest]) {
        self.write_tested_binary(name, manifests, &[]);
    }

    /// The same with tests attached to units.
    pub fn write_tested_binary(&self, name: &str, manifests: &[Manifest], attached: &[Attachments]) {
        let mut elf = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let text = elf.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
        elf.append_section_data(text, &[0x90; 256], 16);
        let mut address = 0;
        let mut symbol = |elf: &mut Object<'_>, name: &str, kind, scope| {
            address += u64::from(kind == SymbolKind::Text);
            let section = if kind == SymbolKind::File { SymbolSection::None } else { SymbolSection::Section(text) };
            elf.add_symbol(Symbol {
                name: name.into(),
                value: address,
                size: 1,
                kind,
                scope,
                weak: false,
                section,
                flags: SymbolFlags::None,
            });
        };
        for (file, names) in [
            ("ld-temp.o", &["unused", "area.cold", "OUTLINED_FUNCTION_0"][..]),
            ("crtstuff.c", &["frame_dummy"]),
            ("unseen_rt.cgu.0", &["_ZN9unseen_rt5cover3map17h0123456789abcdefE", "__unseen_memcpy"]),
        ] {
            elf.add_file_symbol(file.into());
            names.iter().for_each(|n| symbol(&mut elf, n, SymbolKind::Text, SymbolScope::Compilation));
        }
        for name in ["main", "area", "_start", "fast_copy", "__unseen_abi_v1"] {
            symbol(&mut elf, name, SymbolKind::Text, SymbolScope::Dynamic);
        }
        let mut put = |name: &str, content: Vec<u8>| {
            let id = elf.add_section(Vec::new(), name.into(), SectionKind::Metadata);
            elf.set_section_data(id, content, 1);
        };
        put(sections::MANIFEST, manifests.iter().flat_map(Manifest::encode).collect());
        let native = self.text("fast_copy.o");
        put(sections::INPUTS, format!("bitcode a.o\nnative {native}\nflag -O2\n").into_bytes());
        if !attached.is_empty() {
            put(sections::UNITS, attached.iter().flat_map(Attachments::encode).collect());
        }
        put(sections::DECLINED, b"src/asm.s: assembly\0src/old.c: -fno-lto demanded\0".to_vec());
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, elf.write().unwrap()).unwrap();
        let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let text = object.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
        object.append_section_data(text, &[0x90; 4], 16);
        object.add_symbol(Symbol {
            name: b"fast_copy".to_vec(),
            value: 0,
            size: 4,
            kind: SymbolKind::Text,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(text),
            flags: SymbolFlags::None,
        });
        fs::write(native, object.write().unwrap()).unwrap();
    }

    /// Adds a process to a run: these counters of a module are set.
    pub fn counters(&self, run: &str, id: [u8; 16], pid: u32, set: &[usize]) -> PathBuf {
        let (count, binary) = if id == PROGRAM { (17, "bin/shape") } else { (3, "bin/plugin.so") };
        let mut bytes = vec![0; file_size(count) as usize];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        let binary = self.text(binary);
        put(offset_of!(Header, magic), &MAGIC);
        put(offset_of!(Header, version), &VERSION.to_le_bytes());
        put(offset_of!(Header, pid), &pid.to_le_bytes());
        put(offset_of!(Header, path_len), &(binary.len() as u32).to_le_bytes());
        put(offset_of!(Header, id), &id);
        put(offset_of!(Header, counter_count), &count.to_le_bytes());
        put(offset_of!(Header, time), &4_000_000_000_000_000_000u64.to_le_bytes());
        put(offset_of!(Header, path), binary.as_bytes());
        set.iter().for_each(|c| put(COUNTERS_OFFSET + c, &[1]));
        let directory = self.path(".unseen/runs").join(run);
        fs::create_dir_all(&directory).unwrap();
        let file = directory.join(format!("{:02x}{:02x}{:02x}{:02x}-{pid}-1.cov", id[0], id[1], id[2], id[3]));
        fs::write(&file, bytes).unwrap();
        file
    }

    /// A project like [`House::new`] whose program has tests, in two runs: `area` two, which fail in all ways; `clamp<int>` one, which
    /// passes; `main` one that runs at each call and could never be run to its end.
    pub fn tested() -> House {
        let house = House::new();
        let mut program = house.program();
        program.files.push(house.text("src/shape test.cpp"));
        let test = |name: &str, line| Function {
            name: name.into(),
            source_name: String::new(),
            place: Some(Place { file: 4, line, column: 0 }),
            outcome: Outcome::Left(Reason::Standard),
            cover: None,
        };
        let first = program.functions.len() as u32;
        program.functions.extend([
            test("area_is_not_negative", 3),
            test("_ZN4test15area_is_smallerEiii", 9),
            test("clamp_is_between", 14),
            test("main_returns", 20),
        ]);
        let unit = |function, tests: &[u32], opaque: &str| Attached {
            function,
            tests: tests.iter().map(|t| Test { function: first + t, kind: Kind::Before }).collect(),
            opaque: opaque.into(),
            reads: Vec::new(),
        };
        let units = vec![unit(0, &[0, 1], ""), unit(3, &[2], ""), unit(2, &[3], "reads the clock")];
        house.write_tested_binary("bin/shape", &[program], &[Attachments { id: PROGRAM, units }]);
        let (one, two) = ("20260101T000000.000000Z-1", "20260102T000000.000000Z-2");
        use Tally::*;
        let costs = |n: u64| [(Stall, 90_000 * n), (Wall, 400_000 * n), (Cpu, 250_000 * n), (Spent, 360_000 * n)];
        let with = |counts: &[(Tally, u64)], n| [counts, &costs(n)].concat();
        let timed = [(Checks, 100), (Check, 60_000), (Notes, 5), (Note, 10_000)];
        let process = [(Process, 480_000_000)];
        let area =
            [&with(&[(Calls, 100), (Unseen, 6), (Started, 6), (Passed, 3), (Failed, 3)], 6)[..], &timed, &process]
                .concat();
        let smaller =
            with(&[(Calls, 100), (Unseen, 7), (Started, 7), (Passed, 1), (Crashed, 2), (Late, 1), (Hindered, 3)], 7);
        let clamp =
            [&with(&[(Calls, 40), (Unseen, 1), (Started, 1), (Passed, 1), (Skipped, 2), (Spared, 4)], 1)[..], &timed]
                .concat();
        let main = with(&[(Calls, 2), (Untold, 2), (Started, 2), (Hindered, 2)], 2);
        house.tallies(one, PROGRAM, 101, &[&area, &smaller, &clamp, &main]);
        house.tallies(
            two,
            PROGRAM,
            101,
            &[&[(Calls, 60)], &[(Calls, 60)], &[(Calls, 10), (Unseen, 1), (Passed, 1), (Started, 1)], &[]],
        );
        let say = |run, kind, seconds: u64, rest: &str| {
            let time = 1_767_225_600_000_000_000 + seconds * 1_000_000_000;
            house.event(run, kind, format!("{time}\0{rest}").as_bytes());
        };
        let id = "11".repeat(16);
        let failed = |seconds, test, outcome: &str, state: &str, output: &str| {
            let rest = format!("4242\0{id}\0{test}\0{outcome}\0{state}\x000\0{output}");
            say(one, event::Kind::Test, seconds, &rest);
        };
        say(one, event::Kind::RunStart, 0, "/work\0./shape");
        for (seconds, test, states) in [(1, 0, 1), (1, 1, 1), (2, 0, 2), (3, 0, 4), (5, 1, 6), (6, 2, 1)] {
            say(one, event::Kind::States, seconds, &format!("101\0{id}\0{test}\0{states}"));
        }
        failed(2, 0, "fail", "00000000ffffffff", "area(-1) is -1 <&>\n");
        failed(
            3,
            0,
            "fail aborted",
            "0123456789abcdef0123456789abcdef",
            "shape.c:8: Assertion `a >= 0' failed.\n\tat \x1b[1mthree\x1b[0m\n",
        );
        failed(4, 0, "fail", "00000000ffffffff", "area(-1) is -1 <&>\n");
        // This one says all that tests may say.
        let account =
            ["77", "worker <1>", "/gone/shape\n", "0:1100 ?:7f00 ...", "0:1000!", "2a ffffffff", "0:2a000000+"];
        failed(4, 1, "crash signal 11 at 0x9", "0000000000000007", &format!("\0{}", account.join("\0")));
        failed(4, 1, "crash signal 11 at 0x9", "0000000000000008", "");
        failed(5, 1, "timeout", "0000000000000009", "");
        failed(6, 1, "environment asked for socket", "000000000000000a", "");
        failed(6, 3, "environment asked for fork", "", "");
        say(one, event::Kind::RunEnd, 8, "exit 0");
        say(two, event::Kind::RunStart, 86_400, "/work\0./shape");
        say(two, event::Kind::RunEnd, 86_402, "exit 0");
        house
    }

    /// Adds a process to a run: what it counted for each test of a module.
    pub fn tallies(&self, run: &str, id: [u8; 16], pid: u32, tests: &[&[(Tally, u64)]]) {
        let mut bytes = vec![0; FILE.file_size(tests.len() as u32) as usize];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        let binary = self.text("bin/shape");
        put(offset_of!(tallies::Header, magic), &FILE.magic);
        put(offset_of!(tallies::Header, version), &FILE.version.to_le_bytes());
        put(offset_of!(tallies::Header, pid), &pid.to_le_bytes());
        put(offset_of!(tallies::Header, id), &id);
        put(offset_of!(tallies::Header, units), &(tests.len() as u32).to_le_bytes());
        put(offset_of!(tallies::Header, path_len), &(binary.len() as u32).to_le_bytes());
        put(offset_of!(tallies::Header, path), binary.as_bytes());
        for (number, counts) in tests.iter().enumerate() {
            for (tally, n) in *counts {
                put(tallies::START + (number * FILE.words + *tally as usize) * 8, &n.to_le_bytes());
            }
        }
        let directory = self.path(".unseen/runs").join(run);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(format!("{:02x}-{pid}.{}", id[0], FILE.extension)), bytes).unwrap();
    }

    /// Appends an event to a run's log.
    pub fn event(&self, run: &str, kind: event::Kind, payload: &[u8]) {
        let directory = self.path(".unseen/runs").join(run);
        fs::create_dir_all(&directory).unwrap();
        let log = directory.join(event::FILE);
        let mut bytes = fs::read(&log).unwrap_or_default();
        bytes.extend(event::head(kind, payload));
        bytes.extend(payload);
        fs::write(log, bytes).unwrap();
    }

    /// `unseen` in this directory, in an environment of its own.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unseen"));
        command.current_dir(self.path("")).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command
    }

    pub fn unseen<T: AsRef<OsStr>>(&self, args: &[T]) -> Ran {
        Ran::new(self.command().args(args).output().unwrap(), &self.path(""))
    }
}

fn clamp(file: u32, entry: u32, low: u32, high: u32) -> Option<Cover> {
    let at = |line, column| Place { file, line, column };
    Some(Cover {
        entry: vec![entry],
        regions: vec![
            Region { probes: vec![entry], statements: vec![at(3, 9)] },
            Region { probes: vec![low], statements: vec![at(4, 9)] },
            Region { probes: vec![high], statements: vec![at(5, 14), at(5, 5)] },
        ],
        branches: vec![Branch {
            place: at(3, 9),
            arms: vec![Arm { label: Label::True, probes: vec![low] }, Arm { label: Label::False, probes: vec![high] }],
        }],
    })
}

/// How a command ended; paths of the temporary directory are `$DIR`.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    fn new(output: Output, dir: &Path) -> Ran {
        let dir = dir.to_str().unwrap().trim_end_matches('/').to_owned();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace(&dir, "$DIR");
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Asserts success and silence on standard error.
    #[track_caller]
    pub fn fine(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self.out
    }
}

/// Compares with `testdata/reports/<name>`; `UNSEEN_BLESS=1` rewrites it.
#[track_caller]
pub fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/reports").join(name);
    if std::env::var_os("UNSEEN_BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} differs (UNSEEN_BLESS=1 rewrites it):\n{text}");
}
