//! Parsing a number with its unit, and the error for a text that is not one.

use std::borrow::Cow;
use std::fmt;

/// The error for a text that is not the expected quantity: what was written, what is wrong with it, what to write
/// instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitError {
    text: String,
    what: &'static str,
    expected: Cow<'static, str>,
}

impl UnitError {
    pub(crate) fn new(text: &str, what: &'static str, expected: impl Into<Cow<'static, str>>) -> Self {
        UnitError { text: text.chars().take(60).collect(), what, expected: expected.into() }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\": {}; write {}", self.text.escape_debug(), self.what, self.expected)
    }
}

impl std::error::Error for UnitError {}

/// Splits `"1.5 ms"` into number and unit.
pub(crate) fn number_and_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// `number` (plain decimal, `_` allowed between digits) times `scale`; `None` unless the product is a whole number in
/// range.
pub(crate) fn parse_scaled_decimal(number: &str, scale: u64) -> Option<u64> {
    let cleaned = number.replace('_', "");
    let (whole, fraction) = cleaned.split_once('.').unwrap_or((&cleaned, ""));
    if whole.is_empty() || fraction.len() > 18 || (number.contains('.') && fraction.is_empty()) {
        return None;
    }
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let unit = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let product = digits.checked_mul(u128::from(scale))?;
    if !product.is_multiple_of(unit) {
        return None;
    }
    u64::try_from(product / unit).ok()
}
