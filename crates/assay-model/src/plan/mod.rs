//! A plan: a complete description of what will be done. `assay explain` prints it, the log stores it, the engine runs
//! it.

mod application;
mod arrival;
mod caches;
mod carried_over;
mod conversion;
mod format;
mod groups;
mod identity;
mod lane_bounds;
mod lanes;
mod load;
mod load_of_application;
mod member;
mod needs;
mod notes;
mod read_back;
mod stream;
mod timing;
mod units;
mod verification;
mod whole;

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
pub(crate) use load_of_application::DrawnOltp;
pub use notes::Notes;
pub(crate) use read_back::final_read_back;
pub use read_back::{READ_BACK, READ_BACK_DEPTH};
pub use stream::{Block, Stream, Work};
pub use timing::{Phase, PhaseKind, PlannedTiming, WarmUp};
pub use verification::PlannedVerification;
pub use whole::Plan;

#[cfg(test)]
mod tests;
