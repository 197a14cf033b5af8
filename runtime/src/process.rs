//! What the kernel told this process when it started: `/proc/self/auxv`.

use crate::sys::{self, File, Open};
use linux_raw_sys::auxvec::{AT_PAGESZ, AT_SECURE};
use unseen_abi::module::COUNTER_PAGE;

/// The facts we need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process {
    /// It runs with rights its starter does not have (set-user-id, capabilities): whoever set the environment must
    /// not decide where it writes.
    pub is_privileged: bool,
    /// Whether files can be mapped over the counters.
    pub has_counter_pages: bool,
}

impl Process {
    /// Asks the kernel. `input` is room to work in.
    pub fn ask(input: &mut [u8]) -> Process {
        let auxv = File::open(c"/proc/self/auxv", Open::Read).and_then(|file| file.read(input)).unwrap_or(0);
        Process::read(input.get(..auxv).unwrap_or_default(), sys::has_other_ids)
    }

    /// Reads pairs of words; `has_other_ids` answers where there is no `/proc`.
    fn read(auxv: &[u8], has_other_ids: impl FnOnce() -> bool) -> Process {
        const WORD: usize = size_of::<usize>();
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, usize::from_ne_bytes);
        let find = |key: u32| {
            auxv.chunks_exact(2 * WORD)
                .filter_map(|pair| pair.split_at_checked(WORD))
                .find_map(|(k, value)| (word(k) == key as usize).then(|| word(value)))
        };
        Process {
            is_privileged: find(AT_SECURE).map_or_else(has_other_ids, |secure| secure != 0),
            // x86-64 has one size of page, so that nobody needs to be asked.
            has_counter_pages: find(AT_PAGESZ).map_or(cfg!(target_arch = "x86_64"), |size| size == COUNTER_PAGE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auxv(pairs: &[(u32, usize)]) -> Vec<u8> {
        pairs.iter().flat_map(|(k, v)| [*k as usize, *v]).flat_map(usize::to_ne_bytes).collect()
    }

    #[test]
    fn the_kernels_word_beats_the_ids() {
        let plain = auxv(&[(AT_PAGESZ, COUNTER_PAGE), (AT_SECURE, 0)]);
        assert_eq!(Process::read(&plain, || true), Process { is_privileged: false, has_counter_pages: true });
        let set_id = auxv(&[(AT_SECURE, 1), (AT_PAGESZ, 65536)]);
        assert_eq!(Process::read(&set_id, || false), Process { is_privileged: true, has_counter_pages: false });
    }

    #[test]
    fn without_proc_the_ids_decide() {
        assert!(Process::read(&[], || true).is_privileged);
        assert!(!Process::read(&[1, 2, 3], || false).is_privileged);
    }

    #[test]
    fn this_very_process_is_nothing_special() {
        let mut input = [0; 1024];
        assert_eq!(Process::ask(&mut input), Process { is_privileged: false, has_counter_pages: true });
    }
}
