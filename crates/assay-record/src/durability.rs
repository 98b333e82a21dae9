//! What must show that data became durable: an operation that ends when its data are durable has made the device flush
//! what it keeps in memory, or nothing was made durable. The device counts its flushes, whoever asked for them.

use crate::skip::is_zero;
use serde::{Deserialize, Serialize};

/// What makes the data of one target durable, and which operations wait for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurabilityHead {
    /// Index into `Header::targets`.
    pub target: u16,
    /// The streams whose operations end when data are durable: indexes into `Header::streams`.
    pub streams: Vec<u16>,
    /// The disk that must be flushed, as the kernel names it; several with commas between them. Empty where there is none, or
    /// where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// What its queue says of its cache: `write back` (one of several is enough) or `write through`; absent where it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// The meters whose counters `flushes` count its flushes: indexes into `Header::meters`. Empty where the target counts them
    /// itself (`Interval::disks`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<u16>,
    /// Why nothing there becomes durable, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never: Option<String>,
    /// Why flushes cannot be counted, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<String>,
    /// The most of these operations that wait at one time, so that one flush can serve them; 0 where that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_once: u64,
    /// True where each operation may be durable without a flush: a write that the device itself does not keep in memory (FUA).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_flushes: bool,
}

impl DurabilityHead {
    /// What a queue says that keeps data in memory that a loss of power takes.
    pub const WRITE_BACK: &str = "write back";
    /// What a queue says that has nothing to flush.
    pub const WRITE_THROUGH: &str = "write through";

    /// Whether data are durable only after a flush that is counted.
    pub fn needs_counted_flushes(&self) -> bool {
        self.is_counted() && self.write_cache.as_deref() == Some(DurabilityHead::WRITE_BACK) && !self.without_flushes
    }

    /// Whether flushes of its device are counted.
    pub fn is_counted(&self) -> bool {
        self.never.is_none() && self.uncounted.is_none() && !self.device.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_counted_device_with_a_cache_needs_flushes() {
        let counted = DurabilityHead {
            device: "sda".into(),
            write_cache: Some("write back".into()),
            meters: vec![0],
            ..DurabilityHead::default()
        };
        assert!(counted.needs_counted_flushes());
        for other in [
            DurabilityHead { write_cache: Some("write through".into()), ..counted.clone() },
            DurabilityHead { write_cache: None, ..counted.clone() },
            DurabilityHead { never: Some("tmpfs is memory".into()), ..counted.clone() },
            DurabilityHead { uncounted: Some("nfs".into()), ..counted.clone() },
            DurabilityHead { device: String::new(), ..counted.clone() },
            DurabilityHead { without_flushes: true, ..counted },
        ] {
            assert!(!other.needs_counted_flushes(), "{other:?}");
        }
    }

    #[test]
    fn what_is_absent_is_not_written() {
        let head = DurabilityHead { target: 1, streams: vec![2], ..DurabilityHead::default() };
        assert_eq!(serde_json::to_string(&head).unwrap(), r#"{"target":1,"streams":[2]}"#);
    }
}
