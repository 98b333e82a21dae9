//! Each place once in a pass, in a different order in each pass: the effect of a random map of blocks, without the map.

use super::grid::Grid;
use super::order::Order;
use crate::arrival::Part;
use assay_base::Prng;

/// Of several workers, each takes every n-th place of the common order.
#[derive(Clone, Debug)]
pub struct Once {
    grid: Grid,
    part: Part,
    key: u64,
    order: Order,
    pass: u64,
    next: u64,
}

impl Once {
    /// The part's places of `grid`, in orders that `key` decides.
    pub fn new(grid: Grid, part: Part, key: u64) -> Once {
        Once { grid, part, key, order: Order::new(grid.places, key), pass: 0, next: part.index }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        if self.next >= self.grid.places {
            self.begin_next_pass();
        }
        let place = self.next;
        self.next += self.part.of;
        self.grid.offset_at(self.order.number_at(place.min(self.grid.places - 1)))
    }

    #[cold]
    fn begin_next_pass(&mut self) {
        self.pass += 1;
        self.next = self.part.index;
        self.order = Order::new(self.grid.places, Prng::for_path(self.key, &[self.pass]).next_u64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_once_a_pass_over_one_to_seven_workers() {
        for (places, of) in [(1000, 1), (1000, 3), (997, 7), (1, 1), (4, 4)] {
            let grid = Grid::new(places * 512, 512, 512);
            let mut parts: Vec<Once> = (0..of).map(|index| Once::new(grid, Part { index, of }, 9)).collect();
            let mut pass = || {
                let own = |index: u64| places / of + u64::from(index < places % of);
                let parts = parts.iter_mut().zip(0..);
                parts.flat_map(|(part, index)| (0..own(index)).map(|_| part.next() / 512).collect::<Vec<_>>()).collect()
            };
            let (first, second): (Vec<u64>, Vec<u64>) = (pass(), pass());
            for order in [&first, &second] {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..places).collect::<Vec<_>>(), "{places} places, {of} workers");
            }
            assert!(places < 10 || first != second, "each pass has its own order");
        }
    }

    #[test]
    fn more_workers_than_places_stay_within() {
        let mut last = Once::new(Grid::new(1024, 512, 512), Part { index: 5, of: 7 }, 1);
        assert!((0..10).all(|_| last.next() < 1024));
    }
}
