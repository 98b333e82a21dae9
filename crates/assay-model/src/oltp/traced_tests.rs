//! The load on small stores and its curve, held against operations of the published generator: `tests/spc1/small.json` has
//! the shares of reads that LRU caches answered over two million operations of each of 21 seeds, and
//! `tests/spc1/trace.txt` ten thousand operations, each as ASU, `r` or `w`, first block, and number of blocks.

use super::*;
use crate::cache::{CacheCurve, Policy, Settings, Writes};
use assay_base::Op;
use assay_base::cached::{Range, Ranges};
use serde_json::Value;

const BLOCK: u64 = 4096;
/// The stores and the log of the page of OLTP loads in blocks: 45 MiB each, and 10 MiB.
const ASUS: [u64; 3] = [11_520, 11_520, 2560];

/// The shares of reads that LRU caches of 230, 1024 and 2048 blocks answer of the recorded trace, as a program in C
/// counted them.
const ELSEWHERE: [f64; 3] = [0.3148, 0.4466, 0.5220];

/// What a cache takes: the stores.
fn stores() -> Ranges {
    let store = |target| Range { target, start: 0, end: ASUS[0] * BLOCK };
    Ranges::new(&[store(0), store(1)], 3, BLOCK as u32)
}

fn curve(sizes: &[u64]) -> CacheCurve {
    let settings = Settings { policy: Policy::Lru, writes: Writes::Allocate, one_of: 1, segment: 128 };
    CacheCurve::new(settings, sizes.to_vec())
}

fn op(access: &Access) -> Op {
    Op {
        target: access.asu as u16,
        direction: access.direction,
        durable: false,
        offset: access.block * BLOCK,
        len: access.blocks * BLOCK as u32,
    }
}

/// Whether an access belongs to a set of the table: a stream, a store, or both stores.
fn is_in(set: &str, access: &Access) -> bool {
    match set {
        "s1" => access.stream == 1,
        "s3" => access.stream == 3,
        "s5" => access.stream == 5,
        "asu1" => access.asu == 0,
        "asu2" => access.asu == 1,
        _ => access.asu < 2,
    }
}

#[test]
fn caches_before_small_stores_answer_as_many_reads_of_each_stream_as_there() {
    let there: Value = serde_json::from_str(include_str!("../../tests/spc1/small.json")).unwrap();
    let sizes: Vec<u64> = there["sizes"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap()).collect();
    let hits = there["hits"].as_object().unwrap();
    let mut curves: Vec<(&String, CacheCurve)> = hits.keys().map(|set| (set, curve(&sizes))).collect();
    let mut sequence = Sequence::new(ASUS, 2, 1, ReadShares::Published, Prng::from_seed(1));
    let taken = stores();
    for access in (0..there["operations"].as_u64().unwrap()).map(|_| sequence.next_access()) {
        let of_access = curves.iter_mut().filter(|(set, _)| is_in(set, &access));
        of_access.for_each(|(_, curve)| curve.follow_operation(&taken, &op(&access)));
    }
    for (set, curve) in curves {
        for (point, band) in curve.curve_points().iter().zip(hits[set].as_array().unwrap()) {
            let [least, most] = [0, 1].map(|at| band[at].as_f64().unwrap());
            // Where whole stores are counted, the overlap of a few sequential runs decides.
            let room = if set.starts_with('s') { 0.003 } else { 0.01 };
            let within = (least - room..=most + room).contains(&point.hits);
            assert!(within, "{set}, {} blocks: {}, there {least} to {most}", point.blocks, point.hits);
        }
    }
}

#[test]
fn the_log_is_written_in_order_on_storage_of_any_size() {
    for asus in [ASUS, [1152, 1152, 256], [200_000, 200_000, 44_444]] {
        let mut sequence = Sequence::new(asus, 1, 1, ReadShares::Spc1, Prng::from_seed(2));
        let (mut end, mut adjacent, mut all) = (None, 0u32, 0u32);
        let accesses = (0..100_000).map(|_| sequence.next_access());
        for access in accesses.filter(|access| access.asu == 2) {
            adjacent += u32::from(end == Some(access.block));
            all += 1;
            end = Some(access.block + u64::from(access.blocks));
        }
        // A run is 30 % of the log, and a write has 3.6 blocks in the mean.
        let runs = f64::from(all) * 3.6 / (asus[2] as f64 * 0.3);
        let expected = 1.0 - runs / f64::from(all);
        let share = f64::from(adjacent) / f64::from(all);
        assert!((share - expected).abs() < 0.02, "{asus:?}: {share}, expected {expected}");
    }
}

/// The recorded operations of the published generator.
fn recorded() -> Vec<Access> {
    let access = |line: &str| {
        let number = |text: &str| text.parse::<u64>().unwrap();
        let (place, blocks) = line[2..].split_once(',').unwrap();
        Access {
            stream: usize::MAX,
            asu: number(&line[..1]) as usize - 1,
            direction: if line[1..].starts_with('r') { Direction::Read } else { Direction::Write },
            block: number(place),
            blocks: number(blocks) as u32,
        }
    };
    include_str!("../../tests/spc1/trace.txt").lines().map(access).collect()
}

/// Each block of the recorded operations on the stores, by its number there, and whether it is read.
fn blocks_of_stores(trace: &[Access]) -> Vec<(u64, bool)> {
    let of_stores = trace.iter().filter(|access| access.asu < 2);
    let blocks = of_stores.flat_map(|access| {
        let first = access.asu as u64 * ASUS[0] + access.block;
        (first..first + u64::from(access.blocks)).map(|block| (block, access.direction == Direction::Read))
    });
    blocks.collect()
}

/// Four accounts of the same trace: the curve, the distances in a list, lists of three lengths, and a program of another
/// language.
#[test]
fn the_curve_of_a_recorded_trace_is_what_lists_count_by_hand() {
    let trace = recorded();
    let sizes = [230, 1024, 2048];
    let mut curve = curve(&sizes);
    trace.iter().for_each(|access| curve.follow_operation(&stores(), &op(access)));
    assert_eq!(curve.bypassed_operations(), trace.iter().filter(|access| access.asu == 2).count() as u64);
    let accesses = blocks_of_stores(&trace);
    let reads = accesses.iter().filter(|(_, is_read)| *is_read).count();
    assert_eq!((curve.reads_followed(), curve.writes_followed()), (reads as u64, (accesses.len() - reads) as u64));

    let (mut stack, mut by_distance) = (Vec::<u64>::new(), [0; 3]);
    for (block, is_read) in &accesses {
        let distance = stack.iter().position(|other| other == block);
        if let Some(at) = distance {
            stack.remove(at);
        }
        stack.insert(0, *block);
        for (size, hits) in sizes.iter().zip(&mut by_distance) {
            *hits += usize::from(*is_read && distance.is_some_and(|distance| (distance as u64) < *size));
        }
    }
    for ((point, by_distance), elsewhere) in curve.curve_points().iter().zip(by_distance).zip(ELSEWHERE) {
        let mut list = Vec::<u64>::new();
        let mut by_list = 0;
        for (block, is_read) in &accesses {
            let at = list.iter().position(|other| other == block);
            by_list += usize::from(*is_read && at.is_some());
            at.map(|at| list.remove(at));
            list.insert(0, *block);
            list.truncate(point.blocks as usize);
        }
        let ours = (point.hits * reads as f64).round() as usize;
        assert_eq!((ours, ours), (by_distance, by_list), "{} blocks", point.blocks);
        assert!((point.hits - elsewhere).abs() < 0.000_05, "{} blocks: {}", point.blocks, point.hits);
    }
}
