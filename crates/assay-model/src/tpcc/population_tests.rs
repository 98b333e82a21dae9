use super::*;
use crate::tpcc::table::{Kind, Table, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

fn rows(population: Population, part: LoadPart) -> Vec<Row> {
    let mut rows = Vec::new();
    let put = &mut |row| {
        rows.push(row);
        Ok::<(), Infallible>(())
    };
    population.put_rows(part, put).unwrap();
    rows
}

fn standard() -> Population {
    Population::new(Scale::STANDARD, 2, 42)
}

/// The parts of a kind of row.
macro_rules! of {
    ($rows:expr, $kind:ident) => {
        $rows.iter().filter_map(|row| if let Row::$kind(row) = row { Some(row) } else { None }).collect::<Vec<_>>()
    };
}

#[test]
fn items_are_as_the_standard_says() {
    let rows = rows(standard(), LoadPart::Items);
    let items = of!(rows, Item);
    assert_eq!(items.len(), 100_000);
    assert!(items.iter().zip(1..).all(|(item, id)| item.id == id));
    assert_eq!(items.iter().filter(|item| item.data.contains(ORIGINAL)).count(), 10_000);
    assert!(items.iter().all(|item| (1..=10_000).contains(&item.image) && (100..=10_000).contains(&item.price)));
    assert!(items.iter().all(|item| (14..=24).contains(&item.name.len()) && (26..=50).contains(&item.data.len())));
    let prices: BTreeSet<i64> = items.iter().map(|item| item.price).collect();
    assert!(prices.contains(&100) && prices.contains(&10_000), "both ends of the range are drawn");
    let places: BTreeSet<usize> = items.iter().filter_map(|item| item.data.find(ORIGINAL)).collect();
    assert_eq!(places, (0..=42).collect(), "the word is anywhere, also at both ends");
}

#[test]
fn stock_is_as_the_standard_says() {
    let rows = rows(standard(), LoadPart::Stock(2));
    let stock = of!(rows, Stock);
    assert_eq!(stock.len(), 100_000);
    assert_eq!(stock.iter().filter(|row| row.data.contains(ORIGINAL)).count(), 10_000);
    assert!(stock.iter().zip(1..).all(|(row, item)| (row.warehouse, row.item) == (2, item)));
    let quantities: BTreeSet<i32> = stock.iter().map(|row| row.quantity).collect();
    assert_eq!(quantities, (10..=100).collect());
    assert!(stock.iter().all(|row| (row.ytd, row.orders, row.remote) == (0, 0, 0)));
    let dists: BTreeSet<&str> = stock[..100].iter().flat_map(|row| (1..=10).map(|d| row.district_text(d))).collect();
    assert!(
        dists.len() == 1_000 && dists.iter().all(|it| it.len() == 24 && it.bytes().all(|b| b.is_ascii_alphabetic()))
    );
}

#[test]
fn customers_are_as_the_standard_says() {
    let rows = rows(standard(), LoadPart::Customers(1, 3));
    let customers = of!(rows, Customer);
    assert_eq!(customers.len(), 3_000);
    assert_eq!(customers.iter().filter(|row| row.credit == BAD_CREDIT).count(), 300);
    assert!(customers.iter().all(|row| row.credit == BAD_CREDIT || row.credit == GOOD_CREDIT));
    for (customer, at) in customers.iter().zip(0..1_000) {
        assert_eq!(customer.last, last_name(at));
    }
    let rest: BTreeMap<&str, u32> = customers[1_000..].iter().fold(BTreeMap::new(), |mut counts, row| {
        *counts.entry(row.last.as_str()).or_default() += 1;
        counts
    });
    let most = rest.values().max().unwrap();
    assert!(rest.len() < 900 && *most > 8, "the rest is not uniform: {} names, {most} of one", rest.len());
    let account = Account { balance: -1_000, ytd_payment: 1_000, payments: 1, deliveries: 0 };
    for row in &customers {
        assert_eq!(row.account, account);
        assert!((8..=16).contains(&row.first.len()) && row.phone.len() == 16 && (300..=500).contains(&row.data.len()));
        assert!(
            (0..=5_000).contains(&row.discount) && row.address.zip.ends_with("11111") && row.address.zip.len() == 9
        );
    }
    let history = of!(rows, History);
    assert!(history.len() == 3_000 && history.iter().zip(1..).all(|(row, id)| row.customer == id));
    assert!(history.iter().all(|row| row.amount == 1_000 && (12..=24).contains(&row.data.len())));
    assert!(history.iter().all(|row| (row.warehouse, row.district, row.customer_warehouse) == (1, 3, 1)));
}

#[test]
fn orders_are_as_the_standard_says() {
    let rows = rows(standard(), LoadPart::Orders(1, 3));
    let (orders, lines, new) = (of!(rows, Order), of!(rows, OrderLine), of!(rows, NewOrder));
    let customers: Vec<i32> = orders.iter().map(|order| order.customer).collect();
    assert_eq!(customers.iter().copied().collect::<BTreeSet<_>>(), (1..=3_000).collect(), "a permutation");
    assert!(!customers.is_sorted());
    assert_eq!(new.iter().map(|key| key.2).collect::<Vec<_>>(), (2_101..=3_000).collect::<Vec<_>>());
    assert_eq!(lines.len() as i32, orders.iter().map(|order| order.lines).sum::<i32>());
    assert_eq!(orders.iter().map(|order| order.lines).collect::<BTreeSet<_>>(), (5..=15).collect());
    for order in &orders {
        assert_eq!(order.carrier.is_some(), order.key.2 < 2_101);
        assert!(order.carrier.is_none_or(|carrier| (1..=10).contains(&carrier)) && order.all_local);
    }
    for line in &lines {
        let delivered = line.order.2 < 2_101;
        assert_eq!(line.delivered, delivered.then_some(LOADED));
        assert_eq!(line.amount == 0, delivered, "delivered lines cost nothing, the others something");
        assert!((0..=999_999).contains(&line.amount) && line.quantity == 5 && line.supply_warehouse == 1);
    }
}

#[test]
fn warehouses_and_districts_are_as_the_standard_says() {
    let rows = rows(standard(), LoadPart::Warehouse(2));
    let (warehouses, districts) = (of!(rows, Warehouse), of!(rows, District));
    assert_eq!((warehouses.len(), warehouses[0].id, warehouses[0].ytd), (1, 2, 30_000_000));
    assert_eq!(districts.iter().map(|row| row.id).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
    assert!(districts.iter().all(|row| row.ytd == 3_000_000 && row.next_order == 3_001 && row.warehouse == 2));
    assert!(districts.iter().all(|row| (0..=2_000).contains(&row.tax) && (6..=10).contains(&row.name.len())));
}

/// Each value fits its column, so that every database takes it as it is.
#[test]
fn every_value_fits_its_column() {
    let population = Population::new(Scale::for_tests(200, 60), 2, 7);
    let mut seen = BTreeSet::new();
    for row in population.load_parts().flat_map(|part| rows(population, part)) {
        seen.insert(row.row_table());
        let (columns, mut at) = (row.row_table().all_columns(), 0);
        row.put_values(&mut |value| {
            let column = columns[at];
            at += 1;
            let fits = match (column.kind, value) {
                (Kind::Integer | Kind::Time, Value::Integer(_)) => true,
                (Kind::Varchar(most), Value::Text(text)) => text.len() <= usize::from(most),
                (Kind::Char(length), Value::Text(text)) => text.len() == usize::from(length),
                (Kind::Money(digits), Value::Integer(cents)) => cents.unsigned_abs() < 10u64.pow(u32::from(digits)),
                (Kind::Rate, Value::Integer(rate)) => (0..10_000).contains(&rate),
                (_, Value::Null) => column.nullable,
                _ => false,
            };
            assert!(fits, "{} = {value:?}", column.name);
        });
        assert_eq!(at, columns.len(), "{:?}", row.row_table());
    }
    assert_eq!(seen.len(), Table::ALL.len());
}

/// The sum of all rows of a part.
fn sum(population: Population, part: LoadPart) -> String {
    let mut bytes = Vec::new();
    rows(population, part).iter().for_each(|row| row.encode_values(&mut bytes));
    blake3::hash(&bytes).to_hex()[..16].to_string()
}

#[test]
fn a_part_follows_from_the_seed_and_its_place_alone() {
    let population = Population::new(Scale::for_tests(100, 30), 3, 1);
    let parts: Vec<LoadPart> = population.load_parts().collect();
    assert_eq!(parts.len(), 1 + 3 * (2 + 2 * 10));
    let sums: BTreeSet<String> = parts.iter().map(|part| sum(population, *part)).collect();
    assert_eq!(sums.len(), parts.len(), "no two parts are alike");
    let names: BTreeSet<String> = parts.iter().map(|part| part.part_name()).collect();
    assert_eq!(names.len(), parts.len());
    let more = Population::new(Scale::for_tests(100, 30), 9, 1);
    let other = Population::new(Scale::for_tests(100, 30), 3, 2);
    for part in parts {
        assert_eq!(sum(population, part), sum(more, part), "the number of warehouses does not matter");
        assert_ne!(sum(population, part), sum(other, part), "the seed does");
    }
}

/// Fixed values, so that no change of this code changes unnoticed what older databases were loaded with.
#[test]
fn golden_sums() {
    let standard = Population::new(Scale::STANDARD, 1, 1);
    let parts = [LoadPart::Warehouse(1), LoadPart::Customers(1, 1), LoadPart::Orders(1, 10)];
    let small = Population::new(Scale::for_tests(100, 30), 1, 1);
    let sums = parts
        .map(|part| sum(standard, part))
        .into_iter()
        .chain([LoadPart::Items, LoadPart::Stock(1)].map(|part| sum(small, part)));
    assert_eq!(
        sums.collect::<Vec<_>>(),
        ["a5b5d620dc2757ea", "d16efeb68bbedf78", "61d260f4b7e24eea", "793362a60153961a", "e365dbfae1c0c7f5",]
    );
}

/// Progress is measured with the weights of parts.
#[test]
fn the_weight_of_a_part_is_about_its_number_of_rows() {
    let population = Population::new(Scale::for_tests(1_000, 300), 1, 1);
    for part in population.load_parts() {
        let (got, weight) = (rows(population, part).len() as f64, part.row_weight(population.row_scale()) as f64);
        assert!((got / weight - 1.0).abs() < 0.1, "{part:?}: {got} rows, {weight}");
    }
}

#[test]
fn rows_end_where_one_is_not_taken() {
    let mut taken = 0;
    let put = &mut |_| {
        taken += 1;
        if taken == 5 { Err("full") } else { Ok(()) }
    };
    assert_eq!(standard().put_rows(LoadPart::Orders(1, 1), put), Err("full"));
    assert_eq!(taken, 5);
}
