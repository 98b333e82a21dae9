//! Profiles as files: the result of each key, and what is refused, with its place.
#![allow(clippy::unwrap_used, reason = "a test")]

use assay_base::{Direction, Rate};
use assay_model::workload::{Workload, read_workload};

const HEAD: &str = "name = \"p\"\nmodel = \"profile\"\n";
const READS: &str = "[namespace.reads]\nrate = \"1000/s\" # table:1\nlarger_than = [[\"1KiB\", \"100%\"], [\"2KiB\", \"50%\"], [\"4KiB\", \"0%\"]]\n";
const WRITES: &str = "[namespace.writes]\nrate = \"128/s\"\nlarger_than = [[\"1KiB\", \"100%\"], [\"2KiB\", \"0%\"]]\n";

fn namespace(more: &str) -> String {
    format!("{HEAD}[[namespace]]\nname = \"ns\"\n{more}")
}

fn workload(text: &str) -> Workload {
    read_workload("p.toml", text).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

/// `name rate`, with `sync` for durable writes.
fn streams(text: &str) -> Vec<String> {
    let one = |stream: &assay_model::Stream| {
        let rate = stream.arrival.mean_rate().unwrap_or(Rate::ZERO).as_f64();
        let block = stream.as_block().unwrap();
        let sync = if block.durable { " sync" } else { "" };
        assert!(!block.durable || block.direction == Direction::Write);
        format!("{} {rate:.3}{sync}", stream.name)
    };
    workload(text).load.streams.iter().map(one).collect()
}

#[test]
fn each_key_reaches_its_stream() {
    let blocks = |keys: &str| namespace(&format!("{READS}{WRITES}[namespace.large_blocks]\n{keys}"));
    let application = "[[application]]\nname = \"db\"\n[application.reads]\nrate = \"10/s\"\nsizes = [[\"4KiB\", \"30%\"], [\"8KiB\", \"70%\"]]\n[application.writes]\nrate = \"3/s\"\nsizes = [[\"16KiB\", \"1%\"]]\ndurable = true\n";
    let another = READS.replace("[namespace.reads]", "[[namespace]]\nname = \"n s\"\n[namespace.reads]");
    for (case, text, expected) in [
        ("reads alone", namespace(READS), vec!["reads 1000.000"]),
        // 128 writes of 1 KiB fill one block of 128 KiB per second, and half-full blocks double that.
        (
            "derived blocks",
            blocks(""),
            vec!["reads 1000.000", "large-block-reads 2.000", "large-block-writes 2.000 sync"],
        ),
        (
            "another threshold",
            blocks("defrag_below = \"60%\"\n"),
            vec!["reads 1000.000", "large-block-reads 2.500", "large-block-writes 2.500 sync"],
        ),
        (
            "counted blocks",
            blocks("writes = \"100/s\"\ndirect_frees = \"25/s\"\nreads = \"70/s\"\n"),
            vec!["reads 1000.000", "large-block-reads 75.000", "large-block-writes 100.000 sync"],
        ),
        (
            "blocks read by the log's count",
            blocks("writes = \"100/s\"\nreads = \"70/s\"\n"),
            vec!["reads 1000.000", "large-block-reads 70.000", "large-block-writes 100.000 sync"],
        ),
        (
            "scales: reads from the unscaled writes",
            blocks("writes = \"100/s\"\ndirect_frees = \"20/s\"\nwrite_scale = \"93%\"\nread_scale = \"90%\"\n"),
            vec!["reads 1000.000", "large-block-reads 72.000", "large-block-writes 93.000 sync"],
        ),
        (
            "no block is read, none durable",
            blocks("writes = \"100/s\"\nread_scale = \"0%\"\ndurable = false\n"),
            vec!["reads 1000.000", "large-block-writes 100.000"],
        ),
        (
            "committed",
            namespace(&format!("commit_to_device = true\ncommit_min = \"4KiB\"\n{READS}{WRITES}")),
            vec!["reads 1000.000", "large-block-reads 2.000", "large-block-writes 1.000 sync", "writes 128.000 sync"],
        ),
        ("four drives", namespace(&format!("drives = [\"a\", \"b\", \"c\", \"d\"]\n{READS}")), vec!["reads 250.000"]),
        ("an application", format!("{HEAD}{application}"), vec!["reads 10.000", "writes 3.000 sync"]),
        (
            "two parts of one drive, with names that streams cannot have",
            format!("{}{another}", namespace(READS)),
            vec!["ns.reads 1000.000", "n-s.reads 1000.000"],
        ),
    ] {
        assert_eq!(streams(&text), expected, "{case}");
    }
}

#[test]
fn sizes_are_drawn_as_the_histogram_says() {
    let mean = |position: &str| {
        let workload = workload(&namespace(&format!("{READS}position = \"{position}\"\n")));
        workload.load.streams[0].as_block().unwrap().size.in_blocks(512).mean_size()
    };
    assert_eq!(mean("100%"), 1536.0);
    assert!((mean("150%") / 2304.0 - 1.0).abs() < 0.12 && mean("150%") > 2304.0, "{}", mean("150%"));
    assert_eq!(mean("200%"), 3072.0);
}

#[test]
fn lanes_criteria_and_derivations_go_with_the_streams() {
    let text = namespace(&format!("{READS}[namespace.large_blocks]\nwrites = \"100/s\"\n"));
    let workload = workload(&text);
    let lanes: Vec<&str> = workload.load.lanes.iter().map(|lane| lane.streams[0].as_str()).collect();
    assert_eq!(lanes, ["large-block-reads", "large-block-writes"]);
    assert_eq!((workload.criteria.len(), workload.criteria[0].stream.as_str()), (3, "reads"));
    let sources: Vec<&str> = workload.derivation.iter().map(|step| step.source.as_str()).collect();
    // The comment behind a number, and the place of one without.
    assert_eq!(sources[0], "table:1");
    assert!(sources.contains(&"p.toml:9"), "{sources:?}");
}

#[test]
fn the_drive_that_is_meant() {
    let part = |node: &str, drive: &str, rate: u32| {
        let reads = READS.replace("1000/s", &format!("{rate}/s"));
        format!("[[namespace]]\nname = \"ns\"\nnode = \"{node}\"\ndrives = [\"{drive}\"]\n{reads}")
    };
    let two = format!("{}{}", part("a", "sda", 10), part("b", "sda", 20));
    assert_eq!(streams(&format!("{HEAD}{two}")), ["reads 20.000"]);
    let iostat = "[[iostat]]\nnode = \"a\"\ndrive = \"sda\"\nread_bytes = \"99MiB\"\nwrite_bytes = \"1MiB\"\n";
    let measured = format!("{HEAD}{two}{iostat}");
    assert_eq!(streams(&measured), ["reads 10.000"], "what was measured counts more than what is derived");
    assert_eq!(streams(&format!("{HEAD}drive = \"b/sda\"\n{two}{iostat}")), ["reads 20.000"]);
    let notes = workload(&format!("{HEAD}{two}")).notes;
    assert!(notes[0].contains("each target stands for b/sda, the busiest of 2 drives: this load moves"), "{notes:?}");
    let notes = workload(&measured).notes;
    assert!(notes[0].contains("a/sda, the busiest of 2 drives: iostat shows 100 MiB/s"), "{notes:?}");
}

#[test]
fn what_cannot_be_driven_is_told_at_its_place() {
    let blocks = |keys: &str| namespace(&format!("{READS}[namespace.large_blocks]\n{keys}"));
    let elsewhere = format!("{HEAD}drive = \"sdx\"\n[[namespace]]\nname = \"n\"\ndrives = [\"sda\"]\n{READS}");
    let application = format!("{HEAD}[[application]]\nname = \"a\"\n[application.large_blocks]\nsize = \"4KiB\"\n");
    for (text, at, told, remedy) in [
        (HEAD.to_owned(), (0, 0), "neither a [[namespace]] nor", "collect its load"),
        (namespace(""), (0, 0), "rates are all zero", "under load"),
        (elsewhere, (3, 9), "no drive \"sdx\"", "write one of sda"),
        (namespace("[namespace.reads]\nrate = \"1/s\"\n"), (5, 1), "sizes of its reads are missing", "larger_than"),
        (namespace("[namespace.reads]\nsizes = [[\"4KiB\", \"1%\"]]\n"), (5, 1), "have no rate", "ops/sec"),
        (namespace(&READS.replace("\"50%\"", "\"150%\"")), (7, 34), "more than all", "at most 100%"),
        (
            namespace(&READS.replace("\"100%\"", "\"40%\"")),
            (7, 33),
            "50% are larger than 2KiB, but only 40%",
            "never rise",
        ),
        (namespace(&READS.replace("\"0%\"", "\"5%\"")), (7, 51), "how much larger is missing", "-n 26"),
        (namespace(&format!("{READS}position = \"250%\"\n")), (8, 12), "outside of the buckets", "100%"),
        (namespace(&format!("{READS}sizes = [[\"4KiB\", \"1%\"]]\n")), (8, 1), "given twice", "keep"),
        (blocks("size = \"100KiB\"\n"), (9, 8), "a large block of 100KiB", "power of two"),
        (blocks("writes = \"10/s\"\ndirect_frees = \"11/s\"\n"), (10, 16), "11/s blocks are freed directly", "smaller"),
        (blocks("write_scale = \"1001%\"\n"), (9, 15), "a scale of 1001%", "0% to 1000%"),
        (blocks("defrag_below = \"100%\"\n"), (9, 16), "below 100%", "50%"),
        (blocks("wirtes = \"1/s\"\n"), (9, 1), "unknown key \"wirtes\"", "did you mean writes?"),
        (application, (5, 1), "no large blocks", "[[namespace]]"),
    ] {
        let faults = read_workload("p.toml", &text).unwrap_err();
        let fault = &faults.in_file_order()[0];
        assert!(fault.what.contains(told) && fault.remedy.contains(remedy), "{told}\n{faults}");
        assert_eq!(at, (fault.line, fault.column), "{faults}");
    }
}
