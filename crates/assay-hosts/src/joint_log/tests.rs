//! Ranks that write logs of a real run, in a simulated network.

use super::*;
use crate::exchange::{Exchange, ExchangeLink};
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
        let lines = logs.into_iter().map(|mut lines| {
            lines.reverse();
            lines
        });
        Simulation { exchange, links, ranks, lines: lines.collect(), news, now: Instant::ZERO, random }
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
                let stepped = self.ranks[rank].step(&mut self.links[rank], self.now).unwrap();
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
    ranks[1].step(&mut links[1], Instant::ZERO).unwrap();
    let error = ranks[0].step(&mut links[0], Instant::ZERO).unwrap_err();
    assert!(error.what.contains("rank 1 counts other flows"), "{error}");
}
