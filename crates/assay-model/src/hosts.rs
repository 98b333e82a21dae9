//! What the hosts of a run with several ranks have of its targets.

use assay_base::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Ranges of ranks are whole multiples of this.
pub const RANGE_UNIT: Bytes = Bytes::new(1 << 20);

/// What the hosts of a run with several ranks have of its targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostTargets {
    /// All hosts have the same targets, and use all of them.
    #[default]
    Shared,
    /// All hosts have the same targets, and each rank uses a range of its own.
    Disjoint,
    /// Each host has targets of its own, under the same names.
    Own,
}

impl HostTargets {
    /// Whether they are shared, as they are unless a workload says otherwise.
    pub fn is_shared(&self) -> bool {
        *self == HostTargets::Shared
    }

    /// Whether each host has its own.
    pub fn are_own(self) -> bool {
        self == HostTargets::Own
    }

    /// Whether a rank knows alone what was written where it reads.
    pub fn are_known_to_one(self) -> bool {
        self != HostTargets::Shared
    }
}

impl fmt::Display for HostTargets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HostTargets::Shared => "all hosts share the targets, and use all of them",
            HostTargets::Disjoint => "all hosts share the targets, and each rank has a range of its own",
            HostTargets::Own => "each host has targets of its own",
        })
    }
}

/// One of several: a rank among all ranks, or a host among all hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceAmong {
    /// Which one, from 0.
    pub index: u64,
    /// Of how many.
    pub count: u64,
}
