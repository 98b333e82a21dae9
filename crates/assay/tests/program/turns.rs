//! Loops that take turns over several targets, as a user runs them.

use super::bed::Place;
use assay_record::EventKind;

/// A loop over two of three targets, with reads and writes.
const MIX: &str = "model = \"streams\"\ntargets = [\"a\", \"b\", \"c\"]\nduration = \"4s\"\nslice = \"2s\"\n\
    [[loop]]\nname = \"mix\"\nin_flight = 6\ntargets = \"in-turn\"\n\
    [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nloop = \"mix\"\nshare = \"75%\"\ntarget = [\"c\", \"a\"]\n\
    [[stream]]\nname = \"writes\"\ndirection = \"write\"\nsize = \"4KiB\"\nloop = \"mix\"\nshare = \"25%\"\ntarget = [\"a\", \"c\"]\n\
    [[stream]]\nname = \"beside\"\ndirection = \"read\"\nsize = \"8KiB\"\nrate = \"100/s\"\ntarget = \"b\"\n";

const TARGETS: [&str; 3] = ["sim:flash", "sim:flash", "sim:disk"];

/// A command, followed by the same three targets and more arguments.
fn on(command: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    [command, &TARGETS, more].concat()
}

#[test]
fn a_loop_over_unequal_targets_keeps_its_turns_its_shares_and_its_seed() {
    let run = |seed: &'static str| {
        let place = Place::new();
        place.write("mix.toml", MIX);
        let (said, log) = place.run(&on(&["run", "mix.toml"], &["--seed", seed]));
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        log.adds_up();
        // The flows are reads on a and c, writes on a and c, and the stream beside the loop.
        let ok = |flow: usize| log.intervals.iter().map(|interval| interval.flows[flow].ok).sum::<u64>();
        let (a, c) = (ok(0) + ok(2), ok(1) + ok(3));
        assert!(a.abs_diff(c) <= 6 && a > 200, "in turn: {a} and {c}");
        let (reads, all) = ((ok(0) + ok(1)) as f64, (a + c) as f64);
        assert!((reads - all * 0.75).abs() <= 4.0 * (all * 0.1875).sqrt(), "{reads} of {all}");
        let flying =
            |interval: &assay_record::Interval| interval.flows[..4].iter().map(|flow| flow.in_flight).sum::<u64>();
        assert!(log.intervals.iter().all(|interval| flying(interval) <= 6));
        std::fs::read(place.path("run/run.jsonl")).unwrap()
    };
    let first = run("5");
    assert!(first == run("5"), "the same seed, another log");
    assert!(first != run("6"), "another seed, the same log");
}

#[test]
fn explain_says_how_a_loop_goes_to_its_targets() {
    let place = Place::new();
    for (targets, words) in [
        ("\"in-turn\"", "6 in flight on all its targets together, one target after the other: reads 75.0%"),
        ("{ next = \"random\", operations = 8 }", "together, a random target each time for 8 operations: reads"),
        ("{ next = \"in-turn\", passes = true }", "one target after the other, without those that were gone through"),
        ("\"one-after-another\"", "each target to its end and then the next: reads"),
        ("\"each\"", "6 in flight on each target: reads"),
    ] {
        place.write("mix.toml", &MIX.replace("\"in-turn\"", targets));
        let said = place.assay(&on(&["explain", "mix.toml"], &[]));
        assert!(said.code == Some(0) && said.out.contains(words), "{targets}: {}{}", said.out, said.err);
    }
    let short = place.assay(&["run", "mix.toml", "sim:flash", "--out", "run"]);
    assert!(short.code == Some(3) && short.err.contains("3 targets"), "{:?} {}", short.code, short.err);
}

/// A loop that ends after a number of operations starts again from its beginning if it is continued after a kill, here
/// on several workers and real files. In the log, no operation is lost or done twice.
#[test]
fn a_killed_loop_over_files_is_continued() {
    let place = Place::new();
    let said = place.assay(&["prep", "a.img", "b.img", "--create", "4MiB"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    place.write(
        "mix.toml",
        "model = \"streams\"\nduration = \"1min\"\nslice = \"1s\"\n[[loop]]\nname = \"mix\"\nin_flight = 4\ntargets = \"in-turn\"\noperations = 240\n\
         think = { time = \"50ms\" }\n[[stream]]\nname = \"writes\"\ndirection = \"write\"\nsize = \"8KiB\"\nloop = \"mix\"\naddress = \"sequential\"\n",
    );
    let running = place.start(&["run", "mix.toml", "a.img", "b.img", "--workers", "2"], 2);
    running.signal(9);
    running.end();
    let said = place.assay(&["run", "mix.toml", "a.img", "b.img", "--workers", "2", "--resume", "run"]);
    assert!([Some(0), Some(11)].contains(&said.code), "{:?} {}{}", said.code, said.out, said.err);
    let log = super::bed::Log::of(&place.path("run"));
    let ends: Vec<u64> = log
        .events
        .iter()
        .filter(|event| event.what == EventKind::StreamEnd)
        .map(|event| event.details["operations"].parse().unwrap())
        .collect();
    assert_eq!(ends.iter().sum::<u64>(), 240, "{ends:?}");
    assert!(ends.len() == 2 && ends[0].abs_diff(ends[1]) <= 4, "{ends:?}");
}
