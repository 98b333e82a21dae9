//! Tiles as a user runs them: how many hold on a drive whose capacity is known, which tile is named when one breaks, what is
//! refused, and where a real device is written.

use crate::bed::{Place, in_one_line};
use crate::devices::{Disk, Loop};
use serde_json::Value;
use std::fs;

/// Operations per second that the drive carries, and no more: those of a size far below what its bandwidth allows.
const CAPACITY: u64 = 1000;
const DRIVE: &str = "sim:flash?iops=1000&size=64GiB";

/// The workload of a tile: reads at a steady rate that must not wait long.
fn reads(rate: u64) -> String {
    format!(
        "model = \"streams\"\n[[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"{rate}/s\"\narrival = \"steady\"\n\
         [[criterion]]\nstream = \"reads\"\nmean_at_most = \"50ms\"\n"
    )
}

const TIMES: &str = "duration = \"20s\"\nslice = \"10s\"\nwarm_up = \"0s\"\n";
const TILE: &str = "[[tile]]\nsize = \"4GiB\"\nuse = [{ name = \"orders\", workload = \"orders.toml\" }, { name = \"mail\", workload = \"mail.toml\" }]\n";

/// A place with workloads and a file of tiles of them.
fn place_of_tiles(more: &str) -> Place {
    let place = Place::new();
    place.write("orders.toml", &reads(100));
    place.write("mail.toml", &reads(50));
    place.write("backup.toml", &reads(200));
    place.write("tiles.toml", &format!("{TIMES}{TILE}{more}"));
    place
}

/// The rate of the streams of a plan whose names begin like this.
fn rate_of(plan: &Value, prefix: &str) -> u64 {
    let streams = plan["derived"]["streams"].as_array().unwrap().iter();
    let own = streams.filter(|stream| stream["name"].as_str().unwrap().starts_with(prefix));
    own.map(|stream| stream["operations_per_second"].as_f64().unwrap() as u64).sum()
}

fn loads_of(found: &Value) -> Vec<(String, String)> {
    let runs = found["runs"].as_array().unwrap().iter();
    runs.map(|run| (run["load"].as_str().unwrap().into(), run["verdict"].as_str().unwrap().into())).collect()
}

#[test]
fn the_number_of_tiles_is_what_the_capacity_of_the_drive_says() {
    for (more, beside) in [("", 0), ("[[background]]\nworkload = \"backup.toml\"\n", 200)] {
        let place = place_of_tiles(more);
        let plan = place.assay(&["explain", "tiles.toml", DRIVE, "--tiles", "2", "--json"]).json();
        let (tile, background) = (rate_of(&plan, "tile2/"), rate_of(&plan, "background/"));
        assert_eq!((tile, background), (150, beside), "{plan}");
        let holds = (CAPACITY - background) / tile;
        let said = place.assay(&["limit", "tiles.toml", DRIVE, "--tiles", "--out", "found"]);
        let told = in_one_line(&said.out);
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        assert!(told.starts_with(&format!("holds {holds} tiles; at {} ", holds + 1)), "{told}");
        assert!(told.contains("not comparable with VMmark results"), "{told}");
        assert!(said.err.contains("up to 16 tiles (as many as fit)"), "{}", said.err);
        let found: Value = serde_json::from_slice(&fs::read(place.path("found/limit.json")).unwrap()).unwrap();
        let runs = loads_of(&found);
        let passed = runs.iter().filter(|(load, verdict)| *load == format!("{holds}x") && verdict == "PASS");
        assert_eq!((passed.count(), runs.last().unwrap()), (2, &(format!("{holds}x"), "PASS".into())), "{runs:?}");
        assert!(found["repeated"].is_null(), "a repetition replaces nothing: {found}");
        // Each workload does as much in every tile, so that the mean is the number of tiles; from the rates of the runs by another
        // way: by the sum of their logarithms.
        let gain = found["tiles"]["throughput_gain"].as_f64().unwrap();
        assert!((gain - holds as f64).abs() < 0.01 * holds as f64, "{gain}");
        let rates = |at: usize| {
            let own = found["runs"][at]["workloads"].as_array().unwrap().iter();
            own.map(|own| (own["workload"].as_str().unwrap().to_owned(), own["rate"].as_f64().unwrap()))
                .collect::<Vec<_>>()
        };
        let (alone, last) = (rates(0), rates(runs.len() - 1));
        assert_eq!(alone.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["orders", "mail"]);
        let logarithms: f64 = alone.iter().zip(&last).map(|((_, one), (_, all))| (all / one).ln()).sum();
        assert!(((logarithms / 2.0).exp() - gain).abs() < 1e-6, "{alone:?} {last:?}");
        let page = fs::read_to_string(place.path("found/limit.html")).unwrap();
        for part in ["<h2 id=\"tiles\">", "Throughput of all tiles", "VMMARK-LIKE", "Times one tile"] {
            assert!(page.contains(part), "{part}");
        }
    }
}

#[test]
fn what_was_done_is_shown_for_each_tile_and_adds_up() {
    let place = place_of_tiles("[[background]]\nworkload = \"backup.toml\"\n");
    let (said, log) = place.run(&["run", "tiles.toml", DRIVE, "--tiles", "3"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let names: Vec<&str> = log.header.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names.len(), 7, "{names:?}");
    assert_eq!((names[0], names[1], names[6]), ("background/backup/reads", "tile1/orders/reads", "tile3/mail/reads"));
    let result: Value = serde_json::from_slice(&fs::read(place.path("run/verdict.json")).unwrap()).unwrap();
    assert_eq!(result["load"], "3x");
    let marks = result["watermarks"].to_string();
    assert!(marks.contains("VMMARK-LIKE: not comparable with VMmark results"), "{marks}");
    let operations = |kind: &str, prefix: &str| {
        let all = result[kind].as_array().unwrap().iter();
        let own = all.filter(|totals| totals["name"].as_str().unwrap().starts_with(prefix));
        own.map(|totals| totals["operations"].as_u64().unwrap()).sum::<u64>()
    };
    // A group is all streams of a workload in a tile, and all groups are all that was done.
    for prefix in ["tile1/orders", "tile2/mail", "tile3/", "background/", ""] {
        assert_eq!(operations("groups", prefix), operations("streams", prefix), "{prefix}");
    }
    assert_eq!(operations("groups", "background/"), 200 * 20);
    let criteria = result["criteria"].as_array().unwrap();
    assert_eq!(criteria.len(), 1 + 7, "the load that was delivered, and one of each workload: {criteria:?}");
    // Whatever works on a run works on this one.
    for (args, code) in [
        (&["judge", "run"][..], 0),
        (&["report", "run"], 0),
        (&["compare", "run", "run"], 0),
        (&["export", "run", "--to", "csv"], 0),
        (&["watch", "run"], 0),
    ] {
        let said = place.assay(args);
        assert_eq!(said.code, Some(code), "{args:?}: {}{}", said.out, said.err);
    }
}

#[test]
fn the_tile_that_breaks_is_named_with_its_workload_and_the_slice() {
    // At four times its load, mail asks for more of a tile than orders does; only it has a bound that the drive breaks.
    let place = place_of_tiles("");
    place.write(
        "tiles.toml",
        &format!("{TIMES}{}", TILE.replace("workload = \"mail.toml\"", "workload = \"mail.toml\", load = \"4x\"")),
    );
    place.write("orders.toml", &reads(100).replace("50ms", "20s"));
    let plan = place.assay(&["explain", "tiles.toml", DRIVE, "--tiles", "1", "--json"]).json();
    let holds = CAPACITY / rate_of(&plan, "tile1/");
    let said = place.assay(&["limit", "tiles.toml", DRIVE, "--tiles", "--to", "16", "--json", "--out", "found"]);
    let found = said.json();
    assert_eq!(found["outcome"]["between"]["passes"], format!("{holds}x"), "{found}");
    let failed = found["runs"].as_array().unwrap().iter().filter(|run| run["verdict"] == "FAIL");
    let mut seen = 0;
    for run in failed {
        let broken = run["broken_tile"].as_str().unwrap_or_else(|| panic!("{run}"));
        assert!(broken.starts_with("tile ") && broken.contains(", mail, slice "), "{broken}");
        assert!(
            broken.contains("reads response mean") && broken.contains("50 ms") && !broken.contains('/'),
            "{broken}"
        );
        seen += 1;
    }
    assert!(seen > 0, "{found}");
    // What runs beside the tiles is judged too.
    let place = place_of_tiles("[[background]]\nworkload = \"backup.toml\"\n");
    place.write("backup.toml", &reads(20).replace("50ms", "1us"));
    let said = place.assay(&["limit", "tiles.toml", DRIVE, "--tiles", "--to", "2"]);
    assert_eq!(said.code, Some(10), "{}{}", said.out, said.err);
    let told = in_one_line(&said.out);
    assert!(told.starts_with("does not hold even 1 tile: background, backup, slice 1: reads response mean"), "{told}");
}

/// A criterion on all streams of a workload is judged on those of each tile together.
#[test]
fn a_bound_on_all_streams_of_a_workload_is_one_of_each_tile() {
    let place = Place::new();
    let two = "[[stream]]\nname = \"writes\"\ndirection = \"write\"\nsize = \"4KiB\"\nrate = \"30/s\"\n";
    let all = reads(100)
        .replace("stream = \"reads\"\nmean_at_most", "stream = \"all\"\nmean_at_most")
        .replace("[[criterion]]", &format!("{two}[[criterion]]"));
    place.write("orders.toml", &all);
    place.write("tiles.toml", &format!("{TIMES}[[tile]]\nsize = \"4GiB\"\nuse = [{{ workload = \"orders.toml\" }}]\n"));
    for (bound, code) in [("50ms", 0), ("1us", 10)] {
        place.write("orders.toml", &all.replace("50ms", bound));
        let out = format!("run-{bound}");
        let said = place.assay(&["run", "tiles.toml", DRIVE, "--tiles", "2", "--json", "--out", &out]);
        assert_eq!(said.code, Some(code), "{}{}", said.out, said.err);
        let result = said.json();
        let asked = result["criteria"].as_array().unwrap().iter().filter_map(|criterion| criterion["stream"].as_str());
        assert_eq!(asked.collect::<Vec<_>>(), ["tile1/orders", "tile2/orders"]);
        let windows: Vec<u64> = result["criteria"].as_array().unwrap()[1..]
            .iter()
            .map(|criterion| criterion["worst"]["operations"].as_u64().unwrap())
            .collect();
        // Reads and writes of a slice of ten seconds.
        assert!(windows.iter().all(|operations| (1200..1400).contains(operations)), "{windows:?}");
    }
    // The same of several workloads on one command line.
    place.write("mail.toml", &all);
    let run = [
        "run",
        "orders.toml",
        "mail.toml",
        DRIVE,
        "--for",
        "20s",
        "--slice",
        "10s",
        "--warm-up",
        "0s",
        "--json",
        "--out",
        "both",
    ];
    let result = place.assay(&run).json();
    let asked = result["criteria"].as_array().unwrap().iter().filter_map(|criterion| criterion["stream"].as_str());
    assert_eq!(asked.collect::<Vec<_>>(), ["orders.toml", "mail.toml"], "{result}");
}

#[test]
fn a_search_that_was_killed_continues_and_repeats_what_held_only_once() {
    let place = place_of_tiles("");
    let command = ["limit", "tiles.toml", DRIVE, "--tiles", "--to", "4", "--json"];
    let whole = place.assay(&[&command[..], &["--out", "whole"]].concat()).json();
    let runs = loads_of(&whole);
    assert_eq!(runs.iter().map(|(load, _)| load.as_str()).collect::<Vec<_>>(), ["1x", "2x", "4x", "4x"], "{whole}");
    // Killed before the repetition, and within it.
    for left in [3, 2, 0] {
        let name = format!("cut-{left}");
        let copied = std::process::Command::new("cp").args(["-r", "whole", &name]).current_dir(place.path("")).status();
        assert!(copied.unwrap().success());
        let path = place.path(&name).join("limit.json");
        let mut document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        document["runs"].as_array_mut().unwrap().truncate(left);
        document["outcome"] = Value::Null;
        fs::write(&path, document.to_string()).unwrap();
        for (number, (load, _)) in runs.iter().enumerate().skip(left) {
            fs::remove_dir_all(place.path(&name).join(format!("{:02}-{load}", number + 1))).unwrap();
        }
        let said = place.assay(&[&command[..], &["--resume", &name]].concat());
        assert_eq!((said.code, loads_of(&said.json())), (Some(0), runs.clone()), "{left}: {}", said.err);
        assert_eq!(said.json()["tiles"], whole["tiles"], "{left}");
    }
    let other = place.assay(&["limit", "orders.toml", DRIVE, "--for", "20s", "--resume", "whole"]);
    assert_ne!(other.code, Some(0), "another task: {}", other.out);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_begun() {
    let place = place_of_tiles("");
    place.write("nested.toml", "[[tile]]\nsize = \"4GiB\"\nuse = [{ workload = \"tiles.toml\" }]\n");
    place.write("absent.toml", "[[tile]]\nsize = \"4GiB\"\nuse = [{ workload = \"not-there.toml\" }]\n");
    place.write("db.toml", "[[tile]]\nsize = \"4GiB\"\nuse = [{ workload = \"tpcc\" }]\n");
    place.write("files.toml", "[[tile]]\nsize = \"4GiB\"\nuse = [{ workload = \"media\" }]\n");
    let made = [
        "orders.toml",
        "mail.toml",
        "backup.toml",
        "tiles.toml",
        "nested.toml",
        "absent.toml",
        "db.toml",
        "files.toml",
    ];
    for (args, code, words) in [
        (&["run", "tiles.toml", DRIVE][..], 2, "is a file of tiles: say how many run, such as --tiles 3"),
        (
            &["run", "tiles.toml", DRIVE, "--load", "2x"],
            2,
            "is its number of tiles: write --tiles N in place of --load",
        ),
        (&["run", "orders.toml", DRIVE, "--tiles", "2"], 2, "--tiles is for a file of tiles, and orders"),
        (&["run", "tiles.toml", DRIVE, "--tiles", "0"], 2, "0"),
        (&["run", "tiles.toml", "orders.toml", DRIVE, "--tiles", "2"], 2, "beside which nothing else runs"),
        (&["run", "orders.toml", "tiles.toml", DRIVE, "--tiles", "2"], 2, "beside which nothing else runs"),
        (&["run", "tiles.toml", DRIVE, "--tiles", "17"], 3, "17 tiles of 4GiB need 68GiB of each target"),
        (&["explain", "tiles.toml", DRIVE, "--tiles", "17"], 3, "16 fit"),
        (&["limit", "tiles.toml", DRIVE, "--tiles", "--to", "17"], 3, "16 fit"),
        (&["limit", "tiles.toml", DRIVE, "--tiles", "--from", "20"], 3, "16 fit"),
        (&["limit", "tiles.toml", "sim:flash?size=2GiB", "--tiles"], 3, "not one fits"),
        (&["limit", "tiles.toml", DRIVE], 2, "is a file of tiles: add --tiles"),
        (&["limit", "orders.toml", DRIVE, "--tiles"], 2, "--tiles is for a file of tiles"),
        (&["limit", "orders.toml", DRIVE, "--to", "30"], 2, "is not a multiple; write it like 30x"),
        (&["limit", "tiles.toml", DRIVE, "--tiles", "--to", "1.5x"], 2, "is no number of tiles"),
        (&["limit", "tiles.toml", DRIVE, "--tiles", "--resolution", "1x"], 2, "tiles are whole"),
        (
            &["limit", "tiles.toml", DRIVE, "--tiles", "--criterion", "tile1/orders/reads p99 at most 1ms"],
            3,
            "each tile is judged",
        ),
        (&["run", "tiles.toml", DRIVE, "--tiles", "2", "--behind", "1GiB"], 3, "a cache would lie before all tiles"),
        (&["curve", "tiles.toml", DRIVE, "--max", "2x"], 2, "which only run, limit and explain take"),
        (&["certify", "tiles.toml", DRIVE], 2, "which only run, limit and explain take"),
        (&["run", "nested.toml", DRIVE, "--tiles", "1"], 2, "which only run, limit and explain take"),
        (&["run", "absent.toml", DRIVE, "--tiles", "1"], 3, "not-there.toml cannot be read"),
        (&["run", "db.toml", DRIVE, "--tiles", "1"], 3, "tpcc: it drives a database"),
        (&["run", "files.toml", DRIVE, "--tiles", "1"], 3, "media: it works on files in a directory"),
    ] {
        let said = place.assay(args);
        assert_eq!(said.code, Some(code), "{args:?}: {}{}", said.out, said.err);
        assert!(in_one_line(&said.err).contains(words), "{args:?}: {words}: {}", said.err);
        assert_eq!(place.left(&made), [""; 0], "{args:?}");
    }
}

#[test]
fn workloads_of_many_kinds_run_in_one_tile() {
    let place = Place::new();
    place.write("reads.toml", &reads(20));
    place.write(
        "tiles.toml",
        &format!(
            "{TIMES}[[tile]]\nsize = \"8GiB\"\nuse = [{{ name = \"db\", workload = \"oltp\" }}, {{ workload = \"reads.toml\" }}]\n[[tile]]\nsize = \"16GiB\"\n\
             use = [{{ workload = \"mail\" }}]\n[[background]]\nname = \"act\"\nworkload = \"act-storage\"\nload = \"0.1x\"\n"
        ),
    );
    let shown = place.assay(&["explain", "tiles.toml", "sim:flash", "--tiles", "2"]);
    let told = in_one_line(&shown.out);
    for part in [
        "2 tiles of 24GiB on each target, each judged by its own criteria",
        "background/act 0.1x",
        "whole targets",
        "tile2/db 1x 50.000/s 8GiB from 24GiB on",
        "tile2/mail 1x",
        "16GiB from 32GiB on",
        "VMMARK-LIKE: not comparable with VMmark results",
    ] {
        assert!(told.contains(part), "{part}: {}", shown.out);
    }
    let (said, log) = place.run(&["run", "tiles.toml", "sim:flash", "--tiles", "2", "--json"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let result = said.json();
    let marks = result["watermarks"].to_string();
    assert!(["SPC-1-LIKE", "JETSTRESS-LIKE", "VMMARK-LIKE"].iter().all(|mark| marks.contains(mark)), "{marks}");
    for name in ["background/act", "tile1/db", "tile1/reads", "tile1/mail", "tile2/db", "tile2/reads", "tile2/mail"] {
        let group = result["groups"].as_array().unwrap().iter().find(|group| group["name"] == name);
        let operations = group.unwrap_or_else(|| panic!("{name}"))["operations"].as_u64().unwrap();
        assert!(operations > 200, "{name}: {operations}");
    }
    assert!(log.header.streams.len() > 30);
}

/// Two tiles on a device that has room for four: their ranges are written, and no byte behind them.
#[test]
fn a_real_device_is_written_within_the_tiles_only() {
    let place = Place::new();
    const MIB: usize = 1 << 20;
    let Some(disk) = Loop::over(&place, "disk.img", 64 * MIB as u64) else { return };
    let writes = "model = \"streams\"\n[[stream]]\nname = \"writes\"\ndirection = \"write\"\nsize = \"64KiB\"\nrate = \"200/s\"\n\
                  [[stream]]\nname = \"end\"\ndirection = \"write\"\nsize = \"4KiB\"\nrate = \"50/s\"\nrange = { from = \"75%\" }\n\
                  [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"50/s\"\n";
    place.write("writes.toml", writes);
    place.write(
        "tiles.toml",
        "duration = \"2s\"\nslice = \"1s\"\n[[tile]]\nsize = \"16MiB\"\nuse = [{ workload = \"writes.toml\" }]\n",
    );
    let token = disk.token(&place);
    let command = ["run", "tiles.toml", disk.path(), "--tiles", "2", "--verify", "--destroy-data", &token, "--json"];
    let (said, _) = place.run(&command);
    let result = said.json();
    assert!(result["reason"].as_str().is_some_and(|reason| !reason.contains("damaged")), "{result}");
    let group = |name: &str| result["groups"].as_array().unwrap().iter().find(|group| group["name"] == name).cloned();
    for name in ["tile1/writes", "tile2/writes"] {
        assert!(group(name).unwrap()["operations"].as_u64() > Some(300), "{name}: {result}");
    }
    disk.until_free();
    let bytes = fs::read(&disk.backing).unwrap();
    let written = |from: usize, to: usize| bytes[from..to].iter().any(|byte| *byte != 0);
    for tile in [0, 16 * MIB] {
        assert!(written(tile + MIB, tile + 8 * MIB) && written(tile + 12 * MIB, tile + 16 * MIB - 8192), "{tile}");
    }
    // The last blocks of a device that was written have our stamp.
    assert!(!written(32 * MIB, 63 * MIB), "behind the tiles nothing is written");
}
