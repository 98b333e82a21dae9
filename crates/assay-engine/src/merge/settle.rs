//! Decides from each complete interval when a phase that waits for a steady load may end.
//!
//! The rule is that of `assay_base::steady`. Every stream that a criterion judges (every stream where there is no
//! criterion) must satisfy it over all targets together. For a criterion on all streams, or on all streams of one of several
//! workloads, these together must satisfy it. So must the hit rate of a cache before the targets.
//!
//! A decision takes effect a little later, at the end of an interval that no worker has reached yet. Thus every worker
//! can be told in time, the phase ends at the same place for all of them, and in virtual time it always ends at the
//! same place.

use assay_base::steady::{ROUNDS, Rounds, Window};
use assay_base::{Criterion, Instant, Span};
use assay_model::plan::{Group, READ_BACK};
use assay_model::{Plan, WarmUp};
use assay_record::{Event, Interval};
use std::collections::BTreeMap;

/// Between a decision and its effect: at least this many intervals, and at least this long.
const NOTICE: (u64, Span) = (2, Span::from_secs(2));

/// A hit rate is also steady if the rounds differ by at most this much (0.5 percentage points): where hits are few,
/// their share varies by chance.
const SAME_HITS: f64 = 0.005;

/// Observes the warm-up of a plan that waits.
#[derive(Debug)]
pub struct Settling {
    streams: Vec<WatchedStream>,
    /// The hit rate of the cache before the targets, where there is one. Its rounds hold hits for each read, as those
    /// of a stream hold the response time for each operation.
    hits: Option<Rounds>,
    round: Span,
    limit: Span,
    notice: Span,
    start: Option<Instant>,
    is_decided: bool,
}

#[derive(Debug)]
struct WatchedStream {
    name: String,
    open_loop: bool,
    flows: Vec<usize>,
    rounds: Rounds,
}

/// The decision that ends the wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The time at which the phase ends; `None` if it lasts for its maximum, because the load did not become steady.
    pub end: Option<Instant>,
    /// The event for the log: `steady` or `not-steady`.
    pub event: Event,
}

impl Settling {
    /// Creates the decision for a plan whose warm-up waits for a steady state; `None` for any other plan.
    pub fn new(plan: &Plan) -> Option<Settling> {
        let WarmUp::UntilSteady { limit, round } = plan.timing.warm_up() else { return None };
        let mut streams = Vec::new();
        for stream in plan.load.streams.iter().filter(|stream| is_judged(plan, &stream.name)) {
            let flows = flows_where(plan, |name| name == stream.name);
            streams.push(WatchedStream::new(&stream.name, stream.arrival.mean_rate().is_some(), flows, round));
        }
        if judges_all_together(plan) {
            let with_rate = plan.load.streams.iter().any(|stream| stream.arrival.mean_rate().is_some());
            let flows = flows_where(plan, |name| name != READ_BACK);
            streams.push(WatchedStream::new(Criterion::ALL, with_rate, flows, round));
        }
        for group in judged_groups(plan) {
            let flows = flows_where(plan, |name| group.streams.iter().any(|own| own == name));
            let mut own = plan.load.streams.iter().filter(|stream| group.streams.contains(&stream.name));
            let with_rate = own.any(|stream| stream.arrival.mean_rate().is_some());
            streams.push(WatchedStream::new(&group.name, with_rate, flows, round));
        }
        let hits = plan.caches.device.is_some().then(|| Rounds::new(round.as_ns(), true));
        let interval = plan.timing.interval.as_ns().max(1);
        let notice = Span::from_ns(NOTICE.1.as_ns().next_multiple_of(interval).max(NOTICE.0 * interval));
        Some(Settling { streams, hits, round, limit, notice, start: None, is_decided: false })
    }

    /// Takes an interval of the waiting phase; returns the decision once.
    pub fn receive_interval(&mut self, interval: &Interval) -> Option<Settled> {
        if self.is_decided || interval.phase != 0 {
            return None;
        }
        let start = *self.start.get_or_insert(Instant::from_ns(interval.start_ns));
        let now = Instant::from_ns(interval.end_ns);
        let length_ns = now.since(Instant::from_ns(interval.start_ns)).as_ns();
        let mut round_ended = false;
        for watched in &mut self.streams {
            let flows = watched.flows.iter().filter_map(|flow| interval.flows.get(*flow));
            let operations = flows.clone().map(|flow| flow.ok).sum();
            let response = flows.map(|flow| u128::from(flow.response.sum_ns)).sum();
            round_ended |= watched.rounds.add_interval(length_ns, operations, response);
        }
        if let Some((hits, cache)) = self.hits.as_mut().zip(interval.cache.as_deref()) {
            hits.add_interval(length_ns, cache.reads, cache.read_hits.into());
        }
        let streams = self.streams.iter().all(WatchedStream::is_steady);
        let steady = round_ended && streams && self.hits.as_ref().is_none_or(hits_are_steady);
        let limit = start + self.limit;
        if !steady && now < limit {
            return None;
        }
        self.is_decided = true;
        let end = steady.then(|| (now + self.notice).min(limit));
        Some(Settled { end, event: self.settled_event(now, now.since(start), steady) })
    }

    fn settled_event(&self, now: Instant, waited: Span, steady: bool) -> Event {
        let mut details = BTreeMap::new();
        let mut said = Vec::new();
        for watched in &self.streams {
            let Some(window) = watched.rounds.last_window() else { continue };
            for (figure, value) in
                [("average", window.average), ("excursion", window.excursion), ("slope", window.slope)]
            {
                details.insert(format!("{} {figure}", watched.name), format!("{value:.4}"));
            }
            said.push(watched.in_words(&window));
        }
        if let Some(window) = self.hits.as_ref().and_then(Rounds::last_window) {
            details.insert("hit rate average".into(), format!("{:.4}", window.average));
            said.push(format!("hit rate {:.1}%, slope {:+.1}%", window.average * 100.0, window.slope * 100.0));
        }
        let rounds = format!("{ROUNDS} rounds of {}", self.round);
        let (what, begin) = if steady {
            ("steady", format!("steady after {waited}, over {rounds}"))
        } else {
            ("not-steady", format!("not steady within {}; over the last {rounds}", self.limit))
        };
        let said = if said.is_empty() { "too little completed".to_owned() } else { said.join("; ") };
        Event { at_ns: now.as_ns(), what: what.into(), text: format!("{begin}: {said}"), details }
    }
}

/// Whether a hit rate is steady. Where nothing was read there is no hit rate, and nothing to wait for.
fn hits_are_steady(hits: &Rounds) -> bool {
    hits.last_window().is_none_or(|window| window.is_steady() || window.excursion * window.average <= SAME_HITS)
}

/// Whether a criterion judges the stream with this name, or there is no criterion at all.
fn is_judged(plan: &Plan, name: &str) -> bool {
    match plan.criteria.as_slice() {
        // The read-back at the end does not take part in a warm-up.
        [] => name != READ_BACK,
        criteria => criteria.iter().any(|criterion| criterion.stream == name),
    }
}

/// Whether a criterion judges all streams together.
fn judges_all_together(plan: &Plan) -> bool {
    // If a stream has the name that stands for all of them, the criterion is on that stream.
    let is_a_name = plan.load.streams.iter().any(|stream| stream.name == Criterion::ALL);
    !is_a_name && plan.criteria.iter().any(|criterion| criterion.stream == Criterion::ALL)
}

/// The groups of streams that a criterion judges together.
fn judged_groups(plan: &Plan) -> impl Iterator<Item = &Group> {
    let is_a_name = |name: &str| plan.load.streams.iter().any(|stream| stream.name == name);
    let judged = plan.load.groups.iter().filter(|group| group.name != Criterion::ALL && is_judged(plan, &group.name));
    judged.filter(move |group| !plan.criteria.is_empty() && !is_a_name(&group.name))
}

/// The flows of the streams whose names are chosen.
fn flows_where(plan: &Plan, is_chosen: impl Fn(&str) -> bool) -> Vec<usize> {
    let chosen = plan
        .load
        .stream_targets()
        .enumerate()
        .filter(|(_, (stream, _))| is_chosen(&plan.load.streams[usize::from(*stream)].name));
    chosen.map(|(flow, _)| flow).collect()
}

impl WatchedStream {
    fn new(name: &str, open_loop: bool, flows: Vec<usize>, round: Span) -> WatchedStream {
        WatchedStream { name: name.to_owned(), open_loop, flows, rounds: Rounds::new(round.as_ns(), open_loop) }
    }

    fn is_steady(&self) -> bool {
        self.rounds.last_window().is_some_and(|window| window.is_steady())
    }

    fn in_words(&self, window: &Window) -> String {
        let average = if self.open_loop {
            format!("mean response {}", Span::from_ns(window.average as u64).human_text())
        } else {
            format!("{:.1}/s", window.average)
        };
        let (excursion, slope) = (window.excursion * 100.0, window.slope * 100.0);
        format!("{} {average}, excursion {excursion:.1}%, slope {slope:+.1}%", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::{Adjust, read_workload};
    use assay_record::{CacheCounters, FlowInterval, Timing};

    const FILE: &str = "model = \"streams\"\nduration = \"1h\"\ninterval = \"1s\"\n\
        warm_up = { until = \"steady\", limit = \"60s\", round = \"2s\" }\n\
        [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"100/s\"\n\
        [[stream]]\nname = \"noise\"\ndirection = \"read\"\nsize = \"4KiB\"\nin_flight = 1\n\
        [[criterion]]\nstream = \"reads\"\nmean_at_most = \"1ms\"\n";

    fn settling() -> Settling {
        Settling::new(
            &read_workload("t", FILE).unwrap().make_plan(&Adjust { targets: 2, ..Adjust::default() }).unwrap(),
        )
        .unwrap()
    }

    /// Interval `index`, in which 100 reads on each of two targets take `mean_ns`; the stream without a criterion
    /// varies widely.
    fn interval(index: u64, mean_ns: u64) -> Interval {
        let reads = FlowInterval {
            ok: 100,
            response: Timing { sum_ns: 100 * mean_ns, ..Timing::default() },
            ..FlowInterval::default()
        };
        let noise = FlowInterval { ok: index % 3 * 1000, ..FlowInterval::default() };
        let flows = vec![reads.clone(), reads, noise.clone(), noise];
        let start_ns = 7 + index * 1_000_000_000;
        Interval { index, start_ns, end_ns: start_ns + 1_000_000_000, flows, ..Interval::default() }
    }

    #[test]
    fn what_falls_and_then_stays_is_steady_when_five_rounds_are() {
        let mut settling = settling();
        // The response halves in each round, down to 1 µs in round 6 (counted from 0): rounds 6 to 10 are the first
        // five equal ones.
        let mean = |index: u64| 1_000 << 6u64.saturating_sub(index / 2).min(6);
        let reported: Vec<(u64, Settled)> = (0..60)
            .filter_map(|index| Some((index, settling.receive_interval(&interval(index, mean(index)))?)))
            .collect();
        let [(index, settled)] = reported.as_slice() else { panic!("{reported:?}") };
        assert_eq!((*index, settled.end), (21, Some(Instant::from_ns(7 + 24_000_000_000))), "two seconds of notice");
        assert_eq!(settled.event.what, "steady");
        let text = "steady after 22s, over 5 rounds of 2s: reads mean response 1 µs, excursion 0.0%, slope +0.0%";
        assert_eq!(settled.event.text, text);
        assert_eq!(settled.event.details["reads average"], "1000.0000");
    }

    /// A criterion on all streams waits for all of them together, and not for each of them.
    #[test]
    fn a_criterion_on_all_streams_waits_for_all_together() {
        let file = FILE.replace("stream = \"reads\"\nmean", "stream = \"all\"\nmean");
        let plan = read_workload("t", &file).unwrap().make_plan(&Adjust { targets: 2, ..Adjust::default() }).unwrap();
        let mut settling = Settling::new(&plan).unwrap();
        let level =
            |index: u64| Interval { flows: vec![interval(index, 1000).flows[0].clone(); 4], ..interval(index, 0) };
        let settled = (0..60).find_map(|index| settling.receive_interval(&level(index))).unwrap();
        let text = "steady after 10s, over 5 rounds of 2s: all mean response 1 µs, excursion 0.0%, slope +0.0%";
        assert_eq!(settled.event.text, text);
    }

    /// A cache that is still filling keeps the warm-up waiting although the response is steady; a cache without hits
    /// does not.
    #[test]
    fn the_hit_rate_of_a_cache_must_be_steady_too() {
        let mut plan =
            read_workload("t", FILE).unwrap().make_plan(&Adjust { targets: 2, ..Adjust::default() }).unwrap();
        plan.caches.device = Some(assay_model::cache::CacheDevice::on_path("ssd"));
        let steady_after = |reads: u64, hits: &dyn Fn(u64) -> u64| {
            let mut settling = Settling::new(&plan).unwrap();
            let with = |index| {
                let counted = CacheCounters { reads, read_hits: hits(index), ..CacheCounters::default() };
                Interval { cache: Some(Box::new(counted)), ..interval(index, 1000) }
            };
            (0..80).find_map(|index| settling.receive_interval(&with(index))).map(|settled| settled.event.text).unwrap()
        };
        // The hit rate rises by 2 points a second, up to 40 % after 20 s; the five rounds from 18 s on are the first
        // steady ones.
        let fills = steady_after(100, &|second| (2 * second).min(40));
        assert!(fills.starts_with("steady after 28s") && fills.ends_with("; hit rate 39.4%, slope +6.1%"), "{fills}");
        for (reads, hits) in [(100, 0), (0, 0), (1000, 1)] {
            let said = steady_after(reads, &|second| hits * (second % 3));
            assert!(said.starts_with("steady after 10s"), "{reads} {hits}: {said}");
        }
        let alternating = steady_after(100, &|second| 20 + 10 * (second / 2 % 2));
        assert!(alternating.starts_with("not steady within 1min"), "{alternating}");
    }

    #[test]
    fn what_never_stays_is_said_at_the_limit() {
        let mut settling = settling();
        let reported: Vec<(u64, Settled)> = (0..80)
            .filter_map(|index| Some((index, settling.receive_interval(&interval(index, 1000 + 200 * index))?)))
            .collect();
        let [(59, Settled { end: None, event })] = reported.as_slice() else { panic!("{reported:?}") };
        assert!(event.what == "not-steady" && event.text.starts_with("not steady within 1min"), "{}", event.text);
    }

    #[test]
    fn an_ordinary_warm_up_is_not_watched() {
        let file = FILE.replace("{ until = \"steady\", limit = \"60s\", round = \"2s\" }", "\"60s\"");
        assert!(Settling::new(&read_workload("t", &file).unwrap().make_plan(&Adjust::default()).unwrap()).is_none());
    }
}
