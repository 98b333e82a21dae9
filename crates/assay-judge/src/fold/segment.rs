//! What begins anew with each segment of a log, and what its end shows.

use crate::finding::FindingKind;
use crate::finding::course::{CourseFinding, Ending};
use crate::finding::log::{Contradiction, LogFinding};
use crate::finding::others::OthersUse;
use crate::fold::accounts::Accounts;
use crate::fold::closing::{self, Ended};
use crate::fold::reported::{Reported, Uncounted};
use crate::fold::warm_up::WarmUp;
use assay_record::Header;

/// One segment.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Its accounts, which must add up.
    pub(crate) accounts: Accounts,
    /// How its warm-up ended.
    pub(crate) warm_up: WarmUp,
    /// Failures that events report.
    pub(crate) failed: Reported,
    /// Why its target was given up, according to an event.
    lost: Option<String>,
}

/// What other parts know when a segment ends.
#[derive(Clone, Debug)]
pub(crate) struct EndFacts {
    /// Whether it is a step of a certification.
    pub(crate) certifies: bool,
    /// Whether a judged phase was reached.
    pub(crate) measured: bool,
    /// Whether lines of the log are missing or unreadable.
    pub(crate) damaged: bool,
    /// The time by which the generator may have delayed a schedule.
    pub(crate) generator_behind_ns: u64,
    /// The lag at which the run was to stop.
    pub(crate) max_lag_ns: u64,
    /// The most by which a time may differ from its expected place.
    pub(crate) tolerance_ns: u64,
    /// What others did on a disk of the run, where that disturbed it to the end.
    pub(crate) others: Option<OthersUse>,
    /// Whether everything that failed met a lock of somebody else.
    pub(crate) locked: bool,
}

/// What the end of a segment shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum EndNews {
    /// A finding about the step.
    OfStep(FindingKind),
    /// A finding at the measured time so far.
    Now(FindingKind),
    /// The log contradicts itself, so the open windows prove nothing.
    Spoils(Contradiction),
    /// The log contradicts itself about the whole segment.
    Contradicts(Contradiction),
    /// Something that a reader should know.
    Warning(String),
}

impl Segment {
    /// Begins a segment.
    pub(crate) fn new(header: &Header) -> Segment {
        let (accounts, warm_up) = (Accounts::new(header), WarmUp::new(header));
        Segment { accounts, warm_up, failed: Reported::default(), lost: None }
    }

    /// Failures in intervals that the log lost.
    pub(crate) fn take_uncounted(&mut self) -> Vec<Uncounted> {
        let (uncounted, lost) = std::mem::take(&mut self.failed).end_segment();
        self.lost = lost;
        uncounted
    }

    /// What its end shows, and whether its closing line agrees with what was found.
    pub(crate) fn end_segment(&mut self, known: EndFacts) -> Vec<EndNews> {
        let mut said = Vec::new();
        if let Some(why) = self.lost.take().filter(|_| self.accounts.closing_line().is_none()) {
            let ending = if known.locked { Ending::Locked } else { Ending::TargetLost };
            said.push(EndNews::OfStep(CourseFinding::Ended(ending, Some(why)).into()));
        }
        said.extend(self.check_steady_start(&known));
        let Some(close) = self.accounts.closing_line() else { return said };
        let EndFacts { generator_behind_ns, max_lag_ns, .. } = known;
        let ended = Ended {
            issued: self.accounts.issued_operations(),
            generator_behind_ns,
            max_lag_ns,
            others: known.others,
            locked: known.locked,
        };
        said.extend(closing::judge_closing(close, ended).map(|found| EndNews::Now(found.into())));
        if self.accounts.ends_behind(close, known.tolerance_ns) {
            said.push(EndNews::Spoils(Contradiction::Closed { at_ns: close.at_ns }));
        }
        let found = self.accounts.found_instead(close).filter(|_| !known.damaged);
        said.extend(match found {
            Some(found) => Some(EndNews::OfStep(LogFinding::Count(close.intervals, found).into())),
            None => self.accounts.contradiction_with_close(close).map(EndNews::Contradicts),
        });
        said
    }

    /// A certification that should begin with a steady load and did not proves nothing; any other run gets a warning.
    fn check_steady_start(&mut self, known: &EndFacts) -> Option<EndNews> {
        let why = if known.measured { self.warm_up.take_failure()? } else { return None };
        Some(if known.certifies {
            EndNews::OfStep(CourseFinding::NotSteady(why).into())
        } else {
            EndNews::Warning(format!("measured without having reached a steady state: {why}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::{Close, CloseReason, Event, EventKind, Interval, PhaseHead, PhaseKind};

    const KNOWN: EndFacts = EndFacts {
        certifies: true,
        measured: true,
        damaged: false,
        generator_behind_ns: 0,
        max_lag_ns: 0,
        tolerance_ns: 5,
        others: None,
        locked: false,
    };

    fn segment() -> Segment {
        let steady_round_ns = Some(1);
        let phase = PhaseHead {
            name: "warm-up".into(),
            kind: PhaseKind::WarmUp,
            span_ns: 9,
            steady_round_ns,
            until_done: false,
        };
        Segment::new(&Header { phases: vec![phase], ..fixture::header() })
    }

    fn close(intervals: u64, issued: u64, at_ns: u64) -> Close {
        let (reason, text) = (CloseReason::Completed, String::new());
        Close { reason, at_ns, text, intervals, issued, completed: 0, stuck: 0 }
    }

    #[test]
    fn a_warm_up_that_never_became_steady_leaves_a_certification_unproven() {
        let not_steady = |why: &str| EndNews::OfStep(CourseFinding::NotSteady(why.into()).into());
        let untold = "the log does not say that it was";
        assert_eq!(segment().end_segment(KNOWN), [not_steady(untold)]);
        assert_eq!(segment().end_segment(EndFacts { measured: false, ..KNOWN }), [], "nothing was measured");
        let warning = EndNews::Warning(format!("measured without having reached a steady state: {untold}"));
        assert_eq!(segment().end_segment(EndFacts { certifies: false, ..KNOWN }), [warning]);
        for (what, expected) in [(EventKind::NotSteady, vec![not_steady("it drifts")]), (EventKind::Steady, vec![])] {
            let mut segment = segment();
            segment.warm_up.take_event(&Event {
                at_ns: 0,
                what,
                text: "it drifts".into(),
                details: Default::default(),
            });
            assert_eq!(segment.end_segment(KNOWN), expected);
            assert_eq!(segment.end_segment(KNOWN), [], "it is told once");
        }
    }

    #[test]
    fn the_closing_line_is_held_against_the_intervals() {
        let known = || EndFacts { measured: false, ..KNOWN };
        for (intervals, issued, at_ns, damaged, expected) in [
            (1, 0, 10, false, 0),
            (2, 0, 10, false, 1),
            // Lines are missing, and that was reported already.
            (2, 0, 10, true, 0),
            (1, 1, 10, false, 1),
            (1, 0, 5, false, 0),
            (1, 0, 4, false, 1),
            (2, 0, 4, false, 2),
        ] {
            let mut segment = segment();
            segment.accounts.follow_interval(&Interval { end_ns: 10, ..Interval::default() }, true, 5).unwrap();
            segment.accounts.take_closing_line(close(intervals, issued, at_ns));
            if damaged {
                segment.accounts.note_missing_part();
            }
            let said = segment.end_segment(EndFacts { damaged, ..known() });
            assert_eq!(said.len(), expected, "{intervals} {issued} {at_ns} {damaged}: {said:?}");
        }
    }
}
