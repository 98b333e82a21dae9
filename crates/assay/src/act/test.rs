//! `act_storage` and `act_index`: a config as ACT reads it, then a run of ours that prints ACT's log.

use super::common::{MINUS_ONE, error_number, online_processors, print_flushed};
use super::consent::{self, Company};
use super::exit;
use super::printer::Printer;
use crate::args::Access;
use crate::progress::Progress;
use assay_base::Span;
use assay_device::select::Choice;
use assay_engine::shell::Spin;
use assay_formats::act::conf::{self, Conf, Kind, Outcome};
use assay_formats::act::log::write;
use assay_formats::act::lower;
use assay_model::workload::Adjust;
use assay_run::certificate::records::Records;
use assay_run::drive::{Drive, Manner, drive_plan};
use assay_run::failure::Failure;
use assay_run::files;
use assay_run::log::logfile::LogFile;
use assay_run::log::rundir;
use assay_run::open::prepared::Prepared;
use assay_run::open::seed::choose_seed;
use assay_run::open::targets::{self, TargetNeeds};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Upper bound on the size of a config.
const LARGEST: u64 = 16 << 20;

/// Operations that become due within this time are issued after one wake-up. Like ACT, a drop-in uses no more processor
/// time than necessary: it reports only service, which does not depend on waiting, and its log has the lag.
const TOGETHER: Span = Span::from_us(50);
/// A directory where no target can be: it replaces the log directory of a run whose log is not kept.
const NOWHERE: &str = "/proc";

/// Does what the program of `kind` does with these arguments.
pub(super) fn run_act_test(kind: Kind, args: &[String]) -> Result<u8, Failure> {
    let cpus = online_processors();
    let conf = match read_config(kind, args, cpus) {
        Ok(conf) => conf,
        Err((text, exit)) => {
            print_flushed(&text);
            return Ok(exit);
        }
    };
    if let Some(complaint) = complaint_about_devices(&conf) {
        print_flushed(&complaint);
        return Ok(MINUS_ONE);
    }
    let codes = exit::exit_codes_for(&conf.device_names)?;
    exit::with_exit_codes(codes, run_test(&conf, cpus))
}

/// The config, after printing everything that precedes the devices; or the last words and the exit code.
fn read_config(kind: Kind, args: &[String], cpus: u32) -> Result<Box<Conf>, (String, u8)> {
    let mut banner = String::new();
    let _ = conf::write_banner(kind, &mut banner);
    let [path] = args else {
        let _ = conf::write_usage(kind, &mut banner);
        return Err((banner, MINUS_ONE));
    };
    let text = match files::read_file(Path::new(path), LARGEST) {
        Ok(text) => text,
        // C can open a directory, and reads nothing from it.
        Err(_) if Path::new(path).is_dir() => Vec::new(),
        Err(e) => {
            let (number, text) = error_number(&e);
            return Err((banner + &conf::open_failed(path, number, &text), MINUS_ONE));
        }
    };
    match conf::read_like_act(&text, kind, cpus) {
        Outcome::Refused { stdout, exit } => Err((stdout, exit)),
        Outcome::Accepted { conf, stdout } => {
            print_flushed(&stdout);
            Ok(conf)
        }
    }
}

/// ACT's words for the first device that cannot be used. A config with file-size-mbytes is for files.
fn complaint_about_devices(conf: &Conf) -> Option<String> {
    if conf.file_size.is_some() {
        return None;
    }
    conf.device_names.iter().find_map(|name| match std::fs::metadata(name) {
        Err(e) => {
            let (number, text) = error_number(&e);
            Some(write::open_device_failed(name, number, &text))
        }
        Ok(found) if found.file_type().is_block_device() => None,
        Ok(found) if found.is_file() => Some(write::size_unknown(name)),
        Ok(found) if found.is_dir() => Some(write::open_device_failed(name, 21, "Is a directory")),
        // Everything else refuses direct I/O.
        Ok(_) => Some(write::open_device_failed(name, 22, "Invalid argument")),
    })
}

fn run_test(conf: &Conf, cpus: u32) -> Result<u8, Failure> {
    let workload = lower::like_act(conf, cpus).map_err(Failure::bad_workload)?;
    let named = targets::parse_block_targets(&workload.targets.paths)?;
    let adjust = Adjust { seed: choose_seed(None, &named), targets: named.len() as u16, ..Adjust::default() };
    let plan = workload.make_plan(&adjust).map_err(Failure::bad_workload)?;
    let run_dir = consent::run_dir();
    let log_dir = run_dir.as_deref().unwrap_or(Path::new(NOWHERE));
    let needs = TargetNeeds::for_plan(&plan, log_dir);
    let access = Access { create: conf.file_size, engine: Choice::Auto, ..Access::default() };
    let prepared = Prepared::open_named(&named, needs, &|named, needs| {
        consent::open_with_consent(named, needs, access.clone(), Company::UnderTheSameConsent)
    })?;
    let Prepared { targets: opened, stop, .. } = &prepared;
    let log = match &run_dir {
        Some(dir) => LogFile::create_new(&rundir::create_run_directory(dir, true)?.join("run.jsonl"))?,
        None => LogFile::without_file(),
    };
    let (printer, ended) = Printer::new(conf, plan.timing.total_length().as_ns() / 1_000_000_000, stop);
    let mut log = log.heard_by(Box::new(printer));
    let how = Drive {
        manner: Manner { spin: Some(Spin::Together(TOGETHER)), ..Manner::default() },
        watermarks: vec![format!("RUN AS {}: ACT's rates, steady arrivals", conf.kind.program_name())],
        prepared: Records::for_host().preparations_of_targets(opened.real_targets(), crate::screen::print_to_stderr),
        ..Drive::default()
    };
    drive_plan(&plan, opened, &how, &mut log, &mut Progress::new(true), stop)?;
    Ok(ended.get())
}
