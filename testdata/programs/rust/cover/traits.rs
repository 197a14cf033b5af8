// Matches, `?`, closures, generics, traits, panics. Lines on which Unseen and llvm-cov differ say why.
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug)]
enum Token {
    Number(i64),
    Plus,
    Minus,
    Other(char),
}

struct Failure {
    at: usize,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failure at {}", self.at)
    }
}

trait Animal {
    fn legs(&self) -> u32;
    fn describe(&self) -> String {
        format!("{} legs", self.legs())
    }
}

struct Dog;
struct Bird;

impl Animal for Dog {
    fn legs(&self) -> u32 {
        4 // differs: a constant or a copy needs no code of its own
    }
}

impl Animal for Bird {
    fn legs(&self) -> u32 {
        2 // differs: a constant or a copy needs no code of its own
    }
    fn describe(&self) -> String {
        String::from("flies")
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, Failure> {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'+' => out.push(Token::Plus),
            b'-' => out.push(Token::Minus),
            b'0'..=b'9' => {
                let mut value = 0i64;
                while i < bytes.len() && bytes[i].is_ascii_digit() {
                    value = value * 10 + i64::from(bytes[i] - b'0');
                    i += 1;
                }
                out.push(Token::Number(value));
                continue; // differs: a jump behind other code is no statement of its own
            }
            b' ' => {} // differs: an empty arm has no code
            b'!' => return Err(Failure { at: i }),
            other => out.push(Token::Other(other as char)),
        }
        i += 1;
    }
    Ok(out)
}

fn sum(text: &str) -> Result<i64, Failure> {
    let mut total = 0;
    let mut sign = 1;
    for token in tokens(text)? {
        match token {
            Token::Number(n) => total += sign * n,
            Token::Plus => sign = 1,
            Token::Minus => sign = -1,
            Token::Other(c) => {
                println!("strange {c}");
            }
        }
    } // differs: the tokens are dropped here
    Ok(total)
}

fn largest<T: PartialOrd + Copy>(items: &[T]) -> Option<T> {
    let mut best = *items.first()?;
    for item in items {
        if *item > best {
            best = *item;
        }
    }
    Some(best)
}

fn never_called(x: u32) -> u32 {
    x + 1
}

fn risky(x: u32) -> u32 {
    if x > 2 {
        panic!("too large");
    }
    x // differs: a constant or a copy needs no code of its own
}

fn main() {
    match sum("1 + 20 - 3") {
        Ok(n) => println!("{n}"),
        Err(e) => println!("{e}"),
    }
    if let Err(e) = sum("4!") {
        println!("{e}");
    }
    let zoo: Vec<Box<dyn Animal>> = vec![Box::new(Dog), Box::new(Bird)];
    for animal in &zoo {
        println!("{}", animal.describe());
    }
    println!("{:?} {:?}", largest(&[1, 5, 3]), largest::<f64>(&[]));
    let mut counts = BTreeMap::new();
    for word in "a b a c".split(' ') {
        *counts.entry(word).or_insert(0) += 1;
    }
    let twice = |x: i32| {
        if x < 0 {
            return 0;
        }
        x * 2
    };
    println!("{:?} {}", counts, twice(4));
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = std::panic::catch_unwind(|| risky(9));
    println!("{}", outcome.is_err());
    if zoo.len() > 5 {
        println!("{}", never_called(1));
    }
}
