//! Shapes that describe themselves.

pub use shapes_macros::Describe;

/// Something with a description.
pub trait Describe {
    fn describe(&self) -> String;
}

/// A square.
///
/// ```
/// use shapes::{Describe, Square};
/// assert_eq!(Square { side: 2 }.area(), 4);
/// assert_eq!(Square { side: 2 }.describe(), "Square of area 4");
/// ```
#[derive(Describe)]
pub struct Square {
    pub side: i32,
}

impl Square {
    /// The area, computed in C.
    pub fn area(&self) -> i32 {
        squares_sys::square(self.side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas() {
        assert_eq!(Square { side: 5 }.area(), 25);
    }
}
