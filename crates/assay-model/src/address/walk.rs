//! A random walk: the next place is the last one plus or minus a uniform step, reflected at both ends. Reflection
//! between the places and the walls beyond them (−1 becomes 0) keeps the walk symmetric, so that in the long run each
//! place is as likely as any other.

use super::grid::Grid;
use assay_base::Prng;

/// Each worker has its own walk.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    grid: Grid,
    /// Upper bound on the length of a step, in places.
    reach: u64,
    at: Option<u64>,
}

impl Walk {
    /// A walk over the places of `grid`, at most `reach` bytes a step.
    pub fn new(grid: Grid, reach: u64) -> Walk {
        Walk { grid, reach: grid.places_within(reach), at: None }
    }

    #[inline]
    pub(super) fn next(&mut self, prng: &mut Prng) -> u64 {
        let n = self.grid.places;
        let place = match self.at {
            None => prng.uniform_below(n),
            // The place is shifted by `reach`, so that it is not negative.
            Some(at) => reflected_place(at + prng.uniform_below(2 * self.reach + 1), self.reach, n),
        };
        self.at = Some(place);
        self.grid.offset_at(place)
    }
}

/// `place − reach` reflected into `0..n`; with a reach of at most n it is at most once beyond either end.
#[inline(always)]
fn reflected_place(place: u64, reach: u64, n: u64) -> u64 {
    if place < reach {
        reach - place - 1
    } else if place - reach >= n {
        2 * n - 1 - (place - reach)
    } else {
        place - reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_never_longer_and_each_length_as_likely() {
        let (mut walk, mut prng) = (Walk::new(Grid::new(1 << 30, 4096, 4096), 8 * 4096), Prng::from_seed(1));
        let (mut last, mut steps) = (walk.next(&mut prng) as i64 / 4096, [0f64; 17]);
        for _ in 0..170_000 {
            let at = walk.next(&mut prng) as i64 / 4096;
            // Counts only steps that could not have been reflected.
            if (8..(1 << 18) - 8).contains(&last) {
                steps[(at - last + 8) as usize] += 1.0;
            }
            last = at;
        }
        let mean = steps.iter().sum::<f64>() / 17.0;
        let chi: f64 = steps.iter().map(|n| (n - mean).powi(2) / mean).sum();
        assert!(chi < 39.3, "16 degrees of freedom: {chi}");
    }

    #[test]
    fn each_place_is_as_likely_as_any_other() {
        // Checks every 64th step: by then steps of half the target are independent of their start.
        for (places, reach) in [(64, 32), (64, 64), (5, 3)] {
            let (mut walk, mut prng) =
                (Walk::new(Grid::new(places * 512, 512, 512), reach * 512), Prng::from_seed(places));
            let mut cells = vec![0f64; places as usize];
            for _ in 0..64_000 {
                let place = (0..64).map(|_| walk.next(&mut prng)).last().unwrap() / 512;
                cells[place as usize] += 1.0;
            }
            let mean = 64_000.0 / places as f64;
            let chi: f64 = cells.iter().map(|n| (n - mean).powi(2) / mean).sum();
            assert!(chi < if places == 64 { 103.4 } else { 18.5 }, "{places} places, steps of {reach}: {chi}");
        }
        let mut one = Walk::new(Grid::new(512, 512, 512), 1 << 20);
        assert!((0..100).all(|_| one.next(&mut Prng::from_seed(1)) == 0));
    }
}
