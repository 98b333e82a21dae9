//! The verbs: one file each.

mod certify;
mod compare;
mod devices;
mod doctor;
mod explain;
mod export;
mod judge;
mod limit;
mod manual;
mod prep;
mod report;
mod result;
pub mod run;
mod verify;
mod workloads;

use crate::act;
use crate::cli::{Cli, Command};
use crate::failure::Failure;

/// Does what the command line asks; the number is the exit code.
pub fn run(cli: Cli) -> Result<u8, Failure> {
    match cli.command {
        Command::Certify(args) => certify::certify(&args),
        Command::Run(args) => run::run(&args),
        Command::Limit(args) => limit::limit(&args),
        Command::Prep(args) => prep::prep(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Judge(args) => judge::judge(&args),
        Command::Report(args) => report::report(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Compare(args) => compare::compared(&args),
        Command::Export(args) => export::export(&args),
        Command::As(args) => act::named(&args.words),
        Command::Devices(args) => devices::devices(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Workloads(args) => workloads::workloads(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    }
}

/// Prints the asked-for document. A reader that has gone away (`| head`) is no error.
pub fn print(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// A document as JSON.
pub fn print_json<T: serde::Serialize>(document: &T) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(document).map_err(|e| Failure::bug(format!("a result that is not JSON: {e}")))?;
    print(&format!("{text}\n"));
    Ok(())
}
