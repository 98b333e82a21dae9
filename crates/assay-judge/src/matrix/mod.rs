//! Small and large operations at every combination of numbers in flight, point by point, as a map.
//!
//! Plain data computed from judgements: each point is one run with a given number of small and of large operations in
//! flight. A point that proves nothing, or that the generator distorted, says nothing about the target: it is kept with
//! its reason and has no figure on the map.
//!
//! The generator distorted a point if it did not keep the number of operations in flight that was asked for. By
//! Little's law (1961), the mean number in flight is the rate of the operations times their mean service time. It also
//! distorted the point if its workers had no rest, because then a completion may have been found later than it came.

mod map;
mod page;
mod render;

pub use page::write_html;
pub use render::write_text;

use crate::judgement::{
    GeneratorFigures, Judgement, StepFigures, StreamFigures, StreamTotals, TargetTotals, TimesSummary,
};
use crate::procedure::{self, Aside, Evidence};
use crate::verdict::Verdict;
use crate::words::add_new;
use assay_base::Share;
use serde::{Deserialize, Serialize};

/// The version of the JSON shape.
pub const SCHEMA: u32 = 1;
/// Streams whose names begin with this are the small operations.
pub const SMALL: &str = "small";
/// Streams whose names begin with this are the large operations.
pub const LARGE: &str = "large";
/// Workers that were busy for this share of their time, or a larger one, had no rest.
const NO_REST: f64 = 0.95;
/// The share of the operations asked for that must be in flight in the mean.
const IN_FLIGHT: f64 = 0.9;

/// The numbers of operations in flight on each target at one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Small ones.
    #[serde(rename = "small_in_flight")]
    pub small: u32,
    /// Large ones.
    #[serde(rename = "large_in_flight")]
    pub large: u32,
}

/// A matrix, complete or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was run: `orion`.
    pub workload: String,
    /// The targets, as the user named them.
    pub targets: Vec<String>,
    /// The targets with what they report about themselves; empty until a run has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// Disks behind each target, as the user said.
    pub disks: u32,
    /// The share of the operations that write.
    pub writes: Share,
    /// Whether the large operations are sequential streams; otherwise they go to random places.
    pub sequential: bool,
    /// The seed of every run.
    pub seed: u64,
    /// Checksum of what distinguishes its workload from others.
    pub plan_blake3: String,
    /// Measured time of each run.
    pub run_ns: u64,
    /// What limits the result (`SIMULATED`, `SHORT` …), over all runs.
    pub watermarks: Vec<String>,
    /// The places that were asked for, in the order in which they are run.
    pub asked: Vec<Place>,
    /// The points that were run, in the order of the places.
    pub points: Vec<Point>,
    /// What failed, and which runs were repeated.
    #[serde(flatten)]
    pub aside: Aside,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// What was in flight.
    #[serde(flatten)]
    pub place: Place,
    /// The verdict of the run; INVALID where it is PASS but the generator distorted the point.
    pub verdict: Verdict,
    /// Its reason.
    pub reason: String,
    /// What the small operations did; absent where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small: Option<Figures>,
    /// What the large operations did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub large: Option<Figures>,
    /// Directory of its log, below the directory of the matrix.
    pub directory: String,
}

/// What the operations of one kind did, over all targets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Completed operations per second.
    pub rate: f64,
    /// Their bytes per second.
    pub bytes_per_second: f64,
    /// Their mean response in nanoseconds, over all of them.
    pub mean_ns: u64,
    /// How many of them were in flight in the mean, on all targets together.
    pub in_flight: f64,
}

impl Matrix {
    /// Puts the run of a point in the place of what was known of it.
    pub fn add_run(&mut self, place: Place, judgement: &Judgement, directory: String) {
        add_new(&mut self.watermarks, &judgement.watermarks);
        if !judgement.part.targets.each.is_empty() {
            self.devices = judgement.part.targets.each.iter().map(TargetTotals::device_description).collect();
        }
        self.set_point(Point::from_judgement(place, judgement, directory));
    }

    /// Adds a point in the place of the one at the same numbers. Whether a run may take that place is decided by
    /// [`procedure::Attempts`].
    pub fn set_point(&mut self, point: Point) {
        self.points.retain(|known| known.place != point.place);
        self.points.push(point);
        self.points.sort_by_key(|point| (point.place.large, point.place.small));
    }

    /// The runs that it has, each with its place.
    pub fn known_runs(&self) -> impl Iterator<Item = (Place, Evidence)> {
        self.points
            .iter()
            .map(move |point| (point.place, self.aside.evidence_of_run(&point.directory, point.verdict, &point.reason)))
    }

    /// The point at a place.
    pub(crate) fn point_at(&self, place: Place) -> Option<&Point> {
        self.points.iter().find(|point| point.place == place)
    }

    /// Whether every point was measured to its end.
    pub fn is_whole(&self) -> bool {
        !self.asked.is_empty()
            && self
                .asked
                .iter()
                .all(|place| self.point_at(*place).is_some_and(|point| point.verdict != Verdict::Incomplete))
    }

    /// FAIL where a point failed, INCOMPLETE while one is missing or was cut short, otherwise the worst verdict of its points.
    pub fn verdict(&self) -> Verdict {
        procedure::verdict_of_points(self.points.iter().map(|point| point.verdict), !self.is_whole(), &self.aside)
    }
}

impl Point {
    /// The point of a run.
    pub fn from_judgement(place: Place, judgement: &Judgement, directory: String) -> Point {
        let part = &judgement.part;
        let (small, large) = (figures_of_kind(&part.streams, SMALL), figures_of_kind(&part.streams, LARGE));
        let coloured = distortion_by_generator(part, [(place.small, small), (place.large, large)]);
        let (verdict, reason) = match coloured.filter(|_| judgement.verdict == Verdict::Pass) {
            Some(why) => (Verdict::Invalid, why),
            None => (judgement.verdict, judgement.reason.clone()),
        };
        Point { place, verdict, reason, small, large, directory }
    }

    /// Whether its figures are those of the target, and not of the generator: only a PASS shows that.
    pub fn is_true(&self) -> bool {
        self.verdict == Verdict::Pass
    }
}

/// How the generator distorted a point, if it did. `kinds` has, for the small and the large operations, the number
/// asked for on each target and the figures.
fn distortion_by_generator(part: &StepFigures, kinds: [(u32, Option<Figures>); 2]) -> Option<String> {
    let targets = part.targets.each.len().max(1) as f64;
    for (asked, did) in kinds.into_iter().filter(|(asked, _)| *asked > 0) {
        let (asked, flying) = (f64::from(asked) * targets, did.map_or(0.0, |figures| figures.in_flight));
        if flying < asked * IN_FLIGHT {
            return Some(format!(
                "the generator had {flying:.2} of {asked} operations in flight in the mean: it was slower than the target"
            ));
        }
    }
    let busy = busy_share(&part.generator).filter(|busy| *busy >= NO_REST)?;
    let busy = busy.min(1.0) * 100.0;
    Some(format!(
        "the workers of the generator had no rest for {busy:.0}% of the time: the target may be faster than they were"
    ))
}

/// The share of their time for which the workers ran or waited for a processor; `None` where it was not measured, as in
/// a simulation.
fn busy_share(generator: &GeneratorFigures) -> Option<f64> {
    let cost = generator.cost.filter(|cost| cost.sampled_ns > 0)?;
    let workers: f64 = generator.engine.get("workers")?.parse().ok()?;
    let wanted = cost.cpu_ns.saturating_add(cost.run_queue_ns).saturating_add(cost.steal_ns);
    Some(wanted as f64 / (cost.sampled_ns as f64 * workers.max(1.0)))
}

/// What the streams of one kind did together; the mean is over all their operations.
fn figures_of_kind(streams: &StreamFigures, kind: &str) -> Option<Figures> {
    let (rate, bytes) = streams.total_rates(|stream| stream.name.starts_with(kind))?;
    let streams: Vec<&StreamTotals> =
        streams.streams_over_all_targets().filter(|stream| stream.name.starts_with(kind)).collect();
    let (mean_ns, service_ns) =
        (mean_of(&streams, |stream| &stream.response)?, mean_of(&streams, |stream| &stream.service)?);
    Some(Figures { rate, bytes_per_second: bytes, mean_ns, in_flight: rate * service_ns as f64 / 1e9 })
}

/// The mean over all operations of several streams.
fn mean_of(streams: &[&StreamTotals], times: fn(&StreamTotals) -> &TimesSummary) -> Option<u64> {
    let each = streams.iter().filter_map(|stream| Some((times(stream).mean_ns?, stream.counts.operations)));
    let (sum, operations) = each.fold((0u128, 0u128), |(sum, all), (mean, operations)| {
        (sum + u128::from(mean) * u128::from(operations), all + u128::from(operations))
    });
    Some(u64::try_from(sum.checked_div(operations)?).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
