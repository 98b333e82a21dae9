//! What `fio --output-format=json` prints, as far as tools that plot or compare it need it: a job for each stream.
//!
//! The keys and their units were taken from fio 3.33: `bw` in KiB/s, `bw_bytes` in bytes, `runtime` in milliseconds,
//! times in nanoseconds. fio's three times correspond to ours under other names: `slat_ns` is lag (until the operation
//! was issued), `clat_ns` service, `lat_ns` response. Unlike fio's, our response begins when the operation was due, not
//! when a slot was free.

use super::{Sink, add, is_measured, stream_of, unwritten};
use assay_base::Direction;
use assay_record::{FlowHead, Header, Histograms, Interval, PhaseKind, StreamHead, Times, Timing};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// fio's default list, in percent.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
/// Upper bounds of fio's coarse histogram, in each of its three units.
const COARSE: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// The units of that histogram.
const UNITS: [(u64, &str); 3] = [(1, "latency_ns"), (1000, "latency_us"), (1_000_000, "latency_ms")];

/// Writes fio's JSON at the end.
#[derive(Debug, Default)]
pub struct Fio {
    header: Option<Header>,
    /// Wall clock in seconds since 1970, if known.
    started: Option<i64>,
    jobs: Vec<Job>,
    /// Time in which the load was offered, in all segments and in this one: what completes later, while the run drains,
    /// does not contribute to a rate.
    measured_ns: u64,
    segment_ns: u64,
    /// Whether the load was offered in an interval since the last distributions.
    offers: bool,
    /// Processor time of the generator.
    cpu_ns: u64,
    /// Steps that are done.
    step: u64,
    done: Vec<Value>,
}

/// One stream over all targets.
#[derive(Debug, Default)]
struct Job {
    operations: u64,
    issued: u64,
    bytes: u64,
    short: u64,
    failed: u64,
    /// Operations per second, and KiB per second, for each interval.
    iops: Samples,
    kib: Samples,
    /// Response, service, lag: sum and largest.
    exact: [(u64, u64); 3],
    times: [Times; 3],
}

/// Mean and deviation of rates, with Welford's method.
#[derive(Debug, Default)]
struct Samples {
    count: u64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Samples {
    fn add(&mut self, rate: f64) {
        self.min = if self.count == 0 { rate } else { self.min.min(rate) };
        self.max = self.max.max(rate);
        self.count += 1;
        let off = rate - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (rate - self.mean);
    }

    fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }
}

impl Fio {
    /// `started`: the first header's wall clock in seconds since 1970.
    pub fn new(started: Option<i64>) -> Fio {
        Fio { started, ..Fio::default() }
    }

    fn finish_step(&mut self) {
        let Some(header) = &self.header else { return };
        let mut jobs = header.streams.iter().zip(self.jobs.drain(..)).peekable();
        while let Some((stream, job)) = jobs.next() {
            let mut json = job.json(header, stream, self.measured_ns);
            let (mut last, mut times) = (stream, job.times[0].clone());
            while let Some((next, other)) = jobs.next_if(|(next, _)| Role::goes_on(last, next)) {
                other.joins(&mut json, (stream, next), &mut times, self.measured_ns);
                last = next;
            }
            // A step is what fio calls a group: jobs that run at the same time.
            json["groupid"] = self.step.into();
            // User and system time are not counted apart.
            json["usr_cpu"] = (self.cpu_ns as f64 * 100.0 / self.measured_ns.max(1) as f64).into();
            json["sys_cpu"] = 0.0.into();
            self.done.push(json);
        }
        self.step += 1;
        (self.measured_ns, self.cpu_ns) = (0, 0);
    }
}

/// What a stream is of a job of a job file, whose streams stand behind each other in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Reads,
    Writes,
    /// Flushes after writes.
    Flushes,
    /// The flush when the job ends, which fio does not count.
    End,
}

impl Role {
    /// The part that a stream is, and the name of the job.
    fn of(stream: &StreamHead) -> (Role, &str) {
        let behind = |suffix: &str| stream.name.strip_suffix(suffix);
        match (stream.direction, is_flush(stream), behind(".end-flush")) {
            (Some(Direction::Write), ..) => (Role::Writes, behind(".writes").unwrap_or(&stream.name)),
            (_, true, Some(job)) => (Role::End, job),
            (_, true, None) => (Role::Flushes, behind(".flushes").unwrap_or(&stream.name)),
            _ => (Role::Reads, behind(".reads").unwrap_or(&stream.name)),
        }
    }

    /// Whether `next` belongs to the job of `stream`, which stands before it.
    fn goes_on(stream: &StreamHead, next: &StreamHead) -> bool {
        let ((part, job), (next_part, next_job)) = (Role::of(stream), Role::of(next));
        // Reads and writes are of one job where both say so.
        let both = next_part != Role::Writes || stream.name != job && next.name != next_job;
        let flush = next_part < Role::Flushes || next.name != next_job;
        part < next_part && job == next_job && both && flush
    }
}

/// Whether a target of this stream was used through the page cache of the kernel.
fn through_page_cache(header: &Header, stream: &StreamHead) -> bool {
    let cached = header.plan.get("page_cache").and_then(Value::as_array);
    let cached: Vec<u64> = cached.into_iter().flatten().filter_map(|it| it.get("target")?.as_u64()).collect();
    let own =
        |flow: &&FlowHead| header.streams.get(usize::from(flow.stream)).is_some_and(|other| other.name == stream.name);
    header.flows.iter().filter(own).any(|flow| cached.contains(&u64::from(flow.target)))
}

/// Whether a stream flushes.
fn is_flush(stream: &StreamHead) -> bool {
    stream.operation.as_deref() == Some("flush")
}

impl Sink for Fio {
    fn header(&mut self, header: &Header, _: &mut dyn Write) -> Result<(), String> {
        if !header.continues || self.header.is_none() {
            self.finish_step();
            self.jobs = header.streams.iter().map(|_| Job::default()).collect();
        } else if header.streams.len() != self.jobs.len() {
            return Err("the continued run has other streams than the one it continues".into());
        }
        self.header = Some(header.clone());
        self.segment_ns = 0;
        Ok(())
    }

    fn interval(&mut self, interval: &Interval, _: &mut dyn Write) -> Result<(), String> {
        let header = self.header.as_ref().ok_or("an interval before any header")?;
        if !is_measured(header, interval.phase) {
            return Ok(());
        }
        let ns = interval.end_ns.saturating_sub(interval.start_ns);
        let is_offered = self.segment_ns < offered_ns(header);
        // A partial interval, at an interruption, is too short for a rate.
        let is_whole = ns >= header.interval_ns.min(offered_ns(header));
        self.segment_ns = self.segment_ns.saturating_add(ns);
        self.measured_ns += if is_offered { ns } else { 0 };
        self.offers |= is_offered;
        self.cpu_ns += interval.host.map_or(0, |host| host.cpu_ns);
        let mut done = vec![(0u64, 0u64); self.jobs.len()];
        for (index, flow) in interval.flows.iter().enumerate() {
            let stream = stream_of(header, index)?;
            let job = &mut self.jobs[stream];
            job.issued = job.issued.saturating_add(flow.issued);
            job.short = job.short.saturating_add(flow.short);
            job.failed = job.failed.saturating_add(flow.failed());
            if !is_offered {
                // What completes while the run drains is no part of fio's figures.
                continue;
            }
            done[stream].0 = done[stream].0.saturating_add(flow.ok);
            done[stream].1 = done[stream].1.saturating_add(flow.bytes);
            job.operations = job.operations.saturating_add(flow.ok);
            job.bytes = job.bytes.saturating_add(flow.bytes);
            let timings: [&Timing; 3] = [&flow.response, &flow.service, &flow.lag];
            for (exact, timing) in job.exact.iter_mut().zip(timings) {
                *exact = (exact.0.saturating_add(timing.sum_ns), exact.1.max(timing.max_ns));
            }
        }
        for (job, (operations, bytes)) in self.jobs.iter_mut().zip(done).filter(|_| is_offered && is_whole && ns > 0) {
            job.iops.add(operations as f64 * 1e9 / ns as f64);
            job.kib.add(bytes as f64 / 1024.0 * 1e9 / ns as f64);
        }
        Ok(())
    }

    fn histograms(&mut self, histograms: &Histograms, _: &mut dyn Write) -> Result<(), String> {
        let header = self.header.as_ref().ok_or("distributions before any header")?;
        if !is_measured(header, histograms.phase) {
            return Ok(());
        }
        if !std::mem::take(&mut self.offers) {
            return Ok(());
        }
        histograms.flows.iter().try_for_each(|flow| {
            let stream = stream_of(header, usize::from(flow.flow))?;
            add(&mut self.jobs[stream].times, flow)
        })
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<(), String> {
        self.finish_step();
        let tool = self.header.as_ref().map_or("", |header| &header.tool);
        let seconds = self.started.unwrap_or(0);
        let document = json!({
            // Tools look for this word; the program that wrote it follows.
            "fio version": format!("fio-3.33 (layout; written by {tool})"),
            "timestamp": seconds,
            "timestamp_ms": seconds.saturating_mul(1000),
            "time": self.header.as_ref().map_or("", |header| &header.created),
            "global options": {},
            "jobs": self.done,
        });
        let text = serde_json::to_string_pretty(&document).map_err(|e| e.to_string())?;
        writeln!(out, "{text}").map_err(unwritten)
    }
}

impl Job {
    fn json(&self, header: &Header, stream: &StreamHead, ns: u64) -> Value {
        let step = header.step.as_ref().map_or(String::new(), |step| format!("step {}: ", step.number));
        let idle = Job::default();
        let (read, write, sync) = match stream.direction {
            Some(Direction::Write) => (&idle, self, &idle),
            None if is_flush(stream) => (&idle, &idle, self),
            // fio has no further kind of operation: another one is listed with the reads, under its own name.
            Some(Direction::Read) | None => (self, &idle, &idle),
        };
        let mut job = json!({
            "jobname": format!("{step}{}", stream.name),
            "error": u8::from(self.failed > 0) * 5,
            "eta": 0,
            "elapsed": ns.div_ceil(1_000_000_000),
            "job options": self.options(header, stream, ns),
            "read": read.direction(ns),
            "write": write.direction(ns),
            "trim": idle.direction(ns),
            "sync": sync.sync(),
            "total_err": self.failed,
        });
        for (unit, name) in UNITS {
            job[name] = coarse(&self.times[0], unit);
        }
        job
    }

    /// Adds this stream, which is `next`, to the JSON of the first stream of its job. `times` are those of the job so far.
    fn joins(&self, json: &mut Value, (first, next): (&StreamHead, &StreamHead), times: &mut Times, ns: u64) {
        let failed = json["total_err"].as_u64().unwrap_or(0).saturating_add(self.failed);
        (json["total_err"], json["error"]) = (failed.into(), (u8::from(failed > 0) * 5).into());
        match Role::of(next) {
            (Role::Flushes, _) => json["sync"] = self.sync(),
            (Role::End, _) => {}
            (Role::Reads | Role::Writes, name) => {
                let shown = json["jobname"].as_str().and_then(|shown| shown.strip_suffix(first.name.as_str()));
                json["jobname"] = format!("{}{name}", shown.unwrap_or("")).into();
                json["write"] = self.direction(ns);
                both(&mut json["job options"], (first, next), name);
                times.add(&self.times[0]);
                for (unit, name) in UNITS {
                    json[name] = coarse(times, unit);
                }
            }
        }
    }

    fn sync(&self) -> Value {
        json!({ "total_ios": self.operations, "lat_ns": self.length(1, true) })
    }

    fn options(&self, header: &Header, stream: &StreamHead, ns: u64) -> Value {
        let bound = header.engine.get("in-flight bound").and_then(|bound| bound.split(',').next()).unwrap_or_default();
        let file = header.targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>().join(":");
        let mut options = json!({
            "name": stream.name,
            "filename": file,
            "rw": match stream.direction {
                Some(Direction::Read) => "randread".to_owned(),
                Some(Direction::Write) => "randwrite".to_owned(),
                None => stream.does(),
            },
            "bs": stream.size,
            "iodepth": bound,
            "numjobs": "1",
            "direct": "1",
            "runtime": (ns / 1_000_000_000).to_string(),
        });
        if through_page_cache(header, stream) {
            options["direct"] = "0".into();
            let mark = header.watermarks.iter().find(|mark| mark.starts_with("PAGE CACHE"));
            options["description"] = mark.map_or("PAGE CACHE", String::as_str).into();
        }
        if let Some(rate) = stream.rate {
            options["rate_iops"] = rate.to_string().trim_end_matches("/s").into();
            options["rate_process"] = stream.arrival.as_str().into();
        }
        options
    }

    fn direction(&self, ns: u64) -> Value {
        let rate = |n: u64| if ns == 0 { 0.0 } else { n as f64 * 1e9 / ns as f64 };
        let (iops, bytes) = (rate(self.operations), rate(self.bytes));
        json!({
            "io_bytes": self.bytes,
            "io_kbytes": self.bytes / 1024,
            "bw_bytes": bytes as u64,
            "bw": (bytes / 1024.0) as u64,
            "iops": iops,
            "runtime": if self.issued == 0 { 0 } else { ns / 1_000_000 },
            "total_ios": self.operations,
            "short_ios": self.short,
            "drop_ios": 0,
            "slat_ns": self.length(2, false),
            "clat_ns": self.length(1, true),
            "lat_ns": self.length(0, true),
            "bw_min": self.kib.min as u64,
            "bw_max": self.kib.max as u64,
            "bw_agg": if self.issued == 0 { 0.0 } else { 100.0 },
            "bw_mean": self.kib.mean,
            "bw_dev": self.kib.deviation(),
            "bw_samples": self.kib.count,
            "iops_min": self.iops.min as u64,
            "iops_max": self.iops.max as u64,
            "iops_mean": self.iops.mean,
            "iops_stddev": self.iops.deviation(),
            "iops_samples": self.iops.count,
        })
    }

    fn length(&self, which: usize, percentiles: bool) -> Value {
        let (times, (sum, max)) = (&self.times[which], self.exact[which]);
        let (count, histogram) = (times.count(), times.histogram());
        let mean = if count == 0 { 0.0 } else { sum as f64 / count as f64 };
        let least = if histogram.is_empty() { 0 } else { histogram.min() };
        let mut length = json!({ "min": least, "max": max, "mean": mean, "stddev": histogram.stdev(), "N": count });
        if percentiles && count > 0 {
            let at = |percent: f64| {
                let value = times.quantile(percent / 100.0).map(|span| span.as_ns().min(max).into());
                (format!("{percent:.6}"), value.unwrap_or(Value::Null))
            };
            length["percentile"] = PERCENTILES.into_iter().map(at).collect::<Map<_, _>>().into();
        }
        length
    }
}

/// Makes the options of a job that reads those of one that writes too.
fn both(options: &mut Value, (read, write): (&StreamHead, &StreamHead), name: &str) {
    (options["name"], options["rw"]) = (name.into(), "randrw".into());
    if read.size != write.size {
        options["bs"] = format!("{},{}", read.size, write.size).into();
    }
    if let (Some(read), Some(write)) = (read.rate, write.rate) {
        let (read, write) = (read.to_string(), write.to_string());
        options["rate_iops"] = format!("{},{}", read.trim_end_matches("/s"), write.trim_end_matches("/s")).into();
    }
}

/// How long a segment of the log offers its load during the measured phase.
fn offered_ns(header: &Header) -> u64 {
    let measured = header.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    measured.fold(0, |sum, phase| sum.saturating_add(phase.span_ns))
}

/// Percent of all times in fio's coarse cells of one unit: above the previous bound, up to this one.
fn coarse(times: &Times, unit: u64) -> Value {
    let (count, histogram) = (times.count(), times.histogram());
    let below = |bound: u64| if bound == 0 { 0 } else { histogram.count_between(0, bound - 1) };
    let share = |n: u64| if count == 0 { 0.0 } else { n as f64 * 100.0 / count as f64 };
    let mut cells = Map::new();
    // The first cell of a unit begins where the unit below ends.
    let mut from = if unit == 1 { 0 } else { unit };
    let more = if unit == 1_000_000 { &[2000][..] } else { &[] };
    for bound in COARSE.iter().chain(more).filter(|bound| unit != 1 || **bound <= 1000) {
        cells.insert(bound.to_string(), share(below(bound * unit) - below(from)).into());
        from = bound * unit;
    }
    if unit == 1_000_000 {
        cells.insert(">=2000".into(), share(count - below(from)).into());
    }
    Value::Object(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::{Entry, FlowHead, FlowInterval, Reader};

    /// The header of a stored log, with one flow that is measured for three seconds.
    fn header() -> Header {
        let log = include_bytes!("../../../assay-record/tests/golden/run-v1.jsonl");
        let Ok(Entry::Header(mut header)) = Reader::new(&log[..]).next_entry().unwrap().unwrap() else {
            panic!("no header")
        };
        header.streams.truncate(1);
        header.flows.truncate(1);
        header.interval_ns = 1_000_000_000;
        header.phases.retain(|phase| phase.kind == PhaseKind::Measure);
        header.phases.truncate(1);
        header.phases[0].span_ns = 3_000_000_000;
        *header
    }

    #[test]
    fn what_completes_while_the_run_drains_and_what_an_interruption_cut_is_no_rate() {
        let mut fio = Fio::new(None);
        let mut out = String::new();
        let interval = |index, start_ns, end_ns, ok| {
            let flow = FlowInterval { ok, bytes: ok * 1024, issued: ok, ..FlowInterval::default() };
            Interval { index, start_ns, end_ns, phase: 0, flows: vec![flow], ..Interval::default() }
        };
        fio.header(&header(), &mut out).unwrap();
        // Cut after a second and a half; the rest is measured by a second segment, which drains for five microseconds.
        for (index, start_ns, end_ns, ok) in [(0, 0, 1_000_000_000, 100), (1, 1_000_000_000, 1_500_000_000, 7)] {
            fio.interval(&interval(index, start_ns, end_ns, ok), &mut out).unwrap();
        }
        let mut rest = Header { continues: true, ..header() };
        rest.phases[0].span_ns = 1_500_000_000;
        fio.header(&rest, &mut out).unwrap();
        for (index, start_ns, end_ns, ok) in
            [(0, 0, 1_000_000_000, 120), (1, 1_000_000_000, 1_500_000_000, 60), (2, 1_500_000_000, 1_500_005_000, 3)]
        {
            fio.interval(&interval(index, start_ns, end_ns, ok), &mut out).unwrap();
        }
        fio.end(&mut out).unwrap();
        let json: Value = serde_json::from_str(&out).unwrap();
        let job = &json["jobs"][0];
        let side = if job["read"]["total_ios"] == 0 { &job["write"] } else { &job["read"] };
        assert_eq!((side["iops_min"].as_u64(), side["iops_max"].as_u64()), (Some(100), Some(120)), "{side:#}");
        assert_eq!((side["iops_samples"].as_u64(), side["iops_mean"].as_f64()), (Some(2), Some(110.0)));
        assert_eq!(
            (side["runtime"].as_u64(), side["total_ios"].as_u64()),
            (Some(3000), Some(287)),
            "what drains is left out"
        );
        assert!((side["iops"].as_f64().unwrap() - 287.0 / 3.0).abs() < 1e-9, "{side:#}");
    }

    #[test]
    fn flushes_are_of_the_job_whose_writes_they_follow() {
        let mut head = header();
        let stream = |name: &str, direction, operation: Option<&str>| StreamHead {
            name: name.into(),
            direction,
            operation: operation.map(str::to_owned),
            ..header().streams.remove(0)
        };
        let (read, write, flush) = (Some(Direction::Read), Some(Direction::Write), Some("flush"));
        head.streams = vec![
            stream("a", write, None),
            stream("a.flushes", None, flush),
            stream("a.end-flush", None, flush),
            stream("b.reads", read, None),
            stream("b.writes", write, None),
            stream("b.flushes", None, flush),
            stream("c", write, None),
            stream("c.end-flush", None, flush),
            stream("syncs", None, flush),
            stream("d", read, None),
            stream("d", write, None),
        ];
        head.flows = (0..11).map(|stream| FlowHead { stream, ..head.flows[0] }).collect();
        let mut fio = Fio::new(None);
        let mut out = String::new();
        fio.header(&head, &mut out).unwrap();
        let flow = |ok| FlowInterval { ok, issued: ok, ..FlowInterval::default() };
        let flows = (1..=11).map(flow).collect();
        fio.interval(&Interval { end_ns: 1_000_000_000, phase: 0, flows, ..Interval::default() }, &mut out).unwrap();
        fio.end(&mut out).unwrap();
        let json: Value = serde_json::from_str(&out).unwrap();
        let shown = |job: &Value| {
            let ios = |way: &str| job[way]["total_ios"].as_u64().unwrap();
            let name = job["jobname"].as_str().unwrap().split(": ").last().unwrap().to_owned();
            (name, ios("read"), ios("write"), ios("sync"))
        };
        let expected =
            [("a", 0, 1, 2), ("b", 4, 5, 6), ("c", 0, 7, 0), ("syncs", 0, 0, 9), ("d", 10, 0, 0), ("d", 0, 11, 0)];
        let expected: Vec<_> = expected.iter().map(|(name, r, w, s)| ((*name).to_owned(), *r, *w, *s)).collect();
        assert_eq!(json["jobs"].as_array().unwrap().iter().map(shown).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_job_of_both_directions_is_one_job_and_a_step_is_a_group() {
        let mut head = header();
        let mut writes = head.streams[0].clone();
        (head.streams[0].name, writes.name) = ("a.reads".into(), "a.writes".into());
        (head.streams[0].direction, writes.direction) = (Some(Direction::Read), Some(Direction::Write));
        let mut single = writes.clone();
        single.name = "b.writes".into();
        head.streams.extend([writes, single]);
        head.flows = (0..3).map(|stream| FlowHead { stream, ..head.flows[0] }).collect();
        let mut fio = Fio::new(None);
        let mut out = String::new();
        for _ in 0..2 {
            fio.header(&head, &mut out).unwrap();
            let flow = |ok| FlowInterval { ok, bytes: ok * 512, issued: ok, ..FlowInterval::default() };
            let flows = vec![flow(7), flow(5), flow(3)];
            let end_ns = 1_000_000_000;
            fio.interval(&Interval { end_ns, phase: 0, flows, ..Interval::default() }, &mut out).unwrap();
        }
        fio.end(&mut out).unwrap();
        let json: Value = serde_json::from_str(&out).unwrap();
        let jobs = json["jobs"].as_array().unwrap();
        let shown = |job: &Value| {
            let ios = |way: &str| job[way]["total_ios"].as_u64().unwrap();
            let name = job["jobname"].as_str().unwrap().split(": ").last().unwrap().to_owned();
            (name, job["groupid"].as_u64().unwrap(), ios("read"), ios("write"), ios("sync"))
        };
        let expected = [("a", 0, 7, 5), ("b.writes", 0, 0, 3), ("a", 1, 7, 5), ("b.writes", 1, 0, 3)];
        let expected: Vec<_> =
            expected.iter().map(|(name, group, r, w)| ((*name).to_owned(), *group, *r, *w, 0)).collect();
        assert_eq!(jobs.iter().map(shown).collect::<Vec<_>>(), expected);
        assert_eq!(jobs[0]["job options"]["rw"], "randrw");
    }
}
