//! A phase while it runs: when its sequences are wanted, which of them is next, and when it ends.

use super::cursor::Cursor;
use assay_base::{Instant, Prng, Span};
use assay_model::arrival::{Part, Schedule};
use assay_model::files::{FilesPace, FilesPhase, Spacing, Until};

/// Separates what is drawn for the schedule from what is drawn for the mix and by clients.
const ARRIVALS: u64 = 1;
const MIX: u64 = 2;

/// When sequences are wanted.
#[derive(Clone, Debug)]
enum Wanted {
    Scheduled(Box<Schedule>),
    Closed,
}

/// When the first client of a phase had no more to do, and how much each had done by then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wall {
    /// When that was.
    pub at: Instant,
    /// Sequences that each client had done.
    pub done: Vec<u64>,
    /// What the others are worn out to, where the phase is until stonewall.
    pub most: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub(super) described: FilesPhase,
    pub(super) index: usize,
    start: Instant,
    end: Option<Instant>,
    wanted: Wanted,
    mix: Prng,
    /// The sums of the shares up to each sequence.
    below: Vec<u64>,
    /// The number of the next sequence of the schedule.
    pub(super) next: u64,
    pub(super) wall: Option<Wall>,
    /// Of each sequence: how often it was begun in the place of another one, less how often another one in its place.
    pub(super) replaced: Vec<i64>,
}

/// What the clients of a phase have done so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// Sequences done.
    pub(super) done: u64,
    /// The sequence that is on every file at the moment, and how far it has come.
    pub(super) turn: usize,
    pub(super) cursor: Option<Cursor>,
}

impl Phase {
    /// `None` where the rate schedules nothing.
    pub(super) fn new(
        described: FilesPhase,
        index: usize,
        pace: FilesPace,
        start: Instant,
        usual: Span,
        seed: u64,
    ) -> Option<Phase> {
        let path = |purpose| [index as u64, purpose];
        let whole = Part { index: 0, of: 1 };
        let wanted = match pace {
            FilesPace::Closed => Wanted::Closed,
            FilesPace::Open { rate, arrival: Spacing::Steady } => {
                Wanted::Scheduled(Box::new(Schedule::from_steady(start, rate, whole, 0)?))
            }
            FilesPace::Open { rate, arrival: Spacing::Poisson } => {
                let prng = Prng::for_path(seed, &path(ARRIVALS));
                Wanted::Scheduled(Box::new(Schedule::from_poisson(start, rate, whole, prng)?))
            }
        };
        let mut below: Vec<u64> = Vec::new();
        for sequence in &described.sequences {
            below.push(below.last().copied().unwrap_or(0) + sequence.share.max(1));
        }
        let end = match (described.until, described.span) {
            (Until::Time, span) => Some(start + span.map_or(usual, |span| span.min(usual))),
            (_, span) => span.map(|span| start + span.min(usual)),
        };
        let mix = Prng::for_path(seed, &path(MIX));
        let replaced = vec![0; described.sequences.len()];
        Some(Phase { described, index, start, end, wanted, mix, below, next: 0, wall: None, replaced })
    }

    /// When the next sequence is wanted, for a client that has been free since `free`.
    pub(super) fn intended(&self, free: Instant) -> Instant {
        match &self.wanted {
            Wanted::Scheduled(schedule) => schedule.next_due(),
            Wanted::Closed => free.max(self.start),
        }
    }

    /// Whether a sequence that is wanted then still belongs to the phase.
    pub(super) fn has_time_for(&self, intended: Instant) -> bool {
        let is_worn_out = self.described.until == Until::Stonewall && self.wall.is_some();
        is_worn_out || self.end.is_none_or(|end| intended < end)
    }

    /// Whether as many sequences were begun as the phase has.
    pub(super) fn is_counted_out(&self) -> bool {
        self.described.count.is_some_and(|count| self.next >= count)
    }

    /// Whether the time of a phase until stonewall is over, which is a wall for all clients at once.
    pub(super) fn is_at_its_limit(&self, now: Instant) -> bool {
        self.described.until == Until::Stonewall && self.wall.is_none() && self.end.is_some_and(|end| now >= end)
    }

    /// When it ends, where that is decided by its time alone.
    pub(super) fn planned_end(&self) -> Option<Instant> {
        self.end.filter(|_| !self.described.may_end_early())
    }

    /// Goes on to the sequence after the next.
    pub(super) fn advance(&mut self) {
        self.next += 1;
        if let Wanted::Scheduled(schedule) = &mut self.wanted {
            schedule.advance_to_next();
        }
    }

    /// The index of the sequence of the mix that the next number has.
    pub(super) fn draw(&mut self) -> usize {
        draw_from(&self.below, &mut self.mix)
    }

    /// The index of a sequence of the mix, for a client that has no file for the one of its number.
    pub(super) fn draw_with(&self, prng: &mut Prng) -> usize {
        draw_from(&self.below, prng)
    }

    /// A number that had the sequence `drawn` was begun with another one, or with none.
    pub(super) fn note_replaced(&mut self, drawn: usize, begun: Option<usize>) {
        self.replaced[drawn] -= 1;
        if let Some(begun) = begun {
            self.replaced[begun] += 1;
        }
    }

    /// The moments of the schedule, where the phase has one and a time.
    pub(super) fn arrivals(&self) -> Option<Arrivals> {
        let Wanted::Scheduled(schedule) = &self.wanted else { return None };
        Some(Arrivals { schedule: (**schedule).clone(), end: self.end? })
    }

    /// The schedule from the beginning of the phase, for somebody who counts what is due; `None` where a client's
    /// sequence is wanted when the one before is done, or where each has its files once.
    pub(super) fn look_ahead(&self) -> Option<LookAhead> {
        let Wanted::Scheduled(schedule) = &self.wanted else { return None };
        (!self.described.may_end_early()).then(|| LookAhead {
            schedule: (**schedule).clone(),
            mix: self.mix.clone(),
            below: self.below.clone(),
            end: self.end,
            due: vec![0; self.below.len()],
        })
    }
}

/// The moments of a schedule until its phase ends.
#[derive(Clone, Debug)]
pub struct Arrivals {
    schedule: Schedule,
    end: Instant,
}

impl Arrivals {
    /// When the phase ends.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// The next moment; `None` where none is left.
    pub fn next(&self) -> Option<Instant> {
        Some(self.schedule.next_due()).filter(|due| *due < self.end)
    }

    /// The moments up to `now`, at most so many of them.
    pub fn take_due(&mut self, now: Instant, most: usize) -> Vec<Instant> {
        let mut due = Vec::new();
        while due.len() < most
            && let Some(next) = self.next().filter(|next| *next <= now)
        {
            due.push(next);
            self.schedule.advance_to_next();
        }
        due
    }
}

fn draw_from(below: &[u64], prng: &mut Prng) -> usize {
    let drawn = prng.uniform_below(below.last().copied().unwrap_or(1));
    below.partition_point(|sum| *sum <= drawn)
}

/// Counts the sequences of a schedule that are due, whoever carries them out, and when. It needs nobody.
#[derive(Clone, Debug)]
pub struct LookAhead {
    schedule: Schedule,
    mix: Prng,
    below: Vec<u64>,
    end: Option<Instant>,
    due: Vec<u64>,
}

impl LookAhead {
    /// How many of each sequence were wanted before `until`, from the beginning of the phase on.
    pub fn count_due(&mut self, until: Instant) -> &[u64] {
        let until = self.end.map_or(until, |end| until.min(end));
        while self.schedule.next_due() < until {
            self.due[draw_from(&self.below, &mut self.mix)] += 1;
            self.schedule.advance_to_next();
        }
        &self.due
    }
}
