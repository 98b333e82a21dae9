//! `assay compare A B …`: compares runs, and tells noise from real differences.

use crate::stdout::print_json;
use assay_base::Share;
use assay_judge::compare::{Gate, GateOutcome, Run, compare_runs, write_html, write_text};
use assay_judge::{Judgement, Verdict};
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::files::sum;
use assay_run::log::judging::Log;
use assay_run::log::{results, rundir};
use assay_run::{certificate, files};
use std::path::{Path, PathBuf};

/// The exit code where it is too little to tell: that of a test that proves nothing.
const INVALID: u8 = Verdict::Invalid.exit_code();

/// `assay compare`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
With --fail-if-worse a run is worse if it is FAIL where the first one is PASS, or if the p50 or the p99 of a stream's response is longer
by more than the share that you give, beyond noise. It is too little to tell where noise is wider than that, where a run is INVALID or
INCOMPLETE, and where others used the disk of the run that looks slower (or, where none does, of the first).
Exit code: 0 when the runs were compared, and none is worse; 10 when one is worse; 11 when it is too little to tell; 3 when they used
different plans or cannot be read.")]
pub(crate) struct Compare {
    /// Two or more runs: run logs, run directories, verdict.json with its log next to it, or logs written by ACT. The others are
    /// compared with the first
    #[arg(required = true, num_args = 2..)]
    pub logs: Vec<PathBuf>,
    /// Name to show for a run in the result [default: the name of its log or directory]
    #[arg(long = "label", value_name = "LOG=NAME")]
    pub labels: Vec<String>,
    /// Compare the runs even if they used different plans
    #[arg(long)]
    pub anyway: bool,
    /// End with exit code 10 if a run is worse than the first one by more than this share, and with 11 if it is too little to tell
    /// [share, where the option stands behind all runs without one: 5%]
    #[arg(long, value_name = "SHARE", num_args = 0..=1, default_missing_value = "5%", value_parser = parse_tolerance)]
    pub fail_if_worse: Option<Share>,
    /// Also write the comparison to this HTML file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Parses how much longer a response may be: up to twice as long, because a gate that lets more through lets everything through.
fn parse_tolerance(text: &str) -> Result<Share, String> {
    let share: Result<Share, _> = text.parse();
    match share {
        Ok(share) if share <= Share::WHOLE => Ok(share),
        _ => Err("write 0% to 100%, behind the runs: assay compare A B --fail-if-worse 5%".to_owned()),
    }
}

/// Compares the logs; the exit code is 0 whenever they could be compared and no gate was asked for.
pub(crate) fn compare_named_runs(args: &Compare) -> Result<u8, Failure> {
    let labels = run_labels(args)?;
    let mut runs = Vec::new();
    for (log, label) in args.logs.iter().zip(&labels) {
        runs.push(read_run(&rundir::log_in(log), label)?);
    }
    let comparison = compare_runs(&runs, args.anyway).map_err(|differences| {
        let lines: String = differences.iter().map(|line| format!("\n  {}", line.escape_debug())).collect();
        Failure::bad_workload(format!(
            "these runs used different plans:{lines}\n  = to compare them nevertheless, add --anyway"
        ))
    })?;
    if let Some(path) = &args.html {
        let mut page = String::new();
        write_html(&comparison, &labels, &mut page).map_err(cannot_be_rendered)?;
        results::write_new(path, &page)?;
    }
    let gate = args.fail_if_worse.map(|tolerance| Gate::new(&comparison, tolerance));
    if args.json {
        let mut document = serde_json::json!({ "labels": labels, "comparison": comparison });
        if let Some(gate) = &gate {
            document["gate"] = serde_json::json!(gate);
        }
        print_json(&document)?;
    } else {
        let mut page = String::new();
        write_text(&comparison, &labels, &mut page).map_err(cannot_be_rendered)?;
        crate::stdout::show_text(&page);
        if let Some(gate) = &gate {
            crate::stdout::show_lines(&gate_in_words(gate));
        }
    }
    Ok(gate.map_or(code::DONE, |gate| exit_code(gate.outcome)))
}

fn exit_code(outcome: GateOutcome) -> u8 {
    match outcome {
        GateOutcome::NotWorse => code::DONE,
        GateOutcome::Unknown => INVALID,
        GateOutcome::Worse => code::FAILED,
    }
}

/// A line for each run, the worst outcome in front.
fn gate_in_words(gate: &Gate) -> String {
    let word = match gate.outcome {
        GateOutcome::NotWorse => "PASS",
        GateOutcome::Unknown => "INVALID",
        GateOutcome::Worse => "FAIL",
    };
    format!("\n{word:<12}{}  (exit code {})\n", gate.sentences.join("; "), exit_code(gate.outcome))
}

/// `--label a=CephFS` names the run given as `a`; without a label, a run is shown as it was given.
fn run_labels(args: &Compare) -> Result<Vec<String>, Failure> {
    let mut labels: Vec<String> = args.logs.iter().map(|log| log.to_string_lossy().into_owned()).collect();
    for label in &args.labels {
        let (log, name) = label.split_once('=').ok_or_else(|| {
            Failure::bad_usage(format!("\"{}\" is not a label; write --label LOG=NAME", label.escape_debug()))
        })?;
        let at = args.logs.iter().position(|given| given == Path::new(log)).ok_or_else(|| {
            Failure::bad_usage(format!(
                "\"{}\" is not one of the logs to compare; write it in --label as it is written on the command line",
                log.escape_debug()
            ))
        })?;
        if labels.iter().enumerate().any(|(other, label)| other != at && label == name) {
            return Err(Failure::bad_usage(format!(
                "two of the logs would have the name \"{}\"; give each another name with --label LOG=NAME",
                name.escape_debug()
            )));
        }
        labels[at] = name.to_owned();
    }
    Ok(labels)
}

/// Reads a run log, a certificate with its log beside it, or a log that ACT wrote.
fn read_run(path: &Path, label: &str) -> Result<Run, Failure> {
    let (judgement, sampled) = open_log(path)?.judge_with_samples()?;
    Ok(Run { label: label.to_owned(), judgement, sampled })
}

/// Opens a log; for a verdict.json, the log beside it.
fn open_log(path: &Path) -> Result<Log, Failure> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return Log::open_log(path);
    }
    let text = files::read_file(path, certificate::LARGEST).map_err(|e| unfit_file(path, e))?;
    let certificate: Judgement =
        serde_json::from_slice(&text).map_err(|e| unfit_file(path, format!("not a certificate: {e}")))?;
    let log_path = path.with_file_name("run.jsonl");
    let log = Log::open_log(&log_path)?;
    let sum = sum::sum_of(log.from_the_beginning()?).map_err(|e| unfit_file(path, e))?;
    if certificate.log.is_none_or(|made_of| made_of.blake3 != sum) {
        return Err(unfit_file(
            path,
            format!(
                "{} is not the log of this certificate; `assay verify` shows what differs",
                escaped_path(&log_path)
            ),
        ));
    }
    Ok(log)
}

fn cannot_be_rendered(_: std::fmt::Error) -> Failure {
    Failure::internal_bug("a comparison that cannot be rendered")
}

fn unfit_file(file: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::bad_workload(format!("{}: {why}", escaped_path(file)))
}
