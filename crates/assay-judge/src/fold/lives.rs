//! When each stream begins and ends within the measured time.
//!
//! The plan says it where times decide. Where numbers of operations decide, or the end of another stream, events of the
//! run say it: they stand in the log before the interval in which it happened. A stream is judged over the part of a
//! window in which it lives: what it did in a second is its work by that part, and no schedule is expected elsewhere.

use assay_record::{Event, FlowHead, Header, LifeNews, PlanHead, PlannedLife, Running};

/// The lives of all streams; see the module.
#[derive(Clone, Debug, Default)]
pub struct Lives {
    /// Empty where every stream lasts as long as the run.
    streams: Vec<Life>,
    /// The stream of each flow.
    flows: Vec<usize>,
    /// When each flow ran.
    pub(crate) running: Running,
    /// All end after a number of operations, and nothing else is said about them: the run ends with the last, and each
    /// is judged over all of it.
    together: bool,
}

/// One stream.
#[derive(Clone, Debug, Default)]
struct Life {
    planned: PlannedLife,
    /// When it began, where it has waited.
    begun_ns: Option<u64>,
    /// When the last of its operations completed, and how many of its flows are done.
    done: (u64, usize),
    flows: usize,
}

impl Lives {
    /// The lives of the streams of a header, of which this is the plan.
    pub(crate) fn new(header: &Header, plan: &PlanHead) -> Lives {
        let streams: Vec<Life> = (0..header.streams.len()).map(|stream| Life::new(plan.life_at(stream))).collect();
        if streams.iter().all(|life| !life.planned.is_special()) {
            return Lives::default();
        }
        let together = streams.iter().all(Life::is_by_operations);
        let flows = header.flows.iter().map(|flow| usize::from(flow.stream)).collect();
        let mut lives = Lives { streams, together, flows, running: Running::new(header, plan) };
        for FlowHead { stream, .. } in &header.flows {
            if let Some(life) = lives.streams.get_mut(usize::from(*stream)) {
                life.flows += 1;
            }
        }
        lives
    }

    /// Whether some stream begins or ends within the run.
    pub(crate) fn is_some(&self) -> bool {
        !self.streams.is_empty() && !self.together
    }

    /// Whether a stream has an end of its own.
    pub(crate) fn has_own_end(&self, stream: usize) -> bool {
        self.streams.get(stream).is_some_and(|life| life.planned.by_number || life.planned.lasts_ns.is_some())
    }

    /// What an event tells, where it is about a life.
    pub(crate) fn news_from_event(&self, event: &Event) -> Option<LifeNews> {
        self.running.life_news(event)
    }

    /// Takes what was told, at `at_ns` of the measured time.
    pub(crate) fn take_news(&mut self, news: LifeNews, at_ns: u64) {
        self.running.note_life_news(news, at_ns);
        let stream = self.flows.get(news.flow).copied();
        let Some(life) = stream.and_then(|stream| self.streams.get_mut(stream)) else { return };
        if news.begins {
            // On several targets it begins with the first.
            life.begun_ns = Some(life.begun_ns.map_or(at_ns, |before| before.min(at_ns)))
        } else {
            life.done = (life.done.0.max(at_ns), life.done.1 + 1)
        }
    }

    /// The measurement begins again from its beginning: what was told is told again.
    pub(crate) fn start_over(&mut self) {
        for life in &mut self.streams {
            (life.begun_ns, life.done) = (None, (0, 0));
        }
        self.running.start_over();
    }

    /// The part of a window in which a stream lives, in measured time; empty where it does not.
    pub(crate) fn lived_part(&self, stream: usize, from_ns: u64, to_ns: u64) -> (u64, u64) {
        let Some(life) = self.streams.get(stream).filter(|_| !self.together) else { return (from_ns, to_ns) };
        let Some(begin) = life.begins_ns() else { return (from_ns, from_ns) };
        let from = from_ns.max(begin).min(to_ns);
        (from, to_ns.min(life.ends_ns().unwrap_or(u64::MAX)).max(from))
    }

    /// How long a stream lives within a window.
    pub(crate) fn lived_ns(&self, stream: usize, from_ns: u64, to_ns: u64) -> u64 {
        let (from, to) = self.lived_part(stream, from_ns, to_ns);
        to - from
    }

    /// Whether a stream lives through all of a window.
    pub(crate) fn lives_through(&self, stream: usize, from_ns: u64, to_ns: u64) -> bool {
        self.lived_part(stream, from_ns, to_ns) == (from_ns, to_ns)
    }

    /// Whether a stream begins within a window and lives beyond it: an operation that was issued last may complete in
    /// the next one.
    pub(crate) fn begins_within(&self, stream: usize, from_ns: u64, to_ns: u64) -> bool {
        let Some(life) = self.streams.get(stream) else { return false };
        let begins = life.begins_ns().is_some_and(|begin| from_ns < begin && begin < to_ns);
        begins && life.ends_ns().is_none_or(|end| end > to_ns)
    }

    /// Whether a number of operations ended a stream at the latest at this time: how much of its schedule lies before
    /// is not known from the time.
    pub(crate) fn is_done_by(&self, stream: usize, at_ns: u64) -> bool {
        self.streams
            .get(stream)
            .is_some_and(|life| !self.together && life.planned.by_number && life.is_done() && life.done.0 <= at_ns)
    }

    /// Whether the time of a stream was over at the latest at this time: what was in flight then completes later.
    pub(crate) fn is_out_of_time_by(&self, stream: usize, at_ns: u64) -> bool {
        let end = self.streams.get(stream).and_then(Life::out_of_time_ns);
        end.is_some_and(|end| end <= at_ns)
    }

    /// Streams that waited for another one until the end, with its name.
    pub(crate) fn never_began(&self) -> impl Iterator<Item = (usize, &str)> {
        let waiting = self.streams.iter().enumerate().filter(|(_, life)| life.begun_ns.is_none());
        waiting.filter_map(|(at, life)| Some((at, life.planned.after.as_deref()?)))
    }
}

impl Life {
    fn new(planned: PlannedLife) -> Life {
        Life { planned, ..Life::default() }
    }

    fn is_by_operations(&self) -> bool {
        let PlannedLife { start_ns, lasts_ns, after, by_number, by_bytes, .. } = &self.planned;
        let timed = *start_ns > 0 || lasts_ns.is_some() || after.is_some();
        *by_number && !by_bytes && !timed
    }

    fn is_done(&self) -> bool {
        self.flows > 0 && self.done.1 >= self.flows
    }

    fn begins_ns(&self) -> Option<u64> {
        if self.planned.after.is_some() { self.begun_ns } else { Some(self.planned.start_ns) }
    }

    fn out_of_time_ns(&self) -> Option<u64> {
        Some(self.begins_ns()?.saturating_add(self.planned.lasts_ns?))
    }

    fn ends_ns(&self) -> Option<u64> {
        let done = (self.planned.by_number && self.is_done()).then_some(self.done.0);
        [done, self.out_of_time_ns()].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::EventKind;
    use serde_json::{Value, json};

    const S: u64 = 1_000_000_000;

    fn lives_of(header: &Header) -> Lives {
        Lives::new(header, &PlanHead::parse(&header.plan))
    }

    fn lives(reads: Value, writes: Value) -> Lives {
        let plan = json!({ "streams": [reads, writes], "loops": [{ "name": "mix", "operations": 9, "in_flight": 1 }] });
        lives_of(&Header { plan, ..fixture::header() })
    }

    fn event(what: EventKind, flow: u64, name: &str, at_ns: u64) -> Event {
        let details = [("flow".to_owned(), flow.to_string()), (name.to_owned(), at_ns.to_string())];
        Event { at_ns, what, text: String::new(), details: details.into() }
    }

    #[test]
    fn a_stream_lives_within_its_times() {
        let lives = lives(json!({"start": "10s", "for": "20s"}), json!({}));
        assert!(lives.has_own_end(0) && !lives.has_own_end(1));
        for (from, to, expected) in
            [(0, 10, (10, 10)), (5, 15, (10, 15)), (12, 18, (12, 18)), (20, 40, (20, 30)), (35, 40, (35, 35))]
        {
            assert_eq!(lives.lived_part(0, from * S, to * S), (expected.0 * S, expected.1 * S), "{from} to {to}");
            assert!(lives.lives_through(1, from * S, to * S), "the other one lasts as long as the run");
        }
        assert!(
            lives.lives_through(0, 10 * S, 30 * S)
                && !lives.lives_through(0, 9 * S, 30 * S)
                && !lives.lives_through(0, 10 * S, 31 * S)
        );
        assert!(lives.begins_within(0, 5 * S, 15 * S) && !lives.begins_within(0, 5 * S, 40 * S));
        assert!(lives.is_out_of_time_by(0, 30 * S) && !lives.is_out_of_time_by(0, 29 * S));
        assert!(lives.is_some());
        assert!(!lives_of(&fixture::header()).is_some(), "an old plan has none");
    }

    /// From 10 s to 30 s: it begins after the window does and before the window ends, and lives beyond it.
    #[test]
    fn a_stream_begins_within_a_window_that_it_outlives() {
        let lives = lives(json!({"start": "10s", "for": "20s"}), json!({}));
        for (from, to, expected) in
            [(5, 15, true), (10, 15, false), (9, 29, true), (5, 10, false), (5, 30, false), (20, 25, false)]
        {
            assert_eq!(lives.begins_within(0, from * S, to * S), expected, "{from} to {to}");
        }
    }

    /// Where numbers of operations alone end every stream, the run ends with the last, and all are judged over all of it.
    #[test]
    fn streams_that_only_count_operations_live_as_long_as_the_run() {
        let counted = json!({"operations": 5});
        let told = |more: Value| lives(more, counted.clone()).is_some();
        assert!(!told(counted.clone()));
        for (what, value) in [("start", "1s"), ("for", "9s"), ("after", "writes"), ("bytes", "1GiB")] {
            assert!(told(json!({"operations": 5, what: value})) && told(json!({what: value})), "{what}");
            assert!(lives(json!({what: value}), json!({})).is_some(), "{what} alone");
        }
        assert!(told(json!({})), "the other one lasts as long as the run");
        let mut lives = lives(counted.clone(), counted.clone());
        for flow in [0, 1] {
            let news = lives.news_from_event(&event(EventKind::StreamEnd, flow, "completed_ns", 7 * S)).unwrap();
            lives.take_news(news, news.at_ns);
        }
        assert!(lives.lives_through(0, 0, 100 * S) && !lives.is_done_by(0, 100 * S));
    }

    /// Without a flow nothing of it can have completed.
    #[test]
    fn a_stream_without_a_flow_is_never_done() {
        let plan = json!({ "streams": [{"operations": 5}, {"start": "1s"}] });
        let lives = lives_of(&Header { plan, flows: vec![FlowHead { stream: 1, target: 0 }], ..fixture::header() });
        assert!(lives.lives_through(0, 0, 100 * S) && !lives.is_done_by(0, 100 * S));
    }

    #[test]
    fn a_stream_of_a_loop_has_the_life_of_that_loop() {
        let looped = json!({"arrival": {"looped": {"looped": "mix", "share": "100%"}}, "for": "1s"});
        let loops = json!([{ "name": "other", "for": "7s" }, { "name": "mix", "for": "9s" }]);
        let plan = json!({ "streams": [looped, json!({"for": "3s"})], "loops": loops });
        let lives = lives_of(&Header { plan, ..fixture::header() });
        assert_eq!((lives.lived_ns(0, 0, 100 * S), lives.lived_ns(1, 0, 100 * S)), (9 * S, 3 * S));
    }

    #[test]
    fn numbers_and_waiting_are_told_by_events() {
        let looped = json!({"arrival": {"looped": {"looped": "mix", "share": "100%"}}});
        let mut lives = lives(looped, json!({"after": "mix", "for": "5s"}));
        assert!(
            lives.has_own_end(0) && lives.lives_through(0, 0, 100 * S) && !lives.is_done_by(0, 100 * S),
            "not done yet"
        );
        assert_eq!(lives.lived_ns(1, 0, 100 * S), 0);
        assert_eq!(lives.never_began().collect::<Vec<_>>(), [(1, "mix")]);
        for told in
            [event(EventKind::StreamEnd, 0, "completed_ns", 7 * S), event(EventKind::StreamBegin, 1, "begun_ns", 8 * S)]
        {
            let news = lives.news_from_event(&told).unwrap();
            lives.take_news(news, news.at_ns);
        }
        assert_eq!(lives.lived_part(0, 0, 100 * S), (0, 7 * S));
        assert!(lives.is_done_by(0, 10 * S) && !lives.is_done_by(0, 6 * S));
        assert_eq!(lives.lived_part(1, 0, 100 * S), (8 * S, 13 * S));
        assert_eq!(lives.never_began().count(), 0);
        assert_eq!(lives.news_from_event(&event(EventKind::StreamEnd, 9, "completed_ns", 1)), None, "no such flow");
        assert_eq!(lives.news_from_event(&event(EventKind::StreamEnd, 0, "other", 1)), None);
        lives.start_over();
        assert!(lives.lives_through(0, 0, 100 * S) && lives.never_began().count() == 1);
    }
}
