//! Every aligned position with space for the operation is equally likely.

use assay_base::Prng;

/// Uniform over the multiples of `align` in `0..size`.
#[derive(Clone, Copy, Debug)]
pub struct Uniform {
    size: u64,
    align: u64,
    /// The exponent of the alignment if it is a power of two, as most are: a division would be slow.
    shift: Option<u32>,
}

impl Uniform {
    /// Offsets in a target of `size` bytes, multiples of `align`; the caller ensures that its largest operation fits.
    pub fn new(size: u64, align: u64) -> Uniform {
        let align = align.max(1);
        Uniform { size, align, shift: align.is_power_of_two().then(|| align.ilog2()) }
    }

    #[inline(always)]
    pub(super) fn next(&self, len: u32, prng: &mut Prng) -> u64 {
        let last = self.size.saturating_sub(u64::from(len));
        match self.shift {
            Some(shift) => prng.uniform_below((last >> shift) + 1) << shift,
            None => prng.uniform_below(last / self.align + 1) * self.align,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_inside_and_reaching_both_ends() {
        for (size, align, len) in
            [(1 << 20, 512, 1536u32), (131_072 * 8 + 512, 131_072, 131_072), (4096, 4096, 4096), (1536, 512, 512)]
        {
            let uniform = Uniform::new(size, align);
            let mut prng = Prng::from_seed(1);
            let drawn: Vec<u64> = (0..50_000).map(|_| uniform.next(len, &mut prng)).collect();
            assert!(drawn.iter().all(|offset| offset % align == 0 && offset + u64::from(len) <= size));
            assert_eq!(drawn.iter().min(), Some(&0));
            assert_eq!(drawn.iter().max(), Some(&((size - u64::from(len)) / align * align)));
        }
    }

    #[test]
    fn uniform_by_chi_squared() {
        // For 63 degrees of freedom the 0.1 % point is 103.4.
        let uniform = Uniform::new(64 * 4096, 4096);
        let (mut prng, mut cells) = (Prng::from_seed(2), [0f64; 64]);
        (0..64_000).for_each(|_| cells[(uniform.next(4096, &mut prng) / 4096) as usize] += 1.0);
        let chi: f64 = cells.iter().map(|n| (n - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 103.4, "{chi}");
    }
}
