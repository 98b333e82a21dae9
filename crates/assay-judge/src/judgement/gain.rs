//! What more threads gain: the operations per second of each step of a run that has a step for each number of threads.

use super::result::Step;
use serde::{Deserialize, Serialize};

/// The rate of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// Operations per second of all threads on all targets.
    pub per_second: f64,
    /// That divided by the rate of the first step; absent where the first step did nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_first: Option<f64>,
}

/// The model whose steps are numbers of threads.
const MODEL: &str = "seek";

impl Gain {
    /// Adds it to the steps of a run of `model`, where they are numbers of threads.
    pub(crate) fn add_to(model: &str, steps: &mut [Step]) {
        if model != MODEL {
            return;
        }
        let mut first = None;
        for step in steps {
            let own = step.part.streams.iter().filter(|stream| stream.target.is_some());
            let operations: u64 = own.map(|stream| stream.counts.operations).sum();
            let seconds = step.part.measured_ns as f64 / 1e9;
            let per_second = if seconds > 0.0 { operations as f64 / seconds } else { 0.0 };
            let first = *first.get_or_insert(per_second);
            step.gain = Some(Gain { per_second, over_first: (first > 0.0).then(|| per_second / first) });
        }
    }

    /// `296.2/s, 3.98x the first step`.
    pub fn in_words(&self) -> String {
        let over = self.over_first.map_or_else(String::new, |over| format!(", {over:.2}x the first step"));
        format!("{:.1}/s{over}", self.per_second)
    }
}
