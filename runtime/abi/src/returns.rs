//! External functions that always come back to their caller: they neither exit, nor unwind, nor jump away.
//!
//! Read by the pass: behind such a call the rest of the block is reached too. Sorted, for binary search.

/// The names.
pub const ALWAYS_RETURN: &[&str] = &[
    "abs", "acos", "aligned_alloc", "asin", "atan", "atan2", "atof", "atoi", "atol", "atoll", "bcmp", "calloc",
    "ceil", "ceilf", "clock", "clock_gettime", "cos", "cosf", "exp", "expf", "fabs", "feof", "ferror", "floor",
    "floorf", "fmod", "free", "getenv", "getpid", "gettimeofday", "gmtime", "isalnum", "isalpha", "isdigit",
    "islower", "isspace", "isupper", "ldexp", "localtime", "log", "log10", "logf", "lrint", "malloc",
    "malloc_usable_size", "memchr", "memcmp", "memcpy", "memmove", "memrchr", "memset", "pow", "powf", "rand",
    "realloc", "round", "roundf", "sin", "sinf", "snprintf", "sprintf", "sqrt", "sqrtf", "srand", "sscanf",
    "strcasecmp", "strcat", "strchr", "strcmp", "strcoll", "strcpy", "strcspn", "strdup", "strerror", "strftime",
    "strlen", "strncasecmp", "strncat", "strncmp", "strncpy", "strndup", "strnlen", "strpbrk", "strrchr",
    "strspn", "strstr", "strtod", "strtok", "strtol", "strtoll", "strtoul", "strtoull", "sysconf", "tan", "tanf",
    "time", "tolower", "toupper", "trunc", "truncf", "vsnprintf", "vsprintf",
];

/// Whether the external function of that name always returns.
pub fn always_returns(name: &str) -> bool {
    ALWAYS_RETURN.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_sorted() {
        assert!(super::ALWAYS_RETURN.is_sorted());
    }
}
