//! Everything that is counted of a device, request by request.

use super::in_flight::InFlight;
use super::reuse::{MissRatio, Reuse};
use super::rewrites::Rewrites;
use super::side::Side;
use super::{Asked, Request};
use assay_base::Direction;

/// What was seen of a device.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Its reads.
    pub reads: Side,
    /// Its writes.
    pub writes: Side,
    /// Number of flushes.
    pub flushes: u64,
    /// Number of discards.
    pub discards: u64,
    /// How many requests the device had at a time.
    pub in_flight: InFlight,
    reuse: Reuse,
    rewrites: Rewrites,
}

impl Observed {
    /// Counts a request. `began` is when the time began that the device is watched.
    pub fn step(&mut self, request: &Request, began: Option<u64>) {
        let direction = match request.asked {
            Asked::Data(direction) => direction,
            Asked::Flush => return self.flushes += 1,
            Asked::Discard => return self.discards += 1,
        };
        let side = match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        };
        side.count_request(request, began);
        if let Some(place) = request.place {
            self.reuse.access_request(place, request.bytes, direction);
            self.rewrites.note_request(place, direction, request.at);
        }
    }

    /// The device has `change` requests more than before, or less.
    pub fn change_in_flight(&mut self, at: u64, change: i32) {
        self.in_flight.change_number(at, change);
    }

    /// The clock was reset: windows that are open are incomplete.
    pub fn restart_windows(&mut self) {
        self.reads.windows.restart_windows();
        self.writes.windows.restart_windows();
        self.in_flight.restart_time();
    }

    /// The share of the reads that caches of several sizes would not answer.
    pub fn miss_ratios(&self) -> Vec<MissRatio> {
        self.reuse.miss_ratios()
    }

    /// The share of the writes that follow a read of the same place within a second.
    pub fn rewritten_share(&self) -> Option<f64> {
        self.rewrites.share_of(self.writes.addressed)
    }
}
