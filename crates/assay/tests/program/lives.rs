//! Runs whose streams begin later than the run or end before it.

use crate::bed::{Place, until};
use assay_record::EventKind;
use serde_json::Value;
use std::fs;

/// A stream of 4 KiB reads with these keys.
fn stream(name: &str, keys: &str) -> String {
    format!("[[stream]]\nname = \"{name}\"\ndirection = \"read\"\nsize = \"4KiB\"\n{keys}\n")
}

const HEAD: &str = "model = \"streams\"\nduration = \"20s\"\nslice = \"5s\"\n";

#[test]
fn each_stream_does_what_it_has_and_is_judged_while_it_lives() {
    let place = Place::new();
    let streams = [
        stream("base", "rate = \"500/s\""),
        stream("late", "in_flight = 4\nstart = \"7s\"\nfor = \"8s\""),
        stream("counted", "rate = \"100/s\"\noperations = 300"),
        stream("moved", "in_flight = 2\nbytes = \"10MiB\""),
        stream("behind", "in_flight = 1\nafter = \"counted\"\nstart = \"1s\"\nfor = \"3s\""),
    ];
    let bound = "[[criterion]]\nstream = \"late\"\nrate_at_least = \"20000/s\"\n";
    place.write("w.toml", &format!("{HEAD}{}{bound}", streams.concat()));
    let (said, log) = place.run(&["run", "w.toml", "sim:flash", "--seed", "5"]);
    assert_eq!(said.is_of_verdict(&place.path("run")), "PASS", "{}", said.out);
    log.adds_up();
    assert_eq!((log.stream("counted").ok, log.stream("moved").ok), (300, 2560));
    assert!(log.stream("late").ok > 8 * 20_000 && log.stream("behind").ok > 3 * 5_000);
    let ends = log.events.iter().filter(|event| event.what == EventKind::StreamEnd).count();
    assert_eq!((ends, log.events.iter().filter(|event| event.what == EventKind::StreamBegin).count()), (4, 1));
    let explained = place.assay(&["explain", "w.toml", "sim:flash"]).out;
    for line in [
        "late: begins 7s into the measurement, and ends 8s after that",
        "counted: begins with the measurement, and ends after 300 operations on each target",
        "behind: begins 1s after the end of counted, and ends 3s after that",
    ] {
        assert!(explained.contains(line), "{explained}");
    }
    let again = place.assay(&["run", "w.toml", "sim:flash", "--seed", "5", "--out", "again"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let lines = |dir: &str| {
        let log = fs::read_to_string(place.path(dir).join("run.jsonl")).unwrap();
        log.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines("run"), lines("again"), "the same seed gives the same log");
}

#[test]
fn several_workers_share_what_a_stream_has_and_tell_its_end_once() {
    let place = Place::new();
    let streams = [
        stream("first", "in_flight = 7\noperations = 50003"),
        stream("second", "in_flight = 3\nafter = \"first\"\noperations = 10"),
        stream("third", "rate = \"2000/s\"\nafter = \"second\"\nbytes = \"400KiB\""),
    ];
    place.write("w.toml", &format!("{HEAD}{}", streams.concat()));
    let (said, log) = place.run(&["run", "w.toml", "null:1GiB", "--workers", "3"]);
    assert!(matches!(said.code, Some(0 | 11)), "{said:?}");
    log.adds_up();
    assert_eq!(["first", "second", "third"].map(|name| log.stream(name).ok), [50_003, 10, 100]);
    let ends: Vec<_> = log.events.iter().filter(|event| event.what == EventKind::StreamEnd).collect();
    let told: Vec<&str> = ends.iter().map(|event| event.details["operations"].as_str()).collect();
    assert_eq!(told, ["50003", "10", "100"]);
    assert_eq!(log.events.iter().filter(|event| event.what == EventKind::StreamBegin).count(), 2);
}

/// The measured time before the last segment of a log, in nanoseconds, and the completed operations of each flow in
/// that segment.
fn last_segment(place: &Place) -> (u64, Vec<u64>) {
    let (mut before, mut ok) = (0, Vec::new());
    for line in fs::read_to_string(place.path("run/run.jsonl")).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        match line["kind"].as_str() {
            Some("header") => {
                before = line["measured_before_ns"].as_u64().unwrap_or(0);
                ok = vec![0; line["flows"].as_array().unwrap().len()];
            }
            Some("interval") => {
                let flows = line["flows"].as_array().unwrap().iter();
                ok.iter_mut().zip(flows).for_each(|(sum, flow)| *sum += flow["ok"].as_u64().unwrap_or(0));
            }
            _ => {}
        }
    }
    (before, ok)
}

/// Kills a run of this workload in its second second and continues it. Returns the verdict and what `last_segment`
/// returns.
fn continued(place: &Place, text: &str) -> (String, u64, Vec<u64>) {
    place.write("w.toml", text);
    let running = place.begin(&["run", "w.toml", "null:1GiB", "--out", "run"]);
    let log = place.path("run/run.jsonl");
    until("its second second", || {
        fs::read_to_string(&log).is_ok_and(|text| text.matches("\"kind\":\"interval\"").count() >= 15)
    });
    running.signal(libc::SIGKILL);
    running.end();
    let said = place.assay(&["run", "w.toml", "null:1GiB", "--resume", "run"]);
    let (before, ok) = last_segment(place);
    (said.is_of_verdict(&place.path("run")), before, ok)
}

#[test]
fn a_killed_run_goes_on_where_times_decide_and_starts_over_where_numbers_do() {
    let head = "model = \"streams\"\nduration = \"4s\"\nslice = \"1s\"\ninterval = \"100ms\"\n";
    let place = Place::new();
    let timed = [
        stream("base", "rate = \"500/s\""),
        stream("early", "rate = \"100/s\"\nfor = \"1s\""),
        stream("late", "rate = \"100/s\"\nstart = \"1s\"\nfor = \"1s\""),
    ];
    let (verdict, before, ok) = continued(&place, &format!("{head}{}", timed.concat()));
    assert!(["PASS", "INVALID"].contains(&verdict.as_str()), "{verdict}");
    assert_eq!(before, 1_000_000_000, "it goes on in the slice that was cut");
    assert_eq!(ok[1], 0, "it has ended before");
    assert!((40..220).contains(&ok[2]), "{ok:?}");

    let place = Place::new();
    let counted = [
        stream("a", "in_flight = 1\npause = \"2ms\"\noperations = 1000"),
        stream("b", "in_flight = 1\nafter = \"a\"\noperations = 7"),
    ];
    // It ends when its numbers are done, which takes longer on a busy machine.
    let head = head.replace("4s", "1min");
    let (verdict, before, ok) = continued(&place, &format!("{head}{}", counted.concat()));
    assert!(["PASS", "INVALID"].contains(&verdict.as_str()), "{verdict}");
    assert_eq!(before, 0, "it measures again from the beginning");
    assert_eq!(ok, [1000, 7]);
}

/// Three steps; the second one ends after a number of operations.
fn steps() -> String {
    let streams = [
        stream("scan", "in_flight = 2\nfor = \"2s\"\nstep = 1"),
        stream("count", "in_flight = 1\npause = \"2ms\"\noperations = 700\nstep = 2"),
        stream("beside", "rate = \"100/s\"\nfor = \"1s\"\nstep = 2"),
        stream("last", "rate = \"200/s\"\nfor = \"1s\"\nstep = 3"),
    ];
    format!("model = \"streams\"\nslice = \"500ms\"\ninterval = \"100ms\"\n{}", streams.concat())
}

#[test]
fn steps_run_one_after_another_and_the_worst_is_the_verdict() {
    let place = Place::new();
    place.write("w.toml", &steps());
    let said = place.assay(&["run", "w.toml", "sim:flash", "--out", "run"]);
    assert_eq!(said.is_of_verdict(&place.path("run")), "PASS", "{}", said.out);
    assert!(said.out.contains("all 3 steps passed"), "{}", said.out);
    let json = place.assay(&["judge", "run", "--json"]).json();
    let titles: Vec<&str> =
        json["steps"].as_array().unwrap().iter().map(|step| step["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["scan", "count, beside", "last"]);
    let seeds: Vec<u64> =
        json["steps"].as_array().unwrap().iter().map(|step| step["plan"]["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [1, 2, 3], "each step draws by a seed of its own");
    let said = place.assay(&["run", "w.toml", "sim:flash", "--for", "500ms", "--out", "short"]);
    assert_eq!(said.is_of_verdict(&place.path("short")), "PASS", "{}", said.out);
    let marks = place.assay(&["judge", "short", "--json"]).json()["watermarks"].to_string();
    for mark in ["SIMULATED", "SHORT: 500ms measured, the workload's own time is 1s"] {
        assert!(marks.contains(mark), "{marks}");
    }
    assert!((100..300).contains(&last_segment(&place).1[0]), "the last step alone");
    let judged = ["run", "w.toml", "sim:flash", "--criterion", "last response over 1us at most 1%", "--out", "bad"];
    let said = place.assay(&judged);
    assert_eq!(said.is_of_verdict(&place.path("bad")), "FAIL", "{}", said.out);
    assert!(said.out.contains("step 3 of 3 (last)"), "{}", said.out);
    let said = place.assay(&["run", "w.toml", "sim:flash", "--criterion", "nobody response over 1ms at most 1%"]);
    assert!(said.code == Some(3) && said.err.contains("the streams are scan, count, beside, last"), "{}", said.err);
    let explained = place.assay(&["explain", "w.toml", "sim:flash"]).out;
    assert!(explained.contains("step 2 of 3, count, beside\n"), "{explained}");
    let limit = place.assay(&["limit", "w.toml", "sim:flash"]);
    assert!(limit.code == Some(3) && limit.err.contains("has 3 steps"), "{}", limit.err);
    let several = place.assay(&["run", "w.toml", "random-read", "sim:flash"]);
    assert!(several.code == Some(3) && several.err.contains("has 3 steps"), "{}", several.err);
}

#[test]
fn a_run_that_is_killed_in_any_of_its_steps_is_completed() {
    for headers in 1..=3 {
        let place = Place::new();
        place.write("w.toml", &steps());
        let running = place.begin(&["run", "w.toml", "null:1GiB", "--out", "run"]);
        let read = || fs::read_to_string(place.path("run/run.jsonl")).unwrap_or_default();
        let within = |text: String| {
            let after = text
                .rsplit("\"kind\":\"header\"")
                .next()
                .map_or(0, |rest| rest.matches("\"kind\":\"interval\"").count());
            text.matches("\"kind\":\"header\"").count() == headers && after >= 3
        };
        until("its step", || within(read()));
        running.signal(libc::SIGKILL);
        running.end();
        assert_eq!(place.assay(&["judge", "run"]).code, Some(12), "a cut run is no PASS");
        let said = place.assay(&["run", "w.toml", "null:1GiB", "--resume", "run"]);
        let verdict = said.is_of_verdict(&place.path("run"));
        assert!(["PASS", "INVALID"].contains(&verdict.as_str()), "{verdict}: {}", said.out);
        assert_eq!(read().matches("\"kind\":\"header\"").count(), 4, "three steps, one of them in two segments");
        let again = place.assay(&["run", "w.toml", "null:1GiB", "--resume", "run"]);
        assert!(again.code == Some(2) && again.err.contains("is complete"), "{again:?}");
    }
}

/// What a result names as the rate of everything together, in each of its forms.
fn headlines(place: &Place, run: &str) -> Vec<f64> {
    let number = |text: &str| text.trim().replace(',', "").parse::<f64>().unwrap();
    // The number before a word.
    let before = |text: &str, word: &str| {
        let (left, _) = text.split_once(word).unwrap_or_else(|| panic!("no {word} in {text}"));
        number(left.trim_end().rsplit([' ', '\n', '"']).next().unwrap())
    };
    let markdown = place.assay(&["export", run, "--to", "markdown"]).out;
    let junit = place.assay(&["export", run, "--to", "junit"]).out;
    let page = place.assay(&["report", run, "--out", "-"]).out;
    let (_, figure) = page.split_once("<dt>IOPS</dt><dd>").unwrap();
    let json = place.assay(&["judge", run, "--json"]).json();
    vec![
        before(&place.assay(&["judge", run]).out, " IOPS"),
        before(&markdown, " IOPS"),
        before(&junit, " IOPS"),
        number(figure.split('<').next().unwrap()),
        json["throughput"]["operations_per_second"].as_f64().unwrap(),
    ]
}

/// Three jobs that run one after another, by what the job file says. Each does what the simulated drive does with eight
/// in flight, and so do all together.
#[test]
fn jobs_that_follow_each_other_have_the_rate_of_their_drive() {
    let head = "[global]\ndirect=1\nioengine=libaio\nbs=4k\niodepth=8\nrw=randread\nsize=40m\nfilename=d.dat\n";
    let timed = head.replace("size=40m", "size=40m\ntime_based\nruntime=2");
    for (what, job) in [
        ("wait_for", format!("{head}[first]\n[second]\nwait_for=first\n[third]\nwait_for=second\n")),
        ("startdelay", format!("{timed}[first]\n[second]\nstartdelay=2\n[third]\nstartdelay=5\n")),
    ] {
        let place = Place::new();
        place.write("job.fio", &job);
        let said = place.assay(&["run", "job.fio", "--map", "d.dat=sim:flash", "--seed", "1", "--out", "run"]);
        assert_eq!(said.code, Some(0), "{what}: {said:?}");
        let json = place.assay(&["judge", "run", "--json"]).json();
        let each: Vec<f64> =
            json["streams"].as_array().unwrap().iter().map(|it| it["rate_achieved"].as_f64().unwrap()).collect();
        let most = each.iter().copied().fold(0.0, f64::max);
        let ran: u64 = json["streams"].as_array().unwrap().iter().map(|it| it["ran_ns"].as_u64().unwrap()).sum();
        assert_eq!(json["throughput"]["ran_ns"].as_u64().unwrap().abs_diff(ran) / 5_000_000, 0, "{what}: {json:#}");
        for found in headlines(&place, "run") {
            assert!(found > 1000.0 && found <= most * 1.001, "{what}: {found} of {each:?}");
        }
        // The jobs of the export have the same rates as the streams.
        let fio = place.assay(&["export", "run", "--to", "fio-json"]).json();
        for (job, rate) in fio["jobs"].as_array().unwrap().iter().zip(&each) {
            let iops = job["read"]["iops"].as_f64().unwrap();
            assert!((iops / rate - 1.0).abs() < 1e-6, "{what}: {iops} and {rate}");
        }
    }
}

/// Each of two steps is shown with its own figures: the fill, and what came after it.
#[test]
fn every_step_is_shown_with_its_own_figures() {
    let place = Place::new();
    place.write(
        "job.fio",
        "[global]\ndirect=1\nioengine=libaio\niodepth=8\nsize=40m\nfilename=d.dat\n[fill]\nrw=write\nbs=128k\n\
         [reader]\nstonewall\nrw=randread\nbs=4k\ntime_based\nruntime=3\nrate_iops=700\n",
    );
    let said = place.assay(&["run", "job.fio", "--map", "d.dat=sim:flash", "--seed", "1", "--out", "run"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let json = place.assay(&["judge", "run", "--json"]).json();
    let steps = json["steps"].as_array().unwrap();
    let fill = format!("{:.0} IOPS", steps[0]["streams"][0]["rate_achieved"].as_f64().unwrap());
    let forms = [
        said.out,
        place.assay(&["export", "run", "--to", "markdown"]).out,
        place.assay(&["export", "run", "--to", "junit"]).out,
    ];
    for form in forms {
        assert!(form.contains(&fill) && form.contains("700 IOPS"), "{fill}: {form}");
    }
    let page = place.assay(&["report", "run", "--out", "-"]).out;
    let table = page.split("id=\"steps\"").nth(1).and_then(|rest| rest.split("</section>").next()).unwrap();
    for (measured, rate) in steps.iter().map(|step| (&step["measured_ns"], &step["streams"][0]["rate_achieved"])) {
        let digits = rate.as_f64().unwrap().round() as u64;
        let shown = if digits < 1000 { digits.to_string() } else { format!("{},{:03}", digits / 1000, digits % 1000) };
        assert!(table.contains(&format!(">{shown}<")), "{measured}: {shown} in {table}");
    }
}
