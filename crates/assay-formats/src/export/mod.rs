//! Converts a run log of ours to the formats of other tools: a table, HdrHistogram's two texts, fio's JSON.
//!
//! A sink gets the entries of a log in order and writes text as soon as possible. The caller decides which steps of a
//! log it gets. ACT's log format is more complex and is in [`crate::act::export`].

mod csv;
mod fio;
mod hgrm;
mod hlog;

pub use csv::Csv;
pub use fio::Fio;
pub use hgrm::Hgrm;
pub use hlog::Hlog;

use assay_record::{CloseReason, Event, FlowHistograms, Header, Histograms, Interval, PhaseKind, Times};
use std::fmt::Write;

/// Takes a log and writes text. Errors say what about the log cannot be exported.
pub trait Sink {
    /// A segment begins.
    fn begin_segment(&mut self, header: &Header, out: &mut dyn Write) -> Result<(), String>;
    /// An event of the segment. Most formats have no place for one.
    fn take_event(&mut self, event: &Event, out: &mut dyn Write) -> Result<(), String> {
        let _ = (event, out);
        Ok(())
    }
    /// An interval of the segment.
    fn take_interval(&mut self, interval: &Interval, out: &mut dyn Write) -> Result<(), String>;
    /// Distributions of some intervals of the segment.
    fn take_histograms(&mut self, histograms: &Histograms, out: &mut dyn Write) -> Result<(), String>;
    /// The segment is over, for this reason. Most formats have no place for it.
    fn end_segment(&mut self, reason: CloseReason) {
        let _ = reason;
    }
    /// The log is over.
    fn end_log(&mut self, out: &mut dyn Write) -> Result<(), String>;
}

/// The error of a failed write; a `String` accepts everything, so this concerns other writers.
pub(crate) fn write_error(_: std::fmt::Error) -> String {
    "the text could not be written".into()
}

/// Whether a phase of the header is judged. A phase that the header does not have is not.
pub(crate) fn is_measured(header: &Header, phase: u16) -> bool {
    header.phases.get(usize::from(phase)).is_some_and(|phase| phase.kind == PhaseKind::Measure)
}

/// The stream of a flow, as an index.
fn stream_of(header: &Header, flow: usize) -> Result<usize, String> {
    let stream = header.flows.get(flow).map(|flow| usize::from(flow.stream));
    let known = stream.filter(|stream| *stream < header.streams.len());
    known.ok_or_else(|| format!("figures of flow {flow}, which the header does not name"))
}

/// The stream to export: the named one; without a name that of the first criterion, or the first stream.
fn stream_to_export<'a>(header: &'a Header, name: Option<&'a str>) -> Result<&'a str, String> {
    let names: Vec<&str> = header.streams.iter().map(|stream| stream.name.as_str()).collect();
    match name {
        Some(name) if names.contains(&name) => Ok(name),
        Some(name) => {
            let known = names.iter().map(|name| name.escape_debug().to_string()).collect::<Vec<_>>().join(", ");
            Err(format!("there is no stream \"{}\" in it; there are {known}", name.escape_debug()))
        }
        None => header
            .criteria
            .first()
            .map(|criterion| criterion.stream.as_str())
            // A criterion may be about all streams together.
            .filter(|wanted| names.contains(wanted))
            .or_else(|| names.first().copied())
            .ok_or_else(|| "it has no streams".into()),
    }
}

/// Adds the response, service and lag of a flow.
fn add_times(sums: &mut [Times; 3], flow: &FlowHistograms) -> Result<(), String> {
    sums.iter_mut().zip(&flow.decode_times()?).for_each(|(sum, more)| sum.add(more));
    Ok(())
}
