//! `assay compare A B …`: runs side by side, with what is noise and what is not.

use crate::failure::{Failure, code, shown};
use crate::stdout::print_json;
use crate::{act, ahead, certificate};
use crate::{files, logfile, rundir};
use assay_formats::act::import;
use assay_judge::Judgement;
use assay_judge::compare::{Run, Sampled, compare, html, text};
use assay_judge::{Fold, Options};
use std::path::{Path, PathBuf};

/// `assay compare`
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit code: 0 whenever they could be compared, 3 when they did not do the same or cannot be read."
)]
pub struct Compare {
    /// Run logs, the run directories that hold them, verdict.json with its log beside it, or logs that ACT wrote; the first is
    /// what the others are held against
    #[arg(required = true, num_args = 2..)]
    pub logs: Vec<PathBuf>,
    /// What a run is called in the result
    #[arg(long = "label", value_name = "LOG=NAME")]
    pub labels: Vec<String>,
    /// Compare runs of different plans all the same
    #[arg(long)]
    pub anyway: bool,
    /// Write the comparison as an HTML file too
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Compares the logs; the exit code is 0 whenever they could be compared.
pub fn compared(args: &Compare) -> Result<u8, Failure> {
    let labels = labels(args)?;
    let mut runs = Vec::new();
    for (log, label) in args.logs.iter().zip(&labels) {
        runs.push(read(&rundir::log_in(log), label)?);
    }
    let comparison = compare(&runs, args.anyway).map_err(|differences| {
        let lines: String = differences.iter().map(|line| format!("\n  {}", line.escape_debug())).collect();
        Failure::workload(format!(
            "these runs did not do the same:{lines}\n  = compare them all the same with --anyway"
        ))
    })?;
    let bug = |_| Failure::bug("a comparison that cannot be rendered");
    if let Some(path) = &args.html {
        let mut page = String::new();
        html(&comparison, &labels, &mut page).map_err(bug)?;
        super::result::write_new(path, &page)?;
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

/// `--label a=CephFS` names the run given as `a`; the others are called as they were given.
fn labels(args: &Compare) -> Result<Vec<String>, Failure> {
    let mut labels: Vec<String> = args.logs.iter().map(|log| log.to_string_lossy().into_owned()).collect();
    for label in &args.labels {
        let (log, name) = label.split_once('=').ok_or_else(|| {
            Failure::usage(format!("\"{}\" is not a label; write --label LOG=NAME", label.escape_debug()))
        })?;
        let at = args.logs.iter().position(|given| given == Path::new(log)).ok_or_else(|| {
            Failure::usage(format!("\"{}\" is none of the logs that are compared", log.escape_debug()))
        })?;
        if labels.iter().enumerate().any(|(other, label)| other != at && label == name) {
            return Err(Failure::usage(format!("two of the logs would be called \"{}\"", name.escape_debug())));
        }
        labels[at] = name.to_owned();
    }
    Ok(labels)
}

/// A run log, a certificate with its log beside it, or a log that ACT wrote.
fn read(path: &Path, label: &str) -> Result<Run, Failure> {
    let path = &of_certificate(path)?;
    let wrong = |why: String| Failure::workload(format!("{}: {why}", shown(path)));
    if act::judge::is_one(path) {
        let mut sampled = Sampled::of_one_measure(import::counts_waiting);
        let judgement = act::judge::judge_heard(path, Options::default(), &mut |entry| sampled.entry(entry))?;
        return Ok(Run { label: label.to_owned(), judgement, sampled });
    }
    let mut reader = logfile::read(path)?;
    let (mut fold, mut sampled) = (Fold::new(Options::default()), Sampled::default());
    let read = ahead::each(&mut reader, |item| {
        if let Ok(entry) = item {
            sampled.entry(entry)?;
        }
        fold.item(item);
        Ok(())
    });
    read.map_err(|e| wrong(e.to_string()))?.map_err(wrong)?;
    let judgement = fold.finish().map_err(|e| wrong(e.to_string()))?;
    Ok(Run { label: label.to_owned(), judgement, sampled })
}

/// The log that a verdict.json is of, which must be the one it was made of; any other path is itself.
fn of_certificate(path: &Path) -> Result<PathBuf, Failure> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return Ok(path.to_path_buf());
    }
    let wrong = |why: String| Failure::workload(format!("{}: {why}", shown(path)));
    let text = files::read(path, certificate::LARGEST).map_err(|e| wrong(e.to_string()))?;
    let certificate: Judgement = serde_json::from_slice(&text).map_err(|e| wrong(format!("no certificate: {e}")))?;
    let log = path.with_file_name("run.jsonl");
    let sum = certificate::sum_of(logfile::open(&log)?).map_err(|e| wrong(e.to_string()))?;
    if certificate.log.is_none_or(|made_of| made_of.blake3 != sum) {
        return Err(wrong(format!("{} is not the log it was made of; see assay verify", shown(&log))));
    }
    Ok(log)
}
