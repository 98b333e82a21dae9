//! Independent clients, each of which wants several operations at one moment: a Poisson process of batches.

use super::part::Part;
use super::poisson::Poisson;
use assay_base::{Instant, Prng, Rate};

/// See the module.
#[derive(Clone, Debug)]
pub struct Batches {
    moments: Poisson,
    batch: u32,
    /// Operations of this moment that are left.
    left: u32,
}

impl Batches {
    /// This part's batches of a stream with `rate` operations per second, `batch` of them at one moment: each batch belongs to one part.
    /// `None` when there is no rate, or no operation in a batch.
    pub fn new(start: Instant, rate: Rate, batch: u32, part: Part, prng: Prng) -> Option<Batches> {
        let moments = Poisson::new(start, rate.scaled_by(1, part.of.checked_mul(batch.into())?)?, prng)?;
        (batch > 0).then_some(Batches { moments, batch, left: batch })
    }

    #[inline]
    pub(super) fn next_due(&self) -> Instant {
        self.moments.next_due()
    }

    #[inline]
    pub(super) fn advance_to_next(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.batch;
            self.moments.advance_to_next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_at_each_moment_and_the_rate_is_that_of_operations() {
        let whole = Part { index: 0, of: 1 };
        for (batch, rate) in [(1, 100), (8, 1000), (500, 10_000)] {
            let rate_of = Rate::per_second(rate);
            let mut batches = Batches::new(Instant::ZERO, rate_of, batch, whole, Prng::from_seed(3)).unwrap();
            let mut moments: Vec<(u64, u32)> = Vec::new();
            while batches.next_due() < Instant::from_ns(100_000_000_000) {
                let due = batches.next_due().as_ns();
                match moments.last_mut().filter(|(at, _)| *at == due) {
                    Some((_, number)) => *number += 1,
                    None => moments.push((due, 1)),
                }
                batches.advance_to_next();
            }
            assert!(moments.iter().all(|(_, number)| *number == batch), "{batch}");
            let expected = rate as f64 * 100.0 / f64::from(batch);
            assert!(
                (moments.len() as f64 - expected).abs() < 4.0 * expected.sqrt(),
                "{batch}: {} moments",
                moments.len()
            );
        }
        for (rate, batch) in [(Rate::ZERO, 4), (Rate::per_second(1), 0)] {
            assert!(Batches::new(Instant::ZERO, rate, batch, whole, Prng::from_seed(3)).is_none(), "{rate:?} {batch}");
        }
    }
}
