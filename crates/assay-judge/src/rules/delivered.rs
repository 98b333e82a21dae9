//! Whether the load of a stream was delivered in a slice, and if not, who caused it.

use crate::finding::Class;
use crate::finding::load::{Cause, NONE};
use crate::fold::counters::Counters;
use crate::fold::layout::Layout;
use crate::fold::window::Window;
use crate::judgement::Figure;
use crate::rules::lateness;
use crate::words::share_text;
use assay_base::{Share, Span};

/// One part in this many of the schedule may be waiting at the end of a slice: 0.1 %.
const LEFT_WAITING: u64 = 1000;
/// The share that must be issued.
const LEAST: Share = Share::from_ppb(999_000_000);
/// If the generator is behind by no more than this at the end of a slice, the operations count as on their way, and
/// their lag is judged as lag: 0.1 % of a slice of a second is a millisecond, and any machine is that late now and
/// then.
const JITTER: Span = Span::from_ms(50);
/// A backlog that the plan allows is at most one part in this many of a window: an overload that grows shows in a window
/// of any length.
const PART_OF_A_WINDOW: u64 = 20;
/// Fewer operations than this in a slice, none of them completed, allow no conclusion about the device.
const TOO_FEW: u64 = 10;

/// The outcome for the load of one stream in one slice, on one target or on all.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryCheck {
    /// Index of the target; `None` for all targets together.
    pub(crate) target: Option<usize>,
    /// How much was delivered.
    pub(crate) figure: Figure,
    /// Why it was not delivered, if it was not.
    pub(crate) fault: Option<Cause>,
}

impl DeliveryCheck {
    /// Whether the outcome is of this class.
    pub(crate) fn is_of_class(&self, class: Class) -> bool {
        self.fault.is_some_and(|cause| cause.severity_class() == class)
    }
}

/// The outcome for a stream's load: on all targets together, and on each where there are several.
pub(crate) fn delivered_by(stream: usize, window: &Window, layout: &Layout) -> Vec<DeliveryCheck> {
    let flows = &layout.streams[stream].flows;
    let together = check_delivery(stream, &window.streams[stream], None, window, layout);
    let alone = flows.iter().filter(|_| flows.len() > 1);
    let alone = alone.map(|&flow| check_delivery(stream, &window.flows[flow], Some(flow), window, layout));
    std::iter::once(together).chain(alone).flatten().collect()
}

/// `None` where nothing was due.
fn check_delivery(
    stream: usize,
    cell: &Counters,
    flow: Option<usize>,
    window: &Window,
    layout: &Layout,
) -> Option<DeliveryCheck> {
    let offered = cell.carried_in.saturating_add(cell.work.scheduled);
    if offered > 0 && cell.ended_operations() == 0 {
        if layout.lives.begins_within(stream, window.start_ns, window.end_ns) {
            // What it issued in its first moments is carried into the next window, and judged there.
            return None;
        }
        let goes_on = is_on_its_way(cell, layout) || (may_last(stream, layout) && all_are_carried(cell));
        if window.end_ns < layout.planned_ns && goes_on {
            return None;
        }
        let length = window.end_ns.saturating_sub(window.start_ns);
        // Where the generator did nothing for the whole window, what was open had no chance to be found completed.
        let cause = if shift_ns(stream, flow, window, layout) >= length.into() && length > 0 {
            Cause::NothingIssued
        } else {
            nothing_completed(cell)
        };
        let cause = excuse_if_disturbed(cause, stream, flow, window, layout);
        let delivered = Delivered {
            text: NONE.to_owned(),
            value: 0.0,
            operations: offered,
            generator: !matches!(cause, Cause::NothingCompleted | Cause::Others),
        };
        return Some(build_check(flow, window, layout, delivered, Some(cause)));
    }
    // What was scheduled in an earlier window, and lasted until this one, is judged here.
    let only_ended = cell.work.scheduled == 0 && may_last(stream, layout);
    let scheduled = if only_ended { offered } else { cell.work.scheduled };
    if scheduled == 0 {
        return None;
    }
    let own = lag_is_the_generators(cell);
    let length = layout.lives.lived_ns(stream, window.start_ns, window.end_ns);
    let flows = if flow.is_some() { 1 } else { layout.streams[stream].flows.len() };
    let waiting = waiting_operations(cell, flows, own, layout.plan.backlog, length);
    let within = waiting <= scheduled / LEFT_WAITING;
    let shift_ns = shift_ns(stream, flow, window, layout);
    let is_even = layout.streams[stream].head.arrival == "steady";
    let generator = !within && (own || is_explained_by(shift_ns, cell, waiting, length, is_even));
    let value = 1.0 - waiting as f64 / scheduled as f64;
    let delivered = Delivered { text: share_text(value, LEAST), value, operations: scheduled, generator };
    let fault = if within {
        None
    } else if generator {
        Some(Cause::Generator)
    } else {
        Some(excuse_if_disturbed(Cause::Device, stream, flow, window, layout))
    };
    Some(build_check(flow, window, layout, delivered, fault))
}

/// A device on which others disturbed the stream is not accused.
fn excuse_if_disturbed(cause: Cause, stream: usize, flow: Option<usize>, window: &Window, layout: &Layout) -> Cause {
    let flows = layout.streams[stream].flows.iter().copied().filter(|own| flow.is_none_or(|flow| *own == flow));
    let accused = cause.severity_class() == Class::Broken;
    if accused && window.is_disturbed(flows) { Cause::Others } else { cause }
}

/// How much of the load was delivered.
struct Delivered {
    /// The share in words.
    text: String,
    /// The share, 0 to 1.
    value: f64,
    /// Number of operations of which it is the share.
    operations: u64,
    /// Whether the generator is the reason why it is less than all.
    generator: bool,
}

fn build_check(
    flow: Option<usize>,
    window: &Window,
    layout: &Layout,
    delivered: Delivered,
    fault: Option<Cause>,
) -> DeliveryCheck {
    let Delivered { text, value, operations, generator } = delivered;
    let figure = Figure {
        window: window.number,
        start_ns: window.start_ns,
        end_ns: window.end_ns,
        target: flow.map(|flow| layout.target_of(flow).to_owned()),
        value,
        text,
        operations,
        within: fault.is_none(),
        generator,
        others: fault == Some(Cause::Others),
        too_few: false,
        processors: false,
    };
    DeliveryCheck { target: flow.map(|flow| usize::from(layout.flows[flow].target)), figure, fault }
}

/// Whether the few operations that were due are all being carried when a window ends, which is not the last one: they are
/// carried into the next window, which says whether they complete. Operations that wait for a slot count only where the
/// plan allows a backlog.
fn is_on_its_way(cell: &Counters, layout: &Layout) -> bool {
    let waiting = if layout.plan.backlog.is_zero() { 0 } else { cell.waiting };
    let few = cell.carried_in == 0 && cell.work.scheduled < TOO_FEW;
    few && cell.stuck == 0 && cell.in_flight.saturating_add(waiting) == cell.work.scheduled
}

/// Whether an operation of the stream may last as long as its work takes: it is no single read or write but a named one,
/// such as a sequence that writes a whole file, and no schedule waits for it.
fn may_last(stream: usize, layout: &Layout) -> bool {
    let head = &layout.streams[stream].head;
    !head.is_open_loop() && head.direction.is_none() && head.operation.is_some()
}

/// Whether everything that was offered is being carried, and has not been given up as stuck.
fn all_are_carried(cell: &Counters) -> bool {
    cell.stuck == 0 && cell.in_flight == cell.carried_in.saturating_add(cell.work.scheduled)
}

fn nothing_completed(cell: &Counters) -> Cause {
    let few = cell.carried_in == 0 && cell.work.scheduled < TOO_FEW;
    let reached = cell.in_flight > 0 || cell.stuck > 0 || cell.work.issued > 0;
    match (few, reached && !lag_is_the_generators(cell)) {
        (true, _) => Cause::TooFew,
        (false, true) => Cause::NothingCompleted,
        (false, false) => Cause::NothingIssued,
    }
}

/// Operations that wait at the end of the window although they should have been issued.
fn waiting_operations(cell: &Counters, flows: usize, own: bool, backlog: Span, length: u64) -> u64 {
    // An operation that is due in the very last instant is on its way, not withheld.
    let waiting = cell.waiting.saturating_sub(flows as u64).min(cell.work.scheduled);
    let within =
        |most: u64| u128::from(waiting) * u128::from(length) <= u128::from(cell.work.scheduled) * u128::from(most);
    let on_its_way = own && within(JITTER.as_ns()) || within(backlog.as_ns().min(length / PART_OF_A_WINDOW));
    if on_its_way { 0 } else { waiting }
}

/// How long the schedule takes for the waiting operations.
fn behind_ns(cell: &Counters, waiting: u64, length: u64) -> u128 {
    u128::from(waiting) * u128::from(length) / u128::from(cell.work.scheduled.max(1))
}

/// Whether what waits came in the time by which the schedule was shifted. As many operations as that are due in it in the
/// mean; of independent clients the number has a standard deviation of its root, of which three are allowed.
fn is_explained_by(shift_ns: u128, cell: &Counters, waiting: u64, length: u64, is_even: bool) -> bool {
    if behind_ns(cell, waiting, length) <= shift_ns {
        return true;
    }
    let due = shift_ns as f64 * cell.work.scheduled as f64 / length.max(1) as f64;
    !is_even && waiting as f64 <= due + 3.0 * due.sqrt()
}

/// The time by which the operations that wait may have been shifted, because all operations before them were late.
fn shift_ns(stream: usize, flow: Option<usize>, window: &Window, layout: &Layout) -> u128 {
    let flows = layout.streams[stream].flows.iter().filter(|own| flow.is_none_or(|flow| **own == flow));
    let late = flows.filter_map(|flow| window.late.get(usize::from(layout.flows[*flow].target)));
    late.map(|late| lateness::behind_ns(late, layout)).max().unwrap_or(0).into()
}

/// Lag − own lag is what a full queue or a blocked submit explains: the device's. Where nothing was issued, the queue tells.
fn lag_is_the_generators(cell: &Counters) -> bool {
    if cell.lag.sum_ns == 0 {
        return cell.in_flight == 0 && cell.stuck == 0;
    }
    cell.own_lag.sum_ns.saturating_mul(2) > cell.lag.sum_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::FlowWork;

    fn scheduled_only(scheduled: u64) -> FlowWork {
        FlowWork { scheduled, ..FlowWork::default() }
    }

    /// Lag of an operation, and the generator's own part of it.
    fn lagged(lag: u128, own: u128, cell: Counters) -> Counters {
        let mut cell = cell;
        (cell.lag.sum_ns, cell.own_lag.sum_ns) = (lag, own);
        cell
    }

    #[test]
    fn where_nothing_completed_it_counts_who_had_the_operations() {
        let cell = |carried_in, scheduled| Counters { carried_in, work: scheduled_only(scheduled), ..Counters::new(1) };
        let due = || cell(0, 10);
        let reached =
            |in_flight, stuck, issued| Counters { in_flight, stuck, work: FlowWork { issued, ..due().work }, ..due() };
        for (cell, expected) in [
            (cell(0, 9), Cause::TooFew),
            (cell(1, 9), Cause::NothingIssued),
            (due(), Cause::NothingIssued),
            (reached(1, 0, 0), Cause::NothingCompleted),
            (reached(0, 1, 0), Cause::NothingCompleted),
            // Issued, and neither in flight nor late: nobody knows where they are.
            (reached(0, 0, 1), Cause::NothingIssued),
            (lagged(100, 10, reached(0, 0, 1)), Cause::NothingCompleted),
            (lagged(100, 10, reached(1, 0, 0)), Cause::NothingCompleted),
            (lagged(100, 90, reached(1, 0, 0)), Cause::NothingIssued),
            (lagged(100, 10, due()), Cause::NothingIssued),
            (lagged(100, 90, due()), Cause::NothingIssued),
        ] {
            assert_eq!(nothing_completed(&cell), expected, "{cell:?}");
            let layout = Layout::new(&fixture::header(), &[]).unwrap();
            let found = check_delivery(0, &cell, None, &fixture::window(&layout), &layout).unwrap();
            assert_eq!(found.figure.generator, expected != Cause::NothingCompleted, "{expected:?}");
            assert_eq!((found.fault, found.figure.within), (Some(expected), false));
        }
    }

    /// The window after it decides about operations that are being carried when a window ends.
    #[test]
    fn a_few_operations_that_are_being_carried_are_judged_in_the_next_window() {
        let cell = |carried_in, scheduled, in_flight, waiting, stuck| Counters {
            carried_in,
            work: scheduled_only(scheduled),
            in_flight,
            waiting,
            stuck,
            ..Counters::new(1)
        };
        for (cell, backlog, expected) in [
            (cell(0, 1, 1, 0, 0), 0, None),
            (cell(0, 9, 9, 0, 0), 0, None),
            (cell(0, 10, 10, 0, 0), 0, Some(Cause::NothingCompleted)),
            (cell(0, 2, 1, 0, 0), 0, Some(Cause::TooFew)),
            (cell(0, 2, 1, 1, 0), 0, Some(Cause::TooFew)),
            (cell(0, 2, 1, 1, 0), 1, None),
            (cell(0, 1, 1, 0, 1), 0, Some(Cause::TooFew)),
            // It was carried in, and has not completed here either.
            (cell(1, 0, 1, 0, 0), 0, Some(Cause::NothingCompleted)),
        ] {
            let mut layout = Layout::new(&fixture::header(), &[]).unwrap();
            layout.plan.backlog = Span::from_secs(backlog);
            let found = check_delivery(0, &cell, None, &fixture::window(&layout), &layout);
            assert_eq!(found.and_then(|found| found.fault), expected, "{cell:?}");
        }
    }

    /// A large file that is written by one sequence is no device that completes nothing.
    #[test]
    fn a_named_operation_of_a_closed_loop_may_last_longer_than_a_window() {
        let cell = |carried_in, in_flight, stuck| Counters { carried_in, in_flight, stuck, ..Counters::new(1) };
        let ended = Counters { work: FlowWork { ok: 1, ..FlowWork::default() }, ..cell(1, 0, 0) };
        let closed = |operation: Option<&str>| {
            let mut header = fixture::header();
            let head = &mut header.streams[0];
            (head.rate, head.arrival) = (None, "closed".to_owned());
            if let Some(operation) = operation {
                (head.direction, head.operation) = (None, Some(operation.to_owned()));
            }
            Layout::new(&header, &[]).unwrap()
        };
        let (named, reads) = (closed(Some("sequence")), closed(None));
        let found = |cell: &Counters, layout: &Layout, end_ns: u64| {
            let window = Window { end_ns, ..fixture::window(layout) };
            check_delivery(0, cell, None, &window, layout)
        };
        let inner = named.planned_ns - 1;
        assert!(found(&cell(1, 1, 0), &named, inner).is_none());
        let faults = |cell: &Counters, layout, end_ns| found(cell, layout, end_ns).and_then(|found| found.fault);
        assert_eq!(faults(&cell(1, 1, 1), &named, inner), Some(Cause::NothingCompleted), "it is stuck");
        assert_eq!(faults(&cell(2, 1, 0), &named, inner), Some(Cause::NothingCompleted), "one of them is gone");
        assert_eq!(faults(&cell(1, 1, 0), &named, named.planned_ns), Some(Cause::NothingCompleted), "the last window");
        assert_eq!(faults(&cell(1, 1, 0), &reads, inner), Some(Cause::NothingCompleted), "a read does not last");
        let end = found(&ended, &named, inner).unwrap();
        assert_eq!((end.figure.operations, end.fault), (1, None), "it is judged where it ends");
        assert!(found(&ended, &reads, inner).is_none());
    }

    #[test]
    fn more_than_half_of_the_lag_makes_it_the_generators() {
        for (lag, own, generator) in [(100, 50, false), (100, 51, true), (100, 49, false), (1, 1, true)] {
            assert_eq!(lag_is_the_generators(&lagged(lag, own, Counters::new(1))), generator, "{own} of {lag}");
        }
        for (in_flight, stuck, generator) in [(0, 0, true), (1, 0, false), (0, 1, false)] {
            let cell = Counters { in_flight, stuck, ..Counters::new(1) };
            assert_eq!(lag_is_the_generators(&cell), generator, "without lag, {in_flight} in flight, {stuck} stuck");
        }
    }

    /// A thousand operations in ten seconds: one each 10 ms. Fifty milliseconds of the generator's are forgiven.
    #[test]
    fn what_waits_counts_unless_the_generator_is_a_moment_late() {
        const LENGTH: u64 = 10_000_000_000;
        for (held, flows, own, expected) in [
            (0, 1, false, 0),
            (1, 1, false, 0),
            (6, 1, false, 5),
            (6, 1, true, 0),
            (7, 1, true, 6),
            (7, 2, true, 0),
            (6, 4, false, 2),
            // No more than were due.
            (5000, 1, true, 1000),
        ] {
            let cell = Counters { waiting: held, work: scheduled_only(1000), ..Counters::new(1) };
            let found = waiting_operations(&cell, flows, own, Span::ZERO, LENGTH);
            assert_eq!(found, expected, "{held} {flows} {own}");
            assert_eq!(behind_ns(&cell, found, LENGTH), u128::from(expected) * 10_000_000);
        }
        assert_eq!(behind_ns(&Counters::new(1), 3, LENGTH), 30_000_000_000, "nothing was due");
    }

    /// A thousand operations in ten seconds, of which some wait for the device at the end.
    #[test]
    fn a_backlog_that_the_plan_allows_is_on_its_way_as_long_as_it_is_a_small_part_of_the_window() {
        const LENGTH: u64 = 10_000_000_000;
        for (held, backlog_ms, expected) in [(11, 0, 10), (11, 99, 10), (11, 100, 0), (51, 1000, 0), (52, 1000, 51)] {
            let cell = Counters { waiting: held, work: scheduled_only(1000), ..Counters::new(1) };
            let found = waiting_operations(&cell, 1, false, Span::from_ms(backlog_ms), LENGTH);
            assert_eq!(found, expected, "{held} {backlog_ms}");
        }
    }

    /// What waits at the end may wait because everything before it came late: by as much as the schedule was shifted on
    /// the target, or on any target where all are judged together.
    #[test]
    fn what_waits_no_longer_than_the_schedule_was_shifted_waits_for_the_generator() {
        use assay_record::{FlowHead, Lateness};
        let mut header = fixture::header();
        header.targets.push(assay_record::TargetHead { name: "other".into(), ..header.targets[0].clone() });
        header.flows.push(FlowHead { stream: 0, target: 1 });
        header.streams[0].arrival = "steady".to_owned();
        let layout = Layout::new(&header, &[]).unwrap();
        let mut window = fixture::window(&layout);
        let late = |shift_ns| {
            let mut late = crate::fold::late::Late::default();
            late.add_lateness(&Lateness { shift_ns, ..Lateness::default() }, &layout.times.thresholds).unwrap();
            late
        };
        // A hundred of a thousand wait: one second of the schedule.
        window.late = vec![late(1_010_000_000), late(5_000_000)];
        let cell = Counters {
            work: FlowWork { ok: 900, ..scheduled_only(1000) },
            waiting: 101,
            in_flight: 1,
            ..Counters::new(1)
        };
        for (flow, held_back, expected) in [
            (Some(0), 101, Cause::Generator),
            (Some(0), 103, Cause::Device),
            (Some(2), 101, Cause::Device),
            (None, 101, Cause::Generator),
        ] {
            let cell = lagged(100, 10, Counters { waiting: held_back, ..cell.clone() });
            let found = check_delivery(0, &cell, flow, &window, &layout).unwrap();
            assert_eq!(found.fault, Some(expected), "{flow:?} {held_back}");
        }
    }

    /// As many independent clients as come in a second are a hundred, give or take ten.
    #[test]
    fn of_independent_clients_a_few_more_may_come_while_the_schedule_is_shifted() {
        let cell = Counters { work: scheduled_only(1000), ..Counters::new(1) };
        let explained = |waiting, shift_ms: u128, is_even| {
            is_explained_by(shift_ms * 1_000_000, &cell, waiting, 10_000_000_000, is_even)
        };
        for (waiting, even, independent) in
            [(100, true, true), (101, false, true), (130, false, true), (131, false, false)]
        {
            assert_eq!(
                (explained(waiting, 1000, true), explained(waiting, 1000, false)),
                (even, independent),
                "{waiting}"
            );
        }
        assert!(!explained(1, 0, false), "without a shift nothing is explained");
    }

    /// A program that was stopped for a whole slice finds nothing completed in it, also not what was open.
    #[test]
    fn nothing_is_completed_while_the_program_stands_still() {
        use assay_record::Lateness;
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let mut window = fixture::window(&layout);
        let length = window.end_ns - window.start_ns;
        let cell = Counters { work: scheduled_only(100), in_flight: 1, waiting: 99, ..Counters::new(1) };
        for (shift_ns, expected) in
            [(0, Cause::NothingCompleted), (length - 1, Cause::NothingCompleted), (length, Cause::NothingIssued)]
        {
            let mut late = crate::fold::late::Late::default();
            late.add_lateness(&Lateness { shift_ns, ..Lateness::default() }, &layout.times.thresholds).unwrap();
            window.late = vec![late];
            let found = check_delivery(0, &cell, None, &window, &layout).unwrap();
            assert_eq!(found.fault, Some(expected), "{shift_ns} of {length}");
        }
    }

    /// Up to one in a thousand may wait.
    #[test]
    fn a_thousandth_may_wait_at_the_end() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let window = fixture::window(&layout);
        let cell = |waiting, in_flight| Counters {
            work: FlowWork { ok: 9000, ..scheduled_only(10_000) },
            waiting,
            in_flight,
            ..Counters::new(1)
        };
        for (waiting, in_flight, own, fault, value) in [
            (0, 1, 0, None, 1.0),
            (11, 1, 0, None, 0.999),
            (12, 1, 0, Some(Cause::Device), 0.9989),
            (12, 1, 90, None, 1.0),
            (1012, 1, 90, Some(Cause::Generator), 0.8989),
        ] {
            let found = check_delivery(0, &lagged(100, own, cell(waiting, in_flight)), None, &window, &layout).unwrap();
            assert_eq!(found.fault, fault, "{waiting} {own}");
            assert_eq!(found.figure.generator, fault == Some(Cause::Generator));
            assert!((found.figure.value - value).abs() < 1e-9, "{waiting} {own}: {}", found.figure.value);
            assert_eq!((found.figure.operations, found.figure.window), (10_000, 2));
        }
        assert!(
            check_delivery(
                0,
                &Counters { work: FlowWork { ok: 5, ..FlowWork::default() }, ..Counters::new(1) },
                None,
                &window,
                &layout
            )
            .is_none(),
            "none was due"
        );
    }
}
