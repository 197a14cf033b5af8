//! Where the objects lie that programs allocate most, small and aligned: for each page of memory a bit for every place at which
//! one begins, and how long it is. An object is found with a few looks at memory, however many there are.
//!
//! Objects never overlap: whoever adds one takes out the others first. Whoever comes here has the lock of [`super::objects`].

use super::objects::{Kind, Object};
use super::regions::HIGHEST;
use crate::sys;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

const PAGE: usize = 4096;
/// Objects begin at multiples of this.
const GRANULE: usize = 16;
const PLACES: usize = PAGE / GRANULE;
const WORDS: usize = PLACES / 64;
/// Bytes of memory that one table is for.
const SPAN: usize = 1 << 24;
const PAGES: usize = SPAN / PAGE;
const TABLES: usize = HIGHEST / SPAN;
/// Larger objects are kept elsewhere.
const LARGEST: usize = 8 * PAGE;
const _: () = assert!(LARGEST <= u16::MAX as usize);

/// A page of memory. All zero at first.
#[repr(C)]
struct Page {
    /// A bit for each place at which an object begins.
    starts: [u64; WORDS],
    /// Where the object begins that reaches into this page from before; 0 if there is none.
    into: usize,
    /// How many objects that are kept elsewhere touch this page.
    others: usize,
}

#[repr(C)]
struct Table {
    pages: [Page; PAGES],
    /// How long the object is that begins at each place.
    sizes: [[u16; PLACES]; PAGES],
}

/// The tables by the memory that they are for; only touched parts of either cost memory.
static TABLE_OF: AtomicPtr<*mut Table> = AtomicPtr::new(ptr::null_mut());

/// Whether an object is kept here.
pub fn takes(object: &Object) -> bool {
    object.kind == Kind::Heap && object.start.is_multiple_of(GRANULE) && object.size <= LARGEST
}

/// Adds an object that [`takes`] lets in and that overlaps no other. Without memory for that it stays unknown.
pub fn insert(object: &Object) {
    let pages = pages(object.start, object.end());
    if pages.clone().any(|page| make(page).is_none()) {
        return;
    }
    for page in pages {
        let Some(table) = table(page) else { return };
        // SAFETY: a table, which has these; the lock is ours.
        unsafe {
            let here = &raw mut (*table).pages[page % PAGES];
            if page == object.start / PAGE {
                let place = object.start % PAGE / GRANULE;
                (*here).starts[place / 64 % WORDS] |= 1 << (place % 64);
                (*table).sizes[page % PAGES][place % PLACES] = object.size as u16;
            } else {
                (*here).into = object.start;
            }
        }
    }
}

/// Takes an object out.
pub fn remove(object: &Object) {
    for page in pages(object.start, object.end()) {
        let Some(here) = existing(page) else { continue };
        // SAFETY: a page of a table; the lock is ours.
        unsafe {
            if page == object.start / PAGE {
                let place = object.start % PAGE / GRANULE;
                (*here).starts[place / 64 % WORDS] &= !(1 << (place % 64));
            } else {
                (*here).into = 0;
            }
        }
    }
}

/// An object that is kept here and has a byte in the range.
pub fn overlapping(start: usize, end: usize) -> Option<Object> {
    let mut page = start / PAGE;
    while page < end.div_ceil(PAGE) {
        let Some(table) = table(page) else {
            // Nor is there one for its neighbours.
            page = (page / PAGES + 1) * PAGES;
            continue;
        };
        let first = page * PAGE;
        let places = (end - first).div_ceil(GRANULE).min(PLACES);
        // SAFETY: a table, which has this page; the lock is ours.
        let here = unsafe { &(*table).pages[page % PAGES] };
        let found = match last_below(&here.starts, places) {
            Some(place) => Some(first + place * GRANULE),
            None => Some(here.into).filter(|into| *into != 0),
        };
        // What comes before an object ends before it: no other needs to be looked at.
        if let Some(object) = found.and_then(at).filter(|object| object.end() > start) {
            return Some(object);
        }
        page += 1;
    }
    None
}

/// The object that is kept here and begins there.
pub fn at(start: usize) -> Option<Object> {
    let (page, place) = (start / PAGE, start % PAGE / GRANULE);
    let table = table(page)?;
    // SAFETY: a table, which has this page; the lock is ours.
    let (starts, size) =
        unsafe { (&(*table).pages[page % PAGES].starts, (*table).sizes[page % PAGES][place % PLACES]) };
    let begins = start.is_multiple_of(GRANULE) && starts[place / 64 % WORDS] >> (place % 64) & 1 != 0;
    begins.then_some(Object { start, size: size as usize, kind: Kind::Heap })
}

/// An object comes that is kept elsewhere. Returns whether there was memory to note that.
pub fn note_other(object: &Object) -> bool {
    let pages = pages(object.start, object.end());
    if pages.clone().any(|page| make(page).is_none()) {
        return false;
    }
    for here in pages.filter_map(existing) {
        // SAFETY: a page of a table; the lock is ours.
        unsafe { (*here).others += 1 };
    }
    true
}

/// An object goes that [`note_other`] was told of.
pub fn forget_other(object: &Object) {
    for here in pages(object.start, object.end()).filter_map(existing) {
        // SAFETY: a page of a table; the lock is ours.
        unsafe { (*here).others = (*here).others.saturating_sub(1) };
    }
}

/// Whether objects that are kept elsewhere touch the pages of this range.
pub fn has_others(start: usize, end: usize) -> bool {
    // SAFETY: a page of a table; the lock is ours.
    pages(start, end).filter_map(existing).any(|here| unsafe { (*here).others > 0 })
}

/// The last place below that one at which an object begins.
fn last_below(starts: &[u64; WORDS], below: usize) -> Option<usize> {
    for word in (0..below.div_ceil(64).min(WORDS)).rev() {
        let wanted = if below >= (word + 1) * 64 { u64::MAX } else { (1 << (below % 64)) - 1 };
        let found = starts[word % WORDS] & wanted;
        if found != 0 {
            return Some(word * 64 + 63 - found.leading_zeros() as usize);
        }
    }
    None
}

fn pages(start: usize, end: usize) -> core::ops::Range<usize> {
    start / PAGE..end.div_ceil(PAGE)
}

fn existing(page: usize) -> Option<*mut Page> {
    // SAFETY: a table, which has this page.
    table(page).map(|table| unsafe { &raw mut (*table).pages[page % PAGES] })
}

/// The table that a page is in, if there is one.
fn table(page: usize) -> Option<*mut Table> {
    let tables = TABLE_OF.load(Ordering::Acquire);
    if tables.is_null() || page / PAGES >= TABLES {
        return None;
    }
    // SAFETY: inside the list of that many; the lock is ours.
    Some(unsafe { *tables.add(page / PAGES) }).filter(|table| !table.is_null())
}

/// As [`table`]; made if it is not there.
fn make(page: usize) -> Option<*mut Table> {
    if let Some(table) = table(page) {
        return Some(table);
    }
    if page / PAGES >= TABLES {
        return None;
    }
    let mut tables = TABLE_OF.load(Ordering::Acquire);
    if tables.is_null() {
        tables = sys::map_memory(TABLES * size_of::<*mut Table>()).ok()?.cast();
        TABLE_OF.store(tables, Ordering::Release);
    }
    let table = sys::map_memory(size_of::<Table>()).ok()?.cast::<Table>();
    // SAFETY: inside the list; the lock is ours.
    unsafe { tables.add(page / PAGES).write(table) };
    Some(table)
}
