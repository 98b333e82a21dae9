//! Counts the operations of a trace.

use super::findings::{Findings, Place, Trace};
use assay_base::Direction;
use assay_model::observed::{Asked, Request};
use std::borrow::Cow;

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
    pub asked: Asked,
    /// Time in nanoseconds.
    pub at: Option<u64>,
    /// Address in bytes.
    pub address: Option<u64>,
    pub bytes: u64,
    pub durable: bool,
}

impl Event<'_> {
    /// `None` for an operation that is neither a read nor a write.
    pub(super) fn direction(&self) -> Option<Direction> {
        match self.asked {
            Asked::Data(direction) => Some(direction),
            Asked::Flush | Asked::Discard => None,
        }
    }
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
            trace.seen.restart_windows();
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
    let at = event.at.and(clock.began).map(|_| clock.now);
    let request = Request { asked: event.asked, at, place: event.address, bytes: event.bytes, durable: event.durable };
    trace.seen.step(&request, clock.began);
    if event.direction().is_some() {
        found.count_line("operations of a trace");
    }
}
