//! Prints the words that occur most often: words [--least] TEXT...

use std::collections::HashMap;

unsafe extern "C" {
    fn words_hash(text: *const u8, length: usize) -> u64;
}

fn hash(word: &str) -> u64 {
    // SAFETY: the pointer and the length are those of a string.
    unsafe { words_hash(word.as_ptr(), word.len()) }
}

fn count(text: &[String]) -> Vec<(String, usize)> {
    let mut counts: HashMap<u64, (String, usize)> = HashMap::new();
    for word in text.iter().flat_map(|t| t.split_whitespace()) {
        let entry = counts.entry(hash(word)).or_insert_with(|| (word.to_lowercase(), 0));
        entry.1 += 1;
    }
    let mut all: Vec<_> = counts.into_values().collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all
}

fn main() {
    let mut text: Vec<String> = std::env::args().skip(1).collect();
    let least = text.first().is_some_and(|t| t == "--least");
    if least {
        text.remove(0);
    }
    let mut all = count(&text);
    if all.is_empty() {
        eprintln!("words: nothing to count");
        std::process::exit(1);
    }
    if least {
        all.reverse();
    }
    for (word, times) in all.iter().take(3) {
        println!("{times:>3} {word}");
    }
}
