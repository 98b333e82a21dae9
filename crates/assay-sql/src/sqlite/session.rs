//! The five transactions in SQL, as one session sends them.
//!
//! Transactions that write begin with BEGIN IMMEDIATE: SQLite has one writer, and a transaction that becomes a writer
//! after it has read may have to give up. The sessions of this process write in the order of [`super::turns`].
//! Transactions that read see one snapshot. Each statement is prepared once.
//!
//! Source: TPC-C 5.11, clauses 2.4.2, 2.5.2, 2.6.2, 2.7.4 and 2.8.2.

use super::connection::{Connection, to_fault};
use super::marks::{Mark, SET};
use crate::fault::Fault;
use crate::sessions::Execute;
use crate::url::Journal;
use assay_model::tpcc::rows::{BAD_CREDIT, Customer, ORIGINAL};
use assay_model::tpcc::{
    CustomerSelector, Delivered, Delivery, LastOrder, LineStatus, NewOrder, OrderStatus, Ordered, OrderedLine, Outcome,
    Paid, Payment, Scale, Status, StockLevel, Transaction, middle_place,
};
use rusqlite::{OptionalExtension, Params, Row};
use std::sync::Arc;

/// A session, with a connection of its own.
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    districts: i32,
    /// The statements that take a line of an order from the stock, by district: each reads another column.
    take: Vec<String>,
    /// The row that is set with each transaction that writes.
    mark: Option<Mark>,
}

/// Runs a statement that answers one row; a row that must exist and does not is a fault of the data.
fn query_one<T>(
    sqlite: &rusqlite::Connection,
    sql: &str,
    parameters: impl Params,
    what: &str,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<T, Fault> {
    query_optional(sqlite, sql, parameters, read)?.ok_or_else(|| Fault::missing_row(what))
}

/// Runs a statement that answers a row or none.
fn query_optional<T>(
    sqlite: &rusqlite::Connection,
    sql: &str,
    parameters: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, Fault> {
    let answer = sqlite.prepare_cached(sql).and_then(|mut statement| statement.query_row(parameters, read).optional());
    answer.map_err(|why| to_fault(&why))
}

/// Runs a statement that changes rows; it must change at least one.
fn change_rows(sqlite: &rusqlite::Connection, sql: &str, parameters: impl Params, what: &str) -> Result<(), Fault> {
    let changed = sqlite
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(parameters))
        .map_err(|why| to_fault(&why))?;
    if changed == 0 { Err(Fault::missing_row(what)) } else { Ok(()) }
}

/// Runs a statement that answers rows.
fn query_all<T>(
    sqlite: &rusqlite::Connection,
    sql: &str,
    parameters: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, Fault> {
    query_rows(sqlite, sql, parameters, read).map_err(|why| to_fault(&why))
}

fn query_rows<T>(
    sqlite: &rusqlite::Connection,
    sql: &str,
    parameters: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    sqlite.prepare_cached(sql)?.query_map(parameters, read)?.collect()
}

impl Session {
    /// A session on a database that was loaded with rows of a scale.
    pub fn new(connection: Connection, scale: Scale) -> Session {
        let take = (1..=scale.district_count()).map(|district| {
            format!(
                "UPDATE main.stock SET s_quantity = CASE WHEN s_quantity - ?3 >= 10 THEN s_quantity - ?3 \
                 ELSE s_quantity - ?3 + 91 END, s_ytd = s_ytd + ?3, s_order_cnt = s_order_cnt + 1, \
                 s_remote_cnt = s_remote_cnt + ?4 WHERE s_w_id = ?1 AND s_i_id = ?2 \
                 RETURNING s_quantity, s_dist_{district:02}, s_data"
            )
        });
        Session { connection, districts: scale.district_count(), take: take.collect(), mark: None }
    }

    /// Makes one of the sessions of a run, which sets its row with each transaction that writes.
    pub fn with_mark(self, run: &str, session: u32) -> Session {
        Session { mark: Some(Mark { run: run.to_owned(), session, sent: 0 }), ..self }
    }

    /// The connection.
    pub fn shared_connection(&self) -> &Connection {
        &self.connection
    }

    /// Executes as [`Execute::execute_transaction`] says.
    pub fn carry_out_transaction(&mut self, transaction: &Transaction) -> Result<Outcome, Fault> {
        let writes = transaction.writes_rows();
        if let Some(mark) = self.mark.as_mut().filter(|_| writes) {
            mark.sent += 1;
        }
        let permit = Arc::clone(&self.connection.permit);
        // Without a log beside the file nobody reads while a transaction is committed either.
        let _turn = (writes || self.connection.current_settings().journal_mode != Journal::Wal.word())
            .then(|| permit.wait_for_turn());
        self.send_statement(if writes { "BEGIN IMMEDIATE" } else { "BEGIN" })?;
        let outcome = self.execute_inside(transaction).and_then(|outcome| match outcome {
            Outcome::RolledBack => self.send_statement("ROLLBACK").map(|()| outcome),
            _ => self.set_mark(writes).and_then(|()| self.send_statement("COMMIT")).map(|()| outcome),
        });
        if outcome.is_err() && !self.connection.sqlite.is_autocommit() {
            // A failure here shows again at the next BEGIN; the first reason is the one to report.
            let _ = self.send_statement("ROLLBACK");
        }
        outcome
    }

    fn set_mark(&self, writes: bool) -> Result<(), Fault> {
        let Some(Mark { run, session, sent }) = self.mark.as_ref().filter(|_| writes) else { return Ok(()) };
        change_rows(&self.connection.sqlite, SET, (run, session, *sent as i64), "row of the session in assay_session")
    }

    fn send_statement(&self, sql: &str) -> Result<(), Fault> {
        let sent = self.connection.sqlite.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        sent.map(drop).map_err(|why| to_fault(&why))
    }

    fn execute_inside(&self, transaction: &Transaction) -> Result<Outcome, Fault> {
        match transaction {
            Transaction::NewOrder(asked) => self.new_order(asked),
            Transaction::Payment(asked) => self.execute_payment(asked).map(Outcome::Paid),
            Transaction::OrderStatus(asked) => self.order_status(asked).map(Outcome::Status),
            Transaction::Delivery(asked) => self.execute_delivery(asked).map(Outcome::Delivered),
            Transaction::StockLevel(asked) => self.stock_level(asked).map(Outcome::Low),
        }
    }

    /// The number of a customer.
    fn customer_number(&self, warehouse: i32, district: i32, by: &CustomerSelector) -> Result<i32, Fault> {
        let last = match by {
            CustomerSelector::Id(id) => return Ok(*id),
            CustomerSelector::Name(last) => last,
        };
        let sql =
            "SELECT c_id FROM main.customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3 ORDER BY c_first, c_id";
        let named: Vec<i32> = query_all(&self.connection.sqlite, sql, (warehouse, district, last), |row| row.get(0))?;
        named.get(middle_place(named.len())).copied().ok_or_else(|| Fault::missing_row("customer with that last name"))
    }

    fn new_order(&self, asked: &NewOrder) -> Result<Outcome, Fault> {
        let sqlite = &self.connection.sqlite;
        let NewOrder { warehouse, district, customer, date, .. } = *asked;
        let sql = "SELECT w_tax FROM main.warehouse WHERE w_id = ?1";
        let warehouse_tax: i64 = query_one(sqlite, sql, [warehouse], "warehouse", |row| row.get(0))?;
        let sql = "UPDATE main.district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ?1 AND d_id = ?2 \
                   RETURNING d_next_o_id - 1, d_tax";
        let (order, district_tax): (i32, i64) =
            query_one(sqlite, sql, [warehouse, district], "district", |row| Ok((row.get(0)?, row.get(1)?)))?;
        let sql =
            "SELECT c_discount, c_last, c_credit FROM main.customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
        let discount: i64 = query_one(sqlite, sql, [warehouse, district, customer], "customer", |row| row.get(0))?;
        let sql = "INSERT INTO main.orders VALUES (?1, ?2, ?3, ?4, ?5, NULL, ?6, ?7)";
        let counts = (asked.lines.len() as i64, asked.all_local());
        change_rows(sqlite, sql, (warehouse, district, order, customer, date, counts.0, counts.1), "order")?;
        let sql = "INSERT INTO main.new_order VALUES (?1, ?2, ?3)";
        change_rows(sqlite, sql, [warehouse, district, order], "new order")?;
        let mut lines = Vec::with_capacity(asked.lines.len());
        for at in 0..asked.lines.len() {
            match self.order_line(asked, order, at)? {
                Some(line) => lines.push(line),
                None => return Ok(Outcome::RolledBack),
            }
        }
        let sum = lines.iter().map(|line| line.amount).sum();
        let total = Ordered::total_amount(sum, discount, warehouse_tax + district_tax);
        Ok(Outcome::Ordered(Ordered { order, total, lines }))
    }

    /// One line of a new order, or none if there is no such item.
    fn order_line(&self, asked: &NewOrder, order: i32, at: usize) -> Result<Option<OrderedLine>, Fault> {
        let sqlite = &self.connection.sqlite;
        let (line, &NewOrder { warehouse, district, .. }) = (asked.lines[at], asked);
        let sql = "SELECT i_price, i_data, i_name FROM main.item WHERE i_id = ?1";
        let found =
            query_optional(sqlite, sql, [line.item], |row| Ok((row.get::<_, i64>(0)?, holds_original(row, 1)?)))?;
        let Some((price, item_branded)) = found else { return Ok(None) };
        let take = self.take.get(district as usize - 1).ok_or_else(|| Fault::missing_row("district"))?;
        let parameters = (line.supply_warehouse, line.item, line.quantity, line.supply_warehouse != warehouse);
        let (stock, dist_info, stock_branded): (i32, String, bool) =
            query_one(sqlite, take, parameters, "stock", |row| {
                Ok((row.get(0)?, row.get(1)?, holds_original(row, 2)?))
            })?;
        let amount = price * i64::from(line.quantity);
        let sql = "INSERT INTO main.order_line VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, ?7, ?8, ?9)";
        let key = (warehouse, district, order, at as i64 + 1);
        let row = (line.item, line.supply_warehouse, line.quantity, amount, dist_info);
        change_rows(sqlite, sql, (key.0, key.1, key.2, key.3, row.0, row.1, row.2, row.3, row.4), "order line")?;
        Ok(Some(OrderedLine { stock, amount, branded: item_branded && stock_branded }))
    }

    fn execute_payment(&self, asked: &Payment) -> Result<Paid, Fault> {
        let sqlite = &self.connection.sqlite;
        let Payment { warehouse, district, customer_warehouse, customer_district, amount, date, .. } = *asked;
        let sql = "UPDATE main.warehouse SET w_ytd = w_ytd + ?2 WHERE w_id = ?1 RETURNING w_name";
        let of: String = query_one(sqlite, sql, (warehouse, amount), "warehouse", |row| row.get(0))?;
        let sql = "UPDATE main.district SET d_ytd = d_ytd + ?3 WHERE d_w_id = ?1 AND d_id = ?2 RETURNING d_name";
        let in_district: String = query_one(sqlite, sql, (warehouse, district, amount), "district", |row| row.get(0))?;
        let customer = self.customer_number(customer_warehouse, customer_district, &asked.customer)?;
        let key = (customer_warehouse, customer_district, customer);
        let sql = "UPDATE main.customer SET c_balance = c_balance - ?4, c_ytd_payment = c_ytd_payment + ?4, \
                   c_payment_cnt = c_payment_cnt + 1, \
                   c_data = CASE WHEN c_credit = ?6 THEN substr(?5 || c_data, 1, ?7) ELSE c_data END \
                   WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3 RETURNING c_balance";
        let parameters =
            (key.0, key.1, key.2, amount, asked.payment_note(customer), BAD_CREDIT, Customer::DATA_MOST as i64);
        let balance = query_one(sqlite, sql, parameters, "customer", |row| row.get(0))?;
        let sql = "INSERT INTO main.history VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let data = Payment::history_data(&of, &in_district);
        change_rows(sqlite, sql, (key.2, key.1, key.0, district, warehouse, date, amount, data), "history")?;
        Ok(Paid { customer, balance })
    }

    fn order_status(&self, asked: &OrderStatus) -> Result<Status, Fault> {
        let sqlite = &self.connection.sqlite;
        let OrderStatus { warehouse, district, .. } = *asked;
        let customer = self.customer_number(warehouse, district, &asked.customer)?;
        let key = [warehouse, district, customer];
        let sql = "SELECT c_balance, c_first, c_middle, c_last FROM main.customer \
                   WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
        let balance = query_one(sqlite, sql, key, "customer", |row| row.get(0))?;
        let sql = "SELECT o_id, o_entry_d, o_carrier_id FROM main.orders \
                   WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = ?3 ORDER BY o_id DESC LIMIT 1";
        let order = match query_optional(sqlite, sql, key, |row: &Row<'_>| {
            Ok(LastOrder { id: row.get(0)?, entered: row.get(1)?, carrier: row.get(2)?, lines: Vec::new() })
        })? {
            Some(order) => Some(LastOrder { lines: self.status_lines((warehouse, district, order.id))?, ..order }),
            None => None,
        };
        Ok(Status { customer, balance, order })
    }

    fn status_lines(&self, order: (i32, i32, i32)) -> Result<Vec<LineStatus>, Fault> {
        let sql = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM main.order_line \
                   WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3 ORDER BY ol_number";
        query_all(&self.connection.sqlite, sql, order, |row| {
            Ok(LineStatus {
                item: row.get(0)?,
                supply_warehouse: row.get(1)?,
                quantity: row.get(2)?,
                amount: row.get(3)?,
                delivered: row.get(4)?,
            })
        })
    }

    fn execute_delivery(&self, asked: &Delivery) -> Result<Delivered, Fault> {
        let orders = (1..=self.districts).map(|district| self.deliver_oldest(asked, district));
        Ok(Delivered { orders: orders.collect::<Result<_, _>>()? })
    }

    /// Delivers the oldest new order of a district, or none. No other session can write meanwhile.
    fn deliver_oldest(&self, asked: &Delivery, district: i32) -> Result<Option<i32>, Fault> {
        let sqlite = &self.connection.sqlite;
        let Delivery { warehouse, carrier, date } = *asked;
        let sql = "DELETE FROM main.new_order WHERE no_w_id = ?1 AND no_d_id = ?2 AND no_o_id = \
                   (SELECT min(no_o_id) FROM main.new_order WHERE no_w_id = ?1 AND no_d_id = ?2) RETURNING no_o_id";
        let Some(order) = query_optional(sqlite, sql, [warehouse, district], |row| row.get::<_, i32>(0))? else {
            return Ok(None);
        };
        let sql =
            "UPDATE main.orders SET o_carrier_id = ?4 WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3 RETURNING o_c_id";
        let customer: i32 = query_one(sqlite, sql, (warehouse, district, order, carrier), "order", |row| row.get(0))?;
        let sql = "UPDATE main.order_line SET ol_delivery_d = ?4 WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3";
        change_rows(sqlite, sql, (warehouse, district, order, date), "order line")?;
        let sql = "SELECT sum(ol_amount) FROM main.order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3";
        let sum: i64 = query_one(sqlite, sql, [warehouse, district, order], "order line", |row| row.get(0))?;
        let sql = "UPDATE main.customer SET c_balance = c_balance + ?4, c_delivery_cnt = c_delivery_cnt + 1 \
                   WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
        change_rows(sqlite, sql, (warehouse, district, customer, sum), "customer")?;
        Ok(Some(order))
    }

    fn stock_level(&self, asked: &StockLevel) -> Result<i64, Fault> {
        let sqlite = &self.connection.sqlite;
        let StockLevel { warehouse, district, threshold } = *asked;
        let sql = "SELECT d_next_o_id FROM main.district WHERE d_w_id = ?1 AND d_id = ?2";
        let next: i32 = query_one(sqlite, sql, [warehouse, district], "district", |row| row.get(0))?;
        let sql = "SELECT count(DISTINCT ol_i_id) FROM main.order_line \
                   CROSS JOIN main.stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
                   WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id >= ?3 - 20 AND ol_o_id < ?3 AND s_quantity < ?4";
        query_one(sqlite, sql, [warehouse, district, next, threshold], "stock", |row| row.get(0))
    }
}

impl Execute for Session {
    fn execute_transaction(&mut self, transaction: &Transaction) -> Result<Outcome, Fault> {
        Session::carry_out_transaction(self, transaction)
    }

    fn last_sent_number(&self) -> u64 {
        self.mark.as_ref().map_or(0, |mark| mark.sent)
    }
}

/// Whether the text in a column contains the word that makes a brand.
fn holds_original(row: &Row<'_>, column: usize) -> rusqlite::Result<bool> {
    let text = row.get_ref(column)?.as_bytes()?;
    Ok(text.windows(ORIGINAL.len()).any(|part| part == ORIGINAL.as_bytes()))
}
