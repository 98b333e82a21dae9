//! What is left of a run that was killed at any moment: its log, cut at any byte. It is never judged PASS, and
//! `--resume` completes it, whatever kind of load it has. The targets are simulated, so that there can be many such
//! moments, and the same ones in each execution of the test.

use super::bed::{Place, Said};
use assay_base::Prng;
use std::fs;

/// What the log of a completed run must show.
enum Must {
    /// The last segment of each step has this number of completed operations, over all streams.
    Do(&'static [u64]),
    /// The run measured its whole time.
    Last,
}

const STREAM: &str = "[[stream]]\nname = \"a\"\ndirection = \"write\"\nsize = \"4KiB\"\n";
const HEAD: &str = "model = \"streams\"\nduration = \"6s\"\nslice = \"1s\"\ninterval = \"100ms\"\n";

/// Loads of every kind that has a state from operation to operation.
fn loads() -> Vec<(&'static str, String, Must)> {
    let looped = |keys: &str| format!("{HEAD}[[loop]]\nname = \"l\"\n{keys}\n{STREAM}loop = \"l\"\n");
    let one = |keys: &str| format!("{HEAD}{STREAM}{keys}\n");
    let phases = "model = \"streams\"\nslice = \"1s\"\ninterval = \"100ms\"\n[[phase]]\nname = \"low\"\nspan = \"3s\"\n\
                  [[phase]]\nname = \"rise\"\nspan = \"3s\"\nfrom = \"1x\"\nto = \"3x\"\n";
    vec![
        ("turns", looped("in_flight = 4\ntargets = \"in-turn\"\nthink = { time = \"4ms\" }\noperations = 3000"), Must::Do(&[3000])),
        ("one file after the other", looped("targets = \"one-after-another\"\nthink = { time = \"1ms\" }\noperations = 2500"), Must::Do(&[2500])),
        ("flushes", looped("think = { time = \"2ms\" }\noperations = 1000") + "[[stream]]\nname = \"f\"\ndirection = \"flush\"\nloop = \"l\"\nevery = 8\n", Must::Do(&[2000 + 2 * 124])),
        ("lives", one("rate = \"300/s\"\nfor = \"2s\"") + &STREAM.replace("\"a\"", "\"b\"") + "rate = \"200/s\"\nstart = \"1s\"\nfor = \"5s\"\n", Must::Last),
        ("bursts", one("rate = \"300/s\"\narrival = { bursty = { on = \"200ms\", off = \"300ms\" } }"), Must::Last),
        ("a day", one("rate = \"300/s\"\narrival = { profile = [[\"0s\", \"30%\"], [\"3s\", \"100%\"]], every = \"6s\" }"), Must::Last),
        ("phases", format!("{phases}{STREAM}rate = \"200/s\"\n"), Must::Last),
        ("never seen", one("rate = \"300/s\"\naddress = { never_seen = \"8KiB\" }").replace("write", "read"), Must::Last),
        ("a moving set", one("rate = \"300/s\"\naddress = { working_set = \"1GiB\", turnover = \"10%/s\" }"), Must::Last),
        ("steps", one("in_flight = 1\npause = \"2ms\"\noperations = 700\nstep = 1") + &STREAM.replace("\"a\"", "\"b\"") + "in_flight = 2\noperations = 2000\nstep = 2\n", Must::Do(&[1400, 4000])),
        ("threads", "model = \"seek\"\nthreads = [1, 3]\nsize = \"4KiB\"\nseeks = 400\ninterval = \"100ms\"\nslice = \"1s\"\npause = \"2ms\"\n".to_owned(), Must::Do(&[800, 2400])),
    ]
}

/// The operations that completed in the last segment of each step.
fn done(place: &Place) -> Vec<u64> {
    let mut steps: Vec<(u64, u64)> = Vec::new();
    for line in fs::read_to_string(place.path("run/run.jsonl")).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        match line["kind"].as_str() {
            Some("header") => {
                let step = line["step"]["index"].as_u64().or(line["step"]["number"].as_u64()).unwrap_or(0);
                steps.retain(|(known, _)| *known != step);
                steps.push((step, 0));
            }
            Some("interval") => {
                let ok = line["flows"].as_array().unwrap().iter().map(|flow| flow["ok"].as_u64().unwrap_or(0));
                steps.last_mut().unwrap().1 += ok.sum::<u64>();
            }
            _ => {}
        }
    }
    steps.into_iter().map(|(_, ok)| ok).collect()
}

/// Asserts that no rate is higher than what was asked for: what was measured twice counts twice, in operations and in
/// time.
fn keeps_its_rates(place: &Place, name: &str) {
    let result: serde_json::Value = serde_json::from_slice(&fs::read(place.path("run/verdict.json")).unwrap()).unwrap();
    for stream in result["streams"].as_array().unwrap() {
        let (Some(asked), Some(achieved)) = (stream["rate_asked"].as_f64(), stream["rate_achieved"].as_f64()) else {
            continue;
        };
        let bursts = if name == "bursts" { 2.0 } else { 1.08 };
        assert!(achieved <= asked * bursts, "{name}: {achieved} of {asked}");
    }
}

#[test]
fn a_log_cut_at_any_byte_is_completed_whatever_the_load() {
    let cuts = if std::env::var_os("ASSAY_CAMPAIGN").is_some() { 40 } else { 2 };
    let mut prng = Prng::from_seed(17);
    for (name, text, must) in loads() {
        let place = Place::new();
        place.write("w.toml", &text);
        let args = ["run", "w.toml", "sim:flash", "sim:flash"];
        let said = place.assay(&[&args[..], &["--out", "run"]].concat());
        assert_eq!(said.is_of_verdict(&place.path("run")), "PASS", "{name}: {}{}", said.out, said.err);
        let whole = fs::read(place.path("run/run.jsonl")).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap();
        let close = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
        for _ in 0..cuts {
            let cut = first + 1 + prng.uniform_below((close - first) as u64) as usize;
            fs::write(place.path("run/run.jsonl"), &whole[..cut]).unwrap();
            for result in ["verdict.json", "report.html"] {
                let _ = fs::remove_file(place.path("run").join(result));
            }
            let judged = place.assay(&["judge", "run"]);
            assert!(matches!(judged.code, Some(11 | 12)), "{name}, {cut} bytes: {:?} {}", judged.code, judged.out);
            let said: Said = place.assay(&[&args[..], &["--resume", "run"]].concat());
            assert_eq!(said.is_of_verdict(&place.path("run")), "PASS", "{name}, {cut} bytes: {}{}", said.out, said.err);
            match must {
                Must::Do(all) => assert_eq!(done(&place), all, "{name}, {cut} bytes"),
                Must::Last => {
                    assert!(said.out.contains(" 6 s measured"), "{name}: {}", said.out);
                    keeps_its_rates(&place, name);
                }
            }
        }
    }
}

/// A run goes on only as what it began as: another number in flight, think time or order of targets is another load, although its streams are the same. Names, remarks and bounds are no load.
#[test]
fn what_is_continued_offers_what_it_began_with() {
    let looped = format!("note = \"x\"\n{HEAD}[[loop]]\nname = \"l\"\nin_flight = 4\n{STREAM}loop = \"l\"\n");
    let job = "[j]\nfilename=a\nrw=randrw\nbs=4k\nsize=64m\nioengine=libaio\niodepth=4\n\
               time_based\nruntime=6\n";
    for (file, map, text, changes) in [
        (
            "w.toml",
            &["sim:flash", "sim:flash"][..],
            looped.as_str(),
            &[
                ("in_flight = 4", "in_flight = 32", false),
                ("in_flight = 4", "in_flight = 4\nthink = { time = \"1ms\" }", false),
                ("in_flight = 4", "in_flight = 4\ntargets = \"in-turn\"", false),
                ("note = \"x\"", "note = \"y\"\nmax_lag = \"5s\"\nname = \"other\"", true),
            ][..],
        ),
        ("j.fio", &["--map", "a=null:64MiB"], job, &[("iodepth=4", "iodepth=8", false)]),
    ] {
        let place = Place::new();
        place.write(file, text);
        let args = [&["run", file], map].concat();
        let said = place.assay(&[&args[..], &["--out", "run"]].concat());
        assert!(matches!(said.code, Some(0 | 11)), "{file}: {}{}", said.out, said.err);
        let log = place.path("run/run.jsonl");
        let whole = fs::read_to_string(&log).unwrap();
        let cut = whole.match_indices("\"kind\":\"interval\"").nth(2).unwrap().0;
        for (from, to, goes_on) in changes {
            place.write(file, &text.replace(from, to));
            fs::write(&log, &whole[..cut]).unwrap();
            let said = place.assay(&[&args[..], &["--resume", "run"]].concat());
            let refused = said.code == Some(2) && said.err.contains("holds another run");
            assert_eq!(refused, !goes_on, "{file}: {to}: {:?} {}", said.code, said.err);
            assert_eq!(refused, fs::read_to_string(&log).unwrap().len() == cut, "{file}: {to}");
        }
    }
}
