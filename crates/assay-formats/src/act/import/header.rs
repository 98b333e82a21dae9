//! The header of the run log that a log of ACT becomes: streams, targets, phases, criteria, and what the log does not say.

use super::super::log::{Header as Head, Program, Unit};
use super::flow::{Flow, LARGEST, config_number};
use super::schedule::{self, Schedule};
use assay_base::{Bound, Criterion, Direction, Measure, Multiple, Rate, Share, Span};
use assay_record::{FlowHead, Header, PhaseHead, PhaseKind, StreamHead, TargetHead};
use std::collections::BTreeMap;

/// The duration of ACT's procedure, where a log does not give one.
const DAY: Span = Span::from_secs(86_400);
/// The target of histograms over several devices.
const TOGETHER: &str = "all devices";
/// The kind of that target, which is not a device.
pub const TOGETHER_KIND: &str = "devices";
/// The phase after the last whole slice, where there is one. It is not judged.
const REST: &str = "behind the last whole slice";

/// ACT ends with a report: a test of 10 s with a report every 3 s takes 12 s.
pub(super) fn planned_time(head: &Head) -> Span {
    let asked = head.item_value("test-duration-sec").and_then(|text| text.parse::<u32>().ok());
    let asked = asked.map_or(DAY, |seconds| Span::from_secs(seconds.into()));
    let interval = head.interval.as_ns().max(1);
    Span::from_ns(asked.as_ns().div_ceil(interval).saturating_mul(interval))
}

/// The load as a multiple of ACT's 1x, where it is a multiple.
fn load_text(head: &Head, devices: u64) -> String {
    let rates = config_number(head, "read-reqs-per-sec").zip(config_number(head, "write-reqs-per-sec"));
    let together = rates.and_then(|(reads, writes)| assay_model::act::standard_multiple(reads, writes));
    let multiple = together.and_then(|together| together.divided_by(Multiple::from_whole(devices)));
    let named = multiple.map_or_else(|| "its own load".to_owned(), |multiple| multiple.to_string());
    if schedule::shortfall_sentences(head).is_empty() { named } else { format!("{named} as ACT offers it") }
}

pub(super) fn build_header(head: &Head, flows: &[Flow], schedule: &Schedule, planned: Span, slice: Span) -> Header {
    let names: Vec<String> = device_names(head);
    let several = names.len() != 1;
    let mut targets: Vec<TargetHead> = Vec::new();
    if several {
        targets.push(TargetHead { name: TOGETHER.to_owned(), kind: TOGETHER_KIND.to_owned(), ..TargetHead::default() });
    }
    targets.extend(names.iter().map(|name| {
        let line = head.devices.iter().find(|line| line.name == *name);
        TargetHead {
            name: name.clone(),
            kind: "block device".to_owned(),
            size_bytes: line.map_or(0, |line| line.size),
            block_bytes: line.and_then(|line| line.minimum_io).map_or(0, |size| size as u32),
            ..TargetHead::default()
        }
    }));
    let program = match head.program {
        Program::Index => "act-index",
        Program::Act | Program::Storage => "act-storage",
    };
    let placed = flows
        .iter()
        .enumerate()
        .map(|(stream, flow)| FlowHead { stream: stream as u16, target: target_of(flow, &names) });
    Header {
        format: assay_record::header::FORMAT,
        tool: format!("ACT {}", head.version),
        created: "unknown".to_owned(),
        clocks: None,
        signer: None,
        name: format!("ACT {} log", head.version),
        step: None,
        continues: false,
        measured_before_ns: 0,
        seed: 0,
        model: program.to_owned(),
        load: load_text(head, names.len().max(1) as u64),
        slice_ns: slice.as_ns(),
        interval_ns: head.interval.as_ns(),
        phases: phase_heads(planned, slice),
        streams: flows
            .iter()
            .enumerate()
            .map(|(index, flow)| stream_head(head, flow, schedule.mean_rate(index)))
            .collect(),
        flows: placed.collect(),
        targets,
        hosts: Vec::new(),
        cache: None,
        meters: Vec::new(),
        loops: Vec::new(),
        watched: Vec::new(),
        unwatched: Vec::new(),
        durability: Vec::new(),
        question: None,
        databases: Vec::new(),
        per_minute: Vec::new(),
        thresholds_ns: (0..=LARGEST).map(|e| head.unit.one_unit().as_ns() << e).collect(),
        criteria: standard_criteria(head, flows, several, slice),
        max_lag_ns: head
            .item_value("max-lag-sec")
            .and_then(|n| n.parse::<u64>().ok())
            .unwrap_or(0)
            .saturating_mul(1_000_000_000),
        lateness: false,
        takes_marks: false,
        watermarks: import_watermarks(head, planned, slice),
        engine: BTreeMap::from([("engine".to_owned(), format!("ACT {}", head.version))]),
        host: BTreeMap::new(),
        plan: plan_from_head(head),
    }
}

/// The index of the target of a flow. Where there are several devices, the first target stands for all of them.
fn target_of(flow: &Flow, names: &[String]) -> u16 {
    let device = flow.name.strip_suffix("-reads").or(flow.name.strip_suffix("-writes"));
    let place = device.and_then(|device| names.iter().position(|name| name == device));
    place.map_or(0, |place| place + usize::from(names.len() != 1)) as u16
}

fn stream_head(head: &Head, flow: &Flow, rate: Option<Rate>) -> StreamHead {
    StreamHead {
        name: flow.name.clone(),
        direction: Some(if flow.write { Direction::Write } else { Direction::Read }),
        operation: None,
        arrival: if rate.is_some() { "steady".to_owned() } else { "unknown".to_owned() },
        rate,
        size: size_text(head, &flow.name),
        size_done: String::new(),
        per_target: false,
    }
}

/// Device names from the configuration; those of 3.x and 4.x are in the lines with their sizes.
fn device_names(head: &Head) -> Vec<String> {
    let written = head.item_value("device-names").unwrap_or("");
    let names: Vec<String> =
        written.split([' ', ',', ';']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if names.is_empty() { head.devices.iter().map(|line| line.name.clone()).collect() } else { names }
}

fn size_text(head: &Head, name: &str) -> String {
    let large = head.item_value("large-block-op-kbytes").map(|kbytes| format!("{kbytes}KiB"));
    match (head.program, name.contains("large-block")) {
        (Program::Index, _) => "4KiB".to_owned(),
        (_, true) => large.unwrap_or_else(|| "unknown".to_owned()),
        (_, false) => head.item_value("record-bytes").map_or_else(|| "unknown".to_owned(), |bytes| format!("{bytes}B")),
    }
}

/// The standard criteria on all reads and, where there are several devices, on the reads of each.
fn standard_criteria(head: &Head, flows: &[Flow], several: bool, slice: Span) -> Vec<Criterion> {
    let over = match head.unit {
        Unit::Milliseconds => [1, 8, 64].map(Span::from_ms),
        Unit::Microseconds => [1 << 10, 1 << 13, 1 << 16].map(Span::from_us),
    };
    let below = [Share::from_percent(5), Share::from_percent(1), Share::from_ppb(1_000_000)];
    let devices = device_names(head);
    let mut criteria = Vec::new();
    for flow in flows.iter().filter(|flow| is_judged(&flow.name, several, &devices)) {
        criteria.extend(over.into_iter().zip(below).map(|(over, below)| Criterion {
            stream: flow.name.clone(),
            measure: if head.major < 6 && is_queued(&flow.name) { Measure::Response } else { Measure::Service },
            bound: Bound::Over { over, below },
            window: Some(slice),
            least_operations: 0,
            parts: assay_base::MarkedParts::EVERY,
        }));
    }
    criteria
}

/// Whether the criteria are on the histogram with this name.
fn is_judged(name: &str, several: bool, devices: &[String]) -> bool {
    let device = name.strip_suffix("-reads");
    matches!(name, "reads" | "trans-reads") || several && device.is_some_and(|d| devices.iter().any(|known| known == d))
}

/// The judged phase, and the phase after the last whole slice. A test shorter than a slice is one slice.
fn phase_heads(planned: Span, slice: Span) -> Vec<PhaseHead> {
    let judged = judged_time(planned, slice).as_ns();
    let mut phases = vec![phase_head("measure", PhaseKind::Measure, judged)];
    if judged < planned.as_ns() {
        phases.push(phase_head(REST, PhaseKind::WarmUp, planned.as_ns() - judged));
    }
    phases
}

fn phase_head(name: &str, kind: PhaseKind, span_ns: u64) -> PhaseHead {
    PhaseHead { name: name.to_owned(), kind, span_ns, steady_round_ns: None, until_done: false }
}

/// The whole slices of `planned`; all of it where it is shorter than one slice.
fn judged_time(planned: Span, slice: Span) -> Span {
    let (planned, slice) = (planned.as_ns(), slice.as_ns().max(1));
    Span::from_ns(if planned < slice { planned } else { planned / slice * slice })
}

/// Rounds a slice up to whole report intervals, like ACT's analyzer.
pub(super) fn whole_intervals(head: &Head, slice: Span) -> Span {
    let interval = head.interval.as_ns().max(1);
    Span::from_ns(slice.as_ns().max(1).div_ceil(interval).saturating_mul(interval))
}

/// Whether the times of `stream` in the log that `header` was made from include the time in ACT's queues: then they are
/// response, not service. That is so up to 5.x for streams that are not named after a device.
pub fn counts_waiting(header: &Header, stream: &str) -> bool {
    let version = header.tool.strip_prefix("ACT ").and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    version.is_some_and(|major| major < 6) && is_queued(stream)
}

fn is_queued(stream: &str) -> bool {
    matches!(stream, "reads" | "writes" | "trans-reads")
}

fn import_watermarks(head: &Head, planned: Span, slice: Span) -> Vec<String> {
    let measured = match head.major {
        6.. => "service time only; what users waited (response) is unknown".to_owned(),
        _ => "response begins when ACT queued a request; service is that of the device histograms".to_owned(),
    };
    let mut marks = vec![format!("ACT {} LOG: {measured}", head.version)];
    if head.unit == Unit::Microseconds {
        marks.push("ACT LOG IN MICROSECONDS: judged at 1024, 8192 and 65536 µs".to_owned());
    }
    marks.extend(schedule::shortfall_sentences(head));
    let rest = planned.as_ns() - judged_time(planned, slice).as_ns();
    if rest > 0 {
        let rest = Span::from_ns(rest);
        marks.push(format!("REST: the last {rest} are not a whole slice and are not judged, as in ACT's analyzer"));
    }
    if planned < DAY {
        marks.push(format!("SHORT: {planned} planned, ACT's procedure asks for {DAY}"));
    }
    marks
}

/// The plan of the run as the log itself states it, in its own words.
fn plan_from_head(head: &Head) -> serde_json::Value {
    serde_json::json!({ "act": { "configuration": json_object(&head.items), "derived": json_object(&head.derived) } })
}

fn json_object(items: &[(String, String)]) -> serde_json::Value {
    let pairs = items.iter().map(|(key, value)| (key.clone(), serde_json::Value::String(value.clone())));
    serde_json::Value::Object(pairs.collect())
}
