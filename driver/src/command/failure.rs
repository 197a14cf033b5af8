//! What a command says when it can't do its work: what happened, and what to do next.

use std::fmt::Display;
use std::process::ExitCode;

/// What a command returns.
pub type Outcome = Result<ExitCode, Failure>;

/// Exit code for findings (below a threshold, uncovered, ...).
pub const FINDINGS: u8 = 1;
/// Exit code for a wrong call: unknown options, keys, names.
pub const USAGE: u8 = 2;
/// Exit code for what is wrong around us: missing tools, unreadable files, a full disk.
pub const ENVIRONMENT: u8 = 3;

/// A failure with its exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    what: String,
    next: Option<String>,
}

impl Failure {
    /// The user called us wrongly.
    pub fn usage(what: impl Display) -> Failure {
        Failure { code: USAGE, what: what.to_string(), next: None }
    }

    /// Something around us is wrong.
    pub fn environment(what: impl Display) -> Failure {
        Failure { code: ENVIRONMENT, what: what.to_string(), next: None }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn next(mut self, next: impl Display) -> Failure {
        self.next = Some(next.to_string());
        self
    }

    /// What happened.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do next.
    pub fn advice(&self) -> Option<&str> {
        self.next.as_deref()
    }

    /// Prints to standard error and gives the exit code.
    pub fn print(self) -> ExitCode {
        self.print_as("unseen")
    }

    /// The same in the name of one of our other tools.
    pub fn print_as(self, tool: &str) -> ExitCode {
        eprintln!("{tool}: error: {}", self.what);
        if let Some(next) = self.next {
            eprintln!("{tool}: {next}");
        }
        ExitCode::from(self.code)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.what)?;
        self.next.as_ref().map_or(Ok(()), |next| write!(f, " ({next})"))
    }
}
