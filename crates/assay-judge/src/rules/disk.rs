//! Compares what the block devices counted with what was issued: the check that no cache and no other user of the
//! device interfered.

use crate::finding::target::{Mismatch, TargetFinding};
use crate::finding::{Finding, deciding_without_place};
use crate::judgement::{Deciding, DiskCount, DiskTotals, TargetTotals};
use assay_record::TargetHead;

/// Above this share a difference is a warning.
const WARN: f64 = 0.05;
/// Above this share the run proves nothing.
const REFUSE: f64 = 0.5;
/// Fewer operations than this are not compared.
const LEAST_OPERATIONS: u64 = 100;

/// A difference as a share of the run's own count, and what was counted.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Difference {
    what: &'static str,
    theirs: u64,
    own: u64,
    share: f64,
}

impl Difference {
    /// The difference by operations or by bytes, whichever is smaller: the kernel splits and merges operations, and counts
    /// bytes in sectors.
    fn new(what: [&'static str; 2], theirs: DiskCount, own: DiskCount) -> Option<Difference> {
        Difference::by_operations_and_bytes(what, theirs, own).min_by(|a, b| a.share.total_cmp(&b.share))
    }

    /// What is missing of `own`, where both counts agree that something is: merging reduces operations, but not bytes.
    /// The larger difference is returned: among small and large operations, a cache may have answered all the small
    /// ones, which are few bytes.
    fn missing_part(what: [&'static str; 2], theirs: DiskCount, own: DiskCount) -> Option<Difference> {
        let less = Difference::by_operations_and_bytes(what, theirs, own)
            .all(|found| found.theirs < found.own && found.share > WARN);
        Difference::by_operations_and_bytes(what, theirs, own)
            .filter(|_| less)
            .max_by(|a, b| a.share.total_cmp(&b.share))
    }

    fn by_operations_and_bytes(
        what: [&'static str; 2],
        theirs: DiskCount,
        own: DiskCount,
    ) -> impl Iterator<Item = Difference> {
        [difference_by(what[0], theirs.operations, own.operations), difference_by(what[1], theirs.bytes, own.bytes)]
            .into_iter()
            .flatten()
    }
}

/// The difference of two counts as a share of the own one.
fn difference_by(what: &'static str, theirs: u64, own: u64) -> Option<Difference> {
    (own > 0).then(|| Difference { what, theirs, own, share: theirs.abs_diff(own) as f64 / own as f64 })
}

/// The largest difference: of reads and writes together, and of either direction alone where the device counted less
/// than the run issued. Operations in one direction that a cache answers must not be hidden by the other; what others
/// do in addition is compared with the sum of both, unless it is counted for itself (`Header::watched`).
fn largest_difference(disk: &DiskTotals, others_are_counted: bool) -> Option<Difference> {
    let together = Difference::new(["operations", "bytes"], disk.reads_and_writes(), disk.own_all());
    let together = together.filter(|found| !others_are_counted || found.theirs < found.own);
    let alone = [
        (["reads", "bytes read"], disk.reads, disk.own_reads),
        (["writes", "bytes written"], disk.writes, disk.own_writes),
    ];
    let alone = alone.into_iter().filter(|(_, _, own)| own.operations >= LEAST_OPERATIONS);
    let missing = alone.filter_map(|(what, theirs, own)| Difference::missing_part(what, theirs, own));
    together.into_iter().chain(missing).max_by(|a, b| a.share.total_cmp(&b.share))
}

/// The largest difference as a share of the run's own count.
pub(crate) fn mismatch_share(disk: &DiskTotals, others_are_counted: bool) -> f64 {
    largest_difference(disk, others_are_counted).map_or(0.0, |found| found.share)
}

/// What others wrote to a target between its preparation and the run; `None` where nobody did, or where it is not
/// known.
pub(crate) fn foreign_writes(target: &TargetHead) -> Option<TargetFinding> {
    let prepared = target.prepared.as_ref()?;
    let bytes = prepared.foreign_bytes.filter(|bytes| *bytes > 0)?;
    Some(TargetFinding::Foreign { target: target.name.clone(), bytes, prepared: prepared.finished.clone() })
}

/// The result of the comparison for each target.
pub(crate) fn check_targets(
    targets: &[TargetTotals],
    step: u32,
    others_are_counted: bool,
) -> (Vec<Finding>, Vec<String>) {
    let (mut findings, mut warnings) = (Vec::new(), Vec::new());
    for target in targets {
        let Some(disk) = target.disk.filter(|disk| disk.own_all().operations >= LEAST_OPERATIONS) else { continue };
        let Some(found) = largest_difference(&disk, others_are_counted) else { continue };
        let (target, Difference { what: of, theirs, own, share }) = (target.head.name.clone(), found);
        let found = Mismatch { target: target.clone(), of, theirs, own, share };
        if share > REFUSE {
            let deciding = Deciding { target: Some(target), ..deciding_without_place(step) };
            findings.push(Finding::new(TargetFinding::Mismatch(found), deciding));
        } else if share > WARN {
            warnings.push(found.to_string());
        }
    }
    (findings, warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(operations: u64, bytes: u64) -> DiskCount {
        DiskCount { operations, bytes }
    }

    #[test]
    fn the_closer_of_operations_and_bytes_counts() {
        for (theirs, own, expected) in [
            (count(100, 1000), count(100, 1000), 0.0),
            (count(200, 1010), count(100, 1000), 0.01),
            (count(0, 0), count(100, 1000), 1.0),
            (count(5, 5), count(0, 0), 0.0),
            (count(u64::MAX, u64::MAX), count(1, 1), u64::MAX as f64 - 1.0),
        ] {
            let disk = DiskTotals { reads: theirs, own_reads: own, ..DiskTotals::default() };
            assert_eq!(mismatch_share(&disk, false), expected, "{disk:?}");
        }
    }

    #[test]
    fn more_than_a_twentieth_is_a_warning_and_more_than_a_half_proves_nothing() {
        for (own, theirs, warned, refused) in [
            (100, 105, false, false),
            (100, 106, true, false),
            (100, 94, true, false),
            (100, 150, true, false),
            (100, 151, false, true),
            (100, 49, false, true),
            // Too few to be compared.
            (99, 0, false, false),
        ] {
            let disk = DiskTotals { reads: count(theirs, theirs), own_reads: count(own, own), ..DiskTotals::default() };
            let head = TargetHead { name: "sda".into(), ..TargetHead::default() };
            let target = TargetTotals {
                head,
                written_bytes: 0,
                read_bytes: own,
                sampled_reads: 0,
                blank_reads: 0,
                disk: Some(disk),
                lateness: None,
                health: None,
            };
            let (findings, warnings) = check_targets(std::slice::from_ref(&target), 3, false);
            assert_eq!((warnings.len(), findings.len()), (warned.into(), refused.into()), "{theirs} for {own}");
            assert!(findings.iter().all(|it| it.deciding.target.as_deref() == Some("sda") && it.deciding.step == 3));
            let (findings, warnings) = check_targets(&[target], 3, true);
            let more = theirs > own;
            let expected = (usize::from(warned && !more), usize::from(refused && !more));
            assert_eq!(
                (warnings.len(), findings.len()),
                expected,
                "what others add is told elsewhere: {theirs} for {own}"
            );
        }
    }

    /// Of small reads among large writes only what is missing by more than a twentieth of both counts is missing.
    #[test]
    fn what_is_missing_in_one_direction_shows_beside_the_other() {
        for (reads, bytes, found) in [
            (10_000, 10_000, 0.0),
            (9_500, 9_500, 0.0),
            (9_499, 9_499, 0.0501),
            (9_000, 9_500, 0.0),
            (9_000, 9_400, 0.1),
            (11_000, 11_000, 0.0),
        ] {
            let all = count(1_000_000, 1_000_000);
            let own_reads = count(10_000, 10_000);
            let disk = DiskTotals {
                reads: count(reads, bytes),
                writes: all,
                own_reads,
                own_writes: all,
                ..DiskTotals::default()
            };
            let found_now = mismatch_share(&disk, false);
            assert!((found_now - found).abs() < 2e-3, "{reads} {bytes}: {found_now}");
        }
    }

    /// ACT's load: a cache answers every judged read, and the device carries the large blocks, which are twice the
    /// bytes.
    #[test]
    fn cached_reads_do_not_hide_behind_writes() {
        let writes = count(2_344, 307_000_000);
        let large = count(2_344, 307_000_000);
        let own_reads = count(200_000 + large.operations, 307_200_000 + large.bytes);
        let disk = DiskTotals { reads: large, writes, own_reads, own_writes: writes, ..DiskTotals::default() };
        assert!(
            mismatch_share(&disk, false) > 0.98,
            "half of the bytes that were read, and nearly all reads: {}",
            mismatch_share(&disk, false)
        );
        let merged = DiskTotals { reads: count(30_000, own_reads.bytes), ..disk };
        assert!(
            mismatch_share(&merged, false) < WARN,
            "merged reads count as reads: {}",
            mismatch_share(&merged, false)
        );
    }
}
