//! The conditions that a database must fulfil, asked of PostgreSQL in one snapshot.

use super::connection::Connection;
use super::link::Failed;
use crate::checks::{Dialect, Query, Totals, has_rows, queries, totals as totals_of};
use crate::trouble::Trouble;
use assay_base::text::one_line;
use assay_model::tpcc::Scale;
use assay_model::tpcc::checks::{Check, Violation};

/// Money is kept in units of a hundred cents.
pub(super) const CENTS: i64 = 100;
/// For this transaction only: sorting and hashing in memory; no look-up row by row, which the server chooses because it
/// takes the columns of a key for independent, and which takes twice as long; no compiling, which takes longer than it
/// saves.
const SETTINGS: &str = "SET LOCAL work_mem = '256MB'; SET LOCAL enable_nestloop = off; SET LOCAL jit = off; \
     SET LOCAL statement_timeout = 0";

/// Reads the totals.
pub fn totals(connection: &mut Connection) -> Result<Totals, Trouble> {
    let prefix = connection.prefix();
    let answers = connection.ask(&totals_of(&Dialect::standard(&prefix, CENTS)))?;
    let row = answers.first().and_then(|answer| answer.one());
    let number = |column| row.and_then(|row| row.written(column).ok()).unwrap_or(0);
    Ok(Totals { next_orders: number(0), payments: number(1), ytd: number(2) })
}

/// Examines a database that was loaded with rows of a scale. An empty list: it is consistent. One that lacks a table or a
/// column is damaged.
pub fn check(connection: &mut Connection, scale: Scale) -> Result<Vec<Violation>, Trouble> {
    let prefix = connection.prefix();
    let dialect = Dialect::standard(&prefix, CENTS);
    let found = examine(connection, scale, &dialect);
    if found.is_err() && !connection.link.broken && connection.link.in_transaction() {
        let _ = connection.link.run("ROLLBACK");
    }
    let mut found = found.map_err(|why| match why.code() {
        // These queries are right for every database that a load has made.
        "42P01" | "42703" | "42883" => {
            Trouble::damaged(format!("{} is damaged: {}", connection.shown(), one_line(&why)))
        }
        _ => connection.trouble(&why),
    })?;
    found.sort();
    Ok(found)
}

fn examine(connection: &mut Connection, scale: Scale, dialect: &Dialect<'_>) -> Result<Vec<Violation>, Failed> {
    let link = &mut connection.link;
    link.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    link.run(SETTINGS)?;
    let mut found = Vec::new();
    for query in queries(scale) {
        let Query { check, keys, .. } = query;
        for row in link.simple(&query.sql(dialect))?.iter().flat_map(|answer| &answer.rows) {
            let key = (0..keys).map(|column| row.written(column)).collect::<Result<_, _>>()?;
            let side = |column| if row.is_null(column) { Ok(None) } else { row.written(column).map(Some) };
            found.push(Violation { check, key, left: side(keys)?, right: side(keys + 1)? });
        }
    }
    for (at, sql) in has_rows(dialect) {
        let answers = link.simple(&sql)?;
        if !answers.iter().any(|answer| answer.one().is_some_and(|row| row.text(0).is_ok_and(|it| it == "t"))) {
            found.push(Violation { check: Check::EmptyTable, key: vec![at], left: Some(0), right: None });
        }
    }
    link.run("COMMIT")?;
    Ok(found)
}
