//! The load that others than the run put on a disk: what the disk counted, less what the run made it do.
//!
//! Everything here is a lower bound, so that the run's own work does not look like somebody else's. Two things are uncertain
//! at the end of an interval. The disk may have completed operations that the run counts in its next interval only, and
//! the run causes work that it does not issue itself, such as the journal of a file system. The first is bounded by what
//! is open at that moment, and is usually far less; because it is open only once, the sum over a run is wrong by no more
//! than that. The second is a credit, which is used when the disk does that work.
//! `docs/decisions/0080-others-on-the-disk.md` has the proof.

use crate::skip::is_zero;
use serde::{Deserialize, Serialize};

/// A disk whose counters are compared with what the run made it do, as the header of a log describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedDisk {
    /// As the kernel names it, such as `vda`; several names where only the sum over several disks can be compared.
    pub name: String,
    /// The targets that it serves: indexes into `Header::targets`.
    pub targets: Vec<u16>,
    /// True where it lies beneath them; false where it is itself the target.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beneath: bool,
}

/// What a disk did, or was made to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskWork {
    /// Reads; those that were merged into others count too.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes; those that were merged into others count too.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Discards.
    pub discards: u64,
    /// Flushes.
    pub flushes: u64,
    /// The time that all of these took, added up, in nanoseconds.
    pub time_ns: u64,
}

/// Number of figures of [`DiskWork`].
const FIGURES: usize = 7;

impl DiskWork {
    /// The figures, in the order in which they are declared.
    pub fn figures_in_order(self) -> [u64; FIGURES] {
        let DiskWork { reads, read_bytes, writes, written_bytes, discards, flushes, time_ns } = self;
        [reads, read_bytes, writes, written_bytes, discards, flushes, time_ns]
    }

    /// The work with these figures.
    pub fn from_figures(figures: [u64; FIGURES]) -> DiskWork {
        let [reads, read_bytes, writes, written_bytes, discards, flushes, time_ns] = figures;
        DiskWork { reads, read_bytes, writes, written_bytes, discards, flushes, time_ns }
    }

    /// The sum of both.
    pub fn sum_with(self, other: DiskWork) -> DiskWork {
        let (mine, theirs) = (self.figures_in_order(), other.figures_in_order());
        DiskWork::from_figures(std::array::from_fn(|at| mine[at].saturating_add(theirs[at])))
    }

    /// Operations of every kind.
    pub fn total_operations(self) -> u64 {
        [self.reads, self.writes, self.discards, self.flushes].into_iter().fold(0, u64::saturating_add)
    }

    /// Bytes in both directions.
    pub fn total_bytes(self) -> u64 {
        self.read_bytes.saturating_add(self.written_bytes)
    }
}

/// What the run made a disk do in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnWork {
    /// The most that the operations which the run found completed can have made the disk do.
    pub completed: DiskWork,
    /// The most that the disk may have done by now for operations that the run finds completed later.
    pub open: DiskWork,
    /// The part of `open` that is likely, because the run looks for completions all the time.
    pub likely: DiskWork,
    /// Work that the run causes without issuing it, such as writes of a journal: the disk does it later, or never.
    pub caused: DiskWork,
}

impl OwnWork {
    /// How many operations more than `ended` the disk may have completed if its counters were read `late_ns` after the
    /// end of an interval of `length_ns`, in which the run found `ended` operations completed.
    pub fn late_operations(ended: u64, late_ns: u64, length_ns: u64) -> u64 {
        if late_ns == 0 {
            return 0;
        }
        let usual = u128::from(ended) * u128::from(late_ns) / u128::from(length_ns.max(1));
        let usual = u64::try_from(usual).unwrap_or(u64::MAX);
        // Twice as many as usual, and more than chance brings.
        usual.saturating_mul(2).saturating_add(usual.isqrt().saturating_mul(4)).saturating_add(2)
    }
}

/// What others did on a disk in an interval, at least, beside everything that the disk did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignLoad {
    /// Index into `Header::watched`.
    pub disk: u16,
    /// Reads.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reads: u64,
    /// Bytes read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read_bytes: u64,
    /// Writes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub writes: u64,
    /// Bytes written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub written_bytes: u64,
    /// Discards.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub discards: u64,
    /// Flushes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flushes: u64,
    /// The time that these took, added up, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub time_ns: u64,
    /// Operations of everybody.
    pub all_operations: u64,
    /// Bytes of everybody.
    pub all_bytes: u64,
    /// The time that the operations of everybody took, added up, in nanoseconds.
    pub all_time_ns: u64,
}

impl ForeignLoad {
    /// The smallest share of a disk's work, 0 to 1, from which on the work of others may be the reason for what a run
    /// measures.
    pub const NOTABLE: f64 = 0.01;

    /// The share of others in what the disk did: of the operations, of the bytes or of the time, whichever is largest,
    /// between 0 and 1. Work that becomes known late can be more than all work of the interval; then the share is 1.
    pub fn largest_share(&self) -> f64 {
        let work = self.foreign_work();
        part_of(work.total_operations(), self.all_operations)
            .max(part_of(work.total_bytes(), self.all_bytes))
            .max(part_of(work.time_ns, self.all_time_ns))
    }

    /// The work of others.
    pub fn foreign_work(&self) -> DiskWork {
        let ForeignLoad { reads, read_bytes, writes, written_bytes, discards, flushes, time_ns, .. } = *self;
        DiskWork { reads, read_bytes, writes, written_bytes, discards, flushes, time_ns }
    }
}

/// A part as a share of all; at most 1, and 0 of nothing.
fn part_of(part: u64, all: u64) -> f64 {
    if part == 0 { 0.0 } else { (part as f64 / all.max(1) as f64).min(1.0) }
}

/// Tells the work of others on one disk from that of the run, interval by interval.
#[derive(Clone, Debug, Default)]
pub struct ForeignAccount {
    /// How much more the disk counted than the run made it do, since the run began.
    excess: [i128; FIGURES],
    /// The value of `excess` at the end of the interval before.
    before: [i128; FIGURES],
    /// How much of `excess` was reported as the work of others.
    reported: [i128; FIGURES],
    /// What the run has caused and the disk has not done yet.
    credit: [u64; FIGURES],
    /// The most that `credit` can be.
    most_credit: [u64; FIGURES],
    /// What the run did since the counters were last read.
    unread: DiskWork,
}

impl ForeignAccount {
    /// An account that begins with counters read while nothing is in flight. What the run causes is expected up to
    /// `most_credit`, which it has from the beginning on: what it caused before is not known.
    pub fn new(most_credit: DiskWork) -> ForeignAccount {
        let most_credit = most_credit.figures_in_order();
        ForeignAccount { credit: most_credit, most_credit, ..ForeignAccount::default() }
    }

    /// What others did, from what the disk counted since the last interval; `None` where its counters could not be read,
    /// or began anew.
    pub fn account_interval(&mut self, counted: Option<DiskWork>, own: &OwnWork) -> DiskWork {
        self.unread = self.unread.sum_with(own.completed);
        let caused = own.caused.figures_in_order();
        for (at, caused) in caused.into_iter().enumerate() {
            self.credit[at] = self.credit[at].saturating_add(caused).min(self.most_credit[at]);
        }
        let Some(counted) = counted else { return DiskWork::default() };
        let (counted, completed) = (counted.figures_in_order(), std::mem::take(&mut self.unread).figures_in_order());
        let (open, likely) = (own.open.figures_in_order(), own.likely.figures_in_order());
        DiskWork::from_figures(std::array::from_fn(|at| {
            self.count_figure(at, counted[at], completed[at], open[at]);
            self.report_excess(at, open[at], likely[at].min(open[at]))
        }))
    }

    /// Forgets what is not compared yet, because the disk's counters began anew.
    pub fn begin_anew(&mut self) {
        self.unread = DiskWork::default();
        (self.excess, self.before) = (self.reported, self.reported);
    }

    fn count_figure(&mut self, at: usize, counted: u64, completed: u64, open: u64) {
        let more = i128::from(counted) - i128::from(completed);
        let used = u64::try_from(more).unwrap_or(0).min(self.credit[at]);
        self.credit[at] -= used;
        self.before[at] = self.excess[at];
        let excess = self.excess[at] + more - i128::from(used);
        // Less than can be open: a cache answered, or the run's operations were cheaper than they can be at most. What is
        // missing must not hide what others do later.
        self.excess[at] = excess.max(self.reported[at] - i128::from(open));
    }

    /// What is in excess whatever is open; or at the ends of two intervals, because other operations are open then.
    fn report_excess(&mut self, at: usize, open: u64, likely: u64) -> u64 {
        let lasting = self.excess[at].min(self.before[at]) - i128::from(likely);
        let certain = lasting.max(self.excess[at] - i128::from(open)).max(self.reported[at]);
        let foreign = certain - self.reported[at];
        self.reported[at] = certain;
        u64::try_from(foreign).unwrap_or(u64::MAX)
    }
}

impl ForeignLoad {
    /// The entry of an interval; `None` where others did nothing.
    pub fn new(disk: u16, foreign: DiskWork, counted: DiskWork) -> Option<ForeignLoad> {
        let DiskWork { reads, read_bytes, writes, written_bytes, discards, flushes, time_ns } = foreign;
        // Time without an operation or a byte is no work: two clocks differ a little.
        let load = ForeignLoad {
            disk,
            reads,
            read_bytes,
            writes,
            written_bytes,
            discards,
            flushes,
            time_ns,
            all_operations: counted.total_operations(),
            all_bytes: counted.total_bytes(),
            all_time_ns: counted.time_ns,
        };
        (foreign.total_operations() > 0 || foreign.total_bytes() > 0).then_some(load)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;

    fn reads(reads: u64) -> DiskWork {
        DiskWork { reads, ..DiskWork::default() }
    }

    fn own(completed: u64, open: u64) -> OwnWork {
        OwnWork { completed: reads(completed), open: reads(open), likely: reads(open), ..OwnWork::default() }
    }

    /// What others did in each interval, from what the disk counted, what the run found completed, and what was open.
    fn foreign(intervals: &[(Option<u64>, u64, u64)]) -> Vec<u64> {
        let mut account = ForeignAccount::default();
        let each = intervals.iter().map(|(counted, completed, open)| {
            account.account_interval(counted.map(reads), &own(*completed, *open)).reads
        });
        each.collect()
    }

    #[test]
    fn completions_that_cross_an_interval_are_not_foreign() {
        // Four in flight at the end are counted by the disk, and found in the next interval.
        assert_eq!(foreign(&[(Some(104), 100, 4), (Some(96), 100, 0), (Some(100), 100, 4)]), [0, 0, 0]);
        assert_eq!(foreign(&[(Some(105), 100, 4), (Some(96), 100, 0)]), [1, 0]);
    }

    #[test]
    fn a_little_in_each_interval_adds_up_although_more_is_open() {
        let each = vec![(Some(101), 100, 8); 100];
        assert_eq!(foreign(&each).iter().sum::<u64>(), 100 - 8);
    }

    #[test]
    fn what_a_cache_answered_hides_nothing_later() {
        assert_eq!(foreign(&[(Some(0), 100, 0), (Some(0), 100, 0), (Some(150), 100, 0)]), [0, 0, 50]);
    }

    #[test]
    fn counters_that_could_not_be_read_are_in_the_next_reading() {
        assert_eq!(foreign(&[(None, 100, 0), (Some(230), 100, 0), (Some(100), 100, 0)]), [0, 30, 0]);
        let mut account = ForeignAccount::default();
        account.account_interval(None, &own(100, 0));
        account.begin_anew();
        assert_eq!(account.account_interval(Some(reads(120)), &own(100, 0)).reads, 20);
    }

    #[test]
    fn what_the_run_causes_is_expected_and_does_not_grow_without_end() {
        let mut account = ForeignAccount::new(reads(10));
        let caused = |n| OwnWork { completed: reads(100), caused: reads(n), ..OwnWork::default() };
        let found: Vec<u64> = [(110, 0), (101, 0), (102, 3), (100, 50), (115, 0)]
            .into_iter()
            .map(|(counted, n)| account.account_interval(Some(reads(counted)), &caused(n)).reads)
            .collect();
        assert_eq!(found, [0, 1, 0, 0, 5]);
    }

    /// Over any run, what is reported is at most what others did, and lacks at most what is open at its end.
    #[test]
    fn what_is_reported_is_a_lower_bound_and_close() {
        for seed in 0..200 {
            let mut prng = Prng::for_path(80, &[seed]);
            let (mut account, mut unfound, mut others, mut reported) = (ForeignAccount::default(), 0, 0, 0);
            for _ in 0..50 {
                let (issued, foreign) = (prng.uniform_below(1000), prng.uniform_below(2) * prng.uniform_below(300));
                let late = prng.uniform_below(20).min(issued + unfound);
                let found = unfound + issued - late;
                unfound = late;
                others += foreign;
                reported += account.account_interval(Some(reads(issued + foreign)), &own(found, late)).reads;
                assert!(reported <= others && reported + late >= others, "{seed}: {reported} of {others}, {late} open");
            }
        }
    }

    /// A queue of ours that is always long hides others for an interval only, and what of it is found late at the end of an
    /// interval is not foreign, nor again and again.
    #[test]
    fn a_long_queue_hides_nobody_for_long() {
        let own = |completed| OwnWork { likely: reads(2), ..own(completed, 256) };
        let each = |intervals: &[(u64, u64)]| {
            let mut account = ForeignAccount::default();
            let each = intervals
                .iter()
                .map(|(counted, completed)| account.account_interval(Some(reads(*counted)), &own(*completed)).reads);
            each.collect::<Vec<u64>>()
        };
        assert_eq!(each(&[(100, 100), (160, 100), (100, 100), (100, 100)]), [0, 0, 58, 0]);
        assert_eq!(each(&[(100, 100), (900, 100), (100, 100)]), [0, 544, 254], "what cannot be ours is told at once");
        assert_eq!(each(&[(300, 100), (0, 200), (300, 100), (0, 200)]), [0, 0, 0, 0]);
        let late = [(300, 100), (100, 100), (0, 200), (300, 100), (100, 100), (100, 100), (0, 200)];
        assert_eq!(each(&late).iter().sum::<u64>(), 198, "once, where it lasts for two intervals");
    }

    #[test]
    fn the_largest_part_counts_and_what_is_known_late_is_all() {
        let all = DiskWork { reads: 1000, read_bytes: 1000, time_ns: 1000, ..DiskWork::default() };
        let load = |work: DiskWork| ForeignLoad::new(0, work, all).map(|load| load.largest_share());
        assert_eq!(load(DiskWork { reads: 10, read_bytes: 200, ..DiskWork::default() }), Some(0.2));
        assert_eq!(load(DiskWork { discards: 1, time_ns: 900, ..DiskWork::default() }), Some(0.9));
        assert_eq!(load(DiskWork { reads: 5000, ..DiskWork::default() }), Some(1.0));
        assert_eq!(load(DiskWork { time_ns: 900, ..DiskWork::default() }), None);
        let nothing = ForeignLoad::new(3, reads(1), DiskWork::default()).unwrap();
        assert_eq!(
            (nothing.largest_share(), nothing.disk),
            (1.0, 3),
            "known late, in an interval in which the disk did nothing"
        );
    }
}
