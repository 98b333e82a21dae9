//! How severe a finding is.

/// Classes of findings, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// An operation failed, was short or never completed, or the target was lost. This counts even if the run was cut.
    Errors,
    /// A cache or another user of the device interfered, so no slice says anything about the device.
    Between,
    /// A complete, valid slice over its bound, or a load that was not delivered.
    Broken,
    /// The generator was the bottleneck, or the log cannot be trusted.
    Unproven,
    /// Something that was planned is missing.
    Missing,
}
