//! Runs one plan: workers on their threads, or one in virtual time, and the collection of what they record into the
//! log.

mod benchmark;
mod beneath;
mod collector;
pub(crate) mod durability;
mod facts;
mod how;
pub mod integrity;
mod meters;
mod partners;
mod real;
mod sampler;
mod share;
mod simulated;
mod staffing;
mod target_watch;
mod watched;
mod worker;

pub(crate) use beneath::Beneath;
pub use beneath::Disk;
pub(crate) use collector::{Collector, Sample};
pub(crate) use how::header_facts;
pub use how::{DirectoryManner, Drive, Manner};
pub(crate) use meters::Meters;
pub use share::{AgreeOnStart, RankPlace, RankShare};

use crate::cache::caching;
use crate::cache::lookaside::{self, with_cache};
use crate::certificate::records::{Mark, Records};
use crate::directories::DirectoryRun;
use crate::failure::{Failure, escaped_path};
use crate::host::signals::StopCell;
use crate::log::logfile::LogFile;
use crate::observer::Observer;
use crate::open::targets::Targets;
use assay_base::Span;
use assay_model::{Plan, Stream};
use assay_record::{CloseReason, SHORT_RUN, SHORT_RUN_GROUP};
use real::RealTimeRun;
use simulated::Simulated;
use std::borrow::Cow;
use std::path::Path;
use watched::Watched;

/// The disks on which the load of others is looked for in a run of this plan, by their numbers in the kernel. `log` is the path of its
/// log.
pub fn watched_disks(plan: &Plan, targets: &Targets, log: &Path) -> Vec<String> {
    let disks = match targets {
        Targets::Directory(directory) => directory.disks_to_flush(),
        _ => Watched::new(plan, targets, log).counted_disks(),
    };
    disks.iter().map(ToString::to_string).collect()
}

/// Runs `plan` on the first `plan.targets` of `targets` and appends a whole segment to `log`.
pub fn drive_plan(
    plan: &Plan,
    targets: &Targets,
    how: &Drive,
    log: &mut LogFile,
    observer: &mut dyn Observer,
    stop: &StopCell,
) -> Result<CloseReason, Failure> {
    let ready = integrity::refuse_impossible(plan, targets)
        .and_then(|()| caching::refuse_impossible(plan, targets))
        .and_then(|()| how.refuse_parts_without_marks(plan, targets))
        .and_then(|()| log.reserve_room(log_room(plan, how)))
        .and_then(|()| targets.recheck_gate())
        .and_then(|()| with_unseen_blocks(plan, targets));
    let whole = ready.inspect_err(|_| log.forget_unbegun())?;
    let whole = whole.as_ref();
    let carried = how.plan_carried_here(whole, targets).inspect_err(|_| log.forget_unbegun())?;
    let plan = carried.as_ref();
    let cache = lookaside::open_lookaside(plan, targets).inspect_err(|_| log.forget_unbegun())?;
    if let Some(cache) = &cache {
        lookaside::announce_empty_start(cache, |line| observer.warn_user(line));
    }
    let marks: Vec<Option<Mark>> = targets.real_targets().iter().map(Mark::from_target).collect();
    if !matches!(targets, Targets::Simulated(_)) {
        log.keep_in_memory(how.manner.judge_on);
    }
    let result = match targets {
        Targets::Simulated(all) => {
            let specs = all.iter().take(with_cache(plan)).map(|(_, spec)| spec.clone()).collect();
            let run = Simulated { plan, whole, targets, cache: cache.as_ref(), how, log, observer, stop };
            run.run_on_devices(specs)
        }
        Targets::Directory(directory) => {
            DirectoryRun { plan, whole, targets, directory, how, stop }.carry_out_run(log, observer)
        }
        _ => {
            RealTimeRun::new(plan, targets, cache.as_ref(), how, stop).within_whole(whole).carry_out_run(log, observer)
        }
    };
    if let Some(cache) = cache {
        cache.keep_for_next_run(targets, |line| observer.warn_user(line));
    }
    if result.is_err() {
        log.forget_unbegun();
    }
    if plan.load.writes_targets() {
        let records = Records::for_host();
        targets
            .real_targets()
            .iter()
            .zip(&marks)
            .for_each(|(real, before)| records.add_own_writes(real, before.as_ref()));
    }
    match (result, log.write_failure()) {
        (Ok(_), Some(why)) if log.is_empty() => {
            Err(Failure::cut_short(format!("the run log {} could not be kept: {why}", escaped_path(log.log_path()))))
        }
        // What the log contains is valid, and is judged.
        (Ok(_), Some(why)) => {
            observer.warn_user(&format!(
                "error: the run log {} could not be kept: {why}; the result below is made from what it holds up to there",
                escaped_path(log.log_path())
            ));
            Ok(CloseReason::LogFailed)
        }
        (result, _) => result,
    }
}

/// The plan with its place among all that was ever seen, where it has one.
fn with_unseen_blocks<'a>(plan: &'a Plan, targets: &Targets) -> Result<Cow<'a, Plan>, Failure> {
    if plan.load.streams.iter().any(Stream::goes_once) {
        Records::for_host().with_unseen_blocks(plan, targets.real_targets()).map(Cow::Owned)
    } else {
        Ok(Cow::Borrowed(plan))
    }
}

/// The space that the log of this step and of those after it will take, according to logs of real runs: 300 to 980
/// bytes per flow and interval, 2 to 16 KB per flow for distributions, which come each ten seconds, or each two in a
/// short run. A run that ends when its streams are done is mostly far shorter than it may last: space for an hour is enough for it.
fn log_room(plan: &Plan, how: &Drive) -> u64 {
    const HEAD: u64 = 64 << 10;
    const INTERVAL: (u64, u64) = (300, 700);
    const DISTRIBUTIONS: u64 = 8 << 10;
    const UNTIL_DONE: Span = Span::from_secs(3600);
    const GROUP: Span = Span::from_secs(10);
    let steps = how.step.as_ref().map_or(1, |step| u64::from(step.of - step.number.min(step.of) + 1));
    let flows = plan.load.stream_targets().count() as u64;
    let length = if plan.timing.ends_when_done() {
        plan.timing.total_length().min(UNTIL_DONE)
    } else {
        plan.timing.total_length()
    };
    let intervals = length.as_ns() / plan.timing.interval.as_ns().max(1) + 2;
    let apart = if length <= SHORT_RUN { SHORT_RUN_GROUP } else { GROUP };
    let groups = length.as_ns() / apart.as_ns() + plan.timing.phases.len() as u64;
    let step = intervals
        .saturating_mul(INTERVAL.0 + flows * INTERVAL.1)
        .saturating_add(groups.saturating_mul(flows * DISTRIBUTIONS));
    step.saturating_add(HEAD).saturating_mul(steps)
}
