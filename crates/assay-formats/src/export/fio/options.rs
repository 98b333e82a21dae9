//! The `job options` of a job: what it was asked to do, in fio's words.

use super::role::{Job, Layout, Role};
use assay_base::Direction;
use assay_model::address::Address;
use assay_model::lives::life_of;
use assay_model::mix::Loop;
use assay_model::{Arrival, Life, Plan, Stream};
use assay_record::{FlowHead, Header, PlanHead, StreamHead};
use serde_json::{Value, json};

/// A job with its plan, where the log has one.
struct PlannedJob<'a> {
    header: &'a Header,
    plan: Option<&'a Plan>,
    job: &'a Job,
}

/// The options of a job that ran for `ran_ns`.
pub(super) fn job_options(header: &Header, plan: Option<&Plan>, layout: &Layout, job: &Job, ran_ns: u64) -> Value {
    let asked = PlannedJob { header, plan, job };
    let copies = job.copies.as_ref().map_or_else(|| asked.copies_of_loop(), |copies| copies.number as u64);
    let mut options = json!({
        "name": job.copies.as_ref().map_or(&job.name, |copies| &copies.job),
        "filename": asked.target_names(layout).join(":"),
        "rw": asked.rw_value(),
        "bs": asked.sizes_value(),
        "iodepth": asked.queue_depth(layout).to_string(),
        "numjobs": copies.to_string(),
        "direct": "1",
    });
    if asked.is_through_page_cache(layout) {
        options["direct"] = "0".into();
        let mark = header.watermarks.iter().find(|mark| mark.starts_with("PAGE CACHE"));
        options["description"] = mark.map_or("PAGE CACHE", String::as_str).into();
    }
    asked.set_end(&mut options, ran_ns);
    let rates: Vec<String> =
        asked.moving_streams().filter_map(|stream| stream.rate).map(|rate| rate.to_string()).collect();
    if !rates.is_empty() {
        let rates: Vec<&str> = rates.iter().map(|rate| rate.trim_end_matches("/s")).collect();
        options["rate_iops"] = rates.join(",").into();
        options["rate_process"] = asked.first_stream().arrival.as_str().into();
    }
    options
}

impl<'a> PlannedJob<'a> {
    fn first_stream(&self) -> &'a StreamHead {
        &self.header.streams[self.job.streams[0]]
    }

    /// Its streams that read or write; its first stream, where it has none.
    fn moving_streams(&self) -> impl Iterator<Item = &'a StreamHead> {
        let streams = self.job.streams.iter().map(|stream| &self.header.streams[*stream]);
        let none = !streams.clone().any(moves_data);
        streams.enumerate().filter(move |(at, stream)| moves_data(stream) || none && *at == 0).map(|(_, stream)| stream)
    }

    /// A stream of the plan.
    fn planned_stream(&self, stream: usize) -> Option<&'a Stream> {
        self.plan?.load.streams.get(stream)
    }

    /// The loop that its streams belong to.
    fn closed_loop(&self) -> Option<&'a Loop> {
        let name = self.planned_stream(self.job.streams[0])?.arrival.loop_name()?;
        self.plan?.load.loops.iter().find(|looped| looped.name == *name)
    }

    fn copies_of_loop(&self) -> u64 {
        self.closed_loop().map_or(1, |looped| u64::from(looped.copies))
    }

    /// The targets of its streams, as indices.
    fn target_indices(&self, layout: &Layout) -> Vec<usize> {
        let mut all: Vec<usize> = Vec::new();
        for (flow, FlowHead { target, .. }) in self.header.flows.iter().enumerate() {
            let own = layout.stream_of(flow).is_ok_and(|stream| self.job.streams.contains(&stream));
            if own && !all.contains(&usize::from(*target)) {
                all.push(usize::from(*target));
            }
        }
        all
    }

    fn target_names(&self, layout: &Layout) -> Vec<&'a str> {
        let indices = self.target_indices(layout).into_iter();
        indices.filter_map(|target| Some(self.header.targets.get(target)?.name.as_str())).collect()
    }

    /// Whether a target was used through the page cache of the kernel.
    fn is_through_page_cache(&self, layout: &Layout) -> bool {
        let own = self.target_indices(layout);
        let cached = PlanHead::parse(&self.header.plan).page_cached;
        cached.iter().any(|target| own.iter().any(|own| *own as u64 == *target))
    }

    /// `read`, `randwrite`, `randrw` …; for another kind of operation its own word.
    fn rw_value(&self) -> String {
        let directions: Vec<Direction> = self.moving_streams().filter_map(|stream| stream.direction).collect();
        let own = self.job.streams.iter().filter_map(|stream| self.planned_stream(*stream)?.as_block());
        let mut own = own.peekable();
        let sequential = own.peek().is_some() && own.all(|block| is_sequential(&block.address));
        let word = match directions.as_slice() {
            [] => return self.first_stream().operation_word(),
            [Direction::Read] => "read",
            [Direction::Write] => "write",
            _ => "rw",
        };
        if sequential { word.to_owned() } else { format!("rand{word}") }
    }

    fn sizes_value(&self) -> String {
        let mut sizes: Vec<&str> = self.moving_streams().map(|stream| stream.size.as_str()).collect();
        sizes.dedup();
        sizes.join(",")
    }

    /// How many of its operations may be in flight together, of one copy.
    fn queue_depth(&self, layout: &Layout) -> u64 {
        let Some(plan) = self.plan else { return self.depth_of_engine() };
        let targets = self.target_indices(layout).len().max(1) as u64;
        let Some(stream) = self.planned_stream(self.job.streams[0]) else { return self.depth_of_engine() };
        let lane = plan.load.lanes.iter().find(|lane| lane.streams.contains(&stream.name));
        let bound = lane.map_or(plan.load.in_flight_bound, |lane| lane.in_flight_bound);
        match (&stream.arrival, self.closed_loop()) {
            (_, Some(looped)) if looped.turns.is_some() => u64::from(looped.in_flight),
            (_, Some(looped)) => u64::from(looped.in_flight) * targets,
            (Arrival::Closed { in_flight }, _) => u64::from(*in_flight) * targets,
            (Arrival::Paced { .. }, _) => targets,
            _ => u64::from(bound) * targets,
        }
    }

    /// The bound of the engine, which says `512`, or `512 on each target`.
    fn depth_of_engine(&self) -> u64 {
        let bound = self.header.engine.get("in-flight bound").map_or("", String::as_str);
        let digits: String = bound.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(1)
    }

    /// Sets the options for the end: a time, a number of operations or bytes, or the end of the run.
    fn set_end(&self, options: &mut Value, ran_ns: u64) {
        let whole = Life::default();
        let life =
            self.plan.and_then(|plan| Some(life_of(self.planned_stream(self.job.streams[0])?, &plan.load.loops)));
        let Life { lasts, operations, bytes, .. } = life.unwrap_or(&whole);
        if let Some(operations) = operations {
            options["number_ios"] = operations.to_string().into();
        }
        if let Some(bytes) = bytes {
            options["io_size"] = bytes.get().to_string().into();
        }
        let seconds = match lasts {
            Some(lasts) => Some(lasts.as_secs_f64()),
            None if operations.is_none() && bytes.is_none() => Some((ran_ns / 1_000_000_000) as f64),
            None => None,
        };
        if let Some(seconds) = seconds {
            options["runtime"] = seconds.to_string().into();
        }
    }
}

fn moves_data(stream: &StreamHead) -> bool {
    matches!(Role::with_job(stream).0, Role::Reads | Role::Writes)
}

/// Whether an operation lies behind, or before, the one before it.
fn is_sequential(address: &Address) -> bool {
    matches!(address, Address::Sequential | Address::Appended | Address::Strided { .. })
}
