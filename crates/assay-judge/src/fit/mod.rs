//! The fit: moves the four knobs of a profile until the drive under test does what production's drive did, by iostat's own
//! figures: r/s, w/s, rkB/s and wkB/s.
//!
//! A machine that runs nothing: it says with which knobs to run next and is told what was counted. All it knows is the list of
//! past rounds, so a fit that was interrupted goes on from that list. It knows no profile either: a [`Load`] tells it what is
//! to be expected at each setting of the knobs.
//!
//! *Steering.* What is expected follows from the plan alone, exactly. What the device counts differs from it where requests are
//! split, merged or joined by others; how much it counts of what it is handed is read in each round, without any noise. Knobs are then solved for, each
//! direction by itself, such that as many figures as can be agree and the larger difference is the smallest ([`solve`]).
//!
//! *Noise.* Arrivals are independent (Poisson), so a round of T seconds counts N operations with a standard deviation of √N,
//! and bytes with √(T · Σ rate · E[size²]) (a compound Poisson process). Two of those, as a share of what is expected, are
//! allowed beside the tolerance, and what counting explains is not followed: it would be gone in the next round.

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

/// Standard deviations that counting is allowed: 95 of 100 counts stay within two.
pub const DEVIATIONS: f64 = 2.0;
/// Beyond so many the plan itself is not what is handed over: not one count of ten thousand is.
const FOLLOWED: f64 = 4.0;

/// One figure of iostat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Figure {
    /// Reads a second.
    #[serde(rename = "r/s")]
    Reads,
    /// Writes a second.
    #[serde(rename = "w/s")]
    Writes,
    /// Bytes read a second.
    #[serde(rename = "rkB/s")]
    ReadBytes,
    /// Bytes written a second.
    #[serde(rename = "wkB/s")]
    WrittenBytes,
}

impl Figure {
    /// In iostat's order, which is that of [`Figures`].
    pub const ALL: [Figure; 4] = [Figure::Reads, Figure::Writes, Figure::ReadBytes, Figure::WrittenBytes];

    /// As iostat calls it.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Reads => "r/s",
            Figure::Writes => "w/s",
            Figure::ReadBytes => "rkB/s",
            Figure::WrittenBytes => "wkB/s",
        }
    }

    /// Whose figure it is.
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

    /// Operations and bytes of a direction.
    pub fn of(direction: Direction) -> [Figure; 2] {
        match direction {
            Direction::Read => [Figure::Reads, Figure::ReadBytes],
            Direction::Write => [Figure::Writes, Figure::WrittenBytes],
        }
    }
}

/// Operations and bytes a second, in the order of [`Figure::ALL`].
pub type Figures = [f64; 4];

/// What the plan asks of the drive at one setting of the knobs.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Expected {
    /// In a second.
    pub figures: Figures,
    /// Standard deviation of what is counted in one second, as a share of it.
    pub spread: Figures,
    /// What rounding sizes up to blocks of the device adds to the bytes read and written: 1 for nothing.
    pub rounding: [f64; 2],
}

/// Tells what is to be expected at each setting of the knobs.
pub trait Load {
    /// What the plan asks of the drive then.
    fn expected(&self, knobs: &Knobs) -> Expected;
}

impl<F: Fn(&Knobs) -> Expected> Load for F {
    fn expected(&self, knobs: &Knobs) -> Expected {
        self(knobs)
    }
}

/// What a round counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What the generator handed over and got back.
    pub own: Figures,
    /// What the device counted; `None` where nothing counts for it.
    pub device: Option<Figures>,
    /// Flushes a second that were taken off what it counted as writes.
    pub flushes: f64,
    /// Length of the round.
    pub seconds: f64,
    /// What its log proves.
    pub verdict: Verdict,
    /// Whether the load was carried.
    pub delivered: bool,
}

impl Measured {
    /// What is compared with production.
    pub fn figures(&self) -> &Figures {
        self.device.as_ref().unwrap_or(&self.own)
    }

    /// How much the device counts of what it is handed.
    fn made_of_one(&self) -> Figures {
        std::array::from_fn(|at| ratio(self.figures()[at], self.own[at]))
    }
}

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

/// How a fit ended. Rounds count from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every figure agrees with production's.
    Agrees {
        /// In this round.
        round: usize,
    },
    /// Some do not, and this is the round that came nearest.
    Apart {
        /// The round.
        round: usize,
        /// Each figure that does not agree, and why.
        figures: Vec<Short>,
    },
    /// The device does not carry the load, so nothing can be compared.
    NotCarried {
        /// The round.
        round: usize,
    },
    /// A round proved nothing (INVALID twice, or INCOMPLETE).
    Stopped {
        /// The round.
        round: usize,
        /// Its verdict.
        verdict: Verdict,
    },
}

impl Outcome {
    /// The round whose knobs are the result, where there is one.
    pub fn result(&self) -> Option<usize> {
        match self {
            Outcome::Agrees { round } | Outcome::Apart { round, .. } => Some(*round),
            Outcome::NotCarried { .. } | Outcome::Stopped { .. } => None,
        }
    }
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

/// How far ours is from theirs, as a share of theirs. Something where there should be nothing is as far as all of it.
pub(crate) fn difference(ours: f64, theirs: f64) -> f64 {
    match theirs > 0.0 {
        true => ours / theirs - 1.0,
        false => f64::from(u8::from(ours > 0.0)),
    }
}

/// How many of these there are for each of those; 1 where nothing can be said.
fn ratio(these: f64, those: f64) -> f64 {
    if these > 0.0 && those > 0.0 { these / those } else { 1.0 }
}

#[cfg(test)]
mod tests;
