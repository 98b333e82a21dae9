//! Guesses what the author of `60k`, `60x60` or `24h` most likely meant, where ACT requires a whole number.

use super::keys::Unit;

/// The whole number meant by `text`, where that is clear.
pub(super) fn meant_number(text: &str, unit: Unit) -> Option<u64> {
    let plain: String = text.chars().filter(|c| !matches!(c, ',' | '_' | '\'' | ' ' | '\t')).collect();
    parse_product(&plain).or_else(|| parse_scientific(&plain)).or_else(|| with_suffix(&plain, unit))
}

/// `60x60x24`, `60*60`, and a plain number with separators.
fn parse_product(text: &str) -> Option<u64> {
    text.split(['x', 'X', '*', '×']).try_fold(1u64, |product, factor| product.checked_mul(parse_whole(factor)?))
}

fn parse_whole(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
    text.parse().ok()
}

/// `1e6`, `2.0`: only where the value is a whole number.
fn parse_scientific(text: &str) -> Option<u64> {
    text.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
    let value: f64 = text.parse().ok()?;
    (value.fract() == 0.0 && value < 1e15).then_some(value as u64)
}

/// `60k`, `24h`, `4KiB`: a suffix that fits the unit.
fn with_suffix(text: &str, unit: Unit) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, suffix) = text.split_at(end);
    let suffix = suffix.to_ascii_lowercase();
    let scale = match unit {
        Unit::PerSecond | Unit::Count => pick_scale(&suffix, &[("k", 1000), ("m", 1_000_000), ("/s", 1)]),
        Unit::Seconds => pick_scale(&suffix, &[("s", 1), ("sec", 1), ("min", 60), ("h", 3600), ("d", 86_400)]),
        Unit::Microseconds => pick_scale(&suffix, &[("us", 1), ("µs", 1), ("ms", 1000), ("s", 1_000_000)]),
        Unit::Bytes => {
            pick_scale(&suffix, &[("b", 1), ("k", 1024), ("kb", 1024), ("kib", 1024), ("m", 1 << 20), ("mib", 1 << 20)])
        }
        Unit::Kbytes => {
            pick_scale(&suffix, &[("k", 1), ("kb", 1), ("kib", 1), ("m", 1024), ("mb", 1024), ("mib", 1024)])
        }
        Unit::Mbytes => {
            pick_scale(&suffix, &[("m", 1), ("mb", 1), ("mib", 1), ("g", 1024), ("gb", 1024), ("gib", 1024)])
        }
        Unit::Percent => pick_scale(&suffix, &[("%", 1)]),
    };
    parse_whole(digits)?.checked_mul(scale?)
}

fn pick_scale(suffix: &str, scales: &[(&str, u64)]) -> Option<u64> {
    scales.iter().find(|(name, _)| *name == suffix).map(|(_, scale)| *scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant() {
        for (text, unit, meant) in [
            ("60k", Unit::PerSecond, Some(60_000)),
            ("60,000", Unit::PerSecond, Some(60_000)),
            ("60x60", Unit::Seconds, Some(3600)),
            ("60 x 60 x 24", Unit::Seconds, Some(86_400)),
            ("24h", Unit::Seconds, Some(86_400)),
            ("1e6", Unit::PerSecond, Some(1_000_000)),
            ("2.0", Unit::Seconds, Some(2)),
            ("2.9", Unit::Seconds, None),
            ("128K", Unit::Kbytes, Some(128)),
            ("4KiB", Unit::Bytes, Some(4096)),
            ("50%", Unit::Percent, Some(50)),
            ("-5", Unit::Seconds, None),
            ("abc", Unit::Seconds, None),
            ("inf", Unit::Seconds, None),
            ("", Unit::Seconds, None),
            ("99999999999999999999k", Unit::PerSecond, None),
        ] {
            assert_eq!(meant_number(text, unit), meant, "{text}");
        }
    }
}
