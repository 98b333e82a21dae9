//! Failures that events report, compared with the counters of the same segment.
//!
//! An event reports a failed operation at once, and the line of its interval, which is written when the interval ends,
//! counts it. If the program ends between the two, the counter is lost and only the event remains. In a segment with
//! all its intervals, every failure in an event is also counted; so for each flow and kind, the failures that events
//! report beyond the counters were lost with an interval. It does not matter which interval it was, and nothing is
//! counted twice.

use crate::finding::failed::is_damage;
use assay_base::Code;
use assay_record::{Event, EventKind, FlowInterval};
use std::collections::BTreeMap;

/// Number of error names kept apart for one flow; further ones count as one kind.
const KINDS: usize = 64;
/// Name for an error that an event does not name, or that is one of too many.
const UNNAMED: &str = "other";

/// The failures of one segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reported {
    flows: BTreeMap<usize, Tally>,
    /// Why the target was given up.
    lost: Option<String>,
}

/// What a lost interval of one flow must have contained.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Uncounted {
    /// Index of the flow.
    pub flow: usize,
    /// When the first failure of the flow was reported, on the run's time line.
    pub first_ns: u64,
    /// The failures, in the form of an interval.
    pub interval: FlowInterval,
}

/// For one flow: what events report and what intervals count.
#[derive(Clone, Debug, Default)]
struct Tally {
    first_ns: u64,
    from_events: Kinds,
    counted: Kinds,
    /// Damaged places reported since the last interval, by kind.
    latest: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default)]
struct Kinds {
    errors: BTreeMap<String, u64>,
    short: u64,
    /// In events: how many became stuck. In counters: the largest number at the end of an interval.
    stuck: u64,
    /// Number of damaged places.
    damaged: u64,
}

/// What an event reports about one operation.
#[derive(Clone, Copy, Debug)]
enum FailureKind {
    Error,
    Short,
    Stuck,
    Damage,
}

impl FailureKind {
    fn from_event(what: &EventKind) -> Option<FailureKind> {
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
    /// Takes an event; ignores those that report no failure. An event of a flow that does not exist counts for the
    /// first flow.
    pub(crate) fn take_event(&mut self, event: &Event, flows: usize) {
        if event.what == EventKind::TargetLost {
            self.lost.get_or_insert_with(|| event.text.clone());
        }
        let Some(kind) = FailureKind::from_event(&event.what) else { return };
        let flow = number_in(event, "flow").filter(|flow| *flow < flows).unwrap_or(0);
        let tally = self.flows.entry(flow).or_insert_with(|| Tally { first_ns: event.at_ns, ..Tally::default() });
        let from_events = &mut tally.from_events;
        match kind {
            FailureKind::Error => {
                let errno = number_in(event, "errno").and_then(|number| i32::try_from(number).ok());
                // A device with codes of its own names them in the event, as its counters do.
                let named = errno.map(|errno| Code(errno).to_string()).or_else(|| event.details.get("code").cloned());
                add_count(&mut from_events.errors, named.as_deref().unwrap_or(UNNAMED), 1);
            }
            FailureKind::Short => from_events.short = from_events.short.saturating_add(1),
            FailureKind::Stuck => from_events.stuck = from_events.stuck.saturating_add(1),
            FailureKind::Damage => {
                from_events.damaged = from_events.damaged.saturating_add(1);
                let kind = event.details.get("damage").filter(|kind| is_damage(kind));
                add_count(&mut tally.latest, kind.map_or(UNNAMED, String::as_str), 1);
            }
        }
    }

    /// Takes the counters of an interval for one flow.
    pub(crate) fn take_interval(&mut self, flow: usize, interval: &FlowInterval) {
        // Events precede the counters: what was counted before the first event of a flow does not belong to any event.
        let Some(tally) = self.flows.get_mut(&flow) else { return };
        let counted = &mut tally.counted;
        interval.errors.iter().for_each(|(name, n)| add_count(&mut counted.errors, name, *n));
        counted.short = counted.short.saturating_add(interval.short);
        counted.stuck = counted.stuck.max(interval.stuck);
        counted.damaged = counted.damaged.saturating_add(interval.damaged);
        tally.latest.clear();
    }

    /// What no interval of the segment contains, and why the target was given up, if it was.
    pub(crate) fn end_segment(self) -> (Vec<Uncounted>, Option<String>) {
        let uncounted = self.flows.into_iter().filter_map(|(flow, tally)| {
            let (first_ns, interval) = (tally.first_ns, tally.uncounted_interval()?);
            Some(Uncounted { flow, first_ns, interval })
        });
        (uncounted.collect(), self.lost)
    }
}

/// A figure of an event.
fn number_in(event: &Event, name: &str) -> Option<usize> {
    event.details.get(name).and_then(|text| text.parse::<usize>().ok())
}

impl Tally {
    fn uncounted_interval(self) -> Option<FlowInterval> {
        let Tally { from_events, counted, latest, .. } = self;
        let mut errors: BTreeMap<String, u64> = from_events
            .errors
            .iter()
            .map(|(name, n)| (name.clone(), n.saturating_sub(counted.errors.get(name).copied().unwrap_or(0))))
            .collect();
        let damaged = from_events.damaged.saturating_sub(counted.damaged);
        let mut left = damaged;
        for (kind, n) in latest {
            let of_kind = n.min(left);
            left -= of_kind;
            add_count(&mut errors, &kind, of_kind);
        }
        add_count(&mut errors, UNNAMED, left);
        errors.retain(|_, n| *n > 0);
        // Events alone do not show how many operations were stuck at the same time, only that some were.
        let stuck = if counted.stuck == 0 { from_events.stuck } else { 0 };
        let short = from_events.short.saturating_sub(counted.short);
        let interval = FlowInterval { errors, short, stuck, damaged, ..FlowInterval::default() };
        (interval != FlowInterval::default()).then_some(interval)
    }
}

fn add_count(sum: &mut BTreeMap<String, u64>, name: &str, n: u64) {
    let known = sum.contains_key(name) || sum.len() < KINDS;
    let cell = sum.entry(if known { name } else { UNNAMED }.to_owned()).or_default();
    *cell = cell.saturating_add(n);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(what: &str, at_ns: u64, details: &[(&str, &str)]) -> Event {
        let details = details.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Event { at_ns, what: what.into(), text: "gone".into(), details }
    }

    fn counted(errors: &[(&str, u64)], short: u64, stuck: u64, damaged: u64) -> FlowInterval {
        let errors = errors.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        FlowInterval { errors, short, stuck, damaged, ..FlowInterval::default() }
    }

    #[test]
    fn what_events_report_beyond_the_counters_was_lost() {
        let eio = || event("io-error", 5, &[("flow", "1"), ("errno", "5")]);
        let busy = || event("io-error", 5, &[("flow", "1"), ("code", "SQLITE_BUSY")]);
        let damage = || event("damage", 9, &[("flow", "1"), ("damage", "lost")]);
        let code = Code::DAMAGE.iter().map(Code::to_string).find(|name| name == "lost");
        for (events, interval, lost) in [
            (vec![eio(), eio()], counted(&[("EIO", 2)], 0, 0, 0), None),
            (vec![eio(), eio()], counted(&[("EIO", 1)], 0, 0, 0), Some(counted(&[("EIO", 1)], 0, 0, 0))),
            (vec![eio()], counted(&[("EIO", 7)], 0, 0, 0), None),
            (vec![eio()], counted(&[("ENOSPC", 1)], 0, 0, 0), Some(counted(&[("EIO", 1)], 0, 0, 0))),
            (vec![event("short-io", 5, &[("flow", "1")])], counted(&[], 0, 0, 0), Some(counted(&[], 1, 0, 0))),
            (vec![event("short-io", 5, &[("flow", "1")])], counted(&[], 1, 0, 0), None),
            // How many were stuck at the same time is known from counters only.
            (vec![event("stuck", 5, &[("flow", "1")]); 3], counted(&[], 0, 1, 0), None),
            (vec![event("stuck", 5, &[("flow", "1")]); 3], counted(&[], 0, 0, 0), Some(counted(&[], 0, 3, 0))),
            (vec![damage()], counted(&[], 0, 0, 1), None),
            (
                vec![event("io-error", 5, &[("flow", "1")])],
                counted(&[], 0, 0, 0),
                Some(counted(&[("other", 1)], 0, 0, 0)),
            ),
            (vec![busy()], counted(&[("SQLITE_BUSY", 1)], 0, 0, 0), None),
            (vec![busy()], counted(&[], 0, 0, 0), Some(counted(&[("SQLITE_BUSY", 1)], 0, 0, 0))),
            (vec![event("warning", 5, &[("flow", "1")])], counted(&[], 0, 0, 0), None),
        ] {
            let mut reported = Reported::default();
            events.iter().for_each(|event| reported.take_event(event, 2));
            reported.take_interval(0, &counted(&[("EIO", 99)], 9, 9, 9));
            reported.take_interval(1, &interval);
            let expected: Vec<_> =
                lost.into_iter().map(|interval| Uncounted { flow: 1, first_ns: 5, interval }).collect();
            assert_eq!(reported.end_segment(), (expected, None), "{events:?}");
        }
        assert!(code.is_some(), "the damage of these rows has a name");
        // Damage of which no interval followed: its kind is known from the event.
        let mut reported = Reported::default();
        (0..2).for_each(|_| reported.take_event(&damage(), 2));
        let expected = Uncounted { flow: 1, first_ns: 9, interval: counted(&[("lost", 2)], 0, 0, 2) };
        assert_eq!(reported.end_segment().0, [expected]);
    }

    #[test]
    fn an_event_of_a_flow_that_is_not_there_counts_for_the_first_one() {
        for (flow, counts_for) in [("0", 0), ("1", 1), ("2", 0), ("x", 0)] {
            let mut reported = Reported::default();
            reported.take_event(&event("short-io", 3, &[("flow", flow)]), 2);
            reported.take_event(&event("target-lost", 3, &[]), 2);
            let (lost, why) = reported.end_segment();
            assert_eq!((lost[0].flow, why.as_deref()), (counts_for, Some("gone")), "{flow}");
        }
    }

    #[test]
    fn of_too_many_kinds_the_rest_is_one() {
        let mut sum = BTreeMap::new();
        (0..70).for_each(|n| add_count(&mut sum, &format!("E{n}"), 1));
        add_count(&mut sum, "E0", 1);
        assert_eq!((sum.len(), sum[UNNAMED], sum["E0"], sum.contains_key("E63")), (65, 6, 2, true));
    }
}
