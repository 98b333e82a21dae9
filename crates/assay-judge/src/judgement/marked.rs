//! The figures of the parts into which marks divide a run.

use super::criteria::{CriterionOutcome, Outcome};
use super::skip::is_zero;
use super::streams::TimesSummary;
use assay_base::{Bound, MarkedPart};
use serde::{Deserialize, Serialize};

/// One part of a run: from a mark, or from the beginning, to the next mark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartFigures {
    /// What it shows.
    pub kind: MarkedPart,
    /// What the mark says that begins it; empty for the part with which the run begins.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Where it begins in measured time.
    pub start_ns: u64,
    /// How long it was measured.
    pub measured_ns: u64,
    /// The worst outcome of its criteria; absent where nothing was measured in it, or no criterion names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The criteria that name it, judged in it alone: the load first, if the load is asked for in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CriterionOutcome>,
    /// Each stream over all its targets.
    pub streams: Vec<PartStream>,
    /// How long it took until the criteria held again; absent where no disturbance ended with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryFigures>,
}

/// One stream in one part. What a part did is what its intervals did: the parts of a run add up to the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartStream {
    /// Stream name.
    pub name: String,
    /// Completed operations.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Failed and short operations.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Completed operations per second; absent when no time was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_achieved: Option<f64>,
    /// Completed − intended, from exact counters: without percentiles, because distributions are not divided by marks.
    pub response: TimesSummary,
    /// Upper bound of its 99th percentile from the same counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_p99_below_ns: Option<u64>,
}

/// How a run recovered from a disturbance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryFigures {
    /// How it ended.
    pub state: RecoveryState,
    /// The time from the mark to the end of the last interval that breaks a bound; absent unless it has recovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ns: Option<u64>,
    /// By how much that may differ from the truth: the length of an interval.
    pub precision_ns: u64,
    /// How long the workload file allows for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub allowed_ns: u64,
    /// A second account, from the figures alone: the time from the mark to the first of three intervals in a row in which at least
    /// half as many operations completed as in the healthy part, with a mean response of at most twice as long. Absent where there is
    /// no healthy part, or there were no such intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_figures_ns: Option<u64>,
}

/// How the recovery from a disturbance ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryState {
    /// From some interval on the criteria held to the end of the part.
    Recovered,
    /// They did not hold at its end.
    NotRecovered,
    /// The run was interrupted meanwhile.
    Interrupted,
    /// No criterion names the recovered part.
    #[default]
    NotJudged,
}

impl RecoveryFigures {
    /// `3 s ± 1 s`, or why there is no such time.
    pub fn in_words(&self) -> String {
        let time = crate::words::human_time;
        let found = match (self.state, self.took_ns) {
            (RecoveryState::Recovered, Some(took_ns)) => {
                format!("{} ± {} until the criteria held again", time(took_ns), time(self.precision_ns))
            }
            (RecoveryState::Recovered | RecoveryState::NotRecovered, _) => "the criteria did not hold again".to_owned(),
            (RecoveryState::Interrupted, _) => "not known, because the run was interrupted meanwhile".to_owned(),
            (RecoveryState::NotJudged, _) => "no criterion names the recovered part".to_owned(),
        };
        let witness = match self.by_figures_ns {
            Some(ns) => format!("; {} by throughput and response", time(ns)),
            None => "; throughput and response did not come back to those before".to_owned(),
        };
        found + &witness
    }
}

impl PartFigures {
    /// Whether the criteria ask something of it, besides how many errors they allow.
    pub(crate) fn is_asked_of(&self) -> bool {
        let allows = |outcome: &CriterionOutcome| matches!(outcome.asked.exact_bound, Some(Bound::ErrorsAtMost(_)));
        self.criteria.iter().any(|outcome| !allows(outcome))
    }

    /// Its name in a sentence: `part 2 (disturbed, "scrub begins")`.
    pub fn part_in_words(&self, number: usize) -> String {
        part_in_words(number, self.kind, &self.text)
    }
}

/// The name of a part in a sentence.
pub(crate) fn part_in_words(number: usize, kind: MarkedPart, text: &str) -> String {
    let said = if text.is_empty() { String::new() } else { format!(", \"{}\"", text.escape_debug()) };
    format!("part {number} ({kind}{said})")
}
