//! What is fixed about tiles.

use assay_base::Bytes;

/// The words that every result of a run with tiles must have.
pub const LIKENESS: &str = "VMMARK-LIKE: not comparable with VMmark results";

/// Most tiles of a run.
pub const MOST_TILES: u64 = 1024;

/// Name of what runs once beside all tiles, in the place of a tile's name.
pub const BACKGROUND: &str = "background";

/// The unit of the size of a range: every unit of an operation's offset divides it.
pub const RANGE_UNIT: Bytes = Bytes::from_kib(1024);
