//! What a procedure says of runs beside the figures of its result.

use super::ending::Ending;
use super::evidence::Evidence;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// Runs in which something failed, and runs that another one replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    /// The runs in which something failed, in their order; absent where nothing did. Any of them makes the procedure FAIL.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Evidence>,
    /// The runs that do not decide at their place, in their order, because they prove nothing and were repeated, or because
    /// another run there failed; absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeated: Vec<Evidence>,
}

impl Aside {
    /// The evidence of a run that a document lists: what failed in it stands here.
    pub(crate) fn evidence_of_run(&self, directory: &str, verdict: Verdict, reason: &str) -> Evidence {
        let failed = self.failures.iter().find(|run| run.directory == directory);
        let failure = failed.and_then(|run| run.failure.clone());
        let (directory, reason) = (directory.to_owned(), reason.to_owned());
        Evidence { directory, verdict, reason, failure, ending: Ending::Over }
    }

    /// These runs, and those of another part of the same procedure.
    #[must_use]
    pub fn joined_with(mut self, other: Aside) -> Aside {
        self.failures.extend(other.failures);
        self.repeated.extend(other.repeated);
        self
    }

    /// The same runs as a document names them that is above their procedure, which is in this directory below it.
    #[must_use]
    pub fn in_directory(mut self, directory: &str) -> Aside {
        for run in self.failures.iter_mut().chain(&mut self.repeated) {
            run.directory = format!("{directory}/{}", run.directory);
        }
        self
    }

    /// Those of a procedure that is in this directory.
    #[must_use]
    pub fn only_in(mut self, directory: &str) -> Aside {
        self.failures.retain(|run| run.is_in(directory));
        self.repeated.retain(|run| run.is_in(directory));
        self
    }

    /// A sentence for each of these runs, for people.
    pub fn as_sentences(&self) -> Vec<String> {
        let failed = self.failures.iter().map(|run| {
            let what = run.failure.as_ref().unwrap_or(&run.reason);
            format!("failed in {}: {what}", run.directory)
        });
        let repeated = self
            .repeated
            .iter()
            .map(|run| format!("{} is not in the result: {} ({})", run.directory, run.verdict, run.reason));
        failed.chain(repeated).collect()
    }
}
