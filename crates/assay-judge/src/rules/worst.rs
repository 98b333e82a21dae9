//! The worst figures of a criterion, and the targets that broke it by themselves: among many devices in one run, the
//! reader looks for the bad ones.

use crate::finding::criterion::BrokenOn;
use crate::judgement::{BrokenTarget, Figure};

/// The worst figures of one criterion while the log is read.
#[derive(Clone, Debug)]
pub(crate) struct Worst {
    /// The worst figure overall.
    all: Option<Figure>,
    /// The worst figure of each single target.
    targets: Vec<Option<Figure>>,
    /// Each target that broke it, with the last window in which it did.
    broken: Vec<Option<(BrokenTarget, u64)>>,
    /// Whether the first value is worse than the second.
    is_worse: fn(f64, f64) -> bool,
}

impl Worst {
    /// The state before the first window, for this many targets.
    pub(crate) fn new(targets: usize, is_worse: fn(f64, f64) -> bool) -> Worst {
        Worst { all: None, targets: vec![None; targets], broken: vec![None; targets], is_worse }
    }

    /// Takes a figure of all targets together, or of one. Among equal figures the first is kept.
    pub(crate) fn take_figure(&mut self, figure: &Figure) {
        keep_worse(&mut self.all, figure, self.is_worse);
    }

    /// Takes a figure of one target in a complete window.
    pub(crate) fn see_alone(&mut self, target: usize, figure: &Figure) {
        keep_worse(&mut self.targets[target], figure, self.is_worse);
    }

    /// The worst figure overall.
    pub(crate) fn worst_overall(&self) -> Option<&Figure> {
        self.all.as_ref()
    }

    /// The worst figure of each single target, in the order of the targets.
    pub(crate) fn worst_by_target(&self) -> Vec<Figure> {
        self.targets.iter().flatten().cloned().collect()
    }

    /// The targets that broke it, for a sentence.
    pub(crate) fn broken_on(&self) -> BrokenOn {
        BrokenOn { targets: self.broken_worst_first(), of: self.targets.len() }
    }

    /// A target broke it by itself in a window. Several streams on the same target in the same window count once.
    pub(crate) fn count_broken_target(&mut self, target: usize, figure: &Figure) {
        let Some(name) = &figure.target else { return };
        let (known, last) = self.broken[target]
            .get_or_insert_with(|| (BrokenTarget { target: name.clone(), windows: 0, worst: figure.clone() }, 0));
        known.windows += u64::from(*last != figure.window);
        *last = figure.window;
        if (self.is_worse)(figure.value, known.worst.value) {
            known.worst = figure.clone();
        }
    }

    /// The targets that broke it, the worst first; among equal ones in the order of the targets.
    pub(crate) fn broken_worst_first(&self) -> Vec<BrokenTarget> {
        let mut broken: Vec<BrokenTarget> = self.broken.iter().flatten().map(|(broken, _)| broken.clone()).collect();
        broken.sort_by(|a, b| {
            let (a, b) = (a.worst.value, b.worst.value);
            (self.is_worse)(b, a).cmp(&(self.is_worse)(a, b))
        });
        broken
    }
}

fn keep_worse(kept: &mut Option<Figure>, figure: &Figure, is_worse: fn(f64, f64) -> bool) {
    if kept.as_ref().is_none_or(|kept| is_worse(figure.value, kept.value)) {
        *kept = Some(figure.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(target: &str, window: u64, value: f64) -> Figure {
        Figure {
            window,
            start_ns: 0,
            end_ns: 1,
            target: Some(target.into()),
            value,
            text: format!("{value}"),
            operations: 1,
            within: false,
            generator: false,
            others: false,
            too_few: false,
            processors: false,
        }
    }

    #[test]
    fn the_worst_stands_first_and_a_window_counts_once() {
        for (is_worse, expected) in [
            ((|a, b| a > b) as fn(f64, f64) -> bool, [("c", 2, 0.9), ("a", 1, 0.5), ("d", 1, 0.5)]),
            (|a, b| a < b, [("c", 2, 0.2), ("a", 1, 0.5), ("d", 1, 0.5)]),
        ] {
            let mut broken = Worst::new(4, is_worse);
            for (target, name, window, value) in
                [(0, "a", 1, 0.5), (2, "c", 1, 0.2), (2, "c", 1, 0.3), (2, "c", 4, 0.9), (3, "d", 1, 0.5)]
            {
                broken.count_broken_target(target, &figure(name, window, value));
            }
            // A figure of all targets together names no target.
            broken.count_broken_target(1, &Figure { target: None, ..figure("", 1, 1.0) });
            let found: Vec<_> =
                broken.broken_worst_first().into_iter().map(|it| (it.target, it.windows, it.worst.value)).collect();
            assert_eq!(found, expected.map(|(name, windows, value)| (name.to_owned(), windows, value)));
        }
    }
}
