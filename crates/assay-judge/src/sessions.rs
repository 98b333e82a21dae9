//! Operations per minute against the number of sessions that ask: a run of a closed loop for each number.
//!
//! Plain data, its text and its page. Names come from logs: hostile input, cleaned here or escaped in the template.

use crate::judgement::Judgement;
use crate::procedure::{self, Aside, Evidence};
use crate::render::Page;
use crate::render::chart::{Axis, Chart, Mark, Unit};
use crate::render::html::{Frame, Watermark, write_page};
use crate::verdict::Verdict;
use crate::words::add_new;
use askama::Template;
use assay_base::{Bytes, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The version of the JSON shape.
pub const SCHEMA: u32 = 1;

/// The height of the chart.
const HEIGHT: f64 = 260.0;

/// A curve by sessions, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionsCurve {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The workload's name.
    pub workload: String,
    /// The targets, as the user named them.
    pub targets: Vec<String>,
    /// The seed of all runs.
    pub seed: u64,
    /// Measured time of each run.
    pub run_ns: u64,
    /// Checksum of what distinguishes the plan from others.
    pub plan_blake3: String,
    /// What limits the results, over all runs.
    pub watermarks: Vec<String>,
    /// The numbers that were asked for, ascending.
    pub asked: Vec<u32>,
    /// What was measured so far, in the order of the numbers.
    pub points: Vec<Point>,
    /// What failed, and which runs were repeated.
    #[serde(flatten)]
    pub aside: Aside,
}

/// One number of sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// How many sessions.
    pub sessions: u32,
    /// What the run proves.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// The ways in which the workload deviates from the standard that it is derived from; absent where it is derived from none,
    /// and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<String>,
    /// Figures per minute, by name.
    pub per_minute: BTreeMap<String, f64>,
    /// p99 of the service of the first criterion's stream: what a session waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_p99_ns: Option<u64>,
    /// The size of the database when the run began, and when it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// See `bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_at_end: Option<u64>,
    /// The run's directory, seen from that of the curve.
    pub directory: String,
}

impl Point {
    /// From the judgement of a run.
    pub fn from_judgement(sessions: u32, judgement: &Judgement, directory: String) -> Point {
        let part = &judgement.part;
        let named = part.criteria.iter().find_map(|outcome| outcome.asked.stream.as_deref());
        let stream = part.streams.streams_over_all_targets().find(|totals| Some(totals.name.as_str()) == named);
        let mut deviations = Vec::new();
        add_new(&mut deviations, judgement.workload_deviations());
        Point {
            sessions,
            verdict: judgement.verdict,
            reason: judgement.reason.clone(),
            deviations,
            per_minute: part
                .streams
                .per_minute
                .iter()
                .filter_map(|figure| Some((figure.name.clone(), figure.value?)))
                .collect(),
            service_p99_ns: stream.and_then(|totals| totals.service.p99_ns),
            bytes: part.databases_bytes(),
            bytes_at_end: part.databases_bytes_at_end(),
            directory,
        }
    }
}

impl SessionsCurve {
    /// Puts the run of a number of sessions, with its watermarks, in the place of what was known of it. Whether a run may take that
    /// place is decided by [`procedure::Attempts`].
    pub fn set_point(&mut self, point: Point, watermarks: &[String]) {
        add_new(&mut self.watermarks, watermarks);
        self.points.retain(|known| known.sessions != point.sessions);
        self.points.push(point);
        self.points.sort_by_key(|point| point.sessions);
    }

    /// The runs that it has, each with its number of sessions.
    pub fn known_runs(&self) -> impl Iterator<Item = (u32, Evidence)> {
        self.points.iter().map(move |point| {
            (point.sessions, self.aside.evidence_of_run(&point.directory, point.verdict, &point.reason))
        })
    }

    /// Whether every number was measured to its end.
    pub fn is_whole(&self) -> bool {
        self.points.len() == self.asked.len() && !self.points.iter().any(|point| point.verdict == Verdict::Incomplete)
    }

    /// FAIL where a point failed, INCOMPLETE while one is missing, otherwise the worst verdict of its points.
    pub fn verdict(&self) -> Verdict {
        procedure::verdict_of_points(self.points.iter().map(|point| point.verdict), !self.is_whole(), &self.aside)
    }

    /// Why it is not PASS: the points that have its verdict, with their reasons, and what failed elsewhere.
    fn reason_sentences(&self) -> Vec<String> {
        let others = self.points.iter().filter(|point| point.verdict != Verdict::Pass);
        let others = others.map(|point| format!("{} sessions: {}", point.sessions, point.reason));
        others.chain(self.aside.as_sentences()).collect()
    }

    /// The names of the figures.
    fn figure_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.points.iter().flat_map(|point| point.per_minute.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The cells of a point, in the order of [`SessionsCurve::column_heads`].
    fn point_cells(&self, point: &Point) -> Vec<String> {
        let figures = self
            .figure_names()
            .into_iter()
            .map(|name| point.per_minute.get(name).map_or("-".into(), |value| format!("{value:.0}")));
        let p99 = point.service_p99_ns.map_or("-".to_owned(), |ns| Span::from_ns(ns).human_text());
        figures.chain([p99, size_or_dash(point.bytes), size_or_dash(point.bytes_at_end)]).collect()
    }

    fn column_heads(&self) -> Vec<String> {
        let names = self.figure_names().into_iter().map(str::to_owned);
        names.chain(["service p99", "size before", "size after"].map(str::to_owned)).collect()
    }

    /// The first figure against the sessions.
    fn figure_chart(&self) -> Option<Chart> {
        let name = self.figure_names().first().map(|name| (*name).to_owned())?;
        let places: Vec<(f64, f64)> = self
            .points
            .iter()
            .filter_map(|point| Some((f64::from(point.sessions), *point.per_minute.get(&name)?)))
            .collect();
        let high = |of: fn(&(f64, f64)) -> f64| places.iter().map(of).fold(1.0, f64::max);
        let (x, y) = (high(|place| place.0), high(|place| place.1));
        Some(Chart {
            alternative: format!("{name} by sessions: {} points, at most {y:.0}.", places.len()),
            x: Axis::with_linear_scale("sessions", Unit::PerSecond, x * 1.05),
            y: Axis::with_linear_scale(&format!("{name} (per minute)"), Unit::PerSecond, y * 1.08),
            height: HEIGHT,
            marks: vec![Mark::Line { series: 0, points: places }],
        })
    }
}

/// A number of bytes in words, or a dash.
fn size_or_dash(bytes: Option<u64>) -> String {
    bytes.map_or("-".to_owned(), |bytes| Bytes::new(bytes).human_text())
}

/// The curve as a table.
pub fn write_text(curve: &SessionsCurve, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut page = Page::default();
    page.add_line(format!(
        "{:<10}  {} on {}, {} a run",
        curve.verdict().to_string(),
        curve.workload,
        curve.targets.join(", "),
        Span::from_ns(curve.run_ns).human_text()
    ));
    curve.watermarks.iter().for_each(|mark| page.add_text("            ", mark));
    page.add_blank_line();
    let heads: String = curve.column_heads().iter().map(|head| format!("{head:>13}")).collect();
    page.add_wide_line(format!("sessions  verdict   {heads}"));
    for point in &curve.points {
        let cells: String = curve.point_cells(point).iter().map(|cell| format!("{cell:>13}")).collect();
        page.add_wide_line(format!("{:>8}  {:<10}{cells}", point.sessions, point.verdict.to_string()));
    }
    curve.reason_sentences().iter().for_each(|reason| page.add_text("", reason));
    page.write_lines(out)
}

#[derive(Template)]
#[template(path = "sessions.html")]
struct View<'a> {
    frame: Frame,
    curve: &'a SessionsCurve,
    verdict: String,
    reasons: Vec<String>,
    watermarks: Vec<Watermark<'a>>,
    heads: Vec<String>,
    rows: Vec<(&'a Point, String, Vec<String>)>,
    chart: Option<Chart>,
}

/// The curve as a page.
pub fn write_html(curve: &SessionsCurve, out: &mut dyn fmt::Write) -> fmt::Result {
    let rows = curve.points.iter().map(|point| {
        let (verdict, cells) = (point.verdict.to_string(), curve.point_cells(point));
        (point, verdict, cells)
    });
    let view = View {
        frame: Frame::without_script(),
        curve,
        verdict: curve.verdict().to_string(),
        reasons: curve.reason_sentences(),
        watermarks: Watermark::all_from_marks(&curve.watermarks),
        heads: curve.column_heads(),
        rows: rows.collect(),
        chart: curve.figure_chart(),
    };
    write_page(&view, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(sessions: u32, verdict: Verdict, nopm: f64) -> Point {
        Point {
            sessions,
            verdict,
            reason: "because <b>".into(),
            deviations: Vec::new(),
            per_minute: BTreeMap::from([("NOPM".to_owned(), nopm), ("TPM".to_owned(), nopm * 2.0)]),
            service_p99_ns: Some(1_500_000),
            bytes: Some(1 << 20),
            bytes_at_end: None,
            directory: format!("{sessions}"),
        }
    }

    fn curve(points: Vec<Point>) -> SessionsCurve {
        let watermarks = vec!["DERIVED: so it is".to_owned()];
        let (workload, targets) = ("shop<i>".into(), vec!["sqlite:a".into()]);
        let (asked, plan_blake3, aside) = (vec![1, 4], String::new(), Aside::default());
        SessionsCurve {
            schema: SCHEMA,
            workload,
            targets,
            seed: 1,
            run_ns: 1,
            plan_blake3,
            watermarks,
            asked,
            points,
            aside,
        }
    }

    #[test]
    fn a_curve_is_incomplete_until_all_is_measured_and_as_bad_as_its_worst_point() {
        let mut curve = curve(Vec::new());
        assert_eq!(curve.verdict(), Verdict::Incomplete);
        curve.set_point(point(4, Verdict::Pass, 10.0), &["SHORT".to_owned()]);
        assert_eq!(curve.verdict(), Verdict::Incomplete);
        curve.set_point(point(1, Verdict::Pass, 5.0), &["SHORT".to_owned()]);
        assert_eq!((curve.verdict(), curve.watermarks.len()), (Verdict::Pass, 2));
        let failed = Evidence::from(Verdict::Fail).with_failure("9 commits are lost".to_owned());
        let with_failure =
            SessionsCurve { aside: Aside { failures: vec![failed], ..Aside::default() }, ..curve.clone() };
        assert_eq!(with_failure.verdict(), Verdict::Fail, "also of a run that is no point of it");
        let mut shown = String::new();
        write_text(&with_failure, &mut shown).unwrap();
        assert!(shown.contains("FAIL") && shown.contains("9 commits are lost"), "{shown}");
        curve.set_point(point(1, Verdict::Fail, 5.0), &[]);
        assert_eq!((curve.verdict(), curve.points.len()), (Verdict::Fail, 2));
    }

    #[test]
    fn text_and_page_tell_the_same_and_no_name_becomes_markup() {
        let curve = curve(vec![point(1, Verdict::Pass, 5_000.0), point(4, Verdict::Fail, 9_000.0)]);
        let (mut shown, mut page) = (String::new(), String::new());
        write_text(&curve, &mut shown).unwrap();
        write_html(&curve, &mut page).unwrap();
        for figure in ["5000", "9000", "18000", "1.50 ms", "1 MiB", "DERIVED"] {
            assert!(shown.contains(figure) && page.contains(figure), "{figure}: {shown}");
        }
        assert!(shown.contains("4 sessions: because <b>"), "{shown}");
        assert!(!page.contains("<b>because") && !page.contains("because <b>") && !page.contains("shop<i>"));
    }
}
