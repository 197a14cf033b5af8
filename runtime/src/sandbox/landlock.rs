//! Landlock: from now on this process changes no file outside one directory, runs no program, opens no connection and signals nobody
//! outside. Reading stays free.

use crate::sys::{Errno, File, Result, call};
use linux_raw_sys::general as k;
use linux_raw_sys::landlock as l;

/// The first version that keeps signals in.
pub const SCOPES: u32 = 6;
/// The first version that keeps files from being cut.
pub const TRUNCATES: u32 = 3;

/// The first version that can be kept from writing to the system's log.
const QUIET: u32 = 7;

/// Rights that come with each version: of files, of the network, and scopes.
fn handled(version: u32) -> [u64; 3] {
    const FILES: u32 = l::LANDLOCK_ACCESS_FS_EXECUTE
        | l::LANDLOCK_ACCESS_FS_WRITE_FILE
        | l::LANDLOCK_ACCESS_FS_REMOVE_DIR
        | l::LANDLOCK_ACCESS_FS_REMOVE_FILE
        | l::LANDLOCK_ACCESS_FS_MAKE_CHAR
        | l::LANDLOCK_ACCESS_FS_MAKE_DIR
        | l::LANDLOCK_ACCESS_FS_MAKE_REG
        | l::LANDLOCK_ACCESS_FS_MAKE_SOCK
        | l::LANDLOCK_ACCESS_FS_MAKE_FIFO
        | l::LANDLOCK_ACCESS_FS_MAKE_BLOCK
        | l::LANDLOCK_ACCESS_FS_MAKE_SYM;
    let since = |first: u32, right: u32| if version >= first { u64::from(right) } else { 0 };
    let files = u64::from(FILES)
        | since(2, l::LANDLOCK_ACCESS_FS_REFER)
        | since(TRUNCATES, l::LANDLOCK_ACCESS_FS_TRUNCATE)
        | since(5, l::LANDLOCK_ACCESS_FS_IOCTL_DEV);
    let network = since(4, l::LANDLOCK_ACCESS_NET_BIND_TCP | l::LANDLOCK_ACCESS_NET_CONNECT_TCP);
    let scopes = since(SCOPES, l::LANDLOCK_SCOPE_SIGNAL | l::LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET);
    [files, network, scopes]
}

/// What is allowed in the directory, of what is handled.
const IN_DIRECTORY: u64 = !((l::LANDLOCK_ACCESS_FS_EXECUTE
    | l::LANDLOCK_ACCESS_FS_MAKE_CHAR
    | l::LANDLOCK_ACCESS_FS_MAKE_BLOCK
    | l::LANDLOCK_ACCESS_FS_MAKE_SOCK
    | l::LANDLOCK_ACCESS_FS_IOCTL_DEV) as u64);

/// The kernel's version of Landlock.
fn version() -> Result<u32> {
    let version = l::LANDLOCK_CREATE_RULESET_VERSION as usize;
    // SAFETY: null and 0 stand for no rules.
    unsafe { call(k::__NR_landlock_create_ruleset, [0, 0, version, 0, 0, 0]) }.map(|version| version as u32)
}

/// Restricts this thread, which must be the only one and have no new privileges to come. Returns the version.
pub fn restrict(directory: Option<&File>) -> Result<u32> {
    let version = version()?;
    let rights = handled(version);
    let length = match version {
        0 => return Err(Errno::INVALID),
        1..=3 => 8,
        4..=5 => 16,
        _ => 24,
    };
    // SAFETY: reads so many bytes of the rights.
    let rules = unsafe { call(k::__NR_landlock_create_ruleset, [rights.as_ptr().addr(), length, 0, 0, 0, 0]) }?;
    let rules = File::from_number(rules);
    if let Some(directory) = directory {
        allow(&rules, directory, rights[0] & IN_DIRECTORY)?;
    }
    if let Ok(null) = super::kernel::open(c"/dev/null", k::O_PATH) {
        let write = l::LANDLOCK_ACCESS_FS_WRITE_FILE | l::LANDLOCK_ACCESS_FS_TRUNCATE;
        allow(&rules, &null, rights[0] & u64::from(write))?;
    }
    // What a test is refused is nobody's concern: not a line in the system's log for each.
    let quiet = if version >= QUIET { l::LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF as usize } else { 0 };
    // SAFETY: touches no memory.
    unsafe { call(k::__NR_landlock_restrict_self, [rules.number(), quiet, 0, 0, 0, 0]) }?;
    Ok(version)
}

/// Allows something at a file, or at and beneath a directory.
fn allow(rules: &File, place: &File, rights: u64) -> Result<()> {
    let rule = l::landlock_path_beneath_attr { allowed_access: rights, parent_fd: place.number() as i32 };
    let kind = l::landlock_rule_type::LANDLOCK_RULE_PATH_BENEATH as usize;
    // SAFETY: reads the rule.
    unsafe { call(k::__NR_landlock_add_rule, [rules.number(), kind, (&raw const rule).addr(), 0, 0, 0]) }.map(drop)
}
