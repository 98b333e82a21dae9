//! Five runs in which a late generator once led to a wrong verdict, each in virtual time with its punctual twin.

use crate::devices::{Draw, Kind, MS, Simulated};
use crate::rig::{Late, judged, plan};
use assay_judge::{Judgement, Verdict};

const LINE: &str = "direction = \"read\"\nrate = \"RATE/s\"\narrival = \"steady\"";

fn draw(least: u64, slow: u64, slow_ppm: u64) -> Draw {
    Draw { seed: 3, least, mean: 0, slow, slow_ppm }
}

/// One run of 10 s, in which at most 5 % may be over `over`.
fn run(kind: &Kind, draw: Draw, stream: &str, over: &str, late: &Late, counted: bool) -> Judgement {
    let criterion = format!("share_over = \"{over}\"\nat_most = \"5%\"\nwindow = \"10s\"");
    let plan = plan("duration = \"10s\"\nslice = \"10s\"", stream, &criterion);
    judged(&plan, kind, Simulated::new(kind.clone(), draw, true), 256, late, counted)
}

fn rate(rate: u64) -> String {
    LINE.replace("RATE", &rate.to_string())
}

/// Where the generator pauses, the device rests and can recover; a punctual generator never gives it that rest.
#[test]
fn a_device_that_recovers_at_rest_is_not_passed_by_stopping() {
    let device = Kind::Recovers { free: 0, owed: 30 * MS, debt: 80_000, onset: 3 * MS, most: 30 * MS, pays: 80 * MS };
    let (stream, late) = (rate(500), Late { every: 1000 * MS, stopped: 43 * MS, ..Late::default() });
    let twin = run(&device, draw(MS, 0, 0), &stream, "64ms", &Late::default(), true);
    let was = run(&device, draw(MS, 0, 0), &stream, "64ms", &late, false);
    let now = run(&device, draw(MS, 0, 0), &stream, "64ms", &late, true);
    assert_eq!(
        (twin.verdict, was.verdict, now.verdict),
        (Verdict::Fail, Verdict::Pass, Verdict::Invalid),
        "{}",
        now.reason
    );
    assert!(now.reason.contains("without work for"), "{}", now.reason);
}

/// A closed loop has no schedule that it could miss: if it sleeps, it just asks for less.
#[test]
fn a_closed_loop_that_sleeps_proves_nothing() {
    let late = Late { every: 60 * MS, stopped: 45 * MS, ..Late::default() };
    let (device, stream) = (Kind::Servers(vec![0]), "direction = \"read\"\nin_flight = 1");
    let was = run(&device, draw(MS, 0, 0), stream, "500ms", &late, false);
    let now = run(&device, draw(MS, 0, 0), stream, "500ms", &late, true);
    assert_eq!((was.verdict, now.verdict), (Verdict::Pass, Verdict::Invalid), "{}", now.reason);
    assert!(now.reason.contains("left slots of its closed loop"), "{}", now.reason);
    let punctual = run(&device, draw(MS, 0, 0), stream, "500ms", &Late::default(), true);
    assert_eq!(punctual.verdict, Verdict::Pass, "{}", punctual.reason);
}

/// An operation that is late queues behind earlier late ones: even without its own lag it is over the bound.
#[test]
fn two_stops_do_not_fail_a_good_device() {
    let late = Late { once: vec![(3000 * MS, 200 * MS), (6000 * MS, 200 * MS)], ..Late::default() };
    let device = Kind::Servers(vec![0]);
    let criterion = "share_over = \"64ms\"\nat_most = \"0.1%\"\nwindow = \"30s\"";
    let plan = plan("duration = \"30s\"\nslice = \"30s\"", &rate(600), criterion);
    let judged = |late: &Late, counted| {
        judged(&plan, &device, Simulated::new(device.clone(), draw(MS, 0, 0), true), 256, late, counted)
    };
    assert_eq!(judged(&Late::default(), true).verdict, Verdict::Pass);
    assert_eq!(judged(&late, false).verdict, Verdict::Fail, "as it was judged before");
    let now = judged(&late, true);
    assert_eq!(now.verdict, Verdict::Invalid, "{}", now.reason);
}

/// `completed` is when the generator found the completion, which may be later than it came.
#[test]
fn a_completion_that_was_found_late_does_not_accuse() {
    let late = Late { every: 1000 * MS, stopped: 60 * MS, ..Late::default() };
    let device = Kind::Servers(vec![0; 64]);
    let criterion = "share_over = \"64ms\"\nat_most = \"0.1%\"\nwindow = \"10s\"\nmeasure = \"service\"";
    let plan = plan("duration = \"10s\"\nslice = \"10s\"", &rate(200), criterion);
    let judged = |late: &Late, counted| {
        judged(&plan, &device, Simulated::new(device.clone(), draw(30 * MS, 0, 0), true), 256, late, counted)
    };
    assert_eq!(judged(&Late::default(), true).verdict, Verdict::Pass);
    assert_eq!(judged(&late, false).verdict, Verdict::Fail, "as it was judged before");
    let now = judged(&late, true);
    assert_eq!(now.verdict, Verdict::Invalid, "{}", now.reason);
}

/// Steal on a busy machine: 12 of 1000 wakes are late, by up to 2.4 ms. This does not hide a device that is bad by
/// itself.
#[test]
fn late_wakes_do_not_hide_a_bad_device() {
    let late = Late { seed: 5, wakes_ppm: 12_000, wakes_by: 2_400_000, ..Late::default() };
    for slow_ppm in [250_000, 135_000] {
        let device = Kind::Servers(vec![0; 4]);
        let bad = run(&device, draw(300_000, 3 * MS, slow_ppm), &rate(500), "1ms", &late, true);
        assert_eq!(bad.verdict, Verdict::Fail, "{}", bad.reason);
        let good = run(&device, draw(300_000, 3 * MS, slow_ppm / 50), &rate(500), "1ms", &late, true);
        assert_eq!(good.verdict, Verdict::Pass, "{}", good.reason);
    }
}
