//! The conditions that a database must fulfil, asked of SQLite, which first looks whether all pages of the file fit
//! together.

use super::connection::{Connection, to_fault};
use crate::checks::{Dialect, Query, Totals, condition_queries, has_rows, totals_query as totals_of};
use crate::trouble::Trouble;
use assay_base::text::one_line;
use assay_model::tpcc::Population;
use assay_model::tpcc::checks::{Check, Violation};

/// Money is kept in cents.
pub(super) const DIALECT: Dialect<'_> = Dialect::standard_dialect("main.", 1);

/// Reads the totals.
pub fn read_totals(connection: &Connection) -> Result<Totals, Trouble> {
    let found = connection.sqlite.query_row(&totals_of(&DIALECT), [], |row| {
        Ok(Totals { next_orders: row.get(0)?, payments: row.get(1)?, ytd: row.get(2)? })
    });
    found.map_err(|why| connection.to_trouble(&why))
}

/// Examines a database that was loaded with a population, in one snapshot. An empty list: it is consistent. One whose
/// pages do not fit together, or that lacks a table, is damaged.
pub fn check_conditions(connection: &Connection, population: Population) -> Result<Vec<Violation>, Trouble> {
    let damaged =
        |what: &str| Trouble::damaged_database(format!("{} is damaged: {}", connection.display_name(), one_line(what)));
    let found = find_violations(&connection.sqlite, population).map_err(|why| match to_fault(&why) {
        // These queries are right for every database that a load has made.
        fault if fault.code == "SQLITE_ERROR" => damaged(&fault.to_string()),
        _ => connection.to_trouble(&why),
    })?;
    let mut found = found.map_err(|structure| damaged(&structure))?;
    found.sort();
    Ok(found)
}

/// The inner error is what SQLite finds wrong in the structure of the file.
fn find_violations(
    sqlite: &rusqlite::Connection,
    population: Population,
) -> rusqlite::Result<Result<Vec<Violation>, String>> {
    let snapshot = sqlite.unchecked_transaction()?;
    let structure: String = snapshot.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if structure != "ok" {
        return Ok(Err(structure));
    }
    let mut found = Vec::new();
    for query in condition_queries(population) {
        found.extend(violations_found_by(&query, &snapshot)?);
    }
    found.extend(empty_tables(&snapshot)?);
    Ok(Ok(found))
}

fn violations_found_by(query: &Query, sqlite: &rusqlite::Connection) -> rusqlite::Result<Vec<Violation>> {
    let Query { check, keys, .. } = *query;
    let mut statement = sqlite.prepare(&query.sql_text(&DIALECT))?;
    let found = statement.query_map([], |row| {
        let key = (0..keys).map(|column| row.get(column)).collect::<rusqlite::Result<_>>()?;
        Ok(Violation { check, key, left: row.get(keys)?, right: row.get(keys + 1)? })
    })?;
    found.collect()
}

/// Tables that have no rows.
fn empty_tables(sqlite: &rusqlite::Connection) -> rusqlite::Result<Vec<Violation>> {
    let mut found = Vec::new();
    for (at, sql) in has_rows(&DIALECT) {
        if !sqlite.query_row(&sql, [], |row| row.get::<_, bool>(0))? {
            found.push(Violation { check: Check::EmptyTable, key: vec![at], left: Some(0), right: None });
        }
    }
    Ok(found)
}
