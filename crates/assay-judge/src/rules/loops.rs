//! Little's law for each closed loop and window: rate × mean response is what was asked for in flight, but for pauses.
//!
//! The law holds by how responses are measured, whatever device and generator do, so a window in which it does not holds
//! figures that cannot be true. How much of the slots' time the generator itself caused is another question: a loop whose
//! slots it left without operations asked for less than it should have. `docs/decisions/0075-closed-loops-obey-littles-law.md`
//! has the reasons.

use crate::finding::flaw::{self, Flaw, LateBy};
use crate::fold::layout::Layout;
use crate::fold::loop_layout::LoopLayout;
use crate::fold::loop_time::LoopTime;
use crate::fold::window::Window;
use crate::words::{loop_streams_text, percent_text};
use assay_record::Header;

/// The share by which the two sides of the law may differ.
const TOLERANCE: f64 = 0.02;
/// The share of its slots' time for which the generator may leave a loop without operations, a millisecond or more at a
/// time.
pub(crate) const IDLE_AT_MOST: f64 = 0.01;
/// The share of the slots' time that the generator may cause, however short each time, before it is reported.
const TELL: f64 = 0.02;

/// Sets `window.invalid` where the law does not hold.
pub(crate) fn check_window(window: &mut Window, layout: &Layout) {
    if !window.complete || window.invalid.is_some() || window.mixed {
        return;
    }
    let broken =
        layout.loops.iter().zip(&window.loops).find_map(|(looped, time)| broken_law(looped, time, window, layout));
    window.invalid = broken;
}

fn broken_law(looped: &LoopLayout, time: &LoopTime, window: &Window, layout: &Layout) -> Option<Flaw> {
    let (response, wanted) = time.both_sides(looped.slots);
    let differ =
        response.abs_diff(wanted) as f64 > TOLERANCE * response.unsigned_abs().max(wanted.unsigned_abs()) as f64;
    (lives_through(looped, time, window, layout) && differ).then(|| Flaw::Little {
        of: loop_name(looped, layout),
        asked: in_tenths(per_length(wanted, time)),
        made: in_tenths(per_length(response, time)),
    })
}

/// A time as a multiple of the length of the window.
fn per_length(ns: i128, time: &LoopTime) -> f64 {
    ns as f64 / time.length_ns.max(1) as f64
}

/// Whether all slots of a loop had something to do from the beginning of a window to its end.
fn lives_through(looped: &LoopLayout, time: &LoopTime, window: &Window, layout: &Layout) -> bool {
    let lasts_until_the_end = !looped.by_number || time.in_flight >= looped.slots;
    !time.unknown
        && time.length_ns > 0
        && lasts_until_the_end
        && looped.streams.iter().all(|stream| layout.lives.lives_through(*stream, window.start_ns, window.end_ns))
}

/// A number of operations in tenths, so that it can be compared.
fn in_tenths(number: f64) -> i64 {
    (number * 10.0).round() as i64
}

/// `reads on disk`, or the names of all its streams, where it goes to several targets.
pub(crate) fn loop_name(looped: &LoopLayout, layout: &Layout) -> String {
    let streams: Vec<&str> = looped.streams.iter().map(|at| layout.streams[*at].head.name.as_str()).collect();
    let streams = loop_streams_text(&streams);
    match layout.target_of_loop(looped) {
        Some(target) if layout.targets.len() > 1 => format!("{streams} on {target}"),
        _ => streams,
    }
}

/// Why a window that keeps its bounds proves nothing about a stream: the generator left slots of its loop without
/// operations, so that the loop asked for less.
pub(crate) fn flaw_of_window(window: &Window, stream: usize, layout: &Layout) -> Option<flaw::Late> {
    let own = layout.loops.iter().zip(&window.loops).filter(|(looped, _)| looped.streams.contains(&stream));
    own.into_iter().find_map(|(looped, time)| {
        let share = time.idle_share(looped.slots);
        let what = LateBy::LeftIdle { share, longest_ns: time.idle.max_ns };
        let target = layout.target_of_loop(looped).map_or_else(|| loop_name(looped, layout), str::to_owned);
        (share > IDLE_AT_MOST).then_some(flaw::Late { target, what })
    })
}

/// For how long the slots of loops on these targets were without operations, in the time of one slot that is always
/// without: by so much the loops may have done less work than they should have.
pub(crate) fn without_work_ns(window: &Window, layout: &Layout, targets: &[usize]) -> u64 {
    let own = layout.loops.iter().zip(&window.loops).filter(|(looped, _)| is_on_any(looped, layout, targets));
    own.map(|(looped, time)| own_ns(time) / looped.slots.max(1)).max().unwrap_or(0)
}

/// Whether a loop goes to any of these targets.
fn is_on_any(looped: &LoopLayout, layout: &Layout, targets: &[usize]) -> bool {
    looped.flows.iter().any(|flow| targets.contains(&usize::from(layout.flows[*flow].target)))
}

/// What of the slots' time the generator caused.
fn own_ns(time: &LoopTime) -> u64 {
    u64::try_from(time.own_lag_ns.saturating_add(time.unnoticed_ns)).unwrap_or(u64::MAX)
}

/// A warning where the generator caused so much of the slots' time that the target had noticeably less in flight than was
/// asked for. A hundredth of a slot is nobody's.
pub(crate) fn warning_text(window: &Window, layout: &Layout) -> Option<String> {
    let late = layout.loops.iter().zip(&window.loops).find_map(|(looped, time)| {
        let slots = looped.slots as f64;
        let share = own_ns(time) as f64 / (slots * time.length_ns as f64).max(1.0);
        let missing = share * slots >= 0.5;
        // More than all of it is of an operation that began in an earlier window: the figures of the whole step have it.
        (share > TELL && share <= 1.0 && missing && time.length_ns > 0)
            .then(|| (loop_name(looped, layout), looped.slots, share))
    });
    let (name, slots, share) = late?;
    Some(format!(
        "the test machine needed {} of the time of the closed loop {name} for itself in slice {}, between completions and the \
         operations that followed: on the target {:.1} of {slots} were in flight",
        percent_text(share),
        window.number,
        slots as f64 * (1.0 - share)
    ))
}

/// Where more operations are asked for in flight on a target than its disk takes at a time, in words.
pub(crate) fn more_than_tags(header: &Header, layout: &Layout) -> Vec<String> {
    let all = header.targets.iter().enumerate();
    all.filter_map(|(index, head)| {
        let tags: u64 = head.facts.get("nr_requests")?.parse().ok()?;
        let disk = head.facts.get("device").filter(|device| !head.name.ends_with(device.as_str()));
        let disk = disk.map(|device| format!("{device} beneath {}", head.name)).unwrap_or_else(|| head.name.clone());
        assay_base::more_than_tags(&disk, tags, slots_on(index, layout))
    })
    .collect()
}

/// The slots of all loops that go to this target only.
fn slots_on(target: usize, layout: &Layout) -> u64 {
    let here = layout.loops.iter().filter(|looped| {
        let first = looped.flows.first().map(|flow| usize::from(layout.flows[*flow].target));
        first == Some(target) && layout.target_of_loop(looped).is_some()
    });
    here.fold(0u64, |sum, looped| sum.saturating_add(looped.slots))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::{LoopHead, Pauses};

    const SECOND: u64 = 1_000_000_000;

    /// Reads with 64 in flight, over the ten seconds of the window.
    fn header() -> Header {
        let mut header = fixture::header();
        header.loops = vec![LoopHead { flows: vec![0], slots: 64 }];
        header
    }

    fn time(response: f64) -> LoopTime {
        LoopTime {
            length_ns: 10 * SECOND,
            response_ns: (response * 10e9) as u128,
            in_flight: 64,
            ..LoopTime::default()
        }
    }

    /// What makes the window invalid, if something does.
    fn found(header: &Header, time: LoopTime) -> Option<String> {
        let layout = Layout::new(header, &[]).unwrap();
        let mut window = Window { loops: vec![time], ..fixture::window(&layout) };
        check_window(&mut window, &layout);
        window.invalid.map(|flaw| flaw.to_string())
    }

    #[test]
    fn rate_times_response_is_what_was_asked_for_within_two_percent() {
        for (response, holds) in [(64.0, true), (62.8, true), (62.6, false), (65.2, true), (65.4, false), (0.0, false)]
        {
            assert_eq!(found(&header(), time(response)).is_none(), holds, "{response}");
        }
        let words =
            "the log does not add up: the closed loop reads asked for 64.0 in flight, and rate × response makes 37.2";
        assert_eq!(found(&header(), time(37.2)).as_deref(), Some(words));
    }

    #[test]
    fn pauses_and_what_has_not_ended_count_on_the_side_they_belong_to() {
        let half = LoopTime { paused_ns: 320 * u128::from(SECOND), ..time(32.0) };
        assert_eq!(found(&header(), half.clone()), None);
        assert!(found(&header(), LoopTime { response_ns: half.response_ns / 2, ..half }).is_some());
        // An operation that takes a minute ends in no window of ten seconds.
        assert_eq!(found(&header(), LoopTime { opened_ns: 640 * i128::from(SECOND), ..time(0.0) }), None);
        assert_eq!(found(&header(), LoopTime { opened_ns: -320 * i128::from(SECOND), ..time(96.0) }), None);
    }

    #[test]
    fn nothing_is_said_of_a_loop_that_does_not_live_all_the_time() {
        let mut short = header();
        short.plan = serde_json::json!({"streams": [{"for": "15s"}]});
        assert_eq!(found(&short, time(32.0)), None, "it ends in the middle of the window");
        short.plan = serde_json::json!({"streams": [{"for": "20s"}]});
        assert!(found(&short, time(32.0)).is_some());
        short.plan = serde_json::json!({"streams": [{"operations": 9}, {"operations": 9}]});
        assert!(found(&short, time(32.0)).is_some(), "all slots still carry something");
        assert_eq!(found(&short, LoopTime { in_flight: 63, ..time(32.0) }), None);
        assert_eq!(found(&header(), LoopTime { unknown: true, ..time(32.0) }), None, "an interval is missing");
    }

    #[test]
    fn a_loop_that_the_generator_left_without_operations_proves_nothing() {
        for (share, flawed) in [(0.0099, false), (0.0101, true)] {
            let sum_ns = (share * 640e9) as u64;
            let layout = Layout::new(&header(), &[]).unwrap();
            let time = LoopTime { idle: Pauses { sum_ns, max_ns: 9_000_000, count: 7 }, ..time(64.0) };
            let window = Window { loops: vec![time], ..fixture::window(&layout) };
            let found = flaw_of_window(&window, 0, &layout);
            assert_eq!(found.is_some(), flawed, "{share}");
            assert_eq!(super::flaw_of_window(&window, 1, &layout), None, "the other stream is in no loop");
            let words = "the test machine left slots of its closed loop on disk without an operation for 1.01% of their time, \
                         up to 9 ms at once, so that it asked for less";
            if let Some(found) = found {
                assert_eq!(found.to_string(), words);
            }
        }
    }

    #[test]
    fn what_the_generator_needs_for_itself_is_told() {
        let layout = Layout::new(&header(), &[]).unwrap();
        let told = |own: f64| {
            let time = LoopTime { own_lag_ns: (own * 10e9) as u128, ..time(64.0) };
            warning_text(&Window { loops: vec![time], ..fixture::window(&layout) }, &layout)
        };
        assert_eq!(told(1.2), None);
        assert!(told(27.0).unwrap().ends_with("on the target 37.0 of 64 were in flight"));
        let layout =
            Layout::new(&Header { loops: vec![LoopHead { flows: vec![0], slots: 1 }], ..header() }, &[]).unwrap();
        let time = LoopTime { own_lag_ns: 2_000_000_000, ..time(1.0) };
        let window = Window { loops: vec![time], ..fixture::window(&layout) };
        assert_eq!(
            warning_text(&window, &layout),
            None,
            "one at a time is one at a time, however soon the next one follows"
        );
        assert_eq!(without_work_ns(&window, &layout, &[0]), 2_000_000_000);
        assert_eq!(without_work_ns(&window, &layout, &[1]), 0);
    }

    #[test]
    fn more_than_a_disk_takes_at_a_time_is_told() {
        let mut header = header();
        let told = |header: &Header| more_than_tags(header, &Layout::new(header, &[]).unwrap());
        assert_eq!(told(&header), Vec::<String>::new(), "nothing is known of its queue");
        for (tags, told_of) in [("64", false), ("32", true), ("none", false)] {
            header.targets[0].facts.insert("nr_requests".into(), tags.into());
            assert_eq!(told(&header).len(), usize::from(told_of), "{tags}");
        }
        header.targets[0].facts.insert("nr_requests".into(), "32".into());
        header.targets[0].facts.insert("device".into(), "vda".into());
        assert!(
            told(&header)[0]
                .starts_with("vda beneath disk takes 32 requests at a time (nr_requests), and 64 in flight")
        );
        header.targets[0].name = "/dev/vda".into();
        assert!(told(&header)[0].starts_with("/dev/vda takes 32"));
    }
}
