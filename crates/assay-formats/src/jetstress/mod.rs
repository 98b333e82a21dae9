//! The report of a mail store in the order of Jetstress's own: sizes and throughput, transactional I/O, maintenance, log replication, and all
//! together; then what Jetstress does not report. It is made of the log alone; the verdict is given to it.
//!
//! Jetstress's table has a column for each figure and a row for each database. A terminal has no room for that: here it is the other way.

mod layout;
mod sums;
mod write;

pub use sums::{Count, Io};

use crate::export::{Sink, is_measured, unwritten};
use assay_model::Plan;
use assay_model::mail::SAMPLE;
use assay_record::{Header, Histograms, Interval, Times, Unpacker};
use layout::{Layout, Part};
use std::fmt::Write;
use sums::Samples;

/// The report while the log is read.
#[derive(Debug)]
pub struct Jetstress {
    /// Lines about the verdict.
    verdict: Vec<String>,
    header: Option<Header>,
    found: Option<Found>,
    unpacker: Unpacker,
}

/// What the log holds.
#[derive(Debug)]
struct Found {
    plan: Plan,
    layout: Layout,
    /// What the whole run was to measure.
    planned_ns: u64,
    measured_ns: u64,
    /// By database.
    io: Vec<Io>,
    /// Pages by which each database has grown, warm-up included.
    grown: Vec<u64>,
    /// By stream of the plan.
    response: Vec<Times>,
    samples: Vec<Samples>,
    errors: Vec<u64>,
    read_back: ReadBack,
}

/// What was read back after the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ReadBack {
    verified: u64,
    unverified: u64,
    damaged: u64,
}

impl Jetstress {
    /// A report that ends with these lines about the verdict.
    pub fn new(verdict: Vec<String>) -> Jetstress {
        Jetstress { verdict, header: None, found: None, unpacker: Unpacker::default() }
    }
}

impl Found {
    fn new(header: &Header) -> Result<Found, String> {
        let plan: Option<Plan> = serde_json::from_value(header.plan.clone()).ok();
        let plan = plan.filter(|plan| plan.mail.is_some());
        let plan = plan.ok_or("it is no log of a mail store: jetstress-like is for `model = \"mail\"`")?;
        let layout = Layout::new(&plan, header)?;
        let streams = plan.streams.len();
        Ok(Found {
            planned_ns: header.measured_before_ns.saturating_add(plan.measured().as_ns()),
            io: vec![Io::default(); layout.databases],
            grown: vec![0; layout.databases],
            response: vec![Times::default(); streams],
            samples: vec![Samples::new(SAMPLE.as_ns()); streams],
            errors: vec![0; streams],
            measured_ns: 0,
            read_back: ReadBack::default(),
            layout,
            plan,
        })
    }

    fn add(&mut self, interval: &Interval, is_measured: bool) {
        let at_ns = self.measured_ns;
        let length_ns = interval.end_ns.saturating_sub(interval.start_ns);
        if is_measured {
            self.measured_ns = self.planned_ns.min(at_ns.saturating_add(length_ns));
        }
        for (flow, cell) in self.layout.flows.iter().zip(&interval.flows) {
            self.errors[flow.stream] = self.errors[flow.stream].saturating_add(cell.failed());
            match flow.part {
                Part::ReadBack => {
                    let ReadBack { verified, unverified, damaged } = self.read_back;
                    self.read_back = ReadBack {
                        verified: verified.saturating_add(cell.verified),
                        unverified: unverified.saturating_add(cell.unverified),
                        damaged: damaged.saturating_add(cell.damaged),
                    };
                }
                Part::Extends => self.grown[flow.database] = self.grown[flow.database].saturating_add(cell.ok),
                _ => {}
            }
            if is_measured && flow.part != Part::ReadBack {
                let count = Count {
                    operations: cell.ok,
                    bytes: cell.bytes,
                    response_ns: cell.response.sum_ns,
                    service_ns: cell.service.sum_ns,
                };
                self.io[flow.database].of(flow.part).add(count);
                self.samples[flow.stream].add(at_ns, count);
            }
        }
        if is_measured {
            self.samples.iter_mut().for_each(|samples| samples.reached(at_ns.saturating_add(length_ns)));
        }
    }
}

impl Sink for Jetstress {
    fn header(&mut self, header: &Header, _: &mut dyn Write) -> Result<(), String> {
        if self.found.is_none() {
            self.found = Some(Found::new(header)?);
        }
        self.header = Some(header.clone());
        Ok(())
    }

    fn interval(&mut self, interval: &Interval, _: &mut dyn Write) -> Result<(), String> {
        let header = self.header.as_ref().ok_or("an interval before any header")?;
        let found = self.found.as_mut().ok_or("an interval before any header")?;
        if interval.flows.len() != found.layout.flows.len() {
            return Err("an interval with other flows than the header names".to_owned());
        }
        found.add(interval, is_measured(header, interval.phase));
        Ok(())
    }

    fn histograms(&mut self, histograms: &Histograms, _: &mut dyn Write) -> Result<(), String> {
        let header = self.header.as_ref().ok_or("distributions before any header")?;
        let found = self.found.as_mut().ok_or("distributions before any header")?;
        if !is_measured(header, histograms.phase) {
            return Ok(());
        }
        for flow in &histograms.flows {
            let stream = found.layout.flows.get(usize::from(flow.flow)).ok_or("figures of an unknown flow")?.stream;
            found.response[stream].add_filled(&self.unpacker.unpack(&flow.response, flow.overflow[0])?);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<(), String> {
        let found = self.found.as_mut().ok_or("it holds no run")?;
        found.samples.iter_mut().for_each(Samples::end);
        write::report(found, &self.verdict, out).map_err(unwritten)
    }
}

#[cfg(test)]
mod tests;
