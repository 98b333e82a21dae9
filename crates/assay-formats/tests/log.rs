//! Logs: what the reader finds in them agrees with the output of the original's analyzers, and the writer writes what
//! ACT wrote, byte for byte.

#![allow(clippy::unwrap_used)]

use crate::common;

use assay_base::Span;
use assay_formats::act::conf::{Kind, Outcome, read_like_act};
use assay_formats::act::log::{Block, Item, LineKind, Log, write};
use assay_formats::act::slices::{SliceTable, tabulate_slices, write_old_table};
use std::path::{Path, PathBuf};

fn open(path: &Path) -> Log<std::io::BufReader<std::fs::File>> {
    let file = std::fs::File::open(path).unwrap();
    Log::open("log.txt", std::io::BufReader::new(file)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap()
}

/// The runs under `folder` in all locations.
fn cases(folder: &str) -> Vec<PathBuf> {
    common::roots().iter().flat_map(|root| common::entries(&root.join(folder))).filter(|path| path.is_dir()).collect()
}

/// The rows of a golden table: those that begin with the number of a slice.
fn golden_rows(text: &str) -> Vec<&str> {
    let below = text.lines().skip_while(|line| !line.starts_with("-----  "));
    below.skip(1).take_while(|line| !line.starts_with("-----  ") && !line.starts_with("could not")).collect()
}

/// The same rows computed from the typed table: all columns of every histogram.
fn rows(table: &SliceTable, columns: usize) -> Vec<String> {
    let row = |(index, slice): (usize, &assay_formats::act::slices::Slice)| {
        let groups = slice.cells.iter().map(|cell| {
            let cells: String = (0..columns).map(|column| format!("{:7.2}", cell.percent_over(column))).collect();
            format!("  {cells}")
        });
        format!("{:>5}{}", index + 1, groups.collect::<String>())
    };
    table.slices.iter().enumerate().map(row).collect()
}

#[test]
fn rates_averages_and_maxima_too() {
    let mut tried = 0;
    for case in cases("act") {
        let Ok(golden) = std::fs::read_to_string(case.join("lat/t10x.txt")) else {
            continue;
        };
        let mut log = open(&case.join("log.txt"));
        let table = tabulate_slices(&mut log, &["reads".to_owned()], Span::from_secs(10)).unwrap();
        if table.slices.is_empty() || !log.header().listed.contains(&"reads".to_owned()) {
            continue;
        }
        for (row, (line, slice)) in golden_rows(&golden).into_iter().zip(&table.slices).enumerate() {
            let rate = format!("{:11.1}", slice.cells[0].rate_over_slice(table.slice));
            assert!(line.ends_with(&rate), "{}: slice {}: {line}, not {rate}", case.display(), row + 1);
        }
        type Fold = fn(&SliceTable, usize, usize) -> f64;
        let folds: [(&str, Fold); 2] =
            [("  avg", SliceTable::average_percent_over), ("  max", SliceTable::max_percent_over)];
        for (tag, fold) in folds {
            let cells: String = (0..7).map(|column| format!("{:7.2}", fold(&table, 0, column))).collect();
            let row = format!("{tag}  {cells}");
            assert!(golden.lines().any(|line| line.starts_with(&row)), "{}: no {row}", case.display());
        }
        tried += 1;
    }
    assert!(tried >= 1, "no table with rates found");
}

#[test]
fn the_typed_table_has_the_numbers_of_the_original() {
    let mut tried = 0;
    for case in [cases("act"), cases("act-edge"), cases("act-old")].concat() {
        let lat = if case.join("lat").is_dir() { case.join("lat") } else { case.clone() };
        let refused = ["version-5.3", "version-7.0", "version-missing", "no-interval", "no-config", "no-derived"];
        // The 3.0 analyzer has rules of its own (below), and the one of 5.0 rounded differently.
        if refused.contains(&name_of(&case)) || ["run-3.0", "run-5.0-storage"].contains(&name_of(&case)) {
            continue;
        }
        let Ok(golden) = std::fs::read_to_string(lat.join("t10.txt")) else {
            continue;
        };
        let mut log = open(&case.join("log.txt"));
        let names: Vec<String> = log.header().default_histograms().iter().map(|&name| name.to_owned()).collect();
        // For a run without reads the original prints an empty table.
        if !log.header().listed.contains(&names[0]) {
            continue;
        }
        let table = tabulate_slices(&mut log, &names, Span::from_secs(10))
            .unwrap_or_else(|e| panic!("{}: {e}", case.display()));
        // In the original an incomplete last block can end a slice; in ours it cannot.
        let golden = golden_rows(&golden);
        let got = rows(&table, 7);
        assert_eq!(got, golden[..got.len().min(golden.len())], "{}", case.display());
        assert!(golden.len() - got.len() <= usize::from(name_of(&case) == "truncated-midblock"), "{}", case.display());
        tried += 1;
    }
    assert!(tried >= 10, "only {tried} tables compared");
}

#[test]
fn the_table_of_3_0_as_its_own_analyzer_wrote_it() {
    for case in cases("act-old").into_iter().filter(|case| case.ends_with("run-3.0")) {
        for (name, slice, columns, every) in [("t10", 10, 7, 1), ("t5n4e2", 5, 4, 2)] {
            let mut log = open(&case.join("log.txt"));
            let names = ["reads".to_owned(), "device-reads".to_owned()];
            let table = tabulate_slices(&mut log, &names, Span::from_secs(slice)).unwrap();
            let mut got = String::new();
            write_old_table(log.header(), &table, columns, every, &mut got).unwrap();
            assert_eq!(
                got,
                std::fs::read_to_string(case.join("lat").join(name).with_extension("txt")).unwrap(),
                "{name}"
            );
        }
    }
}

fn blocks_and_events(path: &Path) -> (Log<std::io::BufReader<std::fs::File>>, Vec<Block>, Vec<LineKind>) {
    let mut log = open(path);
    let (mut blocks, mut events) = (Vec::new(), Vec::new());
    for item in log.by_ref() {
        match item.unwrap_or_else(|error| panic!("{}: {error}", path.display())) {
            Item::Block(block) => blocks.push(block),
            Item::Event(event) => events.push(event.kind),
        }
    }
    (log, blocks, events)
}

#[test]
fn a_log_written_again_is_the_same_log() {
    let mut tried = 0;
    for case in cases("act") {
        let (log, blocks, events) = blocks_and_events(&case.join("log.txt"));
        if !events.is_empty() {
            continue;
        }
        let kind = if name_of(&case).starts_with("index") { Kind::Index } else { Kind::Storage };
        let text = std::fs::read(case.join("act.conf")).unwrap();
        let Outcome::Accepted { conf, .. } = read_like_act(&text, kind, 2) else { panic!("{}", case.display()) };
        let mut got = String::new();
        let defaulted = !String::from_utf8_lossy(&text).contains("service-threads");
        write::write_preamble(&conf, defaulted.then_some(2), &mut got).unwrap();
        for device in &log.header().devices {
            write::write_device(device, &mut got).unwrap();
        }
        let names = write::histogram_names(&conf);
        assert_eq!(names, log.header().listed, "{}", case.display());
        write::write_histogram_names(&names, &mut got).unwrap();
        for block in blocks {
            let histograms = block.readings.iter().map(|r| (log.histogram_names()[r.histogram].as_str(), &r.buckets));
            write::write_block(block.after.as_ns() / 1_000_000_000, histograms, &mut got).unwrap();
        }
        assert!(got == std::fs::read_to_string(case.join("log.txt")).unwrap(), "{}", case.display());
        tried += 1;
    }
    assert!(tried >= 3, "only {tried} logs written again");
}

#[test]
fn what_went_wrong_is_seen() {
    let mut seen = 0;
    for case in [cases("act"), cases("act-edge")].concat() {
        let expected: &[(LineKind, usize)] = match name_of(&case) {
            "storage-eio" => &[(LineKind::IoError, 30), (LineKind::Stopped, 0)],
            "index-lag" => &[(LineKind::Lag, 8), (LineKind::Stopped, 8)],
            "storage-lag-largeblock" => &[(LineKind::Lag, 1), (LineKind::Stopped, 1)],
            "concatenated-two-runs" => &[(LineKind::SecondRun, 1)],
            _ => continue,
        };
        let (_, _, events) = blocks_and_events(&case.join("log.txt"));
        for (kind, count) in expected {
            let found = events.iter().filter(|event| *event == kind).count();
            assert_eq!(found, *count, "{} {kind:?}", case.display());
        }
        seen += 1;
    }
    assert!(seen >= 2, "only {seen} logs looked at");
}

#[test]
fn a_torn_block_is_marked() {
    for case in cases("act-edge").iter().filter(|case| case.ends_with("truncated-midblock")) {
        let (_, blocks, _) = blocks_and_events(&case.join("log.txt"));
        let torn: Vec<bool> = blocks.iter().map(|block| !block.complete).collect();
        assert_eq!(torn.iter().filter(|torn| **torn).count(), 1);
        assert_eq!(torn.last(), Some(&true));
    }
}

#[test]
fn older_heads_and_names() {
    for case in cases("act-old") {
        let (log, blocks, _) = blocks_and_events(&case.join("log.txt"));
        let head = log.header();
        let expected = match name_of(&case) {
            "run-3.0" => ("3.0", "large-block-reads large-block-writes device-reads /dev/loop5-reads reads", true),
            "run-5.0-storage" => {
                ("5.0", "reads device-reads /dev/zram2-reads large-block-reads large-block-writes", true)
            }
            "run-5.2-index" => {
                ("5.2", "trans-reads device-reads /dev/zram2-reads device-writes /dev/zram2-writes", true)
            }
            _ => ("6.0", "reads /dev/zram2-reads large-block-reads large-block-writes", false),
        };
        assert_eq!(
            (head.version.as_str(), log.histogram_names().join(" ").as_str(), blocks[0].queued.is_some()),
            expected
        );
        assert_eq!((blocks.len(), head.devices.len(), head.interval), (22, 1, Span::from_secs(1)));
        assert!(head.devices[0].size >= 1 << 30);
        let remarks = usize::from(head.version != "3.0");
        assert_eq!(head.remarks.len(), remarks, "the scheduler could not be set");
    }
}

#[test]
fn writes_of_4_0_are_told_from_reads() {
    let text = "\nAerospike act version 4.0 - device IO test\n\nACT CONFIGURATION\ndevice-names: /dev/a\nreport-interval-sec: 2\nmicrosecond-histograms: yes\n\ninternal read requests per sec: 5\n\n/dev/a size = 1048576 bytes, 8 large blocks, minimum IO size = 512 bytes\n\nAfter 2 sec:\nrequests queued: 3\nLARGE BLOCK READS  (0 total)\nLARGE BLOCK WRITES (0 total)\nRAW READS          (2 total)\n (01: 0000000002)\n/dev/a             (2 total)\n (01: 0000000002)\nREADS              (2 total)\n (02: 0000000002)\nRAW WRITES         (1 total)\n (03: 0000000001)\n/dev/a             (1 total)\n (03: 0000000001)\nWRITES             (1 total)\n (04: 0000000001)\n\n";
    let mut log = Log::open("x.txt", text.as_bytes()).unwrap();
    let Some(Ok(Item::Block(block))) = log.next() else { panic!("no block") };
    let names =
        "large-block-reads large-block-writes device-reads /dev/a-reads reads device-writes /dev/a-writes writes";
    assert_eq!(log.histogram_names().join(" "), names);
    assert_eq!((block.queued, block.complete, block.after), (Some(3), true, Span::from_secs(2)));
    assert_eq!(log.header().default_histograms(), ["reads", "device-reads"]);
    assert_eq!(log.header().devices[0].minimum_io, Some(512));
    assert!(log.next().is_none());
}

#[test]
fn logs_that_are_none_say_why() {
    let head = "\nACT version 6.6\n\nACT-STORAGE CONFIGURATION\nreport-interval-sec: 1\n\n";
    for (text, why) in [
        (String::new(), "no line \"ACT version"),
        ("ACT version 7.0\n".into(), "\"7.0\" is not one of 3.0 to 6.x"),
        ("Aerospike act version 2.1 - device IO test\n".into(), "\"2.1\" is not one of"),
        ("ACT version 6.6\nafter 1 sec:\n".into(), "no report-interval-sec"),
        (format!("{head}after 1 sec:\nreads (5 total)\n (00: 4)\n\n"), "the total says 5, the buckets hold 4"),
        (format!("{head}after 1 sec:\nreads (0 total)\n (65: 4)\n"), "not a line of buckets"),
        (format!("{head}after 1 sec:\nreads (0 total)\n (00 4)\n"), "not a line of buckets"),
        (format!("{head}after 1 sec:\n (00: 4)\n"), "not a line of buckets"),
        (format!("{head}after 1 sec:\nreads (0 total)\nreads (0 total)\n"), "twice in one block"),
        (format!("{head}after 2 sec:\n\nafter 1 sec:\n"), "time goes back"),
        (
            format!("{head}after 1 sec:\n\nafter 2 sec:\nr (99999999999999999999 total)\n (00: 1)\n"),
            "not a line of buckets",
        ),
    ] {
        let error = match Log::open("x.txt", text.as_bytes()) {
            Err(error) => error,
            Ok(log) => log.filter_map(Result::err).next().unwrap_or_else(|| panic!("no error: {text}")),
        };
        assert!(error.to_string().contains(why), "{why} is not in\n{error}");
    }
    let many: String = (0..5000).map(|i| format!("h{i} (0 total)\n")).collect();
    let log = Log::open("x.txt", std::io::Cursor::new(format!("{head}after 1 sec:\n{many}"))).unwrap();
    assert!(log.filter_map(Result::err).any(|error| error.to_string().contains("too many histograms")));
    let counts = format!("{head}after 1 sec:\nr (5 total)\n (00: 5)\n\nafter 2 sec:\nr (4 total)\n (00: 4)\n\n");
    let mut log = Log::open("x.txt", counts.as_bytes()).unwrap();
    let error = tabulate_slices(&mut log, &["r".to_owned()], Span::from_secs(1)).unwrap_err().to_string();
    assert!(error.contains("the counts of r go down"), "{error}");
}
