//! Why a curve has its verdict, in words.

use super::{Curve, Point};
use crate::verdict::Verdict;

impl Curve {
    /// The reason of the verdict: of FAIL and INVALID the lowest point that is to blame, and which others are.
    pub(super) fn verdict_reason(&self) -> String {
        let titled = self.titled_curves();
        let alone = titled.len() == 1;
        let reasons = titled.iter().filter_map(|(title, curve)| {
            let reason = curve.own_reason(self.verdict())?;
            Some(if alone { reason } else { format!("{title}: {reason}") })
        });
        let reasons: Vec<String> = reasons.collect();
        if reasons.is_empty() { "every bound held at every point".to_owned() } else { reasons.join("; ") }
    }

    /// The part of this curve in the reason for a verdict.
    fn own_reason(&self, verdict: Verdict) -> Option<String> {
        if let Some(outcome) = self.scale.without_maximum.filter(|outcome| outcome.verdict() == verdict) {
            return Some(format!("no maximum was found: {}", self.search_sentence(outcome.to_string())));
        }
        match verdict {
            Verdict::Pass => None,
            Verdict::Incomplete => self.missing_points(),
            Verdict::Fail | Verdict::Invalid => self.points_to_blame(verdict),
        }
    }

    /// The sentence about a search, with what failed in it.
    fn search_sentence(&self, said: String) -> String {
        match self.aside.failures.first() {
            Some(run) => format!("{said}; {}", run.failure.as_ref().unwrap_or(&run.reason)),
            None => said,
        }
    }

    /// The points with this verdict, and what failed elsewhere.
    fn points_to_blame(&self, verdict: Verdict) -> Option<String> {
        let mut blamed = self.points.iter().filter(|point| point.verdict == verdict);
        let first = blamed.next().map(|point| format!("{}: {}", point_label(point), point.reason));
        let others: Vec<String> = blamed.map(point_label).collect();
        let others = (!others.is_empty()).then(|| format!("also at {}", others.join(", ")));
        let elsewhere =
            self.aside.failures.iter().find(|run| {
                verdict == Verdict::Fail && self.points.iter().all(|point| point.directory != run.directory)
            });
        let elsewhere = elsewhere.map(|run| {
            let what = run.failure.as_ref().unwrap_or(&run.reason);
            format!("in {}: {what}", run.directory)
        });
        let all: Vec<String> = [first, others, elsewhere].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The points that are missing or were cut short.
    fn missing_points(&self) -> Option<String> {
        let measured: Vec<_> =
            self.points.iter().filter(|point| point.verdict != Verdict::Incomplete).map(|point| point.share).collect();
        let missing = self.asked.iter().filter(|share| !measured.contains(share));
        let missing: Vec<String> = missing.map(ToString::to_string).collect();
        (!missing.is_empty()).then(|| format!("not measured to the end: {}", missing.join(", ")))
    }
}

/// `90% (27x)`
fn point_label(point: &Point) -> String {
    format!("{} ({})", point.share, point.load)
}
