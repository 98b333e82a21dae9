//! Throughput against response, point by point: the knee of the curve and the overall response time.
//!
//! Plain data computed from judgements: each point is one run of the same workload at a share of a maximum. A point
//! belongs to the curve when its run is valid and delivered the load that was asked for; the others are listed and left
//! out.

mod page;
mod point;
mod reason;
mod render;
mod shape;

pub use page::write_html;
pub use point::{Point, PointTimes, Rates, StreamRates};
pub use render::write_text;
pub use shape::Shape;

use crate::judgement::{Judgement, TargetTotals};
use crate::limit;
use crate::procedure::{self, Aside, Evidence};
use crate::verdict::Verdict;
use crate::words::add_new;
use assay_base::{Counted, Multiple, Share};
use serde::{Deserialize, Serialize};
use shape::Place;

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
    /// What failed, and which runs were repeated.
    #[serde(flatten)]
    pub aside: Aside,
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
    /// How the search ended, where it found no maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_maximum: Option<limit::Outcome>,
    /// The unit in which loads are counted beside multiples, such as BSUs; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
}

/// What limits a result, over all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// `SIMULATED`, `SHORT` …
    pub watermarks: Vec<String>,
    /// The ways in which the workload deviates from the standard that it is derived from; absent where it is derived from none,
    /// and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<String>,
}

impl Curve {
    /// Puts the run of a point in the place of what was known of it.
    pub fn add_run(&mut self, share: Share, load: Multiple, judgement: &Judgement, directory: String) {
        self.limited_by(judgement);
        self.set_point(Point::new(share, load, judgement, &self.of.stream, directory));
    }

    /// Puts the run that has all points in the place of what was known of them. `loads` are the shares and loads of its phases
    /// in their order, and `phases` the judgements of the same phases.
    pub fn add_ramp(&mut self, loads: &[(Share, Multiple)], whole: &Judgement, phases: &[Judgement], directory: &str) {
        self.limited_by(whole);
        self.points.clear();
        // The log has one rate for all points, their mean, because each point takes the same time.
        let sum: f64 = loads.iter().map(|(share, _)| share.as_ppb() as f64).sum();
        for ((share, load), phase) in loads.iter().zip(phases) {
            // If the targets do not take a load, the run ends: there are no lower points.
            if whole.verdict == Verdict::Fail && phase.part.time.measured_ns == 0 {
                continue;
            }
            let times = share.as_ppb() as f64 * loads.len() as f64 / sum;
            let point = Point::new(*share, *load, phase, &self.of.stream, directory.to_owned());
            self.set_point(point.asked_times(times));
        }
    }

    /// Takes what limits a run, and what its targets are.
    fn limited_by(&mut self, judgement: &Judgement) {
        add_new(&mut self.limits.watermarks, &judgement.watermarks);
        add_new(&mut self.limits.deviations, judgement.workload_deviations());
        if !judgement.part.targets.each.is_empty() {
            self.of.devices = judgement.part.targets.each.iter().map(TargetTotals::device_description).collect();
        }
        if let Some(cache) = &judgement.part.targets.cache {
            self.cache = Some(cache.head.device.name.clone());
        }
    }

    /// Puts the curve without the cache beside this one.
    pub fn put_beside(&mut self, without: Curve) {
        add_new(&mut self.limits.watermarks, &without.limits.watermarks);
        add_new(&mut self.limits.deviations, &without.limits.deviations);
        self.beside = Some(Box::new(without));
    }

    /// This curve and the one beside it.
    fn both_curves(&self) -> impl Iterator<Item = &Curve> {
        std::iter::once(self).chain(self.beside.as_deref())
    }

    /// Adds a point in the place of the one at the same share, and computes the curve again. Whether a run may take that
    /// place is decided by [`procedure::Attempts`].
    pub fn set_point(&mut self, point: Point) {
        self.points.retain(|known| known.share != point.share);
        self.points.push(point);
        self.points.sort_by_key(|point| point.share.as_ppb());
        self.shape = Shape::new(&self.places_on_curve());
    }

    /// The points that belong to the curve, by throughput.
    fn places_on_curve(&self) -> Vec<Place> {
        let mut line = Vec::new();
        for (index, point) in self.points.iter().enumerate().filter(|(_, point)| point.belongs()) {
            if let (Some(rate), Some(mean_ns)) = (point.rates.achieved, point.times.mean_ns)
                && rate > 0.0
                && mean_ns > 0
            {
                line.push(Place { index, rate, mean_ns: mean_ns as f64 });
            }
        }
        line.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        line
    }

    /// The runs that it has, each with its share.
    pub fn known_runs(&self) -> impl Iterator<Item = (Share, Evidence)> {
        self.points
            .iter()
            .map(move |point| (point.share, self.aside.evidence_of_run(&point.directory, point.verdict, &point.reason)))
    }

    /// Both curves, each with the words that tell it from the other; no words where there is no cache.
    fn titled_curves(&self) -> Vec<(String, &Curve)> {
        let with = match &self.cache {
            Some(device) => format!("with the cache {device}"),
            None if self.beside.is_some() => "with the cache".to_owned(),
            None => String::new(),
        };
        let without = self.beside.as_deref().map(|curve| ("without the cache".to_owned(), curve));
        std::iter::once((with, self)).chain(without).collect()
    }

    /// Whether every point was measured to its end; a second curve needs that.
    pub fn is_whole(&self) -> bool {
        self.scale.maximum.is_some()
            && self.points.len() == self.asked.len()
            && !self.points.iter().any(|point| point.verdict == Verdict::Incomplete)
    }

    /// Whether there is something left to measure, so that the curve can be continued. A search that ended without a maximum
    /// cannot, and neither can one run through all points that failed before its end: it is not repeated.
    pub fn is_cut_short(&self) -> bool {
        self.both_curves().any(has_something_left)
    }

    /// FAIL where a point failed or anything else did, or where not even the lowest load of the search passed; INCOMPLETE
    /// while a point is missing; otherwise the worst verdict of the points. Where two curves are beside each other, both
    /// count.
    pub fn verdict(&self) -> Verdict {
        let verdicts: Vec<Verdict> = self.both_curves().map(verdict_of_one).collect();
        procedure::verdict_of_points(
            verdicts.iter().copied(),
            verdicts.contains(&Verdict::Incomplete),
            &Aside::default(),
        )
    }
}

/// The verdict of one curve, without the one beside it.
fn verdict_of_one(curve: &Curve) -> Verdict {
    match &curve.scale.without_maximum {
        Some(outcome) => outcome.verdict(),
        None => {
            let points = curve.points.iter().map(|point| point.verdict);
            procedure::verdict_of_points(points, curve.points.len() < curve.asked.len(), &curve.aside)
        }
    }
}

/// Whether one curve, without the one beside it, has something left to measure.
fn has_something_left(curve: &Curve) -> bool {
    let failed = curve.points.iter().any(|point| point.verdict == Verdict::Fail);
    let decided = curve.in_one_run && (failed || !curve.aside.failures.is_empty());
    match &curve.scale.without_maximum {
        Some(outcome) => outcome.verdict() == Verdict::Incomplete,
        None => !curve.is_whole() && !decided,
    }
}

#[cfg(test)]
mod tests;
