//! The machine: which knobs come next, by what the rounds so far counted.

use super::figures::{Compared, Expected, Figure, Figures, Load, Measured, difference};
use super::outcome::Outcome;
use super::solve::{self, Aim};
use super::why::{self, Short, Why};
use crate::verdict::Verdict;
use assay_base::Knobs;

/// Standard deviations of noise that are allowed: 95 of 100 counts stay within two.
pub const DEVIATIONS: f64 = 2.0;
/// Beyond this many standard deviations, what is issued does not follow the plan: not one count of ten thousand is so
/// far off.
const FOLLOWED: f64 = 4.0;

/// The goal of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// What production's drive did; an unknown figure is not fitted.
    pub production: [Option<f64>; 4],
    /// The largest difference that counts as agreement, as a share of production's figure.
    pub tolerance: f64,
    /// Upper bound on the rounds.
    pub rounds: usize,
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Run a round with these knobs and observe.
    RunAt(Knobs),
    /// The fit has ended.
    Done(Outcome),
}

/// A past round.
#[derive(Clone, Debug)]
struct Seen {
    knobs: Knobs,
    measured: Measured,
}

/// The fit.
#[derive(Clone, Debug)]
pub struct Fit<L> {
    load: L,
    goal: Goal,
    start: Knobs,
    rounds: Vec<Seen>,
    /// Ratio of what the device counts to what was issued, from the last round.
    made: Figures,
    /// Ratio of what was issued to what was expected.
    drift: Figures,
}

impl<L: Load> Fit<L> {
    /// Starts a fit from these knobs.
    pub fn start(load: L, goal: Goal, start: Knobs) -> Fit<L> {
        Fit { load, goal, start, rounds: Vec::new(), made: [1.0; 4], drift: [1.0; 4] }
    }

    /// Records the counts of a round with these knobs.
    pub fn observe(&mut self, knobs: Knobs, measured: Measured) {
        if measured.delivered && proves(measured.verdict) {
            self.learn(&knobs, &measured);
        }
        self.rounds.push(Seen { knobs, measured });
    }

    /// The ratio of what the device counts to what was issued is known without noise. What is issued follows from the
    /// plan; it is corrected for only where noise cannot explain the difference.
    fn learn(&mut self, knobs: &Knobs, measured: &Measured) {
        let expected = self.load.expected(knobs);
        self.made = measured.made_of_one();
        for (at, own) in measured.own.iter().enumerate() {
            let meant = expected.figures[at] * self.drift[at];
            let counting = noise(&expected, at, measured.seconds) * FOLLOWED / DEVIATIONS;
            if meant > 0.0 && (own / meant - 1.0).abs() > counting {
                self.drift[at] *= own / meant;
            }
        }
    }

    /// Factor between what the device is expected to count and what the plan asks for.
    fn factor(&self) -> Figures {
        std::array::from_fn(|at| self.made[at] * self.drift[at])
    }

    /// The next step; the same answer until another round is observed.
    #[allow(clippy::should_implement_trait, reason = "it does not advance: only an observation does")]
    pub fn next(&self) -> Next {
        let Some(last) = self.rounds.last() else { return Next::RunAt(self.start) };
        let round = self.rounds.len();
        let stopped = Next::Done(Outcome::Stopped { round, verdict: last.measured.verdict });
        match last.measured.verdict {
            Verdict::Incomplete => return stopped,
            Verdict::Invalid => {
                let before = self.rounds.iter().rev().nth(1);
                let again = before.is_some_and(|before| before.measured.verdict == Verdict::Invalid);
                return if again { stopped } else { Next::RunAt(last.knobs) };
            }
            Verdict::Pass | Verdict::Fail => {}
        }
        if !last.measured.delivered {
            return Next::Done(Outcome::NotCarried { round });
        }
        if self.compared(round).iter().all(Compared::agrees) {
            return Next::Done(Outcome::Agrees { round });
        }
        self.go_on(last)
    }

    fn go_on(&self, last: &Seen) -> Next {
        let proving = self.rounds.iter().filter(|seen| proves(seen.measured.verdict)).count();
        if proving >= self.goal.rounds {
            return Next::Done(self.apart());
        }
        let to = self.solved(last);
        // A figure that does not agree and is expected to was off by noise only: another round decides, whatever the
        // figures that no round can change.
        let short = self.compared(self.rounds.len()).into_iter().filter(|one| !one.agrees());
        let by_chance = short.into_iter().any(|one| self.is_near(&to, one.figure));
        if to == last.knobs && !by_chance { Next::Done(self.apart()) } else { Next::RunAt(to) }
    }

    /// The knobs that come nearest according to the rounds so far.
    fn solved(&self, last: &Seen) -> Knobs {
        solve::solve(&self.load, &self.aim(), &last.knobs)
    }

    /// The goal for the solver: production's figures, corrected by the device's ratio of counted to issued requests.
    /// The correction for splitting and merging is left out where the bytes could not be reached with it: then the load
    /// that is issued equals production's.
    fn aim(&self) -> Aim {
        let Goal { production, tolerance, .. } = self.goal;
        Aim { production, tolerance, factor: self.factor(), made_of_one: self.made }
    }

    /// Whether a figure is expected to agree with these knobs.
    fn is_near(&self, knobs: &Knobs, figure: Figure) -> bool {
        let (at, ours) = (figure as usize, self.load.expected(knobs).figures);
        let near = |theirs| difference(ours[at] * self.factor()[at], theirs).abs() <= self.goal.tolerance;
        self.goal.production[at].is_none_or(near)
    }

    /// The round that came nearest, and why its other figures do not agree.
    fn apart(&self) -> Outcome {
        // A figure that agrees in no round must not hide how near the others came.
        let off = |round: usize| {
            let short = self.compared(round).into_iter().filter(|one| !one.agrees());
            short.fold((0, 0.0), |(n, sum), one| (n + 1, sum + one.difference.abs()))
        };
        let proving = (1..=self.rounds.len()).filter(|round| proves(self.rounds[round - 1].measured.verdict));
        let nearest = proving.min_by(|a, b| off(*a).0.cmp(&off(*b).0).then(off(*a).1.total_cmp(&off(*b).1)));
        let round = nearest.unwrap_or(self.rounds.len());
        let figures = self.compared(round).into_iter().filter(|one| !one.agrees());
        let figures = figures.map(|one| Short { why: self.why(round, one.figure), of: one }).collect();
        Outcome::Apart { round, figures }
    }

    fn why(&self, round: usize, figure: Figure) -> Why {
        let seen = &self.rounds[round - 1];
        let next = self.rounds.last().map_or(seen.knobs, |last| self.solved(last));
        let state = why::State {
            knobs: &seen.knobs,
            measured: &seen.measured,
            production: &self.goal.production,
            tolerance: self.goal.tolerance,
            unfinished: self.is_near(&next, figure),
        };
        why::why(&self.load, &state, figure)
    }

    /// The table of a round: each figure that production has.
    pub fn compared(&self, round: usize) -> Vec<Compared> {
        let Some(seen) = round.checked_sub(1).and_then(|at| self.rounds.get(at)) else { return Vec::new() };
        let expected = self.load.expected(&seen.knobs);
        let one = |figure: &Figure| {
            let at = *figure as usize;
            let (production, measured) = (self.goal.production[at]?, seen.measured.figures()[at]);
            let counting = noise(&expected, at, seen.measured.seconds);
            let difference = difference(measured, production);
            let allowed = self.goal.tolerance + counting;
            Some(Compared { figure: *figure, production, measured, difference, counting, allowed })
        };
        Figure::ALL.iter().filter_map(one).collect()
    }

    /// How long a round must be so that its noise is at most the tolerance.
    pub fn quiet_seconds(&self) -> f64 {
        let knobs = self.rounds.last().map_or(self.start, |seen| seen.knobs);
        let spread = self.load.expected(&knobs).spread;
        let known = (0..4).filter(|at| self.goal.production[*at].is_some());
        let widest = known.map(|at| spread[at]).fold(0.0, f64::max);
        (DEVIATIONS * widest / self.goal.tolerance.max(1e-9)).powi(2)
    }
}

fn proves(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Pass | Verdict::Fail)
}

/// The noise that is allowed for a figure over this time, as a share.
fn noise(expected: &Expected, at: usize, seconds: f64) -> f64 {
    DEVIATIONS * expected.spread[at] / seconds.max(1e-9).sqrt()
}
