//! What makes no sense on a database, and databases that are not ready: refused with the right code, and left alone.

use super::bed::Place;
use super::shop::{DB, shop, somebody};
use std::fs;

#[test]
fn what_is_about_blocks_is_refused() {
    let place = shop();
    let before = fs::metadata(place.path("shop.db")).unwrap().modified().unwrap();
    for (more, says) in [
        ("--crash-test", "SQLite is a part of this program"),
        ("--crash-test --no-check", "remove --no-check"),
        ("--workers 2", "write sessions in the workload"),
        ("--engine threads", "--engine makes no sense on a database"),
        ("--destroy-data abcd-efgh", "--destroy-data makes no sense on a database"),
        ("--override S8", "--override makes no sense on a database"),
        ("--create 1GiB", "--create makes no sense on a database"),
        ("--cache somewhere", "--cache makes no sense on a database"),
        ("--behind 1GiB", "--behind makes no sense on a database"),
    ] {
        let args = [&["run", "tpcc", DB][..], &more.split(' ').collect::<Vec<_>>()].concat();
        let said = place.assay(&args);
        assert!(said.code == Some(2) && said.err.contains(says), "{more}: {said:?}");
    }
    for (line, code, says) in [
        ("run tpcc null:1GiB", 2, "tpcc drives a database, and null:1GiB is none"),
        ("run random-read sqlite:shop.db", 2, "random-read reads and writes blocks, and sqlite:shop.db is a database"),
        ("run tpcc sqlite:shop.db sqlite:other.db", 11, "other.db does not exist: load it with assay prep"),
        ("run tpcc sqlite:shop.db null:1GiB", 2, "a run drives databases or other targets, and not both"),
        ("run tpcc random-read sqlite:shop.db", 2, "reads and writes blocks"),
        ("run tpcc sim:flash", 2, "tpcc drives a database"),
        ("matrix orion sqlite:shop.db", 2, ""),
        ("certify tpcc sqlite:shop.db", 2, "this command is for devices and files"),
        ("run tpcc", 2, "needs a target"),
        ("run random-read sim:flash --no-check", 2, "--no-check is for databases"),
        ("certify act-storage sim:flash --no-check", 2, "--no-check is for databases"),
        ("run random-read sim:flash --disk .", 2, "--disk is for databases"),
        ("run tpcc sqlite:shop.db --disk nowhere", 2, "no disk of this machine"),
        ("run tpcc sqlite:shop.db --disk /dev/null", 2, "no disk of this machine"),
    ] {
        let said = place.assay(&line.split(' ').collect::<Vec<_>>());
        assert!(said.code == Some(code) && said.err.contains(says), "{line}: {said:?}");
    }
    assert_eq!(fs::metadata(place.path("shop.db")).unwrap().modified().unwrap(), before, "nothing was written");
    assert_eq!(place.left(&["shop.db", "open.toml", "closed.toml", "state"]), Vec::<String>::new());
}

#[test]
fn a_database_that_is_not_ready_proves_nothing() {
    let place = Place::new();
    place.write("letter", "Dear Sir");
    place.write("empty", "");
    for (url, code, says) in [
        ("sqlite:none.db", 11, "does not exist: load it with assay prep"),
        ("sqlite:empty", 11, "is empty: load it with assay prep"),
        ("sqlite:letter", 4, "is not a database, and is left as it is"),
    ] {
        for verb in ["run", "limit", "curve"] {
            let said = place.assay(&[verb, "tpcc", url]);
            assert!(said.code == Some(code) && said.err.contains(says), "{verb} {url}: {said:?}");
        }
    }
    assert_eq!(fs::read_to_string(place.path("letter")).unwrap(), "Dear Sir");
    let shop = shop();
    for (change, says) in [
        ("UPDATE assay_tpcc SET complete = 0", "is loaded in part only"),
        ("UPDATE assay_tpcc SET complete = 1, version = 9", "holds version 9 of this workload's tables"),
    ] {
        somebody(&shop).execute(change, []).unwrap();
        let said = shop.assay(&["run", "tpcc", DB]);
        assert!(said.code == Some(11) && said.err.contains(says), "{change}: {said:?}");
    }
}
