//! The verbs: one file each.

mod certify;
mod compare;
mod curve;
mod devices;
mod doctor;
mod explain;
mod export;
mod follow;
mod judge;
mod limit;
mod manual;
mod prep;
mod report;
mod result;
pub mod run;
mod several;
mod verify;
mod workloads;

use crate::act;
use crate::cli::{Cli, Command, Output};
use crate::detach;
use crate::failure::Failure;
use crate::rundir;

/// Does what the command line asks; the number is the exit code.
pub fn run(cli: Cli) -> Result<u8, Failure> {
    if let Some((name, output)) = in_background(&cli.command) {
        let given = output.resume.as_deref().or(output.out.as_deref());
        rundir::refuse_taken(output.out.as_deref())?;
        return detach::detach(&rundir::planned(given, &name), given.is_none());
    }
    match cli.command {
        Command::Certify(args) => certify::certify(&args),
        Command::Run(args) => run::run(&args),
        Command::Limit(args) => limit::limit(&args),
        Command::Curve(args) => curve::curve(&args),
        Command::Prep(args) => prep::prep(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Judge(args) => judge::judge(&args),
        Command::Watch(args) => follow::watch(&args),
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

/// What is to run in the background, and what it is called.
fn in_background(command: &Command) -> Option<(String, &Output)> {
    let (name, output) = match command {
        Command::Certify(args) => ("certify", &args.output),
        Command::Run(args) => (args.workload.as_str(), &args.output),
        Command::Limit(args) => (args.workload.as_str(), &args.output),
        Command::Curve(args) => (args.workload.as_str(), &args.output),
        _ => return None,
    };
    let name =
        std::path::Path::new(name).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    output.detach.then_some((name, output))
}

/// Prints the asked-for document. A reader that has gone away (`| head`) is no error.
pub fn print(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Prints text for people: in ASCII where the locale has no more.
pub fn show(text: &str) {
    match utf8() {
        true => print(text),
        false => print(&plain(text)),
    }
}

/// Whether the locale's characters are UTF-8: the first of its variables that is set decides (POSIX, 8.2).
#[allow(clippy::disallowed_methods, reason = "the binary reads the environment")]
fn utf8() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let charset = locale.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    charset.starts_with("utf-8") || charset.starts_with("utf8")
}

/// Our own signs in ASCII, each in as many columns; what others wrote is shown by a mark.
fn plain(text: &str) -> String {
    let ascii = |c: char| match c {
        '\u{b5}' | '\u{3bc}' => 'u',
        '…' => '~',
        '▁' => '_',
        '▂' => '.',
        '▃' => ':',
        '▄' => '-',
        '▅' => '=',
        '▆' => '+',
        '▇' => '*',
        '█' => '#',
        '·' => ',',
        '–' | '−' => '-',
        '×' => 'x',
        c if c.is_ascii() => c,
        _ => '?',
    };
    text.chars().map(ascii).collect()
}

/// A document as JSON.
pub fn print_json<T: serde::Serialize>(document: &T) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(document).map_err(|e| Failure::bug(format!("a result that is not JSON: {e}")))?;
    print(&format!("{text}\n"));
    Ok(())
}
