use super::*;
use crate::tpcc::population::Population;

fn loaded() -> (Database, Population) {
    let population = Population::new(Scale::for_tests(100, 30), 2, 5);
    (Database::from_population(population), population)
}

/// Changes a consistent database and returns the names of the conditions that are then violated.
fn broken(change: impl FnOnce(&mut Database)) -> Vec<&'static str> {
    let (mut database, population) = loaded();
    change(&mut database);
    let mut names: Vec<_> =
        check_database(&database, population).iter().map(|violation| violation.check.condition_name()).collect();
    names.dedup();
    names
}

#[test]
fn a_loaded_database_is_consistent() {
    assert_eq!(broken(|_| ()), [""; 0]);
    let (database, _) = loaded();
    let delivered = database.orders.values().filter(|order| order.carrier.is_some() && order.key.0 == 1).count();
    assert_eq!(delivered, 21 * 10, "orders less new orders are what was delivered before the load");
}

#[test]
fn each_condition_finds_a_row_that_is_wrong() {
    let district = (1, 2);
    assert_eq!(broken(|it| it.warehouses.get_mut(&1).unwrap().ytd += 1), ["condition 1", "condition 8"]);
    assert_eq!(broken(|it| it.districts.get_mut(&district).unwrap().ytd += 1), ["condition 1", "condition 9"]);
    assert_eq!(broken(|it| it.districts.get_mut(&district).unwrap().next_order += 1), ["condition 2", "row counts"]);
    assert_eq!(
        broken(|it| {
            it.new_orders.remove(&(1, 2, 25));
        }),
        ["condition 3", "condition 5", "condition 11"]
    );
    assert_eq!(broken(|it| it.orders.get_mut(&(1, 2, 5)).unwrap().lines += 1), ["condition 4", "condition 6"]);
    assert_eq!(
        broken(|it| it.orders.get_mut(&(1, 2, 5)).unwrap().carrier = None),
        ["condition 5", "condition 7", "condition 11"]
    );
    assert_eq!(broken(|it| it.lines.get_mut(&((1, 2, 5), 1)).unwrap().delivered = None), ["condition 7"]);
    let payment = broken(|it| it.history[0].amount += 1);
    assert_eq!(payment, ["condition 8", "condition 9", "condition 10"]);
    assert_eq!(
        broken(|it| it.customers.get_mut(&(1, 2, 3)).unwrap().account.balance += 1),
        ["condition 10", "condition 12"]
    );
    assert_eq!(broken(|it| it.customers.get_mut(&(1, 2, 3)).unwrap().account.ytd_payment += 1), ["condition 12"]);
    assert_eq!(broken(|it| it.stock.get_mut(&(1, 3)).unwrap().quantity = 9), ["stock quantity"]);
    assert_eq!(broken(|it| it.stock.get_mut(&(1, 3)).unwrap().quantity = 101), ["stock quantity"]);
    assert_eq!(broken(|it| it.stock.get_mut(&(1, 3)).unwrap().remote += 1), ["stock counters"]);
}

#[test]
fn rows_that_are_missing_or_too_many_are_found_on_either_side() {
    assert_eq!(
        broken(|it| {
            it.warehouses.remove(&1);
        }),
        ["condition 1", "condition 8", "row counts"]
    );
    assert_eq!(
        broken(|it| {
            it.districts.remove(&(1, 2));
        }),
        ["condition 1", "condition 2", "condition 9", "row counts"]
    );
    assert_eq!(
        broken(|it| {
            it.lines.remove(&((1, 2, 5), 1));
        }),
        ["condition 4", "condition 6"]
    );
    let order = broken(|it| {
        it.orders.remove(&(1, 2, 5));
    });
    assert_eq!(
        order,
        ["condition 4", "condition 6", "condition 7", "row counts"],
        "the lines of an order that is gone"
    );
    assert_eq!(
        broken(|it| {
            it.customers.remove(&(1, 2, 3));
        }),
        ["condition 10", "row counts"]
    );
    assert_eq!(broken(|it| it.new_orders.extend([(7, 7, 7)])), ["condition 2", "condition 5", "condition 11"]);
    assert_eq!(
        broken(|it| it.history.clear()),
        ["condition 8", "condition 9", "condition 10", "empty table", "row counts"]
    );
    assert_eq!(broken(|it| it.items.clear()), ["empty table", "row counts"]);
    assert_eq!(broken(|it| it.stock.clear()), ["empty table", "row counts"]);
}

/// Rows that no other row refers to.
#[test]
fn rows_that_nothing_refers_to_are_counted() {
    assert_eq!(broken(|it| it.items.retain(|id, _| *id == 1)), ["row counts"]);
    assert_eq!(broken(|it| drop(it.stock.remove(&(2, 3)))), ["row counts"]);
    let moved = broken(|it| {
        let item = it.items.remove(&1).unwrap();
        it.items.insert(101, item);
    });
    assert_eq!(moved, ["row numbers"], "their count is the same");
    let (mut database, population) = loaded();
    let stock = database.stock[&(1, 1)].clone();
    database.stock.insert((1, 101), stock);
    let found: Vec<_> = check_database(&database, population).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "row counts: stock of warehouse 1 has 101 rows, and must have 100",
            "row numbers: stock of warehouse 1 has 101 rows, and 1 of them no number of their own from 1 on",
        ]
    );
}

#[test]
fn a_database_without_any_row_is_broken() {
    let population = Population::new(Scale::STANDARD, 1, 5);
    let tables: Vec<_> = check_database(&Database::default(), population).iter().map(ToString::to_string).collect();
    let (empty, counts) = tables.split_at(8);
    assert!(empty.iter().all(|line| line.starts_with("empty table: ")), "{tables:?}");
    assert_eq!(empty[0], "empty table: warehouse has no rows");
    assert!(!tables.iter().any(|line| line.contains("new_order")));
    assert_eq!(counts[0], "row counts: warehouse has 0 rows, and must have 1");
    assert!(counts.contains(&"row counts: stock of warehouse 1 has 0 rows, and must have 100000".to_owned()));
}

#[test]
fn a_violation_says_what_and_where() {
    let (mut database, population) = loaded();
    database.districts.get_mut(&(1, 2)).unwrap().next_order += 2;
    database.warehouses.remove(&2);
    let said: Vec<_> = check_database(&database, population).iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "condition 1: W_YTD is the sum of D_YTD; in warehouse 2 the left side is missing and the right side is 300000",
            "condition 2: D_NEXT_O_ID - 1 is the largest O_ID and the largest NO_O_ID; in warehouse 1, district 2 the left side is 32 and the right side is 30",
            "condition 2: D_NEXT_O_ID - 1 is the largest O_ID and the largest NO_O_ID; in warehouse 1, district 2 the left side is 32 and the right side is 30",
            "condition 8: W_YTD is the sum of H_AMOUNT; in warehouse 2 the left side is missing and the right side is 300000",
            "row counts: warehouse has 1 row, and must have 2",
            "row counts: orders of warehouse 1, district 2 has 30 rows, and must have 32",
        ]
    );
}

#[test]
fn a_database_that_is_wrong_everywhere_gives_a_short_list() {
    let (mut database, population) = loaded();
    database.stock.values_mut().for_each(|row| row.quantity = 0);
    assert_eq!(check_database(&database, population).len(), SHOWN);
}

#[test]
fn conditions_have_names_of_their_own() {
    let names: BTreeSet<_> = Check::ALL.iter().map(|check| check.condition_name()).collect();
    let rules: BTreeSet<_> = Check::ALL.iter().map(|check| check.rule_text()).collect();
    assert_eq!((names.len(), rules.len()), (17, 17));
    assert!(Check::ALL.iter().enumerate().all(|(at, check)| *check as usize == at && !check.key_names().is_empty()));
}
