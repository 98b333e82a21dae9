//! The cost of a seal: nanoseconds to make 4 KiB of data plain and sealed, and to check it. `bench/verify` runs it.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a measurement reads a clock and prints")]

use assay_base::{Prng, Share};
use assay_model::content::Content;
use assay_model::seal::{Seal, is_sound};
use std::time::{Duration, Instant};

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let mut content = Content::new(Prng::from_seed(1), 1, Share::WHOLE);
    let seal = Seal { run: 1, generation: 0, target: 1, offset: 0, granule: 4096, within: 0, length: 4096 };
    // As many as in a queue, so that they do not all stay in the first-level cache.
    let mut blocks = vec![vec![0u8; 4096]; 64];
    time("plain", seconds, &mut blocks, |block| content.fill_buffer(0, block));
    time("sealed", seconds, &mut blocks, |block| content.fill_sealed(seal, block, |_| 1));
    time("checked", seconds, &mut blocks, |block| {
        assert!(Seal::read_from_block(block) == Some(Seal { generation: 1, ..seal }) && is_sound(block))
    });
}

fn time(name: &str, seconds: f64, blocks: &mut [Vec<u8>], mut work: impl FnMut(&mut [u8])) {
    let (begin, mut done) = (Instant::now(), 0u64);
    while begin.elapsed() < Duration::from_secs_f64(seconds) {
        blocks.iter_mut().for_each(|block| work(block));
        done += blocks.len() as u64;
    }
    std::hint::black_box(blocks);
    println!("{name} {:.1}", begin.elapsed().as_nanos() as f64 / done as f64);
}
