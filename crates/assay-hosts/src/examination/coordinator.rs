//! [`Coordinator`]: what rank 0 does beside being a member: it says which stage is next.

use super::letter::{Arrived, Letter, read_message};
use super::member::Member;
use super::{Found, Progress, RankFound, Settings, is_first_of_pair, partner_of};
use crate::link::{Link, LinkError};
use assay_base::Instant;

/// Sums and maxima that are tried.
const SUMS: u32 = 32;

/// What the ranks are doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Hello,
    /// Ranks compare their clocks one after the other, so that no letter waits for another. `after` is what comes behind it.
    Clocks {
        rank: usize,
        after: AfterClocks,
    },
    Sums,
    Messages {
        first_of_pairs: bool,
        left: usize,
    },
    /// Nothing has gone on for too long: who is there?
    RollCall,
    Over,
}

/// What follows a comparison of clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterClocks {
    Sums,
    End,
}

/// Rank 0's side of an examination.
pub struct Coordinator {
    settings: Settings,
    stage: Stage,
    found: Found,
    /// When something went on last, or the roll was called.
    moved: Instant,
    /// Which ranks have answered the call.
    answered: Vec<bool>,
}

impl Coordinator {
    /// Of an examination that begins now, with so many ranks.
    pub fn begin_examination(settings: Settings, world_size: usize, now: Instant) -> Coordinator {
        let nothing = RankFound { facts: None, readings: Vec::new(), sent: None };
        let found = Found { ranks: vec![nothing; world_size], ..Found::default() };
        Coordinator { settings, stage: Stage::Hello, found, moved: now, answered: vec![false; world_size] }
    }

    /// What was found.
    pub fn into_found(self) -> Found {
        self.found
    }

    /// One step of a rank: what has arrived goes to the member, or to the coordinator where there is one.
    pub fn step_rank(
        coordinator: &mut Option<Coordinator>,
        member: &mut Member,
        link: &mut dyn Link,
        clock: &dyn Fn() -> Instant,
    ) -> Result<Progress, LinkError> {
        let mut took_one = false;
        while let Some(message) = link.next_message()? {
            took_one = true;
            match (read_message(&message)?, &mut *coordinator) {
                (
                    Arrived::Letter(
                        letter @ (Letter::Hello(_) | Letter::ClockCompared(_) | Letter::Sent(_) | Letter::Here),
                    ),
                    Some(own),
                ) => {
                    if own.stage != Stage::RollCall {
                        own.moved = clock();
                    }
                    own.receive_letter(message.from, letter, link)?;
                }
                (arrived, _) => member.receive_as_rank(message.from, arrived, link, clock)?,
            }
        }
        let progress = member.step(link, clock)?;
        if let Some(own) = coordinator {
            own.take_sums(member, link, clock())?;
            own.notice_standstill(link, clock())?;
            // Others may ask for the time at any moment.
            if matches!(own.stage, Stage::Clocks { .. }) {
                return Ok(Progress::Busy);
            }
        }
        Ok(if took_one && progress == Progress::Waiting { Progress::Busy } else { progress })
    }

    fn receive_letter(&mut self, from: usize, letter: Letter, link: &mut dyn Link) -> Result<(), LinkError> {
        match (letter, self.stage) {
            (Letter::Hello(facts), Stage::Hello) => {
                self.found.ranks[from].facts = Some(*facts);
                self.end_hello(link)
            }
            (Letter::ClockCompared(reading), Stage::Clocks { rank, after }) if from == rank => {
                self.found.ranks[from].readings.push(reading);
                self.compare_clocks(rank + 1, after, link)
            }
            (Letter::Sent(throughput), Stage::Messages { first_of_pairs, left }) => {
                let partner = partner_of(from, link.world_size()).unwrap_or(from);
                self.found.ranks[from].sent = Some((partner, throughput));
                self.stage = Stage::Messages { first_of_pairs, left: left - 1 };
                self.end_messages(link)
            }
            (Letter::Here, Stage::RollCall) => {
                self.answered[from] = true;
                Ok(())
            }
            // A sign that was left over from what these ranks did before.
            (Letter::Here, _) => Ok(()),
            // What comes late.
            (_, Stage::RollCall | Stage::Over) => Ok(()),
            (letter, stage) => Err(LinkError { what: format!("rank {from} sent {letter:?} during {stage:?}") }),
        }
    }

    /// When all have said what they are, they go on if they are of one version.
    fn end_hello(&mut self, link: &mut dyn Link) -> Result<(), LinkError> {
        let mut versions: Vec<&str> = Vec::new();
        for rank in &self.found.ranks {
            let Some(facts) = &rank.facts else { return Ok(()) };
            versions.push(&facts.version);
        }
        if versions.windows(2).any(|two| two[0] != two[1]) {
            self.found.versions_differ = true;
            return self.finish(link);
        }
        self.compare_clocks(1, AfterClocks::Sums, link)
    }

    fn compare_clocks(&mut self, rank: usize, after: AfterClocks, link: &mut dyn Link) -> Result<(), LinkError> {
        if rank < link.world_size() {
            self.stage = Stage::Clocks { rank, after };
            return link.send_message(rank, Letter::CompareClocks.into_bytes());
        }
        match after {
            AfterClocks::Sums => {
                self.stage = Stage::Sums;
                send_to_all(link, &Letter::AddUp { rounds: SUMS })
            }
            AfterClocks::End => self.finish(link),
        }
    }

    /// Keeps what the own member has found of sums.
    fn take_sums(&mut self, member: &mut Member, link: &mut dyn Link, now: Instant) -> Result<(), LinkError> {
        for summed in member.summed.drain(..) {
            self.moved = now;
            self.found.sums.took_ns.push(summed.took_ns);
            self.found.sums.wrong += usize::from(!summed.is_right);
        }
        if self.stage == Stage::Sums && self.found.sums.took_ns.len() == SUMS as usize {
            return self.begin_messages(true, link);
        }
        Ok(())
    }

    /// Lets one rank of each pair send.
    fn begin_messages(&mut self, first_of_pairs: bool, link: &mut dyn Link) -> Result<(), LinkError> {
        let world_size = link.world_size();
        let senders: Vec<usize> = (0..world_size)
            .filter(|&rank| {
                partner_of(rank, world_size).is_some() && is_first_of_pair(rank, world_size) == first_of_pairs
            })
            .collect();
        self.stage = Stage::Messages { first_of_pairs, left: senders.len() };
        for sender in senders {
            link.send_message(sender, Letter::SendLarge { ns: self.settings.messages_for.as_ns() }.into_bytes())?;
        }
        self.end_messages(link)
    }

    fn end_messages(&mut self, link: &mut dyn Link) -> Result<(), LinkError> {
        match self.stage {
            Stage::Messages { first_of_pairs: true, left: 0 } => self.begin_messages(false, link),
            Stage::Messages { first_of_pairs: false, left: 0 } => self.compare_clocks(1, AfterClocks::End, link),
            _ => Ok(()),
        }
    }

    fn finish(&mut self, link: &mut dyn Link) -> Result<(), LinkError> {
        self.stage = Stage::Over;
        send_to_all(link, &Letter::Finish)
    }

    /// Asks who is there when nothing goes on: a sum that lacks a part, or a message without an answer, does not say whose fault
    /// it is. Who does not answer is lost.
    fn notice_standstill(&mut self, link: &mut dyn Link, now: Instant) -> Result<(), LinkError> {
        let allowed = match self.stage {
            Stage::Over => return Ok(()),
            Stage::RollCall => self.settings.answer_within,
            Stage::Messages { .. } => self.settings.patience + self.settings.messages_for,
            Stage::Hello | Stage::Clocks { .. } | Stage::Sums => self.settings.patience,
        };
        if now.since(self.moved) < allowed {
            return Ok(());
        }
        if self.stage != Stage::RollCall {
            (self.stage, self.moved) = (Stage::RollCall, now);
            return send_to_all(link, &Letter::CallRoll);
        }
        self.found.has_stalled = true;
        self.found.lost = (0..link.world_size()).filter(|&rank| !self.answered[rank]).collect();
        self.finish(link)
    }
}

fn send_to_all(link: &mut dyn Link, letter: &Letter) -> Result<(), LinkError> {
    (0..link.world_size()).try_for_each(|rank| link.send_message(rank, letter.clone().into_bytes()))
}
