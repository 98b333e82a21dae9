//! Where the intervals and events of a run go: into its log, or through a pipe to the process that writes it.

use assay_record::{Event, Histograms, Interval};
use serde::{Deserialize, Serialize};

/// One interval of all clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientInterval {
    /// The line of the log.
    pub interval: Interval,
    /// The line of distributions, where the interval closes a group.
    pub histograms: Option<Histograms>,
    /// Of each flow, the entries of directories that were listed.
    pub entries: Vec<u64>,
}

/// See the module.
pub trait Sink {
    /// An interval is over.
    fn take_interval(&mut self, interval: ClientInterval);

    /// Something happened.
    fn take_event(&mut self, event: Event);
}
