//! Recordings as a user plays them: completely, faster, on targets where they fit and on targets where they do not.

use super::bed::{Log, Place, until};

/// An iolog of 300 reads and 100 writes in two seconds, within the first 4 MiB of the file.
fn iolog() -> String {
    let line = |n: u64| {
        let (kind, bytes) = if n.is_multiple_of(4) { ("write", 8192) } else { ("read", 4096) };
        format!("{} /dev/sdb {kind} {} {bytes}\n", 1000 + n * 5000, n * 7919 % 510 * 8192)
    };
    let lines: String = (0..400).map(line).collect();
    format!("fio version 3 iolog\n1 /dev/sdb add\n2 /dev/sdb open\n{lines}2500000 /dev/sdb close\n")
}

fn workload(more: &str) -> String {
    let stream = |name: &str, direction: &str| {
        format!(
            "[[stream]]\nname = \"{name}\"\ndirection = \"{direction}\"\narrival = {{ recorded = \"t.iolog\"{more} }}\n"
        )
    };
    format!("model = \"streams\"\nslice = \"1s\"\n{}{}", stream("reads", "read"), stream("writes", "write"))
}

#[test]
fn a_recording_is_played_whole_at_its_speed_and_on_each_target() {
    let place = Place::new();
    // The recording lies beside the workload file, and not in the working directory.
    std::fs::create_dir(place.path("w")).unwrap();
    place.write("w/t.iolog", &iolog());
    place.write("w/w.toml", &workload(""));
    for (targets, more, seconds) in [
        (&["sim:flash"][..], &[][..], 2.0),
        (&["sim:flash", "sim:disk"], &["--load", "4x"], 0.5),
        (&["null:1GiB"], &["--workers", "3"], 2.0),
    ] {
        let said = place.assay(&[&["run", "w/w.toml"], targets, more, &["--out", "run"]].concat());
        assert!([Some(0), Some(10), Some(11)].contains(&said.code), "{said:?}");
        let log = Log::of(&place.path("run"));
        log.adds_up();
        let each = targets.len() as u64;
        assert_eq!((log.stream("reads").ok, log.stream("writes").ok), (300 * each, 100 * each), "{targets:?} {more:?}");
        assert_eq!(log.stream("writes").bytes, 100 * each * 8192);
        let last = log.intervals.last().unwrap().end_ns - log.intervals[0].start_ns;
        assert!(last as f64 / 1e9 >= seconds * 0.99, "{last} ns: not faster than it was asked for");
        std::fs::remove_dir_all(place.path("run")).unwrap();
    }
    let explained = place.assay(&["explain", "w/w.toml", "sim:flash"]).out;
    let words = explained.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("plays t.iolog at 1x: 300 operations on each target in 2 s")
            || words.contains("plays t.iolog at 1x: 300 operations"),
        "{words}"
    );
}

#[test]
fn what_does_not_fit_is_refused_or_scaled() {
    let place = Place::new();
    place.write("t.iolog", &iolog());
    place.write("refuse.toml", &workload(""));
    place.write("scale.toml", &workload(", fit = \"scale\""));
    let said = place.assay(&["run", "refuse.toml", "null:1MiB", "--out", "a"]);
    assert!(said.code == Some(2) && said.err.contains("needs at least 3.98 MiB"), "{said:?}");
    assert!(!place.path("a").exists(), "nothing was begun");
    let said = place.assay(&["run", "scale.toml", "null:1MiB", "--out", "b"]);
    assert!([Some(0), Some(11)].contains(&said.code), "{said:?}");
    let log = Log::of(&place.path("b"));
    assert_eq!((log.stream("reads").ok, log.stream("reads").errors.len()), (300, 0), "all within the target");
}

#[test]
fn a_recording_that_cannot_be_read_is_named_with_its_line() {
    let place = Place::new();
    place.write("w.toml", &workload(""));
    for (text, told) in [
        (None, "t.iolog cannot be read"),
        (Some(""), "no read and no write in a form that is known"),
        (Some("fio version 3 iolog\n5 f read 0 512\n6 f read 0\n"), "t.iolog:3: an operation without its time"),
        (Some("fio version 3 iolog\n5000000 f read 0 512\n5 f write 0 512\n"), "line 3: more than a second before"),
        (Some("fio version 3 iolog\n5 f read 0 512\n"), "t.iolog has no write for the stream writes"),
    ] {
        if let Some(text) = text {
            place.write("t.iolog", text);
        }
        for verb in ["explain", "run"] {
            let said = place.assay(&[verb, "w.toml", "sim:flash"]);
            assert!(said.code == Some(3) && said.err.contains(told), "{verb} {told}: {said:?}");
        }
    }
    assert!(place.left(&["w.toml", "t.iolog"]).is_empty());
}

#[test]
fn a_recording_that_was_killed_is_played_again_from_its_beginning_and_another_one_is_refused() {
    let place = Place::new();
    place.write("t.iolog", &iolog());
    place.write("w.toml", &workload(", speed = \"0.1x\""));
    let running = place.begin(&["run", "w.toml", "null:1GiB", "--out", "cut"]);
    let log = || std::fs::read_to_string(place.path("cut/run.jsonl")).unwrap_or_default();
    until("an interval", || log().contains("\"interval\""));
    running.signal(libc::SIGKILL);
    running.end();
    place.write("t.iolog", &iolog().replacen(" 4096\n", " 512\n", 1));
    let changed = place.assay(&["run", "w.toml", "null:1GiB", "--resume", "cut"]);
    assert!(changed.code == Some(2) && changed.err.contains("another"), "{changed:?}");
    place.write("t.iolog", &iolog());
    let resumed = place.begin(&["run", "w.toml", "null:1GiB", "--resume", "cut"]);
    until("its second segment", || log().matches("\"kind\":\"header\"").count() == 2);
    resumed.signal(libc::SIGINT);
    assert_eq!(resumed.end().code, Some(12), "it is played again from its beginning");
}
