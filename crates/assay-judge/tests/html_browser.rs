//! The report in a real browser, Debian's chromium without a window: it renders without a word on the console, the charts
//! are there, every number of the tables equals the JSON it names, a hostile name stays text, and the policy stops a script
//! even where one was put into the page. Says so and passes where there is no browser to be had.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "browser/chromium.rs"]
mod chromium;
mod common;
#[path = "browser/fixture.rs"]
mod fixture;

use assay_judge::Judgement;
use chromium::Browser;

fn page(judgement: &Judgement) -> String {
    let mut text = String::new();
    assay_judge::render::html(judgement, &mut text).unwrap();
    text
}

/// The number a text shows and half a unit of its last digit, in the unit of the JSON; `None` for a text without a unit.
fn read(text: &str) -> Option<(f64, f64)> {
    let text = text.trim_end_matches("✗").trim().replace(',', "");
    if let Some(rest) = text.strip_prefix("&lt;").and_then(|rest| rest.strip_suffix('%')) {
        let most: f64 = rest.parse().ok()?;
        return Some((most / 200.0, most / 200.0));
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale = match unit.trim() {
        "" | "/s" | "ns" | "B" => 1.0,
        "%" => 0.01,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        "KiB" => 1024.0,
        "MiB" => f64::from(1u32 << 20),
        "GiB" => f64::from(1u32 << 30),
        "TiB" => (1u64 << 40) as f64,
        _ => return None,
    };
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    Some((number.parse::<f64>().ok()? * scale, 0.5000001 * scale * 10f64.powi(-i32::try_from(decimals).ok()?)))
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    Some(tag.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0)
}

/// Compares every cell that names its place with the JSON; gives how many there were.
fn cells_equal_the_json(dom: &str, json: &serde_json::Value) -> usize {
    let figure = |pointer: &str| {
        json.pointer(pointer).and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("nothing at {pointer}"))
    };
    let mut compared = 0;
    for row in dom.split("<tr").skip(1) {
        let base = attribute(row.split_once('>').unwrap().0, "data-at").unwrap_or_default();
        let place =
            |pointer: &str| if pointer.starts_with('/') { pointer.to_owned() } else { format!("{base}/{pointer}") };
        for cell in row.split("<td").skip(1).filter(|cell| cell.contains(" data-json=")) {
            let (tag, rest) = cell.split_once('>').unwrap();
            let text = rest.split('<').next().unwrap();
            let pointer = place(attribute(tag, "data-json").unwrap());
            let value = figure(&pointer) / attribute(tag, "data-of").map_or(1.0, |of| figure(&place(of)));
            let (shown, off) = read(text).unwrap_or_else(|| panic!("{pointer}: {text}"));
            assert!((shown - value).abs() <= off, "{pointer}: the page says {text}, the JSON {value}");
            compared += 1;
        }
    }
    compared
}

#[test]
fn it_renders_and_its_numbers_are_those_of_the_json() {
    let Some(browser) = Browser::find() else { return };
    for (name, judgement, charts) in [
        ("passed", fixture::passed(), 6),
        ("failed", fixture::failed(), 6),
        ("certificate", fixture::certificate(), 12),
    ] {
        let seen = browser.open(name, &page(&judgement));
        assert_eq!(seen.console, Vec::<String>::new(), "{name}");
        let ready = format!("data-ready=\"charts:{charts} errors:0\"");
        assert!(seen.dom.contains(&ready), "{name}: {:?}", attribute(&seen.dom, "data-ready"));
        let canvases: Vec<&str> =
            seen.dom.split("<canvas").skip(1).map(|rest| rest.split_once('>').unwrap().0).collect();
        assert_eq!(canvases.len(), charts, "{name}");
        for canvas in canvases {
            let size = |side| attribute(canvas, side).and_then(|n| n.parse::<u32>().ok());
            assert!(size("width") > Some(100) && size("height") > Some(100), "{name}: {canvas}");
        }
        let json = serde_json::to_value(&judgement).unwrap();
        assert!(cells_equal_the_json(&seen.dom, &json) >= 10 * charts, "{name}");
    }
}

/// Two days on four targets, through the log and the fold: the second target is slow for an hour.
#[test]
fn a_log_of_two_days() {
    let Some(browser) = Browser::find() else { return };
    let slow = |minute: u64, flow| if minute / 60 == 30 && flow == 1 { 90 } else { 10 + minute % 7 };
    let minute = |minute, flow| common::Minute { slow: slow(minute, flow), ..common::good(minute, flow) };
    let judgement = common::Scenario::new(common::header(48, 4)).run(minute).completed().judge();
    let page = page(&judgement);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let seen = browser.open("two-days", &page);
    assert_eq!(seen.console, Vec::<String>::new());
    assert!(seen.dom.contains("data-ready=\"charts:6 errors:0\""));
    assert!(seen.dom.contains("</span> FAIL</p>"));
    assert!(cells_equal_the_json(&seen.dom, &serde_json::to_value(&judgement).unwrap()) > 400);
    assert_eq!(seen.dom.matches("class=\"one outlier\"").count(), 1);
    browser.screenshot("two-days", &page, 1280, false);
}

/// A curve of a single-server queue, from its lightest load to its limit, with a name that would be a script.
fn curve() -> assay_judge::curve::Curve {
    let points = [10u64, 30, 50, 70, 90, 97].map(|percent| {
        serde_json::json!({
            "share": format!("{percent}%"), "load": format!("{percent}x"), "verdict": "PASS", "reason": "held", "delivered": true,
            "rate_asked": percent as f64 * 2000.0, "rate_achieved": percent as f64 * 2000.0 - 1.5,
            "mean_ns": 10_000_000 / (100 - percent), "p50_ns": 7_000_000 / (100 - percent), "p99_ns": 46_000_000 / (100 - percent),
            "p99_9_ns": 69_000_000 / (100 - percent), "directory": format!("{percent}"),
        })
    });
    let empty = serde_json::json!({
        "schema": 1, "workload": "orders </script><script>alert(1)</script>", "targets": ["<img src=x onerror=alert(1)>"],
        "stream": "reads", "seed": 7, "run_ns": 60_000_000_000u64, "maximum": "100x", "searched": true,
        "watermarks": ["SIMULATED: no device was tested"], "asked": [], "points": [],
    });
    let mut curve: assay_judge::curve::Curve = serde_json::from_value(empty).unwrap();
    points.into_iter().for_each(|point| curve.add(serde_json::from_value(point).unwrap()));
    let lost = serde_json::json!({
        "share": "100%", "load": "100x", "verdict": "FAIL", "reason": "the load was not delivered", "delivered": false,
        "rate_asked": 200_000.0, "rate_achieved": 190_000.0, "mean_ns": 2_000_000_000, "directory": "100",
    });
    curve.add(serde_json::from_value(lost).unwrap());
    curve
}

#[test]
fn a_curve_is_drawn_and_its_hostile_names_stay_text() {
    let Some(browser) = Browser::find() else { return };
    let mut page = String::new();
    assay_judge::curve::html(&curve(), &mut page).unwrap();
    let seen = browser.open("curve", &page);
    assert_eq!(seen.console, Vec::<String>::new());
    assert!(seen.dom.contains("data-ready=\"charts:1 errors:0\""), "{:?}", attribute(&seen.dom, "data-ready"));
    assert!(!seen.dom.contains("<img") && seen.dom.matches("<script").count() == 3);
    assert!(seen.dom.contains("50% knee") && seen.dom.contains("Not a point of the curve"));
    let shots = [
        ("curve-light", 1280, false),
        ("curve-dark", 1280, true),
        ("curve-phone", 390, false),
        ("curve-phone-dark", 390, true),
    ];
    let [light, dark, ..] = shots.map(|(name, width, dark)| browser.screenshot(name, &page, width, dark));
    assert_ne!(light, dark);
}

/// A run for a comparison, with a name that would be a script.
fn compared(label: &str, slow: u64) -> assay_judge::compare::Run {
    let minute = |minute, flow| common::Minute { slow: slow + minute % 3, ..common::good(minute, flow) };
    let log = common::Scenario::new(common::header(8, 1)).run(minute).completed().bytes();
    let mut sampled = assay_judge::compare::Sampled::default();
    let mut reader = assay_record::Reader::new(&log[..]);
    while let Some(entry) = reader.next_entry().unwrap() {
        sampled.entry(&entry.unwrap()).unwrap();
    }
    let judgement = assay_judge::judge(assay_record::Reader::new(&log[..]), &assay_judge::Options::default()).unwrap();
    assay_judge::compare::Run { label: label.to_owned(), judgement, sampled }
}

#[test]
fn a_comparison_says_what_its_json_says() {
    let Some(browser) = Browser::find() else { return };
    let labels = ["array A", "<img src=x onerror=alert(1)>"].map(str::to_owned);
    let runs = [compared(&labels[0], 10), compared(&labels[1], 30)];
    let comparison = assay_judge::compare::compare(&runs, false).unwrap();
    let mut page = String::new();
    assay_judge::compare::html(&comparison, &labels, &mut page).unwrap();
    let seen = browser.open("compare", &page);
    assert_eq!(seen.console, Vec::<String>::new());
    assert!(!seen.dom.contains("<img") && !seen.dom.contains("<script"));
    assert!(seen.dom.contains("&lt;img src=x onerror=alert(1)&gt;"));
    // Every value of every figure, in the row of its name.
    let json = serde_json::to_value(&comparison).unwrap();
    let mut shown = 0;
    for stream in json["streams"].as_array().unwrap() {
        let title = format!("{}, {}", stream["stream"].as_str().unwrap(), stream["measure"].as_str().unwrap());
        let table = seen.dom.split(&format!("<h2>{title}</h2>")).nth(1).unwrap().split("</table>").next().unwrap();
        for figure in stream["figures"].as_array().unwrap() {
            let row = table.split(&format!("<th scope=\"row\">{}</th>", figure["what"].as_str().unwrap())).nth(1);
            let row = row.unwrap().split("</tr>").next().unwrap();
            for (cell, value) in row.split("<td class=\"n\">").skip(1).zip(figure["values"].as_array().unwrap()) {
                let (told, half) = read(cell.split('<').next().unwrap()).unwrap();
                let value = value.as_f64().unwrap();
                assert!(
                    (told - value).abs() <= half.max(value * 0.005),
                    "{title} {}: {told} for {value}",
                    figure["what"]
                );
                shown += 1;
            }
        }
    }
    assert!(shown >= 16, "{shown} values");
    assert!(seen.dom.contains("<b>DIFFERS"), "three times as many slow operations are no noise");
    let [light, phone] =
        [("compare", 1280), ("compare-phone", 390)].map(|(name, width)| browser.screenshot(name, &page, width, false));
    assert!(light.len() > 10_000 && phone.len() > 10_000);
}

#[test]
fn a_hostile_name_stays_text() {
    let Some(browser) = Browser::find() else { return };
    let seen = browser.open("hostile", &page(&fixture::failed()));
    assert!(seen.dom.contains("<title>FAIL: orders volume</title>"));
    assert!(!seen.dom.contains("<img") && seen.dom.contains("&lt;img src=x onerror=alert(1)&gt;"));
    assert_eq!(seen.dom.matches("<script").count(), 3);
}

#[test]
fn the_policy_stops_what_an_escape_would_have_missed() {
    let Some(browser) = Browser::find() else { return };
    let evil = "<script>document.title='owned'</script><img src=\"x\" onerror=\"document.title='owned'\"><p style=\"color:red\">";
    let broken = page(&fixture::failed()).replacen("<main>", &format!("<main>{evil}"), 1);
    let seen = browser.open("policy", &broken);
    assert!(seen.dom.contains("<title>FAIL: orders volume</title>"), "the script ran");
    let refused = seen.console.iter().filter(|line| line.contains("Content Security Policy")).count();
    assert!(refused >= 3, "{:?}", seen.console);
}

#[test]
fn the_screen_shows_colour_where_the_charts_are() {
    let Some(browser) = Browser::find() else { return };
    let page = page(&fixture::failed());
    let [light, dark, phone] = [("light", 1280, false), ("dark", 1280, true), ("phone", 390, false)]
        .map(|(name, width, dark)| browser.screenshot(name, &page, width, dark));
    for (name, picture) in [("light", &light), ("dark", &dark), ("phone", &phone)] {
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 40_000, "{name}: {} bytes", picture.len());
    }
    assert_ne!(light, dark);
}
