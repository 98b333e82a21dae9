//! Loads whose truth is known, counted request by request, made into a profile, driven again, and counted again: both
//! counts agree. Nothing is a device here: operations come at their intended times. With `--nocapture` the test prints the
//! table that stands in docs/capture.md.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(clippy::disallowed_macros, reason = "a test that prints what it found")]

use assay_base::{Direction, Geometry, Instant, Multiple, Span};
use assay_model::Plan;
use assay_model::cache::Trace;
use assay_model::observed::{Asked, Observed, Request, Side};
use assay_model::profile::{Counting, Profile, ProfilePart, write_profile};
use assay_model::workload::{Adjust, read_workload};
use std::collections::BTreeMap;

/// For how long each load is counted.
const SECONDS: u64 = 200;
const DEVICE: u64 = 4 << 30;

/// Streams of a load: name, direction and keys.
fn streams(of: &[(&str, &str, &str)]) -> String {
    let stream = |(name, direction, keys): &(&str, &str, &str)| {
        format!("[[stream]]\nname = \"{name}\"\ndirection = \"{direction}\"\n{keys}\n")
    };
    format!("model = \"streams\"\n{}", of.iter().map(stream).collect::<String>())
}

const RATE: &str = "size = \"4KiB\"\nrate = \"1000/s\"\n";

/// The loads, and what of them is not driven as it was: such a figure may be off.
fn truths() -> Vec<(&'static str, String, &'static [&'static str])> {
    let reads = |keys: &str| streams(&[("reads", "read", &format!("{RATE}{keys}"))]);
    vec![
        ("uniform", reads(""), &[]),
        ("Zipf 0.8", reads("address = { zipf = 0.8, scatter = true }"), &[]),
        ("Zipf 1.2", reads("address = { zipf = 1.2, scatter = true }"), &[]),
        (
            "zones",
            reads(
                "address = { zones = [[\"60%\", \"10%\"], [\"30%\", \"20%\"], [\"10%\", \"70%\"]], unit = \"4KiB\" }",
            ),
            &[],
        ),
        ("runs", reads("address = { runs = { mean = \"256KiB\" } }"), &[]),
        (
            "sequential",
            streams(&[("scan", "read", "size = \"128KiB\"\nrate = \"300/s\"\naddress = \"sequential\"\n")]),
            &[],
        ),
        ("bursts", reads("arrival = { bursty = { on = \"200ms\", off = \"800ms\", quiet = \"10%\" } }"), &[]),
        ("even", reads("arrival = \"steady\"\nrange = { from = \"25%\", size = \"10%\" }"), &[]),
        ("moving set", reads("address = { working_set = \"200MiB\", turnover = \"10%/10s\" }"), &["misses"]),
        (
            "mixed",
            streams(&[
                (
                    "reads",
                    "read",
                    "size = { shares = [[\"4KiB\", \"60%\"], [\"16KiB\", \"40%\"]] }\nrate = \"700/s\"\naddress = { hotspot = [\"80%\", \"20%\"], unit = \"16KiB\", scatter = true }\nplaces = \"p\"\n",
                ),
                (
                    "writes",
                    "write",
                    "size = { shares = [[\"4KiB\", \"60%\"], [\"16KiB\", \"40%\"]] }\nrate = \"300/s\"\naddress = { hotspot = [\"80%\", \"20%\"], unit = \"16KiB\", scatter = true }\nplaces = \"p\"\n",
                ),
            ]),
            &[],
        ),
        ("OLTP", "model = \"oltp\"\n".to_owned(), &["misses", "hottest"]),
        ("mail", "model = \"mail\"\ncopies = 1\n".to_owned(), &[]),
    ]
}

fn plan_of(text: &str, load: Option<u64>) -> Plan {
    let workload = read_workload("w.toml", text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let adjust = Adjust {
        targets: 1,
        seed: 7,
        measure: Some(Span::from_secs(SECONDS)),
        load: load.and_then(|load| Multiple::from_ratio(load, 1)),
        ..Adjust::default()
    };
    workload.make_plan(&adjust).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// Zones of this size, or larger ones where the device has more than so many: heat is compared zone by zone of the device.
const ZONE: u64 = 1 << 20;
const ZONES_MAX: u64 = 4096;

/// What was counted, and by ourselves how often each zone of the device was used, by direction.
struct Count {
    observed: Observed,
    zones: [Vec<u64>; 2],
}

impl Count {
    /// The share of the requests that goes to the hottest part of the device, in percent.
    fn hottest(&self, direction: usize, part: f64) -> f64 {
        let mut counts = self.zones[direction].clone();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let all: u64 = counts.iter().sum();
        let hot: u64 = counts.iter().take((counts.len() as f64 * part).ceil() as usize).sum();
        100.0 * hot as f64 / all.max(1) as f64
    }
}

fn observe(plan: &Plan, device: u64) -> Count {
    let zone = ZONE.max(device.div_ceil(ZONES_MAX));
    let mut zones = [vec![0; device.div_ceil(zone) as usize], vec![0; device.div_ceil(zone) as usize]];
    let geometry = Geometry { size: device, block: 512 };
    let mut trace = Trace::new(plan, &[geometry]).unwrap();
    let mut observed = Observed::default();
    while let Some((wanted, _, op)) =
        trace.next_wanted().filter(|(wanted, ..)| *wanted < Instant::from_ns(SECONDS * 1_000_000_000))
    {
        let request = Request {
            asked: Asked::Data(op.direction),
            at: Some(wanted.as_ns()),
            place: Some(op.offset),
            bytes: op.len.into(),
            durable: false,
        };
        observed.step(&request, Some(0));
        zones[usize::from(op.direction == Direction::Write)][(op.offset / zone) as usize] += 1;
    }
    Count { observed, zones }
}

fn profile_text(observed: &Observed) -> String {
    let end = SECONDS * 1_000_000_000;
    let counting = Counting {
        seconds: SECONDS as f64,
        end,
        source: "counted".into(),
        words: String::new(),
        copies: 1,
        least_count: 10,
    };
    let part = ProfilePart { name: "application".into(), ..ProfilePart::from_counts(observed, &counting) };
    write_profile(&Profile { parts: vec![part], ..Profile::default() }, "again", &[])
}

/// Figures of a direction that two counts have in common, by name, each with how far they may be apart.
fn figures(count: &Count, direction: usize, other: &Side) -> BTreeMap<String, (f64, f64)> {
    let observed = &count.observed;
    let side = [&observed.reads, &observed.writes][direction];
    let mut all = BTreeMap::new();
    let n = side.operations as f64;
    let long = side.windows.counts[3].index_of_dispersion().unwrap_or(1.0).max(1.0);
    all.insert("rate".to_owned(), (n / SECONDS as f64, (0.01 * n + 3.0 * (2.0 * n * long).sqrt()) / SECONDS as f64));
    all.insert("sequential".to_owned(), (100.0 * side.sequential as f64 / n, 2.0));
    all.insert("hottest 1%".to_owned(), (count.hottest(direction, 0.01), 2.0));
    all.insert("hottest 10%".to_owned(), (count.hottest(direction, 0.1), 2.0));
    let counts = side.windows.counts_until(SECONDS * 1_000_000_000);
    for (at, name) in [(1, "dispersion 10ms"), (2, "dispersion 100ms"), (3, "dispersion 1s")] {
        if let Some(index) = counts[at].index_of_dispersion() {
            let noise = 3.0 * (2.0 / counts[at].count as f64).sqrt();
            all.insert(name.to_owned(), (index, index.max(0.3) * (0.2 + noise)));
        }
    }
    let largest = (0..side.sizes.len()).map(|at| distance_at(side, other, at)).fold(0.0, f64::max);
    all.insert("sizes".to_owned(), (largest, 0.02));
    if direction == 0 {
        for ratio in observed.miss_ratios() {
            all.insert(format!("misses {}", assay_base::Bytes::new(ratio.cache)), (100.0 * ratio.misses, 2.0));
        }
    }
    all
}

/// The distance of the cumulative shares of sizes at one size.
fn distance_at(side: &Side, other: &Side, at: usize) -> f64 {
    let size = *side.sizes.keys().nth(at).unwrap();
    let below =
        |of: &Side| of.sizes.range(..=size).map(|(_, count)| *count).sum::<u64>() as f64 / of.operations.max(1) as f64;
    (below(side) - below(other)).abs()
}

#[test]
fn what_was_counted_is_driven_again() {
    let mut failed = Vec::new();
    for (name, text, not_driven) in truths() {
        let load = (["OLTP", "mail"].contains(&name)).then_some(20);
        let plan = plan_of(&text, load);
        let needed = plan.smallest_target(0, 512).max(DEVICE);
        let first = observe(&plan, needed);
        let profile = profile_text(&first.observed);
        let again = plan_of(&profile, None);
        let second = observe(&again, again.smallest_target(0, 512).max(needed));
        for (at, direction) in ["reads", "writes"].into_iter().enumerate() {
            let [one, two] = [&first, &second].map(|count| [&count.observed.reads, &count.observed.writes][at]);
            if one.operations < 1000 {
                continue;
            }
            let (ours, theirs) = (figures(&first, at, two), figures(&second, at, one));
            let mut worst_miss = 0.0f64;
            for (figure, (value, apart)) in &ours {
                let Some((found, _)) = theirs.get(figure) else { continue };
                let expected = not_driven.iter().any(|known| figure.starts_with(known));
                let off = if figure == "sizes" { *value } else { (value - found).abs() };
                if figure.starts_with("misses") {
                    worst_miss = worst_miss.max(off);
                } else {
                    println!("{name:12} {direction:6} {figure:18} {value:9.3} {found:9.3}");
                }
                if off > *apart && !expected {
                    failed.push(format!("{name}, {direction}: {figure} {value:.3}, again {found:.3}"));
                }
            }
            println!("{name:12} {direction:6} {:18} {worst_miss:9.3}", "misses, at most off");
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
