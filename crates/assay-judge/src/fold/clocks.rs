//! What happened to the machine's time during the run, from the clock readings of each interval.
//!
//! CLOCK_BOOTTIME advances more than CLOCK_MONOTONIC while the machine sleeps, and CLOCK_REALTIME more or less than
//! CLOCK_BOOTTIME when somebody sets it: the corrections of a time-keeping daemon change the speed of all of them alike
//! (time(7), adjtimex(2)). No time of an operation is taken from them.

use crate::finding::log::ClockFault;
use crate::judgement::{ClockEvent, Clocks};
use assay_base::Span;
use assay_record::ClockSample;

/// The readings of one sample are not simultaneous: smaller differences mean nothing.
const NOISE_NS: i128 = 10_000_000;
/// A daemon changes the speed of CLOCK_MONOTONIC by up to 500 ppm relative to the raw clock (adjtimex(2)); twice that
/// must be the time of another clock.
const BENT_PPM: i128 = 1000;
/// Number of events kept.
const EVENTS: usize = 100;

/// What a reading shows, compared with the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClockNotice {
    /// Nothing special.
    Nothing,
    /// The wall clock was set: mentioned only.
    Set(String),
    /// The machine slept for this many nanoseconds: what was measured meanwhile proves nothing.
    Slept(u64),
    /// The clocks contradict each other, which clocks of one machine do not do.
    Contradiction(ClockFault),
}

/// Follows the readings of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClockFold {
    clocks: Option<Clocks>,
    last: Option<ClockSample>,
}

impl ClockFold {
    /// Begins a segment: the time between the previous one and this is a gap.
    pub(crate) fn begin_segment(&mut self, start: Option<ClockSample>) {
        self.last = start;
        if let (None, Some(start)) = (&self.clocks, start) {
            self.clocks = Some(Clocks { start, end: start, events: Vec::new() });
        }
    }

    /// Takes the readings collected with an interval that ended at `end_ns` on the run's time line; `at_ns` is the
    /// place of an event of now in measured time.
    pub(crate) fn observe_sample(&mut self, sample: ClockSample, end_ns: u64, at_ns: u64) -> ClockNotice {
        let clocks = self.clocks.get_or_insert(Clocks { start: sample, end: sample, events: Vec::new() });
        clocks.end = sample;
        let Some(before) = self.last.replace(sample) else { return ClockNotice::Nothing };
        let ran = difference_ns(sample.at_ns, before.at_ns);
        let (mono, boot) =
            (difference_ns(sample.mono_ns, before.mono_ns), difference_ns(sample.boot_ns, before.boot_ns));
        let real = difference_ns(sample.real_ns, before.real_ns);
        let (slept, set) = (boot - mono, real - boot);
        if i128::from(sample.at_ns) + NOISE_NS < i128::from(end_ns) {
            return ClockNotice::Contradiction(ClockFault::Early);
        }
        if ran < 0 || mono < 0 || slept < -NOISE_NS || (ran - mono).abs() > NOISE_NS + ran * BENT_PPM / 1_000_000 {
            return ClockNotice::Contradiction(ClockFault::Differ { ran, monotonic: mono, boot });
        }
        let mut event = |what: &str, by: i128| {
            let by_ns = by.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
            if clocks.events.len() < EVENTS {
                clocks.events.push(ClockEvent { at_ns, what: what.to_owned(), by_ns });
            }
            // Rounded to milliseconds: the clocks are read one after the other, and an hour must be shown as an hour.
            Span::from_ms((by_ns.unsigned_abs() + 500_000) / 1_000_000)
        };
        if slept > NOISE_NS {
            return ClockNotice::Slept(event("slept", slept).as_ns());
        }
        if set.abs() > NOISE_NS {
            let by = event("wall-clock-set", set).human_text();
            let way = if set.is_positive() { "forward" } else { "back" };
            return ClockNotice::Set(format!(
                "the wall clock was set {way} by {by} during the run; lengths of time do not depend on it"
            ));
        }
        ClockNotice::Nothing
    }

    /// What was found; `None` where no clock was read.
    pub(crate) fn finish(self) -> Option<Clocks> {
        self.clocks
    }
}

/// The time from one reading of a clock to another.
fn difference_ns(now: u64, then: u64) -> i128 {
    i128::from(now) - i128::from(then)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn at(at: u64, mono: u64, boot: u64, real: u64) -> ClockSample {
        ClockSample { at_ns: at, mono_ns: mono, boot_ns: boot, real_ns: real }
    }

    /// What a reading says in a word, after one at a second of the run.
    fn seen(next: ClockSample, end_ns: u64) -> &'static str {
        let mut fold = ClockFold::default();
        fold.begin_segment(Some(at(S, 100 * S, 200 * S, 900 * S)));
        match fold.observe_sample(next, end_ns, 7) {
            ClockNotice::Nothing => "nothing",
            ClockNotice::Set(text) if text.contains("forward by 10 ms") => "forward",
            ClockNotice::Set(text) if text.contains("back by 10 ms") => "back",
            ClockNotice::Set(_) => "set by another time",
            ClockNotice::Slept(ns) => {
                if ns == 10_000_000 {
                    "slept"
                } else {
                    "slept for another time"
                }
            }
            ClockNotice::Contradiction(ClockFault::Early) => "early",
            ClockNotice::Contradiction(ClockFault::Differ { .. }) => "differ",
        }
    }

    #[test]
    fn differences_count_from_ten_milliseconds_on() {
        let noise = 10_000_000;
        let usual = at(2 * S, 101 * S, 201 * S, 901 * S);
        // In a thousand seconds a daemon may bend the clock by one second.
        let long = |mono: u64| {
            let ran = 1000 * S;
            at(S + ran, mono, 100 * S + mono, 800 * S + mono)
        };
        for (next, end, expected) in [
            (usual, 2 * S + noise, "nothing"),
            (usual, 2 * S + noise + 1, "early"),
            (at(S, 100 * S, 200 * S, 900 * S), S, "nothing"),
            (at(S - 1, 100 * S, 200 * S, 900 * S), S, "differ"),
            (at(S, 100 * S - 1, 200 * S - 1, 900 * S - 1), S, "differ"),
            (at(2 * S, 101 * S, 201 * S - noise, 901 * S - noise), 2 * S, "nothing"),
            (at(2 * S, 101 * S, 201 * S - noise - 1, 901 * S - noise - 1), 2 * S, "differ"),
            (long(1101 * S + noise), 1001 * S, "nothing"),
            (long(1101 * S + noise + 1), 1001 * S, "differ"),
            (long(1099 * S - noise), 1001 * S, "nothing"),
            (long(1099 * S - noise - 1), 1001 * S, "differ"),
            (at(2 * S, 101 * S, 201 * S + noise, 901 * S + noise), 2 * S, "nothing"),
            (at(2 * S, 101 * S, 201 * S + noise + 1, 901 * S + noise + 1), 2 * S, "slept"),
            (at(2 * S, 101 * S, 201 * S, 901 * S + noise), 2 * S, "nothing"),
            (at(2 * S, 101 * S, 201 * S, 901 * S + noise + 1), 2 * S, "forward"),
            (at(2 * S, 101 * S, 201 * S, 901 * S - noise), 2 * S, "nothing"),
            (at(2 * S, 101 * S, 201 * S, 901 * S - noise - 1), 2 * S, "back"),
        ] {
            assert_eq!(seen(next, end), expected, "{next:?}, an interval until {end}");
        }
    }

    #[test]
    fn a_hundred_events_are_kept() {
        let mut fold = ClockFold::default();
        assert_eq!(ClockFold::default().finish(), None, "no clock was read");
        fold.begin_segment(Some(at(0, 0, 0, 0)));
        for n in 1..=103 {
            // Each second somebody sets the wall clock forward by another second.
            let notice = fold.observe_sample(at(n * S, n * S, n * S, 2 * n * S), n * S, n);
            assert!(matches!(notice, ClockNotice::Set(_)), "{n}: {notice:?}");
        }
        let clocks = fold.finish().unwrap();
        assert_eq!((clocks.events.len(), clocks.events[99].at_ns), (100, 100));
        assert_eq!((clocks.start.at_ns, clocks.end.at_ns), (0, 103 * S));
    }

    #[test]
    fn sleep_setting_and_contradiction_are_told_apart() {
        let hour = 3600 * S;
        let ppm = S / 2000;
        for (what, next, end, expected) in [
            ("steady", at(2 * S, 101 * S, 201 * S, 901 * S), 2 * S, "nothing"),
            ("bent by a daemon", at(2 * S, 101 * S + ppm, 201 * S + ppm, 901 * S + ppm), 2 * S, "nothing"),
            ("set forward", at(2 * S, 101 * S, 201 * S, 901 * S + hour), 2 * S, "set forward by 1 h"),
            ("set back", at(2 * S, 101 * S, 201 * S, 901 * S - 20_000_000), 2 * S, "set back by 20 ms"),
            ("slept", at(2 * S, 101 * S, 206 * S, 906 * S), 2 * S, "slept for 5 s"),
            ("read too early", at(2 * S, 101 * S, 201 * S, 901 * S), 3 * S, "before it ended"),
            ("another clock", at(2 * S, 102 * S, 202 * S, 902 * S), 2 * S, "contradict"),
            ("back in time", at(2 * S, 99 * S, 199 * S, 899 * S), 2 * S, "contradict"),
            ("unslept", at(2 * S, 101 * S, 200 * S, 900 * S), 2 * S, "contradict"),
            ("the largest numbers", at(u64::MAX, u64::MAX, 0, u64::MAX), 2 * S, "contradict"),
        ] {
            let mut fold = ClockFold::default();
            fold.begin_segment(Some(at(S, 100 * S, 200 * S, 900 * S)));
            let text = match fold.observe_sample(next, end, 7) {
                ClockNotice::Nothing => "nothing".to_owned(),
                ClockNotice::Set(text) => text,
                ClockNotice::Slept(ns) => format!("slept for {}", Span::from_ns(ns).human_text()),
                ClockNotice::Contradiction(why) => format!("contradict: {why}"),
            };
            assert!(text.contains(expected), "{what}: {text}");
        }
    }
}
