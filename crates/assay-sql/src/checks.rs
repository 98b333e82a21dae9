//! The conditions that a database must fulfil, each as one query over whole tables, for every dialect.
//!
//! A comparison gathers the keys of both sides, so that a row that only one side has is found. The pure checks of
//! `assay_model::tpcc::checks` find the same violations, and tests compare the two.

use assay_model::tpcc::checks::{Check, SHOWN};
use assay_model::tpcc::{Population, Scale, Table};

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
    /// The prefix of the name of a table, with its point.
    pub(crate) schema: &'a str,
    /// How many cents the unit is in which money is kept.
    pub(crate) cents: i64,
    /// The words for a whole number of 64 bits in a CAST.
    pub(crate) whole: &'a str,
    /// What stands before and between two values, which may be null, to ask whether they differ.
    pub(crate) differ: (&'a str, &'a str),
}

impl Dialect<'_> {
    /// The dialect of the standard, which SQLite and PostgreSQL understand.
    pub(crate) const fn standard_dialect(schema: &str, cents: i64) -> Dialect<'_> {
        Dialect { schema, cents, whole: "bigint", differ: ("", "IS DISTINCT FROM") }
    }
}

impl Dialect<'_> {
    /// A query in which an at sign stands before the name of each table.
    fn with_schema(&self, query: &str) -> String {
        query.replace('@', self.schema)
    }
}

/// A query that answers violations: the columns of the key, then both sides.
pub(crate) struct Query {
    pub(crate) check: Check,
    pub(crate) keys: usize,
    asks: QueryForm,
}

enum QueryForm {
    /// For the keys where two queries, which each answer the columns of a key and a number, do not answer the same.
    Compare { left: String, right: String, is_money: bool },
    /// For what a query answers.
    Direct(String),
}

impl Query {
    /// The query as it is sent.
    pub(crate) fn sql_text(&self, dialect: &Dialect<'_>) -> String {
        let places = (1..=self.keys).map(|at| at.to_string()).collect::<Vec<_>>().join(", ");
        let columns = (1..=self.keys).map(|at| format!("k{at}")).collect::<Vec<_>>().join(", ");
        match &self.asks {
            QueryForm::Direct(sql) => format!("{} LIMIT {SHOWN}", dialect.with_schema(sql)),
            QueryForm::Compare { left, right, is_money } => {
                let (left, right) = (dialect.with_schema(left), dialect.with_schema(right));
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
fn compare_queries(check: Check, keys: usize, left: &str, right: &str) -> Query {
    Query { check, keys, asks: QueryForm::Compare { left: left.to_owned(), right: right.to_owned(), is_money: false } }
}

/// Compares as [`compare_queries`] does, for money.
fn compare_money(check: Check, keys: usize, left: &str, right: &str) -> Query {
    Query { check, keys, asks: QueryForm::Compare { left: left.to_owned(), right: right.to_owned(), is_money: true } }
}

/// A query that answers violations itself.
fn violation_query(check: Check, keys: usize, sql: &str) -> Query {
    Query { check, keys, asks: QueryForm::Direct(sql.to_owned()) }
}

/// The queries of all conditions but that of empty tables, which [`has_rows`] examines.
pub(crate) fn condition_queries(population: Population) -> impl Iterator<Item = Query> {
    let compared =
        payment_queries().into_iter().chain(order_queries()).chain(order_line_queries()).chain(balance_queries());
    compared.chain(stock_queries(population.row_scale())).chain(row_counts(population)).chain(row_numbers(population))
}

/// The tables that must have rows, each with its place in a violation and the query that says whether it has some. New
/// orders may all be delivered.
pub(crate) fn has_rows(dialect: &Dialect<'_>) -> Vec<(i64, String)> {
    let tables = Table::ALL.into_iter().enumerate().filter(|(_, table)| *table != Table::NewOrder);
    let queries = tables.map(|(at, table)| {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM @{})", table.table_name());
        (at as i64, dialect.with_schema(&sql))
    });
    queries.collect()
}

/// The query for [`Totals`], whose columns it answers in their order.
pub(crate) fn totals_query(dialect: &Dialect<'_>) -> String {
    let Dialect { cents, whole, .. } = dialect;
    dialect.with_schema(&format!(
        "SELECT (SELECT CAST(coalesce(sum(d_next_o_id), 0) AS {whole}) FROM @district), \
         (SELECT CAST(coalesce(sum(c_payment_cnt), 0) AS {whole}) FROM @customer), \
         (SELECT CAST(coalesce(sum(w_ytd) * {cents}, 0) AS {whole}) FROM @warehouse)"
    ))
}

/// The query for the orders above a number, as ranges without a gap: warehouse, district, first, last.
pub(crate) fn orders_above(dialect: &Dialect<'_>, loaded: i32) -> String {
    dialect.with_schema(&format!(
        "SELECT w, d, min(o), max(o) FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, \
         o_id - row_number() OVER (PARTITION BY o_w_id, o_d_id ORDER BY o_id) AS island FROM @orders \
         WHERE o_id > {loaded}) AS made GROUP BY w, d, island ORDER BY 1, 2, 3"
    ))
}

/// Conditions 1, 8 and 9: sums of payments.
fn payment_queries() -> [Query; 3] {
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
fn order_queries() -> [Query; 5] {
    let next = "SELECT d_w_id, d_id, d_next_o_id - 1 FROM @district";
    let with_new = format!("{next} WHERE EXISTS (SELECT 1 FROM @new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)");
    let without_carrier = "SELECT o_w_id, o_d_id, o_id, 1 FROM @orders WHERE o_carrier_id IS NULL";
    [
        compare_queries(Check::NextOrder, 2, next, "SELECT o_w_id, o_d_id, max(o_id) FROM @orders GROUP BY 1, 2"),
        compare_queries(Check::NextOrder, 2, &with_new, &of_new_orders("max(no_o_id)")),
        compare_queries(
            Check::NewOrderGaps,
            2,
            &of_new_orders("max(no_o_id) - min(no_o_id) + 1"),
            &of_new_orders("count(*)"),
        ),
        compare_queries(
            Check::NewOrdersHaveNoCarrier,
            3,
            without_carrier,
            "SELECT no_w_id, no_d_id, no_o_id, 1 FROM @new_order",
        ),
        compare_queries(
            Check::OrdersDelivered,
            2,
            &orders_by_district("1", "-1"),
            &orders_by_district("CASE WHEN o_carrier_id IS NULL THEN 0 ELSE 1 END", "0"),
        ),
    ]
}

/// Conditions 4, 6 and 7: the lines of orders.
fn order_line_queries() -> [Query; 3] {
    let date = "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, CASE WHEN o_carrier_id IS NULL THEN 0 ELSE 1 END, \
                CASE WHEN ol_delivery_d IS NULL THEN 0 ELSE 1 END FROM @order_line \
                LEFT JOIN @orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
                WHERE (o_carrier_id IS NULL) <> (ol_delivery_d IS NULL) ORDER BY 1, 2, 3, 4";
    [
        compare_queries(
            Check::LinesOfDistrict,
            2,
            "SELECT o_w_id, o_d_id, sum(o_ol_cnt) FROM @orders GROUP BY 1, 2",
            "SELECT ol_w_id, ol_d_id, count(*) FROM @order_line GROUP BY 1, 2",
        ),
        compare_queries(
            Check::LinesOfOrder,
            3,
            "SELECT o_w_id, o_d_id, o_id, o_ol_cnt FROM @orders",
            "SELECT ol_w_id, ol_d_id, ol_o_id, count(*) FROM @order_line GROUP BY 1, 2, 3",
        ),
        violation_query(Check::DeliveryDate, 4, date),
    ]
}

/// Conditions 10 and 12: what customers owe.
fn balance_queries() -> [Query; 2] {
    let delivered = "SELECT o_w_id AS w, o_d_id AS d, o_c_id AS c, ol_amount AS n FROM @order_line \
                     JOIN @orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
                     WHERE ol_delivery_d IS NOT NULL";
    let zero = of_customers("0");
    let paid = "SELECT h_c_w_id, h_c_d_id, h_c_id, -h_amount FROM @history";
    [
        compare_money(
            Check::Balance,
            3,
            &of_customers("c_balance"),
            &sum_of_customers(&format!("{delivered} UNION ALL {paid} UNION ALL {zero}")),
        ),
        compare_money(
            Check::BalanceAndPayments,
            3,
            &of_customers("c_balance + c_ytd_payment"),
            &sum_of_customers(&format!("{delivered} UNION ALL {zero}")),
        ),
    ]
}

/// Our own conditions of the stock. Loaded orders took nothing from it.
fn stock_queries(scale: Scale) -> [Query; 2] {
    let quantity = "SELECT s_w_id, s_i_id, s_quantity, CASE WHEN s_quantity < 10 THEN 10 ELSE 100 END FROM @stock \
                    WHERE s_quantity NOT BETWEEN 10 AND 100 ORDER BY 1, 2";
    // One row for each of the three counters of a warehouse.
    let counted =
        "SELECT s_w_id AS w, sum(s_ytd) AS a, sum(s_order_cnt) AS b, sum(s_remote_cnt) AS c FROM @stock GROUP BY 1";
    let ordered = format!(
        "SELECT w, sum(a) AS a, sum(b) AS b, sum(c) AS c FROM (SELECT ol_supply_w_id AS w, ol_quantity AS a, 1 AS b, \
         CASE WHEN ol_supply_w_id = ol_w_id THEN 0 ELSE 1 END AS c FROM @order_line WHERE ol_o_id > {} \
         UNION ALL SELECT DISTINCT s_w_id, 0, 0, 0 FROM @stock) AS parts GROUP BY 1",
        scale.order_count()
    );
    [
        violation_query(Check::StockQuantity, 2, quantity),
        compare_queries(Check::StockCounters, 2, &stock_counters(counted), &stock_counters(&ordered)),
    ]
}

/// A query that answers the whole numbers from 1 to `last` in the column `n`.
fn numbers_query(last: i32) -> String {
    const DIGITS: &str = "(SELECT 0 AS digit UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 \
                          UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    let places = (last - 1).max(1).ilog10() + 1;
    let sum: Vec<String> = (0..places).map(|place| format!("{} * digits_{place}.digit", 10_i32.pow(place))).collect();
    let tables: Vec<String> = (0..places).map(|place| format!("{DIGITS} AS digits_{place}")).collect();
    let sum = sum.join(" + ");
    format!("SELECT 1 + {sum} AS n FROM {} WHERE {sum} < {last}", tables.join(" CROSS JOIN "))
}

/// Counts all rows of a table. The first number of a key is the place of the table; the others are warehouse and
/// district, with 0 for all of them.
fn count_all(table: Table) -> String {
    format!("SELECT {}, 0, 0, count(*) FROM @{}", table as i32, table.table_name())
}

/// Counts the rows of a table in groups, whose columns are `warehouse` and `district`.
fn count_grouped(table: Table, warehouse: &str, district: Option<&str>) -> String {
    let (place, name) = (table as i32, table.table_name());
    match district {
        Some(district) => {
            format!("SELECT {place}, {warehouse}, {district}, count(*) FROM @{name} GROUP BY {warehouse}, {district}")
        }
        None => format!("SELECT {place}, {warehouse}, 0, count(*) FROM @{name} GROUP BY {warehouse}"),
    }
}

/// The number of rows that each warehouse must have in a table.
fn rows_of_warehouses(table: Table, population: Population, rows: i32) -> String {
    let warehouses = numbers_query(population.warehouse_count());
    format!("SELECT {}, warehouses.n, 0, {rows} FROM ({warehouses}) AS warehouses", table as i32)
}

/// The number of rows that each district must have in a table.
fn rows_of_districts(table: Table, population: Population, rows: i32) -> String {
    let (warehouses, districts) =
        (numbers_query(population.warehouse_count()), numbers_query(population.row_scale().district_count()));
    format!(
        "SELECT {}, warehouses.n, districts.n, {rows} FROM ({warehouses}) AS warehouses \
         CROSS JOIN ({districts}) AS districts",
        table as i32
    )
}

/// How many rows each table must have. Orders are counted by their district, and the history by the customers who paid.
fn row_counts(population: Population) -> [Query; 7] {
    let (scale, warehouses) = (population.row_scale(), population.warehouse_count());
    let [warehouse, item, history, orders] =
        [Table::Warehouse, Table::Item, Table::History, Table::Orders].map(|table| table as i32);
    [
        (count_all(Table::Warehouse), format!("SELECT {warehouse}, 0, 0, {warehouses}")),
        (
            count_grouped(Table::District, "d_w_id", None),
            rows_of_warehouses(Table::District, population, scale.district_count()),
        ),
        (
            count_grouped(Table::Customer, "c_w_id", Some("c_d_id")),
            rows_of_districts(Table::Customer, population, scale.customer_count()),
        ),
        (count_all(Table::Item), format!("SELECT {item}, 0, 0, {}", scale.item_count())),
        (count_grouped(Table::Stock, "s_w_id", None), rows_of_warehouses(Table::Stock, population, scale.item_count())),
        (
            count_grouped(Table::History, "h_c_w_id", Some("h_c_d_id")),
            format!("SELECT {history}, c_w_id, c_d_id, sum(c_payment_cnt) FROM @customer GROUP BY c_w_id, c_d_id"),
        ),
        (
            count_grouped(Table::Orders, "o_w_id", Some("o_d_id")),
            format!("SELECT {orders}, d_w_id, d_id, d_next_o_id - 1 FROM @district"),
        ),
    ]
    .map(|(counted, wanted)| compare_queries(Check::RowCounts, 3, &counted, &wanted))
}

/// A table whose rows are numbered from 1 on.
struct NumberedRows {
    table: Table,
    /// The columns by which its rows are grouped, for warehouse and district.
    group: [Option<&'static str>; 2],
    number: &'static str,
    /// The largest number.
    last: i32,
}

impl NumberedRows {
    /// Asks for the groups in which a number is there twice or does not belong.
    fn misnumbered_query(&self) -> Query {
        let NumberedRows { table, group, number, last } = self;
        let [warehouse, district] = group.map(|column| column.unwrap_or("0"));
        let columns: Vec<&str> = group.iter().flatten().copied().collect();
        let by = if columns.is_empty() { String::new() } else { format!(" GROUP BY {}", columns.join(", ")) };
        let sql = format!(
            "SELECT * FROM (SELECT {} AS k1, {warehouse} AS k2, {district} AS k3, count(*) AS all_rows, \
             count(DISTINCT CASE WHEN {number} BETWEEN 1 AND {last} THEN {number} END) AS own_numbers FROM @{}{by}) \
             AS counted WHERE all_rows <> own_numbers ORDER BY 1, 2, 3",
            *table as i32,
            table.table_name()
        );
        violation_query(Check::RowNumbers, 3, &sql)
    }
}

fn row_numbers(population: Population) -> [Query; 6] {
    let scale = population.row_scale();
    [
        (Table::Warehouse, [None, None], "w_id", population.warehouse_count()),
        (Table::District, [Some("d_w_id"), None], "d_id", scale.district_count()),
        (Table::Customer, [Some("c_w_id"), Some("c_d_id")], "c_id", scale.customer_count()),
        (Table::Item, [None, None], "i_id", scale.item_count()),
        (Table::Stock, [Some("s_w_id"), None], "s_i_id", scale.item_count()),
        (Table::Orders, [Some("o_w_id"), Some("o_d_id")], "o_id", i32::MAX),
    ]
    .map(|(table, group, number, last)| NumberedRows { table, group, number, last }.misnumbered_query())
}

/// A figure of the new orders of each district.
fn of_new_orders(number: &str) -> String {
    format!("SELECT no_w_id, no_d_id, {number} FROM @new_order GROUP BY 1, 2")
}

/// A sum over the orders and the new orders of each district. Districts that only have new orders have a sum too.
fn orders_by_district(of_order: &str, of_new: &str) -> String {
    format!(
        "SELECT w, d, sum(n) FROM (SELECT o_w_id AS w, o_d_id AS d, {of_order} AS n FROM @orders \
         UNION ALL SELECT no_w_id, no_d_id, {of_new} FROM @new_order) AS counts GROUP BY 1, 2"
    )
}

/// A figure of each customer.
fn of_customers(number: &str) -> String {
    format!("SELECT c_w_id, c_d_id, c_id, {number} FROM @customer")
}

/// The sum of these parts for each customer.
fn sum_of_customers(parts: &str) -> String {
    format!("SELECT w, d, c, sum(n) FROM ({parts}) AS parts GROUP BY 1, 2, 3")
}

/// The three counters of the stock of each warehouse, as rows.
fn stock_counters(sums: &str) -> String {
    format!(
        "SELECT w, n, CASE n WHEN 1 THEN a WHEN 2 THEN b ELSE c END FROM ({sums}) AS sums \
         CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3) AS numbers"
    )
}
