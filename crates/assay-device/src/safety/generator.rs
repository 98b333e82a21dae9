//! Recognises data that ACT wrote by the random generator of ACT, without knowing its seed.
//!
//! ACT (`act_prep`, and every write of a test) fills its buffers with the 64-bit outputs of xorshift128+ with the
//! shifts 23, 17 and 26; with `compress-pct` below 100 every 512 bytes begin with zeros instead. The state of that
//! generator is linear over GF(2), and the lowest bit of an output is a sum of two bits of the state, so these lowest
//! bits obey one fixed recurrence of order 128, whatever the seed. Its polynomial is irreducible: except for all-zero
//! bits, no other data obeys it for long. After 128 words each further word is one check, which other data passes with
//! probability one half.
//!
//! Not recognised: anything shorter than 176 words (1408 bytes) of one buffer.

/// The unit in which data is distinguished, and in which ACT inserts its zeros.
const SECTOR: usize = 512;
/// Order of the recurrence.
const ORDER: usize = 128;
/// Its taps: bit k is set when the bit k + 1 words back counts. Found from the outputs by the Berlekamp–Massey
/// algorithm.
const TAPS: u128 = 0x9f0c_e807_02bf_41bd_1900_bf6f_801f_9f80;
/// Consecutive successful checks that count as proof: other data passes them once in 2^48 places.
const PROOF: usize = 48;

/// For each sector of `data`, whether it is zero or comes from ACT's generator.
pub(super) fn of_act(data: &[u8]) -> Vec<bool> {
    let words: Vec<(usize, u64)> =
        data.chunks(SECTOR).enumerate().flat_map(|(at, sector)| drawn_words(at, sector)).collect();
    let mut sectors = vec![true; data.len().div_ceil(SECTOR)];
    for ((sector, _), proven) in words.iter().zip(proven_words(&words)) {
        sectors[*sector] &= proven;
    }
    // A partial word at the very end cannot be checked.
    if !data.len().is_multiple_of(8)
        && let Some(last) = sectors.last_mut()
    {
        *last = false;
    }
    sectors
}

/// The words of a sector after the zeros at its beginning.
fn drawn_words(at: usize, sector: &[u8]) -> impl Iterator<Item = (usize, u64)> {
    let words = sector.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    words.skip_while(|word| *word == 0).map(move |word| (at, word))
}

/// Says of each word whether it lies in a stretch that obeys the recurrence.
fn proven_words(words: &[(usize, u64)]) -> Vec<bool> {
    let mut proven = vec![false; words.len()];
    let (mut past, mut passed) = (0u128, 0);
    for (at, (_, word)) in words.iter().enumerate() {
        let bit = word & 1;
        let holds = at >= ORDER && past != 0 && u64::from((past & TAPS).count_ones() & 1) == bit;
        passed = if holds { passed + 1 } else { 0 };
        if passed >= PROOF {
            // At the first proof all words that it is based on, afterwards one more with each check.
            let from = if passed == PROOF { at + 1 - PROOF - ORDER } else { at };
            proven[from..=at].fill(true);
        }
        past = past << 1 | u128::from(bit);
    }
    proven
}

/// Words as ACT draws them.
#[cfg(test)]
pub(super) struct Act(pub u64, pub u64);

#[cfg(test)]
impl Iterator for Act {
    type Item = u64;
    fn next(&mut self) -> Option<u64> {
        let (mut a, b) = (self.0, self.1);
        a ^= a << 23;
        (self.0, self.1) = (b, a ^ b ^ (a >> 17) ^ (b >> 26));
        Some(self.1.wrapping_add(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A buffer as ACT fills it: in each 64 words the first `zeros` are zero.
    fn buffer(act: &mut Act, bytes: usize, zeros: usize) -> Vec<u8> {
        let word = |at: usize| if at % 64 < zeros { 0 } else { act.next().unwrap() };
        (0..bytes / 8).map(word).flat_map(u64::to_le_bytes).collect()
    }

    #[test]
    fn what_act_writes_is_known_whatever_its_seed_and_share_of_zeros() {
        for seed in [(1, 0), (0, 1), (0x1234_5678_9abc_def0, 42), (u64::MAX, u64::MAX - 1)] {
            for (bytes, zeros) in [(131_072, 0), (4096, 0), (1536, 0), (4096, 32), (32_768, 58)] {
                let data = buffer(&mut Act(seed.0, seed.1), bytes, zeros);
                assert!(of_act(&data).iter().all(|known| *known), "{seed:?} {bytes} {zeros}");
            }
        }
    }

    #[test]
    fn nothing_else_is() {
        // The same kind of generator with other shifts, as other programs use it.
        let (mut a, mut b) = (1u64, 2u64);
        let mut other = move || {
            let (mut s1, s0) = (a, b);
            s1 ^= s1 << 23;
            (a, b) = (s0, s1 ^ s0 ^ (s1 >> 18) ^ (s0 >> 5));
            b.wrapping_add(s0)
        };
        let mut prng = assay_base::Prng::from_seed(7);
        let text = b"All happy families are alike; each unhappy family is unhappy in its own way. ".repeat(60);
        let unlike: Vec<u8> = buffer(&mut Act(3, 4), 4096, 0).iter().map(|byte| byte ^ 1).collect();
        for (what, data) in [
            ("other shifts", (0..512).flat_map(|_| other().to_le_bytes()).collect::<Vec<u8>>()),
            ("random", (0..512).flat_map(|_| prng.uniform_below(u64::MAX).to_le_bytes()).collect()),
            ("text", text[..4096].to_vec()),
            ("the same byte, even", vec![0x5a; 4096]),
            ("the same byte, odd", vec![0xa5; 4096]),
            ("counting", (1..=512u64).flat_map(u64::to_le_bytes).collect()),
            (
                "counting by two, one odd",
                (1..=512u64).flat_map(|n| (2 * n + u64::from(n == 200)).to_le_bytes()).collect(),
            ),
            ("too short", buffer(&mut Act(5, 6), 1024, 0)),
            ("inverted", unlike),
            ("big-endian", buffer(&mut Act(5, 6), 4096, 0).chunks(8).flat_map(|w| w.iter().rev().copied()).collect()),
        ] {
            assert!(of_act(&data).iter().all(|known| !known), "{what}");
        }
    }

    #[test]
    fn zeros_are_nobodys_and_a_foreign_sector_among_acts_stands_out() {
        assert_eq!(of_act(&[0; 4096]), [true; 8]);
        assert_eq!(of_act(&[]), [true; 0]);
        let mut act = Act(11, 12);
        let mut data = [buffer(&mut act, 4096, 0), vec![0; 1024], buffer(&mut Act(77, 5), 4096, 0)].concat();
        assert!(of_act(&data).iter().all(|known| *known), "two buffers with zeros between");
        data[4096 + 100] = 1;
        let known = of_act(&data);
        assert!(!known[8] && known[9], "{known:?}");
        assert!(known[..8].iter().all(|known| *known) && known[10..].iter().all(|known| *known), "{known:?}");
        let mut cut = buffer(&mut Act(1, 2), 4096, 0);
        cut[2048] ^= 1;
        assert!(of_act(&cut).contains(&false), "one bit of a lowest one");
        cut.truncate(4093);
        assert_eq!(of_act(&cut).last(), Some(&false));
    }
}
