//! Members of a line that are left out where they would say nothing.

/// True for a count of zero.
pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}
