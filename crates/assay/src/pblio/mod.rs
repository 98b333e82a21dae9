//! `pblio`: a run of assay with the command line and output of pblio. `docs/oltp.md` lists the differences.

mod printer;

use crate::act::common::print_flushed;
use crate::act::consent::{self, Company};
use crate::args::Access;
use crate::progress::Progress;
use crate::screen::print_to_stderr;
use assay_base::{Bytes, Geometry, Multiple, Span};
use assay_device::select::Choice;
use assay_formats::pblio::{Asked, Command, USAGE, parse_args};
use assay_model::Plan;
use assay_model::cache::CacheDevice;
use assay_model::oltp::ReadShares;
use assay_model::workload::{Adjust, oltp_workload};
use assay_run::certificate::records::Records;
use assay_run::drive::{Drive, drive_plan};
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::files;
use assay_run::log::logfile::LogFile;
use assay_run::log::{results, rundir};
use assay_run::open::prepared::Prepared;
use assay_run::open::seed::choose_seed;
use assay_run::open::targets::{self, TargetNeeds};
use printer::Printer;
use std::path::Path;

/// Carries out a run as pblio would with these arguments, and returns the exit code.
pub(crate) fn run_pblio(args: &[String]) -> Result<u8, Failure> {
    match parse_args(args).map_err(Failure::bad_usage)? {
        Command::Help => {
            print_flushed(USAGE);
            Ok(code::DONE)
        }
        Command::Version => {
            print_flushed(&format!("pblio (assay {})\n", env!("CARGO_PKG_VERSION")));
            Ok(code::DONE)
        }
        Command::Run(request) => run_benchmark(&request),
    }
}

fn run_benchmark(request: &Asked) -> Result<u8, Failure> {
    let names: Vec<String> = request.asus.iter().flatten().cloned().collect();
    let named = targets::parse_block_targets(&names)?;
    let data = Path::new(&request.data);
    files::check_replaceable(data).map_err(|e| {
        Failure::host_unable(format!("the statistics file {} cannot be written: {e}", escaped_path(data)))
    })?;
    let plan = plan_of_benchmark(request, choose_seed(None, &named), named.len())?;
    let given = consent::run_dir();
    let planned = rundir::planned_directory(given.as_deref(), "pblio");
    let access = Access { destroy_data: request.tokens.clone(), engine: Choice::Auto, ..Access::default() };
    let all = targets::parse_with_cache_device(&names, plan.caches.device.as_ref())?;
    let needs = TargetNeeds { beside: all.len() - named.len(), ..TargetNeeds::for_plan(&plan, &planned) };
    let prepared = Prepared::open_named(&all, needs, &|named, needs| {
        consent::open_with_consent(named, needs, access.clone(), Company::None)
    })?;
    let Prepared { targets: opened, stop, .. } = &prepared;
    let geometries: Vec<Geometry> = (0..named.len()).map(|target| opened.target_geometry(target)).collect();
    let used = plan.load.oltp().map_or(Ok([0; 3]), |oltp| oltp.used_bytes(&geometries)).map_err(Failure::bad_usage)?;
    let dir = rundir::create_run_directory(&planned, given.is_some())?;
    let printer = Printer::new(request, used, stop);
    let mut log = LogFile::create_new(&dir.join("run.jsonl"))?.heard_by(Box::new(printer));
    let how = Drive {
        watermarks: vec!["RUN AS pblio".to_owned()],
        prepared: Records::for_host().preparations_of_targets(opened.real_targets(), print_to_stderr),
        ..Drive::default()
    };
    drive_plan(&plan, opened, &how, &mut log, &mut Progress::new(true), stop)?;
    // The judge reads the file, so the log must be closed first.
    drop(log);
    let (judgement, _) = results::write_results(&dir, None, print_to_stderr)?;
    print_to_stderr(&format!(
        "assay: {}: {}; log, verdict and report are in {}",
        judgement.verdict,
        judgement.reason,
        escaped_path(&dir)
    ));
    Ok(judgement.verdict.exit_code())
}

/// The load as pblio asks for it: with the published generator's shares of reads, and a context for each hundred BSUs.
fn plan_of_benchmark(request: &Asked, seed: u64, targets: usize) -> Result<Plan, Failure> {
    let of_each = request.asus.each_ref().map(|own| own.len() as u16);
    let contexts = u32::try_from(request.bsu.div_ceil(100)).unwrap_or(u32::MAX);
    let workload = oltp_workload("pblio", request.bsu, (ReadShares::Published, contexts), Some(of_each));
    let mut workload =
        workload.ok_or_else(|| Failure::bad_workload("the rates are too large: write a smaller -bsu"))?;
    workload.caches.device = request.cache.as_ref().map(|path| CacheDevice {
        block: Bytes::from_kib(request.blocksize),
        metadata: Some(request.cachemeta.clone()),
        ..CacheDevice::on_path(path)
    });
    workload.timing.duration = Span::from_secs(request.runlen);
    workload.timing.slice = workload.timing.slice.min(workload.timing.duration);
    let targets = u16::try_from(targets).map_err(|_| Failure::bad_usage("too many files and devices"))?;
    let adjust = Adjust { seed, targets, load: Some(Multiple::ONE), ..Adjust::default() };
    workload.make_plan(&adjust).map_err(Failure::bad_workload)
}
