fn main() {
    println!("{}", shapes::Square { side: 4 }.area());
}
