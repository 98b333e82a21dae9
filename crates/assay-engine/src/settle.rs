//! Decides from each complete interval when a phase that waits for a steady load may end.
//!
//! The rule is that of `assay_base::steady`; every stream that a criterion judges (all streams where there is none)
//! must satisfy it, over all targets together. A decision takes effect a little later, at an interval boundary that
//! every worker can still be told about before it gets there; so the phase ends at the same place for all of them, and
//! in virtual time always at the same one.

use assay_base::steady::{ROUNDS, Rounds, Window};
use assay_base::{Instant, Span};
use assay_model::plan::READ_BACK;
use assay_model::{Plan, WarmUp};
use assay_record::{Event, Interval};
use std::collections::BTreeMap;

/// Between a decision and its effect: at least this many intervals, and at least this long.
const NOTICE: (u64, Span) = (2, Span::from_secs(2));

/// Observes the warm-up of a plan that waits.
#[derive(Debug)]
pub struct Settling {
    streams: Vec<Watched>,
    round: Span,
    limit: Span,
    notice: Span,
    start: Option<Instant>,
    over: bool,
}

#[derive(Debug)]
struct Watched {
    name: String,
    open_loop: bool,
    flows: Vec<usize>,
    rounds: Rounds,
}

/// The decision that ends the wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// When the phase ends; `None` where it lasts for its maximum, because the load did not become steady.
    pub end: Option<Instant>,
    /// What the log says about it: `steady` or `not-steady`.
    pub event: Event,
}

impl Settling {
    /// For a plan whose warm-up waits; `None` for any other plan.
    pub fn new(plan: &Plan) -> Option<Settling> {
        let WarmUp::UntilSteady { limit, round } = plan.warm_up() else { return None };
        let judged = |name: &str| match plan.criteria.as_slice() {
            // The read-back at the end does not take part in a warm-up.
            [] => name != READ_BACK,
            criteria => criteria.iter().any(|it| it.stream == name),
        };
        let flows: Vec<(u16, u16)> = plan.flows().collect();
        let watched = plan.streams.iter().enumerate().filter(|(_, stream)| judged(&stream.name));
        let streams = watched.map(|(index, stream)| Watched {
            name: stream.name.clone(),
            open_loop: stream.arrival.rate().is_some(),
            flows: (0..flows.len()).filter(|flow| usize::from(flows[*flow].0) == index).collect(),
            rounds: Rounds::new(round.as_ns(), stream.arrival.rate().is_some()),
        });
        let interval = plan.interval.as_ns().max(1);
        let notice = Span::from_ns(NOTICE.1.as_ns().next_multiple_of(interval).max(NOTICE.0 * interval));
        Some(Settling { streams: streams.collect(), round, limit, notice, start: None, over: false })
    }

    /// Takes an interval of the waiting phase; returns the decision once.
    pub fn interval(&mut self, interval: &Interval) -> Option<Settled> {
        if self.over || interval.phase != 0 {
            return None;
        }
        let start = *self.start.get_or_insert(Instant::from_ns(interval.start_ns));
        let now = Instant::from_ns(interval.end_ns);
        let mut round_ended = false;
        for watched in &mut self.streams {
            let flows = || watched.flows.iter().filter_map(|flow| interval.flows.get(*flow));
            let operations = flows().map(|flow| flow.ok).sum();
            let response = flows().map(|flow| u128::from(flow.response.sum_ns)).sum();
            round_ended |=
                watched.rounds.add(now.since(Instant::from_ns(interval.start_ns)).as_ns(), operations, response);
        }
        let steady = round_ended && self.streams.iter().all(|it| it.rounds.window().is_some_and(|w| w.is_steady()));
        let limit = start + self.limit;
        if !steady && now < limit {
            return None;
        }
        self.over = true;
        let end = steady.then(|| (now + self.notice).min(limit));
        Some(Settled { end, event: self.event(now, now.since(start), steady) })
    }

    fn event(&self, now: Instant, waited: Span, steady: bool) -> Event {
        let mut details = BTreeMap::new();
        let mut said = Vec::new();
        for watched in &self.streams {
            let Some(window) = watched.rounds.window() else { continue };
            for (figure, value) in
                [("average", window.average), ("excursion", window.excursion), ("slope", window.slope)]
            {
                details.insert(format!("{} {figure}", watched.name), format!("{value:.4}"));
            }
            said.push(watched.in_words(&window));
        }
        let rounds = format!("{ROUNDS} rounds of {}", self.round);
        let (what, begin) = match steady {
            true => ("steady", format!("steady after {waited}, over {rounds}")),
            false => ("not-steady", format!("not steady within {}; over the last {rounds}", self.limit)),
        };
        let said = if said.is_empty() { "too little completed".to_owned() } else { said.join("; ") };
        Event { at_ns: now.as_ns(), what: what.into(), text: format!("{begin}: {said}"), details }
    }
}

impl Watched {
    fn in_words(&self, window: &Window) -> String {
        let average = match self.open_loop {
            true => format!("mean response {}", Span::from_ns(window.average as u64).human()),
            false => format!("{:.1}/s", window.average),
        };
        let (excursion, slope) = (window.excursion * 100.0, window.slope * 100.0);
        format!("{} {average}, excursion {excursion:.1}%, slope {slope:+.1}%", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::{Adjust, read};
    use assay_record::{FlowInterval, Timing};

    const FILE: &str = "model = \"streams\"\nduration = \"1h\"\ninterval = \"1s\"\n\
        warm_up = { until = \"steady\", limit = \"60s\", round = \"2s\" }\n\
        [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"100/s\"\n\
        [[stream]]\nname = \"noise\"\ndirection = \"read\"\nsize = \"4KiB\"\nin_flight = 1\n\
        [[criterion]]\nstream = \"reads\"\nmean_at_most = \"1ms\"\n";

    fn settling() -> Settling {
        Settling::new(&read("t", FILE).unwrap().plan(&Adjust { targets: 2, ..Adjust::default() }).unwrap()).unwrap()
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
        // Halves in each round down to 1 µs at round 6: rounds 6 to 10 are the first five equal ones.
        let mean = |index: u64| 1_000 << 6u64.saturating_sub(index / 2).min(6);
        let reported: Vec<(u64, Settled)> =
            (0..60).filter_map(|index| Some((index, settling.interval(&interval(index, mean(index)))?))).collect();
        let [(index, settled)] = reported.as_slice() else { panic!("{reported:?}") };
        assert_eq!((*index, settled.end), (21, Some(Instant::from_ns(7 + 24_000_000_000))), "two seconds of notice");
        assert_eq!(settled.event.what, "steady");
        let text = "steady after 22s, over 5 rounds of 2s: reads mean response 1 µs, excursion 0.0%, slope +0.0%";
        assert_eq!(settled.event.text, text);
        assert_eq!(settled.event.details["reads average"], "1000.0000");
    }

    #[test]
    fn what_never_stays_is_said_at_the_limit() {
        let mut settling = settling();
        let reported: Vec<(u64, Settled)> = (0..80)
            .filter_map(|index| Some((index, settling.interval(&interval(index, 1000 + 200 * index))?)))
            .collect();
        let [(59, Settled { end: None, event })] = reported.as_slice() else { panic!("{reported:?}") };
        assert!(event.what == "not-steady" && event.text.starts_with("not steady within 1min"), "{}", event.text);
    }

    #[test]
    fn an_ordinary_warm_up_is_not_watched() {
        let file = FILE.replace("{ until = \"steady\", limit = \"60s\", round = \"2s\" }", "\"60s\"");
        assert!(Settling::new(&read("t", &file).unwrap().plan(&Adjust::default()).unwrap()).is_none());
    }
}
