//! `assay devices`: the devices, what each safety rule says about them, and the consent tokens.

use crate::args::consent_file::line_for_token;
use crate::candidates;
use crate::stdout::{print_document, print_json};
use assay_base::Bytes;
use assay_device::probe;
use assay_device::safety::{Examination, Gate, Roots, RuleAnswer};
use assay_run::failure::{Failure, code, escaped_path, one_line};
use clap_complete::engine::ArgValueCompleter;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// `assay devices`
#[derive(clap::Args, Debug)]
pub(crate) struct Devices {
    /// Devices or files to examine [default: all block devices]
    #[arg(add = ArgValueCompleter::new(candidates::device_candidates))]
    pub targets: Vec<PathBuf>,
    /// Show the answers of all safety rules, not only of those that refuse
    #[arg(long)]
    pub rules: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Print a line with the name of this host and the token for each accepted device, for --consent-file
    #[arg(long, conflicts_with_all = ["json", "rules"])]
    pub consent: bool,
}

/// Examines the named targets or all block devices. Writes nothing.
pub(crate) fn list_devices(args: &Devices) -> Result<u8, Failure> {
    let candidates = if args.targets.is_empty() {
        probe::candidate_devices(&Roots::of_machine()).map_err(Failure::host_unable)?
    } else {
        args.targets.clone()
    };
    let gate = Gate::of_machine();
    let exams: Vec<Examination> = candidates.iter().map(|path| gate.examine_path(path)).collect();
    if args.json {
        print_json(&exams.iter().map(examination_json).collect::<Vec<_>>())?;
        return Ok(code::DONE);
    }
    if args.consent {
        let accepted = exams.iter().filter(|exam| exam.accepted);
        let lines: String = accepted.filter_map(|exam| exam.token.as_deref()).map(line_for_token).collect();
        print_document(&lines);
        return Ok(code::DONE);
    }
    if exams.is_empty() {
        print_document("no block devices here; a file or sim:flash can be tested too\n");
    }
    exams.iter().for_each(|exam| print_document(&lines_of(exam, args.rules)));
    if exams.iter().any(|exam| exam.accepted && exam.token.is_some()) {
        print_document("\nTo write to an accepted device, and lose what it holds: --destroy-data TOKEN\n");
    }
    Ok(code::DONE)
}

/// The file behind a loop device.
fn backing_file(exam: &Examination) -> Option<PathBuf> {
    let name = exam.real.file_name()?;
    let path = std::fs::read(Path::new("/sys/block").join(name).join("loop/backing_file")).ok()?;
    Some(PathBuf::from(OsString::from_vec(path.strip_suffix(b"\n").unwrap_or(&path).to_vec())))
}

fn examination_json(exam: &Examination) -> serde_json::Value {
    serde_json::json!({
        "path": exam.given,
        "token": exam.token,
        "size_bytes": exam.size,
        "model": exam.model,
        "backing_file": backing_file(exam),
        "serial": exam.serial,
        "wwid": exam.wwid,
        "by_id": exam.by_id,
        "rules": exam.rules.iter().map(rule_as_json).collect::<Vec<_>>(),
        "watermarks": exam.watermarks.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "accepted": exam.accepted,
    })
}

fn lines_of(exam: &Examination, all: bool) -> String {
    let size = exam.size.map_or_else(|| "-".into(), |size| Bytes::new(size).human_text());
    let model =
        exam.model.as_deref().map(one_line).or_else(|| Some(format!("over {}", escaped_path(&backing_file(exam)?))));
    let model = model.unwrap_or_else(|| "-".to_owned());
    let token = exam.token.as_deref().unwrap_or("-");
    let answer = if exam.accepted { "accepted" } else { "refused" };
    let mut text = format!("{:20} {size:>12}  {answer:8}  token {token:8}  {model}\n", escaped_path(&exam.given));
    for rule in exam.rules.iter().filter(|rule| all || !rule.ok) {
        let mark = if rule.ok { "ok" } else { "no" };
        text += &format!("    {:4} {mark}  {}\n", rule.id.to_string(), one_line(&rule.evidence));
    }
    for mark in &exam.watermarks {
        text += &format!("    not certifiable: {}\n", one_line(mark));
    }
    text
}

fn rule_as_json(answer: &RuleAnswer) -> serde_json::Value {
    serde_json::json!({ "id": answer.id.to_string(), "ok": answer.ok, "overridable": answer.overridable, "evidence": answer.evidence })
}
