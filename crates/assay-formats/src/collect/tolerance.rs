//! How far figures that should be the same may differ.

/// Sources that should say the same may differ by as much as this.
pub(crate) const TOLERANCE: f64 = 0.05;

/// Whether two figures that should be the same are not.
pub(crate) fn apart(a: f64, b: f64) -> bool {
    (a - b).abs() > TOLERANCE * a.abs().max(b.abs())
}
