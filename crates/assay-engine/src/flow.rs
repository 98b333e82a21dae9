//! One flow as a worker sees it: what comes next and when, and how much of the schedule has been counted.

use crate::look::Looks;
use assay_base::{Instant, Span};
use assay_model::arrival::Schedule;
use assay_model::content::Content;
use assay_model::plan::Generator;

/// State of one flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub generator: Generator,
    /// Fills what is written; `None` for reads.
    pub content: Option<Content>,
    pub target: u16,
    /// Index of the slots that its operations take.
    pub lane: usize,
    /// Handed over and not back.
    pub in_flight: u64,
    /// Of those, the ones beyond the stuck limit.
    pub stuck: u64,
    /// A closed loop's operations that may be issued now.
    credits: u32,
    /// When a closed loop may issue next.
    ready: Instant,
    /// Operations taken from the schedule.
    pulled: u64,
    /// Operations of the schedule already counted as scheduled.
    counted: u64,
    /// A copy of the schedule that ran ahead of the one operations are taken from, and the number it has reached: kept while
    /// the flow is behind, so that each operation is counted once in the interval of its intended time.
    ahead: Option<(Schedule, u64)>,
    /// Which reads are looked at.
    pub looks: Looks,
}

impl Flow {
    pub fn new(generator: Generator, content: Option<Content>, (target, lane): (u16, usize), start: Instant) -> Flow {
        let credits = generator.in_flight;
        Flow {
            generator,
            content,
            target,
            lane,
            in_flight: 0,
            stuck: 0,
            credits,
            ready: start,
            pulled: 0,
            counted: 0,
            ahead: None,
            looks: Looks::default(),
        }
    }

    pub fn is_open_loop(&self) -> bool {
        self.generator.schedule.is_some()
    }

    /// When the next operation is due; `FAR` when none is, because the schedule is over or a closed loop is full.
    #[inline]
    pub fn due(&self, schedule_end: Instant) -> Instant {
        let due = match &self.generator.schedule {
            Some(schedule) => schedule.due(),
            None if self.credits > 0 => self.ready,
            None => return Instant::FAR,
        };
        if due < schedule_end { due } else { Instant::FAR }
    }

    /// Begins to read back, alone among all workers, with so many in flight.
    pub fn begin(&mut self, now: Instant, in_flight: u32) -> Instant {
        (self.ready, self.credits) = (now, in_flight);
        now
    }

    /// Takes the next operation off the schedule.
    #[inline]
    pub fn pull(&mut self) {
        match &mut self.generator.schedule {
            Some(schedule) => schedule.advance(),
            None => self.credits -= 1,
        }
        self.pulled += 1;
        self.in_flight += 1;
    }

    /// An operation came back at `completed`; a closed loop may issue another after its pause.
    #[inline]
    pub fn returned(&mut self, completed: Instant) {
        self.in_flight -= 1;
        if self.generator.schedule.is_none() {
            self.credits += 1;
            self.ready = completed + self.generator.pause;
        }
    }

    /// The pause between operations.
    pub fn pause(&self) -> Span {
        self.generator.pause
    }

    /// Counts the operations whose intended time lies before `end` and which no interval has counted yet. Returns their
    /// number and how many are waiting.
    pub fn count_until(&mut self, end: Instant) -> (u64, u64) {
        let Some(schedule) = &self.generator.schedule else {
            let scheduled = self.pulled - self.counted;
            self.counted = self.pulled;
            return (scheduled, 0);
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
        (scheduled, self.counted - self.pulled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Geometry;
    use assay_model::{arrival::Part, workload};

    fn flow(keys: &str) -> Flow {
        let file =
            format!("model = \"streams\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\n{keys}");
        let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
        let plan = workload::read("t", &file).unwrap().plan(&adjust).unwrap();
        let geometry = Geometry { size: 1 << 20, block: 512 };
        let generator = Generator::new(&plan, 0, 0, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
        Flow::new(generator, None, (0, 0), Instant::ZERO)
    }

    #[test]
    fn every_operation_is_counted_once_however_far_behind_the_flow_is() {
        let second = |s: u64| Instant::from_ns(s * 1_000_000_000);
        for arrival in ["steady", "poisson"] {
            let mut ahead = flow(&format!("rate = \"100/s\"\narrival = \"{arrival}\""));
            let mut behind = flow(&format!("rate = \"100/s\"\narrival = \"{arrival}\""));
            for s in 1..=20 {
                while ahead.due(Instant::FAR) < second(s) {
                    ahead.pull();
                }
                // The other one takes 50 in each of the first ten seconds and catches up after that.
                for _ in 0..if s <= 10 { 50 } else { 150 } {
                    if behind.due(Instant::FAR) < second(s) {
                        behind.pull();
                    }
                }
                let (counted, waiting) = ahead.count_until(second(s));
                assert_eq!(waiting, 0);
                let (counted_behind, waiting) = behind.count_until(second(s));
                assert_eq!(counted, counted_behind, "{arrival}, second {s}");
                assert_eq!(behind.pulled + waiting, ahead.pulled, "{arrival}, second {s}");
            }
        }
    }

    #[test]
    fn a_closed_loop_keeps_its_number_in_flight() {
        let mut closed = flow("in_flight = 2");
        let far = Instant::FAR;
        assert_eq!(closed.due(far), Instant::ZERO);
        closed.pull();
        closed.pull();
        assert_eq!(closed.due(far), far);
        closed.returned(Instant::from_ns(7));
        assert_eq!(closed.due(far), Instant::from_ns(7));
        assert_eq!(closed.due(Instant::from_ns(7)), far, "the run is over");
        assert_eq!(closed.count_until(far), (2, 0));
        let mut paced = flow("in_flight = 1\npause = \"1ms\"");
        paced.pull();
        paced.returned(Instant::from_ns(5));
        assert_eq!(paced.due(far), Instant::from_ns(1_000_005));
    }
}
