//! The written data: unique and incompressible unless configured otherwise, stamped with run and generation.
//!
//! Each 4 KiB-aligned block is a part of a fixed random pool XORed with a key of its own. No two blocks of a run are
//! alike (keys and stamps differ), no compressor finds one in another, and the cost is one load, XOR and store per 32
//! bytes. For a compressibility of p %, the first p % of every block are such data and the rest is zeros.

use crate::seal::Seal;
use assay_base::{Prng, Share, Stamp, stamp};

/// Number of words in the pool: 64 KiB, which stays in a core's own cache.
const POOL: usize = 8192;
/// Number of 64-bit words processed at once.
const LANES: usize = 4;

/// Fills buffers for one flow.
#[derive(Clone, Debug)]
pub struct Content {
    pool: Box<[u64]>,
    keys: Prng,
    stamp: Stamp,
    /// Share of each block that is random, in 1024ths rounded to nearest.
    random: u64,
    /// What repeats; absent where nothing does.
    earlier: Option<Box<Earlier>>,
    /// The byte that every block holds behind its stamp, instead of such data.
    filled_with: Option<u8>,
}

/// How many of the last blocks may be repeated.
const REPEATED: u64 = 4096;

/// What a block is made of: its key, where its stretch of the pool begins, its generation.
type Recipe = ([u64; LANES], usize, u32);

/// Blocks that repeat an earlier one, stamp included: with probability `share`, uniform among the last [`REPEATED`].
#[derive(Clone, Debug)]
struct Earlier {
    /// Blocks of 2^32 that repeat one.
    share: u64,
    recipes: Vec<Recipe>,
    /// Blocks so far that repeat none.
    made: u64,
}

impl Earlier {
    fn for_share(share: Share) -> Option<Box<Earlier>> {
        let share = (u128::from(share.as_ppb()) << 32) / 1_000_000_000;
        (share > 0)
            .then(|| Box::new(Earlier { share: share as u64, recipes: Vec::with_capacity(REPEATED as usize), made: 0 }))
    }

    /// The recipe that a block repeats, if it does.
    fn draw_recipe(&self, prng: &mut Prng) -> Option<Recipe> {
        let repeats = prng.next_u64() >> 32 < self.share && !self.recipes.is_empty();
        repeats.then(|| self.recipes[prng.uniform_below(self.recipes.len() as u64) as usize])
    }

    fn keep_recipe(&mut self, recipe: Recipe) {
        let place = (self.made % REPEATED) as usize;
        self.made += 1;
        match self.recipes.get_mut(place) {
            Some(oldest) => *oldest = recipe,
            None => self.recipes.push(recipe),
        }
    }
}

impl Content {
    /// Data of run `run` that compress to about `compress_to` of their size (the whole: incompressible).
    pub fn new(mut prng: Prng, run: u32, compress_to: Share) -> Content {
        let pool = (0..POOL).map(|_| prng.next_u64()).collect();
        let random = (compress_to.as_ppb().min(1_000_000_000) * 1024 + 500_000_000) / 1_000_000_000;
        Content { pool, keys: prng, stamp: Stamp { run, generation: 0 }, random, earlier: None, filled_with: None }
    }

    /// The same with one byte in place of data, behind the stamp; `None` changes nothing.
    #[must_use]
    pub fn filled_with(self, byte: Option<u8>) -> Content {
        Content { filled_with: byte, ..self }
    }

    /// The same, of whose blocks `share` repeat an earlier one.
    #[must_use]
    pub fn with_repeated_share(self, share: Share) -> Content {
        Content { earlier: Earlier::for_share(share), ..self }
    }

    /// Fills `buffer`, which is about to be written at byte `offset` of the target.
    pub fn fill_buffer(&mut self, offset: u64, mut buffer: &mut [u8]) {
        let mut at = offset;
        while !buffer.is_empty() {
            let to_boundary = (stamp::EVERY - at % stamp::EVERY) as usize;
            let (block, rest) = buffer.split_at_mut(to_boundary.min(buffer.len()));
            match block.len() {
                len if len < stamp::LEN => self.fill_fragment(at, block),
                _ => self.fill_block(block),
            }
            at += block.len() as u64;
            buffer = rest;
        }
    }

    /// The same for a workload that verifies: each granule is sealed. `seal` is that of the first granule, except for
    /// its generation, which `generation` returns for each offset. `offset` and length are whole granules.
    pub fn fill_sealed(&mut self, seal: Seal, buffer: &mut [u8], generation: impl Fn(u64) -> u32) {
        let length = buffer.len() as u32;
        let offsets = (seal.offset..).step_by(seal.granule as usize);
        for (block, offset) in buffer.chunks_exact_mut(seal.granule as usize).zip(offsets) {
            self.fill_block(block);
            let within = (offset - seal.offset) as u32;
            let Stamp { run, .. } = self.stamp;
            Seal { run, generation: generation(offset), offset, within, length, ..seal }.seal_block(block);
        }
    }

    /// Fills less than a stamp, which only operations of odd lengths leave at a border of blocks. At the beginning of a
    /// block it is the beginning of the stamp, so that a stamp that stood there is still one; elsewhere it is zeros.
    fn fill_fragment(&mut self, at: u64, block: &mut [u8]) {
        block.fill(0);
        if at.is_multiple_of(stamp::EVERY) {
            let mut whole = [0; stamp::LEN];
            self.stamp.write_to_block(&mut whole);
            block.copy_from_slice(&whole[..block.len()]);
        }
    }

    fn fill_block(&mut self, block: &mut [u8]) {
        match self.filled_with {
            None => self.fill_unique(block),
            Some(byte) => self.fill_with_byte(block, byte),
        }
    }

    fn fill_with_byte(&mut self, block: &mut [u8], byte: u8) {
        block.fill(byte);
        if block.len() >= stamp::LEN {
            self.stamp.write_to_block(block);
        }
        self.stamp.generation = self.stamp.generation.wrapping_add(1);
    }

    fn fill_unique(&mut self, block: &mut [u8]) {
        let random = (block.len() as u64 * self.random).div_ceil(1024) as usize;
        let (data, zeros) = block.split_at_mut(random.clamp(stamp::LEN.min(block.len()), block.len()));
        let words = stamp::EVERY as usize / 8;
        let (key, from, generation) = self.next_recipe(words);
        mix_with_pool(data, &self.pool[from..from + words], &key);
        zeros.fill(0);
        if data.len() >= stamp::LEN {
            Stamp { generation, ..self.stamp }.write_to_block(data);
        }
    }

    /// What the next block is made of.
    #[inline]
    fn next_recipe(&mut self, words: usize) -> Recipe {
        if let Some(recipe) = self.earlier.as_ref().and_then(|earlier| earlier.draw_recipe(&mut self.keys)) {
            return recipe;
        }
        let key: [u64; LANES] = std::array::from_fn(|_| self.keys.next_u64());
        let from = (self.keys.next_u64() as usize % ((POOL - words) / LANES)) * LANES;
        let recipe = (key, from, self.stamp.generation);
        self.stamp.generation = self.stamp.generation.wrapping_add(1);
        if let Some(earlier) = &mut self.earlier {
            earlier.keep_recipe(recipe);
        }
        recipe
    }
}

/// `data = pool ^ key`, the key repeated every [`LANES`] words.
fn mix_with_pool(data: &mut [u8], pool: &[u64], key: &[u64; LANES]) {
    const BYTES: usize = LANES * 8;
    let mut chunks = data.chunks_exact_mut(BYTES);
    let mut sources = pool.chunks_exact(LANES);
    for (chunk, source) in chunks.by_ref().zip(sources.by_ref()) {
        for lane in 0..LANES {
            chunk[lane * 8..lane * 8 + 8].copy_from_slice(&(source[lane] ^ key[lane]).to_le_bytes());
        }
    }
    // A share of a block can leave a remainder, and so can a block of an odd length.
    let rest = chunks.into_remainder();
    let last = sources.next().unwrap_or(&pool[..LANES]);
    for (i, byte) in rest.iter_mut().enumerate() {
        *byte = (last[i / 8] ^ key[i / 8]).to_le_bytes()[i % 8];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn written(share: u64, len: usize, times: u64) -> Vec<u8> {
        let mut content = Content::new(Prng::from_seed(1), 9, Share::from_percent(share));
        let mut all = Vec::new();
        for i in 0..times {
            let mut buffer = vec![0xaa; len];
            content.fill_buffer(i * len as u64, &mut buffer);
            all.extend(buffer);
        }
        all
    }

    /// A file that is used through the page cache has operations of any length, at any byte.
    #[test]
    fn operations_of_odd_lengths_leave_stamps_as_stamps() {
        for filled in [None, Some(7)] {
            let mut content = Content::new(Prng::from_seed(1), 9, Share::WHOLE).filled_with(filled);
            for (offset, len) in [(0u64, 1usize), (4096, 9), (4090, 1000), (4081, 16), (100, 15), (8189, 4100)] {
                let mut medium = written(100, 4096, 4);
                content.fill_buffer(offset, &mut medium[offset as usize..offset as usize + len]);
                let stamped = |block: &[u8]| block.starts_with(&stamp::MAGIC);
                assert!(medium.chunks(4096).all(stamped), "{len} at {offset}");
                // Behind a fragment of less than a stamp the next block begins with a stamp.
                let (first, within) = ((offset % 4096) as usize, &medium[offset as usize..offset as usize + len]);
                let fragment = (4096 - first).min(len);
                let expected = if fragment < 16 && first > 0 { vec![0; fragment] } else { stamp::MAGIC.to_vec() };
                let n = expected.len().min(fragment);
                assert_eq!(within[..n], expected[..n], "{len} at {offset}");
            }
        }
    }

    #[test]
    fn compresses_to_what_was_asked_by_zstd_and_lz4() {
        for share in [0u64, 10, 25, 50, 75, 90, 100] {
            for len in [131_072usize, 4096] {
                let data = written(share, len, 64);
                let (mut zstd, mut lz4) = (0, 0);
                for block in data.chunks(131_072) {
                    zstd += zstd::bulk::compress(block, 1).unwrap().len();
                    lz4 += lz4_flex::block::compress(block).len();
                }
                for (name, got) in [("zstd", zstd), ("lz4", lz4)] {
                    let got = got as f64 / data.len() as f64 * 100.0;
                    assert!((got - share as f64).abs() < 2.0, "{name} of {len} B writes: {got:.2} % for {share} %");
                }
            }
        }
    }

    #[test]
    fn no_two_blocks_are_alike_and_each_is_stamped() {
        let data = written(100, 131_072, 256);
        let blocks: HashSet<&[u8]> = data.chunks(4096).map(|block| &block[16..]).collect();
        assert_eq!(blocks.len(), data.len() / 4096, "alike even without their stamps");
        let generations: HashSet<u32> =
            data.chunks(4096).map(|b| Stamp::read_from_block(b).unwrap().generation).collect();
        assert_eq!(generations.len(), data.len() / 4096);
        // Also in units smaller than blocks: a device that deduplicates sectors finds no duplicates.
        let sectors: HashSet<&[u8]> = data.chunks(512).collect();
        assert_eq!(sectors.len(), data.len() / 512);
    }

    #[test]
    fn so_many_blocks_repeat_an_earlier_one_stamp_included() {
        for share in [1, 30, 90] {
            let mut content =
                Content::new(Prng::from_seed(share), 1, Share::WHOLE).with_repeated_share(Share::from_percent(share));
            let (mut seen, mut repeated, mut block) = (HashSet::new(), 0, vec![0; 4096]);
            for i in 0..100_000 {
                content.fill_buffer(i * 4096, &mut block);
                assert!(Stamp::read_from_block(&block).is_some());
                let whole: [u8; 32] = [&block[..16], &block[4080..]].concat().try_into().unwrap();
                repeated += u64::from(!seen.insert(whole));
            }
            let (p, n) = (share as f64 / 100.0, 1e5);
            assert!(
                (repeated as f64 - n * p).abs() < 4.0 * (n * p * (1.0 - p)).sqrt() + 1.0,
                "{repeated} of {share} %"
            );
        }
        let mut plain = Content::new(Prng::from_seed(1), 1, Share::WHOLE);
        let mut none = plain.clone().with_repeated_share(Share::default());
        let (mut a, mut b) = (vec![0; 8192], vec![0; 8192]);
        plain.fill_buffer(0, &mut a);
        none.fill_buffer(0, &mut b);
        assert_eq!(a, b, "nothing repeats");
    }

    #[test]
    fn one_byte_fills_what_is_behind_the_stamp() {
        let mut content = Content::new(Prng::from_seed(1), 9, Share::WHOLE).filled_with(Some(234));
        let mut buffer = vec![0; 8192];
        content.fill_buffer(4096, &mut buffer);
        for block in buffer.chunks(4096) {
            assert_eq!(Stamp::read_from_block(block).unwrap().run, 9);
            assert!(block[16..].iter().all(|byte| *byte == 234));
        }
        assert_ne!(buffer[..16], buffer[4096..4112], "each block has its own generation");
    }

    #[test]
    fn small_and_unaligned_writes() {
        for (offset, len) in [(512u64, 1536usize), (3584, 1024), (0, 512), (4096, 8192 + 512)] {
            let mut content = Content::new(Prng::from_seed(1), 1, Share::WHOLE);
            let mut buffer = vec![0; len];
            content.fill_buffer(offset, &mut buffer);
            assert!(Stamp::read_from_block(&buffer).is_some(), "a payload opens with a stamp");
            let boundary = (4096 - offset % 4096) as usize;
            assert!(
                boundary >= len || Stamp::read_from_block(&buffer[boundary..]).is_some(),
                "so does each aligned block in it"
            );
        }
    }
}
