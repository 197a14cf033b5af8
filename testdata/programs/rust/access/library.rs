// Collections, trait objects, strings and a global of the program's: every call is checked, and nothing is missed.
use std::collections::{BTreeMap, HashMap};
static mut SEED: u32 = 7;
trait Shape {
    fn area(&self) -> u32;
}
struct Square(u32);
struct Rect {
    w: u32,
    h: u32,
}
impl Shape for Square {
    fn area(&self) -> u32 {
        self.0 * self.0
    }
}
impl Shape for Rect {
    fn area(&self) -> u32 {
        self.w * self.h
    }
}
#[inline(never)]
fn total(shapes: &[Box<dyn Shape>]) -> u32 {
    shapes.iter().map(|s| s.area()).sum()
}
#[inline(never)]
fn count(words: &str) -> BTreeMap<&str, usize> {
    let mut m = BTreeMap::new();
    for w in words.split(' ') {
        *m.entry(w).or_insert(0) += 1;
    }
    m
}
#[inline(never)]
fn next() -> u32 {
    unsafe {
        SEED = SEED.wrapping_mul(1103515245).wrapping_add(12345);
        SEED
    }
}
#[inline(never)]
fn join(parts: &[String]) -> String {
    parts.join("-")
}
#[inline(never)]
fn sorted(v: &[u32]) -> Vec<u32> {
    let mut v = v.to_vec();
    v.sort();
    v
}
fn main() {
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(3)), Box::new(Rect { w: 2, h: 5 })];
    let mut h = HashMap::new();
    for i in 0..50u32 {
        h.insert(i, next());
    }
    let parts: Vec<String> = (0..5).map(|i| format!("p{i}")).collect();
    let s = sorted(&(0..100).map(|_| next() % 1000).collect::<Vec<_>>());
    println!(
        "{} {:?} {} {} {} {:?}",
        total(&shapes),
        count("a b a c b a d e f g h i j k l m n o p q r s t u v w"),
        h.len(),
        h[&3] > 0,
        join(&parts),
        s.first()
    );
}
