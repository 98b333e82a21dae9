//! The bytes of files. They follow from run, file, generation and offset, so that any range of any length can be made
//! again and compared, whatever calls it was written with.
//!
//! Every 4096 bytes of a file begin with a head: the 16 bytes of the stamp that all our data begin with, the file as
//! u64 and the offset as u64, little-endian. All other bytes are random: word w of a file is a hash of run, file,
//! generation and w. What is read instead of the expected bytes is told apart by these heads.

use crate::extents::{Piece, Version};
use assay_base::{Code, Stamp, stamp};
use std::fmt;
use std::ops::Range;

/// Length of a head: stamp, file, offset.
const HEAD: usize = stamp::LEN + 16;
/// Distance of heads.
const BLOCK: u64 = stamp::EVERY;
/// Bytes that are compared at a time.
const STEP: usize = 4096;

/// Bytes of files that do not follow from a run.
pub trait SourceBytes: fmt::Debug + Sync {
    /// Fills `buffer` with the bytes of a file from `offset` on; with zeros where they are not what they were.
    fn fill_bytes(&self, file: u32, offset: u64, buffer: &mut [u8]);
}

/// The contents of a run's files.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    run: u32,
    /// Where the bytes of files come from that are copies.
    source: Option<&'a dyn SourceBytes>,
}

/// A place where a file has other bytes than it should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The first byte that differs, counted from the beginning of the file.
    pub offset: u64,
    /// What it is: lost, misdirected, torn, corrupt or foreign.
    pub kind: Code,
    /// What the block says about itself, where it has a head.
    pub found: Option<FoundHead>,
}

/// What a block says about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundHead {
    /// Who wrote it.
    pub stamp: Stamp,
    /// The file that it was written to.
    pub file: u64,
    /// Where in that file.
    pub offset: u64,
}

impl FoundHead {
    fn read(block: &[u8]) -> Option<FoundHead> {
        let stamp = Stamp::read_from_block(block)?;
        let file = u64::from_le_bytes(block.get(16..24)?.try_into().ok()?);
        let offset = u64::from_le_bytes(block.get(24..32)?.try_into().ok()?);
        Some(FoundHead { stamp, file, offset })
    }
}

/// One step of the finalizer of SplitMix64 (Steele et al. 2014), a hash of 64 bits.
#[inline(always)]
fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl<'a> Contents<'a> {
    /// The contents of a run, which is the one in its stamps.
    pub fn new(run: u32) -> Contents<'static> {
        Contents { run, source: None }
    }

    /// The same, where some files are copies of those of a source.
    #[must_use]
    pub fn with_source(self, source: Option<&'a dyn SourceBytes>) -> Contents<'a> {
        Contents { source, ..self }
    }

    fn key(self, version: Version) -> u64 {
        let file = mixed(u64::from(self.run) << 32 | u64::from(version.file));
        mixed(file ^ u64::from(version.generation).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn head(self, version: Version, offset: u64) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        Stamp { run: self.run, generation: version.generation }.write_to_block(&mut head);
        head[16..24].copy_from_slice(&u64::from(version.file).to_le_bytes());
        head[24..32].copy_from_slice(&offset.to_le_bytes());
        head
    }

    /// Fills `buffer` with the bytes that a version has from `offset` on. Its end is below 2⁶⁴, as no file is larger.
    pub fn fill(self, version: Version, offset: u64, buffer: &mut [u8]) {
        if version.is_of_source() {
            return match self.source {
                Some(source) => source.fill_bytes(version.file, offset, buffer),
                None => buffer.fill(0),
            };
        }
        let key = self.key(version);
        let mut word = offset / 8;
        let ragged = (offset % 8) as usize;
        let first = if ragged == 0 { 0 } else { (8 - ragged).min(buffer.len()) };
        if first > 0 {
            let bytes = random_word(key, word);
            buffer[..first].copy_from_slice(&bytes[ragged..ragged + first]);
            word += 1;
        }
        let mut chunks = buffer[first..].chunks_exact_mut(8);
        for chunk in &mut chunks {
            chunk.copy_from_slice(&random_word(key, word));
            word += 1;
        }
        let rest = chunks.into_remainder();
        let length = rest.len();
        rest.copy_from_slice(&random_word(key, word)[..length]);
        self.put_heads(version, offset, buffer);
    }

    /// Writes the heads of the blocks, or those parts of them that are in the buffer.
    fn put_heads(self, version: Version, offset: u64, buffer: &mut [u8]) {
        let end = offset.saturating_add(buffer.len() as u64);
        let mut block = Some(offset / BLOCK * BLOCK);
        while let Some(at) = block.filter(|at| *at < end) {
            let head = self.head(version, at);
            let (from, to) = (at.max(offset), (at + HEAD as u64).min(end));
            if from < to {
                let part = &head[(from - at) as usize..(to - at) as usize];
                buffer[(from - offset) as usize..(to - offset) as usize].copy_from_slice(part);
            }
            block = at.checked_add(BLOCK);
        }
    }

    /// Fills `buffer` with the bytes that these pieces have from `offset` on; they cover it.
    pub fn fill_pieces(self, pieces: &[Piece], offset: u64, buffer: &mut [u8]) {
        for piece in pieces {
            let part = (piece.bytes.start - offset) as usize..(piece.bytes.end - offset) as usize;
            self.fill_piece(piece, piece.bytes.start, &mut buffer[part]);
        }
    }

    /// Fills `buffer` with what a piece contains from `offset` on.
    fn fill_piece(self, piece: &Piece, offset: u64, buffer: &mut [u8]) {
        match piece.version {
            Some(version) => self.fill(version, offset, buffer),
            None => buffer.fill(0),
        }
    }

    /// Compares bytes that were read from `offset` on with the pieces that a file has there. The bytes may end early:
    /// then what is missing is lost.
    pub fn check(self, pieces: &[Piece], offset: u64, read: &[u8]) -> Result<(), Damage> {
        let end = offset.saturating_add(read.len() as u64);
        for piece in pieces {
            let mut at = piece.bytes.start.max(offset);
            while at < piece.bytes.end {
                if at >= end {
                    return Err(Damage { offset: at, kind: Code::LOST, found: None });
                }
                // Never beyond a block, so that what is found in one is classified by its own head.
                let next = (at / BLOCK * BLOCK).saturating_add(BLOCK);
                let until = piece.bytes.end.min(next).min(end);
                let part = &read[(at - offset) as usize..(until - offset) as usize];
                self.check_part(piece, at, part, Around { offset, read })?;
                at = until;
            }
        }
        Ok(())
    }

    fn check_part(self, piece: &Piece, at: u64, part: &[u8], around: Around<'_>) -> Result<(), Damage> {
        let mut expected = [0; STEP];
        let expected = &mut expected[..part.len()];
        self.fill_piece(piece, at, expected);
        let Some(differs) = expected.iter().zip(part).position(|(expected, found)| expected != found) else {
            return Ok(());
        };
        let found = around.head_of(at / BLOCK * BLOCK);
        let kind = self.kind_of_damage(piece, at, part, found);
        Err(Damage { offset: at + differs as u64, kind, found })
    }

    /// What a part of a block that differs is.
    fn kind_of_damage(self, piece: &Piece, at: u64, part: &[u8], found: Option<FoundHead>) -> Code {
        if part.iter().all(|byte| *byte == 0) {
            return Code::LOST;
        }
        // Bytes of others say nothing about themselves.
        if piece.version.is_some_and(Version::is_of_source) {
            return Code::CORRUPT;
        }
        let Some(head) = found else { return self.kind_without_head(piece, at, part) };
        if head.stamp.run != self.run {
            return Code::FOREIGN;
        }
        let Some(version) = piece.version else { return Code::LOST };
        if head.file != u64::from(version.file) || head.offset != at / BLOCK * BLOCK {
            return Code::MISDIRECTED;
        }
        let written = Version { generation: head.stamp.generation, ..version };
        if !self.equals(written, at, part) {
            return self.kind_without_head(piece, at, part);
        }
        if written.generation < version.generation { Code::LOST } else { Code::CORRUPT }
    }

    /// The kind of a part whose head does not explain it: by comparing its sectors with the versions before.
    fn kind_without_head(self, piece: &Piece, at: u64, part: &[u8]) -> Code {
        let Some(version) = piece.version else { return Code::CORRUPT };
        let earlier = (1..version.generation).rev().take(MOST_EARLIER);
        let mut candidates = vec![version];
        candidates.extend(earlier.map(|generation| Version { generation, ..version }));
        if candidates[1..].iter().any(|version| self.equals(*version, at, part)) {
            return Code::LOST;
        }
        let (mut current, mut other) = (false, false);
        for (index, sector) in part.chunks(SECTOR).enumerate() {
            let offset = at + (index * SECTOR) as u64;
            let is_zero = sector.iter().all(|byte| *byte == 0);
            match candidates.iter().position(|version| self.equals(*version, offset, sector)) {
                Some(0) => current = true,
                Some(_) => other = true,
                None if is_zero => other = true,
                None => return Code::CORRUPT,
            }
        }
        if current && other { Code::TORN } else { Code::LOST }
    }

    fn equals(self, version: Version, offset: u64, bytes: &[u8]) -> bool {
        let mut expected = [0; STEP];
        let expected = &mut expected[..bytes.len()];
        self.fill(version, offset, expected);
        expected == bytes
    }
}

/// The unit that is written whole or not at all.
const SECTOR: usize = 512;
/// How many versions before the expected one are looked for.
const MOST_EARLIER: usize = 8;

/// All bytes that were read, among which the head of a block may be.
#[derive(Clone, Copy)]
struct Around<'a> {
    offset: u64,
    read: &'a [u8],
}

impl Around<'_> {
    fn head_of(self, block: u64) -> Option<FoundHead> {
        let at = usize::try_from(block.checked_sub(self.offset)?).ok()?;
        FoundHead::read(self.read.get(at..)?)
    }
}

/// The word of 8 random bytes at a place of a file: wyrand (Wang Yi, wyhash, final version 4) with its counter at the word. A
/// client makes the bytes of each write between two calls: 4 KiB take a third of the time that the finalizer of SplitMix64
/// takes.
#[inline(always)]
fn random_word(key: u64, word: u64) -> [u8; 8] {
    let counter = key.wrapping_add(word.wrapping_mul(0xa076_1d64_78bd_642f));
    let product = u128::from(counter) * u128::from(counter ^ 0xe703_7ed1_a0b4_28db);
    (product as u64 ^ (product >> 64) as u64).to_le_bytes()
}

/// The range of a read or write.
pub fn range(offset: u64, length: u64) -> Range<u64> {
    offset..offset.saturating_add(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extents::Extents;
    use assay_base::Prng;

    const OURS: Contents<'static> = Contents { run: 77, source: None };

    fn version(file: u32, generation: u32) -> Version {
        Version { file, generation }
    }

    fn bytes(version: Version, range: Range<u64>) -> Vec<u8> {
        let mut buffer = vec![0; (range.end - range.start) as usize];
        OURS.fill(version, range.start, &mut buffer);
        buffer
    }

    #[test]
    fn any_range_is_the_same_part_of_the_whole() {
        let whole = bytes(version(3, 2), 0..20_000);
        let mut prng = Prng::from_seed(1);
        for _ in 0..3000 {
            let (a, b) = (prng.uniform_below(20_001), prng.uniform_below(20_001));
            let range = a.min(b)..a.max(b);
            assert_eq!(
                bytes(version(3, 2), range.clone()),
                whole[range.start as usize..range.end as usize],
                "{range:?}"
            );
        }
        for block in 0..4 {
            let head = FoundHead::read(&whole[block * 4096..]).unwrap();
            let stamp = Stamp { run: 77, generation: 2 };
            assert_eq!(head, FoundHead { stamp, file: 3, offset: block as u64 * 4096 });
        }
    }

    #[test]
    fn files_generations_and_runs_differ_in_every_block_and_bits_are_even() {
        let one = bytes(version(3, 2), 0..65_536);
        let runs = |run| {
            let mut buffer = vec![0; 65_536];
            Contents::new(run).fill(version(3, 2), 0, &mut buffer);
            buffer
        };
        for other in [bytes(version(3, 3), 0..65_536), bytes(version(4, 2), 0..65_536), runs(78)] {
            let same = one.chunks(8).zip(other.chunks(8)).filter(|(a, b)| a == b).count();
            // The words of the heads that carry the magic, and the file or the offset.
            assert!(same <= 16 * 3, "{same} words are the same");
        }
        let ones: u32 = one.iter().map(|byte| byte.count_ones()).sum();
        assert!((f64::from(ones) / (65_536.0 * 8.0) - 0.5).abs() < 0.005, "{ones}");
    }

    #[test]
    fn several_versions_and_holes_are_checked_together() {
        let mut extents = Extents::whole(10_000, version(1, 1));
        extents.write(3000..5000, version(1, 2));
        extents.clear(7000..7100);
        let pieces = extents.pieces_of(0..10_000);
        let mut read = Vec::new();
        for piece in &pieces {
            match piece.version {
                Some(version) => read.extend(bytes(version, piece.bytes.clone())),
                None => read.resize(piece.bytes.end as usize, 0),
            }
        }
        assert_eq!(OURS.check(&pieces, 0, &read), Ok(()));
        for at in [0, 2999, 3000, 4999, 5000, 7050, 9999] {
            let mut changed = read.clone();
            changed[at] ^= 1;
            let damage = OURS.check(&pieces, 0, &changed).unwrap_err();
            assert_eq!(damage.offset, at as u64, "{damage:?}");
        }
        let damage = OURS.check(&pieces, 0, &read[..9000]).unwrap_err();
        assert_eq!((damage.offset, damage.kind), (9000, Code::LOST), "what is missing at the end is lost");
        assert_eq!(OURS.check(&extents.pieces_of(100..200), 100, &read[100..200]), Ok(()));
    }

    #[test]
    fn each_kind_of_damage_is_told_apart() {
        let pieces = Extents::whole(12_288, version(5, 4)).pieces_of(0..12_288);
        let sound = bytes(version(5, 4), 0..12_288);
        let put = |at: usize, block: Vec<u8>| {
            let mut read = sound.clone();
            read[at..at + block.len()].copy_from_slice(&block);
            OURS.check(&pieces, 0, &read).map_err(|damage| damage.kind)
        };
        assert_eq!(put(0, Vec::new()), Ok(()));
        let mut foreign = vec![0; 4096];
        Contents::new(9).fill(version(5, 4), 4096, &mut foreign);
        for (what, at, block, kind) in [
            ("another file's", 4096, bytes(version(6, 4), 4096..8192), Code::MISDIRECTED),
            ("another place's", 4096, bytes(version(5, 4), 0..4096), Code::MISDIRECTED),
            ("an older version", 4096, bytes(version(5, 3), 4096..8192), Code::LOST),
            ("zeros", 4096, vec![0; 4096], Code::LOST),
            ("half of an older version", 6144, bytes(version(5, 2), 6144..8192), Code::TORN),
            ("half of the new over an older version", 4096, bytes(version(5, 3), 4096..6144), Code::TORN),
            ("half zeros", 6144, vec![0; 2048], Code::TORN),
            ("another run's", 4096, foreign, Code::FOREIGN),
            ("a changed byte", 5000, vec![sound[5000] ^ 8], Code::CORRUPT),
        ] {
            assert_eq!(put(at, block), Err(kind), "{what}");
        }
    }

    #[test]
    fn nothing_overflows_at_the_end_of_all_offsets() {
        let first = u64::MAX - 10_000;
        let mut read = vec![0; 10_000];
        OURS.fill(version(1, 1), first, &mut read);
        let pieces = [Piece { bytes: first..u64::MAX, version: Some(version(1, 1)) }];
        assert_eq!(OURS.check(&pieces, first, &read), Ok(()));
        read[9_999] ^= 1;
        assert_eq!(OURS.check(&pieces, first, &read).unwrap_err().offset, u64::MAX - 1);
        assert_eq!((range(u64::MAX - 1, 10), range(3, 4)), (u64::MAX - 1..u64::MAX, 3..7));
        // A head with any offset, as a damaged disk may have it.
        let mut damaged = bytes(version(1, 1), 0..4096);
        damaged[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
        let pieces = [Piece { bytes: 0..4096, version: Some(version(1, 1)) }];
        assert_eq!(OURS.check(&pieces, 0, &damaged).unwrap_err().kind, Code::MISDIRECTED);
        let damage = OURS.check(&pieces, 0, &damaged[..4000]).unwrap_err();
        assert_eq!(damage.found.unwrap().offset, u64::MAX);
    }

    #[test]
    fn golden_vector() {
        let bytes = bytes(version(3, 2), 32..48);
        let expected = [35, 131, 90, 106, 164, 229, 220, 138, 125, 162, 214, 108, 202, 238, 126, 88];
        assert_eq!(bytes, expected, "a file that was kept is read again by later programs");
    }
}
