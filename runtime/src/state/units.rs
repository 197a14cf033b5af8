//! Which units are tested at all: `UNSEEN_UNITS`. In: globs. Out: whether a name is among them.

/// Whether a unit of that name is tested. Names are as the source has them, with or without parameters.
pub fn is_chosen(globs: &[u8], name: &[u8]) -> bool {
    let bare = name.iter().position(|b| *b == b'(').and_then(|end| name.get(..end)).unwrap_or(name);
    let fits = |glob: &[u8]| matches(glob, name) || matches(glob, bare);
    let (mut any, mut is_in) = (false, false);
    for glob in globs.split(|b| *b == b',').map(<[u8]>::trim_ascii).filter(|glob| !glob.is_empty()) {
        if let Some(glob) = glob.strip_prefix(b"!") {
            if fits(glob) {
                return false;
            }
        } else {
            any = true;
            is_in |= fits(glob);
        }
    }
    is_in || !any
}

/// Whether a text fits a glob: `*` is any text, `?` any byte.
fn matches(glob: &[u8], text: &[u8]) -> bool {
    let (mut g, mut t) = (0, 0);
    // Where to go on if it does not fit: behind the last star, one byte further.
    let mut back: Option<(usize, usize)> = None;
    while let Some(byte) = text.get(t) {
        match glob.get(g) {
            Some(b'*') => {
                back = Some((g + 1, t));
                g += 1;
            }
            Some(wanted) if *wanted == b'?' || wanted == byte => {
                g += 1;
                t += 1;
            }
            _ => {
                let Some((star, from)) = back else { return false };
                back = Some((star, from + 1));
                (g, t) = (star, from + 1);
            }
        }
    }
    glob.get(g..).is_some_and(|rest| rest.iter().all(|b| *b == b'*'))
}

/// The names of a list in which each has a NUL behind it.
pub fn names(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|b| *b == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, slowly.
    fn model(glob: &[u8], text: &[u8]) -> bool {
        match (glob.first(), text.first()) {
            (None, None) => true,
            (Some(b'*'), _) => model(&glob[1..], text) || (!text.is_empty() && model(glob, &text[1..])),
            (Some(b'?'), Some(_)) => model(&glob[1..], &text[1..]),
            (Some(a), Some(b)) if a == b => model(&glob[1..], &text[1..]),
            _ => false,
        }
    }

    #[test]
    fn globs_fit_what_they_say() {
        let texts: Vec<Vec<u8>> = (0..3_usize.pow(6))
            .flat_map(|n| (0..=6).map(move |length| (0..length).map(|i| b"ab*"[n / 3_usize.pow(i) % 3]).collect()))
            .collect();
        let globs: Vec<Vec<u8>> = (0..4_usize.pow(5))
            .flat_map(|n| [3, 5].map(move |length| (0..length).map(|i| b"ab*?"[n / 4_usize.pow(i) % 4]).collect()))
            .collect();
        for (i, glob) in globs.iter().enumerate() {
            for text in texts.iter().skip(i % 7).step_by(7) {
                assert_eq!(matches(glob, text), model(glob, text), "{glob:?} {text:?}");
            }
        }
    }

    #[test]
    fn names_are_chosen_with_and_without_parameters() {
        assert!(is_chosen(b"", b"f") && is_chosen(b" , ", b"f"));
        assert!(is_chosen(b"shop::Cart::add", b"shop::Cart::add(int)"));
        assert!(is_chosen(b"shop::Cart::add(int)", b"shop::Cart::add(int)"));
        assert!(!is_chosen(b"shop::Cart::add(long)", b"shop::Cart::add(int)"));
        assert!(is_chosen(b"parse_*, shop::*", b"shop::Cart::add(int)") && !is_chosen(b"parse_*", b"shop"));
        assert!(!is_chosen(b"!shop::*", b"shop::x") && is_chosen(b"!shop::*", b"other"));
        assert!(is_chosen(b"p*,!*_slow", b"parse") && !is_chosen(b"p*,!*_slow", b"parse_slow"));
        assert!(names(b"one\0two()\0").take(2).eq([&b"one"[..], b"two()"]));
    }
}
