//! One row for each flow in each interval, including the warm-up; RFC 4180, with the units in the column names.

use super::{Sink, is_measured, write_error};
use assay_base::text::one_line;
use assay_base::{MarkedPart, Span};
use assay_record::{Event, EventKind, FlowInterval, Header, Histograms, Interval, PART, Thresholds};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The columns before those of the thresholds.
const COLUMNS: &str = "step,segment,interval,phase,measured,start_ns,end_ns,stream,target,scheduled_operations,\
issued_operations,completed_operations,completed_bytes,short_operations,failed_operations,in_flight_operations,\
waiting_operations,stuck_operations,response_sum_ns,response_max_ns,service_sum_ns,service_max_ns,lag_sum_ns,lag_max_ns";

/// Writes a table.
#[derive(Debug, Default)]
pub struct Csv {
    header: Option<Header>,
    bounds: Option<Thresholds>,
    /// Thresholds with columns of their own: those of the first segment's criteria.
    over: Vec<Span>,
    segment: u64,
    /// The part of the run in which it is, where marks may divide it: its number and its kind.
    part: Option<(u64, MarkedPart)>,
}

impl Sink for Csv {
    fn begin_segment(&mut self, header: &Header, out: &mut dyn Write) -> Result<(), String> {
        if self.header.is_none() {
            let own: BTreeSet<Span> =
                header.criteria.iter().filter_map(|criterion| criterion.counted_threshold()).collect();
            self.over = own.into_iter().collect();
            out.write_str(COLUMNS).map_err(write_error)?;
            for threshold in &self.over {
                write!(out, ",response_over_{threshold}_operations,service_over_{threshold}_operations")
                    .map_err(write_error)?;
            }
            self.part = header.takes_marks.then_some((1, MarkedPart::Healthy));
            out.write_str(if self.part.is_some() { ",part\r\n" } else { "\r\n" }).map_err(write_error)?;
        }
        self.segment += 1;
        self.bounds = Some(Thresholds::from_bounds(header.thresholds_ns.clone()));
        self.header = Some(header.clone());
        Ok(())
    }

    fn take_interval(&mut self, interval: &Interval, out: &mut dyn Write) -> Result<(), String> {
        let header = self.header.as_ref().ok_or("an interval before any header")?;
        for (flow, figures) in interval.flows.iter().enumerate() {
            let place = place_columns(header, self.segment, interval, flow)?;
            write_row(out, &place, figures, &self.counts_over(figures)).map_err(write_error)?;
            let part = self.part.map(|(number, kind)| format!(",{number} {kind}")).unwrap_or_default();
            write!(out, "{part}\r\n").map_err(write_error)?;
        }
        Ok(())
    }

    fn take_event(&mut self, event: &Event, _: &mut dyn Write) -> Result<(), String> {
        if event.what == EventKind::Mark
            && let Some((number, kind)) = &mut self.part
        {
            *number += 1;
            *kind = event.details.get(PART).and_then(|part| part.parse().ok()).unwrap_or(*kind);
        }
        Ok(())
    }

    fn take_histograms(&mut self, _: &Histograms, _: &mut dyn Write) -> Result<(), String> {
        Ok(())
    }

    fn end_log(&mut self, _: &mut dyn Write) -> Result<(), String> {
        Ok(())
    }
}

impl Csv {
    /// Operations at or over each threshold, alternately for response and service; `None` where they were not counted.
    fn counts_over(&self, figures: &FlowInterval) -> Vec<Option<u64>> {
        let mut over = Vec::new();
        for threshold in &self.over {
            let from = self.bounds.as_ref().and_then(|bounds| bounds.first_over(*threshold));
            for timing in [&figures.response, &figures.service] {
                let pairs = timing.counts.chunks_exact(2);
                over.push(from.map(|from| pairs.filter(|pair| pair[0] >= from as u64).map(|pair| pair[1]).sum()));
            }
        }
        over
    }
}

/// The columns for time and place.
fn place_columns(header: &Header, segment: u64, interval: &Interval, flow: usize) -> Result<String, String> {
    let stream = &header.streams[super::stream_of(header, flow)?];
    let target = header.flows.get(flow).and_then(|flow| header.targets.get(usize::from(flow.target)));
    let phase = header.phases.get(usize::from(interval.phase)).map_or("", |phase| phase.name.as_str());
    let measured = u8::from(is_measured(header, interval.phase));
    let step = header.step.as_ref().map_or(1, |step| step.number);
    let (index, start, end) = (interval.index, interval.start_ns, interval.end_ns);
    let (stream, target) = (cell_text(&stream.name), cell_text(target.map_or("", |target| &target.name)));
    Ok(format!("{step},{segment},{index},{},{measured},{start},{end},{stream},{target}", cell_text(phase)))
}

fn write_row(out: &mut dyn Write, place: &str, flow: &FlowInterval, over: &[Option<u64>]) -> std::fmt::Result {
    let counts = [flow.scheduled, flow.issued, flow.ok, flow.bytes, flow.short, flow.failed_operations()];
    let ends = [flow.in_flight, flow.waiting, flow.stuck];
    let lengths = [&flow.response, &flow.service, &flow.lag].map(|timing| [timing.sum_ns, timing.max_ns]);
    out.write_str(place)?;
    counts.iter().chain(&ends).chain(lengths.as_flattened()).try_for_each(|n| write!(out, ",{n}"))?;
    for n in over {
        out.write_char(',')?;
        n.map_or(Ok(()), |n| write!(out, "{n}"))?;
    }
    Ok(())
}

/// A name as one cell, on one line and without what a terminal would obey. A spreadsheet would execute a name that begins like a
/// formula: such a name gets an apostrophe before it.
fn cell_text(text: &str) -> String {
    let text = one_line(text);
    let formula = text.starts_with(['=', '+', '-', '@']);
    let text = if formula { format!("'{text}") } else { text };
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_one_cell() {
        for (name, expected) in [
            ("/dev/sdb", "/dev/sdb"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "a\u{fffd}b"),
            ("\t=1", "\u{fffd}=1"),
            ("\u{1b}[2J\u{1b}]0;x\u{7}", "\u{fffd}[2J\u{fffd}]0;x\u{fffd}"),
            ("\u{9b}31m,x", "\"\u{fffd}31m,x\""),
            ("=HYPERLINK(1,2)", "\"'=HYPERLINK(1,2)\""),
            ("@x", "'@x"),
        ] {
            assert_eq!(cell_text(name), expected);
        }
    }
}
