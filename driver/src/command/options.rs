//! `unseen options`: the one table of `UNSEEN_*` variables, for people and for programs.

use std::fmt::Write as _;
use std::process::ExitCode;

use unseen_abi::hooks;
use unseen_abi::options::{self, Reader};

use super::Outcome;

/// Arguments of `unseen options`.
#[derive(clap::Args)]
pub struct Args {
    /// How to print the table
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Print the symbols of the runtime's hooks instead (read by scripts/build)
    #[arg(long, hide = true)]
    hooks: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let text = match (args.hooks, args.format) {
        (true, _) => {
            hooks::BASIC.iter().chain(hooks::ACCESS).chain(hooks::STATE).map(|h| format!("{}\n", h.symbol)).collect()
        }
        (false, Format::Text) => text(),
        (false, Format::Json) => json(),
    };
    print!("{text}");
    Ok(ExitCode::SUCCESS)
}

fn reader(reader: Reader) -> &'static str {
    match reader {
        Reader::Program => "program",
        Reader::Build => "build",
        Reader::Tools => "tools",
    }
}

fn text() -> String {
    let mut out = String::new();
    for (who, title) in [
        (Reader::Program, "Read by programs, when they run"),
        (Reader::Build, "Read by the compilers, when programs are built"),
        (Reader::Tools, "Read by the tools"),
    ] {
        if !out.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "{title}");
        for o in options::ALL.iter().filter(|o| o.reader == who) {
            let _ = writeln!(out, "  {}={}  (default: {})\n      {}", o.name, o.values, o.default, o.help);
        }
    }
    out
}

fn json() -> String {
    let list: Vec<_> = options::ALL
        .iter()
        .map(|o| {
            serde_json::json!({
                "name": o.name, "reader": reader(o.reader), "values": o.values, "default": o.default, "help": o.help,
            })
        })
        .collect();
    let all = serde_json::json!({ "version": 1, "options": list });
    format!("{all:#}\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_option_is_printed_both_ways() {
        let (text, json) = (super::text(), super::json());
        for o in unseen_abi::options::ALL {
            assert!(text.contains(&format!("  {}=", o.name)), "{}", o.name);
            assert!(json.contains(&format!("\"{}\"", o.name)), "{}", o.name);
        }
    }
}
