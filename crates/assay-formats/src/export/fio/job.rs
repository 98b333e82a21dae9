//! The figures of a job: the sums of its streams, and how fio shows them.

use super::role::{Job, Role, is_flush};
use assay_base::Direction;
use assay_record::{FlowInterval, Header, Times, Timing};
use serde_json::{Map, Value, json};

/// fio's default list, in percent.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
/// Upper bounds of fio's coarse histogram, in each of its three units.
const COARSE: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// The units of that histogram.
const UNITS: [(u64, &str); 3] = [(1, "latency_ns"), (1000, "latency_us"), (1_000_000, "latency_ms")];

/// For how long a job ran.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JobTime {
    /// The time in which any of its streams ran, as in fio, where both directions of a job have its run time.
    pub(super) ran_ns: u64,
}

/// One stream over all targets.
#[derive(Debug, Default)]
pub(super) struct StreamSums {
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
    pub(super) times: [Times; 3],
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
    fn add_rate(&mut self, rate: f64) {
        self.min = if self.count == 0 { rate } else { self.min.min(rate) };
        self.max = self.max.max(rate);
        self.count += 1;
        let off = rate - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (rate - self.mean);
    }

    fn rate_deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }
}

impl StreamSums {
    /// Adds the figures that count whether or not the load was offered.
    pub(super) fn add_totals(&mut self, flow: &FlowInterval) {
        self.issued = self.issued.saturating_add(flow.issued);
        self.short = self.short.saturating_add(flow.short);
        self.failed = self.failed.saturating_add(flow.failed_operations());
    }

    /// What counts while it ran: `timings` are response, service and lag.
    pub(super) fn add_timings(&mut self, flow: &FlowInterval, timings: [&Timing; 3]) {
        self.operations = self.operations.saturating_add(flow.ok);
        self.bytes = self.bytes.saturating_add(flow.bytes);
        for (exact, timing) in self.exact.iter_mut().zip(timings) {
            *exact = (exact.0.saturating_add(timing.sum_ns), exact.1.max(timing.max_ns));
        }
    }

    /// Adds the rates of an interval.
    pub(super) fn add_sample(&mut self, operations: u64, bytes: u64, ns: u64) {
        self.iops.add_rate(per_second(operations, ns));
        self.kib.add_rate(per_second(bytes, ns) / 1024.0);
    }

    /// A job that was shorter than an interval has one sample: all of it.
    pub(super) fn sample_whole(&mut self, ran_ns: u64) {
        if self.iops.count == 0 && self.operations > 0 && ran_ns > 0 {
            self.add_sample(self.operations, self.bytes, ran_ns);
        }
    }

    fn sync_json(&self) -> Value {
        json!({ "total_ios": self.operations, "lat_ns": self.length_json(1, true) })
    }

    fn direction_json(&self, ns: u64) -> Value {
        let (iops, bytes) = (per_second(self.operations, ns), per_second(self.bytes, ns));
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
            "slat_ns": self.length_json(2, false),
            "clat_ns": self.length_json(1, true),
            "lat_ns": self.length_json(0, true),
            "bw_min": self.kib.min as u64,
            "bw_max": self.kib.max as u64,
            "bw_agg": if self.issued == 0 { 0.0 } else { 100.0 },
            "bw_mean": self.kib.mean,
            "bw_dev": self.kib.rate_deviation(),
            "bw_samples": self.kib.count,
            "iops_min": self.iops.min as u64,
            "iops_max": self.iops.max as u64,
            "iops_mean": self.iops.mean,
            "iops_stddev": self.iops.rate_deviation(),
            "iops_samples": self.iops.count,
        })
    }

    fn length_json(&self, which: usize, percentiles: bool) -> Value {
        let (times, (sum, max)) = (&self.times[which], self.exact[which]);
        let (count, histogram) = (times.total_count(), times.to_hdr_histogram());
        let mean = if count == 0 { 0.0 } else { sum as f64 / count as f64 };
        let least = if histogram.is_empty() { 0 } else { histogram.min() };
        let mut length = json!({ "min": least, "max": max, "mean": mean, "stddev": histogram.stdev(), "N": count });
        if percentiles && count > 0 {
            let mut percentiles = Map::new();
            for percent in PERCENTILES {
                let value = times.quantile(percent / 100.0).map(|span| span.as_ns().min(max).into());
                percentiles.insert(format!("{percent:.6}"), value.unwrap_or(Value::Null));
            }
            length["percentile"] = percentiles.into();
        }
        length
    }
}

fn per_second(n: u64, ns: u64) -> f64 {
    if ns == 0 { 0.0 } else { n as f64 * 1e9 / ns as f64 }
}

impl Job {
    /// The job without its options; `all` are the sums of all streams of the step.
    pub(super) fn job_json(&self, header: &Header, all: &[StreamSums], ran_ns: u64) -> Value {
        let step = header.step.as_ref().map_or(String::new(), |step| format!("step {}: ", step.number));
        let own = self.streams.iter().map(|stream| (&header.streams[*stream], &all[*stream]));
        let idle = StreamSums::default();
        let mut json = json!({
            "jobname": format!("{step}{}", self.name),
            "eta": 0,
            "elapsed": ran_ns.div_ceil(1_000_000_000),
            "read": idle.direction_json(ran_ns),
            "write": idle.direction_json(ran_ns),
            "trim": idle.direction_json(ran_ns),
            "sync": idle.sync_json(),
        });
        let mut times = Times::default();
        for (stream, sums) in own.clone() {
            match stream.direction {
                Some(Direction::Write) => json["write"] = sums.direction_json(ran_ns),
                // fio does not count the flush at the end of a job.
                None if is_flush(stream) && Role::with_job(stream).0 == Role::End && self.streams.len() > 1 => continue,
                None if is_flush(stream) => json["sync"] = sums.sync_json(),
                // fio has no further kind of operation: another one is listed with the reads, under its own name.
                Some(Direction::Read) | None => json["read"] = sums.direction_json(ran_ns),
            }
            if !is_flush(stream) || self.streams.len() == 1 {
                times.add(&sums.times[0]);
            }
        }
        let failed = own.fold(0u64, |sum, (_, sums)| sum.saturating_add(sums.failed));
        (json["total_err"], json["error"]) = (failed.into(), (u8::from(failed > 0) * 5).into());
        for (unit, name) in UNITS {
            json[name] = coarse_percents(&times, unit);
        }
        json
    }
}

fn percent_of(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// Percent of all times in fio's coarse cells of one unit: above the previous bound, up to this one.
fn coarse_percents(times: &Times, unit: u64) -> Value {
    let (count, histogram) = (times.total_count(), times.to_hdr_histogram());
    let below = |bound: u64| if bound == 0 { 0 } else { histogram.count_between(0, bound - 1) };
    let mut cells = Map::new();
    // The first cell of a unit begins where the unit below ends.
    let mut from = if unit == 1 { 0 } else { unit };
    let more = if unit == 1_000_000 { &[2000][..] } else { &[] };
    for bound in COARSE.iter().chain(more).filter(|bound| unit != 1 || **bound <= 1000) {
        cells.insert(bound.to_string(), percent_of(below(bound * unit) - below(from), count).into());
        from = bound * unit;
    }
    if unit == 1_000_000 {
        cells.insert(">=2000".into(), percent_of(count - below(from), count).into());
    }
    Value::Object(cells)
}
