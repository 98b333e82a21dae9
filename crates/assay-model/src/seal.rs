//! The seal of every written granule when a workload verifies: who wrote it, when, where to, and a checksum.
//!
//! The seal is at the beginning of the granule and begins with the [`Stamp`] that all our data begin with, so that the
//! safety gate recognises it too. It is little-endian: 16 bytes stamp, u64 offset on the target, u32 target, u32 bytes
//! of the granule, u32 distance from the beginning of its write, u32 length of that write, `SEAL`, u32 CRC32C of the
//! whole granule with this field zero. The last four bytes of each 512 of the granule are the run XOR the generation:
//! they distinguish a granule that was written only in part from one that was changed.

use assay_base::{Stamp, stamp};

/// Bytes of a seal.
pub const LEN: usize = 48;
/// Granules are powers of two between these.
pub const SMALLEST: u64 = 512;
/// See [`SMALLEST`]: what most devices write in one piece.
pub const LARGEST: u64 = 4096;

/// Distinguishes a seal from a stamp alone.
const MARK: [u8; 4] = *b"SEAL";
const SUM: std::ops::Range<usize> = 44..48;
/// The unit that a device never writes in part.
const SECTOR: usize = 512;

/// The seal of one granule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seal {
    /// Identifies the run.
    pub run: u32,
    /// Counts the writes to this place in that run, from 1.
    pub generation: u32,
    /// Identifies the target.
    pub target: u32,
    /// Where it belongs, in bytes from the start of the target.
    pub offset: u64,
    /// Bytes of the granule.
    pub granule: u32,
    /// Bytes from the beginning of the write it was a part of.
    pub within: u32,
    /// Bytes of that write.
    pub length: u32,
}

/// How much of a granule carries the marks of one write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Some of its sectors.
    Part,
    /// None.
    Nothing,
}

/// The number at a place of a seal, little endian.
#[inline]
fn number_at(head: &[u8; LEN], at: usize) -> u32 {
    u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}

impl Seal {
    /// Seals `block`, a granule that already contains its data.
    #[inline]
    pub fn seal_block(self, block: &mut [u8]) {
        assert_eq!(block.len(), self.granule as usize, "a granule is sealed as a whole");
        for sector in block.chunks_exact_mut(SECTOR) {
            sector[SECTOR - 4..].copy_from_slice(&granule_tag(self.run, self.generation));
        }
        Stamp { run: self.run, generation: self.generation }.write_to_block(block);
        block[16..24].copy_from_slice(&self.offset.to_le_bytes());
        block[24..28].copy_from_slice(&self.target.to_le_bytes());
        block[28..32].copy_from_slice(&self.granule.to_le_bytes());
        block[32..36].copy_from_slice(&self.within.to_le_bytes());
        block[36..40].copy_from_slice(&self.length.to_le_bytes());
        block[40..44].copy_from_slice(&MARK);
        block[SUM].fill(0);
        let sum = crc_fast::crc32_iscsi(block);
        block[SUM].copy_from_slice(&sum.to_le_bytes());
    }

    /// The seal at the beginning of `block`, if there is one; [`is_sound`] says whether the data match it.
    #[inline]
    pub fn read_from_block(block: &[u8]) -> Option<Seal> {
        let head: &[u8; LEN] = block.first_chunk()?;
        if head[..8] != stamp::MAGIC || head[40..44] != MARK {
            return None;
        }
        let granule = number_at(head, 28);
        if !granule.is_power_of_two() || !(SMALLEST..=LARGEST).contains(&u64::from(granule)) {
            return None;
        }
        let offset = u64::from(number_at(head, 16)) | u64::from(number_at(head, 20)) << 32;
        Some(Seal {
            run: number_at(head, 8),
            generation: number_at(head, 12),
            target: number_at(head, 24),
            offset,
            granule,
            within: number_at(head, 32),
            length: number_at(head, 36),
        })
    }

    /// Begin and length of the write that this was a part of.
    pub fn write_range(&self) -> (u64, u64) {
        (self.offset.saturating_sub(u64::from(self.within)), u64::from(self.length))
    }
}

/// Whether the checksum of `block`, a whole granule, matches its data. The block is unchanged afterwards.
#[inline]
pub fn is_sound(block: &mut [u8]) -> bool {
    let Some(field) = block.get_mut(SUM) else { return false };
    let mut told = [0; 4];
    told.copy_from_slice(field);
    field.fill(0);
    let sum = crc_fast::crc32_iscsi(block);
    block[SUM].copy_from_slice(&told);
    sum.to_le_bytes() == told
}

/// How much of `block` has the marks of the write `generation` of `run`. If only data were changed, the result is the
/// whole.
pub fn marked_extent(block: &[u8], run: u32, generation: u32) -> Extent {
    let mark = granule_tag(run, generation);
    let (mut marked, mut all) = (0, 0);
    for sector in block.chunks_exact(SECTOR) {
        all += 1;
        marked += usize::from(sector[SECTOR - 4..] == mark);
    }
    if marked == all {
        return Extent::Whole;
    }
    let mut restored = block.to_vec();
    restored.chunks_exact_mut(SECTOR).for_each(|sector| sector[SECTOR - 4..].copy_from_slice(&mark));
    match (is_sound(&mut restored), marked) {
        (true, _) => Extent::Whole,
        (false, 0) => Extent::Nothing,
        (false, _) => Extent::Part,
    }
}

/// Whether data of ours begin anywhere after the beginning of `block`: a later write covers a part of it.
pub fn is_overwritten(block: &[u8]) -> bool {
    block.chunks_exact(SECTOR).skip(1).any(|sector| sector.starts_with(&stamp::MAGIC))
}

fn granule_tag(run: u32, generation: u32) -> [u8; 4] {
    (run ^ generation).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Content;
    use assay_base::{Prng, Share};

    fn seal() -> Seal {
        Seal { run: 0x1234_5678, generation: 7, target: 3, offset: 1 << 40, granule: 4096, within: 0, length: 4096 }
    }

    #[test]
    fn every_changed_byte_is_noticed_and_the_stamp_is_in_its_place() {
        let mut content = Content::new(Prng::from_seed(1), seal().run, Share::WHOLE);
        let mut block = vec![0; 4096];
        content.fill_sealed(seal(), &mut block, |_| 7);
        assert_eq!(Seal::read_from_block(&block), Some(seal()));
        assert_eq!(Stamp::read_from_block(&block), Some(Stamp { run: seal().run, generation: 7 }));
        assert!(is_sound(&mut block));
        for at in 0..block.len() {
            block[at] ^= 0x20;
            assert!(!is_sound(&mut block), "byte {at}");
            block[at] ^= 0x20;
        }
        assert!(is_sound(&mut block), "checking changes nothing");
    }

    #[test]
    fn granules_of_one_write_know_their_places() {
        let mut content = Content::new(Prng::from_seed(1), seal().run, Share::from_percent(50));
        let mut write = vec![0; 8192];
        content.fill_sealed(Seal { offset: 512 * 9, granule: 512, ..seal() }, &mut write, |at| (at / 512) as u32);
        for (index, block) in write.chunks_exact_mut(512).enumerate() {
            let found = Seal::read_from_block(block).unwrap();
            assert!(is_sound(block));
            let at = 512 * (9 + index as u64);
            assert_eq!((found.offset, found.generation, found.write_range()), (at, (at / 512) as u32, (512 * 9, 8192)));
        }
    }

    #[test]
    fn what_is_no_seal_is_none() {
        let mut plain = vec![0; 4096];
        Content::new(Prng::from_seed(1), 1, Share::WHOLE).fill_buffer(0, &mut plain);
        assert_eq!(Seal::read_from_block(&plain), None, "a stamp alone");
        let mut sealed = vec![0; 4096];
        seal().seal_block(&mut sealed);
        for (what, change) in [("granule", 29), ("mark", 40), ("magic", 0)] {
            sealed[change] ^= 1;
            assert_eq!(Seal::read_from_block(&sealed), None, "{what}");
            sealed[change] ^= 1;
        }
        for len in [0, 1, LEN - 1] {
            assert_eq!(Seal::read_from_block(&sealed[..len]), None);
            assert!(!is_sound(&mut sealed[..len].to_vec()));
        }
    }

    #[test]
    fn extents() {
        let mut content = Content::new(Prng::from_seed(1), seal().run, Share::WHOLE);
        let mut block = vec![0; 4096];
        content.fill_sealed(seal(), &mut block, |_| 7);
        assert_eq!(marked_extent(&block, seal().run, 7), Extent::Whole);
        block[1023] ^= 1;
        assert_eq!(marked_extent(&block, seal().run, 7), Extent::Whole, "a mark was changed, and nothing else");
        block[1023] ^= 1;
        let mut newer = vec![0; 4096];
        content.fill_sealed(seal(), &mut newer, |_| 8);
        assert_eq!(marked_extent(&newer, seal().run, 7), Extent::Nothing);
        newer[2048..].copy_from_slice(&block[2048..]);
        assert_eq!(
            (marked_extent(&newer, seal().run, 7), marked_extent(&newer, seal().run, 8)),
            (Extent::Part, Extent::Part)
        );
        assert!(!is_overwritten(&block));
        let other = block[..512].to_vec();
        block[512..1024].copy_from_slice(&other);
        assert!(is_overwritten(&block));
    }

    /// The example of docs/formats/sealed.md.
    #[test]
    fn the_worked_example_of_the_formats() {
        let mut block = vec![0; 512];
        Seal {
            run: 0x0bad_cafe,
            generation: 3,
            target: 0x5eed,
            offset: 0x12_3400,
            granule: 512,
            within: 512,
            length: 1024,
        }
        .seal_block(&mut block);
        let hex: Vec<String> =
            block[..LEN].chunks(16).map(|row| row.iter().map(|b| format!("{b:02x}")).collect()).collect();
        assert_eq!(
            hex,
            [
                "4153534159424c4bfecaad0b03000000",
                "0034120000000000ed5e000000020000",
                "00020000000400005345414c634b9ee6"
            ]
        );
    }
}
