//! What functions do that are not in the program: the C library's, the language runtimes'. One table, for every analysis.
//!
//! Read by the pass. A function that is not here, and whose declaration promises nothing, is unknown. `errno`, the locale's
//! tables and what a stream or the allocator keep for themselves are no state of the program.

use crate::deps::Reason;

/// One thing that a call does. Arguments are counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Reads what an argument points to.
    Read(u8, Length),
    /// Reads that many bytes before what an argument points to.
    Before(u8, u64),
    /// Writes numbers to what an argument points to, if anything.
    Write(u8, Length),
    /// Puts what an argument points to into another order.
    Permutes(u8),
    /// Copies from what the second points to into what the first points to.
    Copies(u8, u8, Length),
    /// Reads all that can be reached from an argument.
    Reach(u8),
    /// Reads texts behind the unnamed arguments.
    ReadUnnamed,
    /// Writes behind the unnamed arguments.
    WriteUnnamed,
    /// Stores a pointer into the object of the second argument where the first points to.
    PointInto(u8, u8),
    /// Returns a pointer into the object that an argument points to, or null.
    Returns(u8),
    /// Returns new memory, or null.
    Allocates,
    /// Stores a pointer to new memory where the argument points to.
    AllocatesInto(u8),
    /// Returns a pointer to what never changes.
    Constant,
    /// Returns a pointer to something of the library's own.
    Foreign,
    /// Returns the address of code or data that may not be in the program.
    Loads,
    /// Calls what the first argument points to, with pointers into the objects of the others.
    Calls(u8, &'static [u8]),
    /// The state does not decide what happens.
    Because(Reason),
    /// Does not return.
    Ends,
    /// Returns again when somebody jumps back.
    ReturnsTwice,
}

/// How many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// That many.
    Bytes(u64),
    /// As an argument says.
    Argument(u8),
    /// As the product of two arguments says.
    Product(u8, u8),
    /// Up to a zero byte.
    Text,
    /// Who knows; at most to the end of the object.
    Rest,
}

use Effect::{
    Allocates, AllocatesInto, Because, Before, Calls, Constant, Copies, Ends, Foreign, Loads, Permutes, PointInto,
    Reach, Read, ReadUnnamed, Returns, ReturnsTwice, Write, WriteUnnamed,
};
use Length::{Argument, Bytes, Product, Rest, Text};
use Reason::{Environment, Exit, Input, Output, Process, Random, Threads, Time};

/// Names, separated by spaces, and what each of them does. Arguments that are no pointers, or not followed, are read by
/// value.
pub const MODELS: &[(&str, &[Effect])] = &[
    // Numbers to numbers.
    (
        "abs labs llabs div ldiv acos acosf acosh asinh atanh asin asinf atan atanf atan2 atan2f cbrt cbrtf ceil ceilf copysign copysignf cos \
         cosf cosh exp expf exp2 exp2f expm1 expm1f fabs fabsf fdim floor floorf fma fmaf fmax fmaxf fmin fminf fmod fmodf hypot \
         hypotf ldexp ldexpf llrint llround log logf log10 log10f log1p log1pf log2 log2f lrint lrintf lround lroundf \
         nearbyint nearbyintf nextafter pow powf remainder rint rintf round roundf scalbn scalbnf sin sinf sinh sqrt sqrtf tan \
         tanf tanh tanhf trunc truncf isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace \
         isupper isxdigit tolower toupper toascii ffs ffsl htonl htons ntohl ntohs __isnan __isinf __finite __signbit \
         isnan isinf finite towlower towupper iswspace iswalpha iswalnum free cfree __rust_dealloc _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm \
         _ZdlPvSt11align_val_t _ZdlPvmSt11align_val_t __rust_no_alloc_shim_is_unstable __rust_no_alloc_shim_is_unstable_v2 \
         __cxa_end_catch __cxa_free_exception _Unwind_DeleteException __cxa_guard_abort getpagesize \
         malloc_trim",
        &[],
    ),
    ("frexp frexpf modf modff", &[Write(1, Bytes(8))]),
    ("sincos", &[Write(1, Bytes(8)), Write(2, Bytes(8))]),
    // Memory.
    (
        "malloc calloc valloc aligned_alloc memalign _Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t \
         _ZnwmSt11align_val_t _ZnamSt11align_val_t __rust_alloc __rust_alloc_zeroed __cxa_allocate_exception",
        &[Allocates],
    ),
    ("realloc reallocarray", &[Read(0, Rest), Allocates, Returns(0)]),
    ("__rust_realloc", &[Read(0, Argument(1)), Allocates, Returns(0)]),
    ("posix_memalign", &[AllocatesInto(0)]),
    // What the allocator knows of a block lies right before it.
    ("malloc_usable_size", &[Before(0, 8)]),
    ("mremap", &[Read(0, Rest), Allocates, Returns(0), Because(Input)]),
    ("memcpy memmove __memcpy_chk __memmove_chk", &[Copies(0, 1, Argument(2)), Returns(0)]),
    ("mempcpy", &[Copies(0, 1, Argument(2)), Returns(0)]),
    ("memset __memset_chk bzero explicit_bzero", &[Write(0, Rest), Returns(0)]),
    ("memcmp bcmp", &[Read(0, Argument(2)), Read(1, Argument(2))]),
    ("memchr memrchr", &[Read(0, Argument(2)), Returns(0)]),
    ("rawmemchr", &[Read(0, Rest), Returns(0)]),
    ("crc32 adler32", &[Read(1, Argument(2))]),
    ("compressBound", &[]),
    ("memmem", &[Read(0, Argument(1)), Read(2, Argument(3)), Returns(0)]),
    // Texts.
    ("strlen atoi atol atoll atof", &[Read(0, Text)]),
    ("strnlen", &[Read(0, Text)]),
    ("strcmp strcasecmp strcoll", &[Read(0, Text), Read(1, Text)]),
    ("strncmp strncasecmp", &[Read(0, Text), Read(1, Text)]),
    ("strchr strrchr index rindex strchrnul", &[Read(0, Text), Returns(0)]),
    ("strstr strcasestr strpbrk", &[Read(0, Text), Read(1, Text), Returns(0)]),
    ("strspn strcspn", &[Read(0, Text), Read(1, Text)]),
    ("strcpy strncpy stpcpy __strcpy_chk __strncpy_chk", &[Copies(0, 1, Text), Write(0, Rest), Returns(0)]),
    ("strcat strncat __strcat_chk __strncat_chk", &[Read(0, Text), Copies(0, 1, Text), Write(0, Rest), Returns(0)]),
    ("strdup strndup __strdup", &[Read(0, Text), Allocates]),
    (
        "strtol strtoul strtoll strtoull strtod strtof strtold __isoc23_strtol __isoc23_strtoul __isoc23_strtoll __isoc23_strtoull",
        &[Read(0, Text), PointInto(1, 0)],
    ),
    ("strsep", &[Read(0, Bytes(8)), Because(Reason::Unmodelled)]),
    ("strerror gai_strerror", &[Constant]),
    ("sprintf", &[Read(1, Text), ReadUnnamed, Write(0, Rest)]),
    ("snprintf", &[Read(2, Text), ReadUnnamed, Write(0, Rest)]),
    ("__sprintf_chk", &[Read(3, Text), ReadUnnamed, Write(0, Rest)]),
    ("__snprintf_chk", &[Read(4, Text), ReadUnnamed, Write(0, Rest)]),
    ("vsnprintf", &[Reach(2), Reach(3), Write(0, Rest)]),
    ("vsprintf", &[Reach(1), Reach(2), Write(0, Rest)]),
    ("sscanf __isoc99_sscanf __isoc23_sscanf", &[Read(0, Text), Read(1, Text), WriteUnnamed]),
    ("qsort", &[Read(0, Product(1, 2)), Permutes(0), Calls(3, &[0, 0])]),
    ("bsearch", &[Calls(4, &[0, 1]), Returns(1)]),
    ("__ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc localeconv nl_langinfo", &[Constant]),
    ("__errno_location", &[Foreign]),
    // The world.
    ("time", &[Write(0, Bytes(8)), Because(Time)]),
    ("gettimeofday", &[Write(0, Bytes(16)), Write(1, Bytes(8)), Because(Time)]),
    ("clock_gettime", &[Write(1, Bytes(16)), Because(Time)]),
    ("nanosleep", &[Read(0, Bytes(16)), Write(1, Bytes(16)), Because(Time)]),
    ("clock usleep sleep sched_yield", &[Because(Time)]),
    ("gmtime localtime ctime", &[Read(0, Bytes(8)), Foreign, Because(Time)]),
    ("asctime", &[Read(0, Bytes(56)), Foreign]),
    ("gmtime_r localtime_r", &[Read(0, Bytes(8)), Write(1, Bytes(56)), Returns(1), Because(Environment)]),
    ("mktime timegm", &[Read(0, Bytes(56)), Write(0, Bytes(56)), Because(Environment)]),
    ("difftime", &[]),
    ("strftime", &[Read(2, Text), Read(3, Bytes(56)), Write(0, Rest), Because(Environment)]),
    ("rand random drand48 lrand48 arc4random srand srandom srand48", &[Because(Random)]),
    ("getrandom getentropy arc4random_buf", &[Write(0, Rest), Because(Random)]),
    (
        "getpid getppid getuid geteuid getgid getegid gettid pthread_self isatty umask fcntl fileno fcntl64 sysconf",
        &[Because(Process)],
    ),
    ("getcwd gethostname uname", &[Write(0, Rest), Returns(0), Because(Process)]),
    ("getrusage", &[Write(1, Bytes(144)), Because(Process)]),
    ("getenv secure_getenv", &[Read(0, Text), Foreign, Because(Environment)]),
    ("setlocale", &[Read(1, Text), Foreign, Because(Environment)]),
    (
        "putchar putchar_unlocked fputc putc fputc_unlocked fflush fclose rewind clearerr ftruncate ftruncate64 fsync fdatasync close \
         fchmod fchown flock flockfile funlockfile munmap madvise dirfd setvbuf",
        &[Because(Output)],
    ),
    ("puts perror remove unlink rmdir mkdir chmod chown chdir fputs fputs_unlocked", &[Read(0, Text), Because(Output)]),
    ("rename link symlink", &[Read(0, Text), Read(1, Text), Because(Output)]),
    ("utime utimes", &[Read(0, Text), Read(1, Bytes(32)), Because(Output)]),
    ("printf", &[Read(0, Text), ReadUnnamed, Because(Output)]),
    ("__printf_chk", &[Read(1, Text), ReadUnnamed, Because(Output)]),
    ("fprintf dprintf", &[Read(1, Text), ReadUnnamed, Because(Output)]),
    ("__fprintf_chk", &[Read(2, Text), ReadUnnamed, Because(Output)]),
    ("vprintf vfprintf", &[Reach(1), Reach(2), Because(Output)]),
    ("fwrite fwrite_unlocked", &[Read(0, Product(1, 2)), Because(Output)]),
    ("write pwrite pwrite64", &[Read(1, Argument(2)), Because(Output)]),
    ("mmap mmap64", &[Allocates, Because(Input)]),
    ("fopen fopen64 freopen freopen64", &[Read(0, Text), Read(1, Text), Foreign, Because(Input)]),
    ("fdopen", &[Read(1, Text), Foreign, Because(Input)]),
    ("opendir", &[Read(0, Text), Foreign, Because(Input)]),
    ("readdir readdir64 tmpfile tmpfile64", &[Foreign, Because(Input)]),
    ("readlink", &[Read(0, Text), Write(1, Rest), Because(Input)]),
    ("mkstemp mkstemp64", &[Read(0, Text), Write(0, Text), Because(Input)]),
    ("open open64 access", &[Read(0, Text), Because(Input)]),
    ("openat openat64", &[Read(1, Text), Because(Input)]),
    ("stat stat64 lstat lstat64", &[Read(0, Text), Write(1, Bytes(144)), Because(Input)]),
    ("fstat fstat64", &[Write(1, Bytes(144)), Because(Input)]),
    (
        "getc fgetc getchar ungetc feof ferror ftell fseek ftello fseeko lseek lseek64 fseeko64 ftello64 getc_unlocked closedir",
        &[Because(Input)],
    ),
    ("fgets", &[Write(0, Rest), Returns(0), Because(Input)]),
    ("fread fread_unlocked", &[Write(0, Rest), Because(Input)]),
    ("read pread pread64 recv", &[Write(1, Rest), Because(Input)]),
    ("popen", &[Read(0, Text), Read(1, Text), Foreign, Because(Process)]),
    ("signal", &[Foreign, Because(Process)]),
    ("sigaction", &[Read(1, Bytes(152)), Write(2, Bytes(152)), Because(Process)]),
    ("getpwuid getpwnam dlerror", &[Foreign, Because(Process)]),
    // What is loaded is not seen; these themselves look for no functions in memory.
    ("dlopen dlclose", &[Because(Reason::Unmodelled)]),
    ("dlsym dlvsym", &[Because(Reason::Unmodelled), Loads]),
    ("pthread_cond_signal pthread_cond_broadcast pthread_detach pclose", &[Because(Process)]),
    // A lock is memory like any other: its state decides what happens to it.
    (
        "pthread_mutex_lock pthread_mutex_unlock pthread_mutex_trylock pthread_mutex_destroy",
        &[Read(0, Bytes(40)), Write(0, Bytes(40))],
    ),
    ("pthread_mutex_init", &[Read(1, Bytes(4)), Write(0, Bytes(40))]),
    ("pthread_mutexattr_init pthread_mutexattr_settype pthread_mutexattr_destroy", &[Write(0, Bytes(4))]),
    ("sigemptyset sigfillset", &[Write(0, Bytes(128))]),
    ("sigaddset sigdelset", &[Read(0, Bytes(128)), Write(0, Bytes(128))]),
    ("sigismember", &[Read(0, Bytes(128))]),
    ("pthread_join", &[Write(1, Bytes(8)), Because(Threads)]),
    ("pthread_create fork vfork execv execve execvp clone posix_spawn system", &[Because(Threads)]),
    // Ends.
    (
        "abort _exit _Exit __assert_fail __stack_chk_fail _ZSt9terminatev __cxa_pure_virtual _ZSt17__throw_bad_allocv __cxa_rethrow \
      __cxa_bad_cast __cxa_throw_bad_array_new_length _Unwind_Resume __chk_fail",
        &[Ends],
    ),
    // Who catches it reads it; its destructor runs then.
    ("__cxa_throw", &[Calls(2, &[0]), Ends]),
    (
        "_ZSt20__throw_length_errorPKc _ZSt19__throw_logic_errorPKc _ZSt20__throw_out_of_rangePKc _ZSt24__throw_out_of_range_fmtPKcz \
      _ZSt24__throw_invalid_argumentPKc _ZSt25__throw_bad_function_callv _ZSt28__throw_bad_array_new_lengthv",
        &[Read(0, Text), Ends],
    ),
    ("exit quick_exit", &[Because(Exit), Ends]),
    ("longjmp siglongjmp _longjmp __longjmp_chk", &[Read(0, Bytes(200)), Ends]),
    ("setjmp _setjmp sigsetjmp __sigsetjmp", &[Write(0, Bytes(200)), ReturnsTwice]),
    // The languages' own.
    ("__cxa_begin_catch __cxa_get_exception_ptr", &[Returns(0)]),
    ("__cxa_guard_acquire", &[Read(0, Bytes(1)), Write(0, Bytes(8))]),
    ("__cxa_guard_release", &[Write(0, Bytes(8))]),
    ("__cxa_atexit atexit __cxa_thread_atexit __cxa_thread_atexit_impl", &[Because(Process)]),
];

/// What a call of the function of that name does.
pub fn model(name: &str) -> Option<&'static [Effect]> {
    MODELS.iter().find(|(names, _)| names.split_ascii_whitespace().any(|n| n == name)).map(|(_, effects)| *effects)
}

/// How large the memory is that a function of that name allocates.
pub fn allocation(name: &str) -> Option<Length> {
    Some(match name {
        "malloc" | "valloc" | "__rust_alloc" | "__rust_alloc_zeroed" | "__cxa_allocate_exception" => Argument(0),
        "calloc" => Product(0, 1),
        "realloc" | "aligned_alloc" | "memalign" | "mmap" | "mmap64" => Argument(1),
        "mremap" => Argument(2),
        "reallocarray" => Product(1, 2),
        "posix_memalign" => Argument(2),
        "__rust_realloc" => Argument(3),
        "strdup" | "strndup" | "__strdup" => Text,
        _ if name.starts_with("_Znwm") || name.starts_with("_Znam") => Argument(0),
        _ => return None,
    })
}

/// Which argument points to the memory that a function of that name gives back.
pub fn freed(name: &str) -> Option<u8> {
    let frees = matches!(
        name,
        "free" | "cfree" | "munmap" | "mremap" | "realloc" | "reallocarray" | "__rust_dealloc" | "__rust_realloc"
    );
    (frees || name.starts_with("_ZdlPv") || name.starts_with("_ZdaPv")).then_some(0)
}

/// Which argument points to memory of which a function of that name tells how large it is. That may be more than was asked for, and all
/// of it may be used.
pub fn measured(name: &str) -> Option<u8> {
    (name == "malloc_usable_size").then_some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_once() {
        let mut names: Vec<&str> = MODELS.iter().flat_map(|(names, _)| names.split_ascii_whitespace()).collect();
        names.sort_unstable();
        for pair in names.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }

    #[test]
    fn whatever_allocates_says_how_much() {
        for (names, effects) in MODELS {
            for name in names.split_ascii_whitespace() {
                let allocates = effects.iter().any(|e| matches!(e, Allocates | AllocatesInto(_)));
                assert_eq!(allocation(name).is_some(), allocates, "{name}");
            }
        }
    }

    #[test]
    fn models_are_found_by_name() {
        assert_eq!(model("memcpy"), Some(&[Copies(0, 1, Argument(2)), Returns(0)][..]));
        assert_eq!(model("sqrt"), Some(&[][..]));
        assert_eq!(model("no_such_function"), None);
    }
}
