//! Gamma-distributed numbers, which file sizes are drawn from where a mean and a shape are given.
//!
//! Sources: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000, with
//! their own rule for shapes below 1 (section 6); normal numbers by the polar method (G. Marsaglia and T. A. Bray,
//! SIAM Review 6(3), 1964). All logarithms are our own, so that a tree is the same on every platform.

use assay_base::{Prng, math};

/// A gamma distribution of mean 1.
#[derive(Clone, Copy, Debug)]
pub struct Gamma {
    shape: f64,
    /// d and c of the paper, for a shape of at least 1.
    d: f64,
    c: f64,
}

impl Gamma {
    /// The distribution with a shape, which is above 0.
    pub fn with_shape(shape: f64) -> Gamma {
        assert!(shape.is_finite() && shape > 0.0, "a shape is above 0");
        let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
        Gamma { shape, d, c: 1.0 / (9.0 * d).sqrt() }
    }

    /// A number whose mean is 1 and whose variance is 1 / shape.
    pub fn draw(&self, prng: &mut Prng) -> f64 {
        let drawn = self.draw_large(prng);
        let boost = if self.shape < 1.0 { math::exp(math::ln(prng.uniform_unit()) / self.shape) } else { 1.0 };
        drawn * boost / self.shape
    }

    /// The paper's figure 1, for shapes of at least 1.
    fn draw_large(&self, prng: &mut Prng) -> f64 {
        loop {
            let x = normal(prng);
            let root = 1.0 + self.c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            if math::ln(prng.uniform_unit()) < 0.5 * x * x + self.d * (1.0 - v + math::ln(v)) {
                return self.d * v;
            }
        }
    }
}

/// A number from the standard normal distribution. The method gives two; the second is dropped, so that a draw depends
/// on nothing before it.
fn normal(prng: &mut Prng) -> f64 {
    loop {
        let (x, y) = (2.0 * prng.uniform_unit() - 1.0, 2.0 * prng.uniform_unit() - 1.0);
        let s = x * x + y * y;
        if s < 1.0 && s > f64::MIN_POSITIVE {
            return x * (-2.0 * math::ln(s) / s).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of a gamma distribution with a shape that is a whole number, and mean 1, which is below `x`: that of
    /// Erlang.
    fn share_below(shape: u32, x: f64) -> f64 {
        let scaled = x * f64::from(shape);
        let mut term = 1.0;
        let mut sum = 1.0;
        for k in 1..shape {
            term *= scaled / f64::from(k);
            sum += term;
        }
        1.0 - sum * (-scaled).exp()
    }

    #[test]
    fn numbers_are_distributed_as_erlang_says_by_chi_square() {
        // 20 cells of equal width up to 3, and one beyond; the 0.1 % point of 20 degrees of freedom is 45.3.
        for shape in [1, 2, 5] {
            let (gamma, mut prng, n) = (Gamma::with_shape(f64::from(shape)), Prng::from_seed(7), 200_000);
            let mut cells = [0.0; 21];
            (0..n).for_each(|_| cells[((gamma.draw(&mut prng) / 0.15) as usize).min(20)] += 1.0);
            let mut chi = 0.0;
            for (at, cell) in cells.iter().enumerate() {
                let upper = if at == 20 { 1.0 } else { share_below(shape, 0.15 * (at + 1) as f64) };
                let expected = f64::from(n) * (upper - share_below(shape, 0.15 * at as f64));
                chi += (cell - expected) * (cell - expected) / expected.max(1e-9);
            }
            assert!(chi < 45.3, "shape {shape}: {chi}");
        }
    }

    #[test]
    fn mean_and_variance_of_shapes_that_are_no_whole_numbers() {
        for shape in [0.3, 0.7, 1.5, 12.5] {
            let (gamma, mut prng, n) = (Gamma::with_shape(shape), Prng::from_seed(3), 400_000);
            let drawn: Vec<f64> = (0..n).map(|_| gamma.draw(&mut prng)).collect();
            let mean = drawn.iter().sum::<f64>() / f64::from(n);
            let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!((mean - 1.0).abs() < 5.0 * (1.0 / shape / f64::from(n)).sqrt(), "shape {shape}: mean {mean}");
            assert!((variance * shape - 1.0).abs() < 0.03, "shape {shape}: variance {variance}");
        }
    }

    #[test]
    fn golden_vector() {
        let (gamma, mut prng) = (Gamma::with_shape(1.5), Prng::from_seed(1));
        let first: Vec<u64> = (0..3).map(|_| (gamma.draw(&mut prng) * 1e9) as u64).collect();
        assert_eq!(first, [1_452_239_491, 1_275_886_882, 1_030_557_915]);
    }
}
