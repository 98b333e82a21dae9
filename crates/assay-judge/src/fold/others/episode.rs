//! What others did on the disks of a run, and in which intervals it disturbs the run.

use crate::finding::others::Stretch;
use crate::fold::layout::Layout;
use assay_record::DiskWork;

/// What others use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Used {
    /// The disk with this index in `Header::watched`.
    Disk(usize),
    /// The lock on the database that is the target with this index.
    Lock(usize),
}

/// One stretch in which others used something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Episode {
    /// What.
    pub(crate) used: Used,
    /// When, in measured time.
    pub(crate) stretch: Stretch,
    /// For how long, in nanoseconds; also in a warm-up, during which measured time stands still.
    pub(crate) ns: u64,
    /// What they did.
    pub(crate) work: DiskWork,
    /// How many transactions found their lock.
    pub(crate) locked: u64,
}

impl Episode {
    /// One that begins at `at_ns` of the measured time.
    pub(super) fn begin_at(used: Used, at_ns: u64) -> Episode {
        let stretch = Stretch { from_ns: at_ns, to_ns: at_ns };
        Episode { used, stretch, ns: 0, work: DiskWork::default(), locked: 0 }
    }

    /// It lasts through an interval that begins at `at_ns`, or in a warm-up.
    pub(super) fn extend_through(&mut self, at_ns: Option<u64>, length_ns: u64) {
        if let Some(at) = at_ns {
            self.stretch.to_ns = at.saturating_add(length_ns);
        }
        self.ns = self.ns.saturating_add(length_ns);
    }
}

/// What was found out about an interval in which some target is disturbed.
#[derive(Clone, Debug)]
pub(crate) struct Disturbance {
    /// For each target, whether it is disturbed.
    pub(crate) now: Vec<bool>,
    /// For each target, whether the interval before was the first that is disturbed.
    pub(crate) begins: Vec<bool>,
    /// What others did that disturbs: the latest stretch on each disk.
    pub(crate) episodes: Vec<Episode>,
    /// For each flow, the most operations per second that it completed in an interval that was not disturbed.
    pub(crate) best: Vec<f64>,
}

impl Disturbance {
    /// Whether the target of a flow is disturbed.
    pub(crate) fn is_on(&self, flow: usize, layout: &Layout) -> bool {
        self.now.get(usize::from(layout.flows[flow].target)) == Some(&true)
    }

    /// Whether the target of a flow was not disturbed before.
    pub(crate) fn begins_on(&self, flow: usize, layout: &Layout) -> bool {
        self.begins.get(usize::from(layout.flows[flow].target)) == Some(&true)
    }
}
