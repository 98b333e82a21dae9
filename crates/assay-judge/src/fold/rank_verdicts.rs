//! What each of several ranks proves of its own part, in the log of all: criteria hold over all, and on each rank alone.
//!
//! Each rank judges its own log, and says what came of it before the log of all is closed.

use crate::finding::course::CourseFinding;
use crate::judgement::{Judgement, RankFigures, RankShare, Requirement, Slice, mark_stragglers};
use crate::verdict::Verdict;
use assay_base::Measure;
use assay_record::{Event, EventKind, HostHead};
use std::collections::BTreeMap;

/// The verdicts of the ranks of one segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankVerdicts {
    ranks: Vec<HostHead>,
    heard: BTreeMap<u32, Heard>,
    /// What the log says of ranks that were lost, and of clocks that strayed too far.
    unproven: Vec<String>,
}

/// What a rank has said.
#[derive(Clone, Debug)]
struct Heard {
    verdict: Verdict,
    why: String,
    shares: Vec<RankShare>,
}

/// The name of a figure of an event: by how much the clock of a rank has moved against that of rank 0.
const STRAYED: &str = "strayed_ns";
/// As many such texts are kept, and the last one: a clock that is wrong is so at each comparison.
const MOST_UNPROVEN: usize = 10;

/// A detail of the event of a rank has this name, with the index of a criterion behind it.
const SLICES_OF: &str = "slices of criterion ";

/// What a rank says of its own log beside its verdict in words, as details of an event: of each criterion that counts operations over a
/// threshold, how many of all were over it in each slice that the result lists.
pub fn details_of_rank(judgement: &Judgement) -> BTreeMap<String, String> {
    let mut details = BTreeMap::from([("verdict".to_owned(), judgement.verdict.to_string())]);
    let part = &judgement.part;
    for (at, criterion) in part.criteria.iter().enumerate() {
        let counts = part.slices.listed.iter().map(|slice| counts_in_slice(slice, &criterion.asked));
        let Some(counts) = counts.collect::<Option<Vec<(u64, u64)>>>() else { continue };
        let words: Vec<String> = counts.into_iter().map(|(over, all)| format!("{over}/{all}")).collect();
        details.insert(format!("{SLICES_OF}{at}"), words.join(" "));
    }
    details
}

/// Operations over the threshold of a criterion in a slice, and all; `None` where it counts none.
fn counts_in_slice(slice: &Slice, asked: &Requirement) -> Option<(u64, u64)> {
    let figures = slice.figures_of_stream(asked.stream.as_deref()?, None)?;
    let times = match asked.measure? {
        Measure::Response => &figures.response,
        Measure::Service => &figures.service,
    };
    Some((*times.over.get(&asked.threshold?)?, times.operations))
}

/// The shares that an event tells; what cannot be read is left out.
fn shares_of_event(event: &Event) -> Vec<RankShare> {
    let mut shares: Vec<RankShare> = event.details.iter().filter_map(|(name, value)| read_share(name, value)).collect();
    shares.sort_by_key(|share| share.criterion);
    shares
}

fn read_share(name: &str, value: &str) -> Option<RankShare> {
    let criterion = name.strip_prefix(SLICES_OF)?.parse::<usize>().ok()?;
    let pair = |word: &str| {
        let (over, all) = word.split_once('/')?;
        Some((over.parse().ok()?, all.parse().ok()?))
    };
    let slices = value.split_whitespace().map(pair).collect::<Option<Vec<(u64, u64)>>>()?;
    Some(RankShare::of_slices(criterion, slices))
}

impl RankVerdicts {
    /// Of a segment in whose header these ranks stand. The log of one rank alone has no others to wait for.
    pub(crate) fn of_ranks(ranks: &[HostHead]) -> RankVerdicts {
        let ranks = if ranks.len() > 1 { ranks.to_vec() } else { Vec::new() };
        RankVerdicts { ranks, ..RankVerdicts::default() }
    }

    /// Takes an event, where it is about this. What cannot be read says nothing.
    pub(crate) fn take_event(&mut self, event: &Event) {
        let detail = |name: &str| event.details.get(name);
        match event.what {
            EventKind::RankJudged => {}
            EventKind::RankLost => return self.unproven.push(event.text.clone()),
            // The windows that are open then are spoiled besides; behind the last interval none is.
            EventKind::EnvironmentChanged if detail(STRAYED).is_some() => {
                self.unproven.truncate(MOST_UNPROVEN);
                return self.unproven.push(event.text.clone());
            }
            _ => return,
        }
        let rank = detail("rank").and_then(|rank| rank.parse::<u32>().ok());
        let verdict = detail("verdict").and_then(|word| Verdict::from_word(word));
        if let Some((rank, verdict)) = rank.zip(verdict) {
            self.heard.insert(rank, Heard { verdict, why: event.text.clone(), shares: shares_of_event(event) });
        }
    }

    /// The reasons against PASS. A rank that has said nothing is one where the run has ended as planned.
    pub(crate) fn reasons_against_pass(&self, has_ended_as_planned: bool) -> Vec<CourseFinding> {
        let mut reasons: Vec<CourseFinding> = self.unproven.iter().cloned().map(CourseFinding::RankUnproven).collect();
        for HostHead { rank, name, .. } in &self.ranks {
            match self.heard.get(rank) {
                Some(Heard { verdict: Verdict::Pass, .. }) => {}
                // The run itself says how it was cut short.
                Some(Heard { verdict: Verdict::Incomplete, .. }) if !has_ended_as_planned => {}
                Some(Heard { verdict, why, .. }) => {
                    reasons.push(CourseFinding::RankAlone { verdict: *verdict, why: why.clone() });
                }
                None if has_ended_as_planned => {
                    reasons.push(CourseFinding::RankUnjudged { rank: *rank, host: name.clone() });
                }
                None => {}
            }
        }
        reasons
    }

    /// What each rank did by itself.
    pub(crate) fn into_figures(mut self) -> Vec<RankFigures> {
        let figures = |HostHead { rank, name, parts, .. }: HostHead| {
            let (verdict, shares) = self.heard.remove(&rank).map(|heard| (heard.verdict, heard.shares)).unzip();
            RankFigures { rank, host: name, parts, verdict, shares: shares.unwrap_or_default() }
        };
        let mut ranks: Vec<RankFigures> = self.ranks.into_iter().map(figures).collect();
        mark_stragglers(&mut ranks);
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_ranks() -> Vec<HostHead> {
        let rank = |rank: u32| HostHead { rank, name: format!("host{rank}"), parts: 1, ..HostHead::default() };
        vec![rank(0), rank(1)]
    }

    fn judged(rank: &str, verdict: &str) -> Event {
        let details = [("rank", rank), ("verdict", verdict)].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let text = format!("rank {rank} alone: {verdict}");
        Event { at_ns: 0, what: EventKind::RankJudged, text, details: BTreeMap::from(details) }
    }

    #[test]
    fn every_rank_must_have_passed_by_itself() {
        let mut verdicts = RankVerdicts::of_ranks(&two_ranks());
        verdicts.take_event(&judged("0", "PASS"));
        let lacking = [CourseFinding::RankUnjudged { rank: 1, host: "host1".to_owned() }];
        assert_eq!(verdicts.reasons_against_pass(true), lacking);
        assert_eq!(verdicts.reasons_against_pass(false), [], "a run that was cut short is incomplete");
        for unreadable in [judged("1", "pass"), judged("x", "PASS"), judged("2", "PASS")] {
            verdicts.take_event(&unreadable);
            assert_eq!(verdicts.reasons_against_pass(true), lacking, "{unreadable:?}");
        }
        for (word, verdict) in
            [("FAIL", Verdict::Fail), ("INVALID", Verdict::Invalid), ("INCOMPLETE", Verdict::Incomplete)]
        {
            verdicts.take_event(&judged("1", word));
            let why = format!("rank 1 alone: {word}");
            assert_eq!(verdicts.reasons_against_pass(true), [CourseFinding::RankAlone { verdict, why }]);
            let said = usize::from(verdict != Verdict::Incomplete);
            assert_eq!(verdicts.reasons_against_pass(false).len(), said, "{word} in a run that was cut short");
        }
        verdicts.take_event(&judged("1", "PASS"));
        assert_eq!(verdicts.reasons_against_pass(true), []);
    }

    /// What a lost rank did is not known: that proves nothing, however the run was cut short.
    #[test]
    fn a_lost_rank_is_a_reason_against_pass() {
        let mut verdicts = RankVerdicts::of_ranks(&two_ranks());
        let text = "nothing was heard of rank 1 on host1 for 30 s".to_owned();
        verdicts.take_event(&Event {
            at_ns: 0,
            what: EventKind::RankLost,
            text: text.clone(),
            details: BTreeMap::new(),
        });
        assert_eq!(verdicts.reasons_against_pass(false), [CourseFinding::RankUnproven(text)]);
    }

    /// Also behind the last interval, where no window is open any more.
    #[test]
    fn a_clock_that_strayed_too_far_is_a_reason_against_pass() {
        let mut verdicts = RankVerdicts::of_ranks(&two_ranks());
        let details = BTreeMap::from([(STRAYED.to_owned(), "900000000".to_owned())]);
        let strayed = Event { at_ns: 0, what: EventKind::EnvironmentChanged, text: "far".to_owned(), details };
        let other = Event { details: BTreeMap::new(), ..strayed.clone() };
        let warned = Event { what: EventKind::Warning, ..strayed.clone() };
        for harmless in [&other, &warned] {
            verdicts.take_event(harmless);
            assert_eq!(verdicts.reasons_against_pass(false), []);
        }
        (0..100).for_each(|_| verdicts.take_event(&strayed));
        assert_eq!(verdicts.reasons_against_pass(false).len(), MOST_UNPROVEN + 1);
    }

    #[test]
    fn the_log_of_a_single_rank_waits_for_nobody() {
        let alone = RankVerdicts::of_ranks(&two_ranks()[..1]);
        assert_eq!(alone.reasons_against_pass(true), []);
        assert_eq!(RankVerdicts::of_ranks(&[]).reasons_against_pass(true), []);
    }
}
