//! How much figures that should be equal may differ.

/// Sources that should agree may differ by this share.
pub(crate) const TOLERANCE: f64 = 0.05;

/// Whether two figures that should be equal differ by more than that.
pub(crate) fn are_apart(a: f64, b: f64) -> bool {
    (a - b).abs() > TOLERANCE * a.abs().max(b.abs())
}
