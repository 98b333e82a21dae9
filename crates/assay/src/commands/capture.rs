//! `assay capture`: what a running application asks of a device, as a profile that may be shared.

use crate::candidates;
use crate::screen::print_to_stderr;
use crate::stdout::{print_document, print_json};
use assay_base::{Bytes, Span};
use assay_capture::{Captured, CapturedDevice, CapturedProfile, Session, Settings, Trouble};
use assay_model::profile::{lines_with_what_they_tell, write_profile};
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::files;
use assay_run::host::signals::stop_on_signals;
use assay_run::log::results;
use clap_complete::engine::ArgValueCompleter;
use std::path::{Path, PathBuf};

/// `assay capture`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
It reads the kernel's tracepoints of requests through buffers of its own, and nothing else: no program is loaded into the kernel, no
setting of the device changes, and what others trace goes on. It needs root, and about 16 MB. Ctrl-C ends it with the profile of what
was seen. The profile has counts, shares and laws: no name of a machine, device, file or process, no place, no time of day.
--show FILE says what somebody could learn from each line of one.
Exit codes: 5 when this machine or this user cannot trace, or more than 1 % of the events were lost; 2 when there was nothing to see.")]
pub(crate) struct Capture {
    /// The block device: a disk, a partition, a logical volume
    #[arg(value_name = "DEVICE", required_unless_present = "show", add = ArgValueCompleter::new(candidates::device_candidates))]
    pub device: Option<PathBuf>,
    /// For how long. A load that changes over the day needs a day
    #[arg(long = "for", value_name = "TIME", default_value = "10min")]
    pub time: Span,
    /// File to write the profile to, which must not exist yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Name of the profile
    #[arg(long, value_name = "NAME", default_value = "captured")]
    pub name: String,
    /// Size of the buffer of each processor, where events were lost [default: 16 MiB for all of them, at most 2 MiB each]
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<Bytes>,
    /// Print a profile, and below each line what could be learnt from it. Captures nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["device", "out", "buffer"])]
    pub show: Option<PathBuf>,
    /// Print the profile and what was counted as JSON
    #[arg(long)]
    pub json: bool,
}

/// The largest buffer of a processor, and the largest profile that is shown.
const BUFFER_MAX: u64 = 1 << 30;
const PROFILE_MAX: u64 = 16 << 20;

/// Captures a device, or shows what a profile tells.
pub(crate) fn capture_device(args: &Capture) -> Result<u8, Failure> {
    if let Some(shown) = &args.show {
        return show_profile(shown);
    }
    let Some(path) = &args.device else { return Err(Failure::bad_usage("name a block device, such as /dev/nvme0n1")) };
    if args.time < Span::from_secs(1) {
        return Err(Failure::bad_usage(format!("--for {}: a second at least, such as 10min", args.time)));
    }
    let buffer = args.buffer.map(Bytes::get);
    if buffer.is_some_and(|buffer| !(8192..=BUFFER_MAX).contains(&buffer)) {
        return Err(Failure::bad_usage("--buffer is for each processor: write 8KiB to 1GiB"));
    }
    if let Some(out) = &args.out {
        files::check_replaceable(out)
            .map_err(|e| Failure::host_unable(format!("{} cannot be written: {e}", escaped_path(out))))?;
        results::refuse_taken_path(out)?;
    }
    let stop = stop_on_signals()?;
    let device = CapturedDevice::find(path).map_err(failure_of)?;
    let session = Session::start_capture(device, &Settings { buffer }).map_err(failure_of)?;
    print_to_stderr(&format!(
        "capturing {} for {}; Ctrl-C ends it with what was seen until then",
        escaped_path(path),
        args.time.human_text()
    ));
    let captured = capture_until(session, args.time, || stop.is_set()).map_err(failure_of)?;
    let made = captured.make_profile().map_err(failure_of)?;
    let text = write_profile(&made.profile, &args.name, &head_of_profile(&made));
    match &args.out {
        Some(out) => results::write_new(out, &text)?,
        None if args.json => {}
        None => print_document(&text),
    }
    report_capture(&captured, &made, args, &text)?;
    Ok(code::DONE)
}

fn capture_until(mut session: Session, time: Span, is_stopped: impl Fn() -> bool) -> Result<Captured, Trouble> {
    loop {
        let progress = session.count_next()?;
        if progress.is_gone || progress.seconds >= time.as_secs_f64() || is_stopped() {
            return session.end_capture();
        }
    }
}

fn head_of_profile(made: &CapturedProfile) -> Vec<String> {
    let mut head = vec![
        "What an application asks of its drive, made by `assay capture`. Every number may be edited;".to_owned(),
        "docs/formats/profile.md lists the keys, and `assay capture --show FILE` says what each line tells.".to_owned(),
    ];
    if !made.remarks.is_empty() {
        head.extend([String::new(), "Odd, or not part of it:".to_owned()]);
        head.extend(made.remarks.iter().map(|remark| format!("  {remark}")));
    }
    head
}

/// Says what was captured, and what is odd.
fn report_capture(captured: &Captured, made: &CapturedProfile, args: &Capture, text: &str) -> Result<(), Failure> {
    let (reads, writes) = (&captured.observed.reads, &captured.observed.writes);
    if args.json {
        let counted = |side: &assay_model::observed::Side| serde_json::json!({ "operations": side.operations, "bytes": side.bytes });
        return print_json(&serde_json::json!({
            "schema": 1,
            "profile": text,
            "file": args.out,
            "seconds": captured.seconds,
            "reads": counted(reads),
            "writes": counted(writes),
            "flushes": captured.observed.flushes,
            "discards": captured.observed.discards,
            "lost_events": captured.losses.lost,
            "remarks": made.remarks,
        }));
    }
    print_to_stderr(&format!(
        "captured {} reads, {} writes and {} flushes in {:.1} s; {} events were lost",
        reads.operations, writes.operations, captured.observed.flushes, captured.seconds, captured.losses.lost
    ));
    made.remarks.iter().for_each(|remark| print_to_stderr(&format!("note: {remark}")));
    if let Some(out) = &args.out {
        let out = escaped_path(out);
        print_to_stderr(&format!("next: assay explain {out}, then assay certify {out} DEVICE"));
    }
    Ok(())
}

fn show_profile(path: &Path) -> Result<u8, Failure> {
    let text = files::read_file(path, PROFILE_MAX)
        .map_err(|e| Failure::bad_workload(format!("{} cannot be read: {e}", escaped_path(path))))?;
    let text = String::from_utf8_lossy(&text);
    assay_model::workload::read_profile(&escaped_path(path), &text).map_err(Failure::bad_workload)?;
    print_document(&lines_with_what_they_tell(&text));
    Ok(code::DONE)
}

fn failure_of(trouble: Trouble) -> Failure {
    let Trouble { what, remedy, is_usage } = trouble;
    let failure = if is_usage { Failure::bad_usage(what) } else { Failure::host_unable(what) };
    failure.with_advice(&remedy)
}
