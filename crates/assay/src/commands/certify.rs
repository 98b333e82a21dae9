//! `assay certify`: the main command. It probes the devices, prepares them (quick look) or requires preparation, runs
//! the steps of the procedure, and gives one verdict.

use super::result;
use crate::args::{Access, ActTest, BesideRun, Output, Pace, Ranks};
use crate::live_page::PageBesideRun;
use crate::progress::Progress;
use crate::screen::print_to_stderr;
use crate::{again, candidates};
use assay_base::{Bytes, Multiple};
use assay_model::workload::{Adjust, Workload};
use assay_run::certificate::signing::Signer;
use assay_run::failure::{Failure, one_line};
use assay_run::host::ranks::group::RankGroup;
use assay_run::host::signals;
use assay_run::observer::Observer;
use assay_run::open::prepared::Prepared;
use assay_run::open::targets::{self, Named, RealTarget, TargetNeeds, Targets};
use assay_run::procedure::certifying::Certifying;
use assay_run::procedure::settings::Settings;
use assay_run::procedure::several::refuse_scheduler_of_ranks;
use assay_run::procedure::{Procedure, ProcedureOptions};
use clap_complete::engine::ArgValueCompleter;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

/// How much of a procedure is run.
#[derive(clap::Args, Debug)]
pub(crate) struct Extent {
    /// Take a quick look: a test of about a minute whose result is not a certification
    #[arg(long)]
    pub quick: bool,
    /// Run all steps to their end, even when the verdict is already certain to be FAIL
    #[arg(long)]
    pub keep_going: bool,
}

/// `assay certify`
#[derive(clap::Args, Debug)]
pub(crate) struct Certify {
    /// Devices to certify. With --quick and no device, a scratch file in the working directory is tested. A workload may stand
    /// before the devices: act-index, a workload file, or an ACT configuration, whose own devices are certified where none
    /// are named [default workload: act-storage]. A directory is certified like a device, with the workload for directories
    /// that is named before it, such as media
    #[arg(value_name = "[WORKLOAD] TARGETS", add = ArgValueCompleter::new(candidates::workloads_and_targets))]
    pub targets: Vec<String>,
    #[command(flatten)]
    pub extent: Extent,
    /// Also test the load beside a neighbour that appends to another file of the same file system and never syncs it, for a
    /// workload that says how fast, such as etcd
    #[arg(long)]
    pub beside: bool,
    /// Judge by other bounds that the workload has under this name, such as openshift of etcd; the certificate names them
    #[arg(long, value_name = "NAME")]
    pub limits: Option<String>,
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
    pub ranks: Ranks,
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

/// A certification whose targets are open.
struct Opened<'a> {
    procedure: Procedure,
    named: Vec<(String, Named)>,
    settings: Settings<'a>,
    planned: PathBuf,
    prepared: Prepared,
    notes: Vec<String>,
}

/// Runs the procedure.
pub(crate) fn run_certification(args: &Certify) -> Result<u8, Failure> {
    if args.ranks.are_given() {
        refuse_with_ranks(args)?;
    }
    let lead = |ranks: Option<&RankGroup<'_>>| certify_with_ranks(args, ranks);
    args.ranks.carry_procedure(args.output.workers, lead, |ranks| {
        let opened = open_certification(args, Some(ranks))?;
        opened.as_certifying(args, None).follow_first_rank()
    })
}

/// Options that a certification by several ranks does not have.
fn refuse_with_ranks(args: &Certify) -> Result<(), Failure> {
    let given = [(args.extent.quick, "--quick"), (args.output.resume.is_some(), "--resume")];
    match given.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => {
            Err(Failure::bad_usage(format!("{option} is for a certification without --hosts or --local")))
        }
        None => Ok(()),
    }
}

/// Examines the command, and opens its targets.
fn open_certification<'a>(args: &'a Certify, ranks: Option<&'a RankGroup<'_>>) -> Result<Opened<'a>, Failure> {
    let options = ProcedureOptions {
        quick: args.extent.quick,
        at: args.at,
        model: args.test.act_kind(),
        beside: args.beside,
        limits: args.limits.as_deref(),
    };
    let (mut procedure, targets) = Procedure::from_words(&args.targets, options)?;
    refuse_without_targets(args, &procedure, &targets)?;
    if args.extent.quick && args.output.resume.is_some() {
        return Err(Failure::bad_usage("a quick look takes only a minute and cannot be resumed; start it again"));
    }
    let settings = args.output.settings_with_ranks(&args.access, &args.pace, &[], ranks);
    let name = if args.extent.quick { "quick" } else { "certify" };
    let planned = match settings.carrier {
        Some(carrier) if !carrier.is_first_rank() => settings.place.directory_of_another_rank(name),
        _ => settings.place.planned_directory(name)?,
    };
    let stop = signals::stop_on_signals()?;
    let mut named = procedure.parse_targets(&targets)?;
    targets::expect_file_system(&mut named, settings.manner.directory.expected_file_system.as_deref());
    settings.manner.check_suits_targets(&named)?;
    settings.manner.check_suits_several_runs("certify")?;
    let opened = open_targets(&settings, &named, &procedure.workload, &planned)?;
    let mut prepared = Prepared::from_opened(opened, stop);
    let notes = prepared.set_scheduler(procedure.workload.targets.scheduler.as_deref(), print_to_stderr)?;
    Ok(Opened { procedure, named, settings, planned, prepared, notes })
}

fn refuse_without_targets(args: &Certify, procedure: &Procedure, targets: &[String]) -> Result<(), Failure> {
    if targets.is_empty() && procedure.question().is_some() {
        let name = one_line(&procedure.workload.name).to_string();
        return Err(Failure::bad_usage(format!(
            "certify {name} needs a place: name a directory on the disk that you ask about, such as assay certify {name} /var/lib/{name}"
        )));
    }
    if targets.is_empty() && !args.extent.quick {
        return Err(Failure::bad_usage(
            "certify needs a device; without one: assay certify --quick looks at a scratch file here",
        ));
    }
    Ok(())
}

impl Opened<'_> {
    fn as_certifying<'b>(&'b self, args: &Certify, signer: Option<&Signer>) -> Certifying<'b> {
        Certifying {
            procedure: &self.procedure,
            named: &self.named,
            opened: &self.prepared.targets,
            settings: &self.settings,
            // A quick look takes only a minute anyway; several ranks do not hear what one of them makes of a step.
            to_the_end: args.extent.keep_going || args.extent.quick || args.ranks.are_given(),
            stop: &self.prepared.stop,
            signer: signer.map(Signer::key_id),
            notes: self.notes.clone(),
        }
    }
}

fn certify_with_ranks(args: &Certify, ranks: Option<&RankGroup<'_>>) -> Result<u8, Failure> {
    let signer = Signer::load_if_given(args.sign.as_deref())?;
    let page = PageBesideRun::listen_if_asked(&args.page, args.output.judge_on)?;
    let opened = open_certification(args, ranks)?;
    let mut progress = Progress::new(false).with_page(page);
    let certifying = opened.as_certifying(args, signer.as_ref());
    // A scratch file must not be left behind after a bug either.
    let outcome = catch_unwind(AssertUnwindSafe(|| certifying.run_steps(&opened.planned, &mut progress)));
    for problem in opened.prepared.targets.remove_scratch() {
        progress.say_line(&problem);
    }
    let dir = outcome.unwrap_or_else(|panic| resume_unwind(panic))?;
    let again = if ranks.is_some() { again::FROM_THE_BEGINNING.to_owned() } else { again::resume_command(&dir) };
    result::judge_and_report(&dir, &args.output, &progress, signer.as_ref(), &again)
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
    let needs = TargetNeeds::for_plan(&plan, planned);
    let open = settings.open.as_ref();
    match settings.carrier {
        None => open(named, needs),
        Some(carrier) => {
            refuse_scheduler_of_ranks(workload)?;
            carrier.open_targets(&plan, named, needs, open)
        }
    }
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
