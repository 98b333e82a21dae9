//! Mean, spread and range of a series that is not stored (B. P. Welford, 1962).

/// The moments of the values added so far.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
    /// Sum of the cubes of these distances.
    cubes: f64,
    /// The smallest value.
    pub least: f64,
    /// The largest value.
    pub most: f64,
}

impl Moments {
    /// Adds a value.
    pub fn add_value(&mut self, value: f64) {
        if self.count == 0 {
            (self.least, self.most) = (value, value);
        }
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        let (n, step) = (self.count as f64, before / self.count as f64);
        self.cubes += before * step * step * (n - 1.0) * (n - 2.0) - 3.0 * step * self.squares;
        self.squares += before * (value - self.mean);
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
    }

    /// Adds `count` zeros.
    pub fn add_zeros(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        if self.count == 0 {
            return *self = Moments { count, ..Moments::default() };
        }
        let (before, all) = (self.count as f64, (self.count + count) as f64);
        // Joins two series: T. F. Chan, G. H. Golub, R. J. LeVeque, 1979; the cubes by P. Pébay, 2008.
        let zeros = count as f64;
        self.cubes +=
            self.mean * zeros / all * (3.0 * self.squares - self.mean * self.mean * before * (before - zeros) / all);
        self.squares += self.mean * self.mean * before * count as f64 / all;
        self.mean *= before / all;
        self.count += count;
        (self.least, self.most) = (self.least.min(0.0), self.most.max(0.0));
    }

    /// The variance of the population.
    pub fn variance(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.squares / self.count as f64 }
    }

    /// The mean, if there is at least one value.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// The standard deviation as a share of the mean.
    pub fn relative_deviation(&self) -> Option<f64> {
        (self.count > 1 && self.mean > 0.0).then(|| self.variance().sqrt() / self.mean)
    }

    /// The skewness of the rate behind counts of arrivals, if these are independent but for changes of their rate: the
    /// cumulants of the counts without those of chance (D. R. Cox and P. A. W. Lewis, 1966).
    pub fn skewness_of_rate(&self) -> Option<f64> {
        let variance = self.variance() - self.mean;
        let third = self.cubes / self.count.max(1) as f64 - 3.0 * self.variance() + 2.0 * self.mean;
        (variance > 0.0).then(|| third / (variance * variance.sqrt()))
    }

    /// The moments of the sums of `copies` independent series like this one; the range is that of this one.
    pub fn of_copies(&self, copies: u32) -> Moments {
        let times = f64::from(copies);
        Moments { mean: self.mean * times, squares: self.squares * times, cubes: self.cubes * times, ..*self }
    }

    /// Variance divided by mean: 1 for independent arrivals, 0 for even ones, more for bursts.
    pub fn index_of_dispersion(&self) -> Option<f64> {
        (self.count > 1 && self.mean > 0.0).then(|| self.variance() / self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_by_hand() {
        let mut moments = Moments::default();
        assert_eq!((moments.mean(), moments.relative_deviation(), moments.index_of_dispersion()), (None, None, None));
        [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().for_each(|value| moments.add_value(value));
        assert_eq!((moments.mean(), moments.variance(), moments.least, moments.most), (Some(5.0), 4.0, 2.0, 9.0));
        assert_eq!((moments.relative_deviation(), moments.index_of_dispersion()), (Some(0.4), Some(0.8)));
        let mut one_by_one = moments;
        (0..8).for_each(|_| one_by_one.add_value(0.0));
        moments.add_zeros(8);
        assert_eq!((moments.count, moments.mean, moments.least), (16, one_by_one.mean, 0.0));
        assert!((moments.variance() - one_by_one.variance()).abs() < 1e-9);
        let all = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let cubes: f64 = all.iter().map(|value: &f64| (value - moments.mean).powi(3)).sum();
        assert!((moments.cubes - cubes).abs() < 1e-9 && (one_by_one.cubes - cubes).abs() < 1e-9);
        let mut nothing = Moments::default();
        nothing.add_zeros(3);
        assert_eq!((nothing.mean(), nothing.index_of_dispersion()), (Some(0.0), None));
    }
}
