//! The parts of a target in which writes have one unit: where a run writes pages here and log blocks there, one unit for the whole target
//! would be that of the smallest writes.

use crate::plan::{Address, Block, Plan};
use assay_base::{Direction, Geometry};

/// A part of a target in which all writes begin and end at multiples of one unit, counted from its begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first byte.
    pub begin: u64,
    /// The first byte behind it.
    pub end: u64,
    /// A power of two.
    pub unit: u64,
    /// Whether all of it is read back in the end, whether the run has written there or not.
    pub all: bool,
}

impl Region {
    /// Number of units; the last one may be shorter.
    pub fn unit_count(&self) -> u64 {
        (self.end - self.begin).div_ceil(self.unit)
    }
}

/// Where no write goes, each unit stands for so many bytes at least.
const NOT_WRITTEN: u64 = 1 << 16;

/// What a stream covers of a target.
struct Covered {
    begin: u64,
    end: u64,
    /// The unit of its operations, counted from its begin; as [`PlannedLoad::step_of`](crate::plan::PlannedLoad::step_of).
    step: u64,
}

impl Plan {
    /// The regions of a target, one behind the other from its first byte to its last.
    pub fn target_regions(&self, target: u16, geometry: Geometry) -> Vec<Region> {
        let writes = self.load.writes_targets();
        // Whole granules: what is sealed as one is not read back as two.
        let granule = self.load.common_granule(geometry.block).unwrap_or(geometry.block.into());
        let covered: Vec<Covered> = self
            .blocks_on(target)
            .filter(|(_, _, block)| {
                (block.direction == Direction::Write) == writes && block.address != Address::Written
            })
            .map(|(at, _, block)| {
                let (begin, end) = granule_range(block, geometry, granule);
                Covered { begin, end, step: self.load.step_of(at, geometry.block) }
            })
            .collect();
        let checked: Vec<(u64, u64)> = self
            .blocks_on(target)
            .filter(|(_, name, _)| self.verification.check_all.contains(name))
            .map(|(_, _, block)| granule_range(block, geometry, granule))
            .collect();
        let ends = covered.iter().map(|it| (it.begin, it.end)).chain(checked.iter().copied());
        let mut cuts: Vec<u64> = ends.flat_map(|(begin, end)| [begin, end]).chain([0, geometry.size]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut regions = Vec::with_capacity(cuts.len());
        for pair in cuts.windows(2) {
            let (begin, end) = (pair[0], pair[1]);
            let here = covered.iter().filter(|it| it.begin <= begin && end <= it.end);
            let step = here.fold(0, |all, it| all | it.step | (begin - it.begin));
            let all = checked.iter().any(|(from, to)| *from <= begin && end <= *to);
            let unit = match step {
                0 if covered.is_empty() || all => self.load.generation_unit(geometry.block),
                0 => self.load.generation_unit(geometry.block).max(NOT_WRITTEN),
                step => 1 << step.trailing_zeros(),
            };
            regions.push(Region { begin, end, unit, all });
        }
        regions
    }

    /// The streams on a target that move blocks, by their index, with their names.
    fn blocks_on(&self, target: u16) -> impl Iterator<Item = (u16, &String, &Block)> {
        let here =
            (0..).zip(&self.load.streams).filter(move |(at, _)| self.load.targets_of(*at).any(|on| on == target));
        here.filter_map(|(at, stream)| Some((at, &stream.name, stream.as_block()?)))
    }
}

/// The part of the target that a stream keeps to, in whole granules: an operation ends before an end that lies within
/// one.
fn granule_range(block: &Block, geometry: Geometry, granule: u64) -> (u64, u64) {
    let (begin, length) = block.extent.map_or((0, geometry.size), |it| it.range_within(geometry.size, geometry.block));
    let end = begin.saturating_add(length).checked_next_multiple_of(granule).unwrap_or(u64::MAX);
    (begin.min(geometry.size), end.min(geometry.size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Adjust, read_workload};

    fn plan(file: &str, targets: u16) -> Plan {
        read_workload("t", file).unwrap().make_plan(&Adjust { targets, ..Adjust::default() }).unwrap()
    }

    /// Without ranges there is one region with the unit of the whole plan.
    #[test]
    fn a_plan_without_parts_has_one_region() {
        let stream = |more: &str| format!("[[stream]]\nname = \"s{}\"\nrate = \"1/s\"\n{more}\n", more.len());
        let write = stream("direction = \"write\"\nsize = \"128KiB\"\naddress = { uniform = \"128KiB\" }");
        let read = stream("direction = \"read\"\nsize = \"512B\"");
        for (streams, unit) in [(write.clone() + &read, 128 << 10), (read, 512), (write, 128 << 10)] {
            let plan = plan(&format!("model = \"streams\"\n{streams}"), 1);
            for size in [1u64 << 30, (1 << 30) + 512] {
                let regions = plan.target_regions(0, Geometry { size, block: 512 });
                assert_eq!(regions, [Region { begin: 0, end: size, unit, all: false }], "{streams}");
                assert_eq!(plan.load.generation_unit(512), unit);
            }
        }
    }

    #[test]
    fn pages_and_log_blocks_have_units_of_their_own() {
        let plan = plan("model = \"mail\"\ncheck = \"all\"\nverify = true\ncopies = 2", 1);
        for block in [512u32, 4096] {
            let size = (1u64 << 40) + 4096 * 3;
            let regions = plan.target_regions(0, Geometry { size, block });
            let (first, last) = (regions[0], regions[regions.len() - 1]);
            assert_eq!((first.begin, first.unit, first.all), (0, 32 << 10, true));
            assert_eq!((last.end, last.unit, last.all), (size, u64::from(block), false));
            assert_eq!(last.end - last.begin, 1 << 30);
            assert!(regions.windows(2).all(|pair| pair[0].end == pair[1].begin), "{regions:?}");
            let words: u64 = regions.iter().map(Region::unit_count).sum();
            assert!(words * 8 < 1 << 30, "under 1 GiB for 1 TiB: {words} words");
        }
    }

    /// Ranges that overlap: what all of them write there counts.
    #[test]
    fn where_ranges_overlap_the_smallest_unit_counts() {
        let stream = |name: &str, size: &str, range: &str| {
            format!(
                "[[stream]]\nname = \"{name}\"\ndirection = \"write\"\nrate = \"1/s\"\nsize = \"{size}\"\naddress = \"sequential\"\nrange = {range}\n"
            )
        };
        let streams = stream("a", "64KiB", "{ size = \"1MiB\" }")
            + &stream("b", "4KiB", "{ from = \"516KiB\", size = \"1MiB\" }");
        let plan = plan(&format!("model = \"streams\"\n{streams}"), 1);
        let regions = plan.target_regions(0, Geometry { size: 4 << 20, block: 512 });
        let of: Vec<(u64, u64, u64)> = regions.iter().map(|it| (it.begin >> 10, it.end >> 10, it.unit >> 10)).collect();
        assert_eq!(of, [(0, 516, 64), (516, 1024, 4), (1024, 1540, 4), (1540, 4096, 64)]);
    }

    /// A share of a target ends anywhere, and what is sealed in one piece there is read back in one piece.
    #[test]
    fn a_region_ends_between_two_granules() {
        let stream = |name: &str, range: &str| {
            format!(
                "[[stream]]\nname = \"{name}\"\ndirection = \"write\"\nrate = \"1/s\"\nsize = \"8KiB\"\naddress = {{ uniform = \"8KiB\" }}\n{range}\n"
            )
        };
        let plan =
            plan(&format!("model = \"streams\"\n{}{}", stream("a", ""), stream("b", "range = { size = \"30%\" }")), 1);
        let size = (1 << 20) + 512;
        let regions = plan.target_regions(0, Geometry { size, block: 512 });
        assert_eq!((plan.load.common_granule(512), regions.len()), (Some(4096), 2));
        assert_eq!((regions[0].end, regions[0].unit), ((size * 3 / 10).next_multiple_of(4096), 8192));
        assert_eq!((regions[1].begin, regions[1].end, regions[1].unit), (regions[0].end, size, 4096));
    }
}
