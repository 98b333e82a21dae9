//! What the flows did in the interval before: others that an interval shows may have begun there.

use assay_record::{FlowInterval, Interval, Timing};

/// One interval, as far as the rules need it. Its lists keep their memory from one interval to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Previous {
    /// The flows.
    pub(crate) flows: Vec<FlowInterval>,
    /// Length in nanoseconds; 0 where there is no such interval.
    pub(crate) length_ns: u64,
}

impl Previous {
    /// Becomes this interval.
    pub(super) fn set_interval(&mut self, interval: &Interval) {
        self.length_ns = interval.end_ns.saturating_sub(interval.start_ns);
        self.flows.resize_with(interval.flows.len(), FlowInterval::default);
        self.flows.iter_mut().zip(&interval.flows).for_each(|(mine, theirs)| copy_flow(mine, theirs));
    }
}

fn copy_flow(mine: &mut FlowInterval, theirs: &FlowInterval) {
    (mine.scheduled, mine.issued, mine.ok, mine.bytes) = (theirs.scheduled, theirs.issued, theirs.ok, theirs.bytes);
    (mine.short, mine.in_flight, mine.waiting) = (theirs.short, theirs.in_flight, theirs.waiting);
    if !(mine.errors.is_empty() && theirs.errors.is_empty()) {
        mine.errors.clone_from(&theirs.errors);
    }
    copy_timing(&mut mine.response, &theirs.response);
    copy_timing(&mut mine.service, &theirs.service);
    copy_floor(&mut mine.floor, theirs.floor.as_ref());
    copy_floor(&mut mine.service_floor, theirs.service_floor.as_ref());
}

fn copy_floor(mine: &mut Option<Timing>, theirs: Option<&Timing>) {
    match theirs {
        Some(theirs) => copy_timing(mine.get_or_insert_default(), theirs),
        None => *mine = None,
    }
}

fn copy_timing(mine: &mut Timing, theirs: &Timing) {
    (mine.sum_ns, mine.max_ns) = (theirs.sum_ns, theirs.max_ns);
    mine.counts.clear();
    mine.counts.extend_from_slice(&theirs.counts);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_interval_before_stays() {
        let timing = |counts: &[u64]| Timing { sum_ns: 7, max_ns: 5, counts: counts.to_vec() };
        let full = FlowInterval {
            scheduled: 1,
            issued: 2,
            ok: 3,
            bytes: 4,
            short: 5,
            in_flight: 6,
            waiting: 7,
            errors: [("EIO".to_owned(), 8)].into(),
            response: timing(&[0, 1, 2, 3]),
            service: timing(&[1, 2]),
            floor: Some(timing(&[0, 9])),
            service_floor: Some(timing(&[])),
            ..FlowInterval::default()
        };
        let interval = |flows: Vec<FlowInterval>| Interval { start_ns: 10, end_ns: 30, flows, ..Interval::default() };
        let mut previous = Previous::default();
        for flows in
            [vec![full.clone(), FlowInterval::default()], vec![FlowInterval::default(), full.clone()], vec![full]]
        {
            previous.set_interval(&interval(flows.clone()));
            assert_eq!((&previous.flows, previous.length_ns), (&flows, 20));
        }
    }
}
