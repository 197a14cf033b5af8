//! The manifest: what the pass did to each function of a program, or why not, and how its counters map to
//! source. Written by the pass into the section [`crate::sections::MANIFEST`], read by the driver.
//!
//! Encoding: [`crate::records`], with the fields in the order of the structs.

use crate::codec::{Damaged, Reader, Writer};
use crate::mechanism::Mechanisms;
use crate::records::{Error, Form};

/// How manifests are written.
pub const FORM: Form = Form { what: "manifest", magic: *b"UNSEENMF", version: 1 };

/// What the pass says about one module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Manifest {
    /// Hash of everything below; the same as in the module's record and counter files.
    pub id: [u8; 16],
    /// Whether the pass saw the whole program or one translation unit.
    pub scope: Scope,
    /// What was asked for.
    pub mechanisms: Mechanisms,
    /// Versions of Unseen and LLVM.
    pub producer: String,
    /// Number of coverage counters.
    pub counters: u32,
    /// Source files, absolute where debug info says so.
    pub files: Vec<String>,
    /// Every function of the module, defined or called.
    pub functions: Vec<Function>,
}

/// How much the pass saw at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scope {
    /// Everything that was linked from bitcode.
    #[default]
    Program,
    /// One translation unit (no link-time optimisation).
    TranslationUnit,
}

/// One function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// The linker's name.
    pub name: String,
    /// The name in the source, without scopes; empty without debug info.
    pub source_name: String,
    /// Where it is defined.
    pub place: Option<Place>,
    /// What was done.
    pub outcome: Outcome,
    /// How its coverage is read, if it has any.
    pub cover: Option<Cover>,
}

/// A position in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Index into [`Manifest::files`].
    pub file: u32,
    /// From 1.
    pub line: u32,
    /// From 1; 0 where unknown.
    pub column: u32,
}

/// What was done to a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Instrumented by these mechanisms.
    Instrumented(Mechanisms),
    /// Left alone.
    Left(Reason),
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        /// Why a function was left alone.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Reason { $($(#[$doc])* $name),* }

        impl Reason {
            /// All reasons.
            pub const ALL: &[Reason] = &[$(Reason::$name),*];

            /// For people.
            pub fn text(self) -> &'static str {
                match self { $(Reason::$name => $text),* }
            }
        }
    };
}

reasons! {
    /// Only declared: its code is elsewhere.
    External "external";
    /// A copy for inlining of a function that is defined elsewhere.
    InlineCopy "available externally";
    /// No prologue: nothing may be added.
    Naked "naked";
    /// An attribute in the source asks for it.
    Attribute "excluded by attribute";
    /// The configuration asks for it.
    Configured "excluded by configuration";
    /// Part of the language's own library.
    Standard "standard library";
    /// No mechanism was asked for.
    NoMechanism "no mechanism chosen";
}

/// How the coverage of a function is read off the counters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cover {
    /// Reached if the function was entered.
    pub entry: Probes,
    /// Statements with the counters that tell of them. A statement may stand in several regions.
    pub regions: Vec<Region>,
    /// Two- and many-way decisions of the source.
    pub branches: Vec<Branch>,
}

/// Counters of which any one being set means "reached". Empty: can't be reached.
pub type Probes = Vec<u32>;

/// Statements that are always reached together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// Their counters.
    pub probes: Probes,
    /// Distinct source locations that carry code.
    pub statements: Vec<Place>,
}

/// A decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    /// Where it is taken.
    pub place: Place,
    /// The ways out, in the order of the terminator.
    pub arms: Vec<Arm>,
}

/// One way out of a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arm {
    /// When it is taken.
    pub label: Label,
    /// Its counters.
    pub probes: Probes,
}

/// When an arm is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Label {
    /// The condition holds.
    True,
    /// It does not.
    False,
    /// The switch has this value (as a signed number).
    Case(i64),
    /// No case has it.
    Default,
}

impl Manifest {
    /// The bytes for the section. `id` is written as it stands.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer(Vec::new());
        w.0.extend(self.id);
        w.body(self);
        FORM.frame(w)
    }

    /// Everything but the id, for hashing.
    pub fn content(&self) -> Vec<u8> {
        let mut w = Writer(Vec::new());
        w.body(self);
        w.0
    }

    /// All manifests of a section.
    pub fn decode_all(bytes: &[u8]) -> Result<Vec<Manifest>, Error> {
        FORM.read_all(bytes, Reader::manifest)
    }
}

impl Writer {
    pub(crate) fn place(&mut self, p: &Place) {
        self.int(u64::from(p.file));
        self.int(u64::from(p.line));
        self.int(u64::from(p.column));
    }

    fn probes(&mut self, probes: &Probes) {
        self.list(probes, |w, p| w.int(u64::from(*p)));
    }

    fn body(&mut self, m: &Manifest) {
        self.int(m.scope as u64);
        self.int(u64::from(m.mechanisms.0));
        self.text(&m.producer);
        self.int(u64::from(m.counters));
        self.list(&m.files, |w, f| w.text(f));
        self.list(&m.functions, Writer::function);
    }

    fn function(&mut self, f: &Function) {
        self.text(&f.name);
        self.text(&f.source_name);
        self.list(f.place.as_slice(), Writer::place);
        match f.outcome {
            Outcome::Instrumented(m) => {
                self.int(0);
                self.int(u64::from(m.0));
            }
            Outcome::Left(reason) => self.int(1 + reason as u64),
        }
        self.list(f.cover.as_slice(), |w, c| {
            w.probes(&c.entry);
            w.list(&c.regions, |w, r| {
                w.probes(&r.probes);
                w.list(&r.statements, Writer::place);
            });
            w.list(&c.branches, |w, b| {
                w.place(&b.place);
                w.list(&b.arms, |w, a| {
                    match a.label {
                        Label::True => w.int(0),
                        Label::False => w.int(1),
                        Label::Default => w.int(2),
                        Label::Case(v) => {
                            w.int(3);
                            w.signed(v);
                        }
                    }
                    w.probes(&a.probes);
                });
            });
        });
    }
}

impl Reader<'_> {
    pub(crate) fn place(&mut self) -> Result<Place, Damaged> {
        Ok(Place { file: self.int32()?, line: self.int32()?, column: self.int32()? })
    }

    fn probes(&mut self) -> Result<Probes, Damaged> {
        self.list(Reader::int32)
    }

    fn manifest(&mut self) -> Result<Manifest, Damaged> {
        Ok(Manifest {
            id: self.array()?,
            scope: match self.int()? {
                0 => Scope::Program,
                1 => Scope::TranslationUnit,
                _ => return Err(Damaged),
            },
            mechanisms: Mechanisms(self.int32()?),
            producer: self.text()?,
            counters: self.int32()?,
            files: self.list(Reader::text)?,
            functions: self.list(Reader::function)?,
        })
    }

    fn function(&mut self) -> Result<Function, Damaged> {
        Ok(Function {
            name: self.text()?,
            source_name: self.text()?,
            place: self.optional(Reader::place)?,
            outcome: match self.int()? {
                0 => Outcome::Instrumented(Mechanisms(self.int32()?)),
                n => Outcome::Left(*Reason::ALL.get(n as usize - 1).ok_or(Damaged)?),
            },
            cover: self.optional(|r| {
                Ok(Cover {
                    entry: r.probes()?,
                    regions: r.list(|r| Ok(Region { probes: r.probes()?, statements: r.list(Reader::place)? }))?,
                    branches: r.list(|r| Ok(Branch { place: r.place()?, arms: r.list(Reader::arm)? }))?,
                })
            })?,
        })
    }

    fn arm(&mut self) -> Result<Arm, Damaged> {
        let label = match self.int()? {
            0 => Label::True,
            1 => Label::False,
            2 => Label::Default,
            3 => Label::Case(self.signed()?),
            _ => return Err(Damaged),
        };
        Ok(Arm { label, probes: self.probes()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Fault;

    fn sample() -> Manifest {
        let place = Place { file: 0, line: 3, column: 300 };
        Manifest {
            id: [7; 16],
            scope: Scope::TranslationUnit,
            mechanisms: Mechanisms::DEFAULT,
            producer: "unseen".into(),
            counters: 3,
            files: vec!["/a/b.c".into()],
            functions: vec![
                Function {
                    name: "f".into(),
                    source_name: "f".into(),
                    place: Some(place),
                    outcome: Outcome::Instrumented(Mechanisms::DEFAULT),
                    cover: Some(Cover {
                        entry: vec![1, 2],
                        regions: vec![Region { probes: vec![0], statements: vec![place] }],
                        branches: vec![Branch {
                            place,
                            arms: vec![
                                Arm { label: Label::Case(-5), probes: vec![1] },
                                Arm { label: Label::Case(i64::MIN), probes: vec![] },
                                Arm { label: Label::Default, probes: vec![2] },
                            ],
                        }],
                    }),
                },
                Function {
                    name: "puts".into(),
                    source_name: String::new(),
                    place: None,
                    outcome: Outcome::Left(Reason::External),
                    cover: None,
                },
            ],
        }
    }

    #[test]
    fn several_manifests_with_padding_come_back() {
        let one = sample().encode();
        let both = [&one[..], &[0, 0, 0], &one].concat();
        assert_eq!(Manifest::decode_all(&both), Ok(vec![sample(), sample()]));
    }

    #[test]
    fn every_truncation_is_an_error_not_a_panic() {
        let one = sample().encode();
        for cut in 1..one.len() {
            assert!(Manifest::decode_all(&one[..cut]).is_err(), "cut {cut}");
        }
    }

    #[test]
    fn every_flipped_byte_is_read_or_refused() {
        let one = sample().encode();
        for i in 0..one.len() {
            for bit in 0..8 {
                let mut bytes = one.clone();
                bytes[i] ^= 1 << bit;
                let _ = Manifest::decode_all(&bytes);
            }
        }
    }

    #[test]
    fn newer_versions_are_refused_by_number() {
        let mut one = sample().encode();
        one[8] = 2;
        assert_eq!(
            Manifest::decode_all(&one),
            Err(Error { what: "manifest", fault: Fault::Newer { version: 2, known: 1 } })
        );
    }
}
