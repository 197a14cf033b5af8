fn main() {
    cc::Build::new().file("squares.c").compile("squares");
    println!("cargo::rerun-if-changed=squares.c");
}
