//! Patterns of addresses and arrivals as a user meets them: every form runs, repeats with its seed, and continues after
//! a kill.

use super::bed::{Place, Said};
use std::fs;

/// A stream of each form of address.
const FORMS: [&str; 20] = [
    "\"uniform\"",
    "\"sequential\"",
    "{ uniform = \"64KiB\" }",
    "{ pareto = \"20%\" }",
    "{ normal = \"10%\" }",
    "{ skip = \"8KiB\" }",
    "{ back = \"8KiB\" }",
    "{ repeated = 4 }",
    "{ bands = \"1MiB\" }",
    "{ zipf = 1.1, scatter = true }",
    "{ zipf = 1 }",
    "{ hotspot = [\"80%\", \"20%\"], scatter = true }",
    "{ zones = [[\"60%\", \"10%\"], [\"40%\", \"90%\"]] }",
    "{ working_set = \"1GiB\", turnover = \"10%/h\", inside = { zipf = 0.9 } }",
    "{ once = \"8KiB\" }",
    "{ runs = \"1MiB\" }",
    "{ runs = { mean = \"256KiB\" } }",
    "{ walk = \"1MiB\" }",
    "{ heat = [[\"60%\", \"10%\"], [\"40%\", \"90%\"]], area = \"64KiB\", unit = \"8KiB\", run_lengths = [[1, \"80%\"], [9, \"20%\"]], interleaved = 2 }",
    "{ never_seen = \"8KiB\", reread = { share = \"40%\", of_last = \"1MiB\" } }",
];

fn stream(name: &str, keys: &str) -> String {
    format!("[[stream]]\nname = \"{name}\"\ndirection = \"read\"\nsize = \"8KiB\"\nrate = \"200/s\"\n{keys}\n")
}

#[test]
fn every_form_of_address_runs_and_repeats_by_its_seed() {
    let run = |seed: &str| {
        let place = Place::new();
        let ranges = (0..).map(|at| format!("range = {{ from = \"{}%\", size = \"5%\" }}", at * 5));
        let one = |(at, (form, range)): (usize, (&&str, String))| {
            stream(&format!("s{at}"), &format!("address = {form}\n{range}"))
        };
        let streams: String = FORMS.iter().zip(ranges).enumerate().map(one).collect();
        place.write("all.toml", &format!("model = \"streams\"\nduration = \"20s\"\nslice = \"10s\"\n{streams}"));
        let (said, log) = place.run(&["run", "all.toml", "sim:flash", "--seed", seed, "--json"]);
        assert_eq!(said.is_of_verdict(&place.path("run")), "PASS");
        log.adds_up();
        fs::read(place.path("run/run.jsonl")).unwrap()
    };
    let first = run("5");
    assert!(first == run("5"), "the same seed, another log");
    assert!(first != run("6"), "another seed, the same log");
}

/// The program itself says which forms there are. "behind" follows a stream that writes, and has tests of its own.
#[test]
fn no_form_of_address_is_left_out() {
    let place = Place::new();
    place.write("w.toml", &format!("model = \"streams\"\n{}", stream("reads", "address = { scatter = true }")));
    let said = place.assay(&["explain", "w.toml", "sim:flash"]);
    let (_, listed) = said.err.split_once("such as { zipf = 1.1 }: ").expect("the forms are listed");
    let listed = listed.lines().next().unwrap().replace(" or ", ", ");
    let all: Vec<&str> = listed.split(", ").collect();
    assert!(all.len() > 10, "{listed}");
    for form in all.into_iter().filter(|form| *form != "behind") {
        assert!(FORMS.iter().any(|tried| tried.contains(&format!("{{ {form} ="))), "{form} is not tried");
    }
}

/// For each segment of a log, where it begins in the order of the places that are used only once, in bytes.
fn begins(log: &std::path::Path) -> Vec<u64> {
    let text = fs::read_to_string(log).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let heads = lines.filter(|line| line["kind"] == "header");
    let bytes = |head: serde_json::Value| {
        head["plan"]["before"]["seen"].as_str().unwrap().parse::<assay_base::Bytes>().unwrap().get()
    };
    heads.map(bytes).collect()
}

#[test]
fn blocks_that_were_never_seen_are_not_those_of_the_run_before_nor_of_one_that_was_killed() {
    let place = Place::new();
    let keys = "address = { never_seen = \"8KiB\" }";
    place
        .write("w.toml", &format!("model = \"streams\"\nduration = \"3s\"\nslice = \"1s\"\n{}", stream("reads", keys)));
    let said = place.assay(&["prep", "f.dat", "--create", "64MiB", "--skip-zero"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    // The largest amount that a run of 3 s may use: 600 units, and an allowance for chance and for the workers.
    let need = (600.0 + 6.0 * 600f64.sqrt() + 16.0 + 1024.0f64).ceil() as u64 * 8192;
    place.run(&["run", "w.toml", "f.dat"]);
    let first = begins(&place.path("run/run.jsonl"));
    fs::rename(place.path("run"), place.path("first")).unwrap();
    let killed = place.start(&["run", "w.toml", "f.dat"], 1);
    killed.signal(libc::SIGKILL);
    killed.end();
    let said = place.assay(&["run", "w.toml", "f.dat", "--resume", "run"]);
    assert!(said.code.is_some_and(|code| code < 12), "{}", said.err);
    let later = begins(&place.path("run/run.jsonl"));
    assert_eq!(later.len(), 2, "the killed run and its rest");
    let all = [first[0], later[0], later[1]];
    assert!(all.windows(2).all(|pair| pair[1] - pair[0] >= need), "{all:?}, {need} B each");
    let said = place.assay(&["explain", "w.toml", "f.dat"]);
    assert!(
        said.out.contains("never seen before, in units of 8KiB") && said.out.contains("never seen, which lasts 41.0 s"),
        "{}",
        said.out
    );
    // The run is longer than there are blocks for: refused before anything is opened.
    let said = place.assay(&["run", "w.toml", "f.dat", "--for", "1min", "--out", "long"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("the workload needs at least") && !place.path("long").exists(), "{}", said.err);
}

#[test]
fn phases_are_judged_in_slices_of_their_own_and_arrivals_that_change_are_delivered() {
    let run = || {
        let place = Place::new();
        let phase = |name: &str, load: &str| format!("[[phase]]\nname = \"{name}\"\nspan = \"20s\"\n{load}\n");
        let phases = [
            phase("low", "load = \"0.5x\""),
            phase("ramp", "from = \"0.5x\"\nto = \"2x\""),
            phase("high", "load = \"2x\""),
        ];
        let even = stream("even", "arrival = \"steady\"");
        place.write(
            "p.toml",
            &format!("model = \"streams\"\nwarm_up = \"5s\"\nslice = \"10s\"\n{}{even}", phases.concat()),
        );
        let (said, log) = place.run(&["run", "p.toml", "sim:flash", "--json"]);
        assert_eq!(said.is_of_verdict(&place.path("run")), "PASS");
        log.adds_up();
        let slices = said.json()["slices"].clone();
        let scheduled = |slice: &serde_json::Value| slice["streams"][0]["scheduled"].as_u64().unwrap();
        let counts: Vec<u64> = slices.as_array().unwrap().iter().map(scheduled).collect();
        // A ramp from 0.5x to 2x has a mean of 0.875x of 200/s in its first half, and of 1.625x in its second half.
        assert_eq!(counts, [1000, 1000, 1750, 3250, 4000, 4000]);
        each_phase_has_figures_of_its_own(&place, &said);
        let explained = place.assay(&["explain", "p.toml", "sim:flash"]);
        assert!(
            explained.out.contains("even: arrivals evenly spaced, 100% are 200.000/s: 50% at 0s"),
            "{}",
            explained.out
        );
        fs::read(place.path("run/run.jsonl")).unwrap()
    };
    assert!(run() == run(), "the same seed, another log");
    let place = Place::new();
    let bursts = stream("bursts", "arrival = { bursty = { on = \"200ms\", off = \"800ms\", quiet = \"10%\" } }");
    let day = stream("day", "arrival = { profile = [[\"0s\", \"30%\"], [\"9s\", \"100%\"]], every = \"24s\" }");
    place.write("b.toml", &format!("model = \"streams\"\nduration = \"2min\"\nslice = \"10s\"\n{bursts}{day}"));
    let (said, log) = place.run(&["run", "b.toml", "sim:flash", "--json"]);
    assert_eq!(said.is_of_verdict(&place.path("run")), "PASS");
    log.adds_up();
    let explained = place.assay(&["explain", "b.toml", "sim:flash"]);
    assert!(explained.out.contains("bursts of 714.286/s for 200ms"), "{}", explained.out);
}

/// Asserts the figures of a run whose phases are `low`, `ramp` and `high`, 20 s each.
fn each_phase_has_figures_of_its_own(place: &Place, said: &Said) {
    let phases = said.json()["phases"].as_array().unwrap().clone();
    let names: Vec<&str> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["low", "ramp", "high"]);
    let figure = |phase: &serde_json::Value, name: &str| phase["streams"][0]["response"][name].as_u64().unwrap();
    let operations: Vec<u64> = phases.iter().map(|phase| figure(phase, "operations")).collect();
    let all = said.json()["streams"][0]["response"].clone();
    assert_eq!(operations.iter().sum::<u64>(), all["operations"].as_u64().unwrap(), "each operation is in one phase");
    let longest = phases.iter().map(|phase| figure(phase, "max_ns")).max();
    assert_eq!(longest, all["max_ns"].as_u64());
    for (phase, rate) in phases.iter().zip([100.0, 250.0, 400.0]) {
        let achieved = phase["streams"][0]["rate_achieved"].as_f64().unwrap();
        assert!((achieved - rate).abs() < 1.0, "{achieved} of {rate}");
        assert!(figure(phase, "p50_ns") <= figure(phase, "p99_ns"));
        assert_eq!((&phase["slices"], &phase["slices_within"]), (&2.into(), &2.into()));
    }
    let log = place.path("run").display().to_string();
    let text = place.assay(&["judge", &log]).out;
    assert!(text.contains("ramp even") && text.contains("high even"), "{text}");
    let page = fs::read_to_string(place.path("run/report.html")).unwrap();
    assert!(page.contains("<caption class=\"quiet\">Response of each stream in each phase of the load</caption>"));
}

/// A mix of 70 % reads and 30 % writes, with 8 in flight, in two copies on each target.
const LOOP: &str = "model = \"streams\"\nduration = \"4s\"\nslice = \"2s\"\n[[loop]]\nname = \"mix\"\nin_flight = 8\ncopies = 2\n\
    [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"8KiB\"\nloop = \"mix\"\nshare = \"70%\"\naddress = \"sequential\"\nplaces = \"f\"\n\
    [[stream]]\nname = \"writes\"\ndirection = \"write\"\nsize = \"8KiB\"\nloop = \"mix\"\nshare = \"30%\"\naddress = \"sequential\"\nplaces = \"f\"\n";

#[test]
fn a_loop_keeps_its_shares_and_its_number_in_flight() {
    let run = || {
        let place = Place::new();
        place.write("l.toml", LOOP);
        let (said, log) = place.run(&["run", "l.toml", "sim:flash", "sim:flash", "--json"]);
        assert_eq!(said.is_of_verdict(&place.path("run")), "PASS");
        log.adds_up();
        let (reads, writes) = (log.stream("reads").ok as f64, log.stream("writes").ok as f64);
        let all = reads + writes;
        assert!((reads - 0.7 * all).abs() < 4.0 * (all * 0.21).sqrt(), "{reads} of {all}");
        let most: u64 = said.json()["streams"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|stream| stream["in_flight_max"].as_u64())
            .max()
            .unwrap();
        assert!((1..=32).contains(&most), "{most}");
        let explained = place.assay(&["explain", "l.toml", "sim:flash"]);
        let words = "loop mix: 8 in flight on each target in each of 2 copies: reads 70.0%, writes 30.0%";
        assert!(explained.out.contains(words), "{}", explained.out);
        fs::read(place.path("run/run.jsonl")).unwrap()
    };
    assert!(run() == run(), "the same seed, another log");
    let place = Place::new();
    place.write("l.toml", LOOP);
    // An engine that does one operation at a time cannot run such a loop; nothing is opened or made.
    let said = place.assay(&["run", "l.toml", "null:1GiB", "--engine", "inline", "--out", "run"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("in_flight"), "{}", said.err);
    // The same loop in real time, on several workers.
    let (said, log) = place.run(&[
        "run",
        "l.toml",
        "f.dat",
        "--create",
        "64MiB",
        "--for",
        "2s",
        "--workers",
        "3",
        "--verify",
        "--json",
    ]);
    assert!(said.code.is_some_and(|code| code < 12), "{}", said.err);
    log.adds_up();
    assert!(log.stream("reads").ok > 0 && log.stream("writes").ok > 0);
}
