//! What jobs of fio draw: the sizes and places of the operations that reach a device, as the kernel's trace shows them,
//! compared with the distribution that the job asks for. The jobs are whole reference jobs, run one step at a time.

use super::bed::Place;
use super::devices::{Disk, Loop, Seen, Trace, passed_over};
use std::collections::BTreeMap;
use std::path::Path;

const SECTOR: u64 = 512;

/// The operations of a step, in their order. The reads before the run, which compare the paths to the target, are left
/// out.
struct Ran {
    reads: Vec<Seen>,
    writes: Vec<Seen>,
}

/// Runs one job of a reference file on a loop device of `mib` MiB.
fn ran(file: &str, section: &str, mib: u64) -> Option<Ran> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assay-formats/tests/golden/fio").join(file);
    ran_text(&std::fs::read_to_string(path).unwrap(), section, mib)
}

/// Runs one job of a file with this text, whose file is `data.img`, on a loop device of `mib` MiB.
fn ran_text(text: &str, section: &str, mib: u64) -> Option<Ran> {
    let place = Place::new();
    let file = "job.fio";
    place.write(file, text);
    let disk = Loop::over(&place, "disk.img", mib << 20)?;
    let trace = Trace::of(&disk, &place)?;
    let (map, token) = (format!("data.img={}", disk.path()), disk.token(&place));
    // With this engine, the worker makes each call itself: a ring leaves some operations to kernel threads, which the
    // trace does not contain.
    let own = ["--engine", "inline", "--workers", "1", "--seed", "17"];
    let (said, log) =
        place.run(&[&["run", file, "--section", section, "--map", &map, "--destroy-data", &token], &own[..]].concat());
    let (done, seen) = (log.intervals.iter().flat_map(|it| &it.flows).map(|flow| flow.ok).sum::<u64>(), trace.seen());
    if seen.is_empty() && done > 0 {
        passed_over("the kernel's trace shows nothing of this device");
        return None;
    }
    let before = (seen.len() as u64).checked_sub(done);
    let before = before.unwrap_or_else(|| panic!("{section}: {} of {done} operations seen: {}", seen.len(), said.err));
    assert!(before < 2000 && seen[..before as usize].iter().all(|seen| !seen.write && seen.sectors == 8), "{before}");
    let (writes, reads) = seen[before as usize..].iter().partition(|seen| seen.write);
    Some(Ran { reads, writes })
}

/// Asserts that a count is within four standard deviations of its share of `all`.
fn likely(what: &str, count: usize, all: usize, share: f64) {
    let (expected, all) = (all as f64 * share, all as f64);
    let off = 4.0 * (all * share * (1.0 - share)).sqrt() + 1e-9;
    assert!((count as f64 - expected).abs() <= off, "{what}: {count} of {all}, expected {expected:.1} ± {off:.1}");
}

/// Asserts that the operations have these sizes, in KiB, with these shares, in percent, and no other sizes.
fn sizes(what: &str, seen: &[Seen], shares: &[(f64, f64)]) {
    let mut found: BTreeMap<u64, usize> = BTreeMap::new();
    seen.iter().for_each(|seen| *found.entry(seen.sectors * SECTOR).or_default() += 1);
    let known: Vec<u64> = shares.iter().map(|(kib, _)| (kib * 1024.0) as u64).collect();
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), known, "{what}");
    for (bytes, (_, percent)) in known.iter().zip(shares) {
        likely(&format!("{what}, {bytes} B"), found[bytes], seen.len(), percent / 100.0);
    }
}

/// Asserts the shares of the operations that begin in each part of the first `span` bytes. A part is its length and its
/// operations, both in percent.
fn parts(what: &str, seen: &[Seen], span: u64, shares: &[(f64, f64)]) {
    let mut from = 0.0;
    for (space, operations) in shares {
        let to = from + space / 100.0 * span as f64;
        let inside = seen.iter().filter(|seen| (from..to).contains(&((seen.sector * SECTOR) as f64))).count();
        likely(&format!("{what}, {from} to {to}"), inside, seen.len(), operations / 100.0);
        from = to;
    }
}

/// The numbers of operations on the places of 4 KiB, the most frequent place first.
fn ranks(seen: &[Seen]) -> Vec<usize> {
    let mut found: BTreeMap<u64, usize> = BTreeMap::new();
    seen.iter().for_each(|seen| *found.entry(seen.sector / 8).or_default() += 1);
    let mut counts: Vec<usize> = found.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

/// Asserts that as many different places were used as a distribution with these probabilities gives.
fn distinct(what: &str, seen: &[Seen], law: impl Iterator<Item = f64>) {
    let missed: Vec<f64> = law.map(|p| (1.0 - p).powi(seen.len() as i32)).collect();
    let expected: f64 = missed.iter().map(|q| 1.0 - q).sum();
    // Places compete for the operations, so that their counts are negatively correlated: the sum of their variances is
    // an upper bound.
    let off = 4.0 * missed.iter().map(|q| q * (1.0 - q)).sum::<f64>().sqrt();
    let found = ranks(seen).len();
    assert!((found as f64 - expected).abs() <= off, "{what}: {found} places, expected {expected:.0} ± {off:.0}");
}

#[test]
fn sizes_have_their_shares_and_places_are_uniform() {
    let tenths = [(10.0, 10.0); 10];
    let Some(both) = ran("bssplit.fio", "both", 128) else { return };
    sizes("bssplit, reads", &both.reads, &[(4.0, 10.0), (32.0, 40.0), (64.0, 50.0)]);
    sizes("bssplit, writes", &both.writes, &[(8.0, 70.0), (16.0, 30.0)]);
    assert_eq!(both.reads.len() + both.writes.len(), 6000);
    likely("reads of the mix", both.reads.len(), 6000, 0.6);
    parts("bssplit, reads", &both.reads, 128 << 20, &tenths);
    for (file, section, shares) in [
        ("bssplit.fio", "blanks", &[(4.0, 50.0), (8.0, 25.0), (16.0, 25.0)][..]),
        ("bsrange.fio", "even", &[(4.0, 25.0), (8.0, 25.0), (12.0, 25.0), (16.0, 25.0)]),
        ("bsrange.fio", "odd-top", &[(4.0, 40.0), (8.0, 40.0), (10.0, 20.0)]),
    ] {
        let Some(own) = ran(file, section, 128) else { return };
        assert_eq!((own.reads.len(), own.writes.len()), (6000, 0), "{section}");
        sizes(section, &own.reads, shares);
        parts(section, &own.reads, 128 << 20, &tenths);
    }
    let Some(own) = ran("bsrange.fio", "by-direction", 128) else { return };
    sizes("by-direction, reads", &own.reads, &[(1.0, 25.0), (2.0, 25.0), (3.0, 25.0), (4.0, 25.0)]);
    sizes("by-direction, writes", &own.writes, &[(8.0, 100.0)]);
    let Some(own) = ran("bsrange.fio", "align-other", 128) else { return };
    sizes("align-other", &own.reads, &[(8.0, 100.0)]);
    // Offsets are multiples of 2 KiB: each of the four places in a block of 8 KiB has a quarter.
    for place in 0..4 {
        let here = own.reads.iter().filter(|seen| seen.sector % 16 == place * 4).count();
        likely(&format!("offsets of {} KiB", place * 2), here, own.reads.len(), 0.25);
    }
}

#[test]
fn places_follow_the_law_that_a_job_names() {
    const PLACES: usize = 16_384;
    const SPAN: u64 = 64 << 20;
    let Some(zipf) = ran("skew.fio", "zipf", 64) else { return };
    let law: Vec<f64> = (1..=PLACES).map(|rank| (rank as f64).powf(-1.1)).collect();
    let sum: f64 = law.iter().sum();
    // The weights of the first ranks differ so much that their counts have the same order.
    for (rank, (count, weight)) in ranks(&zipf.reads).into_iter().zip(&law).take(4).enumerate() {
        likely(&format!("zipf, rank {}", rank + 1), count, zipf.reads.len(), weight / sum);
    }
    distinct("zipf", &zipf.reads, law.iter().map(|weight| weight / sum));
    let Some(pareto) = ran("skew.fio", "pareto", 64) else { return };
    // The rank is (n−1)·u^(ln h / ln(1−h)) for a uniform u, so that ranks up to x·n have the share x^(ln(1−h) / ln h).
    let upto = |rank: usize| (rank as f64 / (PLACES - 1) as f64).min(1.0).powf(0.8f64.ln() / 0.2f64.ln());
    distinct("pareto", &pareto.reads, (0..PLACES).map(|rank| upto(rank + 1) - upto(rank)));
    let Some(normal) = ran("skew.fio", "normal", 64) else { return };
    let outside = [(20.0, 0.135), (10.0, 2.140), (10.0, 13.591), (10.0, 34.134)];
    let bell: Vec<(f64, f64)> = outside.iter().chain(outside.iter().rev()).copied().collect();
    parts("normal", &normal.reads, SPAN, &bell);
    let Some(zoned) = ran("skew.fio", "zoned", 64) else { return };
    parts("zoned", &zoned.reads, SPAN, &[(10.0, 60.0), (20.0, 30.0), (30.0, 8.0), (40.0, 2.0)]);
    let Some(zoned) = ran("skew.fio", "zoned-abs", 64) else { return };
    parts("zoned_abs", &zoned.reads, SPAN, &[(12.5, 70.0), (25.0, 20.0), (12.5, 10.0)]);
    let Some(both) = ran("skew.fio", "rw-zoned", 64) else { return };
    for (what, seen) in [("reads", &both.reads), ("writes", &both.writes)] {
        parts(&format!("zoned, {what}"), seen, SPAN, &[(10.0, 90.0), (90.0, 10.0)]);
    }
    likely("reads of the mix", both.reads.len(), 20_000, 0.7);
    let Some(partly) = ran("skew.fio", "part-random", 64) else { return };
    let follows = partly.reads.windows(2).filter(|pair| pair[0].sector + pair[0].sectors == pair[1].sector).count();
    likely("what follows the operation before it", follows, partly.reads.len() - 1, 0.7);
}

/// The operations of a job as fio itself issues them, in their order; `None` where there is no fio.
fn fio(text: &str, mib: u64) -> Option<Vec<Seen>> {
    let place = Place::new();
    std::fs::File::create(place.path("data.img")).unwrap().set_len(mib << 20).unwrap();
    place.write("job.fio", &format!("{text}write_iolog=ops.txt\n"));
    let ran = std::process::Command::new("fio").arg("job.fio").current_dir(place.path(".")).output();
    let Some(ran) = ran.ok().filter(|ran| ran.status.success()) else {
        passed_over("no fio to compare with");
        return None;
    };
    let log = std::fs::read_to_string(place.path("ops.txt")).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    let operation = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| ["read", "write"].contains(word))?;
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        let (offset, bytes) = (number(at + 1)?, number(at + 2)?);
        Some(Seen { write: words[at] == "write", sector: offset / SECTOR, sectors: bytes / SECTOR })
    };
    Some(log.lines().filter_map(operation).collect())
}

/// What a job with a size for each order does: how many of its operations follow directly behind the one before, by size,
/// and the largest unit that divides the places of all others.
#[derive(Debug)]
struct Orders {
    operations: usize,
    sequential: BTreeMap<u64, usize>,
    random: BTreeMap<u64, usize>,
    unit: u64,
}

/// Sectors of the file of these jobs.
const FILE_SECTORS: u64 = (64 << 20) / SECTOR;

/// The operations of a job by their sizes. What would go on beyond the end of the file goes on at its start.
fn orders(seen: &[Seen]) -> Orders {
    let (mut sequential, mut random, mut bits) = (BTreeMap::new(), BTreeMap::new(), 0);
    for pair in seen.windows(2) {
        let ended = pair[0].sector + pair[0].sectors;
        let wrapped = pair[1].sector == 0 && ended + pair[1].sectors > FILE_SECTORS;
        let follows = ended == pair[1].sector || wrapped;
        let kind = if follows { &mut sequential } else { &mut random };
        *kind.entry(pair[1].sectors * SECTOR).or_default() += 1;
        bits |= if follows { 0 } else { pair[1].sector * SECTOR };
    }
    Orders { operations: seen.len(), sequential, random, unit: if bits == 0 { 0 } else { 1 << bits.trailing_zeros() } }
}

/// `bs_is_seq_rand` beside real fio: the size of each operation follows from whether it is random, also where a job is
/// both, and places have the unit that fio gives them.
#[test]
fn sizes_by_order_are_those_of_fio() {
    let head = "[a]\nfilename=data.img\nioengine=psync\ndirect=1\nsize=64m\nbs=64k,4k\nbs_is_seq_rand=1\nnorandommap\n";
    for (keys, share) in [
        ("rw=randread\npercentage_random=50\n", 0.5),
        ("rw=randread\npercentage_random=20\n", 0.2),
        ("rw=randwrite\npercentage_random=50\n", 0.5),
        ("rw=randread\npercentage_random=0\n", 0.0),
        ("rw=randread\n", 1.0),
        ("rw=randwrite\n", 1.0),
        ("rw=read\n", 0.0),
    ] {
        let text = format!("{head}{keys}number_ios=900\n");
        let (Some(ran), Some(theirs)) = (ran_text(&text, "a", 64), fio(&text, 64)) else { return };
        let ours = if keys.contains("write") { ran.writes } else { ran.reads };
        let (ours, theirs) = (orders(&ours), orders(&theirs));
        assert_eq!((ours.operations, theirs.operations), (900, 900), "{keys}");
        for (who, found) in [("ours", &ours), ("fio", &theirs)] {
            let of = |kind: &BTreeMap<u64, usize>| kind.values().sum::<usize>();
            likely(&format!("{who}, random: {keys}"), of(&found.random), 899, share);
        }
        let sizes = |found: &Orders| {
            (found.sequential.keys().copied().collect::<Vec<_>>(), found.random.keys().copied().collect::<Vec<_>>())
        };
        assert_eq!(sizes(&ours), sizes(&theirs), "{keys}: {ours:?} {theirs:?}");
        assert_eq!(ours.unit, theirs.unit, "{keys}: {ours:?} {theirs:?}");
    }
}
