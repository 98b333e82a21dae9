//! How several workers and targets share a stream.

/// The part of one flow among several that share a stream: which of the stream's operations it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// 0-based.
    pub index: u64,
    /// Number of parts.
    pub of: u64,
}
