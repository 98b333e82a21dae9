//! One stream on one target as a source of block I/O.

use crate::ledger::Ledger;
use crate::source::{Next, Source};
use assay_base::{Instant, Op, Span};
use assay_model::arrival::Schedule;
use assay_model::generator::Generator;
use assay_model::plan::READ_BACK_DEPTH;
use std::sync::Arc;

/// Upper bound on the places of a target that are searched in one step for something to read back.
const LOOKED_AT: u64 = 1 << 16;

/// One stream on one target, as one of several workers issues it.
#[derive(Debug)]
pub(crate) struct Single {
    flow: usize,
    target: u16,
    generator: Generator,
    /// For a read-back: the ledger of what was written, and where the next place was found.
    written: Option<Arc<Ledger>>,
    found: (u64, u32),
    /// Number of operations that a closed loop may issue now.
    credits: u32,
    /// When a closed loop may issue the next operation.
    ready: Instant,
    /// Number of operations taken from the schedule.
    pulled: u64,
    /// Number of operations of the schedule that were already counted as scheduled.
    counted: u64,
    /// A copy of the schedule that is ahead of the one operations are taken from, and the number it has reached: kept
    /// while the flow is behind, so that each operation is counted once, in the interval of its intended time.
    ahead: Option<(Schedule, u64)>,
}

impl Single {
    pub(crate) fn new(
        flow: usize,
        target: u16,
        generator: Generator,
        written: Option<Arc<Ledger>>,
        start: Instant,
    ) -> Single {
        let credits = generator.in_flight;
        Single {
            flow,
            target,
            generator,
            written,
            found: (0, 0),
            credits,
            ready: start,
            pulled: 0,
            counted: 0,
            ahead: None,
        }
    }

    /// Takes the next operation from the schedule and returns when it is wanted.
    #[inline(always)]
    fn pull(&mut self) -> Instant {
        self.pulled += 1;
        match &mut self.generator.schedule {
            Some(schedule) => {
                let due = schedule.due();
                schedule.advance();
                due
            }
            None => {
                self.credits -= 1;
                self.generator.left -= 1;
                self.ready
            }
        }
    }

    #[cold]
    fn look_for_written(&mut self, now: Instant) -> Next {
        let Some(ledger) = &self.written else { return Next::Over };
        match ledger.book(self.target).next_written(LOOKED_AT) {
            Ok(found) => {
                self.found = found;
                Next::Of(self.flow)
            }
            // It continues in the next step: completions are waiting.
            Err(true) => Next::Later(now + Span::from_ns(1)),
            Err(false) => Next::Over,
        }
    }
}

impl Source for Single {
    type Request = Op;

    #[inline(always)]
    fn due(&self) -> Instant {
        match &self.generator.schedule {
            Some(schedule) => schedule.due(),
            None if self.credits > 0 && self.generator.left > 0 => self.ready,
            None => Instant::FAR,
        }
    }

    #[inline(always)]
    fn next(&mut self, now: Instant) -> Next {
        if self.written.is_some() { self.look_for_written(now) } else { Next::Of(self.flow) }
    }

    #[inline(always)]
    fn take(&mut self, _flow: usize) -> Op {
        let wanted = self.pull();
        match self.written {
            None => self.generator.operation(wanted),
            Some(_) => self.generator.at(self.found.0, self.found.1),
        }
    }

    #[inline(always)]
    fn returned(&mut self, _flow: usize, completed: Instant) {
        if self.generator.schedule.is_none() {
            self.credits += 1;
            self.ready = completed + self.generator.pause;
        }
    }

    #[inline(always)]
    fn is_over(&self) -> bool {
        self.generator.left == 0
    }

    #[inline(always)]
    fn ended(&self) -> Option<u64> {
        (self.generator.left == 0 && self.credits == self.generator.in_flight).then_some(self.pulled)
    }

    #[inline(always)]
    fn is_open_loop(&self) -> bool {
        self.generator.schedule.is_some()
    }

    #[inline(always)]
    fn pause(&self) -> Span {
        self.generator.pause
    }

    fn count_until(&mut self, end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        let Some(schedule) = &self.generator.schedule else {
            let scheduled = self.pulled - std::mem::replace(&mut self.counted, self.pulled);
            return count(self.flow, scheduled, 0);
        };
        let total = if schedule.due() >= end {
            self.ahead = None;
            self.pulled
        } else {
            if self.ahead.as_ref().is_some_and(|(_, reached)| *reached < self.pulled) {
                self.ahead = None;
            }
            let (ahead, reached) = self.ahead.get_or_insert_with(|| (schedule.clone(), self.pulled));
            while ahead.due() < end {
                ahead.advance();
                *reached += 1;
            }
            *reached
        };
        let scheduled = total.saturating_sub(self.counted);
        self.counted = self.counted.max(total);
        count(self.flow, scheduled, self.counted - self.pulled);
    }

    fn begin(&mut self, now: Instant) -> Instant {
        (self.ready, self.credits) = (now, READ_BACK_DEPTH);
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Geometry;
    use assay_model::arrival::Part;
    use assay_model::workload;

    fn flow(keys: &str) -> Single {
        let file =
            format!("model = \"streams\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\n{keys}");
        let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
        let plan = workload::read("t", &file).unwrap().plan(&adjust).unwrap();
        let geometry = Geometry { size: 1 << 20, block: 512 };
        let generator = Generator::new(&plan, 0, 0, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
        Single::new(0, 0, generator, None, Instant::ZERO)
    }

    fn counted(flow: &mut Single, end: Instant) -> (u64, u64) {
        let mut counted = None;
        flow.count_until(end, |_, scheduled, waiting| counted = Some((scheduled, waiting)));
        counted.unwrap()
    }

    #[test]
    fn every_operation_is_counted_once_however_far_behind_the_flow_is() {
        let second = |s: u64| Instant::from_ns(s * 1_000_000_000);
        for arrival in ["steady", "poisson"] {
            let mut ahead = flow(&format!("rate = \"100/s\"\narrival = \"{arrival}\""));
            let mut behind = flow(&format!("rate = \"100/s\"\narrival = \"{arrival}\""));
            for s in 1..=20 {
                while ahead.due() < second(s) {
                    ahead.pull();
                }
                // The other worker takes 50 in each of the first ten seconds and catches up after that.
                for _ in 0..if s <= 10 { 50 } else { 150 } {
                    if behind.due() < second(s) {
                        behind.pull();
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

    #[test]
    fn a_stream_ends_after_its_operations_and_when_all_of_them_are_back() {
        let mut closed = flow("in_flight = 2\noperations = 3");
        assert!(!closed.is_over());
        closed.pull();
        closed.pull();
        closed.returned(0, Instant::from_ns(7));
        assert_eq!((closed.due(), closed.is_over(), closed.ended()), (Instant::from_ns(7), false, None));
        closed.pull();
        closed.returned(0, Instant::from_ns(8));
        assert_eq!((closed.due(), closed.is_over()), (Instant::FAR, true), "no fourth one");
        assert_eq!(closed.ended(), None, "one is in flight");
        closed.returned(0, Instant::from_ns(9));
        assert_eq!((closed.due(), closed.ended()), (Instant::FAR, Some(3)));
        assert!(!flow("in_flight = 2").is_over());
    }

    #[test]
    fn a_closed_loop_keeps_its_number_in_flight() {
        let mut closed = flow("in_flight = 2");
        let far = Instant::FAR;
        assert_eq!(closed.due(), Instant::ZERO);
        closed.pull();
        closed.pull();
        assert_eq!(closed.due(), far);
        closed.returned(0, Instant::from_ns(7));
        assert_eq!(closed.due(), Instant::from_ns(7));
        assert_eq!(counted(&mut closed, far), (2, 0));
        let mut paced = flow("in_flight = 1\npause = \"1ms\"");
        paced.pull();
        paced.returned(0, Instant::from_ns(5));
        assert_eq!(paced.due(), Instant::from_ns(1_000_005));
    }
}
