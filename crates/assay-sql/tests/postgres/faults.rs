//! What fails while transactions run: each has its code, leaves no trace, and says whether it may be tried again.

use crate::bed::{Bed, small};
use crate::driven::{WAYS, execute};
use crate::shared::Small;
use crate::transactions::parameters;
use assay_model::tpcc::{Home, Transaction, TransactionKind};
use assay_sql::postgres::gate::Permit;
use assay_sql::postgres::{Connection, Mode, Session, check_conditions, read_totals};
use assay_sql::{Fault, TroubleKind as Class};
use std::io::Write;
use std::time::Duration;

fn until(bed: &Bed, sql: &str) {
    while bed.ask(sql) == "0" {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Somebody holds a row of the first warehouse.
fn held(bed: &Bed) -> (std::process::Child, std::process::ChildStdin) {
    let mut other = bed.other();
    let mut input = other.stdin.take().unwrap();
    input.write_all(b"BEGIN; UPDATE warehouse SET w_ytd = w_ytd;\n").unwrap();
    until(
        bed,
        "SELECT count(*) FROM pg_locks WHERE relation = 'assay_tpcc.warehouse'::regclass AND mode = 'RowExclusiveLock'",
    );
    (other, input)
}

fn waits(process: i32) -> String {
    format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {process} AND wait_event_type = 'Lock'")
}

fn payment() -> Transaction {
    parameters(1, 2).numbered_transaction(TransactionKind::Payment, 1, Home::All)
}

#[test]
fn a_server_process_that_is_ended_takes_its_transaction_with_it() {
    for (mode, by) in WAYS {
        let Some(bed) = Bed::loaded() else { return };
        let permit = bed.permit();
        let mut session = bed.session(&permit, mode);
        let before = read_totals(session.connection_mut()).unwrap();
        let (mut other, input) = held(&bed);
        let process = session.connection_mut().server_process();
        let fault = std::thread::scope(|scope| {
            let paying = scope.spawn(|| execute(&mut session, by, &payment()));
            until(&bed, &waits(process));
            bed.ask(&format!("SELECT pg_terminate_backend({process})"));
            paying.join().unwrap().unwrap_err()
        });
        assert_eq!((fault.code.as_str(), fault.again), ("57P01", false), "{mode:?}: {fault}");
        drop(input);
        other.wait().unwrap();
        assert!(read_totals(session.connection_mut()).is_err(), "the connection is gone");
        session.carry_out_transaction(&payment()).unwrap();
        let after = read_totals(session.connection_mut()).unwrap();
        assert_eq!(after.payments, before.payments + 1, "the session connected again, and paid once");
    }
}

/// A process that is killed says nothing: a call that commits itself may have been committed, and a first flight cannot.
#[test]
fn a_connection_that_is_cut_leaves_an_unknown_outcome_only_where_it_may_have_committed() {
    for (mode, by) in WAYS {
        let code = if mode == Mode::Procedures { Fault::OUTCOME_UNKNOWN } else { Fault::LOST };
        let Some(cluster) = crate::bed::Cluster::make("") else { return };
        let bed = Bed::of(Box::leak(Box::new(cluster)));
        bed.load(small(), 2).unwrap();
        let permit = bed.permit();
        let mut session = bed.session(&permit, mode);
        let (mut other, input) = held(&bed);
        let process = session.connection_mut().server_process();
        let fault = std::thread::scope(|scope| {
            let paying = scope.spawn(|| execute(&mut session, by, &payment()));
            until(&bed, &waits(process));
            let pid = rustix::process::Pid::from_raw(process).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            paying.join().unwrap().unwrap_err()
        });
        assert_eq!((fault.code.as_str(), fault.again), (code, false), "{fault}");
        drop(input);
        // The server ended this session too.
        let _ = other.wait();
    }
}

#[test]
fn a_lock_that_takes_too_long_and_a_deadlock_have_their_codes() {
    let Some(bed) = Bed::loaded() else { return };
    let role = format!("hasty_{}", bed.database);
    bed.ask(&format!("CREATE ROLE {role} LOGIN SUPERUSER; ALTER ROLE {role} SET lock_timeout = '50ms'"));
    for (mode, by) in WAYS {
        let permit = bed.permit();
        let connection = Connection::open_permitted(&permit, &bed.url_as(&role)).unwrap();
        let mut session = Session::new(connection, small().row_scale(), mode).unwrap();
        let (mut other, input) = held(&bed);
        let fault = execute(&mut session, by, &payment()).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.again), ("55P03", false), "{mode:?}: {fault}");
        drop(input);
        other.wait().unwrap();
        execute(&mut session, by, &payment()).unwrap();
        // Somebody else locks a district first and then the warehouse, in the wrong order.
        let mut session = bed.session(&permit, mode);
        let mut other = bed.other();
        let mut input = other.stdin.take().unwrap();
        input.write_all(b"SET deadlock_timeout = '1h'; BEGIN; UPDATE district SET d_ytd = d_ytd;\n").unwrap();
        until(
            &bed,
            "SELECT count(*) FROM pg_locks WHERE relation = 'assay_tpcc.district'::regclass AND mode = 'RowExclusiveLock'",
        );
        let process = session.connection_mut().server_process();
        let fault = std::thread::scope(|scope| {
            let paying = scope.spawn(|| execute(&mut session, by, &payment()));
            until(&bed, &waits(process));
            input.write_all(b"UPDATE warehouse SET w_ytd = w_ytd;\n").unwrap();
            paying.join().unwrap().unwrap_err()
        });
        assert_eq!((fault.code.as_str(), fault.again), ("40P01", true), "{mode:?}: {fault}");
        drop(input);
        assert!(other.wait().unwrap().success());
        execute(&mut session, by, &payment()).unwrap();
        assert_eq!(check_conditions(session.connection_mut(), small()).unwrap(), []);
    }
}

#[test]
fn a_role_that_may_only_read_cannot_write() {
    let Some(bed) = Bed::loaded() else { return };
    let role = format!("reads_{}", bed.database);
    bed.ask(&format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA assay_tpcc TO {role}; \
         GRANT SELECT ON ALL TABLES IN SCHEMA assay_tpcc TO {role}"
    ));
    let permit = bed.permit();
    for mode in [Mode::Procedures, Mode::Client] {
        let connection = Connection::open_permitted(&permit, &bed.url_as(&role)).unwrap();
        let mut session = Session::new(connection, small().row_scale(), mode).unwrap();
        assert_eq!(session.carry_out_transaction(&payment()).unwrap_err().code, "42501");
        let level = parameters(1, 2).numbered_transaction(TransactionKind::StockLevel, 1, Home::All);
        session.carry_out_transaction(&level).unwrap();
    }
}

/// A server that stands still does not answer a new client, which gives up after ten seconds.
#[test]
fn a_server_that_stands_still_is_the_hosts_fault() {
    let Some(cluster) = crate::bed::Cluster::make("") else { return };
    let bed = Bed::of(Box::leak(Box::new(cluster)));
    let server = bed.cluster.server();
    rustix::process::kill_process(server, rustix::process::Signal::STOP).unwrap();
    let trouble = Permit::to_load(&bed.url()).unwrap_err();
    rustix::process::kill_process(server, rustix::process::Signal::CONT).unwrap();
    assert!(trouble.kind == Class::Host && trouble.to_string().contains("does not answer"), "{trouble}");
}

#[test]
fn a_load_onto_a_disk_that_is_full_says_so_and_goes_on_when_there_is_room() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root may mount a small file system");
        return;
    }
    let Some(cluster) = crate::bed::Cluster::make("-c fsync=off") else { return };
    let bed = Bed::of(Box::leak(Box::new(cluster)));
    std::fs::create_dir(bed.cluster.dir.join("small")).unwrap();
    let small = Small::mount(&bed.cluster.dir.join("small"), "size=16m,uid=nobody,mode=0700");
    bed.ask_alone(&format!("CREATE TABLESPACE small LOCATION '{}'", small.0.display()));
    bed.ask_alone(&format!("ALTER DATABASE {} SET default_tablespace = small", bed.database));
    let scale = assay_model::tpcc::Scale::for_tests(20_000, 600);
    let population = assay_model::tpcc::Population::new(scale, 2, 5);
    let trouble = bed.load(population, 2).unwrap_err();
    let text = trouble.to_string();
    assert!(trouble.kind == Class::Host && text.contains("53100") && text.contains("make room"), "{text}");
    small.grow("300m");
    assert!(bed.load(population, 2).unwrap().complete);
    assert_eq!(check_conditions(&mut bed.connection(), population).unwrap(), []);
}
