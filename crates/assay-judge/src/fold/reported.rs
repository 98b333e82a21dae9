//! Failures that events tell of, held against the counters of the same segment.
//!
//! A failed operation is told at once by an event and counted in the line of its interval, which is written when the interval
//! ends. Whatever ends the program between the two loses the counter, and the event is what remains. In a segment whose intervals
//! are all there no event tells of anything that is not counted, so that of each flow and kind what the events tell beyond
//! the counters was lost with an interval. Which interval it was need not be known, and nothing is counted twice.

use crate::finding::failed::is_damage;
use assay_base::Code;
use assay_record::{Event, EventKind, FlowInterval};
use std::collections::BTreeMap;

/// Different errors kept apart for one flow; the others are one kind.
const KINDS: usize = 64;
/// Name of an error that an event does not name, or that is one of too many.
const UNNAMED: &str = "other";

/// One segment's.
#[derive(Debug, Default)]
pub(crate) struct Reported {
    flows: BTreeMap<usize, Tally>,
    /// Why the target was given up.
    lost: Option<String>,
}

/// What a lost interval of one flow must have held.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Uncounted {
    /// Place of the flow.
    pub flow: usize,
    /// When the first failure of the flow was told, on the run's time line.
    pub first_ns: u64,
    /// The failures, as an interval would hold them.
    pub interval: FlowInterval,
}

/// Of one flow: what events tell and what intervals count.
#[derive(Debug, Default)]
struct Tally {
    first_ns: u64,
    told: Kinds,
    counted: Kinds,
    /// Damaged places told since the last interval, by kind.
    latest: BTreeMap<String, u64>,
}

#[derive(Debug, Default)]
struct Kinds {
    errors: BTreeMap<String, u64>,
    short: u64,
    /// Told: how many became stuck. Counted: the most that were at the end of an interval.
    stuck: u64,
    /// Places.
    damaged: u64,
}

/// What an event tells of one operation.
#[derive(Clone, Copy, Debug)]
enum FailureKind {
    Error,
    Short,
    Stuck,
    Damage,
}

impl FailureKind {
    fn of(what: &EventKind) -> Option<FailureKind> {
        match what {
            EventKind::IoError => Some(FailureKind::Error),
            EventKind::ShortIo => Some(FailureKind::Short),
            EventKind::Stuck => Some(FailureKind::Stuck),
            EventKind::Damage => Some(FailureKind::Damage),
            _ => None,
        }
    }
}

impl Reported {
    /// Takes in an event; those that tell of no failure are left. An event of a flow that does not exist is one of the first.
    pub(crate) fn event(&mut self, event: &Event, flows: usize) {
        if event.what == EventKind::TargetLost {
            self.lost.get_or_insert_with(|| event.text.clone());
        }
        let Some(kind) = FailureKind::of(&event.what) else { return };
        let number = |name: &str| event.details.get(name).and_then(|text| text.parse::<usize>().ok());
        let flow = number("flow").filter(|flow| *flow < flows).unwrap_or(0);
        let tally = self.flows.entry(flow).or_insert_with(|| Tally { first_ns: event.at_ns, ..Tally::default() });
        let told = &mut tally.told;
        match kind {
            FailureKind::Error => {
                let errno = number("errno").and_then(|number| i32::try_from(number).ok());
                add(&mut told.errors, &errno.map_or(UNNAMED.to_owned(), |errno| Code(errno).to_string()), 1);
            }
            FailureKind::Short => told.short = told.short.saturating_add(1),
            FailureKind::Stuck => told.stuck = told.stuck.saturating_add(1),
            FailureKind::Damage => {
                told.damaged = told.damaged.saturating_add(1);
                let kind = event.details.get("damage").filter(|kind| is_damage(kind));
                add(&mut tally.latest, kind.map_or(UNNAMED, String::as_str), 1);
            }
        }
    }

    /// Takes in what an interval counts of a flow.
    pub(crate) fn interval(&mut self, flow: usize, interval: &FlowInterval) {
        // What fails is told before it is counted: counters before the first event of a flow answer for no event.
        let Some(tally) = self.flows.get_mut(&flow) else { return };
        let counted = &mut tally.counted;
        interval.errors.iter().for_each(|(name, n)| add(&mut counted.errors, name, *n));
        counted.short = counted.short.saturating_add(interval.short);
        counted.stuck = counted.stuck.max(interval.stuck);
        counted.damaged = counted.damaged.saturating_add(interval.damaged);
        tally.latest.clear();
    }

    /// What no interval of the segment holds, and why the target was given up, if it was.
    pub(crate) fn end(self) -> (Vec<Uncounted>, Option<String>) {
        let uncounted = self.flows.into_iter().filter_map(|(flow, tally)| {
            let (first_ns, interval) = (tally.first_ns, tally.uncounted()?);
            Some(Uncounted { flow, first_ns, interval })
        });
        (uncounted.collect(), self.lost)
    }
}

impl Tally {
    fn uncounted(self) -> Option<FlowInterval> {
        let Tally { told, counted, latest, .. } = self;
        let beyond = |(name, n): (&String, &u64)| {
            let lost = n.saturating_sub(counted.errors.get(name).copied().unwrap_or(0));
            (lost > 0).then(|| (name.clone(), lost))
        };
        let mut errors: BTreeMap<String, u64> = told.errors.iter().filter_map(beyond).collect();
        let damaged = told.damaged.saturating_sub(counted.damaged);
        let mut left = damaged;
        for (kind, n) in latest {
            let of_kind = n.min(left);
            left -= of_kind;
            add(&mut errors, &kind, of_kind);
        }
        add(&mut errors, UNNAMED, left);
        errors.retain(|_, n| *n > 0);
        // How many were stuck at one time is not known from events alone, but that some were.
        let stuck = if counted.stuck == 0 { told.stuck } else { 0 };
        let short = told.short.saturating_sub(counted.short);
        let interval = FlowInterval { errors, short, stuck, damaged, ..FlowInterval::default() };
        (interval != FlowInterval::default()).then_some(interval)
    }
}

fn add(sum: &mut BTreeMap<String, u64>, name: &str, n: u64) {
    let known = sum.contains_key(name) || sum.len() < KINDS;
    let cell = sum.entry(if known { name } else { UNNAMED }.to_owned()).or_default();
    *cell = cell.saturating_add(n);
}
