//! `assay certify`: the main command. It probes the devices, prepares them (quick look) or requires preparation, runs
//! the steps of the procedure, and gives one verdict.

use super::result;
use crate::args::{Access, ActTest, BesideRun, Output, Pace};
use crate::live_page::PageBesideRun;
use crate::progress::Progress;
use crate::screen::print_to_stderr;
use crate::{again, candidates};
use assay_base::{Bytes, Multiple};
use assay_model::workload::{Adjust, Workload};
use assay_run::certificate::signing::Signer;
use assay_run::failure::{Failure, one_line};
use assay_run::host::signals;
use assay_run::observer::Observer;
use assay_run::open::prepared::Prepared;
use assay_run::open::targets::{self, Named, RealTarget, TargetNeeds, Targets};
use assay_run::procedure::certifying::Certifying;
use assay_run::procedure::settings::Settings;
use assay_run::procedure::{Procedure, ProcedureOptions};
use clap_complete::engine::ArgValueCompleter;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

/// `assay certify`
#[derive(clap::Args, Debug)]
pub(crate) struct Certify {
    /// Devices to certify. With --quick and no device, a scratch file in the working directory is tested. A workload may stand
    /// before the devices: act-index, a workload file, or an ACT configuration, whose own devices are certified where none
    /// are named [default workload: act-storage]. A directory is certified like a device, with the workload for directories
    /// that is named before it, such as media
    #[arg(value_name = "[WORKLOAD] TARGETS", add = ArgValueCompleter::new(candidates::workloads_and_targets))]
    pub targets: Vec<String>,
    /// Take a quick look: a test of about a minute whose result is not a certification
    #[arg(long)]
    pub quick: bool,
    /// Also test the load beside a neighbour that appends to another file of the same file system and never syncs it, for a
    /// workload that says how fast, such as etcd
    #[arg(long)]
    pub beside: bool,
    /// Judge by other bounds that the workload has under this name, such as openshift of etcd; the certificate names them
    #[arg(long, value_name = "NAME")]
    pub limits: Option<String>,
    /// Run all steps to their end, even when the verdict is already certain to be FAIL
    #[arg(long)]
    pub keep_going: bool,
    /// Sign verdict.json with the minisign secret key in this file. The key is read before the run begins
    #[arg(long, value_name = "KEY")]
    pub sign: Option<PathBuf>,
    /// Load to certify for, as a multiple of the workload's own (1x) [default: 30x; for a workload file or a configuration its
    /// own load; with --quick 1x]
    #[arg(long, value_name = "LOAD")]
    pub at: Option<Multiple>,
    #[command(flatten)]
    pub test: ActTest,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub page: BesideRun,
}

/// Size of a quick look's scratch file: enough to exceed a drive's own cache, and small enough to be written in
/// seconds.
const SCRATCH: Bytes = Bytes::new(1 << 30);
/// Space that must stay free beside it.
const KEPT_FREE: u64 = 512 << 20;

/// Runs the procedure.
pub(crate) fn run_certification(args: &Certify) -> Result<u8, Failure> {
    let options = ProcedureOptions {
        quick: args.quick,
        at: args.at,
        model: args.test.act_kind(),
        beside: args.beside,
        limits: args.limits.as_deref(),
    };
    let (mut procedure, targets) = Procedure::from_words(&args.targets, options)?;
    let answers_a_question = procedure.question().is_some();
    if targets.is_empty() && answers_a_question {
        let name = one_line(&procedure.workload.name).to_string();
        return Err(Failure::bad_usage(format!(
            "certify {name} needs a place: name a directory on the disk that you ask about, such as assay certify {name} /var/lib/{name}"
        )));
    }
    if targets.is_empty() && !args.quick {
        return Err(Failure::bad_usage(
            "certify needs a device; without one: assay certify --quick looks at a scratch file here",
        ));
    }
    let signer = Signer::load_if_given(args.sign.as_deref())?;
    if args.quick && args.output.resume.is_some() {
        return Err(Failure::bad_usage("a quick look takes only a minute and cannot be resumed; start it again"));
    }
    let page = PageBesideRun::listen_if_asked(&args.page, args.output.judge_on)?;
    let settings = args.output.run_settings(&args.access, &args.pace, &[]);
    let planned = settings.place.planned_directory(if args.quick { "quick" } else { "certify" })?;
    let stop = signals::stop_on_signals()?;
    let mut progress = Progress::new(false).with_page(page);
    let mut named = procedure.parse_targets(&targets)?;
    targets::expect_file_system(&mut named, settings.manner.directory.expected_file_system.as_deref());
    settings.manner.check_suits_targets(&named)?;
    settings.manner.check_suits_several_runs("certify")?;
    let opened = open_targets(&settings, &named, &procedure.workload, &planned)?;
    let mut prepared = Prepared::from_opened(opened, stop);
    let notes = prepared.set_scheduler(procedure.workload.targets.scheduler.as_deref(), print_to_stderr)?;
    let Prepared { targets: opened, stop, .. } = &prepared;
    let certifying = Certifying {
        procedure: &procedure,
        named: &named,
        opened,
        settings: &settings,
        // A quick look takes only a minute anyway.
        to_the_end: args.keep_going || args.quick,
        stop,
        signer: signer.as_ref().map(Signer::key_id),
        notes,
    };
    // A scratch file must not be left behind after a bug either.
    let outcome = catch_unwind(AssertUnwindSafe(|| certifying.run_steps(&planned, &mut progress)));
    for problem in prepared.targets.remove_scratch() {
        progress.say_line(&problem);
    }
    let dir = outcome.unwrap_or_else(|panic| resume_unwind(panic))?;
    result::judge_and_report(&dir, &args.output, &progress, signer.as_ref(), &again::resume_command(&dir))
}

fn open_targets(
    settings: &Settings<'_>,
    named: &[(String, Named)],
    workload: &Workload,
    planned: &Path,
) -> Result<Targets, Failure> {
    if named.is_empty() {
        let path = PathBuf::from(format!("assay-scratch-{}.dat", std::process::id()));
        return Ok(Targets::Real(vec![RealTarget::create_scratch(&path, scratch_size(Path::new("."))?, planned)?]));
    }
    let plan = workload
        .make_plan(&Adjust { targets: named.len() as u16, ..Adjust::default() })
        .map_err(Failure::bad_workload)?;
    (settings.open)(named, TargetNeeds::for_plan(&plan, planned))
}

/// The usual size, or what fits.
fn scratch_size(dir: &Path) -> Result<Bytes, Failure> {
    let free = assay_device::usage::free_bytes(dir)
        .map_err(|e| Failure::host_unable(format!("the working directory cannot be examined: {e}")))?;
    let fits = free.saturating_sub(KEPT_FREE) / (64 << 20) * (64 << 20);
    if fits == 0 {
        return Err(Failure::host_unable(format!(
            "the working directory has {} free, a quick look needs {} or more; free some space or change to another directory",
            Bytes::new(free).human_text(),
            Bytes::new(KEPT_FREE + (64 << 20)).human_text()
        )));
    }
    Ok(Bytes::new(SCRATCH.get().min(fits)))
}
