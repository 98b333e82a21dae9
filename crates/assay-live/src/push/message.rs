//! The metrics of a state as a message of OpenTelemetry: the same figures with the same names as those for Prometheus, whose receivers
//! append `_total` to the names of counters themselves.

use super::destination::WallTime;
use crate::metrics::{
    COUNTERS, EXACT, FAILED, GAUGES, HISTOGRAMS, Metrics, PUSH_DROPPED, RunFigure, VERDICT, buckets_between,
    histogram_bounds,
};
use crate::published::Published;
use crate::view::counted::{FlowName, TimeCounts};
use crate::view::head::{RunHead, RunIdentity};
use bytes::Bytes;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use std::sync::Arc;

/// The message for a state that has a head.
pub(super) fn message_for(state: Arc<Published>, push_dropped: u64, wall_time: WallTime) -> Bytes {
    let metrics = Metrics::of_state(state, push_dropped);
    let head = metrics.state.head.clone();
    let created = head.as_ref().map_or(0, |head| (wall_time.ns_in_text)(&head.run.created));
    let points = Points { start_ns: created, now_ns: (wall_time.now_ns)(), metrics: &metrics };
    let scope = InstrumentationScope { name: "assay".to_owned(), ..InstrumentationScope::default() };
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: head.as_ref().map(|head| resource_of_run(&head.run)),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics: head.as_ref().map_or_else(Vec::new, |head| points.all_metrics(head)),
                schema_url: String::new(),
            }],
            schema_url: String::new(),
        }],
    };
    Bytes::from(request.encode_to_vec())
}

/// Which run it is.
fn resource_of_run(run: &RunIdentity) -> Resource {
    let attributes = [
        ("service.name", "assay"),
        ("service.version", &run.tool),
        ("assay.run.name", &run.name),
        ("assay.run.model", &run.model),
        ("assay.run.load", &run.load),
        ("assay.run.seed", &run.seed.to_string()),
        ("assay.run.plan", &run.plan),
        ("assay.run.created", &run.created),
    ];
    let attributes = attributes.into_iter().map(|(name, value)| attribute(name, value)).collect();
    Resource { attributes, ..Resource::default() }
}

fn attribute(name: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) };
    KeyValue { key: name.to_owned(), value: Some(value), ..KeyValue::default() }
}

fn attributes_of_flow(flow: &FlowName) -> Vec<KeyValue> {
    vec![attribute("stream", &flow.stream), attribute("target", &flow.target)]
}

/// Makes points of time of figures.
struct Points<'a> {
    start_ns: u64,
    now_ns: u64,
    metrics: &'a Metrics,
}

impl Points<'_> {
    fn all_metrics(&self, head: &RunHead) -> Vec<Metric> {
        let mut all = self.counters();
        all.push(self.errors());
        all.extend(self.gauges());
        all.extend(self.exact_counters(head));
        all.extend(self.histograms(head));
        all.push(self.verdict_gauge());
        all.extend(self.metrics.run_figures().into_iter().map(|figure| self.run_gauge(&figure)));
        let dropped = vec![self.whole_point(Vec::new(), self.metrics.push_dropped)];
        all.push(sum_metric(PUSH_DROPPED.0, PUSH_DROPPED.1, "1", dropped));
        all
    }

    fn counters(&self) -> Vec<Metric> {
        let mut all = Vec::new();
        for (name, help, figure) in COUNTERS {
            let flows = self.metrics.flows.iter();
            let points = flows.map(|(flow, counts)| self.whole_point(attributes_of_flow(flow), figure(counts)));
            let unit = if name.ends_with("_bytes") { "By" } else { "1" };
            all.push(sum_metric(name, help, unit, points.collect()));
        }
        all
    }

    fn errors(&self) -> Metric {
        let mut points = Vec::new();
        for (flow, counts) in &self.metrics.flows {
            for (error, n) in &counts.errors {
                let mut attributes = attributes_of_flow(flow);
                attributes.push(attribute("error", error));
                points.push(self.whole_point(attributes, *n));
            }
        }
        sum_metric(FAILED.0, FAILED.1, "1", points)
    }

    fn gauges(&self) -> Vec<Metric> {
        let mut all = Vec::new();
        for (name, help, figure) in GAUGES {
            let flows = self.metrics.flows.iter();
            let points = flows.map(|(flow, counts)| self.whole_point(attributes_of_flow(flow), figure(counts)));
            all.push(gauge_metric(name, help, "1", points.collect()));
        }
        all
    }

    fn exact_counters(&self, head: &RunHead) -> Vec<Metric> {
        let bounds_ns = self.metrics.state.counted.bounds_ns();
        let mut all = Vec::new();
        for (name, help, times) in EXACT {
            let mut points = Vec::new();
            for (flow, counts) in &self.metrics.flows {
                for threshold in &head.thresholds {
                    let Some(over) = times(counts).count_over(bounds_ns, threshold.as_ns()) else { continue };
                    let mut attributes = attributes_of_flow(flow);
                    attributes.push(attribute("threshold", &threshold.to_string()));
                    points.push(self.whole_point(attributes, over));
                }
            }
            all.push(sum_metric(name, help, "1", points));
        }
        all
    }

    fn histograms(&self, head: &RunHead) -> Vec<Metric> {
        let bounds = histogram_bounds(&self.metrics.state.counted, &head.judged_thresholds);
        let mut all = Vec::new();
        for (name, help, times) in HISTOGRAMS {
            let streams = self.metrics.streams.iter();
            let points = streams.map(|(stream, counts)| self.histogram_point(stream, times(counts), &bounds));
            let data = Histogram {
                data_points: points.collect(),
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
            };
            all.push(metric_of(name, help, "s", metric::Data::Histogram(data)));
        }
        all
    }

    /// A bucket includes its upper boundary and excludes the lower one, as those of Prometheus.
    fn histogram_point(&self, stream: &str, times: &TimeCounts, bounds: &[u64]) -> HistogramDataPoint {
        let buckets = buckets_between(times, self.metrics.state.counted.bounds_ns(), bounds);
        HistogramDataPoint {
            attributes: vec![attribute("stream", stream)],
            start_time_unix_nano: self.start_ns,
            time_unix_nano: self.now_ns,
            count: times.total_count(),
            sum: Some(times.sum_ns as f64 / 1e9),
            bucket_counts: buckets.iter().map(|bucket| bucket.1).collect(),
            // The last one has no upper boundary.
            explicit_bounds: buckets.iter().map(|bucket| bucket.0).filter(|bound| bound.is_finite()).collect(),
            ..HistogramDataPoint::default()
        }
    }

    fn verdict_gauge(&self) -> Metric {
        let verdicts = self.metrics.verdicts().into_iter();
        let points = verdicts.map(|(verdict, is_certain)| {
            self.whole_point(vec![attribute("verdict", &verdict.to_string())], u64::from(is_certain))
        });
        gauge_metric(VERDICT.0, VERDICT.1, "1", points.collect())
    }

    fn run_gauge(&self, figure: &RunFigure) -> Metric {
        let unit = if figure.name.ends_with("_seconds") { "s" } else { "1" };
        let point = self.point(Vec::new(), number_data_point::Value::AsDouble(figure.value));
        gauge_metric(figure.name, figure.help, unit, vec![point])
    }

    fn whole_point(&self, attributes: Vec<KeyValue>, value: u64) -> NumberDataPoint {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.point(attributes, number_data_point::Value::AsInt(value))
    }

    fn point(&self, attributes: Vec<KeyValue>, value: number_data_point::Value) -> NumberDataPoint {
        NumberDataPoint {
            attributes,
            start_time_unix_nano: self.start_ns,
            time_unix_nano: self.now_ns,
            value: Some(value),
            ..NumberDataPoint::default()
        }
    }
}

fn sum_metric(name: &str, help: &str, unit: &str, data_points: Vec<NumberDataPoint>) -> Metric {
    let aggregation_temporality = AggregationTemporality::Cumulative.into();
    metric_of(name, help, unit, metric::Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic: true }))
}

fn gauge_metric(name: &str, help: &str, unit: &str, data_points: Vec<NumberDataPoint>) -> Metric {
    metric_of(name, help, unit, metric::Data::Gauge(Gauge { data_points }))
}

fn metric_of(name: &str, help: &str, unit: &str, data: metric::Data) -> Metric {
    Metric {
        name: name.to_owned(),
        description: help.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}
