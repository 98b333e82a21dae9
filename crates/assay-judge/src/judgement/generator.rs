//! What generated the load: the program on a machine, and its own cost.

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
}
