//! What `fio --output-format=json` prints, as far as tools that plot or compare it need it: a job for each stream.
//!
//! The keys and their units were taken from fio 3.33: `bw` in KiB/s, `bw_bytes` in bytes, `runtime` in milliseconds,
//! times in nanoseconds. fio's three times correspond to ours under other names: `slat_ns` is lag (until the operation
//! was issued), `clat_ns` service, `lat_ns` response. Unlike fio's, our response begins when the operation was due, not
//! when a slot was free. As in fio, rates are over the time in which the job ran.

mod job;
mod options;
mod role;
#[cfg(test)]
mod tests;

use super::{Sink, add_times, is_measured, write_error};
use assay_model::Plan;
use assay_record::{Event, Header, Histograms, Interval, LifeNews, PhaseKind, Running, Stretches, Timing};
use job::{JobTime, StreamSums};
use role::Layout;
use serde_json::{Value, json};
use std::fmt::Write;

/// Writes fio's JSON at the end.
#[derive(Debug, Default)]
pub struct Fio {
    step: Option<StepSums>,
    /// Wall clock in seconds since 1970, if known.
    started: Option<i64>,
    /// Number of steps that are done, and their jobs.
    steps: u64,
    done: Vec<Value>,
}

/// The sums of one step.
#[derive(Debug)]
struct StepSums {
    header: Header,
    /// The plan, where the log has one that can be read.
    plan: Option<Plan>,
    layout: Layout,
    streams: Vec<StreamSums>,
    jobs: Vec<JobTime>,
    clock: Clock,
    running: Running,
    /// The events about flows, until the next interval places them in measured time.
    news: Vec<LifeNews>,
    /// Whether the load was offered in an interval since the last distributions.
    offers: bool,
    /// Time in which the load was offered: what completes later, while the run drains, is in no rate.
    measured_ns: u64,
    /// Processor time of the generator.
    cpu_ns: u64,
}

/// The position of the intervals of a segment in measured time.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// Measured time before the segment.
    before_ns: u64,
    /// The beginning of the measurement on the time line of the segment.
    from_ns: Option<u64>,
    /// Measured time of the segment so far, and for how long it offers its load.
    segment_ns: u64,
    offered_ns: u64,
}

impl Clock {
    fn new(header: &Header) -> Clock {
        let measured = header.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        let offered_ns = measured.fold(0, |sum: u64, phase| sum.saturating_add(phase.span_ns));
        Clock { before_ns: header.measured_before_ns, offered_ns, ..Clock::default() }
    }

    /// A moment of the segment in measured time.
    fn measured_at(&self, at_ns: u64) -> u64 {
        self.before_ns.saturating_add(at_ns.saturating_sub(self.from_ns.unwrap_or(at_ns)))
    }
}

impl Fio {
    /// `started`: the first header's wall clock in seconds since 1970.
    pub fn new(started: Option<i64>) -> Fio {
        Fio { started, ..Fio::default() }
    }

    fn finish_step(&mut self) {
        let Some(step) = self.step.take() else { return };
        // A step is what fio calls a group: jobs that run at the same time.
        self.done.extend(step.finish_jobs(self.steps));
        self.steps += 1;
    }
}

impl StepSums {
    fn new(header: &Header) -> Result<StepSums, String> {
        let plan: Option<Plan> = serde_json::from_value(header.plan.clone()).ok();
        let layout = Layout::new(header, plan.as_ref())?;
        Ok(StepSums {
            plan,
            streams: header.streams.iter().map(|_| StreamSums::default()).collect(),
            jobs: layout.jobs.iter().map(|_| JobTime::default()).collect(),
            layout,
            clock: Clock::new(header),
            running: Running::from_header(header),
            news: Vec::new(),
            offers: false,
            measured_ns: 0,
            cpu_ns: 0,
            header: header.clone(),
        })
    }

    /// Continues with a segment of the same step.
    fn continue_with_segment(&mut self, header: &Header) -> Result<(), String> {
        if header.streams.len() != self.streams.len() || header.flows != self.header.flows {
            return Err("the continued run has other streams than the one it continues".into());
        }
        if header.measured_before_ns == 0 {
            self.running.start_over();
        }
        self.news.clear();
        self.clock = Clock::new(header);
        self.header = header.clone();
        Ok(())
    }

    fn add_interval(&mut self, interval: &Interval) -> Result<(), String> {
        let ns = interval.end_ns.saturating_sub(interval.start_ns);
        self.clock.from_ns.get_or_insert(interval.start_ns);
        for news in std::mem::take(&mut self.news) {
            self.running.note_life_news(news, self.clock.measured_at(news.at_ns));
        }
        let is_offered = self.clock.segment_ns < self.clock.offered_ns;
        // A partial interval, at an interruption, is too short for a rate.
        let is_whole = ns > 0 && ns >= self.header.interval_ns.min(self.clock.offered_ns);
        self.clock.segment_ns = self.clock.segment_ns.saturating_add(ns);
        self.measured_ns += if is_offered { ns } else { 0 };
        self.offers |= is_offered;
        self.cpu_ns += interval.host.map_or(0, |host| host.cpu_ns);
        let from_ns = self.clock.measured_at(interval.start_ns);
        let ran: Vec<Option<(u64, u64)>> = (0..interval.flows.len())
            .map(|flow| self.running.running_part(flow, from_ns, from_ns.saturating_add(ns)).filter(|_| is_offered))
            .collect();
        let mut done = vec![(0u64, 0u64); self.streams.len()];
        for (index, flow) in interval.flows.iter().enumerate() {
            let stream = self.layout.stream_of(index)?;
            let sums = &mut self.streams[stream];
            sums.add_totals(flow);
            if ran[index].is_some() {
                // What completes while the run drains is no part of fio's figures.
                done[stream].0 = done[stream].0.saturating_add(flow.ok);
                done[stream].1 = done[stream].1.saturating_add(flow.bytes);
                let timings: [&Timing; 3] = [&flow.response, &flow.service, &flow.lag];
                sums.add_timings(flow, timings);
            }
        }
        for (job, time) in self.layout.jobs.iter().zip(&mut self.jobs) {
            let mut stretches = Stretches::default();
            job.flows.iter().filter_map(|flow| *ran.get(*flow)?).for_each(|stretch| stretches.add_stretch(stretch));
            let length_ns = stretches.length_ns();
            time.ran_ns = time.ran_ns.saturating_add(length_ns);
            // A part of an interval is too short for a rate as well.
            if is_whole && length_ns == ns {
                for stream in &job.streams {
                    let (operations, bytes) = done[*stream];
                    self.streams[*stream].add_sample(operations, bytes, ns);
                }
            }
        }
        Ok(())
    }

    fn finish_jobs(mut self, group: u64) -> Vec<Value> {
        let jobs = std::mem::take(&mut self.jobs);
        let mut all = Vec::new();
        for (job, JobTime { ran_ns }) in self.layout.jobs.iter().zip(jobs) {
            for stream in &job.streams {
                self.streams[*stream].sample_whole(ran_ns);
            }
            let mut json = job.job_json(&self.header, &self.streams, ran_ns);
            json["job options"] = options::job_options(&self.header, self.plan.as_ref(), &self.layout, job, ran_ns);
            json["groupid"] = group.into();
            // User and system time are not counted apart.
            json["usr_cpu"] = (self.cpu_ns as f64 * 100.0 / self.measured_ns.max(1) as f64).into();
            json["sys_cpu"] = 0.0.into();
            all.push(json);
        }
        all
    }
}

impl Sink for Fio {
    fn begin_segment(&mut self, header: &Header, _: &mut dyn Write) -> Result<(), String> {
        if let Some(step) = self.step.as_mut().filter(|_| header.continues) {
            return step.continue_with_segment(header);
        }
        self.finish_step();
        self.step = Some(StepSums::new(header)?);
        Ok(())
    }

    fn take_event(&mut self, event: &Event, _: &mut dyn Write) -> Result<(), String> {
        let step = self.step.as_mut().ok_or("an event before any header")?;
        step.news.extend(step.running.life_news(event));
        Ok(())
    }

    fn take_interval(&mut self, interval: &Interval, _: &mut dyn Write) -> Result<(), String> {
        let step = self.step.as_mut().ok_or("an interval before any header")?;
        if is_measured(&step.header, interval.phase) { step.add_interval(interval) } else { Ok(()) }
    }

    fn take_histograms(&mut self, histograms: &Histograms, _: &mut dyn Write) -> Result<(), String> {
        let step = self.step.as_mut().ok_or("distributions before any header")?;
        if !is_measured(&step.header, histograms.phase) || !std::mem::take(&mut step.offers) {
            return Ok(());
        }
        histograms.flows.iter().try_for_each(|flow| {
            let stream = step.layout.stream_of(usize::from(flow.flow))?;
            add_times(&mut step.streams[stream].times, flow)
        })
    }

    fn end_log(&mut self, out: &mut dyn Write) -> Result<(), String> {
        let tool = self.step.as_ref().map_or(String::new(), |step| step.header.tool.clone());
        let created = self.step.as_ref().map_or(String::new(), |step| step.header.created.clone());
        self.finish_step();
        let seconds = self.started.unwrap_or(0);
        let document = json!({
            // Tools look for this word; the program that wrote it follows.
            "fio version": format!("fio-3.33 (layout; written by {tool})"),
            "timestamp": seconds,
            "timestamp_ms": seconds.saturating_mul(1000),
            "time": created,
            "global options": {},
            "jobs": self.done,
        });
        let text = serde_json::to_string_pretty(&document).map_err(|e| e.to_string())?;
        writeln!(out, "{text}").map_err(write_error)
    }
}
