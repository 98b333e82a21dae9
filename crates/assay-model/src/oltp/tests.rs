//! The load compared with what the published generator did over runs of two million operations (`tests/spc1/bands.json`
//! has the smallest and the largest value of 19 runs).

use super::*;
use crate::cache::{CacheCurve, Policy, Settings, Writes};
use crate::oltp::NAMES;
use serde_json::Value;
use std::collections::HashSet;

const OPERATIONS: usize = 2_000_000;
/// Sizes of the storage of all ASUs in blocks: 10 GiB and 100 GiB.
const SIZES: [u64; 2] = [10 << 18, 100 << 18];

fn bands() -> Value {
    serde_json::from_str(include_str!("../../tests/spc1/bands.json")).unwrap()
}

/// The sizes of ASUs that divide this many blocks as the benchmark does: 45 %, 45 % and 10 %.
fn asus(blocks: u64) -> [u64; 3] {
    trimmed_sizes([blocks * 45 / 100, blocks * 45 / 100, blocks / 10], 1).unwrap()
}

fn sequence(blocks: u64, bsus: u32, shares: ReadShares, seed: u64) -> Sequence {
    Sequence::new(asus(blocks), bsus, bsus.div_ceil(100), shares, Prng::from_seed(seed))
}

/// What the operations of one stream did.
#[derive(Clone, Default)]
struct Seen {
    count: f64,
    reads: f64,
    blocks: f64,
    lengths: [f64; 17],
    least: f64,
    most: f64,
    even: f64,
    writes_on_eighth: f64,
    repeated: f64,
    last_write: Option<u64>,
    continued: f64,
    end: Option<u64>,
    leaf: Option<u64>,
    levels: [f64; 32],
}

impl Seen {
    fn add(&mut self, access: &Access, asu: u64, region: Option<u64>) {
        let Access { block, blocks, direction, .. } = *access;
        let position = block as f64 / asu as f64;
        self.least = if self.count == 0.0 { position } else { self.least.min(position) };
        self.most = self.most.max((block + u64::from(blocks)) as f64 / asu as f64);
        self.count += 1.0;
        self.blocks += f64::from(blocks);
        self.lengths[blocks as usize] += 1.0;
        self.even += f64::from(u8::from(block % 2 == 0));
        self.continued += f64::from(u8::from(self.end == Some(block)));
        self.end = Some(block + u64::from(blocks));
        let leaf = region.map(|begin| (block - begin) / 8);
        if let (Some(leaf), Some(last)) = (leaf, self.leaf) {
            self.levels[64 - (leaf ^ last).leading_zeros() as usize] += 1.0;
        }
        self.leaf = leaf;
        match direction {
            Direction::Read => self.reads += 1.0,
            Direction::Write => {
                self.writes_on_eighth += f64::from(u8::from(leaf.is_some_and(|leaf| leaf % 8 == 0)));
                self.repeated += f64::from(u8::from(self.last_write.replace(block) == Some(block)));
            }
        }
    }
}

/// Checks that a share of `of` draws lies within a band that the runs of the original gave, widened by 4 standard
/// deviations of the share.
fn within(name: &str, share: f64, of: f64, band: &Value) {
    let [least, most] = [0, 1].map(|at| band[at].as_f64().unwrap());
    let room = 4.0 * (share * (1.0 - share) / of).max(0.0).sqrt() + 1e-9;
    assert!((least - room..=most + room).contains(&share), "{name}: {share}, band {least} to {most}");
}

#[test]
fn each_stream_does_what_the_published_generator_does() {
    let bands = bands();
    let mut sequence = sequence(SIZES[0], 1, ReadShares::Published, 1);
    let asus = asus(SIZES[0]);
    let mut seen = vec![Seen::default(); 8];
    for _ in 0..OPERATIONS {
        let access = sequence.next_access();
        let region = [1, 3, 5].iter().position(|stream| *stream == access.stream);
        let begin = region.map(|at| asus[access.asu] * [15, 70, 47][at] / 100);
        assert!(access.block + u64::from(access.blocks) <= asus[access.asu]);
        seen[access.stream].add(&access, asus[access.asu], begin);
    }
    let (all, reads): (f64, f64) = seen.iter().fold((0.0, 0.0), |(all, reads), it| (all + it.count, reads + it.reads));
    within("reads", reads / all, all, &bands["global"]["read_ratio"]);
    let mean = seen.iter().map(|it| it.blocks).sum::<f64>() / all;
    assert!((1.99..2.015).contains(&mean), "{mean} blocks");
    for (at, it) in seen.iter().enumerate() {
        let (band, name) = (&bands["streams"][at], NAMES[at]);
        let writes = it.count - it.reads;
        within(name, it.count / all, all, &band["share"]);
        within(name, it.reads / it.count, it.count, &band["read_ratio"]);
        for length in [1, 2, 4, 8, 16] {
            within(name, it.lengths[length] / it.count, it.count, &band["len_hist"][length.to_string()]);
        }
        // There are only a few starts of sequential runs, so their extremes differ between test runs, as in the
        // original.
        let slack = if matches!(at, 2 | 6 | 7) { 0.1 } else { 0.0005 };
        let [least, most] = ["min_pos_frac", "max_end_frac"].map(|key| [0, 1].map(|i| band[key][i].as_f64().unwrap()));
        assert!((least[0] - slack..=least[1] + slack).contains(&it.least), "{name}: from {}", it.least);
        assert!((most[0] - slack..=most[1] + slack).contains(&it.most), "{name}: to {}", it.most);
        within(name, it.even / it.count, it.count, &band["even_pos"]);
        if let Some(band) = band.get("seq_continuation") {
            within(name, it.continued / it.count, it.count, band);
        }
        let Some(levels) = band.get("walk_level_hist_bsu1").and_then(Value::as_array) else { continue };
        assert_eq!(it.writes_on_eighth, writes, "{name}: every write is in an eighth leaf");
        within(name, it.repeated / writes, writes, &band["write_eq_prev_write_bsu1"]);
        // The band is a mean that includes regions of other sizes, and the smallest of these have no high levels.
        for (level, share) in levels.iter().enumerate().take(13) {
            let (ours, theirs) = (it.levels[level] / (it.count - 1.0), share.as_f64().unwrap());
            assert!((ours - theirs).abs() < 0.008, "{name}, level {level}: {ours}, there {theirs}");
        }
    }
}

#[test]
fn the_specification_reads_less() {
    let mut sequence = sequence(SIZES[0], 1, ReadShares::Spc1, 1);
    let reads = (0..OPERATIONS).filter(|_| sequence.next_access().direction == Direction::Read).count();
    let share = reads as f64 / OPERATIONS as f64;
    // 0.3944 is the sum over the streams of their share of the operations times their share of reads.
    assert!((share - 0.3944).abs() < 0.002, "{share}");
}

#[test]
fn different_blocks_grow_as_there() {
    let bands = bands();
    for (size, run) in SIZES.into_iter().zip(["b1_10GiB_seed1", "b1_100GiB_seed1"]) {
        let (mut sequence, asus) = (sequence(size, 1, ReadShares::Published, 1), asus(size));
        let mut seen: [HashSet<u64>; 5] = Default::default();
        let mut done = 0;
        for row in bands["unique"][run].as_array().unwrap() {
            let of = row[0].as_u64().unwrap() as usize;
            for access in (done..of).map(|_| sequence.next_access()).filter(|access| access.asu < 2) {
                for block in access.block..access.block + u64::from(access.blocks) {
                    if let Some(at) = [1, 3, 5].iter().position(|stream| *stream == access.stream) {
                        seen[at].insert(block);
                    }
                    seen[3 + access.asu].insert(asus[0] * access.asu as u64 + block);
                }
            }
            done = of;
            for (at, own) in seen.iter().enumerate() {
                let (ours, theirs) = (own.len() as f64, row[at + 1].as_f64().unwrap());
                // A whole ASU contains a few sequential runs. The later figures depend on how far these overlap, and in
                // the original that differs by a quarter from seed to seed.
                if at >= 3 && of > 200_000 {
                    continue;
                }
                let share = if at < 3 { 0.02 } else { 0.05 };
                let room = share * theirs + 6.0 * theirs.sqrt();
                assert!((ours - theirs).abs() <= room, "{run}, {of} operations, set {at}: {ours}, there {theirs}");
            }
        }
    }
}

#[test]
fn a_cache_answers_as_many_reads_as_there() {
    let bands = bands();
    let asu = asus(SIZES[0])[0];
    let of = &bands["mrc"]["b1_10GiB"];
    for (set, stream) in [("stream1_ASU1_2_HRRW", Some(1)), ("stream3_ASU1_4_HRRW", Some(3)), ("ASU1_all", None)] {
        let points = of[set].as_array().unwrap();
        let blocks = |point: &Value| (point[0].as_f64().unwrap() * asu as f64).ceil() as u64;
        let sizes: Vec<u64> = points.iter().map(blocks).collect();
        let settings = Settings { policy: Policy::Lru, writes: Writes::Allocate, one_of: 1, segment: 128 };
        let mut curve = CacheCurve::new(settings, sizes.clone());
        let mut sequence = sequence(SIZES[0], 1, ReadShares::Published, 1);
        for access in (0..OPERATIONS).map(|_| sequence.next_access()) {
            if access.asu == 0 && stream.is_none_or(|stream| stream == access.stream) {
                (0..u64::from(access.blocks)).for_each(|at| curve.access_block(access.block + at, access.direction));
            }
        }
        let ours = curve.curve_points();
        // In a whole ASU the overlap of a few sequential runs decides the points from a tenth on: there, different
        // seeds of the original are 3 percentage points apart.
        for point in points.iter().filter(|point| stream.is_some() || point[0].as_f64().unwrap() < 0.1) {
            let hits = ours.iter().find(|it| it.blocks == blocks(point)).unwrap().hits;
            let theirs = 1.0 - point[1].as_f64().unwrap();
            assert!((hits - theirs).abs() < 0.01, "{set}, {} blocks: {hits}, there {theirs}", blocks(point));
        }
    }
}

#[test]
fn small_storage_is_scaled_and_too_small_storage_refused() {
    assert_eq!(trimmed_sizes([90, 100, 30], 1), Some([90, 90, 20]));
    assert_eq!(trimmed_sizes([90, 100, 19], 1), Some([86, 86, 19]), "a part of a block is what it lacks");
    assert_eq!(trimmed_sizes([90, 100, 17], 1), None, "the third has a ninth of both others");
    assert_eq!(trimmed_sizes([90, 100, 17], 2), Some([77, 77, 17]), "of each of two pieces");
    assert_eq!(trimmed_sizes([60, 60, 60], 1), None, "no operation of 16 blocks fits");
    assert_eq!(trimmed_sizes([72, 72, 15], 1), None, "also of what is there");
    let asus = [1152, 1152, 256];
    let mut sequence = Sequence::new(asus, 1, 1, ReadShares::Published, Prng::from_seed(7));
    let mut most = [0; 8];
    for access in (0..200_000).map(|_| sequence.next_access()) {
        let end = access.block + u64::from(access.blocks);
        assert!(end <= asus[access.asu], "{access:?}");
        most[access.stream] = end.max(most[access.stream]);
    }
    assert_eq!(most[0], 1152);
    assert!((229..=231).contains(&most[1]), "the region ends at 20 %: {}", most[1]);
}

#[test]
fn contexts_do_not_share_what_was_read() {
    // Two BSUs of one context continue each other's order of the blocks in a leaf; with two contexts, each BSU begins
    // anew.
    let reads = |contexts: u32| {
        let mut sequence = Sequence::new(asus(SIZES[0]), 2, contexts, ReadShares::Published, Prng::from_seed(3));
        let own = (0..400_000).map(|_| sequence.next_access());
        let own = own.filter(|access| access.stream == 1 && access.direction == Direction::Read);
        own.map(|access| access.block).collect::<HashSet<u64>>().len()
    };
    assert!(reads(2) < reads(1), "blocks come twice where there are two contexts");
}
