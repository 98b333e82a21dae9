//! The conditions that a database must fulfil, asked of PostgreSQL in one snapshot.

use super::connection::Connection;
use super::link::Failed;
use super::value::Row;
use crate::checks::{Dialect, Query, Totals, condition_queries, has_rows, totals_query as totals_of};
use crate::trouble::Trouble;
use assay_base::text::one_line;
use assay_model::tpcc::Population;
use assay_model::tpcc::checks::{Check, Violation};
use std::io;

/// Money is kept in units of a hundred cents.
pub(super) const CENTS: i64 = 100;
/// For this transaction only: sorting and hashing in memory; no look-up row by row, which the server chooses because it
/// takes the columns of a key for independent, and which takes twice as long; no compiling, which takes longer than it
/// saves.
const SETTINGS: &str = "SET LOCAL work_mem = '256MB'; SET LOCAL enable_nestloop = off; SET LOCAL jit = off; \
     SET LOCAL statement_timeout = 0";

/// Reads the totals.
pub fn read_totals(connection: &mut Connection) -> Result<Totals, Trouble> {
    let prefix = connection.table_prefix();
    let answers = connection.ask_server(&totals_of(&Dialect::standard_dialect(&prefix, CENTS)))?;
    let row = answers.first().and_then(|answer| answer.only_row());
    totals_from_row(row)
        .map_err(|why| Trouble::host_unable(format!("{}: {}", connection.display_name(), one_line(why))))
}

/// A row that is missing or cannot be read is a failure; it does not count as zero.
fn totals_from_row(row: Option<&Row>) -> io::Result<Totals> {
    let row = row.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the sums have no answer"))?;
    Ok(Totals { next_orders: row.text_number_at(0)?, payments: row.text_number_at(1)?, ytd: row.text_number_at(2)? })
}

/// Examines a database that was loaded with a population. An empty list: it is consistent. One that lacks a table or a
/// column is damaged.
pub fn check_conditions(connection: &mut Connection, population: Population) -> Result<Vec<Violation>, Trouble> {
    let prefix = connection.table_prefix();
    let dialect = Dialect::standard_dialect(&prefix, CENTS);
    let found = find_violations(connection, population, &dialect);
    if found.is_err() && !connection.link.broken && connection.link.in_transaction() {
        let _ = connection.link.run_statements("ROLLBACK");
    }
    let mut found = found.map_err(|why| match why.error_code() {
        // These queries are right for every database that a load has made.
        "42P01" | "42703" | "42883" => {
            Trouble::damaged_database(format!("{} is damaged: {}", connection.display_name(), one_line(&why)))
        }
        _ => connection.to_trouble(&why),
    })?;
    found.sort();
    Ok(found)
}

fn find_violations(
    connection: &mut Connection,
    population: Population,
    dialect: &Dialect<'_>,
) -> Result<Vec<Violation>, Failed> {
    let link = &mut connection.link;
    link.run_statements("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    link.run_statements(SETTINGS)?;
    let mut found = Vec::new();
    for query in condition_queries(population) {
        let Query { check, keys, .. } = query;
        for row in link.query_text(&query.sql_text(dialect))?.iter().flat_map(|answer| &answer.rows) {
            let key = (0..keys).map(|column| row.text_number_at(column)).collect::<Result<_, _>>()?;
            let side = |column| if row.is_null(column) { Ok(None) } else { row.text_number_at(column).map(Some) };
            found.push(Violation { check, key, left: side(keys)?, right: side(keys + 1)? });
        }
    }
    for (at, sql) in has_rows(dialect) {
        let answers = link.query_text(&sql)?;
        if !answers
            .iter()
            .any(|answer| answer.only_row().is_some_and(|row| row.text_at(0).is_ok_and(|answer| answer == "t")))
        {
            found.push(Violation { check: Check::EmptyTable, key: vec![at], left: Some(0), right: None });
        }
    }
    link.run_statements("COMMIT")?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::{BufMut, BytesMut};
    use postgres_protocol::message::backend::Message;

    /// A row as the server sends it.
    fn row(columns: &[Option<&str>]) -> Row {
        let mut body = BytesMut::new();
        body.put_i16(columns.len() as i16);
        for column in columns {
            body.put_i32(column.map_or(-1, |text| text.len() as i32));
            body.put_slice(column.unwrap_or_default().as_bytes());
        }
        let mut message = BytesMut::new();
        message.put_u8(b'D');
        message.put_i32(body.len() as i32 + 4);
        message.put_slice(&body);
        match Message::parse(&mut message) {
            Ok(Some(Message::DataRow(body))) => Row::parse_row(&body).unwrap(),
            _ => panic!("this is a row"),
        }
    }

    #[test]
    fn sums_that_are_missing_or_cannot_be_read_are_not_taken_for_nothing() {
        let whole = row(&[Some("3"), Some("4"), Some("5")]);
        assert_eq!(totals_from_row(Some(&whole)).unwrap(), Totals { next_orders: 3, payments: 4, ytd: 5 });
        assert!(totals_from_row(None).is_err());
        for columns in [&[Some("3"), Some("4")][..], &[Some("3"), None, Some("5")], &[Some("x"), Some("4"), Some("5")]]
        {
            assert!(totals_from_row(Some(&row(columns))).is_err(), "{columns:?}");
        }
    }
}
