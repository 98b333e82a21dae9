//! All runs of a procedure, and what follows from them.

use super::aside::Aside;
use super::ending::Ending;
use super::evidence::Evidence;
use crate::verdict::Verdict;
use std::collections::BTreeMap;

/// How often one call measures a place that proves nothing.
const TRIALS: usize = 2;

/// What becomes of a procedure in which something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// It ends, because its next step would follow from the verdict of a run that says nothing about its load.
    End,
    /// The runs that remain are known from the start, and are made.
    GoOn,
}

/// What is known of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may be measured: there is no run, or none proves anything.
    Open,
    /// PASS or FAIL, which no further run changes.
    Proven(Verdict),
    /// All attempts of this call proved nothing; the verdict is that of the last one.
    GivenUp(Verdict),
}

/// Why a procedure makes no further run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// Something failed.
    Failure,
    /// A run was cut short: the procedure can be continued.
    CutShort,
    /// The targets can carry no other run.
    LastRun,
}

/// Which call made a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Earlier,
    This,
}

#[derive(Clone, Debug)]
struct Attempt<P> {
    /// Absent where the procedure does not know the place any more.
    place: Option<P>,
    evidence: Evidence,
    call: Call,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Attempts<P> {
    after_failure: AfterFailure,
    made: Vec<Attempt<P>>,
    /// Indices of the attempts at each place.
    at: BTreeMap<P, Vec<usize>>,
}

impl<P: Clone + Ord> Attempts<P> {
    /// Before the first run.
    pub fn new(after_failure: AfterFailure) -> Attempts<P> {
        Attempts { after_failure, made: Vec::new(), at: BTreeMap::new() }
    }

    /// Takes over a run of an earlier call; without a place it counts for what failed in it.
    pub fn add_earlier_run(&mut self, place: Option<P>, evidence: Evidence) {
        self.add_attempt(Attempt { place, evidence, call: Call::Earlier });
    }

    /// Takes a run of this call.
    pub fn add_run(&mut self, place: P, evidence: Evidence) {
        self.add_attempt(Attempt { place: Some(place), evidence, call: Call::This });
    }

    fn add_attempt(&mut self, attempt: Attempt<P>) {
        if let Some(place) = &attempt.place {
            self.at.entry(place.clone()).or_default().push(self.made.len());
        }
        self.made.push(attempt);
    }

    /// What is known of a place.
    pub fn standing_at(&self, place: &P) -> Standing {
        match self.deciding_at(place).map(|at| &self.made[at].evidence) {
            Some(evidence) if evidence.shows_not_held() => Standing::Proven(Verdict::Fail),
            Some(evidence) if evidence.is_proof() => Standing::Proven(evidence.verdict),
            Some(evidence) if self.trial_count(place) >= TRIALS => Standing::GivenUp(evidence.verdict),
            _ => Standing::Open,
        }
    }

    /// The run that decides at a place, and whose figures are those of the place.
    pub fn deciding_run(&self, place: &P) -> Option<&Evidence> {
        self.deciding_at(place).map(|at| &self.made[at].evidence)
    }

    /// The first of `places` that is to be measured now; `None` where nothing is left, or no further run is made.
    pub fn next_of(&self, places: &[P]) -> Option<P> {
        if self.reason_to_halt().is_some() {
            None
        } else {
            places.iter().find(|place| self.standing_at(place) == Standing::Open).cloned()
        }
    }

    /// The same for places on targets that have nothing to do with each other: a run that ended for good ends only the places that
    /// `go_with` its own.
    pub fn next_apart(&self, places: &[P], go_with: impl Fn(&P, &P) -> bool) -> Option<P> {
        if !matches!(self.reason_to_halt(), None | Some(Halt::LastRun)) {
            return None;
        }
        let ended: Vec<&P> = self.ended_for_good().map(|(place, _)| place).collect();
        let is_open =
            |place: &&P| self.standing_at(place) == Standing::Open && !ended.iter().any(|ended| go_with(ended, place));
        places.iter().find(is_open).cloned()
    }

    /// The runs of this call that no other one may follow on the same targets, each with its place.
    pub fn ended_for_good(&self) -> impl Iterator<Item = (&P, &Evidence)> {
        let of_this_call = self.made.iter().filter(|attempt| attempt.call == Call::This);
        let last = of_this_call.filter(|attempt| attempt.evidence.ending == Ending::Last);
        last.filter_map(|attempt| Some((attempt.place.as_ref()?, &attempt.evidence)))
    }

    /// How many of `places` may be measured.
    pub fn count_open_places(&self, places: &[P]) -> usize {
        places.iter().filter(|place| self.standing_at(place) == Standing::Open).count()
    }

    /// Why no further run is made, where that is so.
    pub fn reason_to_halt(&self) -> Option<Halt> {
        let failed = self.made.iter().any(|attempt| attempt.evidence.failure.is_some());
        if failed && self.after_failure == AfterFailure::End {
            return Some(Halt::Failure);
        }
        let last = self.made.last().filter(|last| last.call == Call::This)?;
        match last.evidence.ending {
            Ending::Over => None,
            Ending::CutShort => Some(Halt::CutShort),
            Ending::Last => Some(Halt::LastRun),
        }
    }

    /// Whether this call was interrupted.
    pub fn was_cut_short(&self) -> bool {
        self.made.iter().any(|attempt| attempt.call == Call::This && attempt.evidence.ending == Ending::CutShort)
    }

    /// The runs that the result is not made of, and those in which something failed.
    pub fn failed_and_repeated_runs(&self) -> Aside {
        let mut aside = Aside::default();
        for (at, Attempt { place, evidence, .. }) in self.made.iter().enumerate() {
            let decides = place.as_ref().is_some_and(|place| self.deciding_at(place) == Some(at));
            match (&evidence.failure, decides) {
                (Some(_), _) => aside.failures.push(evidence.clone()),
                (None, false) => aside.repeated.push(evidence.clone()),
                (None, true) => {}
            }
        }
        aside
    }

    /// Every place that is proven, with its verdict, once.
    pub fn proven_places(&self) -> impl Iterator<Item = (&P, Verdict)> {
        self.made.iter().enumerate().filter_map(|(at, attempt)| {
            let place = attempt.place.as_ref()?;
            let decides = self.deciding_at(place) == Some(at) && attempt.evidence.is_proof();
            let verdict = if attempt.evidence.shows_not_held() { Verdict::Fail } else { attempt.evidence.verdict };
            decides.then_some((place, verdict))
        })
    }

    /// The place of the last run, where it has one.
    pub fn last_place(&self) -> Option<&P> {
        self.made.last()?.place.as_ref()
    }

    /// The place of the first run in which something failed.
    pub fn failed_at(&self) -> Option<&P> {
        self.made.iter().find(|attempt| attempt.evidence.failure.is_some())?.place.as_ref()
    }

    /// The places and verdicts of all runs, in their order.
    pub fn runs_so_far(&self) -> impl Iterator<Item = (&P, Verdict)> {
        self.made.iter().filter_map(|attempt| Some((attempt.place.as_ref()?, attempt.evidence.verdict)))
    }

    /// Whether a run repeated one that passed, and passed too.
    pub fn is_passed_repetition(&self, run: &Evidence) -> bool {
        let own = self.made.iter().find(|attempt| attempt.evidence.directory == run.directory);
        let place = own.and_then(|attempt| attempt.place.as_ref());
        run.passes() && place.is_some_and(|place| self.standing_at(place) == Standing::Proven(Verdict::Pass))
    }

    /// How many runs at a place passed.
    pub fn count_passes(&self, place: &P) -> usize {
        self.attempts_at(place).filter(|at| self.made[*at].evidence.passes()).count()
    }

    /// The verdict of the last attempt of this call to repeat a run that passed, where all that it may make proved nothing.
    pub fn failed_repetition(&self, place: &P) -> Option<Verdict> {
        let first = self.first_at(place, Evidence::passes)?;
        let later = self.attempts_at(place).filter(|at| *at > first && self.made[*at].call == Call::This);
        let unproven: Vec<usize> = later.filter(|at| !self.made[*at].evidence.is_proof()).collect();
        let last = unproven.last().filter(|_| unproven.len() >= TRIALS)?;
        Some(self.made[*last].evidence.verdict)
    }

    /// How many attempts of this call there are at a place.
    fn trial_count(&self, place: &P) -> usize {
        self.attempts_at(place).filter(|at| self.made[*at].call == Call::This).count()
    }

    fn attempts_at(&self, place: &P) -> impl Iterator<Item = usize> {
        self.at.get(place).into_iter().flatten().copied()
    }

    fn first_at(&self, place: &P, is: fn(&Evidence) -> bool) -> Option<usize> {
        self.attempts_at(place).find(|at| is(&self.made[*at].evidence))
    }

    fn deciding_at(&self, place: &P) -> Option<usize> {
        self.first_at(place, |evidence| evidence.failure.is_some())
            .or_else(|| self.first_at(place, Evidence::shows_not_held))
            .or_else(|| self.first_at(place, Evidence::is_proof))
            .or_else(|| self.attempts_at(place).max_by_key(|at| self.made[*at].evidence.verdict))
    }
}
