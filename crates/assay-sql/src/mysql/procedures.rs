//! Each transaction as one call of a procedure, which begins and commits it.

use super::failed::Failed;
use super::flight::Answer;
use super::link::{Bound, Link, Prepared};
use super::marks::{self, Mark};
use super::row::Row;
use super::rows::{format_moment, format_money};
use super::schema::with_prefix;
use crate::fault::Fault;
use assay_model::tpcc::{
    CustomerSelector, Delivered, LastOrder, LineStatus, NewOrder, Ordered, OrderedLine, Outcome, Paid, Scale, Status,
    Transaction,
};
use std::fmt::Write;
use std::io;

/// The calls, in the order in which they are prepared.
#[derive(Debug)]
pub(super) struct Procedures {
    districts: i32,
    calls: [Prepared; 5],
}

/// The calls of a database: names of procedures, and how many arguments each takes.
const CALLS: [(&str, usize); 5] =
    [("new_order_v1", 10), ("payment_v1", 11), ("order_status_v1", 4), ("delivery_v1", 7), ("stock_level_v1", 3)];

impl Procedures {
    /// Has all calls prepared.
    pub(super) fn prepare_all(link: &mut Link, prefix: &str, scale: Scale) -> Result<Procedures, Failed> {
        let mut call = |at: usize| {
            let (name, arguments) = CALLS[at];
            link.prepare_statement(&with_prefix(prefix, &format!("CALL @{name}({})", vec!["?"; arguments].join(", "))))
        };
        let calls = [call(0)?, call(1)?, call(2)?, call(3)?, call(4)?];
        Ok(Procedures { districts: scale.district_count(), calls })
    }

    /// The procedures that write set the mark of the session as well, before they commit.
    pub(super) fn execute_transaction(
        &self,
        link: &mut Link,
        transaction: &Transaction,
        mark: Option<&Mark>,
    ) -> Result<Outcome, Fault> {
        let answers = self.with_arguments(transaction, mark, |call, values| link.execute_prepared(call, values));
        read_outcome(transaction, answers)
    }

    /// Begins as [`Procedures::execute_transaction`] does, as far as the call; its [`read_outcome`] follows when it is answered.
    pub(super) fn take_off(&self, link: &mut Link, transaction: &Transaction) {
        self.with_arguments(transaction, None, |call, values| link.take_off(call, values));
    }

    /// Calls the procedure of a transaction with its arguments.
    fn with_arguments<T>(
        &self,
        transaction: &Transaction,
        mark: Option<&Mark>,
        call: impl FnOnce(Prepared, &[Bound<'_>]) -> T,
    ) -> T {
        let [run, session, seq] = marks::mark_parameters(mark);
        match transaction {
            Transaction::NewOrder(asked) => {
                let [warehouse, district, customer] =
                    [asked.warehouse, asked.district, asked.customer].map(bind_integer);
                let (date, wanted) = (format_moment(asked.date), wanted_lines(asked));
                let [date, wanted] = [&date, &wanted].map(|text| Bound::Text(text));
                let (count, is_local) = (Bound::Int(asked.lines.len() as i64), bind_integer(asked.all_local().into()));
                let values = [warehouse, district, customer, date, wanted, count, is_local, run, session, seq];
                call(self.calls[0], &values)
            }
            Transaction::Payment(asked) => {
                let [id, last] = customer_arguments(&asked.customer);
                let of = [asked.warehouse, asked.district, asked.customer_warehouse, asked.customer_district];
                let [warehouse, district, from, from_district] = of.map(bind_integer);
                let (amount, date) = (format_money(asked.amount), format_moment(asked.date));
                let [amount, date] = [&amount, &date].map(|text| Bound::Text(text));
                let values = [warehouse, district, from, from_district, id, last, amount, date, run, session, seq];
                call(self.calls[1], &values)
            }
            Transaction::OrderStatus(asked) => {
                let [id, last] = customer_arguments(&asked.customer);
                call(self.calls[2], &[bind_integer(asked.warehouse), bind_integer(asked.district), id, last])
            }
            Transaction::Delivery(asked) => {
                let [warehouse, carrier, districts] =
                    [asked.warehouse, asked.carrier, self.districts].map(bind_integer);
                let date = format_moment(asked.date);
                call(self.calls[3], &[warehouse, carrier, Bound::Text(&date), districts, run, session, seq])
            }
            Transaction::StockLevel(asked) => {
                call(self.calls[4], &[asked.warehouse, asked.district, asked.threshold].map(bind_integer))
            }
        }
    }
}

/// Reads the outcome of a transaction from the answers to its call.
pub(super) fn read_outcome(transaction: &Transaction, answers: Result<Vec<Answer>, Failed>) -> Result<Outcome, Fault> {
    let answers =
        if transaction.writes_rows() { fault_of_write(answers)? } else { answers.map_err(|why| why.to_fault())? };
    let row = answers.first().and_then(|answer| answer.only_row());
    row.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a procedure answered nothing"))
        .and_then(|row| parse_outcome(transaction, row, &answers))
        .map_err(unreadable_answer)
}

fn parse_outcome(transaction: &Transaction, row: &Row, answers: &[Answer]) -> io::Result<Outcome> {
    Ok(match transaction {
        Transaction::NewOrder(_) if row.is_null(0) => Outcome::RolledBack,
        Transaction::NewOrder(asked) => Outcome::Ordered(parse_ordered(row, asked.lines.len())?),
        Transaction::Payment(_) => Outcome::Paid(Paid { customer: row.int_at(0)?, balance: row.bigint_at(1)? }),
        Transaction::OrderStatus(_) => {
            let lines = answers.get(1).map(|answer| answer.rows.as_slice()).unwrap_or_default();
            Outcome::Status(parse_status(row, lines)?)
        }
        Transaction::Delivery(_) => {
            // Orders are counted from 1.
            let orders = parse_numbers(row.text_at(0)?)?.into_iter();
            let orders = orders.map(|number| i32::try_from(number).ok().filter(|order| *order > 0));
            Outcome::Delivered(Delivered { orders: orders.collect() })
        }
        Transaction::StockLevel(_) => Outcome::Low(row.bigint_at(0)?),
    })
}

/// The lines of an order in one text: for each its number, warehouse, item and quantity, in 2, 10, 10 and 2 digits,
/// sorted by the key of the stock. Lines of one item stay in their order.
fn wanted_lines(asked: &NewOrder) -> String {
    let mut lines: Vec<_> = asked.lines.iter().enumerate().collect();
    lines.sort_by_key(|(_, line)| (line.supply_warehouse, line.item));
    lines.into_iter().fold(String::new(), |mut out, (at, line)| {
        write!(out, "{:02}{:010}{:010}{:02}", at + 1, line.supply_warehouse, line.item, line.quantity)
            .expect("text in memory takes everything");
        out
    })
}

/// A customer as arguments: the number, or null and the last name.
fn customer_arguments(customer: &CustomerSelector) -> [Bound<'_>; 2] {
    match customer {
        CustomerSelector::Id(id) => [Bound::Int((*id).into()), Bound::Null],
        CustomerSelector::Name(last) => [Bound::Null, Bound::Text(last)],
    }
}

/// The fault of a call that writes, which commits before it answers: after an end from outside nobody knows how far it
/// came.
pub(super) fn fault_of_write<T>(done: Result<T, Failed>) -> Result<T, Fault> {
    done.map_err(|why| if why.is_ambiguous() { unknown_outcome(&why) } else { why.to_fault() })
}

pub(super) fn unknown_outcome(why: &Failed) -> Fault {
    Fault { code: Fault::OUTCOME_UNKNOWN.to_owned(), text: why.to_string(), again: false }
}

/// The fault of an answer that is not what a statement of ours gives.
pub(super) fn unreadable_answer(why: io::Error) -> Fault {
    Fault { code: "unreadable-answer".to_owned(), text: why.to_string(), again: false }
}

/// Numbers between blanks.
fn parse_numbers(text: &str) -> io::Result<Vec<i64>> {
    text.split_ascii_whitespace()
        .map(|word: &str| word.parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not a number")))
        .collect()
}

/// The lines of the answer are in the order in which the stock was locked.
fn parse_ordered(row: &Row, count: usize) -> io::Result<Ordered> {
    let mut lines = vec![None; count];
    for line in parse_numbers(row.text_at(2)?)?.chunks(4) {
        let &[number, stock, amount, branded] = line else { return Err(lacks_line()) };
        let place = usize::try_from(number - 1).ok().and_then(|at| lines.get_mut(at)).ok_or_else(lacks_line)?;
        let stock = i32::try_from(stock).map_err(|_| lacks_line())?;
        *place = Some(OrderedLine { stock, amount, branded: branded == 1 });
    }
    let lines = lines.into_iter().collect::<Option<_>>().ok_or_else(lacks_line)?;
    Ok(Ordered { order: row.int_at(0)?, total: row.bigint_at(1)?, lines })
}

/// Reads the status of an order from a row about customer and order and a row for each line.
pub(super) fn parse_status(row: &Row, lines: &[Row]) -> io::Result<Status> {
    let (customer, balance) = (row.int_at(0)?, row.bigint_at(1)?);
    if row.is_null(2) {
        return Ok(Status { customer, balance, order: None });
    }
    let carrier = if row.is_null(4) { None } else { Some(row.int_at(4)?) };
    let lines = lines.iter().map(line_status).collect::<io::Result<_>>()?;
    Ok(Status {
        customer,
        balance,
        order: Some(LastOrder { id: row.int_at(2)?, entered: row.bigint_at(3)?, carrier, lines }),
    })
}

fn line_status(row: &Row) -> io::Result<LineStatus> {
    Ok(LineStatus {
        item: row.int_at(0)?,
        supply_warehouse: row.int_at(1)?,
        quantity: row.int_at(2)?,
        amount: row.bigint_at(3)?,
        delivered: row.big_or_null(4)?,
    })
}

fn bind_integer(number: i32) -> Bound<'static> {
    Bound::Int(number.into())
}

fn lacks_line() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "an order lacks a line")
}
