//! A look-aside cache on a device of its own, as plans and run logs describe it.

use assay_base::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A look-aside cache in front of the targets, on a device or file of its own. It is write-through, and evicts blocks
/// by CLOCK.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheDevice {
    /// The device or file, as the user named it.
    pub path: String,
    /// How much of the device or file is used; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// The size of a block.
    pub block: Bytes,
    /// The file that says what is in the cache between two runs; `None` for a name made of the device's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
}

impl CacheDevice {
    /// A cache on this device or file, with defaults for everything else.
    pub fn on_path(path: &str) -> CacheDevice {
        CacheDevice { path: path.to_owned(), size: None, block: Bytes::from_kib(4), metadata: None }
    }
}

impl fmt::Display for CacheDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CacheDevice { path, size, block, .. } = self;
        let size = size.map_or_else(|| "all of it".to_owned(), |size| size.to_string());
        write!(f, "{path}, {size}, in blocks of {block}, clock, writes go through it")
    }
}
