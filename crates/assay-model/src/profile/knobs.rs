//! What a fit needs from a profile: its four knobs, and the load on one drive at each of their values.

use super::lower::{POSITION_MAX, SCALE_MAX};
use super::{Kind, LargeBlocks, Lowered, Profile, ProfilePart, Sizes, Unfit};
use assay_base::{Direction, Knobs, Share};
use std::ops::RangeInclusive;

/// The load on one drive in a second, by direction: reads, then writes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Asked {
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
    pub fn asked(&self, block: u32) -> Asked {
        let mut asked = Asked::default();
        for stream in &self.streams {
            let (Some(rate), Some(work)) = (stream.arrival.rate(), stream.block()) else { continue };
            let at = usize::from(work.direction == Direction::Write);
            let (rate, sizes) = (rate.as_f64(), work.size.in_blocks(block));
            asked.operations[at] += rate;
            asked.bytes[at] += rate * sizes.mean();
            asked.unrounded[at] += rate * work.size.in_blocks(1).mean();
            asked.squares[at] += rate * sizes.mean_square();
        }
        asked
    }
}

impl ProfilePart {
    /// Whether any knob scales its large blocks.
    fn has_blocks(&self) -> bool {
        self.kind == Kind::Namespace
    }

    /// Sets those knobs that apply: a position is where sizes lie in the buckets of a histogram, so sizes that are
    /// listed one by one have no position.
    fn set(&mut self, knobs: &Knobs) {
        for (flow, position) in [(&mut self.reads, knobs.read_position), (&mut self.writes, knobs.write_position)] {
            let flow = flow.as_mut().filter(|flow| flow.has_buckets());
            flow.into_iter().for_each(|flow| flow.position = position);
        }
        if self.has_blocks() {
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

impl Profile {
    /// Bounds of a position: those of a bucket.
    pub const POSITIONS: RangeInclusive<Share> = Share::WHOLE..=POSITION_MAX;
    /// Bounds of the scale of large blocks.
    pub const SCALES: RangeInclusive<Share> = Share::from_percent(0)..=SCALE_MAX;

    /// The knobs as in the profile: those of the first part on the drive that has any.
    ///
    /// # Errors
    /// There is no such drive, or it has no parts.
    pub fn knobs(&self) -> Result<Knobs, Unfit> {
        let parts = self.parts_meant()?;
        let parts = || parts.iter().map(|index| &self.parts[*index]);
        let position = |of: fn(&ProfilePart) -> &Option<super::Flow>| {
            let flow = parts().filter_map(|part| of(part).as_ref()).find(|flow| flow.has_buckets());
            flow.map_or(Share::WHOLE, |flow| flow.position)
        };
        let blocks = parts().find(|part| part.has_blocks()).map(|part| &part.large_blocks);
        Ok(Knobs {
            read_position: position(|part| &part.reads),
            write_position: position(|part| &part.writes),
            read_scale: blocks.map_or(Share::WHOLE, |blocks| blocks.read_scale),
            write_scale: blocks.map_or(Share::WHOLE, |blocks| blocks.write_scale),
        })
    }

    /// The same profile with these knobs for all parts on its drive, whose name is written into the profile.
    ///
    /// # Errors
    /// There is no such drive, or it has no parts.
    pub fn moved(&self, knobs: &Knobs) -> Result<Profile, Unfit> {
        let mut moved = self.clone();
        for index in self.parts_meant()? {
            moved.parts[index].set(knobs);
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
        let asked = profile.lower().unwrap().asked(512);
        let (small, large) = (4096.0, 131_072.0);
        assert_eq!(asked.operations, [108.0, 8.0]);
        assert_eq!(asked.bytes, [100.0 * small + 8.0 * large, 8.0 * large]);
        assert_eq!(asked.squares, [100.0 * small * small + 8.0 * large * large, 8.0 * large * large]);
        let on_large_blocks = profile.lower().unwrap().asked(8192);
        assert_eq!(on_large_blocks.bytes[0] - on_large_blocks.unrounded[0], 100.0 * 4096.0);
    }

    #[test]
    fn knobs_move_what_is_on_the_drive_and_nothing_else() {
        let mut each = part("each", "sda");
        let sizes = Sizes::Each(vec![(Bytes::from_kib(4), Share::WHOLE)]);
        each.reads = Some(Flow { sizes: Some(Sourced::new(sizes, "")), ..each.reads.unwrap() });
        let application = ProfilePart { kind: Kind::Application, ..part("application", "sda") };
        let parts = vec![each, part("a", "sda"), part("other", "sdb"), application];
        let profile = Profile { drive: Some("sda".into()), parts, ..Profile::default() };
        assert_eq!(profile.knobs().unwrap(), Knobs::default());
        let share = Share::from_percent;
        let knobs = Knobs {
            read_position: share(120),
            write_position: share(130),
            read_scale: share(90),
            write_scale: share(80),
        };
        let moved = profile.moved(&knobs).unwrap();
        assert_eq!(moved.knobs().unwrap(), knobs);
        assert_eq!(moved.parts[2], profile.parts[2]);
        assert_eq!(moved.parts[0].reads, profile.parts[0].reads, "sizes one by one have no position");
        assert_eq!(
            moved.parts[3].large_blocks,
            LargeBlocks { writes: moved.parts[3].large_blocks.writes.clone(), ..LargeBlocks::default() }
        );
        let asked = moved.lower().unwrap().asked(512);
        assert!(asked.operations[1] < profile.lower().unwrap().asked(512).operations[1]);
        assert!(Profile { drive: Some("sdx".into()), ..profile }.moved(&knobs).is_err());
    }
}
