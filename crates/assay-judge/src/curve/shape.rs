//! The shape of a curve: its knee, and its overall response time.
//!
//! *The knee* is the point of the greatest power, throughput divided by mean response (L. Kleinrock, "Power and
//! deterministic rules of thumb for probabilistic problems in computer communications", ICC 1979): below it the
//! throughput grows by a greater factor than the response, above it by a smaller one. It needs no parameter and no
//! units, and it does not move when the curve is measured further, unlike methods that normalise to the measured range.
//! Where the power still grows at the highest point, there is no knee within the curve. Nor is there one on a curve that
//! falls: where the mean response at the highest throughput is not above that at the lowest, what limits the target is not
//! reached, and the greatest power below the highest point is noise.
//!
//! *The overall response time* is the area under the curve of mean response over throughput, by trapezoids, divided by
//! the highest throughput: the form of the figure that SPEC SFS 2008 reports under this name. Below the lowest point,
//! the response of that point is used. Load and rules are not those of SPEC or SPC: the figure is not comparable with
//! audited results.

use serde::{Deserialize, Serialize};

/// The least number of points that have a shape.
const FEWEST: usize = 3;

/// What the points of a curve come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Index of the knee in `points`; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<usize>,
    /// The overall response time; absent where no point belongs to the curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall_response_ns: Option<u64>,
}

/// A point that belongs to the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    /// Its index in `points`.
    pub(super) index: usize,
    /// Its throughput, per second.
    pub(super) rate: f64,
    /// Its mean response in nanoseconds.
    pub(super) mean_ns: f64,
}

impl Place {
    fn power(&self) -> f64 {
        self.rate / self.mean_ns
    }
}

/// Where the knee of a curve is, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Knee {
    /// At the point with this index.
    At(usize),
    /// Too few points belong to the curve.
    TooFewPoints,
    /// The response at the highest throughput is not above that at the lowest.
    Falls,
    /// The power still grows at the highest point.
    Beyond,
}

impl Knee {
    /// The knee of the points that belong to a curve, by throughput.
    pub(super) fn new(line: &[Place]) -> Knee {
        let [first, .., last] = line else { return Knee::TooFewPoints };
        if line.len() < FEWEST {
            return Knee::TooFewPoints;
        }
        let greatest = line.iter().fold(first, |best, place| if place.power() > best.power() { place } else { best });
        if greatest.index == last.index {
            Knee::Beyond
        } else if last.mean_ns <= first.mean_ns {
            Knee::Falls
        } else {
            Knee::At(greatest.index)
        }
    }
}

impl Shape {
    /// The shape of the points that belong to a curve, by throughput.
    pub(super) fn new(line: &[Place]) -> Shape {
        let knee = match Knee::new(line) {
            Knee::At(index) => Some(index),
            Knee::TooFewPoints | Knee::Falls | Knee::Beyond => None,
        };
        Shape { knee, overall_response_ns: overall_response(line) }
    }
}

fn overall_response(line: &[Place]) -> Option<u64> {
    let (first, last) = (line.first()?, line.last()?);
    let area = first.rate * first.mean_ns
        + line
            .windows(2)
            .map(|pair| (pair[1].rate - pair[0].rate) * (pair[0].mean_ns + pair[1].mean_ns) / 2.0)
            .sum::<f64>();
    Some((area / last.rate).round() as u64)
}
