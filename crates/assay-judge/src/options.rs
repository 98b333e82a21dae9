//! What a caller may ask of the judge in addition to what the log says.

use assay_base::{Criterion, Measure, Span};

/// What the user may ask for in addition to what the log says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Judges all criteria on this instead of their own measure (`--judge service`).
    pub judge_on: Option<Measure>,
    /// Length of a slice, instead of the log's.
    pub slice: Option<Span>,
    /// Criteria, instead of the log's.
    pub criteria: Option<Vec<Criterion>>,
    /// Judges only the measured phase of this name, with everything before it as its warm-up. A log that was continued cannot be
    /// judged so.
    pub phase: Option<String>,
    /// The log has no distributions by design, like those of ACT: then the absence of percentiles needs no warning.
    pub without_distributions: bool,
}
