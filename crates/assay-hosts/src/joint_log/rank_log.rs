//! [`RankLog`]: the log of one rank on its way into the log of all.

use super::JointNews;
use super::clock_watch::{ClockLimits, ClockWatch};
use super::letter::{Letter, read_letter};
use super::rounds::Rounds;
use super::silence::{Patience, Silence};
use crate::clock::ClockReading;
use crate::link::{Link, LinkError};
use assay_base::{Instant, Span};
use assay_record::{Close, Entry, Event, Header, RowLayout};
use std::collections::VecDeque;

/// What rank 0 has of a rank, and has not used yet.
#[derive(Debug, Default)]
struct FromRank {
    headers: VecDeque<Header>,
    closes: VecDeque<Close>,
    is_armed: bool,
}

/// What a step has come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stepped {
    /// What the rank has learned.
    pub news: Vec<JointNews>,
    /// Whether anything went on, so that the next step may find more to do at once.
    pub has_moved: bool,
}

/// One rank's side of the joint log.
#[derive(Debug)]
pub struct RankLog {
    silence: Silence,
    /// Lines of the own log that no segment has taken yet.
    own: VecDeque<Entry>,
    own_events: VecDeque<Event>,
    /// Whether this rank could begin, and has not said so yet.
    arms: bool,
    /// From when all are armed to the start.
    lead: Span,
    /// Why this rank cannot go on, until it is told.
    own_failure: Option<String>,
    /// The segment that all are in.
    rounds: Option<Rounds>,
    /// Whether the own close of it has been sent.
    has_closed: bool,
    /// When the load of the own segment began, on the own time line: every rank has its own, and the joint log is on that of rank 0.
    own_start_ns: Option<u64>,
    from_ranks: Vec<FromRank>,
    closing: Closing,
}

/// How a clock is watched until the end of the own log, whose closing line waits for the last comparison.
#[derive(Debug, Default)]
struct Closing {
    watch: Option<ClockWatch>,
    held: Option<(Entry, Instant)>,
}

/// How long a closing line waits for the last comparison of the clocks.
const COMPARED_WITHIN: Span = Span::from_secs(2);

impl RankLog {
    /// Of a rank in a world of this size.
    pub fn begin_listening(patience: Patience, world_size: usize, now: Instant) -> RankLog {
        RankLog {
            silence: Silence::listen_from(patience, world_size, now),
            own: VecDeque::new(),
            own_events: VecDeque::new(),
            arms: false,
            lead: Span::ZERO,
            own_failure: None,
            rounds: None,
            has_closed: false,
            own_start_ns: None,
            from_ranks: (0..world_size).map(|_| FromRank::default()).collect(),
            closing: Closing::default(),
        }
    }

    /// From now on the own clock is compared with that of rank 0 now and then, and at the end; `at_start` is what was known of that when
    /// the start was translated.
    pub fn watch_clock(&mut self, limits: ClockLimits, at_start: ClockReading, now: Instant) {
        self.closing.watch = Some(ClockWatch::begin(limits, at_start, now));
    }

    /// Whether answers of other ranks may come at any moment.
    pub fn waits_for_others(&self) -> bool {
        let compares = self.closing.watch.as_ref().is_some_and(ClockWatch::is_asking);
        compares || self.closing.held.is_some() || self.rounds.as_ref().is_some_and(Rounds::wait_for_others)
    }

    /// The same, with so much time between the moment when all can begin and the start: all must know it before.
    pub fn with_lead(mut self, lead: Span) -> RankLog {
        self.lead = lead;
        self
    }

    /// This rank could begin its load: once all can, every rank gets [`JointNews::Start`].
    pub fn arm(&mut self) {
        self.arms = true;
    }

    /// The ranks that have not said that they could begin, where this is rank 0, which hears of it.
    pub fn unarmed_ranks(&self) -> Vec<usize> {
        (0..self.from_ranks.len()).filter(|rank| !self.from_ranks[*rank].is_armed).collect()
    }

    /// Whether it goes on only with the next line of the own log. Who waits for that with each line keeps none in memory.
    pub fn wants_line(&self) -> bool {
        self.own.is_empty() && self.rounds.as_ref().is_none_or(Rounds::wants_line)
    }

    /// The last line of the joint log that is known, where the ranks do not go on together: an interval is a line when the next round
    /// shows that no rank has ended within it.
    pub fn take_held(&mut self) -> Option<JointNews> {
        let held = self.rounds.as_mut().and_then(Rounds::take_held)?;
        Some(self.on_own_time_line(held))
    }

    /// Whether this rank has ended before its time, and the others have not learned of it yet.
    pub fn has_ended_early(&self) -> bool {
        self.rounds.as_ref().is_some_and(Rounds::own_part_ends_early)
    }

    /// Takes the next line of the own log.
    pub fn hear_line(&mut self, entry: Entry) {
        match entry {
            Entry::Event(event) => self.own_events.push_back(event),
            Entry::Close(_) if self.closing.watch.is_some() => self.closing.held = Some((entry, Instant::ZERO)),
            mut line => {
                self.measure_from_start(&mut line);
                self.own.push_back(line);
            }
        }
    }

    /// Gives a line times since the load began, which are the same on all ranks.
    fn measure_from_start(&mut self, line: &mut Entry) {
        match line {
            Entry::Header(_) => self.own_start_ns = None,
            Entry::Interval(interval) => {
                let start_ns = *self.own_start_ns.get_or_insert(interval.start_ns);
                interval.start_ns = interval.start_ns.saturating_sub(start_ns);
                interval.end_ns = interval.end_ns.saturating_sub(start_ns);
            }
            Entry::Close(close) => close.at_ns = close.at_ns.saturating_sub(self.own_start_ns.unwrap_or(close.at_ns)),
            Entry::Histograms(_) | Entry::Event(_) => {}
        }
    }

    /// Gives news the times of the time line of rank 0.
    fn on_own_time_line(&self, mut news: JointNews) -> JointNews {
        let start_ns = self.own_start_ns.unwrap_or_default();
        match &mut news {
            JointNews::Interval(interval) => {
                interval.start_ns = interval.start_ns.saturating_add(start_ns);
                interval.end_ns = interval.end_ns.saturating_add(start_ns);
            }
            JointNews::SegmentEnds(closes) => {
                closes.iter_mut().for_each(|close| close.at_ns = close.at_ns.saturating_add(start_ns));
            }
            JointNews::Event { rank, event } if *rank > 0 => event.at_ns = event.at_ns.saturating_add(start_ns),
            _ => {}
        }
        news
    }

    /// This rank cannot go on, for this reason.
    pub fn fail(&mut self, why: String) {
        self.own_failure = Some(why);
    }

    /// Whether all that was heard so far has been exchanged, and no segment is open.
    pub fn is_at_rest(&self) -> bool {
        let has_said_all = self.own.is_empty() && self.own_events.is_empty() && self.closing.held.is_none();
        self.rounds.is_none() && has_said_all && self.own_failure.is_none()
    }

    /// Does what can be done now.
    pub fn step(&mut self, link: &mut dyn Link, clock: &dyn Fn() -> Instant) -> Result<Stepped, LinkError> {
        let now = clock();
        link.all_has_left()?;
        let (mut news, mut has_moved) = (Vec::new(), false);
        self.silence.give_sign(link, now)?;
        self.compare_clocks(link, clock)?;
        self.send_own_events(link, &mut news)?;
        if std::mem::take(&mut self.arms) {
            self.tell_rank_zero(Letter::Armed, link)?;
        }
        while let Some(message) = link.next_message()? {
            has_moved = true;
            self.silence.hear_rank(message.from, now);
            self.receive_letter(message.from, read_letter(&message)?, link, clock, &mut news)?;
        }
        self.start_when_all_are_armed(link, now, &mut news)?;
        while self.go_on(link, &mut news)? {
            has_moved = true;
        }
        news.extend(self.silence.silent_ranks(link.own_rank(), now));
        has_moved |= !news.is_empty();
        Ok(Stepped { news: news.into_iter().map(|news| self.on_own_time_line(news)).collect(), has_moved })
    }

    /// Compares the clocks where it is time to, and lets the closing line go when that was done at the end.
    fn compare_clocks(&mut self, link: &mut dyn Link, clock: &dyn Fn() -> Instant) -> Result<(), LinkError> {
        let Closing { watch: Some(watch), held } = &mut self.closing else { return Ok(()) };
        let now = clock();
        if let Some((_, since)) = held.as_mut().filter(|(_, since)| *since == Instant::ZERO) {
            *since = now;
            watch.compare_at_once(now);
        }
        watch.step(link, clock)?;
        let is_compared = |since: Instant| watch.is_at_rest(now) || now.since(since) > COMPARED_WITHIN;
        if let Some((mut close, _)) = held.take_if(|(_, since)| is_compared(*since)) {
            self.closing.watch = None;
            self.measure_from_start(&mut close);
            self.own.push_back(close);
        }
        Ok(())
    }

    fn send_own_events(&mut self, link: &mut dyn Link, news: &mut Vec<JointNews>) -> Result<(), LinkError> {
        for mut event in self.own_events.drain(..) {
            if link.own_rank() == 0 {
                news.push(JointNews::Event { rank: 0, event });
                continue;
            }
            // What happened before the load began is told with its beginning.
            event.at_ns = event.at_ns.saturating_sub(self.own_start_ns.unwrap_or(event.at_ns));
            Letter::Event(event).send_to(0, link)?;
        }
        if let Some(why) = self.own_failure.take() {
            self.spread_failure(link.own_rank(), why, link, news)?;
        }
        Ok(())
    }

    /// Rank 0 tells everybody, the others tell rank 0.
    fn spread_failure(
        &mut self,
        rank: usize,
        why: String,
        link: &mut dyn Link,
        news: &mut Vec<JointNews>,
    ) -> Result<(), LinkError> {
        let letter = Letter::Failed { rank, why: why.clone() };
        if link.own_rank() == 0 {
            letter.send_to_others(link)?;
        } else if rank == link.own_rank() {
            letter.send_to(0, link)?;
        }
        news.push(JointNews::Failed { rank, why });
        Ok(())
    }

    fn receive_letter(
        &mut self,
        from: usize,
        letter: Letter,
        link: &mut dyn Link,
        clock: &dyn Fn() -> Instant,
        news: &mut Vec<JointNews>,
    ) -> Result<(), LinkError> {
        match letter {
            Letter::Here => {}
            Letter::AskTime => Letter::TellTime { ns: clock().as_ns() }.send_to(from, link)?,
            Letter::TellTime { ns } => {
                if let Some(watch) = &mut self.closing.watch {
                    news.extend(watch.hear_time(ns, link, clock)?.map(JointNews::ClockStrayed));
                }
            }
            Letter::Armed => self.from_ranks[from].is_armed = true,
            Letter::Start { ns } => news.push(JointNews::Start { ns }),
            Letter::Header(header) => self.from_ranks[from].headers.push_back(*header),
            Letter::Close(close) => self.from_ranks[from].closes.push_back(close),
            Letter::Event(event) => news.push(JointNews::Event { rank: from, event }),
            // What this rank has said itself comes back from rank 0.
            Letter::Failed { rank, .. } if rank == link.own_rank() => {}
            Letter::Failed { rank, why } => self.spread_failure(rank, why, link, news)?,
        }
        Ok(())
    }

    fn start_when_all_are_armed(
        &mut self,
        link: &mut dyn Link,
        now: Instant,
        news: &mut Vec<JointNews>,
    ) -> Result<(), LinkError> {
        if link.own_rank() > 0 || !self.from_ranks.iter().all(|rank| rank.is_armed) {
            return Ok(());
        }
        self.from_ranks.iter_mut().for_each(|rank| rank.is_armed = false);
        let ns = (now + self.lead).as_ns();
        news.push(JointNews::Start { ns });
        Letter::Start { ns }.send_to_others(link)
    }

    /// Begins the next segment, or goes on in the one that is open; true where more may follow at once.
    fn go_on(&mut self, link: &mut dyn Link, news: &mut Vec<JointNews>) -> Result<bool, LinkError> {
        let Some(mut rounds) = self.rounds.take() else {
            return self.begin_segment(link, news);
        };
        while !self.has_closed
            && let Some(line) = take_next_if(&mut self.own, |line| !matches!(line, Entry::Header(_)))
        {
            if let Entry::Close(close) = &line {
                self.has_closed = true;
                self.tell_rank_zero(Letter::Close(close.clone()), link)?;
            }
            rounds.hear_own(line);
        }
        let has_moved = rounds.step(link, news)?;
        let are_over = rounds.are_over();
        self.rounds = Some(rounds);
        if !are_over {
            return Ok(has_moved);
        }
        if link.own_rank() == 0 {
            let Some(closes) = first_of_each(&mut self.from_ranks, |from| &mut from.closes) else { return Ok(false) };
            news.push(JointNews::SegmentEnds(closes));
        }
        (self.rounds, self.has_closed) = (None, false);
        Ok(true)
    }

    /// Sends a letter to rank 0, or keeps it where this rank is that.
    fn tell_rank_zero(&mut self, letter: Letter, link: &mut dyn Link) -> Result<(), LinkError> {
        match (link.own_rank(), letter) {
            (0, Letter::Header(header)) => self.from_ranks[0].headers.push_back(*header),
            (0, Letter::Armed) => self.from_ranks[0].is_armed = true,
            (0, Letter::Close(close)) => self.from_ranks[0].closes.push_back(close),
            (_, letter) => letter.send_to(0, link)?,
        }
        Ok(())
    }

    fn begin_segment(&mut self, link: &mut dyn Link, news: &mut Vec<JointNews>) -> Result<bool, LinkError> {
        if let Some(Entry::Header(header)) = take_next_if(&mut self.own, |line| matches!(line, Entry::Header(_))) {
            let layout = RowLayout::from_header(&header);
            self.tell_rank_zero(Letter::Header(header), link)?;
            if link.own_rank() > 0 {
                self.rounds = Some(Rounds::of_segment(layout));
                return Ok(true);
            }
        }
        if link.own_rank() > 0 {
            return Ok(false);
        }
        let Some(headers) = first_of_each(&mut self.from_ranks, |from| &mut from.headers) else { return Ok(false) };
        let layout = RowLayout::from_header(&headers[0]);
        if let Some(other) = headers.iter().position(|header| RowLayout::from_header(header) != layout) {
            return Err(LinkError { what: format!("rank {other} counts other flows than rank 0: their plans differ") });
        }
        self.rounds = Some(Rounds::of_segment(layout));
        news.push(JointNews::SegmentBegins(headers));
        Ok(true)
    }
}

/// The next line, where it is a wanted one.
fn take_next_if(lines: &mut VecDeque<Entry>, is_wanted: impl Fn(&Entry) -> bool) -> Option<Entry> {
    lines.front().is_some_and(is_wanted).then(|| lines.pop_front()).flatten()
}

/// The first of each rank, once there is one of each.
fn first_of_each<T>(ranks: &mut [FromRank], of_rank: fn(&mut FromRank) -> &mut VecDeque<T>) -> Option<Vec<T>> {
    if ranks.iter_mut().any(|rank| of_rank(rank).is_empty()) {
        return None;
    }
    ranks.iter_mut().map(|rank| of_rank(rank).pop_front()).collect()
}
