//! What a rank knows of the clock of rank 0, by which all are told when to start.
//!
//! Each host counts nanoseconds from a moment of its own. A message to rank 0 and its answer bound the difference of two such
//! clocks: rank 0 read its clock between the own readings before and after. So the middle of these is off by half the time
//! that the messages took, at most, whichever way was the slower one (Cristian, Distributed Computing 3, 1989). Two such
//! bounds, some time apart, also bound how much faster one clock runs.

use assay_base::{Instant, Span};
use serde::{Deserialize, Serialize};

/// A message to rank 0 and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// The own clock when the message was sent.
    pub sent: Instant,
    /// The clock of rank 0 when it answered.
    pub answered: Instant,
    /// The own clock when the answer was here.
    pub received: Instant,
}

/// What one group of round trips says of the clock of rank 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// A moment of the own clock, in nanoseconds.
    pub own_ns: i64,
    /// The clock of rank 0 at that moment is the own one and this.
    pub offset_ns: i64,
    /// How far the offset may be off, to both sides.
    pub error_ns: i64,
}

impl RoundTrip {
    /// How long it took; nothing if the readings are not in their order.
    pub fn time_taken(self) -> Option<Span> {
        let taken = self.received.as_ns().checked_sub(self.sent.as_ns())?;
        Some(Span::from_ns(taken))
    }
}

impl ClockReading {
    /// What the shortest of some round trips says: it bounds the offset most closely. `None` without any.
    pub fn of_round_trips(trips: &[RoundTrip]) -> Option<ClockReading> {
        let (taken, shortest) =
            trips.iter().filter_map(|trip| Some((trip.time_taken()?, trip))).min_by_key(|(taken, _)| *taken)?;
        let half = taken.as_ns().div_ceil(2) as i64;
        let own_ns = shortest.sent.as_ns() as i64 + half;
        Some(ClockReading { own_ns, offset_ns: shortest.answered.as_ns() as i64 - own_ns, error_ns: half })
    }
}

/// The clock of rank 0 as a function of the own one: one offset and one speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockMap {
    latest: ClockReading,
    /// By how many billionths the clock of rank 0 runs faster than the own one.
    pub scale_ppb: i64,
    /// How far that may be off, to both sides.
    pub scale_error_ppb: i64,
}

const BILLION: i128 = 1_000_000_000;

impl ClockMap {
    /// Of rank 0: its own clock.
    pub fn of_rank_zero() -> ClockMap {
        let latest = ClockReading { own_ns: 0, offset_ns: 0, error_ns: 0 };
        ClockMap { latest, scale_ppb: 0, scale_error_ppb: 0 }
    }

    /// The last reading of the clock of rank 0; `None` where that is the own one.
    pub fn last_reading(&self) -> Option<ClockReading> {
        (self.latest.error_ns > 0).then_some(self.latest)
    }

    /// Of one reading, which says nothing of the speeds: they are taken to differ by less than 100 ppm. Crystals are off by tens of
    /// ppm; that is our assumption, and two readings measure it.
    pub fn of_one_reading(reading: ClockReading) -> ClockMap {
        ClockMap { latest: reading, scale_ppb: 0, scale_error_ppb: 100_000 }
    }

    /// Of two readings, the earlier one first. `None` where the second is not later.
    pub fn of_two_readings(earlier: ClockReading, later: ClockReading) -> Option<ClockMap> {
        let apart = i128::from(later.own_ns) - i128::from(earlier.own_ns);
        if apart <= 0 {
            return None;
        }
        let gained = i128::from(later.offset_ns) - i128::from(earlier.offset_ns);
        let uncertain = i128::from(later.error_ns) + i128::from(earlier.error_ns);
        Some(ClockMap {
            latest: later,
            scale_ppb: i64::try_from(gained * BILLION / apart).ok()?,
            // One more for what the division above cuts off.
            scale_error_ppb: i64::try_from((uncertain * BILLION + apart - 1) / apart + 1).ok()?,
        })
    }

    /// The clock of rank 0, in nanoseconds, when the own one shows `own`.
    pub fn in_common_time(&self, own: Instant) -> i64 {
        let own_ns = i128::from(own.as_ns());
        let passed = own_ns - i128::from(self.latest.own_ns);
        (own_ns + i128::from(self.latest.offset_ns) + passed * i128::from(self.scale_ppb) / BILLION) as i64
    }

    /// The own clock when that of rank 0 shows `common_ns`: the reverse of [`ClockMap::in_common_time`], to a few nanoseconds.
    pub fn own_time_at(&self, common_ns: i64) -> Instant {
        let mut own_ns = common_ns.saturating_sub(self.latest.offset_ns).max(0);
        // What a step leaves is smaller by the factor of the difference of the speeds, which is far below a thousandth.
        for _ in 0..4 {
            let off = common_ns.saturating_sub(self.in_common_time(Instant::from_ns(own_ns as u64)));
            own_ns = own_ns.saturating_add(off).max(0);
        }
        Instant::from_ns(own_ns as u64)
    }

    /// How far [`ClockMap::in_common_time`] may be off, as long as both clocks keep their speeds.
    pub fn error_ns_at(&self, own: Instant) -> i64 {
        let passed = (i128::from(own.as_ns()) - i128::from(self.latest.own_ns)).abs();
        let by_scale = (passed * i128::from(self.scale_error_ppb) + BILLION - 1) / BILLION;
        // One more for what the divisions cut off.
        (i128::from(self.latest.error_ns) + by_scale + 1) as i64
    }
}

/// How far apart two readings with these errors must be so that the clocks are known to `allowed_ns` during a run that lasts
/// `run` after the second one. `None` where the second reading alone is off by more.
pub fn time_between_readings(earlier_error_ns: i64, later_error_ns: i64, run: Span, allowed_ns: i64) -> Option<Span> {
    // What integers cut off: two billionths of the run, and a nanosecond each time.
    let cut_off = 2 * i128::from(run.as_ns()) / BILLION + 3;
    let left = i128::from(allowed_ns) - i128::from(later_error_ns) - cut_off;
    if left <= 0 {
        return None;
    }
    let both = i128::from(earlier_error_ns) + i128::from(later_error_ns);
    let apart = (i128::from(run.as_ns()) * both + left - 1) / left;
    u64::try_from(apart).ok().map(Span::from_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;

    /// Two clocks of which the second runs faster by some billionths, and messages that take some time each way.
    struct TwoClocks {
        random: Prng,
        offset_ns: i64,
        faster_ppb: i64,
    }

    impl TwoClocks {
        fn at_rank_zero(&self, own_ns: i64) -> i64 {
            own_ns + self.offset_ns + (i128::from(own_ns) * i128::from(self.faster_ppb) / BILLION) as i64
        }

        fn reading_at(&mut self, own_ns: i64) -> ClockReading {
            let trips: Vec<RoundTrip> = (0..64)
                .map(|number| {
                    let sent = own_ns + number * 100_000;
                    let there =
                        9_000 + self.random.uniform_below(400_000).min(self.random.uniform_below(400_000)) as i64;
                    let back = 9_000 + self.random.uniform_below(400_000).min(self.random.uniform_below(40_000)) as i64;
                    RoundTrip {
                        sent: Instant::from_ns(sent as u64),
                        answered: Instant::from_ns(self.at_rank_zero(sent + there) as u64),
                        received: Instant::from_ns((sent + there + back) as u64),
                    }
                })
                .collect();
            ClockReading::of_round_trips(&trips).unwrap()
        }
    }

    /// The bounds hold always: also where one way is slower, the clocks differ by a thousand seconds, and drift by 80 ppm.
    #[test]
    fn the_true_time_lies_within_the_bound_a_thousand_times_of_a_thousand() {
        let mut random = Prng::from_seed(7);
        let mut widest = 0;
        for number in 0..1_000_u64 {
            let mut clocks = TwoClocks {
                offset_ns: 1_000_000_000_000 + random.uniform_below(1_000_000_000) as i64,
                faster_ppb: random.uniform_below(160_000) as i64 - 80_000,
                random: Prng::from_seed(number),
            };
            let begin = 5_000_000_000_i64;
            let (earlier, later) = (clocks.reading_at(begin), clocks.reading_at(begin + 10_000_000_000));
            let map = ClockMap::of_two_readings(earlier, later).unwrap();
            for after_s in [0_i64, 20, 3_600] {
                let own = Instant::from_ns((later.own_ns + after_s * 1_000_000_000) as u64);
                let off = map.in_common_time(own) - clocks.at_rank_zero(own.as_ns() as i64);
                assert!(
                    off.abs() <= map.error_ns_at(own),
                    "{number}: {off} ns after {after_s} s of {}",
                    map.error_ns_at(own)
                );
                let back = map.own_time_at(map.in_common_time(own)).as_ns().abs_diff(own.as_ns());
                assert!(back <= 2, "{number}: {back} ns");
                if after_s == 0 {
                    widest = widest.max(map.error_ns_at(own));
                }
            }
            let apart = (map.scale_ppb - clocks.faster_ppb).abs();
            assert!(apart <= map.scale_error_ppb, "{number}: {} of {}", map.scale_ppb, clocks.faster_ppb);
        }
        // A bound that is always kept because it says nothing would be no proof.
        assert!(widest < 100_000, "{widest}");
    }

    #[test]
    fn readings_lie_so_far_apart_that_the_clocks_are_known_for_the_whole_run() {
        let hour = Span::from_secs(3_600);
        let apart = time_between_readings(10_000, 10_000, hour, 100_000_000).unwrap();
        let earlier = ClockReading { own_ns: 0, offset_ns: 500, error_ns: 10_000 };
        let later = ClockReading { own_ns: apart.as_ns() as i64, offset_ns: 900, error_ns: 10_000 };
        let map = ClockMap::of_two_readings(earlier, later).unwrap();
        let at_end = map.error_ns_at(Instant::ZERO + apart + hour);
        assert!((99_000_000..=100_000_000).contains(&at_end), "{at_end}");
        assert_eq!(time_between_readings(10_000, 200, hour, 7_403), None);
    }

    #[test]
    fn readings_that_are_not_in_their_order_say_nothing() {
        let backwards =
            RoundTrip { sent: Instant::from_ns(9), answered: Instant::from_ns(5), received: Instant::from_ns(3) };
        assert_eq!(ClockReading::of_round_trips(&[backwards]), None);
        assert_eq!(ClockReading::of_round_trips(&[]), None);
        let reading = ClockReading { own_ns: 5, offset_ns: 0, error_ns: 1 };
        assert_eq!(ClockMap::of_two_readings(reading, reading), None);
    }
}
