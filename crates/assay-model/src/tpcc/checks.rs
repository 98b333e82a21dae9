//! The conditions that a database must fulfil after the load and after any number of transactions: the twelve of the
//! standard and three of our own.
//!
//! Each is a comparison of two numbers for every key that either side has, so that a row that is missing is found as
//! well as one that is wrong. This module finds violations in the interpreter's maps, and `assay-sql` finds the same
//! ones with queries.
//!
//! Source: TPC-C 5.11, clause 3.3.2.

use super::interpreter::Database;
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
}

impl Check {
    /// All of them, the standard's conditions 1 to 12 first.
    pub const ALL: [Check; 15] = [
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
    ];

    /// Its name: the number of the standard's condition, or a word for ours.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 15] = [
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
        ];
        NAMES[self as usize]
    }

    /// What must be equal, the left side first.
    pub fn rule(self) -> &'static str {
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
        if self.check == Check::EmptyTable {
            let table = self.key.first().and_then(|at| Table::ALL.get(*at as usize)).map_or("?", |table| table.name());
            return write!(out, "empty table: {table} has no rows");
        }
        let side = |side: Option<i64>| side.map_or("missing".to_owned(), |number| number.to_string());
        write!(out, "{}: {}; in", self.check.name(), self.check.rule())?;
        for (at, (name, number)) in self.check.key_names().iter().zip(&self.key).enumerate() {
            write!(out, "{} {name} {number}", if at > 0 { "," } else { "" })?;
        }
        write!(out, " the left side is {} and the right side is {}", side(self.left), side(self.right))
    }
}

/// One side of a comparison: a number for each key.
type Side<const N: usize> = BTreeMap<[i32; N], i64>;

/// Adds up numbers by key.
fn sums<const N: usize>(numbers: impl IntoIterator<Item = ([i32; N], i64)>) -> Side<N> {
    let mut side = Side::new();
    numbers.into_iter().for_each(|(key, number)| *side.entry(key).or_default() += number);
    side
}

/// The violations found so far.
struct Found(Vec<Violation>);

impl Found {
    /// Adds what differs; a key that one side does not have differs.
    fn compare<const N: usize>(&mut self, check: Check, left: &Side<N>, right: &Side<N>) {
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

    /// As [`Found::compare`], where the absence of a key on the right means zero.
    fn compare_to_zero<const N: usize>(&mut self, check: Check, left: &Side<N>, mut right: Side<N>) {
        for key in left.keys() {
            right.entry(*key).or_default();
        }
        self.compare(check, left, &right);
    }
}

fn key3((warehouse, district, number): (i32, i32, i32)) -> [i32; 3] {
    [warehouse, district, number]
}
fn of_district((warehouse, district, _): (i32, i32, i32)) -> [i32; 2] {
    [warehouse, district]
}

/// Examines a database, which was loaded with rows of a scale.
pub fn check(database: &Database, scale: Scale) -> Vec<Violation> {
    let mut found = Found(Vec::new());
    sums_of_payments(database, &mut found);
    orders(database, &mut found);
    lines(database, &mut found);
    balances(database, &mut found);
    stock(database, scale, &mut found);
    let emptiable = |table: &Table| *table != Table::NewOrder;
    for (at, _) in
        Table::ALL.iter().enumerate().filter(|(_, table)| emptiable(table) && database.rows(**table).is_empty())
    {
        found.0.push(Violation { check: Check::EmptyTable, key: vec![at as i64], left: Some(0), right: None });
    }
    found.0.sort();
    found.0
}

/// Conditions 1, 8 and 9.
fn sums_of_payments(database: &Database, found: &mut Found) {
    let warehouses = sums(database.warehouses.values().map(|row| ([row.id], row.ytd)));
    let districts = sums(database.districts.values().map(|row| ([row.warehouse, row.id], row.ytd)));
    found.compare(Check::WarehouseYtd, &warehouses, &sums(districts.iter().map(|(key, ytd)| ([key[0]], *ytd))));
    let history = sums(database.history.iter().map(|row| ([row.warehouse, row.district], row.amount)));
    found.compare(Check::WarehouseHistory, &warehouses, &sums(history.iter().map(|(key, sum)| ([key[0]], *sum))));
    found.compare(Check::DistrictHistory, &districts, &history);
}

/// Conditions 2, 3, 5 and 11.
fn orders(database: &Database, found: &mut Found) {
    let last = |keys: &mut dyn Iterator<Item = (i32, i32, i32)>| {
        // Keys come in order, so that the last one of a district is its largest.
        keys.map(|key| (of_district(key), i64::from(key.2))).collect::<Side<2>>()
    };
    let next: Side<2> =
        database.districts.values().map(|row| ([row.warehouse, row.id], i64::from(row.next_order) - 1)).collect();
    found.compare(Check::NextOrder, &next, &last(&mut database.orders.keys().copied()));
    let newest = last(&mut database.new_orders.iter().copied());
    let with_new_orders = next.iter().filter(|(key, _)| newest.contains_key(*key)).map(|(key, next)| (*key, *next));
    found.compare(Check::NextOrder, &with_new_orders.collect(), &newest);
    let count = sums(database.new_orders.iter().map(|key| (of_district(*key), 1)));
    let oldest: Side<2> = database.new_orders.iter().rev().map(|key| (of_district(*key), i64::from(key.2))).collect();
    let span = newest.iter().map(|(key, newest)| (*key, newest - oldest[key] + 1)).collect();
    found.compare(Check::NewOrderGaps, &span, &count);
    let without_carrier = database.orders.values().filter(|order| order.carrier.is_none());
    let without_carrier = without_carrier.map(|order| (key3(order.key), 1)).collect();
    let new = database.new_orders.iter().map(|key| (key3(*key), 1)).collect();
    found.compare(Check::NewOrdersHaveNoCarrier, &without_carrier, &new);
    let all = database.orders.keys().map(|key| (of_district(*key), 1));
    let rest = sums(all.chain(database.new_orders.iter().map(|key| (of_district(*key), -1))));
    let delivered = database.orders.values().filter(|order| order.carrier.is_some());
    found.compare_to_zero(Check::OrdersDelivered, &rest, sums(delivered.map(|order| (of_district(order.key), 1))));
}

/// Conditions 4, 6 and 7.
fn lines(database: &Database, found: &mut Found) {
    let promised = database.orders.values().map(|order| (order.key, i64::from(order.lines)));
    let by_district = sums(promised.clone().map(|(key, lines)| (of_district(key), lines)));
    let lines = database.lines.keys().map(|(order, _)| *order);
    found.compare(Check::LinesOfDistrict, &by_district, &sums(lines.clone().map(|key| (of_district(key), 1))));
    let by_order = sums(promised.map(|(key, lines)| (key3(key), lines)));
    found.compare(Check::LinesOfOrder, &by_order, &sums(lines.map(|key| (key3(key), 1))));
    let key = |(order, number): &((i32, i32, i32), i32)| [order.0, order.1, order.2, *number];
    let has_carrier = |order| database.orders.get(order).is_some_and(|order| order.carrier.is_some());
    let carried = database.lines.keys().map(|at| (key(at), i64::from(has_carrier(&at.0)))).collect();
    let dated = database.lines.iter().map(|(at, line)| (key(at), i64::from(line.delivered.is_some()))).collect();
    found.compare(Check::DeliveryDate, &carried, &dated);
}

/// Conditions 10 and 12.
fn balances(database: &Database, found: &mut Found) {
    let delivered = database.lines.values().filter(|line| line.delivered.is_some()).filter_map(|line| {
        let order = database.orders.get(&line.order)?;
        Some(([order.key.0, order.key.1, order.customer], line.amount))
    });
    let delivered = sums(delivered);
    let paid =
        database.history.iter().map(|row| ([row.customer_warehouse, row.customer_district, row.customer], -row.amount));
    let customers = database.customers.values().map(|row| (key3(row.key), row.account));
    let balances = customers.clone().map(|(key, account)| (key, account.balance)).collect();
    found.compare_to_zero(Check::Balance, &balances, sums(delivered.clone().into_iter().chain(paid)));
    let both = customers.map(|(key, account)| (key, account.balance + account.ytd_payment)).collect();
    found.compare_to_zero(Check::BalanceAndPayments, &both, delivered);
}

/// Our own conditions of the stock. Orders that were loaded took nothing from it.
fn stock(database: &Database, scale: Scale, found: &mut Found) {
    let quantities: Side<2> =
        database.stock.values().map(|row| ([row.warehouse, row.item], i64::from(row.quantity))).collect();
    let possible = quantities.iter().map(|(key, quantity)| (*key, (*quantity).clamp(10, 100))).collect();
    found.compare(Check::StockQuantity, &quantities, &possible);
    let counters = |warehouse, counts: [i64; 3]| (1..).zip(counts).map(move |(counter, n)| ([warehouse, counter], n));
    let counted = database
        .stock
        .values()
        .flat_map(|row| counters(row.warehouse, [row.ytd.into(), row.orders.into(), row.remote.into()]));
    let ordered = database.lines.values().filter(|line| line.order.2 > scale.orders()).flat_map(|line| {
        let remote = line.supply_warehouse != line.order.0;
        counters(line.supply_warehouse, [line.quantity.into(), 1, remote.into()])
    });
    found.compare_to_zero(Check::StockCounters, &sums(counted), sums(ordered));
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
