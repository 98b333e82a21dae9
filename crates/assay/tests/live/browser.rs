//! The page in a real browser: each figure that it shows is that of the log at the line that it names, whenever it was opened.

use super::bed::{Place, until};
use super::chromedriver::Browser;
use super::growing::{Live, Writer, lines_of, renamed};
use serde_json::Value;

const RUN: [&str; 11] = [
    "run",
    "act-storage",
    "sim:flash",
    "sim:flash?seed=2",
    "--for",
    "40s",
    "--warm-up",
    "4s",
    "--slice",
    "10s",
    "--seed",
];

/// The number that a text shows, and half a unit of its last digit.
fn number_in(text: &str) -> (f64, f64) {
    let text = text.replace(',', "");
    let clock: Vec<&str> = text.split(':').collect();
    if let [hours, minutes, seconds] = clock[..] {
        let number = |part: &str| part.parse::<f64>().unwrap();
        return ((number(hours) * 3600.0 + number(minutes) * 60.0 + number(seconds)) * 1e9, 1e9);
    }
    let text = text.strip_suffix("/s").unwrap_or(&text);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale = match unit.trim() {
        "" | "ns" | "B" => 1.0,
        "%" => 0.01,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        other => panic!("unit {other:?} in {text:?}"),
    };
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let number: f64 = number.parse().unwrap_or_else(|_| panic!("no number in {text:?}"));
    (number * scale, 0.500_001 * scale * 10f64.powi(-i32::try_from(decimals).unwrap()))
}

/// What the page shows: the lines that it is of, and each figure with its place.
struct Shown {
    ready: String,
    cells: Vec<(String, Option<String>, String)>,
}

impl Shown {
    fn by(browser: &Browser) -> Shown {
        let all = browser.run(
            "return [document.documentElement.dataset.ready ?? '', [...document.querySelectorAll('[data-json]')].map((e) => [e.dataset.json, e.dataset.of ?? null, e.textContent])]",
        );
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let cells = all[1]
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| (text(&cell[0]), cell[1].as_str().map(str::to_owned), text(&cell[2])));
        Shown { ready: text(&all[0]), cells: cells.collect() }
    }

    /// Waits until the page is of this line.
    fn at(browser: &Browser, seq: usize) -> Shown {
        let mut shown = Shown::by(browser);
        until(&format!("the page of line {seq}"), || {
            shown = Shown::by(browser);
            shown.ready.starts_with(&format!("seq:{seq} "))
        });
        assert!(shown.ready.contains("errors:0"), "{}", shown.ready);
        shown
    }

    fn judged_at(&self) -> usize {
        let after = self.ready.split("judged:").nth(1).unwrap();
        after.split(' ').next().unwrap().parse().unwrap()
    }

    /// Compares every figure with what the judge and the intervals of the log say; returns how many there were.
    fn equals(&self, judgement: &Value, snapshot: &Value) -> usize {
        let step = judgement["steps"].as_array().and_then(|steps| steps.last()).unwrap_or(judgement);
        let moment = snapshot["recent"].as_array().unwrap().last().unwrap();
        let value_at = |pointer: &str| -> f64 {
            let found = match pointer.strip_prefix("/judged") {
                Some(rest) => step.pointer(rest),
                None => moment.pointer(pointer.strip_prefix("/moment").unwrap()),
            };
            found.and_then(Value::as_f64).unwrap_or_else(|| panic!("nothing at {pointer}"))
        };
        for (pointer, of, text) in &self.cells {
            let value = value_at(pointer) / of.as_ref().map_or(1.0, |of| value_at(of));
            let (shown, off) = number_in(text);
            assert!((shown - value).abs() <= off, "{pointer}: the page says {text}, the log {value}");
        }
        self.cells.len()
    }
}

fn judged(place: &Place, lines: &[String], name: &str) -> Value {
    std::fs::create_dir(place.path(name)).unwrap();
    std::fs::write(place.path(name).join("run.jsonl"), lines.concat()).unwrap();
    place.assay(&["judge", name, "--json"]).json()
}

#[test]
fn every_figure_of_the_page_is_that_of_the_log_at_its_line() {
    let Some(browser) = Browser::start() else { return };
    let place = Place::new();
    place.assay(&[&RUN[..], &["1", "--out", "whole"]].concat());
    let lines = lines_of(&place, "whole");
    let mut writer = Writer::begin(&place, "live");
    writer.append(&lines[..1]);
    let live = Live::serve(&place, &["live"]);
    browser.open(&live.url);
    Shown::at(&browser, 0);
    let mut compared = 0;
    for line in 1..lines.len() {
        writer.append(&lines[line..=line]);
        let snapshot = live.at(line);
        let shown = Shown::at(&browser, line);
        assert!(!browser.texts("#banner").concat().contains("PASS"));
        if line % 9 == 5 || line + 1 == lines.len() {
            let judgement = judged(&place, &lines[..=shown.judged_at()], &format!("to-{line}"));
            let figures = shown.equals(&judgement, &snapshot);
            assert!(figures > 30, "{figures} figures at line {line}");
            compared += figures;
        }
        if line == 12 {
            // The same page after it was loaded again.
            browser.reload();
            Shown::at(&browser, line);
        }
    }
    assert!(compared > 300, "{compared}");
    browser.keep_picture("running");
    drop(writer);
    live.at_end();
    until("the page of the end", || Shown::by(&browser).ready.ends_with("over"));
    let judgement = place.assay(&["judge", "whole", "--json"]).json();
    assert_eq!(browser.texts("#word"), [judgement["verdict"].as_str().unwrap()]);
    assert_eq!(browser.texts("#reason"), [judgement["reason"].as_str().unwrap()]);
    assert!(Shown::by(&browser).ready.contains("charts:4 "), "{}", Shown::by(&browser).ready);
    assert!(Shown::by(&browser).equals(&judgement, &live.at_end()) > 40);
    assert_eq!(browser.console(), [""; 0]);
    browser.keep_picture("ended");
}

#[test]
fn a_page_that_was_opened_in_the_middle_is_the_page_that_was_there_from_the_beginning() {
    let (Some(early), Some(late)) = (Browser::start(), Browser::start()) else { return };
    let place = Place::new();
    place.assay(&[&RUN[..], &["2", "--load", "40x", "--out", "whole"]].concat());
    let lines = lines_of(&place, "whole");
    let mut writer = Writer::begin(&place, "live");
    writer.append(&lines[..1]);
    let live = Live::serve(&place, &["live"]);
    early.open(&live.url);
    for line in 1..30 {
        writer.append(&lines[line..=line]);
        live.at(line);
        Shown::at(&early, line);
    }
    late.open(&live.url);
    for line in [29, 30, 31] {
        if line > 29 {
            writer.append(&lines[line..=line]);
        }
        let (one, other) = (Shown::at(&early, line), Shown::at(&late, line));
        assert_eq!(one.cells, other.cells);
        let text = |browser: &Browser| browser.run("return document.body.innerText").as_str().unwrap().to_owned();
        assert_eq!(text(&early), text(&late), "line {line}");
        // So are the charts, point by point.
        let picture = "return ['rates', 'shares', 'percentiles', 'whole-rates'].map((id) => document.querySelector(`#${id} canvas`).toDataURL())";
        assert_eq!(early.run(picture), late.run(picture), "line {line}");
    }
}

#[test]
fn a_browser_that_was_stopped_goes_on_with_what_is_newest() {
    let Some(browser) = Browser::start() else { return };
    let place = Place::new();
    place.assay(&[&RUN[..], &["3", "--out", "whole"]].concat());
    let lines = lines_of(&place, "whole");
    let mut writer = Writer::begin(&place, "live");
    writer.append(&lines[..4]);
    let live = Live::serve(&place, &["live"]);
    browser.open(&live.url);
    Shown::at(&browser, 3);
    browser.signal(libc::SIGSTOP);
    for line in 4..lines.len() - 1 {
        writer.append(&lines[line..=line]);
        live.at(line);
    }
    browser.signal(libc::SIGCONT);
    let last = lines.len() - 2;
    let shown = Shown::at(&browser, last);
    let judgement = judged(&place, &lines[..=shown.judged_at()], "stopped");
    assert!(shown.equals(&judgement, &live.at(last)) > 40);
}

#[test]
fn hostile_names_are_text_and_nothing_else() {
    let Some(browser) = Browser::start() else { return };
    let place = Place::new();
    let hostile = "<img src=x onerror=hacked=1><script>hacked=1</script>";
    place.assay(&["run", "act-storage", "sim:flash", "--for", "12s", "--slice", "4s", "--seed", "1", "--out", "whole"]);
    let lines = lines_of(&place, "whole");
    let lines = ["act-storage", "sim:flash", "large-block-reads"]
        .iter()
        .fold(lines, |lines, name| renamed(&lines, name, hostile));
    Writer::begin(&place, "live").append(&lines);
    let live = Live::serve(&place, &["live"]);
    live.at_end();
    browser.open(&live.url);
    until("the page of the end", || Shown::by(&browser).ready.ends_with("over"));
    assert_eq!(browser.texts("h1"), [hostile]);
    assert!(browser.texts("#stream option").contains(&hostile.to_owned()));
    assert_eq!(browser.run("return typeof hacked"), "undefined");
    assert_eq!(browser.run("return document.querySelectorAll('img').length"), 0);
    assert_eq!(browser.console(), [""; 0]);
    // What is put into the page by force is not run either.
    let forced = "const script = document.createElement('script'); script.textContent = 'window.hacked = 1'; document.body.append(script); return typeof hacked";
    assert_eq!(browser.run(forced), "undefined");
}

#[test]
fn a_log_that_stands_still_is_said_to() {
    let Some(browser) = Browser::start() else { return };
    let place = Place::new();
    place.assay(&[&RUN[..], &["4", "--out", "whole"]].concat());
    let lines = lines_of(&place, "whole");
    let mut writer = Writer::begin(&place, "live");
    writer.append(&lines[..20]);
    let live = Live::serve(&place, &["live"]);
    browser.open(&live.url);
    Shown::at(&browser, 19);
    assert_eq!(browser.texts("#age"), [""]);
    until("the page says so", || browser.texts("#age")[0].starts_with("no new interval for 1"));
    drop(writer);
    until("how the log ends", || browser.texts("#word") == ["INCOMPLETE"]);
}
