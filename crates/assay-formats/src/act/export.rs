//! Converts a run log of ours to a log in ACT's format, which the original analyzer reads.
//!
//! Histograms are service times, like those of ACT 6.x. Only what was measured is exported: warm-up is left out, and
//! the time of a block counts from the beginning of the measured phase. A block is written at every whole second;
//! operations in flight at the end of the schedule are in no block, as in ACT, which makes its last report then.

use super::conf::{Kind, write_banner};
use super::log::write::{write_block, write_device, write_histogram_names};
use super::log::{BUCKETS, DeviceLine, Unit};
use assay_base::{Rate, Span};
use assay_record::{Header, Interval, PhaseKind, Thresholds};
use std::fmt::{self, Write};

/// ACT counts its cache reads in `reads` too.
const CACHE_READS: &str = "cache-reads";

/// Marks an exported log, to distinguish it from one that ACT wrote.
pub(super) const WRITTEN_BY: &str = "written-by";

/// Exports one run. It gets the header and the intervals in order, and writes text as soon as possible.
#[derive(Debug)]
pub struct Export {
    unit: Unit,
    histograms: Histograms,
    measured: Vec<bool>,
    /// Seconds between two blocks.
    every: u64,
    start_ns: Option<u64>,
    /// Seconds of the last block written.
    written: u64,
    /// The end of the plan, in seconds.
    planned: u64,
}

/// Cumulative counts by histogram, and which flows of a log belong to which.
#[derive(Debug)]
pub struct Histograms {
    names: Vec<String>,
    counts: Vec<[u64; BUCKETS]>,
    /// For each flow, the histograms that it counts in.
    of_flow: Vec<Vec<usize>>,
    /// For each bucket of the log, the bucket of ACT.
    bucket: Vec<usize>,
}

impl Histograms {
    /// The histograms for a run with this header: each stream, and `DEV-reads` where ACT names a stream per device. The
    /// names in `order` come first, in that order.
    pub fn new(header: &Header, unit: Unit, order: &[String]) -> Histograms {
        let thresholds = Thresholds::from_bounds(header.thresholds_ns.clone());
        // A bucket begins at a boundary, and every boundary of ACT is also one of ours.
        let lower = std::iter::once(0).chain(thresholds.bounds_ns().iter().copied());
        let bucket = lower.map(|ns| unit.bucket_of_span(Span::from_ns(ns)).min(BUCKETS - 1)).collect();
        let mut all = Histograms { names: order.to_vec(), counts: Vec::new(), of_flow: Vec::new(), bucket };
        let index = header.model == "act-index" && header.streams.iter().any(|stream| stream.name == CACHE_READS);
        // Names in ACT's order: a stream, then the same stream on each device.
        for stream in &header.streams {
            let name = if index && stream.name == CACHE_READS { "reads" } else { stream.name.as_str() };
            all.find_or_add_name(name);
            if stream.per_target {
                for target in &header.targets {
                    all.find_or_add_name(&format!("{}-{name}", target.name));
                }
            }
        }
        all.of_flow = header
            .flows
            .iter()
            .map(|flow| {
                // A log from elsewhere may refer to a stream that does not exist; it has no histogram.
                let Some(stream) = header.streams.get(usize::from(flow.stream)) else { return Vec::new() };
                let cache = index && stream.name == CACHE_READS;
                let name = if cache { "reads" } else { stream.name.as_str() };
                let mut places = vec![all.find_or_add_name(name)];
                if let (true, Some(target)) = (stream.per_target || cache, header.targets.get(usize::from(flow.target)))
                {
                    places.push(all.find_or_add_name(&format!("{}-{name}", target.name)));
                }
                places
            })
            .collect();
        all.counts = vec![[0; BUCKETS]; all.names.len()];
        all
    }

    fn find_or_add_name(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    /// Adds the service times of an interval.
    pub fn add_interval(&mut self, interval: &Interval) -> Result<(), String> {
        for (flow, places) in interval.flows.iter().zip(&self.of_flow) {
            for pair in flow.service.counts.chunks_exact(2) {
                let bucket = usize::try_from(pair[0]).ok().and_then(|at| self.bucket.get(at));
                let bucket = *bucket.ok_or_else(|| format!("a count for bucket {}, which does not exist", pair[0]))?;
                for place in places {
                    self.counts[*place][bucket] = self.counts[*place][bucket].saturating_add(pair[1]);
                }
            }
        }
        Ok(())
    }

    /// The names of the histograms, in order.
    pub fn histogram_names(&self) -> &[String] {
        &self.names
    }

    /// Writes the block for `seconds` after the start.
    pub fn write_block(&self, seconds: u64, out: &mut dyn Write) -> fmt::Result {
        write_block(seconds, self.names.iter().map(String::as_str).zip(&self.counts), out)
    }
}

/// The rates under ACT's names; other streams under their own names.
fn derived_rates(header: &Header, index: bool) -> Vec<(String, Rate)> {
    let rated = header.streams.iter().filter_map(|stream| Some((stream.name.as_str(), stream.rate?)));
    // ACT has no separate line for cache reads: there are as many as cache writes.
    rated
        .filter(|(name, _)| !(index && *name == CACHE_READS))
        .map(|(name, rate)| (key_of_rate(name, index), rate))
        .collect()
}

/// ACT's key for the rate of a stream.
fn key_of_rate(name: &str, index: bool) -> String {
    match (name, index) {
        ("reads", false) => "internal-read-reqs-per-sec".to_owned(),
        ("writes", false) => "internal-write-reqs-per-sec".to_owned(),
        ("reads", true) => "service-thread-reads-per-sec".to_owned(),
        ("writes", true) => "cache-thread-reads-and-writes-per-sec".to_owned(),
        (name, _) => format!("{name}-per-sec"),
    }
}

impl Export {
    /// Begins with the head of the log, up to the names of the histograms. The error says why the run cannot be
    /// exported.
    pub fn begin_with_head(header: &Header, unit: Unit, out: &mut dyn Write) -> Result<Export, String> {
        let second = 1_000_000_000;
        let every = header.interval_ns.div_ceil(second).max(1);
        if !(every * second).is_multiple_of(header.interval_ns.max(1)) {
            return Err(format!(
                "an interval of {} does not fit whole seconds, which ACT's logs count",
                Span::from_ns(header.interval_ns)
            ));
        }
        let measured: Vec<bool> = header.phases.iter().map(|phase| phase.kind == PhaseKind::Measure).collect();
        let planned: u64 = header
            .phases
            .iter()
            .zip(&measured)
            .filter(|(_, measured)| **measured)
            .map(|(phase, _)| phase.span_ns)
            .sum();
        let histograms = Histograms::new(header, unit, &[]);
        let export =
            Export { unit, histograms, measured, every, start_ns: None, written: 0, planned: planned / second };
        export.write_head(header, out).map_err(|_| "the text could not be written".to_owned())?;
        Ok(export)
    }

    /// Banner, configuration as far as a run of ours has it, devices, names.
    fn write_head(&self, header: &Header, out: &mut dyn Write) -> fmt::Result {
        let index = header.model == "act-index";
        write_banner(if index { Kind::Index } else { Kind::Storage }, out)?;
        writeln!(out, "ACT-{} CONFIGURATION", if index { "INDEX" } else { "STORAGE" })?;
        let names: Vec<&str> = header.targets.iter().map(|target| target.name.as_str()).collect();
        writeln!(out, "device-names: {}\nnum-devices: {}", names.join(" "), names.len())?;
        writeln!(out, "test-duration-sec: {}\nreport-interval-sec: {}", self.planned, self.every)?;
        let microseconds = if self.unit == Unit::Microseconds { "yes" } else { "no" };
        writeln!(out, "microsecond-histograms: {microseconds}")?;
        writeln!(out, "max-lag-sec: {}\n", header.max_lag_ns / 1_000_000_000)?;
        writeln!(out, "DERIVED CONFIGURATION\n{WRITTEN_BY}: {}", header.tool)?;
        for (key, rate) in derived_rates(header, index) {
            writeln!(out, "{key}: {}", rate.to_string().trim_end_matches("/s"))?;
        }
        writeln!(out)?;
        for target in &header.targets {
            let block = u64::from(target.block_bytes);
            let line = DeviceLine {
                name: target.name.clone(),
                size: target.size_bytes,
                large_blocks: (!index).then_some(target.size_bytes >> 17),
                minimum_io: (!index).then_some(block),
            };
            write_device(&line, out)?;
        }
        write_histogram_names(self.histograms.histogram_names(), out)
    }

    /// The next interval.
    pub fn export_interval(&mut self, interval: &Interval, out: &mut dyn Write) -> Result<(), String> {
        if !self.measured.get(usize::from(interval.phase)).copied().unwrap_or(false) {
            return Ok(());
        }
        let start = *self.start_ns.get_or_insert(interval.start_ns);
        let begins = interval.start_ns.saturating_sub(start) / 1_000_000_000;
        let ends = interval.end_ns.saturating_sub(start) / 1_000_000_000;
        if begins >= self.planned {
            return Ok(());
        }
        self.write_due_block(begins, out)?;
        self.histograms.add_interval(interval)?;
        self.write_due_block(ends, out)
    }

    /// Writes the block that ends at `reached` seconds, if one does.
    fn write_due_block(&mut self, reached: u64, out: &mut dyn Write) -> Result<(), String> {
        let seconds = reached / self.every * self.every;
        if seconds > self.written && seconds <= self.planned {
            self.written = seconds;
            self.histograms.write_block(seconds, out).map_err(|_| "the text could not be written".to_owned())?;
        }
        Ok(())
    }
}
