//! A look-aside cache on a device of its own, as it is meant: in a plan and in a log.

use assay_base::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A look-aside cache before the targets, on a device or file of its own. Writes go through it, and blocks make room by
/// CLOCK.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheDevice {
    /// The device or file, as it was named.
    pub path: String,
    /// How much of it is used; all of it where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// The size of a block.
    pub block: Bytes,
    /// The file that says what is in the cache between two runs; `None`: it is named after the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
}

impl CacheDevice {
    /// A cache on this device or file, otherwise as it usually is.
    pub fn on(path: &str) -> CacheDevice {
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
