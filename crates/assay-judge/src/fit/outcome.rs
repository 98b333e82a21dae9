//! How a fit ended.

use super::why::Short;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// How a fit ended. Rounds count from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every figure agrees with production's.
    Agrees {
        /// The number of the round in which it happened.
        round: usize,
    },
    /// Some do not; this round came nearest.
    Apart {
        /// The round.
        round: usize,
        /// Each figure that does not agree, and why.
        figures: Vec<Short>,
    },
    /// The device does not carry the load, so its figures cannot be compared.
    NotCarried {
        /// The round.
        round: usize,
    },
    /// A round could not be used (INVALID twice), something failed in it that no load excuses (FAIL), or the fit was cut short
    /// (INCOMPLETE).
    Stopped {
        /// The round.
        round: usize,
        /// Its verdict.
        verdict: Verdict,
    },
}

impl Outcome {
    /// The round with the resulting knobs, where there is one.
    pub fn resulting_round(&self) -> Option<usize> {
        match self {
            Outcome::Agrees { round } | Outcome::Apart { round, .. } => Some(*round),
            Outcome::NotCarried { .. } | Outcome::Stopped { .. } => None,
        }
    }

    /// What the fit proves: PASS where all figures agree, FAIL where one does not or the load is not carried.
    pub fn verdict(&self) -> Verdict {
        match self {
            Outcome::Agrees { .. } => Verdict::Pass,
            Outcome::Apart { .. } | Outcome::NotCarried { .. } => Verdict::Fail,
            Outcome::Stopped { verdict, .. } => *verdict,
        }
    }
}
