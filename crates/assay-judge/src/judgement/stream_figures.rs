//! What the streams of a step did: each by itself, all together, in each phase, and per minute.

use crate::judgement::answer::AnswerFigures;
use crate::judgement::database::PerMinuteFigures;
use crate::judgement::loops::LoopFigures;
use crate::judgement::phases::PhaseFigures;
use crate::judgement::streams::StreamTotals;
use crate::judgement::throughput::{Throughput, counts_among_all};
use serde::{Deserialize, Serialize};

/// The figures of the streams of a step over all measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamFigures {
    /// Figures per minute, where the log names some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_minute: Vec<PerMinuteFigures>,
    /// One entry for each stream on each target, and one over all targets together (`target` absent) where there are several.
    #[serde(rename = "streams")]
    pub each: Vec<StreamTotals>,
    /// The operations of all streams together, where a criterion is about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<StreamTotals>,
    /// Groups of streams that the plan names, such as the copies of a job: their operations together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<StreamTotals>,
    /// The closed loops, where the log counts what their slots do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopFigures>,
    /// All streams that move data together, where some of them did not run for all of the measured time. Absent where
    /// they all did: then it is the sum of their rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// Each measured phase, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseFigures>,
    /// The percentile by which the step answers the header's `question`; absent where nothing is asked, or known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<AnswerFigures>,
}

impl StreamFigures {
    /// The groups with their indices, without one that is shown already: that of all streams, where a criterion is about
    /// all of them.
    pub fn groups_beside_all(&self) -> impl Iterator<Item = (usize, &StreamTotals)> {
        self.groups
            .iter()
            .enumerate()
            .filter(move |(_, totals)| self.together.as_ref().is_none_or(|all| all.name != totals.name))
    }

    /// The streams over all their targets: for each the entry of all targets together, or its only entry.
    pub(crate) fn streams_over_all_targets(&self) -> impl Iterator<Item = &StreamTotals> {
        self.each.iter().filter(move |stream| {
            stream.target.is_none()
                || self.each.iter().filter(|other| other.name == stream.name).count() == 1
                    && !self.is_counted_twice(stream)
        })
    }

    /// What the operations of all streams listed. Sequences have no items: their operations do.
    pub(crate) fn listed_items(&self) -> u64 {
        self.streams_over_all_targets().fold(0, |sum, totals| sum.saturating_add(totals.counts.items))
    }

    /// Whether its operations are reads or writes, so that they have bytes.
    pub(crate) fn moves_bytes(&self) -> bool {
        self.each.iter().any(|stream| stream.direction.parse::<assay_base::Direction>().is_ok())
    }

    /// Whether a stream is the part of another one on one device, as a log of ACT names it: `/dev/sdb-reads` beside
    /// `reads`.
    fn is_counted_twice(&self, stream: &StreamTotals) -> bool {
        let whole_name =
            stream.target.as_ref().and_then(|target| stream.name.strip_prefix(target.as_str())?.strip_prefix('-'));
        whole_name.is_some_and(|whole| self.each.iter().any(|other| other.name == whole))
    }

    /// Operations and bytes per second of all streams together, over the time in which any of them ran; `None` where
    /// no time was measured. See [`counts_among_all`] for those that are not among them.
    pub(crate) fn total_throughput(&self) -> Option<(f64, f64)> {
        self.total_rates(|totals| counts_among_all(&totals.direction))
    }

    /// The same of the streams that `counts` names. A stream that ran for a part of that time contributes its operations
    /// and not its rate, so that what ran one after another is never added.
    pub(crate) fn total_rates(&self, counts: impl Fn(&StreamTotals) -> bool) -> Option<(f64, f64)> {
        let counted = || self.streams_over_all_targets().filter(|totals| counts(totals));
        let operations_per_second = counted()
            .filter_map(|totals| Some(totals.rate_achieved? * self.share_of_time(totals)))
            .reduce(|a, b| a + b)?;
        Some((
            operations_per_second,
            counted().filter_map(|totals| Some(totals.bytes_per_second()? * self.share_of_time(totals))).sum(),
        ))
    }

    /// Adds the throughput, if some stream did not run for all of the measured time. `ran_ns` is for how much of it any
    /// of them ran that moves data.
    pub(crate) fn with_throughput(mut self, ran_ns: u64) -> StreamFigures {
        if self.each.iter().any(|totals| totals.ran_ns.is_some()) {
            // The rates of the streams are added over this time.
            self.throughput = Some(Throughput { ran_ns, ..Throughput::default() });
            self.throughput = self.total_throughput().map(|(operations_per_second, bytes_per_second)| Throughput {
                ran_ns,
                operations_per_second,
                bytes_per_second,
            });
        }
        self
    }

    /// For which share of the time in which any stream ran a stream did (0 to 1).
    fn share_of_time(&self, totals: &StreamTotals) -> f64 {
        match (totals.ran_ns, &self.throughput) {
            (Some(own_ns), Some(together)) if together.ran_ns > 0 => own_ns as f64 / together.ran_ns as f64,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_device_did_of_a_stream_is_not_added_to_it() {
        let stream = |name: &str, target: Option<&str>, rate: f64| StreamTotals {
            name: name.to_owned(),
            target: target.map(str::to_owned),
            rate_achieved: Some(rate),
            ..StreamTotals::default()
        };
        let all = |each| StreamFigures { each, ..StreamFigures::default() };
        // As this program and ACT's logs record several targets, with a stream that exists on only one of them.
        let ours = vec![stream("r", None, 40.0), stream("r", Some("a"), 15.0), stream("r", Some("b"), 25.0)];
        let acts = vec![stream("r", Some("all"), 40.0), stream("a-r", Some("a"), 15.0), stream("b-r", Some("b"), 25.0)];
        let one = vec![stream("r", None, 30.0), stream("r", Some("a"), 15.0), stream("log", Some("b"), 10.0)];
        let rate = |streams| all(streams).total_throughput().map(|(rate, _)| rate);
        assert_eq!([rate(ours), rate(acts), rate(one), rate(Vec::new())], [Some(40.0), Some(40.0), Some(40.0), None]);
        // A stream of its own whose name only looks like a part.
        assert_eq!(rate(vec![stream("w", None, 1.0), stream("a-r", Some("a"), 2.0)]), Some(3.0));
        let flushes = StreamTotals { direction: "flush".to_owned(), ..stream("f", None, 7.0) };
        assert_eq!(rate(vec![stream("w", None, 1.0), flushes]), Some(1.0), "a flush is no operation on data");
    }
}
