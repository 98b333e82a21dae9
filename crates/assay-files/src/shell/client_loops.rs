//! The time of the clients, as two closed loops: one of their calls, one of their sequences. A client makes one call after
//! the other, so what its calls took, what the open one has taken so far, and what it did besides are together the time
//! that has passed. The sums of the calls are counted where they end, and what is open is read from the client's desk:
//! two accounts of the same time, which whoever reads the log compares (Little's law).

use super::finished::Finished;
use assay_base::{Instant, Span};
use assay_record::LoopInterval;

/// Since when a client has been at what it does now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientTime {
    /// When its call before ended; at first, when the phase began.
    pub(super) calls_since: Instant,
    /// When its sequence before ended.
    pub(super) sequences_since: Instant,
    /// It does nothing more in this phase.
    pub(super) has_ended: bool,
}

impl ClientTime {
    pub(super) fn starting_at(begun: Instant) -> ClientTime {
        ClientTime { calls_since: begun, sequences_since: begun, has_ended: false }
    }
}

/// What the clients of an interval did with their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientLoops {
    calls: LoopInterval,
    sequences: LoopInterval,
}

impl ClientLoops {
    /// Adds what a client is at when the interval ends.
    pub(super) fn add_client(&mut self, time: &mut ClientTime, end: Instant) {
        for (sums, since) in
            [(&mut self.calls, &mut time.calls_since), (&mut self.sequences, &mut time.sequences_since)]
        {
            let spent = end.since(*since);
            if time.has_ended {
                sums.paused_ns += spent.as_ns();
                *since = end.max(*since);
            } else {
                add_open(sums, spent);
            }
        }
    }

    /// Adds what had begun when the interval ended, and has ended since.
    pub(super) fn add_early(&mut self, early: &Finished, end: Instant) {
        let begun = early.completed - early.times.response;
        let sums = if early.sequence.is_some() { &mut self.sequences } else { &mut self.calls };
        add_open(sums, end.since(begun));
    }

    /// Adds the time of what is in no stream.
    pub(super) fn add_unlisted(&mut self, finished: &Finished) {
        if finished.sequence.is_none() {
            self.calls.paused_ns += finished.times.response.as_ns();
        }
    }

    /// Adds what another account has of the same interval.
    pub(super) fn add(&mut self, other: &ClientLoops) {
        for (sums, more) in [(&mut self.calls, other.calls), (&mut self.sequences, other.sequences)] {
            sums.open_ns += more.open_ns;
            sums.paused_ns += more.paused_ns;
        }
    }

    /// As the log has them: first the loop of the calls, then that of the sequences.
    pub(super) fn lines(self) -> Vec<LoopInterval> {
        vec![self.calls, self.sequences]
    }
}

fn add_open(sums: &mut LoopInterval, spent: Span) {
    sums.open_ns += i64::try_from(spent.as_ns()).unwrap_or(i64::MAX);
}

#[cfg(test)]
mod tests {
    use super::super::finished::Ending;
    use super::*;
    use assay_record::OperationTimes;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn a_client_is_open_until_it_has_ended_and_pauses_then() {
        let mut time = ClientTime { calls_since: at(70), sequences_since: at(40), has_ended: false };
        let mut loops = ClientLoops::default();
        loops.add_client(&mut time, at(100));
        let shown = |loops: ClientLoops| {
            let lines = loops.lines();
            [lines[0], lines[1]].map(|line| (line.open_ns, line.paused_ns))
        };
        assert_eq!(shown(loops), [(30, 0), (60, 0)]);
        time.has_ended = true;
        for (end, calls, sequences) in [(200, 130, 160), (300, 100, 100)] {
            let mut loops = ClientLoops::default();
            loops.add_client(&mut time, at(end));
            assert_eq!(shown(loops), [(0, calls), (0, sequences)], "until {end}");
        }
    }

    #[test]
    fn what_ends_behind_the_interval_was_open_in_it_from_its_beginning() {
        let times = OperationTimes { response: Span::from_ns(50), ..OperationTimes::default() };
        let ending = Ending::Done { bytes: 0, entries: 0 };
        let call = Finished { flow: Some(1), sequence: None, ending, times, completed: at(120) };
        let sequence = Finished { sequence: Some(0), ..call };
        let mut loops = ClientLoops::default();
        loops.add_early(&call, at(100));
        loops.add_early(&sequence, at(80));
        loops.add_early(&sequence, at(70));
        let lines = loops.lines();
        assert_eq!((lines[0].open_ns, lines[1].open_ns), (30, 10));
    }
}
