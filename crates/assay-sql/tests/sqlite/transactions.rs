//! Transactions: what they leave and answer equals the interpreter, alone and beside each other.

use crate::bed::{Bed, small, sums_of};
use assay_base::Span;
use assay_model::tpcc::interpreter::Database;
use assay_model::tpcc::{Deck, Home, Mix, Outcome, Parameters, Transaction, TransactionKind};
use assay_sql::sqlite::{Connection, Session, Totals, check_conditions, read_totals};
use assay_sql::{Fault, Journal, Retry, SqliteUrl, Synchronous};
use std::collections::HashMap;

fn parameters(seed: u64) -> Parameters {
    Parameters::new(seed, small().c_load(), small().warehouse_count(), small().row_scale())
}

#[test]
fn two_thousand_transactions_of_one_session_equal_the_interpreters() {
    for (journal, mix) in [(Journal::Wal, Mix::Deck), (Journal::Delete, Mix::HammerDb)] {
        let bed = Bed::loaded();
        let url = SqliteUrl { journal_mode: Some(journal), synchronous: Some(Synchronous::Off), ..bed.url() };
        let mut session = Session::new(Connection::open_permitted(&bed.permit(), &url).unwrap(), small().row_scale());
        let mut interpreter = Database::from_population(small());
        let (parameters, mut deck, mut outcomes) = (parameters(3), Deck::new(mix, 3), HashMap::new());
        for number in 0..2_000 {
            let transaction = parameters.numbered_transaction(deck.kind_of_transaction(number), number, Home::All);
            let outcome = session.carry_out_transaction(&transaction).unwrap();
            assert_eq!(outcome, interpreter.execute_transaction(&transaction), "{number}: {transaction:?}");
            *outcomes.entry(std::mem::discriminant(&outcome)).or_insert(0) += 1;
        }
        assert_eq!(outcomes.len(), 6, "every kind of outcome came: {outcomes:?}");
        assert_eq!(check_conditions(session.shared_connection(), small()).unwrap(), []);
        drop(session);
        assert_eq!(bed.sums(), sums_of(&interpreter));
    }
}

#[test]
fn deliveries_are_skipped_when_nothing_is_new() {
    let bed = Bed::loaded();
    let (mut session, mut interpreter, parameters) = (bed.session(), Database::from_population(small()), parameters(1));
    let mut skipped = 0;
    for number in 0..30 {
        let transaction = parameters.numbered_transaction(TransactionKind::Delivery, number, Home::All);
        let outcome = session.carry_out_transaction(&transaction).unwrap();
        assert_eq!(outcome, interpreter.execute_transaction(&transaction));
        skipped += if let Outcome::Delivered(delivered) = outcome { delivered.skipped_districts() } else { 0 };
    }
    assert!(skipped >= 100, "18 deliveries empty two warehouses: {skipped}");
    assert_eq!(check_conditions(session.shared_connection(), small()).unwrap(), []);
}

/// What sessions did together.
#[derive(Default)]
struct Done {
    orders: i64,
    payments: i64,
    paid: i64,
    retried: u64,
}

/// Executes a transaction until it is done, however long other tests keep this machine from it.
fn persistent(session: &mut Session, transaction: &Transaction, number: u64) -> (Outcome, u64) {
    let (mut retry, mut retried) = (Retry::new(1, number), 0);
    loop {
        match session.carry_out_transaction(transaction) {
            Ok(outcome) => return (outcome, retried),
            Err(Fault { again: true, .. }) => {
                retried += 1;
                std::thread::sleep(retry.next_pause().unwrap_or(Span::from_ms(50)).into_std());
            }
            Err(fault) => panic!("{fault}"),
        }
    }
}

trait IntoStd {
    fn into_std(self) -> std::time::Duration;
}
impl IntoStd for Span {
    fn into_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.as_ns())
    }
}

#[test]
fn sessions_beside_each_other_leave_what_they_committed() {
    let bed = Bed::loaded();
    let permit = bed.permit();
    let url = SqliteUrl { synchronous: Some(Synchronous::Off), ..bed.url() };
    let connection = || Connection::open_permitted(&permit, &url).unwrap();
    let watching = connection();
    let before = read_totals(&watching).unwrap();
    let work = |session: u64| {
        let mut done = Done::default();
        let (mut connection, mut deck) = (Session::new(connection(), small().row_scale()), Deck::new(Mix::Deck, 7));
        for number in (0..150).map(|at| at * 4 + session) {
            let transaction = parameters(7).numbered_transaction(deck.kind_of_transaction(number), number, Home::All);
            let (outcome, retried) = persistent(&mut connection, &transaction, number);
            done.retried += retried;
            match (&transaction, outcome) {
                (_, Outcome::Ordered(_)) => done.orders += 1,
                (Transaction::Payment(asked), Outcome::Paid(_)) => {
                    done.payments += 1;
                    done.paid += asked.amount;
                }
                _ => {}
            }
        }
        done
    };
    let work = &work;
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|session| scope.spawn(move || work(session))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).fold(Done::default(), |sum, done| Done {
            orders: sum.orders + done.orders,
            payments: sum.payments + done.payments,
            paid: sum.paid + done.paid,
            retried: sum.retried + done.retried,
        })
    });
    let Totals { next_orders, payments, ytd } = read_totals(&watching).unwrap();
    assert_eq!(next_orders - before.next_orders, all.orders);
    assert_eq!((payments - before.payments, ytd - before.ytd), (all.payments, all.paid));
    assert!(all.orders > 250 && all.payments == 258, "{} orders, {} payments", all.orders, all.payments);
    assert_eq!(check_conditions(&watching, small()).unwrap(), []);
}

#[test]
fn a_session_that_finds_the_database_in_use_is_told_to_try_again_and_leaves_nothing() {
    let bed = Bed::loaded();
    let permit = bed.permit();
    let mut session = Session::new(Connection::open_permitted(&permit, &bed.url()).unwrap(), small().row_scale());
    let other = rusqlite::Connection::open(&bed.path).unwrap();
    let parameters = parameters(1);
    let payment = parameters.numbered_transaction(TransactionKind::Payment, 1, Home::All);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let fault = session.carry_out_transaction(&payment).unwrap_err();
    assert_eq!((fault.code.as_str(), fault.again), ("SQLITE_BUSY", true), "{fault}");
    let level = parameters.numbered_transaction(TransactionKind::StockLevel, 1, Home::All);
    assert!(session.carry_out_transaction(&level).is_ok(), "a reader is not in the way of a writer");
    other.execute_batch("ROLLBACK").unwrap();
    assert!(session.carry_out_transaction(&payment).is_ok());
}

#[test]
fn what_cannot_be_done_is_a_fault_with_its_code_and_leaves_no_trace() {
    let district = "DELETE FROM district WHERE d_id = 3";
    for (spoil, code, again) in [
        (district, Fault::MISSING_ROW, false),
        ("DROP TABLE order_line", "SQLITE_ERROR", false),
        (
            "CREATE TRIGGER t BEFORE INSERT ON order_line BEGIN SELECT RAISE(ABORT, 'no'); END",
            "SQLITE_CONSTRAINT",
            false,
        ),
        ("DELETE FROM customer", Fault::MISSING_ROW, false),
    ] {
        let bed = Bed::loaded();
        bed.change(spoil);
        let mut session = bed.session();
        let before = read_totals(session.shared_connection()).unwrap();
        let find =
            |number: &u64| match parameters(1).numbered_transaction(TransactionKind::NewOrder, *number, Home::All) {
                Transaction::NewOrder(asked) => asked.district == 3,
                _ => false,
            };
        let number = (0..100).find(find).unwrap();
        let order = parameters(1).numbered_transaction(TransactionKind::NewOrder, number, Home::All);
        let fault = session.carry_out_transaction(&order).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.again), (code, again), "{spoil}: {fault}");
        assert_eq!(read_totals(session.shared_connection()).unwrap(), before, "{spoil}: it was rolled back");
    }
}
