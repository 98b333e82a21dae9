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
/// The most options that `-h` shows of a verb without common options.
const FEW: usize = 8;
/// Options that `-h` leaves out of one verb, where others say the same.
const LEFT_OUT: [(&str, &str); 1] = [("curve", "from")];
/// First sentences that would not fit a line of 80 columns, each with what `-h` says instead.
const SHORTER: [(&str, &str); 22] = [
    (
        "A workload file, an ACT configuration, a fio job file, or the name of a workload that comes with the program",
        "A file (ACT's and fio's too) or a shipped workload",
    ),
    (
        "A workload file, a fio job file, or the name of a workload that comes with the program",
        "A file (fio's too) or a shipped workload",
    ),
    (
        "Agree that all data on the device with this token are destroyed",
        "Agree to lose all data on this token's device",
    ),
    (
        "Create file targets that are missing, of this size, such as 10GiB",
        "Create missing files, of this size, like 10GiB",
    ),
    (
        "Judge by this criterion instead of those of the workload, such as \"reads p99 at most 5ms\"",
        "Judge by this, like \"reads p99 at most 5ms\"",
    ),
    ("Load to certify for, as a multiple of the workload's own", "Load to certify for, such as 30x"),
    (
        "Fill the targets first with data that do not compress, as assay prep --skip-zero does, unless that was done before",
        "Fill the targets first, unless that was done",
    ),
    ("Shares of the maximum load to measure, separated by commas", "Shares of the load, such as 10%,50%,100%"),
    (
        "Measure response time at several throughputs, and find the knee and the overall response time",
        "Measure response times at several throughputs, and find the knee",
    ),
    (
        "Find out which of several drives carries production's load, how many times of it, and how many drives are needed",
        "Find out which drive carries production's load, and how many are needed",
    ),
    (
        "Tokens of the devices, from `assay devices`, separated by commas",
        "Tokens from `assay devices`, with commas between",
    ),
    (
        "Proceed in a container, although processes outside the container are invisible and may be using the device",
        "Proceed in a container, which hides other users",
    ),
    ("Whose exit codes the drop-ins end with on these devices", "Whose exit codes the drop-ins end with"),
    ("List the consents, and whether each is still valid", "List the consents that were given"),
    (
        "Revoke the consents for the named devices, or all consents if no device is named",
        "Revoke the consents for the devices, or all",
    ),
    (
        "End with exit code 10 if a run is worse than the first one by more than this share, and with 11 if it is too little to tell",
        "Exit code 10 if a run is worse by this share",
    ),
    (
        "Also write the comparison to this HTML file, which must not exist yet",
        "Also write it to this HTML file, a new one",
    ),
    ("Compare the runs even if they used different plans", "Compare runs of different plans too"),
    (
        "In asloglatency's tables, use the row of this time of day, such as 21:48:03, instead of the average",
        "Row of asloglatency's tables, such as 21:48:03",
    ),
    (
        "The format that was given to `blkparse -f`, for a trace that was printed with it",
        "The format that `blkparse -f` was given",
    ),
    ("Keep the first report of iostat, for output of `iostat -y`", "Keep iostat's first report, of `iostat -y`"),
    ("File to write the profile to, which must not exist yet", "File to write the profile to, a new one"),
];
/// The line behind the options of `-h`.
const MORE: &str = "All options, exit codes and what they mean: --help";

/// `-h` of the program: its verbs by the question of whoever asks, as in docs/commands.md.
const VERBS: &str = "\
{about}

{usage-heading} {usage}

Is my disk fit?              certify  run  explain  prep  devices  doctor
How far does it go?          limit  curve  matrix
What does production need?   capture  import  fit  size  cache-curve
What did a run find out?     judge  watch  live  mark  report  verify  export
Is one better than another?  compare  suite
Does a database hold?        run  prep  check
What did a run leave behind? clean  merge
How do I describe my load?   workloads  new
With other tools' commands   as  links  consent
The command line itself      completions  man  help

A result in a minute, on a scratch file here: assay certify --quick
The usual options of a verb: assay VERB -h. What each verb does: assay --help
";

/// The command line with the help that was asked for: the short one where `-h` stands on it.
pub(crate) fn with_help(command: Command, args: &[OsString]) -> Command {
    if args.iter().any(|arg| arg == "-h") { with_short_help(command).help_template(VERBS) } else { command }
}

fn with_short_help(command: Command) -> Command {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    command.mut_subcommands(|verb| with_common_options(with_short_help(verb))).about(shorten_help(&about))
}

fn with_common_options(verb: Command) -> Command {
    if verb.has_subcommands() {
        return verb;
    }
    let options = verb.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set());
    let has_few = options.count() <= FEW;
    let name = verb.get_name().to_owned();
    verb.mut_args(|arg| shortened_option(arg, &name, has_few)).after_help(MORE)
}

fn shortened_option(arg: Arg, verb: &str, has_few: bool) -> Arg {
    let is_common = arg.get_long().is_none_or(|name| COMMON.contains(&name) && !LEFT_OUT.contains(&(verb, name)));
    let is_hidden = arg.is_hide_set();
    let full = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let has_value = arg.get_action().takes_values();
    let arg = if has_value { arg.hide_default_value(true) } else { arg };
    arg.help(shorten_help(&full)).hide(is_hidden || !(has_few || is_common))
}

/// The part of a text that `-h` shows.
fn shorten_help(text: &str) -> String {
    let first = first_sentence(text);
    SHORTER.iter().find(|(long, _)| *long == first).map_or(first, |(_, short)| (*short).to_owned())
}

/// A text up to the end of its first sentence, without its default.
fn first_sentence(text: &str) -> String {
    let text = text.split(" [").next().unwrap_or_default();
    let end = [". ", "; ", " (", ": "].iter().filter_map(|mark| text.find(mark)).min();
    text[..end.unwrap_or(text.len())].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    /// The verbs, and what stands below verbs.
    fn verbs(command: &Command, before: &str) -> Vec<String> {
        let below = command.get_subcommands().flat_map(|verb| {
            let name = format!("{before}{}", verb.get_name());
            let more = verbs(verb, &format!("{name} "));
            std::iter::once(name).chain(more)
        });
        below.collect()
    }

    #[test]
    fn short_help_fits_a_small_terminal_and_is_only_help() {
        use clap::CommandFactory;
        let command = crate::cli::Cli::command();
        let all = verbs(&command, "");
        assert!(all.len() > 30, "{all:?}");
        for verb in all {
            let help = |flag: &str| {
                let args = words(&format!("assay {verb} {flag}"));
                let shown = with_help(command.clone(), &args).term_width(80).try_get_matches_from(args);
                shown.err().map(|help| help.to_string()).unwrap_or_default()
            };
            let (short, long) = (help("-h"), help("--help"));
            // A terminal of 24 lines also shows the command and the prompt behind its help.
            assert!(short.lines().count() <= 22 && short.lines().count() <= long.lines().count() + 2, "{short}");
            assert!(short.matches('[').count() == short.matches(']').count(), "no text is cut in a bracket: {short}");
        }
        let run = words("assay run w sim:flash --seed 1 --stuck 1s");
        assert!(with_short_help(command).try_get_matches_from(run).is_ok(), "hidden options are taken");
    }

    #[test]
    fn the_short_help_of_the_program_names_each_verb() {
        use clap::CommandFactory;
        let args = words("assay -h");
        let shown = with_help(crate::cli::Cli::command(), &args).term_width(80).try_get_matches_from(args);
        let help = shown.unwrap_err().to_string();
        assert!(help.lines().count() <= 20 && help.lines().all(|line| line.chars().count() <= 80), "{help}");
        let named: Vec<&str> = help.split_whitespace().collect();
        for verb in crate::cli::Cli::command().get_subcommands().filter(|verb| !verb.is_hide_set()) {
            assert!(named.contains(&verb.get_name()), "{}: {help}", verb.get_name());
        }
    }

    /// A text that was changed would not be found, and `-h` would be longer again.
    #[test]
    fn every_shorter_text_stands_for_one_that_there_is() {
        use clap::CommandFactory;
        fn sentences(command: &Command) -> Vec<String> {
            let about = command.get_about().map(ToString::to_string);
            let options = command.get_arguments().filter_map(|arg| arg.get_help().map(ToString::to_string));
            let below = command.get_subcommands().flat_map(sentences);
            about.into_iter().chain(options).map(|text| first_sentence(&text)).chain(below).collect()
        }
        let all = sentences(&crate::cli::Cli::command());
        for (long, short) in SHORTER {
            assert!(all.iter().any(|text| text == long) && short.len() < long.len(), "{long}");
        }
    }

    #[test]
    fn a_sentence_ends_where_its_details_begin() {
        for (text, expected) in [
            ("Load, as a multiple of 1x. For ACT it is ACT's own", "Load, as a multiple of 1x"),
            ("Length, such as 60s or 24h [default: the workload's]", "Length, such as 60s or 24h"),
            ("End with 10 if it is worse [share: one, where there is none]", "End with 10 if it is worse"),
            ("How I/O is submitted: io_uring, threads", "How I/O is submitted"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), expected);
        }
    }
}
