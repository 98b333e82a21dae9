//! What is accepted, what is refused, and the message of the refusal.

use super::*;
use assay_base::{Bytes, Share, Span};

const GOOD: &str = "device-names: /dev/a\nread-reqs-per-sec: 2000\nwrite-reqs-per-sec: 1000\n";

fn refusal(text: &str, kind: Option<Kind>) -> String {
    read_conf("act.conf", text, kind).map(|_| ()).expect_err(text).to_string()
}

#[test]
fn the_fault_of_the_style_guide() {
    let text = "# 30x\ndevice-names: /dev/a\nwrite-reqs-per-sec: 30000\nread-reqs-per-sec: 60k\n";
    let shown = "rate must be a whole number per second\n --> act.conf:4:20\n  4 | read-reqs-per-sec: 60k\n    |                    ^^^ write 60000";
    assert_eq!(refusal(text, None), shown);
}

#[test]
fn nothing_is_guessed() {
    for (line, place, message, advice) in [
        ("test-duration-sec: 60x60", "4:20", "whole number of seconds", "write 3600"),
        ("test-duration-sec: 60 x 60 x 24", "4:20", "whole number of seconds", "write 86400"),
        ("test-duration-sec: 24h # a day", "4:20", "whole number of seconds", "write 86400"),
        ("test-duration-sec: 2.9", "4:20", "whole number of seconds", "digits only, from 1"),
        ("test-duration-sec: -5", "4:20", "whole number of seconds", "digits only"),
        ("test-duration-sec: 0", "4:20", "from 1 to 4294967295", "write 1 or more"),
        ("test-duration-sec: 4294967296", "4:20", "from 1 to 4294967295", "write 4294967295 or less"),
        ("test-duration-sec:", "4:19", "has no value", "digits only"),
        ("report-interval-sec: 1e6", "4:22", "whole number of seconds", "write 1000000"),
        ("microsecond-histograms: Yes", "4:25", "yes or no", "write yes"),
        ("microsecond-histograms: yikes", "4:25", "yes or no", "write yes or no"),
        ("tomb-raider: 1", "4:14", "yes or no", "write yes"),
        ("read-reqs-per-sec: 1", "4:1", "already set on line 2", "keep one"),
        ("read-req-per-sec: 1", "4:1", "not a key of ACT", "did you mean read-reqs-per-sec?"),
        ("colour: red", "4:1", "not a key of ACT", "remove the line"),
        ("max-lag-sec=5", "4:1", "ends with a colon", "write `max-lag-sec: 5`"),
        ("max-lag-sec : 5", "4:13", "takes this colon for the value", "write `max-lag-sec: value`"),
        ("device-names: /dev/b, /dev/a", "4:23", "named twice", "name it once"),
        ("record-bytes: 200000", "4:15", "does not fit into a large block", "at most large-block"),
        ("record-bytes: 0", "4:15", "from 1 to 8388608", "in this range"),
        ("record-bytes-range-max: 1536", "4:25", "larger than record-bytes", "in this range"),
        ("large-block-op-kbytes: 96", "4:24", "power of two", "write 128"),
        ("large-block-op-kbytes: 0", "4:24", "from 1 to 8192", "write 1 or more"),
        ("defrag-lwm-pct: 100", "4:17", "from 0 to 99", "write 99 or less"),
        ("commit-min-bytes: 700", "4:19", "power of two", "write 512"),
        ("scheduler-mode: ../../x", "4:17", "name of an I/O scheduler", "write none"),
        ("cache-threads: 8\nrecord-bytes: 512", "4:1", "is of an index test", "keep the keys of one"),
        ("storage-read-histogram: 100, 50.5, 60, 0", "4:36", "must not rise", "copy the row"),
        ("storage-read-histogram: 100, 50.5", "4:34", "last share must be 0", "add 0.00"),
        ("storage-read-histogram: 100, 5x, 0", "4:30", "must be a percentage", "0 to 100"),
        ("max-lag-sec: 5\0", "4:15", "control character", "remove it"),
    ] {
        let text = refusal(&format!("{GOOD}{line}\n"), None);
        for part in [place, message, advice] {
            assert!(text.contains(part), "{line}: {part} is not in\n{text}");
        }
    }
}

#[test]
fn texts_that_are_no_config_file() {
    let many: String = (0..1025).map(|i| format!("device-names: /dev/d{i}\n")).collect();
    for (text, part) in [
        (String::new(), "no device is named"),
        ("device-names: /dev/a".into(), "can't both be zero"),
        (format!("\u{feff}{GOOD}"), "byte order mark"),
        ("x".repeat(FILE_MAX + 1), "at most 1 MiB"),
        (format!("#{}", "x".repeat(LINE_MAX)), "ACT would cut it"),
        (many, "more than 1024 devices"),
        ("a\u{1b}[31m".into(), "control character"),
        ("\u{202e}: 1".into(), "not a key of ACT"),
    ] {
        assert!(refusal(&text, None).contains(part), "{part}");
    }
    let error = read_bytes("act.conf", b"max-lag-sec: 5\nab\xff", None).expect_err("not UTF-8").to_string();
    assert!(error.contains("act.conf:2:3") && error.contains("not UTF-8"), "{error}");
    assert!(refusal(&format!("{GOOD}record-bytes: 512"), Some(Kind::Index)).contains("not a key of act_index"));
    assert!(refusal(&format!("{GOOD}cache-threads: 8"), Some(Kind::Storage)).contains("not a key of act_storage"));
}

#[test]
fn a_file_of_todays_dialect() {
    let text = "\r\n  device-names: /dev/a,/dev/b;/dev/c\t/dev/d # four\r\ndevice-names /dev/e\nread-reqs-per-sec 10\ncommit-to-device: yes\nrecord-bytes-range-max: 8100\nmax-lag-sec: 0\nno-defrag-reads: No\ntomb-raider: false\ndisable-odsync:";
    let (conf, notes) = read_conf("f", text, None).unwrap();
    assert!(!conf.no_defrag_reads && !conf.tomb_raider && !conf.disable_odsync);
    assert_eq!(conf.device_names, ["/dev/a", "/dev/b", "/dev/c", "/dev/d", "/dev/e"]);
    assert_eq!((conf.kind, conf.read_reqs_per_sec, conf.commit_to_device), (Kind::Storage, 10, true));
    assert_eq!((conf.max_lag, conf.test_duration), (Span::ZERO, Span::from_secs(86_400)));
    assert_eq!(conf.record_bytes_range_max, Some(Bytes::new(8100)));
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].to_string().contains("one day"));
}

#[test]
fn a_file_of_the_4x_dialect_as_the_sizing_guide_shows_it() {
    let text = "##########\nact config file for testing 1 device(s) at non-standard load\n##########\n# comma-separated list:\ndevice-names: /dev/nvme0n1\nnum-queues: 4\nthreads-per-queue: 35\ntest-duration-sec: 7200\nreport-interval-sec: 1\nlarge-block-op-kbytes: 128\nrecord-bytes: 0\nstorage-read-histogram: 100.00,84.00, 68.36,12.68,0.00\nstorage-write-histogram: 100.00,85.78,0.00\ndirect-frees: 300\ntotal-lbw-per-sec: 1527\nlbr-req-offset: 090\nlbw-req-offset: 093\nread-reqs-per-sec: 10470\nwrite-reqs-per-sec: 5957\nmicrosecond-histograms: no\nscheduler-mode: noop\n";
    let (conf, notes) = read_conf("f", text, None).unwrap();
    let production = conf.production.unwrap();
    assert_eq!(production.read_over[2], "68.36%".parse().unwrap());
    assert_eq!(
        (production.write_over.len(), production.direct_frees, production.total_lbw_per_sec),
        (3, Some(300), Some(1527))
    );
    assert_eq!((production.lbr_req_offset, production.read_size_offset), (Share::from_percent(90), Share::WHOLE));
    assert_eq!(conf.scheduler_mode.as_deref(), Some("noop"));
    let lines: Vec<usize> = notes.iter().map(|note| note.line).collect();
    assert_eq!(lines, [2, 6, 7, 21], "{notes:?}");
    let error = refusal(&text.replace("storage-write", "#"), None);
    assert!(error.contains("takes sizes from"), "{error}");
    assert!(refusal(&text.replace("300", "3000"), None).contains("write 1527 or less"));
}

#[test]
fn the_keys_tell_the_kind() {
    for (line, asked, kind) in [
        ("cache-threads: 4", None, Kind::Index),
        ("num-cache-threads: 4", None, Kind::Index),
        ("update-pct: 4", None, Kind::Storage),
        ("max-lag-sec: 4", Some(Kind::Storage), Kind::Storage),
        ("max-lag-sec: 4", Some(Kind::Index), Kind::Index),
    ] {
        let (conf, _) = read_conf("f", &format!("{GOOD}{line}"), asked).unwrap();
        assert_eq!(conf.kind, kind, "{line}");
    }
    // Keys that both know say nothing, and neither does a comment: the loads differ by much.
    for line in ["", "max-lag-sec: 4", "replication-factor: 2", "# ACT-index config file.", "disable-odsync: yes"] {
        let text = format!("{GOOD}{line}\n");
        assert!(fits_both(&text), "{line}");
        let refused = refusal(&text, None);
        for part in ["fits both of ACT's tests", "--model act-index", "--model act-storage"] {
            assert!(refused.contains(part), "{line}: {refused}");
        }
    }
}
