//! How late the generator was on one target over some stretch of time, and what its block device counted meanwhile.

use crate::judgement::DiskCount;
use assay_record::{DiskCounters, Lateness, Pauses, Thresholds};

/// One target in a window.
#[derive(Clone, Debug, Default)]
pub struct Late {
    /// By how much an operation may have come too late at most, those before it considered.
    pub shift_ns: u64,
    /// The longest time between two moments of the schedule that was met, in nanoseconds.
    pub gap_ns: u64,
    /// The target was empty, an operation due, and not issued.
    pub idle: Pauses,
    /// Of that, nanoseconds by the bucket of the whole time for which the target was empty.
    pub idle_in: Vec<u64>,
    /// Completions were not looked for.
    pub overslept: Pauses,
    /// What the block device counted; nothing where there is none.
    pub disk: Option<DiskCounters>,
    /// What the run made meanwhile.
    pub own: [DiskCount; 2],
    /// Of its writes, those that were to be durable.
    pub durable: u64,
}

impl Late {
    /// Adds an interval's figures; `Err` names a bucket that does not exist.
    pub fn add(&mut self, lateness: &Lateness, thresholds: &Thresholds) -> Result<(), u64> {
        self.shift_ns = self.shift_ns.max(lateness.shift_ns);
        self.gap_ns = self.gap_ns.max(lateness.gap_ns);
        self.idle.add(&lateness.idle);
        self.overslept.add(&lateness.overslept);
        self.idle_in.resize(thresholds.buckets(), 0);
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

    /// Nanoseconds of given idle in times that were longer than the longest gap of the schedule and `margin_ns` besides. The
    /// boundaries of the counters decide: a time in the bucket of that sum is not counted.
    pub(crate) fn rest_ns(&self, thresholds: &Thresholds, margin_ns: u64) -> u64 {
        let allowed = self.gap_ns.saturating_add(margin_ns);
        let longer = thresholds.bounds().partition_point(|bound| *bound < allowed) + 1;
        // A gap above all boundaries lies in the last bucket, which begins at the last of them.
        self.idle_in.get(longer.min(thresholds.buckets() - 1)..).map_or(0, crate::fold::counters::total)
    }
}
