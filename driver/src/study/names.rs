//! Names of functions, for people.

use cpp_demangle::{DemangleOptions, Symbol};

/// The readable form of a linker's name: Rust and C++ are demangled, all else is left as it is.
pub fn demangle(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    if name.starts_with("_Z") {
        let options = DemangleOptions::new().no_return_type();
        if let Some(cpp) = Symbol::new(name).ok().and_then(|s| s.demangle_with_options(&options).ok()) {
            return cpp;
        }
    }
    name.to_owned()
}

/// The name without its generic arguments: the same for all instances of a template or generic function.
pub fn without_arguments(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut depth = 0usize;
    let bytes = name.as_bytes();
    for (i, c) in name.char_indices() {
        match c {
            '<' if depth > 0 || opens_arguments(&out) => depth += 1,
            // An arrow in a function type closes nothing.
            '>' if depth > 0 && bytes[i - 1] != b'-' => depth -= 1,
            _ if depth == 0 => out.push(c),
            _ => {}
        }
        if depth == 1 && c == '<' && out.ends_with("::") {
            out.truncate(out.len() - 2);
        }
    }
    if depth > 0 { name.to_owned() } else { out }
}

/// The name without its list of parameters, if it ends with one.
pub fn without_parameters(name: &str) -> &str {
    let list = name.strip_suffix(" const").unwrap_or(name);
    if !list.ends_with(')') {
        return name;
    }
    let mut depth = 0;
    for (i, c) in list.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if i == 0 { name } else { &list[..i] };
        }
    }
    name
}

/// Whether a `<` behind `before` opens arguments. In `<T as Trait>::f` and `operator<` it does not.
fn opens_arguments(before: &str) -> bool {
    let operator = before.ends_with("operator") || before.ends_with("operator<");
    let follows_a_name = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '}' || c == ']');
    !operator && (follows_a_name || before.ends_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_reads_as_written() {
        assert_eq!(demangle("main"), "main");
        assert_eq!(demangle("_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(demangle("_Z3maxIiET_S0_S0_"), "max<int>(int, int)");
        assert_eq!(demangle("_ZN4core3fmt5Write9write_str17h0123456789abcdefE"), "core::fmt::Write::write_str");
        assert_eq!(demangle("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(demangle("_Znonsense"), "_Znonsense");
    }

    #[test]
    fn arguments_go_and_everything_else_stays() {
        for (full, bare) in [
            ("main", "main"),
            ("max<int>(int, int)", "max(int, int)"),
            ("std::vector<std::pair<int, A<1>>>::at(unsigned long)", "std::vector::at(unsigned long)"),
            ("foo::bar::<i32, fn(u8) -> u8>", "foo::bar"),
            ("<Vec<T> as Iterator>::next", "<Vec as Iterator>::next"),
            ("<[u8] as Trait<X>>::f", "<[u8] as Trait>::f"),
            ("operator<(A const&, A const&)", "operator<(A const&, A const&)"),
            ("operator<<(std::ostream&, A<2> const&)", "operator<<(std::ostream&, A const&)"),
            ("A<int>::operator->()", "A::operator->()"),
            ("a::{closure#0}", "a::{closure#0}"),
        ] {
            assert_eq!(without_arguments(full), bare, "{full}");
        }
    }

    #[test]
    fn parameters_go_and_other_parentheses_stay() {
        for (full, bare) in [
            ("main", "main"),
            ("f(int, void (*)(char))", "f"),
            ("A::operator()(int) const", "A::operator()"),
            ("(anonymous namespace)::f()", "(anonymous namespace)::f"),
            ("f(int)::{lambda(int)#1}::operator()(int) const", "f(int)::{lambda(int)#1}::operator()"),
        ] {
            assert_eq!(without_parameters(full), bare, "{full}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_read_without_panic(name in ".{0,60}", mangled in "_Z[A-Za-z0-9_]{0,40}|_R[A-Za-z0-9_]{0,40}") {
            without_arguments(without_parameters(&demangle(&name)));
            without_arguments(&demangle(&mangled));
        }
    }
}
