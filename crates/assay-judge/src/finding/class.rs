//! What a finding weighs.

/// Kinds of findings, the heaviest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// An operation failed, was short or never came back, or the target was lost. True even if the run was cut.
    Errors,
    /// A cache or another user of the device interfered, so no slice says anything about the device.
    Between,
    /// A complete, valid slice over its bound, or a load that was not held.
    Broken,
    /// The generator was the bottleneck, or the log cannot be trusted.
    Unproven,
    /// Something that was planned is not there.
    Missing,
}
