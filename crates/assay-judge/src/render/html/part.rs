//! One run, or one step of a certificate, as the page shows it: criteria, streams, charts, and the parts that other
//! modules build.

use super::badge::Badge;
use super::beneath::{self, Beneath};
use super::charts::{self, StreamCharts};
use super::checks::{self, Check};
use super::figures::Cell;
use super::multiples;
use super::plan::PlanView;
use super::slices::{self, SliceTable};
use super::still;
use super::targets::{self, TargetRow, TargetTable};
use crate::judgement::{
    CriterionOutcome, Figure, Gap, Outcome, PerMinuteFigures, PhaseFigures, PhaseStream, Steadiness, StepFigures,
    StreamFigures, StreamTotals, TimesSummary,
};
use crate::render::chart::Chart;
use crate::words::{change, clock, level};
use crate::{Judgement, Verdict};
use assay_base::Span;

/// The data for `templates/part.html`.
pub(crate) struct PartView<'a> {
    /// The anchor of this part.
    pub id: String,
    /// Index into the JSON's `steps`; -1 for the result itself.
    pub step: i64,
    /// Set where there are several steps.
    pub head: Option<Head<'a>>,
    pub part: &'a StepFigures,
    /// The verdict was decided in this part, and the charts shade the deciding window.
    pub decided: bool,
    pub planned: String,
    pub measured: String,
    pub criteria: Vec<CriterionRow<'a>>,
    pub streams: Vec<StreamRow<'a>>,
    pub phases: Vec<PhaseRow<'a>>,
    pub charts: Vec<StreamCharts<'a>>,
    pub beneath: Option<Beneath>,
    pub slices: Vec<SliceTable<'a>>,
    pub target_slices: Vec<SliceTable<'a>>,
    pub target_slices_left_out: bool,
    pub slice: String,
    pub targets: Vec<TargetRow<'a>>,
    pub target_tables: Vec<TargetTable<'a>>,
    pub multiples: Vec<multiples::Multiples<'a>>,
    pub checks: Vec<Check>,
    pub warnings: &'a [String],
    pub happenings: Vec<Happening<'a>>,
    pub steadiness: Vec<SteadyRow<'a>>,
    pub plan: PlanView,
    pub plan_json: String,
    pub minutes: Vec<MinuteView<'a>>,
    pub counted: Vec<(&'a str, &'a str, u64)>,
}

/// A figure per minute, with its chart.
pub(crate) struct MinuteView<'a> {
    pub name: &'a str,
    pub value: Cell,
    /// The same on each target, with its name, where there are several.
    pub targets: Vec<(String, Cell)>,
    pub chart: Chart,
}

/// The heading of a step.
pub(crate) struct Head<'a> {
    pub number: u32,
    pub of: u32,
    pub title: &'a str,
    pub load: &'a str,
    pub gain: Option<String>,
    pub reason: &'a str,
    pub badge: Badge,
}

/// A row of the criteria table.
pub(crate) struct CriterionRow<'a> {
    pub class: &'static str,
    pub sign: &'static str,
    pub word: &'static str,
    pub outcome: &'a CriterionOutcome,
    pub measured: Option<FigureView<'a>>,
    pub worst: Option<FigureView<'a>>,
}

/// A measured value with its place in time and in the JSON.
pub(crate) struct FigureView<'a> {
    pub figure: &'a Figure,
    pub json: String,
    pub place: String,
}

/// A row of the table of streams.
pub(crate) struct StreamRow<'a> {
    pub totals: &'a StreamTotals,
    pub asked: Cell,
    pub counts: Vec<Cell>,
    pub response: Vec<Cell>,
    pub service: Vec<Cell>,
}

/// A row of the table of phases: one stream in one phase.
pub(crate) struct PhaseRow<'a> {
    pub name: &'a str,
    pub measured: String,
    pub within: String,
    pub stream: &'a str,
    pub cells: Vec<Cell>,
}

/// Whether a stream was steady, and how its level changed.
pub(crate) struct SteadyRow<'a> {
    pub it: &'a Steadiness,
    pub round: String,
    pub from: String,
    pub last: Option<LastRounds>,
    pub changes: Vec<String>,
}

/// The last five rounds.
pub(crate) struct LastRounds {
    pub steady: bool,
    pub average: String,
    pub excursion: String,
    pub slope: String,
}

impl SteadyRow<'_> {
    fn new(it: &Steadiness) -> SteadyRow<'_> {
        SteadyRow {
            round: Span::from_ns(it.round_ns).human(),
            from: it.steady_from_ns.map_or("never".to_owned(), clock),
            last: it.last.as_ref().map(|last| LastRounds {
                steady: last.steady,
                average: level(it, last.average),
                excursion: format!("{:.1}%", last.excursion * 100.0),
                slope: format!("{:+.1}%", last.slope * 100.0),
            }),
            changes: it.changes.iter().map(|at| format!("{}: {}", clock(at.at_ns), change(it, at))).collect(),
            it,
        }
    }
}

/// An event.
pub(crate) struct Happening<'a> {
    pub at_ns: u64,
    pub at: String,
    pub what: &'a str,
    pub text: String,
}

impl<'a> PartView<'a> {
    /// The result of a log without steps.
    pub(crate) fn whole(judgement: &'a Judgement) -> PartView<'a> {
        let decided = judgement.deciding.is_some() && judgement.verdict != Verdict::Pass;
        PartView { decided, ..PartView::new(&judgement.part, -1, None, &judgement.warnings) }
    }

    /// Step `index` of a certificate.
    pub(crate) fn step(judgement: &'a Judgement, index: usize) -> PartView<'a> {
        let step = &judgement.steps[index];
        let head = Head {
            number: step.number,
            of: step.of,
            title: &step.title,
            load: &step.load,
            gain: step.gain.map(|gain| gain.in_words()),
            reason: &step.reason,
            badge: Badge::of(step.verdict),
        };
        let here = judgement.deciding.as_ref().is_some_and(|deciding| deciding.step == step.number);
        let decided = here && judgement.verdict != Verdict::Pass;
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        PartView { decided, ..PartView::new(&step.part, index, Some(head), &step.warnings) }
    }

    fn new(part: &'a StepFigures, step: i64, head: Option<Head<'a>>, warnings: &'a [String]) -> PartView<'a> {
        let root = if step < 0 { String::new() } else { format!("/steps/{step}") };
        let (target_slices, target_slices_left_out) = slices::per_target(part, &root);
        PartView {
            id: head.as_ref().map_or("result".to_owned(), |head| format!("step-{}", head.number)),
            step,
            head,
            part,
            decided: false,
            planned: Span::from_ns(part.time.planned_ns).to_string(),
            measured: clock(part.time.measured_ns),
            criteria: criteria(part, &root),
            streams: streams(part, &root),
            phases: phases(&part.streams, &root),
            charts: charts::charts(part),
            beneath: beneath::beneath(part, &root),
            slices: slices::together(part, &root),
            target_slices,
            target_slices_left_out,
            slice: Span::from_ns(part.time.slice_ns).to_string(),
            targets: targets::rows(&part.targets, &root),
            target_tables: targets::tables(part, &root),
            multiples: multiples::multiples(part),
            checks: checks::checks(part),
            warnings,
            happenings: happenings(part),
            steadiness: part.course.steadiness.iter().map(SteadyRow::new).collect(),
            plan: PlanView::of(&part.plan.json),
            plan_json: serde_json::to_string_pretty(&part.plan.json).unwrap_or_default(),
            minutes: minutes(part),
            counted: counted(&part.streams),
        }
    }

    /// True when the data of the charts are present.
    pub(crate) fn has_series(&self) -> bool {
        !self.part.course.series.at_ns.is_empty()
    }

    /// True when the target is a database, or there are figures per minute.
    pub(crate) fn has_database(&self) -> bool {
        !self.part.databases.is_empty() || !self.minutes.is_empty()
    }

    /// The sections of `templates/part.html` for it, each with the last part of its anchor, in order.
    pub(crate) fn contents(&self) -> Vec<(&'static str, &'static str)> {
        let all = [
            (true, ("criteria", "Criteria")),
            (true, ("streams", "Streams")),
            (self.has_database(), ("database", "Database")),
            (!self.phases.is_empty(), ("phases", "Phases")),
            (self.has_series(), ("time", "Over time")),
            (self.beneath.is_some(), ("beneath", "Beneath")),
            (!self.steadiness.is_empty(), ("steady", "Was it steady?")),
            (!self.part.slices.listed.is_empty(), ("slices", "Slices")),
            (!self.target_tables.is_empty(), ("beside", "Targets side by side")),
            (true, ("proof", "Can it be believed?")),
            (true, ("tested", "What was tested")),
            (!self.part.plan.json.is_null(), ("plan", "The plan")),
        ];
        all.into_iter().filter(|(there, _)| *there).map(|(_, section)| section).collect()
    }
}

fn minutes(part: &StepFigures) -> Vec<MinuteView<'_>> {
    let mut views = Vec::new();
    for it in &part.streams.per_minute {
        let on_each = part.databases.iter().zip(&it.targets).map(|(database, value)| {
            (format!("{} on {}", it.name, database.head.url), Cell::figure(PerMinuteFigures::shown(*value)))
        });
        views.push(MinuteView {
            name: &it.name,
            value: Cell::figure(it.figure()),
            targets: on_each.collect(),
            chart: still::minutes(part, it),
        });
    }
    views
}

/// What else the operations of each stream report.
fn counted(streams: &StreamFigures) -> Vec<(&str, &str, u64)> {
    let each = streams.whole();
    each.flat_map(|stream| stream.counts.counted.iter().map(move |(name, n)| (stream.name.as_str(), name.as_str(), *n)))
        .collect()
}

fn criteria<'a>(part: &'a StepFigures, root: &str) -> Vec<CriterionRow<'a>> {
    let view = |figure: &'a Option<Figure>, index: usize, name: &str| {
        let json = format!("{root}/criteria/{index}/{name}/value");
        figure.as_ref().map(|figure| FigureView { place: place(figure), figure, json })
    };
    let row = |(index, outcome): (usize, &'a CriterionOutcome)| {
        let (class, sign, word) = match outcome.outcome {
            Outcome::Pass => ("pass", "✓", "held"),
            Outcome::Fail => ("fail", "✗", "broken"),
            Outcome::Invalid => ("invalid", "⚠", "proves nothing"),
            Outcome::Incomplete => ("incomplete", "◌", "incomplete"),
            Outcome::NotApplied => ("incomplete", "–", "not applied"),
        };
        let (measured, worst) = (view(&outcome.measured, index, "measured"), view(&outcome.worst, index, "worst"));
        CriterionRow { class, sign, word, outcome, measured, worst }
    };
    part.criteria.iter().enumerate().map(row).collect()
}

fn place(figure: &Figure) -> String {
    let target = figure.target.as_ref().map(|target| format!(", {target}")).unwrap_or_default();
    format!("window {} ({} to {}){target}", figure.window, clock(figure.start_ns), clock(figure.end_ns))
}

fn streams<'a>(part: &'a StepFigures, root: &str) -> Vec<StreamRow<'a>> {
    let row = |(place, totals): (String, &'a StreamTotals)| {
        let at = |field: &str| format!("{root}/{place}/{field}");
        let counts = &totals.counts;
        let times = |name: &str, times: &TimesSummary| {
            let figures = [
                ("mean_ns", times.mean_ns),
                ("p50_ns", times.p50_ns),
                ("p90_ns", times.p90_ns),
                ("p99_ns", times.p99_ns),
                ("p99_9_ns", times.p99_9_ns),
                ("p99_99_ns", times.p99_99_ns),
                ("max_ns", times.max_ns),
            ];
            figures.map(|(field, ns)| Cell::time(ns, at(&format!("{name}/{field}")))).to_vec()
        };
        StreamRow {
            totals,
            asked: Cell::rate(totals.rate_asked, at("rate_asked")),
            counts: vec![
                Cell::rate(totals.rate_achieved, at("rate_achieved")),
                Cell::count(counts.operations, at("operations")),
                if counts.bytes == 0 && totals.size.is_empty() {
                    Cell::absent()
                } else {
                    Cell::bytes(counts.bytes, at("bytes"))
                },
                Cell::count(counts.failed().saturating_add(counts.short), String::new()).marked(counts.failed() > 0),
                Cell::count(totals.in_flight_max, at("in_flight_max")),
                Cell::count(totals.waiting_max, at("waiting_max")),
            ],
            response: times("response", &totals.response),
            service: times("service", &totals.service),
        }
    };
    // With several targets only the sum; each single target is in a table of its own.
    let several = part.targets.each.len() > 1;
    let shown = |(_, totals): &(usize, &StreamTotals)| !several || totals.target.is_none();
    let streams = part.streams.each.iter().enumerate().filter(shown);
    let together = part.streams.together.iter().map(|totals| ("together".to_owned(), totals));
    together.chain(streams.map(|(index, totals)| (format!("streams/{index}"), totals))).map(row).collect()
}

fn phases<'a>(streams: &'a StreamFigures, root: &str) -> Vec<PhaseRow<'a>> {
    let rows = |(index, phase): (usize, &'a PhaseFigures)| {
        let row = move |(at, stream): (usize, &'a PhaseStream)| {
            let at = |field: &str| format!("{root}/phases/{index}/streams/{at}/{field}");
            let times = &stream.response;
            let figures = [
                ("mean_ns", times.mean_ns),
                ("p50_ns", times.p50_ns),
                ("p90_ns", times.p90_ns),
                ("p99_ns", times.p99_ns),
                ("p99_9_ns", times.p99_9_ns),
                ("max_ns", times.max_ns),
            ];
            let times = figures.map(|(field, ns)| Cell::time(ns, at(&format!("response/{field}"))));
            let rate = Cell::rate(stream.rate_achieved, at("rate_achieved"));
            let failed = Cell::count(stream.failed, at("failed")).marked(stream.failed > 0);
            PhaseRow {
                name: &phase.name,
                measured: Span::from_ns(phase.measured_ns).human(),
                within: format!("{} of {}", phase.slices_within, phase.slices),
                stream: &stream.name,
                cells: [rate, failed].into_iter().chain(times).collect(),
            }
        };
        let busy = |(_, stream): &(usize, &PhaseStream)| stream.response.operations > 0 || stream.failed > 0;
        phase.streams.iter().enumerate().filter(busy).map(row).collect::<Vec<_>>()
    };
    streams.phases.iter().enumerate().flat_map(rows).collect()
}

fn happenings(part: &StepFigures) -> Vec<Happening<'_>> {
    // Simulated time has no date at which the run could have continued.
    let simulated = part.targets.each.iter().any(|target| target.head.kind == "simulated");
    let resumed = |gap: &Gap| if simulated { "resumed".to_owned() } else { format!("resumed {}", gap.resumed) };
    let gap = |gap: &Gap| (gap.at_ns, format!("{}; {}", gap.before, resumed(gap)));
    let gaps =
        part.course.gaps.iter().map(gap).map(|(at_ns, text)| Happening { at_ns, at: clock(at_ns), what: "gap", text });
    let events = part.course.events.iter().map(|event| {
        let details: Vec<String> = event.details.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        let text = format!("{}{details}", event.text);
        Happening { at_ns: event.at_ns, at: clock(event.at_ns), what: event.what.as_str(), text }
    });
    let mut all: Vec<Happening<'_>> = gaps.chain(events).collect();
    all.sort_by_key(|happening| happening.at_ns);
    all
}
