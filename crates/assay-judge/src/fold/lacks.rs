//! What is missing in a step that has ended: parts of what was planned, and proof that its reads found data.

use crate::finding::course::{CourseFinding, Cut, Reached};
use crate::finding::target::TargetFinding;
use crate::fold::notes::Notes;
use crate::fold::per_minute::counted_operations;
use crate::fold::step::StepFold;
use crate::fold::targets::BlankCheck;
use crate::judgement::TargetTotals;
use assay_base::Direction;
use assay_record::CloseReason;

/// Reports reads of blocks that were never written.
pub(crate) fn report_blank_reads(targets: &[TargetTotals], notes: &mut Notes) {
    for target in targets.iter().filter(|target| target.blank_reads > 0 && target.holds_data()) {
        let (blank, sampled) = (target.blank_reads, target.sampled_reads);
        let found = TargetFinding::Blank { target: target.head.name.clone(), blank, sampled };
        if target.is_blank() { notes.add_finding(found) } else { notes.warnings.push(found.to_string()) }
    }
}

/// If no read of a stream was checked for blank blocks, all of them may have been blank. Only where the header says
/// which reads are checked: earlier versions checked fewer reads, and none of a slow stream.
pub(crate) fn report_unchecked_blanks(fold: &StepFold, notes: &mut Notes) {
    if !fold.header.engine.contains_key("blank check") {
        return;
    }
    for (flow, BlankCheck { read, seen }) in fold.targets.looked.iter().enumerate() {
        let head = &fold.layout.stream_of(flow).head;
        if head.direction == Some(Direction::Read) && *read > 0 && *seen == 0 {
            let (stream, target) = (head.name.clone(), fold.layout.target_of(flow).to_owned());
            notes.add_finding(TargetFinding::Unseen { stream, target, reads: *read });
        }
    }
}

/// Reports what was planned and is missing.
pub(crate) fn report_missing_parts(fold: &StepFold, ended: Option<CloseReason>, notes: &mut Notes) {
    let (planned_ns, reached_ns) = (fold.layout.planned_ns, fold.placement.reached_ns());
    // Without a measured phase this is true as well, but its absence, which is found below, decides: it is more severe.
    if fold.measured.totals.measured_ns == 0 {
        notes.add_finding(CourseFinding::NothingMeasured);
    }
    let said = fold.closing_line().map(|close| close.text.clone()).unwrap_or_default();
    let cut = match ended {
        None => Some(Cut::Off),
        Some(CloseReason::Interrupted) => Some(Cut::Interrupted(said)),
        Some(CloseReason::LogFailed) => Some(Cut::LogFailed(said)),
        Some(_) => None,
    };
    if let Some(cut) = cut {
        notes.add_finding(CourseFinding::Short(cut, Reached { ns: reached_ns, of_ns: planned_ns }));
    }
    if planned_ns == 0 {
        notes.add_finding(CourseFinding::NoMeasuredPhase);
    }
    // A run that was cut says so; one that is complete must not pass for a stream that was never there.
    for (stream, after) in fold.layout.lives.never_began() {
        let (stream, after) = (fold.layout.streams[stream].head.name.clone(), after.to_owned());
        notes.add_finding(CourseFinding::NeverBegan { stream, after });
    }
    let (complete, planned) = (fold.slices.load.complete_slices(), fold.slices.windows().planned_windows());
    if complete < planned {
        notes.add_finding(CourseFinding::Slices {
            complete,
            planned,
            interrupted: !fold.happened.events.gaps.is_empty(),
        });
    } else if fold.slices.load.saw_nothing() && !fold.measured.parts.have_the_load() {
        notes.add_finding(CourseFinding::NoOperation);
    }
    let of_criteria = fold.slices.judged[1..].iter().filter(|_| !fold.slices.stress);
    for judged in of_criteria {
        let planned = judged.windows.planned_windows();
        if let Some((_, tracker)) = judged.trackers.iter().find(|(_, tracker)| tracker.complete_windows() < planned) {
            let (complete, criterion) = (tracker.complete_windows(), tracker.criterion().clone());
            notes.add_finding(CourseFinding::Windows { complete, planned, criterion });
        }
    }
}

/// Reports that a run ended without a word about the check of a database, though nobody asked to leave it out.
pub(crate) fn report_unchecked_databases(fold: &StepFold, ended: Option<CloseReason>, notes: &mut Notes) {
    if matches!(ended, None | Some(CloseReason::Interrupted | CloseReason::LogFailed)) {
        return;
    }
    for (target, database) in fold.header.databases.iter().enumerate() {
        if !database.unchecked && !fold.correctness.databases.tells_of_check(target) {
            let text = format!("the log does not say that {} was checked after the run", database.url);
            notes.add_finding(TargetFinding::Unchecked(text));
        }
    }
}

/// Reports a figure per minute for which nothing counts on a target, although operations of it were due: a database that
/// rolls back every order does no work.
pub(crate) fn report_uncounted_figures(fold: &StepFold, ended: Option<CloseReason>, notes: &mut Notes) {
    if matches!(ended, None | Some(CloseReason::Interrupted | CloseReason::LogFailed)) {
        return;
    }
    for per_minute in &fold.layout.combined.per_minute {
        for (target, name) in fold.layout.targets.iter().enumerate() {
            let (mut scheduled, mut counted) = (0_u64, 0_u64);
            for (flow, totals) in fold.measured.totals.flows.iter().enumerate() {
                let stream = &fold.layout.stream_of(flow).head.name;
                if usize::from(fold.layout.flows[flow].target) == target && per_minute.streams.contains(stream) {
                    scheduled = scheduled.saturating_add(totals.cell.work.scheduled);
                    let own = counted_operations(per_minute, stream, totals.in_time, &totals.counted_in_time);
                    counted = counted.saturating_add(own);
                }
            }
            if scheduled > 0 && counted == 0 {
                let (figure, target) = (per_minute.name.clone(), name.clone());
                notes.add_finding(CourseFinding::NothingCounted { figure, target, scheduled });
            }
        }
    }
}

/// Reports what keeps a run that verifies from saying anything about the data.
pub(crate) fn report_unverified_data(fold: &StepFold, ended: Option<CloseReason>, notes: &mut Notes) {
    let Some(integrity) = fold.correctness.integrity.finish(&fold.layout.plan) else { return };
    let none = integrity.verified_reads == 0 && integrity.damaged == 0;
    if none && !fold.layout.plan.sealed_only && ended == Some(CloseReason::Completed) {
        notes.add_finding(TargetFinding::NothingVerified);
    }
    if fold.placement.segment_count() > 1 {
        let text = "of what was written before an interruption only place and checksum were verified, not whether it is the newest";
        notes.warnings.push(text.to_owned());
    }
}
