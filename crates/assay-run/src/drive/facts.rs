//! What the log says about how a run is carried, and about problems between the engine and the kernel.

use super::staffing::{Scheduling, Staffing};
use crate::drive::integrity;
use crate::log::tool;
use crate::open::engine::Chosen;
use crate::open::targets::Targets;
use assay_base::{Bytes, Instant};
use assay_device::clock::Clock;
use assay_device::facts::{EngineFacts, Health, Slots};
use assay_engine::BLANK_CHECK;
use assay_engine::shell::Spin;
use assay_record::{Event, EventKind};
use std::collections::BTreeMap;

/// Describes how a run is carried: the facts that the engine reports, the scheduling of its workers, and what was measured before the run.
pub(super) fn engine_facts(
    staffing: Staffing<'_>,
    targets: &Targets,
    facts: &EngineFacts,
    scheduling: &Scheduling,
    chosen: &Chosen,
    alone: Option<f64>,
    clock: Clock,
) -> BTreeMap<String, String> {
    let Staffing { plan, how } = staffing;
    let spin = match staffing.spin_mode(chosen.workers) {
        Spin::Fixed(span) if how.manner.spin.is_none() => format!("{span}, because operations are so close together"),
        Spin::Fixed(span) => span.to_string(),
        Spin::Together(span) => format!("none; a sleep is at least {span}, for all that is due within it"),
        Spin::Learned(most) => format!("as long as sleeps end late, at most {most} and a quarter of the time"),
    };
    let bound = match facts.name {
        "inline" => format!("{} on each target", chosen.workers),
        _ => format!("{} on each target{}", plan.load.in_flight_bound, plan.load.lanes_in_words()),
    };
    let alone = alone.map(|rate| {
        format!("{:.1} million operations a second by one worker on a device that does nothing", rate / 1e6)
    });
    let by_ring = facts.name == "io_uring";
    let entries = [
        ("engine", Some(facts.name.to_owned())),
        ("workers", Some(chosen.workers.to_string())),
        ("in-flight bound", Some(bound)),
        ("buffer of a slot", (facts.slots.bytes > 0).then(|| Bytes::new(facts.slots.bytes.into()).to_string())),
        ("clock", Some(clock.source_name().to_owned())),
        ("spin", Some(spin)),
        ("program", tool::program_checksum().map(|sum| format!("BLAKE3 {sum}"))),
        ("ring flags", by_ring.then(|| facts.flags.join(" "))),
        ("registered files", by_ring.then(|| yes_or_no(facts.registered_files))),
        ("registered buffers", by_ring.then(|| yes_or_no(facts.registered_buffers))),
        ("verify", integrity::describe_verification(plan, targets.target_geometry(0))),
        ("blank check", matches!(targets, Targets::Real(_)).then(|| BLANK_CHECK.to_owned())),
        ("threads", (facts.threads > 0).then(|| facts.threads.to_string())),
        ("notes", (!facts.notes.is_empty()).then(|| facts.notes.join("; "))),
        ("scheduling", Some(scheduling.to_string())),
        ("self-benchmark", alone),
    ];
    let known = entries.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?)));
    known.chain(chosen.facts.clone()).collect()
}

fn yes_or_no(answer: bool) -> String {
    if answer { "yes" } else { "no" }.to_owned()
}

/// The facts about sessions of a database as an engine.
pub(super) fn of_sessions(sessions: u32, threads: usize, clock: Clock) -> EngineFacts {
    EngineFacts {
        name: "sessions",
        flags: Vec::new(),
        registered_files: false,
        registered_buffers: false,
        threads: threads as u32,
        slots: Slots { count: sessions, spare: 0, bytes: 0 },
        clock: clock.source_name(),
        notes: Vec::new(),
    }
}

/// Problems between the engine and the kernel, for the log.
pub(super) fn trouble_events(now: Instant, health: Health) -> impl Iterator<Item = Event> {
    let refused = health.refused.map(|errno| {
        let text = format!("io_uring_enter gave {errno}: nothing more could be handed over; try --engine threads");
        let details = BTreeMap::from([("errno".to_owned(), errno.0.to_string())]);
        Event { at_ns: now.as_ns(), what: EventKind::EngineFailed, text, details }
    });
    let counts = [
        ("submit_retries", health.submit_retries),
        ("submissions_dropped", health.submissions_dropped.into()),
        ("completions_overflowed", health.completions_overflowed.into()),
    ];
    let troubled = counts.iter().any(|(_, n)| *n > 0).then(|| {
        let [retries, dropped, overflowed] = counts.map(|(_, n)| n);
        let text = format!(
            "{retries} submissions had to be repeated, {dropped} were dropped and {overflowed} completions overflowed the queue"
        );
        let details = counts.iter().map(|(name, n)| ((*name).to_owned(), n.to_string())).collect();
        Event { at_ns: now.as_ns(), what: EventKind::EngineHealth, text, details }
    });
    refused.into_iter().chain(troubled)
}
