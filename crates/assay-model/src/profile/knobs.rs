//! What a fit needs from a profile: its knobs, and the load on one drive at each of their values.

use super::lower::{POSITION_MAX, SCALE_MAX};
use super::{LargeBlocks, Lowered, Others, PartKind, Profile, ProfileFault, ProfilePart, Sizes};
use assay_base::{Direction, Knobs, Rate, Share};
use std::ops::RangeInclusive;

/// The load on one drive in a second, by direction: reads, then writes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct AskedLoad {
    /// Number of operations.
    pub operations: [f64; 2],
    /// Their bytes, in whole blocks of the device.
    pub bytes: [f64; 2],
    /// The same without rounding up to blocks.
    pub unrounded: [f64; 2],
    /// The sum of the squares of their sizes, from which the variance of the bytes in a second follows.
    pub squares: [f64; 2],
}

impl Lowered {
    /// The load in a second on a drive with blocks of `block` bytes.
    pub fn asked_load(&self, block: u32) -> AskedLoad {
        let mut asked = AskedLoad::default();
        for stream in &self.streams {
            let (Some(rate), Some(work)) = (stream.arrival.mean_rate(), stream.as_block()) else { continue };
            let at = usize::from(work.direction == Direction::Write);
            let (rate, sizes) = (rate.as_f64(), work.size.in_blocks(block));
            asked.operations[at] += rate;
            asked.bytes[at] += rate * sizes.mean_size();
            asked.unrounded[at] += rate * work.size.in_blocks(1).mean_size();
            asked.squares[at] += rate * sizes.mean_square();
        }
        asked
    }
}

impl ProfilePart {
    /// Whether any knob scales its large blocks.
    fn has_blocks(&self) -> bool {
        self.kind == PartKind::Namespace
    }

    /// The other operations of its share of the drive, in a second: reads, then writes.
    fn others_of_one(&self) -> Option<[Rate; 2]> {
        let drives = self.drives.len().max(1) as u64;
        Some([self.others.reads.scaled_by(1, drives)?, self.others.writes.scaled_by(1, drives)?])
    }

    /// Gives all other operations of the drive to this part; without effect where a rate cannot be represented.
    fn set_others(&mut self, knobs: &Knobs) {
        let drives = self.drives.len().max(1) as u64;
        let (reads, writes) = (knobs.other_reads.scaled_by(drives, 1), knobs.other_writes.scaled_by(drives, 1));
        if let Some((reads, writes)) = reads.zip(writes) {
            self.others = Others { reads, writes, ..self.others };
        }
    }

    /// Sets those knobs that apply: a position is where sizes lie in the buckets of a histogram, so sizes that are
    /// listed one by one have no position.
    fn set_knobs(&mut self, knobs: &Knobs) {
        for (flow, position) in [(&mut self.reads, knobs.read_position), (&mut self.writes, knobs.write_position)] {
            let flow = flow.as_mut().filter(|flow| flow.has_buckets());
            flow.into_iter().for_each(|flow| flow.position = position);
        }
        if self.has_blocks() {
            self.others = Others { reads: Rate::ZERO, writes: Rate::ZERO, ..self.others };
            let (write_scale, read_scale) = (knobs.write_scale, knobs.read_scale);
            self.large_blocks = LargeBlocks { write_scale, read_scale, ..self.large_blocks.clone() };
        }
    }
}

impl super::Flow {
    /// Whether its sizes are known as buckets of a histogram, so that they have a position.
    pub fn has_buckets(&self) -> bool {
        self.sizes.as_ref().is_some_and(|sizes| matches!(sizes.value, Sizes::LargerThan(_)))
    }
}

/// The position of the first flow whose sizes are known in buckets only.
fn position_of<'a>(mut flows: impl Iterator<Item = &'a super::Flow>) -> Share {
    flows.find(|flow| flow.has_buckets()).map_or(Share::WHOLE, |flow| flow.position)
}

/// The other reads and writes of one drive, of all parts with large blocks together; `None` if they are too many.
fn others_of_all(parts: &[&ProfilePart]) -> Option<[Rate; 2]> {
    let mut all = [Rate::ZERO; 2];
    for part in parts.iter().filter(|part| part.has_blocks()) {
        let own = part.others_of_one()?;
        all = [all[0].checked_plus(own[0])?, all[1].checked_plus(own[1])?];
    }
    Some(all)
}

impl Profile {
    /// Bounds of a position: those of a bucket.
    pub const POSITIONS: RangeInclusive<Share> = Share::WHOLE..=POSITION_MAX;
    /// Bounds of the scale of large blocks.
    pub const SCALES: RangeInclusive<Share> = Share::from_percent(0)..=SCALE_MAX;

    /// The knobs as in the profile: those of the first part on the drive that has any.
    ///
    /// # Errors
    /// There is no such drive, or it has no parts.
    pub fn first_knobs(&self) -> Result<Knobs, ProfileFault> {
        let meant = self.parts_meant()?;
        let parts: Vec<&ProfilePart> = meant.iter().map(|index| &self.parts[*index]).collect();
        let blocks = parts.iter().find(|part| part.has_blocks()).map(|part| &part.large_blocks);
        let [other_reads, other_writes] = others_of_all(&parts).unwrap_or([Rate::ZERO; 2]);
        Ok(Knobs {
            read_position: position_of(parts.iter().filter_map(|part| part.reads.as_ref())),
            write_position: position_of(parts.iter().filter_map(|part| part.writes.as_ref())),
            read_scale: blocks.map_or(Share::WHOLE, |blocks| blocks.read_scale),
            write_scale: blocks.map_or(Share::WHOLE, |blocks| blocks.write_scale),
            other_reads,
            other_writes,
        })
    }

    /// Whether the large blocks of all namespaces on its drive follow from counts: those that are read, and those that
    /// are written. A fit leaves such numbers as they are. False where no namespace is on the drive.
    ///
    /// # Errors
    /// There is no such drive, or it has no parts.
    pub fn counts_large_blocks(&self) -> Result<[bool; 2], ProfileFault> {
        let meant = self.parts_meant()?;
        let parts = meant.iter().map(|index| &self.parts[*index]).filter(|part| part.has_blocks());
        let blocks: Vec<&LargeBlocks> = parts.map(|part| &part.large_blocks).collect();
        let any = !blocks.is_empty();
        let reads = any && blocks.iter().all(|blocks| blocks.counts_reads());
        let writes = any && blocks.iter().all(|blocks| blocks.counts_writes());
        Ok([reads, writes])
    }

    /// The same profile with these knobs for all parts on its drive, whose name is written into the profile.
    ///
    /// # Errors
    /// There is no such drive, or it has no parts.
    pub fn with_knobs(&self, knobs: &Knobs) -> Result<Profile, ProfileFault> {
        let mut moved = self.clone();
        let parts = self.parts_meant()?;
        for index in &parts {
            moved.parts[*index].set_knobs(knobs);
        }
        if let Some(first) = parts.into_iter().find(|index| self.parts[*index].has_blocks()) {
            moved.parts[first].set_others(knobs);
        }
        Ok(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Flow, Sourced};
    use assay_base::{Bytes, Rate};

    fn part(name: &str, drive: &str) -> ProfilePart {
        let sizes = |kib: u64| {
            let line = |kib, percent| (Bytes::from_kib(kib), Share::from_percent(percent));
            Some(Sourced::new(Sizes::LargerThan(vec![line(kib, 100), line(2 * kib, 0)]), ""))
        };
        let rate = |n| Some(Sourced::new(Rate::per_second(n), ""));
        ProfilePart {
            name: name.into(),
            drives: vec![drive.into()],
            reads: Some(Flow { rate: rate(100), sizes: sizes(4), ..Flow::default() }),
            writes: Some(Flow { rate: rate(10), sizes: sizes(1), ..Flow::default() }),
            large_blocks: LargeBlocks { writes: rate(8), ..LargeBlocks::default() },
            ..ProfilePart::default()
        }
    }

    #[test]
    fn what_is_asked_counts_operations_bytes_and_squares() {
        let profile = Profile { parts: vec![part("a", "sda")], ..Profile::default() };
        let asked = profile.lower_to_streams().unwrap().asked_load(512);
        let (small, large) = (4096.0, 131_072.0);
        assert_eq!(asked.operations, [108.0, 8.0]);
        assert_eq!(asked.bytes, [100.0 * small + 8.0 * large, 8.0 * large]);
        assert_eq!(asked.squares, [100.0 * small * small + 8.0 * large * large, 8.0 * large * large]);
        let on_large_blocks = profile.lower_to_streams().unwrap().asked_load(8192);
        assert_eq!(on_large_blocks.bytes[0] - on_large_blocks.unrounded[0], 100.0 * 4096.0);
    }

    #[test]
    fn knobs_move_what_is_on_the_drive_and_nothing_else() {
        let mut each = part("each", "sda");
        let sizes = Sizes::Each(vec![(Bytes::from_kib(4), Share::WHOLE)]);
        each.reads = Some(Flow { sizes: Some(Sourced::new(sizes, "")), ..each.reads.unwrap() });
        let application = ProfilePart { kind: PartKind::Application, ..part("application", "sda") };
        let parts = vec![each, part("a", "sda"), part("other", "sdb"), application];
        let profile = Profile { drive: Some("sda".into()), parts, ..Profile::default() };
        assert_eq!(profile.first_knobs().unwrap(), Knobs::default());
        let share = Share::from_percent;
        let knobs = Knobs {
            read_position: share(120),
            write_position: share(130),
            read_scale: share(90),
            write_scale: share(80),
            other_reads: Rate::per_second(7),
            other_writes: Rate::from_ratio(5, 2).unwrap(),
        };
        let moved = profile.with_knobs(&knobs).unwrap();
        assert_eq!(moved.first_knobs().unwrap(), knobs);
        assert_eq!(moved.parts[2], profile.parts[2]);
        assert_eq!(moved.parts[0].reads, profile.parts[0].reads, "sizes one by one have no position");
        assert_eq!(
            moved.parts[3].large_blocks,
            LargeBlocks { writes: moved.parts[3].large_blocks.writes.clone(), ..LargeBlocks::default() }
        );
        let asked = moved.lower_to_streams().unwrap().asked_load(512);
        assert!(asked.operations[1] < profile.lower_to_streams().unwrap().asked_load(512).operations[1]);
        let others = moved.parts.iter().map(|part| part.others.reads).collect::<Vec<_>>();
        assert_eq!(
            others,
            [Rate::per_second(7), Rate::ZERO, Rate::ZERO, Rate::ZERO],
            "the first namespace has all of them"
        );
        let streams = moved.lower_to_streams().unwrap().streams;
        let other = streams.iter().find(|stream| stream.name == "each.other-writes").unwrap();
        assert_eq!(other.arrival.mean_rate(), Rate::from_ratio(5, 2));
        assert_eq!(moved.with_knobs(&Knobs::default()).unwrap(), profile.with_knobs(&Knobs::default()).unwrap());
        assert!(Profile { drive: Some("sdx".into()), ..profile }.with_knobs(&knobs).is_err());
    }

    #[test]
    fn what_is_spread_over_drives_has_its_others_spread_too() {
        let part = ProfilePart { drives: vec!["sda".into(), "sdb".into(), "sdc".into()], ..part("a", "") };
        let profile = Profile { drive: Some("sdb".into()), parts: vec![part], ..Profile::default() };
        let knobs = Knobs { other_reads: Rate::from_ratio(2_064, 10).unwrap(), ..Knobs::default() };
        let moved = profile.with_knobs(&knobs).unwrap();
        assert_eq!(moved.parts[0].others.reads, Rate::from_ratio(6_192, 10).unwrap());
        assert_eq!(moved.first_knobs().unwrap(), knobs);
        let before = profile.lower_to_streams().unwrap().asked_load(512).operations[0];
        assert!((moved.lower_to_streams().unwrap().asked_load(512).operations[0] - before - 206.4).abs() < 1e-6);
    }

    /// Counted large blocks are those that a server's log has, all of them or by what is left of those freed directly.
    #[test]
    fn large_blocks_are_counted_where_the_log_has_them() {
        let rate = || Some(Sourced::new(Rate::per_second(3), ""));
        let none = || LargeBlocks::default();
        for (blocks, counted) in [
            (none(), [false, false]),
            (LargeBlocks { writes: rate(), ..none() }, [false, true]),
            (LargeBlocks { reads: rate(), ..none() }, [true, false]),
            (LargeBlocks { direct_frees: rate(), ..none() }, [false, false]),
            (LargeBlocks { writes: rate(), direct_frees: rate(), ..none() }, [true, true]),
            (LargeBlocks { writes: rate(), reads: rate(), ..none() }, [true, true]),
        ] {
            let known = ProfilePart { large_blocks: blocks, ..part("a", "sda") };
            let of = |parts| Profile { drive: Some("sda".into()), parts, ..Profile::default() }.counts_large_blocks();
            assert_eq!(of(vec![known.clone()]).unwrap(), counted, "{known:?}");
            let estimated = ProfilePart { large_blocks: none(), ..part("b", "sda") };
            assert_eq!(of(vec![known, estimated]).unwrap(), [false, false], "all of them must be");
            let application = ProfilePart { kind: PartKind::Application, ..part("c", "sda") };
            assert_eq!(of(vec![application]).unwrap(), [false, false]);
        }
    }
}
