//! Numbers of job files: sizes and counts with binary suffixes, times, shares. A number that fio reads as another one
//! than it seems to be is refused.

use assay_base::Span;

/// A mistake in the bytes `from..to` of a value, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub from: usize,
    pub to: usize,
    pub what: String,
    pub remedy: String,
}

impl Wrong {
    pub(super) fn new(text: &str, what: impl Into<String>, remedy: impl Into<String>) -> Wrong {
        Wrong { from: 0, to: text.len(), what: what.into(), remedy: remedy.into() }
    }

    /// The same fault in a longer text, in which the text of this fault begins at `at`.
    pub(super) fn shifted_by(self, at: usize) -> Wrong {
        Wrong { from: self.from + at, to: self.to + at, ..self }
    }
}

/// How numbers of a job are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Whether `kib` is 1024 and `k` 1000; fio's own default has it the other way round.
    pub true_units: bool,
    /// Whether a blank stands before the value; fio then ignores a suffix.
    pub behind_blank: bool,
    /// The key and the noun for what it counts, for messages.
    pub key: &'static str,
    pub noun: &'static str,
}

/// Bytes, or a share of a file in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    Bytes(u64),
    Percent(u64),
}

impl Reading {
    /// A number with or without a binary suffix.
    pub(super) fn parse_count(self, text: &str) -> Result<u64, Wrong> {
        let (number, rest) = leading_digits(text).ok_or_else(|| not_a_number(text))?;
        if rest.is_empty() {
            return Ok(number);
        }
        let Some(multiplier) = self.suffix_factor(rest) else { return Err(self.strange_suffix(text, number, rest)) };
        if self.behind_blank && rest.eq_ignore_ascii_case("b") {
            return Ok(number);
        }
        if self.behind_blank {
            let what = format!("fio reads {number}{} here, the suffix is lost behind a blank", self.noun);
            return Err(Wrong::new(text, what, format!("write {}={text}", self.key)));
        }
        number
            .checked_mul(multiplier)
            .ok_or_else(|| Wrong::new(text, "this number is too large", "write a smaller one"))
    }

    /// A number with or without a binary suffix, or a share in percent. Two percent signs are one: a file that was made
    /// from a template for Python has two.
    pub(super) fn parse_amount(self, text: &str) -> Result<Amount, Wrong> {
        let share = text.strip_suffix("%%").or_else(|| text.strip_suffix('%'));
        match share.and_then(leading_digits) {
            Some((percent, "")) if (1..=100).contains(&percent) && !self.behind_blank => Ok(Amount::Percent(percent)),
            Some((_, "")) => {
                Err(Wrong::new(text, "not a share of a file", "write 1% to 100%, directly behind the equals sign"))
            }
            _ => self.parse_count(text).map(Amount::Bytes),
        }
    }

    /// The factor that a suffix stands for.
    fn suffix_factor(self, suffix: &str) -> Option<u64> {
        let suffix = suffix.to_ascii_lowercase();
        let (unit, rest) = suffix.split_at_checked(1)?;
        let power = ["b", "k", "m", "g", "t", "p"].iter().position(|known| *known == unit)? as u32;
        let binary = match rest {
            "" | "b" | "i" if power > 0 => !self.true_units,
            "ib" if power > 0 => self.true_units,
            "" => true,
            _ => return None,
        };
        Some(if binary { 1024u64 } else { 1000 }.pow(power))
    }

    /// The fault for a number that is followed by `rest`, which is not a suffix.
    fn strange_suffix(self, text: &str, number: u64, rest: &str) -> Wrong {
        let noun = self.noun;
        if let Some(exact) = self.parse_fraction(number, rest) {
            return Wrong::new(text, format!("fio reads {number}{noun} here"), format!("write {exact}"));
        }
        let read = self.as_fio_reads(number, rest);
        let what = format!("fio reads {read}{} and drops the rest", if read == number { "" } else { noun });
        let remedy = if rest.contains('-') && self.key == "bs" {
            format!("write {read}, or bsrange={text} for sizes between these")
        } else {
            format!("write {read}")
        };
        Wrong::new(text, what, remedy)
    }

    /// The number that fio makes of `number` and the first letters of `rest`, whatever stands behind them.
    fn as_fio_reads(self, number: u64, rest: &str) -> u64 {
        let longest = rest.chars().take_while(char::is_ascii_alphabetic).count().min(3);
        let unit = [longest, 1].into_iter().find_map(|letters| self.suffix_factor(rest.get(..letters)?));
        unit.filter(|_| longest > 0).and_then(|unit| number.checked_mul(unit)).unwrap_or(number)
    }

    /// The value of `number` together with `rest`, if `rest` is a decimal fraction with or without a suffix.
    fn parse_fraction(self, number: u64, rest: &str) -> Option<u64> {
        let rest = rest.strip_prefix('.')?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let multiplier = if end == rest.len() { 1 } else { self.suffix_factor(&rest[end..])? };
        let scale = 10u64.checked_pow(u32::try_from(end).ok()?)?;
        let part = rest[..end].parse::<u64>().ok()?.checked_mul(multiplier)?;
        number.checked_mul(multiplier)?.checked_add(part / scale)
    }
}

/// A time; a number without a unit is in units of `unit`.
pub(super) fn parse_time(text: &str, unit: Span, reading: Reading) -> Result<Span, Wrong> {
    let (number, rest) = leading_digits(text).ok_or_else(|| not_a_number(text))?;
    if rest.is_empty() {
        return span_from_number(text, number, unit);
    }
    let units = [
        (&["us", "usec"][..], Span::from_us(1)),
        (&["ms", "msec"], Span::from_ms(1)),
        (&["s", "sec"], Span::from_secs(1)),
        (&["m", "min"], Span::from_secs(60)),
        (&["h"], Span::from_secs(3600)),
        (&["d"], Span::from_secs(86_400)),
    ];
    let suffix = rest.to_ascii_lowercase();
    let Some((_, named)) = units.iter().find(|(names, _)| names.contains(&suffix.as_str())) else {
        return Err(Wrong::new(text, "not a time", "write a whole number with us, ms, s, m, h, d, or without a unit"));
    };
    if reading.behind_blank {
        let alone = if unit == Span::from_secs(1) { "s" } else { "µs" };
        let what = format!("fio reads {number} {alone} here, the unit is lost behind a blank");
        return Err(Wrong::new(text, what, format!("write {}={text}", reading.key)));
    }
    span_from_number(text, number, *named)
}

fn span_from_number(text: &str, number: u64, unit: Span) -> Result<Span, Wrong> {
    let ns = number.checked_mul(unit.as_ns()).filter(|ns| *ns <= 366 * 86_400 * 1_000_000_000);
    ns.map(Span::from_ns).ok_or_else(|| Wrong::new(text, "this time is longer than a year", "write a shorter one"))
}

/// A share in percent.
pub(super) fn parse_percent(text: &str) -> Result<u64, Wrong> {
    let (number, rest) = leading_digits(text).ok_or_else(|| not_a_number(text))?;
    if !rest.is_empty() {
        return Err(Wrong::new(text, format!("fio reads {number} and drops the rest"), format!("write {number}")));
    }
    match number {
        0..=100 => Ok(number),
        _ => Err(Wrong::new(text, "not a share in percent", "write 0 to 100")),
    }
}

fn not_a_number(text: &str) -> Wrong {
    Wrong::new(text, "not a whole number", "write one, such as 4096 or 4k")
}

/// The number that a text begins with, and the rest of the text.
fn leading_digits(text: &str) -> Option<(u64, &str)> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        return Some((u64::from_str_radix(&hex[..end], 16).ok()?, &hex[end..]));
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Reading = Reading { true_units: false, behind_blank: false, key: "bs", noun: " bytes" };

    #[test]
    fn suffixes_are_binary_but_for_kib() {
        let swapped = Reading { true_units: true, ..PLAIN };
        for (text, usual, true_units) in [
            ("4096", 4096, 4096),
            ("4k", 4096, 4000),
            ("4K", 4096, 4000),
            ("4kb", 4096, 4000),
            ("4Ki", 4096, 4000),
            ("4kib", 4000, 4096),
            ("1MiB", 1_000_000, 1 << 20),
            ("1g", 1 << 30, 1_000_000_000),
            ("0x2000", 8192, 8192),
            ("2p", 2 << 50, 2_000_000_000_000_000),
            ("512b", 512, 512),
        ] {
            assert_eq!((PLAIN.parse_count(text), swapped.parse_count(text)), (Ok(usual), Ok(true_units)), "{text}");
        }
    }

    #[test]
    fn what_fio_reads_otherwise_than_it_looks_is_refused() {
        let blank = Reading { behind_blank: true, ..PLAIN };
        for (reading, text, what, remedy) in [
            (PLAIN, "4.5k", "fio reads 4 bytes here", "write 4608"),
            (PLAIN, "80%", "fio reads 80 and drops the rest", "write 80"),
            (PLAIN, "4kx", "fio reads 4096 bytes and drops the rest", "write 4096"),
            (PLAIN, "4kibx", "fio reads 4000 bytes and drops the rest", "write 4000"),
            (PLAIN, "4xk", "fio reads 4 and drops the rest", "write 4"),
            (PLAIN, "4k-512k", "fio reads 4096 bytes and drops the rest", "bsrange=4k-512k"),
            (PLAIN, "4-8k", "fio reads 4 and drops the rest", "bsrange=4-8k"),
            (blank, "8k", "fio reads 8 bytes here, the suffix is lost behind a blank", "write bs=8k"),
            (PLAIN, "-1", "not a whole number", ""),
            (PLAIN, "", "not a whole number", ""),
            (PLAIN, "99999999999999999999", "not a whole number", ""),
            (PLAIN, "99999999p", "too large", ""),
            (PLAIN, "é", "not a whole number", ""),
        ] {
            let wrong = reading.parse_count(text).unwrap_err();
            assert!(wrong.what.contains(what) && wrong.remedy.contains(remedy), "{text}: {wrong:?}");
        }
        assert_eq!(blank.parse_count("8192"), Ok(8192));
        assert_eq!(PLAIN.parse_amount("10%"), Ok(Amount::Percent(10)));
        assert_eq!(PLAIN.parse_amount("100%%"), Ok(Amount::Percent(100)));
        assert!(
            PLAIN.parse_amount("100%%%").is_err()
                && PLAIN.parse_amount("%%").is_err()
                && PLAIN.parse_amount("0%%").is_err()
        );
        assert!(
            PLAIN.parse_amount("0%").is_err()
                && PLAIN.parse_amount("101%").is_err()
                && PLAIN.parse_amount("1.5%").is_err()
        );
    }

    #[test]
    fn times_have_the_unit_of_their_key() {
        let (s, us) = (Span::from_secs(1), Span::from_us(1));
        for (text, unit, expected) in [
            ("30", s, Span::from_secs(30)),
            ("30", us, Span::from_us(30)),
            ("10ms", us, Span::from_ms(10)),
            ("2m", s, Span::from_secs(120)),
            ("1h", s, Span::from_secs(3600)),
        ] {
            assert_eq!(parse_time(text, unit, PLAIN), Ok(expected), "{text}");
        }
        assert!(
            parse_time("1m", s, Reading { behind_blank: true, ..PLAIN })
                .unwrap_err()
                .what
                .contains("fio reads 1 s here")
        );
        for bad in ["", "1.5", "2x", "1:30", "99999999999", "m"] {
            assert!(parse_time(bad, s, PLAIN).is_err(), "{bad}");
        }
    }
}
