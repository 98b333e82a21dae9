//! What fails while transactions run: each has its code, leaves no trace, and says whether it may be tried again.

use crate::bed::{Bed, Server, small};
use crate::driven::{WAYS, execute};
use crate::shared::{Small, parameters};
use assay_model::tpcc::{Home, Transaction, TransactionKind};
use assay_sql::mysql::gate::Permit;
use assay_sql::mysql::{Connection, Mode, Session, check_conditions, read_totals};
use assay_sql::{Fault, TroubleKind as Class};
use std::io::Write;

const MODES: [Mode; 2] = [Mode::Procedures, Mode::Client];
/// Somebody holds the rows of the warehouses.
const HOLD: &str = "START TRANSACTION; UPDATE warehouse SET w_street_1 = 'held'";

fn payment() -> Transaction {
    parameters(1, 2).numbered_transaction(TransactionKind::Payment, 1, Home::All)
}

/// A connection that the server ends takes its transaction with it. A call that commits itself may have done so before;
/// a first flight cannot.
#[test]
fn a_connection_that_is_ended_leaves_an_unknown_outcome_only_where_it_may_have_committed() {
    for ((mode, by), how) in WAYS.into_iter().flat_map(|way| ["KILL CONNECTION", "KILL QUERY"].map(|how| (way, how))) {
        let codes = match (mode, how) {
            (Mode::Procedures, _) => &[Fault::OUTCOME_UNKNOWN][..],
            (Mode::Client, "KILL CONNECTION") => &["1927", Fault::LOST],
            (Mode::Client, _) => &["1317"],
        };
        let Some(bed) = Bed::loaded() else { return };
        let permit = bed.permit();
        let mut session = bed.session(&permit, mode);
        let before = read_totals(session.connection_mut()).unwrap();
        let (mut other, input) = bed.other(HOLD);
        let thread = session.connection_mut().server_thread();
        let fault = std::thread::scope(|scope| {
            let paying = scope.spawn(|| execute(&mut session, by, &payment()));
            bed.until_waits(thread);
            bed.ask(&format!("{how} {thread}"));
            paying.join().unwrap().unwrap_err()
        });
        assert!(codes.contains(&fault.code.as_str()) && !fault.again, "{mode:?} {how}: {fault}");
        drop(input);
        other.wait().unwrap();
        execute(&mut session, by, &payment()).unwrap();
        let after = read_totals(session.connection_mut()).unwrap();
        assert_eq!(after.payments, before.payments + 1, "{mode:?} {how}: the session goes on, and paid once");
        assert_eq!(check_conditions(session.connection_mut(), small()).unwrap(), []);
    }
}

#[test]
fn a_lock_that_takes_too_long_and_a_deadlock_may_be_tried_again() {
    let Some(server) = Server::make("--innodb-lock-wait-timeout=1 --innodb-flush-method=nosync") else { return };
    let bed = Bed::of(server);
    bed.load(small(), 2).unwrap();
    let permit = bed.permit();
    for (mode, by) in WAYS {
        let mut session = bed.session(&permit, mode);
        // The server undoes one statement only: what came before must not stay locked.
        let (mut other, input) = bed.other("START TRANSACTION; UPDATE district SET d_street_1 = 'held'");
        let fault = execute(&mut session, by, &payment()).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.again), ("1205", true), "{mode:?}: {fault}");
        assert_eq!(bed.transaction(session.connection_mut().server_thread()), None, "{mode:?}");
        drop(input);
        other.wait().unwrap();
        execute(&mut session, by, &payment()).unwrap();
    }
    bed.server.restart("--innodb-flush-method=nosync");
    let permit = bed.permit();
    for (mode, by) in WAYS {
        // Somebody has changed more rows, so that ours is the one that the server ends, and then wants the warehouse.
        let mut session = bed.session(&permit, mode);
        let many = "START TRANSACTION; UPDATE stock SET s_data = concat(s_data, ''), s_ytd = s_ytd + 1; \
                    UPDATE district SET d_street_1 = 'x'";
        let (mut other, mut input) = bed.other(many);
        let thread = session.connection_mut().server_thread();
        let fault = std::thread::scope(|scope| {
            let paying = scope.spawn(|| execute(&mut session, by, &payment()));
            bed.until_waits(thread);
            input.write_all(b"UPDATE warehouse SET w_street_1 = 'x'; ROLLBACK;\n").unwrap();
            paying.join().unwrap().unwrap_err()
        });
        assert_eq!((fault.code.as_str(), fault.again), ("1213", true), "{mode:?}: {fault}");
        drop(input);
        assert!(other.wait().unwrap().success());
        execute(&mut session, by, &payment()).unwrap();
        assert_eq!(check_conditions(session.connection_mut(), small()).unwrap(), []);
    }
}

#[test]
fn a_user_who_may_only_read_cannot_write() {
    let Some(bed) = Bed::loaded() else { return };
    let user = format!("reads_{}", bed.database);
    bed.ask(&format!("CREATE USER {user}; GRANT SELECT, EXECUTE, SHOW VIEW ON {0}.* TO {user}", bed.database));
    let permit = bed.permit();
    for mode in MODES {
        let connection = Connection::open_permitted(&permit, &bed.url_as(&user)).unwrap();
        let mut session = match Session::new(connection, small().row_scale(), mode) {
            Ok(session) => session,
            // Who did not make the procedures may not see what they do.
            Err(trouble) => {
                assert!(mode == Mode::Procedures && trouble.kind == Class::NotReady, "{trouble}");
                continue;
            }
        };
        assert_eq!(session.carry_out_transaction(&payment()).unwrap_err().code, "1142");
        session
            .carry_out_transaction(&parameters(1, 2).numbered_transaction(TransactionKind::StockLevel, 1, Home::All))
            .unwrap();
    }
}

/// A server that stands still does not answer a new client, which gives up after ten seconds.
#[test]
fn a_server_that_stands_still_is_the_hosts_fault() {
    let Some(server) = Server::make("--innodb-flush-method=nosync") else { return };
    let bed = Bed::of(server);
    let process = bed.server.process();
    rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
    let trouble = Permit::to_load(&bed.url()).unwrap_err();
    rustix::process::kill_process(process, rustix::process::Signal::CONT).unwrap();
    assert!(trouble.kind == Class::Host && trouble.to_string().contains("does not answer"), "{trouble}");
}

#[test]
fn a_load_onto_a_disk_that_is_full_says_so_and_goes_on_when_there_is_room() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root may mount a small file system");
        return;
    }
    let Some(server) = Server::make("--innodb-flush-method=nosync") else { return };
    let bed = Bed::of(server);
    bed.ask_server("CREATE DATABASE shop");
    let files = bed.server.dir.join("data/shop");
    let options = std::fs::read(files.join("db.opt")).unwrap();
    let small = Small::mount(&files, "size=16m,uid=nobody,mode=0700");
    std::fs::write(files.join("db.opt"), options).unwrap();
    let scale = assay_model::tpcc::Scale::for_tests(20_000, 600);
    let population = assay_model::tpcc::Population::new(scale, 2, 5);
    let trouble = bed.load(population, 2).unwrap_err();
    let text = trouble.to_string();
    assert!(trouble.kind == Class::Host && text.contains("1114") && text.contains("make room"), "{text}");
    small.grow("300m");
    // MariaDB ends if it finds no room while it rolls back, which happens in one of ten times.
    bed.server.restart("--innodb-flush-method=nosync");
    assert!(bed.load(population, 2).unwrap().complete);
    assert_eq!(check_conditions(&mut bed.connection(), population).unwrap(), []);
    // The server must not lose files that it has open.
    bed.server.stop();
    drop(small);
    std::fs::remove_dir_all(&bed.server.dir).unwrap();
}
