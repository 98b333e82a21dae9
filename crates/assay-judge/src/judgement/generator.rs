//! What generated the load: the program on a machine, and its own cost.

use super::ranks::RankFigures;
use super::skip::is_zero;
use assay_base::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What generated the load of a step: the generator's cost, the engine and the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorFigures {
    /// The generator's own cost.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "generator")]
    pub cost: Option<GeneratorCost>,
    /// How the operations were carried: engine, workers, in-flight bound, clock.
    pub engine: BTreeMap<String, String>,
    /// The machine.
    pub host: BTreeMap<String, String>,
    /// What each of several ranks did by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankFigures>,
}

/// The generator's own cost over the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorCost {
    /// CPU time of all workers.
    pub cpu_ns: u64,
    /// Time runnable but not running.
    pub run_queue_ns: u64,
    /// Time stolen by the hypervisor.
    pub steal_ns: u64,
    /// Largest resident memory, bytes.
    pub resident_bytes_max: u64,
    /// Wall time of the intervals that were sampled.
    pub sampled_ns: u64,
    /// Time for which the processor quotas of control groups stopped threads.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttled_ns: u64,
    /// Number of periods of these quotas in which threads were stopped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttled_periods: u64,
    /// Wall time of the sampled intervals in which that happened.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttled_within_ns: u64,
}

impl GeneratorCost {
    /// A sentence where a processor quota stopped the program: how late that made operations is counted by itself.
    pub(crate) fn throttled_warning(&self) -> Option<String> {
        (self.throttled_periods > 0).then(|| {
            format!(
                "the processor quota of a control group stopped the program in {} periods, for {} in all, within {} of {}: \
                 raise the quota, or run outside of the group",
                self.throttled_periods,
                Span::from_ns(self.throttled_ns).human_text(),
                Span::from_ns(self.throttled_within_ns).human_text(),
                Span::from_ns(self.sampled_ns).human_text(),
            )
        })
    }
}
