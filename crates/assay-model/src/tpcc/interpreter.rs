//! Executes the transactions over maps in memory, one after the other: what a database must hold and answer afterwards.
//!
//! It is written for comparison only: simple, without locks and without a care for speed. It panics where a row is
//! missing, because a population is complete.
//!
//! Source: TPC-C 5.11, clauses 2.4.2, 2.5.2, 2.6.2, 2.7.4 and 2.8.2.

use super::outcome::{Delivered, LastOrder, LineStatus, Ordered, OrderedLine, Outcome, Paid, Status};
use super::parameters::{
    CustomerSelector, Delivery, NewOrder, OrderStatus, Payment, StockLevel, Transaction, middle_place,
};
use super::population::Population;
use super::rows::{
    BAD_CREDIT, Customer, CustomerKey, District, History, Item, ORIGINAL, Order, OrderKey, OrderLine, Row, Stock,
    Warehouse,
};
use super::table::Table;
use std::collections::{BTreeMap, BTreeSet};

/// All rows, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the tables")]
pub struct Database {
    pub warehouses: BTreeMap<i32, Warehouse>,
    pub districts: BTreeMap<(i32, i32), District>,
    pub customers: BTreeMap<CustomerKey, Customer>,
    pub history: Vec<History>,
    pub items: BTreeMap<i32, Item>,
    pub stock: BTreeMap<(i32, i32), Stock>,
    pub orders: BTreeMap<OrderKey, Order>,
    pub new_orders: BTreeSet<OrderKey>,
    pub lines: BTreeMap<(OrderKey, i32), OrderLine>,
    /// The first name and the number of the customers of a district with a last name. Names never change.
    named: BTreeMap<(i32, i32, String), BTreeSet<(String, i32)>>,
}

/// Left of an item's stock after so many are taken: where fewer than ten would be left, 91 are delivered first.
fn stock_left(stock: i32, taken: i32) -> i32 {
    if stock - taken >= 10 { stock - taken } else { stock - taken + 91 }
}

impl Database {
    /// With all rows of a population.
    pub fn from_population(population: Population) -> Database {
        let mut database = Database::default();
        for part in population.load_parts() {
            let put = &mut |row| {
                database.insert_row(row);
                Ok(())
            };
            population.put_rows::<std::convert::Infallible>(part, put).unwrap_or_else(|never| match never {});
        }
        database
    }

    /// Adds a row, or replaces the one with its key.
    pub fn insert_row(&mut self, row: Row) {
        match row {
            Row::Warehouse(row) => drop(self.warehouses.insert(row.id, row)),
            Row::District(row) => drop(self.districts.insert((row.warehouse, row.id), row)),
            Row::Customer(row) => {
                let (warehouse, district, id) = row.key;
                let named = self.named.entry((warehouse, district, row.last.clone())).or_default();
                named.insert((row.first.clone(), id));
                self.customers.insert(row.key, row);
            }
            Row::History(row) => self.history.push(row),
            Row::Item(row) => drop(self.items.insert(row.id, row)),
            Row::Stock(row) => drop(self.stock.insert((row.warehouse, row.item), row)),
            Row::Order(row) => drop(self.orders.insert(row.key, row)),
            Row::NewOrder(key) => drop(self.new_orders.insert(key)),
            Row::OrderLine(row) => drop(self.lines.insert((row.order, row.number), row)),
        }
    }

    /// The rows of a table, by key; those of the history by all their columns.
    pub fn rows_by_key(&self, table: Table) -> Vec<Row> {
        match table {
            Table::Warehouse => self.warehouses.values().cloned().map(Row::Warehouse).collect(),
            Table::District => self.districts.values().cloned().map(Row::District).collect(),
            Table::Customer => self.customers.values().cloned().map(Row::Customer).collect(),
            Table::History => {
                let mut rows = self.history.clone();
                rows.sort();
                rows.into_iter().map(Row::History).collect()
            }
            Table::Item => self.items.values().cloned().map(Row::Item).collect(),
            Table::Stock => self.stock.values().cloned().map(Row::Stock).collect(),
            Table::Orders => self.orders.values().cloned().map(Row::Order).collect(),
            Table::NewOrder => self.new_orders.iter().copied().map(Row::NewOrder).collect(),
            Table::OrderLine => self.lines.values().cloned().map(Row::OrderLine).collect(),
        }
    }

    /// Executes a transaction.
    pub fn execute_transaction(&mut self, transaction: &Transaction) -> Outcome {
        match transaction {
            Transaction::NewOrder(asked) => self.new_order(asked),
            Transaction::Payment(asked) => Outcome::Paid(self.execute_payment(asked)),
            Transaction::OrderStatus(asked) => Outcome::Status(self.order_status(asked)),
            Transaction::Delivery(asked) => Outcome::Delivered(self.execute_delivery(asked)),
            Transaction::StockLevel(asked) => Outcome::Low(self.stock_level(asked)),
        }
    }

    /// The number of a customer. Of n with one name, it is the one at ceil(n / 2) by first name, counted from 1.
    fn customer_number(&self, warehouse: i32, district: i32, by: &CustomerSelector) -> i32 {
        match by {
            CustomerSelector::Id(id) => *id,
            CustomerSelector::Name(last) => {
                let named = &self.named[&(warehouse, district, last.clone())];
                named.iter().nth(middle_place(named.len())).expect("a name in the index has a customer").1
            }
        }
    }

    fn new_order(&mut self, asked: &NewOrder) -> Outcome {
        if asked.lines.iter().any(|line| !self.items.contains_key(&line.item)) {
            return Outcome::RolledBack;
        }
        let district = self.districts.get_mut(&(asked.warehouse, asked.district)).expect("the district exists");
        let key = (asked.warehouse, asked.district, district.next_order);
        district.next_order += 1;
        let taxes = district.tax + self.warehouses[&asked.warehouse].tax;
        let (customer, entered) = (asked.customer, asked.date);
        let (lines, all_local) = (asked.lines.len() as i32, asked.all_local());
        self.orders.insert(key, Order { key, customer, entered, carrier: None, lines, all_local });
        self.new_orders.insert(key);
        let lines: Vec<OrderedLine> = (0..asked.lines.len()).map(|at| self.order_line(key, asked, at)).collect();
        let sum = lines.iter().map(|line| line.amount).sum();
        let discount = self.customers[&(asked.warehouse, asked.district, asked.customer)].discount;
        Outcome::Ordered(Ordered { order: key.2, total: Ordered::total_amount(sum, discount, taxes), lines })
    }

    fn order_line(&mut self, order: OrderKey, asked: &NewOrder, at: usize) -> OrderedLine {
        let line = asked.lines[at];
        let item = &self.items[&line.item];
        let stock = self.stock.get_mut(&(line.supply_warehouse, line.item)).expect("every item has its stock");
        stock.quantity = stock_left(stock.quantity, line.quantity);
        stock.ytd += line.quantity;
        stock.orders += 1;
        stock.remote += i32::from(line.supply_warehouse != asked.warehouse);
        let amount = item.price * i64::from(line.quantity);
        let number = at as i32 + 1;
        let row = OrderLine {
            order,
            number,
            item: line.item,
            supply_warehouse: line.supply_warehouse,
            delivered: None,
            quantity: line.quantity,
            amount,
            dist_info: stock.district_text(asked.district).to_owned(),
        };
        self.lines.insert((order, number), row);
        let branded = item.data.contains(ORIGINAL) && stock.data.contains(ORIGINAL);
        OrderedLine { stock: stock.quantity, amount, branded }
    }

    fn execute_payment(&mut self, asked: &Payment) -> Paid {
        let (warehouse, district, amount) = (asked.warehouse, asked.district, asked.amount);
        let id = self.customer_number(asked.customer_warehouse, asked.customer_district, &asked.customer);
        let of = self.warehouses.get_mut(&warehouse).expect("the warehouse exists");
        of.ytd += amount;
        let in_district = self.districts.get_mut(&(warehouse, district)).expect("the district exists");
        in_district.ytd += amount;
        let data = Payment::history_data(&of.name, &in_district.name);
        let key = (asked.customer_warehouse, asked.customer_district, id);
        let customer = self.customers.get_mut(&key).expect("the customer exists");
        customer.account.balance -= amount;
        customer.account.ytd_payment += amount;
        customer.account.payments += 1;
        if customer.credit == BAD_CREDIT {
            customer.data.insert_str(0, &asked.payment_note(id));
            customer.data.truncate(Customer::DATA_MOST);
        }
        let balance = customer.account.balance;
        self.history.push(History {
            customer: id,
            customer_district: key.1,
            customer_warehouse: key.0,
            district,
            warehouse,
            date: asked.date,
            amount,
            data,
        });
        Paid { customer: id, balance }
    }

    /// The lines of an order.
    fn lines_of(&self, order: OrderKey) -> impl Iterator<Item = &OrderLine> {
        self.lines.range((order, i32::MIN)..=(order, i32::MAX)).map(|(_, line)| line)
    }

    fn order_status(&self, asked: &OrderStatus) -> Status {
        let OrderStatus { warehouse, district, .. } = *asked;
        let id = self.customer_number(warehouse, district, &asked.customer);
        let mut of_district = self.orders.range((warehouse, district, 0)..=(warehouse, district, i32::MAX));
        let order = of_district.rfind(|(_, order)| order.customer == id).map(|(_, order)| {
            let lines = self.lines_of(order.key).map(|line| LineStatus {
                item: line.item,
                supply_warehouse: line.supply_warehouse,
                quantity: line.quantity,
                amount: line.amount,
                delivered: line.delivered,
            });
            let lines = lines.collect();
            LastOrder { id: order.key.2, entered: order.entered, carrier: order.carrier, lines }
        });
        Status { customer: id, balance: self.customers[&(warehouse, district, id)].account.balance, order }
    }

    fn execute_delivery(&mut self, asked: &Delivery) -> Delivered {
        let districts = self.districts.range((asked.warehouse, 0)..=(asked.warehouse, i32::MAX));
        let districts: Vec<i32> = districts.map(|((_, district), _)| *district).collect();
        Delivered { orders: districts.into_iter().map(|district| self.deliver_in_district(asked, district)).collect() }
    }

    fn deliver_in_district(&mut self, asked: &Delivery, district: i32) -> Option<i32> {
        let in_district = (asked.warehouse, district, 0)..=(asked.warehouse, district, i32::MAX);
        let key = *self.new_orders.range(in_district).next()?;
        self.new_orders.remove(&key);
        let order = self.orders.get_mut(&key).expect("a new order is an order");
        order.carrier = Some(asked.carrier);
        let customer = (key.0, key.1, order.customer);
        let mut sum = 0;
        for (_, line) in self.lines.range_mut((key, i32::MIN)..=(key, i32::MAX)) {
            line.delivered = Some(asked.date);
            sum += line.amount;
        }
        let account = &mut self.customers.get_mut(&customer).expect("the customer exists").account;
        account.balance += sum;
        account.deliveries += 1;
        Some(key.2)
    }

    fn stock_level(&self, asked: &StockLevel) -> i64 {
        let StockLevel { warehouse, district, threshold } = *asked;
        let next = self.districts[&(warehouse, district)].next_order;
        let recent = ((warehouse, district, next - 20), i32::MIN)..((warehouse, district, next), i32::MIN);
        let items: BTreeSet<i32> = self.lines.range(recent).map(|(_, line)| line.item).collect();
        items.into_iter().filter(|item| self.stock[&(warehouse, *item)].quantity < threshold).count() as i64
    }
}

#[cfg(test)]
#[path = "interpreter_tests.rs"]
mod tests;
