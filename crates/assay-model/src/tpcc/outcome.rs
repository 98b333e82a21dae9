//! What a transaction answers, the same from every database and from the interpreter.

use super::rows::{Cents, Micros};

/// One line of an accepted order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedLine {
    /// What is left in stock.
    pub stock: i32,
    /// Its amount.
    pub amount: Cents,
    /// Whether the item and its stock are both of the brand.
    pub branded: bool,
}

/// An accepted order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// Its number in the district.
    pub order: i32,
    /// What the customer pays: the sum of the lines less the discount, with the taxes, in units of 10^-10, which is exact.
    pub total: i64,
    /// Its lines.
    pub lines: Vec<OrderedLine>,
}

impl Ordered {
    /// The total of a sum of lines, with the discount and the sum of the taxes in ten-thousandths.
    pub fn total_amount(sum: Cents, discount: i64, taxes: i64) -> i64 {
        sum * (10_000 - discount) * (10_000 + taxes)
    }
}

/// An accepted payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paid {
    /// The customer's number.
    pub customer: i32,
    /// The balance after it.
    pub balance: Cents,
}

/// One line of an order that a customer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct LineStatus {
    pub item: i32,
    pub supply_warehouse: i32,
    pub quantity: i32,
    pub amount: Cents,
    pub delivered: Option<Micros>,
}

/// The last order of a customer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct LastOrder {
    pub id: i32,
    pub entered: Micros,
    pub carrier: Option<i32>,
    pub lines: Vec<LineStatus>,
}

/// What a customer is told about the last order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The customer's number.
    pub customer: i32,
    /// The customer's balance.
    pub balance: Cents,
    /// The last order. Every customer has one after the load.
    pub order: Option<LastOrder>,
}

/// What was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The order of each district, in the order of the districts; none where no order was new.
    pub orders: Vec<Option<i32>>,
}

impl Delivered {
    /// The number of districts without a new order.
    pub fn skipped_districts(&self) -> usize {
        self.orders.iter().filter(|order| order.is_none()).count()
    }
}

/// What came of a transaction that reached its planned end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A new order was accepted.
    Ordered(Ordered),
    /// A new order named an item that does not exist and was rolled back, as the workload intends.
    RolledBack,
    /// A payment was accepted.
    Paid(Paid),
    /// The status of an order.
    Status(Status),
    /// Orders were delivered.
    Delivered(Delivered),
    /// The number of items below the threshold.
    Low(i64),
}
