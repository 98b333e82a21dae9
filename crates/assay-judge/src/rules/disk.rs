//! What the block devices counted against what was issued: the check that no cache stood between and nobody else was there.

use crate::judgement::{Deciding, DiskTotals, TargetTotals};
use crate::rules::finding::{Class, Finding, nowhere};
use crate::rules::value::percent;

/// Above this share a difference is a warning.
const WARN: f64 = 0.05;
/// Above this share the run proves nothing.
const REFUSE: f64 = 0.5;
/// Fewer operations than this are too few to compare.
const LEAST_OPERATIONS: u64 = 100;

/// The difference as a share of the run's own, by operations or by bytes, whichever is closer: the kernel splits and
/// merges operations, and counts bytes in sectors.
pub fn mismatch(disk: &DiskTotals) -> f64 {
    let by = |theirs: u64, own: u64| (own > 0).then(|| theirs.abs_diff(own) as f64 / own as f64);
    let both = [by(disk.operations, disk.own_operations), by(disk.bytes, disk.own_bytes)];
    both.into_iter()
        .flatten()
        .fold(None, |least: Option<f64>, share| Some(least.map_or(share, |l| l.min(share))))
        .unwrap_or(0.0)
}

/// What the comparison says of each target.
pub fn check(targets: &[TargetTotals], step: u32) -> (Vec<Finding>, Vec<String>) {
    let (mut findings, mut warnings) = (Vec::new(), Vec::new());
    for target in targets {
        let Some(disk) = target.disk.filter(|disk| disk.own_operations >= LEAST_OPERATIONS) else { continue };
        let name = &target.head.name;
        let text = format!(
            "{name}: its block device counted {} operations where the run made {} (a difference of {})",
            disk.operations,
            disk.own_operations,
            percent(disk.mismatch)
        );
        if disk.mismatch > REFUSE {
            let cause =
                if disk.operations < disk.own_operations { "something cached" } else { "somebody else used it" };
            let deciding = Deciding { target: Some(name.clone()), ..nowhere(step) };
            findings.push(Finding::new(Class::Between, format!("{text}: {cause}"), deciding));
        } else if disk.mismatch > WARN {
            warnings.push(text);
        }
    }
    (findings, warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closer_of_operations_and_bytes_counts() {
        for (operations, bytes, own_operations, own_bytes, expected) in [
            (100, 1000, 100, 1000, 0.0),
            (200, 1010, 100, 1000, 0.01),
            (0, 0, 100, 1000, 1.0),
            (5, 5, 0, 0, 0.0),
            (u64::MAX, u64::MAX, 1, 1, u64::MAX as f64 - 1.0),
        ] {
            let disk = DiskTotals { operations, bytes, own_operations, own_bytes, mismatch: 0.0 };
            assert_eq!(mismatch(&disk), expected, "{disk:?}");
        }
    }
}
