//! The machine: which knobs come next, by what the rounds so far counted.

use super::figures::{Compared, Expected, Figure, Figures, Load, Measured, difference};
use super::outcome::Outcome;
use super::solve::{self, Aim};
use super::why::{self, Short, Why};
use crate::verdict::Verdict;
use assay_base::Knobs;

/// Standard deviations that counting is allowed: 95 of 100 counts stay within two.
pub const DEVIATIONS: f64 = 2.0;
/// Beyond so many the plan itself is not what is handed over: not one count of ten thousand is.
const FOLLOWED: f64 = 4.0;

/// What is asked of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// What production's drive did; a figure that is not known is not fitted.
    pub production: [Option<f64>; 4],
    /// Difference that is small enough, as a share of production's.
    pub tolerance: f64,
    /// Most rounds.
    pub rounds: usize,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Run a round with these knobs and observe.
    RunAt(Knobs),
    /// Nothing more to learn.
    Done(Outcome),
}

/// A round as the machine keeps it.
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
    /// How much the device counts of what it is handed, by the last round.
    made: Figures,
    /// How much more is handed over than was expected.
    drift: Figures,
}

impl<L: Load> Fit<L> {
    /// Begins with the knobs as they stand.
    pub fn start(load: L, goal: Goal, start: Knobs) -> Fit<L> {
        Fit { load, goal, start, rounds: Vec::new(), made: [1.0; 4], drift: [1.0; 4] }
    }

    /// Takes in what a round with these knobs counted.
    pub fn observe(&mut self, knobs: Knobs, measured: Measured) {
        if measured.delivered && proves(measured.verdict) {
            self.learn(&knobs, &measured);
        }
        self.rounds.push(Seen { knobs, measured });
    }

    /// What the device makes of each request is known without noise, from what it was handed. What was handed over follows from
    /// the plan; only where counting cannot explain that it does not, it is followed as well.
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

    /// By how much the device counts more than the plan is expected to do.
    fn factor(&self) -> Figures {
        std::array::from_fn(|at| self.made[at] * self.drift[at])
    }

    /// What to do next; the same answer until something is observed.
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
        // Where all is expected to agree, only counting was off, and another round tells.
        let by_chance = Figure::ALL.iter().all(|figure| self.is_near(&to, *figure));
        if to == last.knobs && !by_chance { Next::Done(self.apart()) } else { Next::RunAt(to) }
    }

    /// The knobs that come nearest by what is known now.
    fn solved(&self, last: &Seen) -> Knobs {
        solve::solve(&self.load, &self.aim(), &last.knobs)
    }

    /// What is aimed at: production's figures, with what the device makes of requests. What is split or merged is not
    /// aimed at where bytes could not be reached as well: the load that is handed over is then production's.
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

    /// The round that came nearest, and why the others of its figures do not agree.
    fn apart(&self) -> Outcome {
        // A figure that no round brings near must not hide how the others do.
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

    /// How long a round must be for counting to vary by no more than the tolerance.
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

/// What counting a figure for so long is allowed, as a share.
fn noise(expected: &Expected, at: usize, seconds: f64) -> f64 {
    DEVIATIONS * expected.spread[at] / seconds.max(1e-9).sqrt()
}
