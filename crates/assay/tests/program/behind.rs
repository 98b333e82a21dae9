//! Loads behind a simulated cache, as a user runs them.

use super::bed::Place;
use serde_json::Value;

const FILE: &str = "model = \"streams\"\nduration = \"20s\"\nslice = \"10s\"\n[[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"8KiB\"\n\
                    rate = \"4000/s\"\narrival = \"steady\"\naddress = { zipf = 0.9, scatter = true }\n[[stream]]\nname = \"writes\"\n\
                    direction = \"write\"\nsize = \"4KiB\"\nrate = \"1000/s\"\narrival = \"steady\"\naddress = { hotspot = [\"90%\", \"10%\"] }\n";

fn stream<'a>(result: &'a Value, name: &str) -> Option<&'a Value> {
    result["streams"].as_array().unwrap().iter().find(|stream| stream["name"] == name)
}

fn json(place: &Place, args: &[&str]) -> Value {
    let said = place.assay(args);
    assert_eq!(said.code, Some(0), "{args:?}: {}", said.err);
    serde_json::from_str(&said.out).unwrap()
}

#[test]
fn a_run_behind_a_cache_issues_exactly_the_misses_of_the_curve() {
    let place = Place::new();
    place.write("w.toml", FILE);
    let curve = json(&place, &["cache-curve", "w.toml", "sim:flash", "--operations", "100000", "--json"]);
    let point = curve["points"].as_array().unwrap().iter().find(|point| point["bytes"] == 64 << 20).unwrap();
    let read = curve["read_blocks"].as_f64().unwrap();
    let missed = read - (point["hits"].as_f64().unwrap() * read).round();
    for writes in ["through", "back"] {
        // In TOML, the tables follow the keys of the file itself.
        let (keys, tables) = FILE.split_at(FILE.find("[[stream]]").unwrap());
        place.write("behind.toml", &format!("{keys}[cache]\nsize = \"1GiB\"\nwrites = \"{writes}\"\n{tables}"));
        let run = ["run", "behind.toml", "sim:flash", "--behind", "64MiB", "--json", "--out", writes];
        let result = json(&place, &run);
        assert_eq!(result["verdict"], "PASS", "{}", result["reason"]);
        let reads = stream(&result, "reads").unwrap();
        assert_eq!(reads["bytes"].as_f64().unwrap() / 4096.0, missed, "{writes}: {reads}");
        assert_eq!(reads["operations"], reads["scheduled"]);
        let through = stream(&result, "writes").unwrap()["operations"].as_u64().unwrap();
        let evicted = stream(&result, "evictions").map_or(0, |it| it["operations"].as_u64().unwrap());
        match writes {
            "through" => assert_eq!((through, evicted), (20_000, 0)),
            _ => assert!(through == 0 && evicted > 100, "{through} {evicted}"),
        }
        assert!(result["plan"]["cache"]["size"] == "64MiB" && result["warnings"].is_array());
    }
    let again = |out: &str| {
        json(&place, &["run", "behind.toml", "sim:flash", "--behind", "64MiB", "--json", "--out", out]);
        std::fs::read(place.path(out).join("run.jsonl")).unwrap()
    };
    assert!(again("a") == again("b"), "the same seed, another log");
}

#[test]
fn explain_shows_both_sides_and_what_they_cost_and_import_writes_the_one_behind() {
    let place = Place::new();
    place.write("w.toml", FILE);
    let said = place.assay(&["explain", "w.toml", "null:10GiB", "--behind", "1GiB"]);
    for part in [
        "1GiB in blocks of 4KiB, lru, writes go through it",
        "24 MiB of this machine's memory",
        "application",
        "busiest tenth",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    let both = &json(&place, &["explain", "w.toml", "null:10GiB", "--behind", "1GiB", "--json"])["cache_sides"];
    let rate = |side: &str| both[side]["streams"][0]["operations_per_second"].as_f64().unwrap();
    assert!((rate("application") - 4000.0).abs() < 5.0 && rate("target") < 3500.0, "{both}");
    let said = place.assay(&[
        "import",
        "behind",
        "w.toml",
        "null:10GiB",
        "--cache",
        "1GiB",
        "--operations",
        "200000",
        "--out",
        "b.toml",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let result = json(&place, &["run", "b.toml", "sim:flash", "--json", "--out", "run"]);
    let residual = stream(&result, "reads").unwrap()["rate_achieved"].as_f64().unwrap();
    let explained = json(&place, &["explain", "b.toml", "null:10GiB", "--json"]);
    let asked = explained["derived"]["streams"][0]["operations_per_second"].as_f64().unwrap();
    assert!((residual / asked - 1.0).abs() < 0.05 && asked < 3500.0, "{residual} {asked}");
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let place = Place::new();
    place.write("w.toml", FILE);
    let (keys, tables) = FILE.split_at(FILE.find("[[stream]]").unwrap());
    place.write("bad.toml", &format!("{keys}[cache]\nsize = \"1GiB\"\npolicy = \"arc\"\n{tables}"));
    for (args, code, what) in [
        (&["run", "orion-small", "sim:flash", "--behind", "1GiB"][..], 3, "closed loop"),
        (&["run", "w.toml", "null:1GiB", "--behind", "1GiB", "--workers", "2"], 2, "--workers"),
        (&["run", "w.toml", "null:100TiB", "--behind", "15TiB"], 5, "of memory"),
        (&["run", "w.toml", "sim:flash", "--behind", "many"], 2, "--behind"),
        (&["run", "bad.toml", "sim:flash"], 3, "bad.toml:6"),
        (
            &[
                "run",
                "w.toml",
                "random-read",
                "sim:flash",
                "--behind",
                "1GiB",
                "--for",
                "1s",
                "--warm-up",
                "0s",
                "--slice",
                "1s",
            ],
            3,
            "one file",
        ),
        (&["import", "behind", "w.toml", "null:1GiB", "--cache", "1TiB", "--out", "w.toml"], 5, "exists already"),
        (&["import", "behind", "w.toml", "null:1GiB"], 2, "--cache"),
    ] {
        let said = place.assay(args);
        assert_eq!(said.code, Some(code), "{args:?}: {}", said.err);
        assert!(said.err.contains(what), "{args:?}: {}", said.err);
    }
    // The content of the simulated cache is lost with the process, so that a killed run cannot be continued.
    let killed = place.start(&["run", "w.toml", "null:1GiB", "--behind", "64MiB"], 1);
    killed.signal(libc::SIGKILL);
    killed.end();
    let resumed = place.assay(&["run", "w.toml", "null:1GiB", "--behind", "64MiB", "--resume", "run"]);
    assert!(resumed.code == Some(2) && resumed.err.contains("simulated cache"), "{}", resumed.err);
}
