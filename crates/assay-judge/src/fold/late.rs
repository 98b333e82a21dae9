//! How late the generator was on one target over some period of time, and what its block device counted meanwhile.

use crate::judgement::DiskCount;
use assay_record::{DiskCounters, Lateness, Pauses, Thresholds};

/// One target in a window.
#[derive(Clone, Debug, Default)]
pub struct Late {
    /// The largest time by which an operation may have come too late, taking the operations before it into account.
    pub shift_ns: u64,
    /// The longest time between two moments of the schedule during which the target was empty, in nanoseconds.
    pub gap_ns: u64,
    /// Times in which the target was empty although an operation was due and not issued.
    pub idle: Pauses,
    /// The same in nanoseconds, by the bucket of the whole time for which the target was empty.
    pub idle_in: Vec<u64>,
    /// Times in which the generator did not look for completions.
    pub overslept: Pauses,
    /// What the block device counted; absent where there is none.
    pub disk: Option<DiskCounters>,
    /// What the run issued meanwhile: reads and writes.
    pub own: [DiskCount; 2],
    /// How many of its writes were durable.
    pub durable: u64,
}

impl Late {
    /// Adds an interval's figures; `Err` is the number of a bucket that does not exist.
    pub fn add_lateness(&mut self, lateness: &Lateness, thresholds: &Thresholds) -> Result<(), u64> {
        self.shift_ns = self.shift_ns.max(lateness.shift_ns);
        self.gap_ns = self.gap_ns.max(lateness.gap_ns);
        self.idle.add(&lateness.idle);
        self.overslept.add(&lateness.overslept);
        self.idle_in.resize(thresholds.bucket_count(), 0);
        assay_record::Timing::add_to(&lateness.idle_in, &mut self.idle_in)
    }

    /// Adds what the block device counted.
    pub(crate) fn add_disk(&mut self, counted: &DiskCounters) {
        let disk = self.disk.get_or_insert_default();
        for (mine, theirs) in
            [(&mut disk.reads, counted.reads), (&mut disk.writes, counted.writes), (&mut disk.flushes, counted.flushes)]
        {
            *mine = mine.saturating_add(theirs);
        }
    }

    /// Nanoseconds of given idle in those times that were longer than the longest gap of the schedule plus `margin_ns`.
    /// The boundaries of the counters decide: a time in the same bucket as that sum does not count, unless the bucket
    /// begins at the sum.
    pub(crate) fn rest_ns(&self, thresholds: &Thresholds, margin_ns: u64) -> u64 {
        let allowed = self.gap_ns.saturating_add(margin_ns);
        let longer = thresholds.bounds_ns().partition_point(|bound| *bound < allowed) + 1;
        // A gap above all boundaries lies in the last bucket, which begins at the last boundary.
        self.idle_in.get(longer.min(thresholds.bucket_count() - 1)..).map_or(0, crate::fold::counters::sum_of_counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given idle in the buckets below 100 ns, up to 200 ns, up to 400 ns, and above.
    #[test]
    fn only_times_in_buckets_above_the_allowed_gap_are_rests() {
        let thresholds = Thresholds::from_bounds(vec![100, 200, 400]);
        for (gap_ns, margin_ns, rest) in [
            (0, 0, 1110),
            (50, 0, 1110),
            // Times from exactly 100 ns on are in the next bucket.
            (100, 0, 1110),
            (90, 10, 1110),
            (100, 1, 1100),
            (200, 0, 1100),
            (201, 0, 1000),
            (400, 0, 1000),
            // Nothing lies above the last bucket.
            (401, 0, 1000),
            (u64::MAX, 9, 1000),
        ] {
            let late = Late { gap_ns, idle_in: vec![1, 10, 100, 1000], ..Late::default() };
            assert_eq!(late.rest_ns(&thresholds, margin_ns), rest, "{gap_ns} + {margin_ns}");
        }
    }
}
