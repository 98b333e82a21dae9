//! What a look-aside cache before the targets did.

use assay_base::{Bytes, Span};
use assay_record::{CacheCounters, CacheHead, Moved};
use serde::{Deserialize, Serialize};

/// What a look-aside cache before the targets did in the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheFigures {
    /// The cache.
    pub head: CacheHead,
    /// Share of the blocks that reads asked for which were in the cache, 0 to 1; absent where nothing was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_hit_rate: Option<f64>,
    /// Share of the blocks that writes changed which were in the cache; absent where nothing was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalidate_hit_rate: Option<f64>,
    /// What it counted in the measured time; `onward` is by target.
    #[serde(flatten)]
    pub counted: CacheCounters,
    /// Errors of its device in all phases. After the first one it was not used any more.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_zero")]
    pub errors_of_all_phases: u64,
}

fn share_of_whole(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

impl CacheFigures {
    /// What the cache of this header counted in the measured time, and its errors in all phases.
    pub(crate) fn new(head: CacheHead, counted: CacheCounters, errors_of_all_phases: u64) -> CacheFigures {
        CacheFigures {
            head,
            read_hit_rate: share_of_whole(counted.read_hits, counted.reads),
            invalidate_hit_rate: share_of_whole(counted.invalidate_hits, counted.invalidations),
            counted,
            errors_of_all_phases,
        }
    }

    /// Whether it failed.
    pub fn has_failed(&self) -> bool {
        self.errors_of_all_phases > 0
    }

    /// The figures in one sentence.
    pub fn in_words(&self) -> String {
        let began = match (self.head.loaded, &self.head.emptied) {
            (true, _) => format!("began with {} blocks of an earlier run", self.head.blocks),
            (false, Some(why)) => format!("began empty, because {why}"),
            (false, None) => "began empty".to_owned(),
        };
        let bypassed = match self.counted.bypassed {
            0 => String::new(),
            n => format!("; {n} reads of parts of blocks went past it"),
        };
        let failed = if self.has_failed() { "; IT FAILED and was not used any more" } else { "" };
        format!(
            "cache {}, {}: {} of {} blocks read were in it, {}{bypassed}{failed}",
            self.head.device.name,
            Bytes::new(self.head.size_bytes).human_text(),
            percent_or_dash(self.read_hit_rate),
            self.counted.reads,
            began
        )
    }

    /// Every figure with its name, for a table.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let CacheFigures { head, counted: it, .. } = self;
        let began = match (head.loaded, &head.emptied) {
            (true, _) => format!("{} blocks of an earlier run", head.blocks),
            (false, Some(why)) => format!("empty: {why}"),
            (false, None) => "empty".to_owned(),
        };
        vec![
            ("Device", head.device.name.clone()),
            (
                "Size",
                format!(
                    "{} in blocks of {}",
                    Bytes::new(head.size_bytes).human_text(),
                    Bytes::new(head.block_bytes).human_text()
                ),
            ),
            ("At the beginning", began),
            ("Read hit rate", hundredths_or_dash(self.read_hit_rate)),
            ("Blocks read", it.reads.to_string()),
            ("Hits in memory", it.ram_hits.to_string()),
            ("Hits on its device", it.read_hits.saturating_sub(it.ram_hits).to_string()),
            ("Reads past it, of parts of blocks", it.bypassed.to_string()),
            ("Blocks written", it.invalidations.to_string()),
            ("Of them in the cache", hundredths_or_dash(self.invalidate_hit_rate)),
            ("Blocks put in", it.insertions.to_string()),
            ("Blocks that found no room", it.refused.to_string()),
            ("Blocks evicted", it.evictions.to_string()),
            ("Reads of its device", mean_text(it.device_reads)),
            ("Segments read", mean_text(it.segment_reads)),
            ("Segments written", mean_text(it.segment_writes)),
            ("Segments passed", it.skipped.to_string()),
            ("Times round", it.wraps.to_string()),
            ("Errors of its device", self.errors_of_all_phases.to_string()),
        ]
    }
}

/// A share in percent with two decimals, or a dash.
fn hundredths_or_dash(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.2}%", share * 100.0))
}

/// How many, and the mean time of one.
fn mean_text(moved: Moved) -> String {
    match moved.count {
        0 => "–".to_owned(),
        count => format!("{count}, {} each", Span::from_ns(moved.sum_ns / count).human_text()),
    }
}

/// A share in percent with one decimal, or a dash.
fn percent_or_dash(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}%", share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_past_the_cache_is_said_where_something_did() {
        let said = |bypassed, errors| {
            let counted = CacheCounters { reads: 8, read_hits: 4, bypassed, ..CacheCounters::default() };
            CacheFigures::new(CacheHead::default(), counted, errors).in_words()
        };
        assert!(said(0, 0).ends_with("50.0% of 8 blocks read were in it, began empty"), "{}", said(0, 0));
        assert!(said(7, 0).ends_with(", began empty; 7 reads of parts of blocks went past it"), "{}", said(7, 0));
        assert!(said(7, 1).ends_with("; 7 reads of parts of blocks went past it; IT FAILED and was not used any more"));
    }
}
