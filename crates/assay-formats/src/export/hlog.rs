//! HdrHistogram's interval log, version 1.3 with V2 histograms, for its readers and plotters: a line for each stream
//! and each group of intervals, tagged with the stream's name. It contains the response in the measured time over all
//! targets, in nanoseconds; the column of the largest value is in milliseconds, as in the original.

use super::{Sink, is_measured, stream_of, write_error};
use assay_record::{Header, Histograms, Interval, Times, Unpacker};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Writes an interval log.
#[derive(Debug)]
pub struct Hlog {
    /// Seconds since 1970 at which the run began, if known.
    started: Option<f64>,
    header: Option<Header>,
    /// Begin and end of the intervals whose distributions have not been read yet.
    open: BTreeMap<u64, (u64, u64)>,
    /// Run time of the first measured interval.
    first_ns: Option<u64>,
}

impl Hlog {
    /// `started`: the header's wall clock in seconds since 1970; the time stamps count from there.
    pub fn new(started: Option<f64>) -> Hlog {
        Hlog { started, header: None, open: BTreeMap::new(), first_ns: None }
    }
}

impl Sink for Hlog {
    fn begin_segment(&mut self, header: &Header, out: &mut dyn Write) -> Result<(), String> {
        if self.header.is_some() {
            return Err("the run was interrupted and continued; an interval log has no way to say so".into());
        }
        self.header = Some(header.clone());
        let started = self.started.unwrap_or(0.0);
        let mut lines = format!("#[Logged by {}]\n#[Histogram log format version 1.3]\n", one_line(&header.tool));
        lines += &format!("#[StartTime: {started:.3} (seconds since epoch)]\n");
        lines += &format!("#[BaseTime: {started:.3} (seconds since epoch)]\n");
        lines += "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
        out.write_str(&lines).map_err(write_error)
    }

    fn take_interval(&mut self, interval: &Interval, _: &mut dyn Write) -> Result<(), String> {
        self.open.insert(interval.index, (interval.start_ns, interval.end_ns));
        Ok(())
    }

    fn take_histograms(&mut self, histograms: &Histograms, out: &mut dyn Write) -> Result<(), String> {
        let header = self.header.as_ref().ok_or("distributions before any header")?;
        let (first, last) = (histograms.first, histograms.last);
        let begin = self.open.get(&first).map(|times| times.0);
        let end = self.open.get(&last).map(|times| times.1);
        self.open.retain(|index, _| *index > last);
        let (Some(begin), Some(end)) = (begin, end) else {
            return Err(format!("distributions of intervals {first} to {last}, which are not there"));
        };
        if !is_measured(header, histograms.phase) {
            return Ok(());
        }
        let zero = *self.first_ns.get_or_insert(begin);
        let mut sums: BTreeMap<usize, Times> = BTreeMap::new();
        let mut unpacker = Unpacker::default();
        for flow in &histograms.flows {
            let stream = stream_of(header, usize::from(flow.flow))?;
            // Times above an hour cannot be represented here.
            sums.entry(stream).or_default().add_filled(&unpacker.unpack_text(&flow.response, 0)?);
        }
        for (stream, times) in sums {
            let (tag, most) =
                (tag_from_name(&header.streams[stream].name), times.to_hdr_histogram().max() as f64 / 1e6);
            let (at, long) = (begin - zero.min(begin), end.saturating_sub(begin));
            let (at, long) = (at as f64 / 1e9, long as f64 / 1e9);
            writeln!(out, "Tag={tag},{at:.3},{long:.3},{most:.3},{}", times.to_text()).map_err(write_error)?;
        }
        Ok(())
    }

    fn end_log(&mut self, _: &mut dyn Write) -> Result<(), String> {
        Ok(())
    }
}

/// A tag ends at a comma, a space or the line end; these become underscores.
fn tag_from_name(name: &str) -> String {
    name.chars().map(|c| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
