// The paper's Figure 1.
// f reads A; p1; p2
static mut A: i32 = 0;
#[unsafe(no_mangle)]
pub unsafe fn figure_1_f(p1: i32, p2: i32, _p3: i32) -> i32 {
    let k = 8;
    let t = unsafe { A }.wrapping_add(1);
    if p1 > p2 { t.wrapping_add(k) } else { p2.wrapping_sub(t) }
}
