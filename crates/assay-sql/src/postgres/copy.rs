//! Rows as `COPY .. FROM STDIN (FORMAT binary)` reads them: PostgreSQL parses no text, and the server's work is to store
//! them.

use super::value::{MONEY, RATE, to_postgres_time, write_numeric};
use assay_model::tpcc::rows::Row;
use assay_model::tpcc::{ColumnKind, Table, Value};
use bytes::{BufMut, BytesMut};
use std::collections::BTreeMap;

/// What every such file begins with: a signature, no flags, no extension (the manual, "COPY", binary format).
const HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const END: i16 = -1;

/// The rows of a part, by table.
#[derive(Default)]
pub(super) struct Copied {
    tables: BTreeMap<Table, BytesMut>,
}

impl Copied {
    pub(super) fn add_row(&mut self, row: &Row) {
        let out = self.tables.entry(row.row_table()).or_insert_with(|| BytesMut::from(&HEADER[..]));
        let columns = row.row_table().all_columns();
        out.put_i16(columns.len() as i16);
        let mut columns = columns.iter();
        row.put_values(&mut |given| {
            let column = columns.next().expect("a row has a value for each column");
            write_value(given, column.kind, out);
        });
    }

    /// The tables and their rows.
    pub(super) fn into_tables(self) -> impl Iterator<Item = (Table, BytesMut)> {
        self.tables.into_iter().map(|(table, mut rows)| {
            rows.put_i16(END);
            (table, rows)
        })
    }
}

fn write_value(value: Value<'_>, kind: ColumnKind, out: &mut BytesMut) {
    match (value, kind) {
        (Value::Null, _) => out.put_i32(-1),
        (Value::Text(text), _) => {
            out.put_i32(text.len() as i32);
            out.put_slice(text.as_bytes());
        }
        (Value::Integer(cents), ColumnKind::Money(_)) => {
            super::value::write_sized(out, |out| write_numeric(cents, MONEY, out))
        }
        (Value::Integer(rate), ColumnKind::Rate) => {
            super::value::write_sized(out, |out| write_numeric(rate, RATE, out))
        }
        (Value::Integer(micros), ColumnKind::Time) => {
            out.put_i32(8);
            out.put_i64(to_postgres_time(micros));
        }
        (Value::Integer(number), _) => {
            out.put_i32(4);
            out.put_i32(i32::try_from(number).expect("a column of integers holds 32 bits"));
        }
    }
}
