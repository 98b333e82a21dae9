//! One point of a curve: what a run, or a phase of a run, came to.

use crate::judgement::{Judgement, Outcome, StreamTotals, TimesSummary};
use crate::verdict::Verdict;
use assay_base::{Multiple, Share};
use serde::{Deserialize, Serialize};

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The share of the maximum.
    pub share: Share,
    /// The same as a multiple of the workload's 1x.
    pub load: Multiple,
    /// The verdict of the run.
    pub verdict: Verdict,
    /// Its reason.
    pub reason: String,
    /// True when the load that was asked for was delivered, so that the point belongs to the curve.
    pub delivered: bool,
    /// Its throughput.
    #[serde(flatten)]
    pub rates: Rates,
    /// The throughput of each stream, where there are several; absent in curves of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamRates>,
    /// Its response.
    #[serde(flatten)]
    pub times: PointTimes,
    /// Share of the blocks that reads asked for which were in the cache before the targets, 0 to 1; absent where there was no
    /// cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_rate: Option<f64>,
    /// The size of the databases that were the targets, in bytes, when the run ended; when it began, where the size at the end
    /// is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Directory of its log, below the directory of the curve.
    pub directory: String,
}

/// The throughput of a point, in operations per second. What was asked for and what completed are of the curve's stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// The rate that was asked for.
    #[serde(rename = "rate_asked")]
    pub asked: Option<f64>,
    /// The rate that completed.
    #[serde(rename = "rate_achieved")]
    pub achieved: Option<f64>,
    /// The rate that completed of all streams together, flushes left out; absent where there is one stream, and in curves of earlier versions.
    #[serde(default, rename = "rate_together", skip_serializing_if = "Option::is_none")]
    pub together: Option<f64>,
}

/// The throughput of one stream at a point, in operations per second over all targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamRates {
    /// The stream.
    pub name: String,
    /// The rate that was asked for; absent for a closed loop.
    #[serde(default, rename = "rate_asked", skip_serializing_if = "Option::is_none")]
    pub asked: Option<f64>,
    /// The rate that completed.
    #[serde(default, rename = "rate_achieved", skip_serializing_if = "Option::is_none")]
    pub achieved: Option<f64>,
}

/// The response of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PointTimes {
    /// Mean in nanoseconds.
    pub mean_ns: Option<u64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p99_9_ns: Option<u64>,
    /// Quantiles: `[share not above, nanoseconds]`, ascending; absent in curves of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nines: Vec<(f64, u64)>,
}

impl PointTimes {
    fn new(times: &TimesSummary) -> PointTimes {
        PointTimes {
            mean_ns: times.mean_ns,
            p50_ns: times.p50_ns,
            p99_ns: times.p99_ns,
            p99_9_ns: times.p99_9_ns,
            nines: times.nines.clone(),
        }
    }
}

impl Point {
    /// The point of `stream` in the run that was judged.
    pub(super) fn new(share: Share, load: Multiple, judgement: &Judgement, stream: &str, directory: String) -> Point {
        let part = &judgement.part;
        let built_in = part.criteria.iter().find(|criterion| criterion.asked.stream.is_none());
        let (totals, streams) = (totals_of_stream(judgement, stream), stream_rates(judgement));
        let together = part.streams.total_throughput().map(|(rate, _)| rate).filter(|_| !streams.is_empty());
        Point {
            share,
            load,
            verdict: judgement.verdict,
            reason: judgement.reason.clone(),
            delivered: built_in.is_some_and(|criterion| criterion.outcome == Outcome::Pass),
            rates: Rates {
                asked: totals.and_then(|totals| totals.rate_asked),
                achieved: totals.and_then(|totals| totals.rate_achieved),
                together,
            },
            streams,
            times: totals.map(|totals| PointTimes::new(&totals.response)).unwrap_or_default(),
            hit_rate: part.targets.cache.as_ref().and_then(|cache| cache.read_hit_rate),
            bytes: part.databases_bytes_at_end().or(part.databases_bytes()),
            directory,
        }
    }

    /// The same where the log has one rate for several phases: `times` that rate is what this phase asks for.
    pub(super) fn asked_times(mut self, times: f64) -> Point {
        self.rates.asked = self.rates.asked.map(|rate| rate * times);
        for stream in &mut self.streams {
            stream.asked = stream.asked.map(|rate| rate * times);
        }
        self
    }

    /// True when it belongs to the curve.
    pub fn belongs(&self) -> bool {
        self.delivered && matches!(self.verdict, Verdict::Pass | Verdict::Fail)
    }
}

/// The totals of a stream over all targets, or of the only one.
fn totals_of_stream<'a>(judgement: &'a Judgement, stream: &str) -> Option<&'a StreamTotals> {
    if let Some(together) = judgement.part.streams.together.as_ref().filter(|together| together.name == stream) {
        return Some(together);
    }
    let mine = || judgement.part.streams.each.iter().filter(|totals| totals.name == stream);
    mine().find(|totals| totals.target.is_none()).or_else(|| mine().next())
}

/// The throughput of each stream over all its targets, where there are several streams.
fn stream_rates(judgement: &Judgement) -> Vec<StreamRates> {
    let rates = judgement.part.streams.streams_over_all_targets().map(|totals| StreamRates {
        name: totals.name.clone(),
        asked: totals.rate_asked,
        achieved: totals.rate_achieved,
    });
    let rates: Vec<StreamRates> = rates.collect();
    if rates.len() > 1 { rates } else { Vec::new() }
}
