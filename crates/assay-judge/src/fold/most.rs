//! The largest numbers of operations in flight and waiting, of a flow, of a stream over its targets, and of all together.
//!
//! The engine counts what is in flight where it changes, and writes the largest number of each interval. What several flows
//! have at most need not have been at the same moment, so their sum is an upper bound; the flows of a closed loop never have
//! more together than the loop has slots. Where an interval does not say the largest number, the mean is known: by Little's
//! law it is the sum of what its operations took over its length, rounded up.

use crate::fold::layout::Layout;
use assay_record::{FlowInterval, Interval};

/// The largest numbers of any interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Most {
    /// Operations in flight at any moment.
    pub(crate) in_flight: u64,
    /// Waiting at the end.
    pub(crate) waiting: u64,
}

impl Most {
    /// What one flow had in an interval of `length_ns`.
    pub(crate) fn of_flow(flow: &FlowInterval, length_ns: u64, layout: &Layout) -> Most {
        let known = flow.in_flight.max(flow.in_flight_max);
        let counted = flow.in_flight_max > 0 || layout.of_another_tool;
        let mean = if counted { 0 } else { at_least(flow, length_ns) };
        Most { in_flight: known.max(mean), waiting: flow.waiting }
    }

    /// Keeps what is larger of each.
    pub(crate) fn keep_larger(&mut self, other: Most) {
        self.in_flight = self.in_flight.max(other.in_flight);
        self.waiting = self.waiting.max(other.waiting);
    }

    fn add(&mut self, other: Most) {
        self.in_flight = self.in_flight.saturating_add(other.in_flight);
        self.waiting = self.waiting.saturating_add(other.waiting);
    }
}

/// The mean in flight, rounded up; never zero where something was issued or ended.
fn at_least(flow: &FlowInterval, length_ns: u64) -> u64 {
    let mean = flow.service.sum_ns.div_ceil(length_ns.max(1));
    mean.max(u64::from(flow.issued > 0 || flow.ended_operations() > 0))
}

/// What the flows had in an interval that `belong`, together: `of_flows` has what each had.
pub(crate) fn most_of_flows_together(of_flows: &[Most], layout: &Layout, belong: impl Fn(usize) -> bool) -> Most {
    let mut all = Most::default();
    let mut looped = vec![false; of_flows.len()];
    for of_loop in &layout.loops {
        let own = of_loop.flows.iter().filter(|flow| belong(**flow) && **flow < of_flows.len());
        let mut sum = Most::default();
        own.for_each(|flow| {
            looped[*flow] = true;
            sum.add(of_flows[*flow]);
        });
        all.add(Most { in_flight: sum.in_flight.min(of_loop.slots), ..sum });
    }
    let others = of_flows.iter().enumerate().filter(|(flow, _)| !looped[*flow] && belong(*flow));
    others.for_each(|(_, own)| all.add(*own));
    all
}

/// What each flow had in an interval.
pub(crate) fn of_flows(interval: &Interval, length_ns: u64, layout: &Layout) -> Vec<Most> {
    interval.flows.iter().map(|flow| Most::of_flow(flow, length_ns, layout)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::{LoopHead, Timing};

    fn flow(ok: u64, most: u64, at_end: u64, sum_ns: u64) -> FlowInterval {
        let service = Timing { sum_ns, ..Timing::default() };
        FlowInterval { ok, in_flight_max: most, in_flight: at_end, service, ..FlowInterval::default() }
    }

    #[test]
    fn what_was_counted_counts_and_the_mean_stands_for_what_was_not() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let most = |flow: FlowInterval| Most::of_flow(&flow, 1000, &layout).in_flight;
        assert_eq!(most(flow(9, 5, 2, 0)), 5);
        assert_eq!(most(flow(9, 0, 2, 0)), 2, "at the end");
        assert_eq!(most(flow(9, 0, 0, 3001)), 4, "3.001 on average");
        assert_eq!(most(flow(9, 0, 0, 0)), 1, "something ran");
        assert_eq!(most(FlowInterval { issued: 1, ..flow(0, 0, 0, 0) }), 1);
        assert_eq!(most(FlowInterval { short: 1, ..flow(0, 0, 0, 0) }), 1);
        assert_eq!(most(flow(0, 0, 0, 0)), 0);
        let of_another = Layout { of_another_tool: true, ..layout.clone() };
        assert_eq!(
            Most::of_flow(&flow(9, 0, 0, 3001), 1000, &of_another).in_flight,
            0,
            "it counts nothing of the kind"
        );
    }

    #[test]
    fn flows_of_a_loop_never_have_more_than_its_slots() {
        let mut header = fixture::header();
        let of_flows = [Most { in_flight: 7, waiting: 1 }, Most { in_flight: 6, waiting: 2 }];
        let all = |header: &assay_record::Header, belong: fn(usize) -> bool| {
            most_of_flows_together(&of_flows, &Layout::new(header, &[]).unwrap(), belong)
        };
        assert_eq!(all(&header, |_| true), Most { in_flight: 13, waiting: 3 });
        header.loops = vec![LoopHead { flows: vec![0, 1], slots: 8 }];
        assert_eq!(all(&header, |_| true), Most { in_flight: 8, waiting: 3 });
        assert_eq!(all(&header, |flow| flow == 1), Most { in_flight: 6, waiting: 2 });
        header.loops = vec![LoopHead { flows: vec![0], slots: 4 }];
        assert_eq!(all(&header, |_| true), Most { in_flight: 10, waiting: 3 });
    }
}
