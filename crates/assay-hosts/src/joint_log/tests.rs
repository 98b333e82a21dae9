//! Ranks that write logs of a real run, in a simulated network.

use super::*;
use crate::clock::ClockReading;
use crate::exchange::{Exchange, ExchangeLink};
use crate::link::{Collective, Link, LinkError, Message};
use assay_base::{Instant, Prng};
use assay_record::{CloseReason, Entry, Reader, Times};

const GOLDEN: &str = include_str!("../../../assay-record/tests/golden/run-v1.jsonl");
const TICK: Span = Span::from_us(50);

fn golden_lines() -> Vec<Entry> {
    let mut reader = Reader::new(GOLDEN.as_bytes());
    std::iter::from_fn(|| reader.next_entry().unwrap()).map(Result::unwrap).collect()
}

/// The same run with so many intervals only, ended for this reason.
fn cut_short(lines: &[Entry], intervals: usize, reason: CloseReason) -> Vec<Entry> {
    let mut left = intervals;
    let mut cut: Vec<Entry> = lines
        .iter()
        .take_while(|line| {
            let goes_on = left > 0;
            left -= usize::from(goes_on && matches!(line, Entry::Interval(_)));
            goes_on
        })
        .cloned()
        .collect();
    let Some(Entry::Close(close)) = lines.last() else { panic!("the run was closed") };
    cut.push(Entry::Close(Close { reason, ..close.clone() }));
    cut
}

struct Simulation {
    exchange: Exchange,
    links: Vec<ExchangeLink>,
    ranks: Vec<RankLog>,
    /// What each rank is still going to write, the last line first.
    lines: Vec<Vec<Entry>>,
    news: Vec<Vec<JointNews>>,
    now: Instant,
    random: Prng,
    clocks: Vec<TestClock>,
}

/// A clock that runs at a speed of its own, and jumps once.
#[derive(Clone, Copy, Debug, Default)]
struct TestClock {
    faster_ppm: i64,
    jumps_by: Span,
    jumps_at: Instant,
}

impl TestClock {
    fn shows_at(self, now: Instant) -> Instant {
        let gained = now.as_ns() as i64 * self.faster_ppm / 1_000_000;
        let jump = if now >= self.jumps_at { self.jumps_by } else { Span::ZERO };
        Instant::from_ns((now.as_ns() as i64 + gained) as u64) + jump
    }
}

impl Simulation {
    /// Messages take up to a millisecond.
    fn begin(logs: Vec<Vec<Entry>>, seed: u64) -> Simulation {
        let random = Prng::from_seed(seed);
        let mut delays = Prng::from_seed(seed + 1000);
        let exchange = Exchange::with_delivery(
            logs.len(),
            Box::new(move |_, _, now| Some(now + Span::from_ns(delays.uniform_below(1_000_000)))),
        );
        let links = exchange.links();
        let patience = Patience::default();
        let ranks = logs.iter().map(|_| RankLog::begin_listening(patience, logs.len(), Instant::ZERO)).collect();
        let news = logs.iter().map(|_| Vec::new()).collect();
        let clocks = vec![TestClock::default(); logs.len()];
        let lines = logs.into_iter().map(|mut lines| {
            lines.reverse();
            lines
        });
        Simulation { exchange, links, ranks, lines: lines.collect(), news, now: Instant::ZERO, random, clocks }
    }

    /// Lets time pass; each rank but the frozen one writes a line now and then.
    fn run_for(&mut self, span: Span, frozen: Option<usize>) {
        let end = self.now + span;
        while self.now < end && !self.is_over() {
            self.now += TICK;
            self.exchange.set_time(self.now);
            for rank in (0..self.ranks.len()).filter(|rank| Some(*rank) != frozen) {
                if self.random.uniform_below(8) == 0
                    && let Some(line) = self.lines[rank].pop()
                {
                    self.ranks[rank].hear_line(line);
                }
                let stepped =
                    self.ranks[rank].step(&mut self.links[rank], &|| self.clocks[rank].shows_at(self.now)).unwrap();
                self.news[rank].extend(stepped.news);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.lines.iter().all(Vec::is_empty)
            && self.ranks.iter().all(RankLog::is_at_rest)
            && self.news[0].iter().any(|news| matches!(news, JointNews::SegmentEnds(_)))
    }

    fn joint_intervals(&self) -> Vec<&Interval> {
        let mut intervals = Vec::new();
        for news in &self.news[0] {
            if let JointNews::Interval(interval) = news {
                intervals.push(&**interval);
            }
        }
        intervals
    }

    fn has_news(&self, rank: usize, is_it: impl Fn(&JointNews) -> bool) -> bool {
        self.news[rank].iter().any(is_it)
    }
}

fn intervals_of(lines: &[Entry]) -> Vec<&Interval> {
    lines
        .iter()
        .filter_map(|line| match line {
            Entry::Interval(interval) => Some(interval),
            _ => None,
        })
        .collect()
}

fn all_times(lines: &[Histograms], flow: usize) -> Times {
    let mut sum = Times::default();
    for line in lines {
        let of_flow = line.flows.iter().find(|of_flow| usize::from(of_flow.flow) == flow);
        of_flow.into_iter().for_each(|of_flow| sum.add(&of_flow.decode_times().unwrap()[0]));
    }
    sum
}

#[test]
fn the_joint_log_is_the_sum_of_the_ranks_logs_whoever_is_slow() {
    for seed in 0..5 {
        let lines = golden_lines();
        let mut simulation = Simulation::begin(vec![lines.clone(); 5], seed);
        simulation.run_for(Span::from_secs(5), None);
        assert!(simulation.is_over());
        let (joint, alone) = (simulation.joint_intervals(), intervals_of(&lines));
        assert_eq!(joint.len(), alone.len());
        for (joint, alone) in joint.iter().zip(&alone) {
            assert_eq!((joint.index, joint.start_ns, joint.end_ns), (alone.index, alone.start_ns, alone.end_ns));
            for (joint, alone) in joint.flows.iter().zip(&alone.flows) {
                assert_eq!(joint.ok, 5 * alone.ok);
                assert_eq!(joint.response.sum_ns, 5 * alone.response.sum_ns);
                assert_eq!(joint.response.max_ns, alone.response.max_ns);
            }
        }
        // A line of distributions stands behind the interval that it ends with, as in a log of one host.
        let order: Vec<&str> = simulation.news[0].iter().filter_map(kind_of_line).collect();
        assert_eq!(order, lines.iter().filter_map(kind_of_entry).collect::<Vec<&str>>());
        let joint: Vec<Histograms> = simulation.news[0]
            .iter()
            .filter_map(|news| match news {
                JointNews::Distributions(line) => Some(line.clone()),
                _ => None,
            })
            .collect();
        let alone: Vec<Histograms> = lines
            .iter()
            .filter_map(|line| match line {
                Entry::Histograms(line) => Some(line.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(joint[0].first, alone[0].first);
        assert_eq!(joint.last().unwrap().last, alone.last().unwrap().last);
        assert_eq!(all_times(&joint, 0).total_count(), 5 * all_times(&alone, 0).total_count());
        assert_eq!(all_times(&joint, 0).quantile(0.99), all_times(&alone, 0).quantile(0.99));
        assert!(!simulation.has_news(3, |news| matches!(news, JointNews::EndsEarly | JointNews::Lost { .. })));
        let events = lines.iter().filter(|line| matches!(line, Entry::Event(_))).count();
        for rank in 0..5 {
            let of_rank = |news: &&JointNews| matches!(news, JointNews::Event { rank: of, .. } if *of == rank);
            assert_eq!(simulation.news[0].iter().filter(of_rank).count(), events, "rank {rank}");
        }
    }
}

fn kind_of_line(news: &JointNews) -> Option<&'static str> {
    match news {
        JointNews::SegmentBegins(_) => Some("header"),
        JointNews::Interval(_) => Some("interval"),
        JointNews::Distributions(_) => Some("histograms"),
        JointNews::SegmentEnds(_) => Some("close"),
        _ => None,
    }
}

fn kind_of_entry(entry: &Entry) -> Option<&'static str> {
    match entry {
        Entry::Header(_) => Some("header"),
        Entry::Interval(_) => Some("interval"),
        Entry::Histograms(_) => Some("histograms"),
        Entry::Close(_) => Some("close"),
        Entry::Event(_) => None,
    }
}

#[test]
fn segments_follow_each_other() {
    let twice = [golden_lines(), golden_lines()].concat();
    let mut simulation = Simulation::begin(vec![twice; 3], 1);
    simulation.run_for(Span::from_secs(5), None);
    let ends =
        simulation.news[0].iter().filter(|news| matches!(news, JointNews::SegmentEnds(closes) if closes.len() == 3));
    assert_eq!(ends.count(), 2);
    assert_eq!(simulation.joint_intervals().len(), 2 * intervals_of(&golden_lines()).len());
}

#[test]
fn who_has_ended_adds_nothing_to_what_others_go_on_with() {
    let lines = golden_lines();
    let whole = intervals_of(&lines).len();
    let drained = cut_short(&lines, whole - 2, CloseReason::Completed);
    let mut simulation = Simulation::begin(vec![lines.clone(), drained, lines.clone()], 2);
    simulation.run_for(Span::from_secs(5), None);
    let joint = simulation.joint_intervals();
    assert_eq!(joint.len(), whole);
    let alone = intervals_of(&lines);
    assert_eq!(joint[whole - 3].flows[0].ok, 3 * alone[whole - 3].flows[0].ok);
    assert_eq!(joint[whole - 1].flows[0].ok, 2 * alone[whole - 1].flows[0].ok);
    assert!(!simulation.has_news(0, |news| *news == JointNews::EndsEarly), "it ended as planned");
}

#[test]
fn where_one_ends_early_every_rank_learns_it() {
    let lines = golden_lines();
    let broken = cut_short(&lines, 3, CloseReason::Interrupted);
    let mut simulation = Simulation::begin(vec![lines.clone(), lines.clone(), broken], 3);
    simulation.run_for(Span::from_secs(5), None);
    for rank in 0..3 {
        let told = simulation.news[rank].iter().filter(|news| **news == JointNews::EndsEarly).count();
        assert_eq!(told, 1, "rank {rank}");
    }
    // The joint log ends with the last whole interval of all: the third one is that in which the rank ended.
    assert_eq!(simulation.joint_intervals().len(), 2);
    assert_eq!(simulation.joint_intervals()[1].flows[0].ok, 3 * intervals_of(&lines)[1].flows[0].ok);
    let closes = |news: &JointNews| matches!(news, JointNews::SegmentEnds(closes) if closes[2].reason == CloseReason::Interrupted);
    assert!(simulation.has_news(0, closes));
}

#[test]
fn a_rank_that_is_frozen_is_named_and_then_given_up() {
    for frozen in 1..3 {
        let mut simulation = Simulation::begin(vec![golden_lines(); 3], 4);
        simulation.run_for(Span::from_ms(5), None);
        simulation.run_for(Span::from_secs(5), Some(frozen));
        let named = |news: &JointNews| matches!(news, JointNews::Silent { rank, .. } if *rank == frozen);
        assert_eq!(simulation.news[0].iter().filter(|news| named(news)).count(), 1);
        assert!(!simulation.has_news(0, |news| matches!(news, JointNews::Lost { .. })), "not yet");
        simulation.run_for(Span::from_secs(40), Some(frozen));
        // What all had before is not lost.
        let known = simulation.joint_intervals().len();
        let held = simulation.ranks[0].take_held();
        assert!(
            held.is_none_or(|news| matches!(news, JointNews::Interval(interval) if interval.index as usize == known))
        );
        let lost = |news: &&JointNews| matches!(news, JointNews::Lost { rank, .. } if *rank == frozen);
        assert_eq!(simulation.news[0].iter().filter(lost).count(), 1);
        assert!(!simulation.is_over(), "what lacks its part is no interval of all");
    }
}

#[test]
fn the_others_give_up_when_rank_zero_says_nothing() {
    let mut simulation = Simulation::begin(vec![golden_lines(); 3], 5);
    simulation.run_for(Span::from_ms(5), None);
    simulation.run_for(Span::from_secs(29), Some(0));
    assert!(!simulation.has_news(1, |news| matches!(news, JointNews::Lost { .. })));
    simulation.run_for(Span::from_secs(3), Some(0));
    for rank in 1..3 {
        assert!(simulation.has_news(rank, |news| matches!(news, JointNews::Lost { rank: 0, .. })), "rank {rank}");
    }
}

/// Rank 0 stood still: what it has not heard meanwhile is nobody's silence, also where letters come a little later.
#[test]
fn who_stood_still_accuses_nobody() {
    let mut simulation = Simulation::begin(vec![golden_lines(); 3], 10);
    simulation.run_for(Span::from_ms(5), None);
    let frozen = simulation.now + Span::from_secs(31);
    while simulation.now < frozen {
        simulation.now += Span::from_ms(10);
        simulation.exchange.set_time(simulation.now);
    }
    let stepped = simulation.ranks[0].step(&mut simulation.links[0], &|| simulation.now).unwrap();
    let accuses = |news: &JointNews| matches!(news, JointNews::Silent { .. } | JointNews::Lost { .. });
    assert!(!stepped.news.iter().any(accuses), "{:?}", stepped.news);
    // Who says nothing from then on is named as ever.
    simulation.run_for(Span::from_secs(4), Some(2));
    assert!(simulation.has_news(0, |news| matches!(news, JointNews::Silent { rank: 2, .. })));
}

#[test]
fn a_rank_that_fails_tells_all() {
    for failing in 0..3 {
        let mut simulation = Simulation::begin(vec![golden_lines(); 3], 6);
        simulation.run_for(Span::from_ms(3), None);
        simulation.ranks[failing].fail("no engine".to_owned());
        simulation.run_for(Span::from_ms(20), None);
        for rank in 0..3 {
            let told = |news: &&JointNews| matches!(news, JointNews::Failed { rank, why } if *rank == failing && why == "no engine");
            assert_eq!(simulation.news[rank].iter().filter(told).count(), 1, "rank {rank}, when {failing} fails");
        }
    }
}

/// All are told one moment, once the last of them can begin, and not before.
#[test]
fn ranks_start_together_when_the_last_is_ready() {
    let mut simulation = Simulation::begin(vec![Vec::new(); 3], 7);
    let lead = Span::from_ms(50);
    let ranks = std::mem::take(&mut simulation.ranks);
    simulation.ranks = ranks.into_iter().map(|rank| rank.with_lead(lead)).collect();
    let starts = |simulation: &Simulation| -> Vec<JointNews> {
        let all = simulation.news.iter().flatten();
        all.filter(|news| matches!(news, JointNews::Start { .. })).cloned().collect()
    };
    for rank in [2, 0, 1] {
        assert_eq!(starts(&simulation), []);
        simulation.ranks[rank].arm();
        simulation.run_for(Span::from_ms(5), None);
    }
    let told = starts(&simulation);
    assert_eq!(told.len(), 3, "each rank is told once");
    let JointNews::Start { ns } = told[0] else { panic!("it is a start") };
    assert!(told.iter().all(|start| *start == told[0]));
    // The last one could begin after 10 ms; a letter takes up to a millisecond.
    assert!((60_000_000..62_000_000).contains(&ns), "{ns}");
}

#[test]
fn logs_of_different_plans_are_no_joint_log() {
    let mut other = golden_lines();
    let Some(Entry::Header(header)) = other.first_mut() else { panic!("a log begins with a header") };
    header.flows.pop();
    let mut links = Exchange::within_process(2).links();
    let mut ranks = [0, 1].map(|_| RankLog::begin_listening(Patience::default(), 2, Instant::ZERO));
    ranks[0].hear_line(golden_lines().remove(0));
    ranks[1].hear_line(other.remove(0));
    ranks[1].step(&mut links[1], &|| Instant::ZERO).unwrap();
    let error = ranks[0].step(&mut links[0], &|| Instant::ZERO).unwrap_err();
    assert!(error.what.contains("rank 1 counts other flows"), "{error}");
}

/// Ranks that stand in a run without writing anything, each with a clock of its own; what rank 1 is told of its clock.
fn strayed_after(clock: TestClock, limits: ClockLimits, run: Span) -> Vec<Strayed> {
    let mut simulation = Simulation::begin(vec![Vec::new(); 3], 8);
    simulation.clocks[1] = clock;
    let known = ClockReading { own_ns: 0, offset_ns: 0, error_ns: 1_000 };
    for rank in 1..3 {
        simulation.ranks[rank].watch_clock(limits, known, Instant::ZERO);
    }
    simulation.run_for(run, None);
    assert!(!simulation.has_news(0, |news| matches!(news, JointNews::ClockStrayed(_))), "rank 0 has the clock of all");
    assert!(!simulation.has_news(2, |news| matches!(news, JointNews::ClockStrayed(_))), "its clock is right");
    let strayed = simulation.news[1].iter().filter_map(|news| match news {
        JointNews::ClockStrayed(strayed) => Some(*strayed),
        _ => None,
    });
    strayed.collect()
}

/// Intervals of 10 ms and windows of 200 ms: from 5 ms on it is said, from 20 ms on nothing is proven.
const LIMITS: ClockLimits =
    ClockLimits { compare_every: Span::from_ms(100), warns_above: Span::from_ms(5), spoils_above: Span::from_ms(20) };

#[test]
fn a_clock_that_is_right_or_drifts_by_less_than_matters_says_nothing() {
    for clock in [TestClock::default(), TestClock { faster_ppm: 80, ..TestClock::default() }] {
        assert_eq!(strayed_after(clock, LIMITS, Span::from_secs(5)), []);
    }
}

/// 80 ppm are 5 ms after a minute; the error of a comparison is half a trip, under a millisecond here.
#[test]
fn a_drift_is_said_once_it_is_half_an_interval() {
    let drifting = TestClock { faster_ppm: 80, ..TestClock::default() };
    let strayed = strayed_after(drifting, LIMITS, Span::from_secs(90));
    assert_eq!(strayed.len(), 1, "{strayed:?}");
    let Strayed { by_ns, error_ns, spoils } = strayed[0];
    assert!(!spoils && (-5_500_000..-4_000_000).contains(&by_ns), "{by_ns}");
    assert!((0..1_000_000).contains(&error_ns), "{error_ns}");
    // The own clock is the faster one, so that rank 0's falls behind: what is said has the true value within its bound.
    let slow = TestClock { faster_ppm: -80, ..TestClock::default() };
    assert!(strayed_after(slow, LIMITS, Span::from_secs(90))[0].by_ns > 0);
}

/// A jump that is too far spoils each window that follows.
#[test]
fn a_jump_spoils_every_window_behind_it() {
    let jump = Span::from_ms(50);
    let jumping = TestClock { jumps_by: jump, jumps_at: Instant::ZERO + Span::from_ms(1_000), ..TestClock::default() };
    let strayed = strayed_after(jumping, LIMITS, Span::from_secs(2));
    assert!((7..=11).contains(&strayed.len()), "one for each comparison: {}", strayed.len());
    for Strayed { by_ns, error_ns, spoils } in strayed {
        assert!(spoils && by_ns.abs_diff(-(jump.as_ns() as i64)) <= error_ns.unsigned_abs(), "{by_ns} ± {error_ns}");
    }
}

/// The last comparison is before the closing line, so that it stands in the log; rank 0 may be gone.
#[test]
fn the_clocks_are_compared_once_more_at_the_end() {
    let late = ClockLimits { compare_every: Span::from_secs(600), ..LIMITS };
    let known = ClockReading { own_ns: 0, offset_ns: 0, error_ns: 1_000 };
    let mut simulation = Simulation::begin(vec![golden_lines(); 3], 9);
    simulation.clocks[1] =
        TestClock { jumps_by: Span::from_ms(50), jumps_at: Instant::ZERO + Span::from_us(10), ..TestClock::default() };
    simulation.ranks[1].watch_clock(late, known, Instant::ZERO);
    simulation.run_for(Span::from_secs(5), None);
    assert!(simulation.is_over());
    let strayed = |news: &JointNews| matches!(news, JointNews::ClockStrayed(Strayed { spoils: true, .. }));
    assert_eq!(simulation.news[1].iter().filter(|news| strayed(news)).count(), 1);

    let mut alone = RankLog::begin_listening(Patience::default(), 2, Instant::ZERO);
    let mut links = Exchange::within_process(2).links();
    alone.watch_clock(late, known, Instant::ZERO);
    let lines = golden_lines();
    alone.hear_line(lines.last().unwrap().clone());
    for second in 1..5 {
        alone.step(&mut links[1], &|| Instant::ZERO + Span::from_secs(second)).unwrap();
    }
    assert!(!alone.wants_line(), "who hears nothing of rank 0 goes on to its close all the same");
}

/// A link on which a rank that has died is left out of a sum, and nobody says so.
struct LeavesOut {
    link: ExchangeLink,
    sums: usize,
}

impl Link for LeavesOut {
    fn own_rank(&self) -> usize {
        self.link.own_rank()
    }
    fn world_size(&self) -> usize {
        self.link.world_size()
    }
    fn send_message(&mut self, to: usize, bytes: Vec<u8>) -> Result<(), LinkError> {
        self.link.send_message(to, bytes)
    }
    fn next_message(&mut self) -> Result<Option<Message>, LinkError> {
        self.link.next_message()
    }
    fn begin_collective(&mut self, operation: Collective) -> Result<(), LinkError> {
        self.link.begin_collective(operation)
    }
    fn collective_result(&mut self) -> Result<Option<Collective>, LinkError> {
        let mut result = self.link.collective_result()?;
        if let Some(Collective::Sum(numbers)) = &mut result {
            self.sums += 1;
            // The part of a rank that counted nothing, but for its witness.
            let witness = numbers.last_mut().unwrap();
            *witness -= u64::from(self.sums == 3);
        }
        Ok(result)
    }
    fn all_has_left(&mut self) -> Result<bool, LinkError> {
        self.link.all_has_left()
    }
}

#[test]
fn a_sum_that_lacks_a_rank_is_no_line_of_the_joint_log() {
    let exchange = Exchange::within_process(2);
    let mut links = exchange.links();
    let mut other = links.pop().unwrap();
    let mut first = LeavesOut { link: links.pop().unwrap(), sums: 0 };
    let mut ranks = [0, 1].map(|_| RankLog::begin_listening(Patience::default(), 2, Instant::ZERO));
    let mut intervals = 0;
    for line in golden_lines() {
        ranks.iter_mut().for_each(|rank| rank.hear_line(line.clone()));
        for _ in 0..10 {
            ranks[1].step(&mut other, &|| Instant::ZERO).unwrap();
            match ranks[0].step(&mut first, &|| Instant::ZERO) {
                Ok(stepped) => {
                    intervals += stepped.news.iter().filter(|news| matches!(news, JointNews::Interval(_))).count();
                }
                Err(error) => {
                    assert!(error.what.contains("has the parts of 1 of 2"), "{error}");
                    assert!(intervals < 3, "what is wrong is no line: {intervals}");
                    return;
                }
            }
        }
    }
    panic!("nobody noticed");
}
