//! Mistakes that are easily made in these transactions, each shown by the wrong form, and how ours differs.

use crate::bed::{Bed, small};
use crate::shared::parameters;
use assay_model::tpcc::interpreter::Database;
use assay_model::tpcc::{CustomerSelector, Home, Line, NewOrder, OrderStatus, Outcome, Transaction, TransactionKind};
use assay_sql::Fault;
use assay_sql::mysql::{Mode, read_totals};
use std::io::Write;
use std::process::Stdio;

const MODES: [Mode; 2] = [Mode::Procedures, Mode::Client];

/// An order that asks for one item three times, and for another one of the other warehouse.
fn repeated() -> Transaction {
    let line = |item, supply_warehouse, quantity| Line { item, supply_warehouse, quantity };
    let lines = vec![line(7, 1, 10), line(7, 2, 3), line(7, 1, 9), line(8, 1, 1), line(7, 1, 10)];
    Transaction::NewOrder(NewOrder { warehouse: 1, district: 10, customer: 3, date: 1_800_000_000_000_000, lines })
}

#[test]
fn an_item_that_is_in_an_order_twice_is_taken_twice() {
    for mode in MODES {
        let Some(bed) = Bed::loaded() else { return };
        let mut interpreter = Database::from_population(small());
        let mut session = bed.session(&bed.permit(), mode);
        assert_eq!(session.carry_out_transaction(&repeated()).unwrap(), interpreter.execute_transaction(&repeated()));
        let taken = "SELECT s_ytd, s_order_cnt FROM stock WHERE s_w_id = 1 AND s_i_id = 7";
        assert_eq!(bed.ask(taken), "29\t3", "{mode:?}");
        // The wrong form: a list in an UPDATE touches a row once.
        bed.ask(
            "UPDATE stock JOIN (SELECT 7 AS item, 10 AS q UNION ALL SELECT 7, 9 UNION ALL SELECT 7, 10) AS asked \
             ON s_i_id = item SET s_ytd = s_ytd + q, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = 1",
        );
        assert!(bed.ask(taken).ends_with("\t4"), "one of three lines");
    }
}

/// After a deadlock the transaction is over, and statements that follow would be transactions of their own.
#[test]
fn nothing_is_carried_out_after_a_statement_that_failed() {
    let Some(bed) = Bed::loaded() else { return };
    // The wrong form: a client that sends what follows although the server has ended the transaction.
    let wrong = "START TRANSACTION;\nUPDATE district SET d_name = 'lost';\nSIGNAL SQLSTATE '45000';\nROLLBACK;\n\
                 UPDATE warehouse SET w_name = 'kept' WHERE w_id = 1;\nCOMMIT;\n";
    let mut client = bed.server.client(&["--force", &bed.database]);
    let mut child = client.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(wrong.as_bytes()).unwrap();
    child.wait().unwrap();
    assert_eq!(bed.ask("SELECT w_name FROM warehouse WHERE w_id = 1"), "kept", "half of a transaction");
    // Ours: what fails in the middle of a flight is an error and leaves nothing, in both modes.
    bed.ask(
        "CREATE TRIGGER t BEFORE INSERT ON order_line FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'",
    );
    let order = parameters(1, 2).numbered_transaction(TransactionKind::NewOrder, 0, Home::All);
    for mode in MODES {
        let mut session = bed.session(&bed.permit(), mode);
        let before = read_totals(session.connection_mut()).unwrap();
        let fault = session.carry_out_transaction(&order).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.again), ("1644", false), "{mode:?}: {fault}");
        assert_eq!(read_totals(session.connection_mut()).unwrap(), before, "{mode:?}");
        assert_eq!(bed.transaction(session.connection_mut().server_thread()), None, "{mode:?}: no lock is left");
        session
            .carry_out_transaction(&parameters(1, 2).numbered_transaction(TransactionKind::Payment, 1, Home::All))
            .unwrap();
    }
}

/// Two deliveries at the same time: the second one waits and then takes the next orders.
#[test]
fn two_deliveries_take_different_orders() {
    for mode in MODES {
        let Some(bed) = Bed::loaded() else { return };
        let permit = bed.permit();
        let mut session = bed.session(&permit, mode);
        let thread = session.connection_mut().server_thread();
        // Somebody delivers the oldest order of each district of the first warehouse, and has not committed yet.
        let (mut other, mut input) = bed.other(
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION; \
                       DELETE FROM new_order WHERE no_w_id = 1 AND no_o_id = 22",
        );
        let number = (0..).find(|number| {
            matches!(parameters(1, 2).numbered_transaction(TransactionKind::Delivery, *number, Home::All),
                     Transaction::Delivery(asked) if asked.warehouse == 1)
        });
        let delivery = parameters(1, 2).numbered_transaction(TransactionKind::Delivery, number.unwrap(), Home::All);
        let outcome = std::thread::scope(|scope| {
            let delivering = scope.spawn(|| session.carry_out_transaction(&delivery));
            bed.until_waits(thread);
            input.write_all(b"COMMIT;\n").unwrap();
            drop(input);
            delivering.join().unwrap()
        });
        assert!(other.wait().unwrap().success());
        let Outcome::Delivered(delivered) = outcome.unwrap() else { panic!("another kind") };
        assert_eq!(delivered.orders, vec![Some(23); 10], "{mode:?}: the next orders, and none is skipped");
    }
}

/// An order that is committed while a delivery waits for its row is delivered with its lines, although the snapshot of
/// the statement that waited does not have them.
#[test]
fn an_order_that_came_while_a_delivery_waited_is_delivered_as_a_whole() {
    for mode in MODES {
        let Some(bed) = Bed::loaded() else { return };
        bed.ask("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1");
        let permit = bed.permit();
        let mut session = bed.session(&permit, mode);
        let thread = session.connection_mut().server_thread();
        let (mut other, mut input) = bed.other(
            "START TRANSACTION; INSERT INTO new_order VALUES (1, 1, 31); \
             INSERT INTO orders VALUES (1, 1, 31, 5, '2027-01-01', NULL, 1, 1); \
             INSERT INTO order_line VALUES (1, 1, 31, 1, 1, 1, NULL, 5, 12.34, 'x')",
        );
        let delivery = Transaction::Delivery(assay_model::tpcc::Delivery {
            warehouse: 1,
            carrier: 3,
            date: 1_800_000_000_000_000,
        });
        let balance =
            "SELECT CAST(c_balance * 100 AS signed) FROM customer WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 5";
        let before: i64 = bed.ask(balance).parse().unwrap();
        let outcome = std::thread::scope(|scope| {
            let delivering = scope.spawn(|| session.carry_out_transaction(&delivery));
            bed.until_waits(thread);
            input.write_all(b"COMMIT;\n").unwrap();
            drop(input);
            delivering.join().unwrap()
        });
        assert!(other.wait().unwrap().success());
        let Outcome::Delivered(delivered) = outcome.unwrap() else { panic!("another kind") };
        assert_eq!(delivered.orders[0], Some(31), "{mode:?}");
        assert_eq!(bed.ask(balance), (before + 1_234).to_string(), "{mode:?}");
    }
}

/// The wrong form of the oldest new order: without a lock two deliveries find the same one, and the second deletes
/// nothing.
#[test]
fn the_smallest_number_is_not_looked_up_without_a_lock() {
    let Some(bed) = Bed::loaded() else { return };
    let find = "SELECT no_o_id INTO @o FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 ORDER BY no_o_id LIMIT 1";
    let delete = "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = @o; SELECT @o, ROW_COUNT()";
    let both = [0, 1].map(|_| bed.other(&format!("START TRANSACTION; {find}")));
    let said = both.map(|(child, mut input)| {
        input.write_all(format!("{delete}; COMMIT;\n").as_bytes()).unwrap();
        drop(input);
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    });
    assert_eq!(said.map(|text| text.trim().to_owned()), ["22\t1", "22\t0"], "the second delivery deletes nothing");
}

/// An order status sees one snapshot: its transaction is that of the other level, and the session's level is back
/// afterwards.
#[test]
fn an_order_status_reads_one_snapshot_and_writers_do_not() {
    for mode in MODES {
        let Some(bed) = Bed::loaded() else { return };
        let permit = bed.permit();
        // Who waits for a table that is locked has begun its transaction.
        let statuses = [
            (
                "orders",
                Transaction::OrderStatus(OrderStatus { warehouse: 1, district: 1, customer: CustomerSelector::Id(1) }),
                "REPEATABLE READ",
            ),
            (
                "history",
                parameters(1, 2).numbered_transaction(TransactionKind::Payment, 1, Home::All),
                "READ COMMITTED",
            ),
        ];
        for (table, transaction, wanted) in statuses {
            let mut session = bed.session(&permit, mode);
            let thread = session.connection_mut().server_thread();
            let (mut other, mut input) = bed.other(&format!("LOCK TABLES {table} WRITE"));
            let found = std::thread::scope(|scope| {
                let asking = scope.spawn(|| session.carry_out_transaction(&transaction));
                let (_, found) = bed.until(thread, |_| true);
                input.write_all(b"UNLOCK TABLES;\n").unwrap();
                asking.join().unwrap().unwrap();
                found
            });
            assert_eq!(found, wanted, "{mode:?} {transaction:?}");
            drop(input);
            assert!(other.wait().unwrap().success());
        }
    }
}

/// What the server is told for everybody does not reach a session where it matters, and what is weak is seen.
#[test]
fn settings_are_those_of_the_session() {
    let Some(server) = crate::bed::Server::make("--transaction-isolation=SERIALIZABLE --autocommit=0 --sql-mode=ANSI")
    else {
        return;
    };
    let bed = Bed::of(server);
    bed.load(small(), 2).unwrap();
    let permit = bed.permit();
    let connection = bed.connection_with(&permit);
    let settings = connection.session_settings();
    assert_eq!(settings.setting_value("tx_isolation"), "READ-COMMITTED");
    let in_memory = usize::from(settings.in_memory.is_some());
    assert_eq!(settings.not_durable().len(), in_memory, "{:?}", settings.not_durable());
    if rustix::process::geteuid().is_root() {
        assert_eq!(settings.directories.as_ref().unwrap().data, bed.server.dir.join("data"));
    }
    bed.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 2; ALTER TABLE history ENGINE = Aria");
    let weak = bed.connection_with(&permit);
    let reasons = weak.session_settings().not_durable().join("; ");
    assert!(reasons.contains("innodb_flush_log_at_trx_commit=2"), "{reasons}");
    assert!(reasons.contains("tables that are not InnoDB's: history (Aria)"), "{reasons}");
    for mode in MODES {
        bed.session(&permit, mode)
            .carry_out_transaction(&parameters(1, 2).numbered_transaction(TransactionKind::Payment, 1, Home::All))
            .unwrap();
    }
}

/// A row that must exist and does not is a fault of the data, in both modes, and leaves no trace.
#[test]
fn a_missing_row_is_a_fault_of_the_data() {
    for spoil in ["district", "customer", "stock", "warehouse"] {
        let Some(bed) = Bed::loaded() else { return };
        bed.ask(&format!("DELETE FROM {spoil}"));
        let permit = bed.permit();
        for mode in MODES {
            let mut session = bed.session(&permit, mode);
            let before = read_totals(session.connection_mut()).unwrap();
            let order = parameters(1, 2).numbered_transaction(TransactionKind::NewOrder, 0, Home::All);
            let fault = session.carry_out_transaction(&order).unwrap_err();
            assert_eq!((fault.code.as_str(), fault.again), (Fault::MISSING_ROW, false), "{spoil} {mode:?}: {fault}");
            assert_eq!(read_totals(session.connection_mut()).unwrap(), before, "{spoil} {mode:?}");
        }
    }
    for spoil in ["orders", "order_line", "customer"] {
        let Some(bed) = Bed::loaded() else { return };
        bed.ask(&format!("DELETE FROM {spoil}"));
        let (permit, before) = (bed.permit(), bed.ask("SELECT count(*) FROM new_order"));
        for mode in MODES {
            let delivery = parameters(1, 2).numbered_transaction(TransactionKind::Delivery, 0, Home::All);
            let fault = bed.session(&permit, mode).carry_out_transaction(&delivery).unwrap_err();
            assert_eq!((fault.code.as_str(), fault.again), (Fault::MISSING_ROW, false), "{spoil} {mode:?}: {fault}");
            assert_eq!(bed.ask("SELECT count(*) FROM new_order"), before, "{spoil} {mode:?}");
        }
    }
}
