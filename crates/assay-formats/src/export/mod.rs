//! From a run log of ours to what other tools read: a table, HdrHistogram's two texts, fio's JSON.
//!
//! A sink is told of the entries of a log in their order and writes text as soon as it is known. Which steps of a log it is
//! told of is decided outside. ACT's own log has a grammar of its own and stands in [`crate::act::export`].

mod csv;
mod fio;
mod hgrm;
mod hlog;

pub use csv::Csv;
pub use fio::Fio;
pub use hgrm::Hgrm;
pub use hlog::Hlog;

use assay_record::{FlowHistograms, Header, Histograms, Interval, PhaseKind, Times};
use std::fmt::Write;

/// Takes a log and gives text. Errors say what about the log cannot be exported.
pub trait Sink {
    /// A segment begins.
    fn header(&mut self, header: &Header, out: &mut dyn Write) -> Result<(), String>;
    /// An interval of the segment.
    fn interval(&mut self, interval: &Interval, out: &mut dyn Write) -> Result<(), String>;
    /// The distributions of some intervals of the segment.
    fn histograms(&mut self, histograms: &Histograms, out: &mut dyn Write) -> Result<(), String>;
    /// The log is over.
    fn end(&mut self, out: &mut dyn Write) -> Result<(), String>;
}

/// What writing text answers; a `String` takes everything, so this is for whoever gives another writer.
fn unwritten(_: std::fmt::Error) -> String {
    "the text could not be written".into()
}

/// Whether a phase of the header is judged. A phase that the header does not have is not.
fn is_measured(header: &Header, phase: u16) -> bool {
    header.phases.get(usize::from(phase)).is_some_and(|phase| phase.kind == PhaseKind::Measure)
}

/// The stream of a flow, as an index.
fn stream_of(header: &Header, flow: usize) -> Result<usize, String> {
    let stream = header.flows.get(flow).map(|flow| usize::from(flow.stream));
    let known = stream.filter(|stream| *stream < header.streams.len());
    known.ok_or_else(|| format!("figures of flow {flow}, which the header does not name"))
}

/// The stream that is meant: the named one; without a name that of the first criterion, or the first of all.
fn wanted<'a>(header: &'a Header, name: Option<&'a str>) -> Result<&'a str, String> {
    let names = || header.streams.iter().map(|stream| stream.name.as_str());
    match name {
        Some(name) if names().any(|known| known == name) => Ok(name),
        Some(name) => {
            let known = names().map(|name| name.escape_debug().to_string()).collect::<Vec<_>>().join(", ");
            Err(format!("there is no stream \"{}\" in it; there are {known}", name.escape_debug()))
        }
        None => header
            .criteria
            .first()
            .map(|criterion| criterion.stream.as_str())
            .or_else(|| names().next())
            .ok_or_else(|| "it has no streams".into()),
    }
}

/// Adds the response, service and lag of a flow.
fn add(sums: &mut [Times; 3], flow: &FlowHistograms) -> Result<(), String> {
    sums.iter_mut().zip(&flow.decode()?).for_each(|(sum, more)| sum.add(more));
    Ok(())
}
