//! Times in which a target completed nothing although operations were in flight on it.
//!
//! A closed loop asks for nothing while it waits, so that such a time costs it few operations, and its criteria may hold
//! all the same: a reader should know of it.

use crate::fold::layout::Layout;
use crate::fold::placement::Placed;
use crate::words::clock_text;
use assay_base::Span;
use std::ops::Range;

/// The shortest silence that is told: long enough that no working device makes it.
const LEAST_NS: u64 = 5_000_000_000;

/// One target.
#[derive(Clone, Debug, Default)]
struct Target {
    /// Operations in flight at the end of the interval before.
    held: u64,
    /// The silence that lasts.
    open: Option<Range<u64>>,
    longest: Option<Range<u64>>,
    times: u64,
}

/// Observes the measured time of one step, to the length of an interval.
#[derive(Clone, Debug)]
pub(crate) struct Silences {
    targets: Vec<Target>,
}

impl Silences {
    /// The state before the first interval.
    pub(crate) fn new(layout: &Layout) -> Silences {
        Silences { targets: vec![Target::default(); layout.targets.len()] }
    }

    /// Adds an interval.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let mut now = vec![(0u64, 0u64); self.targets.len()];
        for (head, flow) in layout.flows.iter().zip(&placed.interval.flows) {
            let (ended, held) = &mut now[usize::from(head.target)];
            *ended = ended.saturating_add(flow.ended_operations());
            *held = held.saturating_add(flow.in_flight).saturating_add(flow.stuck);
        }
        let end_ns = placed.at_ns.saturating_add(placed.length_ns());
        for (target, (ended, held)) in self.targets.iter_mut().zip(now) {
            if !placed.joins {
                target.end_silence();
            }
            let silent = placed.joins && target.held > 0 && ended == 0 && held > 0;
            match &mut target.open {
                Some(open) if silent => open.end = end_ns,
                None if silent => target.open = Some(placed.at_ns..end_ns),
                _ => target.end_silence(),
            }
            target.held = held;
        }
    }

    /// A warning for each target that was silent for long.
    pub(crate) fn finish(&mut self, layout: &Layout) -> Vec<String> {
        self.targets.iter_mut().for_each(Target::end_silence);
        let targets = self.targets.iter().zip(&layout.targets);
        targets.filter_map(|(target, name)| target.warning_text(name)).collect()
    }
}

impl Target {
    fn end_silence(&mut self) {
        let Some(open) = self.open.take() else { return };
        if range_length(&open) < LEAST_NS {
            return;
        }
        self.times += 1;
        if self.longest.as_ref().is_none_or(|longest| range_length(longest) < range_length(&open)) {
            self.longest = Some(open);
        }
    }

    fn warning_text(&self, name: &str) -> Option<String> {
        let longest = self.longest.as_ref()?;
        let (lasted, from) = (Span::from_ns(range_length(longest)).human_text(), clock_text(longest.start));
        Some(match self.times {
            1 => format!("{name} completed nothing for {lasted} from {from} on, although operations were in flight"),
            n => format!(
                "{name} completed nothing for {} or more, {n} times, although operations were in flight; for the longest \
                 time, {lasted}, from {from} on",
                Span::from_ns(LEAST_NS).human_text()
            ),
        })
    }
}

fn range_length(time: &Range<u64>) -> u64 {
    time.end.saturating_sub(time.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::{FlowHead, FlowInterval, Interval};

    /// The warnings after intervals of a second, each as (whether it follows the one before, completed, in flight at its
    /// end) of the second of two targets; the first one is always busy.
    fn warnings(intervals: &[(bool, u64, u64)]) -> Vec<String> {
        let mut header = fixture::header();
        header.targets.push(header.targets[0].clone());
        header.targets[1].name = "slow".to_owned();
        header.flows.push(FlowHead { stream: 0, target: 1 });
        let layout = Layout::new(&header, &[]).unwrap();
        let mut silences = Silences::new(&layout);
        for (at, (joins, ok, in_flight)) in intervals.iter().enumerate() {
            let flow = |ok, in_flight| FlowInterval { ok, in_flight, ..FlowInterval::default() };
            let interval = Interval {
                end_ns: 1_000_000_000,
                flows: vec![flow(9, 1), flow(0, 0), flow(*ok, *in_flight)],
                ..Interval::default()
            };
            let at_ns = at as u64 * 1_000_000_000;
            silences.add_interval(
                &Placed { at_ns, joins: *joins, interval: &interval, carried: &[], opened: &[], disturbed: None },
                &layout,
            );
        }
        silences.finish(&layout)
    }

    #[test]
    fn five_seconds_are_a_silence_and_less_is_none() {
        let of = |silent: usize, after: (bool, u64, u64)| {
            let mut all = vec![(true, 4, 2)];
            all.extend(std::iter::repeat_n((true, 0, 2), silent));
            all.push(after);
            warnings(&all)
        };
        let five = ["slow completed nothing for 5 s from 0:00:01 on, although operations were in flight"];
        assert_eq!(of(5, (true, 1, 1)), five);
        assert_eq!(of(5, (true, 0, 0)), five);
        assert!(of(4, (true, 1, 1)).is_empty());
        // The last interval of a run belongs to it as well.
        assert_eq!(of(4, (true, 0, 2)), five);
        // What follows a hole in the log is not known to be the same silence.
        assert!(of(4, (false, 0, 2)).is_empty());
    }

    #[test]
    fn a_target_that_holds_nothing_is_not_silent() {
        assert!(warnings(&[(true, 4, 0); 9]).is_empty() && warnings(&[(true, 0, 0); 9]).is_empty());
        // The first operation may have come at the end of its interval.
        assert!(warnings(&[(true, 0, 1); 5]).is_empty() && !warnings(&[(true, 0, 1); 6]).is_empty());
    }

    #[test]
    fn several_silences_are_one_warning_with_the_longest() {
        let silent = |seconds| std::iter::repeat_n((true, 0, 2), seconds);
        let busy = || std::iter::once((true, 1, 2));
        let all: Vec<_> =
            busy().chain(silent(5)).chain(busy()).chain(silent(7)).chain(busy()).chain(silent(6)).collect();
        assert_eq!(
            warnings(&all),
            [
                "slow completed nothing for 5 s or more, 3 times, although operations were in flight; for the longest time, 7 s, \
              from 0:00:07 on"
            ]
        );
    }
}
