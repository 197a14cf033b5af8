//! The seccomp filter of a test: made for it, because it knows the test's id and the program's descriptors.
//!
//! In: [`Facts`], and the lists in [`calls`]. Out: a program for the kernel. What it refuses is told to [`super::trap`] with a [`Why`].

use super::calls;
use super::descriptors::{Dead, TOLD_APART};
use super::kernel;
use crate::arch;
use crate::sys::{Errno, Result};
use linux_raw_sys::general as k;
use linux_raw_sys::{errno, prctl, ptrace};

/// What the filter depends on.
pub struct Facts<'a> {
    /// The test's own id.
    pub process: u32,
    /// The id of the program's thread, which libc takes for the test's.
    pub thread: u32,
    /// Where the handler makes system calls.
    pub gate: usize,
    pub dead: &'a Dead,
    /// Whether it lacks memory of the program's, and what that leads to must come to our handler.
    pub is_projected: bool,
}

/// Why a system call was not made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Why {
    Refused = 1,
    Descriptor = 2,
    /// It is for the handler to make it.
    Path = 3,
    /// A signal to the program's thread, meant for the test.
    Signal = 4,
    /// A change of what is blocked: the handler sees to it that it can always be reached.
    Mask = 5,
    /// A handler for what tells us that memory is missing.
    Fault = 6,
    /// A change of memory, which may be missing: else the handler makes it.
    Memory = 7,
}

/// One instruction: what to do, how far to jump if true and if false, a number.
#[derive(Clone, Copy)]
#[repr(C)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    number: u32,
}

const LOAD: u16 = 0x20;
const LOAD_NUMBER: u16 = 0x00;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const HAS_BITS: u16 = 0x45;
const JUMP: u16 = 0x05;
const RETURN: u16 = 0x06;
const AND: u16 = 0x54;
const SHIFT: u16 = 0x74;
const SHIFT_BY_X: u16 = 0x7c;
const STORE: u16 = 0x02;
const LOAD_STORED: u16 = 0x60;
const TO_X: u16 = 0x07;

const ALLOW: u32 = ptrace::SECCOMP_RET_ALLOW;

fn trap(why: Why) -> u32 {
    ptrace::SECCOMP_RET_TRAP | why as u32
}

/// Places in what the filter looks at.
const CALL: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ADDRESS: u32 = 8;
fn argument(n: usize) -> u32 {
    16 + 8 * n as u32
}

const MOST: usize = 1024;

/// A filter.
pub struct Filter {
    code: [Instruction; MOST],
    length: usize,
    /// Where a descriptor was loaded of which is to be said whether it is dead; 0 is none.
    questions: [usize; 8],
}

impl Filter {
    pub fn new(facts: &Facts<'_>) -> Filter {
        let nothing = Instruction { code: RETURN, if_true: 0, if_false: 0, number: trap(Why::Refused) };
        let mut filter = Filter { code: [nothing; MOST], length: 0, questions: [0; 8] };
        filter.write(facts);
        filter
    }

    fn write(&mut self, facts: &Facts<'_>) {
        self.push(LOAD, ARCHITECTURE);
        self.branch(EQUAL, arch::AUDIT, 1, 0);
        self.push(RETURN, trap(Why::Refused));
        self.push(LOAD, CALL);
        // No call has such a number, but for the second set of calls that x86-64 has.
        self.branch(AT_LEAST, 0x4000_0000, 0, 1);
        self.push(RETURN, trap(Why::Refused));
        if facts.is_projected {
            self.group(calls::MEMORY, |filter| {
                filter.if_at_gate(facts.gate);
                filter.push(RETURN, trap(Why::Memory));
            });
        }
        // First what needs no look at arguments: the kernel remembers those.
        for list in [calls::ALLOWED, calls::ALLOWED_OF_OLD] {
            self.group(list, |filter| filter.push(RETURN, ALLOW));
        }
        self.group(&[k::__NR_clone3], |filter| {
            // Its flags can't be seen. Whoever finds it missing takes clone.
            filter.push(RETURN, ptrace::SECCOMP_RET_ERRNO | errno::ENOSYS);
        });
        for list in [calls::BY_DESCRIPTOR, calls::BY_DESCRIPTOR_OF_OLD] {
            self.group(list, |filter| filter.unless_dead(0));
        }
        self.if_at_gate(facts.gate);
        self.push(LOAD, CALL);
        for list in [calls::BY_PATH, calls::BY_PATH_OF_OLD] {
            self.group(list, |filter| filter.push(RETURN, trap(Why::Path)));
        }
        self.write_by_argument(facts);
        self.push(RETURN, trap(Why::Refused));
        self.write_dead(facts.dead);
    }

    fn write_by_argument(&mut self, facts: &Facts<'_>) {
        let (process, thread) = (facts.process, facts.thread);
        self.group(&[k::__NR_mmap], |filter| {
            filter.push(LOAD, argument(3));
            filter.branch(HAS_BITS, k::MAP_ANONYMOUS, 0, 1);
            filter.push(RETURN, ALLOW);
            filter.unless_dead(4);
        });
        self.group(&[k::__NR_fcntl], |filter| {
            let harmless = [k::F_DUPFD, k::F_GETFD, k::F_SETFD, k::F_GETFL, k::F_SETFL, k::F_DUPFD_CLOEXEC];
            filter.push(LOAD, argument(1));
            filter.group(&harmless, |filter| filter.unless_dead(0));
            filter.group(&[k::F_GET_SEALS, k::F_ADD_SEALS], |filter| filter.unless_dead(0));
            filter.push(RETURN, trap(Why::Refused));
        });
        // TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: also for dead ones, which are no terminals.
        self.only_if(k::__NR_ioctl, 1, &[0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451]);
        self.group(&[k::__NR_rt_sigprocmask], |filter| filter.push(RETURN, trap(Why::Mask)));
        self.group(&[k::__NR_rt_sigaction], |filter| {
            filter.push(LOAD, argument(0));
            filter.branch(EQUAL, k::SIGSYS, 0, 1);
            filter.push(RETURN, trap(Why::Refused));
            if facts.is_projected {
                filter.branch(EQUAL, k::SIGSEGV, 0, 1);
                filter.push(RETURN, trap(Why::Fault));
            }
            filter.push(RETURN, ALLOW);
        });
        self.group(&[k::__NR_clone], |filter| {
            filter.push(LOAD, argument(0));
            filter.branch(HAS_BITS, k::CLONE_THREAD, 0, 1);
            filter.push(RETURN, ALLOW);
            filter.push(RETURN, trap(Why::Refused));
        });
        // Its own memory, for whoever does not know whether it is there.
        for call in [k::__NR_kill, k::__NR_rt_sigqueueinfo, k::__NR_process_vm_readv] {
            self.only_if(call, 0, &[process]);
        }
        self.group(&[k::__NR_tkill], |filter| {
            filter.push(LOAD, argument(0));
            filter.group(&[thread], |filter| filter.push(RETURN, trap(Why::Signal)));
            filter.branch(EQUAL, process, 0, 1);
            filter.push(RETURN, ALLOW);
            filter.push(RETURN, trap(Why::Refused));
        });
        for call in [k::__NR_tgkill, k::__NR_rt_tgsigqueueinfo] {
            self.group(&[call], |filter| {
                filter.push(LOAD, argument(0));
                filter.branch(EQUAL, process, 1, 0);
                filter.push(RETURN, trap(Why::Refused));
                filter.push(LOAD, argument(1));
                filter.branch(EQUAL, thread, 0, 1);
                filter.push(RETURN, trap(Why::Signal));
                filter.push(RETURN, ALLOW);
            });
        }
        self.only_if(k::__NR_sched_setaffinity, 0, &[0, process]);
        self.group(&[k::__NR_prlimit64], |filter| {
            for (place, allowed) in [(argument(0), [0, process]), (argument(2), [0, 0]), (argument(2) + 4, [0, 0])] {
                filter.push(LOAD, place);
                let [first, second] = allowed;
                filter.branch(EQUAL, first, 2, 0);
                filter.branch(EQUAL, second, 1, 0);
                filter.push(RETURN, trap(Why::Refused));
            }
            filter.push(RETURN, ALLOW);
        });
        self.only_if(
            k::__NR_prctl,
            0,
            &[
                prctl::PR_SET_NAME,
                prctl::PR_GET_NAME,
                prctl::PR_GET_DUMPABLE,
                prctl::PR_GET_PDEATHSIG,
                prctl::PR_GET_SECCOMP,
                prctl::PR_GET_NO_NEW_PRIVS,
                prctl::PR_SET_NO_NEW_PRIVS,
                prctl::PR_CAPBSET_READ,
                prctl::PR_SET_TIMERSLACK,
                prctl::PR_GET_TIMERSLACK,
                prctl::PR_SET_VMA,
            ],
        );
        for list in [calls::WAITING, calls::WAITING_OF_OLD] {
            for (call, count) in list {
                self.only_if(*call, *count, &[0]);
            }
        }
    }

    /// Allows what our handler makes.
    fn if_at_gate(&mut self, gate: usize) {
        self.push(LOAD, ADDRESS);
        self.branch(EQUAL, gate as u32, 0, 3);
        self.push(LOAD, ADDRESS + 4);
        self.branch(EQUAL, (gate >> 32) as u32, 0, 1);
        self.push(RETURN, ALLOW);
    }

    /// Allows a call if an argument has one of the values.
    fn only_if(&mut self, call: u32, number: usize, values: &[u32]) {
        self.group(&[call], |filter| {
            filter.push(LOAD, argument(number));
            filter.group(values, |filter| filter.push(RETURN, ALLOW));
            filter.push(RETURN, trap(Why::Refused));
        });
    }

    /// Allows the call unless that argument is a dead descriptor.
    fn unless_dead(&mut self, number: usize) {
        self.push(LOAD, argument(number));
        match self.questions.iter_mut().find(|place| **place == 0) {
            Some(place) => *place = self.length,
            // Too long to be installed.
            None => self.length = MOST,
        }
        self.push(JUMP, 0);
    }

    /// Answers all questions for dead descriptors.
    fn write_dead(&mut self, dead: &Dead) {
        for place in self.questions.iter().filter(|place| **place != 0) {
            if let Some(jump) = self.code.get_mut(*place) {
                jump.number = self.length.saturating_sub(place + 1) as u32;
            }
        }
        // None, or the working directory.
        self.branch(AT_LEAST, 0x8000_0000, 0, 1);
        self.push(RETURN, ALLOW);
        self.branch(AT_LEAST, TOLD_APART as u32, 0, 1);
        self.push(RETURN, if dead.beyond { trap(Why::Descriptor) } else { ALLOW });
        self.push(STORE, 0);
        self.push(AND, 31);
        self.push(TO_X, 0);
        self.push(LOAD_STORED, 0);
        self.push(SHIFT, 5);
        for (n, word) in (0..).zip(dead.words).filter(|(_, word)| *word != 0) {
            self.group(&[n], |filter| {
                filter.push(LOAD_NUMBER, word);
                filter.push(SHIFT_BY_X, 0);
                filter.branch(HAS_BITS, 1, 0, 1);
                filter.push(RETURN, trap(Why::Descriptor));
                filter.push(RETURN, ALLOW);
            });
        }
        self.push(RETURN, ALLOW);
    }

    /// If what was loaded last is in the list, what `body` writes is done, which must return. At most 255 are in a list.
    fn group(&mut self, list: &[u32], body: impl FnOnce(&mut Filter)) {
        for (i, number) in list.iter().enumerate() {
            // Over the rest of the list and the jump that follows.
            self.branch(EQUAL, *number, (list.len() - i) as u8, 0);
        }
        let jump = self.length;
        self.push(JUMP, 0);
        body(self);
        let length = self.length.saturating_sub(jump + 1) as u32;
        if let Some(jump) = self.code.get_mut(jump) {
            jump.number = length;
        }
    }

    fn push(&mut self, code: u16, number: u32) {
        self.write_instruction(Instruction { code, if_true: 0, if_false: 0, number });
    }

    fn branch(&mut self, code: u16, number: u32, if_true: u8, if_false: u8) {
        self.write_instruction(Instruction { code, if_true, if_false, number });
    }

    fn write_instruction(&mut self, instruction: Instruction) {
        if let Some(place) = self.code.get_mut(self.length) {
            *place = instruction;
        }
        // One that does not fit makes the filter too long to be installed.
        self.length += 1;
    }

    /// From now on it holds for this process.
    pub fn install(&self) -> Result<()> {
        if self.length >= MOST {
            return Err(Errno::TOO_BIG);
        }
        #[repr(C)]
        struct Program {
            length: u16,
            code: *const Instruction,
        }
        let program = Program { length: self.length as u16, code: self.code.as_ptr() };
        let at = (&raw const program).addr();
        let mode = ptrace::SECCOMP_SET_MODE_FILTER as usize;
        // As fast as without it: by itself it would turn on mitigations that are not for this. The kernel reads the program and
        // its code.
        let flags = ptrace::SECCOMP_FILTER_FLAG_SPEC_ALLOW as usize;
        kernel::plain(k::__NR_seccomp, [mode, flags, at, 0, 0])
            .or_else(|_| {
                let mode = ptrace::SECCOMP_MODE_FILTER as usize;
                kernel::plain(k::__NR_prctl, [prctl::PR_SET_SECCOMP as usize, mode, at, 0, 0])
            })
            .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would say.
    fn run(filter: &Filter, call: u32, address: usize, arguments: &[(usize, u64)]) -> u32 {
        let mut data = [0_u32; 16];
        data[0] = call;
        data[1] = arch::AUDIT;
        data[2] = address as u32;
        data[3] = (address >> 32) as u32;
        for (n, value) in arguments {
            data[4 + 2 * n] = *value as u32;
            data[5 + 2 * n] = (*value >> 32) as u32;
        }
        let (mut at, mut a, mut x, mut stored) = (0, 0_u32, 0_u32, 0_u32);
        loop {
            let i = filter.code[..filter.length][at];
            at += 1;
            let test = match i.code {
                LOAD => {
                    a = data[i.number as usize / 4];
                    None
                }
                LOAD_NUMBER => {
                    a = i.number;
                    None
                }
                EQUAL => Some(a == i.number),
                AT_LEAST => Some(a >= i.number),
                HAS_BITS => Some(a & i.number != 0),
                JUMP => {
                    at += i.number as usize;
                    None
                }
                RETURN => return i.number,
                AND => {
                    a &= i.number;
                    None
                }
                SHIFT => {
                    a >>= i.number;
                    None
                }
                SHIFT_BY_X => {
                    a >>= x;
                    None
                }
                TO_X => {
                    x = a;
                    None
                }
                STORE => {
                    stored = a;
                    None
                }
                LOAD_STORED => {
                    a = stored;
                    None
                }
                other => panic!("{other}"),
            };
            if let Some(test) = test {
                at += usize::from(if test { i.if_true } else { i.if_false });
            }
        }
    }

    fn filter(dead: &[usize]) -> Filter {
        let mut words = [0; TOLD_APART / 32];
        for descriptor in dead.iter().filter(|d| **d < TOLD_APART) {
            words[descriptor / 32] |= 1 << (descriptor % 32);
        }
        let dead = Dead { words, beyond: dead.iter().any(|d| *d >= TOLD_APART) };
        Filter::new(&Facts { process: 77, thread: 66, gate: 0x7f00_1234_5678, dead: &dead, is_projected: false })
    }

    #[test]
    fn what_reaches_out_is_refused() {
        let filter = filter(&[]);
        for call in [
            k::__NR_socket,
            k::__NR_connect,
            k::__NR_execve,
            k::__NR_ptrace,
            k::__NR_shmat,
            k::__NR_io_uring_setup,
            k::__NR_bpf,
            k::__NR_flock,
            k::__NR_wait4,
            k::__NR_mount,
            k::__NR_setuid,
            k::__NR_fchmod,
            9999,
            u32::MAX,
        ] {
            assert_eq!(run(&filter, call, 1, &[]), trap(Why::Refused), "{call}");
        }
        assert_eq!(run(&filter, k::__NR_futex, 1, &[]), ALLOW);
        assert_eq!(run(&filter, k::__NR_openat, 1, &[]), trap(Why::Path));
        assert_eq!(run(&filter, k::__NR_openat, 0x7f00_1234_5678, &[]), ALLOW);
        assert_eq!(run(&filter, k::__NR_openat, 0x7e00_1234_5678, &[]), trap(Why::Path));
    }

    #[test]
    fn arguments_decide() {
        let filter = filter(&[]);
        let run = |call, arguments: &[(usize, u64)]| run(&filter, call, 1, arguments);
        assert_eq!(run(k::__NR_kill, &[(0, 77)]), ALLOW);
        assert_eq!(run(k::__NR_kill, &[(0, 66)]), trap(Why::Refused));
        assert_eq!(run(k::__NR_kill, &[(0, u64::MAX)]), trap(Why::Refused));
        assert_eq!(run(k::__NR_tgkill, &[(0, 77), (1, 77)]), ALLOW);
        assert_eq!(run(k::__NR_tgkill, &[(0, 77), (1, 66)]), trap(Why::Signal));
        assert_eq!(run(k::__NR_tgkill, &[(0, 76), (1, 77)]), trap(Why::Refused));
        assert_eq!(run(k::__NR_tkill, &[(0, 66)]), trap(Why::Signal));
        assert_eq!(run(k::__NR_tkill, &[(0, 65)]), trap(Why::Refused));
        assert_eq!(run(k::__NR_clone, &[(0, k::CLONE_THREAD.into())]), ALLOW);
        assert_eq!(run(k::__NR_clone, &[(0, k::SIGCHLD.into())]), trap(Why::Refused));
        assert_eq!(run(k::__NR_rt_sigaction, &[(0, k::SIGSYS.into())]), trap(Why::Refused));
        assert_eq!(run(k::__NR_rt_sigaction, &[(0, k::SIGUSR1.into())]), ALLOW);
        assert_eq!(run(k::__NR_prlimit64, &[(0, 0), (2, 0)]), ALLOW);
        assert_eq!(run(k::__NR_prlimit64, &[(0, 0), (2, 1 << 40)]), trap(Why::Refused));
        assert_eq!(run(k::__NR_prlimit64, &[(0, 5), (2, 0)]), trap(Why::Refused));
        assert_eq!(run(k::__NR_fcntl, &[(1, k::F_GETFL.into())]), ALLOW);
        assert_eq!(run(k::__NR_fcntl, &[(1, k::F_SETLK.into())]), trap(Why::Refused));
        assert_eq!(run(k::__NR_ioctl, &[(1, 0x5401)]), ALLOW);
        assert_eq!(run(k::__NR_ioctl, &[(1, 0x5412)]), trap(Why::Refused));
    }

    #[test]
    fn dead_descriptors_are_told_apart() {
        let filter = filter(&[0, 5, 37, 1023]);
        for descriptor in 0..2000 {
            let expected = if [0, 5, 37, 1023].contains(&descriptor) { trap(Why::Descriptor) } else { ALLOW };
            assert_eq!(run(&filter, k::__NR_read, 1, &[(0, descriptor)]), expected, "{descriptor}");
            assert_eq!(run(&filter, k::__NR_mmap, 1, &[(4, descriptor)]), expected, "{descriptor}");
        }
        let working_directory = k::AT_FDCWD as u64;
        assert_eq!(run(&filter, k::__NR_newfstatat, 1, &[(0, working_directory)]), ALLOW);
        let anonymous = u64::from(k::MAP_ANONYMOUS);
        assert_eq!(run(&filter, k::__NR_mmap, 1, &[(3, anonymous), (4, 5)]), ALLOW);
    }

    #[test]
    fn the_largest_filter_fits() {
        let every_32nd: Vec<_> = (0..TOLD_APART).step_by(32).chain([5000]).collect();
        let filter = filter(&every_32nd);
        assert!(filter.length < MOST, "{}", filter.length);
        assert_eq!(run(&filter, k::__NR_read, 1, &[(0, 5001)]), trap(Why::Descriptor));
        assert_eq!(run(&filter, k::__NR_read, 1, &[(0, 1)]), ALLOW);
    }
}
