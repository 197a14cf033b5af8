//! The areas of memory of this process that are its own and writable, one after the other. In: `/proc/self/maps`. Out: [`Area`]s.
//!
//! The kernel is asked for one area at a time where it can be (Linux 6.11); else its table is read. Works on small stacks.

use super::mappings::hex;
use crate::maps;
use crate::sys::{Errno, File, Open, Result, call};
use linux_raw_sys::general::{self as k, procmap_query as Query, procmap_query_flags as Flag};

/// `ioctl` for one question.
const ASK: usize = 0xc000_0000 | size_of::<Query>() << 16 | 0x6611;

/// So many areas are looked at.
const MOST: usize = 4096;

/// Memory that the kernel takes for one: the same rights, the same flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Area {
    pub start: usize,
    pub end: usize,
    /// Of no file.
    pub is_anonymous: bool,
}

impl Area {
    pub fn has(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// The areas.
pub struct Areas {
    file: File,
    can_be_asked: bool,
}

impl Areas {
    pub fn open() -> Result<Areas> {
        let file = File::open(c"/proc/self/maps", Open::Read)?;
        let mut areas = Areas { file, can_be_asked: true };
        // There are areas: who can't tell of one can't be asked.
        areas.can_be_asked = areas.ask(0).is_ok();
        Ok(areas)
    }

    /// Hands the areas to `f`, in the order of their addresses.
    pub fn for_each(&self, mut f: impl FnMut(&Area)) -> Result<()> {
        if !self.can_be_asked {
            return self.read(f);
        }
        let mut at = 0;
        for _ in 0..MOST {
            let Some(area) = self.ask(at)? else { return Ok(()) };
            f(&area);
            at = area.end;
        }
        Ok(())
    }

    /// The area with that address.
    pub fn at(&self, address: usize) -> Option<Area> {
        if self.can_be_asked {
            return self.ask(address).ok().flatten().filter(|area| area.has(address));
        }
        let mut found = None;
        let result = self.read(|area| found = found.or(Some(*area).filter(|area| area.has(address))));
        result.ok().and(found)
    }

    /// The first area that does not end before the address.
    fn ask(&self, mut address: usize) -> Result<Option<Area>> {
        const NONE: Errno = Errno::NO_ENTRY;
        let shared = Flag::PROCMAP_QUERY_VMA_SHARED as u64;
        let flags = Flag::PROCMAP_QUERY_COVERING_OR_NEXT_VMA as u64 | Flag::PROCMAP_QUERY_VMA_WRITABLE as u64;
        for _ in 0..MOST {
            let mut query = Query {
                size: size_of::<Query>() as u64,
                query_flags: flags,
                query_addr: address as u64,
                vma_start: 0,
                vma_end: 0,
                vma_flags: 0,
                vma_page_size: 0,
                vma_offset: 0,
                inode: 0,
                dev_major: 0,
                dev_minor: 0,
                vma_name_size: 0,
                build_id_size: 0,
                vma_name_addr: 0,
                build_id_addr: 0,
            };
            // SAFETY: reads and writes the structure.
            match unsafe { call(k::__NR_ioctl, [self.file.number(), ASK, (&raw mut query).addr(), 0, 0, 0]) } {
                Err(NONE) => return Ok(None),
                result => result?,
            };
            let (start, end) = (query.vma_start as usize, query.vma_end as usize);
            let is_anonymous = query.inode == 0 && query.dev_major == 0 && query.dev_minor == 0;
            if query.vma_flags & shared == 0 {
                return Ok(Some(Area { start, end, is_anonymous }));
            }
            address = end;
        }
        Ok(None)
    }

    /// The same from the table.
    fn read(&self, mut f: impl FnMut(&Area)) -> Result<()> {
        let mut room = [0; 1024];
        self.file.rewind()?;
        let listed = maps::for_each_line(&self.file, &mut room, |line| {
            if let Some(area) = of_line(line) {
                f(&area);
            }
            Ok(())
        });
        listed.unwrap_or(Err(Errno::INVALID))
    }
}

/// Reads `start-end perms offset device inode   /path`.
fn of_line(line: &[u8]) -> Option<Area> {
    let mut words = line.split(|b| *b == b' ').filter(|word| !word.is_empty());
    let (range, rights) = (words.next()?, words.next()?);
    let [_, b'w', _, b'p'] = rights else { return None };
    let (device, inode) = (words.nth(1)?, words.next()?);
    let mut ends = range.split(|b| *b == b'-').map(hex);
    let (start, end) = (ends.next()??, ends.next()??);
    Some(Area { start, end, is_anonymous: device == b"00:00" && inode == b"0" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_writable_and_not_shared_is_an_area() {
        let area = |is_anonymous| Some(Area { start: 0x1000, end: 0x3000, is_anonymous });
        for (line, expected) in [
            ("1000-3000 rw-p 00000000 00:00 0 ", area(true)),
            ("1000-3000 rw-p 00000000 00:00 0                          [heap]", area(true)),
            ("1000-3000 rwxp 00000000 fd:01 1234 /tmp/a b", area(false)),
            ("1000-3000 r--p 00000000 00:00 0 ", None),
            ("1000-3000 rw-s 00000000 00:01 7   /dev/zero (deleted)", None),
            ("", None),
        ] {
            assert_eq!(of_line(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn the_kernel_says_what_its_table_says() {
        let asked = Areas::open().unwrap();
        let read = Areas { file: File::open(c"/proc/self/maps", Open::Read).unwrap(), can_be_asked: false };
        // Other tests map and unmap meanwhile: what stays is the same.
        let stays = vec![1_u8; 1 << 22];
        let address = stays.as_ptr().addr() + (1 << 21);
        let expected = read.at(address).unwrap();
        assert!(expected.is_anonymous && expected.end - expected.start >= 1 << 22);
        if asked.can_be_asked {
            let found = asked.at(address).unwrap();
            assert!(found.start <= address && found.is_anonymous && found.end - found.start >= 1 << 22);
        }
        let mut before = 0;
        let mut found = false;
        asked
            .for_each(|area| {
                assert!(before <= area.start && area.start < area.end);
                before = area.end;
                found |= area.has(address);
            })
            .unwrap();
        assert!(found && asked.at(1).is_none() && read.at(1).is_none());
    }
}
