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
use unseen_abi::{event, sections};

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
