//! `pblio.data`: a line of JSON for each period of the run, with the sums since the beginning of the run. Unlike the
//! original's file, it has a line for the last period even if that was cut short.

use super::cached::Cached;
use crate::export::{Sink, is_measured, write_error};
use assay_base::Direction;
use assay_record::{CacheCounters, Header, Histograms, Interval, StreamHead};
use std::fmt::{self, Write};

/// The bytes of a block. The original counts in blocks of this size.
const BLOCK: u64 = 4096;
const NS: u64 = 1_000_000_000;

/// Times of operations: their sum in nanoseconds, and the number of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Latency {
    duration: u64,
    count: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stats {
    latency: Latency,
    ios: u64,
    blocks: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Both {
    total: Stats,
    read: Stats,
    write: Stats,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spc {
    total: Stats,
    read: Stats,
    write: Stats,
    asu: [Both; 3],
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stats { latency: Latency { duration, count }, ios, blocks } = self;
        write!(f, r#"{{"latency":{{"duration":{duration},"count":{count}}},"ios":{ios},"blocks":{blocks}}}"#)
    }
}

impl fmt::Display for Both {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"total":{},"read":{},"write":{}}}"#, self.total, self.read, self.write)
    }
}

impl fmt::Display for Spc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, two, three] = &self.asu;
        let Spc { total, read, write, .. } = self;
        write!(f, r#"{{"total":{total},"read":{read},"write":{write},"asu":[{one},{two},{three}]}}"#)
    }
}

impl Stats {
    fn add(&mut self, other: Stats) {
        self.latency.duration = self.latency.duration.saturating_add(other.latency.duration);
        self.latency.count = self.latency.count.saturating_add(other.latency.count);
        self.ios = self.ios.saturating_add(other.ios);
        self.blocks = self.blocks.saturating_add(other.blocks);
    }
}

/// The index of the ASU of a stream, and its direction.
fn asu_and_direction(head: &StreamHead) -> Option<(usize, Direction)> {
    let asu = head.name.strip_prefix("asu")?.split('-').next()?.parse::<usize>().ok()?;
    (1..=3).contains(&asu).then_some((asu - 1, head.direction?))
}

/// The figures of a run, collected while its log is read. They do not include the warm-up.
#[derive(Clone, Debug)]
pub struct Data {
    /// ASU and direction of each flow.
    flows: Vec<(usize, Direction)>,
    all: Spc,
    /// The counters of the cache, in a run with one.
    cache: Option<CacheCounters>,
    /// The beginning of the run, in seconds since 1970.
    started: i64,
    period_ns: u64,
    /// `reached_ns` is the measured time so far, and `written_ns` the measured time at the last line.
    reached_ns: u64,
    written_ns: u64,
    /// The number of operations at the last line, and the sum of their times in nanoseconds.
    before: (u64, u64),
}

impl Data {
    /// The data of a run that began at `started` (seconds since 1970), with a line for each `period` seconds. The error
    /// says that the log is not that of an OLTP load.
    pub fn new(header: &Header, started: i64, period: u64) -> Result<Data, String> {
        let flows: Option<Vec<_>> =
            header.flows.iter().map(|flow| asu_and_direction(header.streams.get(usize::from(flow.stream))?)).collect();
        let flows = flows.filter(|_| header.model == "oltp").ok_or_else(|| {
            "this is not the log of an OLTP load, whose streams belong to ASUs: pblio-data is for `model = \"oltp\"`"
                .to_owned()
        })?;
        let period_ns = period.max(1).saturating_mul(NS);
        let cache = header.cache.as_ref().map(|_| CacheCounters::default());
        let all = Spc::default();
        Ok(Data { flows, all, cache, started, period_ns, reached_ns: 0, written_ns: 0, before: (0, 0) })
    }

    /// Adds an interval. If a period ends with it, returns the period's line and its figures.
    pub fn add_interval(&mut self, interval: &Interval, header: &Header) -> Option<(String, Period)> {
        if !is_measured(header, interval.phase) {
            return None;
        }
        for ((asu, direction), flow) in self.flows.iter().zip(&interval.flows) {
            let own = Stats {
                latency: Latency { duration: flow.response.sum_ns, count: flow.ok },
                ios: flow.ok,
                blocks: flow.bytes.div_ceil(BLOCK),
            };
            let part = &mut self.all.asu[*asu];
            self.all.total.add(own);
            part.total.add(own);
            match direction {
                Direction::Read => {
                    self.all.read.add(own);
                    part.read.add(own);
                }
                _ => {
                    self.all.write.add(own);
                    part.write.add(own);
                }
            }
        }
        if let Some((all, own)) = self.cache.as_mut().zip(interval.cache.as_deref()) {
            all.add(own);
        }
        self.reached_ns = self.reached_ns.saturating_add(interval.end_ns.saturating_sub(interval.start_ns));
        let over = self.reached_ns.saturating_sub(self.written_ns) >= self.period_ns;
        over.then(|| self.line_since_last()).flatten()
    }

    /// The line for the time since the last one, with the figures of that time; `None` if nothing was measured since.
    pub fn line_since_last(&mut self) -> Option<(String, Period)> {
        let length_ns = self.reached_ns.saturating_sub(self.written_ns);
        if length_ns == 0 {
            return None;
        }
        let time = self.started.saturating_add(i64::try_from(self.reached_ns / NS).unwrap_or(i64::MAX));
        let cached = self.cache.as_ref().map(|cache| format!(",{}", Cached(cache))).unwrap_or_default();
        let line = format!("{{\"time\":{time},\"spc\":{}{cached}}}\n", self.all);
        let Stats { ios, latency, .. } = self.all.total;
        let own = Period {
            ios: ios - self.before.0,
            seconds: length_ns as f64 / 1e9,
            sum_ns: latency.duration.saturating_sub(self.before.1),
        };
        (self.written_ns, self.before) = (self.reached_ns, (ios, latency.duration));
        Some((line, own))
    }

    /// The figures of the whole run so far.
    pub fn total_figures(&self) -> Period {
        let Stats { ios, latency, .. } = self.all.total;
        Period { ios, seconds: self.reached_ns as f64 / 1e9, sum_ns: latency.duration }
    }
}

/// The figures of a part of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Number of operations that completed.
    pub ios: u64,
    /// Measured time, in seconds.
    pub seconds: f64,
    /// The sum of the response times of these operations, in nanoseconds.
    pub sum_ns: u64,
}

/// The data file as an export of a log, with a line for each minute.
#[derive(Debug)]
pub struct PblioData {
    started: i64,
    header: Option<Header>,
    data: Option<Data>,
}

/// The original's default period, in seconds.
const PERIOD: u64 = 60;

impl PblioData {
    /// An export of a log that begins at `started` (seconds since 1970).
    pub fn new(started: Option<i64>) -> PblioData {
        PblioData { started: started.unwrap_or(0), header: None, data: None }
    }
}

impl Sink for PblioData {
    fn begin_segment(&mut self, header: &Header, _: &mut dyn Write) -> Result<(), String> {
        let fresh = Data::new(header, self.started, PERIOD)?;
        // Another header is that of a continued run, whose figures are added to those before the interruption.
        self.data.get_or_insert(fresh);
        self.header = Some(header.clone());
        Ok(())
    }

    fn take_interval(&mut self, interval: &Interval, out: &mut dyn Write) -> Result<(), String> {
        let line =
            self.data.as_mut().zip(self.header.as_ref()).and_then(|(data, header)| data.add_interval(interval, header));
        line.map_or(Ok(()), |(line, _)| out.write_str(&line).map_err(write_error))
    }

    fn take_histograms(&mut self, _: &Histograms, _: &mut dyn Write) -> Result<(), String> {
        Ok(())
    }

    fn end_log(&mut self, out: &mut dyn Write) -> Result<(), String> {
        let line = self.data.as_mut().and_then(Data::line_since_last);
        line.map_or(Ok(()), |(line, _)| out.write_str(&line).map_err(write_error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::{Entry, FlowHead, FlowInterval, PhaseKind, Reader, StreamHead, Timing};

    fn header(model: &str) -> Header {
        let stream = |name: &str, direction| StreamHead {
            name: name.into(),
            direction: Some(direction),
            operation: None,
            arrival: "poisson".into(),
            rate: None,
            size: String::new(),
            size_done: String::new(),
            per_target: false,
        };
        // The header of a stored log, with its streams replaced.
        let log = include_bytes!("../../../assay-record/tests/golden/run-v1.jsonl");
        let Ok(Entry::Header(mut header)) = Reader::new(&log[..]).next_entry().unwrap().unwrap() else {
            panic!("no header")
        };
        let kinds: Vec<PhaseKind> = header.phases.iter().map(|phase| phase.kind).collect();
        assert_eq!(kinds[..2], [PhaseKind::WarmUp, PhaseKind::Measure]);
        header.model = model.into();
        header.streams = vec![stream("asu1-1-reads", Direction::Read), stream("asu3-1-writes", Direction::Write)];
        header.flows = vec![FlowHead { stream: 0, target: 0 }, FlowHead { stream: 1, target: 2 }];
        *header
    }

    fn second(at: u64, phase: u16, figures: [(u64, u64, u64); 2]) -> Interval {
        let flow = |(ok, bytes, sum_ns)| FlowInterval {
            ok,
            bytes,
            response: Timing { sum_ns, max_ns: sum_ns, counts: Vec::new() },
            ..FlowInterval::default()
        };
        Interval {
            start_ns: at * NS,
            end_ns: (at + 1) * NS,
            phase,
            flows: figures.map(flow).to_vec(),
            ..Interval::default()
        }
    }

    /// The members have the names and order of the original. The file includes the period that was cut short, and does
    /// not include the warm-up.
    #[test]
    fn each_line_has_everything_since_the_beginning() {
        let header = header("oltp");
        let mut data = Data::new(&header, 1000, 2).unwrap();
        assert_eq!(data.add_interval(&second(0, 0, [(9, 9 * 4096, 9), (9, 9 * 4096, 9)]), &header), None);
        assert_eq!(data.add_interval(&second(1, 1, [(2, 8192, 10), (1, 16384, 5)]), &header), None);
        let (line, period) = data.add_interval(&second(2, 1, [(1, 4096, 7), (0, 0, 0)]), &header).unwrap();
        let stats = |duration: u64, ios: u64, blocks: u64| {
            format!("{{\"latency\":{{\"duration\":{duration},\"count\":{ios}}},\"ios\":{ios},\"blocks\":{blocks}}}")
        };
        let (reads, writes, none) = (stats(17, 3, 3), stats(5, 1, 4), stats(0, 0, 0));
        let asu =
            |total: &str, read: &str, write: &str| format!("{{\"total\":{total},\"read\":{read},\"write\":{write}}}");
        let asus = [asu(&reads, &reads, &none), asu(&none, &none, &none), asu(&writes, &none, &writes)].join(",");
        let spc = format!("{{\"total\":{},\"read\":{reads},\"write\":{writes},\"asu\":[{asus}]}}", stats(22, 4, 7));
        assert_eq!(line, format!("{{\"time\":1002,\"spc\":{spc}}}\n"));
        assert_eq!(period, Period { ios: 4, seconds: 2.0, sum_ns: 22 });
        assert_eq!(data.line_since_last(), None, "nothing since");
        assert_eq!(data.add_interval(&second(3, 1, [(5, 5 * 4096, 50), (0, 0, 0)]), &header), None);
        let (line, period) = data.line_since_last().unwrap();
        assert!(line.starts_with("{\"time\":1003,") && line.contains("\"ios\":9"), "{line}");
        assert_eq!((period, data.total_figures().ios), (Period { ios: 5, seconds: 1.0, sum_ns: 50 }, 9));
    }

    /// The members of the cache have everything since the beginning too, and every line of a run with a cache has them.
    #[test]
    fn a_run_with_a_cache_has_its_counters_in_each_line() {
        let mut header = header("oltp");
        header.cache = Some(assay_record::CacheHead::default());
        let mut data = Data::new(&header, 1000, 1).unwrap();
        let counted = |at, phase, reads| {
            let cache = CacheCounters { reads, read_hits: reads / 2, ram_hits: 1, ..CacheCounters::default() };
            Interval { cache: Some(Box::new(cache)), ..second(at, phase, [(1, 4096, 5), (0, 0, 0)]) }
        };
        assert_eq!(data.add_interval(&counted(0, 0, 80), &header), None, "a warm-up is not in it");
        for (at, reads, expected) in [(1, 10, [10, 5, 1, 4]), (2, 4, [14, 7, 2, 5])] {
            let (line, _) = data.add_interval(&counted(at, 1, reads), &header).unwrap();
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            let (cache, log) = (&line["cache"], &line["log"]);
            let found = [&cache["reads"], &cache["readhits"], &log["ramhits"], &log["storagehits"]];
            assert_eq!(found.map(|figure| figure.as_u64().unwrap()), expected, "{line}");
        }
        let (line, _) = data.add_interval(&second(3, 1, [(1, 4096, 5), (0, 0, 0)]), &header).unwrap();
        assert!(line.contains("\"reads\":14,"), "{line}");
    }

    #[test]
    fn other_loads_have_no_asus() {
        assert!(Data::new(&header("streams"), 0, 1).unwrap_err().contains("not the log of an OLTP load"));
        let mut odd = header("oltp");
        odd.streams[0].name = "asu4-1-reads".into();
        assert!(Data::new(&odd, 0, 1).is_err());
    }
}
