//! A disk that becomes slower in the middle of a run: the report says so, and when.

use super::rig::{DISK, Rig, steady, workload};

#[test]
fn a_disk_that_slows_down_is_told_with_its_moment() {
    let mut seen = Vec::new();
    // A machine with other work may be slow just before: the first good one of three is enough.
    for _ in 0..3 {
        let Some(rig) = Rig::full() else { return };
        let (set, largest) = slowed_down(&rig);
        let at = largest["at_ns"].as_u64().unwrap();
        // Ten times as long on the disk, so that a busy machine's own share of a response hides it nowhere; how long the way to
        // it and back takes beside that is the machine's affair.
        if at.abs_diff(set) <= 1_000_000_000 && size(&largest) > 1.0 {
            return;
        }
        seen.push(format!("set at {set} ns: {largest}"));
    }
    panic!("from 2 ms to 20 ms: {seen:#?}");
}

/// When the disk became slower, in nanoseconds, and the largest change that was told.
fn slowed_down(rig: &Rig) -> (u64, serde_json::Value) {
    rig.fault.set("read_delay=2ms");
    let reads = workload("24s", ("1s", "50%"), &[&steady("read", 100)]).replacen(
        "\n[[stream]]",
        "interval = \"200ms\"\n\n[[stream]]",
        1,
    );
    rig.place.write("workload.toml", &reads);
    let running = rig.place.start(&["run", "workload.toml", DISK], 60);
    rig.fault.set("read_delay=20ms");
    // By the log itself: so many intervals had been written when the delay was set.
    let written = std::fs::read_to_string(rig.place.path("run/run.jsonl")).unwrap();
    let before = written.matches("\"kind\":\"interval\"").count();
    let said = running.end();
    let log = rig.judged(&said, "PASS");
    assert!(said.out.contains(": mean response of reads rose"), "{}", said.out);
    let start = log.intervals.iter().find(|interval| interval.phase == 0).unwrap().start_ns;
    let set = log.intervals[before].start_ns - start;
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(rig.place.path("run/verdict.json")).unwrap()).unwrap();
    let changes = json["steadiness"][0]["changes"].as_array().unwrap_or_else(|| panic!("no change told: {json}"));
    let largest = changes.iter().max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or_else(|| panic!("{json}"));
    (set, largest.clone())
}

fn size(change: &serde_json::Value) -> f64 {
    change["after"].as_f64().unwrap() / change["before"].as_f64().unwrap() - 1.0
}
