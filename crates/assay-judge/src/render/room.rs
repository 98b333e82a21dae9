//! How much a summary may contain: a limit on its lines, and five sizes from everything to the minimum.

/// Upper bound on the lines of a summary.
pub(crate) const LINES: usize = 40;
/// The smallest number of lines of a table of slices: with a few rows, and with one.
pub(crate) const LEAST_TABLE: usize = 10;
pub(crate) const LEANEST_TABLE: usize = 8;
/// Number of criteria, streams, steps and warnings that are listed.
pub(crate) const LISTED: usize = 8;
pub(crate) const WARNINGS: usize = 3;

/// How much a summary contains. A summary that is too long is made again with less, until it fits.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    /// The smallest number of lines of a table of slices; without it, the table is only mentioned.
    pub(crate) table: Option<usize>,
    /// Number of lines for other figures slice by slice.
    pub(crate) by_slice: usize,
    /// Whether the worst slice of each target is shown.
    pub(crate) targets: bool,
    /// Number of lines for the targets that broke a criterion; the reason names those of the criterion that decided.
    pub(crate) broken_on: usize,
    /// Number of lines of a warning.
    pub(crate) warning: usize,
    /// Whether every list and text is cut to its beginning.
    pub(crate) tight: bool,
}

/// From everything to the minimum. Texts explain a verdict better than rows: some slices are left out before a text is
/// cut. The reason of the verdict and the watermarks are never cut.
pub(crate) const ROOMS: [Room; 5] = [
    Room {
        table: Some(LEAST_TABLE),
        by_slice: usize::MAX,
        targets: true,
        broken_on: usize::MAX,
        warning: usize::MAX,
        tight: false,
    },
    Room {
        table: Some(LEANEST_TABLE),
        by_slice: 2,
        targets: true,
        broken_on: usize::MAX,
        warning: usize::MAX,
        tight: false,
    },
    Room { table: Some(LEANEST_TABLE), by_slice: 2, targets: false, broken_on: 1, warning: usize::MAX, tight: false },
    Room { table: Some(LEANEST_TABLE), by_slice: 2, targets: false, broken_on: 0, warning: 2, tight: true },
    Room { table: None, by_slice: 0, targets: false, broken_on: 0, warning: 1, tight: true },
];

impl Room {
    /// The number of lines for a list or a text.
    pub(crate) fn choose_lines(self, ample: usize, tight: usize) -> usize {
        if self.tight { tight } else { ample }
    }
}
