// A string's length.
// f reads s.length
#[unsafe(no_mangle)]
pub fn text_f(s: &str) -> usize { s.len() }
