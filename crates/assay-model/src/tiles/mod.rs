//! Tiles: workloads that run together on a range of each target, as often as there are tiles. Load grows by whole tiles, as in
//! VMmark; its workloads and its score are not reproduced, so that no result is comparable with one of VMmark.
//!
//! All tiles are alike but for their ranges and their random numbers: the same streams, rates and criteria. What runs once beside
//! them is first in the plan, and tile after tile follows. Random numbers are drawn by the place of a stream in the plan, so what
//! runs beside the tiles, and tile 1, do the same in every run, however many tiles it has. The plan of one workload is made for a
//! range as large as that of its tile, and then moved there.

mod facts;
mod members;
mod moving;
mod planned;
mod planning;
mod range;

pub use facts::{BACKGROUND, LIKENESS, MOST_TILES, RANGE_UNIT};
pub use planned::{PlannedMember, PlannedTiles};
pub use range::TileRange;

#[cfg(test)]
mod tests;
