//! Each transaction statement by statement, in two flights, of a delivery in three: what one writes follows from what the
//! one before has read under lock.
//!
//! A flight is one question of several statements that are written out, and waits once for the server, which stops at the
//! first statement that fails. Statements that are prepared could be sent together too, but the server would go on after
//! one that fails: after a deadlock, which ends the transaction, the rest would be committed by itself.

use super::flight::Answer;
use super::link::Link;
use super::marks::{self, Mark};
use super::procedures::{parse_status, unknown_outcome, unreadable_answer};
use super::row::Row;
use super::rows::{format_moment, format_money};
use super::schema::{text_literal, with_prefix};
use crate::fault::Fault;
use crate::ordering::{Filled, StockTaken};
use assay_model::tpcc::rows::{BAD_CREDIT, Customer};
use assay_model::tpcc::{
    CustomerSelector, Delivered, Delivery, NewOrder, OrderStatus, Ordered, Outcome, Paid, Payment, Scale, Status,
    StockLevel, Transaction,
};
use std::collections::BTreeSet;
use std::io;

const BEGIN: &str = "START TRANSACTION";
/// All that is read is of one snapshot.
const BEGIN_READING: &str = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION READ ONLY";

/// The logic of the transactions on a database.
#[derive(Debug)]
pub(super) struct Client {
    prefix: String,
    districts: i32,
}

/// Returns the row that an answer must have; without it the data is not what was loaded.
fn required_row<'a>(answers: &'a [Answer], at: usize, what: &str) -> Result<&'a Row, Fault> {
    answers.get(at).and_then(|answer| answer.only_row()).ok_or_else(|| Fault::missing_row(what))
}

/// Numbers as a list.
fn number_list<T: ToString>(all: impl IntoIterator<Item = T>) -> String {
    all.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

/// The rows of a small table that is written out: its columns are named in the first row.
fn inline_table<const N: usize>(columns: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut selects = Vec::new();
    for (at, row) in rows.enumerate() {
        let values: Vec<String> = columns
            .into_iter()
            .zip(row)
            .map(|(column, value): (&str, String)| if at == 0 { format!("{value} AS {column}") } else { value })
            .collect();
        selects.push(format!("SELECT {}", values.join(", ")));
    }
    format!("({})", selects.join(" UNION ALL "))
}

impl Client {
    pub(super) fn new(prefix: &str, scale: Scale) -> Client {
        Client { prefix: prefix.to_owned(), districts: scale.district_count() }
    }

    /// Sends a flight that commits nothing.
    fn send_flight(&self, link: &mut Link, statements: &[String]) -> Result<Vec<Answer>, Fault> {
        link.query_text(&with_prefix(&self.prefix, &statements.join("; "))).map_err(|why| why.to_fault())
    }

    /// Sends a flight that ends with a COMMIT. Nobody knows whether it was carried out if the connection ends after the
    /// server had got that far, or may have.
    fn commit_flight(&self, link: &mut Link, statements: &[String], mark: Option<&Mark>) -> Result<(), Fault> {
        let last = mark.map(Mark::update_statement).into_iter().chain(["COMMIT".to_owned()]);
        let all: Vec<String> = statements.iter().cloned().chain(last).collect();
        let answers = link.query_text(&with_prefix(&self.prefix, &all.join("; "))).map_err(|why| {
            // Answers that are still on their way are lost with the connection; an error comes after all before it.
            let is_known = why.error_code() != 0 && link.answered < all.len() - 1;
            if why.is_ambiguous() && !is_known { unknown_outcome(&why) } else { why.to_fault() }
        })?;
        marks::is_set(mark, &answers, statements.len())
    }

    pub(super) fn execute_transaction(
        &self,
        link: &mut Link,
        transaction: &Transaction,
        mark: Option<&Mark>,
    ) -> Result<Outcome, Fault> {
        match transaction {
            Transaction::NewOrder(asked) => self.new_order(link, asked, mark),
            Transaction::Payment(asked) => self.execute_payment(link, asked, mark).map(Outcome::Paid),
            Transaction::OrderStatus(asked) => self.order_status(link, asked).map(Outcome::Status),
            Transaction::Delivery(asked) => self.execute_delivery(link, asked, mark).map(Outcome::Delivered),
            Transaction::StockLevel(asked) => self.stock_level(link, asked).map(Outcome::Low),
        }
    }

    fn new_order(&self, link: &mut Link, asked: &NewOrder, mark: Option<&Mark>) -> Result<Outcome, Fault> {
        let NewOrder { warehouse, district, customer, .. } = *asked;
        let taken = StockTaken::for_order(asked);
        let items: BTreeSet<i32> = asked.lines.iter().map(|line| line.item).collect();
        let read = self.send_flight(
            link,
            &[
                BEGIN.to_owned(),
                format!("SELECT CAST(w_tax * 10000 AS signed) FROM @warehouse WHERE w_id = {warehouse}"),
                format!(
                    "SELECT d_next_o_id, CAST(d_tax * 10000 AS signed) FROM @district \
                     WHERE d_w_id = {warehouse} AND d_id = {district} FOR UPDATE"
                ),
                format!(
                    "UPDATE @district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = {warehouse} AND d_id = {district}"
                ),
                format!(
                    "SELECT CAST(c_discount * 10000 AS signed), c_last, c_credit FROM @customer \
                     WHERE c_w_id = {warehouse} AND c_d_id = {district} AND c_id = {customer}"
                ),
                format!(
                    "SELECT i_id, CAST(i_price * 100 AS signed), i_data LIKE '%ORIGINAL%', i_name FROM @item \
                     WHERE i_id IN ({})",
                    number_list(items)
                ),
                lock_stock(asked, &taken),
            ],
        )?;
        let (tax, numbered) = (required_row(&read, 1, "warehouse")?, required_row(&read, 2, "district")?);
        let discount = required_row(&read, 4, "customer")?;
        let [items, stock] = [&read[5], &read[6]];
        let order = numbered.int_at(0).map_err(unreadable_answer)?;
        let filled = fill_order(asked, &items.rows, &stock.rows)?;
        self.write_order(link, asked, order, &filled, taken, mark)?;
        if filled.lines.len() < asked.lines.len() {
            return Ok(Outcome::RolledBack);
        }
        let total = order_total(&filled, discount, tax, numbered).map_err(unreadable_answer)?;
        Ok(Outcome::Ordered(Ordered { order, total, lines: filled.lines }))
    }

    /// The second flight of a new order: everything that is to be written, also of one that is then rolled back.
    fn write_order(
        &self,
        link: &mut Link,
        asked: &NewOrder,
        order: i32,
        filled: &Filled,
        taken: StockTaken,
        mark: Option<&Mark>,
    ) -> Result<(), Fault> {
        let NewOrder { warehouse, district, customer, date, ref lines, .. } = *asked;
        let key = format!("{warehouse}, {district}, {order}");
        let (count, is_local) = (lines.len(), i32::from(asked.all_local()));
        let made =
            lines.iter().zip(&filled.amounts).zip(&filled.dists).enumerate().map(|(at, ((line, amount), dist))| {
                let (number, amount, dist) = (at + 1, format_money(*amount), text_literal(dist));
                let (item, supply, quantity) = (line.item, line.supply_warehouse, line.quantity);
                format!("({key}, {number}, {item}, {supply}, NULL, {quantity}, {amount}, {dist})")
            });
        let made: Vec<String> = made.collect();
        if made.is_empty() {
            // Not even the first item is there: nothing is taken from the stock.
            return self.send_flight(link, &["ROLLBACK".to_owned()]).map(drop);
        }
        let statements = [
            format!(
                "INSERT INTO @orders VALUES ({key}, {customer}, '{}', NULL, {count}, {is_local})",
                format_moment(date)
            ),
            format!("INSERT INTO @new_order VALUES ({key})"),
            take_from_stock(&taken.with_filled(asked, filled)),
            format!("INSERT INTO @order_line VALUES {}", made.join(", ")),
        ];
        if made.len() < lines.len() {
            return self.send_flight(link, &[&statements[..], &["ROLLBACK".to_owned()]].concat()).map(drop);
        }
        self.commit_flight(link, &statements, mark)
    }

    fn execute_payment(&self, link: &mut Link, asked: &Payment, mark: Option<&Mark>) -> Result<Paid, Fault> {
        let Payment { warehouse, district, customer_warehouse, customer_district, date, .. } = *asked;
        let amount = format_money(asked.amount);
        let in_district = format!("c_w_id = {customer_warehouse} AND c_d_id = {customer_district}");
        let read = self.send_flight(
            link,
            &[
                BEGIN.to_owned(),
                format!("UPDATE @warehouse SET w_ytd = w_ytd + {amount} WHERE w_id = {warehouse}"),
                format!("SELECT w_name FROM @warehouse WHERE w_id = {warehouse}"),
                format!(
                    "UPDATE @district SET d_ytd = d_ytd + {amount} WHERE d_w_id = {warehouse} AND d_id = {district}"
                ),
                format!("SELECT d_name FROM @district WHERE d_w_id = {warehouse} AND d_id = {district}"),
                format!(
                    "SELECT c_id, CAST(c_balance * 100 AS signed), c_credit, IF(c_credit = 'BC', c_data, '') \
                     FROM @customer WHERE {in_district} AND c_id = {} FOR UPDATE",
                    customer_number(&asked.customer, &in_district)
                ),
            ],
        )?;
        let names = [required_row(&read, 2, "warehouse")?, required_row(&read, 4, "district")?];
        let (names, found) = (names.map(|row| row.text_at(0)), required_row(&read, 5, "customer")?);
        let [Ok(of_name), Ok(in_name)] = names else { return Err(Fault::missing_row("name")) };
        let customer = found.int_at(0).map_err(unreadable_answer)?;
        let data = (found.text_at(2).map_err(unreadable_answer)? == BAD_CREDIT).then(|| {
            let mut data = asked.payment_note(customer) + found.text_at(3).unwrap_or_default();
            data.truncate(Customer::DATA_MOST);
            format!(", c_data = {}", text_literal(&data))
        });
        let note = data.unwrap_or_default();
        let data = text_literal(&Payment::history_data(of_name, in_name));
        self.commit_flight(
            link,
            &[
                format!(
                    "UPDATE @customer SET c_balance = c_balance - {amount}, c_ytd_payment = c_ytd_payment + {amount}, \
                     c_payment_cnt = c_payment_cnt + 1{note} WHERE {in_district} AND c_id = {customer}"
                ),
                format!(
                    "INSERT INTO @history VALUES ({customer}, {customer_district}, {customer_warehouse}, {district}, \
                     {warehouse}, '{}', {amount}, {data})",
                    format_moment(date)
                ),
            ],
            mark,
        )?;
        // The row is locked since it was read.
        Ok(Paid { customer, balance: found.bigint_at(1).map_err(unreadable_answer)? - asked.amount })
    }

    fn order_status(&self, link: &mut Link, asked: &OrderStatus) -> Result<Status, Fault> {
        let OrderStatus { warehouse, district, .. } = *asked;
        let in_district = format!("c_w_id = {warehouse} AND c_d_id = {district}");
        let customer = format!(
            "SELECT c_id, CAST(c_balance * 100 AS signed), c_first, c_middle, c_last FROM @customer \
             WHERE {in_district} AND c_id = {}",
            customer_number(&asked.customer, &in_district)
        );
        let read = self.send_flight(link, &[BEGIN_READING.to_owned(), customer])?;
        let found = required_row(&read, 2, "customer")?;
        let (customer, balance) =
            (found.int_at(0).map_err(unreadable_answer)?, found.bigint_at(1).map_err(unreadable_answer)?);
        let newest = format!(
            "(SELECT o_id, o_entry_d, o_carrier_id FROM @orders WHERE o_w_id = {warehouse} AND o_d_id = {district} \
             AND o_c_id = {customer} ORDER BY o_id DESC LIMIT 1) AS newest"
        );
        let answers = self.send_flight(
            link,
            &[
                format!(
                    "SELECT {customer}, {balance}, o_id, timestampdiff(MICROSECOND, '1970-01-01', o_entry_d), o_carrier_id \
                     FROM (SELECT 1) AS one LEFT JOIN {newest} ON true"
                ),
                format!(
                    "SELECT ol_i_id, ol_supply_w_id, ol_quantity, CAST(ol_amount * 100 AS signed), \
                     timestampdiff(MICROSECOND, '1970-01-01', ol_delivery_d) FROM {newest} STRAIGHT_JOIN @order_line \
                     ON ol_w_id = {warehouse} AND ol_d_id = {district} AND ol_o_id = o_id ORDER BY ol_number"
                ),
                "COMMIT".to_owned(),
            ],
        )?;
        let lines = answers.get(1).map(|answer| answer.rows.as_slice()).unwrap_or_default();
        parse_status(required_row(&answers, 0, "order")?, lines).map_err(unreadable_answer)
    }

    fn execute_delivery(&self, link: &mut Link, asked: &Delivery, mark: Option<&Mark>) -> Result<Delivered, Fault> {
        let Delivery { warehouse, carrier, date } = *asked;
        let mut locks = vec![BEGIN.to_owned()];
        locks.extend((1..=self.districts).map(|district| {
            format!(
                "SELECT no_o_id FROM @new_order WHERE no_w_id = {warehouse} AND no_d_id = {district} \
                 ORDER BY no_o_id LIMIT 1 FOR UPDATE"
            )
        }));
        let read = self.send_flight(link, &locks)?;
        let oldest = read[1..].iter().map(|answer| answer.only_row().map(|row| row.int_at(0)).transpose());
        let orders = oldest.collect::<io::Result<Vec<_>>>().map_err(unreadable_answer)?;
        let new =
            (1..=self.districts).zip(&orders).filter_map(|(district, order)| order.map(|order| (district, order)));
        if new.clone().next().is_none() {
            return self.commit_flight(link, &[], mark).map(|()| Delivered { orders });
        }
        let new_rows = new.clone().map(|(district, order)| [district, order].map(|number| number.to_string()));
        let oldest = inline_table(["district", "number"], new_rows) + " AS oldest";
        let customers = self.ordering_customers(link, warehouse, &oldest, new.count())?;
        self.commit_flight(
            link,
            &[
                format!(
                    "DELETE @new_order FROM {oldest} STRAIGHT_JOIN @new_order \
                     ON no_w_id = {warehouse} AND no_d_id = district AND no_o_id = number"
                ),
                format!(
                    "UPDATE {oldest} STRAIGHT_JOIN @orders ON o_w_id = {warehouse} AND o_d_id = district \
                     AND o_id = number SET o_carrier_id = {carrier}"
                ),
                format!(
                    "UPDATE {oldest} STRAIGHT_JOIN @order_line ON ol_w_id = {warehouse} AND ol_d_id = district \
                     AND ol_o_id = number SET ol_delivery_d = '{}'",
                    format_moment(date)
                ),
                format!(
                    "UPDATE {customers} AS paid STRAIGHT_JOIN @customer ON c_w_id = {warehouse} AND c_d_id = district \
                     AND c_id = orderer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1"
                ),
            ],
            mark,
        )?;
        Ok(Delivered { orders })
    }

    /// The customers of so many orders, and what each has ordered. Neither changes, so that a statement after the one
    /// that waited for the locks may read them without any.
    fn ordering_customers(&self, link: &mut Link, warehouse: i32, oldest: &str, count: usize) -> Result<String, Fault> {
        let sql = format!(
            "SELECT district, c_id, CAST((SELECT sum(ol_amount) FROM @order_line WHERE ol_w_id = {warehouse} \
             AND ol_d_id = district AND ol_o_id = number) * 100 AS signed) FROM {oldest} STRAIGHT_JOIN @orders \
             ON o_w_id = {warehouse} AND o_d_id = district AND o_id = number STRAIGHT_JOIN @customer \
             ON c_w_id = {warehouse} AND c_d_id = district AND c_id = o_c_id ORDER BY district"
        );
        let read = self.send_flight(link, &[sql])?;
        let rows = read.first().map(|answer| answer.rows.as_slice()).unwrap_or_default();
        if rows.len() != count || rows.iter().any(|row| row.is_null(2)) {
            return Err(Fault::missing_row("order, order line or customer"));
        }
        let rows = rows
            .iter()
            .map(|row: &Row| {
                Ok([row.int_at(0)?.to_string(), row.int_at(1)?.to_string(), format_money(row.bigint_at(2)?)])
            })
            .collect::<io::Result<Vec<_>>>()
            .map_err(unreadable_answer)?;
        Ok(inline_table(["district", "orderer", "amount"], rows.into_iter()))
    }

    fn stock_level(&self, link: &mut Link, asked: &StockLevel) -> Result<i64, Fault> {
        let StockLevel { warehouse, district, threshold } = *asked;
        let sql = format!(
            "SELECT d_next_o_id, (SELECT count(DISTINCT s_i_id) FROM @order_line STRAIGHT_JOIN @stock \
             ON s_w_id = {warehouse} AND s_i_id = ol_i_id WHERE ol_w_id = {warehouse} AND ol_d_id = {district} \
             AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id AND s_quantity < {threshold}) \
             FROM @district WHERE d_w_id = {warehouse} AND d_id = {district}"
        );
        required_row(&self.send_flight(link, &[sql])?, 0, "district")?.bigint_at(1).map_err(unreadable_answer)
    }
}

/// The customer who is meant: the number, or of all with a last name the one in the middle by first name.
fn customer_number(customer: &CustomerSelector, in_district: &str) -> String {
    match customer {
        CustomerSelector::Id(id) => id.to_string(),
        CustomerSelector::Name(last) => format!(
            "(SELECT c_id FROM (SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS place, \
             count(*) OVER () AS named FROM @customer WHERE {in_district} AND c_last = {}) AS namesakes \
             WHERE place = (named + 1) DIV 2)",
            text_literal(last)
        ),
    }
}

/// Locks the stock of an order, in the order of the key.
fn lock_stock(asked: &NewOrder, taken: &StockTaken) -> String {
    let keys = taken.supplies.iter().zip(&taken.items).map(|(supply, item)| [supply.to_string(), item.to_string()]);
    format!(
        "SELECT s_w_id, s_i_id, s_quantity, s_data LIKE '%ORIGINAL%', s_dist_{:02} FROM {} AS asked \
         STRAIGHT_JOIN @stock ON s_w_id = supply AND s_i_id = item FOR UPDATE",
        asked.district,
        inline_table(["supply", "item"], keys)
    )
}

/// Takes from the stock. One row for each item: an UPDATE touches a row once, however often a list has it.
fn take_from_stock(taken: &StockTaken) -> String {
    let columns = [&taken.supplies, &taken.items, &taken.held, &taken.quantities, &taken.times, &taken.remote];
    let rows = (0..taken.items.len()).map(|at| columns.map(|column| column[at].to_string()));
    let names = ["supply", "item", "held", "quantity", "times", "remote"];
    format!(
        "UPDATE {} AS taken STRAIGHT_JOIN @stock ON s_w_id = supply AND s_i_id = item \
         SET s_quantity = held, s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + times, \
         s_remote_cnt = s_remote_cnt + remote",
        inline_table(names, rows)
    )
}

/// Combines the rows of the items and of the stock that a flight has read for an order.
fn fill_order(asked: &NewOrder, items: &[Row], stock: &[Row]) -> Result<Filled, Fault> {
    let items = items
        .iter()
        .map(|row: &Row| Ok((row.int_at(0)?, (row.bigint_at(1)?, row.int_at(2)? == 1))))
        .collect::<io::Result<_>>()
        .map_err(unreadable_answer)?;
    let stock = stock
        .iter()
        .map(|row: &Row| {
            Ok(((row.int_at(0)?, row.int_at(1)?), (row.int_at(2)?, row.int_at(3)? == 1, row.text_at(4)?.to_owned())))
        })
        .collect::<io::Result<_>>()
        .map_err(unreadable_answer)?;
    Filled::from_stock(asked, &items, stock)
}

/// The total of an order, from what was read of its customer, warehouse and district.
fn order_total(filled: &Filled, discount: &Row, tax: &Row, numbered: &Row) -> io::Result<i64> {
    Ok(Ordered::total_amount(
        filled.amounts.iter().sum(),
        discount.bigint_at(0)?,
        tax.bigint_at(0)? + numbered.bigint_at(1)?,
    ))
}
