//! The `UNSEEN_*` variables. In: libc's environment, or `/proc/self/environ` where there is no libc. Out: [`Settings`].

use crate::sys::{self, File, Open};
use crate::weak;
use core::ffi::CStr;
use unseen_abi::options;
use unseen_abi::options::EnvOption;

/// Largest environment that is read from `/proc`. Only pages that are used cost anything.
const LARGEST: usize = 8 << 20;

/// What the user asked for. The first definition of a variable counts, as for `getenv`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings<'a> {
    unseen: Option<&'a [u8]>,
    cover: Option<&'a [u8]>,
    dir: Option<&'a [u8]>,
    run: Option<&'a [u8]>,
}

impl<'a> Settings<'a> {
    /// The store, if anything is to be recorded.
    pub fn store(&self) -> Option<&'a [u8]> {
        let is_off = |value: Option<&[u8]>| value == Some(b"off");
        if is_off(self.unseen) || is_off(self.cover) { None } else { self.dir.filter(|dir| !dir.is_empty()) }
    }

    /// The run's name.
    pub fn run(&self) -> &'a [u8] {
        self.run.filter(|run| !run.is_empty()).unwrap_or(options::RUN.default.as_bytes())
    }

    fn from_variables(variables: impl Iterator<Item = &'a [u8]>) -> Settings<'a> {
        let mut settings = Settings::default();
        for variable in variables {
            // Nearly every variable is somebody else's: one comparison for those.
            if variable.starts_with(options::UNSEEN.name.as_bytes()) {
                settings.note(variable);
            }
        }
        settings
    }

    fn note(&mut self, variable: &'a [u8]) {
        let Some(equals) = variable.iter().position(|b| *b == b'=') else { return };
        let (Some(name), value) = (variable.get(..equals), variable.get(equals + 1..)) else { return };
        for (option, place) in [
            (options::UNSEEN, &mut self.unseen),
            (options::COVER, &mut self.cover),
            (options::DIR, &mut self.dir),
            (options::RUN, &mut self.run),
        ] {
            if option.name.as_bytes() == name && place.is_none() {
                *place = value;
            }
        }
    }
}

/// Reads the settings and hands them to `f`.
pub fn with_settings<T>(f: impl FnOnce(Settings<'_>) -> T) -> T {
    with_variables(|variables| f(Settings::from_variables(variables)))
}

/// Hands all variables to `f`, as `NAME=VALUE`. Makes no system call where libc has an environment.
pub fn with_variables<T>(f: impl FnOnce(&mut dyn Iterator<Item = &[u8]>) -> T) -> T {
    match weak::environ() {
        Some(mut next) => f(&mut core::iter::from_fn(|| {
            // SAFETY: an array of C strings that ends with null. Like every caller of `getenv` we trust that nobody
            // changes it meanwhile: constructors run before threads, or under the loader's lock.
            unsafe {
                let variable = *next;
                next = next.add(1);
                (!variable.is_null()).then(|| CStr::from_ptr(variable).to_bytes())
            }
        })),
        None => from_proc(f),
    }
}

/// For programs without libc, and for constructors that run before libc has found the environment.
fn from_proc<T>(f: impl FnOnce(&mut dyn Iterator<Item = &[u8]>) -> T) -> T {
    let Ok(memory) = sys::map_memory(LARGEST) else { return f(&mut core::iter::empty()) };
    // SAFETY: just mapped, all zero.
    let buffer = unsafe { core::slice::from_raw_parts_mut(memory, LARGEST) };
    let mut length = 0;
    if let Ok(file) = File::open(c"/proc/self/environ", Open::Read) {
        while let Some(room) = buffer.get_mut(length..) {
            match file.read(room) {
                Ok(n) if n > 0 => length += n,
                _ => break,
            }
        }
    }
    let result = f(&mut buffer.get(..length).unwrap_or_default().split(|b| *b == 0));
    // SAFETY: `f` can't keep what it borrowed.
    unsafe { sys::unmap_memory(memory, LARGEST) };
    result
}

/// The value, if it is this variable.
pub fn value<'a>(variable: &'a [u8], option: &EnvOption) -> Option<&'a [u8]> {
    variable.strip_prefix(option.name.as_bytes())?.strip_prefix(b"=")
}

/// A decimal number.
pub fn number(text: &[u8]) -> Option<u64> {
    let digit = |b: &u8| b.is_ascii_digit().then(|| u64::from(*b - b'0'));
    let add = |n: u64, b: &u8| n.checked_mul(10)?.checked_add(digit(b)?);
    text.iter().try_fold(0, add).filter(|_| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings<'a>(variables: &[&'a str]) -> Settings<'a> {
        Settings::from_variables(variables.iter().map(|v| v.as_bytes()))
    }

    #[test]
    fn nothing_is_recorded_without_a_store() {
        assert_eq!(settings(&["PATH=/bin", "UNSEEN=on", "UNSEEN_COVER=on"]).store(), None);
        assert_eq!(settings(&["UNSEEN_DIR="]).store(), None);
        assert_eq!(settings(&["UNSEEN_DIR"]).store(), None);
        assert_eq!(settings(&["UNSEEN_DIRECTORY=/s", "XUNSEEN_DIR=/s"]).store(), None);
    }

    #[test]
    fn off_is_off_for_all_or_for_coverage() {
        assert_eq!(settings(&["UNSEEN_DIR=/s"]).store(), Some(&b"/s"[..]));
        assert_eq!(settings(&["UNSEEN_DIR=/s", "UNSEEN=off"]).store(), None);
        assert_eq!(settings(&["UNSEEN_COVER=off", "UNSEEN_DIR=/s"]).store(), None);
        assert_eq!(settings(&["UNSEEN_COVER=offal", "UNSEEN=", "UNSEEN_DIR=/s"]).store(), Some(&b"/s"[..]));
    }

    #[test]
    fn the_first_of_two_definitions_counts() {
        let s = settings(&["UNSEEN_DIR=/a=b", "UNSEEN_DIR=/c", "UNSEEN_RUN=r"]);
        assert_eq!((s.store(), s.run()), (Some(&b"/a=b"[..]), &b"r"[..]));
    }

    #[test]
    fn a_run_has_a_name_even_if_nobody_gave_one() {
        assert_eq!(settings(&[]).run(), b"direct");
        assert_eq!(settings(&["UNSEEN_RUN="]).run(), b"direct");
    }

    #[test]
    fn proc_and_libc_agree_on_what_this_process_was_given() {
        let from_proc = from_proc(|v| Settings::from_variables(v).store().map(<[u8]>::to_vec));
        assert_eq!(from_proc, with_settings(|s| s.store().map(<[u8]>::to_vec)));
    }
}
