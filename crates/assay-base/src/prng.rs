//! One seed per run: xoshiro256++ with children derived in plan order, so that a run is repeatable anywhere.
//!
//! Sources: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators" (2018) for xoshiro256++;
//! G. Steele et al., "Fast splittable pseudorandom number generators" (2014) for SplitMix64, which seeds it.
//! It is written out here instead of taken from a crate, because a replay must not change with a library's version; the
//! tests compare it with `rand_xoshiro`.

/// xoshiro256++ generator.
#[derive(Clone, Debug)]
pub struct Prng {
    s: [u64; 4],
}

/// One step of SplitMix64: advances `state` and returns its output.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Prng {
    /// The generator for a seed.
    pub fn from_seed(seed: u64) -> Prng {
        let mut state = seed;
        Prng { s: std::array::from_fn(|_| split_mix(&mut state)) }
    }

    /// The generator for a place in the plan: each number of `path` (stream, target, worker, purpose) is mixed in, one
    /// after the other. Different paths give unrelated generators.
    pub fn for_path(seed: u64, path: &[u64]) -> Prng {
        let mut state = seed;
        for step in path {
            state = split_mix(&mut state) ^ step.wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        Prng::from_seed(split_mix(&mut state))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.s;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `0..n` without bias (Lemire 2019, multiply and reject). `n` is at least 1.
    #[inline]
    pub fn uniform_below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0, "a range of nothing has no member");
        let mut product = u128::from(self.next_u64()) * u128::from(n);
        if (product as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// Uniform in `(0, 1]`, 53 bits: never zero, so that its logarithm exists.
    #[inline]
    pub fn uniform_unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    #[test]
    fn equals_the_reference_crate() {
        for seed in [0, 1, 42, u64::MAX] {
            let mut ours = Prng::from_seed(seed);
            let mut theirs = Xoshiro256PlusPlus::seed_from_u64(seed);
            assert!((0..1000).all(|_| ours.next_u64() == theirs.next_u64()), "seed {seed}");
        }
    }

    #[test]
    fn golden_vector() {
        // Fixed values, so that a change of this file cannot change replays unnoticed.
        let mut prng = Prng::from_seed(1);
        let got: Vec<u64> = (0..3).map(|_| prng.next_u64()).collect();
        assert_eq!(got, [0xcfc5_d07f_6f03_c29b, 0xbf42_4132_963f_e08d, 0x19a3_7d57_57aa_f520]);
    }

    #[test]
    fn children_differ_by_every_step_of_their_path() {
        let first = |path: &[u64]| Prng::for_path(7, path).next_u64();
        let paths: [&[u64]; 6] = [&[], &[0], &[1], &[0, 0], &[0, 1], &[1, 0]];
        let mut seen: Vec<u64> = paths.iter().map(|p| first(p)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), paths.len());
        assert_eq!(first(&[3, 4]), first(&[3, 4]));
    }

    #[test]
    fn below_is_uniform_and_never_reaches_its_bound() {
        // Chi-squared over 10 cells, 9 degrees of freedom: 27.9 is the 0.1 % point.
        let mut prng = Prng::from_seed(3);
        let mut cells = [0u32; 10];
        (0..100_000).for_each(|_| cells[prng.uniform_below(10) as usize] += 1);
        let chi: f64 = cells.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 27.9, "chi-squared {chi}");
        assert_eq!(prng.uniform_below(1), 0);
        assert!((0..1000).all(|_| prng.uniform_below(u64::MAX) < u64::MAX));
        assert!((0..1000).all(|_| {
            let u = prng.uniform_unit();
            u > 0.0 && u <= 1.0
        }));
    }
}
