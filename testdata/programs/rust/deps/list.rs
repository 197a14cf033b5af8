// A list of boxes.
// f reads n; n([8..16])*[0..8]; n([8..16])*[8..16]
pub struct Node { pub value: u64, pub next: Option<Box<Node>> }
#[unsafe(no_mangle)]
pub fn list_f(mut n: Option<&Node>) -> u64 {
    let mut sum = 0u64;
    while let Some(node) = n {
        sum = sum.wrapping_add(node.value);
        n = node.next.as_deref();
    }
    sum
}
