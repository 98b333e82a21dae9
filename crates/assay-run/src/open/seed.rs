//! The seed of a run.

use crate::open::targets::Named;

/// The seed that was asked for. Without one, a simulation always has the same seed; a real run gets a new one, printed
/// with the result.
pub fn choose_seed(asked: Option<u64>, named: &[(String, Named)]) -> u64 {
    asked.unwrap_or_else(|| match named.first() {
        Some((_, Named::Path(_) | Named::Null(_) | Named::Database(_) | Named::Directory(_))) => {
            let since = assay_device::clock::wall_time().duration_since(std::time::UNIX_EPOCH);
            // Six digits, which a person can copy.
            since.map_or(1, |since| assay_base::Prng::from_seed(since.as_nanos() as u64).uniform_below(1_000_000))
        }
        _ => 1,
    })
}
