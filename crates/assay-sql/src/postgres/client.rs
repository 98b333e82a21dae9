//! Each transaction statement by statement, in two flights: what the second one writes follows from what the first one
//! read under lock. A flight is sent at once and waits once for the server.

use super::flight::{commit_fault, make_statement, unreadable_answer};
use super::link::{Answer, Link, Statement};
use super::marks::{self, Mark};
use super::value::{Bound, INT4, INT4S, MONEY, NUMERIC, NUMERICS, RATE, Row, TEXT, TEXTS, TIMESTAMPTZ};
use crate::fault::Fault;
use crate::ordering::{Filled, StockTaken};
use assay_model::tpcc::rows::{BAD_CREDIT, Customer};
use assay_model::tpcc::{
    CustomerSelector, Delivered, Delivery, LastOrder, LineStatus, NewOrder, OrderStatus, Ordered, Outcome, Paid,
    Payment, Scale, Status, StockLevel, Transaction,
};
use std::io;

/// The statements that lock the stock of an order: each district reads another column.
const STOCK: [&str; 10] = [
    "stock_01", "stock_02", "stock_03", "stock_04", "stock_05", "stock_06", "stock_07", "stock_08", "stock_09",
    "stock_10",
];

/// The customer in the middle by first name, of all with a last name.
const NAMED: &str = "(SELECT c_id FROM (SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS place, \
     count(*) OVER () AS named FROM @customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3) AS namesakes \
     WHERE place = (named + 1) / 2)";

/// The statements.
#[derive(Debug)]
pub(super) struct Client {
    districts: i32,
    begin: Statement,
    begin_reading: Statement,
    commit: Statement,
    rollback: Statement,
    order: OrderStatements,
    pay: PaymentStatements,
    ask: StatusStatements,
    deliver: DeliveryStatements,
    stock_level: Statement,
}

/// The statements of a new order.
#[derive(Debug)]
struct OrderStatements {
    warehouse: Statement,
    district: Statement,
    customer: Statement,
    items: Statement,
    stock: Vec<Statement>,
    order: Statement,
    new_order: Statement,
    take: Statement,
    lines: Statement,
}

/// The statements of a payment.
#[derive(Debug)]
struct PaymentStatements {
    warehouse: Statement,
    district: Statement,
    by_id: Statement,
    by_name: Statement,
    customer: Statement,
    history: Statement,
}

/// The statements of an order status.
#[derive(Debug)]
struct StatusStatements {
    by_id: Statement,
    by_name: Statement,
    lines: Statement,
}

/// The statements of a delivery.
#[derive(Debug)]
struct DeliveryStatements {
    oldest: Statement,
    new_orders: Statement,
    orders: Statement,
    lines: Statement,
    customers: Statement,
}

impl OrderStatements {
    fn new(prefix: &str) -> OrderStatements {
        OrderStatements {
            warehouse: make_statement(
                "order_warehouse",
                prefix,
                "SELECT w_tax FROM @warehouse WHERE w_id = $1",
                &[INT4],
            ),
            district: make_statement(
                "order_district",
                prefix,
                "UPDATE @district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2 \
                 RETURNING d_next_o_id - 1, d_tax",
                &[INT4, INT4],
            ),
            customer: make_statement(
                "order_customer",
                prefix,
                "SELECT c_discount, c_last, c_credit FROM @customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
                &[INT4, INT4, INT4],
            ),
            items: make_statement(
                "order_items",
                prefix,
                "SELECT i_id, i_price, i_data LIKE '%ORIGINAL%', i_name FROM @item WHERE i_id = ANY ($1)",
                &[INT4S],
            ),
            stock: STOCK.iter().zip(1..).map(|(name, district)| read_stock(prefix, name, district)).collect(),
            order: make_statement(
                "order_order",
                prefix,
                "INSERT INTO @orders VALUES ($1, $2, $3, $4, $5, NULL, $6, $7)",
                &[INT4, INT4, INT4, INT4, TIMESTAMPTZ, INT4, INT4],
            ),
            new_order: make_statement(
                "order_new_order",
                prefix,
                "INSERT INTO @new_order VALUES ($1, $2, $3)",
                &[INT4, INT4, INT4],
            ),
            // One row for each item: an UPDATE touches a row once, however often the list has it.
            take: make_statement(
                "order_take",
                prefix,
                "UPDATE @stock SET s_quantity = held, s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + times, \
                 s_remote_cnt = s_remote_cnt + remote \
                 FROM unnest($1, $2, $3, $4, $5, $6) AS taken (supply, item, held, quantity, times, remote) \
                 WHERE s_w_id = supply AND s_i_id = item",
                &[INT4S, INT4S, INT4S, INT4S, INT4S, INT4S],
            ),
            lines: make_statement(
                "order_lines",
                prefix,
                "INSERT INTO @order_line SELECT $1, $2, $3, n, item, supply, NULL, quantity, amount, dist \
                 FROM unnest($4, $5, $6, $7, $8) WITH ORDINALITY AS line (item, supply, quantity, amount, dist, n)",
                &[INT4, INT4, INT4, INT4S, INT4S, INT4S, NUMERICS, TEXTS],
            ),
        }
    }
}

impl PaymentStatements {
    fn new(prefix: &str) -> PaymentStatements {
        PaymentStatements {
            warehouse: make_statement(
                "pay_warehouse",
                prefix,
                "UPDATE @warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1 RETURNING w_name",
                &[INT4, NUMERIC],
            ),
            district: make_statement(
                "pay_district",
                prefix,
                "UPDATE @district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2 RETURNING d_name",
                &[INT4, INT4, NUMERIC],
            ),
            by_id: customer_to_pay(prefix, "pay_by_id", "$3", &[INT4, INT4, INT4]),
            by_name: customer_to_pay(prefix, "pay_by_name", NAMED, &[INT4, INT4, TEXT]),
            customer: make_statement(
                "pay_customer",
                prefix,
                "UPDATE @customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, \
                 c_payment_cnt = c_payment_cnt + 1, c_data = coalesce($5, c_data) \
                 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 RETURNING c_balance",
                &[INT4, INT4, INT4, NUMERIC, TEXT],
            ),
            history: make_statement(
                "pay_history",
                prefix,
                "INSERT INTO @history VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                &[INT4, INT4, INT4, INT4, INT4, TIMESTAMPTZ, NUMERIC, TEXT],
            ),
        }
    }
}

impl StatusStatements {
    fn new(prefix: &str) -> StatusStatements {
        StatusStatements {
            by_id: customer_to_ask(prefix, "ask_by_id", "$3", &[INT4, INT4, INT4]),
            by_name: customer_to_ask(prefix, "ask_by_name", NAMED, &[INT4, INT4, TEXT]),
            lines: make_statement(
                "ask_lines",
                prefix,
                "SELECT o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
                 FROM (SELECT o_id, o_entry_d, o_carrier_id FROM @orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 \
                 ORDER BY o_id DESC LIMIT 1) AS newest LEFT JOIN @order_line \
                 ON ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = o_id ORDER BY ol_number",
                &[INT4, INT4, INT4],
            ),
        }
    }
}

impl DeliveryStatements {
    fn new(prefix: &str) -> DeliveryStatements {
        DeliveryStatements {
            // A second delivery waits for the lock, finds the row gone and takes the next one. Customer and amounts of an
            // order never change.
            oldest: make_statement(
                "deliver_oldest",
                prefix,
                "SELECT no_o_id, \
                 (SELECT c_id FROM @orders JOIN @customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id \
                 WHERE o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id), \
                 (SELECT sum(ol_amount) FROM @order_line \
                 WHERE ol_w_id = no_w_id AND ol_d_id = no_d_id AND ol_o_id = no_o_id) \
                 FROM @new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1 FOR UPDATE",
                &[INT4, INT4],
            ),
            new_orders: make_statement(
                "deliver_new_orders",
                prefix,
                "DELETE FROM @new_order USING unnest($2, $3) AS oldest (district, number) \
                 WHERE no_w_id = $1 AND no_d_id = district AND no_o_id = number",
                &[INT4, INT4S, INT4S],
            ),
            orders: make_statement(
                "deliver_orders",
                prefix,
                "UPDATE @orders SET o_carrier_id = $4 FROM unnest($2, $3) AS oldest (district, number) \
                 WHERE o_w_id = $1 AND o_d_id = district AND o_id = number",
                &[INT4, INT4S, INT4S, INT4],
            ),
            lines: make_statement(
                "deliver_lines",
                prefix,
                "UPDATE @order_line SET ol_delivery_d = $4 FROM unnest($2, $3) AS oldest (district, number) \
                 WHERE ol_w_id = $1 AND ol_d_id = district AND ol_o_id = number",
                &[INT4, INT4S, INT4S, TIMESTAMPTZ],
            ),
            customers: make_statement(
                "deliver_customers",
                prefix,
                "UPDATE @customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1 \
                 FROM unnest($2, $3, $4) AS delivered (district, number, amount) \
                 WHERE c_w_id = $1 AND c_d_id = district AND c_id = number",
                &[INT4, INT4S, INT4S, NUMERICS],
            ),
        }
    }
}

/// Returns the row that an answer must have; without it the data is not what was loaded.
fn required_row<'a>(answers: &'a [Answer], at: usize, what: &str) -> Result<&'a Row, Fault> {
    answers.get(at).and_then(|answer| answer.only_row()).ok_or_else(|| Fault::missing_row(what))
}

/// Sends a flight that commits nothing.
fn send_flight(link: &mut Link) -> Result<Vec<Answer>, Fault> {
    link.send_flight().map_err(|why| why.to_fault())
}

impl Client {
    pub(super) fn new(prefix: &str, scale: Scale) -> Client {
        Client {
            districts: scale.district_count(),
            begin: make_statement("begin", prefix, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", &[]),
            begin_reading: make_statement(
                "begin_reading",
                prefix,
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                &[],
            ),
            commit: make_statement("commit", prefix, "COMMIT", &[]),
            rollback: make_statement("rollback", prefix, "ROLLBACK", &[]),
            order: OrderStatements::new(prefix),
            pay: PaymentStatements::new(prefix),
            ask: StatusStatements::new(prefix),
            deliver: DeliveryStatements::new(prefix),
            stock_level: make_statement(
                "stock_level",
                prefix,
                "SELECT d_next_o_id, (SELECT count(DISTINCT s_i_id) FROM @order_line JOIN @stock ON s_w_id = $1 \
                 AND s_i_id = ol_i_id WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= d_next_o_id - 20 \
                 AND ol_o_id < d_next_o_id AND s_quantity < $3) FROM @district WHERE d_w_id = $1 AND d_id = $2",
                &[INT4, INT4, INT4],
            ),
        }
    }

    pub(super) fn all_statements(&self) -> Vec<Statement> {
        let Client { begin, begin_reading, commit, rollback, order, pay, ask, deliver, stock_level, .. } = self;
        let OrderStatements { warehouse, district, customer, items, stock, order, new_order, take, lines } = order;
        let ordering = [warehouse, district, customer, items, order, new_order, take, lines];
        let paying = [&pay.warehouse, &pay.district, &pay.by_id, &pay.by_name, &pay.customer, &pay.history];
        let asking = [&ask.by_id, &ask.by_name, &ask.lines];
        let DeliveryStatements { oldest, new_orders, orders, lines, customers } = deliver;
        let delivering = [oldest, new_orders, orders, lines, customers];
        let rest = [begin, begin_reading, commit, rollback, stock_level];
        let all = ordering.into_iter().chain(stock).chain(paying).chain(asking).chain(delivering).chain(rest);
        all.cloned().collect()
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

    /// Ends a flight with the session's mark and COMMIT, after so many statements, whose answer is read: after a failed
    /// statement it is ROLLBACK.
    fn commit_flight(&self, link: &mut Link, statements: usize, mark: Option<&Mark>) -> Result<Vec<Answer>, Fault> {
        let before = statements + marks::add_mark(mark, link);
        let answers =
            link.add_execution(&self.commit, &[]).send_flight().map_err(|why| commit_fault(link, &why, before))?;
        match answers.last() {
            Some(answer) if answer.executed_command() == b"COMMIT" => {
                marks::is_set(mark, &answers, statements).map(|()| answers)
            }
            _ => Err(super::link::rolled_back().to_fault()),
        }
    }

    fn new_order(&self, link: &mut Link, asked: &NewOrder, mark: Option<&Mark>) -> Result<Outcome, Fault> {
        let [warehouse, district, customer] = [asked.warehouse, asked.district, asked.customer].map(Bound::Int);
        let taken = StockTaken::for_order(asked);
        let items: Vec<i32> = asked.lines.iter().map(|line| line.item).collect();
        let stock = self.order.stock.get(asked.district as usize - 1).ok_or_else(|| Fault::missing_row("district"))?;
        link.add_execution(&self.begin, &[]).add_execution(&self.order.warehouse, &[warehouse]);
        link.add_execution(&self.order.district, &[warehouse, district]);
        link.add_execution(&self.order.customer, &[warehouse, district, customer]);
        link.add_execution(&self.order.items, &[Bound::Ints(&items)]);
        link.add_execution(stock, &[Bound::Ints(&taken.supplies), Bound::Ints(&taken.items)]);
        let read = send_flight(link)?;
        let (tax, numbered) = (required_row(&read, 1, "warehouse")?, required_row(&read, 2, "district")?);
        let discount = required_row(&read, 3, "customer")?;
        let [items, stock] = [&read[4], &read[5]];
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
        let (count, is_local) = (asked.lines.len() as i32, asked.all_local().into());
        let key @ [warehouse, district, number] = [asked.warehouse, asked.district, order].map(Bound::Int);
        let [customer, count, is_local] = [asked.customer, count, is_local].map(Bound::Int);
        let date = Bound::Time(asked.date);
        link.add_execution(&self.order.order, &[warehouse, district, number, customer, date, count, is_local]);
        link.add_execution(&self.order.new_order, &key);
        let taken = taken.with_filled(asked, filled);
        let columns = [&taken.supplies, &taken.items, &taken.held, &taken.quantities, &taken.times, &taken.remote];
        link.add_execution(&self.order.take, &columns.map(|column| Bound::Ints(column)));
        let made = &asked.lines[..filled.lines.len()];
        let items: Vec<i32> = made.iter().map(|line| line.item).collect();
        let supplies: Vec<i32> = made.iter().map(|line| line.supply_warehouse).collect();
        let quantities: Vec<i32> = made.iter().map(|line| line.quantity).collect();
        let dists: Vec<&str> = filled.dists.iter().map(String::as_str).collect();
        let [items, supplies, quantities] = [&items, &supplies, &quantities].map(|column| Bound::Ints(column));
        let (amounts, dists) = (Bound::Monies(&filled.amounts), Bound::Texts(&dists));
        link.add_execution(
            &self.order.lines,
            &[warehouse, district, number, items, supplies, quantities, amounts, dists],
        );
        if made.len() < asked.lines.len() {
            return link.add_execution(&self.rollback, &[]).send_flight().map(drop).map_err(|why| why.to_fault());
        }
        self.commit_flight(link, 4, mark).map(drop)
    }

    fn execute_payment(&self, link: &mut Link, asked: &Payment, mark: Option<&Mark>) -> Result<Paid, Fault> {
        let Payment { warehouse, district, customer_warehouse, customer_district, amount, date, .. } = *asked;
        let [of, in_district, from, from_district] =
            [warehouse, district, customer_warehouse, customer_district].map(Bound::Int);
        let amount = Bound::Money(amount);
        link.add_execution(&self.begin, &[]).add_execution(&self.pay.warehouse, &[of, amount]);
        link.add_execution(&self.pay.district, &[of, in_district, amount]);
        match &asked.customer {
            CustomerSelector::Id(id) => link.add_execution(&self.pay.by_id, &[from, from_district, Bound::Int(*id)]),
            CustomerSelector::Name(last) => {
                link.add_execution(&self.pay.by_name, &[from, from_district, Bound::Text(last)])
            }
        };
        let read = send_flight(link)?;
        let names = [required_row(&read, 1, "warehouse")?, required_row(&read, 2, "district")?];
        let (names, found) = (names.map(|row| row.text_at(0)), required_row(&read, 3, "customer")?);
        let [Ok(of_name), Ok(in_name)] = names else { return Err(Fault::missing_row("name")) };
        let customer = found.int_at(0).map_err(unreadable_answer)?;
        let data = (found.text_at(2).map_err(unreadable_answer)? == BAD_CREDIT).then(|| {
            let mut data = asked.payment_note(customer) + found.text_at(3).unwrap_or_default();
            data.truncate(Customer::DATA_MOST);
            data
        });
        let note = data.as_deref().map_or(Bound::Null, Bound::Text);
        let id = Bound::Int(customer);
        link.add_execution(&self.pay.customer, &[from, from_district, id, amount, note]);
        let data = Payment::history_data(of_name, in_name);
        let (date, data) = (Bound::Time(date), Bound::Text(&data));
        link.add_execution(&self.pay.history, &[id, from_district, from, in_district, of, date, amount, data]);
        let answers = self.commit_flight(link, 2, mark)?;
        let balance = required_row(&answers, 0, "customer")?.decimal_at(0, MONEY).map_err(unreadable_answer)?;
        Ok(Paid { customer, balance })
    }

    fn order_status(&self, link: &mut Link, asked: &OrderStatus) -> Result<Status, Fault> {
        let [warehouse, district] = [asked.warehouse, asked.district].map(Bound::Int);
        link.add_execution(&self.begin_reading, &[]);
        match &asked.customer {
            CustomerSelector::Id(id) => link.add_execution(&self.ask.by_id, &[warehouse, district, Bound::Int(*id)]),
            CustomerSelector::Name(last) => {
                link.add_execution(&self.ask.by_name, &[warehouse, district, Bound::Text(last)])
            }
        };
        let read = send_flight(link)?;
        let found = required_row(&read, 1, "customer")?;
        let (customer, balance) =
            (found.int_at(0).map_err(unreadable_answer)?, found.decimal_at(1, MONEY).map_err(unreadable_answer)?);
        link.add_execution(&self.ask.lines, &[warehouse, district, Bound::Int(customer)])
            .add_execution(&self.commit, &[]);
        let answers = send_flight(link)?;
        let rows = answers.first().map(|answer| answer.rows.as_slice()).unwrap_or_default();
        Ok(Status { customer, balance, order: last_order(rows).map_err(unreadable_answer)? })
    }

    fn execute_delivery(&self, link: &mut Link, asked: &Delivery, mark: Option<&Mark>) -> Result<Delivered, Fault> {
        let (warehouse, carrier) = (Bound::Int(asked.warehouse), Bound::Int(asked.carrier));
        link.add_execution(&self.begin, &[]);
        for district in 1..=self.districts {
            link.add_execution(&self.deliver.oldest, &[warehouse, Bound::Int(district)]);
        }
        let read = send_flight(link)?;
        let (mut districts, mut numbers, mut customers, mut amounts) = (vec![], vec![], vec![], vec![]);
        let mut orders = Vec::new();
        for (district, answer) in (1..=self.districts).zip(&read[1..]) {
            let Some(row) = answer.only_row() else {
                orders.push(None);
                continue;
            };
            if row.is_null(1) || row.is_null(2) {
                return Err(Fault::missing_row("order, order line or customer"));
            }
            let number = row.int_at(0).map_err(unreadable_answer)?;
            orders.push(Some(number));
            districts.push(district);
            numbers.push(number);
            customers.push(row.int_at(1).map_err(unreadable_answer)?);
            amounts.push(row.decimal_at(2, MONEY).map_err(unreadable_answer)?);
        }
        let [of, numbers, customers] = [&districts, &numbers, &customers].map(|column| Bound::Ints(column));
        link.add_execution(&self.deliver.new_orders, &[warehouse, of, numbers]);
        link.add_execution(&self.deliver.orders, &[warehouse, of, numbers, carrier]);
        link.add_execution(&self.deliver.lines, &[warehouse, of, numbers, Bound::Time(asked.date)]);
        link.add_execution(&self.deliver.customers, &[warehouse, of, customers, Bound::Monies(&amounts)]);
        self.commit_flight(link, 4, mark)?;
        Ok(Delivered { orders })
    }

    fn stock_level(&self, link: &mut Link, asked: &StockLevel) -> Result<i64, Fault> {
        let StockLevel { warehouse, district, threshold } = *asked;
        link.add_execution(&self.stock_level, &[warehouse, district, threshold].map(Bound::Int));
        required_row(&send_flight(link)?, 0, "district")?.bigint_at(1).map_err(unreadable_answer)
    }
}

/// The last order of a customer, from a row for each of its lines.
fn last_order(rows: &[Row]) -> io::Result<Option<LastOrder>> {
    let Some(first) = rows.first() else { return Ok(None) };
    let lines = rows
        .iter()
        .filter(|row| !row.is_null(3))
        .map(|row: &Row| -> io::Result<LineStatus> {
            let delivered = if row.is_null(7) { None } else { Some(row.time_at(7)?) };
            let (item, supply_warehouse, quantity) = (row.int_at(3)?, row.int_at(4)?, row.int_at(5)?);
            Ok(LineStatus { item, supply_warehouse, quantity, amount: row.decimal_at(6, MONEY)?, delivered })
        })
        .collect::<io::Result<_>>()?;
    let carrier = if first.is_null(2) { None } else { Some(first.int_at(2)?) };
    Ok(Some(LastOrder { id: first.int_at(0)?, entered: first.time_at(1)?, carrier, lines }))
}

/// Combines the rows of the items and of the stock that a flight has read for an order.
fn fill_order(asked: &NewOrder, items: &[Row], stock: &[Row]) -> Result<Filled, Fault> {
    let items = items
        .iter()
        .map(|row: &Row| Ok((row.int_at(0)?, (row.decimal_at(1, MONEY)?, row.flag_at(2)?))))
        .collect::<io::Result<_>>()
        .map_err(unreadable_answer)?;
    let stock = stock
        .iter()
        .map(|row: &Row| {
            Ok(((row.int_at(0)?, row.int_at(1)?), (row.int_at(2)?, row.flag_at(3)?, row.text_at(4)?.to_owned())))
        })
        .collect::<io::Result<_>>()
        .map_err(unreadable_answer)?;
    Filled::from_stock(asked, &items, stock)
}

/// The statement that reads and locks the stock of the items of an order, with the texts of a district.
fn read_stock(prefix: &str, name: &'static str, district: i32) -> Statement {
    let sql = format!(
        "SELECT s_w_id, s_i_id, s_quantity, s_data LIKE '%ORIGINAL%', s_dist_{district:02} \
         FROM unnest($1, $2) AS asked (supply, item) JOIN @stock AS s \
         ON s_w_id = asked.supply AND s_i_id = asked.item ORDER BY s_w_id, s_i_id FOR UPDATE OF s"
    );
    make_statement(name, prefix, &sql, &[INT4S, INT4S])
}

/// The statement that reads and locks the customer who pays.
fn customer_to_pay(prefix: &str, name: &'static str, which: &str, types: &'static [u32]) -> Statement {
    let sql = format!(
        "SELECT c_id, c_balance, c_credit, CASE WHEN c_credit = 'BC' THEN c_data ELSE '' END FROM @customer \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = {which} FOR UPDATE"
    );
    make_statement(name, prefix, &sql, types)
}

/// The statement that reads the customer whose last order is asked for.
fn customer_to_ask(prefix: &str, name: &'static str, which: &str, types: &'static [u32]) -> Statement {
    let sql = format!(
        "SELECT c_id, c_balance, c_first, c_middle, c_last FROM @customer \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = {which}"
    );
    make_statement(name, prefix, &sql, types)
}

/// The total of an order, from what was read of its customer, warehouse and district.
fn order_total(filled: &Filled, discount: &Row, tax: &Row, numbered: &Row) -> io::Result<i64> {
    let taxes = tax.decimal_at(0, RATE)? + numbered.decimal_at(1, RATE)?;
    Ok(Ordered::total_amount(filled.amounts.iter().sum(), discount.decimal_at(0, RATE)?, taxes))
}
