use super::*;
use crate::tpcc::strings::last_name;
use std::collections::BTreeSet;

const COUNT: u64 = 40_000;

fn parameters(warehouses: i32) -> Parameters {
    Parameters::new(11, 100, warehouses, Scale::STANDARD)
}

fn new_orders(warehouses: i32, home: Home) -> Vec<NewOrder> {
    let parameters = parameters(warehouses);
    let made = (0..COUNT).map(|number| parameters.numbered_transaction(TransactionKind::NewOrder, number, home));
    made.filter_map(|made| if let Transaction::NewOrder(made) = made { Some(made) } else { None }).collect()
}

fn payments(warehouses: i32, home: Home) -> Vec<Payment> {
    let parameters = parameters(warehouses);
    let made = (0..COUNT).map(|number| parameters.numbered_transaction(TransactionKind::Payment, number, home));
    made.filter_map(|made| if let Transaction::Payment(made) = made { Some(made) } else { None }).collect()
}

/// Whether a share is as wanted, within four standard deviations of a binomial count.
fn assert_share(hits: usize, of: usize, share: f64) {
    let deviation = (share * (1.0 - share) / of as f64).sqrt();
    let got = hits as f64 / of as f64;
    assert!((got - share).abs() < 4.0 * deviation, "{got} instead of {share}");
}

#[test]
fn new_orders_have_the_standards_shares() {
    let made = new_orders(5, Home::All);
    let unused = Scale::STANDARD.unused_item();
    let rolled_back = made.iter().filter(|it| it.lines.iter().any(|line| line.item == unused));
    assert_share(rolled_back.clone().count(), made.len(), 0.01);
    assert!(
        rolled_back.clone().all(|it| it.lines.iter().position(|line| line.item == unused) == Some(it.lines.len() - 1))
    );
    let lines: Vec<(i32, Line)> =
        made.iter().flat_map(|it| it.lines.iter().map(|line| (it.warehouse, *line))).collect();
    let remote = lines.iter().filter(|(home, line)| line.supply_warehouse != *home).count();
    assert_share(remote, lines.len(), 0.01);
    assert_eq!(lines.iter().map(|(_, line)| line.supply_warehouse).collect::<BTreeSet<_>>(), (1..=5).collect());
    assert_eq!(lines.iter().map(|(_, line)| line.quantity).collect::<BTreeSet<_>>(), (1..=10).collect());
    assert_eq!(made.iter().map(|it| it.lines.len()).collect::<BTreeSet<_>>(), (5..=15).collect());
    assert_eq!(made.iter().map(|it| (it.warehouse, it.district)).collect::<BTreeSet<_>>().len(), 50);
    let repeats =
        |it: &&NewOrder| it.lines.iter().map(|line| line.item).collect::<BTreeSet<_>>().len() < it.lines.len();
    let repeated = made.iter().filter(repeats).count() as f64 / made.len() as f64;
    assert!((0.007..0.011).contains(&repeated), "an item repeats in {repeated} of the orders");
    assert!(made.iter().all(|it| it.all_local() == it.lines.iter().all(|line| line.supply_warehouse == it.warehouse)));
}

#[test]
fn payments_have_the_standards_shares() {
    let made = payments(5, Home::All);
    let remote = made.iter().filter(|it| it.customer_warehouse != it.warehouse);
    assert_share(remote.clone().count(), made.len(), 0.15);
    assert_eq!(remote.map(|it| it.customer_district).collect::<BTreeSet<_>>(), (1..=10).collect());
    let home = made.iter().filter(|it| it.customer_warehouse == it.warehouse);
    assert!(home.clone().all(|it| it.customer_district == it.district));
    assert_share(made.iter().filter(|it| matches!(it.customer, CustomerSelector::Name(_))).count(), made.len(), 0.6);
    assert!(made.iter().all(|it| (100..=500_000).contains(&it.amount)));
    let names: BTreeSet<String> = (0..1_000).map(last_name).collect();
    assert!(made.iter().all(|it| match &it.customer {
        CustomerSelector::Id(id) => (1..=3_000).contains(id),
        CustomerSelector::Name(name) => names.contains(name),
    }));
}

#[test]
fn a_single_warehouse_is_home_to_everything() {
    assert!(new_orders(1, Home::All).iter().all(|it| it.warehouse == 1 && it.all_local()));
    let made = payments(1, Home::All);
    assert!(made.iter().all(|it| (it.warehouse, it.customer_warehouse) == (1, 1)));
    // 15 of 100 may name another district, which is the same one in a tenth of them.
    assert_share(made.iter().filter(|it| it.customer_district != it.district).count(), made.len(), 0.135);
}

#[test]
fn the_other_three_are_within_their_ranges() {
    let parameters = parameters(4);
    let (mut by_name, mut carriers, mut thresholds) = (0, BTreeSet::new(), BTreeSet::new());
    for number in 0..COUNT {
        let Transaction::OrderStatus(status) =
            parameters.numbered_transaction(TransactionKind::OrderStatus, number, Home::All)
        else {
            panic!("another kind")
        };
        by_name += usize::from(matches!(status.customer, CustomerSelector::Name(_)));
        let Transaction::Delivery(delivery) =
            parameters.numbered_transaction(TransactionKind::Delivery, number, Home::All)
        else {
            panic!("another kind")
        };
        carriers.insert(delivery.carrier);
        let Transaction::StockLevel(level) =
            parameters.numbered_transaction(TransactionKind::StockLevel, number, Home::All)
        else {
            panic!("another kind")
        };
        thresholds.insert(level.threshold);
    }
    assert_share(by_name, COUNT as usize, 0.6);
    assert_eq!((carriers, thresholds), ((1..=10).collect(), (10..=20).collect()));
}

#[test]
fn a_home_changes_the_warehouse_and_nothing_else() {
    let home = Home::Session { warehouse: 3, district: 7 };
    for (any, own) in new_orders(5, Home::All).into_iter().zip(new_orders(5, home)) {
        assert_eq!(own.warehouse, 3);
        assert_eq!((any.district, any.customer, any.lines.len()), (own.district, own.customer, own.lines.len()));
        // The item of a line and its quantity come before and after the draw of a supplier, which only another home moves.
        assert_eq!((any.lines[0].item, any.date), (own.lines[0].item, own.date));
    }
    let parameters = parameters(5);
    let level = |number| parameters.numbered_transaction(TransactionKind::StockLevel, number, home);
    assert!(
        (0..100).all(|number| matches!(
            level(number),
            Transaction::StockLevel(StockLevel { warehouse: 3, district: 7, .. })
        ))
    );
}

#[test]
fn sessions_have_homes_in_all_warehouses_and_districts() {
    let homes: BTreeSet<(i32, i32)> = (0..30)
        .filter_map(|session| match Home::of_session(session, 3, Scale::STANDARD) {
            Home::Session { warehouse, district } => Some((warehouse, district)),
            Home::All => None,
        })
        .collect();
    assert_eq!(homes, (1..=3).flat_map(|w| (1..=10).map(move |d| (w, d))).collect());
    assert_eq!(Home::of_session(30, 3, Scale::STANDARD), Home::of_session(0, 3, Scale::STANDARD));
}

#[test]
fn parameters_follow_from_seed_and_number() {
    let (ours, other) = (parameters(3), Parameters::new(12, 100, 3, Scale::STANDARD));
    for kind in TransactionKind::ALL {
        let of = |from: &Parameters| {
            (0..200).rev().map(|n| from.numbered_transaction(kind, n, Home::All)).collect::<Vec<_>>()
        };
        assert_eq!(of(&ours), of(&parameters(3)));
        assert_ne!(of(&ours), of(&other));
        assert!(of(&ours).iter().all(|made| made.transaction_kind() == kind));
    }
    let date = |number| match ours.numbered_transaction(TransactionKind::Delivery, number, Home::All) {
        Transaction::Delivery(delivery) => delivery.date,
        _ => panic!("another kind"),
    };
    assert!(date(0) > LOADED && date(1) - date(0) == 1_000 && date(1_000_000) - date(0) == 1_000_000_000);
}

/// Fixed values, so that no change of this code changes a run unnoticed.
#[test]
fn golden_parameters() {
    let ours = Parameters::new(1, 100, 2, Scale::STANDARD);
    let Constants { c_load, c_last, c_customer, c_item } = ours.run_constants();
    assert_eq!((c_load, c_last, c_customer, c_item), (100, 186, 382, 704));
    let sums = TransactionKind::ALL.map(|kind| {
        let made: Vec<_> = (0..100).map(|number| ours.numbered_transaction(kind, number, Home::All)).collect();
        blake3::hash(format!("{made:?}").as_bytes()).to_hex()[..16].to_string()
    });
    assert_eq!(
        sums,
        ["d8e68391f499a35b", "fcb7e9852f780212", "083b8aace6ef1250", "c32a09412fdea42d", "d08a33c0e237d316"]
    );
}
