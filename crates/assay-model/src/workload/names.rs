//! Names that a workload file gives to its parts.

/// The remedy for a name that is not allowed.
pub(super) const NAMES: &str = "write 1 to 64 letters, digits, - _ or .";

/// Whether a text can be a name.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}
