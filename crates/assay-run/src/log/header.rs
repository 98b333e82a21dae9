//! The header of a segment: everything that a judge needs, and everything needed to repeat the run.

use crate::log::tool::tool_version;
use assay_base::{Rate, Span};
use assay_model::{Arrival, PhaseKind as PlannedKind, Plan};
use assay_record::{
    CacheHead, ClockSample, DatabaseHead, DurabilityHead, FlowHead, Header, HostHead, LoopHead, MeterHead, PhaseHead,
    PhaseKind, StepHead, StreamHead, TargetHead, Thresholds, WatchedDisk,
};
use std::collections::BTreeMap;

/// The boundaries of the exact counters: ACT's and those of the plan's criteria.
pub fn exact_thresholds(plan: &Plan) -> Thresholds {
    Thresholds::new(plan.criteria.iter().filter_map(assay_base::Criterion::counted_threshold))
}

/// The content of a log's header besides the plan.
#[derive(Debug, Default)]
pub struct HeaderFacts {
    /// Wall clock at the start.
    pub created: String,
    /// Which step it is, and what of it is in the log already.
    pub step: StepFacts,
    /// The machine's clocks at the start.
    pub clocks: Option<ClockSample>,
    /// Id of the key that will sign the result.
    pub signer: Option<String>,
    /// What the result answers in one line, by its name.
    pub question: Option<String>,
    /// The watermarks that limit the result.
    pub watermarks: Vec<String>,
    /// The targets.
    pub targets: Vec<TargetHead>,
    /// The rank that writes the log, where it is one of several.
    pub hosts: Vec<HostHead>,
    /// The look-aside cache before the targets.
    pub cache: Option<CacheHead>,
    /// The facts that only a run in real time has.
    pub in_real_time: RealTimeFacts,
    /// Facts about how operations are carried, by name.
    pub engine: BTreeMap<String, String>,
    /// The machine.
    pub host: BTreeMap<String, String>,
}

/// The step that a segment belongs to.
#[derive(Debug, Default)]
pub struct StepFacts {
    /// Step of a certification, or of a workload.
    pub head: Option<StepHead>,
    /// Measured time of the step that is already in the log, when it is continued.
    pub measured_before_ns: Option<u64>,
    /// Whether marks may divide it into parts.
    pub takes_marks: bool,
}

/// The content of a log's header that only a run in real time has.
#[derive(Debug, Default)]
pub struct RealTimeFacts {
    /// Whether the generator may be late, so that its lateness is counted.
    pub lateness: bool,
    /// The databases that are the targets, where they are.
    pub databases: Vec<DatabaseHead>,
    /// Other counters that are read while the load runs.
    pub meters: Vec<MeterHead>,
    /// The disks on which the load of others is told from that of the run.
    pub watched: Vec<WatchedDisk>,
    /// The disks on which it cannot be told, and why.
    pub unwatched: Vec<String>,
    /// What makes the data of targets durable.
    pub durability: Vec<DurabilityHead>,
}

/// Makes the header of `plan`.
pub fn make_header(plan: &Plan, facts: HeaderFacts) -> Header {
    let streams = (0..plan.load.streams.len()).map(|index| stream_head(plan, index, &facts)).collect();
    Header {
        format: assay_record::header::FORMAT,
        tool: tool_version(),
        created: facts.created,
        clocks: facts.clocks,
        signer: facts.signer,
        question: facts.question,
        name: plan.name.clone(),
        step: facts.step.head,
        continues: facts.step.measured_before_ns.is_some(),
        measured_before_ns: facts.step.measured_before_ns.unwrap_or(0),
        seed: plan.load.seed,
        model: plan.model.clone(),
        load: plan.load.multiple_in_words(),
        slice_ns: plan.timing.slice.as_ns(),
        interval_ns: plan.timing.interval.as_ns(),
        phases: plan.timing.phases.iter().map(phase_head).collect(),
        streams,
        flows: plan.load.stream_targets().map(|(stream, target)| FlowHead { stream, target }).collect(),
        loops: loop_heads(plan, facts.hosts.first()),
        targets: facts.targets,
        hosts: facts.hosts,
        cache: facts.cache,
        meters: facts.in_real_time.meters,
        watched: facts.in_real_time.watched,
        unwatched: facts.in_real_time.unwatched,
        durability: facts.in_real_time.durability,
        databases: facts.in_real_time.databases,
        per_minute: crate::databases::per_minute(plan),
        thresholds_ns: exact_thresholds(plan).bounds_ns().to_vec(),
        criteria: plan.criteria.clone(),
        max_lag_ns: plan.timing.max_lag.as_ns(),
        lateness: facts.in_real_time.lateness,
        takes_marks: facts.step.takes_marks,
        watermarks: facts.watermarks,
        engine: facts.engine,
        host: facts.host,
        plan: serde_json::to_value(plan).expect("a plan is plain data"),
    }
}

fn stream_head(plan: &Plan, index: usize, facts: &HeaderFacts) -> StreamHead {
    let stream = &plan.load.streams[index];
    StreamHead {
        name: stream.name.clone(),
        direction: stream.data_direction().or_else(|| direction_on_files(plan, stream)),
        operation: stream.operation_name().map(str::to_owned),
        arrival: plan.arrival_of(stream).to_owned(),
        rate: rate_carried_here(&stream.arrival, facts.hosts.first()),
        size: stream.as_block().map_or_else(String::new, |block| block.size.to_string()),
        size_done: size_done(plan, index, &facts.targets),
        per_target: stream.per_target,
    }
}

/// The rate of a stream, or the share of it that a rank carries.
fn rate_carried_here(arrival: &Arrival, rank: Option<&HostHead>) -> Option<Rate> {
    let (whole, Some(rank)) = (arrival.mean_rate()?, rank) else { return arrival.mean_rate() };
    match arrival {
        // What one writer alone carries, is with the first part.
        Arrival::Grouped(_) | Arrival::Paced { .. } => Some(if rank.first_part == 0 { whole } else { Rate::ZERO }),
        _ => whole.scaled_by(rank.parts, rank.all_parts),
    }
}

/// The direction in which an operation on files moves bytes; `None` for one that moves none, and for what is no operation on
/// files.
fn direction_on_files(plan: &Plan, stream: &assay_model::Stream) -> Option<assay_base::Direction> {
    plan.load.files()?;
    let operation = assay_model::files::Operation::from_name(stream.operation_name()?)?;
    operation.moves_bytes().then(|| operation.direction())
}

fn phase_head(phase: &assay_model::Phase) -> PhaseHead {
    PhaseHead {
        name: phase.name.clone(),
        kind: if phase.kind == PlannedKind::Measure { PhaseKind::Measure } else { PhaseKind::WarmUp },
        span_ns: phase.span.as_ns(),
        steady_round_ns: phase.steady_round.map(assay_base::Span::as_ns),
        until_done: phase.until_done,
    }
}

/// The closed loops of a plan, with the slots that are carried here.
fn loop_heads(plan: &Plan, rank: Option<&HostHead>) -> Vec<LoopHead> {
    let all = plan.closed_loops().into_iter();
    all.map(|closed_loop| LoopHead {
        flows: closed_loop.flows.iter().map(|flow| *flow as u32).collect(),
        slots: rank.map_or(closed_loop.slots, |rank| rank.own_slots(closed_loop.slots)),
    })
    .collect()
}

/// The sizes that the operations of a stream have on its targets, where these are others than asked for; several where the
/// targets have different blocks.
fn size_done(plan: &Plan, index: usize, targets: &[TargetHead]) -> String {
    let Some(size) = plan.load.streams.get(index).and_then(|stream| stream.as_block()).map(|block| &block.size) else {
        return String::new();
    };
    let own = plan.load.stream_targets().filter(|(stream, _)| usize::from(*stream) == index);
    let blocks =
        own.filter_map(|(_, target)| Some(targets.get(usize::from(target))?.block_bytes)).filter(|block| *block > 0);
    let done: std::collections::BTreeSet<String> =
        blocks.map(|block| size.size_on_target(block).as_ref().unwrap_or(size).to_string()).collect();
    match done.len() {
        1 if done.contains(&size.to_string()) => String::new(),
        _ => done.into_iter().collect::<Vec<_>>().join(" or "),
    }
}

/// `QUICK`, `SHORT` and the like, when the judged time is shorter than the workload's own.
pub fn shortness_word(measured: Span, full: Span) -> Option<String> {
    (measured < full).then(|| format!("SHORT: {measured} measured, the workload's own time is {full}"))
}

/// When the windows that are judged are longer than those of the workload's certificate, so that what is slow for a short time
/// weighs less.
pub fn longer_windows_word(slice: Span, usual: Span) -> Option<String> {
    (slice > usual)
        .then(|| format!("LONGER WINDOWS: judged by windows of {slice}, those of the certificate are {usual}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::{self, Adjust};
    use assay_record::{PlanHead, PlannedAddress};

    /// The judge must know from the log in which streams the kernel may merge neighbouring requests.
    #[test]
    fn the_judge_knows_which_addresses_of_a_plan_lie_behind_each_other() {
        for (keys, expected) in [
            ("\"sequential\"", PlannedAddress::Sequential),
            ("{ runs = \"1MiB\" }", PlannedAddress::Sequential),
            ("{ bands = \"1MiB\", gap = \"64KiB\", inside = \"sequential\" }", PlannedAddress::Sequential),
            ("{ bands = \"1MiB\", gap = \"64KiB\" }", PlannedAddress::Sequential),
            ("{ bands = \"1MiB\", gap = \"64KiB\", inside = \"uniform\" }", PlannedAddress::Other),
            ("{ bands = \"1MiB\", gap = \"64KiB\", inside = { once = \"4KiB\" } }", PlannedAddress::Other),
            ("\"uniform\"", PlannedAddress::Other),
            ("{ once = \"8KiB\" }", PlannedAddress::Other),
        ] {
            let file = format!(
                "model = \"streams\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"9/s\"\naddress = {keys}\n"
            );
            let plan = workload::read_workload("t", &file).unwrap().make_plan(&Adjust::default()).unwrap();
            let header = make_header(&plan, HeaderFacts::default());
            assert_eq!(PlanHead::parse(&header.plan).streams[0].address, expected, "{keys}");
        }
    }
}
