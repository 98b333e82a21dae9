//! Databases as a user meets them: loaded, interrupted, gone on with, checked, spoiled, and everything that is refused.

use super::bed::{Place, Said, until};
use std::fs;

const SENTENCE: &str = "This workload is derived from the TPC-C Benchmark and is not comparable to published TPC-C Benchmark \
                        results, as this implementation does not comply with all requirements of the TPC-C Benchmark.";

/// The blocks of a kind in docs/databases.md.
fn blocks(kind: &str) -> Vec<String> {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/databases.md")).unwrap();
    let fence = format!("```{kind}\n");
    let opened = page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    opened.collect()
}

/// The commands of the page, the output that it shows, and the violations that it shows after a row was changed.
#[test]
fn the_page_about_databases_is_true() {
    let place = Place::new();
    let outputs = blocks("text");
    let mut said = Vec::new();
    for line in blocks("sh").concat().lines() {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        said.push(place.assay(&words));
        let last = said.last().unwrap();
        assert!(last.code == Some(0) || words[0] == "run" && last.passed_or_late(), "{line}: {last:?}");
    }
    assert_eq!(said[1].out, outputs[0]);
    assert_eq!(said[0].out, format!("sqlite:shop.db: 1 warehouse loaded with seed 1\n{SENTENCE}\n"));
    for workload in blocks("toml") {
        place.write("shown.toml", &workload);
        assert_eq!(place.assay(&["explain", "shown.toml"]).code, Some(0), "{workload}");
    }
    // What the page changes is changed in a database as it was loaded.
    let anew = place.assay(&["prep", "sqlite:shop.db", "--warehouses", "1", "--clear"]);
    assert_eq!(anew.code, Some(0), "{anew:?}");
    let change = "UPDATE customer SET c_balance = 7 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1";
    assert_eq!(rusqlite::Connection::open(place.path("shop.db")).unwrap().execute(change, []), Ok(1));
    let broken = place.assay(&["check", "sqlite:shop.db"]);
    assert_eq!((broken.code, broken.out), (Some(10), format!("{}{SENTENCE}\n", outputs[1])));
    let document = place.assay(&["check", "sqlite:shop.db", "--json"]);
    let json = document.json();
    assert_eq!((document.code, &json["verdict"], &json["derived"]), (Some(10), &"FAIL".into(), &SENTENCE.into()));
    assert_eq!(
        (&json["violations"][0]["condition"], &json["violations"][0]["left"]),
        (&"condition 10".into(), &7.into())
    );
    assert_eq!(json["violations"][1]["place"], serde_json::json!([1, 1, 1]));
    let again = place.assay(&["prep", "sqlite:shop.db", "--warehouses", "1", "--json"]);
    assert_eq!(again.json()[0]["warehouses"], 1, "what is whole is not loaded again");
    assert_eq!(place.assay(&["check", "sqlite:shop.db"]).code, Some(10));
}

#[test]
fn a_load_that_is_interrupted_says_so_and_goes_on() {
    let place = Place::new();
    let load = ["prep", "sqlite:shop.db", "--warehouses", "2", "--seed", "7"];
    let running = place.begin(&[&load[..], &["--loaders", "1"]].concat());
    let rows = || {
        rusqlite::Connection::open(place.path("shop.db"))
            .ok()?
            .query_row("SELECT count(*) FROM assay_parts", [], |it| it.get::<_, i64>(0))
            .ok()
    };
    until("the first parts", || rows().is_some_and(|parts| parts > 2));
    running.signal(libc::SIGINT);
    let said = running.end();
    assert_eq!(said.code, Some(12), "{said:?}");
    assert!(said.err.contains("repeat the command to continue") && said.out.is_empty(), "{said:?}");
    let checked = place.assay(&["check", "sqlite:shop.db"]);
    assert_eq!(checked.code, Some(11), "{checked:?}");
    assert!(checked.err.contains("loaded in part only: load it with assay prep"), "{checked:?}");
    let other = place.assay(&["prep", "sqlite:shop.db", "--warehouses", "2"]);
    assert!(other.code == Some(4) && other.err.contains("with seed 7, and 2 warehouses with seed 1"), "{other:?}");
    let done = place.assay(&load);
    assert!(
        done.code == Some(0) && done.out.starts_with("sqlite:shop.db: 2 warehouses loaded with seed 7\n"),
        "{done:?}"
    );
    assert_eq!(place.assay(&["check", "sqlite:shop.db"]).code, Some(0));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_code_and_writes_nothing() {
    let place = Place::new();
    place.write("letter", "Dear Sir");
    place.write("empty", "");
    for (args, code, says) in [
        ("prep sqlite:shop.db", 2, "a database needs --warehouses"),
        ("prep sqlite:shop.db --warehouses 0", 2, "0 is not in"),
        ("prep sqlite:shop.db f.dat --warehouses 1", 2, "cannot be prepared together"),
        ("prep f.dat --warehouses 1", 2, "are for databases"),
        ("prep f.dat --clear", 2, "are for databases"),
        ("prep sqlite:shop.db --warehouses 1 --discard", 2, "options for devices"),
        ("prep sqlite:shop.db --warehouses 1 --create 1GiB", 2, "options for devices"),
        ("prep sqlite:shop.db --warehouses 1 --destroy-data abcd-efgh", 2, "options for devices"),
        ("prep sqlite: --warehouses 1", 2, "names no file"),
        ("prep sqlite:shop.db?sync=full --warehouses 1", 2, "no option \"sync\""),
        ("prep sqlite:letter --warehouses 1", 4, "letter is not a database, and is left as it is"),
        ("prep sqlite:letter --warehouses 1 --clear", 4, "letter is not a database, and is left as it is"),
        ("prep sqlite:no/shop.db --warehouses 1", 5, "create it first"),
        ("prep mysql://me@/db?socket=/no/such --warehouses 1", 5, "is it running, and is the host right?"),
        ("check mysql://me@/db?socket=/no/such", 5, "is it running, and is the host right?"),
        ("check mysql://me@host", 2, "names a database"),
        ("prep mysql://me@host/mysql --warehouses 1", 4, "is a database of the server itself"),
        ("prep postgres://me@/db?host=/no/such --warehouses 1", 5, "is it running, and is the host right?"),
        ("check postgres://me@/db?host=/no/such", 5, "is it running, and is the host right?"),
        ("check postgres://me@host/db?sslmode=off", 2, "write tls=verify or tls=off"),
        ("check sqlite:shop.db", 11, "does not exist: load it with assay prep"),
        ("check sqlite:empty", 11, "is empty: load it with assay prep"),
        ("check sqlite:letter", 4, "letter is not a database"),
        ("check shop.db", 2, "write sqlite:FILE"),
        ("run random-read sqlite:shop.db", 2, "random-read reads and writes blocks"),
        ("explain random-read sqlite:shop.db", 2, "random-read reads and writes blocks"),
        ("certify sqlite:shop.db", 2, "this command is for devices and files"),
    ] {
        let said = place.assay(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(said.code, Some(code), "{args}: {said:?}");
        assert!(said.err.contains(says), "{args}: {}", said.err);
    }
    assert_eq!(fs::read_to_string(place.path("letter")).unwrap(), "Dear Sir");
    assert_eq!(place.left(&["letter", "empty", "state"]), Vec::<String>::new());
}

#[test]
fn a_password_comes_back_from_no_command() {
    let place = Place::new();
    for url in ["postgres://me:canary@host/db", "mysql://me:canary@host/db?x=1", "postgres://host/db?password=canary"] {
        for args in [
            &["prep", url, "--warehouses", "1"][..],
            &["check", url],
            &["run", "random-read", url],
            &["explain", "random-read", url],
            &["limit", "random-read", url],
            &["curve", "random-read", url],
            &["certify", url],
        ] {
            let Said { code, out, err } = place.assay(args);
            assert_eq!(code, Some(2), "{}: {err}", args[0]);
            assert!(!out.contains("canary") && !err.contains("canary"), "{}: {out}{err}", args[0]);
        }
    }
    assert_eq!(place.left(&["state"]), Vec::<String>::new());
}
