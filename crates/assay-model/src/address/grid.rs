//! The places of a target that a pattern may use: multiples of a unit at which its largest operation fits.

/// Upper bound on the places: above it a random double does not have enough digits.
const MOST: u64 = 1 << 52;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of places, at least 1.
    pub places: u64,
    unit: u64,
}

impl Grid {
    /// The multiples of `unit` bytes within `length` bytes, with room for `largest` bytes after each.
    pub fn new(length: u64, unit: u64, largest: u64) -> Grid {
        let unit = unit.max(1);
        Grid { places: (length.saturating_sub(largest) / unit + 1).min(MOST), unit }
    }

    /// The offset where a place begins.
    #[inline(always)]
    pub fn offset_at(self, place: u64) -> u64 {
        place * self.unit
    }

    /// The number of places in this many bytes; at least 1, at most all places.
    pub fn places_within(self, bytes: u64) -> u64 {
        (bytes / self.unit).clamp(1, self.places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_operation_fits_everywhere() {
        for (length, unit, largest, places) in [
            (1 << 20, 4096, 4096, 256),
            (1 << 20, 4096, 8192, 255),
            ((1 << 20) + 512, 4096, 512, 257),
            (4096, 4096, 4096, 1),
            (0, 4096, 4096, 1),
            (1 << 20, 0, 512, (1 << 20) - 511),
            (u64::MAX, 1, 1, 1 << 52),
        ] {
            let grid = Grid::new(length, unit, largest);
            assert_eq!(grid.places, places, "{length} {unit} {largest}");
            assert!(grid.offset_at(places - 1) <= length.saturating_sub(largest));
        }
        assert_eq!(
            (Grid::new(8192, 512, 512).places_within(0), Grid::new(8192, 512, 512).places_within(1 << 30)),
            (1, 16)
        );
    }
}
