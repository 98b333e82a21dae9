//! The report as text: it contains everything required of it, stays small, and no name of the log becomes markup.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::fixture;
use crate::pages;

use assay_judge::Judgement;
use assay_judge::Verdict;

fn page(judgement: &Judgement) -> String {
    let mut text = String::new();
    assay_judge::render::write_html(judgement, &mut text).unwrap();
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
    for section in [
        "Criteria",
        "Streams",
        "Over time",
        "Slices",
        "Targets side by side",
        "Can it be believed?",
        "What was tested",
        "The plan",
    ] {
        assert!(page.contains(&format!(">{section}</h3>")), "{section}");
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
    judgement.part.slices.listed.truncate(2);
    let shares = [(1000, 20), (3000, 180)];
    for (slice, (operations, over)) in judgement.part.slices.listed.iter_mut().zip(shares) {
        let times = &mut slice.streams[0].response;
        times.operations = operations;
        *times.over.values_mut().next().unwrap() = over;
    }
    // 200 of 4000 operations; the mean of the slices' shares would be 4 %.
    let page = page(&judgement);
    assert!(
        page.contains(
            "<th scope=\"row\" colspan=\"4\">avg of all operations (2 complete)</th><td class=\"n\">5.00%</td>"
        )
    );
    assert!(page.contains("<th scope=\"row\" colspan=\"4\">max</th><td class=\"n\">6.00%</td>"));
    let mut terminal = String::new();
    assay_judge::render::write_slice_tables(&judgement, &mut terminal).unwrap();
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

/// The text between the first `from` and the next `to`.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    page.split_once(from).unwrap_or_else(|| panic!("no {from}")).1.split_once(to).unwrap().0
}

#[test]
fn what_was_tested_and_how_much_it_did_stand_beside_the_verdict() {
    let mut judgement = fixture::passed();
    let facts = [("model", "SAMSUNG MZ7L3"), ("serial", "S5YJNX"), ("device", "sdb")];
    judgement.part.targets.each[0].head.kind = "block device".into();
    judgement.part.targets.each[0].head.facts = facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    judgement.part.targets.each[0].head.size_bytes = 960_197_124_096;
    let page = page(&judgement);
    let first = between(&page, "<header>", "<nav");
    assert!(first.contains("<li>/dev/nvme0n1: SAMSUNG MZ7L3, serial S5YJNX, 894 GiB</li>"), "{first}");
    // 4000/s of 1536 B and 47.06/s, of which the fixture counts 1536 B too.
    assert!(first.contains("<dt>IOPS</dt><dd>4,047<small>reads 4,000 · large-block-reads 47.1</small>"), "{first}");
    assert!(first.contains("<dt>MB/s</dt><dd>6.22<small>reads 6.14 · large-block-reads 0.07</small>"), "{first}");
    assert!(first.contains("<dt>p99 response</dt><dd>988 µs<small>of reads</small>"), "{first}");
    let several = page_of_largest_head();
    assert!(several.contains("and 20 more</a></li>"), "{several}");
}

fn page_of_largest_head() -> String {
    let mut judgement = fixture::failed();
    let target = judgement.part.targets.each[0].clone();
    judgement.part.targets.each.resize(24, target);
    between(&page(&judgement), "<header>", "<nav").to_owned()
}

#[test]
fn simulated_time_has_no_date() {
    let mut judgement = fixture::passed();
    judgement.created = "1970-01-01T00:00:00Z".into();
    judgement.watermarks = vec!["SIMULATED: no device was tested".into()];
    judgement.part.targets.each.iter_mut().for_each(|target| target.head.kind = "simulated".into());
    let gap =
        assay_judge::judgement::Gap { at_ns: 5, before: "interrupted".into(), resumed: "1970-01-01T00:00:00Z".into() };
    judgement.part.course.gaps = vec![gap];
    let simulated = page(&judgement);
    let shown = simulated.split_once("<script type=\"application/json\"").unwrap().0;
    assert!(!shown.contains("1970"), "{}", between(shown, "<header>", "<nav"));
    assert_eq!(shown.matches("simulated time, 2:00:00 elapsed").count(), 2);
    judgement.watermarks.clear();
    assert!(page(&judgement).contains("1970-01-01T00:00:00Z"), "a host whose clock was never set is told as it is");
}

#[test]
fn what_never_happened_is_said_in_words() {
    let mut judgement = fixture::passed();
    assert!(page(&judgement).contains("data-chart=\"lag\""));
    for line in &mut judgement.part.course.series.streams {
        line.lag_max_ns.iter_mut().for_each(|ns| *ns = 0);
        line.lag_mean_ns.iter_mut().for_each(|ns| *ns = Some(0));
        line.share_over.iter_mut().for_each(|share| *share = Some(0.0));
    }
    judgement.part.criteria.retain(|outcome| outcome.asked.stream.is_none());
    let quiet = page(&judgement);
    assert!(!quiet.contains("data-chart=\"lag\"") && !quiet.contains("data-chart=\"share\""));
    assert!(quiet.contains("full queue: always 0.</p>") && quiet.contains("over 1ms: always 0.</p>"));
    // Where nothing completed, no time is known either.
    for line in &mut judgement.part.course.series.streams {
        line.lag_mean_ns.iter_mut().for_each(|ns| *ns = None);
    }
    assert!(!page(&judgement).contains("full queue: always 0"));
}

#[test]
fn the_plan_is_a_table_and_its_json_is_folded() {
    let mut judgement = fixture::passed();
    judgement.part.plan.json = serde_json::json!({
        "name": "orders", "streams": [
            { "name": "reads", "size": { "from": "1536B", "to": "1536B" }, "arrival": { "poisson": { "rate": "2000/s" } } },
            { "name": fixture::HOSTILE_IMAGE, "durable": true },
        ],
    });
    let page = page(&judgement);
    let plan = between(&page, ">The plan</h3>", "</section>");
    assert!(plan.contains("<dt>name</dt><dd>orders</dd>"), "{plan}");
    assert!(plan.contains("<td>reads</td><td>1536B</td><td>poisson, rate 2000/s</td><td>–</td>"), "{plan}");
    assert!(plan.contains("<td>&#60;img src=x onerror=alert(1)&#62;</td><td>–</td><td>–</td><td>yes</td>"), "{plan}");
    assert!(plan.contains("<details class=\"raw\"><summary>") && !plan.contains(" open"), "{plan}");
}

/// Anchors that the page refers to exist; every table has a caption, and every heading of a column or row its scope;
/// every chart describes in words what it shows and can be reached with the keyboard.
fn accessible(page: &str) {
    let markup = page.split_once("<body>").unwrap().1;
    let markup = markup.split_once("<script type=").map_or(markup, |(before, _)| before);
    let targets = markup.split("href=\"#").skip(1).map(|rest| rest.split_once('"').unwrap().0);
    let mut pointed = 0;
    for target in targets {
        assert!(markup.contains(&format!("id=\"{target}\"")), "nothing is called {target}");
        pointed += 1;
    }
    assert!(pointed >= 3 && markup.contains("<nav aria-label=\"Contents\">"));
    for part in markup.split("aria-labelledby=\"").skip(1) {
        let id = part.split_once('"').unwrap().0;
        assert_eq!(markup.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
    }
    for table in markup.split("<table").skip(1) {
        assert!(
            table.split_once('>').unwrap().1.trim_start().starts_with("<caption"),
            "{}",
            &table[..80.min(table.len())]
        );
    }
    assert_eq!(markup.matches("<th ").count() + markup.matches("<th>").count(), markup.matches("<th scope=").count());
    assert_eq!(
        markup.matches("class=\"scroll\"").count(),
        markup.matches("class=\"scroll\" tabindex=\"0\" role=").count()
    );
    for chart in markup.split("class=\"plot\"").skip(1) {
        let tag = chart.split_once('>').unwrap().0;
        assert!(tag.contains("tabindex=\"0\" role=\"img\" aria-label=\"") && !tag.contains("aria-label=\"\""), "{tag}");
    }
    for svg in markup.split("<svg").skip(1) {
        let tag = svg.split_once('>').unwrap().0;
        assert!(tag.contains("aria-hidden=\"true\"") || tag.contains("role=\"img\" aria-label=\""), "{tag}");
    }
}

#[test]
fn the_pages_can_be_walked_through_without_eyes_or_mouse() {
    for judgement in [fixture::passed(), fixture::failed(), fixture::certificate(), fixture::nothing()] {
        accessible(&page(&judgement));
    }
    accessible(&pages::limit(&pages::trail()));
    accessible(&pages::curve(&pages::points()));
    accessible(&pages::compare(&[("array A", 10), ("array B", 30)]));
}
