//! `pblio`: a run of assay with the command line and output of pblio. `docs/oltp.md` lists the differences.

mod printer;

use crate::act::common::say;
use crate::act::consent::{self, Company};
use crate::args::Access;
use crate::progress::Progress;
use crate::screen::tell;
use assay_base::{Bytes, Geometry, Multiple, Span};
use assay_device::select::Choice;
use assay_formats::pblio::{Asked, Command, USAGE, read};
use assay_model::Plan;
use assay_model::cache::CacheDevice;
use assay_model::oltp::ReadShares;
use assay_model::workload::{Adjust, oltp};
use assay_run::certificate::records::Records;
use assay_run::drive::{Drive, drive};
use assay_run::failure::{Failure, code, shown};
use assay_run::files;
use assay_run::host::signals;
use assay_run::log::logfile::LogFile;
use assay_run::log::{results, rundir};
use assay_run::open::seed::seed;
use assay_run::open::targets::{self, TargetNeeds};
use printer::Printer;
use std::path::Path;

/// Carries out a run as pblio would with these arguments, and returns the exit code.
pub(crate) fn run(args: &[String]) -> Result<u8, Failure> {
    match read(args).map_err(Failure::usage)? {
        Command::Help => {
            say(USAGE);
            Ok(code::DONE)
        }
        Command::Version => {
            say(&format!("pblio (assay {})\n", env!("CARGO_PKG_VERSION")));
            Ok(code::DONE)
        }
        Command::Run(request) => run_benchmark(&request),
    }
}

fn run_benchmark(request: &Asked) -> Result<u8, Failure> {
    let names: Vec<String> = request.asus.iter().flatten().cloned().collect();
    let named = targets::parse_block_targets(&names)?;
    let data = Path::new(&request.data);
    files::check(data)
        .map_err(|e| Failure::host(format!("the statistics file {} cannot be written: {e}", shown(data))))?;
    let plan = plan_of_benchmark(request, seed(None, &named), named.len())?;
    let given = consent::run_dir();
    let planned = rundir::planned_directory(given.as_deref(), "pblio");
    let access = Access { destroy_data: request.tokens.clone(), engine: Choice::Auto, ..Access::default() };
    let all = targets::parse_with_cache_device(&names, plan.caches.device.as_ref())?;
    let needs = TargetNeeds { beside: all.len() - named.len(), ..TargetNeeds::for_plan(&plan, &planned) };
    let opened = consent::open(&all, needs, access, Company::None)?;
    let geometries: Vec<Geometry> = (0..named.len()).map(|target| opened.geometry(target)).collect();
    let used = plan.load.oltp().map_or(Ok([0; 3]), |oltp| oltp.used(&geometries)).map_err(Failure::usage)?;
    let stop = signals::watch()?;
    let dir = rundir::create(&planned, given.is_some())?;
    let printer = Printer::new(request, used, &stop);
    let mut log = LogFile::create(&dir.join("run.jsonl"))?.heard_by(Box::new(printer));
    let how = Drive {
        watermarks: vec!["RUN AS pblio".to_owned()],
        prepared: Records::host().preparations(opened.real(), tell),
        ..Drive::default()
    };
    drive(&plan, &opened, &how, &mut log, &mut Progress::new(true), &stop)?;
    // The judge reads the file, so the log must be closed first.
    drop(log);
    let (judgement, _) = results::write_results(&dir, None, tell)?;
    tell(&format!(
        "assay: {}: {}; log, verdict and report are in {}",
        judgement.verdict,
        judgement.reason,
        shown(&dir)
    ));
    Ok(judgement.verdict.exit_code())
}

/// The load as pblio asks for it: with the published generator's shares of reads, and a context for each hundred BSUs.
fn plan_of_benchmark(request: &Asked, seed: u64, targets: usize) -> Result<Plan, Failure> {
    let of_each = request.asus.each_ref().map(|own| own.len() as u16);
    let contexts = u32::try_from(request.bsu.div_ceil(100)).unwrap_or(u32::MAX);
    let workload = oltp("pblio", request.bsu, (ReadShares::Published, contexts), Some(of_each));
    let mut workload = workload.ok_or_else(|| Failure::workload("the rates are too large: write a smaller -bsu"))?;
    workload.caches.device = request.cache.as_ref().map(|path| CacheDevice {
        block: Bytes::from_kib(request.blocksize),
        metadata: Some(request.cachemeta.clone()),
        ..CacheDevice::on(path)
    });
    workload.timing.duration = Span::from_secs(request.runlen);
    workload.timing.slice = workload.timing.slice.min(workload.timing.duration);
    let targets = u16::try_from(targets).map_err(|_| Failure::usage("too many files and devices"))?;
    let adjust = Adjust { seed, targets, load: Some(Multiple::ONE), ..Adjust::default() };
    workload.plan(&adjust).map_err(Failure::workload)
}
