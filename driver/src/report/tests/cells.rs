//! Shares, times and names as they stand in tables and pictures.

use super::super::text::tenths;

/// `37.5 %`; `-` if there is none.
pub fn percent(percent: Option<f64>) -> String {
    percent.map_or_else(|| "-".into(), |p| format!("{} %", tenths(p)))
}

/// A time in µs, in a unit that suits it; `-` if nothing was measured.
pub fn duration(us: Option<f64>) -> String {
    match us {
        None => "-".into(),
        Some(us) if us < 9.995 => format!("{us:.2} µs"),
        Some(us) if us < 999.5 => format!("{us:.0} µs"),
        Some(us) if us < 9_995.0 => format!("{:.2} ms", us / 1e3),
        Some(us) if us < 999_500.0 => format!("{:.0} ms", us / 1e3),
        Some(us) => format!("{:.2} s", us / 1e6),
    }
}

/// The name if it is not too long, else its beginning and its end: C++ names differ there.
pub fn shorten(name: &str, most: usize) -> String {
    let count = name.chars().count();
    if count <= most {
        return name.to_owned();
    }
    let (head, tail) = (most / 2, most - most / 2 - 1);
    name.chars().take(head).chain(['…']).chain(name.chars().skip(count - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("std::vector<größe>", 9), "std:…öße>");
        assert_eq!(shorten("std::vector<größe>", 9).chars().count(), 9);
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown = [0.0, 0.5, 12.34, 1234.0, 56_789.0, 2_500_000.0].map(|us| duration(Some(us)));
        assert_eq!(shown, ["0.00 µs", "0.50 µs", "12 µs", "1.23 ms", "57 ms", "2.50 s"]);
        assert_eq!(duration(None), "-");
    }
}
