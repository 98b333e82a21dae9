//! A disk that becomes slower in the middle of a run: the report says so, and says when.

use super::rig::{DISK, Rig, alone, steady, workload};

#[test]
fn a_disk_that_slows_down_is_told_with_its_moment() {
    let mut seen = Vec::new();
    // Other work on this machine may make the disk slow earlier: one good run of three is sufficient.
    for _ in 0..3 {
        let Some(rig) = Rig::full(alone()) else { return };
        match slowed_down(&rig) {
            Ok(()) => return,
            Err(why) => seen.push(why),
        }
    }
    panic!("from 2 ms to 300 ms: {}", seen.join("\n\n"));
}

/// A run whose disk becomes slower in the middle; returns the report's text as an error if it does not say so.
fn slowed_down(rig: &Rig) -> Result<(), String> {
    rig.fault.set("read_delay=2ms");
    let reads = workload("24s", ("1s", "50%"), &[&steady("read", 50)]).replacen(
        "\n[[stream]]",
        "interval = \"200ms\"\n\n[[stream]]",
        1,
    );
    rig.place.write("workload.toml", &reads);
    let running = rig.place.start(&["run", "workload.toml", DISK], 60);
    // The delay is so long that the other delays of a busy machine cannot hide it. The kernel's path to the disk and
    // back adds a time that depends on the machine.
    rig.fault.set("read_delay=300ms");
    // The moment according to the log: this number of intervals had been written when the delay was set.
    let written = std::fs::read_to_string(rig.place.path("run/run.jsonl")).unwrap();
    let before = written.matches("\"kind\":\"interval\"").count();
    let said = running.end();
    // Any verdict is accepted, because the machine may also have stood still.
    let (_, log) = rig.ended(&said);
    let start = log.intervals.iter().find(|interval| interval.phase == 0).unwrap().start_ns;
    let set = log.intervals[before].start_ns - start;
    let verdict = std::fs::read(rig.place.path("run/verdict.json")).unwrap();
    let verdict: serde_json::Value = serde_json::from_slice(&verdict).unwrap();
    let changes = verdict["steadiness"][0]["changes"].as_array();
    let largest = changes.into_iter().flatten().max_by(|a, b| size(a).total_cmp(&size(b)));
    let right = largest
        .is_some_and(|change| change["at_ns"].as_u64().unwrap().abs_diff(set) <= 1_000_000_000 && size(change) > 1.0);
    match right && said.out.contains(": mean response of reads rose") {
        true => Ok(()),
        false => Err(format!("set at {set} ns, found {largest:?}: {}", said.out)),
    }
}

fn size(change: &serde_json::Value) -> f64 {
    change["after"].as_f64().unwrap() / change["before"].as_f64().unwrap() - 1.0
}
