use super::*;
use crate::cache::{CacheCurve, Caching, Policy, Settings, Trace, sides_of_cache};
use crate::plan::Stream;
use crate::workload::{self, Adjust};
use assay_base::Bytes;
use assay_base::cached::Ranges;
use std::collections::BTreeMap;

const GEOMETRY: Geometry = Geometry { size: 64 << 20, block: 512 };

fn plan(cache: &str, streams: &[(&str, &str, &str)]) -> Plan {
    let stream = |(name, direction, keys): &(&str, &str, &str)| {
        format!("[[stream]]\nname = \"{name}\"\ndirection = \"{direction}\"\n{keys}\n")
    };
    let streams: String = streams.iter().map(stream).collect();
    let file = format!("model = \"streams\"\nduration = \"10s\"\n[cache]\n{cache}\n{streams}");
    let adjust = Adjust { targets: 1, seed: 7, ..Adjust::default() };
    workload::read_workload("t", &file).unwrap_or_else(|fault| panic!("{fault}")).make_plan(&adjust).unwrap()
}

/// What goes on to the target when the first `operations` operations have passed the cache.
fn onward(plan: &Plan, operations: u64) -> (Vec<IntendedOperation>, LoadBehindCache) {
    let mut behind = LoadBehindCache::new(plan, 0, &[GEOMETRY], Instant::ZERO).unwrap();
    let mut all = Vec::new();
    for _ in 0..operations {
        behind.pass_next().unwrap();
        all.extend(std::iter::from_fn(|| behind.take_operation()));
    }
    (all, behind)
}

const READS: (&str, &str, &str) = (
    "reads",
    "read",
    "size = { shares = [[\"4KiB\", \"70%\"], [\"24KiB\", \"30%\"]] }\nrate = \"3000/s\"\naddress = { zipf = 0.9, unit = \"4KiB\" }",
);
const WRITES: (&str, &str, &str) =
    ("writes", "write", "size = \"8KiB\"\nrate = \"1000/s\"\naddress = { zipf = 0.9, unit = \"4KiB\" }");

#[test]
fn exactly_the_misses_of_the_curve_go_on() {
    for policy in [Policy::Lru, Policy::Fifo, Policy::Clock] {
        for (writes, allocates) in
            [("through", Writes::Allocate), ("around", Writes::Around), ("back", Writes::Allocate)]
        {
            let keys = format!("size = \"4MiB\"\npolicy = \"{policy}\"\nwrites = \"{writes}\"");
            let plan = plan(&keys, &[READS, WRITES]);
            let (onward, behind) = onward(&plan, 100_000);
            let mut curve =
                CacheCurve::new(Settings { policy, writes: allocates, one_of: 1, segment: 128 }, vec![1024]);
            for op in Trace::new(&plan, &[GEOMETRY]).unwrap().take(100_000) {
                let blocks = op.offset / 4096..(op.offset + u64::from(op.len)).div_ceil(4096);
                blocks.for_each(|block| curve.access_block(block, op.direction));
            }
            let reads = || onward.iter().filter(|next| next.op.direction == Direction::Read);
            let missed: u64 = reads().map(|next| u64::from(next.op.len) / 4096).sum();
            let hits = (curve.curve_points()[0].hits * curve.reads_followed() as f64).round() as u64;
            assert_eq!(missed, curve.reads_followed() - hits, "{policy} {writes}");
            assert_eq!(behind.read_counts(), (curve.reads_followed(), hits));
            assert!(reads().all(|next| next.stream == 0 && next.op.offset % 4096 == 0));
            assert!(reads().any(|next| next.op.len > 4096), "adjacent misses are one operation");
            assert!(onward.windows(2).all(|pair| pair[0].wanted <= pair[1].wanted));
            let through = onward.iter().filter(|next| next.stream == 1).count();
            assert_eq!(through > 0, writes != "back", "{writes}: {through}");
        }
    }
}

#[test]
fn what_is_written_back_leaves_once_for_each_time_it_was_written_and_adjacent_blocks_together() {
    let sequential = ("writes", "write", "size = \"8KiB\"\nrate = \"1000/s\"\naddress = \"sequential\"");
    let plan = plan("size = \"1MiB\"\nwrites = \"back\"", &[sequential]);
    let evictions = plan.load.streams.iter().position(|stream: &Stream| stream.name == EVICTIONS).unwrap() as u16;
    let (onward, _) = onward(&plan, 3000);
    assert!(onward.iter().all(|next| next.stream == evictions && next.op.direction == Direction::Write));
    let bytes: u64 = onward.iter().map(|next| u64::from(next.op.len)).sum();
    // Of 6000 blocks, 256 are still in the cache. The last of the other 5744 wait until their mebibyte is complete.
    assert_eq!(bytes, (6000 - 256) / 256 * LONGEST_EVICTION);
    assert!(onward.iter().all(|next| u64::from(next.op.len) == LONGEST_EVICTION), "adjacent ones are one operation");
    assert!(onward.windows(2).all(|pair| pair[1].op.offset == pair[0].op.offset + LONGEST_EVICTION));
    // Blocks that are written again and again are evicted once.
    let hot = ("writes", "write", "size = \"4KiB\"\nrate = \"1000/s\"\nrange = { size = \"512KiB\" }");
    assert!(self::onward(&self::plan("size = \"1MiB\"\nwrites = \"back\"", &[hot]), 5000).0.is_empty());
}

#[test]
fn a_scan_hits_nothing_and_what_is_never_seen_neither() {
    // One block more than the cache holds, accessed in order twice, so that an LRU cache never has a hit.
    for (address, operations) in [("\"sequential\"", 2 * 8193), ("{ never_seen = \"4KiB\" }", 8000)] {
        let keys =
            format!("size = \"4KiB\"\nrate = \"400/s\"\naddress = {address}\nrange = {{ size = \"33558528B\" }}");
        let plan = plan("size = \"32MiB\"", &[("reads", "read", &keys)]);
        let (_, behind) = onward(&plan, operations);
        assert_eq!(behind.read_counts(), (operations, 0), "{address}");
    }
}

/// On one target that the three units share: the log goes on as it is, also where writes stay in the cache, and takes no
/// room in it.
#[test]
fn the_log_of_an_oltp_load_bypasses_the_cache() {
    for writes in ["through", "back"] {
        let file = format!("model = \"oltp\"\n[cache]\nsize = \"4MiB\"\nwrites = \"{writes}\"\n");
        let adjust = Adjust { targets: 1, seed: 7, ..Adjust::default() };
        let plan =
            workload::read_workload("t", &file).unwrap_or_else(|fault| panic!("{fault}")).make_plan(&adjust).unwrap();
        let (onward, behind) = onward(&plan, 50_000);
        let taken = Ranges::new(&plan.load.cacheable_ranges(&[GEOMETRY]).unwrap(), 1, 4096);
        let mut curve = CacheCurve::new(
            Settings { policy: Policy::Lru, writes: Writes::Allocate, one_of: 1, segment: 128 },
            vec![1024],
        );
        let mut log = Vec::new();
        for op in Trace::new(&plan, &[GEOMETRY]).unwrap().take(50_000) {
            curve.follow_operation(&taken, &op);
            log.extend((!taken.contain_every_block(&op)).then_some((op.offset, op.len)));
        }
        let there: Vec<(u64, u32)> = onward
            .iter()
            .map(|next| (next.op.offset, next.op.len))
            .filter(|(at, _)| *at >= GEOMETRY.size / 10 * 9)
            .collect();
        assert_eq!(there, log, "{writes}");
        assert!((log.len() as f64 / 50_000.0 - 0.281).abs() < 0.01, "{}", log.len());
        let hits = (curve.curve_points()[0].hits * curve.reads_followed() as f64).round() as u64;
        assert_eq!(behind.read_counts(), (curve.reads_followed(), hits), "{writes}");
    }
}

#[test]
fn where_everything_hits_it_looks_on_in_steps_and_says_until_when_there_is_nothing() {
    let hot =
        ("reads", "read", "size = \"4KiB\"\nrate = \"1000/s\"\narrival = \"steady\"\nrange = { size = \"64KiB\" }");
    let mut behind =
        LoadBehindCache::new(&plan("size = \"1MiB\"\nwarm = 10000", &[hot]), 0, &[GEOMETRY], Instant::ZERO).unwrap();
    behind.draw_until(Instant::ZERO);
    let first = behind.next_intended();
    assert!(behind.peek_operation().is_none() && first > Instant::from_ns(10_000_000_000), "{first:?}");
    behind.draw_until(Instant::ZERO);
    assert!(behind.next_intended() > first);
    behind.draw_until(Instant::from_ns(60_000_000_000));
    assert!(behind.next_intended() >= Instant::from_ns(60_000_000_000) && behind.take_operation().is_none());
}

#[test]
fn both_sides_are_those_of_the_same_operations() {
    let plan = plan("size = \"16MiB\"\nwrites = \"back\"", &[READS, WRITES]);
    let both = sides_of_cache(&plan, &[GEOMETRY], 50_000).unwrap();
    let of = |side: &crate::cache::Side| -> BTreeMap<u16, u64> {
        side.streams.iter().map(|(stream, did)| (*stream, did.operations)).collect()
    };
    assert_eq!(of(&both.application).values().sum::<u64>(), 50_000);
    assert_eq!(of(&both.application).keys().copied().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(of(&both.target).keys().copied().collect::<Vec<_>>(), [0, 2], "writes come as evictions");
    assert!((both.seconds - 12.5).abs() < 0.5, "{}", both.seconds);
    assert!(both.application.busiest_tenth() > both.target.busiest_tenth(), "a cache takes the skew away");
}

#[test]
fn what_cannot_lie_behind_a_cache_is_refused() {
    let read = |text: String| {
        let file = format!("model = \"streams\"\nduration = \"10s\"\n{text}");
        let workload = workload::read_workload("t.toml", &file).map_err(|fault| fault.to_string())?;
        workload.make_plan(&Adjust { targets: 1, verify: text.contains("#verify"), ..Adjust::default() })
    };
    let stream = |keys: &str| format!("[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\n{keys}\n");
    for (cache, keys, what) in [
        ("size = \"1MiB\"", "in_flight = 4", "is a closed loop"),
        ("size = \"1MiB\"", "rate = \"10/s\"#verify", "nothing can be verified"),
        ("size = \"1MiB\"", "rate = \"10/s\"\nfor = \"2s\"", "begins or ends within the run"),
        ("size = \"1MiB\"\nblock = \"3KiB\"", "rate = \"10/s\"", "power of two"),
        ("size = \"1MiB\"\npolicy = \"arc\"", "rate = \"10/s\"", "lru"),
        ("size = \"1MiB\"\nwrites = \"sideways\"", "rate = \"10/s\"", "through"),
        ("size = \"1MiB\"\nwarm = 9000000000000", "rate = \"10/s\"", "before the run"),
        ("block = \"4KiB\"", "rate = \"10/s\"", "a simulated cache has a size"),
        ("size = \"1MiB\"\nsizes = 4", "rate = \"10/s\"", "did you mean size?"),
        ("size = \"64TiB\"\nblock = \"512B\"", "rate = \"10/s\"", "larger block"),
    ] {
        let told = read(format!("[cache]\n{cache}\n{}", stream(keys))).unwrap_err();
        assert!(told.contains(what), "{cache} {keys}: {told}");
    }
    let own = stream("rate = \"10/s\"").replace("\"s\"", "\"evictions\"");
    assert!(read(format!("[cache]\nsize = \"1MiB\"\n{own}")).unwrap_err().contains("rename it"));
    assert!(
        Caching::with_size(Bytes::from_kib(0)).capacity_blocks(512) == 0,
        "a cache of nothing lets everything through"
    );
}
