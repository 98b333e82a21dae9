//! What `pblio.data` says of a cache, with the names and in the order of the original: `cache` has the blocks, `log` how
//! they were found and moved. A run without a cache has neither.

use assay_record::{CacheCounters, Moved};
use std::fmt;

/// The members `cache` and `log` of a line.
pub(super) struct Cached<'a>(pub(super) &'a CacheCounters);

impl fmt::Display for Cached<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CacheCounters { reads, read_hits, ram_hits, invalidations, invalidate_hits, insertions, evictions, .. } =
            self.0;
        let CacheCounters { wraps, skipped, device_reads, segment_reads, segment_writes, .. } = self.0;
        write!(
            f,
            r#""cache":{{"readhits":{read_hits},"invalidatehits":{invalidate_hits},"reads":{reads},"evictions":{evictions},"invalidations":{invalidations},"insertions":{insertions}}}"#
        )?;
        let storage_hits = read_hits.saturating_sub(*ram_hits);
        // A hit in a segment that will be overwritten is a hit in memory here: `write::cache` says why.
        write!(
            f,
            r#","log":{{"ramhits":{ram_hits},"storagehits":{storage_hits},"wraps":{wraps},"segments_skipped":{skipped},"buffercachehits":0,"totalhits":{read_hits}"#
        )?;
        let times = [
            ("mean_read_usecs", device_reads),
            ("mean_segmentread_usecs", segment_reads),
            ("mean_segmentwrite_usecs", segment_writes),
        ];
        times.into_iter().try_for_each(|(name, Moved { count, sum_ns })| {
            write!(f, r#","{name}":{{"duration":{sum_ns},"count":{count}}}"#)
        })?;
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The members of the first line that the original wrote with a new cache.
    #[test]
    fn the_members_are_the_originals() {
        let counted = CacheCounters {
            reads: 359,
            read_hits: 101,
            ram_hits: 101,
            invalidations: 76,
            invalidate_hits: 24,
            insertions: 334,
            wraps: 1,
            segment_reads: Moved { count: 2, sum_ns: 994_078 },
            segment_writes: Moved { count: 2, sum_ns: 1_421_332 },
            ..CacheCounters::default()
        };
        let original = r#""cache":{"readhits":101,"invalidatehits":24,"reads":359,"evictions":0,"invalidations":76,"insertions":334},"log":{"ramhits":101,"storagehits":0,"wraps":1,"segments_skipped":0,"buffercachehits":0,"totalhits":101,"mean_read_usecs":{"duration":0,"count":0},"mean_segmentread_usecs":{"duration":994078,"count":2},"mean_segmentwrite_usecs":{"duration":1421332,"count":2}}"#;
        assert_eq!(Cached(&counted).to_string(), original);
    }
}
