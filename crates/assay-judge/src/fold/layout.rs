//! The header's streams, targets and flows, checked once, so that no index is out of range afterwards.

use crate::fold::counted_times::CountedTimes;
use crate::fold::lives::Lives;
use crate::fold::loop_layout::LoopLayout;
use crate::fold::stream_layout::StreamLayout;
use assay_base::Criterion;
use assay_record::{FlowHead, Header, PerMinute, PhaseKind, PlanHead, PlannedGroup, Thresholds, WatchedDisk};
use std::collections::BTreeMap;

/// Upper bound on the counters kept at once, 64 MiB; a log of ACT with 128 devices, its most, needs half of it.
const MOST_COUNTERS: usize = 1 << 23;

/// Upper bound on the number of streams, phases or criteria; a log of ACT with 128 devices has 387 criteria and 260 streams.
const LONGEST_LIST: usize = 512;

/// Number of figures per minute that are computed.
const MOST_PER_MINUTE: usize = 8;

/// The longest interval: an hour.
const LONGEST_INTERVAL_NS: u64 = 3_600_000_000_000;

/// Streams whose figures are also shown together, as the plan names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLayout {
    /// Its name.
    pub name: String,
    /// Indices of its streams, ascending.
    pub streams: Vec<usize>,
    /// Indices of the flows of these streams.
    pub flows: Vec<usize>,
}

impl GroupLayout {
    /// The groups of a plan, of these streams. What names no stream of the header is left out.
    fn all_from_plan(header: &Header, plan: &PlanHead, layouts: &[StreamLayout]) -> Vec<GroupLayout> {
        let place: BTreeMap<&str, usize> =
            header.streams.iter().enumerate().map(|(at, stream)| (stream.name.as_str(), at)).collect();
        let planned = plan.groups.iter().take(LONGEST_LIST);
        let groups = planned.map(|group| GroupLayout::new(group, &place, layouts));
        groups.filter(|group| !group.streams.is_empty()).collect()
    }

    /// A group of the streams that have a place in the header.
    fn new(group: &PlannedGroup, place: &BTreeMap<&str, usize>, layouts: &[StreamLayout]) -> GroupLayout {
        let mut streams: Vec<usize> =
            group.streams.iter().filter_map(|name| place.get(name.as_str()).copied()).collect();
        streams.sort_unstable();
        streams.dedup();
        let flows = streams.iter().flat_map(|&stream| layouts[stream].flows.iter().copied()).collect();
        GroupLayout { name: group.name.clone(), streams, flows }
    }
}

/// The figures of a result that are over several streams.
#[derive(Clone, Debug, Default)]
pub struct Combined {
    /// Streams whose figures are also shown together.
    pub groups: Vec<GroupLayout>,
    /// Whether a criterion is about the operations of all streams together.
    pub all_judged: bool,
    /// Figures per minute that the result shows.
    pub per_minute: Vec<PerMinute>,
}

/// How streams, targets and flows belong together, and by which rules their windows are judged.
#[derive(Clone, Debug)]
pub struct Layout {
    /// What is read of the plan.
    pub plan: PlanHead,
    /// Named streams.
    pub streams: Vec<StreamLayout>,
    /// Streams on targets.
    pub flows: Vec<FlowHead>,
    /// Names of the targets.
    pub targets: Vec<String>,
    /// Figures over several streams.
    pub combined: Combined,
    /// The closed loops; empty in logs that do not count what their slots do.
    pub loops: Vec<LoopLayout>,
    /// What is counted of times.
    pub times: CountedTimes,
    /// The disks on which the load of others is counted.
    pub watched: Vec<WatchedDisk>,
    /// When each stream begins and ends.
    pub lives: Lives,
    /// Another tool wrote the log, which may not count what ours do: then a zero says nothing.
    pub of_another_tool: bool,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Planned measured time.
    pub planned_ns: u64,
}

/// Whether another tool wrote a log, by what it says of its engine.
pub(crate) fn is_of_another_tool(engine: &BTreeMap<String, String>) -> bool {
    engine.get("engine").is_some_and(|engine| engine.starts_with("ACT"))
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
        if header.flows.len().saturating_mul(thresholds.bucket_count()).saturating_mul(windows) > MOST_COUNTERS {
            return Err(format!("{} flows with {} thresholds", header.flows.len(), thresholds.bounds_ns().len()));
        }
        let plan = PlanHead::parse(&header.plan);
        let each = 0..header.streams.len();
        let mut streams: Vec<StreamLayout> = each.map(|at| StreamLayout::new(header, &plan, at, criteria)).collect();
        for (index, flow) in header.flows.iter().enumerate() {
            let stream = streams.get_mut(usize::from(flow.stream));
            stream
                .ok_or_else(|| format!("flow {index} belongs to stream {}, which is not there", flow.stream))?
                .flows
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
        Ok(Layout {
            combined: Combined {
                groups: GroupLayout::all_from_plan(header, &plan, &streams),
                all_judged: header.streams.iter().all(|stream| stream.name != Criterion::ALL)
                    && criteria.iter().any(|criterion| criterion.stream == Criterion::ALL),
                per_minute: header.per_minute.iter().take(MOST_PER_MINUTE).cloned().collect(),
            },
            streams,
            flows: header.flows.clone(),
            targets: header.targets.iter().map(|target| target.name.clone()).collect(),
            loops: LoopLayout::all_from_plan(header, &plan)?,
            times: CountedTimes::new(header, thresholds, criteria),
            lives: Lives::new(header, &plan),
            watched: header.watched.clone(),
            of_another_tool: is_of_another_tool(&header.engine),
            interval_ns: header.interval_ns,
            planned_ns: header.measured_before_ns.saturating_add(measured_ns(header)),
            plan,
        })
    }

    /// The groups to which a stream belongs.
    pub(crate) fn groups_of(&self, stream: usize) -> impl Iterator<Item = usize> {
        (0..self.combined.groups.len())
            .filter(move |group| self.combined.groups[*group].streams.binary_search(&stream).is_ok())
    }

    /// The stream of a flow.
    pub(crate) fn stream_of(&self, flow: usize) -> &StreamLayout {
        &self.streams[usize::from(self.flows[flow].stream)]
    }

    /// Name of the target of a flow.
    pub(crate) fn target_of(&self, flow: usize) -> &str {
        &self.targets[usize::from(self.flows[flow].target)]
    }

    /// The target of a closed loop that goes to one only.
    pub(crate) fn target_of_loop(&self, looped: &LoopLayout) -> Option<&str> {
        let first = self.flows[*looped.flows.first()?].target;
        let alone = looped.flows.iter().all(|flow| self.flows[*flow].target == first);
        alone.then(|| self.targets[usize::from(first)].as_str())
    }

    /// The streams on a target.
    pub(crate) fn streams_of(&self, target: usize) -> impl Iterator<Item = usize> {
        self.flows.iter().filter(move |flow| usize::from(flow.target) == target).map(|flow| usize::from(flow.stream))
    }

    /// Whether an interval that begins at `at` in measured time only drains what was due within the planned time.
    pub fn is_draining_at(&self, at: u64) -> bool {
        at >= self.planned_ns
    }

    /// The most by which a time may differ from its expected place before something counts as missing.
    pub(crate) fn tolerance_ns(&self) -> u64 {
        self.interval_ns / 2
    }
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
}
