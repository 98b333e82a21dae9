//! The command line as a whole: the verbs, and the command that carries each of them out. Every verb's own arguments stand beside it in
//! `commands`, those of several verbs in `args`.

use crate::args::Output;
use crate::commands::{
    certify, compare, consent, curve, devices, doctor, drop_in, explain, export, follow, import, judge, limit, links,
    manual, prep, report, run, verify, workloads,
};
use crate::{detach, screen, stdout};
use assay_run::failure::Failure;
use assay_run::rundir;
use assay_run::tool::VERSION;
use clap::{CommandFactory, Parser, Subcommand};
use std::path::Path;

const EXIT_CODES: &str = "\
Exit codes:
  0 PASS or done   10 FAIL   11 INVALID (the test proves nothing)   12 INCOMPLETE (cut short)
  2 usage   3 workload or config invalid   4 refused by safety   5 host not able   70 bug

A target is a block device, a file, sim:flash | sim:flash-worn | sim:disk, or null:SIZE.
A block device is written only with --destroy-data TOKEN; `assay devices` prints the tokens.";

/// Certifies storage for the workload that will really run on it.
#[derive(Parser, Debug)]
#[command(name = "assay", version = VERSION, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// The main job: probe, prepare, load test, stress test, verdict, report
    Certify(certify::Certify),
    /// One run of one workload
    Run(run::Run),
    /// The highest load that still passes, by doubling and bisecting
    Limit(limit::Limit),
    /// Throughput against response, point by point, with the knee and the overall response time
    Curve(curve::Curve),
    /// Clean and salt targets, so that reads read what was written
    Prep(prep::Prep),
    /// Print the plan: streams, rates, bytes written, time, what will be destroyed, or refused. Writes nothing
    Explain(explain::Explain),
    /// Slices, criteria and verdict from any log it knows
    Judge(judge::Judge),
    /// Follow a run from another terminal: what it shows while it goes on, and its result
    Watch(follow::Watch),
    /// One self-contained HTML file from a log
    Report(report::Report),
    /// Hold a certificate against its log: 0 PASS, 1 FAIL, 2 not to be trusted, 3 true and no certification
    Verify(verify::Verify),
    /// Runs side by side, with what is noise and what is not
    Compare(compare::Compare),
    /// A log in the format of another tool
    Export(export::Export),
    /// What was collected on production hosts, as a profile: a workload of `model = "profile"`
    Import(import::Import),
    /// A drop-in for another tool, with its own arguments and output: act_storage, act_index, act_prep, act_latency
    As(drop_in::As),
    /// The names of ACT's tools in a directory, each leading to this program; act_latency.py also for `python3 act_latency.py`
    Links(links::Links),
    /// Candidates for testing, the answer of each safety rule, and the consent tokens
    Devices(devices::Devices),
    /// Agree in advance that a drop-in overwrites a device, for two days or as long as you say; list and take back
    Consent(consent::Consent),
    /// What on this host would spoil a result, and the command that mends it
    Doctor(doctor::Doctor),
    /// The workloads that come with the program
    Workloads(workloads::Workloads),
    /// The completions of a shell, to be sourced
    Completions(manual::Completions),
    /// The manual page of the program or of a verb; all of them into a directory with --out DIR
    Man(manual::Man),
}

/// Does what the command line asks; the number is the exit code.
pub(crate) fn run(cli: Cli) -> Result<u8, Failure> {
    let made = run_of(&cli.command);
    if let Some((name, output)) = made.filter(|(_, output)| output.detach) {
        let given = output.resume.as_deref().or(output.out.as_deref());
        rundir::refuse_taken(output.out.as_deref())?;
        return detach::detach(&rundir::planned(given, &stem(name)), given.is_none(), output.json);
    }
    // A run's result is in its directory as well.
    let kept = made.is_some();
    let code = carry_out(cli.command)?;
    match stdout::unwritten() {
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
        Command::Import(args) => import::import(&args),
        Command::As(args) => drop_in::drop_in(&args),
        Command::Links(args) => links::links(&args),
        Command::Devices(args) => devices::devices(&args),
        Command::Consent(args) => consent::consent(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Workloads(args) => workloads::workloads(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args, Cli::command()),
    }
}

/// Of a command that makes a run directory: what it runs, and where to.
fn run_of(command: &Command) -> Option<(&str, &Output)> {
    match command {
        Command::Certify(args) => Some(("certify", &args.output)),
        Command::Run(args) => Some((&args.workload, &args.output)),
        Command::Limit(args) => Some((&args.subject.workload, &args.output)),
        Command::Curve(args) => Some((&args.subject.workload, &args.output)),
        _ => None,
    }
}

/// What a workload is called, which may be a file.
fn stem(name: &str) -> String {
    Path::new(name).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}
