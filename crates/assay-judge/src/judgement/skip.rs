//! Members that are absent where they would say nothing.

/// A count of nothing.
pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A flag that is not set.
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}
