//! Each transaction as one call of a procedure, which begins and commits it.

use super::link::{Answer, Bound, Failed, Link, Prepared};
use super::marks::{self, Mark};
use super::row::Row;
use super::rows::{moment, money};
use super::schema::of;
use crate::fault::Fault;
use assay_model::tpcc::{
    By, Delivered, Delivery, LastOrder, LineStatus, NewOrder, OrderStatus, Ordered, OrderedLine, Outcome, Paid,
    Payment, Scale, Status, StockLevel, Transaction,
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
    pub(super) fn prepare(link: &mut Link, prefix: &str, scale: Scale) -> Result<Procedures, Failed> {
        let mut call = |at: usize| {
            let (name, arguments) = CALLS[at];
            link.prepare(&of(prefix, &format!("CALL @{name}({})", vec!["?"; arguments].join(", "))))
        };
        let calls = [call(0)?, call(1)?, call(2)?, call(3)?, call(4)?];
        Ok(Procedures { districts: scale.districts(), calls })
    }

    /// The procedures that write set the mark of the session as well, before they commit.
    pub(super) fn execute(
        &self,
        link: &mut Link,
        transaction: &Transaction,
        mark: Option<&Mark>,
    ) -> Result<Outcome, Fault> {
        match transaction {
            Transaction::NewOrder(asked) => self.new_order(link, asked, mark),
            Transaction::Payment(asked) => self.payment(link, asked, mark),
            Transaction::OrderStatus(asked) => self.order_status(link, asked),
            Transaction::Delivery(asked) => self.delivery(link, asked, mark),
            Transaction::StockLevel(asked) => self.stock_level(link, asked),
        }
    }

    fn new_order(&self, link: &mut Link, asked: &NewOrder, mark: Option<&Mark>) -> Result<Outcome, Fault> {
        let (date, wanted) = (moment(asked.date), wanted(asked));
        let [run, session, seq] = marks::arguments(mark);
        let values = [
            Bound::Int(asked.warehouse.into()),
            Bound::Int(asked.district.into()),
            Bound::Int(asked.customer.into()),
            Bound::Text(&date),
            Bound::Text(&wanted),
            Bound::Int(asked.lines.len() as i64),
            Bound::Int(asked.all_local().into()),
            run,
            session,
            seq,
        ];
        let answers = writes(link.execute(self.calls[0], &values))?;
        let row = first(&answers)?;
        if row.is_null(0) {
            return Ok(Outcome::RolledBack);
        }
        ordered(row, asked.lines.len()).map(Outcome::Ordered).map_err(unreadable)
    }

    fn payment(&self, link: &mut Link, asked: &Payment, mark: Option<&Mark>) -> Result<Outcome, Fault> {
        let [id, last] = by(&asked.customer);
        let of = [asked.warehouse, asked.district, asked.customer_warehouse, asked.customer_district];
        let [warehouse, district, customer_warehouse, customer_district] = of.map(|it| Bound::Int(it.into()));
        let (amount, date) = (money(asked.amount), moment(asked.date));
        let (amount, date) = (Bound::Text(&amount), Bound::Text(&date));
        let [run, session, seq] = marks::arguments(mark);
        let values =
            [warehouse, district, customer_warehouse, customer_district, id, last, amount, date, run, session, seq];
        let answers = writes(link.execute(self.calls[1], &values))?;
        let paid = |row: &Row| Ok(Paid { customer: row.int(0)?, balance: row.big(1)? });
        paid(first(&answers)?).map(Outcome::Paid).map_err(unreadable)
    }

    fn order_status(&self, link: &mut Link, asked: &OrderStatus) -> Result<Outcome, Fault> {
        let [id, last] = by(&asked.customer);
        let values = [Bound::Int(asked.warehouse.into()), Bound::Int(asked.district.into()), id, last];
        let answers = link.execute(self.calls[2], &values).map_err(|why| why.fault())?;
        let lines = answers.get(1).map(|answer| answer.rows.as_slice()).unwrap_or_default();
        status(first(&answers)?, lines).map(Outcome::Status).map_err(unreadable)
    }

    fn delivery(&self, link: &mut Link, asked: &Delivery, mark: Option<&Mark>) -> Result<Outcome, Fault> {
        let date = moment(asked.date);
        let [warehouse, carrier, districts] =
            [asked.warehouse, asked.carrier, self.districts].map(|it| Bound::Int(it.into()));
        let [run, session, seq] = marks::arguments(mark);
        let values = [warehouse, carrier, Bound::Text(&date), districts, run, session, seq];
        let answers = writes(link.execute(self.calls[3], &values))?;
        let numbers = first(&answers)?.text(0).and_then(numbers).map_err(unreadable)?;
        // Orders are counted from 1.
        let orders = numbers.into_iter().map(|number| i32::try_from(number).ok().filter(|it| *it > 0)).collect();
        Ok(Outcome::Delivered(Delivered { orders }))
    }

    fn stock_level(&self, link: &mut Link, asked: &StockLevel) -> Result<Outcome, Fault> {
        let values = [asked.warehouse, asked.district, asked.threshold].map(|it| Bound::Int(it.into()));
        let answers = link.execute(self.calls[4], &values).map_err(|why| why.fault())?;
        first(&answers)?.big(0).map(Outcome::Low).map_err(unreadable)
    }
}

/// The lines of an order in one text: for each its number, warehouse, item and quantity, in 2, 10, 10 and 2 digits,
/// sorted by the key of the stock. Lines of one item stay in their order.
fn wanted(asked: &NewOrder) -> String {
    let mut lines: Vec<_> = asked.lines.iter().enumerate().collect();
    lines.sort_by_key(|(_, line)| (line.supply_warehouse, line.item));
    lines.into_iter().fold(String::new(), |mut out, (at, line)| {
        write!(out, "{:02}{:010}{:010}{:02}", at + 1, line.supply_warehouse, line.item, line.quantity)
            .expect("text in memory takes everything");
        out
    })
}

/// A customer as arguments: the number, or null and the last name.
fn by(customer: &By) -> [Bound<'_>; 2] {
    match customer {
        By::Id(id) => [Bound::Int((*id).into()), Bound::Null],
        By::Name(last) => [Bound::Null, Bound::Text(last)],
    }
}

/// The fault of a call that writes, which commits before it answers: after an end from outside nobody knows how far it
/// came.
pub(super) fn writes<T>(done: Result<T, Failed>) -> Result<T, Fault> {
    done.map_err(|why| if why.is_ambiguous() { unknown(&why) } else { why.fault() })
}

pub(super) fn unknown(why: &Failed) -> Fault {
    Fault { code: Fault::OUTCOME_UNKNOWN.to_owned(), text: why.to_string(), again: false }
}

/// The fault of an answer that is not what a statement of ours gives.
pub(super) fn unreadable(why: io::Error) -> Fault {
    Fault { code: "unreadable-answer".to_owned(), text: why.to_string(), again: false }
}

fn first(answers: &[Answer]) -> Result<&Row, Fault> {
    let row = answers.first().and_then(|answer| answer.one());
    row.ok_or_else(|| unreadable(io::Error::new(io::ErrorKind::InvalidData, "a procedure answered nothing")))
}

/// Numbers between blanks.
fn numbers(text: &str) -> io::Result<Vec<i64>> {
    let number = |word: &str| word.parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not a number"));
    text.split_ascii_whitespace().map(number).collect()
}

/// The lines of the answer are in the order in which the stock was locked.
fn ordered(row: &Row, count: usize) -> io::Result<Ordered> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "an order lacks a line");
    let mut lines = vec![None; count];
    for line in numbers(row.text(2)?)?.chunks(4) {
        let &[number, stock, amount, branded] = line else { return Err(wrong()) };
        let place = usize::try_from(number - 1).ok().and_then(|at| lines.get_mut(at)).ok_or_else(wrong)?;
        let stock = i32::try_from(stock).map_err(|_| wrong())?;
        *place = Some(OrderedLine { stock, amount, branded: branded == 1 });
    }
    let lines = lines.into_iter().collect::<Option<_>>().ok_or_else(wrong)?;
    Ok(Ordered { order: row.int(0)?, total: row.big(1)?, lines })
}

/// What a customer is told, from a row about customer and order and a row for each line.
pub(super) fn status(row: &Row, lines: &[Row]) -> io::Result<Status> {
    let (customer, balance) = (row.int(0)?, row.big(1)?);
    if row.is_null(2) {
        return Ok(Status { customer, balance, order: None });
    }
    let carrier = if row.is_null(4) { None } else { Some(row.int(4)?) };
    let lines = lines.iter().map(line_status).collect::<io::Result<_>>()?;
    Ok(Status { customer, balance, order: Some(LastOrder { id: row.int(2)?, entered: row.big(3)?, carrier, lines }) })
}

fn line_status(row: &Row) -> io::Result<LineStatus> {
    Ok(LineStatus {
        item: row.int(0)?,
        supply_warehouse: row.int(1)?,
        quantity: row.int(2)?,
        amount: row.big(3)?,
        delivered: row.big_or_null(4)?,
    })
}
