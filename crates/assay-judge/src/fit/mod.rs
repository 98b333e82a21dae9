//! The fit: changes the four knobs of a profile until the drive under test does what production's drive did, by
//! iostat's own figures: r/s, w/s, rkB/s and wkB/s.
//!
//! The fit is a state machine and runs nothing itself: it returns the knobs for the next run and receives what was
//! counted. Its only state is the list of past rounds, so an interrupted fit continues from that list. It does not know
//! the profile either: a [`Load`] returns the expected figures for each setting of the knobs.
//!
//! *Steering.* What is expected follows exactly from the plan. What the device counts differs from that where requests
//! are split, merged or joined by requests of others; the ratio of counted to issued requests is known in each round
//! without any noise. The knobs are then solved for, each direction by itself, such that as many figures as possible
//! agree and the larger difference is the smallest possible ([`solve`]).
//!
//! *Noise.* Arrivals are independent (Poisson), so a round of T seconds counts N operations with a standard deviation
//! of √N, and bytes with √(T · Σ rate · E[size²]) (a compound Poisson process). Two of those, as a share of what is
//! expected, are allowed in addition to the tolerance. A difference within this noise is not corrected: it would be
//! gone in the next round.

mod render;
mod solve;
mod trail;
mod why;

pub(crate) use render::ended;
pub use render::{moved, text};
pub use trail::{Compared, Round, SCHEMA, Trail};
pub use why::{Short, Why};

use crate::verdict::Verdict;
use assay_base::{Direction, Knobs};
use serde::{Deserialize, Serialize};
use solve::Aim;

/// Standard deviations of noise that are allowed: 95 of 100 counts stay within two.
pub const DEVIATIONS: f64 = 2.0;
/// Beyond this many standard deviations, what is issued does not follow the plan: not one count of ten thousand is so
/// far off.
const FOLLOWED: f64 = 4.0;

/// One figure of iostat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Figure {
    /// Reads per second.
    #[serde(rename = "r/s")]
    Reads,
    /// Writes per second.
    #[serde(rename = "w/s")]
    Writes,
    /// Bytes read per second.
    #[serde(rename = "rkB/s")]
    ReadBytes,
    /// Bytes written per second.
    #[serde(rename = "wkB/s")]
    WrittenBytes,
}

impl Figure {
    /// In iostat's order, which is also that of [`Figures`].
    pub const ALL: [Figure; 4] = [Figure::Reads, Figure::Writes, Figure::ReadBytes, Figure::WrittenBytes];

    /// Its name in iostat.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Reads => "r/s",
            Figure::Writes => "w/s",
            Figure::ReadBytes => "rkB/s",
            Figure::WrittenBytes => "wkB/s",
        }
    }

    /// The direction that it counts.
    pub fn direction(self) -> Direction {
        match self {
            Figure::Reads | Figure::ReadBytes => Direction::Read,
            Figure::Writes | Figure::WrittenBytes => Direction::Write,
        }
    }

    /// Whether it counts bytes.
    pub fn is_bytes(self) -> bool {
        matches!(self, Figure::ReadBytes | Figure::WrittenBytes)
    }

    /// The figures of a direction: operations and bytes.
    pub fn of(direction: Direction) -> [Figure; 2] {
        match direction {
            Direction::Read => [Figure::Reads, Figure::ReadBytes],
            Direction::Write => [Figure::Writes, Figure::WrittenBytes],
        }
    }
}

/// Operations and bytes per second, in the order of [`Figure::ALL`].
pub type Figures = [f64; 4];

/// What the plan asks of the drive at one setting of the knobs.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Expected {
    /// Per second.
    pub figures: Figures,
    /// Standard deviation of the count of one second, as a share of the figure.
    pub spread: Figures,
    /// Factor by which rounding up to blocks of the device increases the bytes read and written: 1 where it adds
    /// nothing.
    pub rounding: [f64; 2],
}

/// Returns what is expected at each setting of the knobs.
pub trait Load {
    /// What the plan asks of the drive with these knobs.
    fn expected(&self, knobs: &Knobs) -> Expected;
}

impl<F: Fn(&Knobs) -> Expected> Load for F {
    fn expected(&self, knobs: &Knobs) -> Expected {
        self(knobs)
    }
}

/// The counts of one round.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What the generator issued and got back.
    pub own: Figures,
    /// What the device counted; `None` where it has no counters.
    pub device: Option<Figures>,
    /// Flushes per second that were subtracted from the writes it counted.
    pub flushes: f64,
    /// Length of the round.
    pub seconds: f64,
    /// The verdict on its log.
    pub verdict: Verdict,
    /// Whether the device carried the load.
    pub delivered: bool,
}

impl Measured {
    /// What is compared with production.
    pub fn figures(&self) -> &Figures {
        self.device.as_ref().unwrap_or(&self.own)
    }

    /// Ratio of what the device counts to what was issued.
    fn made_of_one(&self) -> Figures {
        std::array::from_fn(|at| ratio(self.figures()[at], self.own[at]))
    }
}

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

/// How a fit ended. Rounds count from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every figure agrees with production's.
    Agrees {
        /// In this round.
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
    /// A round could not be used (INVALID twice, or INCOMPLETE).
    Stopped {
        /// The round.
        round: usize,
        /// Its verdict.
        verdict: Verdict,
    },
}

impl Outcome {
    /// The round with the resulting knobs, where there is one.
    pub fn result(&self) -> Option<usize> {
        match self {
            Outcome::Agrees { round } | Outcome::Apart { round, .. } => Some(*round),
            Outcome::NotCarried { .. } | Outcome::Stopped { .. } => None,
        }
    }
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
        // Every figure is expected to agree, so only noise was off: another round decides.
        let by_chance = Figure::ALL.iter().all(|figure| self.is_near(&to, *figure));
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

/// The difference as a share of theirs. Something where theirs is zero counts as a difference of the whole.
pub(crate) fn difference(ours: f64, theirs: f64) -> f64 {
    match theirs > 0.0 {
        true => ours / theirs - 1.0,
        false => f64::from(u8::from(ours > 0.0)),
    }
}

/// The ratio of the two; 1 where it is not defined.
fn ratio(these: f64, those: f64) -> f64 {
    if these > 0.0 && those > 0.0 { these / those } else { 1.0 }
}

#[cfg(test)]
mod tests;
