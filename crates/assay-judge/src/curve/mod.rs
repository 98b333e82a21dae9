//! Throughput against response, point by point: the knee of the curve and the overall response time.
//!
//! Plain data computed from judgements: each point is one run of the same workload at a share of a maximum. A point
//! belongs to the curve when its run is valid and delivered the load that was asked for; the others are listed and left
//! out.
//!
//! *The knee* is the point of the greatest power, throughput divided by mean response (L. Kleinrock, "Power and
//! deterministic rules of thumb for probabilistic problems in computer communications", ICC 1979): below it the
//! throughput grows by a greater factor than the response, above it by a smaller one. It needs no parameter and no
//! units, and it does not move when the curve is measured further, unlike methods that normalise to the measured range.
//! Where the power still grows at the highest point, there is no knee within the curve.
//!
//! *The overall response time* is the area under the curve of mean response over throughput, by trapezoids, divided by
//! the highest throughput: the form of the figure that SPEC SFS 2008 reports under this name. Below the lowest point,
//! the response of that point is used. Load and rules are not those of SPEC or SPC: the figure is not comparable with
//! audited results.

mod page;
mod render;

pub use page::html;
pub use render::text;

use crate::judgement::{Judgement, Outcome, StreamTotals, TargetTotals, TimesSummary};
use crate::verdict::Verdict;
use crate::words::add_new;
use assay_base::{Counted, Multiple, Share};
use serde::{Deserialize, Serialize};

/// The version of the JSON shape.
pub const SCHEMA: u32 = 1;

/// What every rendering of the overall response time says beside it.
pub(crate) const NOT_COMPARABLE: &str = "not comparable with audited results";

/// A curve, complete or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was measured.
    #[serde(flatten)]
    pub of: Measured,
    /// What the shares are shares of.
    #[serde(flatten)]
    pub scale: Scale,
    /// What limits the result.
    #[serde(flatten)]
    pub limits: Limits,
    /// The shares that were asked for, ascending.
    pub asked: Vec<Share>,
    /// The points that were run, ascending.
    pub points: Vec<Point>,
    /// What the points come to.
    #[serde(flatten)]
    pub shape: Shape,
    /// The device of the cache before the targets; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// True where all points were measured in one uninterrupted run, from the highest load to the lowest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_one_run: bool,
    /// The curve of the same workload on the same targets without the cache, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Box<Curve>>,
}

/// What a curve is a curve of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The workload's name.
    pub workload: String,
    /// The targets, as the user named them.
    pub targets: Vec<String>,
    /// The targets with what they report about themselves; absent until a run has ended, and in curves of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// The stream whose throughput and response the curve shows, over all targets.
    pub stream: String,
    /// The seed of every run.
    pub seed: u64,
    /// Checksum of what distinguishes its workload from others; absent in curves of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_blake3: Option<String>,
    /// Measured time of each run.
    pub run_ns: u64,
}

/// The load of 100 %.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// As a multiple of the workload's 1x; absent until it is found.
    pub maximum: Option<Multiple>,
    /// True where it was searched for, false where the user gave it.
    pub searched: bool,
    /// The unit in which loads are counted beside multiples, such as BSUs; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
}

/// What limits a result, over all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// `SIMULATED`, `SHORT` …
    pub watermarks: Vec<String>,
    /// In what the workload is not as the standard requires from which it is derived; absent where it is derived from none,
    /// and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<String>,
}

/// What the points of a curve come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Index of the knee in `points`; absent where the power still grows at the highest point, or where there are fewer
    /// than three points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<usize>,
    /// The overall response time; absent where no point belongs to the curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall_response_ns: Option<u64>,
}

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

/// The throughput of a point, in operations per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// That was asked for.
    #[serde(rename = "rate_asked")]
    pub asked: Option<f64>,
    /// That completed.
    #[serde(rename = "rate_achieved")]
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
    fn of(times: &TimesSummary) -> PointTimes {
        PointTimes {
            mean_ns: times.mean_ns,
            p50_ns: times.p50_ns,
            p99_ns: times.p99_ns,
            p99_9_ns: times.p99_9_ns,
            nines: times.nines.clone(),
        }
    }
}

impl Curve {
    /// Adds the run of a point; it replaces an earlier one at the same share.
    pub fn add_run(&mut self, share: Share, load: Multiple, judgement: &Judgement, directory: String) {
        add_new(&mut self.limits.watermarks, &judgement.watermarks);
        add_new(&mut self.limits.deviations, judgement.deviations());
        if !judgement.part.targets.each.is_empty() {
            self.of.devices = judgement.part.targets.each.iter().map(TargetTotals::device).collect();
        }
        if let Some(cache) = &judgement.part.targets.cache {
            self.cache = Some(cache.head.device.name.clone());
        }
        self.add(Point::of(share, load, judgement, &self.of.stream, directory));
    }

    /// Puts the curve without the cache beside this one.
    pub fn put_beside(&mut self, without: Curve) {
        add_new(&mut self.limits.watermarks, &without.limits.watermarks);
        add_new(&mut self.limits.deviations, &without.limits.deviations);
        self.beside = Some(Box::new(without));
    }

    /// This curve and the one beside it.
    fn both(&self) -> impl Iterator<Item = &Curve> {
        std::iter::once(self).chain(self.beside.as_deref())
    }

    /// Adds a point, which replaces an earlier one at the same share, and computes the curve again.
    pub fn add(&mut self, point: Point) {
        self.points.retain(|known| known.share != point.share);
        self.points.push(point);
        self.points.sort_by_key(|point| point.share.as_ppb());
        self.shape.knee = self.find_knee();
        self.shape.overall_response_ns = self.overall_response();
    }

    /// The shares that remain to be run, ascending: those that were not run, were cut short, or proved nothing.
    pub fn left(&self) -> Vec<Share> {
        let proves = |share: &Share| {
            let run = self.points.iter().find(|point| point.share == *share);
            run.is_some_and(|point| matches!(point.verdict, Verdict::Pass | Verdict::Fail))
        };
        self.asked.iter().copied().filter(|share| !proves(share)).collect()
    }

    /// Both curves, each with the words that tell it from the other; no words where there is no cache.
    fn titled(&self) -> Vec<(String, &Curve)> {
        let with = match &self.cache {
            Some(device) => format!("with the cache {device}"),
            None if self.beside.is_some() => "with the cache".to_owned(),
            None => String::new(),
        };
        let without = self.beside.as_deref().map(|curve| ("without the cache".to_owned(), curve));
        std::iter::once((with, self)).chain(without).collect()
    }

    /// INCOMPLETE while a point is missing or was cut short, otherwise the worst verdict of the points; where two
    /// curves are beside each other, the points of both count. One run that ended because a point failed has no lower
    /// points: the curve is FAIL.
    pub fn verdict(&self) -> Verdict {
        let failed = |curve: &Curve| curve.points.iter().any(|point| point.verdict == Verdict::Fail);
        let cut = |curve: &Curve| curve.points.len() < curve.asked.len() && !(curve.in_one_run && failed(curve));
        let verdicts = || self.both().flat_map(|curve| &curve.points).map(|point| point.verdict);
        let cut = self.both().any(cut) || verdicts().any(|verdict| verdict == Verdict::Incomplete);
        let worst = verdicts().max().unwrap_or(Verdict::Incomplete);
        if cut { Verdict::Incomplete } else { worst }
    }

    /// Index, throughput and mean response of the points that belong to the curve, by throughput.
    fn line(&self) -> Vec<(usize, f64, f64)> {
        let place = |(index, point): (usize, &Point)| {
            let (rate, mean) = (point.rates.achieved?, point.times.mean_ns? as f64);
            point.belongs().then_some((index, rate, mean)).filter(|_| rate > 0.0 && mean > 0.0)
        };
        let mut line: Vec<_> = self.points.iter().enumerate().filter_map(place).collect();
        line.sort_by(|a, b| a.1.total_cmp(&b.1));
        line
    }

    fn find_knee(&self) -> Option<usize> {
        let line = self.line();
        let power = |place: &&(usize, f64, f64)| place.1 / place.2;
        let knee = line.iter().max_by(|a, b| power(a).total_cmp(&power(b)))?;
        (line.len() >= 3 && line.last()?.0 != knee.0).then_some(knee.0)
    }

    fn overall_response(&self) -> Option<u64> {
        let line = self.line();
        let (first, last) = (line.first()?, line.last()?);
        let steps = line.windows(2).map(|pair| (pair[1].1 - pair[0].1) * (pair[0].2 + pair[1].2) / 2.0);
        Some(((first.1 * first.2 + steps.sum::<f64>()) / last.1).round() as u64)
    }
}

impl Point {
    /// The point of `stream` in the run that was judged.
    fn of(share: Share, load: Multiple, judgement: &Judgement, stream: &str, directory: String) -> Point {
        let part = &judgement.part;
        let built_in = part.criteria.iter().find(|criterion| criterion.asked.stream.is_none());
        let totals = totals(judgement, stream);
        Point {
            share,
            load,
            verdict: judgement.verdict,
            reason: judgement.reason.clone(),
            delivered: built_in.is_some_and(|criterion| criterion.outcome == Outcome::Pass),
            rates: Rates {
                asked: totals.and_then(|totals| totals.rate_asked),
                achieved: totals.and_then(|totals| totals.rate_achieved),
            },
            times: totals.map(|totals| PointTimes::of(&totals.response)).unwrap_or_default(),
            hit_rate: part.targets.cache.as_ref().and_then(|cache| cache.read_hit_rate),
            bytes: part.databases_bytes_at_end().or(part.databases_bytes()),
            directory,
        }
    }

    /// True when it belongs to the curve.
    pub fn belongs(&self) -> bool {
        self.delivered && matches!(self.verdict, Verdict::Pass | Verdict::Fail)
    }
}

/// The totals of a stream over all targets, or of the only one.
fn totals<'a>(judgement: &'a Judgement, stream: &str) -> Option<&'a StreamTotals> {
    if let Some(together) = judgement.part.streams.together.as_ref().filter(|together| together.name == stream) {
        return Some(together);
    }
    let mine = || judgement.part.streams.each.iter().filter(|totals| totals.name == stream);
    mine().find(|totals| totals.target.is_none()).or_else(|| mine().next())
}

#[cfg(test)]
mod tests;
