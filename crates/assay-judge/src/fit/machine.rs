//! The machine: which knobs come next, by what the rounds so far counted.

use super::figures::{Compared, Expected, Figure, Figures, Load, Measured, relative_difference};
use super::outcome::Outcome;
use super::solve::{self, Aim};
use super::why::{self, Short, Why};
use crate::procedure::{AfterFailure, Aside, Attempts, Evidence, Halt, Standing};
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
struct Round {
    knobs: Knobs,
    measured: Measured,
}

/// The fit.
#[derive(Clone, Debug)]
pub struct Fit<L> {
    load: L,
    goal: Goal,
    start: Knobs,
    rounds: Vec<Round>,
    /// What the rounds showed, by how many had proven something before, and one.
    attempts: Attempts<usize>,
    /// Ratio of what the device counts to what was issued, from the last round.
    made: Figures,
    /// Ratio of what was issued to what was expected.
    drift: Figures,
}

impl<L: Load> Fit<L> {
    /// Starts a fit from these knobs.
    pub fn start(load: L, goal: Goal, start: Knobs) -> Fit<L> {
        let attempts = Attempts::new(AfterFailure::End);
        Fit { load, goal, start, rounds: Vec::new(), attempts, made: [1.0; 4], drift: [1.0; 4] }
    }

    /// Records the counts of a round with these knobs, and what it showed.
    pub fn add_run(&mut self, knobs: Knobs, measured: Measured, evidence: Evidence) {
        self.attempts.add_run(self.next_proving_round(), evidence);
        self.add_round(knobs, measured);
    }

    /// Takes over a round that an earlier call made.
    pub fn add_earlier_run(&mut self, knobs: Knobs, measured: Measured, evidence: Evidence) {
        self.attempts.add_earlier_run(Some(self.next_proving_round()), evidence);
        self.add_round(knobs, measured);
    }

    /// Takes over what a run of an earlier call showed whose knobs nobody knows any more.
    pub fn take_over_unknown(&mut self, evidence: Evidence) {
        self.attempts.add_earlier_run(None, evidence);
    }

    /// What failed, and which rounds were repeated.
    pub fn failed_and_repeated_rounds(&self) -> Aside {
        self.attempts.failed_and_repeated_runs()
    }

    /// How many rounds there are.
    pub fn round_count(&self) -> usize {
        self.rounds.len()
    }

    /// The number of the next round that proves something.
    fn next_proving_round(&self) -> usize {
        self.proving_rounds().count() + 1
    }

    /// The rounds that prove something, with their numbers, from 1.
    fn proving_rounds(&self) -> impl DoubleEndedIterator<Item = (usize, &Round)> {
        let numbered = self.rounds.iter().enumerate().map(|(index, seen)| (index + 1, seen));
        numbered.filter(|(_, seen)| is_proof(seen.measured.verdict))
    }

    fn add_round(&mut self, knobs: Knobs, measured: Measured) {
        if measured.delivered && is_proof(measured.verdict) {
            self.learn_ratios(&knobs, &measured);
        }
        self.rounds.push(Round { knobs, measured });
    }

    /// The ratio of what the device counts to what was issued is known without noise. What is issued follows from the
    /// plan; it is corrected for only where noise cannot explain the difference.
    fn learn_ratios(&mut self, knobs: &Knobs, measured: &Measured) {
        let expected = self.load.expected_counts(knobs);
        self.made = measured.made_of_one();
        for (at, own) in measured.own.iter().enumerate() {
            let meant = expected.figures[at] * self.drift[at];
            let counting = allowed_noise(&expected, at, measured.seconds) * FOLLOWED / DEVIATIONS;
            if meant > 0.0 && (own / meant - 1.0).abs() > counting {
                self.drift[at] *= own / meant;
            }
        }
    }

    /// Factor between what the device is expected to count and what the plan asks for.
    fn device_factor(&self) -> Figures {
        std::array::from_fn(|at| self.made[at] * self.drift[at])
    }

    /// The next step; the same answer until another round is observed.
    #[allow(clippy::should_implement_trait, reason = "it does not advance: only an observation does")]
    pub fn next(&self) -> Next {
        if let Some(halt) = self.attempts.reason_to_halt() {
            return Next::Done(self.outcome_of_halt(halt));
        }
        let next = self.step_after_last_round();
        match (&next, self.attempts.standing_at(&self.next_proving_round())) {
            (Next::RunAt(_), Standing::GivenUp(verdict)) => Next::Done(self.stopped_outcome(verdict)),
            _ => next,
        }
    }

    /// What follows from the last round that proves something.
    fn step_after_last_round(&self) -> Next {
        let Some((round, last)) = self.proving_rounds().next_back() else { return Next::RunAt(self.start) };
        if !last.measured.delivered {
            return Next::Done(Outcome::NotCarried { round });
        }
        if self.comparison_table(round).iter().all(Compared::agrees) {
            return Next::Done(Outcome::Agrees { round });
        }
        self.go_on(last)
    }

    /// How a fit ended that makes no further round.
    fn outcome_of_halt(&self, halt: Halt) -> Outcome {
        match halt {
            Halt::Failure => self.stopped_outcome(Verdict::Fail),
            Halt::CutShort => self.stopped_outcome(Verdict::Incomplete),
            Halt::LastRun => self.stopped_outcome(Verdict::Invalid),
        }
    }

    fn stopped_outcome(&self, verdict: Verdict) -> Outcome {
        Outcome::Stopped { round: self.rounds.len(), verdict }
    }

    fn go_on(&self, last: &Round) -> Next {
        if self.proving_rounds().count() >= self.goal.rounds {
            return Next::Done(self.nearest_outcome());
        }
        let to = self.nearest_knobs(last);
        // A figure that does not agree and is expected to was off by noise only: another round decides, whatever the
        // figures that no round can change.
        let short = self.comparison_table(self.rounds.len()).into_iter().filter(|one| !one.agrees());
        let by_chance = short.into_iter().any(|one| self.is_near(&to, one.figure));
        if to == last.knobs && !by_chance { Next::Done(self.nearest_outcome()) } else { Next::RunAt(to) }
    }

    /// The knobs that come nearest according to the rounds so far.
    fn nearest_knobs(&self, last: &Round) -> Knobs {
        solve::solve_knobs(&self.load, &self.solver_aim(), &last.knobs)
    }

    /// The goal for the solver: production's figures, corrected by the device's ratio of counted to issued requests.
    /// The correction for splitting and merging is left out where the bytes could not be reached with it: then the load
    /// that is issued equals production's.
    fn solver_aim(&self) -> Aim {
        let Goal { production, tolerance, .. } = self.goal;
        Aim { production, tolerance, factor: self.device_factor(), made_of_one: self.made }
    }

    /// Whether a figure is expected to agree with these knobs.
    fn is_near(&self, knobs: &Knobs, figure: Figure) -> bool {
        let (at, ours) = (figure as usize, self.load.expected_counts(knobs).figures);
        self.goal.production[at].is_none_or(|theirs| {
            relative_difference(ours[at] * self.device_factor()[at], theirs).abs() <= self.goal.tolerance
        })
    }

    /// The round that came nearest, and why its other figures do not agree.
    fn nearest_outcome(&self) -> Outcome {
        // A figure that agrees in no round must not hide how near the others came.
        let proving = self.proving_rounds().map(|(round, _)| round);
        let nearest = proving.min_by(|a, b| {
            let ((short_a, sum_a), (short_b, sum_b)) = (self.short_of(*a), self.short_of(*b));
            short_a.cmp(&short_b).then(sum_a.total_cmp(&sum_b))
        });
        let round = nearest.unwrap_or(self.rounds.len());
        let figures = self.comparison_table(round).into_iter().filter(|one| !one.agrees());
        let figures =
            figures.map(|one| Short { why: self.reason_for_difference(round, one.figure), of: one }).collect();
        Outcome::Apart { round, figures }
    }

    /// The number of figures that do not agree in a round, and the sum of their differences.
    fn short_of(&self, round: usize) -> (usize, f64) {
        let short = self.comparison_table(round).into_iter().filter(|one| !one.agrees());
        short.fold((0, 0.0), |(n, sum), one| (n + 1, sum + one.difference.abs()))
    }

    fn reason_for_difference(&self, round: usize, figure: Figure) -> Why {
        let seen = &self.rounds[round - 1];
        let next = self.proving_rounds().next_back().map_or(seen.knobs, |(_, last)| self.nearest_knobs(last));
        let state = why::State {
            knobs: &seen.knobs,
            measured: &seen.measured,
            production: &self.goal.production,
            tolerance: self.goal.tolerance,
            unfinished: self.is_near(&next, figure),
        };
        why::reason_for_difference(&self.load, &state, figure)
    }

    /// The table of a round: each figure that production has.
    pub fn comparison_table(&self, round: usize) -> Vec<Compared> {
        let Some(seen) = round.checked_sub(1).and_then(|at| self.rounds.get(at)) else { return Vec::new() };
        let expected = self.load.expected_counts(&seen.knobs);
        let one = |figure: &Figure| {
            let at = *figure as usize;
            let (production, measured) = (self.goal.production[at]?, seen.measured.compared_figures()[at]);
            let counting = allowed_noise(&expected, at, seen.measured.seconds);
            let difference = relative_difference(measured, production);
            let allowed = self.goal.tolerance + counting;
            Some(Compared { figure: *figure, production, measured, difference, counting, allowed })
        };
        Figure::ALL.iter().filter_map(one).collect()
    }

    /// How long a round must be so that its noise is at most the tolerance.
    pub fn quiet_seconds(&self) -> f64 {
        let knobs = self.rounds.last().map_or(self.start, |seen| seen.knobs);
        let spread = self.load.expected_counts(&knobs).spread;
        let known = (0..4).filter(|at| self.goal.production[*at].is_some());
        let widest = known.map(|at| spread[at]).fold(0.0, f64::max);
        (DEVIATIONS * widest / self.goal.tolerance.max(1e-9)).powi(2)
    }
}

fn is_proof(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Pass | Verdict::Fail)
}

/// The noise that is allowed for a figure over this time, as a share.
fn allowed_noise(expected: &Expected, at: usize, seconds: f64) -> f64 {
    DEVIATIONS * expected.spread[at] / seconds.max(1e-9).sqrt()
}
