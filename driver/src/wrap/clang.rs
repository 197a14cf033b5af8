//! unseen-clang.
pub enum Language {
    C,
    Cpp,
}
pub fn main(_l: Language) -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}
