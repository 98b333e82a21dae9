//! Numbers as Python parses and rounds them, because ACT's analyzer is a Python script and our table must agree with
//! its digits. Sources: the Python language reference on `int()`, `float()` and `round()`.

/// Python's `str.isspace` for one character: Unicode white space and the four ASCII separators.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Python's `str.strip()`.
pub(crate) fn strip_like_python(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Removes the underscores that Python allows between two digits; `None` where one is elsewhere.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    for (i, _) in text.match_indices('_') {
        if i == 0 || !bytes[i - 1].is_ascii_digit() || !bytes.get(i + 1).is_some_and(u8::is_ascii_digit) {
            return None;
        }
    }
    Some(text.replace('_', ""))
}

/// Python's `int(text)` for ASCII digits; `None` where Python raises an exception, and beyond 128 bits.
pub(crate) fn int_like_python(text: &str) -> Option<i128> {
    let text = without_underscores(strip_like_python(text))?;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Python's `float(text)`; `None` where Python raises an exception.
pub(crate) fn float_like_python(text: &str) -> Option<f64> {
    without_underscores(strip_like_python(text))?.parse().ok()
}

/// Python 3's `round(x, digits)`: to nearest by the exact binary value, a tie to the even digit. Formatting is correctly
/// rounded in both languages, so the text read back is the same double.
pub(crate) fn round_like_python(x: f64, digits: usize) -> f64 {
    if x.fract() == 0.0 {
        return x;
    }
    format!("{x:.digits$}").parse().unwrap_or(x)
}

/// Python 2's `round(x, digits)`: the same, but a tie is rounded away from zero. A double that lies exactly between two
/// multiples of 1/10^d is an odd multiple of 1/2^(d+1).
pub(crate) fn round_away(x: f64, digits: usize) -> f64 {
    let parts = x * (2u32 << digits) as f64;
    if parts.fract() == 0.0 && parts.abs() < 9e15 && parts % 2.0 != 0.0 {
        return round_like_python(x + f64::copysign(1e-4, x), digits);
    }
    round_like_python(x, digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_as_python_reads_them() {
        for (text, value) in [
            ("10", Some(10)),
            (" +10\n", Some(10)),
            ("-3", Some(-3)),
            ("1_000", Some(1000)),
            ("0012", Some(12)),
            ("1__0", None),
            ("_1", None),
            ("1_", None),
            ("", None),
            ("-", None),
            ("+-1", None),
            ("1.0", None),
            ("0x10", None),
            ("1 0", None),
        ] {
            assert_eq!(int_like_python(text), value, "{text:?}");
        }
        assert_eq!(int_like_python(&"9".repeat(60)), None);
    }

    #[test]
    fn floats_as_python_reads_them() {
        assert_eq!(float_like_python("6.6"), Some(6.6));
        assert_eq!(float_like_python(" 6_0.5 "), Some(60.5));
        assert_eq!(float_like_python("6.6.1"), None);
        assert_eq!(float_like_python(""), None);
        assert!(float_like_python("nan").is_some_and(f64::is_nan));
    }

    #[test]
    fn rounding_goes_by_the_exact_binary_value() {
        // Values and results from Python 3.11.
        for (x, digits, rounded) in
            [(2.675, 2, 2.67), (0.125, 2, 0.12), (0.375, 2, 0.38), (1.005, 2, 1.0), (23.55, 1, 23.6), (0.25, 1, 0.2)]
        {
            assert_eq!(round_like_python(x, digits), rounded, "{x}");
        }
        assert!(round_like_python(-0.001, 2).is_sign_negative());
        // And from Python 2.7.
        for (x, digits, rounded) in [
            (0.125, 2, 0.13),
            (0.375, 2, 0.38),
            (-0.125, 2, -0.13),
            (2.675, 2, 2.67),
            (50.0, 2, 50.0),
            (0.5, 2, 0.5),
            (0.25, 1, 0.3),
        ] {
            assert_eq!(round_away(x, digits), rounded, "{x}");
        }
    }
}
