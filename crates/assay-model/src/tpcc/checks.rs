//! The conditions that a database must fulfil after the load and after any number of transactions: the twelve of the
//! standard and five of our own.
//!
//! Each is a comparison of two numbers for every key that either side has, so that a row that is missing is found as
//! well as one that is wrong. This module finds violations in the interpreter's maps, and `assay-sql` finds the same
//! ones with queries. The standard's conditions compare tables with each other: a row that none of them refers to, such
//! as the stock of an item that nobody has ordered, is only missed by the conditions that count rows.
//!
//! Source: TPC-C 5.11, clause 3.3.2.

use super::interpreter::Database;
use super::population::Population;
use super::scale::Scale;
use super::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How many violations of one comparison are reported: a database that is wrong everywhere fills no log.
pub const SHOWN: usize = 10;

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is described by `rule`")]
pub enum Check {
    WarehouseYtd,
    NextOrder,
    NewOrderGaps,
    LinesOfDistrict,
    NewOrdersHaveNoCarrier,
    LinesOfOrder,
    DeliveryDate,
    WarehouseHistory,
    DistrictHistory,
    Balance,
    OrdersDelivered,
    BalanceAndPayments,
    StockQuantity,
    StockCounters,
    EmptyTable,
    RowCounts,
    RowNumbers,
}

impl Check {
    /// All of them, the standard's conditions 1 to 12 first.
    pub const ALL: [Check; 17] = [
        Check::WarehouseYtd,
        Check::NextOrder,
        Check::NewOrderGaps,
        Check::LinesOfDistrict,
        Check::NewOrdersHaveNoCarrier,
        Check::LinesOfOrder,
        Check::DeliveryDate,
        Check::WarehouseHistory,
        Check::DistrictHistory,
        Check::Balance,
        Check::OrdersDelivered,
        Check::BalanceAndPayments,
        Check::StockQuantity,
        Check::StockCounters,
        Check::EmptyTable,
        Check::RowCounts,
        Check::RowNumbers,
    ];

    /// Its name: the number of the standard's condition, or a word for ours.
    pub fn condition_name(self) -> &'static str {
        const NAMES: [&str; 17] = [
            "condition 1",
            "condition 2",
            "condition 3",
            "condition 4",
            "condition 5",
            "condition 6",
            "condition 7",
            "condition 8",
            "condition 9",
            "condition 10",
            "condition 11",
            "condition 12",
            "stock quantity",
            "stock counters",
            "empty table",
            "row counts",
            "row numbers",
        ];
        NAMES[self as usize]
    }

    /// What must be equal, the left side first.
    pub fn rule_text(self) -> &'static str {
        match self {
            Check::WarehouseYtd => "W_YTD is the sum of D_YTD",
            Check::NextOrder => "D_NEXT_O_ID - 1 is the largest O_ID and the largest NO_O_ID",
            Check::NewOrderGaps => "NO_O_ID from smallest to largest is the number of new orders",
            Check::LinesOfDistrict => "the sum of O_OL_CNT is the number of order lines",
            Check::NewOrdersHaveNoCarrier => "an order without a carrier is a new order, and no other is",
            Check::LinesOfOrder => "O_OL_CNT is the number of the order's lines",
            Check::DeliveryDate => "an order with a carrier has lines with a delivery date, and no other has",
            Check::WarehouseHistory => "W_YTD is the sum of H_AMOUNT",
            Check::DistrictHistory => "D_YTD is the sum of H_AMOUNT",
            Check::Balance => "C_BALANCE is the sum of the delivered OL_AMOUNT less the sum of H_AMOUNT",
            Check::OrdersDelivered => "orders less new orders are the orders with a carrier",
            Check::BalanceAndPayments => "C_BALANCE + C_YTD_PAYMENT is the sum of the delivered OL_AMOUNT",
            Check::StockQuantity => "S_QUANTITY is at least 10 and at most 100",
            Check::StockCounters => "S_YTD, S_ORDER_CNT and S_REMOTE_CNT are what the order lines add up to",
            Check::EmptyTable => "the table has rows",
            Check::RowCounts => "a table has as many rows as the load and the transactions make",
            Check::RowNumbers => "the numbers of its rows run from 1 on, and each is there once",
        }
    }

    /// What the numbers of its key are.
    fn key_names(self) -> &'static [&'static str] {
        match self {
            Check::WarehouseYtd | Check::WarehouseHistory => &["warehouse"],
            Check::NextOrder
            | Check::NewOrderGaps
            | Check::LinesOfDistrict
            | Check::DistrictHistory
            | Check::OrdersDelivered => &["warehouse", "district"],
            Check::NewOrdersHaveNoCarrier | Check::LinesOfOrder => &["warehouse", "district", "order"],
            Check::DeliveryDate => &["warehouse", "district", "order", "line"],
            Check::Balance | Check::BalanceAndPayments => &["warehouse", "district", "customer"],
            Check::StockQuantity => &["warehouse", "item"],
            Check::StockCounters => &["warehouse", "counter"],
            Check::EmptyTable => &["table"],
            Check::RowCounts | Check::RowNumbers => &["table", "warehouse", "district"],
        }
    }
}

/// A place where a condition does not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The condition.
    pub check: Check,
    /// The numbers that say where.
    pub key: Vec<i64>,
    /// The left side of the rule, or none if there is no row for it.
    pub left: Option<i64>,
    /// The right side.
    pub right: Option<i64>,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.check {
            Check::EmptyTable => return write!(out, "empty table: {} has no rows", self.table_name()),
            Check::RowCounts => return self.write_row_count(out),
            Check::RowNumbers => return self.write_row_numbers(out),
            _ => {}
        }
        write!(out, "{}: {}; in", self.check.condition_name(), self.check.rule_text())?;
        for (at, (name, number)) in self.check.key_names().iter().zip(&self.key).enumerate() {
            write!(out, "{} {name} {number}", if at > 0 { "," } else { "" })?;
        }
        write!(
            out,
            " the left side is {} and the right side is {}",
            side_in_words(self.left),
            side_in_words(self.right)
        )
    }
}

impl Violation {
    /// The name of the table, where the first number of the key says which one it is.
    fn table_name(&self) -> &'static str {
        self.key.first().and_then(|at| Table::ALL.get(*at as usize)).map_or("?", |table| table.table_name())
    }

    /// The table, and the warehouse and the district to which its rows belong; 0 stands for all of them.
    fn rows_of(&self) -> String {
        let [warehouse, district] = [1, 2].map(|at| self.key.get(at).copied().unwrap_or(0));
        let table = self.table_name();
        match (warehouse, district) {
            (0, _) => table.to_owned(),
            (_, 0) => format!("{table} of warehouse {warehouse}"),
            _ => format!("{table} of warehouse {warehouse}, district {district}"),
        }
    }

    fn write_row_count(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, wanted) = (self.left.unwrap_or(0), self.right.unwrap_or(0));
        let rows = if found == 1 { "row" } else { "rows" };
        write!(out, "row counts: {} has {found} {rows}, and must have {wanted}", self.rows_of())
    }

    fn write_row_numbers(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, numbered) = (self.left.unwrap_or(0), self.right.unwrap_or(0));
        let (wrong, rows) = (all.saturating_sub(numbered), self.rows_of());
        write!(out, "row numbers: {rows} has {all} rows, and {wrong} of them no number of their own from 1 on")
    }
}

/// One side of a comparison: a number for each key.
type Side<const N: usize> = BTreeMap<[i32; N], i64>;

/// Adds up numbers by key.
fn sums_by_key<const N: usize>(numbers: impl IntoIterator<Item = ([i32; N], i64)>) -> Side<N> {
    let mut side = Side::new();
    numbers.into_iter().for_each(|(key, number)| *side.entry(key).or_default() += number);
    side
}

/// The violations found so far.
struct FoundViolations(Vec<Violation>);

impl FoundViolations {
    /// Adds what differs; a key that one side does not have differs.
    fn compare_sides<const N: usize>(&mut self, check: Check, left: &Side<N>, right: &Side<N>) {
        let keys: BTreeSet<&[i32; N]> = left.keys().chain(right.keys()).collect();
        let sides = keys.into_iter().map(|key| (key, left.get(key).copied(), right.get(key).copied()));
        let wrong = sides.filter(|(_, left, right)| left != right).take(SHOWN);
        self.0.extend(wrong.map(|(key, left, right)| Violation {
            check,
            key: key.iter().map(|number| i64::from(*number)).collect(),
            left,
            right,
        }));
    }

    /// As [`FoundViolations::compare_sides`], where the absence of a key on the right means zero.
    fn compare_to_zero<const N: usize>(&mut self, check: Check, left: &Side<N>, mut right: Side<N>) {
        for key in left.keys() {
            right.entry(*key).or_default();
        }
        self.compare_sides(check, left, &right);
    }
}

/// A key of three numbers: warehouse, district, and a number in the district.
fn key_of_row(key: (i32, i32, i32)) -> [i32; 3] {
    key.into()
}

/// The warehouse and the district of such a key.
fn key_of_district(key: (i32, i32, i32)) -> [i32; 2] {
    [key.0, key.1]
}

/// The largest number of each district among keys that come in order.
fn largest_of_districts(keys: impl Iterator<Item = (i32, i32, i32)>) -> Side<2> {
    // The last one of a district replaces those before it.
    keys.map(|key| (key_of_district(key), i64::from(key.2))).collect()
}

/// The three counters of the stock of a warehouse, numbered from 1.
fn stock_counters(warehouse: i32, counts: [i64; 3]) -> impl Iterator<Item = ([i32; 2], i64)> {
    (1..).zip(counts).map(move |(counter, n)| ([warehouse, counter], n))
}

/// A side of a violation as a report shows it.
fn side_in_words(side: Option<i64>) -> String {
    side.map_or("missing".to_owned(), |number| number.to_string())
}

/// Examines a database, which was loaded with a population.
pub fn check_database(database: &Database, population: Population) -> Vec<Violation> {
    let (mut found, scale) = (FoundViolations(Vec::new()), population.row_scale());
    sums_of_payments(database, &mut found);
    check_orders(database, &mut found);
    check_order_lines(database, &mut found);
    check_balances(database, &mut found);
    check_stock(database, scale, &mut found);
    row_counts(database, population, &mut found);
    row_numbers(database, population, &mut found);
    for (at, table) in Table::ALL.iter().enumerate() {
        // The table of new orders may be empty.
        if *table != Table::NewOrder && database.rows_by_key(*table).is_empty() {
            found.0.push(Violation { check: Check::EmptyTable, key: vec![at as i64], left: Some(0), right: None });
        }
    }
    found.0.sort();
    found.0
}

/// Conditions 1, 8 and 9.
fn sums_of_payments(database: &Database, found: &mut FoundViolations) {
    let warehouses = sums_by_key(database.warehouses.values().map(|row| ([row.id], row.ytd)));
    let districts = sums_by_key(database.districts.values().map(|row| ([row.warehouse, row.id], row.ytd)));
    found.compare_sides(
        Check::WarehouseYtd,
        &warehouses,
        &sums_by_key(districts.iter().map(|(key, ytd)| ([key[0]], *ytd))),
    );
    let history = sums_by_key(database.history.iter().map(|row| ([row.warehouse, row.district], row.amount)));
    found.compare_sides(
        Check::WarehouseHistory,
        &warehouses,
        &sums_by_key(history.iter().map(|(key, sum)| ([key[0]], *sum))),
    );
    found.compare_sides(Check::DistrictHistory, &districts, &history);
}

/// Conditions 2, 3, 5 and 11.
fn check_orders(database: &Database, found: &mut FoundViolations) {
    let next: Side<2> =
        database.districts.values().map(|row| ([row.warehouse, row.id], i64::from(row.next_order) - 1)).collect();
    found.compare_sides(Check::NextOrder, &next, &largest_of_districts(database.orders.keys().copied()));
    let newest = largest_of_districts(database.new_orders.iter().copied());
    let with_new_orders = next.iter().filter(|(key, _)| newest.contains_key(*key)).map(|(key, next)| (*key, *next));
    found.compare_sides(Check::NextOrder, &with_new_orders.collect(), &newest);
    let count = sums_by_key(database.new_orders.iter().map(|key| (key_of_district(*key), 1)));
    let oldest: Side<2> =
        database.new_orders.iter().rev().map(|key| (key_of_district(*key), i64::from(key.2))).collect();
    let span = newest.iter().map(|(key, newest)| (*key, newest - oldest[key] + 1)).collect();
    found.compare_sides(Check::NewOrderGaps, &span, &count);
    let without_carrier = database.orders.values().filter(|order| order.carrier.is_none());
    let without_carrier = without_carrier.map(|order| (key_of_row(order.key), 1)).collect();
    let new = database.new_orders.iter().map(|key| (key_of_row(*key), 1)).collect();
    found.compare_sides(Check::NewOrdersHaveNoCarrier, &without_carrier, &new);
    let all = database.orders.keys().map(|key| (key_of_district(*key), 1));
    let rest = sums_by_key(all.chain(database.new_orders.iter().map(|key| (key_of_district(*key), -1))));
    let delivered = database.orders.values().filter(|order| order.carrier.is_some());
    found.compare_to_zero(
        Check::OrdersDelivered,
        &rest,
        sums_by_key(delivered.map(|order| (key_of_district(order.key), 1))),
    );
}

/// Conditions 4, 6 and 7.
fn check_order_lines(database: &Database, found: &mut FoundViolations) {
    let promised = database.orders.values().map(|order| (order.key, i64::from(order.lines)));
    let by_district = sums_by_key(promised.clone().map(|(key, lines)| (key_of_district(key), lines)));
    let lines = database.lines.keys().map(|(order, _)| *order);
    found.compare_sides(
        Check::LinesOfDistrict,
        &by_district,
        &sums_by_key(lines.clone().map(|key| (key_of_district(key), 1))),
    );
    let by_order = sums_by_key(promised.map(|(key, lines)| (key_of_row(key), lines)));
    found.compare_sides(Check::LinesOfOrder, &by_order, &sums_by_key(lines.map(|key| (key_of_row(key), 1))));
    let (mut carried, mut dated) = (Side::<4>::new(), Side::<4>::new());
    for ((order, number), line) in &database.lines {
        let key = [order.0, order.1, order.2, *number];
        let has_carrier = database.orders.get(order).is_some_and(|order| order.carrier.is_some());
        carried.insert(key, has_carrier.into());
        dated.insert(key, line.delivered.is_some().into());
    }
    found.compare_sides(Check::DeliveryDate, &carried, &dated);
}

/// Conditions 10 and 12.
fn check_balances(database: &Database, found: &mut FoundViolations) {
    let delivered = database.lines.values().filter(|line| line.delivered.is_some()).filter_map(|line| {
        let order = database.orders.get(&line.order)?;
        Some(([order.key.0, order.key.1, order.customer], line.amount))
    });
    let delivered = sums_by_key(delivered);
    let paid =
        database.history.iter().map(|row| ([row.customer_warehouse, row.customer_district, row.customer], -row.amount));
    let customers = database.customers.values().map(|row| (key_of_row(row.key), row.account));
    let balances = customers.clone().map(|(key, account)| (key, account.balance)).collect();
    found.compare_to_zero(Check::Balance, &balances, sums_by_key(delivered.clone().into_iter().chain(paid)));
    let both = customers.map(|(key, account)| (key, account.balance + account.ytd_payment)).collect();
    found.compare_to_zero(Check::BalanceAndPayments, &both, delivered);
}

/// Our own conditions of the stock. Orders that were loaded took nothing from it.
fn check_stock(database: &Database, scale: Scale, found: &mut FoundViolations) {
    let quantities: Side<2> =
        database.stock.values().map(|row| ([row.warehouse, row.item], i64::from(row.quantity))).collect();
    let possible = quantities.iter().map(|(key, quantity)| (*key, (*quantity).clamp(10, 100))).collect();
    found.compare_sides(Check::StockQuantity, &quantities, &possible);
    let counted = database
        .stock
        .values()
        .flat_map(|row| stock_counters(row.warehouse, [row.ytd.into(), row.orders.into(), row.remote.into()]));
    let ordered = database.lines.values().filter(|line| line.order.2 > scale.order_count()).flat_map(|line| {
        let remote = line.supply_warehouse != line.order.0;
        stock_counters(line.supply_warehouse, [line.quantity.into(), 1, remote.into()])
    });
    found.compare_to_zero(Check::StockCounters, &sums_by_key(counted), sums_by_key(ordered));
}

/// The rows of a table that belong to a warehouse and a district, 0 for all of them.
fn group_key(table: Table, warehouse: i32, district: i32) -> [i32; 3] {
    [table as i32, warehouse, district]
}

/// How many rows of a table each district has, from the district of each row.
fn by_district(table: Table, rows: impl Iterator<Item = (i32, i32)>) -> Side<3> {
    sums_by_key(rows.map(|(warehouse, district)| (group_key(table, warehouse, district), 1)))
}

/// The same number of rows in each warehouse.
fn in_each_warehouse(table: Table, warehouses: i32, rows: i32) -> Side<3> {
    (1..=warehouses).map(|warehouse| (group_key(table, warehouse, 0), i64::from(rows))).collect()
}

/// How many rows of a table each warehouse has, from the warehouse of each row.
fn by_warehouse(table: Table, rows: impl Iterator<Item = i32>) -> Side<3> {
    sums_by_key(rows.map(|warehouse| (group_key(table, warehouse, 0), 1)))
}

/// The number of all rows of a table.
fn in_total(table: Table, rows: usize) -> Side<3> {
    Side::from([(group_key(table, 0, 0), rows as i64)])
}

/// Tables to which no transaction adds rows have the sizes of the population.
fn row_counts(database: &Database, population: Population, found: &mut FoundViolations) {
    let (scale, warehouses) = (population.row_scale(), population.warehouse_count());
    let each_district =
        (1..=warehouses).flat_map(|warehouse| (1..=scale.district_count()).map(move |it| (warehouse, it)));
    let customers = each_district.map(|(warehouse, district)| {
        (group_key(Table::Customer, warehouse, district), i64::from(scale.customer_count()))
    });
    for (counted, wanted) in [
        (in_total(Table::Warehouse, database.warehouses.len()), in_total(Table::Warehouse, warehouses as usize)),
        (
            by_warehouse(Table::District, database.districts.keys().map(|key| key.0)),
            in_each_warehouse(Table::District, warehouses, scale.district_count()),
        ),
        (by_district(Table::Customer, database.customers.keys().map(|key| (key.0, key.1))), customers.collect()),
        (in_total(Table::Item, database.items.len()), in_total(Table::Item, scale.item_count() as usize)),
        (
            by_warehouse(Table::Stock, database.stock.keys().map(|key| key.0)),
            in_each_warehouse(Table::Stock, warehouses, scale.item_count()),
        ),
    ] {
        found.compare_sides(Check::RowCounts, &counted, &wanted);
    }
    row_counts_that_grow(database, found);
}

/// The orders of a district are counted by the district, the history by the customers who have paid.
fn row_counts_that_grow(database: &Database, found: &mut FoundViolations) {
    let paid = database.history.iter().map(|row| (row.customer_warehouse, row.customer_district));
    let payments = database
        .customers
        .values()
        .map(|row| (group_key(Table::History, row.key.0, row.key.1), i64::from(row.account.payments)));
    found.compare_sides(Check::RowCounts, &by_district(Table::History, paid), &sums_by_key(payments));
    let made = database
        .districts
        .values()
        .map(|row| (group_key(Table::Orders, row.warehouse, row.id), i64::from(row.next_order) - 1));
    let orders = by_district(Table::Orders, database.orders.keys().map(|key| (key.0, key.1)));
    found.compare_sides(Check::RowCounts, &orders, &made.collect());
}

/// The number of a row within its group.
struct Numbered {
    group: [i32; 3],
    number: i32,
}

/// Compares how many rows a group has with how many of them have a number from 1 to `last`. The maps of the interpreter
/// have one row for each number.
fn compare_numbers(rows: impl Iterator<Item = Numbered> + Clone, last: i32, found: &mut FoundViolations) {
    let all = sums_by_key(rows.clone().map(|row| (row.group, 1)));
    let numbered = sums_by_key(rows.map(|row| (row.group, i64::from((1..=last).contains(&row.number)))));
    found.compare_sides(Check::RowNumbers, &all, &numbered);
}

/// A row in the place of another one keeps their count, but not their numbers.
fn row_numbers(database: &Database, population: Population, found: &mut FoundViolations) {
    let scale = population.row_scale();
    let warehouses = database.warehouses.keys();
    let warehouses = warehouses.map(|id| Numbered { group: group_key(Table::Warehouse, 0, 0), number: *id });
    compare_numbers(warehouses, population.warehouse_count(), found);
    let districts = database.districts.keys();
    let districts = districts.map(|key| Numbered { group: group_key(Table::District, key.0, 0), number: key.1 });
    compare_numbers(districts, scale.district_count(), found);
    let customers = database.customers.keys();
    let customers = customers.map(|key| Numbered { group: group_key(Table::Customer, key.0, key.1), number: key.2 });
    compare_numbers(customers, scale.customer_count(), found);
    let items = database.items.keys().map(|id| Numbered { group: group_key(Table::Item, 0, 0), number: *id });
    compare_numbers(items, scale.item_count(), found);
    let stock = database.stock.keys();
    let stock = stock.map(|key| Numbered { group: group_key(Table::Stock, key.0, 0), number: key.1 });
    compare_numbers(stock, scale.item_count(), found);
    let orders = database.orders.keys();
    let orders = orders.map(|key| Numbered { group: group_key(Table::Orders, key.0, key.1), number: key.2 });
    compare_numbers(orders, i32::MAX, found);
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
