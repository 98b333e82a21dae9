//! The plan that a step carried out.

use serde::{Deserialize, Serialize};

/// The plan as it was run, with its checksum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanAsRun {
    /// The plan itself.
    #[serde(rename = "plan")]
    pub json: serde_json::Value,
    /// BLAKE3 of the plan as compact JSON, in hexadecimal: equal plans have equal checksums.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "plan_blake3")]
    pub blake3: Option<String>,
}

impl PlanAsRun {
    /// Adds the checksum, which `hash` computes in hexadecimal.
    pub(crate) fn add_checksum(&mut self, hash: &impl Fn(&[u8]) -> String) {
        self.blake3 = serde_json::to_vec(&self.json).ok().map(|plan| hash(&plan));
    }
}
