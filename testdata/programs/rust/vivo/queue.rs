// Tests of a function and of a method, attached by path; one panics.

pub struct Queue {
    items: [u32; 4],
    first: usize,
    count: usize,
}

impl Queue {
    #[inline(never)]
    pub fn push(&mut self, item: u32) -> bool {
        if self.count == 4 {
            return false;
        }
        // Wrong when it goes around.
        let at = self.first + self.count;
        self.items[if at > 4 { at - 4 } else { at.min(3) }] = item;
        self.count += 1;
        true
    }

    #[inline(never)]
    pub fn pop(&mut self) -> Option<u32> {
        (self.count > 0).then(|| {
            let item = self.items[self.first];
            self.first = (self.first + 1) % 4;
            self.count -= 1;
            item
        })
    }
}

#[inline(never)]
pub fn double(n: u32) -> u32 {
    n * 2
}

fn what_is_pushed_is_popped(queue: &mut Queue, item: u32) {
    if queue.push(item) {
        let last = std::iter::from_fn(|| queue.pop()).last();
        assert_eq!(last, Some(item), "pushed behind {} others", queue.first);
    }
}

#[unseen::test(of = double)]
fn double_is_even(n: u32) -> bool {
    double(n) % 2 == 0
}

// What it returns comes in two registers.
#[unseen::test(of = Queue::pop, after)]
fn what_is_popped_was_small(_: &mut Queue, item: Option<u32>) -> bool {
    item.is_none_or(|item| item < 100)
}

unseen::attach!(Queue::push, what_is_pushed_is_popped);
unseen::deterministic!(double);

fn main() {
    let mut queue = Queue { items: [0; 4], first: 0, count: 0 };
    let mut sum = 0;
    for i in 0..6 {
        queue.push(double(i % 3));
        if i % 3 == 2 {
            sum += queue.pop().unwrap_or(0);
        }
    }
    println!("{sum}");
}
