//! An open loop, a closed one, and people at terminals: what the log counts is what the database holds, and every form
//! of the result tells the same.

use super::shop::{DB, FAST, done, run, says_what_it_is, shop, sums};
use assay_model::tpcc::TransactionKind;

#[test]
fn an_open_loop_passes_and_the_database_holds_what_the_log_counts() {
    let place = shop();
    let before = sums(&place);
    let (said, log) = place.run(&run("open.toml", FAST, &["--json"]));
    said.is_of_verdict(&place.path("run"));
    assert!(said.passed_or_late(), "{said:?}");
    let after = sums(&place);
    let (orders, undone) = done(&log, TransactionKind::NewOrder, "rolled-back");
    let (payments, _) = done(&log, TransactionKind::Payment, "");
    assert_eq!((after.0 - before.0, after.1 - before.1), (orders - undone, payments));
    let head = &log.header.databases[0];
    assert_eq!(
        (head.dialect.as_str(), head.url.as_str(), head.warehouses, head.mode.as_str()),
        ("sqlite", DB, 1, "client")
    );
    assert_eq!((head.settings["journal_mode"].as_str(), head.settings["synchronous"].as_str()), ("wal", "off"));
    assert_eq!(head.not_durable, ["synchronous=off"]);
    assert!(head.bytes.unwrap() > 50_000_000 && head.constants.len() == 4);
    assert_eq!(log.header.plan["tpcc"]["warehouses"], 1);
    let json = said.json();
    assert_eq!(json["databases"][0]["checked"], "all 17 conditions hold");
    assert_eq!(json["databases"][0]["settings_at_end"]["synchronous"], "off");
    assert_eq!(json["databases"][0]["deviations"].as_array().unwrap().len(), 6);
    let warnings = json["warnings"].to_string();
    assert!(warnings.contains("of memory: what is read stays there"), "one warehouse is small: {warnings}");
}

#[test]
fn new_orders_a_minute_are_those_that_were_committed_in_measured_time() {
    let place = shop();
    let (said, log) = place.run(&run("open.toml", DB, &["--json"]));
    let json = said.json();
    let measured = || log.intervals.iter().filter(|interval| interval.phase == 1 && interval.start_ns < end(&log));
    let sum = |figure: &dyn Fn(&assay_record::FlowInterval) -> u64, kinds: &[TransactionKind]| {
        measured().flat_map(|it| kinds.iter().map(|kind| figure(&it.flows[*kind as usize]))).sum::<u64>() as f64
    };
    let undone = sum(&|flow| flow.counted.get("rolled-back").copied().unwrap_or(0), &[TransactionKind::NewOrder]);
    let orders = sum(&|flow| flow.ok, &[TransactionKind::NewOrder]) - undone;
    let all = sum(&|flow| flow.ok, &TransactionKind::ALL);
    for (at, name, operations) in [(0, "NOPM", orders), (1, "TPM", all)] {
        let figure = &json["per_minute"][at];
        assert_eq!(figure["name"], name);
        let seconds = json["measured_ns"].as_f64().unwrap() / 1e9;
        let value = figure["value"].as_f64().unwrap();
        assert!((value - operations * 60.0 / seconds).abs() < 1.0, "{name}: {value}, {operations} in {seconds} s");
        assert_eq!(figure["slices"].as_array().unwrap().len(), 2);
    }
    assert!(orders > 0.0 && all > orders);
    for (form, args) in [
        ("text", &["judge", "run"][..]),
        ("JSON", &["judge", "run", "--json"]),
        ("Markdown", &["export", "run", "--to", "markdown"]),
    ] {
        let shown = place.assay(args);
        says_what_it_is(form, &shown.out);
        assert!(shown.out.contains("NOPM"), "{form}: {}", shown.out);
    }
    let page = std::fs::read_to_string(place.path("run/report.html")).unwrap();
    says_what_it_is("HTML", &page);
    // Where the disk below the file is known, they are drawn together with what it did.
    let drawn = ["Per minute over time: NOPM, TPM.", "NOPM over time"].iter().any(|title| page.contains(title));
    assert!(drawn && page.contains("isolation"), "the report has the chart");
}

/// Where the planned time of the measured phase ends, on the run's time line.
fn end(log: &super::bed::Log) -> u64 {
    let begin = log.intervals.iter().find(|interval| interval.phase == 1).unwrap().start_ns;
    begin + log.header.phases[1].span_ns
}

#[test]
fn sessions_ask_as_fast_as_they_are_answered_and_none_gives_up() {
    let place = shop();
    let before = sums(&place);
    let (said, log) = place.run(&run("closed.toml", FAST, &[]));
    assert!(said.passed_or_late(), "{said:?}");
    let errors = log.intervals.iter().flat_map(|it| &it.flows).filter(|flow| !flow.errors.is_empty());
    assert_eq!(errors.count(), 0, "each had its turn: {said:?}");
    let (orders, undone) = done(&log, TransactionKind::NewOrder, "rolled-back");
    assert_eq!(sums(&place).0 - before.0, orders - undone);
    assert!(log.intervals.iter().all(|it| it.flows.iter().map(|flow| flow.in_flight).sum::<u64>() <= 3));
    assert_eq!(log.header.engine["threads"], "3");
}

/// Without a log beside the file readers and writers keep each other out: they take turns too.
#[test]
fn sessions_take_turns_where_readers_and_writers_keep_each_other_out() {
    let place = shop();
    let (said, log) = place.run(&run("closed.toml", "sqlite:shop.db?journal_mode=delete&synchronous=off", &[]));
    assert!(said.passed_or_late(), "{said:?}");
    let flows = || log.intervals.iter().flat_map(|it| &it.flows);
    assert!(flows().all(|flow| flow.errors.is_empty() && flow.counted.keys().all(|name| !name.starts_with("retried"))));
}

#[test]
fn people_at_terminals_think_and_type() {
    let place = shop();
    // Of the kinds that are rarer than payments there may be none in so short a time.
    let criterion =
        "[[criterion]]\nstream = \"payment\"\nmeasure = \"response\"\nshare_over = \"5s\"\nat_most = \"10%\"\n";
    place.write("keyed.toml", &format!("model = \"tpcc\"\npacing = \"keyed\"\ninterval = \"500ms\"\n{criterion}"));
    // Ten terminals with a fixed seed: within 20 s some of them have thought and typed.
    let args = ["run", "keyed.toml", FAST, "--warm-up", "0s", "--for", "20s", "--slice", "20s", "--seed", "1"];
    let (said, log) = place.run(&args);
    assert!(said.passed_or_late(), "{said:?}");
    let all: u64 = TransactionKind::ALL.into_iter().map(|kind| done(&log, kind, "").0).sum();
    assert!((1..60).contains(&all) && !said.out.contains(" 0 operations/s"), "{all}: {said:?}");
    assert!(log.events.iter().any(|event| event.what == "checked"), "{said:?}");
    let explained = place.assay(&["explain", "keyed.toml", DB]);
    assert!(explained.out.contains("10 terminals, at which people think and type"), "{}", explained.out);
}

#[test]
fn hammerdbs_mix_has_its_ratio_and_homes_are_kept() {
    let place = shop();
    place.write("h.toml", "model = \"tpcc\"\nsessions = 2\nmix = \"hammerdb\"\nhome = \"session\"\n");
    let (said, log) = place.run(&run("h.toml", "sqlite:shop.db?synchronous=off", &[]));
    let orders = done(&log, TransactionKind::NewOrder, "").0 as f64;
    let all: u64 = TransactionKind::ALL.into_iter().map(|kind| done(&log, kind, "").0).sum();
    // Of independent draws 10 in 23 are new orders; four standard deviations.
    let (share, expected) = (orders / all as f64, 10.0 / 23.0);
    let deviation = (expected * (1.0 - expected) / all as f64).sqrt();
    assert!(all > 100 && (share - expected).abs() < 4.0 * deviation, "{orders} of {all}: {said:?}");
}
