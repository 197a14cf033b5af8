//! `unseen-rustc`.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}
