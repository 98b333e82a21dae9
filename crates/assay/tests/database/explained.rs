//! The plan before it is run: rates follow the warehouses, and nothing is written to look.

use super::bed::Place;
use super::shop::{DB, says_what_it_is, shop};
use std::fs;

#[test]
fn rates_follow_the_warehouses_and_the_database_stays_as_it_is() {
    let place = shop();
    let before = fs::read(place.path("shop.db")).unwrap();
    let said = place.assay(&["explain", "tpcc", DB, "--load", "100x"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    says_what_it_is("explain", &said.out);
    for says in [
        "pace: 47.630 transactions a second whatever is answered (open loop), on at most 4 sessions",
        "that is 1273.14 new orders a minute (NOPM) if all are answered",
        "the database has 1 warehouse",
        "NURand(A, x, y) = ((random(0..A) | random(x..y)) + C) mod (y - x + 1) + x",
        "new-order response over 5s at most 10% per 1min (p90 at most 5s)",
        "nothing but the tables that assay prep made is touched",
    ] {
        assert!(said.out.contains(says), "{says}: {}", said.out);
    }
    assert_eq!(fs::read(place.path("shop.db")).unwrap(), before);
    assert_eq!(place.left(&["shop.db", "open.toml", "closed.toml", "state"]), Vec::<String>::new());
}

#[test]
fn without_a_database_it_says_what_it_lacks() {
    let place = Place::new();
    for (args, says) in [
        (&["explain", "tpcc"][..], "name a database that assay prep has loaded"),
        (&["explain", "tpcc", "sqlite:none.db"], "the database cannot be looked at: "),
        (&["explain", "tpcc-hammerdb"], "8 sessions, each of which asks again as soon as it is answered (closed loop)"),
    ] {
        let said = place.assay(args);
        assert!(said.code == Some(0) && said.out.contains(says), "{args:?}: {said:?}");
    }
    let json = place.assay(&["explain", "tpcc", "--json"]).json();
    assert_eq!((&json["tpcc"]["mix"], &json["streams"][0]["operation"]), (&"deck".into(), &"new-order".into()));
}
