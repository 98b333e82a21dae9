//! The verbs: one file each.

mod certify;
mod compare;
mod consent;
mod curve;
mod devices;
mod doctor;
mod explain;
mod export;
mod follow;
mod judge;
mod limit;
mod links;
mod manual;
mod prep;
mod report;
mod result;
pub mod run;
mod several;
mod steps;
mod verify;
mod workloads;

use crate::act;
use crate::cli::{Cli, Command, Output};
use crate::detach;
use crate::failure::{Failure, shown};
use crate::{files, rundir, screen};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::OnceLock;

/// Does what the command line asks; the number is the exit code.
pub fn run(cli: Cli) -> Result<u8, Failure> {
    let made = run_of(&cli.command);
    if let Some((name, output)) = made.filter(|(_, output)| output.detach) {
        let given = output.resume.as_deref().or(output.out.as_deref());
        rundir::refuse_taken(output.out.as_deref())?;
        return detach::detach(&rundir::planned(given, &stem(name)), given.is_none(), output.json);
    }
    // A run's result is in its directory as well.
    let kept = made.is_some();
    let code = carry_out(cli.command)?;
    match UNWRITTEN.get() {
        None => Ok(code),
        Some(e) => {
            let lost = Failure::host(format!("standard output could not be written to the end: {e}"));
            if kept {
                screen::complain(&lost);
                return Ok(code);
            }
            Err(lost)
        }
    }
}

fn carry_out(command: Command) -> Result<u8, Failure> {
    match command {
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
        Command::Links(args) => links::links(&args),
        Command::Devices(args) => devices::devices(&args),
        Command::Consent(args) => consent::consent(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Workloads(args) => workloads::workloads(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    }
}

/// Of a command that makes a run directory: what it runs, and where to.
fn run_of(command: &Command) -> Option<(&str, &Output)> {
    match command {
        Command::Certify(args) => Some(("certify", &args.output)),
        Command::Run(args) => Some((&args.workload, &args.output)),
        Command::Limit(args) => Some((&args.workload, &args.output)),
        Command::Curve(args) => Some((&args.workload, &args.output)),
        _ => None,
    }
}

/// What a workload is called, which may be a file.
fn stem(name: &str) -> String {
    Path::new(name).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// Why standard output is not whole.
static UNWRITTEN: OnceLock<std::io::Error> = OnceLock::new();

/// Prints the asked-for document. A reader that has gone away (`| head`) is no error; any other is the command's, told at its
/// end.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(e) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
        && e.kind() != ErrorKind::BrokenPipe
    {
        let _ = UNWRITTEN.set(e);
    }
}

/// Writes a document to a new file. What is there is never overwritten, and nothing that is cut stays.
pub fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::host(format!("{} cannot be written: {why}", shown(path)));
    files::create(path, text.as_bytes()).map_err(|e| failed(&e))
}

/// Prints text for people: in ASCII where the locale has no more.
pub fn show(text: &str) {
    let text = screen::harmless(text);
    print(&screen::coloured(&if utf8() { text } else { plain(&text) }));
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
