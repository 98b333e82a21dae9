//! Values in PostgreSQL's binary form (its sources: `numeric.c`, `timestamp.c`, `arrayfuncs.c`), which is the same in a
//! COPY, in parameters and in answers.

use crate::servers::WrittenRow;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::DataRowBody;
use std::error::Error;
use std::io;
use std::ops::Range;

/// Numbers of types (`pg_type.dat`).
pub(super) const INT4: u32 = 23;
pub(super) const INT8: u32 = 20;
pub(super) const TEXT: u32 = 25;
pub(super) const NUMERIC: u32 = 1700;
pub(super) const TIMESTAMPTZ: u32 = 1184;
pub(super) const INT4S: u32 = 1007;
pub(super) const NUMERICS: u32 = 1231;
pub(super) const TEXTS: u32 = 1009;

/// Between 1970, from which our moments are counted, and 2000, from which PostgreSQL counts, in microseconds.
const EPOCH: i64 = 946_684_800_000_000;
/// PostgreSQL's digits of a number.
const BASE: i64 = 10_000;
const NEGATIVE: u16 = 0x4000;

/// Decimal places of an amount of money and of a rate.
pub(super) const MONEY: u16 = 2;
pub(super) const RATE: u16 = 4;

/// Appends a number that is given in units of its last decimal place, of which there are two or four.
pub(super) fn write_numeric(number: i64, places: u16, out: &mut BytesMut) {
    let unit = 10_i64.pow(places.into());
    let (whole, part) = (number.unsigned_abs() / unit as u64, (number % unit).abs() * (BASE / unit));
    let mut digits = [0_i16; 6];
    let (mut first, mut rest) = (5, whole);
    digits[5] = part as i16;
    while rest > 0 {
        first -= 1;
        digits[first] = (rest % BASE as u64) as i16;
        rest /= BASE as u64;
    }
    let weight = 4 - first as i16;
    let mut digits = &digits[first..];
    while let [rest @ .., 0] = digits {
        digits = rest;
    }
    out.put_i16(digits.len() as i16);
    out.put_i16(if digits.is_empty() { 0 } else { weight });
    out.put_u16(if number < 0 { NEGATIVE } else { 0 });
    out.put_u16(places);
    digits.iter().for_each(|digit| out.put_i16(*digit));
}

/// A moment that is given in microseconds since 1970.
pub(super) fn to_postgres_time(micros: i64) -> i64 {
    micros - EPOCH
}

/// Reads a number in units of a decimal place; none if it has more places, or is none.
fn read_numeric(mut bytes: &[u8], places: u16) -> Option<i64> {
    let (count, weight) = (bytes.try_get_i16().ok()?, bytes.try_get_i16().ok()?);
    let (sign, _) = (bytes.try_get_u16().ok()?, bytes.try_get_u16().ok()?);
    let mut number = 0_i128;
    for _ in 0..count {
        number = number.checked_mul(BASE.into())? + i128::from(bytes.try_get_i16().ok()?);
    }
    let last = 4 * (i32::from(weight) - (i32::from(count) - 1)) + i32::from(places);
    let power = 10_i128.checked_pow(last.unsigned_abs())?;
    let number = match last {
        0.. => number.checked_mul(power)?,
        _ if number % power == 0 => number / power,
        _ => return None,
    };
    match sign {
        0 => i64::try_from(number).ok(),
        NEGATIVE => i64::try_from(-number).ok(),
        _ => None,
    }
}

/// A parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound<'a> {
    Null,
    Int(i32),
    Big(i64),
    Money(i64),
    Time(i64),
    Text(&'a str),
    Ints(&'a [i32]),
    Monies(&'a [i64]),
    Texts(&'a [&'a str]),
}

impl Bound<'_> {
    pub(super) fn write_to(self, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Bound::Null => return Ok(IsNull::Yes),
            Bound::Int(number) => out.put_i32(number),
            Bound::Big(number) => out.put_i64(number),
            Bound::Money(cents) => write_numeric(cents, MONEY, out),
            Bound::Time(micros) => out.put_i64(to_postgres_time(micros)),
            Bound::Text(text) => out.put_slice(text.as_bytes()),
            Bound::Ints(all) => write_array(INT4, all, |number, out| out.put_i32(*number), out),
            Bound::Monies(all) => write_array(NUMERIC, all, |cents, out| write_numeric(*cents, MONEY, out), out),
            Bound::Texts(all) => write_array(TEXT, all, |text, out| out.put_slice(text.as_bytes()), out),
        }
        Ok(IsNull::No)
    }
}

/// Appends an array of one dimension without nulls.
fn write_array<T>(of: u32, all: &[T], mut put: impl FnMut(&T, &mut BytesMut), out: &mut BytesMut) {
    out.put_i32(1);
    out.put_i32(0);
    out.put_u32(of);
    out.put_i32(all.len() as i32);
    out.put_i32(1);
    for value in all {
        write_sized(out, |out| put(value, out));
    }
}

/// Appends something behind its length in bytes.
pub(super) fn write_sized(out: &mut BytesMut, put: impl FnOnce(&mut BytesMut)) {
    let at = out.len();
    out.put_i32(0);
    put(out);
    let length = (out.len() - at - 4) as i32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// A row of an answer.
#[derive(Clone, Debug)]
pub(super) struct Row {
    bytes: Bytes,
    columns: Vec<Option<Range<usize>>>,
}

/// A column that does not hold what was asked for.
fn wrong_column(column: usize, wanted: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("column {column} of an answer is not {wanted}"))
}

impl Row {
    pub(super) fn parse_row(body: &DataRowBody) -> io::Result<Row> {
        Ok(Row { bytes: body.buffer_bytes().clone(), columns: body.ranges().collect()? })
    }

    fn column_bytes(&self, column: usize) -> Option<&[u8]> {
        self.columns.get(column)?.clone().map(|range| &self.bytes[range])
    }

    /// Whether a column is null, or not there.
    pub(super) fn is_null(&self, column: usize) -> bool {
        self.column_bytes(column).is_none()
    }

    pub(super) fn int_at(&self, column: usize) -> io::Result<i32> {
        let bytes = self.column_bytes(column).and_then(|bytes| bytes.try_into().ok());
        bytes.map(i32::from_be_bytes).ok_or_else(|| wrong_column(column, "an int4"))
    }

    pub(super) fn bigint_at(&self, column: usize) -> io::Result<i64> {
        let bytes = self.column_bytes(column).and_then(|bytes| bytes.try_into().ok());
        bytes.map(i64::from_be_bytes).ok_or_else(|| wrong_column(column, "an int8"))
    }

    pub(super) fn decimal_at(&self, column: usize, places: u16) -> io::Result<i64> {
        self.column_bytes(column)
            .and_then(|bytes| read_numeric(bytes, places))
            .ok_or_else(|| wrong_column(column, "a number"))
    }

    /// A moment in microseconds since 1970.
    pub(super) fn time_at(&self, column: usize) -> io::Result<i64> {
        Ok(self.bigint_at(column)? + EPOCH)
    }

    pub(super) fn flag_at(&self, column: usize) -> io::Result<bool> {
        self.column_bytes(column).map(|bytes| bytes == [1]).ok_or_else(|| wrong_column(column, "a boolean"))
    }

    pub(super) fn text_at(&self, column: usize) -> io::Result<&str> {
        let text = self.column_bytes(column).and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.ok_or_else(|| wrong_column(column, "text"))
    }

    /// A number that is written as text, as in answers to statements that are not prepared.
    pub(super) fn text_number_at(&self, column: usize) -> io::Result<i64> {
        self.text_at(column)?.parse().map_err(|_| wrong_column(column, "a whole number"))
    }

    /// The elements of an array of one dimension.
    pub(super) fn array_at<T>(&self, column: usize, read: impl Fn(&[u8]) -> Option<T>) -> io::Result<Vec<Option<T>>> {
        self.column_bytes(column)
            .and_then(|bytes| parse_elements(bytes, read))
            .ok_or_else(|| wrong_column(column, "an array"))
    }
}

impl WrittenRow for Row {
    fn text(&self, column: usize) -> io::Result<&str> {
        Row::text_at(self, column)
    }

    fn number(&self, column: usize) -> io::Result<i64> {
        self.text_number_at(column)
    }
}

/// An element of an array of int4.
pub(super) fn int_of(bytes: &[u8]) -> Option<i32> {
    bytes.try_into().ok().map(i32::from_be_bytes)
}
/// An element of an array of int8.
pub(super) fn big_of(bytes: &[u8]) -> Option<i64> {
    bytes.try_into().ok().map(i64::from_be_bytes)
}
/// An element of an array of timestamptz, in microseconds since 1970.
pub(super) fn time_of(bytes: &[u8]) -> Option<i64> {
    big_of(bytes).map(|time| time + EPOCH)
}
/// An element of an array of boolean.
pub(super) fn flag_of(bytes: &[u8]) -> Option<bool> {
    <[u8; 1]>::try_from(bytes).ok().map(|bytes| bytes == [1])
}

fn parse_elements<T>(mut bytes: &[u8], read: impl Fn(&[u8]) -> Option<T>) -> Option<Vec<Option<T>>> {
    if bytes.try_get_i32().ok()? == 0 {
        return Some(Vec::new());
    }
    bytes.try_get_u64().ok()?;
    let count = bytes.try_get_i32().ok()?;
    bytes.try_get_i32().ok()?;
    let mut found = Vec::new();
    for _ in 0..count {
        found.push(match bytes.try_get_i32().ok()? {
            -1 => None,
            length => {
                let (value, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
                bytes = rest;
                Some(read(value)?)
            }
        });
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(number: i64, places: u16) -> Vec<i16> {
        let mut out = BytesMut::new();
        write_numeric(number, places, &mut out);
        std::iter::from_fn(|| out.try_get_i16().ok()).collect()
    }

    #[test]
    fn numbers_are_written_as_the_server_writes_them() {
        for (number, places, wanted) in [
            (0, 2, vec![0, 0, 0, 2]),
            (1, 2, vec![1, -1, 0, 2, 100]),
            (-1_000, 2, vec![1, 0, 0x4000, 2, 10]),
            (1_234_567, 2, vec![3, 1, 0, 2, 1, 2345, 6700]),
            (100_000_000, 2, vec![1, 1, 0, 2, 100]),
            (5_000, 4, vec![1, -1, 0, 4, 5_000]),
            (12_345, 4, vec![2, 0, 0, 4, 1, 2_345]),
        ] {
            assert_eq!(written(number, places), wanted, "{number}, {places}");
        }
    }

    #[test]
    fn numbers_that_are_written_are_read() {
        for number in [0, 1, -1, 99, 100, 9_999, 10_000, 123_456_789_012, -5_000_000, i64::MAX, i64::MIN + 1] {
            for places in [2, 4] {
                let mut out = BytesMut::new();
                write_numeric(number, places, &mut out);
                assert_eq!(read_numeric(&out, places), Some(number), "{number}, {places}");
            }
        }
        let mut out = BytesMut::new();
        write_numeric(5_000, 4, &mut out);
        assert_eq!((read_numeric(&out, 2), read_numeric(&out, 0)), (Some(50), None));
        assert_eq!(read_numeric(&out[..9], 4), None, "cut");
        assert_eq!(read_numeric(&[0, 0, 0, 0, 0xc0, 0, 0, 0], 2), None, "not a number");
    }
}
