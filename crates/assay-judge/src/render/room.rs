//! How much a summary may say: at most so many lines, from everything to what must be said.

/// The most lines of a summary.
pub(crate) const LINES: usize = 40;
/// The least lines a table of slices takes: with a few rows, and with one.
pub(crate) const LEAST_TABLE: usize = 10;
pub(crate) const LEANEST_TABLE: usize = 8;
/// Criteria, streams, steps and warnings that are listed.
pub(crate) const LISTED: usize = 8;
pub(crate) const WARNINGS: usize = 3;

/// How much a summary says. One that would be too long is made again with less, until it fits.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    /// The least lines that a table of slices takes; without any it is only named.
    pub(crate) table: Option<usize>,
    /// Lines of what else stands slice by slice.
    pub(crate) by_slice: usize,
    /// The worst slice of each target.
    pub(crate) targets: bool,
    /// Lines of the targets that broke a criterion; the reason names those of the one that decided.
    pub(crate) broken_on: usize,
    /// Lines of a warning.
    pub(crate) warning: usize,
    /// Every list and text is cut to what comes first in it.
    pub(crate) tight: bool,
}

/// From everything to what must be said. A verdict is explained by texts first: of the slices some go before a text is cut.
pub(crate) const ROOMS: [Room; 5] = [
    Room { table: Some(LEAST_TABLE), by_slice: usize::MAX, targets: true, broken_on: 2, warning: 2, tight: false },
    Room { table: Some(LEANEST_TABLE), by_slice: 2, targets: true, broken_on: 1, warning: 2, tight: false },
    Room { table: Some(LEANEST_TABLE), by_slice: 2, targets: false, broken_on: 1, warning: 2, tight: false },
    Room { table: Some(LEANEST_TABLE), by_slice: 2, targets: false, broken_on: 0, warning: 2, tight: true },
    Room { table: None, by_slice: 0, targets: false, broken_on: 0, warning: 1, tight: true },
];

impl Room {
    /// Of a list or a text, so many lines.
    pub(crate) fn of(self, ample: usize, tight: usize) -> usize {
        if self.tight { tight } else { ample }
    }
}
