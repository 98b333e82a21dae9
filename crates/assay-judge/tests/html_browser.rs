//! The report in a real browser, Debian's chromium without a window: it renders without a message on the console, the
//! charts are there, every number of the tables equals the JSON it names, a hostile name stays text, and the policy
//! stops a script even if one gets into the page. Where no browser is available, the tests say so and pass.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::chromium;
use crate::common;
use crate::fixture;
use crate::pages;

use assay_judge::Judgement;
use chromium::Browser;

fn page(judgement: &Judgement) -> String {
    let mut text = String::new();
    assay_judge::render::write_html(judgement, &mut text).unwrap();
    text
}

/// The number that a text shows and half a unit of its last digit, in the unit of the JSON; `None` for a text without a
/// unit.
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

/// Compares every cell that names its place with the JSON; returns the number of cells.
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
        ("passed", fixture::passed(), 7),
        ("failed", fixture::failed(), 7),
        ("certificate", fixture::certificate(), 14),
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
    assert!(seen.dom.contains("full queue: always 0.</p>"), "nothing lagged, so there is no chart of it");
    assert!(seen.dom.contains("</span> FAIL</p>"));
    assert!(cells_equal_the_json(&seen.dom, &serde_json::to_value(&judgement).unwrap()) > 400);
    assert_eq!(seen.dom.matches("class=\"one outlier\"").count(), 1);
    browser.screenshot("two-days", &page, 1280, false);
}

#[test]
fn a_curve_is_drawn_and_its_hostile_names_stay_text() {
    let Some(browser) = Browser::find() else { return };
    let page = pages::curve(&pages::points());
    let seen = browser.open("curve", &page);
    assert_eq!(seen.console, Vec::<String>::new());
    assert!(!seen.dom.contains("<img") && !seen.dom.contains("<script"));
    assert_eq!(seen.dom.matches("<svg class=\"chart\"").count(), 2);
    assert!(seen.dom.contains("50% knee") && seen.dom.contains("Not a point of the curve"));
    assert!(seen.dom.contains("<title>139,998.5/s: p99 1.53 ms</title>"), "each point can be read");
    let shots = [
        ("curve-light", 1280, false),
        ("curve-dark", 1280, true),
        ("curve-phone", 390, false),
        ("curve-phone-dark", 390, true),
    ];
    let [light, dark, ..] = shots.map(|(name, width, dark)| browser.screenshot(name, &page, width, dark));
    assert_ne!(light, dark);
}

#[test]
fn a_search_shows_every_run_and_where_it_turned() {
    let Some(browser) = Browser::find() else { return };
    let trail = pages::trail();
    let page = pages::limit(&trail);
    let seen = browser.open("limit", &page);
    assert_eq!(seen.console, Vec::<String>::new());
    assert!(!seen.dom.contains("<img") && !seen.dom.contains("<script"));
    assert!(seen.dom.contains("holds 60x, fails at 65x") && seen.dom.contains("SIMULATED"));
    for (index, run) in trail.runs.iter().enumerate() {
        let (number, load) = (index + 1, run.load);
        let title = format!("<title>run {number}: {load} {},", run.verdict);
        assert!(seen.dom.contains(&title), "{title}");
        let row =
            seen.dom.split(&format!("<td class=\"n\">{number}</td><th scope=\"row\" class=\"n\">{load}</th>")).nth(1);
        let row = row.unwrap().split("</tr>").next().unwrap();
        let decided = if run.is_proof() {
            run.measured.as_deref().unwrap().replace('<', "&lt;")
        } else {
            "as measured on".to_owned()
        };
        assert!(row.contains(&decided) && row.contains(&format!("href=\"{number:02}-{load}/report.html\"")), "{row}");
    }
    assert_eq!(seen.dom.matches("class=\"stretch ").count(), 2, "what held and what did not");
    let beyond = seen.dom.split("<svg class=\"chart\"").nth(2).unwrap();
    assert_eq!(beyond.split("</svg>").next().unwrap().matches("class=\"line ").count(), 6, "those nearest the limit");
    let [light, dark, phone] = [("limit", 1280, false), ("limit-dark", 1280, true), ("limit-phone", 390, false)]
        .map(|(name, width, dark)| browser.screenshot(name, &page, width, dark));
    assert!(light != dark && phone.len() > 10_000);
}

#[test]
fn a_comparison_says_what_its_json_says() {
    let Some(browser) = Browser::find() else { return };
    let runs = [("array A", 10), (fixture::HOSTILE_IMAGE, 30)];
    let comparison = pages::comparison(&runs);
    let page = pages::compare(&runs);
    let seen = browser.open("compare", &page);
    assert_eq!(seen.console, Vec::<String>::new());
    assert!(!seen.dom.contains("<img") && !seen.dom.contains("<script"));
    assert!(seen.dom.contains("&lt;img src=x onerror=alert(1)&gt;"));
    // Two runs in each chart: the share that took longer, and the number by time.
    let charts: Vec<&str> = seen.dom.split("<svg class=\"chart\"").skip(1).collect();
    assert_eq!(charts.len(), 2 * comparison.streams.len());
    for (index, chart) in charts.iter().enumerate() {
        let drawn = if index % 2 == 0 { "class=\"line s" } else { "class=\"area s" };
        assert_eq!(chart.split("</svg>").next().unwrap().matches(drawn).count(), 2, "{index}");
    }
    assert_eq!(seen.dom.matches("<svg class=\"bar\"").count(), 2);
    // Every value of every figure, in the row of its name.
    let json = serde_json::to_value(&comparison).unwrap();
    let mut shown = 0;
    for stream in json["streams"].as_array().unwrap() {
        let title = format!("{}, {}", stream["stream"].as_str().unwrap(), stream["measure"].as_str().unwrap());
        let table = seen.dom.split(&format!("\">{title}</h2>")).nth(1).unwrap().split("</table>").next().unwrap();
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

/// Every verdict of a table, at the width of a phone: its right edge, and the number of verdicts.
const STATES: &str = "const all = [...document.querySelectorAll('td.state')].filter((cell) => cell.getClientRects().length); \
     return all.length + ' ' + Math.max(...all.map((cell) => cell.getBoundingClientRect().right)) + ' ' + document.documentElement.scrollWidth;";

#[test]
fn on_a_phone_every_verdict_is_in_view() {
    let Some(browser) = Browser::find() else { return };
    for (name, page) in [
        ("phone-failed", page(&fixture::failed())),
        ("phone-certificate", page(&fixture::certificate())),
        ("phone-limit", pages::limit(&pages::trail())),
        ("phone-curve", pages::curve(&pages::points())),
        ("phone-compare", pages::compare(&[("array A", 10), (fixture::HOSTILE_IMAGE, 30), ("array C", 90)])),
    ] {
        let said = browser.ask(name, &page, 390, STATES);
        let figures: Vec<f64> =
            said.split(' ').map(|n| n.parse().unwrap_or_else(|_| panic!("{name}: {said}"))).collect();
        assert!(figures[0] >= 2.0 && figures[1] <= 390.0, "{name}: {said}");
        assert!(figures[2] <= 390.0, "{name}: the page is wider than the phone: {said}");
    }
}

/// By how many pixels the tallest row of a table is taller than what is in view of it, and that row.
const BLANK: &str = "let most = 0, tallest = ''; \
     document.querySelectorAll('.scroll tbody tr').forEach((row) => { \
       const table = row.closest('.scroll'); const right = table.getBoundingClientRect().right; \
       const content = (cell) => { const range = document.createRange(); range.selectNodeContents(cell); return range.getBoundingClientRect().height; }; \
       const seen = [...row.cells].filter((cell) => cell.getBoundingClientRect().left < right - 8).map(content); \
       const blank = row.getBoundingClientRect().height - Math.max(...seen); \
       if (blank > most) { most = blank; tallest = table.getAttribute('aria-label') + ': ' + row.textContent; } }); \
     return most + '|' + tallest;";

#[test]
fn on_a_phone_no_row_is_tall_because_of_what_is_out_of_sight() {
    let Some(browser) = Browser::find() else { return };
    for (name, page) in [
        ("rows-passed", page(&fixture::passed())),
        ("rows-failed", page(&fixture::failed())),
        ("rows-certificate", page(&fixture::certificate())),
        ("rows-limit", pages::limit(&pages::trail())),
        ("rows-curve", pages::curve(&pages::points())),
    ] {
        let said = browser.ask(name, &page, 390, BLANK);
        let (blank, row) = said.split_once('|').unwrap_or_else(|| panic!("{name}: {said}"));
        // The padding of a cell and a line.
        assert!(blank.parse::<f64>().unwrap() < 40.0, "{name}: {blank} px are blank in {row}");
    }
}

#[test]
fn axes_have_units_and_the_heat_map_has_a_scale_and_can_be_read() {
    let Some(browser) = Browser::find() else { return };
    let judgement = fixture::passed();
    let page = page(&judgement);
    let script = "const heat = document.querySelector('figure[data-chart=heat]'); const plot = heat.querySelector('.plot'); \
         const idle = [...document.querySelectorAll('.u-legend')].filter((one) => window.getComputedStyle(one).visibility !== 'hidden').length; \
         plot.focus(); \
         const press = (key) => plot.dispatchEvent(new window.KeyboardEvent('keydown', { key, bubbles: true })); \
         ['ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowDown'].forEach(press); \
         const read = heat.querySelector('.readout').textContent; press('Escape'); \
         const others = document.querySelector('figure[data-chart=rate] .plot'); others.focus(); \
         others.dispatchEvent(new window.KeyboardEvent('keydown', { key: 'End', bubbles: true })); \
         return [idle, heat.querySelector('.ramp').textContent, read, heat.querySelector('.readout').textContent, \
           document.querySelector('figure[data-chart=rate] .u-legend').textContent].join('|');";
    let said = browser.ask("heat", &page, 1280, script);
    let parts: Vec<&str> = said.split('|').collect();
    let heat = &judgement.part.course.series.streams[0].heat;
    let most = heat.columns.iter().flat_map(|column| column.chunks_exact(2)).map(|pair| pair[1]).max().unwrap();
    assert_eq!(parts[0], "0", "idle legends are quiet: {said}");
    let grouped = assay_judge_count(most);
    assert!(parts[1].starts_with("110100") && parts[1].ends_with(&format!("{grouped}operations in a cell")), "{said}");
    assert!(
        parts[2].contains(" to ") && parts[2].contains(", response ") && parts[2].ends_with(" operations"),
        "{said}"
    );
    assert_eq!(parts[3], "", "Escape takes the read-out away: {said}");
    assert!(parts[4].contains("achieved") && parts[4].contains("/s"), "{said}");
    let script = include_str!("../templates/report.js");
    for unit in
        ["measured time (h:mm:ss)", "operations per second", "MB/s\"", "share of responses (%)", "failed operations"]
    {
        assert!(script.contains(&format!("label: \"{unit}")), "{unit}");
    }
}

/// A whole number in groups of three digits.
fn assay_judge_count(n: u64) -> String {
    let digits = n.to_string();
    let grouped = digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap());
    grouped.collect::<Vec<_>>().join(",")
}

#[test]
fn the_read_out_of_the_heat_map_is_the_count_of_the_json() {
    let Some(browser) = Browser::find() else { return };
    let judgement = fixture::passed();
    // The cell is chosen here, and located in the page by its place on the chart.
    let heat = &judgement.part.course.series.streams[0].heat;
    let (column, pair) = (100, heat.columns[100].chunks_exact(2).nth(3).unwrap());
    let script = "const u = document.querySelector('figure[data-chart=heat] .u-over'); const box = u.getBoundingClientRect(); \
         const out = document.querySelector('figure[data-chart=heat] .readout'); const seen = new Set(); \
         for (let y = 2; y < box.height; y += 2) { \
           u.dispatchEvent(new window.PointerEvent('pointerup', { pointerType: 'touch', bubbles: true, clientX: box.left + box.width * (COLUMN + .5) / 240, clientY: box.top + y })); \
           seen.add(out.textContent); } \
         return [...seen].join('|');";
    let said = browser.ask("heat-cell", &page(&judgement), 1280, &script.replace("COLUMN", &column.to_string()));
    let all: u64 = heat.columns[column].chunks_exact(2).map(|pair| pair[1]).sum();
    let wanted = format!(": {} of {} (", assay_judge_count(pair[1]), assay_judge_count(all));
    assert!(
        said.split('|').any(|line| line.starts_with("0:50:00 to 0:50:30, response ") && line.contains(&wanted)),
        "{wanted}: {said}"
    );
}

#[test]
fn on_paper_a_table_keeps_its_head_and_foot_and_idle_legends_are_gone() {
    let Some(browser) = Browser::find() else { return };
    let mut judgement = fixture::passed();
    let slice = judgement.part.slices.listed[0].clone();
    judgement.part.slices.listed =
        (1..=120).map(|number| assay_judge::judgement::Slice { number, ..slice.clone() }).collect();
    judgement.part.streams.each.truncate(1);
    judgement.part.slices.listed.iter_mut().for_each(|slice| slice.streams.truncate(1));
    let Some(sheets) = browser.print("print", &page(&judgement)) else { return };
    let rows = |sheet: &str| sheet.lines().filter(|line| line.contains('✓') && line.contains("0:00:00")).count();
    let with_rows: Vec<&String> = sheets.iter().filter(|sheet| rows(sheet) > 0).collect();
    assert_eq!(with_rows.iter().map(|sheet| rows(sheet)).sum::<usize>(), 120, "{sheets:?}");
    assert!(with_rows.len() >= 2, "a table of 120 slices is longer than a sheet");
    for sheet in &with_rows {
        assert!(sheet.lines().any(|line| line.contains("Slice") && line.contains("Operations")), "no head: {sheet}");
    }
    let feet: Vec<&String> = sheets.iter().filter(|sheet| sheet.contains("avg of all operations")).collect();
    assert!(feet.len() == 1 && feet[0] == *with_rows.last().unwrap(), "the foot stands once, below the last row");
    let text = sheets.concat();
    assert!(
        !text.contains("Contents") && !text.contains("The same as JSON, as it was run"),
        "what cannot be used on paper"
    );
    assert!(text.contains("Every response over time") && text.contains("operations in a cell"), "the scale is printed");
}

#[test]
fn without_scripts_response_and_throughput_are_drawn_all_the_same() {
    let Some(browser) = Browser::find() else { return };
    let page = page(&fixture::certificate());
    let script = "const charts = [...document.querySelectorAll('svg.chart')].filter((one) => one.getBoundingClientRect().height > 100); \
         const lines = charts.map((one) => one.querySelectorAll('path.line').length); \
         const empty = [...document.querySelectorAll('.plot')].filter((one) => one.getClientRects().length); \
         return [lines.join(' '), empty.length, document.querySelectorAll('canvas').length, charts[0].textContent].join('|');";
    let said = browser.ask_without_scripts("no-script", &page, script);
    // Two charts for the judged stream in each step: p50, p99 and p99.9; asked and achieved.
    assert!(said.starts_with("3 2 3 2|0|0|") && said.contains("measured time (h:mm:ss)"), "{said}");
}
