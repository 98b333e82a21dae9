//! Reports when streams with a lifetime of their own have begun and ended, at the end of the interval in which they did.

use crate::worker::agenda::Agenda;
use assay_base::Instant;
use assay_base::source::{Lifetime, Source};
use assay_record::EventKind;
use std::collections::BTreeMap;

/// The reports about the flows of a worker.
#[derive(Debug)]
pub(crate) struct LifetimeReports {
    flows: Vec<FlowReport>,
    /// The number of workers, each of which reports about its part.
    workers: u64,
}

/// The reports about one flow so far.
#[derive(Debug)]
struct FlowReport {
    flow: usize,
    sources: Vec<usize>,
    issued: u64,
    begun: bool,
    ended: bool,
}

/// A report: the kind of event, its text, and its details.
pub(crate) type News = (EventKind, String, BTreeMap<String, String>);

impl LifetimeReports {
    /// For the flows that have a lifetime of their own; `None` if no flow has one.
    pub(crate) fn new<S: Source>(
        agenda: &Agenda<S>,
        flows_of: &[Vec<usize>],
        workers: u64,
    ) -> Option<Box<LifetimeReports>> {
        let all = 0..agenda.flows.len();
        let flows: Vec<FlowReport> = all.filter_map(|flow| FlowReport::new(agenda, flows_of, flow)).collect();
        (!flows.is_empty()).then(|| Box::new(LifetimeReports { flows, workers }))
    }

    /// Reports the beginnings and ends in an interval. `issued` returns how many requests of a flow were issued in it.
    pub(crate) fn report_interval<S: Source>(
        &mut self,
        agenda: &Agenda<S>,
        mut issued: impl FnMut(usize) -> u64,
        mut tell: impl FnMut(News),
    ) {
        let workers = self.workers;
        for reported in self.flows.iter_mut().filter(|reported| !reported.ended) {
            reported.issued += issued(reported.flow);
            let lives: Vec<Lifetime> =
                reported.sources.iter().filter_map(|source| agenda.source_lifetime(*source)).collect();
            let begun = lives.iter().filter_map(|life| life.begun).min();
            if let Some(begun) = begun.filter(|_| !reported.begun) {
                reported.begun = true;
                let text = "a stream has begun, because another one has ended".to_owned();
                tell((EventKind::StreamBegin, text, reported.event_details([("begun_ns", begun.as_ns())], workers)));
            }
            if lives.iter().all(|life| life.over) && agenda.flows[reported.flow].in_flight == 0 {
                reported.ended = true;
                let last = lives.iter().map(|life| life.last).max().unwrap_or(Instant::ZERO);
                let text = if lives.iter().any(|life| life.done) {
                    format!("a stream has done its {} operations", reported.issued)
                } else {
                    format!("a stream has ended at its time, after {} operations", reported.issued)
                };
                let details = [("operations", reported.issued), ("completed_ns", last.as_ns())];
                tell((EventKind::StreamEnd, text, reported.event_details(details, workers)));
            }
        }
    }
}

impl FlowReport {
    /// The report about a flow, if all its sources have a lifetime.
    fn new<S: Source>(agenda: &Agenda<S>, flows_of: &[Vec<usize>], flow: usize) -> Option<FlowReport> {
        let sources: Vec<usize> = (0..flows_of.len()).filter(|source| flows_of[*source].contains(&flow)).collect();
        let lives = sources.iter().all(|source| agenda.source_lifetime(*source).is_some());
        (lives && !sources.is_empty()).then_some(FlowReport { flow, sources, issued: 0, begun: false, ended: false })
    }

    fn event_details<const N: usize>(&self, numbers: [(&str, u64); N], workers: u64) -> BTreeMap<String, String> {
        let parts = (workers > 1).then_some(("workers", workers));
        let all = numbers.into_iter().chain([("flow", self.flow as u64)]).chain(parts);
        all.map(|(name, number)| (name.to_owned(), number.to_string())).collect()
    }
}
