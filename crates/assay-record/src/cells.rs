//! How times are divided into cells: HdrHistogram's layout for 1 ns to 1 h and three digits.

/// The longest time that has a bucket: one hour, in nanoseconds.
pub(crate) const LONGEST_NS: u64 = 3_600_000_000_000;

/// Number of cells of the first, exact stretch: 2048 is the smallest power of two that resolves three digits.
pub(crate) const FIRST: u64 = 2048;
/// Number of cells of each further stretch, in which a cell is twice as wide as in the one before.
const HALF: u64 = FIRST / 2;
/// Number of cells up to [`LONGEST_NS`].
pub(crate) const CELLS: usize = cell_of(LONGEST_NS) + 1;

/// The cell of a time: HdrHistogram's layout for 1 ns and three digits.
#[inline]
pub(crate) const fn cell_of(ns: u64) -> usize {
    let shift = (ns | (FIRST - 1)).ilog2() - (FIRST - 1).ilog2();
    (shift as u64 * HALF + (ns >> shift)) as usize
}

/// The smallest time of a cell, and how many times (in ns) share the cell.
pub(crate) fn lengths_of(cell: usize) -> (u64, u64) {
    let cell = cell as u64;
    if cell < FIRST {
        return (cell, 1);
    }
    let shift = cell / HALF - 1;
    ((cell - shift * HALF) << shift, 1 << shift)
}
