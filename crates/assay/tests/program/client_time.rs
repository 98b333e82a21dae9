//! The time of clients that begin a sequence when the last one is done: calls, and what clients do besides, are together
//! the time that passes, of all clients. A log whose sums do not agree proves nothing.

use super::bed::{Place, in_one_line};
use assay_record::{Entry, FlowInterval, Reader, Writer};
use std::fs;
use std::path::Path;

/// Sequences of several calls, and of one.
const CLOSED: &str = r#"
name = "closed"
model = "files"
clients = 4
closed = true
duration = "2s"
slice = "1s"
interval = "500ms"
cache = "warm"
io = "4KiB"
[tree]
files = 80
size = "8KiB"
width = 20
[[do]]
name = "deliver"
steps = [["create", "write", "fsync", "close"], ["unlink"]]
[[do]]
name = "look"
steps = ["stat", "open", "read", "close"]
share = 3
[[do]]
name = "list"
steps = ["readdir"]
"#;

/// Phases that end when every client has done its part: the first one waits for the last one.
const UNTIL_DONE: &str = r#"
name = "done"
model = "files"
clients = 3
closed = true
duration = "1min"
slice = "1min"
interval = "500ms"
[tree]
files = 100
size = "4KiB"
empty = true
[[phase]]
name = "make"
until = "done"
[[phase.do]]
name = "make"
steps = ["create", "write", "close"]
[[phase]]
name = "remove"
until = "stonewall"
[[phase.do]]
name = "unlink"
steps = ["unlink"]
"#;

fn place_with(workload: &str) -> Place {
    let place = Place::new();
    place.write("w.toml", workload);
    fs::create_dir(place.path("data")).unwrap();
    place
}

/// The entries of a log.
fn entries_of(log: &Path) -> Vec<Entry> {
    let mut reader = Reader::new(std::io::BufReader::new(fs::File::open(log).unwrap()));
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        entries.push(entry.unwrap());
    }
    entries
}

fn time_of(flow: &FlowInterval) -> i128 {
    let failed = flow.failures.as_ref().map_or(0, |failures| failures.response.sum_ns);
    i128::from(flow.response.sum_ns) + i128::from(failed)
}

/// Compares both sides of the law in each interval of each segment, to the nanosecond; returns how many there were.
fn sides_agree(log: &Path) -> usize {
    let (mut loops, mut open, mut compared) = (Vec::new(), Vec::new(), 0);
    for entry in entries_of(log) {
        match entry {
            Entry::Header(header) => {
                open = vec![0; header.loops.len()];
                loops = header.loops;
            }
            Entry::Interval(interval) => {
                assert_eq!(interval.loops.len(), loops.len());
                for (at, head) in loops.iter().enumerate() {
                    let line = interval.loops[at];
                    let calls: i128 = head.flows.iter().map(|flow| time_of(&interval.flows[*flow as usize])).sum();
                    let counted = calls + i128::from(line.open_ns - open[at]) + i128::from(line.paused_ns);
                    let length = i128::from(interval.end_ns - interval.start_ns);
                    assert_eq!(counted, i128::from(head.slots) * length, "loop {at}: {interval:?}");
                    open[at] = line.open_ns;
                    compared += 1;
                }
            }
            _ => {}
        }
    }
    compared
}

#[test]
fn what_clients_did_is_the_time_that_passed_however_many_they_are() {
    for clients in [1, 4, 16] {
        let place = place_with(&CLOSED.replace("clients = 4", &format!("clients = {clients}")));
        let (said, log) = place.run(&["run", "w.toml", "data"]);
        let slots: Vec<u32> = log.header.loops.iter().map(|looped| looped.slots).collect();
        assert_eq!(slots, [clients, clients]);
        assert!(sides_agree(&place.path("run/run.jsonl")) >= 8);
        assert!(said.passed_or_late() && !said.out.contains("does not add up"), "{said:?}");
        assert!(said.out.contains("closed loop"), "{}", said.out);
    }
    let place = place_with(UNTIL_DONE);
    let (said, _) = place.run(&["run", "w.toml", "data"]);
    assert!(sides_agree(&place.path("run/run.jsonl")) >= 3);
    assert!(said.passed_or_late(), "{said:?}");
}

/// Writes a log again, with the responses of all calls so many times as long.
fn write_changed(log: &Path, changed: &Path, times: f64) {
    let mut writer = Writer::new(Vec::new(), 0);
    let mut calls = Vec::new();
    for mut entry in entries_of(log) {
        match &mut entry {
            Entry::Header(header) => calls.clone_from(&header.loops[0].flows),
            Entry::Interval(interval) => {
                for flow in &calls {
                    let line = &mut interval.flows[*flow as usize];
                    line.response.sum_ns = (line.response.sum_ns as f64 * times) as u64;
                    // What the generator certainly did not cause is a part of it.
                    if let Some(floor) = &mut line.floor {
                        floor.sum_ns = (floor.sum_ns as f64 * times) as u64;
                    }
                }
            }
            _ => {}
        }
        writer.write_entry(&entry).unwrap();
    }
    fs::write(changed, writer.into_inner()).unwrap();
}

#[test]
fn a_log_whose_calls_do_not_fill_the_time_of_its_clients_is_invalid() {
    let place = place_with(CLOSED);
    let (said, _) = place.run(&["run", "w.toml", "data"]);
    assert!(said.passed_or_late(), "{said:?}");
    for (name, times) in [("less.jsonl", 0.9), ("more.jsonl", 1.1)] {
        write_changed(&place.path("run/run.jsonl"), &place.path(name), times);
        let judged = place.assay(&["judge", name]);
        assert_eq!(judged.code, Some(11), "{name}: {judged:?}");
        let told = in_one_line(&judged.out);
        assert!(told.contains("the log does not add up: the closed loop"), "{told}");
        assert!(told.contains("asked for 4.0 in flight"), "{told}");
    }
    // The same log, written again, is what it was.
    write_changed(&place.path("run/run.jsonl"), &place.path("same.jsonl"), 1.0);
    assert_eq!(place.assay(&["judge", "same.jsonl"]).code, said.code);
}
