//! Writes that follow a read of the same place: what an application reads, changes and writes back.

use assay_base::Direction;

/// Number of places that are remembered; a place that has the same slot takes the other's.
const SLOTS: usize = 8192;
/// For how long a read is remembered, in nanoseconds.
const LONGEST: u64 = 1_000_000_000;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Rewrites {
    /// Place and time of reads.
    slots: Vec<(u64, u64)>,
    rewritten: u64,
    is_timed: bool,
}

impl Rewrites {
    pub(super) fn note_request(&mut self, place: u64, direction: Direction, at: Option<u64>) {
        let Some(at) = at else { return };
        self.is_timed = true;
        if self.slots.is_empty() {
            self.slots = vec![(u64::MAX, 0); SLOTS];
        }
        let slot = &mut self.slots[(crate::cache::mix_block(place) % SLOTS as u64) as usize];
        match direction {
            Direction::Read => *slot = (place, at),
            Direction::Write if slot.0 == place && at.saturating_sub(slot.1) <= LONGEST => {
                self.rewritten += 1;
                *slot = (u64::MAX, 0);
            }
            Direction::Write => {}
        }
    }

    /// As a share of this many writes.
    pub(super) fn share_of(&self, writes: u64) -> Option<f64> {
        (self.is_timed && writes > 0).then(|| self.rewritten as f64 / writes as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_soon_after_a_read_of_its_place_counts_once() {
        let mut rewrites = Rewrites::default();
        assert_eq!(rewrites.share_of(1), None);
        let (read, write) = (Direction::Read, Direction::Write);
        for (place, direction, at) in [
            (4096, read, 0),
            (4096, write, 1_000),
            (4096, write, 2_000),
            (8192, read, 0),
            (8192, write, LONGEST + 1),
            (0, write, 5),
        ] {
            rewrites.note_request(place, direction, Some(at));
        }
        assert_eq!(rewrites.share_of(4), Some(0.25));
    }
}
