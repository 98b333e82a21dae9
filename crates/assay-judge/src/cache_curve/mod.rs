//! The share of reads that a cache would answer, for each size of the cache; computed from a workload's operations, without I/O.

mod page;
mod render;

pub use page::write_html;
pub use render::write_text;

use crate::judgement::skip::is_zero;
use serde::{Deserialize, Serialize};

/// The version of the JSON shape.
pub const SCHEMA: u32 = 1;

/// A computed curve, with everything needed to compute it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheCurve {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The workload's name.
    pub workload: String,
    /// The targets; their sizes decide the offsets of operations.
    pub targets: Vec<String>,
    /// The seed of the operations.
    pub seed: u64,
    /// Which block is evicted: `lru`, `fifo`, `clock` or `log`.
    pub policy: String,
    /// What a write does with a block that is not in the cache: `allocate` or `around`.
    pub writes: String,
    /// Size of a block of the cache in bytes.
    pub block_bytes: u64,
    /// Number of operations.
    pub operations: u64,
    /// Of these, the number that bypass the cache: of an OLTP load those on the log.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bypassed: u64,
    /// Number of blocks read through the cache; `written_blocks` is the number written.
    pub read_blocks: u64,
    /// See `read_blocks`.
    pub written_blocks: u64,
    /// Different blocks; an estimate where only a part is followed.
    pub different_blocks: u64,
    /// One of this many blocks was followed; 1 means all.
    pub one_of: u64,
    /// The share of the blocks read that were accessed for the first time, which no cache answers (0 to 1).
    pub cold: f64,
    /// The points, by ascending size.
    pub points: Vec<Point>,
    /// Index of the knee among the points; see [`index_of_knee`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<usize>,
}

/// A cache of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its size.
    pub bytes: u64,
    /// The share of the blocks read that it answers (0 to 1).
    pub hits: f64,
    /// One standard error of that share, where only a part of the blocks was followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

/// The smallest distance from the straight line that counts as a knee.
const STANDS_OUT: f64 = 0.05;

/// The point furthest above the straight line from the first point to the last, with sizes on a logarithmic scale and both axes
/// scaled to 1: beyond it, more cache brings less than the average (V. Satopää, J. Albrecht, D. Irwin, B. Raghavan, "Finding a
/// 'kneedle' in a haystack", ICDCS workshops 2011, without its smoothing). `None` where no point stands out.
pub fn index_of_knee(points: &[Point]) -> Option<usize> {
    let (first, last) = (points.first()?, points.last()?);
    let (width, height) = ((last.bytes as f64 / first.bytes.max(1) as f64).log2(), last.hits - first.hits);
    if width <= 0.0 || height <= 0.0 {
        return None;
    }
    let best = points
        .iter()
        .enumerate()
        .max_by(|a, b| height_above_line(a.1, first, last).total_cmp(&height_above_line(b.1, first, last)))?;
    (height_above_line(best.1, first, last) >= STANDS_OUT).then_some(best.0)
}

/// How far a point lies above the straight line between the first and the last, both scaled to 1.
fn height_above_line(point: &Point, first: &Point, last: &Point) -> f64 {
    let (width, height) = ((last.bytes as f64 / first.bytes.max(1) as f64).log2(), last.hits - first.hits);
    (point.hits - first.hits) / height - (point.bytes as f64 / first.bytes.max(1) as f64).log2() / width
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(hits: &[f64]) -> Vec<Point> {
        hits.iter().enumerate().map(|(at, hits)| Point { bytes: 1 << (12 + at), hits: *hits, error: None }).collect()
    }

    #[test]
    fn the_knee_is_where_more_brings_less() {
        assert_eq!(index_of_knee(&points(&[0.0, 0.4, 0.8, 0.85, 0.9])), Some(2));
        for none in [&[][..], &[0.5], &[0.0, 0.25, 0.5, 0.75], &[0.3, 0.3, 0.3], &[0.0, 0.0, 0.0, 0.9]] {
            assert_eq!(index_of_knee(&points(none)), None, "{none:?}");
        }
    }

    #[test]
    fn every_form_says_the_same_and_no_name_becomes_markup() {
        let points = points(&[0.0, 0.4, 0.8, 0.85, 0.9]);
        let curve = CacheCurve {
            schema: SCHEMA,
            workload: "<b>orders\u{1b}".into(),
            targets: vec!["null:1TiB".into()],
            seed: 7,
            policy: "lru".into(),
            writes: "allocate".into(),
            block_bytes: 4096,
            operations: 1000,
            bypassed: 281,
            read_blocks: 900,
            written_blocks: 100,
            different_blocks: 90,
            one_of: 1,
            cold: 0.1,
            knee: index_of_knee(&points),
            points,
        };
        let (mut page, mut words) = (String::new(), String::new());
        write_html(&curve, &mut page).unwrap();
        write_text(&curve, &mut words).unwrap();
        assert!(page.contains("&#60;b&#62;orders") || page.contains("&lt;b&gt;orders"), "{page}");
        assert!(!page.contains("<b>orders") && !words.contains('\u{1b}'));
        for (what, shown) in [
            ("the knee", "16 KiB"),
            ("its share", "80.0%"),
            ("what is cold", "10.0%"),
            ("what bypasses", "281 of them bypass the cache"),
        ] {
            assert!(page.contains(shown) && words.contains(shown), "{what}: {words}");
        }
        assert!(words.lines().all(|line| line.chars().count() <= 80), "{words}");
        let back: CacheCurve = serde_json::from_str(&serde_json::to_string(&curve).unwrap()).unwrap();
        assert_eq!(back, curve);
    }
}
