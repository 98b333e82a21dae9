//! Bands of equal length with equal gaps between them: so many bytes are moved in a band, then the next one is used,
//! and after the last one the first again. Within a band operations are sequential, uniform, or each place comes once.
//!
//! These are fio's `zonemode=strided` with `zonerange`, `zoneskip` and `zonesize` (`setup_strided_zone_mode` in its
//! `io_u.c`). Where more bytes are moved in a band than it has, it is gone through again.

use super::grid::Grid;
use super::order::Order;
use crate::arrival::Part;
use assay_base::{Bytes, Prng};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where operations go within a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inside {
    /// From the start to the end, then again from the start.
    Sequential,
    /// Uniform over the multiples of `align`, or of the target's blocks when that is zero.
    Uniform {
        /// Alignment.
        align: Bytes,
    },
    /// Every place once, in random order.
    Once {
        /// Size of a place.
        unit: Bytes,
    },
}

impl fmt::Display for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inside::Sequential => f.write_str("sequential"),
            Inside::Uniform { align } if align.get() == 0 => f.write_str("uniform over blocks"),
            Inside::Uniform { align } => write!(f, "uniform over multiples of {align}"),
            Inside::Once { unit } => write!(f, "each {unit} once, in random order"),
        }
    }
}

/// The bands of a space, in bytes that are multiples of the target's blocks.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Length of the space.
    pub space: u64,
    /// Length of a band, and of the gap behind it.
    pub length: u64,
    /// See `length`.
    pub gap: u64,
    /// Bytes that are moved in a band before the next one is used.
    pub moved: u64,
    /// Length of the largest operation.
    pub largest: u64,
}

impl Layout {
    /// How many bands have room for the largest operation; at least one.
    fn band_count(&self) -> u64 {
        self.space.saturating_sub(self.largest) / (self.length + self.gap).max(1) + 1
    }

    fn band_begin(&self, band: u64) -> u64 {
        band * (self.length + self.gap)
    }

    /// How many places of `unit` bytes a band has. The last band may be cut by the end of the space.
    fn places_in_band(&self, band: u64, unit: u64) -> u64 {
        let length = self.length.min(self.space.saturating_sub(self.band_begin(band)));
        Grid::new(length, unit, self.largest).places
    }
}

/// Each of several workers takes every `of`-th operation of the common walk through the bands.
#[derive(Clone, Debug)]
pub struct Bands {
    layout: Layout,
    walk: Walk,
    part: Part,
    key: u64,
    begun: bool,
    band: u64,
    /// The number of bands that were entered before this one.
    entered: u64,
    /// Bytes that were moved in this band.
    moved: u64,
}

/// Where the walk stands within its band.
#[derive(Clone, Debug)]
enum Walk {
    /// The next offset within the band.
    Sequential { next: u64 },
    /// The alignment.
    Uniform { align: u64 },
    /// The size of a place; the order of this pass, and how much of it is used; the number of passes before.
    Once { unit: u64, order: Order, used: u64, places: u64, passes: u64 },
}

impl Bands {
    /// A walk through the bands of `layout`; `unit` is the alignment or the size of a place, in whole blocks.
    pub fn new(layout: Layout, inside: Inside, unit: u64, part: Part, key: u64) -> Bands {
        let walk = match inside {
            Inside::Sequential => Walk::Sequential { next: 0 },
            Inside::Uniform { .. } => Walk::Uniform { align: unit.max(1) },
            Inside::Once { .. } => Walk::Once { unit, order: Order::new(1, key), used: 0, places: 0, passes: 0 },
        };
        Bands { layout, walk, part, key, begun: false, band: 0, entered: 0, moved: 0 }
    }

    #[inline]
    pub(super) fn next(&mut self, len: u32, prng: &mut Prng) -> u64 {
        let passed = if self.begun { self.part.of.saturating_sub(1) } else { self.part.index };
        self.begun = true;
        (0..passed).for_each(|_| self.skip_operation(len.into()));
        self.enter_next_band();
        let begin = self.layout.band_begin(self.band);
        let within = self.next_within_band(len.into());
        self.moved += u64::from(len);
        match (&self.walk, within) {
            (Walk::Uniform { align }, _) => {
                begin + prng.uniform_below(self.layout.places_in_band(self.band, *align)) * align
            }
            (_, within) => begin + within,
        }
    }

    /// Leaves out an operation of another worker.
    fn skip_operation(&mut self, len: u64) {
        self.enter_next_band();
        self.next_within_band(len);
        self.moved += len;
    }

    /// Enters the next band if enough was moved in this one.
    fn enter_next_band(&mut self) {
        if self.moved < self.layout.moved {
            return;
        }
        self.moved = 0;
        self.entered += 1;
        self.band = if self.band + 1 < self.layout.band_count() { self.band + 1 } else { 0 };
        match &mut self.walk {
            Walk::Sequential { next } => *next = 0,
            Walk::Once { used, places, .. } => (*used, *places) = (0, 0),
            Walk::Uniform { .. } => {}
        }
    }

    /// The next offset within the band, and the walk behind it; zero where it is drawn.
    fn next_within_band(&mut self, len: u64) -> u64 {
        let Bands { layout, band, key, entered, .. } = *self;
        match &mut self.walk {
            Walk::Sequential { next } => {
                if *next >= layout.length || layout.band_begin(band) + *next + len > layout.space {
                    *next = 0;
                }
                std::mem::replace(next, *next + len)
            }
            Walk::Once { unit, order, used, places, passes } => {
                if *used >= *places {
                    (*used, *places) = (0, layout.places_in_band(band, *unit));
                    *order = Order::new(*places, Prng::for_path(key, &[entered, *passes]).next_u64());
                    *passes += 1;
                }
                *used += 1;
                order.number_at(*used - 1) * *unit
            }
            Walk::Uniform { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Part = Part { index: 0, of: 1 };

    fn bands(megabytes: [u64; 4], inside: Inside, part: Part) -> Bands {
        let [space, length, gap, moved] = megabytes.map(|it| it * 512);
        Bands::new(Layout { space, length, gap, moved, largest: 512 }, inside, 512, part, 7)
    }

    fn walk(bands: &mut Bands, n: usize) -> Vec<u64> {
        let mut prng = Prng::from_seed(1);
        (0..n).map(|_| bands.next(512, &mut prng) / 512).collect()
    }

    /// The offsets are those that fio 3.33 wrote to its iolog, on a file of 64 MiB with operations of 1 MiB.
    #[test]
    fn sequential_walks_are_those_of_fio() {
        for (shape, expected) in [
            ([64, 2, 6, 2], &[0, 1, 8, 9, 16, 17, 24, 25, 32, 33, 40, 41, 48, 49, 56, 57, 0, 1, 8][..]),
            ([64, 4, 6, 6], &[0, 1, 2, 3, 0, 1, 10, 11, 12, 13, 10, 11, 20, 21, 22, 23, 20, 21, 30]),
            ([64, 4, 6, 2], &[0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51, 60, 61, 0, 1]),
            // A band that the end of the file cuts is gone through again.
            (
                [64, 3, 4, 3],
                &[
                    0, 1, 2, 7, 8, 9, 14, 15, 16, 21, 22, 23, 28, 29, 30, 35, 36, 37, 42, 43, 44, 49, 50, 51, 56, 57,
                    58, 63, 63, 63, 0, 1, 2,
                ],
            ),
            ([62, 3, 4, 3], &[0, 1, 2, 7, 8, 9, 14, 15, 16, 21, 22, 23]),
            ([1, 2, 6, 2], &[0, 0, 0]),
        ] {
            let found = walk(&mut bands(shape, Inside::Sequential, ALL), expected.len());
            assert_eq!(found, expected, "{shape:?}");
        }
    }

    #[test]
    fn random_walks_stay_in_their_band_for_as_long_as_fio() {
        let once = Inside::Once { unit: Bytes::new(512) };
        let uniform = Inside::Uniform { align: Bytes::new(512) };
        let found = walk(&mut bands([64, 4, 6, 8], once, ALL), 16 * 7);
        for (at, pass) in found.chunks(4).enumerate() {
            let mut places = pass.to_vec();
            places.sort_unstable();
            let begin = (at / 2 % 7) as u64 * 10;
            assert_eq!(places, (begin..begin + 4).collect::<Vec<_>>(), "pass {at}");
        }
        assert!(found.chunks(4).any(|pass| pass[0] > pass[1]), "the order is random: {found:?}");
        let found = walk(&mut bands([64, 4, 6, 4], uniform, ALL), 4000);
        let mut used = [0; 64];
        for (at, offset) in found.into_iter().enumerate() {
            let begin = (at / 4 % 7) as u64 * 10;
            assert!((begin..begin + 4).contains(&offset), "operation {at}: {offset}");
            used[offset as usize] += 1;
        }
        assert_eq!(used.iter().filter(|n| **n > 0).count(), 28);
    }

    #[test]
    fn workers_share_the_walk() {
        for inside in [Inside::Sequential, Inside::Once { unit: Bytes::new(512) }] {
            for shape in [[64, 4, 6, 4], [64, 4, 6, 10], [63, 5, 0, 3]] {
                let whole = walk(&mut bands(shape, inside, ALL), 210);
                for of in 1..=7 {
                    let mut parts: Vec<Bands> = (0..of).map(|index| bands(shape, inside, Part { index, of })).collect();
                    let mut prng = Prng::from_seed(1);
                    let shared: Vec<u64> =
                        (0..210).map(|at| parts[at % of as usize].next(512, &mut prng) / 512).collect();
                    assert_eq!(shared, whole, "{inside:?} {shape:?} {of}");
                }
            }
        }
    }

    #[test]
    fn the_largest_operation_fits_everywhere() {
        for (space, length, gap) in [(64, 2, 6), (63, 9, 1), (7, 9, 1), (3, 1, 0), (2, 1, 100)] {
            for inside in [Inside::Sequential, Inside::Once { unit: Bytes::new(512) }] {
                let (space, length, gap) = (space * 512, length * 512, gap * 512);
                let layout = Layout { space, length, gap, moved: length, largest: 1024 };
                let unit = if inside == Inside::Sequential { 512 } else { 1024 };
                let mut bands = Bands::new(layout, inside, unit, ALL, 7);
                let mut prng = Prng::from_seed(1);
                for _ in 0..1000 {
                    let offset = bands.next(1024, &mut prng);
                    assert!(offset + 1024 <= space, "{layout:?}: {offset}");
                }
            }
        }
    }
}
