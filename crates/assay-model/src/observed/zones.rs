//! How unevenly places are used: counts by zones of the device, in bounded memory, and the Zipf law that fits them best.
//!
//! Zones are as small as memory allows and as large as counting requires: with only a few operations in each zone,
//! chance alone would make some of them hot.

/// The initial size of a zone, as a power of two.
const SMALLEST: u32 = 12;
/// Upper bound on the zones that are counted; with one more, neighbours are joined.
const ZONES_MAX: usize = 65_536;
/// Upper bound on the zones to which a law is fitted.
const FITTED_MAX: u64 = 16_384;
/// Upper bound on the addresses that wait to be counted.
const WAITING_MAX: usize = 32_768;
/// Mean number of operations per zone from which counts are meaningful.
const LEAST_MEAN: u64 = 32;
/// Number of exponents that are tried, in steps of a hundredth.
const EXPONENTS: u32 = 300;

/// Counts of operations by zone.
#[derive(Clone, Debug)]
pub struct Zones {
    shift: u32,
    /// Zones in use and their counts, by address.
    counts: Vec<(u64, u64)>,
    /// Addresses that are not yet counted: sorting many at once is cheaper than finding the place of each.
    waiting: Vec<u64>,
    operations: u64,
}

/// What was counted.
#[derive(Clone, Debug)]
pub(super) struct CountedZones {
    /// Bytes of a zone.
    pub size: u64,
    /// Number of zones from the first to the last that is used.
    pub extent: u64,
    /// Zones in use and their counts, in the order of the zones.
    pub counts: Vec<(u64, u64)>,
}

impl CountedZones {
    /// The same in zones of at least `size` bytes, a power of two.
    pub(super) fn coarsened_to(&self, size: u64) -> CountedZones {
        let by = (size / self.size).max(1).trailing_zeros();
        let mut counts = Vec::new();
        self.counts.iter().for_each(|&(zone, count)| add_to(&mut counts, zone >> by, count));
        let extent = match (counts.first(), counts.last()) {
            (Some((first, _)), Some((last, _))) => last - first + 1,
            _ => 0,
        };
        CountedZones { size: self.size << by, extent, counts }
    }
}

impl Default for Zones {
    fn default() -> Zones {
        Zones { shift: SMALLEST, counts: Vec::new(), waiting: Vec::new(), operations: 0 }
    }
}

/// The result of the counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// Bytes of a zone.
    pub zone: u64,
    /// Number of zones from the first to the last that is used.
    pub zones: u64,
    /// The exponent of the Zipf law that fits best; 0 is uniform.
    pub zipf: f64,
    /// The largest distance between the law's cumulative shares and those counted.
    pub error: f64,
    /// Shares of the operations that go to the busiest hundredth of the zones, and to the busiest tenth.
    pub busiest: (f64, f64),
}

impl Zones {
    /// Adds an operation at `address`.
    pub fn add_operation(&mut self, address: u64) {
        self.operations += 1;
        self.waiting.push(address);
        if self.waiting.len() >= WAITING_MAX {
            self.count_waiting();
        }
    }

    /// Counts the waiting addresses.
    fn count_waiting(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.iter_mut().for_each(|address| *address >>= self.shift);
        waiting.sort_unstable();
        let mut counted = std::mem::take(&mut self.counts).into_iter().peekable();
        let mut all: Vec<(u64, u64)> = Vec::new();
        for zone in waiting.drain(..) {
            while let Some((other, count)) = counted.next_if(|(other, _)| *other <= zone) {
                add_to(&mut all, other, count);
            }
            add_to(&mut all, zone, 1);
        }
        counted.for_each(|(zone, count)| add_to(&mut all, zone, count));
        (self.counts, self.waiting) = (all, waiting);
        while self.counts.len() > ZONES_MAX {
            self.coarsen_zones();
        }
    }

    fn coarsen_zones(&mut self) {
        self.shift += 1;
        let mut all = Vec::new();
        self.counts.iter().for_each(|&(zone, count)| add_to(&mut all, zone >> 1, count));
        self.counts = all;
    }

    /// Size of a zone, number of operations in each zone that was used, and the number of zones from the first to the last
    /// of these.
    pub(super) fn counted_zones(&self) -> CountedZones {
        let mut all = self.clone();
        all.count_waiting();
        let extent = all.address_extent().unwrap_or(0);
        CountedZones { size: 1 << all.shift, extent, counts: all.counts }
    }

    /// The law that fits best; `None` where there are too few operations or only one zone.
    pub fn best_fit(&self) -> Option<Fit> {
        let mut skew = self.clone();
        skew.count_waiting();
        loop {
            let zones = skew.address_extent()?;
            if zones < 8 {
                return None;
            }
            if zones <= FITTED_MAX && self.operations / zones >= LEAST_MEAN {
                return Some(skew.fit_with_zones(zones));
            }
            skew.coarsen_zones();
        }
    }

    fn address_extent(&self) -> Option<u64> {
        let (first, last) = (self.counts.first()?.0, self.counts.last()?.0);
        (last - first).checked_add(1)
    }

    fn fit_with_zones(&self, zones: u64) -> Fit {
        let mut counts: Vec<u64> = self.counts.iter().map(|(_, count)| *count).collect();
        counts.resize(zones as usize, 0);
        counts.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
        let total = self.operations as f64;
        let shares: Vec<f64> = counts
            .iter()
            .scan(0u64, |sum, count| {
                *sum += count;
                Some(*sum as f64 / total)
            })
            .collect();
        let mean = total / zones as f64;
        let variance = counts.iter().map(|&count| (count as f64 - mean).powi(2)).sum::<f64>() / zones as f64;
        // Independent operations on equal zones have a variance equal to their mean, within four standard deviations.
        let uniform = variance / mean <= 1.0 + 4.0 * (2.0 / zones as f64).sqrt();
        let tried = if uniform { 0..1 } else { 0..EXPONENTS };
        let distances = tried.map(|hundredths| {
            let exponent = f64::from(hundredths) / 100.0;
            (exponent, distance_to_zipf(&shares, exponent))
        });
        let (zipf, error) = distances.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0.0, 1.0));
        let [hundredth, tenth] =
            [100, 10].map(|part: u64| shares[(zones.div_ceil(part) as usize).clamp(1, shares.len()) - 1]);
        Fit { zone: 1 << self.shift, zones, zipf, error, busiest: (hundredth, tenth) }
    }
}

/// Adds to the last zone, or to a new zone after it: zones come in order.
fn add_to(all: &mut Vec<(u64, u64)>, zone: u64, count: u64) {
    match all.last_mut().filter(|(last, _)| *last == zone) {
        Some((_, sum)) => *sum += count,
        None => all.push((zone, count)),
    }
}

/// The largest distance between counted cumulative shares and those of a Zipf law.
fn distance_to_zipf(shares: &[f64], exponent: f64) -> f64 {
    let weights: Vec<f64> = (1..=shares.len()).map(|rank| (rank as f64).powf(-exponent)).collect();
    let total: f64 = weights.iter().sum();
    let mut sum = 0.0;
    let each = weights.iter().zip(shares).map(|(weight, share)| {
        sum += weight / total;
        (sum - share).abs()
    });
    each.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;

    /// Addresses of a Zipf law over `n` blocks of 4 KiB in scattered order.
    fn drawn(exponent: f64, n: usize, operations: usize) -> Zones {
        let mut prng = Prng::from_seed(7);
        let weights: Vec<f64> = (1..=n).map(|rank| (rank as f64).powf(-exponent)).collect();
        let total: f64 = weights.iter().sum();
        let cumulative: Vec<f64> = weights
            .iter()
            .scan(0.0, |sum, weight| {
                *sum += weight / total;
                Some(*sum)
            })
            .collect();
        let mut skew = Zones::default();
        for _ in 0..operations {
            let u = prng.uniform_unit();
            let rank = cumulative.partition_point(|share| *share < u).min(n - 1);
            // Scattered: neighbouring ranks are not neighbouring zones.
            let zone = (rank * 7919) % n;
            skew.add_operation((zone as u64) << 12);
        }
        skew
    }

    #[test]
    fn finds_the_exponent_that_was_drawn() {
        for exponent in [0.5, 0.8, 1.0, 1.2] {
            let fit = drawn(exponent, 1024, 400_000).best_fit().unwrap();
            assert_eq!((fit.zone, fit.zones), (1 << 12, 1024), "{exponent}");
            assert!((fit.zipf - exponent).abs() <= 0.05 && fit.error < 0.02, "{exponent}: {fit:?}");
        }
    }

    #[test]
    fn uniform_is_no_skew_and_memory_is_bounded() {
        let mut prng = Prng::from_seed(3);
        let mut skew = Zones::default();
        (0..300_000).for_each(|_| skew.add_operation(prng.uniform_below(1 << 40)));
        assert!(skew.counts.len() <= ZONES_MAX && skew.waiting.len() <= WAITING_MAX);
        let fit = skew.best_fit().unwrap();
        assert_eq!(fit.zipf, 0.0);
        assert!(fit.error < 0.1 && fit.busiest.1 < 0.2, "{fit:?}");
    }

    #[test]
    fn too_little_is_not_fitted() {
        assert_eq!(Zones::default().best_fit(), None);
        let mut skew = Zones::default();
        (0..100).for_each(|i| skew.add_operation(i << 30));
        assert_eq!(skew.best_fit(), None);
        (0..100_000).for_each(|_| skew.add_operation(u64::MAX));
        assert!(skew.best_fit().is_some_and(|fit| fit.busiest.0 > 0.9));
    }
}
