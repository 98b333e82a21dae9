//! The tiles of a plan.

use super::range::TileRange;
use crate::oltp::Oltp;
use assay_base::{Bytes, Multiple};
use serde::{Deserialize, Serialize};

/// Which streams of a plan belong to which workload of which tile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTiles {
    /// Number of tiles.
    pub number: u64,
    /// The size of one tile on each target.
    pub size: Bytes,
    /// What runs beside the tiles, then what runs in the first tile, and so on.
    pub members: Vec<PlannedMember>,
}

/// One workload of one tile, or beside the tiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedMember {
    /// Tile and workload, such as `tile3/orders`. The name of each of its streams begins with it, and a slash.
    pub name: String,
    /// Its load.
    pub load: Multiple,
    /// Its range of each target; whole targets where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<TileRange>,
    /// The streams that are drawn together, where it is an OLTP load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oltp: Option<Oltp>,
}

impl PlannedMember {
    /// What the names of its streams begin with.
    pub fn prefix(&self) -> String {
        format!("{}/", self.name)
    }
}

impl PlannedTiles {
    /// How large a target must be for all tiles, in bytes.
    pub fn needed_bytes(&self) -> u64 {
        self.number.saturating_mul(self.size.get())
    }

    /// How many tiles fit on a target of `size` bytes.
    pub fn count_on(&self, size: u64) -> u64 {
        size / self.size.get().max(1)
    }
}
