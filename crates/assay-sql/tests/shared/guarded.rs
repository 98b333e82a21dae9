//! The lock that keeps another Assay out ends with a connection of its own: what happens when that connection is lost.

use crate::bed::dialect::gate::Permit;
use crate::bed::dialect::{Loading, Mode, load_missing, read_totals};
use crate::bed::{Bed, small, sums_of};
use crate::shared::parameters;
use assay_model::tpcc::interpreter::Database;
use assay_model::tpcc::{Home, Transaction, TransactionKind};
use assay_sql::{Progress, Trouble, TroubleKind as Class};
use std::ops::ControlFlow;

fn payment() -> Transaction {
    parameters(1, 2).numbered_transaction(TransactionKind::Payment, 1, Home::All)
}

/// Until the server has given the lock of a connection back that it has ended.
fn patiently<T>(mut body: impl FnMut() -> Result<T, Trouble>) -> T {
    for _ in 0..200 {
        match body() {
            Err(trouble) if trouble.to_string().contains("in use by another Assay") => {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            done => return done.unwrap(),
        }
    }
    panic!("the lock of a connection that was ended stays");
}

fn is_kept_out(bed: &Bed) {
    let trouble = Permit::to_load(&bed.url()).unwrap_err();
    assert!(trouble.kind == Class::Refused && trouble.to_string().contains("in use by another Assay"), "{trouble}");
}

#[test]
fn a_lock_that_was_lost_is_taken_again_by_whoever_connects_next() {
    let Some(bed) = Bed::loaded() else { return };
    let permit = bed.permit();
    permit.ensure_held().unwrap();
    assert!(!permit.was_lost());
    bed.end_the_lock();
    permit.ensure_held().unwrap();
    assert!(permit.was_lost());
    is_kept_out(&bed);
    let mut session = bed.session(&permit, Mode::Client);
    bed.end_the_lock();
    bed.end(&mut session);
    session.carry_out_transaction(&payment()).unwrap_err();
    session.carry_out_transaction(&payment()).unwrap();
    is_kept_out(&bed);
}

#[test]
fn no_session_goes_on_in_a_database_that_another_assay_has() {
    let Some(bed) = Bed::loaded() else { return };
    let permit = bed.permit();
    let mut session = bed.session(&permit, Mode::Client);
    let before = read_totals(session.connection_mut()).unwrap();
    bed.end_the_lock();
    let other = patiently(|| Permit::to_use(&bed.url()));
    bed.end(&mut session);
    session.carry_out_transaction(&payment()).unwrap_err();
    let fault = session.carry_out_transaction(&payment()).unwrap_err();
    assert!(fault.text.contains("cannot be taken again") && fault.text.contains("another Assay"), "{fault}");
    drop(other);
    let fault = session.carry_out_transaction(&payment()).unwrap_err();
    assert!(fault.text.contains("another Assay"), "the other one may have left another load: {fault}");
    assert_eq!(permit.ensure_held().unwrap_err().kind, Class::Refused);
    drop((session, permit));
    assert_eq!(read_totals(&mut bed.connection()).unwrap(), before, "nothing was written");
}

#[test]
fn a_database_that_was_loaded_anew_meanwhile_is_left_alone() {
    let Some(bed) = Bed::loaded() else { return };
    let permit = bed.permit();
    bed.end_the_lock();
    let anew = Loading { clear: true, run: "other".into(), ..bed.loading(small(), 2) };
    assert!(patiently(|| load_missing(&anew, &mut |_| ControlFlow::Continue(()))).complete);
    let trouble = permit.ensure_held().unwrap_err();
    assert!(trouble.kind == Class::Refused && trouble.to_string().contains("has loaded or cleared"), "{trouble}");
}

/// Another load may have begun, whose parts would be mixed with ours.
#[test]
fn a_load_that_lost_its_lock_ends_and_goes_on_when_it_is_repeated() {
    let Some(bed) = Bed::new() else { return };
    let mut has_ended = false;
    let mut watch = |progress: Progress| {
        if progress.done > 500 && !has_ended {
            bed.end_the_lock();
            has_ended = true;
        }
        ControlFlow::Continue(())
    };
    let trouble = load_missing(&bed.loading(small(), 1), &mut watch).unwrap_err();
    assert!(trouble.kind == Class::Host && trouble.to_string().contains("repeat the command"), "{trouble}");
    assert!(patiently(|| bed.load(small(), 1)).complete);
    assert_eq!(bed.sums(), sums_of(&Database::from_population(small())));
}
