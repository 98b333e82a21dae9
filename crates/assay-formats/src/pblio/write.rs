//! The lines that pblio prints.

use assay_record::{CacheCounters, CacheHead, Moved};

/// The lines before the run. `asus` are the sizes of the ASUs in bytes; the text shows them in units of 1024³ bytes
/// with two digits, as the original does.
pub fn banner_lines(version: &str, cache: Option<&CacheHead>, asus: [u64; 3], bsu: u64, runlen: u64) -> String {
    let cache = cache.map_or_else(
        || "None".to_owned(),
        |cache| {
            let state = if cache.loaded { "Loaded" } else { "New" };
            format!("{} ({state})\nC Size  : {}", cache.device.name.escape_debug(), gib_text(cache.size_bytes))
        },
    );
    let [one, two, three] = asus.map(gib_text);
    format!(
        "pblio ({version})\n-----\npblio\n-----\nCache   : {cache}\nASU1    : {one}\nASU2    : {two}\nASU3    : {three}\nBSUs    : {bsu}\n\
         Contexts: {}\nRun time: {runlen} s\n-----\n",
        bsu.div_ceil(100)
    )
}

fn gib_text(bytes: u64) -> String {
    format!("{:.2} GB", bytes as f64 / (1u64 << 30) as f64)
}

/// The line of a period: its number of operations, its length in seconds, and the sum of the operations' times in
/// nanoseconds. On a terminal, the next such line overwrites it.
pub fn period_line(ios: u64, seconds: f64, sum_ns: u64) -> String {
    let (rate, mean) = (ios as f64 / seconds.max(1e-9), mean_ms(ios, sum_ns));
    format!("ios:{ios} IOPS:{rate:.2} Latency:{mean:.4} ms{:35}\r", "")
}

/// The line with the figures of the whole run.
pub fn average_line(ios: u64, seconds: f64, sum_ns: u64) -> String {
    let (rate, mean) = (ios as f64 / seconds.max(1e-9), mean_ms(ios, sum_ns));
    format!("Avg IOPS:{rate:.2}  Avg Latency:{mean:.4} ms{:24}\n\n", "")
}

/// The lines about the cache, which follow the line of the whole run.
pub fn cache_lines(counted: &CacheCounters) -> String {
    let CacheCounters { reads, read_hits, ram_hits, invalidations, invalidate_hits, insertions, evictions, .. } =
        counted;
    let lines = [
        format!("Read Hit Rate: {:.4}", ratio_to_whole(*read_hits, *reads)),
        format!("Invalidate Hit Rate: {:.4}", ratio_to_whole(*invalidate_hits, *invalidations)),
        format!("Read hits: {read_hits}"),
        format!("Invalidate hits: {invalidate_hits}"),
        format!("Reads: {reads}"),
        format!("Insertions: {insertions}"),
        format!("Evictions: {evictions}"),
        format!("Invalidations: {invalidations}"),
        "== Log Information ==".to_owned(),
        format!("Ram Hit Rate: {:.4}", ratio_to_whole(*ram_hits, *read_hits)),
        format!("Ram Hits: {ram_hits}"),
        // The original first reads a segment that it will overwrite into a separate buffer, and counts hits there. Here
        // such a segment is among those in memory, so its hits are RAM hits.
        "Buffer Hit Rate: 0.0000".to_owned(),
        "Buffer Hits: 0".to_owned(),
        format!("Storage Hits: {}", read_hits.saturating_sub(*ram_hits)),
        format!("Wraps: {}", counted.wraps),
        format!("Segments Skipped: {}", counted.skipped),
        format!("Mean Read Latency: {:.2} usec", mean_us(counted.device_reads)),
        format!("Mean Segment Read Latency: {:.2} usec", mean_us(counted.segment_reads)),
        format!("Mean Write Latency: {:.2} usec", mean_us(counted.segment_writes)),
    ];
    lines.join("\n") + "\n"
}

fn ratio_to_whole(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn mean_us(moved: Moved) -> f64 {
    moved.sum_ns as f64 / moved.count.max(1) as f64 / 1e3
}

fn mean_ms(ios: u64, sum_ns: u64) -> f64 {
    sum_ns as f64 / ios.max(1) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines are as the original printed them, in its quick start with a new cache.
    #[test]
    fn the_lines_of_a_cache_are_the_originals() {
        let device = assay_record::TargetHead { name: "mycache".into(), ..Default::default() };
        let head = |loaded| CacheHead { device: device.clone(), size_bytes: 10 << 20, loaded, ..CacheHead::default() };
        for (loaded, word) in [(false, "New"), (true, "Loaded")] {
            let text = banner_lines("dev", Some(&head(loaded)), [0; 3], 2, 30);
            assert!(
                text.contains(&format!("-----\nCache   : mycache ({word})\nC Size  : 0.01 GB\nASU1    : ")),
                "{text}"
            );
        }
        let counted = CacheCounters {
            reads: 2156,
            read_hits: 912,
            ram_hits: 912,
            invalidations: 480,
            invalidate_hits: 325,
            insertions: 1724,
            wraps: 1,
            segment_reads: Moved { count: 2, sum_ns: 1_236_140 },
            segment_writes: Moved { count: 10, sum_ns: 6_281_800 },
            ..CacheCounters::default()
        };
        let original = "Read Hit Rate: 0.4230\nInvalidate Hit Rate: 0.6771\nRead hits: 912\nInvalidate hits: 325\nReads: 2156\n\
                        Insertions: 1724\nEvictions: 0\nInvalidations: 480\n== Log Information ==\nRam Hit Rate: 1.0000\n\
                        Ram Hits: 912\nBuffer Hit Rate: 0.0000\nBuffer Hits: 0\nStorage Hits: 0\nWraps: 1\nSegments Skipped: 0\n\
                        Mean Read Latency: 0.00 usec\nMean Segment Read Latency: 618.07 usec\nMean Write Latency: 628.18 usec\n";
        assert_eq!(cache_lines(&counted), original);
    }

    /// The lines are as the original printed them.
    #[test]
    fn lines_are_the_originals() {
        let text = banner_lines("dev", None, [45 << 20, 45 << 20, 10 << 20], 2, 30);
        let original = "pblio (dev)\n-----\npblio\n-----\nCache   : None\nASU1    : 0.04 GB\nASU2    : 0.04 GB\nASU3    : 0.01 GB\n\
                        BSUs    : 2\nContexts: 1\nRun time: 30 s\n-----\n";
        assert_eq!(text, original);
        assert!(banner_lines("dev", None, [0; 3], 101, 30).contains("Contexts: 2\n"));
        let spaces = " ".repeat(35);
        assert_eq!(
            period_line(482, 482.0 / 96.24, 64_795_698),
            format!("ios:482 IOPS:96.24 Latency:0.1344 ms{spaces}\r")
        );
        let spaces = " ".repeat(24);
        let sum = (0.2630 * 2990.0 * 1e6) as u64;
        assert_eq!(
            average_line(2990, 2990.0 / 96.46, sum),
            format!("Avg IOPS:96.46  Avg Latency:0.2630 ms{spaces}\n\n")
        );
        assert_eq!(average_line(0, 30.0, 0), format!("Avg IOPS:0.00  Avg Latency:0.0000 ms{spaces}\n\n"));
    }
}
