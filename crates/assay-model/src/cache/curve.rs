//! The share of reads that a cache answers, for each size of the cache.
//!
//! For LRU (least recently used), one pass that computes stack distances gives all sizes; the other policies are
//! simulated once for each size. If there are too many accesses to follow all blocks, only a sample of the blocks is
//! followed, chosen by a hash of their numbers: with one of N blocks, a distance within the sample stands for N times
//! that distance (C. A. Waldspurger, N. Park, A. Garthwaite, I. Ahmad, "Efficient MRC construction with SHARDS", FAST
//! 2015). The sample is followed in eight groups, whose variance gives the error of the curve.

use super::distances::Distances;
use super::taken::{CacheDecision, block_names};
use super::{Blocks, Cache, Policy, Writes, mix_block};
use assay_base::cached::Ranges;
use assay_base::{Direction, Op};
use serde::{Deserialize, Serialize};

/// Groups of followed blocks.
const GROUPS: u64 = 8;

/// The parameters of a curve.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Which block is evicted.
    pub policy: Policy,
    /// What a write does with a block that is not in the cache.
    pub writes: Writes,
    /// One block of this many is followed; 1 follows all blocks.
    pub one_of: u64,
    /// Blocks of a segment of the policy `log`.
    pub segment: u64,
}

/// A point of the curve: one size of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The size of the cache in blocks.
    pub blocks: u64,
    /// The share of the reads that are hits (0 to 1).
    pub hits: f64,
    /// The standard error of the share, if only a sample of the blocks is followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

/// Follows accesses and gives the curve.
#[derive(Debug)]
pub struct CacheCurve {
    settings: Settings,
    /// Sizes in blocks, ascending.
    sizes: Vec<u64>,
    groups: Vec<Group>,
    reads: u64,
    writes: u64,
    bypassed: u64,
}

/// A group of blocks.
#[derive(Debug)]
struct Group {
    follow: Follow,
    reads: u64,
    /// Reads that are the first access to their block.
    cold: u64,
    /// For each size, the reads that hit in a cache of that size but not in one of the size before.
    hits: Vec<u64>,
}

#[derive(Debug)]
enum Follow {
    Lru(Distances),
    /// One simulated cache for each size, and the blocks that were accessed so far.
    Each(Vec<Cache>, Blocks<()>),
}

impl CacheCurve {
    /// A curve for caches that hold these numbers of blocks.
    pub fn new(settings: Settings, mut sizes: Vec<u64>) -> CacheCurve {
        sizes.sort_unstable();
        sizes.dedup();
        let groups = if settings.one_of > 1 { GROUPS } else { 1 };
        let share = settings.one_of.max(1) * groups;
        let groups = (0..groups).map(|_| Group::new(&settings, &sizes, share)).collect();
        CacheCurve { settings, groups, sizes, reads: 0, writes: 0, bypassed: 0 }
    }

    /// An operation of a load: the cache takes of it what lies in `ranges`, in the way of the settings' policy.
    pub fn follow_operation(&mut self, ranges: &Ranges, op: &Op) {
        match CacheDecision::new(self.settings.policy, ranges, op) {
            CacheDecision::Beside => self.bypassed += 1,
            CacheDecision::Blocks(touched) => {
                block_names(touched).for_each(|block| self.access_block(block, op.direction))
            }
            CacheDecision::Removed(touched) => block_names(touched).for_each(|block| self.forget_block(block)),
        }
    }

    /// Number of operations that bypassed the cache.
    pub fn bypassed_operations(&self) -> u64 {
        self.bypassed
    }

    fn forget_block(&mut self, block: u64) {
        self.writes += 1;
        let of = self.groups.len() as u64;
        if let Follow::Each(caches, _) = &mut self.groups[(mix_block(block) % of) as usize].follow {
            caches.iter_mut().for_each(|cache| cache.forget_block(block));
        }
    }

    /// An access to one block.
    pub fn access_block(&mut self, block: u64, direction: Direction) {
        match direction {
            Direction::Read => self.reads += 1,
            Direction::Write => self.writes += 1,
        }
        let of = self.groups.len() as u64;
        let hash = mix_block(block);
        if self.settings.one_of > 1 && !(hash >> 8).is_multiple_of(self.settings.one_of) {
            return;
        }
        let (scale, group) = (self.settings.one_of.max(1) * of, &mut self.groups[(hash % of) as usize]);
        group.access_block(block, direction, &Rules { scale, sizes: &self.sizes, writes: self.settings.writes });
    }

    /// Number of reads followed so far.
    pub fn reads_followed(&self) -> u64 {
        self.reads
    }

    /// Number of writes followed so far.
    pub fn writes_followed(&self) -> u64 {
        self.writes
    }

    /// Number of different blocks; an estimate if only a sample of them is followed.
    pub fn different_blocks(&self) -> u64 {
        let seen: u64 = self.groups.iter().map(Group::different_blocks).sum();
        seen * self.settings.one_of.max(1)
    }

    /// The share of reads that miss at every size, because they are the first access to their block (0 to 1).
    pub fn cold_share(&self) -> f64 {
        let (cold, reads) = self.groups.iter().fold((0, 0), |(cold, reads), it| (cold + it.cold, reads + it.reads));
        if reads == 0 { 0.0 } else { cold as f64 / reads as f64 }
    }

    /// The points of the curve.
    pub fn curve_points(&self) -> Vec<Point> {
        let shares: Vec<Vec<f64>> = self.groups.iter().map(Group::hit_shares).collect();
        let weights: Vec<f64> = self.groups.iter().map(|group| group.reads as f64).collect();
        let all: f64 = weights.iter().sum();
        let mut points = Vec::with_capacity(self.sizes.len());
        for (at, blocks) in self.sizes.iter().enumerate() {
            let hits = shares.iter().zip(&weights).map(|(of, weight)| of[at] * weight).sum::<f64>() / all.max(1.0);
            let error = (self.settings.one_of > 1).then(|| {
                let off: f64 = shares.iter().zip(&weights).map(|(of, weight)| (weight * (of[at] - hits)).powi(2)).sum();
                let groups = self.groups.len() as f64;
                (off * groups / (groups - 1.0)).sqrt() / all.max(1.0)
            });
            points.push(Point { blocks: *blocks, hits, error });
        }
        points
    }
}

/// What all groups of a curve have in common.
struct Rules<'a> {
    /// How many blocks of the load stand for one block that is followed.
    scale: u64,
    /// The sizes of caches, in blocks.
    sizes: &'a [u64],
    writes: Writes,
}

/// One of `share` of a number of blocks, at least one block of any.
fn part_of(blocks: u64, share: u64) -> u64 {
    (blocks / share).max(u64::from(blocks > 0))
}

impl Group {
    /// A group without an access, which follows one of `share` of all blocks in caches of these sizes.
    fn new(settings: &Settings, sizes: &[u64], share: u64) -> Group {
        let segment = part_of(settings.segment, share);
        let follow = match settings.policy {
            Policy::Lru => Follow::Lru(Distances::new()),
            policy => {
                let caches =
                    sizes.iter().map(|size| Cache::new(policy, settings.writes, part_of(*size, share), segment));
                Follow::Each(caches.collect(), Blocks::default())
            }
        };
        Group { follow, reads: 0, cold: 0, hits: vec![0; sizes.len()] }
    }

    fn access_block(&mut self, block: u64, direction: Direction, rules: &Rules<'_>) {
        let Rules { scale, sizes, writes } = *rules;
        let is_read = direction == Direction::Read;
        self.reads += u64::from(is_read);
        match &mut self.follow {
            Follow::Lru(distances) => {
                let touches = writes.changes_cache(direction);
                let distance = if touches { distances.access_block(block) } else { distances.stack_distance(block) };
                match distance {
                    _ if !is_read => {}
                    None => self.cold += 1,
                    // An access is a hit in a cache that holds more blocks than the distance.
                    Some(distance) => {
                        let at = sizes.partition_point(|size| *size <= distance.saturating_mul(scale));
                        if let Some(hits) = self.hits.get_mut(at) {
                            *hits += 1;
                        }
                    }
                }
            }
            Follow::Each(caches, seen) => {
                let is_first = writes.changes_cache(direction) && seen.insert(block, ()).is_none();
                self.cold += u64::from(is_read && is_first);
                for (cache, hits) in caches.iter_mut().zip(&mut self.hits) {
                    let hit = cache.access_block(block, direction);
                    *hits += u64::from(is_read && hit);
                }
            }
        }
    }

    fn different_blocks(&self) -> u64 {
        match &self.follow {
            Follow::Lru(distances) => distances.blocks_seen(),
            Follow::Each(_, seen) => seen.len() as u64,
        }
    }

    /// The share of the group's reads that are hits, for each size.
    fn hit_shares(&self) -> Vec<f64> {
        let reads = self.reads.max(1) as f64;
        let mut sum = 0;
        let mut shares = Vec::with_capacity(self.hits.len());
        for hits in &self.hits {
            shares.push(match self.follow {
                Follow::Lru(_) => {
                    sum += hits;
                    sum as f64 / reads
                }
                Follow::Each(..) => *hits as f64 / reads,
            });
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;

    const BLOCKS: u64 = 20_000;

    /// Draws ranks of a Zipf law from its cumulative sum: slow and simple.
    struct Zipf(Vec<f64>);

    impl Zipf {
        fn new(theta: f64, n: u64) -> Zipf {
            let mut sum = 0.0;
            Zipf(
                (1..=n)
                    .map(|rank| {
                        sum += (rank as f64).powf(-theta);
                        sum
                    })
                    .collect(),
            )
        }

        fn draw(&self, prng: &mut Prng) -> u64 {
            let u = prng.uniform_below(1 << 53) as f64 / (1u64 << 53) as f64 * self.0[self.0.len() - 1];
            self.0.partition_point(|sum| *sum <= u) as u64
        }

        fn shares(&self) -> Vec<f64> {
            let all = self.0[self.0.len() - 1];
            let mut before = 0.0;
            self.0.iter().map(|sum| (sum - std::mem::replace(&mut before, *sum)) / all).collect()
        }
    }

    /// The long-run hit share of an LRU cache (H. Che, Y. Tung, Z. Wang, "Hierarchical web caching systems", IEEE JSAC
    /// 20 (7), 2002): if C different blocks are accessed within a time T, where C is the size of the cache, a block
    /// that is accessed with probability p is in the cache with probability 1 − e^(−pT).
    fn che(shares: &[f64], blocks: u64) -> f64 {
        let there = |time: f64| shares.iter().map(|p| 1.0 - (-p * time).exp()).sum::<f64>();
        let (mut low, mut high) = (0.0, 1.0);
        while there(high) < blocks as f64 {
            high *= 2.0;
        }
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if there(middle) < blocks as f64 { low = middle } else { high = middle }
        }
        shares.iter().map(|p| p * (1.0 - (-p * high).exp())).sum()
    }

    fn settings(policy: Policy, one_of: u64) -> Settings {
        Settings { policy, writes: Writes::Allocate, one_of, segment: 128 }
    }

    #[test]
    fn zipf_is_as_ches_approximation_within_a_point() {
        let sizes = vec![20, 200, 2000, 10_000];
        for theta in [0.8, 1.0, 1.2] {
            let law = Zipf::new(theta, BLOCKS);
            let mut prng = Prng::from_seed(11);
            let mut curve = CacheCurve::new(settings(Policy::Lru, 1), sizes.clone());
            // The first half fills the cache and is not counted.
            (0..500_000).for_each(|_| curve.access_block(law.draw(&mut prng), Direction::Read));
            let before: Vec<f64> = curve.curve_points().iter().map(|point| point.hits * 0.5).collect();
            (0..500_000).for_each(|_| curve.access_block(law.draw(&mut prng), Direction::Read));
            for ((point, before), size) in curve.curve_points().iter().zip(before).zip(&sizes) {
                let (hits, expected) = ((point.hits - before) * 2.0, che(&law.shares(), *size));
                assert!((hits - expected).abs() < 0.01, "{theta} {size}: {hits} beside {expected}");
            }
        }
    }

    #[test]
    fn all_sizes_at_once_are_each_size_by_itself() {
        let sizes = vec![0, 1, 10, 100, 1000, BLOCKS];
        let law = Zipf::new(0.9, BLOCKS);
        for writes in [Writes::Allocate, Writes::Around] {
            let mut prng = Prng::from_seed(5);
            let mut curve =
                CacheCurve::new(Settings { policy: Policy::Lru, writes, one_of: 1, segment: 128 }, sizes.clone());
            let mut caches: Vec<(Cache, u64)> =
                sizes.iter().map(|size| (Cache::new(Policy::Lru, writes, *size, 1), 0)).collect();
            let mut reads = 0;
            for _ in 0..100_000 {
                let block = law.draw(&mut prng);
                let direction = if prng.uniform_below(10) < 3 { Direction::Write } else { Direction::Read };
                curve.access_block(block, direction);
                reads += u64::from(direction == Direction::Read);
                for (cache, hits) in &mut caches {
                    *hits += u64::from(cache.access_block(block, direction) && direction == Direction::Read);
                }
            }
            for (point, (_, hits)) in curve.curve_points().iter().zip(caches) {
                assert_eq!((point.hits * reads as f64).round() as u64, hits, "{writes:?} {}", point.blocks);
            }
            assert_eq!((curve.reads_followed(), curve.reads_followed() + curve.writes_followed()), (reads, 100_000));
        }
    }

    #[test]
    fn a_part_of_the_blocks_gives_the_curve_within_its_error() {
        let law = Zipf::new(0.8, BLOCKS * 10);
        let sizes = vec![2000, 20_000, 80_000];
        for policy in [Policy::Lru, Policy::Fifo, Policy::Clock] {
            let mut whole = CacheCurve::new(settings(policy, 1), sizes.clone());
            let mut part = CacheCurve::new(settings(policy, 8), sizes.clone());
            let mut prng = Prng::from_seed(17);
            for _ in 0..600_000 {
                let block = law.draw(&mut prng);
                whole.access_block(block, Direction::Read);
                part.access_block(block, Direction::Read);
            }
            for (whole, part) in whole.curve_points().iter().zip(part.curve_points()) {
                let error = part.error.unwrap();
                assert!(error > 0.0 && error < 0.05, "{policy} {}: {error}", part.blocks);
                let off = (part.hits - whole.hits).abs();
                assert!(off < 4.0 * error + 0.005, "{policy} {}: {off} with an error of {error}", part.blocks);
            }
            let off = part.different_blocks() as f64 / whole.different_blocks() as f64 - 1.0;
            assert!(off.abs() < 0.05, "{off}");
        }
    }

    #[test]
    fn a_scan_of_one_more_than_the_cache_holds_hits_nothing_and_first_accesses_are_cold() {
        let mut curve = CacheCurve::new(settings(Policy::Lru, 1), vec![100, 101]);
        for access in 0..1010 {
            curve.access_block(access % 101, Direction::Read);
        }
        let hits: Vec<f64> = curve.curve_points().iter().map(|point| point.hits).collect();
        assert_eq!((hits, curve.cold_share(), curve.different_blocks()), (vec![0.0, 0.9], 0.1, 101));
        let nothing = CacheCurve::new(settings(Policy::Clock, 1), vec![1]);
        assert_eq!((nothing.curve_points()[0].hits, nothing.cold_share()), (0.0, 0.0));
    }
}
