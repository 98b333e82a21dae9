//! Logs over many rounds: nothing is read that was not written long enough ago, and everything is read once by each copy.

use super::*;
use crate::plan::Stream;
use crate::workload::{self, Adjust};

const START: Instant = Instant::ZERO;

fn plan(keys: &str) -> Plan {
    let file = format!("model = \"mail\"\niops_per_mailbox = \"10/s\"\n{keys}");
    workload::read_workload("t", &file)
        .unwrap()
        .make_plan(&Adjust { targets: 1, seed: 5, ..Adjust::default() })
        .unwrap()
}

fn writer(plan: &Plan) -> u16 {
    plan.load.streams.iter().position(Stream::is_appending).unwrap() as u16
}

/// The log at the end of a target with such blocks, and its first operations.
fn first(plan: &Plan, block: u32, operations: usize) -> (u64, Vec<IntendedOperation>) {
    let geometry = Geometry { size: (4 << 30) + 512, block };
    let mut journal = Journal::new(plan, writer(plan), 0, geometry, Part { index: 0, of: 1 }, START).unwrap();
    let all = (0..operations).map(|_| journal.next_wanted().unwrap()).collect();
    (journal.begin, all)
}

#[test]
fn the_reader_never_passes_the_writer_and_each_copy_reads_all_once() {
    for (copies, log, block) in [(2u64, 256u64, 512u32), (4, 300, 4096), (16, 257, 512)] {
        let plan = plan(&format!("copies = {copies}\nlog_size = \"{log}MiB\""));
        let length = log << 20;
        let (begin, all) = first(&plan, block, 400_000);
        // The bytes written over all rounds, with what is left at the end of each, and the reads.
        let (mut reached, mut end, mut reads) = (0u64, 0u64, 0u64);
        let mut next = vec![0u64; copies as usize - 1];
        let mut wanted = START;
        for op in &all {
            assert!(op.wanted >= wanted, "in the order in which they are wanted");
            wanted = op.wanted;
            let (offset, len) = (op.op.offset - begin, u64::from(op.op.len));
            assert!(offset + len <= length && offset.is_multiple_of(block.into()), "within the log");
            if op.op.direction == Direction::Write {
                if offset < end {
                    // What did not fit at the end.
                    assert!(offset == 0 && length - end < 64_512, "{offset} after {end}");
                    reached += length - end;
                } else {
                    assert_eq!(offset, end);
                }
                (reached, end) = (reached + len, offset + len);
                continue;
            }
            // One of the copies reads on where it was; at the end of the log from the start again.
            let copy = next
                .iter_mut()
                .find(|next| **next % length == offset || (offset == 0 && **next % length + len > length));
            let next = copy.expect("some copy goes on there");
            if *next % length != offset {
                *next = next.next_multiple_of(length);
            }
            assert!(*next + (64 << 20) <= reached, "64 MiB behind at least: {next} of {reached}");
            assert!(*next + length > reached + (64 << 20), "not overwritten: {next} of {reached}");
            (*next, reads) = (*next + len, reads + 1);
        }
        assert!(reached > 6 * length, "several rounds");
        assert!(next.iter().all(|next| reached - next < (65 << 20)), "none stays behind: {next:?} of {reached}");
        assert!(reads > 1000, "{reads}");
    }
}

#[test]
fn the_reads_are_spread_over_the_copies() {
    let plan = plan("copies = 5\nlog_size = \"256MiB\"");
    let reads = plan.load.streams.iter().find(|stream| stream.name == "log-reads").unwrap();
    let expected = 4.0 * 10_000.0 * 0.1611 * 7864.0 / 262_144.0;
    assert!((reads.arrival.mean_rate().unwrap().as_f64() / expected - 1.0).abs() < 1e-6);
    let (_, all) = first(&plan, 512, 200_000);
    let read: Vec<&IntendedOperation> = all.iter().filter(|op| op.op.direction == Direction::Read).collect();
    // Each of the four at another moment, so that they come evenly.
    let gaps: Vec<f64> = read.windows(2).map(|pair| pair[1].wanted.since(pair[0].wanted).as_secs_f64()).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((mean * expected - 1.0).abs() < 0.02, "{mean}");
    assert!(gaps.iter().filter(|gap| **gap < mean / 10.0).count() * 50 < gaps.len(), "hardly two at once");
}

#[test]
fn a_log_that_is_too_small_for_its_reader_is_refused() {
    let mut plan = plan("copies = 2\nlog_size = \"256MiB\"");
    let at = writer(&plan);
    for (size, fits) in [(64 << 20, false), ((64 << 20) + (512 << 10), false), (65 << 20, true)] {
        for stream in &mut plan.load.streams {
            if let crate::plan::Work::Block(block) = &mut stream.work {
                block.extent = None;
            }
        }
        let told = super::check_length(&plan, at, 0, Geometry { size, block: 512 });
        assert_eq!(told.is_ok(), fits, "{size}: {told:?}");
        assert!(told.err().is_none_or(|told| told.contains("log-reads") && told.contains("make the log larger")));
    }
}
