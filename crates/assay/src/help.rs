//! Two lengths of help. `--help` has everything; `-h` has the options that most people use, with the first sentence of each,
//! and fits a small terminal.

use clap::{Arg, Command};
use std::ffi::OsString;

/// The options that `-h` shows, by their names on the command line.
const COMMON: [&str; 23] = [
    "load",
    "at",
    "for",
    "criterion",
    "from",
    "to",
    "points",
    "out",
    "resume",
    "quick",
    "prep",
    "create",
    "destroy-data",
    "warehouses",
    "fail-if-worse",
    "html",
    "label",
    "table",
    "rules",
    "rate",
    "read",
    "disks",
    "name",
];
/// What `-h` shows where a verb has none of the common options: all of them, up to this number.
const FEW: usize = 8;
/// The line behind the options of `-h`.
const MORE: &str = "All options, exit codes and what they mean: --help";

/// The command line with the help that was asked for: the short one where `-h` stands on it.
pub(crate) fn with_help(command: Command, args: &[OsString]) -> Command {
    match args.iter().any(|arg| arg == "-h") {
        true => with_short_help(command),
        false => command,
    }
}

fn with_short_help(command: Command) -> Command {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    command.mut_subcommands(|verb| with_common_options(with_short_help(verb))).about(first_sentence(&about))
}

fn with_common_options(verb: Command) -> Command {
    if verb.has_subcommands() {
        return verb;
    }
    let is_option = |arg: &&Arg| !arg.is_positional() && !arg.is_hide_set();
    let has_few = verb.get_arguments().filter(is_option).count() <= FEW;
    verb.mut_args(|arg| shortened(arg, has_few)).after_help(MORE)
}

fn shortened(arg: Arg, has_few: bool) -> Arg {
    let is_shown = has_few || arg.get_long().is_none_or(|name| COMMON.contains(&name));
    let is_hidden = arg.is_hide_set();
    let full = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(first_sentence(&full)).hide(is_hidden || !is_shown)
}

/// A text up to the end of its first sentence, without its default.
fn first_sentence(text: &str) -> String {
    let text = text.split(" [default:").next().unwrap_or_default();
    let end = [". ", "; ", " (", ": "].iter().filter_map(|mark| text.find(mark)).min();
    text[..end.unwrap_or(text.len())].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_help_fits_a_small_terminal_and_is_only_help() {
        use clap::CommandFactory;
        let command = crate::cli::Cli::command();
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        for verb in verbs {
            let help = |flag: &str| {
                let args = words(&format!("assay {verb} {flag}"));
                let shown = with_help(command.clone(), &args).term_width(100).try_get_matches_from(args);
                shown.err().map(|help| help.to_string()).unwrap_or_default()
            };
            let (short, long) = (help("-h"), help("--help"));
            assert!(short.lines().count() <= 24 && short.lines().count() <= long.lines().count() + 2, "{short}");
        }
        let run = words("assay run w sim:flash --seed 1 --stuck 1s");
        assert!(with_short_help(command).try_get_matches_from(run).is_ok(), "hidden options are taken");
    }

    #[test]
    fn a_sentence_ends_where_its_details_begin() {
        for (text, expected) in [
            ("Load, as a multiple of 1x. For ACT it is ACT's own", "Load, as a multiple of 1x"),
            ("Length, such as 60s or 24h [default: the workload's]", "Length, such as 60s or 24h"),
            ("How I/O is submitted: io_uring, threads", "How I/O is submitted"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), expected);
        }
    }
}
