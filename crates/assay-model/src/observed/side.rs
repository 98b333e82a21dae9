//! The requests of one direction.

use super::Request;
use super::runs::RunCounts;
use super::sample::StartSample;
use super::windows::WindowCounts;
use super::zones::Zones;
use std::collections::BTreeMap;

/// Upper bound on the sizes that are counted separately; others are rounded up to a power of two.
const SIZES_MAX: usize = 4096;
/// Powers of two up to which the alignment of places is counted.
const ALIGNMENTS: usize = 32;
/// The largest unit, as a power of two: that of the longest operation.
const LARGEST_UNIT: u32 = 26;
/// With fewer runs chance may align them all.
const FEW_RUNS: u64 = 64;

/// Where runs begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Starts {
    /// By zone.
    pub zones: Zones,
    /// By block, for some of the blocks.
    pub sample: StartSample,
    /// Number of places by the largest power of two that divides them.
    alignments: [u64; ALIGNMENTS],
}

/// The requests of one direction.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Number of requests.
    pub operations: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Requests by size.
    pub sizes: BTreeMap<u64, u64>,
    /// Requests that are complete only when they are on stable media.
    pub durable: u64,
    /// Requests that begin where an earlier one ended, of the last few that no other one continued.
    pub sequential: u64,
    /// Requests whose place is known.
    pub addressed: u64,
    /// Counts in windows of several lengths.
    pub windows: WindowCounts,
    /// How often each zone is used.
    pub zones: Zones,
    /// Where the last byte of the device lies that was used, and the next one begins.
    pub(super) furthest: u64,
    pub(super) runs: RunCounts,
    pub(super) starts: Starts,
}

impl Side {
    pub(super) fn count_request(&mut self, request: &Request, began: Option<u64>) {
        self.operations += 1;
        self.bytes = self.bytes.saturating_add(request.bytes);
        self.durable += u64::from(request.durable);
        self.count_size(request.bytes);
        if let Some(place) = request.place {
            self.count_place(place, request.bytes);
        }
        if let Some((at, began)) = request.at.zip(began) {
            self.windows.add_arrival(began, at);
        }
    }

    fn count_size(&mut self, bytes: u64) {
        let known = self.sizes.len() < SIZES_MAX || self.sizes.contains_key(&bytes);
        let size = if known { bytes } else { bytes.checked_next_power_of_two().unwrap_or(bytes) };
        if known || self.sizes.len() < 2 * SIZES_MAX {
            *self.sizes.entry(size).or_default() += 1;
        }
    }

    fn count_place(&mut self, place: u64, bytes: u64) {
        self.addressed += 1;
        self.zones.add_operation(place);
        self.furthest = self.furthest.max(place.saturating_add(bytes));
        if self.runs.add_operation(place, bytes) {
            self.sequential += 1;
        } else {
            self.starts.alignments[(place.trailing_zeros() as usize).min(ALIGNMENTS - 1)] += 1;
            self.starts.zones.add_operation(place);
            self.starts.sample.add_start(place);
        }
    }

    /// The largest power of two that divides nearly all places where runs begin; that of sizes where there are few runs.
    pub(super) fn usual_unit(&self) -> u64 {
        let total: u64 = self.starts.alignments.iter().sum();
        if total < FEW_RUNS {
            let usual = self.sizes.iter().max_by_key(|(_, count)| **count).map_or(512, |(size, _)| *size);
            return 1 << usual.max(512).trailing_zeros().clamp(9, LARGEST_UNIT);
        }
        let mut below = 0;
        for (power, count) in (0..).zip(self.starts.alignments) {
            below += count;
            if below * 1000 > total {
                return 1 << power.clamp(9, LARGEST_UNIT);
            }
        }
        1 << LARGEST_UNIT
    }
}
