unsafe extern "C" {
    fn squares_square(x: i32) -> i32;
    fn squares_sum(values: *const i32, count: usize) -> i32;
}

pub fn square(x: i32) -> i32 {
    unsafe { squares_square(x) }
}

pub fn sum_of_squares(values: &[i32]) -> i32 {
    unsafe { squares_sum(values.as_ptr(), values.len()) }
}
