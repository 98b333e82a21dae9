//! Rows as `LOAD DATA` and `INSERT` read them: text.

use super::schema::text_literal;
use assay_model::tpcc::rows::Row;
use assay_model::tpcc::{ColumnKind, Table, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

const DAY: i64 = 86_400_000_000;

/// The rows of a part, by table: a line for each, with a tabulator between the values.
#[derive(Default)]
pub(super) struct TableLines {
    tables: BTreeMap<Table, String>,
}

impl TableLines {
    pub(super) fn add_row(&mut self, row: &Row) {
        let out = self.tables.entry(row.row_table()).or_default();
        let mut columns = row.row_table().all_columns().iter().enumerate();
        row.put_values(&mut |given| {
            let (at, column) = columns.next().expect("a row has a value for each column");
            if at > 0 {
                out.push('\t');
            }
            write_value(given, column.kind, out);
        });
        out.push('\n');
    }

    pub(super) fn into_tables(self) -> impl Iterator<Item = (Table, String)> {
        self.tables.into_iter()
    }
}

/// The mark of a null in a line.
const NULL: &str = "\\N";

fn write_value(value: Value<'_>, kind: ColumnKind, out: &mut String) {
    match (value, kind) {
        (Value::Null, _) => out.push_str(NULL),
        // Texts of the population are letters, digits and blanks.
        (Value::Text(text), _) => out.push_str(text),
        (Value::Integer(cents), ColumnKind::Money(_)) => write_decimal(cents, 2, out),
        (Value::Integer(rate), ColumnKind::Rate) => write_decimal(rate, 4, out),
        (Value::Integer(micros), ColumnKind::Time) => out.push_str(&format_moment(micros)),
        (Value::Integer(number), _) => append_formatted(out, format_args!("{number}")),
    }
}

fn append_formatted(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("text in memory takes everything");
}

/// The values of a line as they stand in an INSERT.
pub(super) fn insert_tuple(line: &str) -> String {
    format!(
        "({})",
        line.split('\t')
            .map(|text: &str| if text == NULL { "NULL".to_owned() } else { text_literal(text) })
            .collect::<Vec<_>>()
            .join(", ")
    )
}

/// Appends a number that is given in units of its last decimal place.
fn write_decimal(number: i64, places: u32, out: &mut String) {
    let unit = 10_u64.pow(places);
    let (whole, part) = (number.unsigned_abs() / unit, number.unsigned_abs() % unit);
    let sign = if number < 0 { "-" } else { "" };
    append_formatted(out, format_args!("{sign}{whole}.{part:0width$}", width = places as usize));
}

/// An amount of money in cents as it stands in a statement.
pub(super) fn format_money(cents: i64) -> String {
    let mut out = String::new();
    write_decimal(cents, 2, &mut out);
    out
}

/// A moment that is given in microseconds since 1970, as a DATETIME(6) in UTC.
///
/// Days are counted in years that begin in March, so that the leap day is the last one, and in eras of 400 years
/// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days).
pub(super) fn format_moment(micros: i64) -> String {
    let (days, rest) = (micros.div_euclid(DAY) + 719_468, micros.rem_euclid(DAY));
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (seconds, micros) = (rest / 1_000_000, rest % 1_000_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_as_the_calendar_has_them() {
        for (micros, wanted) in [
            (0, "1970-01-01 00:00:00.000000"),
            (1, "1970-01-01 00:00:00.000001"),
            (951_782_400_000_000, "2000-02-29 00:00:00.000000"),
            (1_800_000_000_123_456, "2027-01-15 08:00:00.123456"),
            (4_107_542_399_999_999, "2100-02-28 23:59:59.999999"),
            (4_107_542_400_000_000, "2100-03-01 00:00:00.000000"),
            (-1, "1969-12-31 23:59:59.999999"),
        ] {
            assert_eq!(format_moment(micros), wanted);
        }
    }

    #[test]
    fn amounts_and_rows_as_they_are_sent() {
        for (cents, wanted) in [(0, "0.00"), (-7, "-0.07"), (100_001, "1000.01"), (-1_000, "-10.00")] {
            assert_eq!(format_money(cents), wanted);
        }
        let mut rate = String::new();
        write_decimal(2_000, 4, &mut rate);
        assert_eq!(rate, "0.2000");
        assert_eq!(insert_tuple("1\t\\N\tab"), "('1', NULL, 'ab')");
    }
}
