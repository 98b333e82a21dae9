//! What the intervals of a run say while it runs: which phase it is in, how much time is left, and how the load fares.

use assay_base::{Criterion, Direction, Span};
use assay_model::plan::READ_BACK;
use assay_record::{FlowInterval, Header, Interval, PhaseKind, Thresholds, Timing};

/// Name of the phase after the measured ones.
pub(super) const READING_BACK: &str = "reading back";

/// The run that is shown, as far as its log has said it.
#[derive(Debug)]
pub(super) struct Running {
    head: Header,
    thresholds: Thresholds,
    total: Span,
    phases: Vec<Phase>,
    /// Bytes written so far.
    pub(super) written: u64,
    /// Bytes read back so far.
    pub(super) read_back: u64,
}

/// A phase of the run, with the time at which it ends.
#[derive(Debug)]
struct Phase {
    end: Span,
    name: &'static str,
}

impl Running {
    /// A run with this header, before its first interval.
    pub(super) fn new(head: &Header) -> Running {
        let mut end = Span::ZERO;
        let phases = head.phases.iter().map(|phase| {
            end = end + Span::from_ns(phase.span_ns);
            let name = match phase.kind {
                _ if phase.name == READ_BACK => READING_BACK,
                PhaseKind::WarmUp => "warming up",
                PhaseKind::Measure => "measuring",
            };
            Phase { end, name }
        });
        let phases: Vec<Phase> = phases.collect();
        let thresholds = Thresholds::from_bounds(head.thresholds_ns.clone());
        Running { head: head.clone(), thresholds, total: end, phases, written: 0, read_back: 0 }
    }

    /// The time that all phases take together.
    pub(super) fn planned_time(&self) -> Span {
        self.total
    }

    /// Takes in the interval that has just ended.
    pub(super) fn observe_interval(&mut self, interval: &Interval) {
        self.count_operations(interval);
        self.catch_up(interval);
    }

    /// A phase that waited may have ended before its limit: then less remains.
    fn catch_up(&mut self, interval: &Interval) {
        let before = usize::from(interval.phase).checked_sub(1).and_then(|index| self.phases.get(index));
        let begun = self.time_done(interval).saturating_sub(Span::from_ns(self.head.interval_ns));
        let early = before.map_or(Span::ZERO, |phase| phase.end.saturating_sub(begun));
        if !early.is_zero() {
            self.total = self.total.saturating_sub(early);
            self.phases.iter_mut().for_each(|phase| phase.end = phase.end.saturating_sub(early));
        }
    }

    /// Planned time that has passed with this interval.
    pub(super) fn time_done(&self, interval: &Interval) -> Span {
        let intervals = interval.index + 1;
        Span::from_ns(self.head.interval_ns.saturating_mul(intervals))
    }

    fn count_operations(&mut self, interval: &Interval) {
        let reads_back = self.phases.get(usize::from(interval.phase)).is_some_and(|phase| phase.name == READING_BACK);
        for (head, flow) in self.head.flows.iter().zip(&interval.flows) {
            match self.head.streams.get(usize::from(head.stream)).and_then(|stream| stream.direction) {
                Some(Direction::Write) => self.written = self.written.saturating_add(flow.bytes),
                Some(Direction::Read) if reads_back => self.read_back = self.read_back.saturating_add(flow.bytes),
                _ => {}
            }
        }
    }

    /// The name of the phase that the interval belongs to.
    pub(super) fn phase_name(&self, interval: &Interval) -> &'static str {
        let phase = self.phases.get(usize::from(interval.phase)).map_or("", |phase| phase.name);
        if phase != READING_BACK && self.time_done(interval) > self.total {
            return "draining";
        }
        phase
    }

    /// The figures of an interval, the most important first, because the last is left out if a line has no room: failures and
    /// lag; then the asked and the achieved rate, and the first stream's share over its smallest threshold and its 99th
    /// percentile.
    pub(super) fn interval_figures(&self, interval: &Interval) -> Vec<String> {
        let parts = [
            self.failures_in_words(interval),
            self.lag_in_words(interval),
            Some(self.rate_in_words(interval)),
            self.share_over_threshold(interval),
            self.response_in_words(interval),
        ];
        parts.into_iter().flatten().collect()
    }

    fn failures_in_words(&self, interval: &Interval) -> Option<String> {
        let failed =
            sum_over_flows(interval, |flow| flow.errors.values().fold(flow.short, |sum, n| sum.saturating_add(*n)));
        (failed > 0).then(|| format!("FAILED {failed}"))
    }

    fn lag_in_words(&self, interval: &Interval) -> Option<String> {
        Some(format!(
            "lag p99 <= {}",
            self.percentile_99(&self.stream_counts(interval, |flow| &flow.lag))?.human_text()
        ))
    }

    fn rate_in_words(&self, interval: &Interval) -> String {
        let seconds = Span::from_ns(interval.end_ns.saturating_sub(interval.start_ns)).as_secs_f64().max(1e-9);
        let (done, scheduled) =
            (sum_over_flows(interval, |flow| flow.ok), sum_over_flows(interval, |flow| flow.scheduled));
        format!("{:.0}/s of {:.0}/s", done as f64 / seconds, scheduled as f64 / seconds)
    }

    fn share_over_threshold(&self, interval: &Interval) -> Option<String> {
        let name = self.shown_stream();
        let mine = self.head.criteria.iter().filter(|criterion| criterion.stream == name);
        let threshold = mine.filter_map(Criterion::counted_threshold).min()?;
        let response = self.stream_counts(interval, |flow| &flow.response);
        let (over, all) = (self.thresholds.count_over(&response, threshold)?, total_count(&response));
        (all > 0).then(|| format!("over {threshold}: {:.2} %", over as f64 * 100.0 / all as f64))
    }

    fn response_in_words(&self, interval: &Interval) -> Option<String> {
        let p99 = self.percentile_99(&self.stream_counts(interval, |flow| &flow.response))?;
        Some(format!("{} p99 <= {}", self.shown_stream(), p99.human_text()))
    }

    /// Name of the stream that is shown: that of the first criterion, or the first stream.
    fn shown_stream(&self) -> String {
        let first = self.head.streams.first().map(|stream| &stream.name);
        self.head.criteria.first().map(|criterion| &criterion.stream).or(first).cloned().unwrap_or_default()
    }

    /// Counts of the shown stream over all targets.
    fn stream_counts(&self, interval: &Interval, of: fn(&FlowInterval) -> &Timing) -> Vec<u64> {
        let name = self.shown_stream();
        let stream = self.head.streams.iter().position(|stream| stream.name == name).unwrap_or(0);
        let mut dense = vec![0; self.thresholds.bucket_count()];
        let flows = self.head.flows.iter().zip(&interval.flows);
        for (_, flow) in flows.filter(|(head, _)| usize::from(head.stream) == stream) {
            // A log that is followed may contain anything; the judge reports that.
            let _ = Timing::add_to(&of(flow).counts, &mut dense);
        }
        dense
    }

    /// The boundary below which 99 % of the operations lie.
    fn percentile_99(&self, counts: &[u64]) -> Option<Span> {
        let all = total_count(counts);
        let rank = all - all / 100;
        let mut below = 0u64;
        let bucket = counts.iter().position(|n| {
            below = below.saturating_add(*n);
            below >= rank
        })?;
        (all > 0).then(|| Span::from_ns(self.thresholds.bounds_ns().get(bucket).copied().unwrap_or(u64::MAX)))
    }
}

fn sum_over_flows(interval: &Interval, of: impl Fn(&FlowInterval) -> u64) -> u64 {
    interval.flows.iter().map(of).fold(0, u64::saturating_add)
}

fn total_count(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, n| sum.saturating_add(*n))
}
