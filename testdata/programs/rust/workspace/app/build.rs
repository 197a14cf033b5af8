fn main() {
    println!("cargo::rustc-env=APP_GREETING=hello");
    println!("cargo::rerun-if-changed=build.rs");
}
