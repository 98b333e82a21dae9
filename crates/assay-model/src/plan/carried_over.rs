//! What a run takes over from earlier segments and runs.

use crate::skip::{is_zero_bytes, is_zero_span};
use assay_base::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// What earlier segments and runs have done of the patterns that continue where these ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedOver {
    /// Measured time of the earlier segments, by which working sets have moved and rates have changed.
    #[serde(default, skip_serializing_if = "is_zero_span")]
    pub time: Span,
    /// Bytes that are used up of the order in which places are seen only once (`never_seen`), on each target.
    #[serde(default, skip_serializing_if = "is_zero_bytes")]
    pub seen: Bytes,
}

impl CarriedOver {
    /// What the plan in the header of a log had carried over; `None` where it does not say it.
    pub fn from_logged_plan(plan: &serde_json::Value) -> Option<CarriedOver> {
        serde_json::from_value(plan.get("before")?.clone()).ok()
    }

    pub(super) fn is_nothing(&self) -> bool {
        *self == CarriedOver::default()
    }
}
