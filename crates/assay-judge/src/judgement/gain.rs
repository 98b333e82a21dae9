//! What more threads gain: the operations per second of each step of a run that has a step for each number of threads.

use serde::{Deserialize, Serialize};

/// The rate of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// Operations per second of all threads on all targets.
    pub per_second: f64,
    /// The rate divided by that of the first step; absent where the first step did nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_first: Option<f64>,
}

impl Gain {
    /// `296.2/s, 3.98x the first step`.
    pub fn in_words(&self) -> String {
        let over = self.over_first.map_or_else(String::new, |over| format!(", {over:.2}x the first step"));
        format!("{:.1}/s{over}", self.per_second)
    }
}
