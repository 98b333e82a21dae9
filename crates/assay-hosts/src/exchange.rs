//! A [`Link`] in memory: ranks of one process, or of a network that is simulated, where messages take time or are lost.

use crate::link::{Collective, Link, LinkError, Message};
use assay_base::Instant;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// When a message of `from` to `to` arrives that is sent at `now`; `None` where it is lost.
pub type Delivery = dyn FnMut(usize, usize, Instant) -> Option<Instant> + Send;

/// Letters, each with the time of its arrival.
type OnTheirWay = VecDeque<(Instant, Vec<u8>)>;

/// What all ranks of an exchange share.
struct Shared {
    now: Instant,
    delivery: Box<Delivery>,
    /// By receiver and sender, whose letters keep their order.
    letters: BTreeMap<(usize, usize), OnTheirWay>,
    /// By number: the operations that not every rank has ended.
    collectives: BTreeMap<u64, OpenCollective>,
}

/// An operation of all ranks.
struct OpenCollective {
    given: Vec<Option<Collective>>,
    /// How many ranks have taken the result.
    taken: usize,
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
    is_open: bool,
}

impl Exchange {
    /// Ranks of one process: messages arrive at once.
    pub fn within_process(world_size: usize) -> Exchange {
        Exchange::with_delivery(world_size, Box::new(|_, _, now| Some(now)))
    }

    /// Ranks of a network that is simulated. [`Exchange::set_time`] moves its time.
    pub fn with_delivery(world_size: usize, delivery: Box<Delivery>) -> Exchange {
        let shared = Shared { now: Instant::ZERO, delivery, letters: BTreeMap::new(), collectives: BTreeMap::new() };
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
                is_open: false,
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
        let now = shared.now;
        if let Some(arrival) = (shared.delivery)(self.own_rank, to, now) {
            shared.letters.entry((to, self.own_rank)).or_default().push_back((arrival, bytes));
        }
        Ok(())
    }

    fn next_message(&mut self) -> Result<Option<Message>, LinkError> {
        let mut shared = locked(&self.shared);
        let now = shared.now;
        let own = (self.own_rank, 0)..=(self.own_rank, usize::MAX);
        let arrived = shared
            .letters
            .range(own)
            .filter_map(|(&(_, from), letters)| letters.front().map(|(arrival, _)| (*arrival, from)))
            .filter(|(arrival, _)| *arrival <= now)
            .min();
        Ok(arrived.and_then(|(_, from)| {
            let (_, bytes) = shared.letters.get_mut(&(self.own_rank, from))?.pop_front()?;
            Some(Message { from, bytes })
        }))
    }

    fn begin_collective(&mut self, operation: Collective) -> Result<(), LinkError> {
        if self.is_open {
            return Err(LinkError { what: "an operation of all ranks was begun within another".to_owned() });
        }
        operation.check_numbers()?;
        let mut shared = locked(&self.shared);
        let nobody = || OpenCollective { given: vec![None; self.world_size], taken: 0 };
        let open = shared.collectives.entry(self.begun).or_insert_with(nobody);
        open.given[self.own_rank] = Some(operation);
        self.begun += 1;
        self.is_open = true;
        Ok(())
    }

    fn collective_result(&mut self) -> Result<Option<Collective>, LinkError> {
        let number = self.begun.wrapping_sub(1);
        let mut shared = locked(&self.shared);
        let Some(open) = shared.collectives.get_mut(&number).filter(|_| self.is_open) else {
            return Ok(None);
        };
        let Some(given) = open.given.iter().map(Option::as_ref).collect::<Option<Vec<&Collective>>>() else {
            return Ok(None);
        };
        let result = combined(&given, self.own_rank)?;
        open.taken += 1;
        if open.taken == self.world_size {
            shared.collectives.remove(&number);
        }
        self.is_open = false;
        Ok(Some(result))
    }

    fn all_has_left(&mut self) -> Result<bool, LinkError> {
        Ok(true)
    }
}

/// What an operation gives to a rank.
fn combined(given: &[&Collective], own_rank: usize) -> Result<Collective, LinkError> {
    let differ = || LinkError { what: "the ranks began different operations, or gave different lengths".to_owned() };
    let own = given[own_rank];
    let is_alike = |other: &&Collective| std::mem::discriminant(*other) == std::mem::discriminant(own);
    if !given.iter().all(is_alike) {
        return Err(differ());
    }
    let is_root = own_rank == 0;
    match own {
        Collective::Barrier => Ok(Collective::Barrier),
        Collective::Broadcast(_) => Ok(given[0].clone()),
        Collective::Gather(_) if is_root => {
            let all = given.iter().filter_map(|each| bytes_of(each)).collect::<Vec<&[u8]>>().concat();
            Ok(Collective::Gather(all))
        }
        Collective::Sum(_) if is_root => Ok(Collective::Sum(by_position(given, u64::wrapping_add).ok_or_else(differ)?)),
        Collective::Maximum(_) if is_root => Ok(Collective::Maximum(by_position(given, u64::max).ok_or_else(differ)?)),
        Collective::MaximumForAll(_) => Ok(Collective::MaximumForAll(by_position(given, u64::max).ok_or_else(differ)?)),
        Collective::Gather(_) | Collective::Sum(_) | Collective::Maximum(_) => Ok(own.clone()),
    }
}

fn bytes_of(operation: &Collective) -> Option<&[u8]> {
    match operation {
        Collective::Broadcast(bytes) | Collective::Gather(bytes) => Some(bytes),
        _ => None,
    }
}

fn numbers_of(operation: &Collective) -> Option<&[u64]> {
    match operation {
        Collective::Sum(numbers) | Collective::Maximum(numbers) | Collective::MaximumForAll(numbers) => Some(numbers),
        _ => None,
    }
}

/// The numbers of all ranks, combined position by position. `None` where one gave another count.
fn by_position(given: &[&Collective], combine: fn(u64, u64) -> u64) -> Option<Vec<u64>> {
    let (first, rest) = given.split_first()?;
    let mut result = numbers_of(first)?.to_vec();
    for each in rest {
        let numbers = numbers_of(each)?;
        if numbers.len() != result.len() {
            return None;
        }
        for (sum, number) in result.iter_mut().zip(numbers) {
            *sum = combine(*sum, *number);
        }
    }
    Some(result)
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
