//! Commits that become writes in groups: one writer takes all that came during its last write and makes them durable with
//! the next one. How many commits are in a group, and how large its write is, follows from what waits; nothing here says it.
//!
//! It is the writer of a server ([`crate::files::service`]) as a stream of durable writes of blocks: a ring that is written
//! over, in whole blocks, of which the last one is written again by the group behind it.

use crate::files::service::CommitImages;
use assay_base::{Bytes, Prng, Rate};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How commits become writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CommitGroups {
    /// Commits over all targets.
    pub commits: Rate,
    /// Evenly spaced; otherwise their clients are independent.
    pub even: bool,
    /// Bytes of one commit.
    pub entry: Bytes,
    /// Bytes of a group besides its commits.
    pub group: Bytes,
    /// Further bytes that some commits have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<CommitImages>,
    /// Writes are whole blocks of so many bytes, or of the target's where those are larger.
    pub block: Bytes,
    /// The most bytes of one write: commits that do not fit wait for the next one.
    pub most: Bytes,
    /// Bytes of the ring.
    pub ring: Bytes,
}

impl CommitGroups {
    /// Bytes of one commit.
    fn draw_commit(&self, prng: &mut Prng) -> u64 {
        let images = self.images.filter(|images| prng.uniform_unit() < images.share.as_f64());
        self.entry.get() + images.map_or(0, |images| images.bytes.get())
    }

    /// Bytes a second of writes on targets with blocks of `block` bytes, where each commit is a group by itself.
    pub fn most_bytes_per_second(&self, block: u32) -> f64 {
        let images = self.images.map_or(0.0, |images| images.share.as_f64() * images.bytes.get() as f64);
        let block = self.block.get().max(block.into()) as f64;
        self.commits.as_f64() * (self.entry.get() as f64 + self.group.get() as f64 + images + block)
    }

    /// Bytes of the largest commit.
    pub fn largest_commit(&self) -> u64 {
        self.entry.get() + self.images.map_or(0, |images| images.bytes.get())
    }
}

/// Where the writer is in its ring.
#[derive(Clone, Debug)]
pub struct GroupWriter {
    groups: CommitGroups,
    /// Writes begin and end at multiples of this, and the ring does too.
    block: u64,
    ring: u64,
    position: u64,
    /// Bytes of a group that did not fit into the end of the ring.
    rest: u64,
    prng: Prng,
}

impl GroupWriter {
    /// A writer at the beginning of a ring of `ring` bytes, on a target with blocks of `block` bytes.
    pub fn new(groups: &CommitGroups, block: u32, ring: u64, prng: Prng) -> GroupWriter {
        let block = groups.block.get().max(1).next_multiple_of(block.into());
        let ring = ring.min(groups.ring.get()) / block * block;
        GroupWriter { groups: *groups, block, ring, position: 0, rest: 0, prng }
    }

    /// Whether the rest of a group has to be written, whatever waits.
    pub fn has_rest(&self) -> bool {
        self.rest > 0
    }

    /// The next write, as a part of the ring. `take` takes a commit that waits, and says whether there was one.
    pub fn next_write(&mut self, mut take: impl FnMut() -> bool) -> Range<u64> {
        let mut bytes = std::mem::take(&mut self.rest);
        if bytes == 0 {
            bytes = self.groups.group.get();
            let most = self.groups.most.get().saturating_sub(2 * self.block + self.groups.largest_commit());
            while take() {
                bytes += self.groups.draw_commit(&mut self.prng);
                if bytes > most {
                    break;
                }
            }
        }
        if self.position >= self.ring {
            self.position = 0;
        }
        let taken = bytes.min(self.ring - self.position);
        let (start, end) = (self.position, self.position + taken);
        (self.position, self.rest) = (end, bytes - taken);
        // The last block is written again by the next group, as far as it is not full.
        start / self.block * self.block..end.div_ceil(self.block) * self.block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(entry: u64, block: u64, most: u64, ring: u64, of_target: u32) -> GroupWriter {
        let bytes = Bytes::new;
        let groups = CommitGroups {
            commits: Rate::per_second(1),
            even: true,
            entry: bytes(entry),
            group: bytes(0),
            images: None,
            block: bytes(block),
            most: bytes(most),
            ring: bytes(ring),
        };
        GroupWriter::new(&groups, of_target, ring, Prng::for_path(1, &[1]))
    }

    /// The writes for so many commits that wait each time.
    fn writes(writer: &mut GroupWriter, waiting: &[u64]) -> Vec<Range<u64>> {
        let mut all = Vec::new();
        for waiting in waiting {
            let mut left = *waiting;
            all.push(writer.next_write(|| {
                let there = left > 0;
                left = left.saturating_sub(1);
                there
            }));
        }
        all
    }

    #[test]
    fn the_last_block_is_written_again_until_it_is_full() {
        let mut one = writer(600, 8192, 1 << 20, 1 << 20, 512);
        // 600, 1200 … bytes: thirteen commits are 7,800 bytes, and the fourteenth reaches into the second block.
        assert_eq!(writes(&mut one, &[1, 12, 1, 1]), [0..8192, 0..8192, 0..16384, 8192..16384]);
        assert_eq!(writes(&mut writer(512, 512, 1 << 20, 1 << 20, 512), &[1, 2]), [0..512, 512..1536]);
        assert_eq!(writes(&mut writer(435, 512, 1 << 20, 1 << 20, 4096), &[1, 9, 1]), [0..4096, 0..8192, 4096..8192]);
    }

    #[test]
    fn a_group_that_does_not_fit_is_divided_at_the_end_of_the_ring() {
        let mut one = writer(3000, 4096, 1 << 20, 8192, 512);
        assert_eq!(writes(&mut one, &[2, 3]), [0..8192, 4096..8192]);
        assert!(one.has_rest());
        assert_eq!(writes(&mut one, &[9]).pop(), Some(0..8192), "what is left of it, and nothing else");
        assert!(!one.has_rest());
    }

    #[test]
    fn no_write_is_larger_than_the_most() {
        let mut one = writer(1000, 512, 8192, 1 << 20, 512);
        let mut waiting = 100;
        let mut largest = 0;
        while waiting > 0 {
            let write = one.next_write(|| {
                waiting -= u64::from(waiting > 0);
                waiting > 0
            });
            largest = largest.max(write.end - write.start);
        }
        assert!(largest <= 8192, "{largest}");
    }
}
