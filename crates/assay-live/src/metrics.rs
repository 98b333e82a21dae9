//! The newest state as OpenMetrics text, for Prometheus and whatever reads the same.
//!
//! Counters are the sums of the log over all its phases, exact at the line that was read last. A histogram's `le` includes its boundary
//! and ours exclude it: an operation of exactly 1 ms is over 1 ms. Therefore `le` is one nanosecond less than the boundary, and the
//! exact numbers over each threshold have counters of their own, with the threshold's name.

use crate::published::Published;
use crate::view::counted::{Counted, FlowCounts, FlowName, TimeCounts};
use crate::view::head::RunHead;
use assay_base::Span;
use assay_judge::Verdict;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeLabelSet, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The smallest boundary of a histogram, and how many there are, each twice as long as the one before.
const SMALLEST_NS: u64 = 16_000;
const POWERS: u32 = 21;
/// The most boundaries of a histogram.
const BOUNDARIES: usize = 32;
/// Above this number of series those of the targets are left out, and their streams' sums take their places.
const SERIES: usize = 10_000;

type Encoded = Result<(), fmt::Error>;
type Labels<'a> = Vec<(&'static str, &'a str)>;

/// The metrics of a state, of whose predecessors so many were not pushed. An error says that the text could not be written.
pub(crate) fn as_text(state: Arc<Published>, push_dropped: u64) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Metrics::of_state(state, push_dropped)));
    let mut out = String::new();
    text::encode(&mut out, &registry)?;
    Ok(out)
}

/// The metrics of one state.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) state: Arc<Published>,
    /// Each flow, or each stream where there are too many flows.
    pub(crate) flows: BTreeMap<FlowName, FlowCounts>,
    /// Each stream over all its targets.
    pub(crate) streams: BTreeMap<String, FlowCounts>,
    /// How many series were left out.
    left_out: usize,
    /// How many messages were dropped because nobody took them.
    pub(crate) push_dropped: u64,
}

impl Metrics {
    pub(crate) fn of_state(state: Arc<Published>, push_dropped: u64) -> Metrics {
        let mut streams: BTreeMap<String, FlowCounts> = BTreeMap::new();
        for (name, flow) in state.counted.flows() {
            streams.entry(name.stream.clone()).or_default().add_all(flow);
        }
        let thresholds = state.head.as_ref().map_or(0, |head| head.thresholds.len());
        let of_flow = |flow: &FlowCounts| 8 + flow.errors.len() + 2 * thresholds;
        let of_flows: usize = state.counted.flows().map(|(_, flow)| of_flow(flow)).sum();
        let (flows, left_out) = if of_flows + streams.len() * 3 * (BOUNDARIES + 3) <= SERIES {
            (state.counted.flows().map(|(name, flow)| (name.clone(), flow.clone())).collect(), 0)
        } else {
            let merged = streams
                .iter()
                .map(|(stream, flow)| (FlowName { stream: stream.clone(), target: String::new() }, flow.clone()));
            (merged.collect(), of_flows)
        };
        let left_out = left_out + state.counted.flows_left_out() * (8 + 2 * thresholds);
        Metrics { state, flows, streams, left_out, push_dropped }
    }

    /// The figures of the whole run.
    pub(crate) fn run_figures(&self) -> Vec<RunFigure> {
        let newest = self.state.newest_moment();
        let slices = self.state.judged.as_ref().map_or(0, |judged| judged.slice_count());
        let figure = |name, help, value| RunFigure { name, help, value };
        vec![
            figure("assay_slice", "The number of slices so far, with the one that is open", slices as f64),
            figure(
                "assay_elapsed_seconds",
                "Measured time of the step so far",
                newest.map_or(0.0, |moment| moment.measured_ns as f64 / 1e9),
            ),
            figure(
                "assay_planned_seconds",
                "Measured time that is planned for the step",
                newest.map_or(0.0, |moment| moment.planned_ns as f64 / 1e9),
            ),
            figure("assay_log_age_seconds", "Time since the log was written to", self.state.log_age().as_secs_f64()),
            figure(
                "assay_log_line",
                "The number of the newest line of the log that these figures are of",
                self.state.seq as f64,
            ),
            figure(
                "assay_series_left_out",
                "Series of targets that are left out, because there are too many of them",
                self.left_out as f64,
            ),
        ]
    }

    /// The verdicts, and whether each of them is certain.
    pub(crate) fn verdicts(&self) -> Vec<(Verdict, bool)> {
        let certain = self.state.standing.verdict();
        let all = [Verdict::Pass, Verdict::Fail, Verdict::Invalid, Verdict::Incomplete];
        all.into_iter().map(|verdict| (verdict, certain == Some(verdict))).collect()
    }
}

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Encoded {
        let mut out = Families { encoder, metrics: self };
        if let Some(head) = &self.state.head {
            out.write_run(head)?;
            out.write_counters()?;
            out.write_errors()?;
            out.open_operations()?;
            out.exact_shares(head)?;
            out.write_histograms(head)?;
        }
        out.write_criteria()?;
        out.single_figures()
    }
}

/// Writes one family of series after another.
struct Families<'m, 'e> {
    encoder: DescriptorEncoder<'e>,
    metrics: &'m Metrics,
}

impl<'m> Families<'m, '_> {
    fn write_run(&mut self, head: &RunHead) -> Encoded {
        let run = &head.run;
        let seed = run.seed.to_string();
        let labels: Labels<'_> = vec![
            ("name", &run.name),
            ("load", &run.load),
            ("seed", &seed),
            ("tool", &run.tool),
            ("plan", &run.plan),
            ("model", &run.model),
        ];
        let mut family =
            self.encoder.encode_descriptor("assay_run", "The run that is followed", None, MetricType::Info)?;
        family.encode_info(&labels)?;
        let state: &'m Published = &self.metrics.state;
        let newest = state.newest_moment().map_or("", |moment| head.phase_name(moment.phase));
        let mut family = self.begin_gauge("assay_phase", "The phase of the newest interval has the value 1")?;
        for phase in &head.phases {
            let labels: Labels<'_> = vec![("phase", &phase.name)];
            gauge_of(&mut family, &labels, i64::from(phase.name == newest))?;
        }
        Ok(())
    }

    fn write_counters(&mut self) -> Encoded {
        for (name, help, figure) in COUNTERS {
            let mut family = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (flow, counts) in &self.metrics.flows {
                counter_of(&mut family, &labels_of(flow), figure(counts))?;
            }
        }
        Ok(())
    }

    fn write_errors(&mut self) -> Encoded {
        let mut family = self.encoder.encode_descriptor(FAILED.0, FAILED.1, None, MetricType::Counter)?;
        for (flow, counts) in &self.metrics.flows {
            for (error, n) in &counts.errors {
                let mut labels = labels_of(flow);
                labels.push(("error", error));
                counter_of(&mut family, &labels, *n)?;
            }
        }
        Ok(())
    }

    fn open_operations(&mut self) -> Encoded {
        let metrics: &'m Metrics = self.metrics;
        for (name, help, figure) in GAUGES {
            let mut family = self.begin_gauge(name, help)?;
            for (flow, counts) in &metrics.flows {
                gauge_of(&mut family, &labels_of(flow), i64::try_from(figure(counts)).unwrap_or(i64::MAX))?;
            }
        }
        Ok(())
    }

    fn exact_shares(&mut self, head: &RunHead) -> Encoded {
        let bounds_ns = self.metrics.state.counted.bounds_ns();
        for (name, help, times) in EXACT {
            let mut family = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (flow, counts) in &self.metrics.flows {
                for threshold in &head.thresholds {
                    let over = times(counts).count_over(bounds_ns, threshold.as_ns());
                    let text = threshold.to_string();
                    let mut labels = labels_of(flow);
                    labels.push(("threshold", &text));
                    over.map_or(Ok(()), |over| counter_of(&mut family, &labels, over))?;
                }
            }
        }
        Ok(())
    }

    fn write_histograms(&mut self, head: &RunHead) -> Encoded {
        let counted = &self.metrics.state.counted;
        let bounds = histogram_bounds(counted, &head.judged_thresholds);
        for (name, help, times) in HISTOGRAMS {
            let mut family = self.encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
            for (stream, counts) in &self.metrics.streams {
                let times = times(counts);
                let labels: Labels<'_> = vec![("stream", stream)];
                let buckets = buckets_between(times, counted.bounds_ns(), &bounds);
                let sum = times.sum_ns as f64 / 1e9;
                family.encode_family(&labels)?.encode_histogram::<NoLabelSet>(
                    sum,
                    times.total_count(),
                    &buckets,
                    None,
                )?;
            }
        }
        Ok(())
    }

    fn write_criteria(&mut self) -> Encoded {
        let metrics: &'m Metrics = self.metrics;
        let Some(judged) = &metrics.state.judged else { return Ok(()) };
        let criteria = judged.measured_criteria();
        let of_shares = || criteria.iter().filter(|criterion| criterion.bound.is_some());
        for (name, help, is_bound) in [
            (
                "assay_criterion_measured_ratio",
                "The largest share in a window so far, for criteria that bound a share",
                false,
            ),
            ("assay_criterion_bound_ratio", "The bound of a criterion on a share", true),
        ] {
            let mut family = self.begin_gauge(name, help)?;
            for criterion in of_shares() {
                let labels: Labels<'_> = vec![("criterion", &criterion.criterion)];
                let value = if is_bound { criterion.bound } else { criterion.worst };
                value.map_or(Ok(()), |value| gauge_of(&mut family, &labels, value))?;
            }
        }
        Ok(())
    }

    fn single_figures(&mut self) -> Encoded {
        let metrics: &'m Metrics = self.metrics;
        let mut family = self.begin_gauge(VERDICT.0, VERDICT.1)?;
        for (verdict, is_certain) in metrics.verdicts() {
            let text = verdict.to_string();
            let labels: Labels<'_> = vec![("verdict", &text)];
            gauge_of(&mut family, &labels, i64::from(is_certain))?;
        }
        for RunFigure { name, help, value } in metrics.run_figures() {
            self.begin_gauge(name, help)?.encode_gauge(&value)?;
        }
        let mut family = self.encoder.encode_descriptor(PUSH_DROPPED.0, PUSH_DROPPED.1, None, MetricType::Counter)?;
        family.encode_counter::<NoLabelSet, u64, f64>(&metrics.push_dropped, None)
    }

    fn begin_gauge<'s>(&'s mut self, name: &'s str, help: &str) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.encoder.encode_descriptor(name, help, None, MetricType::Gauge)
    }
}

/// A figure of the whole run.
pub(crate) struct RunFigure {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) value: f64,
}

pub(crate) type Figure = fn(&FlowCounts) -> u64;
pub(crate) type TimesOf = fn(&FlowCounts) -> &TimeCounts;

pub(crate) const VERDICT: (&str, &str) =
    ("assay_verdict", "The verdict that is certain has the value 1; before the end only FAIL can be");
pub(crate) const PUSH_DROPPED: (&str, &str) =
    ("assay_push_dropped", "Messages for --otlp that were dropped, because their receiver did not take them");
pub(crate) const FAILED: (&str, &str) = ("assay_failed_operations", "Operations that failed, by the name of the error");
pub(crate) const COUNTERS: [(&str, &str, Figure); 5] = [
    ("assay_scheduled_operations", "Operations that were due", |flow| flow.scheduled),
    ("assay_issued_operations", "Operations that were handed to the device", |flow| flow.issued),
    ("assay_completed_operations", "Operations that completed in full", |flow| flow.completed),
    ("assay_short_operations", "Operations that completed with too few bytes", |flow| flow.short),
    ("assay_completed_bytes", "Bytes of the operations that completed in full", |flow| flow.bytes),
];
pub(crate) const GAUGES: [(&str, &str, Figure); 3] = [
    ("assay_in_flight_operations", "Operations in flight at the end of the newest interval", |flow| flow.in_flight),
    ("assay_waiting_operations", "Operations that were due and not handed over at that moment", |flow| flow.waiting),
    ("assay_stuck_operations", "Operations in flight for longer than the stuck limit at that moment", |flow| {
        flow.stuck
    }),
];
pub(crate) const EXACT: [(&str, &str, TimesOf); 2] = [
    ("assay_response_over", "Operations whose response was the threshold or longer, exact", |flow| {
        &flow.times.response
    }),
    ("assay_service_over", "Operations whose service was the threshold or longer, exact", |flow| &flow.times.service),
];
pub(crate) const HISTOGRAMS: [(&str, &str, TimesOf); 3] = [
    ("assay_response_seconds", "From the intended moment to completion", |flow| &flow.times.response),
    ("assay_service_seconds", "From the moment of issue to completion", |flow| &flow.times.service),
    ("assay_own_lag_seconds", "What the generator itself held operations back", |flow| &flow.times.own_lag),
];

fn labels_of(flow: &FlowName) -> Labels<'_> {
    vec![("stream", &flow.stream), ("target", &flow.target)]
}

fn counter_of<V: EncodeCounterValue>(
    family: &mut MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    value: V,
) -> Encoded {
    family.encode_family(labels)?.encode_counter::<NoLabelSet, V, f64>(&value, None)
}

fn gauge_of(family: &mut MetricEncoder<'_>, labels: &impl EncodeLabelSet, value: impl EncodeGaugeValue) -> Encoded {
    family.encode_family(labels)?.encode_gauge(&value)
}

/// The boundaries of a histogram: powers of two, and the thresholds of the criteria, as far as the log counts them.
pub(crate) fn histogram_bounds(counted: &Counted, thresholds: &[Span]) -> Vec<u64> {
    let powers = (0..POWERS).map(|power| SMALLEST_NS << power);
    let mut bounds: Vec<u64> = thresholds.iter().map(|threshold| threshold.as_ns()).chain(powers).collect();
    bounds.truncate(BOUNDARIES);
    bounds.retain(|bound| counted.bounds_ns().binary_search(bound).is_ok());
    bounds.sort_unstable();
    bounds.dedup();
    bounds
}

/// The counts below each boundary and above the one before it, and above the last.
pub(crate) fn buckets_between(times: &TimeCounts, bounds_ns: &[u64], wanted: &[u64]) -> Vec<(f64, u64)> {
    let total = times.total_count();
    let mut below_before = 0;
    let mut buckets = Vec::with_capacity(wanted.len() + 1);
    for bound in wanted {
        let below = total.saturating_sub(times.count_over(bounds_ns, *bound).unwrap_or(0));
        buckets.push(((bound - 1) as f64 / 1e9, below.saturating_sub(below_before)));
        below_before = below.max(below_before);
    }
    buckets.push((f64::INFINITY, total.saturating_sub(below_before)));
    buckets
}
