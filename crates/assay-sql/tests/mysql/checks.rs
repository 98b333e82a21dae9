//! The checks in SQL find what the pure checks find, and each finds a row that was planted.

use crate::bed::{Bed, small};
use crate::planted::PLANTED;
use assay_model::tpcc::Table;
use assay_model::tpcc::checks::{Check, Violation, check_database as pure};
use assay_model::tpcc::interpreter::Database;
use assay_sql::TroubleKind;
use assay_sql::mysql::check_conditions;
use std::collections::BTreeSet;

fn found(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(ToString::to_string).collect()
}

#[test]
fn each_planted_row_is_found_by_sql_as_by_the_pure_checks() {
    let Some(bed) = Bed::loaded() else { return };
    let (loaded, population) = (Database::from_population(small()), small());
    let kept = format!("{}_kept", bed.database);
    let tables: Vec<&str> = Table::ALL.iter().map(|table| table.table_name()).collect();
    let keep = tables.iter().map(|name| format!("CREATE TABLE {kept}.{name} SELECT * FROM {name};"));
    bed.ask(&format!("CREATE DATABASE {kept}; {}", keep.collect::<String>()));
    let restore =
        tables.iter().map(|name| format!("DELETE FROM {name}; INSERT INTO {name} SELECT * FROM {kept}.{name};"));
    let restore: String = restore.collect();
    let mut connection = bed.connection();
    let mut hit = BTreeSet::new();
    for (sql, spoil, names) in PLANTED {
        let moment = "'1970-01-01 00:00:00.000001'";
        bed.ask(&sql.replace("CENT", "0.01").replace("MOMENT", moment));
        let mut database = loaded.clone();
        spoil(&mut database);
        let (in_sql, wanted) = (check_conditions(&mut connection, population).unwrap(), pure(&database, population));
        assert_eq!(found(&in_sql), found(&wanted), "{sql}");
        let mut checks: Vec<&str> = in_sql.iter().map(|violation| violation.check.condition_name()).collect();
        let mut names = names.to_vec();
        checks.dedup();
        names.dedup();
        assert_eq!(checks, names, "{sql}");
        hit.extend(checks);
        bed.ask(&format!("START TRANSACTION; {restore} COMMIT"));
    }
    assert_eq!(hit.len(), Check::ALL.len(), "each check has a row that it finds: {hit:?}");
}

/// A table whose keys somebody has taken away may have a row twice.
#[test]
fn a_row_that_is_there_twice_is_found_in_every_table() {
    for table in Table::ALL {
        let Some(bed) = Bed::loaded() else { return };
        let (mut connection, name) = (bed.connection(), table.table_name());
        let key = (!table.key_columns().is_empty()).then(|| "DROP PRIMARY KEY".to_owned());
        let index = table.second_index().map(|(index, _)| format!("DROP INDEX {index}"));
        let drops: Vec<String> = key.into_iter().chain(index).collect();
        if !drops.is_empty() {
            bed.ask(&format!("ALTER TABLE {name} {}", drops.join(", ")));
        }
        assert_eq!(check_conditions(&mut connection, small()).unwrap(), [], "{name}: without its keys it is the same");
        bed.ask(&format!("INSERT INTO {name} SELECT * FROM {name} LIMIT 1"));
        assert_ne!(check_conditions(&mut connection, small()).unwrap(), [], "{name}");
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
    assert!(trouble.kind == TroubleKind::Damaged && trouble.to_string().contains("is damaged: 1146"), "{trouble}");
    let trouble = check_conditions(&mut connection, small()).unwrap_err();
    assert_eq!(trouble.kind, TroubleKind::Damaged, "the connection is not left in a failed transaction: {trouble}");
}
