//! An OLTP load on targets: which operations each target and each worker gets, and where they lie.

use super::*;
use crate::cache::Trace;
use crate::plan::Stream;
use crate::workload::{self, Adjust};
use assay_base::{Multiple, Rate};
use std::collections::BTreeMap;

const GEOMETRY: Geometry = Geometry { size: 1 << 30, block: 512 };
const WHOLE: Part = Part { index: 0, of: 1 };

fn plan(keys: &str, targets: u16) -> Plan {
    let file = format!("model = \"oltp\"\n{keys}");
    let adjust = Adjust { targets, seed: 5, ..Adjust::default() };
    workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap()
}

fn load(plan: &Plan, target: Option<u16>, geometries: &[Geometry], worker: Part) -> Load {
    Load::new(plan, target, geometries, worker, Instant::ZERO).unwrap()
}

/// The operations wanted in the first `seconds`.
fn first(mut load: Load, seconds: u64) -> Vec<IntendedOperation> {
    let end = Instant::from_ns(seconds * 1_000_000_000);
    load.draw_until(end);
    load.wanted_before(end).copied().collect()
}

#[test]
fn each_target_has_the_operations_of_its_asu_and_all_together_the_whole_load() {
    let plan = plan("bsu = 10", 3);
    let geometries = [GEOMETRY, GEOMETRY, GEOMETRY];
    let whole = first(load(&plan, None, &geometries, WHOLE), 20);
    // 500 operations a second, within four standard deviations of a Poisson count.
    assert!((9600..10_400).contains(&whole.len()), "{}", whole.len());
    let mut parts = Vec::new();
    for target in 0..3 {
        let own = first(load(&plan, Some(target), &geometries, WHOLE), 20);
        for wanted in &own {
            let stream: &Stream = &plan.load.streams[usize::from(wanted.stream)];
            assert_eq!(wanted.op.target, target);
            assert!(stream.name.starts_with(&format!("asu{}-", target + 1)), "{}", stream.name);
            assert_eq!(stream.data_direction(), Some(wanted.op.direction), "{}", stream.name);
            assert!(wanted.op.offset + u64::from(wanted.op.len) <= GEOMETRY.size && wanted.op.offset % BLOCK == 0);
        }
        parts.extend(own);
    }
    parts.sort_by_key(|it| it.wanted);
    assert_eq!(parts, whole);
}

#[test]
fn workers_divide_the_load_and_none_changes_it() {
    let plan = plan("bsu = 3", 3);
    let geometries = [GEOMETRY, GEOMETRY, GEOMETRY];
    let whole = first(load(&plan, None, &geometries, WHOLE), 30);
    for of in 2..5 {
        let workers = (0..of).map(|index| first(load(&plan, None, &geometries, Part { index, of }), 30));
        let mut all: Vec<IntendedOperation> = workers.flatten().collect();
        all.sort_by_key(|it| it.wanted);
        assert_eq!(all, whole, "{of} workers");
    }
}

#[test]
fn one_target_is_shared_and_several_lie_one_behind_the_other() {
    let alone = first(load(&plan("bsu = 20", 1), None, &[GEOMETRY], WHOLE), 20);
    let asu = |stream: u16, plan: &Plan| plan.load.streams[usize::from(stream)].name.as_bytes()[3] - b'1';
    let one = plan("bsu = 20", 1);
    for wanted in &alone {
        let place = wanted.op.offset as f64 / GEOMETRY.size as f64;
        let within = [0.0..0.45, 0.449..0.9, 0.899..1.0][usize::from(asu(wanted.stream, &one))].contains(&place);
        assert!(within, "{wanted:?}");
    }
    // The first store consists of two targets. Each gets the operations that a single target of their total size would
    // get at its part.
    let half = Geometry { size: 1 << 29, ..GEOMETRY };
    let (two, single) = (plan("bsu = 20\nasu_targets = [2, 1, 1]", 4), plan("bsu = 20", 3));
    let split = first(load(&two, None, &[half, half, GEOMETRY, GEOMETRY], WHOLE), 20);
    let whole = first(load(&single, None, &[GEOMETRY, GEOMETRY, GEOMETRY], WHOLE), 20);
    let mut moved = 0;
    for (a, b) in split.iter().zip(&whole) {
        let (first, second) = (a.op.target == 0, a.op.target == 1);
        let at = if second { a.op.offset + half.size } else { a.op.offset };
        // An operation that would cross the end of the first target ends there.
        let crosses = first && at + u64::from(a.op.len) == half.size && b.op.offset > at;
        assert!(at == b.op.offset || crosses, "{a:?} {b:?}");
        assert!(a.op.offset + u64::from(a.op.len) <= half.size || a.op.target > 1, "{a:?}");
        moved += u64::from(second);
    }
    assert!(split.len() == whole.len() && moved > 100, "{moved}");
}

#[test]
fn the_streams_of_a_plan_have_the_shares_that_are_drawn() {
    for mix in ["spc1", "published"] {
        let plan = plan(&format!("bsu = 100\nmix = \"{mix}\""), 3);
        let rate = |stream: &Stream| stream.arrival.mean_rate().unwrap().as_f64();
        let all: f64 = plan.load.streams.iter().map(rate).sum();
        assert!((all - 5000.0).abs() < 1e-6, "{all}");
        let mut counts = BTreeMap::<u16, f64>::new();
        let seconds = 100;
        for wanted in first(load(&plan, None, &[GEOMETRY; 3], WHOLE), seconds) {
            *counts.entry(wanted.stream).or_default() += 1.0;
        }
        for (at, stream) in (0..).zip(&plan.load.streams) {
            let expected = rate(stream) * seconds as f64;
            let found = counts.get(&at).copied().unwrap_or(0.0);
            assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{mix} {}: {found}, not {expected}", stream.name);
        }
    }
}

#[test]
fn a_load_between_two_bsus_has_its_rate_and_the_positions_of_the_next() {
    let file = "model = \"oltp\"\nbsu = 3\n";
    let adjust = Adjust { targets: 3, load: Multiple::from_ratio(1, 2), ..Adjust::default() };
    let plan = workload::read_workload("t", file).unwrap().make_plan(&adjust).unwrap();
    let oltp = plan.load.oltp().unwrap();
    assert_eq!((oltp.rate, oltp.bsu_count()), (Rate::per_second(75), 2));
}

#[test]
fn phases_change_the_rate_of_all_streams_together() {
    let phases = "[[phase]]\nname = \"a\"\nspan = \"60s\"\nload = \"1x\"\n[[phase]]\nname = \"b\"\nspan = \"60s\"\nload = \"0.5x\"\n";
    let plan = plan(&format!("bsu = 20\n{phases}"), 3);
    let all = first(load(&plan, None, &[GEOMETRY; 3], WHOLE), 120);
    let late = all.iter().filter(|it| it.wanted >= Instant::from_ns(60_000_000_000)).count() as f64;
    let early = all.len() as f64 - late;
    assert!((early / 60_000.0 - 1.0).abs() < 0.03 && (late / 30_000.0 - 1.0).abs() < 0.03, "{early} {late}");
}

#[test]
fn a_trace_is_the_load_without_times() {
    let plan = plan("bsu = 5", 3);
    let ops: Vec<Op> = Trace::new(&plan, &[GEOMETRY; 3]).unwrap().take(1000).collect();
    let drawn = first(load(&plan, None, &[GEOMETRY; 3], WHOLE), 60);
    assert_eq!(ops, drawn.iter().take(1000).map(|it| it.op).collect::<Vec<_>>());
    let log = Trace::of_target(&plan, 2, &[GEOMETRY; 3], Instant::ZERO).unwrap();
    assert!(log.take(100).all(|op| op.target == 2 && op.direction == Direction::Write));
}

#[test]
fn what_does_not_fit_is_refused_with_the_way_out() {
    let refused = |keys: &str, targets: u16, geometries: &[Geometry]| -> String {
        let file = format!("model = \"oltp\"\n{keys}");
        let adjust = Adjust { targets, ..Adjust::default() };
        let workload = workload::read_workload("t", &file).map_err(|faults| faults.to_string());
        let plan = workload.and_then(|workload| workload.make_plan(&adjust));
        plan.and_then(|plan| plan.load.oltp().unwrap().check_fits(geometries)).unwrap_err()
    };
    let small = Geometry { size: 1 << 20, block: 512 };
    for (keys, targets, geometries, words) in [
        ("bsu = 0", 3, &[GEOMETRY; 3], "write 1 to 1000000"),
        ("contexts = 5000", 3, &[GEOMETRY; 3], "write 1 to 1024"),
        ("mix = \"mixed\"", 3, &[GEOMETRY; 3], "known here: spc1, published"),
        ("", 2, &[GEOMETRY; 3], "give one, which they share, or three"),
        ("asu_targets = [1, 1, 2]", 3, &[GEOMETRY; 3], "is for 4 targets, at least one each, and 3 were given"),
        ("asu_targets = [3, 0, 0]", 3, &[GEOMETRY; 3], "at least one each"),
        ("", 3, &[GEOMETRY, GEOMETRY, small], "the log, ASU 3, has 1 MiB"),
        ("", 3, &[GEOMETRY, Geometry { size: 8192, block: 512 }, GEOMETRY], "too small for a part of an ASU"),
        ("", 3, &[Geometry { size: 1 << 30, block: 8192 }, GEOMETRY, GEOMETRY], "blocks of 8192"),
        ("duration = \"1min\"\n[[phase]]\nname = \"a\"\nspan = \"1min\"", 3, &[GEOMETRY; 3], "remove duration"),
        ("[[criterion]]\nstream = \"all\"\nerrors_at_most = \"1%\"", 3, &[GEOMETRY; 3], "one for each stream"),
        ("[[stream]]\nname = \"x\"", 3, &[GEOMETRY; 3], "stream"),
    ] {
        let found = refused(keys, targets, geometries);
        assert!(found.contains(words), "{keys} on {targets}: {found}");
    }
}

/// Storage of 45, 45 and 10 parts is storage for an OLTP load in however many pieces of equal size it comes, though each
/// piece has whole blocks only.
#[test]
fn storage_in_pieces_of_any_number_fits() {
    const KIB: u64 = 1024;
    for pieces in 1..=40u16 {
        let file = format!("model = \"oltp\"\nasu_targets = [{pieces}, {pieces}, {pieces}]");
        let adjust = Adjust { targets: 3 * pieces, ..Adjust::default() };
        let plan = workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap();
        for unit in [1, 512, KIB] {
            let of_each = |mib: u64| mib * KIB * KIB / unit / u64::from(pieces) * unit;
            let piece = |mib| vec![Geometry { size: of_each(mib), block: 512 }; usize::from(pieces)];
            let geometries = [piece(45), piece(45), piece(10)].concat();
            let used =
                plan.load.oltp().unwrap().used_bytes(&geometries).unwrap_or_else(|why| panic!("{pieces}: {why}"));
            let [one, two, log] = used.map(|bytes| bytes / BLOCK);
            assert!(one == two && log == 2 * one / 9, "{pieces} of {unit}: {used:?}");
            let lost = 45 * KIB * KIB - used[0];
            assert!(lost <= 10 * BLOCK * u64::from(pieces), "{pieces} of {unit}: {lost} bytes are not used");
        }
    }
    let plan = workload::read_workload("t", "model = \"oltp\"")
        .unwrap()
        .make_plan(&Adjust { targets: 1, ..Adjust::default() })
        .unwrap();
    for size in (0..5000u64).map(|n| (20 << 20) + n * 512) {
        assert_eq!(plan.load.oltp().unwrap().check_fits(&[Geometry { size, block: 512 }]), Ok(()), "{size} bytes");
    }
}
