//! A [`Link`] in memory: ranks of one process, or of a network that is simulated, where messages take time or are lost.

use crate::link::{Collective, Link, LinkError, Message};
use assay_base::Instant;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// When a message of `from` to `to` arrives that is sent at `now`; `None` where it is lost.
pub type Delivery = dyn FnMut(usize, usize, Instant) -> Option<Instant> + Send;

/// What all ranks of an exchange share.
struct Shared {
    now: Instant,
    delivery: Box<Delivery>,
    /// By receiver.
    boxes: Vec<LetterBox>,
    /// How many letters were sent.
    letters: u64,
    /// By number: the operations that not every rank has ended.
    collectives: BTreeMap<u64, OpenCollective>,
}

/// The letters to a rank.
#[derive(Default)]
struct LetterBox {
    /// By the time of their arrival, those of one time in the order in which they were sent.
    letters: BTreeMap<(Instant, u64), Message>,
    /// By sender, whose letters keep their order: the arrival of the last one.
    last_arrivals: BTreeMap<usize, Instant>,
}

/// An operation of all ranks, as far as these have begun it.
struct OpenCollective {
    /// What the ranks together have given, which makes the result.
    joined: Collective,
    /// The bytes of each rank, where rank 0 gets all of them.
    parts: Vec<Vec<u8>>,
    begun: usize,
    /// How many ranks have taken the result.
    taken: usize,
    /// Whether they began different operations, or gave different lengths.
    differs: bool,
}

/// The place where the ranks meet.
pub struct Exchange {
    shared: Arc<Mutex<Shared>>,
    world_size: usize,
}

/// One rank's side of an [`Exchange`].
pub struct ExchangeLink {
    shared: Arc<Mutex<Shared>>,
    own_rank: usize,
    world_size: usize,
    /// How many collective operations this rank has begun.
    begun: u64,
    /// What it has given to the one that is open.
    own: Option<Collective>,
}

impl Exchange {
    /// Ranks of one process: messages arrive at once.
    pub fn within_process(world_size: usize) -> Exchange {
        Exchange::with_delivery(world_size, Box::new(|_, _, now| Some(now)))
    }

    /// Ranks of a network that is simulated. [`Exchange::set_time`] moves its time.
    pub fn with_delivery(world_size: usize, delivery: Box<Delivery>) -> Exchange {
        let boxes = (0..world_size).map(|_| LetterBox::default()).collect();
        let shared = Shared { now: Instant::ZERO, delivery, boxes, letters: 0, collectives: BTreeMap::new() };
        Exchange { shared: Arc::new(Mutex::new(shared)), world_size }
    }

    /// The side of each rank, in their order.
    pub fn links(&self) -> Vec<ExchangeLink> {
        (0..self.world_size)
            .map(|own_rank| ExchangeLink {
                shared: Arc::clone(&self.shared),
                own_rank,
                world_size: self.world_size,
                begun: 0,
                own: None,
            })
            .collect()
    }

    /// Moves the time of a simulated network.
    pub fn set_time(&self, now: Instant) {
        locked(&self.shared).now = now;
    }
}

/// What is shared. A rank that panicked has left it whole: each change is one insertion or removal.
fn locked(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link for ExchangeLink {
    fn own_rank(&self) -> usize {
        self.own_rank
    }

    fn world_size(&self) -> usize {
        self.world_size
    }

    fn send_message(&mut self, to: usize, bytes: Vec<u8>) -> Result<(), LinkError> {
        let mut shared = locked(&self.shared);
        let (now, number) = (shared.now, shared.letters);
        if let Some(arrival) = (shared.delivery)(self.own_rank, to, now) {
            shared.letters += 1;
            let letter_box = &mut shared.boxes[to];
            let last = letter_box.last_arrivals.entry(self.own_rank).or_insert(arrival);
            *last = arrival.max(*last);
            letter_box.letters.insert((*last, number), Message { from: self.own_rank, bytes });
        }
        Ok(())
    }

    fn next_message(&mut self) -> Result<Option<Message>, LinkError> {
        let mut shared = locked(&self.shared);
        let now = shared.now;
        let letters = &mut shared.boxes[self.own_rank].letters;
        let has_arrived = letters.first_key_value().is_some_and(|((arrival, _), _)| *arrival <= now);
        Ok(if has_arrived { letters.pop_first().map(|(_, message)| message) } else { None })
    }

    fn begin_collective(&mut self, operation: Collective) -> Result<(), LinkError> {
        if self.own.is_some() {
            return Err(LinkError { what: "an operation of all ranks was begun within another".to_owned() });
        }
        operation.check_numbers()?;
        let mut shared = locked(&self.shared);
        let world_size = self.world_size;
        let open =
            shared.collectives.entry(self.begun).or_insert_with(|| OpenCollective::begun_with(&operation, world_size));
        open.add_part(self.own_rank, &operation);
        self.begun += 1;
        self.own = Some(operation);
        Ok(())
    }

    fn collective_result(&mut self) -> Result<Option<Collective>, LinkError> {
        let number = self.begun.wrapping_sub(1);
        let mut shared = locked(&self.shared);
        let Some(open) = shared.collectives.get_mut(&number).filter(|open| open.begun == self.world_size) else {
            return Ok(None);
        };
        let Some(own) = self.own.take() else { return Ok(None) };
        open.taken += 1;
        let result = open.result_for_rank(self.own_rank, own);
        if open.taken == self.world_size {
            shared.collectives.remove(&number);
        }
        result.map(Some)
    }

    fn all_has_left(&mut self) -> Result<bool, LinkError> {
        Ok(true)
    }
}

impl OpenCollective {
    /// Where nobody has given anything yet.
    fn begun_with(operation: &Collective, world_size: usize) -> OpenCollective {
        let zeros = |numbers: &Vec<u64>| vec![0; numbers.len()];
        // Zero changes neither a sum nor the largest of numbers that have no sign.
        let joined = match operation {
            Collective::Sum(numbers) => Collective::Sum(zeros(numbers)),
            Collective::Maximum(numbers) => Collective::Maximum(zeros(numbers)),
            Collective::MaximumForAll(numbers) => Collective::MaximumForAll(zeros(numbers)),
            Collective::Gather(_) => Collective::Gather(Vec::new()),
            Collective::Broadcast(_) => Collective::Broadcast(Vec::new()),
            Collective::Barrier => Collective::Barrier,
        };
        let parts = if matches!(operation, Collective::Gather(_)) { vec![Vec::new(); world_size] } else { Vec::new() };
        OpenCollective { joined, parts, begun: 0, taken: 0, differs: false }
    }

    fn add_part(&mut self, rank: usize, operation: &Collective) {
        self.begun += 1;
        match (&mut self.joined, operation) {
            (Collective::Barrier, Collective::Barrier) => {}
            (Collective::Broadcast(joined), Collective::Broadcast(bytes)) if rank == 0 => joined.clone_from(bytes),
            (Collective::Broadcast(_), Collective::Broadcast(_)) => {}
            (Collective::Gather(_), Collective::Gather(bytes)) => self.parts[rank].clone_from(bytes),
            (Collective::Sum(joined), Collective::Sum(numbers)) => {
                self.differs |= !join_numbers(joined, numbers, u64::wrapping_add);
            }
            (Collective::Maximum(joined), Collective::Maximum(numbers))
            | (Collective::MaximumForAll(joined), Collective::MaximumForAll(numbers)) => {
                self.differs |= !join_numbers(joined, numbers, u64::max);
            }
            _ => self.differs = true,
        }
    }

    /// What it gives to a rank that has given `own`, once all have begun it.
    fn result_for_rank(&mut self, rank: usize, own: Collective) -> Result<Collective, LinkError> {
        if self.differs {
            return Err(LinkError {
                what: "the ranks began different operations, or gave different lengths".to_owned(),
            });
        }
        Ok(match own {
            Collective::Barrier => Collective::Barrier,
            Collective::Broadcast(_) | Collective::MaximumForAll(_) => self.joined.clone(),
            Collective::Gather(_) if rank == 0 => Collective::Gather(self.parts.concat()),
            Collective::Sum(_) | Collective::Maximum(_) if rank == 0 => self.joined.clone(),
            own => own,
        })
    }
}

/// Joins numbers position by position; false where there are not as many.
fn join_numbers(joined: &mut [u64], numbers: &[u64], join: fn(u64, u64) -> u64) -> bool {
    joined.iter_mut().zip(numbers).for_each(|(sum, number)| *sum = join(*sum, *number));
    joined.len() == numbers.len()
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
