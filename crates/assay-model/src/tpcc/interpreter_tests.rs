use super::*;
use crate::tpcc::checks::check_database;
use crate::tpcc::mix::{Deck, Mix};
use crate::tpcc::parameters::{Home, Line, Parameters};
use crate::tpcc::scale::Scale;

fn small() -> (Scale, Population) {
    let scale = Scale::for_tests(100, 30);
    (scale, Population::new(scale, 2, 5))
}

fn loaded() -> Database {
    Database::from_population(small().1)
}

#[test]
fn what_is_left_in_stock() {
    for (have, ordered, rest) in [(20, 10, 10), (19, 10, 100), (11, 1, 10), (10, 1, 100)] {
        assert_eq!(stock_left(have, ordered), rest, "{have} - {ordered}");
    }
    assert!((10..=100).all(|have| (1..=10).all(|ordered| (10..=100).contains(&stock_left(have, ordered)))));
}

fn order(lines: Vec<Line>) -> NewOrder {
    NewOrder { warehouse: 1, district: 2, customer: 3, date: 77, lines }
}

#[test]
fn a_new_order_takes_from_the_stock_line_by_line() {
    let mut database = loaded();
    database.items.get_mut(&9).unwrap().price = 150;
    database.stock.get_mut(&(2, 9)).unwrap().quantity = 15;
    database.customers.get_mut(&(1, 2, 3)).unwrap().discount = 1_000;
    database.warehouses.get_mut(&1).unwrap().tax = 500;
    database.districts.get_mut(&(1, 2)).unwrap().tax = 700;
    let line = Line { item: 9, supply_warehouse: 2, quantity: 5 };
    // The same item twice: the second line finds what the first one left.
    let outcome = database.execute_transaction(&Transaction::NewOrder(order(vec![line, line])));
    let Outcome::Ordered(ordered) = outcome else { panic!("{outcome:?}") };
    assert_eq!(ordered.lines.iter().map(|line| (line.stock, line.amount)).collect::<Vec<_>>(), [(10, 750), (96, 750)]);
    // 15.00 × 0.9 × 1.12 = 15.12, in units of 10^-10.
    assert_eq!((ordered.order, ordered.total), (31, 151_200_000_000));
    let stock = &database.stock[&(2, 9)];
    assert_eq!((stock.quantity, stock.ytd, stock.orders, stock.remote), (96, 10, 2, 2));
    let row = &database.orders[&(1, 2, 31)];
    assert_eq!((row.customer, row.entered, row.carrier, row.lines, row.all_local), (3, 77, None, 2, false));
    assert!(database.new_orders.contains(&(1, 2, 31)) && database.districts[&(1, 2)].next_order == 32);
    let stored = &database.lines[&((1, 2, 31), 2)];
    assert_eq!((stored.amount, stored.delivered, stored.dist_info.as_str()), (750, None, stock.district_text(2)));
}

#[test]
fn both_texts_make_a_brand() {
    for (item, stock, branded) in
        [("xORIGINALx", "ORIGINAL", true), ("xORIGINAL", "original", false), ("", "ORIGINAL", false)]
    {
        let mut database = loaded();
        database.items.get_mut(&4).unwrap().data = item.into();
        database.stock.get_mut(&(1, 4)).unwrap().data = stock.into();
        let line = Line { item: 4, supply_warehouse: 1, quantity: 1 };
        let Outcome::Ordered(ordered) = database.execute_transaction(&Transaction::NewOrder(order(vec![line]))) else {
            panic!("it is accepted")
        };
        assert_eq!(ordered.lines[0].branded, branded);
    }
}

#[test]
fn an_order_of_an_unused_item_leaves_no_trace() {
    let mut database = loaded();
    let good = Line { item: 4, supply_warehouse: 1, quantity: 1 };
    let bad = Line { item: 101, ..good };
    let before = database.clone();
    assert_eq!(database.execute_transaction(&Transaction::NewOrder(order(vec![good, bad]))), Outcome::RolledBack);
    assert_eq!(database, before);
}

fn payment(customer: CustomerSelector) -> Payment {
    Payment {
        warehouse: 1,
        district: 2,
        customer_warehouse: 2,
        customer_district: 4,
        customer,
        amount: 1_205,
        date: 88,
    }
}

#[test]
fn a_payment_moves_five_sums_and_is_written_into_bad_credit() {
    let mut database = loaded();
    let key = (2, 4, 6);
    database.customers.get_mut(&key).unwrap().credit = BAD_CREDIT;
    database.customers.get_mut(&key).unwrap().data = "y".repeat(495);
    let (of, in_district) = (database.warehouses[&1].clone(), database.districts[&(1, 2)].clone());
    let paid = database.execute_payment(&payment(CustomerSelector::Id(6)));
    assert_eq!(paid, Paid { customer: 6, balance: -2_205 });
    assert_eq!(database.warehouses[&1].ytd, of.ytd + 1_205);
    assert_eq!(database.districts[&(1, 2)].ytd, in_district.ytd + 1_205);
    let customer = &database.customers[&key];
    assert_eq!((customer.account.ytd_payment, customer.account.payments), (2_205, 2));
    assert_eq!(customer.data, format!("6 4 2 2 1 12.05|{}", "y".repeat(500 - 16)));
    let history = database.history.last().unwrap();
    assert_eq!(history.data, format!("{}    {}", of.name, in_district.name));
    assert_eq!((history.customer, history.customer_district, history.customer_warehouse), (6, 4, 2));
    assert_eq!((history.district, history.warehouse, history.date, history.amount), (2, 1, 88, 1_205));
}

#[test]
fn a_payment_leaves_the_data_of_good_credit_alone() {
    let mut database = loaded();
    database.customers.get_mut(&(2, 4, 6)).unwrap().credit = crate::tpcc::rows::GOOD_CREDIT;
    let before = database.customers[&(2, 4, 6)].data.clone();
    database.execute_payment(&payment(CustomerSelector::Id(6)));
    assert_eq!(database.customers[&(2, 4, 6)].data, before);
}

#[test]
fn of_customers_with_one_name_the_one_in_the_middle_is_meant() {
    // First names in the order of their bytes, where capitals come first.
    let firsts = ["zoe", "Anna", "bert", "Zoe", "anna"];
    for (count, middle) in [(1, "zoe"), (2, "Anna"), (3, "bert"), (4, "Zoe"), (5, "anna")] {
        let mut database = loaded();
        let template = database.customers[&(2, 4, 6)].clone();
        for (first, id) in firsts[..count].iter().zip(1_000..) {
            let (key, first, last) = ((2, 4, id), (*first).to_owned(), "NOBODY".to_owned());
            database.insert_row(Row::Customer(Customer { key, first, last, ..template.clone() }));
        }
        let paid = database.execute_payment(&payment(CustomerSelector::Name("NOBODY".into())));
        assert_eq!(database.customers[&(2, 4, paid.customer)].first, middle, "of {count}");
    }
}

#[test]
fn a_delivery_takes_the_oldest_order_of_each_district_until_none_is_new() {
    let mut database = loaded();
    let delivery = Delivery { warehouse: 1, carrier: 7, date: 99 };
    for order in 22..=30 {
        let customer = (1, 10, database.orders[&(1, 10, order)].customer);
        let before = database.customers[&customer].account;
        let owed: i64 = database.lines_of((1, 10, order)).map(|line| line.amount).sum();
        let delivered = database.execute_delivery(&delivery);
        assert_eq!((delivered.orders.as_slice(), delivered.skipped_districts()), ([Some(order); 10].as_slice(), 0));
        let after = database.customers[&customer].account;
        assert_eq!((after.balance, after.deliveries), (before.balance + owed, before.deliveries + 1));
        assert_eq!(database.orders[&(1, 10, order)].carrier, Some(7));
        assert!(database.lines_of((1, 10, order)).all(|line| line.delivered == Some(99)));
    }
    let before = database.clone();
    assert_eq!(database.execute_delivery(&delivery).skipped_districts(), 10);
    assert_eq!(database, before);
    assert_eq!(check_database(&database, small().1), [], "a warehouse without new orders is consistent");
}

#[test]
fn order_status_shows_the_last_order() {
    let mut database = loaded();
    let line = Line { item: 4, supply_warehouse: 1, quantity: 3 };
    database.execute_transaction(&Transaction::NewOrder(order(vec![line])));
    let status = database.order_status(&OrderStatus { warehouse: 1, district: 2, customer: CustomerSelector::Id(3) });
    let last = status.order.unwrap();
    assert_eq!((status.customer, status.balance, last.id, last.entered, last.carrier), (3, -1_000, 31, 77, None));
    assert_eq!(
        (last.lines.len(), last.lines[0].item, last.lines[0].quantity, last.lines[0].delivered),
        (1, 4, 3, None)
    );
}

#[test]
fn stock_level_counts_each_item_of_the_last_twenty_orders_once() {
    let mut database = loaded();
    database.stock.values_mut().for_each(|row| row.quantity = 50);
    let asked = StockLevel { warehouse: 1, district: 2, threshold: 15 };
    let of_order =
        |database: &Database, id| database.lines_of((1, 2, id)).map(|line| line.item).collect::<BTreeSet<_>>();
    let recent: BTreeSet<i32> = (11..=30).flat_map(|id| of_order(&database, id)).collect();
    let older = of_order(&database, 10).into_iter().find(|item| !recent.contains(item));
    let first = *of_order(&database, 11).first().unwrap();
    database.stock.get_mut(&(1, first)).unwrap().quantity = 15;
    assert_eq!(database.stock_level(&asked), 0, "at the threshold is not below it");
    database.stock.get_mut(&(1, first)).unwrap().quantity = 14;
    if let Some(older) = older {
        database.stock.get_mut(&(1, older)).unwrap().quantity = 14;
    }
    assert_eq!(database.stock_level(&asked), 1);
    database.stock.values_mut().for_each(|row| row.quantity = 10);
    assert_eq!(database.stock_level(&asked), recent.len() as i64);
}

/// A long mixed run keeps every condition, and every kind of outcome occurs.
#[test]
fn two_thousand_transactions_leave_a_consistent_database() {
    let (scale, population) = small();
    let mut database = loaded();
    let parameters = Parameters::new(3, population.c_load(), population.warehouse_count(), scale);
    let (mut deck, mut rolled_back, mut skipped) = (Deck::new(Mix::Deck, 3), 0, 0);
    for number in 0..2_000 {
        match database.execute_transaction(&parameters.numbered_transaction(
            deck.kind_of_transaction(number),
            number,
            Home::All,
        )) {
            Outcome::RolledBack => rolled_back += 1,
            Outcome::Delivered(delivered) => skipped += delivered.skipped_districts(),
            _ => {}
        }
    }
    assert_eq!(check_database(&database, population), []);
    assert_eq!((rolled_back, skipped), (12, 1), "both occur, and always as often");
    let orders = database.districts.values().map(|row| i64::from(row.next_order) - 31).sum::<i64>();
    assert_eq!(orders + rolled_back, 900, "each of the 45 cards in a hundred is an order or was rolled back");
    let payments: i64 = database.customers.values().map(|row| i64::from(row.account.payments) - 1).sum();
    assert_eq!((payments, database.history.len()), (860, 860 + 600));
}
