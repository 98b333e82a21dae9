//! A plan: a complete description of what will be done. `assay explain` prints it, the log stores it, the engine runs
//! it.

mod application;
mod arrival;
mod caches;
mod carried_over;
mod format;
mod groups;
mod identity;
mod lanes;
mod load;
mod needs;
mod notes;
mod read_back;
mod stream;
mod timing;
mod units;
mod verification;

pub use crate::address::Address;
pub use crate::extent::{Amount, Extent, Frame};
pub use application::PlannedApplication;
pub use arrival::Arrival;
pub use caches::Caches;
pub use carried_over::CarriedOver;
pub use groups::Group;
pub use identity::decisive_members;
pub use lanes::Lane;
pub use load::{MOST_STREAMS, PlannedLoad};
pub use notes::Notes;
pub(crate) use read_back::final_read_back;
pub use read_back::{READ_BACK, READ_BACK_DEPTH};
pub use stream::{Block, Stream, Work};
pub use timing::{Phase, PhaseKind, PlannedTiming, WarmUp};
pub use verification::PlannedVerification;

use assay_base::Criterion;
use format::PlanFormat;
use serde::{Deserialize, Serialize};

/// What will be done, in its parts. A plan that was written, to a log or for another host, is read back unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PlanFormat", into = "PlanFormat")]
pub struct Plan {
    /// The workload's name.
    pub name: String,
    /// The name of the model that its streams were made from, such as `act-storage`.
    pub model: String,
    /// What is asked of the targets.
    pub load: PlannedLoad,
    /// How the time of the run is divided.
    pub timing: PlannedTiming,
    /// What decides the verdict.
    pub criteria: Vec<Criterion>,
    /// Which data is compared with what was written.
    pub verification: PlannedVerification,
    /// The caches between the load and its targets.
    pub caches: Caches,
    /// What earlier segments and runs have already done of the patterns that continue from one to the next. Set when a
    /// run is opened: from the log that it continues, or from the preparation records of its targets.
    pub carried_over: CarriedOver,
    /// What the reader of a report must know about it.
    pub notes: Notes,
}

impl Plan {
    /// Which tool or benchmark the load resembles, in the words that every text about it must have because results are
    /// not comparable. Empty if it resembles none.
    pub fn resembled_tools(&self) -> Vec<String> {
        let of_application = self.load.application.as_ref().map(PlannedApplication::resembled_tools);
        let mut all: Vec<String> = of_application.into_iter().map(str::to_owned).collect();
        // A merged plan has what its parts are like among its watermarks.
        all.extend(self.notes.watermarks.iter().filter(|mark| of_application != Some(mark.as_str())).cloned());
        all
    }

    /// The name of how the operations of a stream arrive at the target, as the log has it.
    pub fn arrival_of(&self, stream: &Stream) -> &'static str {
        if self.caches.simulated.is_some() { "behind a cache" } else { stream.arrival.arrival_name() }
    }
}

#[cfg(test)]
mod tests;
