//! The generator's own lag in a window: if one operation in a hundred has more than the smallest threshold of the
//! criteria, the window proves nothing; more than a tenth of that threshold is a warning.

use crate::finding::flaw::Flaw;
use crate::fold::layout::Layout;
use crate::fold::window::{Window, sum_of_flows};
use assay_base::Span;

/// Checks the own lag in the windows of a step.
#[derive(Clone, Debug)]
pub(crate) struct OwnLag {
    /// The smallest threshold of the criteria that are judged; `None` in stress steps.
    threshold: Option<Span>,
    /// A warning about the first slice in which the own lag was large.
    pub(crate) warning: Option<String>,
}

impl OwnLag {
    /// The state before the first window.
    pub(crate) fn new(threshold: Option<Span>) -> OwnLag {
        OwnLag { threshold, warning: None }
    }

    /// Checks a window and sets `window.invalid`, before criteria are judged on it.
    pub(crate) fn check_window(&mut self, window: &mut Window, is_slice: bool, layout: &Layout) {
        let Some(threshold) = self.threshold.filter(|_| window.complete && window.invalid.is_none()) else { return };
        // Over all operations of the slice together: one late operation among a hundred of a rare stream does not mean
        // that the generator was starved.
        let all = sum_of_flows(window.streams.iter(), layout);
        let Some((lower, upper)) = all.own_lag.p99_between(&layout.times.thresholds) else { return };
        let late = lower >= threshold.as_ns();
        if late && !layout.times.lateness {
            window.invalid = Some(Flaw::OwnLag(lower));
            return;
        }
        let much = late || lower.saturating_mul(10) >= threshold.as_ns();
        if !is_slice || !much || self.warning.is_some() {
            return;
        }
        let (number, lag) = (window.number, Span::from_ns(lower).human_text());
        let begin = format!("the test machine issued 1% of all operations of slice {number} too late, by {lag}");
        self.warning = Some(if late {
            format!("{begin} or more")
        } else {
            let upper = upper.map_or_else(|| "an hour".to_owned(), |ns| Span::from_ns(ns).human_text());
            format!("{begin} to {upper} or more: over a tenth of the threshold of {}", threshold.human_text())
        });
    }

    /// Whether the generator delayed so much of a window that was cut short that the complete window would prove
    /// nothing.
    pub(crate) fn is_held_back(&self, window: &Window, layout: &Layout) -> bool {
        if layout.times.lateness {
            return false;
        }
        let all = sum_of_flows(window.streams.iter(), layout);
        let p99 = all.own_lag.p99_between(&layout.times.thresholds);
        self.threshold.zip(p99).is_some_and(|(threshold, (lower, _))| lower >= threshold.as_ns())
    }
}
