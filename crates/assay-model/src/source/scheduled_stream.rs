//! A stream with a schedule on one target as a source of block I/O.

use crate::arrival::Schedule;
use crate::generator::Generator;
use assay_base::source::{NextRequest, Source};
use assay_base::{Instant, Op};

/// One stream on one target, as one of several workers issues it: when an operation is due does not depend on others.
#[derive(Debug)]
pub(super) struct ScheduledStream {
    flow: usize,
    generator: Generator,
    schedule: Schedule,
    /// Number of operations taken from the schedule.
    pulled: u64,
    /// Number of operations of the schedule that were already counted as scheduled.
    counted: u64,
    /// A copy of the schedule that is ahead of the one operations are taken from, and the number it has reached: kept
    /// while the flow is behind, so that each operation is counted once, in the interval of its intended time.
    ahead: Option<(Schedule, u64)>,
}

impl ScheduledStream {
    pub(super) fn new(flow: usize, generator: Generator, schedule: Schedule) -> ScheduledStream {
        ScheduledStream { flow, generator, schedule, pulled: 0, counted: 0, ahead: None }
    }

    pub(super) fn flow_generator(&self) -> &Generator {
        &self.generator
    }

    /// Takes the next operation from the schedule and returns when it is wanted.
    #[inline(always)]
    fn pull_operation(&mut self) -> Instant {
        self.pulled += 1;
        let due = self.schedule.next_due();
        self.schedule.advance_to_next();
        due
    }
}

impl Source for ScheduledStream {
    type Request = Op;

    #[inline(always)]
    fn next_due(&self) -> Instant {
        self.schedule.next_due()
    }

    #[inline(always)]
    fn next(&mut self, _now: Instant) -> NextRequest {
        NextRequest::Of(self.flow)
    }

    #[inline(always)]
    fn take_request(&mut self, _flow: usize) -> Op {
        let wanted = self.pull_operation();
        self.generator.next_operation(wanted)
    }

    #[inline(always)]
    fn note_completed(&mut self, _flow: usize, _completed: Instant) {}

    fn is_open_loop(&self) -> bool {
        true
    }

    fn count_until(&mut self, end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        let total = if self.schedule.next_due() >= end {
            self.ahead = None;
            self.pulled
        } else {
            if self.ahead.as_ref().is_some_and(|(_, reached)| *reached < self.pulled) {
                self.ahead = None;
            }
            let (ahead, reached) = self.ahead.get_or_insert_with(|| (self.schedule.clone(), self.pulled));
            while ahead.next_due() < end {
                ahead.advance_to_next();
                *reached += 1;
            }
            *reached
        };
        let scheduled = total.saturating_sub(self.counted);
        self.counted = self.counted.max(total);
        count(self.flow, scheduled, self.counted - self.pulled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::Part;
    use crate::workload;
    use assay_base::Geometry;

    fn flow(arrival: &str) -> ScheduledStream {
        let file = format!(
            "model = \"streams\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"100/s\"\narrival = \"{arrival}\""
        );
        let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
        let plan = workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap();
        let geometry = Geometry { size: 1 << 20, block: 512 };
        let mut generator = Generator::new(&plan, 0, 0, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
        let schedule = generator.schedule.take().unwrap();
        ScheduledStream::new(0, generator, schedule)
    }

    fn counted(flow: &mut ScheduledStream, end: Instant) -> (u64, u64) {
        let mut counted = None;
        flow.count_until(end, |_, scheduled, waiting| counted = Some((scheduled, waiting)));
        counted.unwrap()
    }

    #[test]
    fn every_operation_is_counted_once_however_far_behind_the_flow_is() {
        let second = |s: u64| Instant::from_ns(s * 1_000_000_000);
        for arrival in ["steady", "poisson"] {
            let (mut ahead, mut behind) = (flow(arrival), flow(arrival));
            for s in 1..=20 {
                while ahead.next_due() < second(s) {
                    ahead.pull_operation();
                }
                // The other worker takes 50 in each of the first ten seconds and catches up after that.
                for _ in 0..if s <= 10 { 50 } else { 150 } {
                    if behind.next_due() < second(s) {
                        behind.pull_operation();
                    }
                }
                let (of_ahead, waiting) = counted(&mut ahead, second(s));
                assert_eq!(waiting, 0);
                let (of_behind, waiting) = counted(&mut behind, second(s));
                assert_eq!(of_ahead, of_behind, "{arrival}, second {s}");
                assert_eq!(behind.pulled + waiting, ahead.pulled, "{arrival}, second {s}");
            }
        }
    }
}
