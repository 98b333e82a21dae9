//! The report as text: it carries everything asked of it, stays small, and no name of the log becomes markup.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "browser/fixture.rs"]
mod fixture;

use assay_judge::Judgement;
use assay_judge::Verdict;

fn page(judgement: &Judgement) -> String {
    let mut text = String::new();
    assay_judge::render::html(judgement, &mut text).unwrap();
    text
}

fn embedded(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"judgement\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn hostile_names_stay_text() {
    let page = page(&fixture::certificate());
    assert!(!page.contains("<img"), "an element came from a name");
    assert!(page.contains("&#60;script&#62;document.title") && !page.contains("<script>document.title"));
    assert!(page.contains("&#60;img src=x onerror=alert(1)&#62;"));
    assert!(page.contains("rack7&#60;b&#62;-12"));
    // The chart library, our script, the data, and nothing else.
    assert_eq!(page.matches("<script").count(), 3);
    assert_eq!(page.matches("</script").count(), 3);
}

#[test]
fn the_json_is_the_judgement() {
    let judgement = fixture::passed();
    let page = page(&judgement);
    let plain: serde_json::Value = serde_json::from_str(&serde_json::to_string(&judgement).unwrap()).unwrap();
    assert!(embedded(&page) == plain, "not the same JSON");
}

#[test]
fn nothing_comes_from_a_network() {
    let page = page(&fixture::passed());
    let own = page.replace("https://github.com/leeoniya/uPlot", "").replace("img src=x", "");
    for outside in ["http:", "https:", " src=", "url(", "@import", "<link"] {
        assert!(!own.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src &#39;none&#39;; script-src &#39;sha256-") && !page.contains("unsafe-inline"));
    assert!(!page.contains(" style=") && !page.contains(" onclick="), "the policy would block it");
}

#[test]
fn each_verdict_is_colour_and_sign_and_word() {
    for (verdict, banner) in [
        (Verdict::Pass, "banner pass"),
        (Verdict::Fail, "banner fail"),
        (Verdict::Invalid, "banner invalid"),
        (Verdict::Incomplete, "banner incomplete"),
    ] {
        let page = page(&Judgement { verdict, ..fixture::passed() });
        assert!(page.contains(banner) && page.contains(&format!("</span> {verdict}</p>")), "{verdict}");
        assert!(
            page.contains("<b>SIMULATED</b> no device was tested") && page.contains("quick look, not a certification")
        );
    }
}

#[test]
fn a_broken_slice_and_the_slow_target_are_marked() {
    let page = page(&fixture::failed());
    assert!(page.contains("7.90%<b class=\"sign\"> ✗</b>"), "the failing cell of the slow target");
    assert!(page.contains("⚠ outlier: 2.4× the others&#39; p99"));
    assert_eq!(page.matches("class=\"one outlier\"").count(), 1);
    assert!(page.contains("Decided in slice 6 (5:00:00 to 6:00:00), reads on"));
    for section in
        ["Criteria", "Streams", "Over time", "Slices", "Targets side by side", "Can it be believed?", "What was tested"]
    {
        assert!(page.contains(&format!("<h3>{section}</h3>")), "{section}");
    }
    assert!(page.contains("interrupted by SIGTERM") && page.contains("as a kill leaves it"));
}

#[test]
fn a_certificate_has_a_summary_and_a_section_for_each_step() {
    let page = page(&fixture::certificate());
    assert!(page.contains("<article id=\"step-1\">") && page.contains("<article id=\"step-2\">"));
    assert!(page.contains("not applied") && page.contains("data-step=\"1\""));
}

#[test]
fn a_slice_with_more_operations_weighs_more_here_and_in_the_terminal() {
    let mut judgement = fixture::passed();
    judgement.part.slices.truncate(2);
    let shares = [(1000, 20), (3000, 180)];
    for (slice, (operations, over)) in judgement.part.slices.iter_mut().zip(shares) {
        let times = &mut slice.streams[0].response;
        times.operations = operations;
        *times.over.values_mut().next().unwrap() = over;
    }
    // Of 4000 operations 200; the mean of the slices' shares would be 4 %.
    let page = page(&judgement);
    assert!(page.contains("<th colspan=\"3\" class=\"n\">avg of all operations</th><td class=\"n\">5.00%</td>"));
    assert!(page.contains("<th colspan=\"3\" class=\"n\">max</th><td class=\"n\">6.00%</td>"));
    let mut terminal = String::new();
    assay_judge::render::table(&judgement, &mut terminal).unwrap();
    let end = |name: &str| terminal.lines().find(|line| line.trim_start().starts_with(name)).unwrap().to_owned();
    assert!(end("avg").contains(" 5.00 ") && end("max").contains(" 6.00 "), "{terminal}");
}

#[test]
fn the_largest_log_stays_under_five_megabytes() {
    let page = page(&fixture::largest());
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(page.contains("it lacks, compared with <code>verdict.json</code>: the time lines of each target"));
    assert_eq!(embedded(&page)["verdict"], "FAIL");
}
