//! Random text, and the last names of customers.
//!
//! Source: TPC-C 5.11, clause 4.3.2: strings of a uniformly chosen length of letters and digits, and last names of three
//! syllables.

use assay_base::Prng;

const ALPHANUMERIC: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LETTERS: usize = 52;
const DIGITS: std::ops::Range<usize> = 52..62;
const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
/// So many characters are cut from one random number, because drawing one for each would take most of a load's time.
const AT_ONCE: u32 = 5;

/// Uniform in `low..=high`.
pub(super) fn uniform_between(prng: &mut Prng, low: i64, high: i64) -> i64 {
    low + prng.uniform_below((high - low + 1) as u64) as i64
}

/// As [`uniform_between`], for what is an `i32`.
pub(super) fn uniform_number(prng: &mut Prng, low: i32, high: i32) -> i32 {
    low + prng.uniform_below((high - low + 1) as u64) as i32
}

/// Letters and digits, `least` to `most` of them.
pub(super) fn random_letters_and_digits(prng: &mut Prng, least: usize, most: usize) -> String {
    let length = uniform_between(prng, least as i64, most as i64) as usize;
    random_text(prng, ALPHANUMERIC, length)
}

/// So many letters.
pub(super) fn random_letters(prng: &mut Prng, length: usize) -> String {
    random_text(prng, &ALPHANUMERIC[..LETTERS], length)
}

/// So many digits.
pub(super) fn random_digits(prng: &mut Prng, length: usize) -> String {
    random_text(prng, &ALPHANUMERIC[DIGITS], length)
}

/// A text of characters of this alphabet.
fn random_text(prng: &mut Prng, alphabet: &[u8], length: usize) -> String {
    let base = alphabet.len() as u64;
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let count = (length - text.len()).min(AT_ONCE as usize);
        let mut drawn = prng.uniform_below(base.pow(AT_ONCE));
        for _ in 0..count {
            text.push(char::from(alphabet[(drawn % base) as usize]));
            drawn /= base;
        }
    }
    text
}

/// The last name with a number from 0 to 999: a syllable for each of its three digits.
pub(crate) fn last_name(number: i32) -> String {
    [number / 100, number / 10, number].map(|digit| SYLLABLES[(digit % 10) as usize]).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_of_the_standard() {
        for (number, name) in [
            (40, "BARPRESBAR"),
            (371, "PRICALLYOUGHT"),
            (867, "ATIONANTICALLY"),
            (0, "BARBARBAR"),
            (999, "EINGEINGEING"),
        ] {
            assert_eq!(last_name(number), name);
        }
        assert!((0..1000).all(|number| last_name(number).len() <= 16), "they fit their column");
    }

    #[test]
    fn lengths_and_characters_are_uniform() {
        let mut prng = Prng::from_seed(1);
        let (mut lengths, mut characters) = ([0u64; 5], [0u64; 62]);
        for _ in 0..20_000 {
            let text = random_letters_and_digits(&mut prng, 3, 7);
            lengths[text.len() - 3] += 1;
            for byte in text.bytes() {
                characters[ALPHANUMERIC.iter().position(|it| *it == byte).unwrap()] += 1;
            }
        }
        // The 0.1 % points for 4 and 61 degrees of freedom.
        assert!(chi_squared(&lengths) < 18.5, "{lengths:?}");
        assert!(chi_squared(&characters) < 100.9, "{characters:?}");
    }

    fn chi_squared(counts: &[u64]) -> f64 {
        let wanted = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        counts.iter().map(|count| (*count as f64 - wanted).powi(2) / wanted).sum()
    }

    #[test]
    fn letters_and_digits_are_what_they_say() {
        let mut prng = Prng::from_seed(2);
        assert!(random_letters(&mut prng, 500).bytes().all(|byte| byte.is_ascii_alphabetic()));
        assert!(random_digits(&mut prng, 500).bytes().all(|byte| byte.is_ascii_digit()));
        assert_eq!((random_letters(&mut prng, 24).len(), random_digits(&mut prng, 16).len()), (24, 16));
        assert_eq!(random_letters_and_digits(&mut prng, 0, 0), "");
    }
}
