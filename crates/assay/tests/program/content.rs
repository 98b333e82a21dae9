//! The data on the device: unique, stamped, and as compressible as asked for.

use super::bed::Place;
use super::devices::{Disk, Loop, written_blocks};
use assay_base::Direction::Write;
use assay_base::Stamp;
use std::collections::HashSet;

#[test]
fn no_two_blocks_that_a_run_wrote_are_alike() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 512 << 20) else { return };
    let token = disk.token(&place);
    let (said, log) =
        place.run(&["run", "act-storage", disk.path(), "--load", "10x", "--for", "3s", "--destroy-data", &token]);
    said.is_of_verdict(&place.path("run"));
    let backing = disk.backing.clone();
    drop(disk);
    let blocks = written_blocks(&backing);
    assert!(blocks.len() > 10_000 && blocks.len() as u64 * 4096 <= log.direction(Write).bytes, "{}", blocks.len());
    let stamps: Vec<Stamp> = blocks.iter().map(|(at, block)| stamp(*at, block)).collect();
    assert!(stamps.iter().all(|stamp| stamp.run == stamps[0].run), "one run, one mark");
    let generations: HashSet<u32> = stamps.iter().map(|stamp| stamp.generation).collect();
    assert_eq!(generations.len(), blocks.len(), "each block has a number of its own");
    let bodies: HashSet<&[u8]> = blocks.iter().map(|(_, block)| &block[16..]).collect();
    assert_eq!(bodies.len(), blocks.len(), "and data of its own, the stamp left out");
}

/// A device answers reads of blocks that were never written without reading its medium. A few reads are enough to find
/// that out, and so are reads smaller than a block.
#[test]
fn slow_and_small_reads_find_out_that_nothing_was_ever_written() {
    for (size, rate) in [("4KiB", 15), ("512B", 60)] {
        let place = Place::new();
        let Some(disk) = Loop::over(&place, "disk.img", 64 << 20) else { return };
        let stream =
            format!("[[stream]]\nname = \"r\"\ndirection = \"read\"\nsize = \"{size}\"\nrate = \"{rate}/s\"\n");
        place.write("slow.toml", &format!("model = \"streams\"\nduration = \"3s\"\nslice = \"3s\"\n{stream}"));
        let (said, log) = place.run(&["run", "slow.toml", disk.path()]);
        assert_eq!(said.is_of_verdict(&place.path("run")), "INVALID", "{size} at {rate}/s: {}", said.out);
        let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("met blocks that were never written"), "{words}");
        let sampled: u64 = log.intervals.iter().map(|interval| interval.flows[0].sampled).sum();
        assert!(sampled > 3, "{sampled} of {}", log.flow(0).ok);
    }
}

fn stamp(at: u64, block: &[u8]) -> Stamp {
    Stamp::read_from_block(block).unwrap_or_else(|| panic!("no stamp at {at}: {:02x?}", &block[..16]))
}

#[test]
fn data_compresses_to_what_was_asked_by_zstd_and_by_lz4() {
    for percent in [50u32, 100] {
        let place = Place::new();
        let text = format!("name = \"c\"\nmodel = \"act-storage\"\ncompress_to = \"{percent}%\"\n");
        place.write("c.toml", &text);
        let file = ["--create", "256MiB", "--for", "2s", "--load", "10x"];
        let (said, _) = place.run(&[&["run", "c.toml", "data.dat"], &file[..]].concat());
        said.is_of_verdict(&place.path("run"));
        // The label at the end belongs to the gate, not to the run.
        let mut blocks = written_blocks(&place.path("data.dat"));
        blocks.retain(|(at, block)| *at + 4096 < 256 << 20 && Stamp::read_from_block(block).is_some());
        let data: Vec<u8> = blocks.into_iter().flat_map(|(_, block)| block).collect();
        assert!(data.len() > 16 << 20, "{} bytes to measure", data.len());
        let (mut zstd, mut lz4) = (0, 0);
        for block in data.chunks(128 << 10) {
            zstd += zstd::bulk::compress(block, 1).unwrap().len();
            lz4 += lz4_flex::block::compress(block).len();
        }
        for (name, got) in [("zstd", zstd), ("lz4", lz4)] {
            let got = got as f64 / data.len() as f64 * 100.0;
            assert!((got - f64::from(percent)).abs() <= 2.0, "{name}: {got:.2} % for {percent} %");
        }
    }
}
