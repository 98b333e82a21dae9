//! What one run of a procedure showed.

use super::ending::Ending;
use crate::judgement::Judgement;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The directory of its log, as the procedure's document names it.
    pub directory: String,
    /// What it proves.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// What failed, in words; absent where nothing did. A broken bound alone is no failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Whether another run may follow. No document has it: it decides within one call.
    #[serde(skip)]
    pub ending: Ending,
}

impl Evidence {
    /// The evidence of the run whose log was judged.
    pub fn new(judgement: &Judgement, directory: String) -> Evidence {
        let streams = &judgement.part.streams.each;
        let stuck = streams.iter().any(|stream| stream.counts.stuck > 0);
        Evidence {
            directory,
            verdict: judgement.verdict,
            reason: judgement.reason.clone(),
            failure: judgement.failure_in_words().map(str::to_owned),
            ending: Ending::new(judgement.part.history.closed, stuck),
        }
    }

    /// The same with the judgements of its phases, each of which may be worse than the whole: the worst one decides.
    pub fn with_phases(mut self, phases: &[Judgement]) -> Evidence {
        for phase in phases {
            if phase.verdict > self.verdict {
                (self.verdict, self.reason) = (phase.verdict, phase.reason.clone());
            }
            self.failure = self.failure.or_else(|| phase.failure_in_words().map(str::to_owned));
        }
        self
    }

    /// The same with a failure that was found outside the log.
    pub fn with_failure(self, failure: String) -> Evidence {
        Evidence { verdict: Verdict::Fail, reason: failure.clone(), failure: Some(failure), ..self }
    }

    /// Whether its run belongs to a procedure that is in this directory below another one.
    pub fn is_in(&self, directory: &str) -> bool {
        self.directory.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Whether it shows that its place holds, or that it does not.
    pub fn is_proof(&self) -> bool {
        self.shows_not_held() || self.verdict == Verdict::Pass
    }

    /// Whether it shows that its place holds.
    pub fn passes(&self) -> bool {
        self.verdict == Verdict::Pass && !self.shows_not_held()
    }

    /// Whether it shows that its place does not hold.
    pub fn shows_not_held(&self) -> bool {
        self.failure.is_some() || self.verdict == Verdict::Fail
    }
}

/// The evidence of a run of which only its verdict is known.
impl From<Verdict> for Evidence {
    fn from(verdict: Verdict) -> Evidence {
        Evidence { directory: String::new(), verdict, reason: String::new(), failure: None, ending: Ending::Over }
    }
}
