//! Streams that have slots of their own on each target.

use serde::{Deserialize, Serialize};

/// Streams whose operations have slots of their own on each target: operations that a device holds for long do not
/// occupy the slots of others, as if they had threads of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The names of the streams.
    pub streams: Vec<String>,
    /// Upper bound on their operations in flight on one target, in addition to the plan's bound for the streams without
    /// a lane of their own.
    pub in_flight_bound: u32,
}

impl Lane {
    /// A lane for one stream.
    pub fn for_stream(stream: &str, in_flight_bound: u32) -> Lane {
        Lane { streams: vec![stream.to_owned()], in_flight_bound }
    }
}
