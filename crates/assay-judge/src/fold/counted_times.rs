//! Which times a log counts exactly, and which of these counts are shown.

use assay_base::{Criterion, Span};
use assay_record::{Header, Thresholds};
use std::collections::BTreeSet;

/// Thresholds that every table shows (the standard criteria of ACT's README).
const STANDARD_MS: [u64; 3] = [1, 8, 64];

/// What is counted of times: the exact counters, and which of them the result shows.
#[derive(Clone, Debug)]
pub struct CountedTimes {
    /// The boundaries of the exact counters.
    pub thresholds: Thresholds,
    /// Thresholds that are reported: the criteria's and the standard ones, as far as they are counted.
    pub shown: BTreeSet<Span>,
    /// The smallest threshold of the criteria.
    pub smallest: Option<Span>,
    /// Whether the generator's lateness is counted, so that these counts decide.
    pub lateness: bool,
}

impl CountedTimes {
    pub(crate) fn new(header: &Header, thresholds: Thresholds, criteria: &[Criterion]) -> CountedTimes {
        let asked = || criteria.iter().filter_map(Criterion::counted_threshold);
        let shown = asked().chain(STANDARD_MS.map(Span::from_ms));
        let shown = shown.filter(|span| thresholds.first_over(*span).is_some()).collect();
        CountedTimes { shown, thresholds, smallest: asked().min(), lateness: header.lateness }
    }

    /// The smallest threshold of the criteria, where the log counts it.
    pub(crate) fn counted_threshold(&self) -> Option<Span> {
        self.smallest.filter(|span| self.thresholds.first_over(*span).is_some())
    }
}
