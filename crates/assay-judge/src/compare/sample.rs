//! What is kept of a log for a comparison: for each stream a series of units in order of time, each with its
//! distribution and its exact counts over thresholds. There are at most [`UNITS`] of them: when there are more,
//! neighbours are merged in pairs.

use assay_base::Measure;
use assay_record::{
    Entry, Header, Histograms, Interval, PhaseKind, PlanHead, PlannedStream, Thresholds, Times, Unpacker,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Number of units kept for each stream.
const UNITS: usize = 512;

/// One run's samples.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    header: Option<Header>,
    bounds: Option<Thresholds>,
    /// The compared parts of a plan, those of all steps in order.
    plan: Vec<PlanPart>,
    order: Vec<(Option<u32>, String)>,
    /// The series by step, stream, and whether it is the service rather than the response.
    series: BTreeMap<Key, Series>,
    main: Option<(Option<u32>, String)>,
    /// Set where the log has only one measure of each stream: the response where this function returns true, otherwise
    /// the service.
    one_measure: Option<IsResponse>,
}

/// What a plan has of a part that it does not have.
const NOTHING: &str = "nothing";

/// A part of a plan.
#[derive(Clone, Debug, Default)]
struct PlanPart {
    name: String,
    /// The part in words.
    value: String,
    /// All members of a stream.
    whole: serde_json::Value,
}

impl PlanPart {
    fn new(name: impl Into<String>, value: String) -> PlanPart {
        PlanPart { name: name.into(), value, ..PlanPart::default() }
    }
}

/// Whether the times of a stream in the log are responses.
type IsResponse = fn(&Header, &str) -> bool;

type Key = (Option<u32>, String, bool);

/// What is compared, in the form that [`Key`] uses.
const MEASURES: [(bool, Measure); 2] = [(false, Measure::Response), (true, Measure::Service)];

/// One stream in order of time.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Distributions, one for each group of intervals for which the log has one.
    pub groups: Units<BTreeMap<u32, u64>>,
    /// For each interval: all operations, and those over each threshold.
    pub intervals: Units<BTreeMap<u32, u64>>,
    /// Thresholds in nanoseconds; the count over threshold `i` has the key `i + 1` in `intervals`.
    thresholds: Vec<u64>,
}

/// Sparse counts in order of time; neighbours are merged when there are too many.
#[derive(Clone, Debug)]
pub struct Units<T> {
    /// The units.
    pub all: Vec<T>,
    each: usize,
    filled: usize,
}

impl<T> Default for Units<T> {
    fn default() -> Self {
        Units { all: Vec::new(), each: 1, filled: 0 }
    }
}

/// The key under which the units of intervals count all operations.
pub(crate) const OPERATIONS: u32 = 0;

impl Units<BTreeMap<u32, u64>> {
    fn push(&mut self, more: BTreeMap<u32, u64>) {
        if self.filled == 0 && self.all.len() == UNITS {
            let old = std::mem::take(&mut self.all);
            self.all = old.chunks(2).map(|pair| pair.iter().fold(BTreeMap::new(), join_counts)).collect();
            self.each *= 2;
        }
        match self.all.last_mut().filter(|_| self.filled > 0) {
            Some(last) => *last = join_counts(std::mem::take(last), &more),
            None => self.all.push(more),
        }
        self.filled = (self.filled + 1) % self.each;
    }
}

fn join_counts(mut sum: BTreeMap<u32, u64>, more: &BTreeMap<u32, u64>) -> BTreeMap<u32, u64> {
    for (key, n) in more {
        let cell = sum.entry(*key).or_default();
        *cell = cell.saturating_add(*n);
    }
    sum
}

impl Series {
    /// The time that the share `quantile` of all operations does not exceed, in nanoseconds.
    pub fn time_at_quantile(&self, quantile: f64) -> Option<f64> {
        let sum = self.groups.all.iter().fold(BTreeMap::new(), join_counts);
        quantile_of(sum.iter().map(|(cell, n)| (*cell, *n)), quantile)
    }

    /// All operations by their time, on a grid of [`STEPS`] per power of ten; empty when nothing was counted.
    pub fn counts_by_time(&self) -> Vec<(u64, u64)> {
        let sum = self.groups.all.iter().fold(BTreeMap::new(), join_counts);
        let mut steps: BTreeMap<i32, u64> = BTreeMap::new();
        for (cell, n) in sum {
            let step = steps.entry(step_of(Times::largest_of(cell))).or_default();
            *step = step.saturating_add(n);
        }
        let Some((first, last)) = steps.keys().next().copied().zip(steps.keys().next_back().copied()) else {
            return Vec::new();
        };
        (first..=last).map(|step| (end_of(step), steps.get(&step).copied().unwrap_or(0))).collect()
    }

    /// Number of operations counted.
    pub fn operation_count(&self) -> u64 {
        let all = self.intervals.all.iter().filter_map(|unit| unit.get(&OPERATIONS));
        all.fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// The share of operations at or over a threshold of this series.
    pub fn share_over(&self, threshold: u64) -> Option<f64> {
        let key = self.key_of_threshold(threshold)?;
        let sum = self.intervals.all.iter().fold(BTreeMap::new(), join_counts);
        let all = sum.get(&OPERATIONS).copied().filter(|n| *n > 0)?;
        Some(sum.get(&key).copied().unwrap_or(0) as f64 / all as f64)
    }

    /// The key of a threshold's count.
    pub fn key_of_threshold(&self, threshold: u64) -> Option<u32> {
        self.thresholds.iter().position(|known| *known == threshold).map(|index| index as u32 + 1)
    }
}

/// Number of steps of a distribution per power of ten: about the resolution of a line on a page.
const STEPS: f64 = 20.0;

/// The step that contains a time: above the end of the step before, up to its own end.
fn step_of(ns: u64) -> i32 {
    let step = ((ns.max(1) as f64).log10() * STEPS).ceil() as i32;
    // Ends are rounded to whole nanoseconds, so the time may already belong to the step before.
    if step > 0 && ns <= end_of(step - 1) { step - 1 } else { step }
}

fn end_of(step: i32) -> u64 {
    10f64.powf(f64::from(step) / STEPS).round() as u64
}

/// The quantile of counts by cell, ascending; `None` when nothing was counted.
pub(crate) fn quantile_of(cells: impl Iterator<Item = (u32, u64)> + Clone, quantile: f64) -> Option<f64> {
    let total = cells.clone().fold(0u64, |sum, (_, n)| sum.saturating_add(n));
    let rank = (quantile * total as f64).ceil().max(1.0) as u64;
    let mut seen = 0u64;
    let mut cells = cells;
    let cell = cells.find(|(_, n)| {
        seen = seen.saturating_add(*n);
        seen >= rank
    });
    cell.map(|(cell, _)| Times::largest_of(cell) as f64)
}

impl Sampled {
    /// Takes the next entry of the log; an error when the log is inconsistent.
    pub fn take_entry(&mut self, entry: &Entry) -> Result<(), String> {
        match entry {
            Entry::Header(header) => self.take_header(header),
            Entry::Interval(interval) => self.take_interval(interval),
            Entry::Histograms(histograms) => self.take_histograms(histograms)?,
            Entry::Event(_) | Entry::Close(_) => {}
        }
        Ok(())
    }

    fn take_header(&mut self, header: &Header) {
        let header = &by_place(header.clone());
        let step = header.step.as_ref().map(|step| step.number);
        let at = step.map_or(String::new(), |step| format!("step {step}: "));
        if !header.continues {
            self.plan.extend(
                plan_of(header).into_iter().map(|asked| PlanPart { name: format!("{at}{}", asked.name), ..asked }),
            );
        }
        for stream in &header.streams {
            let key = (step, stream.name.clone());
            if !self.order.contains(&key) {
                self.order.push(key.clone());
            }
            for (service, measure) in MEASURES {
                if self.one_measure.is_some_and(|is_response| is_response(header, &stream.name) == service) {
                    continue;
                }
                let series = self.series.entry((step, stream.name.clone(), service)).or_default();
                series.thresholds = thresholds_of(header, &stream.name, measure);
            }
        }
        let main = header.criteria.first().map(|criterion| &criterion.stream);
        let main = main.or(header.streams.first().map(|stream| &stream.name));
        if self.main.is_none() {
            self.main = main.map(|stream| (step, stream.clone()));
        }
        self.bounds = Some(Thresholds::from_bounds(header.thresholds_ns.clone()));
        self.header = Some(header.clone());
    }

    fn header_if_measured(&self, phase: u16) -> Option<&Header> {
        let header = self.header.as_ref()?;
        let phase = header.phases.get(usize::from(phase))?;
        (phase.kind == PhaseKind::Measure).then_some(header)
    }

    fn key_of(header: &Header, flow: usize) -> Option<(Option<u32>, String)> {
        let stream = header.streams.get(usize::from(header.flows.get(flow)?.stream))?;
        Some((header.step.as_ref().map(|step| step.number), stream.name.clone()))
    }

    fn take_interval(&mut self, interval: &Interval) {
        let (Some(header), Some(bounds)) = (self.header_if_measured(interval.phase), &self.bounds) else { return };
        let mut sums: BTreeMap<Key, BTreeMap<u32, u64>> = BTreeMap::new();
        for (index, flow) in interval.flows.iter().enumerate() {
            let Some((step, stream)) = Self::key_of(header, index) else { continue };
            for (service, timing) in [(false, &flow.response), (true, &flow.service)] {
                let key = (step, stream.clone(), service);
                let Some(series) = self.series.get(&key) else { continue };
                let sum = sums.entry(key).or_default();
                add_count(sum, OPERATIONS, flow.ok);
                for (index, threshold) in series.thresholds.iter().enumerate() {
                    let Ok(bucket) = bounds.bounds_ns().binary_search(threshold) else { continue };
                    let over = timing.counts.chunks_exact(2).filter(|pair| pair[0] > bucket as u64);
                    add_count(sum, index as u32 + 1, over.fold(0, |sum, pair| sum.saturating_add(pair[1])));
                }
            }
        }
        for (key, sum) in sums {
            self.series.entry(key).or_default().intervals.push(sum);
        }
    }

    fn take_histograms(&mut self, histograms: &Histograms) -> Result<(), String> {
        let Some(header) = self.header_if_measured(histograms.phase) else { return Ok(()) };
        let mut sums: BTreeMap<Key, BTreeMap<u32, u64>> = BTreeMap::new();
        let mut unpacker = Unpacker::default();
        for flow in &histograms.flows {
            let Some((step, stream)) = Self::key_of(header, usize::from(flow.flow)) else { continue };
            for (service, text) in [(false, &flow.response), (true, &flow.service)] {
                let key = (step, stream.clone(), service);
                if !self.series.contains_key(&key) {
                    continue;
                }
                let cells = unpacker.unpack_text(text, flow.overflow[usize::from(service)])?.filled_cells().collect();
                let sum = sums.remove(&key).unwrap_or_default();
                sums.insert(key, join_counts(sum, &cells));
            }
        }
        for (key, sum) in sums {
            self.series.entry(key).or_default().groups.push(sum);
        }
        Ok(())
    }

    /// Steps and streams in order.
    pub fn steps_and_streams(&self) -> impl Iterator<Item = (Option<u32>, &str)> {
        self.order.iter().map(|(step, stream)| (*step, stream.as_str()))
    }

    /// Drops all but the first intervals.
    #[cfg(test)]
    pub(super) fn shorten(&mut self, intervals: usize) {
        self.series.values_mut().for_each(|series| series.intervals.all.truncate(intervals));
    }

    /// For a log that has only one measure of each stream and records it twice: `is_response` says which of the two it
    /// is.
    pub fn of_one_measure(is_response: IsResponse) -> Sampled {
        Sampled { one_measure: Some(is_response), ..Sampled::default() }
    }

    /// One stream; `None` for one that the log does not have.
    pub fn series_of_stream(&self, step: Option<u32>, stream: &str, measure: Measure) -> Option<&Series> {
        self.series.get(&(step, stream.to_owned(), measure == Measure::Service))
    }

    /// The response of the first criterion's stream; its service where the log has no response.
    pub fn main(&self) -> Option<&Series> {
        let (step, stream) = self.main.as_ref()?;
        let [response, service] =
            [Measure::Response, Measure::Service].map(|measure| self.series_of_stream(*step, stream, measure));
        response.or(service)
    }

    /// The thresholds that are compared for a stream, in nanoseconds.
    pub fn compared_thresholds(&self, step: Option<u32>, stream: &str, measure: Measure) -> Vec<u64> {
        self.series_of_stream(step, stream, measure).map(|series| series.thresholds.clone()).unwrap_or_default()
    }

    /// Where the plan differs from that of `other`: what was asked for, not on which targets, when, or with which seed.
    pub(crate) fn plan_differences(&self, other: &Sampled, labels: [&str; 2]) -> Vec<String> {
        let names: BTreeSet<&String> = self.plan.iter().chain(&other.plan).map(|asked| &asked.name).collect();
        let (nothing, mut lines) = (PlanPart::new("", NOTHING.to_owned()), Vec::new());
        for name in names {
            let [there, here] =
                [self, other].map(|sampled| sampled.plan.iter().find(|asked| asked.name == *name).unwrap_or(&nothing));
            if there.value != here.value {
                lines.push(difference_sentence(name, [&there.value, &here.value], labels));
            } else if there.whole.is_null() != here.whole.is_null() {
                lines.push(format!("{name} is described in the log of one of {} and {} only", labels[0], labels[1]));
            } else {
                let mut found = |path: &str, there: &str, here: &str| {
                    lines.push(difference_sentence(&format!("{name}, {path}"), [there, here], labels));
                };
                visit_differing_members("", &there.whole, &here.whole, &mut found);
            }
        }
        lines
    }
}

/// A member; null where it is absent.
fn member_or_null(all: &serde_json::Map<String, Value>, name: &str) -> Value {
    all.get(name).cloned().unwrap_or_default()
}

/// Adds to a count; it stops at its maximum.
fn add_count(sum: &mut BTreeMap<u32, u64>, cell: u32, n: u64) {
    let counted = sum.entry(cell).or_default();
    *counted = counted.saturating_add(n);
}

/// `load is 1x in a and 2x in b`, or `stream seqlog is write of 64KiB, closed loop in b, and a has none`.
fn difference_sentence(name: &str, values: [&str; 2], labels: [&str; 2]) -> String {
    let ([first, second], [a, b]) = (values, labels);
    match (first == NOTHING, second == NOTHING) {
        (true, _) => format!("{name} is {second} in {b}, and {a} has none"),
        (_, true) => format!("{name} is {first} in {a}, and {b} has none"),
        _ => format!("{name} is {first} in {a} and {second} in {b}"),
    }
}

/// Gives each member that differs to `found`, with its path, as `addresses.zipf`.
fn visit_differing_members(path: &str, there: &Value, here: &Value, found: &mut impl FnMut(&str, &str, &str)) {
    match (there, here) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                visit_differing_members(&path, &member_or_null(a, name), &member_or_null(b, name), found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found(path, &json_value_text(a), &json_value_text(b)),
    }
}

fn json_value_text(value: &Value) -> String {
    match value {
        Value::Null => NOTHING.to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// ACT's logs name the streams of one device after it (`/dev/sdb-reads`). Which device it was is not part of the plan,
/// so its position among the devices replaces its name.
fn by_place(mut header: Header) -> Header {
    let targets: Vec<String> = header.targets.iter().map(|target| target.name.clone()).collect();
    header.streams.iter_mut().for_each(|stream| stream.name = name_by_place(&stream.name, &targets));
    header.criteria.iter_mut().for_each(|criterion| criterion.stream = name_by_place(&criterion.stream, &targets));
    header
}

/// The name of a stream with the place of its device instead of the name of the device.
fn name_by_place(name: &str, targets: &[String]) -> String {
    targets
        .iter()
        .enumerate()
        .find_map(|(place, target)| {
            let rest = name.strip_prefix(target.as_str()).filter(|rest| rest.starts_with('-'))?;
            Some(format!("device {}{rest}", place + 1))
        })
        .unwrap_or_else(|| name.to_owned())
}

/// What must be equal: model, load, streams (direction, sizes, rates, arrivals, addresses), criteria.
fn plan_of(header: &Header) -> Vec<PlanPart> {
    let mut plan = vec![PlanPart::new("model", header.model.clone()), PlanPart::new("load", header.load.clone())];
    for stream in &header.streams {
        let rate = stream.rate.map_or_else(String::new, |rate| format!(", {rate}"));
        let arrival = if stream.arrival == "closed" { "closed loop" } else { &stream.arrival };
        let does = stream.operation_word();
        let size = if stream.size.is_empty() { String::new() } else { format!(" of {}", stream.size) };
        plan.push(PlanPart::new(format!("stream {}", stream.name), format!("{does}{size}, {arrival}{rate}")));
    }
    for PlannedStream { name, members, .. } in PlanHead::parse(&header.plan).streams {
        let name = format!("stream {}", name.unwrap_or_default());
        match plan.iter_mut().find(|asked| asked.name == name) {
            Some(asked) => asked.whole = members,
            None => plan.push(PlanPart { name, whole: members, ..PlanPart::default() }),
        }
    }
    let criteria: Vec<String> = header.criteria.iter().map(ToString::to_string).collect();
    plan.push(PlanPart::new("criteria", criteria.join("; ")));
    plan
}

/// The thresholds of the stream's criteria, on this measure if there are any, otherwise on any measure; without
/// criteria, ACT's three.
fn thresholds_of(header: &Header, stream: &str, measure: Measure) -> Vec<u64> {
    let about: Vec<_> = header.criteria.iter().filter(|criterion| criterion.stream == stream).collect();
    let some = about.iter().any(|criterion| criterion.measure == measure);
    let own = about.into_iter().filter(|criterion| !some || criterion.measure == measure);
    let own: BTreeSet<u64> = own.filter_map(|criterion| Some(criterion.counted_threshold()?.as_ns())).collect();
    if own.is_empty() { vec![1_000_000, 8_000_000, 64_000_000] } else { own.into_iter().collect() }
}
