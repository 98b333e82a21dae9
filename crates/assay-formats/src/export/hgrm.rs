//! The percentiles of one stream as HdrHistogram's `outputPercentileDistribution` prints them, for its plotter.
//!
//! The layout (columns, five reporting ticks per half distance, the three lines below) is that of HdrHistogram's Java
//! original, as its documentation shows it. It is the response of the measured time over all targets.

use super::{Sink, is_measured, stream_of, stream_to_export, write_error};
use crate::act::log::Unit;
use assay_record::{Header, Histograms, Interval, Times, Unpacker};
use std::fmt::Write;

/// Reporting ticks per half distance, HdrHistogram's default.
const TICKS: u32 = 5;

/// Writes percentiles at the end.
#[derive(Debug)]
pub struct Hgrm {
    stream: Option<String>,
    scale: f64,
    header: Option<Header>,
    sum: Times,
    unpacker: Unpacker,
}

impl Hgrm {
    /// For the named stream, or that of the first criterion; values in `unit`.
    pub fn new(stream: Option<String>, unit: Unit) -> Hgrm {
        let scale = match unit {
            Unit::Milliseconds => 1e6,
            Unit::Microseconds => 1e3,
        };
        Hgrm { stream, scale, header: None, sum: Times::default(), unpacker: Unpacker::default() }
    }
}

impl Sink for Hgrm {
    fn begin_segment(&mut self, header: &Header, _: &mut dyn Write) -> Result<(), String> {
        self.stream = Some(stream_to_export(header, self.stream.as_deref())?.to_owned());
        self.header = Some(header.clone());
        Ok(())
    }

    fn take_interval(&mut self, _: &Interval, _: &mut dyn Write) -> Result<(), String> {
        Ok(())
    }

    fn take_histograms(&mut self, histograms: &Histograms, _: &mut dyn Write) -> Result<(), String> {
        let header = self.header.as_ref().ok_or("distributions before any header")?;
        if !is_measured(header, histograms.phase) {
            return Ok(());
        }
        for flow in &histograms.flows {
            let stream = stream_of(header, usize::from(flow.flow))?;
            if Some(&header.streams[stream].name) == self.stream.as_ref() {
                self.sum.add_filled(&self.unpacker.unpack_text(&flow.response, flow.overflow[0])?);
            }
        }
        Ok(())
    }

    fn end_log(&mut self, out: &mut dyn Write) -> Result<(), String> {
        write_percentiles(&self.sum, self.scale, out).map_err(write_error)
    }
}

fn write_percentiles(sum: &Times, scale: f64, out: &mut dyn Write) -> std::fmt::Result {
    let histogram = sum.to_hdr_histogram();
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    let mut below = 0;
    for step in histogram.iter_quantiles(TICKS) {
        below += step.count_since_last_iteration();
        let (value, quantile) = (step.value_iterated_to() as f64 / scale, step.quantile_iterated_to());
        write!(out, "{value:12.3} {quantile:2.12} {below:10}")?;
        if quantile < 1.0 {
            write!(out, " {:14.2}", 1.0 / (1.0 - quantile))?;
        }
        out.write_char('\n')?;
    }
    let (mean, deviation) = (histogram.mean() / scale, histogram.stdev() / scale);
    writeln!(out, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]")?;
    writeln!(out, "#[Max     = {:12.3}, Total count    = {:12}]", histogram.max() as f64 / scale, histogram.len())?;
    writeln!(out, "#[Buckets = {:12}, SubBuckets     = {:12}]", histogram.buckets(), 2048)?;
    match sum.count_above_hour() {
        0 => Ok(()),
        above => writeln!(out, "#[Above an hour and in none of these lines = {above}]"),
    }
}
