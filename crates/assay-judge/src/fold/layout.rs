//! The header's streams, targets and flows, checked once, so that no index is out of range afterwards.

use crate::fold::lives::Lives;
use assay_base::{Bound, Criterion, Share, Span};
use assay_record::{FlowHead, Header, PerMinute, PhaseKind, StreamHead, Thresholds};
use std::collections::BTreeSet;

/// Upper bound on the counters kept at once; 24 devices with 7 streams and 60 thresholds need a two-hundredth of it.
const MOST_COUNTERS: usize = 1 << 21;

/// Upper bound on the number of streams, phases or criteria.
const LONGEST_LIST: usize = 256;

/// Number of figures per minute that are computed.
const MOST_PER_MINUTE: usize = 8;

/// The longest interval: an hour.
const LONGEST_INTERVAL_NS: u64 = 3_600_000_000_000;

/// Thresholds that every table shows (the standard criteria of ACT's README).
const STANDARD_MS: [u64; 3] = [1, 8, 64];

/// How streams, targets and flows belong together.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Named streams.
    pub streams: Vec<StreamHead>,
    /// Streams on targets.
    pub flows: Vec<FlowHead>,
    /// Names of the targets.
    pub targets: Vec<String>,
    /// For each stream the indices of its flows.
    pub of_stream: Vec<Vec<usize>>,
    /// The boundaries of the exact counters.
    pub thresholds: Thresholds,
    /// Thresholds that are reported: the criteria's and the standard ones, as far as they are counted.
    pub shown: BTreeSet<Span>,
    /// Whether the generator's lateness is counted, so that these counts decide.
    pub lateness: bool,
    /// The smallest threshold of the criteria.
    pub smallest: Option<Span>,
    /// Which streams are sequential, so that the kernel may merge neighbouring requests.
    pub sequential: Vec<bool>,
    /// Which streams' writes are durable.
    pub durable: Vec<bool>,
    /// When each stream begins and ends.
    pub lives: Lives,
    /// The share of each stream's operations that a criterion allows to fail; `None` where none speaks of errors, and each fails
    /// the run.
    pub may_fail: Vec<Option<Share>>,
    /// Whether a window of a criterion that the end of the measurement cuts to less than half of its length says nothing.
    pub half_windows: bool,
    /// What waits at the end of a window is on its way, if the schedule takes no longer than this for it.
    pub backlog: Span,
    /// Whether a criterion is about the operations of all streams together.
    pub all_judged: bool,
    /// Figures per minute that the result shows.
    pub per_minute: Vec<PerMinute>,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Planned measured time.
    pub planned_ns: u64,
}

impl Layout {
    /// Checks a header; the error says which part of it is impossible.
    pub fn new(header: &Header, criteria: &[Criterion]) -> Result<Layout, String> {
        let thresholds = Thresholds::from_bounds(header.thresholds_ns.clone());
        let lists = [header.streams.len(), header.phases.len(), criteria.len()];
        if lists.iter().any(|&length| length > LONGEST_LIST) {
            return Err(format!("a list of more than {LONGEST_LIST} streams, phases or criteria"));
        }
        let windows = 2 + criteria.len();
        if header.flows.len().saturating_mul(thresholds.buckets()).saturating_mul(windows) > MOST_COUNTERS {
            return Err(format!("{} flows with {} thresholds", header.flows.len(), thresholds.bounds().len()));
        }
        let mut of_stream = vec![Vec::new(); header.streams.len()];
        for (index, flow) in header.flows.iter().enumerate() {
            let stream = of_stream.get_mut(usize::from(flow.stream));
            stream
                .ok_or_else(|| format!("flow {index} belongs to stream {}, which is not there", flow.stream))?
                .push(index);
            if usize::from(flow.target) >= header.targets.len() {
                return Err(format!("flow {index} goes to target {}, which is not there", flow.target));
            }
        }
        if header.interval_ns == 0 || header.slice_ns == 0 || header.interval_ns > LONGEST_INTERVAL_NS {
            return Err("an interval or a slice of no length, or an interval of more than an hour".into());
        }
        if let Some(mean) = criteria.iter().find(|criterion| criterion.is_mean_beside_errors(criteria)) {
            return Err(format!(
                "the criterion \"{mean}\" of a stream whose operations may fail: those have no length"
            ));
        }
        let asked = criteria.iter().filter_map(Criterion::threshold).chain(STANDARD_MS.map(Span::from_ms));
        let shown = asked.filter(|span| thresholds.first_over(*span).is_some()).collect();
        Ok(Layout {
            streams: header.streams.clone(),
            flows: header.flows.clone(),
            targets: header.targets.iter().map(|target| target.name.clone()).collect(),
            of_stream,
            thresholds,
            shown,
            lateness: header.lateness,
            smallest: criteria.iter().filter_map(Criterion::threshold).min(),
            sequential: planned(header, |stream| stream.get("address").is_some_and(is_sequential)),
            durable: planned(header, |stream| stream.get("durable").is_some_and(|it| it == true)),
            lives: Lives::of(header),
            may_fail: header.streams.iter().map(|stream| may_fail(&stream.name, criteria)).collect(),
            per_minute: header.per_minute.iter().take(MOST_PER_MINUTE).cloned().collect(),
            backlog: serde_json::from_value(header.plan["backlog"].clone()).unwrap_or_default(),
            half_windows: header.plan["half_windows"] == true,
            all_judged: header.streams.iter().all(|stream| stream.name != Criterion::ALL)
                && criteria.iter().any(|criterion| criterion.stream == Criterion::ALL),
            interval_ns: header.interval_ns,
            planned_ns: header.measured_before_ns.saturating_add(measured_ns(header)),
        })
    }

    /// Name of the target of a flow.
    pub(crate) fn target_of(&self, flow: usize) -> &str {
        &self.targets[usize::from(self.flows[flow].target)]
    }

    /// The streams on a target.
    pub(crate) fn streams_of(&self, target: usize) -> impl Iterator<Item = usize> {
        let there = move |flow: &&FlowHead| usize::from(flow.target) == target;
        self.flows.iter().filter(there).map(|flow| usize::from(flow.stream))
    }

    /// The smallest threshold of the criteria, where the log counts it.
    pub(crate) fn counted_threshold(&self) -> Option<Span> {
        self.smallest.filter(|span| self.thresholds.first_over(*span).is_some())
    }

    /// Whether an interval that begins at `at` in measured time only drains what was due within the planned time.
    pub fn drains(&self, at: u64) -> bool {
        at >= self.planned_ns
    }

    /// By how much a time may differ from its expected place before something counts as missing.
    pub(crate) fn tolerance_ns(&self) -> u64 {
        self.interval_ns / 2
    }
}

/// The smallest share of a stream's operations that a criterion allows to fail.
fn may_fail(stream: &str, criteria: &[Criterion]) -> Option<Share> {
    let allowed =
        criteria.iter().filter(|criterion| criterion.stream == stream).filter_map(|criterion| match criterion.bound {
            Bound::ErrorsAtMost(share) => Some(share),
            _ => None,
        });
    allowed.min()
}

/// What the plan says about each stream; false where it says nothing.
fn planned(header: &Header, says: impl Fn(&serde_json::Value) -> bool) -> Vec<bool> {
    let streams = header.plan.get("streams").and_then(|streams| streams.as_array());
    (0..header.streams.len()).map(|at| streams.and_then(|all| all.get(at)).is_some_and(&says)).collect()
}

/// Whether one operation of such an address lies behind another.
fn is_sequential(address: &serde_json::Value) -> bool {
    address == "sequential"
        || address == "appended"
        || ["/runs", "/behind", "/asu/place/run"].iter().any(|at| address.pointer(at).is_some())
}

/// Planned measured time of one segment.
fn measured_ns(header: &Header) -> u64 {
    let measured = header.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    measured.fold(0, |sum: u64, phase| sum.saturating_add(phase.span_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;

    #[test]
    fn the_streams_of_a_target_are_those_with_a_flow_on_it() {
        let mut header = fixture::header();
        header.targets.push(header.targets[0].clone());
        header.flows.push(FlowHead { stream: 1, target: 1 });
        let layout = Layout::new(&header, &[]).unwrap();
        let on = |target| layout.streams_of(target).collect::<Vec<_>>();
        assert_eq!((on(0), on(1), on(2)), (vec![0, 1], vec![1], Vec::new()));
    }

    #[test]
    fn what_the_plan_says_of_a_stream_is_of_that_stream() {
        let plan = serde_json::json!({"streams": [
            {"address": "sequential", "durable": false},
            {"durable": true, "address": "uniform"},
        ]});
        let layout = Layout::new(&Header { plan, ..fixture::header() }, &[]).unwrap();
        assert_eq!((layout.durable, layout.sequential), (vec![false, true], vec![true, false]));
        let silent = Layout::new(&fixture::header(), &[]).unwrap();
        assert_eq!((silent.durable, silent.sequential), (vec![false; 2], vec![false; 2]));
    }

    #[test]
    fn addresses_that_lie_behind_each_other_are_sequential() {
        use serde_json::json;
        for (address, sequential) in [
            (json!("sequential"), true),
            (json!("appended"), true),
            (json!("uniform"), false),
            (json!({"runs": 4}), true),
            (json!({"behind": "writes"}), true),
            (json!({"asu": {"place": {"run": 8}}}), true),
            (json!({"asu": {"place": "uniform"}}), false),
        ] {
            assert_eq!(is_sequential(&address), sequential, "{address}");
        }
    }
}
