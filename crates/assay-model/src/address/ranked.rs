//! Some places more often than others: ranks at their places, in order or in an order that a key decides, and around a
//! centre where one is given.
//!
//! With a centre all places are moved together, around the end of the space, so that the most frequent one lies there.
//! This is what fio does with `random_distribution=zipf:1.2:0.25` (`rand_off` in its `lib/zipf.c` and `lib/gauss.c`).

use super::grid::Grid;
use super::law::{Law, Ranks};
use super::order::Order;
use assay_base::{Prng, Share};

/// See the module.
#[derive(Clone, Debug)]
pub struct Ranked {
    grid: Grid,
    ranks: Ranks,
    order: Option<Order>,
    /// Added to each place; below the number of places.
    shift: u64,
}

impl Ranked {
    /// `law` over the places of `grid`, in `order`, with its most frequent place at `centre`.
    pub fn new(grid: Grid, law: &Law, order: Option<Order>, centre: Option<Share>) -> Ranked {
        let most_frequent = law.most_frequent(grid.places);
        let lies_at = order.as_ref().map_or(most_frequent, |order| order.number_at(most_frequent));
        let shift = centre.map_or(0, |centre| {
            let wanted = u128::from(grid.places) * u128::from(centre.as_ppb()) / u128::from(Share::WHOLE.as_ppb());
            ((wanted + u128::from(grid.places - lies_at)) % u128::from(grid.places)) as u64
        });
        Ranked { grid, ranks: Ranks::new(law, grid.places), order, shift }
    }

    /// The offset of the next operation.
    #[inline]
    pub(super) fn next(&mut self, prng: &mut Prng) -> u64 {
        let rank = self.ranks.next(prng);
        let place = self.order.as_ref().map_or(rank, |order| order.number_at(rank)) + self.shift;
        self.grid.offset_at(if place < self.grid.places { place } else { place - self.grid.places })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Exponent;

    /// How often each of `places` is drawn.
    fn counts(law: &Law, places: u64, scatter: bool, centre: Option<Share>) -> Vec<u32> {
        let order = scatter.then(|| Order::new(places, 7));
        let mut ranked = Ranked::new(Grid::new(places * 512, 512, 512), law, order, centre);
        let (mut prng, mut counts) = (Prng::from_seed(3), vec![0; places as usize]);
        (0..100_000).for_each(|_| counts[(ranked.next(&mut prng) / 512) as usize] += 1);
        counts
    }

    #[test]
    fn the_most_frequent_place_lies_at_the_centre() {
        let zipf = Law::Zipf { exponent: Exponent::try_from(1.2).unwrap() };
        let pareto = Law::Pareto { skew: Share::from_percent(20) };
        let bell = Law::Normal { deviation: Share::from_percent(2) };
        for places in [1, 2, 97, 1000] {
            for percent in [0, 25, 50, 99, 100] {
                for (law, scatter) in [(&zipf, true), (&zipf, false), (&pareto, true), (&pareto, false)] {
                    let counts = counts(law, places, scatter, Some(Share::from_percent(percent)));
                    let most = (0..counts.len()).max_by_key(|at| counts[*at]).unwrap() as u64;
                    assert_eq!(most, places * percent / 100 % places, "{law}, {places} places, {percent} %");
                }
                // The bell goes on at the other end.
                let counts = counts(&bell, places, false, Some(Share::from_percent(percent)));
                let near = |at: u64| {
                    let centre = places * percent / 100 % places;
                    let apart = at.abs_diff(centre);
                    apart.min(places - apart) <= 1 + places / 12
                };
                let inside: u32 = (0..places).filter(|at| near(*at)).map(|at| counts[at as usize]).sum();
                assert!(inside > 99_000, "{places} places, {percent} %: {inside}");
            }
        }
    }

    #[test]
    fn a_centre_moves_all_places_and_changes_nothing_else() {
        let zipf = Law::Zipf { exponent: Exponent::try_from(0.9).unwrap() };
        let plain = counts(&zipf, 1000, true, None);
        let moved = counts(&zipf, 1000, true, Some(Share::from_percent(30)));
        let most = (0..1000).max_by_key(|at| plain[*at]).unwrap();
        let rotated: Vec<u32> = (0..1000).map(|at| plain[(at + 1000 + most - 300) % 1000]).collect();
        assert_eq!(moved, rotated);
    }
}
