//! The report of a mail store, in the order of Jetstress's own report: sizes and throughput, transactional I/O,
//! maintenance, log replication, and the total; then what Jetstress does not report. The figures come from the run log
//! alone; the caller supplies the lines about the verdict.
//!
//! Jetstress's table has a column for each figure and a row for each database. That is too wide for a terminal, so here
//! each figure is a row and each database is a column.

mod found;
mod layout;
mod sums;
mod write;

pub use sums::{Count, Io};

use crate::export::{Sink, is_measured, write_error};
use assay_record::{Header, Histograms, Interval, Unpacker};
use found::Found;
use std::fmt::Write;
use sums::Samples;

/// The report, which collects its figures while the log is read.
#[derive(Debug)]
pub struct Jetstress {
    /// Lines about the verdict.
    verdict: Vec<String>,
    header: Option<Header>,
    found: Option<Found>,
    unpacker: Unpacker,
}

impl Jetstress {
    /// A report that ends with these lines about the verdict.
    pub fn new(verdict: Vec<String>) -> Jetstress {
        Jetstress { verdict, header: None, found: None, unpacker: Unpacker::default() }
    }
}

impl Sink for Jetstress {
    fn begin_segment(&mut self, header: &Header, _: &mut dyn Write) -> Result<(), String> {
        let found = match self.found.take() {
            Some(found) => found,
            None => Found::new(header)?,
        };
        self.found.insert(found).begin_segment(header);
        self.header = Some(header.clone());
        Ok(())
    }

    fn take_interval(&mut self, interval: &Interval, _: &mut dyn Write) -> Result<(), String> {
        let header = self.header.as_ref().ok_or("an interval before any header")?;
        let found = self.found.as_mut().ok_or("an interval before any header")?;
        if interval.flows.len() != found.layout.flows.len() {
            return Err("an interval with other flows than the header names".to_owned());
        }
        found.add_interval(interval, is_measured(header, interval.phase));
        Ok(())
    }

    fn take_histograms(&mut self, histograms: &Histograms, _: &mut dyn Write) -> Result<(), String> {
        let header = self.header.as_ref().ok_or("distributions before any header")?;
        let found = self.found.as_mut().ok_or("distributions before any header")?;
        if !is_measured(header, histograms.phase) {
            return Ok(());
        }
        for flow in &histograms.flows {
            let stream = found.layout.flows.get(usize::from(flow.flow)).ok_or("figures of an unknown flow")?.stream;
            found.response[stream].add_filled(&self.unpacker.unpack_text(&flow.response, flow.overflow[0])?);
        }
        Ok(())
    }

    fn end_log(&mut self, out: &mut dyn Write) -> Result<(), String> {
        let found = self.found.as_mut().ok_or("it holds no run")?;
        found.samples.iter_mut().for_each(Samples::end_sample);
        write::write_report(found, &self.verdict, out).map_err(write_error)
    }
}

#[cfg(test)]
mod tests;
