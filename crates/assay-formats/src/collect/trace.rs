//! Counts the operations of a trace.

use super::findings::{Findings, Place, Trace};
use assay_base::Direction;
use std::borrow::Cow;

/// Upper bound on the sizes that are counted separately; others are rounded up to a power of two.
const SIZES_MAX: usize = 1024;
/// Upper bound on devices and kinds of events.
const TRACES_MAX: usize = 64;
/// Lines may be out of order by this much, in nanoseconds, because events of several processors are sorted only
/// approximately.
pub(super) const DISORDER: u64 = 1_000_000_000;
/// No trace has a pause this long; its clock jumped.
const PAUSE: u64 = 3_600_000_000_000;

/// One operation.
pub(super) struct Event<'a> {
    pub device: Cow<'a, str>,
    /// The kind of event: one of blktrace's letters, or nothing.
    pub action: &'static str,
    /// `None` for an operation that is neither a read nor a write.
    pub direction: Option<Direction>,
    /// Time in nanoseconds.
    pub at: Option<u64>,
    /// Address in bytes.
    pub address: Option<u64>,
    pub bytes: u64,
    pub durable: bool,
}

/// The trace that an operation belongs to. Neighbouring lines mostly belong to one device, so the search begins with
/// the last one.
fn trace_of<'a>(place: Place, event: &Event<'_>, found: &'a mut Findings) -> Option<&'a mut Trace> {
    let same = found
        .traces
        .iter()
        .rposition(|trace| trace.file == place.file && trace.action == event.action && trace.device == event.device);
    if let Some(index) = same {
        return Some(&mut found.traces[index]);
    }
    if found.traces.len() >= TRACES_MAX {
        if !found.current_file_seen().kinds.contains_key("operations of further devices") {
            let text =
                format!("more than {TRACES_MAX} devices and kinds of events; operations of further ones are left out");
            found.add_remark(place, text);
        }
        found.count_line("operations of further devices");
        return None;
    }
    let (device, action) = (event.device.clone().into_owned(), event.action);
    found.traces.push(Trace { file: place.file, device, action, first: place, ..Trace::default() });
    found.traces.last_mut()
}

/// Advances the time of all traces of a file. No rate is taken across a jump of its clock.
fn advance_time(place: Place, at: u64, found: &mut Findings) {
    let clock = found.clocks.entry(place.file).or_default();
    let back = clock.now.saturating_sub(at);
    let ahead = if clock.began.is_some() { at.saturating_sub(clock.now) } else { 0 };
    let jumps = back > DISORDER || ahead > PAUSE;
    if jumps {
        (clock.began, clock.now) = (None, at);
    }
    match clock.began {
        None => (clock.began, clock.now) = (Some(at), at),
        Some(_) => {
            clock.covered += at.saturating_sub(clock.now);
            clock.now = clock.now.max(at);
        }
    }
    if jumps {
        for trace in found.traces.iter_mut().filter(|trace| trace.file == place.file) {
            trace.reads.habits.restart_windows();
            trace.writes.habits.restart_windows();
        }
        let (way, by) = if back > 0 { ("back", back) } else { ("ahead", ahead) };
        let text = format!("the clock goes {way} by {:.1} s; no rate is taken across it", by as f64 / 1e9);
        found.add_remark(place, text);
    }
}

/// Counts an operation.
pub(super) fn add_operation(place: Place, event: &Event<'_>, found: &mut Findings) {
    if let Some(at) = event.at {
        advance_time(place, at, found);
    }
    let clock = found.clocks.get(&place.file).copied().unwrap_or_default();
    let Some(trace) = trace_of(place, event, found) else { return };
    trace.last = place;
    let side = match event.direction {
        None => {
            trace.others += 1;
            return;
        }
        Some(Direction::Read) => &mut trace.reads,
        Some(Direction::Write) => &mut trace.writes,
    };
    side.operations += 1;
    side.bytes = side.bytes.saturating_add(event.bytes);
    side.durable += u64::from(event.durable);
    let known = side.sizes.len() < SIZES_MAX || side.sizes.contains_key(&event.bytes);
    let size = if known { event.bytes } else { event.bytes.checked_next_power_of_two().unwrap_or(event.bytes) };
    if known || side.sizes.len() < 2 * SIZES_MAX {
        *side.sizes.entry(size).or_default() += 1;
    }
    if let Some(address) = event.address {
        side.addressed += 1;
        side.sequential += u64::from(side.next == Some(address));
        side.next = address.checked_add(event.bytes);
        side.skew.add_operation(address);
    }
    if let Some(began) = clock.began.filter(|_| event.at.is_some()) {
        side.habits.add_arrival(began, clock.now);
    }
    found.count_line("operations of a trace");
}
