//! The ways of instrumenting a program. A capability uses mechanisms; it never instruments by itself.

/// One way of instrumenting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u32)]
pub enum Mechanism {
    /// Edge and statement coverage.
    Cover = 1 << 0,
    /// Dependency sets.
    State = 1 << 1,
    /// Every read and write of memory; brings the sets along.
    Access = 1 << 2,
}

impl Mechanism {
    /// All mechanisms, in the order in which they are listed to people.
    pub const ALL: [Mechanism; 3] = [Mechanism::State, Mechanism::Access, Mechanism::Cover];

    /// The name used in flags, configuration and output.
    pub const fn name(self) -> &'static str {
        match self {
            Mechanism::Cover => "cover",
            Mechanism::State => "state",
            Mechanism::Access => "access",
        }
    }

    /// The mechanism of that name.
    pub fn from_name(name: &str) -> Option<Mechanism> {
        Mechanism::ALL.into_iter().find(|m| m.name() == name)
    }
}

/// A set of mechanisms, as it stands in module records and manifests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct Mechanisms(pub u32);

/// What stands in a list's place if nobody has chosen: [`Mechanisms::DEFAULT`], and `state` in a program with tests.
pub const NO_CHOICE: &str = "default";

impl Mechanisms {
    /// What is built in without a choice, and without tests.
    pub const DEFAULT: Mechanisms = Mechanisms(Mechanism::Cover as u32);

    /// Whether `m` is in the set.
    pub const fn has(self, m: Mechanism) -> bool {
        self.0 & m as u32 != 0
    }

    /// The set with `m` added.
    #[must_use]
    pub const fn with(self, m: Mechanism) -> Mechanisms {
        Mechanisms(self.0 | m as u32)
    }

    /// The members, in the order of [`Mechanism::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Mechanism> {
        Mechanism::ALL.into_iter().filter(move |m| self.has(*m))
    }

    /// Parses `state,cover`; the empty string and `none` are the empty set. The error is the unknown name.
    pub fn parse(list: &str) -> Result<Mechanisms, &str> {
        let mut set = Mechanisms::default();
        for name in list.split(',').map(str::trim) {
            match name {
                "" | "none" => {}
                _ => set = set.with(Mechanism::from_name(name).ok_or(name)?),
            }
        }
        Ok(set)
    }
}
