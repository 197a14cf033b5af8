use shapes::{Describe, Square};

fn greeting(name: Option<&str>) -> String {
    let greeting = env!("APP_GREETING");
    match name {
        Some(name) if cfg!(feature = "loud") => format!("{greeting}, {}!", name.to_uppercase()),
        Some(name) => format!("{greeting}, {name}"),
        None => greeting.to_string(),
    }
}

fn main() {
    let name = std::env::args().nth(1);
    println!("{}", greeting(name.as_deref()));
    println!("{}", Square { side: 3 }.describe());
    println!("{}", both::larger(2, 5));
    println!("{}", squares_sys::sum_of_squares(&[1, 2, 3]));
    if std::env::args().any(|a| a == "panic") {
        panic!("asked for");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_greeted() {
        assert!(super::greeting(Some("x")).starts_with("hello, "));
        assert_eq!(super::greeting(None), "hello");
    }
}
