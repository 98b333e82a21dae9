//! The conditions that a database must fulfil, each as one query over whole tables.
//!
//! A comparison gathers the keys of both sides, so that a row that only one side has is found. The pure checks of
//! `assay_model::tpcc::checks` find the same violations, and tests compare the two.

use super::connection::{Connection, fault};
use crate::trouble::Trouble;
use assay_base::text::one_line;
use assay_model::tpcc::checks::{Check, SHOWN, Violation};
use assay_model::tpcc::{Scale, Table};

/// What the transactions of a run must have changed, summed over the whole database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// The sum of D_NEXT_O_ID, which each accepted new order raises by one.
    pub next_orders: i64,
    /// The sum of C_PAYMENT_CNT, which each payment raises by one.
    pub payments: i64,
    /// The sum of W_YTD in cents, which each payment raises by its amount.
    pub ytd: i64,
}

/// Reads the totals.
pub fn totals(connection: &Connection) -> Result<Totals, Trouble> {
    let sql = "SELECT (SELECT coalesce(sum(d_next_o_id), 0) FROM main.district),
        (SELECT coalesce(sum(c_payment_cnt), 0) FROM main.customer), (SELECT coalesce(sum(w_ytd), 0) FROM main.warehouse)";
    let read =
        |row: &rusqlite::Row<'_>| Ok(Totals { next_orders: row.get(0)?, payments: row.get(1)?, ytd: row.get(2)? });
    connection.sqlite.query_row(sql, [], read).map_err(|why| connection.trouble(&why))
}

/// A query that answers violations: the columns of the key, then both sides.
struct Query {
    check: Check,
    keys: usize,
    sql: String,
}

/// Compares two queries that each answer the columns of a key and a number.
fn compare(check: Check, keys: usize, left: &str, right: &str) -> Query {
    let places: Vec<String> = (1..=keys).map(|place| place.to_string()).collect();
    let columns: Vec<String> = (1..=keys).map(|column| format!("k{column}")).collect();
    let (places, columns) = (places.join(", "), columns.join(", "));
    let sql = format!(
        "WITH l({columns}, v) AS ({left}), r({columns}, v) AS ({right}) \
         SELECT {columns}, max(lv), max(rv) FROM \
         (SELECT {columns}, v AS lv, NULL AS rv FROM l UNION ALL SELECT {columns}, NULL, v FROM r) \
         GROUP BY {places} HAVING max(lv) IS NOT max(rv) ORDER BY {places} LIMIT {SHOWN}"
    );
    Query { check, keys, sql }
}

/// A query that answers violations itself.
fn direct(check: Check, keys: usize, sql: String) -> Query {
    Query { check, keys, sql: format!("{sql} LIMIT {SHOWN}") }
}

/// Conditions 1, 8 and 9: sums of payments.
fn payments() -> [Query; 3] {
    let warehouse = "SELECT w_id, w_ytd FROM main.warehouse";
    let district = "SELECT d_w_id, d_id, d_ytd FROM main.district";
    [
        compare(Check::WarehouseYtd, 1, warehouse, "SELECT d_w_id, sum(d_ytd) FROM main.district GROUP BY 1"),
        compare(Check::WarehouseHistory, 1, warehouse, "SELECT h_w_id, sum(h_amount) FROM main.history GROUP BY 1"),
        compare(
            Check::DistrictHistory,
            2,
            district,
            "SELECT h_w_id, h_d_id, sum(h_amount) FROM main.history GROUP BY 1, 2",
        ),
    ]
}

/// Conditions 2, 3, 5 and 11: orders and new orders.
fn orders() -> [Query; 5] {
    let next = "SELECT d_w_id, d_id, d_next_o_id - 1 FROM main.district";
    let with_new =
        format!("{next} WHERE EXISTS (SELECT 1 FROM main.new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)");
    let of_new = |number: &str| format!("SELECT no_w_id, no_d_id, {number} FROM main.new_order GROUP BY 1, 2");
    let without_carrier = "SELECT o_w_id, o_d_id, o_id, 1 FROM main.orders WHERE o_carrier_id IS NULL";
    // Districts that only have new orders have a sum too.
    let by_district = |of_order: &str, of_new: &str| {
        format!(
            "SELECT w, d, sum(n) FROM (SELECT o_w_id AS w, o_d_id AS d, {of_order} AS n FROM main.orders \
             UNION ALL SELECT no_w_id, no_d_id, {of_new} FROM main.new_order) GROUP BY 1, 2"
        )
    };
    [
        compare(Check::NextOrder, 2, next, "SELECT o_w_id, o_d_id, max(o_id) FROM main.orders GROUP BY 1, 2"),
        compare(Check::NextOrder, 2, &with_new, &of_new("max(no_o_id)")),
        compare(Check::NewOrderGaps, 2, &of_new("max(no_o_id) - min(no_o_id) + 1"), &of_new("count(*)")),
        compare(
            Check::NewOrdersHaveNoCarrier,
            3,
            without_carrier,
            "SELECT no_w_id, no_d_id, no_o_id, 1 FROM main.new_order",
        ),
        compare(
            Check::OrdersDelivered,
            2,
            &by_district("1", "-1"),
            &by_district("CASE WHEN o_carrier_id IS NULL THEN 0 ELSE 1 END", "0"),
        ),
    ]
}

/// Conditions 4, 6 and 7: the lines of orders.
fn lines() -> [Query; 3] {
    let date = "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, CASE WHEN o_carrier_id IS NULL THEN 0 ELSE 1 END, \
                CASE WHEN ol_delivery_d IS NULL THEN 0 ELSE 1 END FROM main.order_line \
                LEFT JOIN main.orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
                WHERE (o_carrier_id IS NULL) <> (ol_delivery_d IS NULL) ORDER BY 1, 2, 3, 4";
    [
        compare(
            Check::LinesOfDistrict,
            2,
            "SELECT o_w_id, o_d_id, sum(o_ol_cnt) FROM main.orders GROUP BY 1, 2",
            "SELECT ol_w_id, ol_d_id, count(*) FROM main.order_line GROUP BY 1, 2",
        ),
        compare(
            Check::LinesOfOrder,
            3,
            "SELECT o_w_id, o_d_id, o_id, o_ol_cnt FROM main.orders",
            "SELECT ol_w_id, ol_d_id, ol_o_id, count(*) FROM main.order_line GROUP BY 1, 2, 3",
        ),
        direct(Check::DeliveryDate, 4, date.to_owned()),
    ]
}

/// Conditions 10 and 12: what customers owe.
fn balances() -> [Query; 2] {
    let customers = |number: &str| format!("SELECT c_w_id, c_d_id, c_id, {number} FROM main.customer");
    let delivered = "SELECT o_w_id AS w, o_d_id AS d, o_c_id AS c, ol_amount AS n FROM main.order_line \
                     JOIN main.orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
                     WHERE ol_delivery_d IS NOT NULL";
    let zero = customers("0");
    let paid = "SELECT h_c_w_id, h_c_d_id, h_c_id, -h_amount FROM main.history";
    let sum = |of: &str| format!("SELECT w, d, c, sum(n) FROM ({of}) GROUP BY 1, 2, 3");
    [
        compare(
            Check::Balance,
            3,
            &customers("c_balance"),
            &sum(&format!("{delivered} UNION ALL {paid} UNION ALL {zero}")),
        ),
        compare(
            Check::BalanceAndPayments,
            3,
            &customers("c_balance + c_ytd_payment"),
            &sum(&format!("{delivered} UNION ALL {zero}")),
        ),
    ]
}

/// Our own conditions of the stock. Loaded orders took nothing from it.
fn stock(scale: Scale) -> [Query; 2] {
    let quantity = "SELECT s_w_id, s_i_id, s_quantity, CASE WHEN s_quantity < 10 THEN 10 ELSE 100 END FROM main.stock \
                    WHERE s_quantity NOT BETWEEN 10 AND 100 ORDER BY 1, 2";
    // One row for each of the three counters of a warehouse.
    let counters = |sums: &str| {
        format!(
            "SELECT w, 1, a FROM ({sums}) UNION ALL SELECT w, 2, b FROM ({sums}) UNION ALL SELECT w, 3, c FROM ({sums})"
        )
    };
    let counted =
        "SELECT s_w_id AS w, sum(s_ytd) AS a, sum(s_order_cnt) AS b, sum(s_remote_cnt) AS c FROM main.stock GROUP BY 1";
    let ordered = format!(
        "SELECT w, sum(a) AS a, sum(b) AS b, sum(c) AS c FROM (SELECT ol_supply_w_id AS w, ol_quantity AS a, 1 AS b, \
         CASE WHEN ol_supply_w_id = ol_w_id THEN 0 ELSE 1 END AS c FROM main.order_line WHERE ol_o_id > {} \
         UNION ALL SELECT DISTINCT s_w_id, 0, 0, 0 FROM main.stock) GROUP BY 1",
        scale.orders()
    );
    [
        direct(Check::StockQuantity, 2, quantity.to_owned()),
        compare(Check::StockCounters, 2, &counters(counted), &counters(&ordered)),
    ]
}

/// Examines a database that was loaded with rows of a scale, in one snapshot. An empty list: it is consistent. One whose
/// pages do not fit together, or that lacks a table, is damaged.
pub fn check(connection: &Connection, scale: Scale) -> Result<Vec<Violation>, Trouble> {
    let queries = payments().into_iter().chain(orders()).chain(lines()).chain(balances()).chain(stock(scale));
    let damaged = |what: &str| Trouble::damaged(format!("{} is damaged: {}", connection.shown(), one_line(what)));
    // The inner error is what SQLite finds wrong in the structure of the file.
    let found = || -> rusqlite::Result<Result<Vec<Violation>, String>> {
        let snapshot = connection.sqlite.unchecked_transaction()?;
        let structure: String = snapshot.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if structure != "ok" {
            return Ok(Err(structure));
        }
        let mut found = Vec::new();
        for query in queries {
            found.extend(query.run(&snapshot)?);
        }
        found.extend(empty(&snapshot)?);
        Ok(Ok(found))
    };
    let found = found().map_err(|why| match fault(&why) {
        // These queries are right for every database that a load has made.
        fault if fault.code == "SQLITE_ERROR" => damaged(&fault.to_string()),
        _ => connection.trouble(&why),
    })?;
    let mut found = found.map_err(|structure| damaged(&structure))?;
    found.sort();
    Ok(found)
}

impl Query {
    fn run(&self, sqlite: &rusqlite::Connection) -> rusqlite::Result<Vec<Violation>> {
        let read = |row: &rusqlite::Row<'_>| {
            let key = (0..self.keys).map(|column| row.get(column)).collect::<rusqlite::Result<_>>()?;
            Ok(Violation { check: self.check, key, left: row.get(self.keys)?, right: row.get(self.keys + 1)? })
        };
        sqlite.prepare(&self.sql)?.query_map([], read)?.collect()
    }
}

/// Tables that have no rows, except that of new orders, which may all be delivered.
fn empty(sqlite: &rusqlite::Connection) -> rusqlite::Result<Vec<Violation>> {
    let mut found = Vec::new();
    for (at, table) in Table::ALL.into_iter().enumerate().filter(|(_, table)| *table != Table::NewOrder) {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM main.{})", table.name());
        if !sqlite.query_row(&sql, [], |row| row.get::<_, bool>(0))? {
            found.push(Violation { check: Check::EmptyTable, key: vec![at as i64], left: Some(0), right: None });
        }
    }
    Ok(found)
}
