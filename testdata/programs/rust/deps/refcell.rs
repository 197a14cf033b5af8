// A borrow that is checked when it is made: its state is read with the value.
// f reads c; c->borrow.value.value; c->value.value; c[0..4]; c[8..16]
// f ends panic
// g reads c->value.value
// g writes c->value.value
use std::cell::{Cell, RefCell};
#[unsafe(no_mangle)]
pub fn refcell_f(c: &RefCell<u32>) -> u32 {
    c.try_borrow().map_or(0, |value| *value)
}
#[unsafe(no_mangle)]
pub fn refcell_g(c: &Cell<u32>) -> u32 {
    c.replace(7)
}
