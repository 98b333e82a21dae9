//! `seekmark`: SeekMark's command line and output for a run of assay. `docs/seekmark.md` lists the differences.
//!
//! `-w destroy-data` asks for writes and is not a consent: a device is written only with its token, through the same
//! safety gate as in all other commands.

mod printer;

use crate::act::common::print_flushed;
use crate::act::consent::{self, Company};
use crate::args::Access;
use crate::progress::Progress;
use crate::screen::print_to_stderr;
use assay_base::{Bytes, Direction, Geometry, Span};
use assay_device::select::Choice;
use assay_formats::seekmark::{Asked, Command, Mode, USAGE, parse_args};
use assay_model::seek::Seek;
use assay_model::workload::{Adjust, Workload};
use assay_model::{Amount, Extent, Plan};
use assay_run::certificate::records::Records;
use assay_run::drive::{Drive, drive_plan};
use assay_run::failure::{Failure, code};
use assay_run::log::logfile::LogFile;
use assay_run::log::rundir;
use assay_run::open::prepared::Prepared;
use assay_run::open::seed::choose_seed;
use assay_run::open::targets::{self, SmallestTarget, TargetNeeds};
use printer::{Printer, SeekMarkEnd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// A path that no target can have; it stands for the log directory of a run whose log is not kept.
const NOWHERE: &str = "/proc";
/// The byte that `-R` repeats, as in SeekMark; it follows the stamp in each block.
const CHARACTER: u8 = 234;
/// Upper bound on the length of a run, also with `-e`: a year.
const LONGEST: Span = Span::from_secs(365 * 86_400);
/// Lower bound on the time limit of a run.
const SHORTEST: Span = Span::from_secs(3600);

/// Runs as SeekMark would with these arguments.
pub(crate) fn run_seekmark(args: &[String]) -> Result<u8, Failure> {
    match parse_args(args).map_err(Failure::bad_usage)? {
        Command::Help => {
            print_flushed(USAGE);
            Ok(code::DONE)
        }
        Command::Run(runs) => run_one_after_another(runs),
    }
}

/// Runs one after another, until one of them does not end as it should.
fn run_one_after_another(runs: Vec<Asked>) -> Result<u8, Failure> {
    let are_several = runs.len() > 1;
    let mut rates = Vec::new();
    for request in runs {
        let threads = request.threads;
        let SeekMarkEnd { code, seeks_per_second } = run_benchmark(request, are_several)?;
        if code != code::DONE {
            return Ok(code);
        }
        rates.push((threads, seeks_per_second));
    }
    if are_several {
        print_to_stderr(&gains_in_words(&rates));
    }
    Ok(code::DONE)
}

/// A sentence about what each number of threads gains over the first.
fn gains_in_words(rates: &[(u32, f64)]) -> String {
    let first = rates.first().map_or(0.0, |(_, rate)| *rate);
    let mut gains = Vec::new();
    for (threads, rate) in rates {
        let gain = if first > 0.0 { rate / first } else { 0.0 };
        gains.push(format!("-t {threads}: {rate:.2}/s ({gain:.2}x)"));
    }
    format!("assay: total seeks per sec of {}", gains.join(", "))
}

fn run_benchmark(request: Asked, is_one_of_several: bool) -> Result<SeekMarkEnd, Failure> {
    let named = targets::parse_block_targets(std::slice::from_ref(&request.file))?;
    let workload = seekmark_workload(&request)?;
    let plan = workload
        .make_plan(&Adjust { seed: choose_seed(None, &named), targets: 1, ..Adjust::default() })
        .map_err(Failure::bad_workload)?;
    let mut run_dir = consent::run_dir();
    if let Some(dir) = run_dir.as_mut().filter(|_| is_one_of_several) {
        dir.push(format!("threads-{}", request.threads));
    }
    // A target that is too small is refused below, in SeekMark's words.
    let needs = TargetNeeds {
        smallest: SmallestTarget::Any,
        ..TargetNeeds::for_plan(&plan, run_dir.as_deref().unwrap_or(Path::new(NOWHERE)))
    };
    let access = Access { destroy_data: request.tokens.clone(), engine: Choice::Auto, ..Access::default() };
    let prepared = Prepared::open_named(&named, needs, &|named, needs| {
        consent::open_with_consent(named, needs, access.clone(), Company::None)
            .map_err(|failure| with_advice_on_consent(failure, &request))
    })?;
    let Prepared { targets: opened, stop, .. } = &prepared;
    refuse_too_small(&request, &plan, opened.target_geometry(0))?;
    let log = match &run_dir {
        Some(dir) => LogFile::create_new(&rundir::create_run_directory(dir, true)?.join("run.jsonl"))?,
        None => LogFile::without_file(),
    };
    let (printer, ended) = Printer::new(request, stop);
    let mut log = log.heard_by(Box::new(printer));
    let how = Drive {
        watermarks: vec!["RUN AS seekmark".to_owned()],
        prepared: Records::for_host().preparations_of_targets(opened.real_targets(), print_to_stderr),
        ..Drive::default()
    };
    drive_plan(&plan, opened, &how, &mut log, &mut Progress::new(true), stop)?;
    Ok(ended.get())
}

fn seekmark_workload(request: &Asked) -> Result<Workload, Failure> {
    let seek = Seek {
        threads: request.threads,
        size: Bytes::new(request.size),
        align: Bytes::new(if request.align > 1 { request.align } else { 0 }),
        seeks: request.seeks,
        pause: request.pause,
        range: request.limit.map(|limit| Extent::new(Amount::ZERO, Some(Amount::Bytes(Bytes::new(limit))))),
        direction: if request.mode == Mode::Read { Direction::Read } else { Direction::Write },
        filled_with: (request.mode == Mode::WriteRepeated).then_some(CHARACTER),
    };
    let streams = seek.lower_to_streams().map_err(|why| Failure::bad_workload(format!("{}: {}", why.key, why.what)))?;
    let longest = request.seeks.map_or(LONGEST, |seeks| {
        // The time limit allows a second and the pause for each operation: a device that takes longer is broken.
        let each = (Span::from_secs(1) + request.pause).as_ns();
        Span::from_ns(each.saturating_mul(seeks)).clamp(SHORTEST, LONGEST)
    });
    let mut workload = Workload::new("seekmark", "seek", streams, |_| Vec::new());
    workload.timing.duration = longest;
    Ok(workload)
}

/// Refuses a target that is too small for an operation, or smaller than the requested part of it. Tells the user if
/// sizes are
/// rounded up to blocks of the target.
fn refuse_too_small(request: &Asked, plan: &Plan, Geometry { size, block }: Geometry) -> Result<(), Failure> {
    let file = assay_run::failure::one_line(&request.file);
    let largest = plan.largest_operation(block);
    let used = request.limit.unwrap_or(size);
    if used > size {
        return Err(Failure::bad_workload(format!(
            "-S {used} is beyond the end of {file}, which has {size} bytes that can be used; write {size} or less"
        )));
    }
    if used < largest || plan.smallest_target(0, block) > size {
        return Err(Failure::bad_workload(format!(
            "an operation of {largest} bytes does not fit into the {used} bytes of {file} that are used; name a larger file"
        )));
    }
    let aligned = request.align.max(u64::from(block)).next_multiple_of(u64::from(block));
    let differs = if largest == request.size && aligned == request.align { "" } else { ", whole blocks of the target" };
    print_to_stderr(&format!(
        "assay: direct I/O (O_DIRECT): operations of {largest} bytes at multiples of {aligned}{differs}"
    ));
    Ok(())
}

/// Adds to the refusal of a device how to give consent with this command line.
fn with_advice_on_consent(failure: Failure, request: &Asked) -> Failure {
    let is_device = std::fs::metadata(&request.file).is_ok_and(|found| found.file_type().is_block_device());
    if failure.code != code::REFUSED || request.mode == Mode::Read || !is_device {
        return failure;
    }
    failure
        .with_advice("-w destroy-data is not consent to overwrite a device: add --destroy-data TOKEN (`assay devices` prints tokens)")
}
