//! The conditions that a database must fulfil, each as one query over whole tables, for every dialect.
//!
//! A comparison gathers the keys of both sides, so that a row that only one side has is found. The pure checks of
//! `assay_model::tpcc::checks` find the same violations, and tests compare the two.

use assay_model::tpcc::checks::{Check, SHOWN};
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

/// How a database writes what the queries name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect<'a> {
    /// What stands before the name of a table, with its point.
    pub(crate) schema: &'a str,
    /// How many cents the unit is in which money is kept.
    pub(crate) cents: i64,
    /// The words for a whole number of 64 bits in a CAST.
    pub(crate) whole: &'a str,
    /// What stands before and between two values, which may be null, to ask whether they differ.
    pub(crate) differ: (&'a str, &'a str),
}

impl Dialect<'_> {
    /// As the standard has it: what SQLite and PostgreSQL understand.
    pub(crate) const fn standard(schema: &str, cents: i64) -> Dialect<'_> {
        Dialect { schema, cents, whole: "bigint", differ: ("", "IS DISTINCT FROM") }
    }
}

impl Dialect<'_> {
    /// A query in which an at sign stands before the name of each table.
    fn of(&self, query: &str) -> String {
        query.replace('@', self.schema)
    }
}

/// A query that answers violations: the columns of the key, then both sides.
pub(crate) struct Query {
    pub(crate) check: Check,
    pub(crate) keys: usize,
    asks: Asks,
}

enum Asks {
    /// For the keys where two queries, which each answer the columns of a key and a number, do not answer the same.
    Compare { left: String, right: String, is_money: bool },
    /// For what a query answers.
    Direct(String),
}

impl Query {
    /// As it is sent.
    pub(crate) fn sql(&self, dialect: &Dialect<'_>) -> String {
        let list = |one: fn(usize) -> String| (1..=self.keys).map(one).collect::<Vec<_>>().join(", ");
        let (places, columns) = (list(|at| at.to_string()), list(|at| format!("k{at}")));
        match &self.asks {
            Asks::Direct(sql) => format!("{} LIMIT {SHOWN}", dialect.of(sql)),
            Asks::Compare { left, right, is_money } => {
                let (left, right) = (dialect.of(left), dialect.of(right));
                let unit = if *is_money { dialect.cents } else { 1 };
                let (whole, (not, between)) = (dialect.whole, dialect.differ);
                format!(
                    "WITH l({columns}, v) AS ({left}), r({columns}, v) AS ({right}) \
                     SELECT {columns}, CAST(max(lv) * {unit} AS {whole}), CAST(max(rv) * {unit} AS {whole}) FROM \
                     (SELECT {columns}, v AS lv, NULL AS rv FROM l UNION ALL SELECT {columns}, NULL, v FROM r) AS sides \
                     GROUP BY {places} HAVING {not}(max(lv) {between} max(rv)) ORDER BY {places} LIMIT {SHOWN}"
                )
            }
        }
    }
}

/// Compares two queries that each answer the columns of a key and a number.
fn compare(check: Check, keys: usize, left: &str, right: &str) -> Query {
    Query { check, keys, asks: Asks::Compare { left: left.to_owned(), right: right.to_owned(), is_money: false } }
}

/// As [`compare`], for money.
fn compare_money(check: Check, keys: usize, left: &str, right: &str) -> Query {
    Query { check, keys, asks: Asks::Compare { left: left.to_owned(), right: right.to_owned(), is_money: true } }
}

/// A query that answers violations itself.
fn direct(check: Check, keys: usize, sql: &str) -> Query {
    Query { check, keys, asks: Asks::Direct(sql.to_owned()) }
}

/// The queries of all conditions but the last, which [`has_rows`] examines.
pub(crate) fn queries(scale: Scale) -> impl Iterator<Item = Query> {
    payments().into_iter().chain(orders()).chain(lines()).chain(balances()).chain(stock(scale))
}

/// The tables that must have rows, each with its place in a violation and the query that says whether it has some. New
/// orders may all be delivered.
pub(crate) fn has_rows(dialect: &Dialect<'_>) -> Vec<(i64, String)> {
    let tables = Table::ALL.into_iter().enumerate().filter(|(_, table)| *table != Table::NewOrder);
    let sql = |table: Table| dialect.of(&format!("SELECT EXISTS (SELECT 1 FROM @{})", table.name()));
    tables.map(|(at, table)| (at as i64, sql(table))).collect()
}

/// The query for [`Totals`], whose columns it answers in their order.
pub(crate) fn totals(dialect: &Dialect<'_>) -> String {
    let Dialect { cents, whole, .. } = dialect;
    dialect.of(&format!(
        "SELECT (SELECT CAST(coalesce(sum(d_next_o_id), 0) AS {whole}) FROM @district), \
         (SELECT CAST(coalesce(sum(c_payment_cnt), 0) AS {whole}) FROM @customer), \
         (SELECT CAST(coalesce(sum(w_ytd) * {cents}, 0) AS {whole}) FROM @warehouse)"
    ))
}

/// The query for the orders above a number, as ranges without a gap: warehouse, district, first, last.
pub(crate) fn orders_above(dialect: &Dialect<'_>, loaded: i32) -> String {
    dialect.of(&format!(
        "SELECT w, d, min(o), max(o) FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, \
         o_id - row_number() OVER (PARTITION BY o_w_id, o_d_id ORDER BY o_id) AS island FROM @orders \
         WHERE o_id > {loaded}) AS made GROUP BY w, d, island ORDER BY 1, 2, 3"
    ))
}

/// Conditions 1, 8 and 9: sums of payments.
fn payments() -> [Query; 3] {
    let warehouse = "SELECT w_id, w_ytd FROM @warehouse";
    let district = "SELECT d_w_id, d_id, d_ytd FROM @district";
    [
        compare_money(Check::WarehouseYtd, 1, warehouse, "SELECT d_w_id, sum(d_ytd) FROM @district GROUP BY 1"),
        compare_money(Check::WarehouseHistory, 1, warehouse, "SELECT h_w_id, sum(h_amount) FROM @history GROUP BY 1"),
        compare_money(
            Check::DistrictHistory,
            2,
            district,
            "SELECT h_w_id, h_d_id, sum(h_amount) FROM @history GROUP BY 1, 2",
        ),
    ]
}

/// Conditions 2, 3, 5 and 11: orders and new orders.
fn orders() -> [Query; 5] {
    let next = "SELECT d_w_id, d_id, d_next_o_id - 1 FROM @district";
    let with_new = format!("{next} WHERE EXISTS (SELECT 1 FROM @new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)");
    let of_new = |number: &str| format!("SELECT no_w_id, no_d_id, {number} FROM @new_order GROUP BY 1, 2");
    let without_carrier = "SELECT o_w_id, o_d_id, o_id, 1 FROM @orders WHERE o_carrier_id IS NULL";
    // Districts that only have new orders have a sum too.
    let by_district = |of_order: &str, of_new: &str| {
        format!(
            "SELECT w, d, sum(n) FROM (SELECT o_w_id AS w, o_d_id AS d, {of_order} AS n FROM @orders \
             UNION ALL SELECT no_w_id, no_d_id, {of_new} FROM @new_order) AS counts GROUP BY 1, 2"
        )
    };
    [
        compare(Check::NextOrder, 2, next, "SELECT o_w_id, o_d_id, max(o_id) FROM @orders GROUP BY 1, 2"),
        compare(Check::NextOrder, 2, &with_new, &of_new("max(no_o_id)")),
        compare(Check::NewOrderGaps, 2, &of_new("max(no_o_id) - min(no_o_id) + 1"), &of_new("count(*)")),
        compare(
            Check::NewOrdersHaveNoCarrier,
            3,
            without_carrier,
            "SELECT no_w_id, no_d_id, no_o_id, 1 FROM @new_order",
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
                CASE WHEN ol_delivery_d IS NULL THEN 0 ELSE 1 END FROM @order_line \
                LEFT JOIN @orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
                WHERE (o_carrier_id IS NULL) <> (ol_delivery_d IS NULL) ORDER BY 1, 2, 3, 4";
    [
        compare(
            Check::LinesOfDistrict,
            2,
            "SELECT o_w_id, o_d_id, sum(o_ol_cnt) FROM @orders GROUP BY 1, 2",
            "SELECT ol_w_id, ol_d_id, count(*) FROM @order_line GROUP BY 1, 2",
        ),
        compare(
            Check::LinesOfOrder,
            3,
            "SELECT o_w_id, o_d_id, o_id, o_ol_cnt FROM @orders",
            "SELECT ol_w_id, ol_d_id, ol_o_id, count(*) FROM @order_line GROUP BY 1, 2, 3",
        ),
        direct(Check::DeliveryDate, 4, date),
    ]
}

/// Conditions 10 and 12: what customers owe.
fn balances() -> [Query; 2] {
    let customers = |number: &str| format!("SELECT c_w_id, c_d_id, c_id, {number} FROM @customer");
    let delivered = "SELECT o_w_id AS w, o_d_id AS d, o_c_id AS c, ol_amount AS n FROM @order_line \
                     JOIN @orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
                     WHERE ol_delivery_d IS NOT NULL";
    let zero = customers("0");
    let paid = "SELECT h_c_w_id, h_c_d_id, h_c_id, -h_amount FROM @history";
    let sum = |of: &str| format!("SELECT w, d, c, sum(n) FROM ({of}) AS parts GROUP BY 1, 2, 3");
    [
        compare_money(
            Check::Balance,
            3,
            &customers("c_balance"),
            &sum(&format!("{delivered} UNION ALL {paid} UNION ALL {zero}")),
        ),
        compare_money(
            Check::BalanceAndPayments,
            3,
            &customers("c_balance + c_ytd_payment"),
            &sum(&format!("{delivered} UNION ALL {zero}")),
        ),
    ]
}

/// Our own conditions of the stock. Loaded orders took nothing from it.
fn stock(scale: Scale) -> [Query; 2] {
    let quantity = "SELECT s_w_id, s_i_id, s_quantity, CASE WHEN s_quantity < 10 THEN 10 ELSE 100 END FROM @stock \
                    WHERE s_quantity NOT BETWEEN 10 AND 100 ORDER BY 1, 2";
    // One row for each of the three counters of a warehouse.
    let counters = |sums: &str| {
        format!(
            "SELECT w, n, CASE n WHEN 1 THEN a WHEN 2 THEN b ELSE c END FROM ({sums}) AS sums \
             CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3) AS numbers"
        )
    };
    let counted =
        "SELECT s_w_id AS w, sum(s_ytd) AS a, sum(s_order_cnt) AS b, sum(s_remote_cnt) AS c FROM @stock GROUP BY 1";
    let ordered = format!(
        "SELECT w, sum(a) AS a, sum(b) AS b, sum(c) AS c FROM (SELECT ol_supply_w_id AS w, ol_quantity AS a, 1 AS b, \
         CASE WHEN ol_supply_w_id = ol_w_id THEN 0 ELSE 1 END AS c FROM @order_line WHERE ol_o_id > {} \
         UNION ALL SELECT DISTINCT s_w_id, 0, 0, 0 FROM @stock) AS parts GROUP BY 1",
        scale.orders()
    );
    [
        direct(Check::StockQuantity, 2, quantity),
        compare(Check::StockCounters, 2, &counters(counted), &counters(&ordered)),
    ]
}
