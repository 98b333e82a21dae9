//! One drive, several namespaces: one plan for all of them, or a run for each on a partition of its own.

use super::bed::{Log, Place, Said};
use super::devices::{Disk, Loop, passed_over};
use std::fs;
use std::process::Command;

/// A config with this multiple of ACT's 1x.
fn config(place: &Place, name: &str, times: u32, more: &str) -> String {
    let (reads, writes) = (2000 * times, 1000 * times);
    let text = format!(
        "device-names: sim:flash\nread-reqs-per-sec: {reads}\nwrite-reqs-per-sec: {writes}\nrecord-bytes: 1536\n{more}"
    );
    place.write(name, &text).to_str().unwrap().to_owned()
}

#[test]
fn the_load_of_a_config_is_acts_multiple_in_plan_log_and_report() {
    let place = Place::new();
    let three = config(&place, "three.conf", 3, "test-duration-sec: 2\n");
    let shown = place.assay(&["explain", &three]).out;
    assert!(shown.starts_with("three (act-storage), load 3x on 1 target") && shown.contains("6000.000/s"), "{shown}");
    let shown = place.assay(&["explain", &three, "--load", "30x"]).out;
    assert!(shown.contains("load 30x on 1 target") && shown.contains("60000.000/s"), "{shown}");
    assert!(shown.contains("note: 1x is ACT's"), "{shown}");
    let (said, log) = place.run(&["run", &three]);
    assert!(said.out.contains("three at 3x on sim:flash"), "{}", said.out);
    assert_eq!((log.header.load.as_str(), log.stream("reads").scheduled / 100), ("3x", 120));
    let searched = place.assay(&["limit", &three, "--from", "3x", "--to", "3x", "--for", "2s", "--out", "limit"]);
    let first = Log::of(&place.path("limit/01-3x")).header;
    assert_eq!((first.load.as_str(), first.streams[0].rate), ("3x", log.header.streams[0].rate), "{}", searched.out);
}

#[test]
fn several_configs_are_one_plan_for_one_drive() {
    let place = Place::new();
    let users = config(&place, "users.conf", 2, "test-duration-sec: 3\n");
    let events = config(&place, "events.conf", 1, "test-duration-sec: 3\nno-defrag-reads: yes\n");
    let (said, log) = place.run(&["run", &users, &events, "sim:flash"]);
    assert!(said.out.contains("users+events at 2x and 1x on sim:flash"), "{}{}", said.out, said.err);
    let names: Vec<&str> = log.header.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "users.reads",
            "users.large-block-reads",
            "users.large-block-writes",
            "events.reads",
            "events.large-block-writes"
        ]
    );
    let [one, other] = ["users.reads", "events.reads"].map(|name| log.stream(name).scheduled as f64);
    assert!((one / other - 2.0).abs() < 0.1, "{one} and {other}");
    assert!(
        said.out.contains("users.reads response over 1 ms") && said.out.contains("events.reads response"),
        "{}",
        said.out
    );
    log.adds_up();
    said.is_of_verdict(&place.path("run"));
    assert_eq!(place.assay(&["judge", "run"]).code, said.code);
    // Without targets on the command line, those of the configs are used, if they are the same; `explain` shows the
    // plan that is run.
    let shown = place.assay(&["explain", &users, &events]).out;
    assert!(shown.contains("users.large-block-writes") && shown.contains("target sim:flash:"), "{shown}");
    assert!(
        place
            .assay(&["explain", &users, "act-index", "sim:flash", "--for", "3s"])
            .out
            .contains("act-index.cache-reads")
    );

    let longer = config(&place, "longer.conf", 1, "test-duration-sec: 4\n");
    let elsewhere = place.write(
        "elsewhere.conf",
        "device-names: sim:disk\ntest-duration-sec: 3\nread-reqs-per-sec: 1\nrecord-bytes: 512\n",
    );
    let again = place.path("again");
    fs::create_dir(&again).unwrap();
    fs::copy(&users, again.join("users.conf")).unwrap();
    for (more, load, code, words) in [
        (longer.as_str(), None, 3, "the duration of users is 3s and of longer 4s"),
        (elsewhere.to_str().unwrap(), None, 2, "name different devices"),
        (again.join("users.conf").to_str().unwrap(), None, 3, "two of the workloads are called users"),
        ("missing.conf", None, 3, "missing.conf cannot be read"),
        (events.as_str(), Some("30x"), 2, "--load cannot be used with several workloads"),
    ] {
        let load: Vec<&str> = load.map_or(Vec::new(), |load| vec!["--load", load]);
        let refused = place.assay(&[&["run", &users, more, "--out", "refused"], load.as_slice()].concat());
        assert!(
            refused.code == Some(code) && refused.err.contains(words),
            "{more}: {:?} {}",
            refused.code,
            refused.err
        );
    }
    assert!(!place.path("refused").exists());
    let agreed = place.assay(&["run", &users, &longer, "--for", "2s", "--out", "agreed"]);
    assert!(matches!(agreed.code, Some(0 | 10 | 11)), "{}", agreed.err);
}

#[test]
fn runs_on_two_partitions_go_on_beside_each_other() {
    let place = Place::new();
    let image = place.path("disk.img");
    fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let script = format!("printf 'label: dos\\nsize=24M\\nsize=24M\\n' | sfdisk -q {}", image.display());
    if !Command::new("sh").args(["-c", &script]).status().is_ok_and(|status| status.success()) {
        return passed_over("no sfdisk");
    }
    let Some(disk) = Loop::with(&place, "disk.img", 64 << 20, &["-P"]) else { return };
    let parts = [1, 2].map(|n| format!("{}p{n}", disk.path()));
    if !fs::exists(&parts[1]).unwrap() {
        let _ = Command::new("partx").args(["-a", disk.path()]).status();
    }
    let token = |path: &str| {
        let said = place.assay(&["devices", "--json", path]);
        said.json()[0]["token"].as_str().map(str::to_owned)
    };
    let (Some(first), Some(second)) = (token(&parts[0]), token(&parts[1])) else {
        return passed_over("no partitions to be had");
    };
    let running = place.start(&["run", "act-storage", &parts[0], "--for", "60s", "--destroy-data", &first], 1);
    // The other namespace is run ACT's own way, with a drop-in.
    let keys = "test-duration-sec: 1\nread-reqs-per-sec: 200\nwrite-reqs-per-sec: 1000\nmax-lag-sec: 0\n";
    let conf = place.write("second.conf", &format!("device-names: {}\n{keys}", parts[1]));
    let mut command = place.command(&["as", "act_storage", conf.to_str().unwrap()]);
    command.env("ASSAY_DESTROY_DATA", &second).env("ASSAY_RUN_DIR", place.path("second"));
    let said = Said::of(command.output().unwrap(), &["act_storage"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let header = Log::of(&place.path("second")).header;
    let neighbour = |mark: &String| mark.contains("another load may share the drive") && mark.contains(&parts[0]);
    assert!(header.watermarks.iter().any(neighbour), "{:?}", header.watermarks);
    // Nobody else may use the whole disk, nor a partition that is in use.
    let whole = disk.token(&place);
    for (target, token) in [(disk.path(), &whole), (&parts[0], &first)] {
        let refused =
            place.assay(&["run", "act-storage", target, "--for", "1s", "--destroy-data", token, "--out", "no"]);
        assert!(refused.code == Some(4) && refused.err.contains("EBUSY"), "{target}: {}", refused.err);
    }
    running.signal(libc::SIGTERM);
    // No PASS: the run read blocks that were never written, and was ended early.
    assert!(matches!(running.end().code, Some(10..=12)));
    let log = Log::of(&place.path("run"));
    log.adds_up();
    // The counters of its partition show what it did, whatever the other run did meanwhile.
    let disks: Vec<_> = log.intervals.iter().flat_map(|interval| &interval.disks).collect();
    assert!(!disks.is_empty());
}
