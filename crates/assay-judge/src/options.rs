//! What may be asked of the judge beside what the log says.

use assay_base::{Criterion, Measure, Span};

/// What the user may ask for beside what the log says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Judges all criteria on this instead of their own measure (`--judge service`).
    pub judge_on: Option<Measure>,
    /// Length of a slice, instead of the log's.
    pub slice: Option<Span>,
    /// Criteria, instead of the log's.
    pub criteria: Option<Vec<Criterion>>,
    /// The log holds no distributions by its nature, as those of ACT: that percentiles are not known needs no warning then.
    pub without_distributions: bool,
}
