//! Who has not been heard of for how long.

use super::JointNews;
use super::letter::Letter;
use crate::link::{Link, LinkError};
use assay_base::{Instant, Span};

/// How long ranks wait for a sign of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Between two signs that a rank gives.
    pub sign_every: Span,
    /// Who is silent for so long is named.
    pub named_after: Span,
    /// Who is silent for so long is given up.
    pub lost_after: Span,
}

impl Default for Patience {
    /// A sign each second; named after 3 s, given up after 30 s.
    fn default() -> Patience {
        Patience { sign_every: Span::from_secs(1), named_after: Span::from_secs(3), lost_after: Span::from_secs(30) }
    }
}

/// What was said of a rank that is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Silent,
    Lost,
}

/// When this rank has given a sign last, and when it has heard of those that it listens to.
#[derive(Debug)]
pub(super) struct Silence {
    patience: Patience,
    signed_at: Option<Instant>,
    /// When this rank has looked last.
    looked_at: Instant,
    /// By rank: when it was heard, and what was said of its silence since. Rank 0 listens to all, the others to rank 0.
    heard: Vec<(Instant, Told)>,
}

impl Silence {
    pub(super) fn listen_from(patience: Patience, world_size: usize, now: Instant) -> Silence {
        Silence { patience, signed_at: None, looked_at: now, heard: vec![(now, Told::Nothing); world_size] }
    }

    pub(super) fn hear_rank(&mut self, rank: usize, now: Instant) {
        self.heard[rank] = (now, Told::Nothing);
    }

    /// Gives a sign where it is time for one.
    pub(super) fn give_sign(&mut self, link: &mut dyn Link, now: Instant) -> Result<(), LinkError> {
        self.forgive_own_standstill(now);
        if self.signed_at.is_some_and(|last| now.since(last) < self.patience.sign_every) {
            return Ok(());
        }
        self.signed_at = Some(now);
        if link.own_rank() == 0 { Letter::Here.send_to_others(link) } else { Letter::Here.send_to(0, link) }
    }

    /// Who stood still itself has heard nothing meanwhile, whatever the others did: that is not their silence.
    fn forgive_own_standstill(&mut self, now: Instant) {
        let stood_still = now.since(self.looked_at);
        self.looked_at = now;
        if stood_still > self.patience.sign_every {
            self.heard.iter_mut().for_each(|(heard, _)| *heard += stood_still);
        }
    }

    /// Who has been silent for too long, each said once.
    pub(super) fn silent_ranks(&mut self, own_rank: usize, now: Instant) -> Vec<JointNews> {
        let Patience { named_after, lost_after, .. } = self.patience;
        let mut news = Vec::new();
        let listened_to = if own_rank == 0 { 1..self.heard.len() } else { 0..1 };
        for rank in listened_to {
            let (heard, told) = &mut self.heard[rank];
            let quiet_for = now.since(*heard);
            if quiet_for < named_after || *told == Told::Lost {
                continue;
            }
            if quiet_for >= lost_after {
                *told = Told::Lost;
                news.push(JointNews::Lost { rank, quiet_for });
            } else if *told == Told::Nothing {
                *told = Told::Silent;
                news.push(JointNews::Silent { rank, quiet_for });
            }
        }
        news
    }
}
