//! Which system calls a test may make, and the names of those that it may not. What is in no list is refused.

use linux_raw_sys::general as k;

/// A list of numbers.
macro_rules! numbers {
    ($($constant:ident)*) => { &[$($constant),*] };
}

use k::*;

/// These concern the test alone.
pub const ALLOWED: &[u32] = numbers! {
    __NR_futex __NR_clock_gettime __NR_getrandom __NR_munmap __NR_mprotect __NR_brk __NR_madvise __NR_mremap __NR_close
    __NR_rt_sigreturn __NR_exit_group __NR_exit __NR_getpid __NR_gettid __NR_nanosleep __NR_clock_nanosleep
    __NR_sched_yield __NR_gettimeofday __NR_mincore __NR_msync __NR_mlock __NR_mlock2 __NR_munlock __NR_pkey_mprotect
    __NR_pkey_alloc __NR_pkey_free __NR_get_mempolicy __NR_rt_sigpending __NR_rt_sigsuspend __NR_rt_sigtimedwait __NR_sigaltstack
    __NR_restart_syscall __NR_getitimer __NR_setitimer __NR_timer_create __NR_timer_settime __NR_timer_gettime
    __NR_timer_getoverrun __NR_timer_delete __NR_clock_getres __NR_times __NR_getrusage __NR_getppid __NR_getuid __NR_geteuid
    __NR_getgid __NR_getegid __NR_getpgid __NR_getsid __NR_getgroups __NR_getresuid __NR_getresgid __NR_capget __NR_uname
    __NR_sysinfo __NR_getcwd __NR_umask __NR_chdir __NR_futex_waitv __NR_set_tid_address __NR_set_robust_list
    __NR_get_robust_list __NR_rseq __NR_membarrier __NR_getcpu __NR_sched_getaffinity __NR_sched_getparam
    __NR_sched_getscheduler __NR_sched_get_priority_max __NR_sched_get_priority_min __NR_getpriority __NR_statfs
    __NR_faccessat __NR_faccessat2 __NR_readlinkat __NR_getxattr __NR_lgetxattr __NR_listxattr __NR_llistxattr
    __NR_close_range __NR_pipe2 __NR_eventfd2 __NR_memfd_create __NR_map_shadow_stack
};

/// These too, on architectures that had them before others took their place.
#[cfg(target_arch = "x86_64")]
pub const ALLOWED_OF_OLD: &[u32] = numbers! {
    __NR_arch_prctl __NR_stat __NR_lstat __NR_access __NR_readlink __NR_pipe __NR_eventfd __NR_getrlimit __NR_getpgrp
    __NR_time __NR_alarm __NR_pause
};
#[cfg(not(target_arch = "x86_64"))]
pub const ALLOWED_OF_OLD: &[u32] = &[];

/// Of these, such as would make other memory of what a test lacks. Their first two arguments are address and length.
pub const MEMORY: &[u32] = numbers! { __NR_mprotect __NR_pkey_mprotect __NR_mremap };

/// These concern the test alone unless their first argument is a dead descriptor.
pub const BY_DESCRIPTOR: &[u32] = numbers! {
    __NR_read __NR_write __NR_readv __NR_writev __NR_pread64 __NR_pwrite64 __NR_preadv __NR_pwritev __NR_preadv2 __NR_pwritev2
    __NR_lseek __NR_fstat __NR_newfstatat __NR_statx __NR_ftruncate __NR_fallocate __NR_fsync __NR_fdatasync __NR_getdents64
    __NR_dup __NR_dup3 __NR_fstatfs __NR_fchdir __NR_fgetxattr __NR_flistxattr __NR_fadvise64 __NR_readahead
};
#[cfg(target_arch = "x86_64")]
pub const BY_DESCRIPTOR_OF_OLD: &[u32] = numbers! { __NR_dup2 __NR_getdents };
#[cfg(not(target_arch = "x86_64"))]
pub const BY_DESCRIPTOR_OF_OLD: &[u32] = &[];

/// These open or change a file by its path: made for the test by the handler, which tells what Landlock refuses from other
/// errors.
pub const BY_PATH: &[u32] = numbers! {
    __NR_openat __NR_mkdirat __NR_unlinkat __NR_renameat __NR_renameat2 __NR_linkat __NR_symlinkat __NR_truncate
};
#[cfg(target_arch = "x86_64")]
pub const BY_PATH_OF_OLD: &[u32] = numbers! {
    __NR_open __NR_creat __NR_mkdir __NR_rmdir __NR_unlink __NR_rename __NR_link __NR_symlink
};
#[cfg(not(target_arch = "x86_64"))]
pub const BY_PATH_OF_OLD: &[u32] = &[];

/// What waits for descriptors, and which argument says for how many.
pub const WAITING: &[(u32, usize)] = &[(__NR_ppoll, 1), (__NR_pselect6, 0)];
#[cfg(target_arch = "x86_64")]
pub const WAITING_OF_OLD: &[(u32, usize)] = &[(__NR_poll, 1), (__NR_select, 0)];
#[cfg(not(target_arch = "x86_64"))]
pub const WAITING_OF_OLD: &[(u32, usize)] = &[];

/// How a file is to be opened.
#[derive(Clone, Copy)]
pub struct Opening {
    pub directory: usize,
    pub path: usize,
    pub flags: u32,
}

/// Reads the arguments of a call that opens a file. `None` for all others.
pub fn opening(number: u32, a: [usize; 6]) -> Option<Opening> {
    match number {
        k::__NR_openat => Some(Opening { directory: a[0], path: a[1], flags: a[2] as u32 }),
        #[cfg(target_arch = "x86_64")]
        k::__NR_open => Some(Opening { directory: k::AT_FDCWD as usize, path: a[0], flags: a[1] as u32 }),
        #[cfg(target_arch = "x86_64")]
        k::__NR_creat => {
            let flags = k::O_CREAT | k::O_WRONLY | k::O_TRUNC;
            Some(Opening { directory: k::AT_FDCWD as usize, path: a[0], flags })
        }
        _ => None,
    }
}

/// Names of system calls, with their numbers.
macro_rules! names {
    ($($constant:ident)*) => { &[$(($constant, stringify!($constant))),*] };
}

const NAMES: &[(u32, &str)] = names! {
    __NR_socket __NR_socketpair __NR_connect __NR_bind __NR_listen __NR_accept __NR_accept4 __NR_sendto __NR_recvfrom
    __NR_sendmsg __NR_recvmsg __NR_sendmmsg __NR_recvmmsg __NR_shutdown __NR_getsockname __NR_getpeername __NR_setsockopt
    __NR_getsockopt __NR_clone __NR_clone3 __NR_execve __NR_execveat __NR_wait4 __NR_waitid __NR_kill __NR_tkill __NR_tgkill
    __NR_rt_sigqueueinfo __NR_rt_tgsigqueueinfo __NR_rt_sigaction __NR_pidfd_open __NR_pidfd_send_signal __NR_pidfd_getfd
    __NR_ptrace __NR_process_vm_readv __NR_process_vm_writev __NR_shmget __NR_shmat __NR_shmdt __NR_shmctl __NR_semget
    __NR_semop __NR_semtimedop __NR_semctl __NR_msgget __NR_msgsnd __NR_msgrcv __NR_msgctl __NR_mq_open __NR_mq_timedsend
    __NR_mq_timedreceive __NR_mq_unlink __NR_mq_notify __NR_io_uring_setup __NR_io_uring_enter __NR_io_uring_register
    __NR_io_setup __NR_io_submit __NR_bpf __NR_perf_event_open __NR_userfaultfd __NR_keyctl __NR_add_key __NR_request_key
    __NR_mount __NR_umount2 __NR_unshare __NR_setns __NR_chroot __NR_pivot_root __NR_reboot __NR_sethostname
    __NR_setdomainname __NR_settimeofday __NR_clock_settime __NR_adjtimex __NR_clock_adjtime __NR_prctl __NR_prlimit64
    __NR_setrlimit __NR_setpriority __NR_ioprio_set __NR_sched_setaffinity __NR_sched_setscheduler __NR_sched_setparam
    __NR_setuid __NR_setgid __NR_setreuid __NR_setregid __NR_setresuid __NR_setresgid __NR_setgroups __NR_setpgid __NR_setsid
    __NR_capset __NR_flock __NR_fcntl __NR_ioctl __NR_splice __NR_tee __NR_vmsplice __NR_sendfile __NR_copy_file_range
    __NR_sync __NR_syncfs __NR_fchmod __NR_fchmodat __NR_fchown __NR_fchownat __NR_utimensat __NR_setxattr __NR_lsetxattr
    __NR_fsetxattr __NR_removexattr __NR_mknodat __NR_openat2 __NR_inotify_init1 __NR_inotify_add_watch __NR_fanotify_init
    __NR_epoll_create1 __NR_epoll_ctl __NR_epoll_pwait __NR_ppoll __NR_pselect6 __NR_timerfd_create __NR_signalfd4
    __NR_personality __NR_syslog __NR_acct __NR_swapon __NR_swapoff __NR_init_module __NR_finit_module __NR_delete_module
    __NR_kexec_load __NR_vhangup __NR_quotactl __NR_seccomp __NR_landlock_create_ruleset __NR_openat __NR_mkdirat
    __NR_unlinkat __NR_renameat __NR_renameat2 __NR_linkat __NR_symlinkat __NR_truncate __NR_read __NR_write
};

#[cfg(target_arch = "x86_64")]
const NAMES_OF_OLD: &[(u32, &str)] = names! {
    __NR_open __NR_creat __NR_mkdir __NR_rmdir __NR_unlink __NR_rename __NR_link __NR_symlink __NR_fork __NR_vfork __NR_poll
    __NR_select __NR_chmod __NR_chown __NR_lchown __NR_utime __NR_utimes __NR_futimesat __NR_mknod __NR_epoll_create
    __NR_epoll_wait __NR_inotify_init __NR_signalfd __NR_ioperm __NR_iopl
};
#[cfg(not(target_arch = "x86_64"))]
const NAMES_OF_OLD: &[(u32, &str)] = &[];

/// The name of a system call that a test may not make.
pub fn name(number: u32) -> Option<&'static str> {
    let (_, name) = NAMES.iter().chain(NAMES_OF_OLD).find(|(n, _)| *n == number)?;
    name.strip_prefix("__NR_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_in_two_lists() {
        let lists = [ALLOWED, ALLOWED_OF_OLD, BY_DESCRIPTOR, BY_DESCRIPTOR_OF_OLD, BY_PATH, BY_PATH_OF_OLD]
            .map(<[u32]>::to_vec);
        let mut all = lists.concat();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn what_is_refused_has_a_name() {
        assert_eq!(name(k::__NR_socket), Some("socket"));
        assert_eq!(name(k::__NR_execve), Some("execve"));
        assert_eq!(name(u32::MAX), None);
    }
}
