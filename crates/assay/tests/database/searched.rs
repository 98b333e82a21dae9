//! Several runs on one database: the highest rate, throughput against response or against sessions, two settings.

use super::server::Served;
use super::shop::{DB, FAST, in_one_line, shop};
use assay_model::tpcc::{DERIVED, DEVIATIONS};
use serde_json::Value;
use std::fs;

/// At 30 transactions a second this is more than a deck, in which each kind has a card.
const LENGTH: [&str; 6] = ["--warm-up", "0s", "--for", "4s", "--slice", "4s"];

/// Every JSON says in what the workload is not as the standard requires.
fn lists_deviations(json: &Value) {
    assert_eq!(json["deviations"], serde_json::json!(DEVIATIONS), "{json}");
}

#[test]
fn a_search_moves_the_rate_and_counts_in_new_orders_a_minute() {
    let place = shop();
    let args =
        [&["limit", "open.toml", FAST, "--from", "1x", "--to", "2x", "--out", "found"][..], &LENGTH[..]].concat();
    let said = place.assay(&args);
    assert_eq!(said.code, Some(0), "{said:?}");
    let path: Value = serde_json::from_str(&fs::read_to_string(place.path("found/limit.json")).unwrap()).unwrap();
    assert_eq!(path["counted"]["name"], "NOPM");
    lists_deviations(&path);
    let loads: Vec<&str> = path["runs"].as_array().unwrap().iter().map(|run| run["load"].as_str().unwrap()).collect();
    assert_eq!(loads, ["1x", "2x"]);
    assert!(in_one_line(&said.out).contains("NOPM") && in_one_line(&said.out).contains("DERIVED"), "{}", said.out);
    let closed = place.assay(&["limit", "closed.toml", DB]);
    assert!(closed.code == Some(3) && closed.err.contains("give a stream a rate"), "{closed:?}");
}

#[test]
fn a_curve_by_rate_has_a_run_for_each_point() {
    let place = shop();
    let args = ["curve", "open.toml", FAST, "--max", "2x", "--points", "50%,100%", "--out", "curve"];
    let said = place.assay(&[&args[..], &LENGTH[..]].concat());
    assert!(said.passed_or_late(), "{said:?}");
    assert!(said.out.contains("size      p99") && said.out.contains(" MiB "), "{}", said.out);
    let curve: Value = serde_json::from_str(&fs::read_to_string(place.path("curve/curve.json")).unwrap()).unwrap();
    assert!(curve["points"][0]["bytes"].as_u64().unwrap() > 50_000_000, "{curve}");
    lists_deviations(&curve);
    let page = fs::read_to_string(place.path("curve/curve.html")).unwrap();
    assert!(page.contains(">Size</th>") && page.contains(" MiB</td>"));
    let one = place.assay(&[&args[..7], &["--out", "one", "--runs", "one"], &LENGTH[..]].concat());
    assert!(one.code == Some(2) && one.err.contains("--runs each"), "{one:?}");
}

#[test]
fn a_curve_by_sessions_shows_the_size_beside_each_point() {
    let place = shop();
    let url = "sqlite:shop.db?synchronous=off";
    let args =
        [&["curve", "tpcc", url, "--sessions", "2,1", "--seed", "3", "--json", "--out", "curve"][..], &LENGTH[..]]
            .concat();
    let said = place.assay(&args);
    let curve = said.json();
    assert!(said.passed_or_late(), "{said:?}");
    for (at, sessions) in [(0, 1), (1, 2)] {
        let point = &curve["points"][at];
        assert_eq!(point["sessions"], sessions);
        assert_eq!(point["deviations"], serde_json::json!(DEVIATIONS));
        assert!(point["per_minute"]["NOPM"].as_f64().unwrap() > 0.0 && point["bytes"].as_u64().unwrap() > 50_000_000);
        let run = place.path("curve").join(point["directory"].as_str().unwrap());
        assert!(run.join("report.html").exists(), "{run:?}");
    }
    let page = fs::read_to_string(place.path("curve/sessions.html")).unwrap();
    assert!(page.contains("NOPM (per minute)") && page.contains("DERIVED"));
    let blocks = place.assay(&["curve", "random-read", "null:1GiB", "--sessions", "1"]);
    assert!(blocks.code == Some(2) && blocks.err.contains("--sessions is for databases"), "{blocks:?}");
    let both = place.assay(&["curve", "tpcc", DB, "--sessions", "1", "--max", "2x"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn two_settings_are_compared() {
    let place = shop();
    for (url, out) in [(DB, "full"), ("sqlite:shop.db?synchronous=off", "off")] {
        let args = [&["run", "closed.toml", url, "--seed", "5", "--out", out][..], &LENGTH[..]].concat();
        let said = place.assay(&args);
        assert!(said.passed_or_late(), "{said:?}");
    }
    let said = place.assay(&["compare", "full", "off", "--html", "page.html"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = in_one_line(&said.out);
    assert!(text.contains("NOPM") && text.contains("NOT DURABLE: synchronous=off"), "{}", said.out);
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("NOPM"));
}

#[test]
fn a_file_and_a_server_are_compared() {
    let Some(served) = Served::new("-c fsync=off") else { return };
    let place = shop();
    for (url, out) in [(FAST, "file"), (&served.url, "server")] {
        let args = [&["run", "closed.toml", url, "--seed", "5", "--out", out][..], &LENGTH[..]].concat();
        let said = place.assay(&args);
        assert!(said.passed_or_late(), "{said:?}");
    }
    let said = place.assay(&["compare", "file", "server", "--html", "page.html"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(in_one_line(&said.out).contains(DERIVED), "{}", said.out);
    let json = place.assay(&["compare", "file", "server", "--json"]).json();
    let comparison = &json["comparison"];
    lists_deviations(comparison);
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(in_one_line(&page).contains(DERIVED));
    for (at, name) in ["NOPM", "TPM"].into_iter().enumerate() {
        let figures = &comparison["per_minute"][at];
        let [file, server] = [0, 1].map(|run| figures["runs"][run].as_f64().unwrap());
        assert!(figures["name"] == name && file > 0.0 && server > 0.0, "{figures}");
        let row = said.out.lines().find(|line| line.starts_with(&format!("{name} (per minute)"))).unwrap();
        let cells: Vec<&str> = row.split_whitespace().skip(3).collect();
        assert_eq!(cells, [format!("{file:.0}"), format!("{server:.0}"), format!("(x{:.2})", server / file)], "{row}");
        assert!(page.contains(&format!("{name} (per minute)")) && page.contains(&format!("{server:.0} (x")), "{name}");
    }
    for (run, url) in [DB, &served.url].into_iter().enumerate() {
        let devices = comparison["runs"][run]["devices"].to_string();
        assert!(devices.contains(url), "{devices}");
    }
}
