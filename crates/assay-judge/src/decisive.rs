//! Which criterion to show of a run where there is space for only one: the one that decided a FAIL, otherwise the one
//! that came nearest to its bound. A FAIL that no criterion decided, such as a failed operation, has none: one that held
//! would be taken for the reason.

use crate::judgement::{CriterionOutcome, Judgement, Outcome};
use crate::rules::value::bound_as_number;
use crate::verdict::Verdict;

impl Judgement {
    /// The criterion that decided, or came nearest to deciding; `None` where none was measured, or where something else decided a
    /// FAIL.
    pub fn decisive_criterion(&self) -> Option<&CriterionOutcome> {
        match (self.verdict, self.failure_in_words()) {
            (Verdict::Fail, Some(_)) => None,
            (Verdict::Fail, None) => self.decided_fail(),
            _ => {
                let judged = self.measured_criteria().filter_map(|outcome| Some((outcome, share_of_bound(outcome)?)));
                judged.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(outcome, _)| outcome)
            }
        }
    }

    /// The criteria of which something was measured.
    fn measured_criteria(&self) -> impl Iterator<Item = &CriterionOutcome> {
        self.part.criteria.iter().filter(|outcome| outcome.measured.is_some())
    }

    /// The criterion that decided a FAIL: the one at the deciding place, otherwise the first that is broken.
    fn decided_fail(&self) -> Option<&CriterionOutcome> {
        let failed: Vec<_> = self.measured_criteria().filter(|outcome| outcome.outcome == Outcome::Fail).collect();
        let at_the_place = failed.iter().find(|outcome| {
            let figure = outcome.measured.as_ref().map(|figure| figure.text.as_str());
            self.deciding
                .as_ref()
                .is_some_and(|place| outcome.asked.stream == place.stream && figure == place.measured.as_deref())
        });
        at_the_place.or(failed.first()).copied()
    }
}

/// How near the worst figure came to its bound: 1 is the bound itself, more is beyond it.
fn share_of_bound(outcome: &CriterionOutcome) -> Option<f64> {
    let worst = outcome.worst.as_ref()?.value;
    let exact_bound = outcome.asked.exact_bound?;
    let bound = bound_as_number(&exact_bound);
    let (nearer, of) = if exact_bound.is_of_work() { (bound, worst) } else { (worst, bound) };
    Some(nearer / of.max(f64::MIN_POSITIVE))
}
