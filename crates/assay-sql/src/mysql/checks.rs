//! The conditions that a database must fulfil, asked of MariaDB in one snapshot.

use super::connection::{Connection, NO_COLUMN, NO_TABLE};
use super::failed::Failed;
use super::row::Row;
use crate::checks::{Dialect, Query, Totals, condition_queries, has_rows, totals_query as totals_of};
use crate::trouble::Trouble;
use assay_base::text::one_line;
use assay_model::tpcc::Population;
use assay_model::tpcc::checks::{Check, Violation};
use std::io;

/// Money is kept in units of a hundred cents.
const CENTS: i64 = 100;
/// For the checks only: sorting and hashing in memory, tables that are joined by hashing where no key helps, and as much
/// time as they take.
const SETTINGS: &str = "SET SESSION tmp_memory_table_size = 268435456, max_heap_table_size = 268435456, \
     join_cache_level = 4, max_statement_time = 0";
/// Restores the settings of the server afterwards.
const USUAL: &str = "SET SESSION tmp_memory_table_size = DEFAULT, max_heap_table_size = DEFAULT, \
     join_cache_level = DEFAULT, max_statement_time = DEFAULT";
const SNAPSHOT: &str = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; \
     START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

pub(super) fn mysql_dialect(prefix: &str) -> Dialect<'_> {
    Dialect { schema: prefix, cents: CENTS, whole: "signed", differ: ("NOT ", "<=>") }
}

/// Reads the totals.
pub fn read_totals(connection: &mut Connection) -> Result<Totals, Trouble> {
    let prefix = connection.table_prefix();
    let answers = connection.ask_server(&totals_of(&mysql_dialect(&prefix)))?;
    let row = answers.first().and_then(|answer| answer.only_row());
    totals_from_row(row)
        .map_err(|why| Trouble::host_unable(format!("{}: {}", connection.display_name(), one_line(why))))
}

/// A row that is missing or cannot be read is a failure; it does not count as zero.
fn totals_from_row(row: Option<&Row>) -> io::Result<Totals> {
    let row = row.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the sums have no answer"))?;
    Ok(Totals { next_orders: row.bigint_at(0)?, payments: row.bigint_at(1)?, ytd: row.bigint_at(2)? })
}

/// Examines a database that was loaded with a population. An empty list: it is consistent. One that lacks a table or a
/// column is damaged.
pub fn check_conditions(connection: &mut Connection, population: Population) -> Result<Vec<Violation>, Trouble> {
    let prefix = connection.table_prefix();
    let found = find_violations(connection, population, &mysql_dialect(&prefix));
    if !connection.link.broken {
        let _ = connection.link.run_statements(&format!("ROLLBACK; {USUAL}"));
    }
    let mut found = found.map_err(|why| match why.error_code() {
        // These queries are right for every database that a load has made.
        NO_TABLE | NO_COLUMN => {
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
    link.run_statements(SETTINGS)?;
    link.run_statements(SNAPSHOT)?;
    let mut found = Vec::new();
    for query in condition_queries(population) {
        let Query { check, keys, .. } = query;
        for row in link.query_text(&query.sql_text(dialect))?.iter().flat_map(|answer| &answer.rows) {
            let key = (0..keys).map(|column| row.bigint_at(column)).collect::<Result<_, _>>()?;
            found.push(Violation { check, key, left: row.big_or_null(keys)?, right: row.big_or_null(keys + 1)? });
        }
    }
    for (at, sql) in has_rows(dialect) {
        let answers = link.query_text(&sql)?;
        if !answers
            .iter()
            .any(|answer| answer.only_row().is_some_and(|row| row.bigint_at(0).is_ok_and(|answer| answer == 1)))
        {
            found.push(Violation { check: Check::EmptyTable, key: vec![at], left: Some(0), right: None });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::row::Form;
    use bytes::Bytes;

    #[test]
    fn sums_that_are_missing_or_cannot_be_read_are_not_taken_for_nothing() {
        let row =
            |bytes: &'static [u8], columns| Row::parse_row(Bytes::from_static(bytes), columns, Form::Text).unwrap();
        let whole = row(b"\x013\x014\x015", 3);
        assert_eq!(totals_from_row(Some(&whole)).unwrap(), Totals { next_orders: 3, payments: 4, ytd: 5 });
        assert!(totals_from_row(None).is_err());
        for (bytes, columns) in [(&b"\x013\x014"[..], 2), (b"\x013\xfb\x015", 3), (b"\x013\x014\x01x", 3), (b"", 0)] {
            assert!(totals_from_row(Some(&row(bytes, columns))).is_err(), "{bytes:?}");
        }
    }
}
