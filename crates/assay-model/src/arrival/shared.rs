//! One schedule for several streams and targets: the application that makes them pauses after some of its operations,
//! or takes turns over its targets.
//!
//! The schedule has an operation of a stream whenever a clock of that stream is due, and an operation that is due in a
//! pause is wanted when the pause is over. By default the clocks go on in a pause, so that the application catches up;
//! otherwise they stand still. Both are what fio does with `thinktime` beside a rate (`handle_thinktime` in its
//! `backend.c`); where fio begins a pause when an operation has completed, it begins here when the operation is wanted,
//! because when an operation is wanted does not depend on completions.
//!
//! Every flow goes through the whole schedule and keeps its own operations, so that all flows agree about pauses and
//! turns without knowing of each other.

use super::part::Part;
use super::poisson::Poisson;
use super::steady::Steady;
use crate::turns::{Turning, Turns};
use assay_base::{Instant, Multiple, Prng, Rate, Span};
use serde::{Deserialize, Serialize};

/// What the streams of one schedule share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedSchedule {
    /// The streams of one name have one schedule.
    pub name: String,
    /// The rates of all its streams together, without pauses.
    pub all: Rate,
    /// The pauses, if the application makes some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Pauses>,
    /// How the operations take turns over the targets; without turns each is on the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
}

/// Pauses of an application with a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// After how many operations it pauses.
    pub every: u32,
    /// The length of a pause.
    pub time: Span,
    /// Whether its clocks stand still in a pause, so that what would have been due then is not caught up with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stand_still: bool,
}

impl Pauses {
    /// How much later the clocks go on after a pause. The operation behind a pause follows it directly.
    fn pause_shift(self, all: Rate) -> Span {
        let (operations, seconds) = all.as_ratio();
        let gap = Span::from_ns((u128::from(seconds) * 1_000_000_000 / u128::from(operations.max(1))) as u64);
        match (self.stand_still, gap <= self.time) {
            (false, _) => Span::ZERO,
            (true, true) => self.time.saturating_sub(gap),
            (true, false) => self.time,
        }
    }

    /// The mean rate of a stream with `rate`, which has a part of the rate `all` of its application.
    fn mean_rate(self, rate: Rate, all: Rate) -> Option<Rate> {
        let every = u128::from(self.every);
        let (operations, seconds) = all.as_ratio();
        // The time that `every` operations take without pauses is this many nanoseconds, divided by `operations`.
        let without = every * u128::from(seconds) * 1_000_000_000;
        let pause = u128::from(operations) * u128::from(self.time.as_ns());
        let with = if self.stand_still {
            without + u128::from(operations) * u128::from(self.pause_shift(all).as_ns())
        } else {
            without.max(pause)
        };
        let (part, per) = rate.as_ratio();
        Rate::from_ratio(u128::from(part).checked_mul(without)?, u128::from(per).checked_mul(with)?)
    }
}

impl SharedSchedule {
    /// The mean rate of one of its streams, which has `rate` without pauses.
    pub fn mean_rate(&self, rate: Rate) -> Rate {
        self.pauses.and_then(|pauses| pauses.mean_rate(rate, self.all)).unwrap_or(rate)
    }

    /// The same for rates that are multiplied; `None` when that does not fit.
    pub fn scaled_by(&self, load: Multiple) -> Option<SharedSchedule> {
        Some(SharedSchedule { all: load.scaled_rate(self.all)?, ..self.clone() })
    }
}

/// When the operations of one stream are due without pauses.
#[derive(Clone, Debug)]
pub enum Clock {
    /// Evenly spaced.
    Even(Steady),
    /// Independent clients.
    Independent(Box<Poisson>),
}

impl Clock {
    fn next_due(&self) -> Instant {
        match self {
            Clock::Even(steady) => steady.next_due(),
            Clock::Independent(poisson) => poisson.next_due(),
        }
    }

    fn advance_to_next(&mut self) {
        match self {
            Clock::Even(steady) => steady.advance_to_next(),
            Clock::Independent(poisson) => poisson.advance_to_next(),
        }
    }
}

/// Which operations of the schedule a flow has in one of several workers.
#[derive(Clone, Copy, Debug)]
pub struct OwnPart {
    /// The index of its stream among those of the schedule.
    pub stream: usize,
    /// The index of its target among those of the schedule.
    pub target: usize,
    /// The operations of the flow are dealt to the workers in turn.
    pub worker: Part,
}

/// The operations of one flow; see the module.
#[derive(Clone, Debug)]
pub struct Shared {
    clocks: Box<[Clock]>,
    pauses: Option<(Pauses, Span)>,
    turning: Turning,
    prng: Prng,
    own: OwnPart,
    /// The operations since the last pause, and the end of that pause.
    since: u32,
    over: Instant,
    /// How much later the clocks are because of pauses.
    later: Span,
    /// The operations of the flow so far.
    passed: u64,
    due: Instant,
}

impl Shared {
    /// The operations of `own`. `clocks` are those of all streams of the schedule; its operations take turns over
    /// `targets`, with random numbers from `prng`.
    pub fn new(
        schedule: &SharedSchedule,
        clocks: Vec<Clock>,
        targets: usize,
        prng: Prng,
        own: OwnPart,
    ) -> Option<Shared> {
        let turns = schedule.turns.unwrap_or(Turns::new(crate::turns::NextTarget::InTurn));
        if clocks.is_empty() || own.stream >= clocks.len() || own.target >= targets || turns.counts_passes() {
            return None;
        }
        let pauses = schedule.pauses.map(|pauses| (pauses, pauses.pause_shift(schedule.all)));
        let turning = Turning::new(turns, targets, &[], 0);
        let (over, due) = (Instant::ZERO, Instant::ZERO);
        let clocks = clocks.into();
        let (since, later, passed) = (0, Span::ZERO, 0);
        let mut shared = Shared { clocks, pauses, turning, prng, own, since, over, later, passed, due };
        shared.advance_to_next();
        Some(shared)
    }

    #[inline]
    pub(super) fn next_due(&self) -> Instant {
        self.due
    }

    /// Goes on to the next operation of the flow.
    pub(super) fn advance_to_next(&mut self) {
        loop {
            let (stream, wanted) = self.next_of_all();
            let target = self.turning.next_target(&mut self.prng);
            if (stream, target) != (self.own.stream, self.own.target) {
                continue;
            }
            let worker = self.passed % self.own.worker.of.max(1);
            self.passed += 1;
            if worker == self.own.worker.index {
                self.due = wanted;
                return;
            }
        }
    }

    /// The stream of the next operation of the whole schedule, and when that is wanted.
    fn next_of_all(&mut self) -> (usize, Instant) {
        let first = (0..self.clocks.len()).min_by_key(|at| self.clocks[*at].next_due()).unwrap_or(0);
        let wanted = (self.clocks[first].next_due() + self.later).max(self.over);
        self.clocks[first].advance_to_next();
        if let Some((pauses, shift)) = self.pauses {
            self.since += 1;
            if self.since == pauses.every.max(1) {
                (self.since, self.over) = (0, wanted + pauses.time);
                self.later = self.later + shift;
            }
        }
        (first, wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turns::NextTarget;

    const MS: u64 = 1_000_000;

    fn even(rate: u64) -> Clock {
        Clock::Even(Steady::new(Instant::ZERO, Rate::per_second(rate), Part { index: 0, of: 1 }, 0).unwrap())
    }

    fn independent(rate: u64, seed: u64) -> Clock {
        let poisson = Poisson::new(Instant::ZERO, Rate::per_second(rate), Prng::from_seed(seed)).unwrap();
        Clock::Independent(Box::new(poisson))
    }

    fn schedule(all: u64, pauses: Option<(u32, u64, bool)>, turns: Option<Turns>) -> SharedSchedule {
        let pauses = pauses.map(|(every, ms, stand_still)| Pauses { every, time: Span::from_ms(ms), stand_still });
        SharedSchedule { name: "job".to_owned(), all: Rate::per_second(all), pauses, turns }
    }

    /// The times of a flow within `seconds`, in nanoseconds.
    fn times(schedule: &SharedSchedule, clocks: &[Clock], targets: usize, own: OwnPart, seconds: u64) -> Vec<u64> {
        let prng = Prng::from_seed(9);
        let mut shared = Shared::new(schedule, clocks.to_vec(), targets, prng, own).unwrap();
        let mut times = Vec::new();
        while shared.next_due().as_ns() < seconds * 1_000_000_000 {
            times.push(shared.next_due().as_ns());
            shared.advance_to_next();
        }
        times
    }

    fn whole(stream: usize) -> OwnPart {
        OwnPart { stream, target: 0, worker: Part { index: 0, of: 1 } }
    }

    #[test]
    fn what_is_due_in_a_pause_is_wanted_when_it_is_over() {
        // 100 operations a second, and 50 ms after each ten: the first of each ten, but not the last, wait.
        let found = times(&schedule(100, Some((10, 50, false)), None), &[even(100)], 1, whole(0), 2);
        let expected: Vec<u64> =
            (0..200).map(|k| if k < 10 { k * 10 } else { (k * 10).max(k / 10 * 100 + 40) }).collect();
        assert_eq!(found.iter().map(|ns| ns / MS).collect::<Vec<_>>(), expected);
        // A rate that the pauses leave no time for: ten at each end of a pause.
        let found = times(&schedule(100, Some((10, 200, false)), None), &[even(100)], 1, whole(0), 2);
        let expected: Vec<u64> = (0..100).map(|k| if k < 10 { k * 10 } else { k / 10 * 200 + 90 }).collect();
        assert_eq!(found.iter().map(|ns| ns / MS).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn clocks_that_stand_still_catch_up_with_nothing() {
        let found = times(&schedule(100, Some((10, 50, true)), None), &[even(100)], 1, whole(0), 2);
        let expected: Vec<u64> = (0..found.len() as u64).map(|k| k * 10 + k / 10 * 40).collect();
        assert_eq!(found.iter().map(|ns| ns / MS).collect::<Vec<_>>(), expected);
        // fio 3.33 came to 142 in two seconds, because each of its sleeps is a little longer.
        assert_eq!(found.len(), 144);
    }

    #[test]
    fn the_mean_rate_is_that_of_the_times() {
        for (rate, pauses) in [
            (100, (10, 50, false)),
            (100, (10, 200, false)),
            (100, (10, 50, true)),
            (100, (10, 5, true)),
            (1000, (7, 7, false)),
            (1000, (7, 13, true)),
            (10, (1, 250, false)),
            (10, (1, 250, true)),
        ] {
            let shared = schedule(rate, Some(pauses), None);
            let (mean, clock) = (shared.mean_rate(Rate::per_second(rate)).as_f64(), even(rate));
            let found = times(&shared, &[clock], 1, whole(0), 100).len() as f64;
            assert!((found / 100.0 - mean).abs() < 0.01 * mean + 0.2, "{rate} {pauses:?}: {found} for {mean}");
        }
        assert_eq!(schedule(100, None, None).mean_rate(Rate::per_second(40)), Rate::per_second(40));
        let twice = schedule(100, Some((10, 200, false)), None).scaled_by(Multiple::from_whole(2)).unwrap();
        assert_eq!((twice.all, twice.mean_rate(Rate::per_second(200))), (Rate::per_second(200), Rate::per_second(50)));
    }

    #[test]
    fn streams_of_a_schedule_pause_together() {
        let shared = schedule(150, Some((10, 50, false)), None);
        let clocks = [even(100), even(50)];
        let (reads, writes) = (times(&shared, &clocks, 1, whole(0), 20), times(&shared, &clocks, 1, whole(1), 20));
        assert_eq!((reads.len(), writes.len()), (2000, 1000));
        let mut all = [reads, writes].concat();
        all.sort_unstable();
        for (at, ten) in all.chunks(10).enumerate().skip(1) {
            let before = all[at * 10 - 1];
            assert!(ten[0] >= before + 50 * MS, "operation {}: {} after {before}", at * 10, ten[0]);
        }
    }

    #[test]
    fn targets_come_in_turn_and_workers_divide_the_flow() {
        let turns = |next, operations| Some(Turns { operations, ..Turns::new(next) });
        for (turns, clock) in [
            (None, even(1000)),
            (turns(NextTarget::InTurn, 8), even(1000)),
            (turns(NextTarget::Random, 1), even(1000)),
            (turns(NextTarget::Random, 4), independent(1000, 3)),
            (None, independent(1000, 4)),
        ] {
            let (shared, clocks) = (schedule(1000, Some((100, 7, false)), turns), [clock]);
            let alone = times(&shared, &clocks, 1, whole(0), 3);
            let own = |target, index, of| {
                let own = OwnPart { stream: 0, target, worker: Part { index, of } };
                times(&shared, &clocks, 3, own, 3)
            };
            for of in [1, 2, 5] {
                let parts = |target| (0..of).map(move |index| own(target, index, of));
                let mut all: Vec<u64> = (0..3).flat_map(|target| parts(target).flatten().collect::<Vec<_>>()).collect();
                all.sort_unstable();
                assert_eq!(all, alone, "{turns:?} {of}");
                for target in 0..3 {
                    let lengths: Vec<usize> = parts(target).map(|part| part.len()).collect();
                    assert!(lengths.iter().max().unwrap() - lengths.iter().min().unwrap() <= 1, "{lengths:?}");
                }
            }
            if turns.is_none_or(|turns| turns.next == NextTarget::InTurn) {
                let first = own(1, 0, 1);
                let stays = turns.map_or(1, |turns| turns.operations as usize);
                let expected: Vec<u64> = alone.chunks(stays).skip(1).step_by(3).flatten().copied().collect();
                assert_eq!(first, expected, "{turns:?}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_none() {
        let plain = schedule(100, None, None);
        assert!(Shared::new(&plain, Vec::new(), 1, Prng::from_seed(1), whole(0)).is_none());
        assert!(Shared::new(&plain, vec![even(1)], 1, Prng::from_seed(1), whole(1)).is_none());
        assert!(Shared::new(&plain, vec![even(1)], 0, Prng::from_seed(1), whole(0)).is_none());
        let sequential = schedule(100, None, Some(Turns::new(NextTarget::OneAfterAnother)));
        assert!(Shared::new(&sequential, vec![even(1)], 2, Prng::from_seed(1), whole(0)).is_none());
    }
}
