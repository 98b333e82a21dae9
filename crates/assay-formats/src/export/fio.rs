//! What `fio --output-format=json` prints, as far as tools that plot or compare it look: a job for each stream.
//!
//! The keys and their units were read off fio 3.33: `bw` in KiB/s, `bw_bytes` in bytes, `runtime` in milliseconds, lengths in
//! nanoseconds. fio's three lengths are ours under other names: `slat_ns` is lag (until it was issued), `clat_ns` service,
//! `lat_ns` response. Unlike fio's, our response begins when the operation was due, not when a slot was free.

use super::{Sink, add, is_measured, stream_of, unwritten};
use assay_base::Direction;
use assay_record::{Header, Histograms, Interval, StreamHead, Times, Timing};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// fio's default list, in percent.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
/// Upper bounds of fio's coarse histogram, in each of its three units.
const COARSE: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// Writes fio's JSON at the end.
#[derive(Debug, Default)]
pub struct Fio {
    header: Option<Header>,
    /// Wall clock in seconds since 1970, if known.
    started: Option<i64>,
    jobs: Vec<Job>,
    measured_ns: u64,
    /// Processor time of the generator.
    cpu_ns: u64,
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
    /// Operations a second, and KiB a second, interval by interval.
    iops: Samples,
    kib: Samples,
    /// Response, service, lag: sum and largest.
    exact: [(u64, u64); 3],
    times: [Times; 3],
}

/// Mean and deviation of rates, as Welford adds them up.
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
        for (stream, job) in header.streams.iter().zip(self.jobs.drain(..)) {
            let mut job = job.json(header, stream, self.measured_ns);
            // User and system time are not counted apart.
            job["usr_cpu"] = (self.cpu_ns as f64 * 100.0 / self.measured_ns.max(1) as f64).into();
            job["sys_cpu"] = 0.0.into();
            self.done.push(job);
        }
        (self.measured_ns, self.cpu_ns) = (0, 0);
    }
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
        Ok(())
    }

    fn interval(&mut self, interval: &Interval, _: &mut dyn Write) -> Result<(), String> {
        let header = self.header.as_ref().ok_or("an interval before any header")?;
        if !is_measured(header, interval.phase) {
            return Ok(());
        }
        let ns = interval.end_ns.saturating_sub(interval.start_ns);
        self.measured_ns += ns;
        self.cpu_ns += interval.host.map_or(0, |host| host.cpu_ns);
        let mut done = vec![(0u64, 0u64); self.jobs.len()];
        for (index, flow) in interval.flows.iter().enumerate() {
            let stream = stream_of(header, index)?;
            done[stream].0 = done[stream].0.saturating_add(flow.ok);
            done[stream].1 = done[stream].1.saturating_add(flow.bytes);
            let job = &mut self.jobs[stream];
            job.operations = job.operations.saturating_add(flow.ok);
            job.issued = job.issued.saturating_add(flow.issued);
            job.bytes = job.bytes.saturating_add(flow.bytes);
            job.short = job.short.saturating_add(flow.short);
            job.failed = job.failed.saturating_add(flow.failed());
            let timings: [&Timing; 3] = [&flow.response, &flow.service, &flow.lag];
            for (exact, timing) in job.exact.iter_mut().zip(timings) {
                *exact = (exact.0.saturating_add(timing.sum_ns), exact.1.max(timing.max_ns));
            }
        }
        if ns > 0 {
            for (job, (operations, bytes)) in self.jobs.iter_mut().zip(done) {
                job.iops.add(operations as f64 * 1e9 / ns as f64);
                job.kib.add(bytes as f64 / 1024.0 * 1e9 / ns as f64);
            }
        }
        Ok(())
    }

    fn histograms(&mut self, histograms: &Histograms, _: &mut dyn Write) -> Result<(), String> {
        let header = self.header.as_ref().ok_or("distributions before any header")?;
        if !is_measured(header, histograms.phase) {
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
            // Tools look for the word; who wrote it stands behind.
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
        let (read, write) = match stream.direction {
            Direction::Read => (self, &idle),
            Direction::Write => (&idle, self),
        };
        let mut job = json!({
            "jobname": format!("{step}{}", stream.name),
            "groupid": 0,
            "error": u8::from(self.failed > 0) * 5,
            "eta": 0,
            "elapsed": ns.div_ceil(1_000_000_000),
            "job options": self.options(header, stream, ns),
            "read": read.direction(ns),
            "write": write.direction(ns),
            "trim": idle.direction(ns),
            "total_err": self.failed,
        });
        for (unit, name) in [(1, "latency_ns"), (1000, "latency_us"), (1_000_000, "latency_ms")] {
            job[name] = coarse(&self.times[0], unit);
        }
        job
    }

    fn options(&self, header: &Header, stream: &StreamHead, ns: u64) -> Value {
        let bound = header.engine.get("in-flight bound").and_then(|bound| bound.split(',').next()).unwrap_or_default();
        let file = header.targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>().join(":");
        let mut options = json!({
            "name": stream.name,
            "filename": file,
            "rw": match stream.direction { Direction::Read => "randread", Direction::Write => "randwrite" },
            "bs": stream.size,
            "iodepth": bound,
            "numjobs": "1",
            "direct": "1",
            "runtime": (ns / 1_000_000_000).to_string(),
        });
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

/// Percent of all lengths in fio's coarse cells of one unit: from the bound before up to this one.
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
