//! What each of several ranks proves of its own part, in the log of all: criteria hold over all, and on each rank alone.
//!
//! Each rank judges its own log, and says what came of it before the log of all is closed.

use crate::finding::course::CourseFinding;
use crate::verdict::Verdict;
use assay_record::{Event, EventKind, HostHead};
use std::collections::BTreeMap;

/// The verdicts of the ranks of one segment.
#[derive(Debug, Default)]
pub(crate) struct RankVerdicts {
    ranks: Vec<HostHead>,
    heard: BTreeMap<u32, (Verdict, String)>,
}

impl RankVerdicts {
    /// Of a segment in whose header these ranks stand. The log of one rank alone has no others to wait for.
    pub(crate) fn of_ranks(ranks: &[HostHead]) -> RankVerdicts {
        let ranks = if ranks.len() > 1 { ranks.to_vec() } else { Vec::new() };
        RankVerdicts { ranks, heard: BTreeMap::new() }
    }

    /// Takes an event, where it is about this. What cannot be read says nothing.
    pub(crate) fn take_event(&mut self, event: &Event) {
        let detail = |name: &str| event.details.get(name);
        if event.what != EventKind::RankJudged {
            return;
        }
        let rank = detail("rank").and_then(|rank| rank.parse::<u32>().ok());
        let verdict = detail("verdict").and_then(|word| Verdict::from_word(word));
        if let Some((rank, verdict)) = rank.zip(verdict) {
            self.heard.insert(rank, (verdict, event.text.clone()));
        }
    }

    /// The reasons against PASS. A rank that has said nothing is one where the run has ended as planned.
    pub(crate) fn reasons_against_pass(&self, has_ended_as_planned: bool) -> Vec<CourseFinding> {
        let mut reasons = Vec::new();
        for HostHead { rank, name, .. } in &self.ranks {
            match self.heard.get(rank) {
                Some((Verdict::Pass, _)) => {}
                // The run itself says how it was cut short.
                Some((Verdict::Incomplete, _)) if !has_ended_as_planned => {}
                Some((verdict, why)) => {
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

    #[test]
    fn the_log_of_a_single_rank_waits_for_nobody() {
        let alone = RankVerdicts::of_ranks(&two_ranks()[..1]);
        assert_eq!(alone.reasons_against_pass(true), []);
        assert_eq!(RankVerdicts::of_ranks(&[]).reasons_against_pass(true), []);
    }
}
