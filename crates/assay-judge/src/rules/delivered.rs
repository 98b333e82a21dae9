//! Whether the load of a stream was delivered in a slice, and if not, who caused it.

use crate::finding::Class;
use crate::finding::load::Cause;
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
/// Fewer operations than this in a slice, none of them completed, allow no conclusion about the device.
const TOO_FEW: u64 = 10;

/// The outcome for the load of one stream in one slice, on one target or on all.
#[derive(Debug)]
pub(crate) struct Found {
    /// Index of the target; `None` for all targets together.
    pub(crate) target: Option<usize>,
    /// How much was delivered.
    pub(crate) figure: Figure,
    /// Why it was not delivered, if it was not.
    pub(crate) fault: Option<Cause>,
}

impl Found {
    /// Whether the outcome is of this class.
    pub(crate) fn is(&self, class: Class) -> bool {
        self.fault.is_some_and(|cause| cause.class() == class)
    }
}

/// The outcome for a stream's load: on all targets together, and on each where there are several.
pub(crate) fn delivered_by(stream: usize, window: &Window, layout: &Layout) -> Vec<Found> {
    let flows = &layout.of_stream[stream];
    let together = delivered(stream, &window.streams[stream], None, window, layout);
    let alone = flows.iter().filter(|_| flows.len() > 1);
    let alone = alone.map(|&flow| delivered(stream, &window.flows[flow], Some(flow), window, layout));
    std::iter::once(together).chain(alone).flatten().collect()
}

/// `None` where nothing was due.
fn delivered(stream: usize, cell: &Counters, flow: Option<usize>, window: &Window, layout: &Layout) -> Option<Found> {
    let offered = cell.carried_in.saturating_add(cell.scheduled);
    if offered > 0 && cell.ended() == 0 {
        let cause = nothing_completed(cell);
        let result = ("none".to_owned(), 0.0, offered, cause.class() != Class::Broken);
        return Some(found(flow, window, layout, result, Some(cause)));
    }
    if cell.scheduled == 0 {
        return None;
    }
    let own = lag_is_the_generators(cell);
    let waiting = waiting(cell, if flow.is_some() { 1 } else { layout.of_stream[stream].len() }, own, window);
    let within = waiting <= cell.scheduled / LEFT_WAITING;
    let generator = !within && (own || behind_ns(cell, waiting, window) <= shift_ns(stream, flow, window, layout));
    let value = 1.0 - waiting as f64 / cell.scheduled as f64;
    let text = share_text(value, LEAST);
    let fault = (!within).then_some(if generator { Cause::Generator } else { Cause::Device });
    Some(found(flow, window, layout, (text, value, cell.scheduled, generator), fault))
}

fn found(
    flow: Option<usize>,
    window: &Window,
    layout: &Layout,
    (text, value, operations, generator): (String, f64, u64, bool),
    fault: Option<Cause>,
) -> Found {
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
    };
    Found { target: flow.map(|flow| usize::from(layout.flows[flow].target)), figure, fault }
}

fn nothing_completed(cell: &Counters) -> Cause {
    let few = cell.carried_in == 0 && cell.scheduled < TOO_FEW;
    let reached = cell.in_flight > 0 || cell.stuck > 0 || cell.issued > 0;
    match (few, reached && !lag_is_the_generators(cell)) {
        (true, _) => Cause::TooFew,
        (false, true) => Cause::NothingCompleted,
        (false, false) => Cause::NothingIssued,
    }
}

/// Operations that wait at the end of the window although they should have been issued.
fn waiting(cell: &Counters, flows: usize, own: bool, window: &Window) -> u64 {
    // An operation that is due in the very last instant is on its way, not withheld.
    let waiting = cell.waiting.saturating_sub(flows as u64).min(cell.scheduled);
    let length = window.end_ns.saturating_sub(window.start_ns);
    let late = u128::from(waiting) * u128::from(length) <= u128::from(cell.scheduled) * u128::from(JITTER.as_ns());
    if own && late { 0 } else { waiting }
}

/// How long the schedule takes for the waiting operations.
fn behind_ns(cell: &Counters, waiting: u64, window: &Window) -> u128 {
    let length = window.end_ns.saturating_sub(window.start_ns);
    u128::from(waiting) * u128::from(length) / u128::from(cell.scheduled.max(1))
}

/// By how much the operations that wait may have been shifted, because all operations before them were late.
fn shift_ns(stream: usize, flow: Option<usize>, window: &Window, layout: &Layout) -> u128 {
    let flows = layout.of_stream[stream].iter().filter(|it| flow.is_none_or(|flow| **it == flow));
    let late = flows.filter_map(|it| window.late.get(usize::from(layout.flows[*it].target)));
    late.map(|late| lateness::behind_ns(late, layout)).max().unwrap_or(0).into()
}

/// Lag − own lag is what a full queue or a blocked submit explains: the device's. Where nothing was issued, the queue tells.
fn lag_is_the_generators(cell: &Counters) -> bool {
    if cell.lag.sum_ns == 0 {
        return cell.in_flight == 0 && cell.stuck == 0;
    }
    cell.own_lag.sum_ns.saturating_mul(2) > cell.lag.sum_ns
}
