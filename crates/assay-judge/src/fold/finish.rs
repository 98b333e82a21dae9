//! Ends a step: collects its findings, lets the most severe one decide, and makes the step's result.

use crate::fold::answer::AnswerFold;
use crate::fold::notes::Notes;
use crate::fold::reason::{decide_verdict, failure_in_words};
use crate::fold::series::Lines;
use crate::fold::step::StepFold;
use crate::fold::streams::{totals_by_group, totals_by_stream, totals_together};
use crate::fold::{lacks, laws, per_minute};
use crate::judgement::{
    CacheFigures, Course, CriterionOutcome, GeneratorFigures, Intervals, LogHistory, MeasuredTime, PlanAsRun,
    SliceList, Step, StepFigures, StreamFigures, TargetFigures, TargetTotals, straggler_warnings,
};
use crate::rules::{disk, durability, loops};
use assay_record::CloseReason;

/// A step that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    /// Its result.
    pub step: Step,
    /// Whether the run ends as soon as its verdict is certain.
    pub until_certain: bool,
    /// Whether it is a step of a workload, and not of a certification.
    pub of_workload: bool,
}

/// Ends a step.
pub(crate) fn finish_step(mut fold: StepFold) -> Finished {
    let ended = fold.end_step();
    let targets = fold.target_totals();
    let mut notes = fold.take_notes();
    let (between, warnings) = disk::check_targets(&targets, notes.step_number(), fold.others.is_counted());
    notes.findings.extend(between);
    notes.warnings.extend(warnings);
    if fold.targets.cache_errors > 0 {
        notes.warnings.push(
            "the cache's device failed and was not used any more: from then on the targets carried everything"
                .to_owned(),
        );
    }
    notes.warnings.extend(loops::more_than_tags(&fold.header, &fold.layout));
    lacks::report_blank_reads(&targets, &mut notes);
    lacks::report_unchecked_blanks(&fold, &mut notes);
    lacks::report_missing_parts(&fold, ended, &mut notes);
    lacks::report_unverified_data(&fold, ended, &mut notes);
    lacks::report_unchecked_databases(&fold, ended, &mut notes);
    lacks::report_uncounted_figures(&fold, ended, &mut notes);
    gather_findings(&mut fold, ended, &mut notes);
    let streams = totals_by_stream(&fold, &mut notes.warnings);
    let mut durable = fold.correctness.durability.figures();
    durability::add_medians(&mut durable, &streams);
    notes.findings.extend(durability::check_durability(&durable, notes.step_number()));
    notes.warnings.extend(durable.iter().filter_map(durability::too_fast));
    let together = totals_together(&fold);
    let groups = totals_by_group(&fold);
    let head = fold.header.clone();
    let (layout, peak) = (fold.layout.clone(), fold.measured.totals.peak);
    let part = step_figures(
        fold,
        targets,
        StreamFigures { each: streams, together, groups, ..StreamFigures::default() },
        ended,
        notes.contradictions,
    );
    let mut part = StepFigures { failure: failure_in_words(&notes.findings), ..part };
    part.targets.durability = durable;
    notes.warnings.extend(straggler_warnings(&part.generator.ranks, &part.criteria));
    laws::assert_all(&part, &layout, peak);
    notes.warnings.extend(part.generator.cost.and_then(|cost| cost.throttled_warning()));
    let used = part.targets.foreign.iter();
    notes.warnings.extend(used.filter_map(|foreign| foreign.warning_text(part.time.measured_ns)));
    let (verdict, reason, deciding) = decide_verdict(&notes.findings, &part);
    let step = head.step.as_ref();
    Finished {
        until_certain: step.is_some_and(|step| step.until_certain),
        of_workload: step.is_some_and(|step| step.of_workload),
        step: Step {
            number: step.map_or(1, |step| step.number),
            of: step.map_or(1, |step| step.of),
            title: step.map_or_else(|| head.name.clone(), |step| step.title.clone()),
            verdict,
            reason,
            deciding,
            load: head.load.clone(),
            gain: None,
            warnings: notes.warnings,
            part,
        },
    }
}

/// Adds what the rules that followed the windows found.
fn gather_findings(fold: &mut StepFold, ended: Option<CloseReason>, notes: &mut Notes) {
    let of_load = fold.slices.load.take_findings();
    notes.warnings.extend(fold.slices.own_lag.warning.take());
    notes.warnings.extend(fold.measured.silences.finish(&fold.layout));
    // Of findings at the same place the first decides, and a part says more than the step.
    let completed = ended == Some(CloseReason::Completed);
    notes.findings.extend(fold.measured.parts.take_findings(completed, &fold.layout));
    notes.findings.extend(of_load);
    notes.findings.extend(fold.slices.of_criteria());
    fold.count_failures(notes);
}

fn step_figures(
    mut fold: StepFold,
    targets: Vec<TargetTotals>,
    streams: StreamFigures,
    closed: Option<CloseReason>,
    contradictions: u64,
) -> StepFigures {
    let slice_ns = fold.slices.windows().length_ns();
    let criteria = outcomes_of_criteria(&mut fold, closed, slice_ns);
    let Lines { series, per_minute: over_time, meters, foreign } = fold.measured.series.finish(&fold.layout);
    let per_minute =
        per_minute::figures_per_minute(&fold.layout, &fold.measured.totals, &fold.slices.kept.slices, over_time);
    let listed = fold.slices.kept.slices;
    StepFigures {
        stress: fold.slices.stress,
        time: MeasuredTime {
            planned_ns: fold.layout.planned_ns,
            measured_ns: fold.measured.totals.measured_ns,
            slice_ns,
            intervals: Intervals {
                planned: fold.layout.planned_ns.div_ceil(fold.layout.interval_ns.max(1)),
                present: fold.measured.totals.intervals,
                valid: fold.slices.valid_intervals,
            },
        },
        history: LogHistory {
            segments: fold.placement.segment_count(),
            clocks: fold.environment.clocks.finish(),
            signer: fold.header.signer,
            closed,
            contradictions,
            environment_changes: fold.environment.changes,
        },
        criteria,
        streams: StreamFigures {
            per_minute,
            loops: std::mem::take(&mut fold.measured.loops).finish(&fold.layout, &fold.slices.rests),
            phases: std::mem::take(&mut fold.measured.phases).finish(&fold.layout, &listed),
            answered_by: fold.measured.answer.take().and_then(AnswerFold::finish),
            ..streams
        }
        .with_throughput(fold.measured.totals.any_ran_ns),
        slices: SliceList { listed, left_out: fold.slices.kept.left_out },
        databases: fold.correctness.databases.finish(fold.header.databases, &meters),
        generator: GeneratorFigures {
            cost: fold.measured.totals.cost,
            engine: fold.header.engine,
            host: fold.header.host,
            ranks: std::mem::take(&mut fold.happened.ranks).into_figures(),
        },
        targets: TargetFigures {
            each: targets,
            cache: fold.header.cache.map(|head| {
                let errors = fold.targets.cache_errors;
                CacheFigures::new(head, std::mem::take(&mut fold.measured.totals.cache), errors)
            }),
            meters,
            durability: Vec::new(),
            foreign,
            unwatched: fold.header.unwatched,
            integrity: fold.correctness.integrity.finish(&fold.layout.plan),
        },
        course: Course {
            gaps: fold.happened.events.gaps,
            events: fold.happened.events.kept,
            events_left_out: fold.happened.events.left_out,
            parts: fold.measured.parts.finish(&fold.layout),
            steadiness: fold.measured.steady.finish(&fold.layout),
            series,
        },
        plan: PlanAsRun { json: fold.header.plan, blake3: None },
        failure: None,
    }
}

/// The outcome of the load, and then of each criterion in its order.
fn outcomes_of_criteria(fold: &mut StepFold, closed: Option<CloseReason>, slice_ns: u64) -> Vec<CriterionOutcome> {
    let mut criteria: Vec<(usize, CriterionOutcome)> = Vec::new();
    for judged in std::mem::take(&mut fold.slices.judged) {
        let planned = judged.windows.planned_windows();
        let outcomes = judged.trackers.into_iter();
        criteria.extend(outcomes.map(|(order, tracker)| (order, tracker.final_outcome(planned, fold.slices.stress))));
    }
    let (parts, completed) = (&fold.measured.parts, closed == Some(CloseReason::Completed));
    let naming = parts.naming_criteria().into_iter();
    criteria.extend(naming.map(|order| (order, parts.outcome_of_criterion(order, completed, &fold.layout))));
    criteria.sort_by_key(|(order, _)| *order);
    let load_of_parts = parts.outcome_of_load().filter(|_| parts.have_the_load());
    let load = load_of_parts.unwrap_or_else(|| fold.slices.load.final_outcome(slice_ns));
    std::iter::once(load).chain(criteria.into_iter().map(|(_, outcome)| outcome)).collect()
}
