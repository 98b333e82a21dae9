//! Transactions: what they leave and answer equals the interpreter, alone and beside each other, in both modes.

use crate::bed::{Bed, Server, small, sums_of};
use crate::driven::{WAYS, execute};
pub use crate::shared::parameters;
use crate::shared::{Done, persistent};
use assay_model::tpcc::interpreter::Database;
use assay_model::tpcc::{Deck, Home, Mix, Outcome, Transaction, TransactionKind};
use assay_sql::Fault;
use assay_sql::mysql::{Mode, Totals, check_conditions, read_totals};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn two_thousand_transactions_of_one_session_equal_the_interpreters() {
    for ((mode, by), mix) in WAYS.map(|way| (way, Mix::Deck)).into_iter().chain([(WAYS[2], Mix::HammerDb)]) {
        let Some(bed) = Bed::loaded() else { return };
        let mut session = bed.session(&bed.permit(), mode);
        let mut interpreter = Database::from_population(small());
        let (parameters, mut deck, mut outcomes) = (parameters(3, 2), Deck::new(mix, 3), HashMap::new());
        for number in 0..2_000 {
            let transaction = parameters.numbered_transaction(deck.kind_of_transaction(number), number, Home::All);
            let outcome = execute(&mut session, by, &transaction).unwrap();
            assert_eq!(outcome, interpreter.execute_transaction(&transaction), "{mode:?} {number}: {transaction:?}");
            *outcomes.entry(std::mem::discriminant(&outcome)).or_insert(0) += 1;
        }
        assert_eq!(outcomes.len(), 6, "every kind of outcome came: {outcomes:?}");
        assert_eq!(check_conditions(session.connection_mut(), small()).unwrap(), []);
        assert_eq!(bed.sums(), sums_of(&interpreter), "{mode:?}");
    }
}

#[test]
fn deliveries_are_skipped_when_nothing_is_new() {
    for mode in [Mode::Procedures, Mode::Client] {
        let Some(bed) = Bed::loaded() else { return };
        let mut session = bed.session(&bed.permit(), mode);
        let (mut interpreter, parameters) = (Database::from_population(small()), parameters(1, 2));
        let mut skipped = 0;
        for number in 0..30 {
            let transaction = parameters.numbered_transaction(TransactionKind::Delivery, number, Home::All);
            let outcome = session.carry_out_transaction(&transaction).unwrap();
            assert_eq!(outcome, interpreter.execute_transaction(&transaction));
            skipped += if let Outcome::Delivered(delivered) = outcome { delivered.skipped_districts() } else { 0 };
        }
        assert!(skipped >= 100, "18 deliveries empty two warehouses: {skipped}");
        assert_eq!(check_conditions(session.connection_mut(), small()).unwrap(), []);
    }
}

/// Eight sessions on one warehouse, in both modes beside each other.
#[test]
fn sessions_beside_each_other_leave_what_they_committed() {
    let Some(bed) = Bed::loaded() else { return };
    let permit = bed.permit();
    let mut watching = bed.connection_with(&permit);
    let before = read_totals(&mut watching).unwrap();
    let work = |at: u64| {
        let mut done = Done::default();
        let mode = if at.is_multiple_of(2) { Mode::Procedures } else { Mode::Client };
        let (mut session, mut deck) = (bed.session(&permit, mode), Deck::new(Mix::Deck, 7));
        for number in (0..150).map(|step| step * 8 + at) {
            let transaction =
                parameters(7, 1).numbered_transaction(deck.kind_of_transaction(number), number, Home::All);
            let outcome = persistent(&mut session, &transaction, number).unwrap();
            done.count(&transaction, &outcome);
        }
        done
    };
    let work = &work;
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|at| scope.spawn(move || work(at))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).fold(Done::default(), Done::plus)
    });
    let Totals { next_orders, payments, ytd } = read_totals(&mut watching).unwrap();
    assert_eq!(next_orders - before.next_orders, all.orders);
    assert_eq!((payments - before.payments, ytd - before.ytd), (all.payments, all.paid));
    assert!(all.orders > 500 && all.payments == 516, "{all:?}");
    assert_eq!(check_conditions(&mut watching, small()).unwrap(), []);
}

/// The server is killed while sessions work, and comes back: what was acknowledged is there, and what is there was
/// acknowledged or is unknown.
#[test]
fn a_server_that_is_killed_loses_nothing_that_it_acknowledged() {
    let Some(server) = Server::make("") else { return };
    let bed = Bed::of(server);
    bed.load(small(), 2).unwrap();
    let permit = bed.permit();
    let before = read_totals(&mut bed.connection_with(&permit)).unwrap();
    let ends = AtomicBool::new(false);
    let work = |at: u64| {
        let mut done = Done::default();
        let mode = if at.is_multiple_of(2) { Mode::Procedures } else { Mode::Client };
        let (mut session, mut lost) = (bed.session(&permit, mode), 0);
        for number in (0..).map(|step| step * 4 + at).take_while(|_| !ends.load(Ordering::Relaxed)) {
            let kind = if number % 8 < 4 { TransactionKind::NewOrder } else { TransactionKind::Payment };
            let transaction = parameters(7, 2).numbered_transaction(kind, number, Home::All);
            match persistent(&mut session, &transaction, number) {
                Ok(outcome) => done.count(&transaction, &outcome),
                Err(fault) if fault.code == Fault::OUTCOME_UNKNOWN => {
                    done.unknown += 1;
                    done.unknown_paid += if let Transaction::Payment(asked) = &transaction { asked.amount } else { 0 };
                    lost += 1;
                }
                Err(fault) => {
                    assert_eq!(fault.code, Fault::LOST, "{fault}");
                    lost += 1;
                }
            }
        }
        assert!(lost > 0, "the session noticed the crash");
        done
    };
    let work = &work;
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|at| scope.spawn(move || work(at))).collect();
        std::thread::sleep(std::time::Duration::from_millis(700));
        bed.server.crash("");
        std::thread::sleep(std::time::Duration::from_millis(700));
        ends.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).fold(Done::default(), Done::plus)
    });
    drop(permit);
    let mut connection = bed.connection();
    assert_eq!(check_conditions(&mut connection, small()).unwrap(), []);
    let after = read_totals(&mut connection).unwrap();
    let (orders, payments) = (after.next_orders - before.next_orders, after.payments - before.payments);
    let (more_orders, more_payments) = (orders - all.orders, payments - all.payments);
    assert!(more_orders >= 0 && more_payments >= 0 && more_orders + more_payments <= all.unknown, "{all:?} {after:?}");
    assert!((0..=all.unknown_paid).contains(&(after.ytd - before.ytd - all.paid)), "{all:?} {after:?}");
    assert!(all.orders > 10 && all.payments > 10, "{all:?}");
}
