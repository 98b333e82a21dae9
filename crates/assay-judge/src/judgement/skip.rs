//! Members that are left out where they would say nothing.

/// True for a count of zero.
pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// True for a flag that is not set.
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}
