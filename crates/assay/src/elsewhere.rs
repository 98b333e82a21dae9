//! Options and job files that users know from other tools, and what to use here instead.

use crate::cli::Cli;
use crate::help::with_help;
use crate::screen;
use assay_base::text::without_passwords;
use assay_run::failure::one_line;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use std::borrow::Cow;
use std::ffi::OsString;

/// Options of fio, elbencho, iozone and ACT, with our equivalents; and one of ours in places where it does not exist.
const OPTIONS: [(&str, &str); 22] = [
    ("runtime", "the measured time is --for 60s"),
    ("time", "the measured time is --for 60s"),
    ("duration", "the measured time is --for 60s"),
    ("timelimit", "the measured time is --for 60s"),
    ("ramp-time", "time before measuring is --warm-up 10s"),
    ("ramp_time", "time before measuring is --warm-up 10s"),
    ("bs", "sizes are a workload's: size = \"4KiB\" (assay workloads random-read prints one to change)"),
    ("blocksize", "sizes are a workload's: size = \"4KiB\" (assay workloads random-read prints one to change)"),
    ("block", "sizes are a workload's: size = \"4KiB\" (assay workloads random-read prints one to change)"),
    ("iodepth", "a queue depth is a workload's: in_flight = 32 (assay workloads random-read prints one to change)"),
    (
        "rw",
        "what is read and written is a workload's: direction = \"read\" (assay workloads random-read prints one to change)",
    ),
    (
        "readwrite",
        "what is read and written is a workload's: direction = \"read\" (assay workloads random-read prints one to change)",
    ),
    ("rate", "a rate is a workload's: rate = \"2000/s\"; --load 2x doubles it"),
    ("iops", "a rate is a workload's: rate = \"2000/s\"; --load 2x doubles it"),
    ("filename", "targets are named behind the workload: assay run WORKLOAD TARGET"),
    ("ioengine", "the engine is --engine auto, io_uring, threads or inline"),
    ("numjobs", "the number of threads is --workers N"),
    ("threads", "the number of threads is --workers N"),
    ("randseed", "the seed is --seed N"),
    (
        "criterion",
        "run, limit, curve and explain take it; certify judges by its workload: write yours as [[criterion]] of a file",
    ),
    ("output", "results go to --out DIR; --json prints them"),
    ("output-format", "--json prints the result; assay export LOG --to FORMAT has other tools' formats"),
];

/// Parses the command line; where it cannot be parsed, the program ends with a message about what to write.
#[allow(clippy::disallowed_methods, clippy::exit, reason = "it stands for clap's own way to end")]
pub(crate) fn parse_command_line() -> Cli {
    try_parse().map_err(without_new_lines).unwrap_or_else(|error| {
        let error = advice_for_option(&error).map(|advice| error_with(&error, advice)).unwrap_or(error);
        // The reason why a value is refused repeats the value, and has no context that could be tamed.
        let text = error.render().to_string();
        if let Cow::Owned(shown) = without_passwords(&text) {
            screen::print_to_stderr(shown.trim_end());
            std::process::exit(error.exit_code());
        }
        error.exit()
    })
}

/// Parses the command line.
#[allow(clippy::disallowed_methods, reason = "the binary reads its arguments")]
fn try_parse() -> Result<Cli, clap::Error> {
    let args: Vec<OsString> = std::env::args_os().collect();
    let mut command = with_help(Cli::command(), &args);
    let matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The same error, in which the user's words cannot begin new lines.
fn without_new_lines(mut error: clap::Error) -> clap::Error {
    let tamed: Vec<(ContextKind, ContextValue)> =
        error.context().filter_map(|(kind, value)| Some((kind, value_without_new_lines(value)?))).collect();
    for (kind, value) in tamed {
        error.insert(kind, value);
    }
    error
}

/// The value without characters that could begin a line; `None` where it stays as it is.
fn value_without_new_lines(value: &ContextValue) -> Option<ContextValue> {
    match value {
        ContextValue::String(text) => Some(ContextValue::String(one_line(text))),
        ContextValue::Strings(texts) => Some(ContextValue::Strings(texts.iter().map(one_line).collect())),
        // Texts without such characters keep their colours.
        ContextValue::StyledStrs(texts) if texts.iter().any(|text| one_line(text) != text.to_string()) => {
            Some(ContextValue::StyledStrs(texts.iter().map(|text| one_line(text).into()).collect()))
        }
        _ => None,
    }
}

/// Our equivalent of an unknown option.
fn advice_for_option(error: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidArg) else { return None };
    let name = found.trim_start_matches('-').split(['=', ' ']).next()?;
    let known = OPTIONS.iter().find(|(option, _)| *option == name)?;
    (error.kind() == ErrorKind::UnknownArgument).then_some(known.1)
}

/// The same error with our advice instead of the guess of the library.
fn error_with(error: &clap::Error, advice: &str) -> clap::Error {
    let found = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(found)) => found.clone(),
        _ => String::new(),
    };
    Cli::command().error(ErrorKind::UnknownArgument, format!("there is no option {found} here\n\n  tip: {advice}"))
}
