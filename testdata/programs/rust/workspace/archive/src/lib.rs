/// The area of a square.
#[unsafe(no_mangle)]
pub extern "C" fn archive_area(side: i32) -> i32 {
    shapes::Square { side }.area()
}
