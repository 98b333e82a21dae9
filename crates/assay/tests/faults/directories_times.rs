//! What a run on a directory says of times, beside a file system that knows them: a delay of one kind of call, and a stall of all.

use crate::bed::Log;
use crate::directories::Mounted;
use crate::rig::{alone, tried, unproven};
use assay_faultfs::TreeOperation;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const REMOVING: &str = r#"
name = "removing"
model = "files"
clients = 1
closed = true
duration = "3s"
slice = "3s"
interval = "500ms"
cache = "warm"
verify = false
io = "4KiB"
[tree]
files = 4
size = "4KiB"
[[do]]
name = "replace"
steps = [["create", "close"], ["unlink"]]
"#;

const DELAY: Duration = Duration::from_millis(5);
/// A median may be off by a fiftieth.
const ALLOWED: f64 = 0.02;

/// The median of the times that plain unlinks take there, from here: the delay, and the way through the kernel and back.
fn median_of_plain_unlinks(below: &Path) -> Duration {
    let mut taken = Vec::new();
    for number in 0..101 {
        let file = below.join(format!("plain-{number}"));
        fs::write(&file, "").unwrap();
        let begin = Instant::now();
        fs::remove_file(&file).unwrap();
        taken.push(begin.elapsed());
    }
    taken.sort_unstable();
    taken[taken.len() / 2]
}

#[test]
fn an_unlink_of_5_ms_is_counted_once_and_has_a_median_of_5_ms() {
    let _turn = alone();
    tried(|| {
        let Some(mounted) = Mounted::new(REMOVING) else { return };
        mounted.tree.set(&format!("unlink.delay={}ms reset=1", DELAY.as_millis()));
        let said = mounted.place.assay(&["run", "w.toml", "mount", "--out", "run", "--json"]);
        let unlinks = mounted.tree.truth().calls_of(TreeOperation::Unlink);
        let json = said.json();
        let stream = json["streams"].as_array().unwrap().iter().find(|stream| stream["name"] == "unlink").unwrap();
        let counted = stream["operations"].as_u64().unwrap();
        // At the end the tree goes with its marker, and with the files that the last sequences left.
        assert!(unlinks > counted && unlinks <= counted + 8, "{unlinks} {counted}: {said:?}");
        let plain = median_of_plain_unlinks(&mounted.place.path("mount"));
        assert!(plain >= DELAY, "{plain:?}");
        for times in ["service", "response"] {
            let told = Duration::from_nanos(stream[times]["p50_ns"].as_u64().unwrap());
            assert!(told >= DELAY.mul_f64(0.999), "{times}: no call is faster than it was made: {told:?}");
            let off = told.as_secs_f64() / DELAY.as_secs_f64() - 1.0;
            let beside_plain = told.as_secs_f64() / plain.as_secs_f64() - 1.0;
            eprintln!("{times}: p50 {told:?}, of plain unlinks {plain:?}: {off:+.4}, beside them {beside_plain:+.4}");
            if off.abs() > ALLOWED {
                unproven(&format!("{times}: {told:?}, and plain unlinks take {plain:?}"));
            }
        }
    });
}

const LOOKING: &str = r#"
name = "looking"
model = "files"
clients = 4
rate = "100/s"
arrival = "steady"
duration = "8s"
slice = "8s"
interval = "500ms"
cache = "warm"
verify = false
io = "4KiB"
[tree]
files = 20
size = "4KiB"
[[do]]
name = "look"
steps = ["stat", "open", "read", "close"]
[[criterion]]
stream = "look"
share_over = "100ms"
at_most = "99%"
"#;

/// Length of the stall, the bound and the measured time. Of the sequences those take longer than the bound that should begin in the stall,
/// and more than the bound before its end.
const STALL: f64 = 2.0;
const OVER: f64 = 0.1;
const MEASURED: f64 = 8.0;

/// The share of the sequences of a stream over the bound, by the exact counters of the log.
fn share_over(log: &Log, name: &str) -> f64 {
    let first = 1 + log.header.thresholds_ns.iter().position(|ns| *ns as f64 >= OVER * 1e9).unwrap() as u64;
    let stream = log.header.streams.iter().position(|stream| stream.name == name).unwrap();
    let at = log.header.flows.iter().position(|flow| usize::from(flow.stream) == stream).unwrap();
    let flows = || log.intervals.iter().map(|interval| &interval.flows[at]);
    let pairs = flows().flat_map(|flow| flow.response.counts.chunks_exact(2));
    let over: u64 = pairs.filter(|pair| pair[0] >= first).map(|pair| pair[1]).sum();
    over as f64 / flows().map(|flow| flow.ok).sum::<u64>() as f64
}

#[test]
fn a_stall_of_all_calls_shows_the_share_of_sequences_that_arithmetic_says() {
    let _turn = alone();
    let expected = (STALL - OVER) / MEASURED;
    tried(|| {
        let Some(mounted) = Mounted::new(LOOKING) else { return };
        let running = mounted.place.start(&["run", "w.toml", "mount"], 2);
        mounted.tree.set(&format!("stall={STALL}s"));
        let said = running.end();
        let share = share_over(&Log::of(&mounted.place.path("run")), "look");
        eprintln!("over {OVER} s: {share:.4}, by arithmetic {expected:.4}");
        // A stall is never shorter than was asked for, so that no fewer can be late, but for the one that is just due.
        assert!(share >= expected - 0.005, "{share} of {expected}: {said:?}");
        if share > expected * 1.05 {
            unproven(&format!("{share} in place of {expected}: {said:?}"));
        }
    });
}
