//! What can become of a test.

use super::account::Account;
use super::calls;
use crate::text::Text;

/// What became of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Pass,
    Fail(Fail),
    /// It died; `address` is what it touched, where that is known.
    Crash {
        signal: u32,
        address: Option<u64>,
    },
    /// It took too long: by the clock, or of the processor.
    Timeout,
    /// It could not be run to its end, which says nothing about it.
    Environment(Reason),
}

/// How a test failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fail {
    /// It says so.
    Verdict,
    /// It ended the process.
    Exited(u32),
    /// Of two copies that were to do the same one did something else.
    Differs,
}

/// Why a test could not be run to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// It asked for a system call that could reach out; [`UNKNOWN`] where that could not be found out.
    Call(u32),
    /// It used a descriptor of the program's that leads out: a socket, a pipe, a terminal.
    Descriptor(u32),
    /// It wanted to change a file outside its directory, by this system call.
    Write(u32),
    /// It wanted to open what is no plain file, by this system call.
    Device(u32),
    /// It waits for a lock that nobody will ever unlock.
    Lock,
    /// It touched memory that the program has, but that no fork copies (`MADV_DONTFORK`).
    NotCopied,
    /// It used up the memory that it may have.
    Memory,
    /// It wrote more than it may.
    FileSize,
    /// Somebody else killed it, by this signal.
    Killed(u32),
    /// The program shares more memory than can be copied.
    SharedMemory,
    /// The program shares memory with a device.
    SharedDevice,
    /// The program has more descriptors than can be dealt with.
    Descriptors,
    /// There is no `/proc`, by which to find out what the program has.
    NoProc,
    /// The kernel has no Landlock for us.
    NoLandlock,
    /// The kernel has no seccomp for us.
    NoSeccomp,
    /// A step of setting up failed.
    Setup(u32),
    /// The supervisor was killed.
    Supervisor,
    /// It needed memory that was left out of the fork: a projection miss. The address is 0 where that is not known.
    Outside(u64),
}

/// No system call.
pub const UNKNOWN: u32 = u32::MAX;

impl Reason {
    /// A number for it, and one for its details.
    pub(super) fn encode(self) -> (u64, u64) {
        match self {
            Reason::Call(n) => (1, n.into()),
            Reason::Descriptor(n) => (2, n.into()),
            Reason::Write(n) => (3, n.into()),
            Reason::Device(n) => (4, n.into()),
            Reason::Lock => (5, 0),
            Reason::Memory => (6, 0),
            Reason::FileSize => (7, 0),
            Reason::Killed(n) => (8, n.into()),
            Reason::SharedMemory => (9, 0),
            Reason::SharedDevice => (10, 0),
            Reason::Descriptors => (11, 0),
            Reason::NoProc => (12, 0),
            Reason::NoLandlock => (13, 0),
            Reason::NoSeccomp => (14, 0),
            Reason::Setup(n) => (15, n.into()),
            Reason::Supervisor => (16, 0),
            Reason::NotCopied => (17, 0),
            Reason::Outside(address) => (18, address),
        }
    }

    pub(super) fn decode(code: u64, detail: u64) -> Reason {
        let n = detail as u32;
        match code {
            1 => Reason::Call(n),
            2 => Reason::Descriptor(n),
            3 => Reason::Write(n),
            4 => Reason::Device(n),
            5 => Reason::Lock,
            6 => Reason::Memory,
            7 => Reason::FileSize,
            8 => Reason::Killed(n),
            9 => Reason::SharedMemory,
            10 => Reason::SharedDevice,
            11 => Reason::Descriptors,
            12 => Reason::NoProc,
            13 => Reason::NoLandlock,
            14 => Reason::NoSeccomp,
            16 => Reason::Supervisor,
            17 => Reason::NotCopied,
            18 => Reason::Outside(detail),
            _ => Reason::Setup(n),
        }
    }

    /// Says it in words.
    pub fn describe<'a>(self, text: Text<'a>) -> Text<'a> {
        let call = |text: Text<'a>, n: u32| match calls::name(n) {
            Some(name) => text.bytes(name.as_bytes()),
            None if n == UNKNOWN => text.bytes(b"a system call, in a handler that blocks all signals"),
            None => text.bytes(b"system call ").decimal(n.into()),
        };
        match self {
            Reason::Call(n) => call(text.bytes(b"asked for "), n),
            Reason::Descriptor(n) => text.bytes(b"used the program's descriptor ").decimal(n.into()),
            Reason::Write(n) => call(text.bytes(b"wanted to change a file outside its directory: "), n),
            Reason::Device(n) => call(text.bytes(b"wanted to open what is no plain file: "), n),
            Reason::Lock => text.bytes(b"waits for a lock that another thread of the program held"),
            Reason::NotCopied => text.bytes(b"touched memory of the program that is not copied by a fork"),
            Reason::Memory => text.bytes(b"used up its memory"),
            Reason::FileSize => text.bytes(b"wrote more than it may"),
            Reason::Killed(n) => text.bytes(b"killed from outside by signal ").decimal(n.into()),
            Reason::SharedMemory => text.bytes(b"the program shares too much memory to copy"),
            Reason::SharedDevice => text.bytes(b"the program shares memory with a device"),
            Reason::Descriptors => text.bytes(b"the program has too many descriptors"),
            Reason::NoProc => text.bytes(b"no /proc"),
            Reason::NoLandlock => text.bytes(b"the kernel has no Landlock; UNSEEN_SANDBOX=best does without"),
            Reason::NoSeccomp => text.bytes(b"the kernel has no seccomp; UNSEEN_SANDBOX=best may do without"),
            Reason::Setup(n) => text.bytes(b"could not be set up: errno ").decimal(n.into()),
            Reason::Supervisor => text.bytes(b"its supervisor was killed"),
            Reason::Outside(0) => text.bytes(b"needed memory outside its set; the next fork has all of it"),
            Reason::Outside(address) => {
                let text = text.bytes(b"touched memory outside its set, at 0x").hex(address);
                text.bytes(b"; the next fork has all of it")
            }
        }
    }
}

/// Which protections a test was run without: a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Missing(pub u32);

impl Missing {
    /// Landlock: seccomp alone keeps files from being written.
    pub const LANDLOCK: Missing = Missing(1);
    /// seccomp: what the program's descriptors lead to can't be told from other errors, and system calls that Landlock does not
    /// know may reach out.
    pub const SECCOMP: Missing = Missing(2);
    /// What it wrote to standard output and error is lost.
    pub const OUTPUT: Missing = Missing(4);
    /// It had no directory to write in.
    pub const DIRECTORY: Missing = Missing(8);

    pub fn with(self, other: Missing) -> Missing {
        Missing(self.0 | other.0)
    }

    pub fn has(self, other: Missing) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What is known of a test when it is over.
pub struct Report<'a> {
    pub outcome: Outcome,
    /// The number that the [`Job`](super::Job) has.
    pub test: u32,
    /// From the fork to the end.
    pub wall_ns: u64,
    /// Of the processor.
    pub cpu_ns: u64,
    /// So long the program's thread stood still.
    pub stall_ns: u64,
    /// CPU time of the supervisor.
    pub own_ns: u64,
    /// What a test that passed told with [`leave_with`](super::leave_with).
    pub told: [u64; 2],
    /// So many bytes of memory the fork left out.
    pub left_out: u64,
    /// The end of what it wrote to standard output and error.
    pub output: &'a [u8],
    pub missing: Missing,
    /// The id of the program's thread that was copied, and its name.
    pub thread: u32,
    pub thread_name: &'a [u8],
    /// What it says of how it ended.
    pub account: Account<'a>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_survives_the_way_to_the_supervisor() {
        for code in 1..=18 {
            let reason = Reason::decode(code, 7);
            let (again, detail) = reason.encode();
            assert_eq!((again, Reason::decode(again, detail)), (code, reason));
        }
    }

    #[test]
    fn a_reason_names_what_was_asked_for() {
        let mut buffer = [0; 100];
        let say = |reason: Reason, buffer: &mut [u8]| {
            String::from_utf8(reason.describe(Text::new(buffer)).finish().unwrap().to_vec()).unwrap()
        };
        assert_eq!(say(Reason::Call(linux_raw_sys::general::__NR_socket), &mut buffer), "asked for socket");
        assert_eq!(say(Reason::Call(9999), &mut buffer), "asked for system call 9999");
    }
}
