//! What a reader of a plan, or of a report about it, must know.

use crate::profile::Derivation;

/// What a reader must know about a plan. It changes nothing that is done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    /// How each number of the streams was derived, at 1x on one target. Empty for models that do not say it step by
    /// step.
    pub derivation: Vec<Derivation>,
    /// What the reader of a report must know about the derivation of this plan.
    pub remarks: Vec<String>,
    /// Watermarks of every result of this plan, such as that it resembles another tool's and is not comparable with it.
    pub watermarks: Vec<String>,
}
