//! The checks in SQL find what the pure checks find, and each finds a row that was planted.

use crate::bed::{Bed, small};
use crate::planted::PLANTED;
use assay_model::tpcc::Table;
use assay_model::tpcc::checks::{Check, Violation, check_database as pure};
use assay_model::tpcc::interpreter::Database;
use assay_sql::TroubleKind;
use assay_sql::postgres::check_conditions;

fn found(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(ToString::to_string).collect()
}

/// In one transaction of somebody else's that is rolled back the checks would not see the row, so that each row is
/// planted in a copy of the database.
#[test]
fn each_planted_row_is_found_by_sql_as_by_the_pure_checks() {
    let Some(bed) = Bed::loaded() else { return };
    let (loaded, population) = (Database::from_population(small()), small());
    let mut hit = std::collections::BTreeSet::new();
    for (sql, spoil, names) in PLANTED {
        let copy = Bed { cluster: bed.cluster, database: format!("{}_copy", bed.database) };
        let (of, to) = (&bed.database, &copy.database);
        let template = Bed { cluster: bed.cluster, database: "template1".into() };
        // The server may still be busy ending the last connection to one of them.
        template.ask_alone(&format!("DROP DATABASE IF EXISTS {to} WITH (FORCE)"));
        template.ask_alone(&format!("CREATE DATABASE {to} TEMPLATE {of}"));
        let moment = "'1970-01-01 00:00:00.000001+00'";
        copy.ask(&sql.replace("CENT", "0.01").replace("MOMENT", moment));
        let mut database = loaded.clone();
        spoil(&mut database);
        let (in_sql, wanted) =
            (check_conditions(&mut copy.connection(), population).unwrap(), pure(&database, population));
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
    for table in Table::ALL.map(Table::table_name) {
        let Some(bed) = Bed::loaded() else { return };
        let mut connection = bed.connection();
        // The customers and the orders have a second, unique index.
        bed.ask(&format!(
            "ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {table}_pkey; \
             DROP INDEX IF EXISTS customer_by_name, orders_by_customer"
        ));
        assert_eq!(check_conditions(&mut connection, small()).unwrap(), [], "{table}: without its key it is the same");
        bed.ask(&format!("INSERT INTO {table} SELECT * FROM {table} LIMIT 1"));
        assert_ne!(check_conditions(&mut connection, small()).unwrap(), [], "{table}");
    }
}

#[test]
fn many_violations_give_a_short_list() {
    let Some(bed) = Bed::loaded() else { return };
    bed.ask("UPDATE customer SET c_balance = 0; DELETE FROM new_order");
    let mut database = Database::from_population(small());
    database.customers.values_mut().for_each(|row| row.account.balance = 0);
    database.new_orders.clear();
    let (in_sql, wanted) = (check_conditions(&mut bed.connection(), small()).unwrap(), pure(&database, small()));
    assert_eq!(found(&in_sql), found(&wanted));
    assert!(in_sql.len() > 30, "{}", in_sql.len());
}

#[test]
fn a_database_that_lacks_a_table_is_damaged() {
    let Some(bed) = Bed::loaded() else { return };
    bed.ask("DROP TABLE order_line");
    let mut connection = bed.connection();
    let trouble = check_conditions(&mut connection, small()).unwrap_err();
    assert!(trouble.kind == TroubleKind::Damaged && trouble.to_string().contains("is damaged: 42P01"), "{trouble}");
    let trouble = check_conditions(&mut connection, small()).unwrap_err();
    assert_eq!(trouble.kind, TroubleKind::Damaged, "the connection is not left in a failed transaction: {trouble}");
}
