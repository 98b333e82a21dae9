use super::LIKENESS;
use crate::arrival::Part;
use crate::plan::Plan;
use crate::source::{BlockSources, NextWritten, SourceWorker, WrittenPlaces};
use crate::workload::{Adjust, Workload, read_workload};
use assay_base::source::{NextRequest, Source};
use assay_base::{Criterion, Geometry, Instant, Multiple, Op};
use std::collections::BTreeSet;

const BLOCK: u32 = 4096;
const SIZE: u64 = 4 << 30;

/// Streams of every pattern that has a generator of its own, with a rate.
const ORDERS: &str = r#"
model = "streams"
[[stream]]
name = "reads"
direction = "read"
size = "8KiB"
rate = "40/s"
[[stream]]
name = "hot"
direction = "write"
size = { from = "4KiB", to = "64KiB" }
rate = "30/s"
address = { zipf = 1.1 }
places = "hot"
range = { from = "50%", size = "25%" }
[[stream]]
name = "log"
direction = "write"
size = "16KiB"
rate = "10/s"
arrival = "steady"
address = "sequential"
range = { size = "64MiB" }
[[criterion]]
stream = "reads"
p99_at_most = "20ms"
[[criterion]]
stream = "all"
mean_at_most = "30ms"
"#;
const MAIL: &str = "model = \"mail\"\nmailboxes = 500\nlog_size = \"128MiB\"\nslice = \"10s\"\nmaintenance = \"off\"\nwarm_up = \"0s\"\n";
const DATABASE: &str = "model = \"oltp\"\nbsu = 2\nwarm_up = \"0s\"\n";
const BACKUP: &str = "model = \"streams\"\n[[stream]]\nname = \"scan\"\ndirection = \"read\"\nsize = \"1MiB\"\nrate = \"5/s\"\naddress = \"sequential\"\n";

/// A file of tiles whose workloads are these texts.
fn tiles(text: &str) -> Workload {
    let mut whole = read_workload("t", text).unwrap_or_else(|why| panic!("{why}"));
    whole
        .change_tile_workloads(|member| {
            let text = match member.file.as_str() {
                "orders.toml" => ORDERS,
                "mail.toml" => MAIL,
                "database.toml" => DATABASE,
                "backup.toml" => BACKUP,
                other => other,
            };
            read_workload(&member.name, text).map(|own| member.workload = Some(Box::new(own)))
        })
        .unwrap_or_else(|why| panic!("{why}"));
    whole.take_times_of_tiles();
    whole
}

const MIXED: &str = r#"
duration = "30s"
slice = "10s"
warm_up = "0s"
[[tile]]
size = "3GiB"
use = [{ name = "orders", workload = "orders.toml" }, { name = "mail", workload = "mail.toml", load = "2x" }]
[[tile]]
size = "1GiB"
use = [{ name = "database", workload = "database.toml" }]
[[background]]
workload = "backup.toml"
"#;

fn plan_of(text: &str, number: u64) -> Result<Plan, String> {
    let load = Some(Multiple::from_whole(number));
    tiles(text).make_plan(&Adjust { load, seed: 7, targets: 1, ..Adjust::default() })
}

struct Nothing;

impl WrittenPlaces for Nothing {
    fn next_written(&self, _: u16, _: u64) -> NextWritten {
        NextWritten::NoMore
    }
}

/// The operations that one worker draws within some seconds, each with its stream and its time.
fn operations(plan: &Plan, worker: Part, seconds: u64) -> Vec<(String, Instant, Op)> {
    let geometries = vec![Geometry { size: 64 * SIZE, block: BLOCK }; usize::from(plan.load.targets)];
    let start = Instant::from_ns(0);
    let own = SourceWorker::<Nothing> { part: worker, start, written: None, gates: None, geometries };
    let mut made = BlockSources::from_plan(plan, own).unwrap();
    let flows: Vec<(u16, u16)> = plan.load.stream_targets().collect();
    let end = Instant::from_ns(seconds * 1_000_000_000);
    let mut all = Vec::new();
    for source in &mut made.sources {
        let mut now = source.next_due();
        while now < end {
            match source.next(now) {
                NextRequest::Of(flow) => {
                    let name = plan.load.streams[usize::from(flows[flow].0)].name.clone();
                    all.push((name, now, source.take_request(flow)));
                    now = source.next_due().max(now);
                }
                NextRequest::Later(later) => now = later,
                NextRequest::Over => break,
            }
        }
    }
    all.sort_by_key(|(name, at, op)| (*at, name.clone(), op.offset));
    all
}

/// Those of the streams whose names begin like this.
fn beginning_with(prefix: &str, all: &[(String, Instant, Op)]) -> Vec<(String, Instant, Op)> {
    all.iter().filter(|(name, ..)| name.starts_with(prefix)).cloned().collect()
}

#[test]
fn tile_1_and_what_runs_beside_the_tiles_do_the_same_however_many_tiles_there_are() {
    for worker in [Part { index: 0, of: 1 }, Part { index: 1, of: 3 }] {
        let [one, three] = [1, 3].map(|number| operations(&plan_of(MIXED, number).unwrap(), worker, 30));
        for prefix in ["tile1/orders/", "tile1/mail/", "tile1/database/", "background/"] {
            let [alone, among] = [&one, &three].map(|all| beginning_with(prefix, all));
            assert!(alone.len() > 20, "{prefix}: {}", alone.len());
            assert_eq!(alone, among, "{prefix}");
        }
        // Each tile draws for itself.
        for workload in ["orders", "mail", "database"] {
            let times = |tile: u64| {
                let own = beginning_with(&format!("tile{tile}/{workload}/"), &three);
                own.into_iter().map(|(_, at, _)| at).collect::<Vec<_>>()
            };
            assert!(times(1) != times(2) && times(2) != times(3) && !times(3).is_empty(), "{workload}");
        }
    }
}

#[test]
fn each_tile_keeps_to_its_ranges() {
    let plan = plan_of(MIXED, 3).unwrap();
    let (part, gib) = (Part { index: 0, of: 1 }, 1u64 << 30);
    let all = operations(&plan, part, 60);
    for tile in 1..=3u64 {
        for (workload, begin, size) in [("orders", 0, 3), ("mail", 0, 3), ("database", 3, 1)] {
            let begin = (tile - 1) * SIZE + begin * gib;
            let own = beginning_with(&format!("tile{tile}/{workload}/"), &all);
            assert!(!own.is_empty());
            for (name, _, op) in own {
                assert!(op.offset >= begin && op.offset + u64::from(op.len) <= begin + size * gib, "{name}: {op:?}");
            }
        }
        let hot = beginning_with(&format!("tile{tile}/orders/hot"), &all);
        let place = (tile - 1) * SIZE + 3 * gib / 2;
        assert!(hot.iter().all(|(_, _, op)| op.offset >= place && op.offset < place + 3 * gib / 4), "tile {tile}");
        let ends: BTreeSet<u64> = hot.iter().map(|(_, _, op)| op.offset - place).collect();
        assert!(ends.len() > 3, "tile {tile}");
    }
}

/// What a plan says of a tile, with the name of the first one.
fn criteria_of(plan: &Plan, tile: u64) -> Vec<Criterion> {
    let (prefix, first) = (format!("tile{tile}/"), "tile1/");
    let own = plan.criteria.iter().filter(|criterion| criterion.stream.starts_with(&prefix));
    own.map(|own| Criterion { stream: own.stream.replacen(&prefix, first, 1), ..own.clone() }).collect()
}

#[test]
fn identical_tiles_have_identical_criteria_and_streams() {
    let plan = plan_of(MIXED, 5).unwrap();
    assert_eq!(plan.load.multiple, Multiple::from_whole(5));
    let rates_of = |tile: u64| {
        let prefix = format!("tile{tile}/");
        let own = plan.load.streams.iter().filter(|stream| stream.name.starts_with(&prefix));
        own.map(|stream| (stream.name.replacen(&prefix, "", 1), stream.arrival.mean_rate())).collect::<Vec<_>>()
    };
    let first = criteria_of(&plan, 1);
    // What a workload asks of all its streams is asked of those of the tile together.
    assert!(first.iter().any(|criterion| criterion.stream == "tile1/orders"), "{first:?}");
    assert!(first.len() > 4, "{first:?}");
    for tile in 2..=5 {
        assert_eq!((criteria_of(&plan, tile), rates_of(tile)), (first.clone(), rates_of(1)), "tile {tile}");
        let group = plan.load.groups.iter().find(|group| group.name == format!("tile{tile}/orders")).unwrap();
        assert_eq!(group.streams.len(), 3);
    }
    let beside = plan.load.streams.iter().filter(|stream| stream.name.starts_with("background/"));
    assert_eq!(beside.map(|stream| stream.name.as_str()).collect::<Vec<_>>(), ["background/backup/scan"]);
    // Mail runs at twice its load in each tile.
    let alone = read_workload("mail", MAIL).unwrap().make_plan(&Adjust { targets: 1, ..Adjust::default() }).unwrap();
    let rate =
        |plan: &Plan, name: &str| plan.load.streams.iter().find(|it| it.name == name).unwrap().arrival.mean_rate();
    let (own, twice) = (rate(&alone, "db-reads").unwrap(), rate(&plan, "tile4/mail/db-reads").unwrap());
    assert_eq!(own.scaled_by(2, 1), Some(twice));
    assert!(plan.resembled_tools().iter().any(|mark| mark == LIKENESS), "{:?}", plan.resembled_tools());
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan, "a log holds all of it");
}

#[test]
fn a_plan_needs_room_for_all_tiles() {
    for number in [1, 3, 8] {
        let plan = plan_of(MIXED, number).unwrap();
        assert_eq!(plan.smallest_target(0, BLOCK), number * SIZE, "{number} tiles");
        let tiles = plan.load.tiles().unwrap();
        assert_eq!((tiles.count_on(number * SIZE), tiles.count_on(number * SIZE - 1)), (number, number - 1));
    }
}

#[test]
fn what_cannot_run_in_tiles_is_refused_in_words() {
    let tile = |size: &str, workload: &str| {
        format!("[[tile]]\nsize = \"{size}\"\nuse = [{{ name = \"w\", workload = '''{workload}''' }}]\n")
    };
    let stream = |keys: &str| format!("model = \"streams\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\n{keys}\n");
    for (text, words) in [
        (tile("1GiB", "model = \"tpcc\""), "w: it drives a database"),
        (
            tile("1GiB", &format!("cache = {{ size = \"64MiB\" }}\n{}", stream("size = \"4KiB\"\nrate = \"1/s\""))),
            "a cache would lie before all tiles",
        ),
        (tile("1GiB", "model = \"seek\"\nthreads = [1, 2]"), "w: it has steps"),
        (
            tile("1MiB", &stream("size = \"2MiB\"\nrate = \"1/s\"")),
            "w: in a range of 1MiB: 2MiB of each target are needed",
        ),
        (tile("1MiB", &stream("size = \"4KiB\"\nrate = \"1/s\"\nrange = { from = \"2MiB\" }")), "in a range of 1MiB: "),
        (tile("100MiB", MAIL), "in a range of 100MiB: the stream"),
        (format!("{}[[background]]\nworkload = \"orders.toml\"\n", tile("4GiB", MAIL)), "the duration of orders is"),
    ] {
        let told = plan_of(&text, 1).map(|plan| plan.name).expect_err(words);
        assert!(told.contains(words), "{words}: {told}");
    }
    let whole = tiles(MIXED);
    let load = |load: &str| whole.make_plan(&Adjust { load: load.parse().ok(), targets: 1, ..Adjust::default() });
    for (number, words) in
        [("1.5x", "no whole number of tiles"), ("2000x", "more than 1024"), ("100x", "more than 256 streams")]
    {
        let told = load(number).map(|plan| plan.name).unwrap_err();
        assert!(told.contains(words), "{number}: {told}");
    }
    let unread = read_workload("t", MIXED).unwrap();
    assert!(unread.make_plan(&Adjust::default()).unwrap_err().contains("has not been read"));
}

#[test]
fn a_file_of_tiles_that_is_wrong_is_shown_with_its_place() {
    let one = "[[tile]]\nsize = \"1GiB\"\nuse = [{ workload = \"a.toml\" }]\n";
    for (text, line, words) in [
        ("model = \"tiles\"\n".to_owned(), 0, "without a tile"),
        ("[[tile]]\nsize = \"1GiB\"\nuse = []\n".to_owned(), 1, "nothing runs in this tile"),
        ("[[tile]]\nsize = \"1000KiB\"\nuse = [{ workload = \"a\" }]\n".to_owned(), 2, "whole MiB"),
        ("[[tile]]\nsize = \"0B\"\nuse = [{ workload = \"a\" }]\n".to_owned(), 2, "whole MiB"),
        ("[[tile]]\nuse = [{ workload = \"a\" }]\n".to_owned(), 1, "size"),
        (format!("{one}[[background]]\nworkload = \"b/a.toml\"\n"), 5, "two workloads are called a"),
        (format!("{one}[[background]]\nname = \"x/y\"\nworkload = \"b\"\n"), 5, "cannot be the name"),
        (format!("{one}[[background]]\nworkload = \"\"\n"), 5, "without a file"),
        (format!("{one}[[background]]\nworkload = \"b\"\nsize = \"1GiB\"\n"), 6, "size"),
        (format!("{one}[[stream]]\nname = \"s\"\n"), 4, "stream"),
        (format!("{one}[[criterion]]\nstream = \"s\"\n"), 4, "criterion"),
    ] {
        let faults = read_workload("t", &text).map(|workload| workload.name).unwrap_err();
        let first = &faults.in_file_order()[0];
        assert!(first.to_string().contains(words), "{words}: {first}");
        assert!(line == 0 || first.line == line, "{line}: {first}");
    }
    let read = read_workload("t", one).unwrap();
    let names: Vec<&str> = read.tiles().unwrap().all_members().map(|member| member.name.as_str()).collect();
    assert_eq!((read.model, names), ("tiles", vec!["a"]));
}
