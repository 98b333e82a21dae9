//! What the log says was read and written, compared with what the device counted and with what the kernel saw.

use super::bed::{Log, Place, Said};
use super::devices::{Counted, Disk, LOOKED_AT, Loop, Seen, Trace, Zram};
use assay_base::Direction::{Read, Write};

/// The reads before the run, which compare the paths to the target, as the log states them: "144 of 4096 bytes on a
/// target".
fn compared(log: &Log) -> Counted {
    let numbers: Vec<u64> =
        log.header.engine["reads before the run"].split(' ').filter_map(|word| word.parse().ok()).collect();
    let [reads, bytes] = numbers[..] else { panic!("{:?}", log.header.engine) };
    Counted { reads, read_bytes: reads * bytes, ..Counted::default() }
}

/// Asserts that two counts agree within the thousandth that the project promises.
fn agrees(what: &str, own: u64, counted: u64) {
    assert!(own.abs_diff(counted) as f64 <= own as f64 / 1000.0, "{what}: the log has {own}, the device {counted}");
}

/// Runs act-storage on `disk` and compares. What the safety gate reads (samples, signatures) is not part of the load.
/// It is measured with a certification, which passes the same gate and is then refused, because the device was not
/// prepared.
fn accounted(place: &Place, disk: &dyn Disk, load: &str, time: &str) -> Log {
    let _counting = LOOKED_AT.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let token = disk.token(place);
    let command = ["run", "act-storage", disk.path(), "--load", load, "--for", time, "--seed", "7"];
    let consent = ["--destroy-data", &token];
    let before = disk.counted();
    let refused = place.assay(&[&["certify", disk.path()], &consent[..]].concat());
    let gate = disk.counted() - before;
    disk.until_free();
    assert_eq!((refused.code, gate.writes, gate.flushes), (Some(4), 0, 0), "{}", refused.err);

    let before = disk.counted();
    let (said, log) = place.run(&[&command[..], &consent].concat());
    let counted = disk.counted() - before;
    clean(&said, &log, place);
    compare(&log, disk, counted - compared(&log), gate);
    log
}

/// Asserts, whatever the verdict is, that there was no error and nothing was lost: what was scheduled was delivered, or
/// still waited when the load ended on a busy machine.
fn clean(said: &Said, log: &Log, place: &Place) {
    said.is_of_verdict(&place.path("run"));
    log.adds_up();
    for (at, flow) in log.header.flows.iter().enumerate() {
        let sum = log.flow(at);
        let name = &log.header.streams[usize::from(flow.stream)].name;
        assert_eq!((sum.failed_operations(), sum.short), (0, 0), "{name}");
        let waiting = log.intervals.last().unwrap().flows[at].waiting;
        let delivered = sum.scheduled - waiting;
        assert_eq!(
            (sum.issued, sum.ok),
            (delivered, delivered),
            "{name}: all but the {waiting} that wait was delivered"
        );
    }
}

fn compare(log: &Log, disk: &dyn Disk, counted: Counted, gate: Counted) {
    let (read, written) = (log.direction(Read), log.direction(Write));
    agrees("bytes read", read.bytes, counted.read_bytes - gate.read_bytes);
    agrees("bytes written", written.bytes, counted.written_bytes);
    // If the device works with requests, a block that is larger than the largest request is split and counted in
    // pieces; zram does not split it.
    let most: u64 = disk.queue("max_sectors_kb").parse::<u64>().unwrap() * 1024;
    let large = log.stream("large-block-reads").ok;
    let pieces = if disk.is_of_requests() { (128u64 << 10).div_ceil(most) } else { 1 };
    agrees("reads", read.ok + large * (pieces - 1), counted.reads - gate.reads);
    // A durable write is followed by a flush where there is a cache, and counts as two where the device has no FUA;
    // simultaneous flushes are merged.
    let cached = disk.queue("write_cache") == "write back";
    assert_eq!(counted.flushes > 0, cached, "{counted:?}");
    assert!(counted.flushes <= 2 * written.ok, "{counted:?}");
    // The kernel counts its own flush after a write as an empty write.
    let empty = if cached { written.ok } else { 0 };
    agrees("writes", written.ok * pieces + empty, counted.writes);
}

/// Asserts that each stream has the number of Poisson arrivals that its rate gives, within four standard deviations.
fn rates(log: &Log, multiple: f64) {
    for (stream, rate) in [("reads", 2000.0), ("large-block-reads", 23.4375), ("large-block-writes", 23.4375)] {
        let expected = rate * multiple * log.seconds();
        let got = log.stream(stream).scheduled as f64;
        assert!((got - expected).abs() <= 4.0 * expected.sqrt(), "{stream}: {got} of {expected}");
    }
}

/// Asserts that every operation of a stream has the size of that stream, in bytes.
fn sizes(log: &Log, record: u64) {
    for (stream, size) in [("reads", record), ("large-block-reads", 128 << 10), ("large-block-writes", 128 << 10)] {
        let sum = log.stream(stream);
        assert_eq!(sum.bytes, sum.ok * size, "{stream}");
    }
}

#[test]
fn loop_device_counts_what_the_log_counts_at_1x_and_the_kernel_sees_act_sizes_and_places() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 512 << 20) else { return };
    let trace = Trace::of(&disk, &place);
    let log = accounted(&place, &disk, "1x", "6s");
    rates(&log, 1.0);
    sizes(&log, 1536);
    let Some(trace) = trace else { return };
    let seen = trace.seen();
    // The reads of 4 KiB before the run, which compare the paths to the target, may be issued by threads with names
    // like a worker's.
    let load = seen.into_iter().filter(|seen| seen.write || seen.sectors != 8);
    let (large, records): (Vec<Seen>, Vec<Seen>) = load.partition(|seen| seen.sectors == 256);
    agrees("records in the trace", log.stream("reads").ok, records.len() as u64);
    let expected = log.stream("large-block-reads").ok + log.stream("large-block-writes").ok;
    agrees("large blocks in the trace", expected, large.len() as u64);
    agrees("large writes in the trace", log.direction(Write).ok, large.iter().filter(|seen| seen.write).count() as u64);
    for seen in &records {
        assert!(seen.sectors == 3 && !seen.write, "a record is 1536 bytes, and read: {seen:?}");
    }
    for seen in &large {
        assert!(seen.sector.is_multiple_of(256), "large blocks begin at multiples of their size: {seen:?}");
    }
    // Records begin at any sector, not only at pages: each of the eight places in a page gets an eighth.
    for place in 0..8 {
        let n = records.iter().filter(|seen| seen.sector % 8 == place).count() as f64;
        let expected = records.len() as f64 / 8.0;
        assert!((n - expected).abs() < 5.0 * expected.sqrt(), "sector {place} of a page: {n} of {expected}");
    }
}

#[test]
fn loop_device_counts_what_the_log_counts_at_10x() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 512 << 20) else { return };
    let log = accounted(&place, &disk, "10x", "5s");
    rates(&log, 10.0);
    sizes(&log, 1536);
}

#[test]
fn zram_counts_what_the_log_counts_and_records_grow_to_its_blocks() {
    for (load, multiple) in [("1x", 1.0), ("10x", 10.0)] {
        let place = Place::new();
        let Some(disk) = Zram::of(256 << 20) else { return };
        let log = accounted(&place, &disk, load, "4s");
        rates(&log, multiple);
        let block: u64 = disk.queue("logical_block_size").parse().unwrap();
        sizes(&log, 1536u64.next_multiple_of(block));
    }
}

#[test]
fn a_file_gets_what_was_scheduled_by_any_number_of_workers() {
    for workers in ["1", "3"] {
        let place = Place::new();
        let command = ["run", "act-storage", "scratch.dat", "--create", "256MiB", "--for", "3s", "--seed", "7"];
        let (said, log) = place.run(&[&command[..], &["--workers", workers]].concat());
        clean(&said, &log, &place);
        rates(&log, 1.0);
        sizes(&log, 1536);
        assert_eq!(log.header.engine["workers"], workers);
        assert_eq!(log.header.targets[0].kind, "file");
        assert_eq!(place.left(&["run"]), ["scratch.dat"], "a file that was asked for stays");
    }
}

#[test]
fn steady_rates_are_exact_for_any_number_of_workers() {
    let workload = r#"
        name = "steady"
        model = "streams"
        [[stream]]
        name = "reads"
        direction = "read"
        size = "4KiB"
        rate = "997/s"
        arrival = "steady"
    "#;
    for workers in ["1", "2", "3", "4"] {
        let place = Place::new();
        place.write("steady.toml", workload);
        let (_, log) =
            place.run(&["run", "steady.toml", "null:1GiB", "null:1GiB", "--for", "2s", "--workers", workers]);
        log.adds_up();
        let flows: Vec<u64> = (0..2).map(|at| log.flow(at).scheduled).collect();
        assert_eq!(flows, [1994, 1994], "{workers} workers");
        assert_eq!(log.direction(Read).ok, 2 * 1994);
    }
}
