//! A step of a workload that is carried out in several, one after another.

/// A step of a workload.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// The names of its streams.
    pub streams: Vec<String>,
    /// What the reader of a report must know about this step, beside what holds for all of them.
    pub notes: Vec<String>,
}
