//! The speed of making salt: fills 128 KiB buffers for about a second on one core and prints GB/s. `bench/salt` runs
//! it.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a measurement reads a clock and prints")]

use assay_base::{Prng, Share};
use assay_model::content::Content;
use std::time::{Duration, Instant};

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let mut content = Content::new(Prng::from_seed(1), 1, Share::WHOLE);
    // As many buffers as in a queue, so that they do not all stay in the first-level cache.
    let mut buffers = vec![vec![0u8; 128 << 10]; 16];
    let (begin, mut bytes) = (Instant::now(), 0u64);
    while begin.elapsed() < Duration::from_secs_f64(seconds) {
        for buffer in &mut buffers {
            content.fill_buffer(bytes, buffer);
            bytes += buffer.len() as u64;
        }
    }
    std::hint::black_box(&buffers);
    println!("{:.2}", bytes as f64 / begin.elapsed().as_secs_f64() / 1e9);
}
