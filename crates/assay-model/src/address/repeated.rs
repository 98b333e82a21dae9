//! A uniformly chosen place several times in a row, then another one: fio's `rw_sequencer=identical`.

use super::uniform::Uniform;
use assay_base::Prng;

/// Each worker has places of its own.
#[derive(Clone, Copy, Debug)]
pub struct Repeated {
    uniform: Uniform,
    /// Bytes of the largest operation: whichever comes first at a place, each of them fits there.
    largest: u32,
    times: u32,
    left: u32,
    place: u64,
}

impl Repeated {
    /// Places of `uniform`, each `times` times, for operations of up to `largest` bytes.
    pub fn new(uniform: Uniform, largest: u32, times: u32) -> Repeated {
        Repeated { uniform, largest, times: times.max(1), left: 0, place: 0 }
    }

    #[inline]
    pub(super) fn next(&mut self, prng: &mut Prng) -> u64 {
        if self.left == 0 {
            self.place = self.uniform.next(self.largest, prng);
            self.left = self.times;
        }
        self.left -= 1;
        self.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_comes_as_often_as_said() {
        let (mut repeated, mut prng) = (Repeated::new(Uniform::new(1 << 30, 4096), 4096, 4), Prng::from_seed(1));
        let places: Vec<u64> = (0..4000).map(|_| repeated.next(&mut prng)).collect();
        let same = places.chunks(4).filter(|four| four.iter().all(|place| *place == four[0])).count();
        assert_eq!(same, 1000);
        let changes = places.chunks(4).map(|four| four[0]).collect::<std::collections::BTreeSet<_>>().len();
        assert!(changes > 990 && places.iter().all(|place| place % 4096 == 0), "{changes}");
    }

    #[test]
    fn every_operation_fits_at_a_place_whichever_comes_first() {
        let (mut repeated, mut prng) = (Repeated::new(Uniform::new(16_384, 512), 8192, 2), Prng::from_seed(1));
        let last = (0..1000).map(|_| repeated.next(&mut prng)).max();
        assert_eq!(last, Some(8192));
    }
}
