//! The command line as a whole: the verbs, and the function that carries each of them out. Each verb's own arguments
//! are in its file in `commands`, those of several verbs in `args`.

use crate::args::{LiveLog, Output};
use crate::commands::{
    cache_curve, capture, certify, check, clean, compare, consent, curve, devices, doctor, drop_in, explain, export,
    fit, follow, import, judge, limit, links, live, manual, mark, matrix, merge, new, prep, report, run, run_ranks,
    size, suite, verify, workloads,
};
use crate::{detach, screen, stdout, terminal};
use assay_run::failure::Failure;
use assay_run::log::rundir;
use assay_run::log::tool::VERSION;
use clap::{CommandFactory, Parser, Subcommand};
use std::path::Path;

const EXIT_CODES: &str = "\
Exit codes:
  0 PASS, or the command succeeded   10 FAIL   11 INVALID (the test proves nothing)   12 INCOMPLETE (cut short)
  2 wrong command line   3 wrong workload or configuration   4 refused by a safety rule
  5 this machine cannot do it   70 bug in this program

A target is a block device, a file, sim:flash | sim:flash-worn | sim:disk, or null:SIZE.
A block device is written only with --destroy-data TOKEN; `assay devices` prints the tokens.";

/// Certifies storage for the workload that will really run on it: offers the load, records how long every operation waits,
/// and gives a verdict.
#[derive(Parser, Debug)]
#[command(name = "assay", version = VERSION, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    /// The verb.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Certify devices for a workload: check their preparation, then load test, stress test and verdict
    Certify(certify::Certify),
    /// Run one workload once and judge it
    Run(run::Run),
    /// Find the highest load that still passes, by doubling and then bisecting
    Limit(limit::Limit),
    /// Measure response time at several throughputs, and find the knee and the overall response time
    Curve(curve::Curve),
    /// Measure small and large operations at every number in flight, as a heat map
    Matrix(matrix::MatrixArgs),
    /// Show which share of a workload's reads a cache would answer, for every size of it. No I/O
    CacheCurve(cache_curve::CacheCurveArgs),
    /// Prepare targets: overwrite all data with zeros, then with incompressible data, so that later reads read real data; or load a
    /// database
    Prep(prep::Prep),
    /// Check whether a database holds what its transactions must have left: 0 it does, 10 it does not
    Check(check::Check),
    /// Remove what an interrupted run on a file system left in a directory; what is not of a run stays, and is named
    Clean(clean::Clean),
    /// Print what a run would do: streams, rates, bytes written, duration, data destroyed, targets refused. Writes nothing
    Explain(explain::Explain),
    /// Judge a finished or running run from its log: slices, criteria and verdict
    Judge(judge::Judge),
    /// Follow a run from another terminal: show its progress, in a view with tabs, and its result at the end
    Watch(follow::Watch),
    /// Serve what the log of a run says, while it is written or later: a page for browsers, and metrics for Prometheus
    Live(LiveLog),
    /// Divide a run in progress into parts that are judged by themselves: before, during and after a disturbance
    Mark(mark::Mark),
    /// Write a report of a log, as one self-contained HTML file
    Report(report::Report),
    /// Check a certificate against its log: 0 PASS, 1 FAIL, 2 not to be trusted, 3 authentic, but not a certification
    Verify(verify::Verify),
    /// Make the log of a run with several ranks once more, from the logs of its ranks, and compare it with the one that is there
    Merge(merge::Merge),
    /// Compare runs side by side, and tell real differences from noise
    Compare(compare::Compare),
    /// Convert a log to the format of another tool
    Export(export::Export),
    /// Make a workload from what was collected on production hosts (Aerospike's logs and tables, iostat, block traces), from a
    /// configuration of IOmeter, or from what passes a cache
    Import(import::Import),
    /// Watch a running application's requests to a device, and make a workload of them that may be shared. Changes nothing
    Capture(capture::Capture),
    /// Adjust what a profile of production does not say until a target counts as many operations and bytes as iostat counted
    /// on production's drive
    Fit(fit::Fit),
    /// Find out which of several drives carries production's load, how many times of it, and how many drives are needed
    Size(size::Size),
    /// Compare mounts by running workloads on each of them in several rounds
    Suite(suite::SuiteArgs),
    /// Act as another tool, with its arguments and output: act_storage, act_index, act_prep, act_latency, pblio, seekmark or
    /// bonnie++
    As(drop_in::As),
    /// Create links named like these tools that start this program, and act_latency.py for `python3 act_latency.py`
    Links(links::Links),
    /// List the devices that can be tested, what the safety rules say about each, and the consent tokens
    Devices(devices::Devices),
    /// Allow a drop-in to overwrite a device, for five days or the time you give; list or revoke what is allowed
    Consent(consent::Consent),
    /// Check this machine for anything that would spoil a result, and print the command that corrects it
    Doctor(doctor::Doctor),
    /// Print a commented workload file made from a few answers given as options, as a start for your own
    New(new::New),
    /// List the workloads that come with the program, or print one
    Workloads(workloads::Workloads),
    /// Make the calls of a run on a directory: the program starts this process itself
    #[command(name = assay_run::DIRECTORY_CALLS, hide = true)]
    DirectoryCalls,
    /// Print the completion script of a shell, to be sourced
    Completions(manual::Completions),
    /// Print the manual page of the program or of a verb, or write all pages to a directory with --out DIR
    Man(manual::Man),
}

/// Ends a process that was started to make calls, whose threads may be in calls that never return.
#[expect(clippy::disallowed_methods, reason = "the process that was started for another one, which is gone")]
fn end_process() -> ! {
    std::process::exit(0)
}

/// Carries out the command line; returns the exit code.
pub(crate) fn run_command(cli: Cli) -> Result<u8, Failure> {
    let made = run_of(&cli.command);
    if let Some((name, output)) = made.filter(|(_, output)| output.detach) {
        let given = output.resume.as_deref().or(output.out.as_deref());
        rundir::refuse_taken(output.out.as_deref())?;
        return detach::start_detached(
            &rundir::planned_directory(given, &workload_stem(name)),
            given.is_none(),
            output.json,
        );
    }
    // The result of a run is also in its directory.
    let kept = made.is_some();
    let code = carry_out(cli.command)?;
    match stdout::write_error() {
        None => Ok(code),
        Some(e) => {
            let lost = Failure::host_unable(format!("standard output could not be written to the end: {e}"));
            if kept {
                screen::report_failure(&lost);
                return Ok(code);
            }
            Err(lost)
        }
    }
}

fn carry_out(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Certify(args) => certify::run_certification(&args),
        Command::Run(args) if args.ranks.are_given() => run_ranks::run_with_ranks(&args),
        Command::Run(args) => run::run_workload(&args),
        Command::Limit(args) => limit::search_limit(&args),
        Command::Curve(args) => curve::measure_curve(&args),
        Command::Matrix(args) => matrix::measure_matrix(&args),
        Command::CacheCurve(args) => cache_curve::cache_curve(&args),
        Command::Prep(args) => prep::prepare_named(&args),
        Command::Check(args) => check::check_database(&args),
        Command::Clean(args) => clean::clean_directory(&args),
        Command::Explain(args) => explain::explain_plan(&args),
        Command::Judge(args) => judge::judge_log(&args),
        Command::Watch(args) => follow::watch_run(&args),
        Command::Live(args) => live::serve_log(&args),
        Command::Mark(args) => mark::mark_run(&args),
        Command::Report(args) => report::write_report(&args),
        Command::Verify(args) => verify::verify_certificate(&args),
        Command::Merge(args) => merge::merge_ranks(&args),
        Command::Compare(args) => compare::compare_named_runs(&args),
        Command::Export(args) => export::export_log(&args),
        Command::Import(args) => import::import_files(&args),
        Command::Capture(args) => capture::capture_device(&args),
        Command::Fit(args) => fit::fit_profile(&args),
        Command::Size(args) => size::size_drives(&args),
        Command::Suite(args) => suite::run_suite(&args),
        Command::As(args) => drop_in::drop_in(&args),
        Command::Links(args) => links::create_links(&args),
        Command::Devices(args) => devices::list_devices(&args),
        Command::Consent(args) => consent::manage_consents(&args),
        Command::Doctor(args) => doctor::examine_machine(&args),
        Command::New(args) => new::new(&args),
        Command::Workloads(args) => workloads::show_workloads(&args),
        Command::DirectoryCalls => {
            Ok(assay_run::serve_directory_calls(std::io::stdin(), terminal::lines_for_parent(), end_process))
        }
        Command::Completions(args) => manual::print_completions(&args),
        Command::Man(args) => manual::print_manual(&args, Cli::command()),
    }
}

/// For a command that creates a run directory: what it runs, and its output options.
fn run_of(command: &Command) -> Option<(&str, &Output)> {
    match command {
        Command::Certify(args) => Some(("certify", &args.output)),
        Command::Run(args) => Some((&args.workload, &args.output)),
        Command::Limit(args) => Some((&args.subject.workload, &args.output)),
        Command::Curve(args) => Some((&args.subject.workload, &args.output)),
        Command::Matrix(matrix::MatrixArgs { kind: matrix::MatrixKind::Orion(args) }) => {
            Some(("matrix-orion", &args.output))
        }
        Command::Fit(args) => Some(("fit", &args.output)),
        Command::Size(args) => Some(("size", &args.output)),
        Command::Suite(suite::SuiteArgs { kind: suite::SuiteKind::Mounts(args) }) => {
            Some(("suite-mounts", &args.output))
        }
        _ => None,
    }
}

/// The name of a workload, which may be a file. A database that stands in its place gives no name: a part of its URL may
/// be a password.
fn workload_stem(name: &str) -> String {
    if assay_sql::Url::is_one(name) {
        return "database".to_owned();
    }
    Path::new(name).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}
