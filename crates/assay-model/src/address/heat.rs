//! What was seen of an application's places, drawn again: areas that are used more or less often lie scattered, and from a
//! place in an area goes a sequential run. Several runs take turns, as those of several clients do.
//!
//! An area is as large as the smallest part of the device within which all places are used equally often. A run has one of
//! the lengths that were counted, in operations; a run of one operation is a random access. The length is not drawn by
//! chance: the next run has the length whose runs have had the smallest part of the operations so far, compared with
//! what they should have. A log that was written in one run would otherwise come once in one minute and never in the
//! next. Where a run would pass the end of the space, a new one begins.

use super::law::{Law, Ranks};
use super::order::Order;
use crate::skip::is_one;
use assay_base::{Bytes, Prng, Share};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Largest area.
pub const LARGEST_AREA: u64 = 1 << 40;
/// The most runs that take turns.
pub const INTERLEAVED_MAX: u32 = 64;

/// Which places are used how often, and how runs begin there, as configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatMap {
    /// For each zone its share of the runs and its share of the areas.
    pub zones: Vec<(Share, Share)>,
    /// Size of an area, within which all places are used equally often.
    pub area: Bytes,
    /// Runs begin at multiples of it.
    pub unit: Bytes,
    /// Lengths of runs in operations, each with its share of the runs; empty where each operation is a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_lengths: Vec<(u32, Share)>,
    /// Number of runs that take turns.
    #[serde(default = "alone", skip_serializing_if = "is_one")]
    pub interleaved: u32,
}

fn alone() -> u32 {
    1
}

impl fmt::Display for HeatMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zones = Law::Zones { zones: self.zones.clone() };
        write!(f, "{zones} over areas of {}, scattered, at multiples of {}", self.area, self.unit)?;
        if self.run_lengths.is_empty() {
            return Ok(());
        }
        let lengths: Vec<String> =
            self.run_lengths.iter().map(|(length, share)| format!("{share} of {length}")).collect();
        write!(f, ", in runs: {} operations", lengths.join(", "))?;
        if self.interleaved > 1 { write!(f, ", {} at a time", self.interleaved) } else { Ok(()) }
    }
}

/// A run in progress.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// Where its next operation begins.
    next: u64,
    /// Number of operations that it still has.
    left: u32,
}

/// Runs of one length.
#[derive(Clone, Copy, Debug)]
struct RunsOfLength {
    length: u32,
    /// The part of the operations that they should have.
    share: f64,
    /// The number of operations that they had.
    issued: f64,
}

/// The space of a heat map.
#[derive(Clone, Copy, Debug)]
pub struct HeatSpace {
    /// Its length in bytes.
    pub length: u64,
    /// Size of an area, a multiple of `unit`.
    pub area: u64,
    /// Runs begin at multiples of it.
    pub unit: u64,
    /// The largest operation.
    pub largest: u64,
    /// Which areas are the hot ones.
    pub key: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Heat {
    space: HeatSpace,
    ranks: Ranks,
    order: Order,
    lengths: Box<[RunsOfLength]>,
    runs: Box<[Run]>,
    turn: usize,
}

impl Heat {
    /// The places of a heat map in a space.
    pub fn new(map: &HeatMap, space: HeatSpace) -> Heat {
        let areas = (space.length / space.area).max(1);
        let all: f64 = map.run_lengths.iter().map(|(length, share)| f64::from(*length) * share.as_f64()).sum();
        let lengths = map.run_lengths.iter().map(|(length, share)| {
            let share = f64::from(*length) * share.as_f64() / all;
            RunsOfLength { length: (*length).max(1), share, issued: 0.0 }
        });
        Heat {
            space,
            ranks: Ranks::new(&Law::Zones { zones: map.zones.clone() }, areas),
            order: Order::new(areas, space.key),
            lengths: lengths.collect(),
            runs: vec![Run::default(); map.interleaved.clamp(1, INTERLEAVED_MAX) as usize].into(),
            turn: 0,
        }
    }

    /// The offset of the next operation, of `len` bytes.
    #[inline]
    pub(super) fn next(&mut self, len: u32, prng: &mut Prng) -> u64 {
        self.turn = if self.turn + 1 < self.runs.len() { self.turn + 1 } else { 0 };
        let mut run = self.runs[self.turn];
        if run.left == 0 || run.next + u64::from(len) > self.space.length {
            run = Run { next: self.draw_place(prng), left: self.next_length() };
        }
        self.runs[self.turn] = Run { next: run.next + u64::from(len), left: run.left - 1 };
        run.next
    }

    fn draw_place(&mut self, prng: &mut Prng) -> u64 {
        let HeatSpace { length, area, unit, largest, .. } = self.space;
        let begin = self.order.number_at(self.ranks.next(prng)) * area;
        let place = begin + prng.uniform_below((area / unit).max(1)) * unit;
        place.min(length.saturating_sub(largest) / unit * unit)
    }

    /// The length whose runs are the farthest behind what they should have.
    fn next_length(&mut self) -> u32 {
        let issued: f64 = self.lengths.iter().map(|runs| runs.issued).sum();
        let behind = |runs: &RunsOfLength| runs.share * (issued + 1.0) - runs.issued;
        let Some(next) = self.lengths.iter_mut().max_by(|a, b| behind(a).total_cmp(&behind(b))) else { return 1 };
        next.issued += f64::from(next.length);
        next.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(of: u64) -> Share {
        Share::from_percent(of)
    }

    fn map(zones: &[(u64, u64)], run_lengths: &[(u32, u64)], interleaved: u32) -> HeatMap {
        HeatMap {
            zones: zones.iter().map(|(operations, space)| (percent(*operations), percent(*space))).collect(),
            area: Bytes::from_kib(64),
            unit: Bytes::from_kib(4),
            run_lengths: run_lengths.iter().map(|(length, share)| (*length, percent(*share))).collect(),
            interleaved,
        }
    }

    fn space(length: u64) -> HeatSpace {
        HeatSpace { length, area: 64 << 10, unit: 4096, largest: 8192, key: 3 }
    }

    fn drawn(map: &HeatMap, length: u64, operations: usize) -> Vec<u64> {
        let (mut heat, mut prng) = (Heat::new(map, space(length)), Prng::from_seed(5));
        (0..operations).map(|_| heat.next(4096, &mut prng)).collect()
    }

    #[test]
    fn hot_areas_are_scattered_and_have_their_share() {
        let length = 1000 * (64 << 10);
        let mut counts = vec![0u64; 1000];
        drawn(&map(&[(60, 10), (40, 90)], &[], 1), length, 1_000_000)
            .iter()
            .for_each(|place| counts[(place / (64 << 10)) as usize] += 1);
        let hot: Vec<usize> = (0..1000).filter(|area| counts[*area] > 3000).collect();
        let share = hot.iter().map(|area| counts[*area]).sum::<u64>() as f64 / 1e6;
        assert!(hot.len() == 100 && (share - 0.6).abs() < 0.002, "{} with {share}", hot.len());
        assert!(hot.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() < 30, "they are scattered");
    }

    #[test]
    fn runs_have_the_lengths_that_were_counted_and_take_turns() {
        let places = drawn(&map(&[(100, 100)], &[(1, 75), (9, 25)], 3), 1 << 30, 300_000);
        // Three runs take turns: an operation continues the run of the operation three before it.
        let continued = places.windows(4).filter(|last| last[3] == last[0] + 4096).count() as f64 / 3e5;
        // A run has three operations in the mean, of which two continue it.
        assert!((continued - 2.0 / 3.0).abs() < 0.01, "{continued}");
        let next = places.windows(2).filter(|last| last[1] == last[0] + 4096).count();
        assert!(next < 300, "{next}");
    }

    #[test]
    fn never_beyond_the_end() {
        for length in [8192, 12_288, 65_536, 100_000, 1 << 20] {
            let places = drawn(&map(&[(100, 100)], &[(2, 50), (1000, 50)], 64), length, 10_000);
            assert!(places.iter().all(|place| place + 4096 <= length && place.is_multiple_of(4096)), "{length}");
        }
    }
}
