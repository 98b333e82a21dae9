//! `[[criterion]]` tables, and criteria typed on a command line.

use super::source::Source;
use crate::Plan;
use assay_base::fault::nearest_known_name;
use assay_base::{Bound, Bytes, Criterion, Fault, MarkedPart, MarkedParts, Measure, Rate, Share, Span};
use serde::Deserialize;
use toml::Spanned;

/// The keys of one criterion.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CriterionKeys {
    stream: Spanned<String>,
    measure: Option<Measure>,
    share_over: Option<Span>,
    at_most: Option<Share>,
    below: Option<Share>,
    mean_at_most: Option<Span>,
    max_at_most: Option<Span>,
    p50_at_most: Option<Span>,
    p90_at_most: Option<Span>,
    p95_at_most: Option<Span>,
    p99_at_most: Option<Span>,
    p99_9_at_most: Option<Span>,
    p99_99_at_most: Option<Span>,
    rate_at_least: Option<Rate>,
    throughput_at_least: Option<Throughput>,
    errors_at_most: Option<Share>,
    operations_at_least: Option<u64>,
    window: Option<Window>,
    #[serde(rename = "in")]
    parts: Option<Spanned<Vec<MarkedPart>>>,
}

/// Bytes per second: `500MiB/s`.
#[derive(Deserialize, Clone, Copy)]
#[serde(try_from = "String")]
pub(super) struct Throughput(Bytes);

impl Throughput {
    /// Bytes in a second.
    pub(super) fn bytes_per_second(self) -> Bytes {
        self.0
    }
}

impl TryFrom<String> for Throughput {
    type Error = String;
    fn try_from(text: String) -> Result<Throughput, String> {
        let bytes = text.strip_suffix("/s").ok_or_else(|| "not a throughput; write \"500MiB/s\"".to_owned())?;
        bytes.parse().map(Throughput).map_err(|e: assay_base::UnitError| e.to_string())
    }
}

/// The window of a criterion.
#[derive(Deserialize)]
#[serde(try_from = "String")]
enum Window {
    Of(Span),
    Run,
}

impl TryFrom<String> for Window {
    type Error = String;
    fn try_from(text: String) -> Result<Window, String> {
        match text.as_str() {
            "run" => Ok(Window::Run),
            _ => text.parse().map(Window::Of).map_err(|e: assay_base::UnitError| format!("{e}, or \"run\"")),
        }
    }
}

impl CriterionKeys {
    /// The bounds in the table, each with the name of its key.
    fn named_bounds(&self) -> Vec<(&'static str, Bound)> {
        let percentiles = [
            ("max_at_most", "max", self.max_at_most),
            ("p50_at_most", "p50", self.p50_at_most),
            ("p90_at_most", "p90", self.p90_at_most),
            ("p95_at_most", "p95", self.p95_at_most),
            ("p99_at_most", "p99", self.p99_at_most),
            ("p99_9_at_most", "p99.9", self.p99_9_at_most),
            ("p99_99_at_most", "p99.99", self.p99_99_at_most),
        ];
        let percentiles = percentiles
            .into_iter()
            .filter_map(|(key, percentile, time)| Some((key, Bound::from_percentile(percentile, time?)?)));
        let mean = self.mean_at_most.map(|mean| ("mean_at_most", Bound::MeanAtMost(mean)));
        let rate = self.rate_at_least.map(|rate| ("rate_at_least", Bound::RateAtLeast(rate)));
        let throughput = self.throughput_at_least.map(|it| ("throughput_at_least", Bound::ThroughputAtLeast(it.0)));
        let errors = self.errors_at_most.map(|share| ("errors_at_most", Bound::ErrorsAtMost(share)));
        percentiles.chain(mean).chain(rate).chain(throughput).chain(errors).collect()
    }

    /// The only bound, and the name of its key; `None` where there is none, or more than one.
    fn only_bound(&self) -> Option<(&'static str, Bound)> {
        match (self.share_over, self.at_most, self.below, self.named_bounds().as_slice()) {
            (Some(over), Some(at_most), None, []) => Some(("share_over", Bound::OverAtMost { over, at_most })),
            (Some(over), None, Some(below), []) => Some(("share_over", Bound::Over { over, below })),
            (None, None, None, [one]) => Some(*one),
            _ => None,
        }
    }
}

/// What of a workload the criteria of its file are about.
pub(super) struct CriteriaContext<'a> {
    /// The names of its streams.
    pub streams: Vec<&'a str>,
    /// The window of a criterion that has none.
    pub slice: Span,
    /// Windows are multiples of it.
    pub interval: Span,
}

/// All criteria of a file, checked against its streams.
pub(super) fn read_criteria(
    source: Source<'_>,
    tables: &[Spanned<CriterionKeys>],
    of: &CriteriaContext<'_>,
) -> Result<Vec<Criterion>, Fault> {
    let criteria = tables.iter().map(|table| read_criterion(source, table, of)).collect::<Result<Vec<_>, _>>()?;
    match criteria.iter().position(|criterion| criterion.is_mean_beside_errors(&criteria)) {
        Some(at) => Err(source.fault_at(tables[at].span(), MEAN_BESIDE_ERRORS, NO_MEAN)),
        None => Ok(criteria),
    }
}

/// A mean says nothing of operations that may fail: see [`Criterion::is_mean_beside_errors`].
const MEAN_BESIDE_ERRORS: &str =
    "operations of this stream may fail by errors_at_most, and one that failed has no length that a mean could count";
const NO_MEAN: &str = "write a percentile, where one that failed counts as over any time; or remove errors_at_most";

fn read_criterion(
    source: Source<'_>,
    table: &Spanned<CriterionKeys>,
    of: &CriteriaContext<'_>,
) -> Result<Criterion, Fault> {
    let keys = table.get_ref();
    let Some((key, bound)) = keys.only_bound() else {
        let remedy = "write share_over with at_most or below; or one of mean_at_most, p50_at_most to p99_99_at_most, max_at_most, \
                      rate_at_least, throughput_at_least, errors_at_most";
        return Err(source.fault_at(table.span(), "this criterion has no bound, or more than one", remedy));
    };
    if keys.measure.is_some() && !bound.is_of_time() {
        return Err(source.fault_at(table.span(), format!("{key} has no measure"), "remove measure"));
    }
    let window = match keys.window {
        None => Some(of.slice),
        Some(Window::Of(window)) => Some(window),
        Some(Window::Run) => None,
    };
    let least_operations = keys.operations_at_least.unwrap_or(0);
    if least_operations > 0 && bound.is_of_work() {
        let what = format!("{key} is a bound on what is done, so that operations_at_least says nothing");
        return Err(source.fault_at(table.span(), what, "remove operations_at_least"));
    }
    let parts = read_parts(source, keys.parts.as_ref())?;
    let stream = keys.stream.get_ref().clone();
    let measure = keys.measure.unwrap_or(Measure::Response);
    let criterion = Criterion { stream, measure, bound, window, least_operations, parts };
    check_fits(key, &criterion, &of.streams, of.interval).map_err(|(what, remedy, wrong)| {
        let span = if wrong == WrongPart::Stream { keys.stream.span() } else { table.span() };
        source.fault_at(span, what, remedy)
    })?;
    Ok(criterion)
}

/// The parts of a run in which a criterion must hold.
fn read_parts(source: Source<'_>, keys: Option<&Spanned<Vec<MarkedPart>>>) -> Result<MarkedParts, Fault> {
    let Some(keys) = keys else { return Ok(MarkedParts::EVERY) };
    if keys.get_ref().is_empty() {
        let remedy =
            "write for example in = [\"healthy\", \"recovered\"], or remove in: then it must hold in every part";
        return Err(source.fault_at(keys.span(), "a criterion that holds in no part decides nothing", remedy));
    }
    Ok(keys.get_ref().iter().copied().collect())
}

impl Plan {
    /// The same plan, judged by typed criteria instead of its own, where there are any; the error says what does not
    /// fit.
    pub fn judged_by(self, typed: &[String]) -> Result<Plan, String> {
        if typed.is_empty() {
            return Ok(self);
        }
        if self.load.tiles().is_some() {
            return Err(
                "each tile is judged by the criteria of its workloads: write [[criterion]] into their files".to_owned()
            );
        }
        // The read-back is not measured.
        let measured = self.load.streams.iter().filter(|stream| !stream.reads_back());
        let names: Vec<&str> = measured.map(|stream| stream.name.as_str()).collect();
        let mut criteria = Vec::new();
        for text in typed {
            let criterion = Criterion::parse_typed(text, self.timing.slice)?;
            check_fits("the bound", &criterion, &names, self.timing.interval)
                .map_err(|(what, remedy, _)| format!("criterion \"{}\": {what}\n  = {remedy}", text.escape_debug()))?;
            criteria.push(criterion);
        }
        if let Some(mean) = criteria.iter().find(|criterion| criterion.is_mean_beside_errors(&criteria)) {
            return Err(format!("criterion \"{mean}\": {MEAN_BESIDE_ERRORS}\n  = {NO_MEAN}"));
        }
        Ok(Plan { criteria, ..self })
    }
}

/// The part of a criterion that is wrong.
#[derive(PartialEq, Eq)]
enum WrongPart {
    Stream,
    All,
}

/// What is wrong with a whole criterion, and what to do.
fn all_wrong(what: String, remedy: &str) -> Result<(), (String, String, WrongPart)> {
    Err((what, remedy.to_owned(), WrongPart::All))
}

/// The error for a criterion that holds whatever happens.
fn always_holds(key: &str) -> Result<(), (String, String, WrongPart)> {
    all_wrong(format!("{key} of 0 always holds"), "write more than 0")
}

/// The error for a criterion that cannot hold.
fn never_holds(key: &str) -> Result<(), (String, String, WrongPart)> {
    all_wrong(format!("{key} of 0 can never hold"), "write more than 0")
}

/// Whether a criterion, whose bound has the key `key`, can be judged on streams with these `names`, recorded in steps
/// of `interval`; otherwise what is wrong and what to write.
fn check_fits(
    key: &str,
    criterion: &Criterion,
    names: &[&str],
    interval: Span,
) -> Result<(), (String, String, WrongPart)> {
    let together = criterion.stream == Criterion::ALL && !names.contains(&Criterion::ALL);
    if together && matches!(criterion.bound, Bound::ErrorsAtMost(_)) {
        let what = "which errors may be is a matter of each stream, not of all together".to_owned();
        return Err((what, format!("write one for each stream: {}", names.join(", ")), WrongPart::All));
    }
    if !together && !names.contains(&criterion.stream.as_str()) {
        let remedy = match nearest_known_name(&criterion.stream, names) {
            Some(name) => format!("did you mean {name}?"),
            None => format!("the streams are {}", names.join(", ")),
        };
        return Err((format!("there is no stream \"{}\"", criterion.stream.escape_debug()), remedy, WrongPart::Stream));
    }
    match criterion.bound {
        Bound::OverAtMost { over, .. } | Bound::Over { over, .. } if over.is_zero() => return never_holds(key),
        Bound::MeanAtMost(mean) if mean.is_zero() => return never_holds(key),
        Bound::RateAtLeast(rate) if rate.is_zero() => return always_holds(key),
        Bound::ThroughputAtLeast(bytes) if bytes.get() == 0 => return always_holds(key),
        Bound::Over { below, .. } if below.as_ppb() == 0 => return never_holds("below"),
        Bound::OverAtMost { at_most: share, .. } | Bound::Over { below: share, .. } | Bound::ErrorsAtMost(share)
            if share > Share::from_percent(100) =>
        {
            return all_wrong(format!("a share of {share} can never be broken"), "write at most 100%");
        }
        _ => {}
    }
    let window = criterion.window;
    match window.filter(|window| window.is_zero() || !window.as_ns().is_multiple_of(interval.as_ns())) {
        Some(window) => all_wrong(
            format!("a window of {window} is not a multiple of the interval, {interval}"),
            "write one that is, or a shorter interval",
        ),
        None => Ok(()),
    }
}
