//! `assay doctor`: what would spoil a result on this machine, and how to correct it. It reads and tries, and changes
//! nothing.

use super::doctor_hosts::{self, HostsArgs};
use crate::candidates;
use crate::stdout::{print_document, print_json};
use assay_device::doctor::{self, Check};
use assay_device::safety::Roots;
use assay_run::failure::{Failure, code, one_line};
use assay_run::open::targets::{self, Named};
use clap_complete::engine::ArgValueCompleter;
use std::path::{Path, PathBuf};

/// `assay doctor`
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit code: 0 when the checks could be made, whatever they found. For scripts, `--json` has the member `ok`."
)]
pub(crate) struct Doctor {
    /// Devices or files to check as well. Nothing is opened for writing
    #[arg(add = ArgValueCompleter::new(candidates::device_candidates))]
    pub targets: Vec<String>,
    /// Directory where a run log would be written; its free space is checked [default: the working directory]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Examine the processes that a launcher started (mpirun -np N assay doctor --hosts N), one on each host: what they are, how
    /// well they know each other's clocks, and how fast they send messages
    #[arg(long, value_name = "N", conflicts_with_all = ["targets", "out"])]
    pub hosts: Option<std::num::NonZeroU32>,
    /// How.
    #[command(flatten)]
    pub how: HostsArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Checks the host and the named targets. Problems found are not a failure of the command.
pub(crate) fn examine_machine(args: &Doctor) -> Result<u8, Failure> {
    if let Some(ranks) = args.hosts {
        return doctor_hosts::examine_hosts(ranks.get() as usize, &args.how, args.json);
    }
    let roots = Roots::of_machine();
    let mut checks = doctor::check_host(&roots, &doctor::try_out(args.out.as_deref().unwrap_or(Path::new("."))));
    checks.extend(targets::parse_block_targets(&args.targets)?.into_iter().flat_map(|(name, named)| match named {
        Named::Path(path) => doctor::check_target(&roots, &path),
        Named::Simulated(_) | Named::Null(_) | Named::Database(_) | Named::Directory(_) => vec![Check {
            id: "target",
            target: Some(name),
            ok: true,
            evidence: "not a real disk".to_owned(),
            remedy: None,
        }],
    }));
    if args.json {
        let checks: Vec<_> = checks.iter().map(as_json).collect();
        let ok = checks.iter().all(|check| check["ok"] == true);
        print_json(&serde_json::json!({ "schema": 1, "ok": ok, "checks": checks }))?;
    } else {
        print_document(&checks_text(&checks));
    }
    Ok(code::DONE)
}

/// The most important problem comes first; checks without a problem take one line each.
fn checks_text(checks: &[Check]) -> String {
    let (well, ill): (Vec<&Check>, Vec<&Check>) = checks.iter().partition(|check| check.ok);
    let mut text = match ill.len() {
        0 => "no problems\n".to_owned(),
        1 => "1 problem\n".to_owned(),
        many => format!("{many} problems, most important first\n"),
    };
    for (index, check) in ill.iter().enumerate() {
        let remedy = check.remedy.as_deref().unwrap_or_default();
        text += &format!("\n{}. {}: {}\n   {remedy}\n", index + 1, name_of(check), one_line(&check.evidence));
    }
    if !well.is_empty() {
        text += "\nOK:\n";
    }
    for check in well {
        text += &format!("   {}: {}\n", name_of(check), one_line(&check.evidence));
    }
    text
}

fn as_json(check: &Check) -> serde_json::Value {
    serde_json::json!({ "id": check.id, "target": check.target, "ok": check.ok, "evidence": check.evidence, "remedy": check.remedy })
}

fn name_of(check: &Check) -> String {
    let target = check.target.as_ref().map(|target| format!(" of {}", one_line(target)));
    format!("{}{}", check.id, target.unwrap_or_default())
}
