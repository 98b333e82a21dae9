//! How far the clock of a rank strays from that of rank 0 while a run goes on.
//!
//! All ranks begin at one moment, and each counts its intervals by its own clock: where that one runs faster or jumps, intervals of one
//! number are not of one time. Nothing is corrected meanwhile; it is measured, and said.

use super::letter::Letter;
use crate::clock::{ClockReading, RoundTrip};
use crate::link::{Link, LinkError};
use assay_base::{Instant, Span};

/// Round trips of one comparison, of which the shortest counts.
const ROUND_TRIPS: u32 = 16;

/// From when on it matters how far a clock is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockLimits {
    /// Between two comparisons.
    pub compare_every: Span,
    /// More than this is worth a warning: half an interval.
    pub warns_above: Span,
    /// More than this makes what was measured meanwhile prove nothing: a tenth of the shortest window.
    pub spoils_above: Span,
}

/// The longest time between two comparisons.
const COMPARED_EVERY: Span = Span::from_secs(600);
/// The shortest one: a comparison takes some milliseconds.
const NOT_MORE_OFTEN_THAN: Span = Span::from_secs(1);

impl ClockLimits {
    /// Of a run with intervals and windows of these lengths. Each window has a comparison.
    pub fn of_run(interval: Span, shortest_window: Span) -> ClockLimits {
        ClockLimits {
            compare_every: shortest_window.min(COMPARED_EVERY).max(NOT_MORE_OFTEN_THAN),
            warns_above: Span::from_ns(interval.as_ns() / 2),
            spoils_above: Span::from_ns(shortest_window.as_ns() / 10),
        }
    }
}

/// How far a clock has strayed since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strayed {
    /// By how much the clock of rank 0 has gained on the own one, in nanoseconds.
    pub by_ns: i64,
    /// How far that may be off, to both sides.
    pub error_ns: i64,
    /// Whether it is so far that what was measured meanwhile proves nothing.
    pub spoils: bool,
}

/// Compares the own clock with that of rank 0 now and then.
#[derive(Debug)]
pub(super) struct ClockWatch {
    limits: ClockLimits,
    /// What was known of the clock of rank 0 when the moment of the start was translated.
    at_start: ClockReading,
    next_at: Instant,
    /// When the question was asked that is not answered yet.
    asked_at: Option<Instant>,
    trips: Vec<RoundTrip>,
    has_warned: bool,
}

impl ClockWatch {
    pub(super) fn begin(limits: ClockLimits, at_start: ClockReading, now: Instant) -> ClockWatch {
        let next_at = now + limits.compare_every;
        ClockWatch { limits, at_start, next_at, asked_at: None, trips: Vec::new(), has_warned: false }
    }

    /// Compares now.
    pub(super) fn compare_at_once(&mut self, now: Instant) {
        self.next_at = now;
    }

    /// Whether an answer may come.
    pub(super) fn is_asking(&self) -> bool {
        self.asked_at.is_some()
    }

    /// Whether no comparison is due or under way.
    pub(super) fn is_at_rest(&self, now: Instant) -> bool {
        self.asked_at.is_none() && self.next_at > now
    }

    /// Begins a comparison when it is time for one.
    pub(super) fn step(&mut self, link: &mut dyn Link, clock: &dyn Fn() -> Instant) -> Result<(), LinkError> {
        if self.asked_at.is_some() || clock() < self.next_at {
            return Ok(());
        }
        self.trips.clear();
        self.ask_time(link, clock)
    }

    fn ask_time(&mut self, link: &mut dyn Link, clock: &dyn Fn() -> Instant) -> Result<(), LinkError> {
        self.asked_at = Some(clock());
        Letter::AskTime.send_to(0, link)
    }

    /// Takes an answer of rank 0; what a comparison has found that is to be said.
    pub(super) fn hear_time(
        &mut self,
        answered_ns: u64,
        link: &mut dyn Link,
        clock: &dyn Fn() -> Instant,
    ) -> Result<Option<Strayed>, LinkError> {
        let received = clock();
        let Some(sent) = self.asked_at.take() else { return Ok(None) };
        self.trips.push(RoundTrip { sent, answered: Instant::from_ns(answered_ns), received });
        if self.trips.len() < ROUND_TRIPS as usize {
            self.ask_time(link, clock)?;
            return Ok(None);
        }
        self.next_at = received + self.limits.compare_every;
        Ok(ClockReading::of_round_trips(&self.trips).and_then(|reading| self.compare_with_start(reading)))
    }

    /// What is to be said of a reading. A clock that warns does so once; each window in which it is too far off is spoiled.
    fn compare_with_start(&mut self, reading: ClockReading) -> Option<Strayed> {
        let by_ns = reading.offset_ns.saturating_sub(self.at_start.offset_ns);
        let error_ns = reading.error_ns.saturating_add(self.at_start.error_ns);
        let at_most = by_ns.unsigned_abs().saturating_add(error_ns.unsigned_abs());
        let spoils = at_most > self.limits.spoils_above.as_ns();
        let warns = at_most > self.limits.warns_above.as_ns() && !self.has_warned;
        self.has_warned |= warns;
        (spoils || warns).then_some(Strayed { by_ns, error_ns, spoils })
    }
}
