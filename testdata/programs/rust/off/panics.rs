// Panics caught and resumed, drops on the way, trait objects, iterators, a thread: the same in both bodies.
use std::panic;

struct Noisy(&'static str);
impl Drop for Noisy {
    fn drop(&mut self) {
        println!("drop {}", self.0);
    }
}

trait Step {
    fn step(&self, x: i64) -> i64;
}
struct Add(i64);
struct Check(i64);
impl Step for Add {
    #[inline(never)]
    fn step(&self, x: i64) -> i64 {
        x.checked_add(self.0).expect("overflow")
    }
}
impl Step for Check {
    #[inline(never)]
    fn step(&self, x: i64) -> i64 {
        let _noisy = Noisy("check");
        if x > self.0 {
            panic!("{x} is more than {}", self.0);
        }
        x
    }
}

fn walk(steps: &[Box<dyn Step>], x: i64) -> i64 {
    let _noisy = Noisy("walk");
    steps.iter().fold(x, |x, s| s.step(x))
}

fn main() {
    panic::set_hook(Box::new(|info| println!("panic: {info}")));
    let steps: Vec<Box<dyn Step>> = vec![Box::new(Add(3)), Box::new(Check(10)), Box::new(Add(4))];
    println!("{}", walk(&steps, 1));
    let caught = panic::catch_unwind(panic::AssertUnwindSafe(|| walk(&steps, 9)));
    println!("{}", caught.is_err());
    let thread = std::thread::spawn(|| {
        let _noisy = Noisy("thread");
        [1, 2, 3].iter().map(|x| x * 7).filter(|x| x % 2 == 1).sum::<i32>()
    });
    println!("{}", thread.join().unwrap());
    let index = std::env::args().count() + 5;
    println!("{:?}", panic::catch_unwind(|| [1, 2, 3][index]).is_err());
}
