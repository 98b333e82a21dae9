//! Sizes given as histograms, and the points from which operations are drawn.
//!
//! A histogram of shares over growing sizes says how many operations lie in each bucket, but not where in it. One
//! parameter says that, the position: 100 % puts every size of a bucket at its lower bound, as the original example
//! does. Other values spread the sizes evenly, as far as the bucket allows, around that share of the lower bound: at
//! 150 % they fill a bucket from a power of two to the next, at 200 % all lie at its upper bound. Below 100 % they lie
//! under the lower bound.

use assay_base::{Bytes, Share};

/// Number of parts of equal weight into which a bucket is divided where sizes are spread: rounding up to blocks then
/// moves only a few of them at a time, so that the mean size follows the position smoothly.
const PARTS: u64 = 16;
/// Weight of the whole, in parts of a share.
const WHOLE: u64 = Share::WHOLE.as_ppb();
/// Records are stored in multiples of this (ACT README, `record-bytes`).
pub(super) const STORED_UNIT: u64 = 16;
/// Upper bound on the lines of a histogram.
pub(crate) const LINES_MAX: usize = 4096;
/// Largest size.
pub(crate) const LARGEST: u64 = 64 << 20;

/// How large operations are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// For growing sizes, the share of the operations that are larger.
    LargerThan(Vec<(Bytes, Share)>),
    /// The shares of the operations that have these sizes; they need not sum to 100 %, only their proportion counts.
    Each(Vec<(Bytes, Share)>),
}

/// Sizes in bytes with their weights, growing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Points(pub Vec<(u64, u64)>);

impl Points {
    /// The mean size in bytes.
    pub fn mean_bytes(&self) -> f64 {
        let weight: f64 = self.0.iter().map(|(_, weight)| *weight as f64).sum();
        let bytes: f64 = self.0.iter().map(|(size, weight)| *size as f64 * *weight as f64).sum();
        if weight > 0.0 { bytes / weight } else { 0.0 }
    }

    /// Each size rounded up to whole multiples of `unit`.
    pub fn in_units(&self, unit: u64) -> Points {
        from_weights(self.0.iter().map(|(size, weight)| (size.next_multiple_of(unit.max(1)), *weight)))
    }

    /// The share of operations that are larger than `size`.
    pub fn larger_than(&self, size: u64) -> f64 {
        let larger: f64 = self.0.iter().filter(|(s, _)| *s > size).map(|(_, weight)| *weight as f64).sum();
        let all: f64 = self.0.iter().map(|(_, weight)| *weight as f64).sum();
        larger / all.max(1.0)
    }
}

fn from_weights(points: impl Iterator<Item = (u64, u64)>) -> Points {
    let mut all = std::collections::BTreeMap::<u64, u64>::new();
    points.filter(|(_, weight)| *weight > 0).for_each(|(size, weight)| *all.entry(size).or_default() += weight);
    Points(all.into_iter().collect())
}

impl Sizes {
    /// Why these are not valid sizes: the line, counted from 0, what is wrong, and what to do.
    pub fn why_invalid(&self) -> Option<(usize, String, String)> {
        let (Sizes::LargerThan(lines) | Sizes::Each(lines)) = self;
        if lines.is_empty() || lines.len() > LINES_MAX {
            let what = format!("a histogram of {} lines", lines.len());
            return Some((0, what, format!("write 1 to {LINES_MAX}")));
        }
        for (at, (size, share)) in lines.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| lines[before]);
            if size.get() == 0 || size.get() > LARGEST {
                let remedy = format!("write 1B to {}", Bytes::new(LARGEST));
                return Some((at, format!("{size} is not a possible size of an operation"), remedy));
            }
            if *share > Share::WHOLE {
                return Some((at, format!("a share of {share} is more than all"), "write at most 100%".into()));
            }
            if before.is_some_and(|(smaller, _)| smaller >= *size) {
                return Some((at, format!("{size} does not grow"), "write the sizes in growing order".into()));
            }
            if let (Sizes::LargerThan(_), Some((smaller, over))) = (self, before.filter(|(_, over)| over < share)) {
                let what = format!("{share} are larger than {size}, but only {over} are larger than {smaller}");
                return Some((at, what, "shares over growing sizes never rise: copy the row of the table anew".into()));
            }
        }
        let (last, share) = lines[lines.len() - 1];
        match self {
            Sizes::LargerThan(_) if share.as_ppb() > 0 => Some((
                lines.len() - 1,
                format!("{share} are larger than {last}, and how much larger is missing"),
                "collect the table with more columns (asloglatency -n 26), or end it with a share of 0%".into(),
            )),
            Sizes::Each(lines) if lines.iter().all(|(_, share)| share.as_ppb() == 0) => {
                Some((0, "no size has a share".into(), "give one of them a share above 0%".into()))
            }
            _ => None,
        }
    }

    /// The points from which operations are drawn. The sizes must be valid.
    pub fn points_at(&self, position: Share) -> Points {
        match self {
            Sizes::Each(lines) => from_weights(lines.iter().map(|(size, share)| (size.get(), share.as_ppb()))),
            Sizes::LargerThan(lines) => {
                let first = lines.first().map_or(1, |(size, _)| size.get());
                // The operations that are not larger than the first size lie in a bucket like those above it.
                let lower = [(first.div_ceil(2), WHOLE)];
                let over = lower.into_iter().chain(lines.iter().map(|(size, share)| (size.get(), share.as_ppb())));
                let over: Vec<(u64, u64)> = over.collect();
                let buckets = over.windows(2).map(|pair| (pair[0].0, pair[1].0, pair[0].1.saturating_sub(pair[1].1)));
                from_weights(buckets.flat_map(|(low, high, share)| bucket_points(low, high, share, position)))
            }
        }
    }
}

/// The points of one bucket: `PARTS` of equal weight over the range that the position gives.
fn bucket_points(low: u64, high: u64, share: u64, position: Share) -> Vec<(u64, u64)> {
    let (low, high, at) = (low as f64, high as f64, position.as_f64());
    let middle = (low * at).clamp(1.0, high.max(low * at.min(1.0)));
    let half = if middle <= low { 0.0 } else { (middle - low).min(high - middle).max(0.0) };
    if half < 1.0 {
        return vec![(middle.round() as u64, share)];
    }
    let mut parts = Vec::new();
    for i in 0..PARTS {
        let size = middle - half + 2.0 * half * (i as f64 + 0.5) / PARTS as f64;
        // A remainder goes to the first parts.
        parts.push((size.round() as u64, share / PARTS + u64::from(i < share % PARTS)));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(lines: &[(u64, f64)]) -> Sizes {
        let line = |(size, percent): &(u64, f64)| (Bytes::new(*size), Share::from_ppb((percent * 1e7).round() as u64));
        Sizes::LargerThan(lines.iter().map(line).collect())
    }

    /// The reads of the original example.
    fn example() -> Sizes {
        let over = [83.97, 68.26, 52.89, 38.48, 25.52, 12.65, 0.0];
        let lines = over.iter().zip(11u32..).map(|(&percent, i)| (1 << i, percent));
        sizes(&[(1024, 100.0)].into_iter().chain(lines).collect::<Vec<_>>())
    }

    #[test]
    fn at_100_percent_every_size_is_its_buckets_lower_bound() {
        let points = example().points_at(Share::WHOLE);
        let sizes: Vec<u64> = points.0.iter().map(|(size, _)| *size).collect();
        assert_eq!(sizes, [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536]);
        assert_eq!(points.0[0].1, 160_300_000);
        assert_eq!(points.0.iter().map(|(_, weight)| weight).sum::<u64>(), 1_000_000_000);
        // By hand: 0.1603 × 1024 + 0.1571 × 2048 + 0.1537 × 4096 + 0.1441 × 8192 + 0.1296 × 16384 + 0.1287 × 32768 + 0.1265 × 65536.
        assert!((points.mean_bytes() - 16_927.0).abs() < 1.0, "{}", points.mean_bytes());
    }

    #[test]
    fn shares_are_exact_and_the_mean_follows_the_position() {
        let lower = example().points_at(Share::WHOLE).mean_bytes();
        for percent in [101, 113, 125, 150, 175, 199, 200] {
            let points = example().points_at(Share::from_percent(percent));
            for (size, percent) in [(1024, 100.0), (2048, 83.97), (4096, 68.26), (65_536, 12.65), (131_072, 0.0)] {
                assert!((points.larger_than(size - 1) * 100.0 - percent).abs() < 16.1, "{size}");
            }
            let mean = points.mean_bytes() / lower;
            assert!((mean - percent as f64 / 100.0).abs() < 0.001, "{percent}%: {mean}");
        }
        let (half, whole) = (example().points_at(Share::from_percent(90)), lower * 0.9);
        assert!((half.mean_bytes() - whole).abs() < 1.0);
    }

    #[test]
    fn rounding_up_to_blocks_moves_the_mean_smoothly() {
        let mean = |percent| {
            example().points_at(Share::from_percent(percent)).in_units(STORED_UNIT).in_units(4096).mean_bytes()
        };
        for percent in 100..200 {
            let step = mean(percent + 1) / mean(percent) - 1.0;
            // The step from all sizes at a block boundary to above it is the largest.
            let most = if percent == 100 { 0.2 } else { 0.02 };
            assert!((0.0..most).contains(&step), "{percent}: {step}");
        }
    }

    #[test]
    fn what_lies_below_the_first_size_counts() {
        let points = sizes(&[(4096, 40.0), (8192, 0.0)]).points_at(Share::WHOLE);
        assert_eq!(points.0, [(2048, 600_000_000), (4096, 400_000_000)]);
    }

    #[test]
    fn sizes_as_they_are() {
        let half = Share::from_percent(50);
        let each = Sizes::Each(vec![(Bytes::new(512), half), (Bytes::new(4096), half)]);
        assert_eq!(each.points_at(Share::from_percent(150)).0, [(512, 500_000_000), (4096, 500_000_000)]);
        assert_eq!(each.points_at(half).in_units(4096).0, [(4096, 1_000_000_000)]);
    }

    #[test]
    fn what_is_no_histogram_says_where() {
        for (lines, at, what) in [
            (vec![], 0, "0 lines"),
            (vec![(0, 0.0)], 0, "not a possible size"),
            (vec![(1024, 101.0), (2048, 0.0)], 0, "more than all"),
            (vec![(1024, 50.0), (1024, 0.0)], 1, "does not grow"),
            (vec![(1024, 50.0), (2048, 60.0), (4096, 0.0)], 1, "60% are larger than 2KiB"),
            (vec![(1024, 50.0), (2048, 10.0)], 1, "how much larger"),
        ] {
            let (line, text, _) = sizes(&lines).why_invalid().unwrap();
            assert!(line == at && text.contains(what), "{lines:?}: {line} {text}");
        }
        assert_eq!(example().why_invalid(), None);
        assert!(Sizes::Each(vec![(Bytes::new(1), Share::default())]).why_invalid().is_some());
    }
}
