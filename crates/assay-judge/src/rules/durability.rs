//! Whether what was said to be durable can have been: a device with a write cache keeps nothing through a loss of power that it
//! was not told to flush. Foreign flushes only add to what a device counts, so that too few of them are certain, and enough
//! of them prove nothing more ([0104](../../../../docs/decisions/0104-what-proves-that-data-are-durable.md)).

use crate::finding::target::{NotDurable, TargetFinding, WhyNotDurable};
use crate::finding::{Finding, deciding_without_place};
use crate::judgement::{Deciding, DurabilityFigures, StreamTotals};

/// A sync whose data went to no medium costs a call and no request. No device is known that makes data durable faster than
/// this median, unless it keeps its cache through a loss of power. Measured on real servers (`docs/services.md`).
pub(crate) const SUSPICIOUS_NS: u64 = 20_000;
/// One in so many syncs, or more, must have had something to write: the others need no flush on btrfs.
const SOMETHING_TO_WRITE: u64 = 2;

/// The smallest median of the service of the streams that wait, where it is known.
pub(crate) fn add_medians(figures: &mut [DurabilityFigures], streams: &[StreamTotals]) {
    for figures in figures {
        let own = streams.iter().filter(|stream| figures.streams.contains(&stream.name));
        figures.p50_ns = own.filter_map(|stream| stream.service.p50_ns).min();
    }
}

/// What cannot have been made durable.
pub(crate) fn check_durability(all: &[DurabilityFigures], step: u32) -> Vec<Finding> {
    let mut findings = Vec::new();
    for figures in all {
        if let Some(found) = not_durable(figures) {
            let target = Some(figures.target.clone());
            let deciding = Deciding { target, ..deciding_without_place(step) };
            findings.push(Finding::new(TargetFinding::NotDurable(Box::new(found)), deciding));
        }
    }
    findings
}

fn not_durable(figures: &DurabilityFigures) -> Option<NotDurable> {
    if figures.syncs == 0 {
        return None;
    }
    let found = |why| NotDurable {
        target: figures.target.clone(),
        syncs: figures.syncs_in_words(),
        device: figures.device.clone(),
        why,
    };
    if let Some(why) = &figures.never {
        return Some(found(WhyNotDurable::Never(why.clone())));
    }
    let flushes = figures.flushes.filter(|_| figures.needs_flushes)?;
    if flushes == 0 {
        return Some(found(WhyNotDurable::NoFlush));
    }
    let served = flushes.saturating_mul(figures.at_once);
    let too_few = figures.at_once > 0 && served.saturating_mul(SOMETHING_TO_WRITE) < figures.syncs;
    too_few.then(|| found(WhyNotDurable::TooFewFlushes { flushes, at_once: figures.at_once }))
}

/// A warning where syncs are faster than devices are known to be.
pub(crate) fn too_fast(figures: &DurabilityFigures) -> Option<String> {
    let median = figures.p50_ns.filter(|median| *median < SUSPICIOUS_NS)?;
    let is_plain = figures.never.is_none() && !figures.is_write_through();
    (is_plain && median > 0).then(|| {
        format!(
            "half of the syncs on {} took {} or less: only a drive that keeps its cache through a loss of power makes data \
             durable that fast; a virtual machine whose host ignores flushes, or a library that swallows syncs, looks the same",
            figures.target,
            figures.median_in_words().unwrap_or_default()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    fn figures(syncs: u64, flushes: Option<u64>) -> DurabilityFigures {
        DurabilityFigures {
            target: "dir".into(),
            streams: vec!["fdatasync".into()],
            syncs,
            device: "loop3".into(),
            write_cache: Some("write back".into()),
            flushes,
            at_once: 4,
            needs_flushes: true,
            ..DurabilityFigures::default()
        }
    }

    fn said(figures: DurabilityFigures) -> Option<String> {
        let found = check_durability(&[figures], 2);
        assert!(found.iter().all(|finding| finding.verdict() == Verdict::Invalid && finding.deciding.step == 2));
        found.first().map(Finding::as_sentence)
    }

    #[test]
    fn too_few_flushes_are_certain_and_enough_of_them_prove_no_more() {
        for (syncs, flushes, part) in [
            (100, Some(0), Some("no flush reached loop3")),
            (1, Some(0), Some("1 sync")),
            (0, Some(0), None),
            (100, None, None),
            // Four clients, and half of their syncs had nothing to write.
            (100, Some(13), None),
            (100, Some(12), Some("12 flushes reached loop3")),
            (100, Some(1000), None),
        ] {
            match (said(figures(syncs, flushes)), part) {
                (None, None) => {}
                (Some(text), Some(part)) => assert!(text.contains(part), "{text}"),
                other => panic!("{syncs} {flushes:?}: {other:?}"),
            }
        }
        let through = DurabilityFigures { needs_flushes: false, ..figures(100, Some(0)) };
        assert_eq!(said(through), None, "a device without a cache needs no flush");
        let unknown = DurabilityFigures { at_once: 0, ..figures(100, Some(1)) };
        assert_eq!(said(unknown), None, "how many a flush serves is not known");
        let never = DurabilityFigures { never: Some("tmpfs is memory".into()), ..figures(7, None) };
        let text = said(never).unwrap();
        assert!(
            text.starts_with("nothing was made durable: 7 syncs on dir") && text.contains("tmpfs is memory"),
            "{text}"
        );
    }

    #[test]
    fn only_what_is_faster_than_devices_is_suspicious() {
        let with = |p50_ns| DurabilityFigures { p50_ns, ..figures(10, Some(10)) };
        assert!(too_fast(&with(Some(19_999))).unwrap().contains("half of the syncs on dir"));
        for fine in [
            with(Some(20_000)),
            with(None),
            DurabilityFigures { write_cache: Some("write through".into()), ..with(Some(5_000)) },
            DurabilityFigures { never: Some("tmpfs is memory".into()), ..with(Some(5_000)) },
        ] {
            assert_eq!(too_fast(&fine), None, "{fine:?}");
        }
    }
}
