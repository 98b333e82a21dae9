//! What each transaction asks for, as a function of the seed and the transaction's number alone: the same in every
//! database, in every mode, and when a transaction is tried again.
//!
//! Source: TPC-C 5.11, clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1 and 2.8.1.

use super::mix::TransactionKind;
use super::nurand::Constants;
use super::population::LOADED;
use super::rows::{Cents, Micros};
use super::scale::Scale;
use super::seeds::PARAMETERS;
use super::strings::{last_name, uniform_between, uniform_number};
use assay_base::Prng;

/// The day after the load, when the first transaction happens, by its date.
const FIRST: Micros = LOADED + 86_400_000_000;
/// How much later each transaction is than the one before, by its date.
const STEP: Micros = 1_000;

/// How a customer is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CustomerSelector {
    /// By number.
    Id(i32),
    /// By last name: of all who have it, the one in the middle by first name.
    Name(String),
}

/// A line of a new order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct Line {
    pub item: i32,
    pub supply_warehouse: i32,
    pub quantity: i32,
}

/// The input of a new order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct NewOrder {
    pub warehouse: i32,
    pub district: i32,
    pub customer: i32,
    pub date: Micros,
    /// 5 to 15 lines. Where the order is to be rolled back, the last of them asks for an item that does not exist.
    pub lines: Vec<Line>,
}

impl NewOrder {
    /// Whether every line is supplied by the home warehouse.
    pub fn all_local(&self) -> bool {
        self.lines.iter().all(|line| line.supply_warehouse == self.warehouse)
    }

    /// Whether it is to be rolled back, because it asks for the item that no load makes.
    pub fn asks_for_unused_item(&self, scale: Scale) -> bool {
        self.lines.iter().any(|line| line.item == scale.unused_item())
    }
}

/// The input of a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct Payment {
    pub warehouse: i32,
    pub district: i32,
    pub customer_warehouse: i32,
    pub customer_district: i32,
    pub customer: CustomerSelector,
    pub amount: Cents,
    pub date: Micros,
}

impl Payment {
    /// What a payment writes in front of the data of a customer with bad credit.
    pub fn payment_note(&self, customer: i32) -> String {
        let Payment { warehouse, district, customer_warehouse, customer_district, amount, .. } = self;
        let amount = format!("{}.{:02}", amount / 100, amount % 100);
        format!("{customer} {customer_district} {customer_warehouse} {district} {warehouse} {amount}|")
    }

    /// The data of its row in the history.
    pub fn history_data(warehouse_name: &str, district_name: &str) -> String {
        format!("{warehouse_name}    {district_name}")
    }
}

/// The input of an order status.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct OrderStatus {
    pub warehouse: i32,
    pub district: i32,
    pub customer: CustomerSelector,
}

/// The input of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct Delivery {
    pub warehouse: i32,
    pub carrier: i32,
    pub date: Micros,
}

/// The input of a stock level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct StockLevel {
    pub warehouse: i32,
    pub district: i32,
    pub threshold: i32,
}

/// A transaction with everything it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the kinds")]
pub enum Transaction {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

/// Of so many customers with one name, sorted by first name, the place from 0 of the one who is meant: ceil(n / 2) when
/// counted from 1.
pub fn middle_place(named: usize) -> usize {
    named.div_ceil(2).saturating_sub(1)
}

impl Transaction {
    /// Whether it changes anything.
    pub fn writes_rows(&self) -> bool {
        !matches!(self, Transaction::OrderStatus(_) | Transaction::StockLevel(_))
    }

    /// Its kind.
    pub fn transaction_kind(&self) -> TransactionKind {
        match self {
            Transaction::NewOrder(_) => TransactionKind::NewOrder,
            Transaction::Payment(_) => TransactionKind::Payment,
            Transaction::OrderStatus(_) => TransactionKind::OrderStatus,
            Transaction::Delivery(_) => TransactionKind::Delivery,
            Transaction::StockLevel(_) => TransactionKind::StockLevel,
        }
    }
}

/// Which warehouse a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// Any, drawn each time.
    All,
    /// The session's own, for good. A stock level is then always for the session's own district.
    Session {
        /// Its warehouse.
        warehouse: i32,
        /// Its district.
        district: i32,
    },
}

impl Home {
    /// The home of a session, by its number from 0: sessions are dealt to warehouses, and then to districts.
    pub fn of_session(session: u32, warehouses: i32, scale: Scale) -> Home {
        let (warehouses, districts) = (warehouses as u32, scale.district_count() as u32);
        Home::Session {
            warehouse: (session % warehouses) as i32 + 1,
            district: (session / warehouses % districts) as i32 + 1,
        }
    }
}

/// Makes the transactions of a run.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    seed: u64,
    scale: Scale,
    warehouses: i32,
    constants: Constants,
}

/// What has been drawn for one transaction so far.
struct Drawing<'a> {
    of: &'a Parameters,
    prng: Prng,
}

impl Parameters {
    /// The transactions of a run with a seed, on a number of warehouses that were loaded with the constant `c_load`.
    pub fn new(seed: u64, c_load: i32, warehouses: i32, scale: Scale) -> Parameters {
        Parameters { seed, scale, warehouses, constants: Constants::from_seed(seed, c_load) }
    }

    /// The scale of the database.
    pub fn database_scale(&self) -> Scale {
        self.scale
    }

    /// The constants of the run.
    pub fn run_constants(&self) -> Constants {
        self.constants
    }

    /// The transaction with a number. Its home replaces what is drawn, so that everything else is the same for any home.
    pub fn numbered_transaction(&self, kind: TransactionKind, number: u64, home: Home) -> Transaction {
        let mut drawing = Drawing { of: self, prng: Prng::for_path(self.seed, &[PARAMETERS, number]) };
        let drawn = (drawing.draw_number(1, self.warehouses), drawing.draw_number(1, self.scale.district_count()));
        let warehouse = match home {
            Home::All => drawn.0,
            Home::Session { warehouse, .. } => warehouse,
        };
        let date = FIRST + STEP * number as i64;
        match kind {
            TransactionKind::NewOrder => Transaction::NewOrder(drawing.new_order(warehouse, drawn.1, date)),
            TransactionKind::Payment => Transaction::Payment(drawing.draw_payment(warehouse, drawn.1, date)),
            TransactionKind::OrderStatus => Transaction::OrderStatus(OrderStatus {
                warehouse,
                district: drawn.1,
                customer: drawing.draw_customer(),
            }),
            TransactionKind::Delivery => {
                Transaction::Delivery(Delivery { warehouse, carrier: drawing.draw_number(1, 10), date })
            }
            TransactionKind::StockLevel => {
                let district = match home {
                    Home::All => drawn.1,
                    Home::Session { district, .. } => district,
                };
                Transaction::StockLevel(StockLevel { warehouse, district, threshold: drawing.draw_number(10, 20) })
            }
        }
    }
}

impl Drawing<'_> {
    fn draw_number(&mut self, low: i32, high: i32) -> i32 {
        uniform_number(&mut self.prng, low, high)
    }

    /// True for so many of a hundred.
    fn draw_percent(&mut self, share: i32) -> bool {
        self.draw_number(1, 100) <= share
    }

    /// Any warehouse but this one, or this one if there is no other.
    fn other_warehouse(&mut self, home: i32) -> i32 {
        if self.of.warehouses == 1 {
            return home;
        }
        let other = self.draw_number(1, self.of.warehouses - 1);
        other + i32::from(other >= home)
    }

    /// 60 of a hundred customers are named by their last name.
    fn draw_customer(&mut self) -> CustomerSelector {
        let constants = self.of.constants;
        if self.draw_percent(60) {
            CustomerSelector::Name(last_name(constants.last_names(self.of.scale).draw_value(&mut self.prng)))
        } else {
            CustomerSelector::Id(constants.customer_numbers(self.of.scale).draw_value(&mut self.prng))
        }
    }

    fn new_order(&mut self, warehouse: i32, district: i32, date: Micros) -> NewOrder {
        let Parameters { scale, constants, .. } = *self.of;
        let customer = constants.customer_numbers(scale).draw_value(&mut self.prng);
        let rolled_back = self.draw_percent(1);
        let mut lines: Vec<Line> = (0..self.draw_number(5, 15)).map(|_| self.draw_line(warehouse)).collect();
        if let Some(last) = lines.last_mut().filter(|_| rolled_back) {
            last.item = scale.unused_item();
        }
        NewOrder { warehouse, district, customer, date, lines }
    }

    fn draw_line(&mut self, home: i32) -> Line {
        let item = self.of.constants.item_numbers(self.of.scale).draw_value(&mut self.prng);
        let supply_warehouse = if self.draw_percent(1) { self.other_warehouse(home) } else { home };
        Line { item, supply_warehouse, quantity: self.draw_number(1, 10) }
    }

    fn draw_payment(&mut self, warehouse: i32, district: i32, date: Micros) -> Payment {
        let amount = uniform_between(&mut self.prng, 100, 500_000);
        let (customer_warehouse, customer_district) = if self.draw_percent(15) {
            (self.other_warehouse(warehouse), self.draw_number(1, self.of.scale.district_count()))
        } else {
            (warehouse, district)
        };
        let customer = self.draw_customer();
        Payment { warehouse, district, customer_warehouse, customer_district, customer, amount, date }
    }
}

#[cfg(test)]
#[path = "parameters_tests.rs"]
mod tests;
