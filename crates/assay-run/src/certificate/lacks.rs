//! Why an authentic log is not a certification: every requirement of the published procedure, compared with the log.

use crate::log::header;
use crate::procedure::{PROFILES, Procedure, ProcedureOptions, WARM_METADATA};
use crate::workloads;
use assay_base::Multiple;
use assay_judge::judgement::StepFigures;
use assay_judge::{Judgement, Verdict};
use assay_model::Plan;
use assay_model::workload::{Adjust, WITHOUT_FILE_SYSTEM};
use assay_record::{CloseReason, DIRECTORY, Header, PhaseKind, PlanHead, TargetHead};
use std::collections::{BTreeMap, BTreeSet};

/// The members of a plan that must be those of the published one.
const COMPARED: [&str; 10] =
    ["model", "streams", "criteria", "targets", "load", "slice", "interval", "max_lag", "in_flight_bound", "files"];

/// The reason why the log is not a certification, if it is not.
pub(super) fn missing_for_certificate(judgement: &Judgement, heads: &[Header]) -> Option<String> {
    let mut marks: Vec<&str> = judgement.watermarks.iter().map(String::as_str).collect();
    marks.extend(heads.iter().flat_map(|head| &head.watermarks).map(String::as_str));
    // Every certificate of a directory says so, or of a server's log on a device; it is no lack of this one.
    marks.retain(|mark| ![WARM_METADATA, WITHOUT_FILE_SYSTEM].contains(mark));
    marks.sort_unstable();
    marks.dedup();
    if !marks.is_empty() {
        return Some(format!("it is marked {}", marks.join("; ")));
    }
    if let Some(measure) = judgement.judged_on {
        return Some(format!("it was judged on {measure} by request, not on what the criteria ask for"));
    }
    let steps: Vec<&Header> = heads.iter().filter(|head| !head.continues).collect();
    if let Some(why) = steps.iter().enumerate().find_map(|(index, head)| fault_of_step(index, head, &steps)) {
        return Some(why);
    }
    let Some(first) = steps.first() else {
        return Some("it continues a run that is not there".into());
    };
    let of = first.step.as_ref().map_or(0, |step| step.of as usize);
    if judgement.verdict == Verdict::Pass && steps.len() != of {
        return Some(format!("{} of {of} steps were run", steps.len()));
    }
    let parts: Vec<&StepFigures> = match judgement.steps.as_slice() {
        [] => vec![&judgement.part],
        steps => steps.iter().map(|step| &step.part).collect(),
    };
    let numbered = (1..).zip(parts.into_iter().zip(&steps));
    foreign_writes(&steps).or_else(|| exchanged_target(heads)).or_else(|| {
        numbered.into_iter().find_map(|(number, (part, head))| {
            let why = surroundings_lack(part).or_else(|| schedule_lack(part, head))?;
            Some(format!("step {number}: {why}"))
        })
    })
}

/// Whether a target in one step differs from that of an earlier step, or from that before an interruption.
fn exchanged_target(heads: &[Header]) -> Option<String> {
    let mut seen: BTreeMap<&str, &TargetHead> = BTreeMap::new();
    heads.iter().flat_map(|head| &head.targets).find_map(|target| {
        let first = seen.entry(&target.name).or_insert(target);
        target.differs_from(first)
    })
}

/// Checks that only this program wrote to the targets from their preparation to the first step that uses them.
fn foreign_writes(steps: &[&Header]) -> Option<String> {
    let mut seen = BTreeSet::new();
    let first = steps.iter().flat_map(|head| &head.targets).filter(|target| seen.insert(&target.name));
    first.into_iter().find_map(|target| {
        let prepared = target.prepared.as_ref()?;
        let name = &target.name;
        match prepared.foreign_bytes {
            Some(0) => None,
            Some(bytes) => Some(format!("others wrote {bytes} bytes to {name} after its preparation")),
            None => Some(format!(
                "it is not known whether others wrote to {name} after its preparation: prepare it again and certify it without a restart in between"
            )),
        }
    })
}

/// Checks that the data existed, that the machine stayed the same from beginning to end, and that its clocks were read.
fn surroundings_lack(part: &StepFigures) -> Option<String> {
    let Some(clocks) = &part.history.clocks else {
        return Some("the machine's clocks were not recorded".into());
    };
    if let Some(target) = part.targets.each.iter().find(|target| target.blank_reads > 0) {
        return Some(format!("reads of {} met blocks that were never written", target.head.name));
    }
    if part.history.environment_changes > 0 {
        return Some("the machine changed during the run".into());
    }
    let ran = clocks.end.at_ns.saturating_sub(clocks.start.at_ns);
    if ran < part.time.measured_ns && part.history.segments == 1 {
        return Some("its measured time is longer than the time that went by".into());
    }
    None
}

/// Checks that each stream scheduled as many operations as its rate and the measured time give: exactly where arrivals
/// are even, within six standard deviations of a Poisson count otherwise. Each flow may differ by one at either end.
pub(super) fn schedule_lack(part: &StepFigures, head: &Header) -> Option<String> {
    if part.history.closed != Some(CloseReason::Completed) || part.history.segments != 1 {
        return None;
    }
    head.streams.iter().enumerate().find_map(|(index, stream)| {
        let rate = stream.rate?.as_f64();
        let totals = part.streams.each.iter().find(|totals| totals.name == stream.name)?;
        let flows = head.flows.iter().filter(|flow| usize::from(flow.stream) == index).count() as f64;
        let expected = rate * part.time.planned_ns as f64 / 1e9;
        let spread = if stream.arrival == "steady" { 0.0 } else { 6.0 * expected.sqrt() };
        let scheduled = totals.counts.scheduled;
        // The last term covers the rounding of a double.
        let within = (scheduled as f64 - expected).abs() <= 2.0 * flows + spread + expected * 1e-12;
        (!within).then(|| format!("{} scheduled {scheduled} operations, its rate makes {expected:.0}", stream.name))
    })
}

/// The reason why a step is not the one that the procedure has at this place, if it is not.
fn fault_of_step(index: usize, head: &Header, steps: &[&Header]) -> Option<String> {
    let number = index + 1;
    let other = |what: &str| Some(format!("step {number} is not that of a certification: {what}"));
    let Some(step) = &head.step else {
        return Some("it is a single run, not a certification".into());
    };
    if step.number as usize != number || step.of != steps[0].step.as_ref().map_or(0, |first| first.of) {
        return other("it is not at its place in the order of steps");
    }
    if is_on_directory(head) || head.watermarks.iter().any(|mark| mark == WITHOUT_FILE_SYSTEM) {
        return fault_of_service_step(index, head, steps[0]).and_then(|what| other(&what));
    }
    if step.stress != number.is_multiple_of(2) {
        return other("load and stress are exchanged");
    }
    let targets_fit = match (step.of, number) {
        (2, _) | (4, 1 | 2) => head.targets.len() == 1,
        (4, 3 | 4) => head.targets.len() > 1,
        _ => false,
    };
    if !targets_fit {
        return other("it has another number of steps or targets");
    }
    let same = match number {
        1 | 2 => names_of_targets(head) == names_of_targets(steps[0]),
        3 => names_of_targets(steps[0]).is_subset(&names_of_targets(head)),
        _ => names_of_targets(head) == names_of_targets(steps[2]),
    };
    if !same {
        return other("it has other targets than the steps before it");
    }
    if let Some(why) = fault_of_devices(head) {
        return other(&why);
    }
    match published_plan(head, steps[0].load.as_str(), step.stress) {
        Ok(plan) => difference_from_published(&plan, published_profile(head), head).and_then(|what| other(&what)),
        Err(why) => other(&why),
    }
}

fn is_on_directory(head: &Header) -> bool {
    head.targets.iter().any(|target| target.kind == DIRECTORY)
}

/// The target that is no device, or that was not prepared.
fn fault_of_devices(head: &Header) -> Option<String> {
    if let Some(target) = head.targets.iter().find(|target| target.kind != "block device") {
        return Some(format!("{} is a {}, not a block device", target.name, target.kind));
    }
    let blank = head.targets.iter().find(|target| !was_written_full(target))?;
    Some(format!("{} was not written full before it", blank.name))
}

/// The difference between a step on a directory, or of a server's log on devices, and that of the certificate of its workload,
/// which comes with this program.
fn fault_of_service_step(index: usize, head: &Header, first: &Header) -> Option<String> {
    let name = &PlanHead::parse(&head.plan).name;
    if names_of_targets(head) != names_of_targets(first) {
        return Some("it has other targets than the steps before it".to_owned());
    }
    if *name != PlanHead::parse(&first.plan).name {
        return Some("it is of another workload than the steps before it".to_owned());
    }
    if let Some(why) = fault_of_devices(head).filter(|_| !is_on_directory(head)) {
        return Some(why);
    }
    let of = head.step.as_ref().map_or(0, |step| step.of);
    if workloads::shipped_text(name).is_none() {
        return Some(format!(
            "its workload {name} does not come with this program, so that it proves what its author wrote"
        ));
    }
    let (planned, difference) = match plan_service_step(name, index, head, of) {
        Ok(found) => found,
        Err(why) => return Some(why),
    };
    if planned != of as usize {
        return Some(format!("it has {of} steps, and the certificate of {name} has {planned}"));
    }
    difference
}

/// How many steps the certificate of a workload has, and how a step differs from the one that is at this place in it.
fn plan_service_step(name: &str, index: usize, head: &Header, of: u32) -> Result<(usize, Option<String>), String> {
    let targets = head.targets.len() as u16;
    let asked = |beside: bool| {
        let options = ProcedureOptions { beside, ..ProcedureOptions::default() };
        let (procedure, _) = Procedure::from_words(&[name.to_owned()], options)?;
        let procedure = if is_on_directory(head) { procedure } else { procedure.on_devices()? };
        let steps = procedure.steps_on_targets(targets, None)?;
        Ok((procedure, steps))
    };
    let said = |why: crate::failure::Failure| why.user_message().to_owned();
    let (procedure, steps) = asked(false).map_err(said)?;
    let has_more = of as usize > steps.len();
    let (procedure, steps) = if has_more { asked(true).map_err(said)? } else { (procedure, steps) };
    let Some(step) = steps.get(index) else { return Ok((steps.len(), None)) };
    let adjust = Adjust { seed: head.seed, targets, verify: PlanHead::parse(&head.plan).verify, ..Adjust::default() };
    let plan = procedure.plan_step(step, adjust).map_err(said)?;
    Ok((steps.len(), difference_from_published(&plan, name, head)))
}

/// The workload with whose procedure the log is compared: one of ACT's two models.
fn published_profile(head: &Header) -> &'static str {
    let published = PROFILES.into_iter().find(|profile| *profile == head.model);
    published.unwrap_or(PROFILES[0])
}

/// The published plan of this step.
fn published_plan(head: &Header, first_load: &str, stress: bool) -> Result<Plan, String> {
    let load: Multiple = first_load.parse().map_err(|_| format!("a load of {first_load}"))?;
    let (numerator, denominator) = load.as_ratio();
    let load = if stress {
        let twice = numerator.checked_mul(2).and_then(|n| Multiple::from_ratio(n, denominator));
        twice.ok_or("a load that is too large")?
    } else {
        load
    };
    let targets = u16::try_from(head.targets.len()).map_err(|_| "too many targets")?;
    // A certification may also verify what was written; it proves no less.
    let verify = PlanHead::parse(&head.plan).verify;
    let adjust = Adjust { load: Some(load), seed: head.seed, targets, verify, ..Adjust::default() };
    let workload = workloads::find_workload(published_profile(head)).map_err(|_| "its workload is not known here")?;
    workload.make_plan(&adjust).map_err(|e| e.to_string())
}

/// The difference between a step's header and the published plan.
fn difference_from_published(plan: &Plan, name: &str, head: &Header) -> Option<String> {
    let published = serde_json::to_value(plan).ok()?;
    for key in COMPARED {
        if published[key] != head.plan[key] {
            return Some(format!("its {key} are not those of the published {name}"));
        }
    }
    let measured = head.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let measured = measured.fold(0u64, |sum, phase| sum.saturating_add(phase.span_ns));
    let ours = header::make_header(plan, header::HeaderFacts::default());
    if measured < plan.timing.measured_length().as_ns() {
        return Some("it is shorter than the procedure".into());
    }
    let same = (&ours.streams, &ours.flows, &ours.criteria) == (&head.streams, &head.flows, &head.criteria)
        && (ours.slice_ns, ours.interval_ns) == (head.slice_ns, head.interval_ns)
        && (ours.model, ours.load, ours.thresholds_ns)
            == (head.model.clone(), head.load.clone(), head.thresholds_ns.clone());
    (!same).then(|| "its header is not what its plan makes".to_owned())
}

fn names_of_targets(head: &Header) -> BTreeSet<String> {
    head.targets.iter().map(|target| target.name.clone()).collect()
}

fn was_written_full(target: &assay_record::TargetHead) -> bool {
    target.prepared.as_ref().is_some_and(|prepared| prepared.salted_bytes >= target.size_bytes)
}
