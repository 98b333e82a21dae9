//! The grid of seals and the offsets of operations agree: random workloads that verify, on a disk in memory that keeps
//! what is written. A sound disk is never reported as damaged, and one byte that is changed before the read-back is
//! always found.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::memory;

use assay_base::{Geometry, Instant, Prng};
use assay_model::{Plan, workload};
use memory::{Bed, Fault, Planting, run_in};

/// The number of workloads.
const WORKLOADS: u64 = 240;
/// When the schedule of a workload ends.
const END: Instant = Instant::from_ns(40_000_000);
const HEAD: &str = "model = \"streams\"\nverify = true\nduration = \"40ms\"\ninterval = \"20ms\"\n";

fn one_of<'a>(prng: &mut Prng, of: &[&'a str]) -> &'a str {
    of[prng.uniform_below(of.len() as u64) as usize]
}

fn size(prng: &mut Prng) -> String {
    const SIZES: [&str; 8] = ["512B", "1KiB", "1536B", "4KiB", "8KiB", "12KiB", "16KiB", "64KiB"];
    match prng.uniform_below(5) {
        0 => "{ from = \"512B\", to = \"8KiB\" }".to_owned(),
        1 => "{ histogram = [[\"4KiB\", 70], [\"12KiB\", 30]] }".to_owned(),
        _ => format!("\"{}\"", one_of(prng, &SIZES)),
    }
}

fn address(prng: &mut Prng) -> &'static str {
    const ADDRESSES: [&str; 30] = [
        "\"uniform\"",
        "{ uniform = \"512B\" }",
        "{ uniform = \"4KiB\" }",
        "{ uniform = \"64KiB\" }",
        "{ uniform = \"3000B\" }",
        "\"sequential\"",
        "{ zipf = 1.1 }",
        "{ zipf = 0.9, unit = \"4KiB\", scatter = true }",
        "{ zipf = 0.9, unit = \"1KiB\" }",
        "{ hotspot = [\"80%\", \"20%\"] }",
        "{ zones = [[\"60%\", \"10%\"], [\"30%\", \"20%\"], [\"10%\", \"70%\"]] }",
        "{ zones = [[\"60%\", \"10%\"], [\"40%\", \"90%\"]], unit = \"512B\", scatter = true }",
        "{ working_set = \"128KiB\", turnover = \"50%/20ms\" }",
        "{ working_set = \"256KiB\", turnover = \"10%/20ms\", inside = { zipf = 1.1 }, unit = \"2KiB\" }",
        "{ never_seen = \"64KiB\" }",
        "{ never_seen = \"64KiB\", reread = { share = \"40%\", of_last = \"256KiB\" } }",
        "{ once = \"64KiB\" }",
        "{ once = \"96KiB\" }",
        "{ runs = \"128KiB\" }",
        "{ runs = { mean = \"256KiB\" } }",
        "{ walk = \"64KiB\" }",
        "{ walk = \"64KiB\", unit = \"512B\" }",
        "{ pareto = \"20%\" }",
        "{ normal = \"10%\" }",
        "{ skip = \"4KiB\" }",
        "{ back = \"8KiB\" }",
        "{ repeated = 3 }",
        "{ heat = [[\"60%\", \"10%\"], [\"40%\", \"90%\"]], area = \"16KiB\", unit = \"4KiB\" }",
        "{ heat = [[\"100%\", \"100%\"]], unit = \"3000B\", run_lengths = [[1, \"50%\"], [7, \"50%\"]], interleaved = 3 }",
        "{ heat = [[\"90%\", \"50%\"], [\"10%\", \"50%\"]], unit = \"512B\", run_lengths = [[5, \"100%\"]] }",
    ];
    one_of(prng, &ADDRESSES)
}

fn range(prng: &mut Prng) -> &'static str {
    one_of(
        prng,
        &[
            "",
            "",
            "range = { size = \"30%\" }\n",
            "range = { from = \"30%\" }\n",
            "range = { from = \"33%\", size = \"41%\" }\n",
            "range = { from = \"10000B\", size = \"1000001B\" }\n",
            "range = { size = \"700KiB\" }\n",
        ],
    )
}

fn stream(prng: &mut Prng, number: u64, looped: bool) -> String {
    let direction = if number == 0 || prng.uniform_below(2) == 0 { "write" } else { "read" };
    let (size, address, range) = (size(prng), address(prng), range(prng));
    let pace = match (looped, prng.uniform_below(3)) {
        (true, _) => "loop = \"mix\"\n".to_owned(),
        (false, 0) => format!("in_flight = {}\n", 1 + prng.uniform_below(6)),
        (false, 1) => "rate = \"3000/s\"\narrival = \"poisson\"\n".to_owned(),
        (false, _) => "rate = \"2000/s\"\narrival = \"steady\"\n".to_owned(),
    };
    let durable = if direction == "write" && prng.uniform_below(4) == 0 { "durable = true\n" } else { "" };
    format!(
        "[[stream]]\nname = \"s{number}\"\ndirection = \"{direction}\"\nsize = {size}\naddress = {address}\n{pace}{range}{durable}"
    )
}

/// Two streams of a loop, of which both may go on from each other's places.
fn in_loop(prng: &mut Prng) -> String {
    let address =
        one_of(prng, &["\"sequential\"", "{ once = \"64KiB\" }", "{ runs = \"128KiB\" }", "{ skip = \"4KiB\" }"]);
    let places = one_of(prng, &["", "places = \"file\"\n"]);
    let keys = format!("address = {address}\n{places}loop = \"mix\"\n");
    let follows = one_of(
        prng,
        &["", "address = \"behind\"\nloop = \"mix\"\n", "address = { behind = \"8KiB\" }\nloop = \"mix\"\n"],
    );
    let size = [size(prng), size(prng), size(prng)];
    let mut streams = format!(
        "[[loop]]\nname = \"mix\"\nin_flight = {}\ncopies = {}\n\
         [[stream]]\nname = \"a\"\ndirection = \"write\"\nsize = {}\n{keys}\
         [[stream]]\nname = \"b\"\ndirection = \"read\"\nsize = {}\n{keys}",
        1 + prng.uniform_below(6),
        1 + prng.uniform_below(3),
        size[0],
        size[1]
    );
    if !follows.is_empty() {
        let direction = one_of(prng, &["read", "write"]);
        streams += &format!("[[stream]]\nname = \"c\"\ndirection = \"{direction}\"\nsize = {}\n{follows}", size[2]);
    }
    streams
}

/// A random workload, and the bed it runs in. `None` where the file asks for something that is refused.
fn drawn(seed: u64) -> Option<(String, Plan, Bed)> {
    let mut prng = Prng::for_path(20_261_126, &[seed]);
    let mut file = HEAD.to_owned();
    if prng.uniform_below(3) == 0 {
        file += &in_loop(&mut prng);
        let extra = prng.uniform_below(2);
        (0..extra).for_each(|number| file += &stream(&mut prng, number, false));
    } else {
        (0..1 + prng.uniform_below(4)).for_each(|number| file += &stream(&mut prng, number, false));
    }
    let block = if prng.uniform_below(3) == 0 { 4096 } else { 512 };
    let size = ((1 << 20) + prng.uniform_below(1 << 20)) / u64::from(block) * u64::from(block);
    let workers = 1 + prng.uniform_below(3) as usize;
    let adjust = workload::Adjust { targets: 1, seed, ..workload::Adjust::default() };
    let plan = workload::read_workload("t", &file).ok()?.make_plan(&adjust).ok()?;
    plan.load.common_granule(block)?;
    let geometry = Geometry { size, block };
    (plan.check_fits(&[geometry]).is_ok() && plan.smallest_target(0, block) <= size).then_some(())?;
    Some((file, plan, Bed { size, block, workers, planting: Planting::No }))
}

/// The workloads, as many as are to be tried, each with its seed.
fn workloads() -> impl Iterator<Item = (u64, String, Plan, Bed)> {
    let valid = (0..).filter_map(|seed| drawn(seed).map(|(file, plan, bed)| (seed, file, plan, bed)));
    valid.take(WORKLOADS as usize)
}

#[test]
fn a_sound_disk_is_never_damaged_whatever_the_workload() {
    let mut wrong = Vec::new();
    let (mut tried, mut verified) = (0, 0);
    for (seed, file, plan, bed) in workloads() {
        let outcome = run_in(bed, &plan, Fault::None, u64::MAX);
        tried += 1;
        verified += outcome.flows.iter().map(|flow| flow.verified).sum::<u64>();
        if let Some(event) = outcome.events.iter().find(|event| event.what == "damage") {
            wrong.push(format!("{seed}: {bed:?}\n{file}\n{event:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried == WORKLOADS && verified > 10_000, "{tried} workloads, {verified} reads");
}

/// Models whose streams are laid out by rules of their own, on disks of sizes that are no multiples of anything.
#[test]
fn a_sound_disk_is_never_damaged_by_the_models() {
    let head = "verify = true\nduration = \"40ms\"\ninterval = \"20ms\"\nslice = \"40ms\"\n";
    let mut tried = 0;
    for (model, size) in [
        ("model = \"act-storage\"", 8 << 20),
        ("model = \"act-index\"", 8 << 20),
        ("model = \"oltp\"", 64 << 20),
        ("model = \"mail\"\nlog_size = \"1MiB\"\nmaintenance = \"paced\"", 8 << 20),
    ] {
        for (seed, block, workers) in [(1, 512u32, 1), (2, 512, 3), (3, 4096, 2)] {
            let file = format!("{model}\n{head}");
            let adjust = workload::Adjust { targets: 1, seed, ..workload::Adjust::default() };
            let plan = workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap();
            // An OLTP load is refused on some sizes by the rounding of its parts.
            let sizes =
                (0..).map(|more| (size + seed * 7 * 4096 + 512 + more * 512) / u64::from(block) * u64::from(block));
            let fits = |size: &u64| {
                let own =
                    plan.load.oltp().is_none_or(|oltp| oltp.check_fits(&[Geometry { size: *size, block }]).is_ok());
                own && plan.check_fits(&[Geometry { size: *size, block }]).is_ok()
            };
            let size = sizes.take(10_000).find(fits).unwrap_or_else(|| panic!("{model} fits nowhere"));
            let bed = Bed { size, block, workers, planting: Planting::No };
            let outcome = run_in(bed, &plan, Fault::None, u64::MAX);
            let damage = outcome.events.iter().find(|event| event.what == "damage");
            assert!(damage.is_none(), "{model} {bed:?}: {damage:?}");
            tried += outcome.flows.iter().map(|flow| flow.verified).sum::<u64>();
        }
    }
    assert!(tried > 100, "{tried} reads were verified");
}

#[test]
fn a_planted_damage_is_always_found_whatever_the_workload() {
    let mut missed = Vec::new();
    let (mut planted, mut tried) = (0, 0);
    for (seed, file, plan, bed) in workloads() {
        let outcome = run_in(Bed { planting: Planting::After(END), ..bed }, &plan, Fault::None, u64::MAX);
        tried += 1;
        let Some(byte) = outcome.disk.planted else { continue };
        planted += 1;
        let told = outcome.told();
        if told.is_empty() || !told.iter().all(|(offset, bytes)| (*offset..offset + bytes).contains(&byte)) {
            missed.push(format!("{seed}: {bed:?}, byte {byte}, told {told:?}\n{file}"));
        }
    }
    assert!(missed.is_empty(), "{} of {planted}:\n{}", missed.len(), missed.join("\n"));
    assert!(tried == WORKLOADS && planted * 10 > tried * 7, "{planted} of {tried} were planted");
}
