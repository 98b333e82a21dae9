//! The checks in SQL find what the pure checks find, and each finds a row that was planted.

use crate::bed::{Bed, small};
use crate::planted::PLANTED;
use assay_model::tpcc::Table;
use assay_model::tpcc::checks::{Check, Violation, check_database as pure};
use assay_model::tpcc::interpreter::Database;
use assay_sql::TroubleKind;
use assay_sql::sqlite::{check_conditions, open_for_run};

fn found(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(ToString::to_string).collect()
}

#[test]
fn each_planted_row_is_found_by_sql_as_by_the_pure_checks() {
    let bed = Bed::loaded();
    let (loaded, population) = (Database::from_population(small()), small());
    let mut hit = std::collections::BTreeSet::new();
    for (sql, spoil, names) in PLANTED {
        let copy = Bed::new();
        std::fs::copy(&bed.path, &copy.path).unwrap();
        copy.change_all(&sql.replace("CENT", "1").replace("MOMENT", "1"));
        let mut database = loaded.clone();
        spoil(&mut database);
        let (in_sql, wanted) = (check_conditions(&copy.connection(), population).unwrap(), pure(&database, population));
        assert_eq!(found(&in_sql), found(&wanted), "{sql}");
        let mut checks: Vec<&str> = in_sql.iter().map(|violation| violation.check.condition_name()).collect();
        let mut names = names.to_vec();
        checks.dedup();
        names.dedup();
        assert_eq!(checks, names, "{sql}");
        hit.extend(checks);
    }
    assert_eq!(hit.len(), Check::ALL.len(), "each check has a row that it finds: {hit:?}");
}

/// A table whose key somebody has taken away may have a row twice.
#[test]
fn a_row_that_is_there_twice_is_found_in_every_table() {
    let bed = Bed::loaded();
    for table in Table::ALL.map(Table::table_name) {
        let copy = Bed::new();
        std::fs::copy(&bed.path, &copy.path).unwrap();
        copy.change_all(&format!(
            "CREATE TABLE without_key AS SELECT * FROM {table}; DROP TABLE {table}; \
             ALTER TABLE without_key RENAME TO {table}"
        ));
        let connection = copy.connection();
        assert_eq!(check_conditions(&connection, small()).unwrap(), [], "{table}: without its key it is the same");
        copy.change_all(&format!("INSERT INTO {table} SELECT * FROM {table} LIMIT 1"));
        assert_ne!(check_conditions(&connection, small()).unwrap(), [], "{table}");
    }
}

/// A database that is wrong everywhere gives the same short list.
#[test]
fn many_violations_give_a_short_list() {
    let bed = Bed::loaded();
    bed.change("UPDATE customer SET c_balance = 0");
    bed.change("DELETE FROM new_order");
    let mut database = Database::from_population(small());
    database.customers.values_mut().for_each(|row| row.account.balance = 0);
    database.new_orders.clear();
    let (in_sql, wanted) = (check_conditions(&bed.connection(), small()).unwrap(), pure(&database, small()));
    assert_eq!(found(&in_sql), found(&wanted));
    assert!(in_sql.len() > 30, "{}", in_sql.len());
}

#[test]
fn a_database_that_lacks_a_table_is_damaged() {
    let bed = Bed::loaded();
    bed.change("DROP TABLE order_line");
    let trouble = check_conditions(&bed.connection(), small()).unwrap_err();
    assert!(trouble.to_string().contains("is damaged: SQLITE_ERROR: no such table: main.order_line"), "{trouble}");
    assert_eq!(trouble.kind, TroubleKind::Damaged);
}

/// A page of zeros anywhere is found, also where no condition looks.
#[test]
fn pages_that_a_disk_has_lost_are_noticed() {
    const PAGE: usize = 4096;
    let bed = Bed::loaded();
    let whole = std::fs::read(&bed.path).unwrap();
    let pages = whole.len() / PAGE;
    for at in (1..pages).step_by(pages / 30) {
        let copy = Bed::new();
        let mut bytes = whole.clone();
        bytes[at * PAGE..(at + 1) * PAGE].fill(0);
        std::fs::write(&copy.path, bytes).unwrap();
        let opened = open_for_run(&copy.url(), None);
        let trouble = opened.and_then(|(_, connection, _)| check_conditions(&connection, small())).unwrap_err();
        assert!(
            trouble.kind == TroubleKind::Damaged && trouble.to_string().contains("is damaged: "),
            "page {at}: {trouble}"
        );
    }
}
