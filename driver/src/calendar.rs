//! Times since 1970 as text, in UTC.

/// `20251116T024512.123456Z`: sorts as text, and may be part of a file's name.
pub fn compact(ns: u64) -> String {
    let Utc { year, month, day, hour, minute, second } = utc(ns);
    let micros = ns / 1000 % 1_000_000;
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{micros:06}Z")
}

/// `2025-11-16T02:45:12Z`: ISO 8601, for programs.
pub fn iso(ns: u64) -> String {
    let Utc { year, month, day, hour, minute, second } = utc(ns);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// `2025-11-16 02:45:12 UTC`: for people.
pub fn plain(ns: u64) -> String {
    iso(ns).replace('T', " ").replace('Z', " UTC")
}

struct Utc {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

fn utc(ns: u64) -> Utc {
    let seconds = ns / 1_000_000_000;
    let (year, month, day) = date(seconds / 86400);
    Utc { year, month, day, hour: seconds / 3600 % 24, minute: seconds / 60 % 60, second: seconds % 60 }
}

/// The date, so many days after 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(compact(0), "19700101T000000.000000Z");
        assert_eq!(compact(951_782_400_000_001_000), "20000229T000000.000001Z");
        assert_eq!(compact(1_709_251_199_999_999_999), "20240229T235959.999999Z");
        assert_eq!(compact(1_709_251_200_000_000_000), "20240301T000000.000000Z");
        assert_eq!(compact(4_107_542_400_000_000_000), "21000301T000000.000000Z");
        assert_eq!(iso(1_709_251_199_999_999_999), "2024-02-29T23:59:59Z");
        assert_eq!(plain(1_709_251_199_999_999_999), "2024-02-29 23:59:59 UTC");
    }
}
