//! The rows of the tables as values of our own, with which databases are filled and the interpreter works.

use super::table::{Table, Value};

/// An amount of money in cents.
pub type Cents = i64;
/// A rate in ten-thousandths.
pub type TenThousandths = i64;
/// A moment in microseconds since 1970, UTC.
pub type Micros = i64;

/// The credit of a customer whose data a payment extends.
pub const BAD_CREDIT: &str = "BC";
/// The credit of all others.
pub(crate) const GOOD_CREDIT: &str = "GC";
/// What the data of an item and of its stock both contain where an order of it is of the brand.
pub const ORIGINAL: &str = "ORIGINAL";
/// The length of the text that a stock row holds for each district.
pub(crate) const DIST: usize = 24;

/// Where a warehouse, a district or a customer is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct Address {
    pub street_1: String,
    pub street_2: String,
    pub city: String,
    pub state: String,
    pub zip: String,
}

/// A row of `warehouse`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct Warehouse {
    pub id: i32,
    pub name: String,
    pub address: Address,
    pub tax: TenThousandths,
    pub ytd: Cents,
}

/// A row of `district`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct District {
    pub warehouse: i32,
    pub id: i32,
    pub name: String,
    pub address: Address,
    pub tax: TenThousandths,
    pub ytd: Cents,
    pub next_order: i32,
}

/// The key of a customer: warehouse, district, number.
pub type CustomerKey = (i32, i32, i32);

/// A row of `customer`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct Customer {
    pub key: CustomerKey,
    pub first: String,
    pub last: String,
    pub address: Address,
    pub phone: String,
    pub since: Micros,
    pub credit: &'static str,
    pub discount: TenThousandths,
    pub account: Account,
    pub data: String,
}

/// The columns of a customer that transactions change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct Account {
    pub balance: Cents,
    pub ytd_payment: Cents,
    pub payments: i32,
    pub deliveries: i32,
}

impl Customer {
    /// The middle name of every customer.
    pub const MIDDLE: &'static str = "OE";
    /// The credit limit of every customer.
    pub const CREDIT_LIMIT: Cents = 5_000_000;
    /// The most characters that the data of a customer has.
    pub const DATA_MOST: usize = 500;
}

/// A row of `history`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct History {
    pub customer: i32,
    pub customer_district: i32,
    pub customer_warehouse: i32,
    pub district: i32,
    pub warehouse: i32,
    pub date: Micros,
    pub amount: Cents,
    pub data: String,
}

/// A row of `item`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct Item {
    pub id: i32,
    pub image: i32,
    pub name: String,
    pub price: Cents,
    pub data: String,
}

/// A row of `stock`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct Stock {
    pub warehouse: i32,
    pub item: i32,
    pub quantity: i32,
    /// The texts of the ten districts, one after the other; see [`Stock::district_text`].
    pub dists: String,
    pub ytd: i32,
    pub orders: i32,
    pub remote: i32,
    pub data: String,
}

impl Stock {
    /// The text for orders of a district, which is 1 to 10.
    pub fn district_text(&self, district: i32) -> &str {
        let at = (district as usize - 1) * DIST;
        &self.dists[at..at + DIST]
    }
}

/// The key of an order: warehouse, district, number.
pub type OrderKey = (i32, i32, i32);

/// A row of `orders`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct Order {
    pub key: OrderKey,
    pub customer: i32,
    pub entered: Micros,
    pub carrier: Option<i32>,
    pub lines: i32,
    pub all_local: bool,
}

/// A row of `order_line`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the columns")]
pub struct OrderLine {
    pub order: OrderKey,
    pub number: i32,
    pub item: i32,
    pub supply_warehouse: i32,
    pub delivered: Option<Micros>,
    pub quantity: i32,
    pub amount: Cents,
    pub dist_info: String,
}

/// A row of any table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the tables")]
pub enum Row {
    Warehouse(Warehouse),
    District(District),
    Customer(Customer),
    History(History),
    Item(Item),
    Stock(Stock),
    Order(Order),
    NewOrder(OrderKey),
    OrderLine(OrderLine),
}

/// Receives the values of a row, in the order of the columns.
struct Values<'a>(&'a mut dyn FnMut(Value<'_>));

impl Values<'_> {
    fn put_integer(&mut self, number: impl Into<i64>) -> &mut Self {
        (self.0)(Value::Integer(number.into()));
        self
    }
    fn put_text(&mut self, text: &str) -> &mut Self {
        (self.0)(Value::Text(text));
        self
    }
    fn put_optional(&mut self, number: Option<impl Into<i64>>) -> &mut Self {
        (self.0)(number.map_or(Value::Null, |number| Value::Integer(number.into())));
        self
    }
    /// Warehouse, district, and a number in the district.
    fn put_key(&mut self, key: (i32, i32, i32)) -> &mut Self {
        let (warehouse, district, number) = key;
        self.put_integer(warehouse).put_integer(district).put_integer(number)
    }
    fn put_address(&mut self, at: &Address) -> &mut Self {
        self.put_text(&at.street_1).put_text(&at.street_2).put_text(&at.city).put_text(&at.state).put_text(&at.zip)
    }
}

impl Row {
    /// The table it belongs to.
    pub fn row_table(&self) -> Table {
        match self {
            Row::Warehouse(_) => Table::Warehouse,
            Row::District(_) => Table::District,
            Row::Customer(_) => Table::Customer,
            Row::History(_) => Table::History,
            Row::Item(_) => Table::Item,
            Row::Stock(_) => Table::Stock,
            Row::Order(_) => Table::Orders,
            Row::NewOrder(_) => Table::NewOrder,
            Row::OrderLine(_) => Table::OrderLine,
        }
    }

    /// Passes on its values, one for each of [`Table::all_columns`].
    pub fn put_values(&self, put: &mut dyn FnMut(Value<'_>)) {
        let to = &mut Values(put);
        match self {
            Row::Warehouse(it) => {
                to.put_integer(it.id)
                    .put_text(&it.name)
                    .put_address(&it.address)
                    .put_integer(it.tax)
                    .put_integer(it.ytd);
            }
            Row::District(it) => {
                to.put_integer(it.warehouse).put_integer(it.id).put_text(&it.name).put_address(&it.address);
                to.put_integer(it.tax).put_integer(it.ytd).put_integer(it.next_order);
            }
            Row::Customer(it) => it.put_values(to),
            Row::History(it) => it.put_values(to),
            Row::Item(it) => {
                to.put_integer(it.id).put_integer(it.image).put_text(&it.name).put_integer(it.price).put_text(&it.data);
            }
            Row::Stock(it) => it.put_values(to),
            Row::Order(it) => {
                to.put_key(it.key).put_integer(it.customer).put_integer(it.entered).put_optional(it.carrier);
                to.put_integer(it.lines).put_integer(it.all_local);
            }
            Row::NewOrder(key) => {
                to.put_key(*key);
            }
            Row::OrderLine(it) => {
                to.put_key(it.order).put_integer(it.number).put_integer(it.item).put_integer(it.supply_warehouse);
                to.put_optional(it.delivered).put_integer(it.quantity).put_integer(it.amount).put_text(&it.dist_info);
            }
        }
    }

    /// Appends the canonical form of all its values.
    pub fn encode_values(&self, out: &mut Vec<u8>) {
        self.put_values(&mut |value| value.encode_value(out));
    }
}

impl Customer {
    fn put_values(&self, to: &mut Values<'_>) {
        to.put_key(self.key)
            .put_text(&self.first)
            .put_text(Customer::MIDDLE)
            .put_text(&self.last)
            .put_address(&self.address);
        to.put_text(&self.phone).put_integer(self.since).put_text(self.credit).put_integer(Customer::CREDIT_LIMIT);
        to.put_integer(self.discount).put_integer(self.account.balance).put_integer(self.account.ytd_payment);
        to.put_integer(self.account.payments).put_integer(self.account.deliveries).put_text(&self.data);
    }
}

impl History {
    fn put_values(&self, to: &mut Values<'_>) {
        to.put_integer(self.customer).put_integer(self.customer_district).put_integer(self.customer_warehouse);
        to.put_integer(self.district)
            .put_integer(self.warehouse)
            .put_integer(self.date)
            .put_integer(self.amount)
            .put_text(&self.data);
    }
}

impl Stock {
    fn put_values(&self, to: &mut Values<'_>) {
        to.put_integer(self.warehouse).put_integer(self.item).put_integer(self.quantity);
        (1..=10).for_each(|district| {
            to.put_text(self.district_text(district));
        });
        to.put_integer(self.ytd).put_integer(self.orders).put_integer(self.remote).put_text(&self.data);
    }
}
