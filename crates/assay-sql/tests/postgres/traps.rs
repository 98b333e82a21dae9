//! Mistakes that are easily made in these transactions, each shown by the wrong form, and how ours differs.

use crate::bed::{Bed, small};
use crate::transactions::parameters;
use assay_model::tpcc::interpreter::Database;
use assay_model::tpcc::{Home, Line, NewOrder, Outcome, Transaction, TransactionKind};
use assay_sql::Fault;
use assay_sql::postgres::{Connection, Mode, Session, read_totals};
use std::io::Write;

/// An order that asks for one item three times, and for another one of the other warehouse.
fn repeated() -> Transaction {
    let line = |item, supply_warehouse, quantity| Line { item, supply_warehouse, quantity };
    let lines = vec![line(7, 1, 10), line(7, 2, 3), line(7, 1, 9), line(8, 1, 1), line(7, 1, 10)];
    Transaction::NewOrder(NewOrder { warehouse: 1, district: 10, customer: 3, date: 1_800_000_000_000_000, lines })
}

#[test]
fn an_item_that_is_in_an_order_twice_is_taken_twice() {
    for mode in [Mode::Procedures, Mode::Client] {
        let Some(bed) = Bed::loaded() else { return };
        let mut interpreter = Database::from_population(small());
        let mut session = bed.session(&bed.permit(), mode);
        assert_eq!(session.carry_out_transaction(&repeated()).unwrap(), interpreter.execute_transaction(&repeated()));
        let taken = "SELECT s_ytd, s_order_cnt FROM stock WHERE s_w_id = 1 AND s_i_id = 7";
        assert_eq!(bed.ask(taken), "29|3", "{mode:?}");
        // The wrong form: a list in an UPDATE touches a row once.
        bed.ask(
            "UPDATE stock SET s_ytd = s_ytd + q, s_order_cnt = s_order_cnt + 1 \
             FROM unnest(ARRAY[7, 7, 7], ARRAY[10, 9, 10]) AS asked (item, q) WHERE s_w_id = 1 AND s_i_id = item",
        );
        assert_eq!(bed.ask(taken), "39|4", "one of three lines");
    }
}

#[test]
fn the_answer_to_a_commit_is_read() {
    let Some(bed) = Bed::loaded() else { return };
    // The wrong form: no error says that the work is lost.
    let mut other = bed.other();
    let input = b"BEGIN; UPDATE warehouse SET w_name = 'lost';\n\\set ON_ERROR_STOP 0\nSELECT 1 / 0;\n\\set QUIET off\nCOMMIT;\n";
    other.stdin.take().unwrap().write_all(input).unwrap();
    let output = other.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("ROLLBACK"), "{output:?}");
    // Ours: what fails after the first flight, in both modes, is an error and leaves nothing.
    bed.ask(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$; \
             CREATE TRIGGER t BEFORE INSERT ON order_line FOR EACH ROW EXECUTE FUNCTION no()",
    );
    let order = parameters(1, 2).numbered_transaction(TransactionKind::NewOrder, 0, Home::All);
    for mode in [Mode::Procedures, Mode::Client] {
        let mut session = bed.session(&bed.permit(), mode);
        let before = read_totals(session.connection_mut()).unwrap();
        let fault = session.carry_out_transaction(&order).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.again), ("P0001", false), "{mode:?}: {fault}");
        assert_eq!(read_totals(session.connection_mut()).unwrap(), before, "{mode:?}");
        let payment = parameters(1, 2).numbered_transaction(TransactionKind::Payment, 1, Home::All);
        session.carry_out_transaction(&payment).unwrap();
    }
}

/// Two deliveries at the same time: the second one waits and then takes the next orders.
#[test]
fn two_deliveries_take_different_orders() {
    for mode in [Mode::Procedures, Mode::Client] {
        let Some(bed) = Bed::loaded() else { return };
        let permit = bed.permit();
        let mut session = bed.session(&permit, mode);
        let process = session.connection_mut().server_process();
        let mut other = bed.other();
        let mut input = other.stdin.take().unwrap();
        // Somebody delivers the oldest order of each district of the first warehouse, and has not committed yet.
        let deliver = "BEGIN; DELETE FROM new_order WHERE no_w_id = 1 AND no_o_id = 22; SELECT 'done';\n";
        input.write_all(deliver.as_bytes()).unwrap();
        while bed.ask("SELECT count(*) FROM pg_locks WHERE relation = 'assay_tpcc.new_order'::regclass AND mode = 'RowExclusiveLock'") == "0" {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let number = (0..).find(|number| {
            matches!(parameters(1, 2).numbered_transaction(TransactionKind::Delivery, *number, Home::All),
                     Transaction::Delivery(asked) if asked.warehouse == 1)
        });
        let delivery = parameters(1, 2).numbered_transaction(TransactionKind::Delivery, number.unwrap(), Home::All);
        let outcome = std::thread::scope(|scope| {
            let delivering = scope.spawn(|| session.carry_out_transaction(&delivery));
            let waits =
                format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {process} AND wait_event_type = 'Lock'");
            while bed.ask(&waits) == "0" {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            input.write_all(b"COMMIT;\n").unwrap();
            drop(input);
            delivering.join().unwrap()
        });
        assert!(other.wait().unwrap().success());
        let Outcome::Delivered(delivered) = outcome.unwrap() else { panic!("another kind") };
        assert_eq!(delivered.orders, vec![Some(23); 10], "{mode:?}: the next orders, and none is skipped");
    }
}

/// The wrong form of the oldest new order: of two deliveries the second one deletes nothing.
#[test]
fn the_smallest_number_is_not_looked_up_without_a_lock() {
    let Some(bed) = Bed::loaded() else { return };
    let wrong = "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = \
                 (SELECT min(no_o_id) FROM new_order WHERE no_w_id = 1 AND no_d_id = 1) RETURNING no_o_id";
    let (mut first, mut second) = (bed.other(), bed.other());
    let mut input = first.stdin.take().unwrap();
    input.write_all(format!("BEGIN; {wrong};\n").as_bytes()).unwrap();
    let locked =
        "SELECT count(*) FROM pg_locks WHERE relation = 'assay_tpcc.new_order'::regclass AND mode = 'RowExclusiveLock'";
    let until = |sql: &str, wanted: &str| {
        while bed.ask(sql) != wanted {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    until(locked, "1");
    second.stdin.take().unwrap().write_all(format!("{wrong};\n").as_bytes()).unwrap();
    let waits = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND wait_event_type = 'Lock'",
        bed.database
    );
    until(&waits, "1");
    input.write_all(b"COMMIT;\n").unwrap();
    drop(input);
    let said = |child: std::process::Child| String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!((said(first).trim(), said(second).trim()), ("22", ""), "the second delivery deletes nothing");
}

/// What a role carries is seen where it matters, in the session itself.
#[test]
fn settings_are_those_of_the_session() {
    let Some(bed) = Bed::loaded() else { return };
    let permit = bed.permit();
    let of_server = bed.connection_with(&permit);
    let in_memory = of_server.session_settings().in_memory.is_some();
    assert_eq!(
        of_server.session_settings().not_durable().len(),
        1 + usize::from(in_memory),
        "fsync=off of this cluster"
    );
    assert_eq!(of_server.session_settings().directories.as_ref().unwrap().data, bed.cluster.dir.join("data"));
    let role = format!("weak_{}", bed.database);
    bed.ask(&format!(
        "CREATE ROLE {role} LOGIN SUPERUSER; ALTER ROLE {role} SET synchronous_commit = off; \
         ALTER ROLE {role} SET default_transaction_isolation = 'serializable'; \
         ALTER ROLE {role} SET search_path = 'public'; ALTER TABLE history SET UNLOGGED"
    ));
    let weak = Connection::open_permitted(&permit, &bed.url_as(&role)).unwrap();
    let reasons = weak.session_settings().not_durable().join("; ");
    assert!(reasons.contains("synchronous_commit=off") && reasons.contains("unlogged tables: history"), "{reasons}");
    assert_eq!(weak.session_settings().setting_value("default_transaction_isolation"), "read committed");
    // With the isolation of the role, a payment that waited for another one would be an error.
    let mut session = Session::new(weak, small().row_scale(), Mode::Procedures).unwrap();
    assert!(
        session
            .carry_out_transaction(&parameters(1, 2).numbered_transaction(TransactionKind::Payment, 1, Home::All))
            .is_ok()
    );
}

/// A table may lie somewhere else than the data directory, here in memory.
#[test]
fn a_tablespace_of_a_table_is_one_of_the_servers_directories() {
    let Some(bed) = Bed::loaded() else { return };
    let Ok(dir) = tempfile::tempdir_in("/dev/shm") else { return };
    if rustix::process::geteuid().is_root() {
        let owner = std::process::Command::new("chown").arg("nobody:nogroup").arg(dir.path()).status().unwrap();
        assert!(owner.success());
    }
    let (name, path) = (format!("memory_{}", bed.database), dir.path().display());
    bed.ask_alone(&format!("CREATE TABLESPACE {name} LOCATION '{path}'"));
    let permit = bed.permit();
    let elsewhere =
        |bed: &Bed| bed.connection_with(&permit).session_settings().directories.clone().unwrap().tablespaces;
    assert_eq!(elsewhere(&bed), Vec::<std::path::PathBuf>::new(), "nothing is in it");
    bed.ask(&format!("ALTER TABLE item SET TABLESPACE {name}"));
    assert_eq!(elsewhere(&bed), [dir.path()]);
    let reasons = bed.connection_with(&permit).session_settings().not_durable().join("; ");
    assert!(reasons.contains("is on a file system in memory"), "{reasons}");
    bed.ask("ALTER TABLE item SET TABLESPACE pg_default");
    bed.ask_alone(&format!("DROP TABLESPACE {name}"));
}

/// A row that must exist and does not is a fault of the data, in both modes, and leaves no trace.
#[test]
fn a_missing_row_is_a_fault_of_the_data() {
    for spoil in ["DELETE FROM district", "DELETE FROM customer", "DELETE FROM stock", "DELETE FROM warehouse"] {
        let Some(bed) = Bed::loaded() else { return };
        bed.ask(spoil);
        let permit = bed.permit();
        for mode in [Mode::Procedures, Mode::Client] {
            let mut session = bed.session(&permit, mode);
            let before = read_totals(session.connection_mut()).unwrap();
            let order = parameters(1, 2).numbered_transaction(TransactionKind::NewOrder, 0, Home::All);
            let fault = session.carry_out_transaction(&order).unwrap_err();
            assert_eq!((fault.code.as_str(), fault.again), (Fault::MISSING_ROW, false), "{spoil} {mode:?}: {fault}");
            assert_eq!(read_totals(session.connection_mut()).unwrap(), before, "{spoil} {mode:?}");
        }
    }
}
