//! Whether a process that does not end waits for a lock. In: its id. Out: a [`Hang`].

use super::kernel;
use crate::sys::{self, File, Open};
use crate::text::Text;
use core::ffi::CStr;
use linux_raw_sys::general as k;

/// What a process is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hang {
    /// Its only thread waits for a lock, without end: there is nobody who could unlock it.
    Forever,
    /// All its threads wait for locks.
    Locked,
    /// Something else.
    Otherwise,
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    LockForever,
    Lock,
    Other,
}

/// Looks at a process.
pub fn look(process: u32) -> Hang {
    if !knows_our_ids() {
        return Hang::Otherwise;
    }
    let mut path = [0; 64];
    let text = Text::new(&mut path).bytes(b"/proc/").decimal(process.into()).bytes(b"/task");
    let Some(Ok(tasks)) = text.path().map(|path| File::open(path, Open::Read)) else { return Hang::Otherwise };
    let (mut threads, mut locked, mut forever) = (0, 0, 0);
    let listed = sys::for_each_entry(&tasks, |thread| {
        threads += 1;
        match wait(process, thread) {
            Wait::LockForever => forever += 1,
            Wait::Lock => locked += 1,
            Wait::Other => {}
        }
    });
    match (threads, forever, locked + forever) {
        _ if listed.is_err() => Hang::Otherwise,
        (1, 1, _) => Hang::Forever,
        (1.., _, all) if all == threads => Hang::Locked,
        _ => Hang::Otherwise,
    }
}

/// Whether `/proc` is that of our own ids: in a container that somebody set up by halves, it may be that of others'.
fn knows_our_ids() -> bool {
    let (mut own, mut id) = ([0; 24], [0; 24]);
    let own = sys::read_link(c"/proc/self", &mut own).ok();
    own.is_some() && own == Text::new(&mut id).decimal(sys::process_id().into()).finish()
}

fn wait(process: u32, thread: &CStr) -> Wait {
    let (mut path, mut content) = ([0; 96], [0; 256]);
    let mut read = |name: &[u8]| {
        let text = Text::new(&mut path).bytes(b"/proc/").decimal(process.into()).bytes(b"/task/");
        let path = text.bytes(thread.to_bytes()).bytes(b"/").bytes(name).path()?;
        kernel::read_file(path, &mut content).map(call).ok()
    };
    if let Some(wait) = read(b"syscall") {
        return wait;
    }
    // Where we may not see that much of our own child.
    let mut content = [0; 64];
    let text = Text::new(&mut path).bytes(b"/proc/").decimal(process.into()).bytes(b"/task/");
    match text.bytes(thread.to_bytes()).bytes(b"/wchan").path().map(|path| kernel::read_file(path, &mut content)) {
        Some(Ok(place)) if place.starts_with(b"futex") => Wait::Lock,
        _ => Wait::Other,
    }
}

/// Reads `NUMBER ARGUMENT...`, as `/proc/PID/syscall` has it: the number is decimal, arguments are hexadecimal.
fn call(line: &[u8]) -> Wait {
    let mut words = line.split(|byte| *byte == b' ');
    let digits = words.next().unwrap_or_default();
    let number =
        digits.iter().try_fold(0_u32, |n, digit| n.checked_mul(10)?.checked_add(char::from(*digit).to_digit(10)?));
    match (digits.is_empty(), number) {
        (false, Some(k::__NR_futex)) => {}
        _ => return Wait::Other,
    }
    // Address, operation, value, timeout.
    match words.nth(3) {
        Some(b"0x0") => Wait::LockForever,
        _ => Wait::Lock,
    }
}

/// The children of this process.
pub fn for_each_child(mut f: impl FnMut(u32)) {
    let mut content = [0; 1024];
    let Ok(list) = kernel::read_file(c"/proc/thread-self/children", &mut content) else { return };
    for word in list.split(|byte| *byte == b' ').filter(|word| !word.is_empty()) {
        let number =
            word.iter().try_fold(0_u32, |n, digit| n.checked_mul(10)?.checked_add(char::from(*digit).to_digit(10)?));
        if let Some(child) = number {
            f(child);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lock_without_a_timeout_is_for_ever() {
        let line = |number: u32, timeout: &str| format!("{number} 0x7f00 0x80 0x2 {timeout} 0x0 0x0 0x7ffe 0x7f01\n");
        assert_eq!(call(line(k::__NR_futex, "0x0").as_bytes()), Wait::LockForever);
        assert_eq!(call(line(k::__NR_futex, "0x7ffd").as_bytes()), Wait::Lock);
        assert_eq!(call(line(k::__NR_read, "0x0").as_bytes()), Wait::Other);
        assert_eq!(call(b"running\n"), Wait::Other);
        assert_eq!(call(b""), Wait::Other);
    }

    #[test]
    fn this_very_process_runs() {
        assert_eq!(look(std::process::id()), Hang::Otherwise);
    }
}
