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
    // Its runs must pass: on a disk that others use, commits take as long as theirs.
    let place = Place::in_memory();
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

/// The journal is a property of the file, which belongs to its owner; a run makes the one of its URL.
#[test]
fn a_check_leaves_the_journal_of_the_file_as_it_is() {
    let place = Place::new();
    let loaded = place.assay(&["prep", "sqlite:shop.db?journal_mode=delete", "--warehouses", "1"]);
    assert_eq!(loaded.code, Some(0), "{loaded:?}");
    let run =
        ["run", "tpcc-hammerdb", "sqlite:shop.db?journal_mode=delete&synchronous=off", "--verify", "--out", "run"];
    place.assay(&[&run[..], &["--warm-up", "0s", "--for", "1s", "--slice", "1s"]].concat());
    // The header says how the file is read and written: 1 with a journal, 2 with a log (sqlite.org/fileformat.html, 1.3.3).
    let mode = || fs::read(place.path("shop.db")).unwrap()[18..20].to_vec();
    for (url, expected) in
        [("sqlite:shop.db", [1, 1]), ("sqlite:shop.db?journal_mode=wal", [2, 2]), ("sqlite:shop.db", [2, 2])]
    {
        for args in [&["check", url][..], &["check", url, "--after", "run"]] {
            let said = place.assay(args);
            assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
            assert_eq!(mode(), expected, "{args:?}");
        }
    }
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

/// What somebody may write who has a password that contains `canary`.
const WITH_PASSWORD: [&str; 39] = [
    "postgres://me:canary@host/db",
    "postgresql://me:canary@host:5432/db",
    "mysql://me:canary@host/db?x=1",
    "mariadb://me:canary@host/db",
    "sqlite://me:canary@host/db",
    "sqlite:me:canary@host",
    "postgres://host/db?password=canary",
    "mysql://me@host/db?tls=off&Pwd=canary",
    "postgres://me:can?canary@host/db",
    "postgres://me:canary?ary@host/db",
    "mysql://me:can?host=canary@host/db",
    "postgres://me:can/canary@host/db",
    "postgres://me:can#canary@host/db",
    "postgres://me:can canary@host/db",
    "postgres://me:can@canary@host/db",
    "postgres://me:canary%40host/db",
    "postgres://me%3Acanary@host/db",
    "postgres:///me:canary@host/db",
    "postgres:/me:canary@host/db",
    "postgres:me:canary@host/db",
    "postgres://me:canary/db",
    "postgres://me@host:canary/db",
    "POSTGRES://me:canary@host/db",
    "Sqlite://me:canary@host/db",
    "pgsql://me:canary@host/db",
    "mysql+ssl://me:canary@host/db",
    "jdbc:postgresql://me:canary@host/db",
    "host=h user=me password=canary dbname=shop",
    "password=canary",
    "password = canary",
    "password='can canary' host=h",
    "password='can\\' canary'",
    "postgresql:host=h password=canary",
    "postgres://host/db?sslmode=off&sslpassword=canary",
    "PGPASSWORD=canary",
    "Server=h;Uid=me;Pwd=canary;",
    "me:canary@host/db",
    "me:canary@tcp(host:3306)/db",
    "./x?password=canary",
];

/// Commands in which it may stand, rightly or not.
const WHERE: [&str; 54] = [
    "prep URL --warehouses 1",
    "prep URL",
    "prep URL f.dat",
    "check URL",
    "check URL --after run",
    "check sqlite:shop.db --after URL",
    "run tpcc URL",
    "run random-read URL",
    "run URL",
    "run URL --detach",
    "run URL sqlite:shop.db",
    "run tpcc --load URL sqlite:shop.db",
    "run tpcc sqlite:shop.db --resume URL",
    "run tpcc sqlite:shop.db URL",
    "run tpcc sim:flash --cache URL",
    "explain tpcc URL",
    "explain random-read URL",
    "explain URL",
    "limit tpcc URL",
    "limit URL",
    "curve tpcc URL --sessions 1,2",
    "curve random-read URL",
    "curve URL",
    "certify URL",
    "certify tpcc URL",
    "certify URL sim:flash",
    "cache-curve URL sim:flash",
    "cache-curve oltp URL",
    "matrix orion URL",
    "fit URL sim:flash",
    "size URL sim:flash",
    "judge URL",
    "report URL",
    "watch URL",
    "verify URL",
    "compare URL URL",
    "compare run --label URL",
    "export URL --to csv",
    "export URL --to URL",
    "import aerospike URL",
    "workloads URL",
    "consent add URL",
    "devices URL",
    "doctor URL",
    "doctor --json URL",
    "doctor --out URL",
    "doctor --json --out URL",
    "as act_storage URL",
    "as act_prep URL",
    "as act_latency -l URL",
    "as pblio URL",
    "as seekmark -f URL",
    "as bonnie++ -u root -r 0 -s 8 -n 0 -f -d URL",
    "URL",
];

#[test]
fn a_password_comes_back_from_no_command() {
    let place = Place::new();
    for url in WITH_PASSWORD {
        for command in WHERE {
            let args: Vec<&str> = command.split(' ').map(|word| if word == "URL" { url } else { word }).collect();
            if command.starts_with("import aerospike") && !url.contains("//") && url.contains('=') {
                // A node's name and the file of its figures.
                continue;
            }
            let Said { code, out, err } = place.assay(&args);
            // These two show what they cannot look at, and go on.
            let is_done = (command.starts_with("doctor") || command.starts_with("devices")) && code == Some(0);
            let is_refused = code.is_some_and(|code| code != 0 && code != 70);
            assert!(is_done || is_refused, "{command}, {url}: {code:?} {out}{err}");
            assert!(!out.contains("canary") && !err.contains("canary"), "{command}, {url}: {out}{err}");
            let is_named_as_one =
                ["prep URL --warehouses 1", "check URL", "run tpcc URL", "run URL"].contains(&command);
            // Some have the form of a file's name, which is no mistake of the command line.
            let is_path = url.starts_with("jdbc:") || !url.contains(':') || url.starts_with("me:");
            assert!(!is_named_as_one || code == Some(2) || is_path, "{command}, {url}: {code:?} {err}");
        }
    }
    assert_eq!(place.left(&["state", "assay-runs"]), Vec::<String>::new());
}

#[test]
fn a_database_in_the_place_of_a_workload_is_told_where_it_belongs() {
    let place = Place::new();
    for (url, shown) in [
        ("sqlite:shop.db", "sqlite:shop.db"),
        ("postgres://me@host/db", "postgres://me@host/db"),
        ("MYSQL://me:canary@host/db", "MYSQL://me:***@host/db"),
    ] {
        for verb in ["run", "explain", "limit", "curve"] {
            let said = place.assay(&[verb, url]);
            let says = format!("{shown} is a database, not a workload: put a workload such as tpcc in front of it");
            assert!(said.code == Some(2) && said.err.contains(&says), "{verb}: {said:?}");
        }
    }
    let said = place.assay(&["run", "tpcc", "pgsql://me@host/db"]);
    assert!(said.code == Some(2) && said.err.contains("pgsql: is not a database that this program knows"), "{said:?}");
}
