//! `assay compare A B …`: compares runs, and tells noise from real differences.

use crate::stdout::print_json;
use assay_judge::Judgement;
use assay_judge::compare::{Run, compare, html, text};
use assay_run::failure::{Failure, code, shown};
use assay_run::judging::Log;
use assay_run::{certificate, files, results, rundir, sum};
use std::path::{Path, PathBuf};

/// `assay compare`
#[derive(clap::Args, Debug)]
#[command(after_help = "Exit code: 0 when the runs were compared, 3 when they used different plans or cannot be read.")]
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
    /// Also write the comparison to this HTML file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Compares the logs; the exit code is 0 whenever they could be compared.
pub(crate) fn compared(args: &Compare) -> Result<u8, Failure> {
    let labels = labels(args)?;
    let mut runs = Vec::new();
    for (log, label) in args.logs.iter().zip(&labels) {
        runs.push(read(&rundir::log_in(log), label)?);
    }
    let comparison = compare(&runs, args.anyway).map_err(|differences| {
        let lines: String = differences.iter().map(|line| format!("\n  {}", line.escape_debug())).collect();
        Failure::workload(format!(
            "these runs used different plans:{lines}\n  = to compare them nevertheless, add --anyway"
        ))
    })?;
    let bug = |_| Failure::bug("a comparison that cannot be rendered");
    if let Some(path) = &args.html {
        let mut page = String::new();
        html(&comparison, &labels, &mut page).map_err(bug)?;
        results::write_new(path, &page)?;
    }
    if args.json {
        print_json(&serde_json::json!({ "labels": labels, "comparison": comparison }))?;
    } else {
        let mut page = String::new();
        text(&comparison, &labels, &mut page).map_err(bug)?;
        crate::stdout::show(&page);
    }
    Ok(code::DONE)
}

/// `--label a=CephFS` names the run given as `a`; without a label, a run is shown as it was given.
fn labels(args: &Compare) -> Result<Vec<String>, Failure> {
    let mut labels: Vec<String> = args.logs.iter().map(|log| log.to_string_lossy().into_owned()).collect();
    for label in &args.labels {
        let (log, name) = label.split_once('=').ok_or_else(|| {
            Failure::usage(format!("\"{}\" is not a label; write --label LOG=NAME", label.escape_debug()))
        })?;
        let at = args.logs.iter().position(|given| given == Path::new(log)).ok_or_else(|| {
            Failure::usage(format!(
                "\"{}\" is not one of the logs to compare; write it in --label as it is written on the command line",
                log.escape_debug()
            ))
        })?;
        if labels.iter().enumerate().any(|(other, label)| other != at && label == name) {
            return Err(Failure::usage(format!(
                "two of the logs would have the name \"{}\"; give each another name with --label LOG=NAME",
                name.escape_debug()
            )));
        }
        labels[at] = name.to_owned();
    }
    Ok(labels)
}

/// Reads a run log, a certificate with its log beside it, or a log that ACT wrote.
fn read(path: &Path, label: &str) -> Result<Run, Failure> {
    let (judgement, sampled) = opened(path)?.sampled()?;
    Ok(Run { label: label.to_owned(), judgement, sampled })
}

/// Opens a log; for a verdict.json, the log beside it.
fn opened(path: &Path) -> Result<Log, Failure> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return Log::open(path);
    }
    let wrong = |why: String| Failure::workload(format!("{}: {why}", shown(path)));
    let text = files::read(path, certificate::LARGEST).map_err(|e| wrong(e.to_string()))?;
    let certificate: Judgement = serde_json::from_slice(&text).map_err(|e| wrong(format!("not a certificate: {e}")))?;
    let beside = path.with_file_name("run.jsonl");
    let log = Log::open(&beside)?;
    let sum = sum::sum_of(log.from_the_beginning()?).map_err(|e| wrong(e.to_string()))?;
    if certificate.log.is_none_or(|made_of| made_of.blake3 != sum) {
        return Err(wrong(format!(
            "{} is not the log of this certificate; `assay verify` shows what differs",
            shown(&beside)
        )));
    }
    Ok(log)
}
