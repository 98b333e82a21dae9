//! A seeded order of the numbers below N, without a table: each of them once, in an order that a key decides.
//!
//! Method: a Feistel network over the smallest power of two that is not below N, repeated until it gives a number below
//! N (J. Black and P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002), which takes fewer than two steps
//! on average. The lengths of its two halves may differ by a bit. The rounds mix by a multiplication: this is not
//! encryption, the order only has to look random.

use assay_base::Prng;

const ROUNDS: usize = 6;

/// See the module.
#[derive(Clone, Debug)]
pub struct Order {
    n: u64,
    /// Bits of the low and of the high half.
    low: u32,
    high: u32,
    keys: [u64; ROUNDS],
}

impl Order {
    /// The order of the numbers below `n` (at least 1, at most 2^52) that `key` decides.
    pub fn new(n: u64, key: u64) -> Order {
        let bits = n.max(4).next_power_of_two().ilog2();
        let mut prng = Prng::for_path(key, &[n]);
        Order { n: n.max(1), low: bits.div_ceil(2), high: bits / 2, keys: std::array::from_fn(|_| prng.next_u64() | 1) }
    }

    /// The number at position `place`, which is below `n`.
    #[inline]
    pub fn number_at(&self, place: u64) -> u64 {
        let mut number = self.mix_number(place);
        while number >= self.n {
            number = self.mix_number(number);
        }
        number
    }

    #[inline(always)]
    fn mix_number(&self, number: u64) -> u64 {
        let (of_low, of_high) = ((1 << self.low) - 1, (1 << self.high) - 1);
        let (mut low, mut high) = (number & of_low, number >> self.low);
        for keys in self.keys.as_chunks::<2>().0 {
            high ^= mix_bits(low, keys[0]) & of_high;
            low ^= mix_bits(high, keys[1]) & of_low;
        }
        high << self.low | low
    }
}

/// Bits that depend on all of `half` and `key`: the upper ones of a product.
#[inline(always)]
fn mix_bits(half: u64, key: u64) -> u64 {
    (half ^ key >> 32).wrapping_mul(key) >> 36
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_whole(n: u64, key: u64) -> bool {
        let order = Order::new(n, key);
        let mut seen = vec![false; n as usize];
        (0..n).for_each(|place| seen[order.number_at(place) as usize] = true);
        seen.into_iter().all(|seen| seen)
    }

    #[test]
    fn each_number_has_one_place() {
        assert!((1..=4096).all(|n| is_whole(n, n)));
        for key in 0..3 {
            assert!(is_whole(999_983, key) && is_whole(1_000_000, key) && is_whole(1 << 20, key), "{key}");
        }
    }

    #[test]
    fn the_largest_orders_stay_within() {
        for n in [(1 << 52) - 1, 1 << 52, (1 << 51) + 1] {
            let order = Order::new(n, 7);
            let mut numbers: Vec<u64> = (0..1000).chain(n - 1000..n).map(|place| order.number_at(place)).collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), 2000);
            assert!(numbers.iter().all(|number| *number < n));
        }
    }

    #[test]
    fn neighbours_lie_anywhere_and_keys_differ() {
        // The positions of the first places under many keys, and the distances between neighbours. For 15 degrees of
        // freedom the 0.1 % point is 37.7.
        let n = 1_000_003;
        let sixteenth = |number: u64| (number * 16 / n) as usize;
        let chi = |cells: [f64; 16]| -> f64 {
            let mean = cells.iter().sum::<f64>() / 16.0;
            cells.iter().map(|cell| (cell - mean).powi(2) / mean).sum()
        };
        let (mut firsts, mut steps) = ([0.0; 16], [0.0; 16]);
        (0..16_000).for_each(|key| firsts[sixteenth(Order::new(n, key).number_at(0))] += 1.0);
        let order = Order::new(n, 1);
        (0..16_000)
            .for_each(|place| steps[sixteenth((n + order.number_at(place + 1) - order.number_at(place)) % n)] += 1.0);
        assert!(chi(firsts) < 37.7 && chi(steps) < 37.7, "{} {}", chi(firsts), chi(steps));
    }

    #[test]
    fn golden_vector() {
        let order = Order::new(1_000_000, 1);
        let first: Vec<u64> = (0..4).map(|place| order.number_at(place)).collect();
        assert_eq!(first, [904_055, 21_104, 861_738, 538_403]);
        assert_eq!((Order::new(1, 9).number_at(0), Order::new(0, 9).number_at(0)), (0, 0));
    }
}
