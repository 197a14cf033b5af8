//! Response files, read as clang reads them: `@file` stands for the words in it, quoted as in a shell (`\`, `'`, `"`);
//! files may name files. A file that can't be read leaves `@file` as a word of its own.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Deeper nesting is a loop.
const DEEPEST: usize = 64;

/// The words with response files replaced by their contents, each with the index of the word it came from.
pub fn expand(words: &[OsString]) -> Vec<(usize, OsString)> {
    let mut out = Vec::with_capacity(words.len());
    for (index, word) in words.iter().enumerate() {
        expand_word(index, word.clone(), &mut Vec::new(), &mut out);
    }
    out
}

fn expand_word(index: usize, word: OsString, open: &mut Vec<PathBuf>, out: &mut Vec<(usize, OsString)>) {
    if let Some(name) = word.as_bytes().strip_prefix(b"@") {
        let path = PathBuf::from(OsString::from_vec(name.to_vec()));
        if !open.contains(&path)
            && open.len() < DEEPEST
            && let Some(text) = read(&path)
        {
            open.push(path);
            for inner in tokens(&text) {
                expand_word(index, inner, open, out);
            }
            open.pop();
            return;
        }
    }
    out.push((index, word));
}

fn read(path: &Path) -> Option<Vec<u8>> {
    // A named pipe could be read only once, and that once is clang's.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    std::fs::read(path).ok()
}

/// Splits the text of a response file.
fn tokens(text: &[u8]) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(b) = bytes.next() {
        match (quote, b) {
            (None | Some(b'"'), b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (Some(q), _) if b == q => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(b),
            (None, b'\'' | b'"') => {
                word.get_or_insert_default();
                quote = Some(b);
            }
            (None, b' ' | b'\t' | b'\r' | b'\n' | 0) => out.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(b),
        }
    }
    out.extend(word);
    out.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        tokens(text.as_bytes()).into_iter().map(|w| w.into_string().unwrap()).collect()
    }

    #[test]
    fn words_are_quoted_as_in_a_shell() {
        assert_eq!(split("a 'b c' \"d \\\" e\" f\\ g h'i'j ''\n"), ["a", "b c", "d \" e", "f g", "hij", ""]);
        assert_eq!(split("-DX=\\\"s\\\"\r\n\t-c"), ["-DX=\"s\"", "-c"]);
    }

    #[test]
    fn files_name_files_and_loops_end() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        std::fs::write(&a, format!("one @{} three", b.display())).unwrap();
        std::fs::write(&b, format!("two @{} @/no/such/file", a.display())).unwrap();
        let words = expand(&["x".into(), format!("@{}", a.display()).into()]);
        let text: Vec<_> = words.iter().map(|(i, w)| (*i, w.to_str().unwrap())).collect();
        let again = format!("@{}", a.display());
        assert_eq!(text, [(0, "x"), (1, "one"), (1, "two"), (1, &again), (1, "@/no/such/file"), (1, "three")]);
    }
}
