//! Valid files become the right plan; invalid ones are refused with place and remedy.

use super::*;
use crate::plan::Arrival;
use assay_base::Multiple;
use assay_base::{Rate, Span};

const ORDERS: &str = r#"name  = "orders volume"
model = "streams"
slice = "10min"

[[stream]]
name      = "reads"
direction = "read"
size      = "8KiB"
rate      = "5000/s"

[[stream]]
name      = "log"
direction = "write"
size      = { from = "512B", to = "64KiB" }
in_flight = 4
address   = "sequential"
content   = { compress_to = "60%" }
durable   = true

[[criterion]]
stream     = "reads"
measure    = "response"
share_over = "1ms"
at_most    = "5%"
window     = "1h"
"#;

#[test]
fn a_streams_file_lowers_to_its_streams() {
    let workload = read_workload("orders.toml", ORDERS).unwrap();
    let adjust = Adjust { load: Some(Multiple::from_whole(3)), targets: 2, seed: 1, ..Adjust::default() };
    let plan = workload.make_plan(&adjust).unwrap();
    assert_eq!(plan.name, "orders volume");
    assert_eq!(plan.load.streams[0].arrival, Arrival::Poisson { rate: Rate::per_second(30_000) }, "3x on 2 targets");
    assert_eq!(plan.load.streams[1].arrival, Arrival::Closed { in_flight: 4 });
    assert_eq!(plan.criteria[0].to_string(), "reads response over 1ms at most 5% per 1h");
    assert_eq!(plan.timing.slice, Span::from_secs(600));
    assert_eq!(plan.load.stream_targets().collect::<Vec<_>>(), [(0, 0), (0, 1), (1, 0), (1, 1)]);
}

#[test]
fn streams_that_end_after_their_operations() {
    let keys = |more: &str| {
        format!("model = \"streams\"\n[[stream]]\nname = \"a\"\ndirection = \"read\"\nsize = \"4KiB\"\n{more}\n")
    };
    let workload = read_workload("o.toml", &keys("in_flight = 4\noperations = 9")).unwrap();
    let plan = workload.make_plan(&Adjust::default()).unwrap();
    assert_eq!((plan.load.streams[0].life.operations, plan.timing.ends_when_done()), (Some(9), true));
    let endless = read_workload("o.toml", &keys("in_flight = 4")).unwrap().make_plan(&Adjust::default()).unwrap();
    assert!(!endless.timing.ends_when_done());
    let warm = Adjust { warm_up: Some(crate::WarmUp::For(Span::from_secs(1))), ..Adjust::default() };
    assert!(workload.make_plan(&warm).unwrap_err().contains("no warm-up"));
    let second = "[[stream]]\nname = \"b\"\ndirection = \"read\"\nsize = \"4KiB\"\nin_flight = 1";
    let mixed = read_workload("o.toml", &keys(&format!("in_flight = 4\noperations = 9\n{second}"))).unwrap();
    assert!(!mixed.make_plan(&Adjust::default()).unwrap().timing.ends_when_done(), "b lasts as long as the run");
    let looped = "loop = \"l\"\noperations = 9\n[[loop]]\nname = \"l\"";
    for (more, line, what) in [
        ("in_flight = 4\noperations = 0", 7, "a stream without operations does nothing"),
        ("rate = \"5/s\"\nbytes = \"0B\"", 7, "a stream that moves no bytes does nothing"),
        ("rate = \"5/s\"\nfor = \"0s\"", 7, "a stream cannot begin or end then"),
        ("rate = \"5/s\"\nstart = \"400d\"", 7, "a stream cannot begin or end then"),
        ("in_flight = 4\noperations = -1", 7, "-1 does not belong here"),
        (looped, 7, "a stream of a loop begins and ends with its loop"),
        ("loop = \"l\"\n[[loop]]\nname = \"l\"\noperations = 0", 9, "a loop without operations does nothing"),
        (
            "rate = \"5/s\"\nstart = \"1s\"\n[[phase]]\nname = \"p\"\nspan = \"9s\"",
            8,
            "a workload whose streams begin or end",
        ),
    ] {
        let fault = read_workload("o.toml", &keys(more)).unwrap_err();
        let fault = &fault.in_file_order()[0];
        assert!(fault.line == line && fault.what.starts_with(what), "{fault}");
    }
}

/// Streams with these keys, called a, b, c …
fn lives(streams: &[&str], head: &str) -> String {
    let one = |(at, keys): (usize, &&str)| {
        let name = char::from(b'a' + at as u8);
        format!("[[stream]]\nname = \"{name}\"\ndirection = \"read\"\nsize = \"4KiB\"\n{keys}\n")
    };
    format!("model = \"streams\"\n{head}\n{}", streams.iter().enumerate().map(one).collect::<String>())
}

#[test]
fn when_streams_begin_and_end() {
    let second = Span::from_secs;
    let plan = |streams: &[&str], head: &str, adjust: Adjust| {
        read_workload("l.toml", &lives(streams, head)).unwrap().make_plan(&adjust)
    };
    let timed = ["rate = \"5/s\"\nfor = \"20s\"", "in_flight = 1\nstart = \"15s\"\nfor = \"10s\""];
    let over = plan(&timed, "warm_up = \"3s\"", Adjust::default()).unwrap();
    assert_eq!(
        (over.timing.measured_length(), over.timing.ends_when_done()),
        (second(25), false),
        "until the last one has ended"
    );
    let at = |plan: &crate::Plan, stream| {
        let zero = assay_base::Instant::ZERO;
        let far = plan.stream_end(stream, zero) == assay_base::Instant::FAR;
        let until = if far { None } else { Some(plan.stream_end(stream, zero).since(zero)) };
        (plan.stream_begin(stream, zero).since(zero), until)
    };
    assert_eq!(at(&over, 0), (second(0), Some(second(23))), "with the warm-up, and 20 s of the measurement");
    assert_eq!(at(&over, 1), (second(18), Some(second(28))));
    // A run that is continued after 18 s of 25: both are under way, and are warmed up again.
    let rest = over.continued_after(assay_base::Bytes::default(), second(18));
    assert_eq!((at(&rest, 0), at(&rest, 1)), ((second(0), Some(second(5))), (second(0), Some(second(10)))));
    let rest = over.continued_after(assay_base::Bytes::default(), second(10));
    assert_eq!((at(&rest, 0), at(&rest, 1)), ((second(0), Some(second(13))), (second(8), Some(second(18)))));
    let rest = over.continued_after(assay_base::Bytes::default(), second(21));
    assert_eq!(at(&rest, 0), (second(0), Some(second(0))), "it has ended before");
    let shorter = plan(&timed, "", Adjust { measure: Some(second(18)), ..Adjust::default() }).unwrap();
    assert!(
        shorter.notes.remarks.iter().any(|note| note == "b lasts until 25s, and ends with the run, after 18s"),
        "{:?}",
        shorter.notes.remarks
    );
    let behind = ["rate = \"5/s\"\noperations = 9", "in_flight = 1\nafter = \"a\"\nbytes = \"1MiB\""];
    let behind = plan(&behind, "duration = \"1min\"", Adjust::default()).unwrap();
    assert!(
        behind.timing.ends_when_done()
            && behind.load.is_waited_for(0)
            && behind.load.starts_over()
            && !over.load.starts_over()
    );
    assert_eq!((behind.load.waited_for_by(1), behind.load.waited_for_by(0)), (vec![0], vec![]));
    let json = serde_json::to_value(&behind).unwrap();
    assert_eq!(serde_json::from_value::<crate::Plan>(json.clone()).unwrap(), behind, "{json}");
    let several = ["in_flight = 1\nfor = \"1s\"", "in_flight = 1\nafter = [\"a\"]\noperations = 9"];
    assert_eq!(
        plan(&several, "", Adjust::default()).unwrap().load.streams[1].life.to_string(),
        "begins when a has ended, and ends after 9 operations on each target"
    );
    let endless = "rate = \"5/s\"";
    for (streams, head, what) in [
        (
            [endless, "rate = \"5/s\"\nstart = \"2min\""],
            "duration = \"1min\"",
            "b begins after 2min, and the run measures for 1min",
        ),
        ([endless, "in_flight = 1\nafter = \"a\""], "", "b waits for a, which has no end"),
        ([endless, "in_flight = 1\nafter = \"z\""], "", "b waits for z, which is not there"),
        (
            ["in_flight = 1\nfor = \"1s\"", "in_flight = 1\nafter = [\"a\", \"z\"]"],
            "",
            "b waits for z, which is not there",
        ),
        (
            ["in_flight = 1\nfor = \"1s\"", "in_flight = 1\nfor = \"1s\"\nafter = [\"a\", \"b\"]"],
            "",
            "b waits for itself",
        ),
        (
            ["in_flight = 1\nfor = \"1s\"\nafter = \"b\"", "in_flight = 1\nfor = \"1s\"\nafter = \"a\""],
            "",
            "a waits for itself",
        ),
        (["in_flight = 1\nfor = \"1s\"\nafter = \"a\"", endless], "", "a waits for itself"),
        (
            ["in_flight = 1\noperations = 1", "in_flight = 1\noperations = 1"],
            "warm_up = \"3s\"",
            "streams that end after their operations have no warm-up",
        ),
        (
            ["in_flight = 1\nstart = \"1s\"", "in_flight = 1\noperations = 1"],
            "warm_up = \"3s\"",
            "no stream is there from the beginning",
        ),
        (
            [endless, "in_flight = 1\noperations = 1"],
            "warm_up = { until = \"steady\", limit = \"1h\" }",
            "b begins or ends within the run",
        ),
    ] {
        let told = plan(&streams, head, Adjust::default()).unwrap_err();
        assert!(told.starts_with(what), "{told}");
    }
}

#[test]
fn the_steps_of_a_workload() {
    let head = "warm_up = \"3s\"\nduration = \"1min\"\n[[loop]]\nname = \"mix\"\nstep = 2\nfor = \"9s\"\n";
    let streams = [
        "in_flight = 1\nstep = 1\noperations = 9",
        "loop = \"mix\"",
        "rate = \"5/s\"\nstep = 2",
        "in_flight = 1\nstep = 1\nafter = \"a\"\nfor = \"1s\"",
    ];
    let bound = "[[criterion]]\nstream = \"c\"\np99_at_most = \"9ms\"\n";
    let workload = read_workload("l.toml", &(lives(&streams, head) + bound)).unwrap();
    assert!(workload.make_plan(&Adjust::default()).unwrap_err().contains("has 2 steps"));
    let steps: Vec<crate::Plan> =
        workload.in_steps().iter().map(|step| step.make_plan(&Adjust::default()).unwrap()).collect();
    let names = |plan: &crate::Plan| plan.load.streams.iter().map(|stream| stream.name.clone()).collect::<String>();
    assert_eq!((names(&steps[0]), names(&steps[1]), steps.len()), ("ad".to_owned(), "bc".to_owned(), 2));
    assert!(
        steps[0].timing.ends_when_done() && steps[0].timing.warm_up().longest_warm_up().is_zero(),
        "nothing of it is warmed up"
    );
    assert_eq!(steps[1].timing.warm_up().longest_warm_up(), Span::from_secs(3));
    assert_eq!((steps[0].criteria.len(), steps[1].criteria.len(), steps[1].load.loops.len()), (0, 1, 1));
    for (streams, head, what) in [
        (["rate = \"5/s\"\nstep = 1", "rate = \"5/s\""], "", "this stream is in no step"),
        (["rate = \"5/s\"\nstep = 1", "rate = \"5/s\"\nstep = 3"], "", "step 2 has no stream"),
        (["rate = \"5/s\"\nstep = 0", "rate = \"5/s\"\nstep = 1"], "", "not a number of a step"),
        (["rate = \"5/s\"\nstep = 4000000000", "rate = \"5/s\"\nstep = 1"], "", "not a number of a step"),
        (
            ["loop = \"l\"\nstep = 1", "rate = \"5/s\"\nstep = 1"],
            "[[loop]]\nname = \"l\"",
            "a stream of a loop is in the loop's step",
        ),
        (
            ["rate = \"5/s\"\nstep = 1", "rate = \"5/s\"\nstep = 2"],
            "[[phase]]\nname = \"p\"\nspan = \"9s\"",
            "a workload has steps or phases",
        ),
    ] {
        let fault = read_workload("l.toml", &lives(&streams, head)).unwrap_err();
        assert!(fault.in_file_order().iter().any(|fault| fault.what.starts_with(what)), "{fault}");
    }
    let apart = ["in_flight = 1\nstep = 1\noperations = 9", "in_flight = 1\nstep = 2\nafter = \"a\""];
    let apart = read_workload("l.toml", &lives(&apart, "")).unwrap().in_steps();
    assert!(apart[1].make_plan(&Adjust::default()).unwrap_err().contains("waits for a, which is not there"));
}

#[test]
fn the_threads_of_a_seek_file() {
    let plan = |keys: &str| {
        let workload =
            read_workload("s.toml", &format!("model = \"seek\"\n{keys}")).map_err(|faults| faults.to_string())?;
        workload.make_plan(&Adjust { targets: 2, ..Adjust::default() })
    };
    let plain = plan("").unwrap();
    assert_eq!(
        (plain.load.streams.len(), plain.load.streams[0].life.operations),
        (1, Some(5000)),
        "as SeekMark without an option"
    );
    assert_eq!(plain.load.streams[0].as_block().unwrap().size.to.get(), 512);
    let all = "threads = 3\nsize = \"8KiB\"\nalign = \"4KiB\"\nduration = \"9s\"\npause = \"5ms\"\nrange = { from = \"50%\" }\ndirection = \"write\"";
    let all = plan(all).unwrap();
    assert_eq!(
        (all.load.streams.len(), all.timing.measured_length(), all.timing.ends_when_done()),
        (3, Span::from_secs(9), false)
    );
    let block = all.load.streams[2].as_block().unwrap();
    assert!(block.durable && block.extent.is_some() && all.load.streams[2].name == "thread-2");
    assert_eq!(all.load.streams[2].arrival, Arrival::Paced { pause: Span::from_ms(5) });
    for (keys, what) in [
        ("threads = 0", "not a number of threads"),
        ("threads = 257", "not a number of threads"),
        ("threads = [1, 1]", "not a list of numbers of threads"),
        ("size = \"0B\"", "not a size"),
        ("align = \"1GiB\"", "not an alignment"),
        ("seeks = 0", "a thread without an operation"),
        ("seeks = 5\nduration = \"9s\"", "both say when"),
        ("range = { size = \"100B\" }", "does not fit into this part"),
        ("range = { from = \"60%\", size = \"60%\" }", "not a part of a target"),
        ("warm_up = \"5s\"", "no warm-up"),
        ("in_flight = 4", "unknown key \"in_flight\""),
        ("thread = 4", "did you mean threads?"),
    ] {
        let told = plan(keys).unwrap_err();
        assert!(told.contains(what), "{keys}: {told}");
    }
}

#[test]
fn percentiles_and_maxima_are_shares_over_a_time() {
    let with = |keys: &str| {
        let text = format!("{}\n[[criterion]]\nstream = \"log\"\n{keys}\n", ORDERS);
        read_workload("o.toml", &text)
            .map(|workload| workload.make_plan(&Adjust::default()).unwrap().criteria[1].to_string())
    };
    for (keys, kept) in [
        ("p99_at_most = \"5ms\"", "log response over 5ms at most 1% per 10min"),
        ("p50_at_most = \"1ms\"\nwindow = \"run\"", "log response over 1ms at most 50% per run"),
        ("p90_at_most = \"1ms\"\nwindow = \"1min\"", "log response over 1ms at most 10% per 1min"),
        ("p95_at_most = \"1ms\"\nmeasure = \"service\"", "log service over 1ms at most 5% per 10min"),
        ("p99_9_at_most = \"20ms\"", "log response over 20ms at most 0.1% per 10min"),
        ("p99_99_at_most = \"20ms\"", "log response over 20ms at most 0.01% per 10min"),
        ("max_at_most = \"1s\"", "log response over 1s at most 0% per 10min"),
        ("errors_at_most = \"0.1%\"", "log errors at most 0.1% per 10min"),
        ("errors_at_most = \"0%\"\nwindow = \"run\"", "log errors at most 0% per run"),
    ] {
        assert_eq!(with(keys).unwrap(), kept);
    }
    for (keys, what) in [
        ("p99_at_most = \"5ms\"\nmax_at_most = \"1s\"", "no bound, or more than one"),
        ("p99_at_most = \"5ms\"\nbelow = \"1%\"", "no bound, or more than one"),
        ("p99_at_most = \"0ms\"", "p99_at_most of 0 can never hold"),
        ("max_at_most = \"0s\"", "max_at_most of 0 can never hold"),
        ("p98_at_most = \"5ms\"", "unknown key"),
        ("errors_at_most = \"101%\"", "can never be broken"),
        ("errors_at_most = \"1%\"\nmeasure = \"service\"", "errors_at_most has no measure"),
        (
            "errors_at_most = \"1%\"\n[[criterion]]\nstream = \"log\"\nmean_at_most = \"1s\"",
            "no length that a mean could count",
        ),
        ("max_at_most = \"1s\"\nwindow = \"walk\"", "window"),
    ] {
        let fault = with(keys).unwrap_err().to_string();
        assert!(fault.contains(what), "{keys}: {fault}");
    }
}

#[test]
fn what_is_typed_is_judged_instead_of_the_files_criteria() {
    let workload = read_workload("orders.toml", ORDERS).unwrap();
    let typed = |texts: &[&str]| {
        let criteria: Vec<String> = texts.iter().map(ToString::to_string).collect();
        let adjust = Adjust { slice: Some(Span::from_secs(60)), verify: true, ..Adjust::default() };
        let plan = workload.make_plan(&adjust)?.judged_by(&criteria)?;
        Ok::<_, String>(plan.criteria.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    assert_eq!(
        typed(&["reads p99.9 at most 5ms", "log mean at most 3ms per run"]).unwrap(),
        ["reads response over 5ms at most 0.1% per 1min", "log response mean at most 3ms per run"]
    );
    for (text, what) in [
        ("raeds p99 at most 5ms", "did you mean reads?"),
        ("read-back p99 at most 5ms", "there is no stream"),
        ("", "\"\" is not a criterion"),
        ("reads p99 at most 0s", "can never hold"),
        ("reads p99 under 5ms", "write it like"),
        ("reads p99 at most 5", "unit"),
        ("reads p99 at most 5ms per 1500us", "not a multiple of the interval"),
        ("reads over 1ms at most 101%", "can never be broken"),
    ] {
        let fault = typed(&[text]).unwrap_err();
        assert!(fault.contains(what), "{text}: {fault}");
    }
}

#[test]
fn act_files_have_the_standard_criteria_and_follow_the_slice() {
    let workload = read_workload("a.toml", "model = \"act-storage\"\nslice = \"5s\"\nduration = \"20s\"").unwrap();
    let plan = workload.make_plan(&Adjust { targets: 1, ..Adjust::default() }).unwrap();
    let criteria: Vec<String> = plan.criteria.iter().map(ToString::to_string).collect();
    assert_eq!(criteria[0], "reads response over 1ms below 5% per 5s");
    assert_eq!(criteria[2], "reads response over 64ms below 0.1% per 5s");
    assert_eq!(plan.timing.measured_length(), Span::from_secs(20));
    let shorter =
        workload.make_plan(&Adjust { slice: Some(Span::from_secs(2)), targets: 1, ..Adjust::default() }).unwrap();
    assert_eq!(shorter.criteria[0].window, Some(Span::from_secs(2)));
    assert!(read_workload("w.toml", "model = \"act-storage\"\nread_rate = \"0/s\"").unwrap().criteria.is_empty());
}

#[test]
fn bad_files_are_refused_with_place_and_remedy() {
    let with = |from: &str, to: &str| ORDERS.replacen(from, to, 1);
    // The change to the file; the line and column of the fault; words of the message.
    let table = [
        (with("direction", "dirction"), "orders.toml:7:1", "did you mean direction?"),
        (with("\"8KiB\"", "\"8K\""), "orders.toml:8:13", "8KiB"),
        (with("\"8KiB\"", "8192"), "orders.toml:8:13", "8KiB"),
        (with("\"5000/s\"", "\"5000\""), "orders.toml:9:13", "2000/s"),
        (with("\"5000/s\"", "5000"), "orders.toml:9:13", "\"2000/s\""),
        (with("\"5000/s\"", "\"0/s\""), "orders.toml:9:13", "above 0/s"),
        (with("\"read\"", "\"raed\""), "orders.toml:7:13", "write read, write or flush"),
        (with("\"streams\"", "\"steams\""), "orders.toml:2:9", "did you mean streams?"),
        (with("in_flight = 4", "in_flight = 0"), "orders.toml:15:13", "1 to 16384"),
        (with("in_flight = 4", "in_flight = 4\nrate = \"1/s\""), "orders.toml:11:1", "not both"),
        (with("stream     = \"reads\"", "stream     = \"raeds\""), "orders.toml:21:14", "did you mean reads?"),
        (with("at_most    = \"5%\"", "at_most    = 5"), "orders.toml:24:14", "\"5%\""),
        (with("at_most    = \"5%\"", ""), "orders.toml:20:1", "no bound"),
        (with("\"log\"", "\"reads\""), "orders.toml:12:13", "two streams"),
        (with("\"log\"", "\"<script>\""), "orders.toml:12:13", "letters"),
        (with("\"10min\"", "\"10m\""), "orders.toml:3:9", "10min"),
        (with("\"10min\"", "\"0s\""), "orders.toml:3:9", "10ms"),
        (with("\"sequential\"", "\"seqential\""), "orders.toml:16:13", "sequential"),
        (with("model = \"streams\"\n", ""), "--> orders.toml", "add model"),
        (with("\"60%\"", "\"160%\""), "orders.toml:11:1", "at most 100%"),
        ("model = \"streams\"".into(), "--> orders.toml", "add a [[stream]]"),
        ("model = ".into(), "orders.toml:1:", ""),
        ("model = \"streams\"\nmodel = \"streams\"".into(), "orders.toml:2:1", "duplicate"),
        ("\u{feff}\0".into(), "orders.toml:1", ""),
        ("model = \"act-storage\"\nrecord = \"0B\"".into(), "orders.toml:2:10", "record size"),
        (
            "model = \"act-storage\"\nread_rate = \"0/s\"\nwrite_rate = \"0/s\"".into(),
            "orders.toml:3:14",
            "both be zero",
        ),
        ("model = \"act-index\"\ndefrag_below = \"100%\"".into(), "orders.toml:2:16", "below 100%"),
        ("model = \"act-storage\"\nrecrod = \"1KiB\"".into(), "orders.toml:2:1", "did you mean record?"),
        (
            "model = \"act-storage\"\nread_rate = \"18446744073709551615/s\"\nupdate = \"50%\"".into(),
            "orders.toml:2:13",
            "2000/s",
        ),
        ("x".repeat(LONGEST + 1), "--> orders.toml", "longer than any real one"),
    ];
    for (text, place, remedy) in table {
        let shown = read_workload("orders.toml", &text).map(|_| "accepted").unwrap_err().to_string();
        assert!(shown.contains(place) && shown.contains(remedy), "expected {place} and {remedy}, got:\n{shown}");
    }
}

#[test]
fn every_fault_of_a_file_is_told_at_once_in_its_order() {
    let text = r#"name = "orders"
model = "streams"
duration = "30m"
verify = "yes"

[[stream]]
name = "reads"
dirction = "read"
size = "8K"
rate = 100

[[stream]]
name = "log <1>"
direction = "write"
size = "4KiB"
iodepth = 3

[[stream]]
name = "both"
direction = "write"
size = { from = 1, to = "8KiB" }
rate = "1/s"
in_flight = -3

[[criterion]]
stream = "log <1>"
measure = "p99"
share_over = "1ms"
at_most = 5
"#;
    let faults = read_workload("orders.toml", text).unwrap_err();
    let told: Vec<String> =
        faults.in_file_order().iter().map(|it| format!("{} {} = {}", it.line, it.what, it.remedy)).collect();
    let wanted = [
        "3 \"30m\": \"m\" could mean minutes or milli = write 30min, or 30ms",
        "4 the text \"yes\" does not belong here = write true or false",
        "6 the key direction is missing",
        "8 unknown key \"dirction\" = did you mean direction?",
        "9 \"8K\": unknown unit",
        "10 100 is not a quantity with its unit = write a rate",
        "13 not a stream name",
        "16 unknown key \"iodepth\" = a queue depth is in_flight",
        "21 1 is not a quantity with its unit = write a size",
        "23 -3 does not belong here = write a whole number",
        "27 \"p99\" is not a measure = write measure = \"response\" with p99_at_most",
        "29 5 is not a quantity with its unit = write a percentage",
    ];
    // Whether a table also lacks the key that is misspelt in it does not matter; all other faults are reported, and
    // nothing else.
    let told: Vec<&String> = told.iter().filter(|line| !line.starts_with("6 ")).collect();
    let wanted: Vec<&str> = wanted.into_iter().filter(|line| !line.starts_with("6 ")).collect();
    assert_eq!(told.len(), wanted.len(), "{told:#?}");
    for (told, wanted) in told.iter().zip(wanted) {
        assert!(told.starts_with(wanted), "{told}\nwanted: {wanted}");
    }
    assert!(faults.to_string().matches("\nerror: ").count() == faults.in_file_order().len() - 1);
}

#[test]
fn a_fault_that_only_follows_from_another_is_not_told() {
    let with = |from: &str, to: &str| read_workload("o.toml", &ORDERS.replacen(from, to, 1)).unwrap_err();
    for (from, to) in [
        ("rate      = \"5000/s\"", "iops = \"5000/s\""),
        ("\"reads\"", "\"re ads\""),
        ("share_over", "share_ovr"),
        ("in_flight = 4", "in_flight = \"4\""),
        ("direction = \"write\"", "direction = \"wriet\""),
    ] {
        let faults = with(from, to);
        assert!(faults.in_file_order().len() == 1 || from == "\"reads\"", "{faults}");
    }
    assert_eq!(with("\"log\"", "\"l g\"").in_file_order().len(), 1);
}

#[test]
fn a_wrong_value_in_an_inline_table_is_one_fault_wherever_it_stands() {
    // A line of the file, its number, and what stands in its place.
    let (size, content) = (("size      = \"8KiB\"", 8), ("content   = { compress_to = \"60%\" }", 17));
    for ((line, number), entry) in [
        (size, "size = { from = 5, to = \"8KiB\" }"),
        (size, "size = { from = \"4KiB\", to = 5 }"),
        (size, "size = { from = \"4KiB\", to = 5, }"),
        (size, "size = { form = \"4KiB\" , to = \"8KiB\" }"),
        (size, "size = { from = \"4KiB\", to = \"8KiB\", step = 3 }"),
        (content, "content = { duplicates = 30, compress_to = \"40%\" }"),
        (content, "content = { duplicates = \"30%\", compress_to = \"40\" }"),
        (content, "content = { duplicates = \"30%\", fill = 3, compress_to = \"40%\" }"),
    ] {
        let faults = read_workload("o.toml", &ORDERS.replacen(line, entry, 1)).map(|_| entry).unwrap_err();
        assert!(faults.in_file_order().len() == 1 && faults.in_file_order()[0].line == number, "{faults}");
    }
}

#[test]
fn text_that_is_not_toml_says_what_is_wrong_with_it() {
    for (entry, what) in [
        ("range = { from = \"0%\",, size = \"10%\" }", "a comma with nothing before it"),
        ("range = { , size = \"10%\" }", "a comma with nothing before it"),
        ("address = { hotspot = [\"80%\",, \"20%\"] }", "a comma with nothing before it"),
        ("address = { hotspot = [\"80%\" \"20%\"] }", "no comma between two entries"),
        ("range = { from = \"0%\" size = \"10%\" }", "no comma between two entries"),
        ("range = { from \"0%\" }", "a key without a value"),
        ("range = { from = = \"0%\" }", "a second = sign"),
        ("pause", "a key without a value"),
        ("pause =", "a key without a value"),
        ("pause = # 5ms", "a key without a value"),
        ("range = { from = \"0%\"", "the line above ends within a bracket, without a comma"),
        ("address = { hotspot = [\"80%\"", "the line above ends within a bracket, without a comma"),
        ("pause = 5ms", "a value of letters stands without quotes"),
        ("pause = \"5ms", "a text without its closing quote"),
        ("in_flight = 032", "a number that begins with 0"),
        ("pause = \"5ms\" rate = \"1/s\"", "something stands behind the value"),
    ] {
        let text = ORDERS.replacen("\"5000/s\"", &format!("\"5000/s\"\n{entry}"), 1);
        let faults = read_workload("o.toml", &text).map(|_| entry).unwrap_err();
        assert!(
            faults.in_file_order().len() == 1 && faults.in_file_order()[0].what.starts_with(what),
            "{entry}: {faults}"
        );
    }
}

#[test]
fn no_mutation_of_a_file_panics() {
    let mut prng = assay_base::Prng::from_seed(1);
    for _ in 0..5_000 {
        let mut bytes = ORDERS.as_bytes().to_vec();
        for _ in 0..=prng.uniform_below(3) {
            let at = prng.uniform_below(bytes.len() as u64) as usize;
            match prng.uniform_below(3) {
                0 => bytes[at] = prng.next_u64() as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"\"[]={}.9-\n"[prng.uniform_below(10) as usize]),
            }
        }
        if let Ok(workload) = read_workload("f", &String::from_utf8_lossy(&bytes)) {
            let _ = workload.make_plan(&Adjust { targets: 3, ..Adjust::default() });
        }
    }
}

#[test]
fn numbers_of_threads_are_steps() {
    let seeks = |keys: &str| {
        read_workload("w.toml", &format!("model = \"seek\"\n{keys}\n")).map_err(|faults| faults.to_string())
    };
    let workload = seeks("threads = [1, 8]\nseeks = 50\npause = \"2ms\"\nsize = \"4KiB\"").unwrap();
    let plans: Vec<_> = workload.in_steps().iter().map(|step| step.make_plan(&Adjust::default()).unwrap()).collect();
    let facts = |plan: &crate::Plan| {
        let it = &plan.load.loops[0];
        (
            plan.load.streams.len(),
            it.name.clone(),
            it.copies,
            it.life.operations,
            it.longest_pause(),
            plan.load.lane_bounds(),
        )
    };
    let pause = assay_base::Span::from_ms(2);
    let expected = [
        (1, "1-threads".to_owned(), 1, Some(50), pause, vec![vec![0, 1]]),
        (1, "8-threads".to_owned(), 8, Some(50), pause, vec![vec![0, 8]]),
    ];
    assert_eq!(plans.iter().map(facts).collect::<Vec<_>>(), expected);
    assert!(plans.iter().all(|plan| plan.timing.ends_when_done()));
    let timed = seeks("threads = [2]\nduration = \"5s\"").unwrap();
    assert_eq!(
        timed.in_steps()[0].make_plan(&Adjust::default()).unwrap().timing.measured_length(),
        assay_base::Span::from_secs(5)
    );
    for (threads, what) in [
        ("[]", "write each number once"),
        ("[1, 2, 1]", "write each number once"),
        ("[1, 0]", "write 1 to 256"),
        ("[257]", "write 1 to 256"),
        ("[1, \"2\"]", "a number of threads"),
        ("\"8\"", "a number of threads"),
        ("-1", "a number of threads"),
    ] {
        let told = seeks(&format!("threads = {threads}")).unwrap_err();
        assert!(told.contains(what) && told.contains("w.toml:2"), "{threads}: {told}");
    }
}
