#[test]
fn the_program_runs() {
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_app")).arg("y").output().unwrap();
    assert_eq!(String::from_utf8(out.stdout).unwrap(), "hello, Y!\nSquare of area 9\n5\n14\n");
}
