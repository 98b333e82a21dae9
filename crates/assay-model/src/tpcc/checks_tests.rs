use super::*;
use crate::tpcc::population::Population;

fn loaded() -> (Database, Scale) {
    let scale = Scale::reduced(100, 30);
    (Database::loaded(Population::new(scale, 2, 5)), scale)
}

/// Changes a consistent database and returns the names of the conditions that are then violated.
fn broken(change: impl FnOnce(&mut Database)) -> Vec<&'static str> {
    let (mut database, scale) = loaded();
    change(&mut database);
    let mut names: Vec<_> = check(&database, scale).iter().map(|violation| violation.check.name()).collect();
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
    assert_eq!(broken(|it| it.districts.get_mut(&district).unwrap().next_order += 1), ["condition 2"]);
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
        ["condition 1", "condition 8"]
    );
    assert_eq!(
        broken(|it| {
            it.districts.remove(&(1, 2));
        }),
        ["condition 1", "condition 2", "condition 9"]
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
    assert_eq!(order, ["condition 4", "condition 6", "condition 7"], "the lines of an order that is gone");
    assert_eq!(
        broken(|it| {
            it.customers.remove(&(1, 2, 3));
        }),
        ["condition 10"]
    );
    assert_eq!(broken(|it| it.new_orders.extend([(7, 7, 7)])), ["condition 2", "condition 5", "condition 11"]);
    assert_eq!(broken(|it| it.history.clear()), ["condition 8", "condition 9", "condition 10", "empty table"]);
    assert_eq!(broken(|it| it.items.clear()), ["empty table"]);
    assert_eq!(broken(|it| it.stock.clear()), ["empty table"]);
}

#[test]
fn a_database_without_any_row_is_broken() {
    let tables: Vec<_> = check(&Database::default(), Scale::STANDARD).iter().map(ToString::to_string).collect();
    assert_eq!(tables.len(), 8, "{tables:?}");
    assert_eq!(tables[0], "empty table: warehouse has no rows");
    assert!(!tables.iter().any(|line| line.contains("new_order")));
}

#[test]
fn a_violation_says_what_and_where() {
    let (mut database, scale) = loaded();
    database.districts.get_mut(&(1, 2)).unwrap().next_order += 2;
    database.warehouses.remove(&2);
    let said: Vec<_> = check(&database, scale).iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "condition 1: W_YTD is the sum of D_YTD; in warehouse 2 the left side is missing and the right side is 300000",
            "condition 2: D_NEXT_O_ID - 1 is the largest O_ID and the largest NO_O_ID; in warehouse 1, district 2 the left side is 32 and the right side is 30",
            "condition 2: D_NEXT_O_ID - 1 is the largest O_ID and the largest NO_O_ID; in warehouse 1, district 2 the left side is 32 and the right side is 30",
            "condition 8: W_YTD is the sum of H_AMOUNT; in warehouse 2 the left side is missing and the right side is 300000",
        ]
    );
}

#[test]
fn a_database_that_is_wrong_everywhere_gives_a_short_list() {
    let (mut database, scale) = loaded();
    database.stock.values_mut().for_each(|row| row.quantity = 0);
    assert_eq!(check(&database, scale).len(), SHOWN);
}

#[test]
fn conditions_have_names_of_their_own() {
    let names: BTreeSet<_> = Check::ALL.iter().map(|check| check.name()).collect();
    let rules: BTreeSet<_> = Check::ALL.iter().map(|check| check.rule()).collect();
    assert_eq!((names.len(), rules.len()), (15, 15));
    assert!(Check::ALL.iter().enumerate().all(|(at, check)| *check as usize == at && !check.key_names().is_empty()));
}
