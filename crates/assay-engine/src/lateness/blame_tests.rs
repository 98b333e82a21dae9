//! Tests of who caused a lag: the device, or the generator.

use super::arrivals::Lateness;
use super::held_back::{HeldBack, OwnLag, late_stamp};
use super::peers::{ONE, Peers};
use super::queue_full::{QueueFull, Stretch};
use super::shift::{Rest, Shift};
use super::watch::Watch;
use assay_base::{Completion, HandOver, Instant, Span, Ticket};

fn at(us: u64) -> Instant {
    Instant::from_ns(us * 1000)
}

fn us(us: u64) -> Span {
    Span::from_us(us)
}

fn completion(accepted: u64, completed: u64) -> Completion {
    let (issued, accepted, completed) = (at(accepted), at(accepted), at(completed));
    Completion { ticket: Ticket(0), result: Ok(1), issued, accepted, completed }
}

#[test]
fn stretches_that_one_waited_through_are_one_without_what_lay_between() {
    let stretch = Stretch { from: at(10), until: at(30) };
    assert_eq!(
        (stretch.wait_for_slot(at(5)), stretch.wait_for_slot(at(22)), stretch.wait_for_slot(at(31))),
        (us(20), us(8), us(0))
    );
    assert_eq!(stretch.joined_begin(at(29), at(50)), at(30), "the first stretch ended 20 µs before the second begins");
    assert_eq!(stretch.joined_begin(at(30), at(50)), at(50), "due when it was over: another stretch");
}

#[test]
fn a_queue_that_was_full_held_back_until_it_was_found_free() {
    let mut full = QueueFull::new(at(0));
    full.note_full(at(10), at(10), us(0));
    assert!(full.note_freed(at(50), at(40), true, false), "the first that was found of a full queue");
    assert_eq!(full.wait_for_slot(at(20)), us(30), "others were still busy when it was found");
    assert!(full.note_freed(at(50), at(45), false, true), "found with it, and the last of all");
    assert_eq!(full.wait_for_slot(at(20)), us(25), "the device was done before anybody looked");
    assert!(!full.note_freed(at(60), at(58), false, true), "of a queue that was not full");
    assert_eq!(full.wait_for_slot(at(20)), us(25));
}

/// What held back, when hand-overs blocked in these periods.
fn blocked(periods: &[(u64, u64)]) -> HeldBack {
    let mut held = HeldBack::default();
    let mut found = periods.iter().map(|(from, until)| HandOver { from: at(*from), until: at(*until) }).collect();
    held.add_hand_overs(&mut found);
    held
}

#[test]
fn a_hand_over_that_blocks_excuses_what_it_held_up_so_far() {
    let held = blocked(&[(10, 50)]);
    let own = |issued| held.own_lag(at(5), at(5), at(10), at(issued)).own;
    assert_eq!(own(30), us(5), "handed over within it: it had blocked for 20 µs");
    assert_eq!(own(60), us(15), "and after it: for 40");
    let after = OwnLag { own: us(65), handing_over: us(10) };
    assert_eq!(held.own_lag(at(5), at(5), at(60), at(70)), after, "submitted after it: it held up nothing");
}

/// Each of several hand-overs held up what was due before it: sixteen operations go with each of them.
#[test]
fn hand_overs_one_after_the_other_hold_up_what_waits_behind_them() {
    let mut held = blocked(&[(100, 1000), (1010, 2000), (2005, 3000)]);
    assert_eq!(held.but_for_hand_overs(at(3010), at(90)), at(90 + 2885));
    assert_eq!(held.own_lag(at(90), at(90 + 2885), at(3010), at(3011)).own, us(36), "what lay between them is ours");
    assert_eq!(held.own_lag(at(90), at(90), at(95), at(2003)).own, us(23), "and within one step");
    held.note_stopped(at(1500), at(2500));
    assert_eq!(held.but_for_hand_overs(at(3010), at(90)), at(90 + 900 + 490 + 500), "a stop is no hand-over");
}

#[test]
fn slack_is_what_lies_between_looking_and_finding() {
    let mut held = HeldBack::default();
    let mut watch = Watch::new(at(0));
    watch.watch_until(at(100));
    let slack = |watch: &Watch, held: &HeldBack, accepted, completed| {
        watch.completion_slack(&completion(accepted, completed), held)
    };
    assert_eq!(slack(&watch, &held, 10, 90), us(0), "while it looked");
    assert_eq!(slack(&watch, &held, 10, 130), us(30));
    assert_eq!(slack(&watch, &held, 120, 130), us(10), "handed over later than that");
    held.add_hand_overs(&mut vec![HandOver { from: at(105), until: at(125) }]);
    assert_eq!(slack(&watch, &held, 10, 130), us(10), "what a hand-over took is the device's");
    assert_eq!(slack(&watch, &held, 10, 115), us(5), "as far as it had come");
    watch.not_since(at(50));
    assert_eq!(slack(&watch, &HeldBack::default(), 10, 130), us(80));
    watch.not_since(at(60));
    assert_eq!(slack(&watch, &HeldBack::default(), 10, 130), us(80), "not later than it was");
}

/// A thread that stamps its completion itself can be late while nothing runs, or while it has no processor.
#[test]
fn a_stamp_is_late_by_what_kept_its_thread() {
    let mut held = HeldBack::default();
    let late =
        |held: &HeldBack, accepted, completed, kept| late_stamp(&completion(accepted, completed), us(kept), held);
    assert_eq!(late(&held, 10, 130, 0), us(0), "the completion knows its time");
    assert_eq!(late(&held, 10, 130, 20), us(20));
    held.note_stopped(at(50), at(60));
    held.note_stopped(at(100), at(120));
    assert_eq!(late(&held, 10, 130, 0), us(30), "of each stop that it saw");
    assert_eq!(late(&held, 55, 110, 10), us(25));
    assert_eq!(late(&held, 105, 110, 50), us(5), "and no more than it took");
    assert_eq!(late(&held, 60, 90, 0), us(0));
}

/// A hand-over during which the thread had no processor, or the program was stopped, took longer than it blocked.
#[test]
fn what_a_hand_over_did_not_block_is_not_the_devices() {
    let took = |issued: u64, accepted: u64| Completion { issued: at(issued), ..completion(accepted, 500) };
    let mut watch = Watch::new(at(0));
    watch.watch_until(at(500));
    let mut held = blocked(&[(10, 110)]);
    assert_eq!(watch.completion_slack(&took(10, 110), &held), us(0));
    assert_eq!(watch.completion_slack(&took(10, 200), &held), us(90), "its thread was kept from running");
    held.note_stopped(at(40), at(70));
    assert_eq!(watch.completion_slack(&took(10, 110), &held), us(30), "or nothing ran");
    assert_eq!(watch.completion_slack(&took(10, 59), &held), us(0), "a short one is not looked at");
    assert_eq!(
        watch.completion_slack(&took(10, 200), &HeldBack::default()),
        us(0),
        "nor one of a device that reports none"
    );
}

#[test]
fn the_longest_hand_over_counts_until_nothing_is_in_flight() {
    let mut watch = Watch::new(at(0));
    let held = blocked(&[(31, 37)]);
    watch.begin_step(at(10), true);
    watch.hands_over(at(17), &held);
    watch.begin_step(at(20), false);
    watch.hands_over(at(21), &held);
    assert_eq!(watch.hand_over_bound(us(3)), us(7));
    assert_eq!(watch.hand_over_bound(us(10)), us(10), "its own was longer");
    watch.begin_step(at(30), false);
    watch.hands_over(at(40), &held);
    assert_eq!(watch.hand_over_bound(us(3)), us(7), "but for what the device kept waiting");
    watch.handed_over_after(us(9));
    assert_eq!(watch.hand_over_bound(us(3)), us(9), "that of another thread too");
    watch.begin_step(at(40), true);
    assert_eq!(watch.hand_over_bound(us(1)), us(1));
}

#[test]
fn the_largest_shift_counts_until_the_target_is_empty() {
    let mut shift = Shift::new(at(0));
    shift.begin_busy(at(130), false, us(0));
    shift.note_issue(at(100), us(30), false);
    shift.note_issue(at(135), us(5), false);
    assert_eq!(shift.worst_shift(us(0)), us(30), "the largest");
    assert_eq!(shift.worst_shift(us(50)), us(50), "or that of others");
    shift.note_empty(at(160), us(10));
    assert_eq!(shift.rest_of_target(at(200), at(190)), Some(Rest { empty: us(50), given: us(10), gap: us(55) }));
    assert_eq!(shift.rest_of_target(at(200), at(140)), Some(Rest { empty: us(50), given: us(50), gap: us(5) }));
    assert_eq!(shift.rest_of_target(at(200), at(200)), None, "punctual");
    shift.begin_busy(at(200), false, us(0));
    shift.note_issue(at(200), us(0), false);
    assert_eq!(shift.worst_shift(us(0)), us(0));
    assert_eq!((shift.take_peak(us(0)), shift.take_peak(us(0))), (us(30), us(0)));
    assert_eq!(shift.take_peak(us(7)), us(7));
}

#[test]
fn who_waits_for_a_slot_inherits_what_had_it_once_for_each_turn() {
    let mut shift = Shift::new(at(0));
    shift.begin_busy(at(10), false, us(0));
    shift.note_issue(at(0), us(10), false);
    // Both were issued before the first generation began, and found 4 µs late.
    for submitted in [9, 9] {
        shift.note_completion(at(100), at(submitted), us(4), us(0));
    }
    assert_eq!(shift.note_issue(at(50), us(1), true), us(5), "nothing of before was shifted");
    shift.note_completion(at(200), at(100), us(4), us(0));
    assert_eq!(shift.note_issue(at(60), us(1), true), us(15), "the largest of the generation, found late, and its own");
    shift.note_completion(at(200), at(100), us(4), us(0));
    assert_eq!(shift.note_issue(at(60), us(1), true), us(15), "not once for each");
    shift.note_completion(at(300), at(200), us(4), us(40));
    assert_eq!(shift.note_issue(at(60), us(0), true), us(44), "those of others too");
    assert_eq!(shift.worst_shift(us(0)), us(44));
    shift.begin_busy(at(400), true, us(0));
    assert_eq!(shift.worst_shift(us(0)), us(44), "what waits for a slot keeps it, though the target is empty");
    shift.begin_busy(at(400), false, us(3));
    assert_eq!(shift.worst_shift(us(0)), us(3));
}

#[test]
fn oversleeping_counts_once_for_all_that_are_found_together() {
    let mut shift = Shift::new(at(0));
    assert!(!shift.is_first_oversleeping(at(5000), us(999)));
    assert!(shift.is_first_oversleeping(at(5000), us(1000)));
    assert!(!shift.is_first_oversleeping(at(5000), us(3000)));
    assert!(shift.is_first_oversleeping(at(9000), us(1000)));
}

#[test]
fn workers_know_the_largest_shift_while_any_of_them_has_something_in_flight() {
    let peers = Peers::new(2);
    assert_eq!(peers.enter_target(0), us(0));
    peers.report_shift(0, us(30));
    peers.report_shift(0, us(20));
    assert_eq!((peers.enter_target(0), peers.worst_shift(0), peers.worst_shift(1)), (us(30), us(30), us(0)));
    peers.leave_target(0);
    assert_eq!(peers.enter_target(0), us(30), "one of them still has");
    peers.leave_target(0);
    peers.leave_target(0);
    assert_eq!((peers.enter_target(0), peers.worst_shift(0)), (us(0), us(0)));
}

#[test]
fn workers_are_counted_whatever_their_shifts_are() {
    let peers = Peers::new(1);
    peers.enter_target(0);
    peers.enter_target(0);
    peers.leave_target(0);
    peers.report_shift(0, us(30));
    assert_eq!(peers.enter_target(0), us(30), "one of two is still there");
    // A shift of days is limited to the largest that fits, and does not change the number of workers.
    peers.report_shift(0, Span::from_ns(ONE * 2));
    assert_eq!(peers.worst_shift(0), Span::from_ns(ONE - 1));
    peers.leave_target(0);
    peers.leave_target(0);
    assert_eq!(peers.enter_target(0), us(0), "all had left");
}

#[test]
fn only_what_was_in_flight_while_the_program_stood_still_is_examined_in_a_punctual_loop() {
    let mut lateness = Lateness::new(at(0), 1, 1, false, false);
    assert!(!lateness.must_examine(at(0)) && !lateness.must_examine(at(15)), "it never stood still");
    lateness.note_stopped(at(10), at(20));
    assert!(lateness.must_examine(at(5)) && lateness.must_examine(at(19)));
    assert!(!lateness.must_examine(at(20)), "accepted behind it: nobody was late");
    lateness.note_stopped(at(30), at(40));
    lateness.note_stopped(at(34), at(36));
    assert!(lateness.must_examine(at(39)), "a report within another one takes nothing back");

    let mut late = Lateness::new(at(0), 1, 1, true, false);
    assert!(late.must_examine(at(1_000_000)), "where arrivals may be late each completion is examined");
    late.note_stopped(at(10), at(20));
    assert!(late.must_examine(at(1_000_000)));
}
