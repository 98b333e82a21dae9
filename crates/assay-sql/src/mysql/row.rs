//! Rows of answers, as text or in the binary form of prepared statements, and what else packets are made of.

use crate::servers::WrittenRow;
use bytes::{Buf, Bytes};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Types of columns whose binary form is a number of fixed length (`field_types.h`).
const TINY: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const INT24: u8 = 9;
const LONGLONG: u8 = 8;

/// The error for an answer that cannot be read.
pub(super) fn unreadable_answer(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server's answer makes no sense: {what}"))
}

/// Reads a length, or none where there is a null.
pub(super) fn take_length(bytes: &mut &[u8]) -> io::Result<Option<u64>> {
    let first = bytes.try_get_u8().map_err(|_| unreadable_answer("it is cut"))?;
    let size = match first {
        0xfb => return Ok(None),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        number => return Ok(Some(number.into())),
    };
    if bytes.len() < size {
        return Err(unreadable_answer("it is cut"));
    }
    Ok(Some(bytes.get_uint_le(size)))
}

/// Takes so many bytes.
fn take_bytes<'a>(bytes: &mut &'a [u8], length: u64) -> io::Result<&'a [u8]> {
    let split = usize::try_from(length).ok().and_then(|length| bytes.split_at_checked(length));
    let (found, rest) = split.ok_or_else(|| unreadable_answer("it is cut"))?;
    *bytes = rest;
    Ok(found)
}

/// The type of a column, from its definition: five names, a length, and numbers.
pub(super) fn column_type(definition: &[u8]) -> io::Result<u8> {
    let mut rest = definition;
    for _ in 0..6 {
        let length = take_length(&mut rest)?.unwrap_or(0);
        take_bytes(&mut rest, length)?;
    }
    take_length(&mut rest)?;
    // Character set and longest length stand before it.
    take_bytes(&mut rest, 6)?;
    rest.try_get_u8().map_err(|_| unreadable_answer("a column has no type"))
}

/// The form of a row.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// Every value is written out.
    Text,
    /// The binary form of these types.
    Binary(Arc<[u8]>),
}

/// A row of an answer.
#[derive(Clone, Debug)]
pub(super) struct Row {
    bytes: Bytes,
    columns: Vec<Option<Range<usize>>>,
    form: Form,
}

/// A column that does not hold what was asked for.
fn wrong_column(column: usize, wanted: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("column {column} of an answer is not {wanted}"))
}

impl Row {
    /// Parses a row of so many columns.
    pub(super) fn parse_row(bytes: Bytes, columns: usize, form: Form) -> io::Result<Row> {
        let found = match &form {
            Form::Text => text_columns(&bytes, columns)?,
            Form::Binary(types) => binary_columns(&bytes, types)?,
        };
        Ok(Row { bytes, columns: found, form })
    }

    fn column_bytes(&self, column: usize) -> Option<&[u8]> {
        self.columns.get(column)?.clone().map(|range| &self.bytes[range])
    }

    /// Whether a column is null, or not there.
    pub(super) fn is_null(&self, column: usize) -> bool {
        self.column_bytes(column).is_none()
    }

    pub(super) fn text_at(&self, column: usize) -> io::Result<&str> {
        let text = self.column_bytes(column).and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.ok_or_else(|| wrong_column(column, "text"))
    }

    pub(super) fn bigint_at(&self, column: usize) -> io::Result<i64> {
        self.number_at(column).ok_or_else(|| wrong_column(column, "a whole number"))
    }

    /// A whole number in either form.
    fn number_at(&self, column: usize) -> Option<i64> {
        let bytes = self.column_bytes(column)?;
        match &self.form {
            Form::Binary(types) if number_size(*types.get(column)?).is_some() => {
                let mut bytes = bytes;
                let size = bytes.len();
                (1..=8).contains(&size).then(|| bytes.get_int_le(size))
            }
            _ => std::str::from_utf8(bytes).ok()?.parse().ok(),
        }
    }

    pub(super) fn int_at(&self, column: usize) -> io::Result<i32> {
        self.bigint_at(column)?.try_into().map_err(|_| wrong_column(column, "a number of 32 bits"))
    }

    /// A number, or none where there is a null.
    pub(super) fn big_or_null(&self, column: usize) -> io::Result<Option<i64>> {
        if self.is_null(column) { Ok(None) } else { self.bigint_at(column).map(Some) }
    }
}

impl WrittenRow for Row {
    fn text(&self, column: usize) -> io::Result<&str> {
        Row::text_at(self, column)
    }

    fn number(&self, column: usize) -> io::Result<i64> {
        self.bigint_at(column)
    }
}

fn text_columns(bytes: &[u8], columns: usize) -> io::Result<Vec<Option<Range<usize>>>> {
    let mut rest = bytes;
    let mut found = Vec::new();
    for _ in 0..columns {
        found.push(match take_length(&mut rest)? {
            Some(length) => {
                let begin = bytes.len() - rest.len();
                take_bytes(&mut rest, length)?;
                Some(begin..begin + length as usize)
            }
            None => None,
        });
    }
    Ok(found)
}

/// The length of a number in the binary form.
fn number_size(of: u8) -> Option<usize> {
    match of {
        TINY => Some(1),
        SHORT => Some(2),
        LONG | INT24 => Some(4),
        LONGLONG => Some(8),
        _ => None,
    }
}

/// The binary form has a map of nulls, whose first two bits are unused, in front of the values.
fn binary_columns(bytes: &[u8], types: &[u8]) -> io::Result<Vec<Option<Range<usize>>>> {
    let map = 1 + (types.len() + 2).div_ceil(8);
    let nulls = bytes.get(1..map).ok_or_else(|| unreadable_answer("a row is cut"))?;
    let mut rest = &bytes[map..];
    let mut found = Vec::new();
    for (at, kind) in types.iter().enumerate() {
        if nulls[(at + 2) / 8] >> ((at + 2) % 8) & 1 == 1 {
            found.push(None);
            continue;
        }
        let length = match number_size(*kind) {
            Some(size) => size as u64,
            None => take_length(&mut rest)?.unwrap_or(0),
        };
        let begin = bytes.len() - rest.len();
        take_bytes(&mut rest, length)?;
        found.push(Some(begin..begin + length as usize));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &'static [u8], columns: usize) -> io::Result<Row> {
        Row::parse_row(Bytes::from_static(bytes), columns, Form::Text)
    }

    #[test]
    fn values_that_are_written_out() {
        let row = texts(b"\x02-7\xfb\x00\x03abc", 4).unwrap();
        assert_eq!(
            (row.int_at(0).unwrap(), row.is_null(1), row.text_at(2).unwrap(), row.text_at(3).unwrap()),
            (-7, true, "", "abc")
        );
        assert_eq!((row.big_or_null(0).unwrap(), row.big_or_null(1).unwrap()), (Some(-7), None));
        assert!(row.int_at(3).is_err() && row.text_at(1).is_err() && row.text_at(4).is_err());
        assert!(texts(b"\x05abc", 1).is_err() && texts(b"", 1).is_err() && texts(b"\xfc\x01", 1).is_err());
        assert_eq!(texts(b"\xfc\x03\x00abc", 1).unwrap().text_at(0).unwrap(), "abc");
    }

    #[test]
    fn values_in_their_binary_form() {
        let types: Arc<[u8]> = Arc::from([LONGLONG, 253, LONG, SHORT, TINY]);
        let bytes = b"\x00\x20\xfe\xff\xff\xff\xff\xff\xff\xff\x02ab\x2a\x00\x00\x00\xff";
        // The second bit that is set belongs to the fourth column: two bits are unused.
        let row = Row::parse_row(Bytes::from_static(bytes), 5, Form::Binary(Arc::clone(&types)));
        let row = row.unwrap_or_else(|_| panic!("{types:?}"));
        assert_eq!((row.bigint_at(0).unwrap(), row.text_at(1).unwrap(), row.int_at(2).unwrap()), (-2, "ab", 42));
        assert!(row.is_null(3));
        assert!(Row::parse_row(Bytes::from_static(b"\x00\x00\x01"), 5, Form::Binary(types)).is_err());
    }
}
