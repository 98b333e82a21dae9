//! Each transaction as one call of a function, which is a transaction of its own: it is committed when the call ends.

use super::flight::{commit_fault, make_statement, unreadable_answer};
use super::functions::{EXPECTED_ROLLBACK, MISSING_ROW};
use super::link::{Answer, Failed, Link, Statement};
use super::marks::{self, Mark};
use super::value::{Bound, INT4, INT4S, NUMERIC, Row, TEXT, TIMESTAMPTZ, big_of, flag_of, int_of, time_of};
use crate::fault::Fault;
use assay_model::tpcc::{
    CustomerSelector, Delivered, Delivery, LastOrder, LineStatus, NewOrder, OrderStatus, Ordered, OrderedLine, Outcome,
    Paid, Payment, Scale, Status, StockLevel, Transaction,
};
use std::io;

/// The calls.
#[derive(Debug)]
pub(super) struct Procedures {
    districts: i32,
    new_order: Statement,
    payment: Statement,
    order_status: Statement,
    delivery: Statement,
    stock_level: Statement,
}

impl Procedures {
    pub(super) fn new(prefix: &str, scale: Scale) -> Procedures {
        Procedures {
            districts: scale.district_count(),
            new_order: call_statement(
                prefix,
                "new_order_v1",
                8,
                &[INT4, INT4, INT4, TIMESTAMPTZ, INT4S, INT4S, INT4S, INT4],
            ),
            payment: call_statement(
                prefix,
                "payment_v1",
                8,
                &[INT4, INT4, INT4, INT4, INT4, TEXT, NUMERIC, TIMESTAMPTZ],
            ),
            order_status: call_statement(prefix, "order_status_v1", 4, &[INT4, INT4, INT4, TEXT]),
            delivery: call_statement(prefix, "delivery_v1", 4, &[INT4, INT4, TIMESTAMPTZ, INT4]),
            stock_level: call_statement(prefix, "stock_level_v1", 3, &[INT4, INT4, INT4]),
        }
    }

    pub(super) fn all_statements(&self) -> Vec<Statement> {
        let Procedures { new_order, payment, order_status, delivery, stock_level, .. } = self;
        [new_order, payment, order_status, delivery, stock_level].map(Clone::clone).into()
    }

    /// A call and the statement of the mark are in one flight, which is one transaction.
    pub(super) fn execute_transaction(
        &self,
        link: &mut Link,
        transaction: &Transaction,
        mark: Option<&Mark>,
    ) -> Result<Outcome, Fault> {
        self.add_call(link, transaction);
        marks::add_mark(mark, link);
        let answers = link.send_flight();
        read_outcome(link, transaction, mark, answers)
    }

    /// Adds the call to a flight.
    pub(super) fn add_call(&self, link: &mut Link, transaction: &Transaction) {
        match transaction {
            Transaction::NewOrder(asked) => self.new_order(link, asked),
            Transaction::Payment(asked) => self.add_payment(link, asked),
            Transaction::OrderStatus(asked) => self.order_status(link, asked),
            Transaction::Delivery(asked) => self.add_delivery(link, asked),
            Transaction::StockLevel(asked) => self.stock_level(link, asked),
        }
    }

    fn new_order(&self, link: &mut Link, asked: &NewOrder) {
        let items: Vec<i32> = asked.lines.iter().map(|line| line.item).collect();
        let supplies: Vec<i32> = asked.lines.iter().map(|line| line.supply_warehouse).collect();
        let quantities: Vec<i32> = asked.lines.iter().map(|line| line.quantity).collect();
        link.add_execution(
            &self.new_order,
            &[
                Bound::Int(asked.warehouse),
                Bound::Int(asked.district),
                Bound::Int(asked.customer),
                Bound::Time(asked.date),
                Bound::Ints(&items),
                Bound::Ints(&supplies),
                Bound::Ints(&quantities),
                Bound::Int(asked.all_local().into()),
            ],
        );
    }

    fn add_payment(&self, link: &mut Link, asked: &Payment) {
        let [id, last] = customer_arguments(&asked.customer);
        let of = [asked.warehouse, asked.district, asked.customer_warehouse, asked.customer_district].map(Bound::Int);
        let [warehouse, district, customer_warehouse, customer_district] = of;
        let paid = [Bound::Money(asked.amount), Bound::Time(asked.date)];
        let values = [warehouse, district, customer_warehouse, customer_district, id, last, paid[0], paid[1]];
        link.add_execution(&self.payment, &values);
    }

    fn order_status(&self, link: &mut Link, asked: &OrderStatus) {
        let [id, last] = customer_arguments(&asked.customer);
        link.add_execution(&self.order_status, &[Bound::Int(asked.warehouse), Bound::Int(asked.district), id, last]);
    }

    fn add_delivery(&self, link: &mut Link, asked: &Delivery) {
        let date = Bound::Time(asked.date);
        let [warehouse, carrier, districts] = [asked.warehouse, asked.carrier, self.districts].map(Bound::Int);
        link.add_execution(&self.delivery, &[warehouse, carrier, date, districts]);
    }

    fn stock_level(&self, link: &mut Link, asked: &StockLevel) {
        let StockLevel { warehouse, district, threshold } = *asked;
        link.add_execution(&self.stock_level, &[warehouse, district, threshold].map(Bound::Int));
    }
}

/// A customer as arguments: the number, or null and the last name.
fn customer_arguments(customer: &CustomerSelector) -> [Bound<'_>; 2] {
    match customer {
        CustomerSelector::Id(id) => [Bound::Int(*id), Bound::Null],
        CustomerSelector::Name(last) => [Bound::Null, Bound::Text(last)],
    }
}

/// Reads the outcome of a transaction from the answers to its call and to the mark with it.
pub(super) fn read_outcome(
    link: &Link,
    transaction: &Transaction,
    mark: Option<&Mark>,
    answers: Result<Vec<Answer>, Failed>,
) -> Result<Outcome, Fault> {
    let statements = 1 + usize::from(mark.is_some());
    let fault =
        |why: Failed| if transaction.writes_rows() { commit_fault(link, &why, statements) } else { why.to_fault() };
    let answers = match answers.map_err(fault) {
        Err(fault) if fault.code == MISSING_ROW => return Err(Fault::missing_row(&fault.text)),
        Err(fault) if fault.code == EXPECTED_ROLLBACK && matches!(transaction, Transaction::NewOrder(_)) => {
            return Ok(Outcome::RolledBack);
        }
        answers => answers?,
    };
    marks::is_set(mark, &answers, 1)?;
    let row = answers.first().and_then(|answer| answer.only_row());
    parse_outcome(transaction, row.ok_or_else(|| Fault::missing_row("answer of a function"))?)
        .map_err(unreadable_answer)
}

/// The only row of a call.
fn parse_outcome(transaction: &Transaction, row: &Row) -> io::Result<Outcome> {
    Ok(match transaction {
        Transaction::NewOrder(_) => Outcome::Ordered(parse_ordered(row)?),
        Transaction::Payment(_) => Outcome::Paid(Paid { customer: row.int_at(0)?, balance: row.bigint_at(1)? }),
        Transaction::OrderStatus(_) => Outcome::Status(parse_status(row)?),
        Transaction::Delivery(_) => Outcome::Delivered(Delivered { orders: row.array_at(0, int_of)? }),
        Transaction::StockLevel(_) => Outcome::Low(row.bigint_at(0)?),
    })
}

fn parse_ordered(row: &Row) -> io::Result<Ordered> {
    let (stocks, amounts, branded) = (row.array_at(2, int_of)?, row.array_at(3, big_of)?, row.array_at(4, flag_of)?);
    let lines = stocks.into_iter().zip(amounts).zip(branded);
    let lines = lines
        .map(|((stock, amount), branded)| Some(OrderedLine { stock: stock?, amount: amount?, branded: branded? }))
        .collect::<Option<_>>();
    let lines = lines.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a line of an order is null"))?;
    Ok(Ordered { order: row.int_at(0)?, total: row.bigint_at(1)?, lines })
}

fn parse_status(row: &Row) -> io::Result<Status> {
    let (customer, balance) = (row.int_at(0)?, row.bigint_at(1)?);
    if row.is_null(2) {
        return Ok(Status { customer, balance, order: None });
    }
    let carrier = if row.is_null(4) { None } else { Some(row.int_at(4)?) };
    let (items, supplies, quantities) = (parse_integers(row, 5)?, parse_integers(row, 6)?, parse_integers(row, 7)?);
    let (amounts, delivered) = (row.array_at(8, big_of)?, row.array_at(9, time_of)?);
    let rows = items.into_iter().zip(supplies).zip(quantities).zip(amounts.into_iter().flatten()).zip(delivered);
    let lines = rows.map(|((((item, supply_warehouse), quantity), amount), delivered)| LineStatus {
        item,
        supply_warehouse,
        quantity,
        amount,
        delivered,
    });
    let lines = lines.collect();
    Ok(Status {
        customer,
        balance,
        order: Some(LastOrder { id: row.int_at(2)?, entered: row.time_at(3)?, carrier, lines }),
    })
}

/// The call of a function with a number of arguments.
fn call_statement(prefix: &str, name: &'static str, arguments: usize, types: &'static [u32]) -> Statement {
    let places: Vec<String> = (1..=arguments).map(|at| format!("${at}")).collect();
    make_statement(name, prefix, &format!("SELECT * FROM @{name}({})", places.join(", ")), types)
}

/// The elements of an array that are not null.
fn parse_integers(row: &Row, column: usize) -> io::Result<Vec<i32>> {
    Ok(row.array_at(column, int_of)?.into_iter().flatten().collect())
}
