//! What the keys of a stream mean, and which values are refused.

use super::*;
use crate::arrival::Part;
use crate::generator::Generator;
use crate::plan::{Phase, Plan, Stream};
use assay_base::{Bytes, Geometry, Instant, Multiple, Rate};

const BLOCK: u32 = 512;

fn text(keys: &str) -> String {
    format!(
        "model = \"streams\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"100/s\"\n{keys}\n"
    )
}

fn plan_of(text: &str) -> Result<Plan, String> {
    let workload = read_workload("w.toml", text).map_err(|faults| faults.to_string())?;
    workload.make_plan(&Adjust {
        targets: 1,
        seed: 7,
        measure: Some(assay_base::Span::from_secs(60)),
        ..Adjust::default()
    })
}

fn stream(keys: &str) -> Stream {
    plan_of(&text(keys)).unwrap().load.streams.remove(0)
}

#[test]
fn every_form_of_address_is_said_and_reads_back() {
    for (keys, said) in [
        ("\"uniform\"", "uniform over blocks"),
        ("\"sequential\"", "sequential, wraps"),
        ("{ uniform = \"4KiB\" }", "uniform over multiples of 4KiB"),
        ("{ zipf = 1.1 }", "Zipf 1.1 over places, in order from the start"),
        ("{ zipf = 1, unit = \"8KiB\", scatter = true }", "Zipf 1 over places of 8KiB, scattered"),
        ("{ hotspot = [\"80%\", \"20%\"] }", "80% in 20%, 20% in 80% over places, in order from the start"),
        (
            "{ zones = [[\"60%\", \"10%\"], [\"30%\", \"20%\"], [\"10%\", \"70%\"]], scatter = true }",
            "60% in 10%, 30% in 20%, 10% in 70% over places, scattered",
        ),
        ("{ working_set = \"50GiB\" }", "a working set of 50GiB, 0%/s of it replaced, uniform over places"),
        (
            "{ working_set = \"50GiB\", turnover = \"10%/h\", inside = { zipf = 0.9 } }",
            "a working set of 50GiB, 10%/h of it replaced, Zipf 0.9 over places",
        ),
        ("{ never_seen = \"64KiB\" }", "never seen before, in units of 64KiB"),
        (
            "{ never_seen = \"64KiB\", reread = { share = \"40%\", of_last = \"1GiB\" } }",
            "never seen before, in units of 64KiB, 40% again of the last 1GiB",
        ),
        ("{ once = \"8KiB\" }", "each 8KiB once a pass, in random order"),
        ("{ pareto = \"20%\", scatter = true }", "Pareto 20% over places, scattered"),
        (
            "{ normal = \"10%\", unit = \"8KiB\" }",
            "a bell of 10% around the middle over places of 8KiB, in order from the start",
        ),
        (
            "{ working_set = \"50GiB\", inside = { pareto = \"10%\" } }",
            "a working set of 50GiB, 0%/s of it replaced, Pareto 10% over places",
        ),
        ("{ skip = \"4KiB\" }", "sequential, 4KiB behind the end of the last one, wraps"),
        ("{ back = \"8KiB\" }", "sequential, 8KiB back from the end of the last one, wraps"),
        ("{ repeated = 4 }", "uniform over blocks, each place 4 times"),
        ("{ runs = \"1MiB\" }", "sequential runs of 1MiB from uniform starts"),
        ("{ runs = { mean = \"1MiB\" } }", "sequential runs of 1MiB in the mean from uniform starts"),
        (
            "{ heat = [[\"60%\", \"10%\"], [\"40%\", \"90%\"]], area = \"64KiB\", unit = \"4KiB\" }",
            "60% in 10%, 40% in 90% over areas of 64KiB, scattered, at multiples of 4KiB",
        ),
        (
            "{ heat = [[\"100%\", \"100%\"]], unit = \"8KiB\", run_lengths = [[1, \"80%\"], [32, \"20%\"]], interleaved = 4 }",
            "100% in 100% over areas of 8KiB, scattered, at multiples of 8KiB, in runs: 80% of 1, 20% of 32 operations, 4 at a time",
        ),
        ("{ walk = \"1MiB\", unit = \"64KiB\" }", "a walk in steps up to 1MiB over places of 64KiB"),
    ] {
        let plan = plan_of(&text(&format!("address = {keys}"))).unwrap();
        assert_eq!(plan.load.streams[0].as_block().unwrap().address.to_string(), said);
        let written = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&written).unwrap(), plan, "{written}");
        // Operations go only where the largest of them fits, in whole blocks, and a target that is too small is
        // refused.
        let size = plan.smallest_target(0, BLOCK).max(1 << 20);
        let geometry = Geometry { size, block: BLOCK };
        let mut generator = Generator::new(&plan, 0, 0, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
        for at in 0..2000 {
            let op = generator.next_operation(Instant::from_ns(at * 1_000_000));
            assert!(op.offset.is_multiple_of(512) && op.offset + u64::from(op.len) <= size, "{keys}: {op:?}");
        }
    }
}

#[test]
fn the_same_seed_draws_the_same_and_hot_places_stay_with_another() {
    let keys = "address = { zipf = 1.2, scatter = true }\n";
    let plan = plan_of(&text(keys)).unwrap();
    let geometry = Geometry { size: 1 << 30, block: BLOCK };
    let drawn = |seed, stream: u16, plan: &Plan| {
        let mut plan = plan.clone();
        plan.load.seed = seed;
        let mut generator =
            Generator::new(&plan, stream, 0, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
        (0..5000).map(|_| generator.next_operation(Instant::ZERO).offset).collect::<Vec<u64>>()
    };
    let hottest = |drawn: &[u64]| {
        let mut counts = std::collections::BTreeMap::new();
        drawn.iter().for_each(|offset| *counts.entry(*offset).or_insert(0) += 1);
        counts.into_iter().max_by_key(|(_, n)| *n).unwrap().0
    };
    let (one, same, other) = (drawn(1, 0, &plan), drawn(1, 0, &plan), drawn(2, 0, &plan));
    assert!(one == same && one != other);
    assert_eq!(hottest(&one), hottest(&other), "the hot place does not move with the seed");
    // Each stream has hot places of its own, unless streams share them.
    let two = |places: &str| {
        let keys = format!("{keys}{places}");
        let both =
            format!("{}{}", text(&keys), text(&keys).replace("model = \"streams\"\n", "").replace("\"s\"", "\"t\""));
        let plan = plan_of(&both).unwrap();
        (hottest(&drawn(1, 0, &plan)), hottest(&drawn(1, 1, &plan)))
    };
    let ((a, b), (c, d)) = (two(""), two("places = \"rows\"\n"));
    assert!(a != b && c == d);
}

#[test]
fn sizes_by_share_and_by_step() {
    let keys = "size = \"4KiB\"";
    let sized = |size: &str| plan_of(&text("").replace(keys, &format!("size = {size}")));
    let drawn = |size: &str| {
        let plan = sized(size).unwrap();
        let geometry = Geometry { size: 1 << 30, block: BLOCK };
        let mut generator = Generator::new(&plan, 0, 0, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
        let mut counts = std::collections::BTreeMap::new();
        (0..100_000).for_each(|_| *counts.entry(generator.next_operation(Instant::ZERO).len).or_insert(0u32) += 1);
        counts
    };
    let within = |count: u32, p: f64| (f64::from(count) - 1e5 * p).abs() < 4.0 * (1e5 * p * (1.0 - p)).sqrt();
    let shares = drawn("{ shares = [[\"4KiB\", \"60%\"], [\"512B\", \"10%\"], [\"64KiB\", \"30%\"]] }");
    assert_eq!(shares.keys().copied().collect::<Vec<_>>(), [512, 4096, 65_536]);
    assert!(within(shares[&512], 0.1) && within(shares[&4096], 0.6) && within(shares[&65_536], 0.3), "{shares:?}");
    let steps = drawn("{ from = \"4KiB\", to = \"10KiB\", step = \"2KiB\" }");
    assert_eq!(steps.keys().copied().collect::<Vec<_>>(), [4096, 6144, 8192, 10_240]);
    assert!(steps.values().all(|count| within(*count, 0.25)), "{steps:?}");
    for (size, what) in [
        ("{ shares = [[\"4KiB\", \"60%\"], [\"8KiB\", \"50%\"]] }", "make 110%"),
        ("{ shares = [] }", "make 0%"),
        ("{ shares = [[\"0B\", \"100%\"]] }", "above 0"),
        ("{ shares = [[\"4KiB\", \"100%\"]], from = \"4KiB\" }", "in exactly one way"),
        ("{ from = \"4KiB\" }", "the key to is missing"),
        ("{ to = \"4KiB\" }", "the key from is missing"),
        ("{ from = \"4KiB\", to = \"8KiB\", step = \"0B\" }", "no sizes"),
        ("{ from = \"8KiB\", to = \"4KiB\", step = \"1KiB\" }", "no sizes"),
        ("{ from = \"1B\", to = \"1MiB\", step = \"1B\" }", "too many"),
    ] {
        let told = sized(size).unwrap_err();
        assert!(told.contains(what) && told.contains("w.toml:5:8"), "{size}: {told}");
    }
}

#[test]
fn a_rate_of_bytes_is_made_operations_by_the_mean_size() {
    let rate = |size: &str, rate: &str| {
        let text = text("").replace("\"4KiB\"", size).replace("100/s", rate);
        plan_of(&text).map(|plan| plan.load.streams[0].arrival.mean_rate().unwrap())
    };
    assert_eq!(rate("\"4KiB\"", "500MiB/s").unwrap(), Rate::per_second(128_000));
    assert_eq!(rate("\"4KiB\"", "500MB/s").unwrap().as_ratio(), (1_953_125, 16));
    assert_eq!(rate("{ from = \"4KiB\", to = \"12KiB\" }", "1MiB/s").unwrap(), Rate::per_second(128));
    let shares = "{ shares = [[\"4KiB\", \"75%\"], [\"20KiB\", \"25%\"]] }";
    assert_eq!(rate(shares, "8MiB/s").unwrap(), Rate::per_second(1024));
    for (wrong, what) in [("0MiB/s", "above 0/s"), ("500M/s", "2000/s"), ("5XB/s", "unknown unit"), ("MiB/s", "size")] {
        let told = rate("\"4KiB\"", wrong).unwrap_err();
        assert!(told.contains(what), "{wrong}: {told}");
    }
}

#[test]
fn a_stream_keeps_to_its_target_and_its_range() {
    let file = "model = \"streams\"\ntargets = [\"data\", \"log\"]\n[[stream]]\nname = \"s\"\ndirection = \"write\"\nsize = \"4KiB\"\n\
                rate = \"100/s\"\ntarget = \"log\"\nrange = { from = \"50%\", size = \"10MiB\" }\n";
    let workload = read_workload("w.toml", file).unwrap();
    let plan = |targets| workload.make_plan(&Adjust { targets, ..Adjust::default() });
    let two = plan(2).unwrap();
    assert_eq!(
        (two.load.stream_targets().collect::<Vec<_>>(), two.load.streams[0].arrival.mean_rate()),
        (vec![(0, 1)], Some(Rate::per_second(100)))
    );
    assert!(plan(1).unwrap_err().contains("is for 2 targets (data, log), and it is given 1"));
    assert_eq!(
        (two.smallest_target(0, 512), two.smallest_target(1, 512)),
        (0, 20 << 20),
        "of the other it needs nothing"
    );
    let geometry = Geometry { size: 1 << 30, block: 512 };
    let mut generator = Generator::new(&two, 0, 1, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
    let within = (1 << 29)..(1 << 29) + (10 << 20);
    assert!((0..1000).all(|_| within.contains(&generator.next_operation(Instant::ZERO).offset)));
    for (from, to, what) in [
        ("target = \"log\"", "target = \"lgo\"", "write one of data, log"),
        ("targets = [\"data\", \"log\"]\n", "", "name them first"),
        ("[\"data\", \"log\"]", "[\"log\", \"log\"]", "used twice"),
        ("[\"data\", \"log\"]", "[\"lo g\", \"log\"]", "not a valid name for a target"),
        ("\"10MiB\"", "\"60%\"", "not a part of a target"),
        ("\"10MiB\"", "\"0B\"", "of more than nothing"),
        ("\"50%\"", "\"101%\"", "not a part of a target"),
        ("\"50%\"", "\"half\"", "10GiB"),
        ("size = \"10MiB\"", "szie = \"10MiB\"", "did you mean size?"),
    ] {
        let told = read_workload("w.toml", &file.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(told.contains(what), "{to}: {told}");
    }
}

#[test]
fn what_no_address_can_be_is_refused_with_place_and_remedy() {
    for (keys, what) in [
        ("{ zipf = 10.1 }", "0 to 10"),
        ("{ zipf = -1 }", "0 to 10"),
        ("{ zipf = \"1.1\" }", "does not belong here"),
        ("{ zpif = 1.1 }", "did you mean zipf?"),
        ("{ zipf = 1.1, walk = \"1MiB\" }", "exactly one form"),
        ("{ scatter = true }", "exactly one form"),
        ("{}", "exactly one form"),
        ("\"zipf\"", "unknown value \"zipf\""),
        ("{ zipf = 1.1, turnover = \"1%/h\" }", "turnover does not belong"),
        ("{ once = \"8KiB\", unit = \"8KiB\" }", "unit does not belong"),
        ("{ once = \"2KiB\" }", "longer than its unit of 2KiB"),
        ("{ once = \"0B\" }", "not an alignment"),
        ("{ hotspot = [\"80%\", \"0%\"] }", "make 100% each"),
        ("{ hotspot = [\"80%\", \"120%\"] }", "make 100% each"),
        ("{ hotspot = [\"80%\"] }", "address"),
        ("{ zones = [[\"60%\", \"10%\"], [\"30%\", \"90%\"]] }", "make 100% each"),
        ("{ zones = [] }", "make 100% each"),
        ("{ working_set = \"1KiB\" }", "smaller than one of its places"),
        ("{ working_set = \"1GiB\", turnover = \"10%\" }", "10%/h"),
        ("{ working_set = \"1GiB\", inside = \"sequential\" }", "inside a working set"),
        ("{ working_set = \"1GiB\", inside = { zipf = 1, scatter = true } }", "inside a working set"),
        ("{ never_seen = \"4KiB\", reread = { share = \"100%\", of_last = \"1GiB\" } }", "not a possible reread"),
        ("{ never_seen = \"4KiB\", reread = { share = \"10%\", of_last = \"1KiB\" } }", "not a possible reread"),
        ("{ never_seen = \"4KiB\", reread = { share = \"10%\" } }", "of_last is missing"),
        ("{ runs = \"1KiB\" }", "shorter than one of its operations"),
        ("{ runs = { maen = \"1MiB\" } }", "did you mean mean?"),
        ("{ walk = \"0B\" }", "stays where it is"),
        ("3", "address"),
    ] {
        let told = plan_of(&text(&format!("address = {keys}"))).unwrap_err();
        assert!(told.contains("w.toml:7:") && told.contains(what), "{keys}: {told}");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let unseen = "address = { never_seen = \"64KiB\" }\n";
    let closed = text(unseen).replace("rate = \"100/s\"", "in_flight = 4");
    let with = |range: &str, other: &str| {
        let other = text(other).replace("model = \"streams\"\n", "").replace("\"s\"", "\"t\"");
        format!("{}{other}", text(&format!("{unseen}{range}")))
    };
    let apart = with("range = { size = \"50%\" }", "range = { from = \"50%\" }");
    assert!(plan_of(&apart).is_ok());
    let writes = |keys: &str| text(keys).replace("\"read\"", "\"write\"");
    let places = |other: &str| {
        format!(
            "{}{}",
            text("address = { zipf = 1 }\nplaces = \"p\""),
            text(other).replace("model = \"streams\"\n", "").replace("\"s\"", "\"t\"")
        )
    };
    for (file, what) in [
        (closed, "may go through any number"),
        (with("", ""), "t may go to blocks which s must not have seen"),
        (with("range = { size = \"50%\" }", "range = { from = \"49%\" }"), "must not have seen"),
        (with("range = { size = \"50%\" }", "range = { from = \"5GiB\" }"), "must not have seen"),
        (text("address = \"behind\""), "only a stream of a loop"),
        (text("address = { behind = \"0B\" }"), "not an alignment"),
        (text("address = { behind = \"4KiB\", unit = \"4KiB\" }"), "unit does not belong"),
        (writes("content = { duplicates = \"100%\" }"), "repeats none"),
        (format!("verify = true\n{}", writes("content = { duplicates = \"30%\" }")), "cannot be verified"),
        (text("content = { duplicates = \"30%\" }"), "belong to writes"),
        (text("places = \"p\""), "no places that streams could share"),
        (text("address = { zipf = 1 }\nplaces = \"p q\""), "not a name of places"),
        (places("address = { zipf = 1.1 }\nplaces = \"p\""), "another address, range or largest size"),
        (places("address = { zipf = 1 }\nplaces = \"p\"\nrange = { from = \"1%\" }"), "another address, range"),
        (text("range = { size = \"2KiB\" }"), "the range of the stream s is too small: it needs 4 KiB there"),
        (text("address = { working_set = \"2GiB\" }\nrange = { size = \"1GiB\" }"), "it needs 2 GiB there"),
        (text("bs = \"4KiB\""), "size = \"4KiB\""),
        (text("iodepth = 4"), "in_flight = 32"),
        (text("rw = \"randread\""), "direction = \"read\""),
        (text("bssplit = \"4k/60\""), "shares = [[\"4KiB\", \"60%\"]"),
        (text("random_distribution = \"zipf:1.1\""), "zipf = 1.1"),
        (text("bw = \"500MiB/s\""), "rate = \"500MiB/s\""),
    ] {
        let told = plan_of(&file).unwrap_err();
        assert!(told.contains(what), "{what}: {told}");
    }
}

#[test]
fn how_much_a_run_goes_through_is_known_before() {
    let keys = "address = { never_seen = \"64KiB\", reread = { share = \"40%\", of_last = \"1GiB\" } }";
    let plan = plan_of(&text(keys)).unwrap();
    // 6000 operations, of which 3600 go to new units; the rest is an allowance for chance.
    let units = plan.seen_once(0, BLOCK) / 65_536;
    assert!((4600..5500).contains(&units), "{units}");
    assert_eq!(plan.smallest_target(0, BLOCK), plan.seen_once(0, BLOCK));
    let next = plan.continued_after(plan.seen_after(BLOCK), assay_base::Span::ZERO);
    assert_eq!(next.carried_over.seen.get() - plan.carried_over.seen.get(), plan.seen_once(0, BLOCK));
    let geometry = Geometry { size: 1 << 40, block: BLOCK };
    let drawn = |plan: &Plan| {
        let mut generator = Generator::new(plan, 0, 0, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
        (0..6000).map(|_| generator.next_operation(Instant::ZERO).offset).collect::<std::collections::BTreeSet<u64>>()
    };
    assert!(drawn(&plan).is_disjoint(&drawn(&next)), "the next run sees none of them again");
    assert_eq!(drawn(&plan), drawn(&plan));
    assert_eq!(stream("").as_block().unwrap().address.offset_unit(), Bytes::default());
    let usual = plan_of(&text("")).unwrap();
    assert_eq!(
        (
            usual.seen_once(0, BLOCK),
            usual.carried_over,
            usual.continued_after(Bytes::new(9), assay_base::Span::from_secs(1)).carried_over
        ),
        (0, crate::CarriedOver::default(), crate::CarriedOver::default())
    );
}

#[test]
fn arrivals_that_change() {
    let arrival =
        |keys: &str| plan_of(&text(&format!("arrival = {keys}"))).map(|mut plan| plan.load.streams.remove(0).arrival);
    let bursty = arrival("{ bursty = { on = \"2s\", off = \"8s\", quiet = \"10%\" } }").unwrap();
    assert_eq!((bursty.arrival_name(), bursty.mean_rate()), ("bursty", Some(Rate::per_second(100))));
    assert!((bursty.peak_rate().unwrap() - 1000.0 / 2.8).abs() < 1e-9);
    let profile =
        arrival("{ profile = [[\"0h\", \"30%\"], [\"12h\", \"100%\"]], every = \"24h\", spacing = \"steady\" }")
            .unwrap();
    assert_eq!(
        (profile.arrival_name(), profile.mean_rate(), profile.peak_rate()),
        ("varying", Some(Rate::per_second(65)), Some(100.0))
    );
    let plan =
        plan_of(&text("arrival = { profile = [[\"0s\", \"10%\"], [\"9s\", \"90%\"]], every = \"20s\" }")).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&serde_json::to_string(&plan).unwrap()).unwrap(), plan);
    // A run that is continued goes on at the point of the profile that it had reached, and `--load` multiplies the
    // whole profile.
    assert_eq!(
        plan.continued_after(Bytes::default(), assay_base::Span::from_secs(7)).carried_over.time,
        assay_base::Span::from_secs(7)
    );
    for (keys, what) in [
        ("\"bursty\"", "unknown value"),
        ("{}", "one form"),
        ("{ bursty = { on = \"2s\", off = \"0s\" } }", "not bursts"),
        ("{ bursty = { on = \"2s\", off = \"1s\", quiet = \"101%\" } }", "not bursts"),
        ("{ bursty = { on = \"2s\" } }", "off is missing"),
        ("{ bursty = { on = \"2s\", off = \"1s\" }, every = \"1h\" }", "one form"),
        ("{ profile = [[\"0h\", \"30%\"]] }", "after which time it begins again"),
        ("{ profile = [], every = \"24h\" }", "this is not a profile of the rate over time"),
        ("{ profile = [[\"0h\", \"0%\"]], every = \"24h\" }", "this is not a profile of the rate over time"),
        ("{ profile = [[\"9h\", \"1%\"], [\"8h\", \"1%\"]], every = \"24h\" }", "ascending"),
        ("{ profile = [[\"25h\", \"1%\"]], every = \"24h\" }", "this is not a profile of the rate over time"),
        ("{ prfile = [] }", "did you mean profile?"),
    ] {
        let told = arrival(keys).unwrap_err();
        assert!(told.contains("w.toml:7:") && told.contains(what), "{keys}: {told}");
    }
    let closed = text("arrival = \"steady\"").replace("rate = \"100/s\"", "in_flight = 4");
    assert!(plan_of(&closed).unwrap_err().contains("has no arrival of its own"));
    let waits = format!(
        "warm_up = {{ until = \"steady\", limit = \"1h\" }}\n{}",
        text("arrival = { profile = [[\"0s\", \"10%\"]], every = \"1h\" }")
    );
    assert!(plan_of(&waits).unwrap_err().contains("is never steady"));
}

#[test]
fn phases_make_the_measured_time_and_change_the_load() {
    let phases = "slice = \"10s\"\nwarm_up = \"5s\"\n[[phase]]\nname = \"low\"\nspan = \"20s\"\nload = \"0.5x\"\n[[phase]]\nname = \"ramp\"\n\
                  span = \"20s\"\nfrom = \"0.5x\"\nto = \"2x\"\n[[phase]]\nname = \"high\"\nspan = \"20s\"\nload = \"2x\"\n";
    let file = |phases: &str| {
        text("arrival = \"steady\"").replacen("model = \"streams\"\n", &format!("model = \"streams\"\n{phases}"), 1)
    };
    let plan = plan_of(&file(phases)).unwrap();
    let names: Vec<&str> = plan.timing.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(
        (names, plan.timing.measured_length()),
        (vec!["warm-up", "low", "ramp", "high"], assay_base::Span::from_secs(60))
    );
    let geometry = Geometry { size: 1 << 30, block: BLOCK };
    let counts = |plan: &Plan, until: usize| {
        let mut schedule =
            Generator::new(plan, 0, 0, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap().schedule.unwrap();
        let mut counts = vec![0; until];
        while let Some(count) = counts.get_mut((schedule.next_due().as_ns() / 5_000_000_000) as usize) {
            *count += 1;
            schedule.advance_to_next();
        }
        counts
    };
    let whole = counts(&plan, 13);
    assert_eq!(&whole[..5], [250; 5], "the warm-up is as the first phase");
    assert_eq!(&whole[9..], [1000; 4]);
    assert_eq!(whole[5..9].iter().sum::<u32>(), 2500);
    // A run that stopped within the ramp is continued with the rest of the ramp.
    let at = assay_base::Span::from_secs(30);
    let mut rest = plan.continued_after(Bytes::default(), at);
    rest.timing.phases = Phase::warm_up_and_remaining(plan.timing.warm_up(), &plan.timing.phases[1..], at);
    let left: Vec<(&str, u64)> =
        rest.timing.phases.iter().map(|phase| (phase.name.as_str(), phase.span.as_ns() / 1_000_000_000)).collect();
    assert_eq!(left, [("warm-up", 5), ("ramp", 10), ("high", 20)]);
    let rest = counts(&rest, 7);
    assert!(
        rest[1..].iter().zip(&whole[7..]).all(|(rest, whole): (&u32, &u32)| rest.abs_diff(*whole) <= 1),
        "{rest:?} {whole:?}"
    );
    for (from, to, what) in [
        ("load = \"2x\"", "load = \"2x\"\nfrom = \"1x\"", "one load or goes from one to another"),
        ("to = \"2x\"\n", "", "one load or goes from one to another"),
        ("\"high\"", "\"low\"", "used twice"),
        ("\"high\"", "\"warm-up\"", "not a valid name of a phase"),
        ("span = \"20s\"", "span = \"0s\"", "not a length of a phase"),
        ("slice = \"10s\"", "slice = \"7s\"", "not a multiple of the slice"),
        ("slice = \"10s\"", "slice = \"10s\"\nduration = \"1min\"", "remove duration"),
        ("load = \"0.5x\"", "load = \"0x\"", "0x"),
    ] {
        let told = plan_of(&file(&phases.replacen(from, to, 1))).unwrap_err();
        assert!(told.contains(what), "{to}: {told}");
    }
    let bursts = file(phases).replace("arrival = \"steady\"", "arrival = { bursty = { on = \"1s\", off = \"1s\" } }");
    assert!(plan_of(&bursts).unwrap_err().contains("in phases the load changes by them"));
    let workload = read_workload("w.toml", &file(phases)).unwrap();
    let longer = workload.make_plan(&Adjust { measure: Some(assay_base::Span::from_secs(90)), ..Adjust::default() });
    assert!(longer.unwrap_err().contains("the phases of the workload take 1min"));
}

/// A workload with a loop and streams of it.
fn looped(keys: &str, streams: &[&str]) -> String {
    let one = |(at, keys): (usize, &&str)| {
        format!("[[stream]]\nname = \"s{at}\"\ndirection = \"read\"\nsize = \"4KiB\"\nloop = \"mix\"\n{keys}\n")
    };
    let streams: String = streams.iter().enumerate().map(one).collect();
    format!("model = \"streams\"\n[[loop]]\nname = \"mix\"\n{keys}\n{streams}")
}

#[test]
fn a_loop_gives_its_streams_slots_of_their_own() {
    let lines = "in_flight = 4\ncopies = 3\nthink = { time = \"5ms\", every = 2, spread = \"exponential\" }\n\
                 [[loop.line]]\nname = \"x\"\nshare = \"60%\"\nburst = 8\n[[loop.line]]\nname = \"y\"\nshare = \"40%\"\ndelay = \"2ms\"";
    let plan =
        plan_of(&looped(lines, &["line = \"x\"\nshare = \"70%\"", "line = \"x\"\nshare = \"30%\"", "line = \"y\""]))
            .unwrap();
    assert_eq!(
        (plan.load.loops.len(), plan.load.loops[0].slot_count(), plan.load.lane_bounds()),
        (1, 12, vec![vec![0, 12]])
    );
    assert!(
        (0..3).all(
            |stream| plan.load.lane_of(stream) == 1 && plan.load.loop_of(stream).is_some_and(|it| it.name == "mix")
        )
    );
    assert_eq!(plan.load.streams[0].arrival.mean_rate(), None);
    assert_eq!(serde_json::from_str::<Plan>(&serde_json::to_string(&plan).unwrap()).unwrap(), plan);
    let merged = crate::merge_plans(vec![plan.clone(), Plan { name: "other".into(), ..plan }]).unwrap();
    let names: Vec<&str> = merged.load.loops.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((names, merged.load.loop_of(3).unwrap().name.as_str()), (vec!["w.toml.mix", "other.mix"], "other.mix"));
}

#[test]
fn what_no_loop_can_be_is_refused() {
    let two = &["share = \"70%\"", "share = \"30%\""][..];
    for (keys, streams, what) in [
        ("in_flight = 0", two, "1 to 16384 in flight"),
        ("copies = 0", two, "1 to 16384 in flight"),
        ("in_flight = 200\ncopies = 200", two, "in all copies together"),
        ("think = { time = \"0s\" }", two, "not a pause"),
        ("think = { time = \"1s\", every = 0 }", two, "not a pause"),
        ("think = { every = 1 }", two, "time is missing"),
        ("think = { time = \"1s\", spread = \"normal\" }", two, "unknown value"),
        ("depth = 3", two, "unknown key"),
        ("", &["share = \"70%\"", "share = \"20%\""], "do not share it out"),
        ("", &["share = \"100%\"", ""], "do not share it out"),
        ("", &["share = \"0%\""], "not a share"),
        ("", &["line = \"x\""], "has no such line"),
        ("[[loop.line]]\nname = \"x\"\nshare = \"100%\"", &[""], "the stream is in none"),
        ("[[loop.line]]\nname = \"x\"\nshare = \"90%\"", &["line = \"x\""], "do not share out its bursts"),
        ("[[loop.line]]\nname = \"x\"\nshare = \"100%\"\nburst = 0", &["line = \"x\""], "of a burst"),
        ("", &["rate = \"5/s\""], "no arrival of its own"),
        ("", &["in_flight = 5"], "no arrival of its own"),
        ("", &["arrival = \"steady\""], "no arrival of its own"),
        ("", &["address = { never_seen = \"4KiB\" }"], "may go through any number"),
        ("", &["in_flight_bound = 5"], "in_flight_bound"),
        (
            "",
            &["address = \"sequential\"\nplaces = \"p\"", "address = { once = \"4KiB\" }\nplaces = \"p\""],
            "another address",
        ),
    ] {
        let told = plan_of(&looped(keys, streams)).unwrap_err();
        assert!(told.contains("w.toml:") && told.contains(what), "{keys} {streams:?}: {told}");
    }
    for (file, what) in [
        (looped("", &[""]).replace("loop = \"mix\"", "loop = \"mxi\""), "write one of mix"),
        (looped("", &[""]).replace("loop = \"mix\"", "in_flight = 1"), "do not share it out"),
        (text("loop = \"mix\"").replace("rate = \"100/s\"", ""), "add a [[loop]] table"),
        (text("share = \"5%\""), "belongs to a stream of a loop"),
        (text("line = \"x\""), "belongs to a stream of a loop"),
        (
            looped("", &[""])
                .replace("[[loop]]\nname = \"mix\"\n", "[[loop]]\nname = \"mix\"\n[[loop]]\nname = \"mix\"\n"),
            "two loops have this name",
        ),
        (looped("", &[""]).replace("[[loop]]\nname = \"mix\"", "[[loop]]\nname = \"m x\""), "not a name of a loop"),
        (
            looped("", &["target = \"a\"", "target = \"b\""])
                .replace("model = \"streams\"", "model = \"streams\"\ntargets = [\"a\", \"b\"]"),
            "on different targets",
        ),
    ] {
        let told = plan_of(&file).unwrap_err();
        assert!(told.contains(what), "{what}: {told}");
    }
}

const WRITES: &str = "[[stream]]\nname = \"w\"\ndirection = \"write\"\nsize = \"4KiB\"\n";
const FLUSHES: &str = "[[stream]]\nname = \"f\"\ndirection = \"flush\"\n";

#[test]
fn flushes_are_read_written_and_read_back() {
    for (file, every, arrival) in [
        (format!("model = \"streams\"\n{WRITES}rate = \"9/s\"\n{FLUSHES}rate = \"1/s\""), None, "poisson"),
        (format!("model = \"streams\"\n{FLUSHES}in_flight = 2\n{WRITES}rate = \"9/s\""), None, "closed"),
        (
            format!(
                "model = \"streams\"\n[[loop]]\nname = \"l\"\n{WRITES}loop = \"l\"\n{FLUSHES}loop = \"l\"\nevery = 8"
            ),
            Some(8),
            "closed",
        ),
    ] {
        let plan = plan_of(&file).unwrap();
        let flush = plan.load.streams.iter().find(|stream| stream.name == "f").unwrap();
        assert_eq!((flush.as_flush().unwrap().every, flush.arrival.arrival_name()), (every, arrival));
        assert!(!flush.writes_blocks() && flush.as_block().is_none() && flush.operation_name() == Some("flush"));
        let written = serde_json::to_string(&plan).unwrap();
        assert!(written.contains("\"direction\":\"flush\""), "{written}");
        assert_eq!(serde_json::from_str::<Plan>(&written).unwrap(), plan, "{written}");
        assert!(
            plan.load.writes_targets()
                && plan.smallest_target(0, BLOCK) == 4096
                && plan.largest_operation(BLOCK) == 4096
        );
    }
}

#[test]
fn forms_of_address_that_cannot_be_are_refused() {
    for (keys, what) in [
        ("{ pareto = \"0%\" }", "not a skew of Pareto's law"),
        ("{ pareto = \"100%\" }", "not a skew of Pareto's law"),
        ("{ pareto = 0.2 }", "is not a quantity with its unit"),
        ("{ normal = \"0%\" }", "a bell without a width"),
        ("{ pareto = \"20%\", normal = \"10%\" }", "exactly one form"),
        ("{ skip = \"0B\" }", "no bytes to leave out"),
        ("{ skip = \"4KiB\", back = \"4KiB\" }", "exactly one form"),
        ("{ back = \"4KiB\", scatter = true }", "scatter"),
        ("{ repeated = 0 }", "not a number of times"),
        ("{ repeated = 4, unit = \"4KiB\" }", "unit"),
    ] {
        let told = plan_of(&text(&format!("address = {keys}"))).unwrap_err();
        assert!(told.contains("w.toml:") && told.contains(what), "{keys}: {told}");
    }
}

#[test]
fn what_no_flush_can_be_is_refused() {
    let open = |keys: &str| format!("model = \"streams\"\n{WRITES}rate = \"9/s\"\n{FLUSHES}{keys}");
    let looped = |keys: &str| {
        format!("model = \"streams\"\n[[loop]]\nname = \"l\"\n{WRITES}loop = \"l\"\n{FLUSHES}loop = \"l\"\n{keys}")
    };
    for (file, what) in [
        (open("rate = \"1/s\"\nsize = \"4KiB\""), "size does not belong here"),
        (open("rate = \"1/s\"\naddress = \"sequential\""), "address does not belong here"),
        (open("rate = \"1/s\"\ndurable = true"), "durable does not belong here"),
        (open("rate = \"1/s\"\nbytes = \"1GiB\""), "bytes does not belong here"),
        (open("rate = \"1MiB/s\""), "a rate of bytes does not belong here"),
        (open(""), "a stream needs a rate"),
        (open("rate = \"1/s\"\nevery = 8"), "only a loop knows"),
        (looped(""), "add every = 8"),
        (looped("every = 0"), "not a number of writes"),
        (looped("every = 8\nshare = \"5%\""), "share does not belong here"),
        (looped("every = 8\nrate = \"5/s\""), "no arrival of its own"),
        (looped("every = 8\noperations = 5"), "begins and ends with its loop"),
        (looped("every = 8").replace("\"write\"", "\"read\""), "the loop of this flush writes nothing"),
        (looped("every = 8\n") + &FLUSHES.replace("\"f\"", "\"g\"") + "loop = \"l\"\nevery = 2", "flushes too"),
        (looped("every = 8").replace("loop = \"l\"\nevery", "loop = \"m\"\nevery"), "there is no loop"),
        (open("rate = \"1/s\"").replace("\"write\"", "\"read\""), "nothing is written where this stream flushes"),
        (
            open("rate = \"1/s\"\ntarget = \"b\"")
                .replace("model = \"streams\"", "model = \"streams\"\ntargets = [\"a\", \"b\"]")
                .replace("rate = \"9/s\"", "rate = \"9/s\"\ntarget = \"a\""),
            "nothing is written where this stream flushes",
        ),
        (
            open("rate = \"1/s\"\nstep = 2").replace("rate = \"9/s\"", "rate = \"9/s\"\nstep = 1"),
            "nothing is written where this stream flushes",
        ),
        (open("rate = \"1/s\"").replace("\"flush\"", "\"flsh\""), "write read, write or flush"),
        (text("every = 8"), "only a flush comes after writes"),
        (text("").replace("size = \"4KiB\"", ""), "the key size is missing"),
        (open("rate = \"1/s\"\n[cache]\nsize = \"1MiB\""), "a simulated cache does not say"),
    ] {
        let told = plan_of(&file).unwrap_err();
        assert!(told.contains(what), "{what}: {told}\n{file}");
    }
}

#[test]
fn a_recording_is_named_played_and_refused_where_it_cannot_be() {
    use crate::recording::Line;
    use assay_base::Direction;
    let file = |keys: &str, arrival: &str| {
        format!(
            "model = \"streams\"\n[[stream]]\nname = \"s\"\ndirection = \"write\"\narrival = {{ {arrival} }}\n{keys}\n"
        )
    };
    let named = "recorded = \"t\"";
    let mut workload = read_workload("w.toml", &file("durable = true", "recorded = \"t\", speed = \"4x\"")).unwrap();
    assert_eq!(workload.recording_files(), ["t"]);
    assert!(workload.make_plan(&Adjust::default()).unwrap_err().contains("has not been read"));
    let line = |at_ns, offset, len, direction| Line { at_ns, offset, len, direction };
    let lines = [line(0, 0, 512, Direction::Write), line(2_000_000_000, 1 << 20, 8192, Direction::Write)];
    let mut single = read_workload("w.toml", &file("", named)).unwrap();
    single.play_recording("t", &lines[..1]).unwrap();
    let rate = single.make_plan(&Adjust::default()).unwrap().load.streams[0].arrival.mean_rate();
    assert_eq!(rate, Some(Rate::per_second(1000)), "one operation is no endless rate");
    assert!(
        workload
            .clone()
            .play_recording("t", &[line(0, 0, 512, Direction::Read)])
            .unwrap_err()
            .contains("t has no write")
    );
    workload.play_recording("t", &lines).unwrap();
    let plan =
        workload.make_plan(&Adjust { targets: 3, load: Some(Multiple::from_whole(2)), ..Adjust::default() }).unwrap();
    let stream = &plan.load.streams[0];
    // Speed 4 times load 2: the second of two operations is due after a quarter of a second, on each of three targets.
    assert_eq!(stream.arrival.played_recording().unwrap().wanted_after(&lines[1]), assay_base::Span::from_ms(250));
    assert_eq!((stream.arrival.mean_rate(), stream.arrival.arrival_name()), (Some(Rate::per_second(24)), "recorded"));
    let block = stream.as_block().unwrap();
    assert_eq!((block.size.from.get(), block.size.to.get(), block.durable), (512, 8192, true));
    assert_eq!(
        (plan.smallest_target(0, BLOCK), plan.timing.ends_when_done()),
        ((1 << 20) + 8192, true),
        "the last place fits"
    );
    let text = serde_json::to_string(&plan).unwrap();
    assert!(
        text.contains("\"recording\":{\"file\":\"t\"") && serde_json::from_str::<Plan>(&text).unwrap() == plan,
        "{text}"
    );
    let mut scaled = read_workload("w.toml", &file("", "recorded = \"t\", fit = \"scale\"")).unwrap();
    scaled.play_recording("t", &lines).unwrap();
    assert_eq!(
        scaled.make_plan(&Adjust::default()).unwrap().smallest_target(0, BLOCK),
        8192,
        "the largest operation fits"
    );
    for (keys, arrival, what) in [
        ("size = \"4KiB\"", named, "size does not belong to a recording"),
        ("address = \"sequential\"", named, "address does not belong to a recording"),
        ("range = { size = \"1GiB\" }", named, "range does not belong to a recording"),
        ("rate = \"5/s\"", named, "rate does not belong to a recording"),
        ("in_flight = 5", named, "in_flight does not belong to a recording"),
        ("pause = \"5ms\"", named, "a pause does not belong to a recording"),
        ("loop = \"l\"\n[[loop]]\nname = \"l\"", named, "cannot be part of a closed loop"),
        ("", "recorded = \"\"", "a recording without a name"),
        ("", "recorded = \"t\", fit = \"wrap\"", "unknown value"),
        ("", "recorded = \"t\", speed = 2", "speed"),
        ("", "recorded = \"t\", speed = \"0x\"", "w.toml"),
        ("size = \"4KiB\"\nrate = \"5/s\"", "speed = \"2x\"", "speed and fit belong to a recording"),
        ("size = \"4KiB\"\nrate = \"5/s\"", "recorded = \"t\", every = \"5s\"", "speed and fit belong to a recording"),
        ("[[phase]]\nname = \"p\"\nspan = \"1h\"", named, "in phases the load changes by them"),
    ] {
        let told = plan_of(&file(keys, arrival)).unwrap_err();
        assert!(told.contains("w.toml:") && told.contains(what), "{keys} {arrival}: {told}");
    }
}

#[test]
fn what_a_stream_waits_for_is_a_name_or_a_list_of_names() {
    for (after, told) in [
        ("[]", "what the stream waits for is not a list of names"),
        ("[\"a\", \"a\"]", "what the stream waits for is not a list of names"),
        ("7", "the name of a stream or loop, such as \"load\", or a list"),
        ("[\"a\", 7]", "the name of a stream or loop, such as \"load\", or a list"),
    ] {
        let faults = read_workload("w.toml", &text(&format!("after = {after}"))).unwrap_err();
        let fault = &faults.in_file_order()[0];
        assert!(fault.to_string().contains(told) && fault.line == 7, "{after}: {fault}");
    }
}
