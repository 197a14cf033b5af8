// The paper's Figure 2.
// f reads A; B; p1; p2; p3
static mut A: i32 = 0;
static mut B: i32 = 0;
#[inline(never)]
unsafe fn g(p: i32) -> i32 {
    let m = p.wrapping_mul(unsafe { B });
    m.wrapping_mul(m).wrapping_sub(unsafe { B })
}
#[unsafe(no_mangle)]
pub unsafe fn figure_2_f(p1: i32, p2: i32, p3: i32) -> i32 {
    let t = unsafe { A }.wrapping_add(1);
    if p1 > p2 { unsafe { g(p3) } } else { p2.wrapping_sub(t) }
}
