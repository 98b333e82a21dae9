//! Operations in flight, in the order in which they will complete (ties by ticket).
//!
//! A calendar: completions of the next two milliseconds are in lists, one per 1024 ns, each sorted, so that inserting
//! and removing an operation costs a few nanoseconds, however many are in flight. Completions that do not fit (later
//! ones, or the ninth in a list) go to a separate binary heap. The memory grows to the largest ticket and the largest
//! number in flight seen, and after that nothing is allocated.

use assay_base::{Code, Completion, Done, Instant, Ticket};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of lists in the calendar: 32 words of 32 times 64 bits, so that one more word can summarise them.
const LISTS: usize = 2048;
const WIDTH_BITS: u32 = 10;
/// How many places of a list are searched before a completion goes to the heap instead.
const DEPTH: usize = 8;
const NONE: u32 = u32::MAX;

/// The state of an operation in flight, by ticket.
#[derive(Clone, Copy, Debug)]
struct Slot {
    completed: u64,
    issued: Instant,
    result: Result<u32, Code>,
    /// The next ticket in its list.
    next: u32,
}

/// The queue.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    slots: Vec<Slot>,
    len: usize,
    heads: Box<[u32; LISTS]>,
    /// One bit per list that is not empty, and one per word of these bits that is not 0.
    full: [u64; LISTS / 64],
    words: u32,
    /// The first completion in the calendar, and the number of the last list used since it was empty.
    first: u128,
    last: u64,
    far: BinaryHeap<Reverse<u128>>,
}

/// Completion time in the upper bits, ticket in the lowest 32: the order in which completions are returned.
fn order_key(completed: u64, ticket: u32) -> u128 {
    u128::from(completed) << 32 | u128::from(ticket)
}

const EMPTY: u128 = u128::MAX;

impl Default for Pending {
    fn default() -> Pending {
        Pending {
            slots: Vec::new(),
            len: 0,
            heads: Box::new([NONE; LISTS]),
            full: [0; LISTS / 64],
            words: 0,
            first: EMPTY,
            last: 0,
            far: BinaryHeap::new(),
        }
    }
}

impl Pending {
    /// Number of operations that will complete.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push_operation(
        &mut self,
        ticket: Ticket,
        issued: Instant,
        completed: u64,
        result: Result<u32, Code>,
    ) {
        let index = ticket.0 as usize;
        if index >= self.slots.len() {
            self.grow_to(index);
        }
        // Field by field: a copy of the whole struct would have to wait for the writes of its parts.
        let slot = &mut self.slots[index];
        slot.completed = completed;
        slot.issued = issued;
        slot.result = result;
        self.len += 1;
        if !self.add_to_calendar(completed, ticket.0) {
            self.far.push(Reverse(order_key(completed, ticket.0)));
        }
    }

    #[cold]
    fn grow_to(&mut self, index: usize) {
        let unused = Slot { completed: 0, issued: Instant::ZERO, result: Ok(0), next: NONE };
        self.slots.resize(index + 1, unused);
    }

    /// Puts a completion into the calendar, if it fits.
    #[inline]
    fn add_to_calendar(&mut self, completed: u64, ticket: u32) -> bool {
        let list = completed >> WIDTH_BITS;
        let key = order_key(completed, ticket);
        if self.first == EMPTY {
            self.last = list;
        }
        let earliest = list.min((self.first >> (32 + WIDTH_BITS)) as u64);
        let last = list.max(self.last);
        if last - earliest >= LISTS as u64 || !self.sort_in(list as usize % LISTS, key) {
            return false;
        }
        self.last = last;
        self.first = self.first.min(key);
        true
    }

    /// Puts a completion into its list, if its place is near enough to the head of the list.
    #[inline]
    fn sort_in(&mut self, list: usize, key: u128) -> bool {
        let mut before = NONE;
        let mut at = self.heads[list];
        let mut depth = 0;
        while at != NONE && depth <= DEPTH && self.key_of(at) < key {
            before = at;
            at = self.slots[at as usize].next;
            depth += 1;
        }
        if depth > DEPTH {
            return false;
        }
        let ticket = key as u32;
        self.slots[ticket as usize].next = at;
        match before {
            NONE => self.heads[list] = ticket,
            before => self.slots[before as usize].next = ticket,
        }
        self.full[list / 64] |= 1 << (list % 64);
        self.words |= 1 << (list / 64);
        true
    }

    #[inline]
    fn key_of(&self, ticket: u32) -> u128 {
        order_key(self.slots[ticket as usize].completed, ticket)
    }

    /// Takes the first completion off the calendar.
    #[inline]
    fn unlink_first(&mut self) {
        let list = (self.first >> (32 + WIDTH_BITS)) as usize % LISTS;
        let next = self.slots[self.first as u32 as usize].next;
        self.heads[list] = next;
        if next == NONE {
            self.full[list / 64] &= !(1 << (list % 64));
            self.words &= !(u32::from(self.full[list / 64] == 0) << (list / 64));
        }
        self.first = match (next, self.words) {
            (NONE, 0) => EMPTY,
            (NONE, _) => self.key_of(self.heads[self.full_from(list)]),
            _ => self.key_of(next),
        };
    }

    /// The first non-empty list from `list` on, around the calendar; there is one.
    #[inline]
    fn full_from(&self, list: usize) -> usize {
        let word = list / 64;
        let rest = self.full[word] & (u64::MAX << (list % 64));
        if rest != 0 {
            return word * 64 + rest.trailing_zeros() as usize;
        }
        let ahead = self.words.rotate_right((word as u32 + 1) % 32).trailing_zeros() as usize;
        let word = (word + 1 + ahead) % 32;
        word * 64 + self.full[word].trailing_zeros() as usize
    }

    #[inline]
    fn earliest_key(&self) -> u128 {
        self.far.peek().map_or(self.first, |Reverse(far)| self.first.min(*far))
    }

    /// The time at which the next one completes.
    #[inline]
    pub(super) fn next(&self) -> Option<Instant> {
        let earliest = self.earliest_key();
        (earliest != EMPTY).then(|| Instant::from_ns((earliest >> 32) as u64))
    }

    /// Moves everything that has completed by `now` to `done`.
    #[inline]
    pub(super) fn take_completed(&mut self, now: Instant, done: &mut Done) {
        let until = order_key(now.as_ns(), u32::MAX);
        loop {
            let earliest = self.earliest_key();
            if earliest > until || earliest == EMPTY {
                return;
            }
            if earliest == self.first {
                self.unlink_first();
            } else {
                self.far.pop();
            }
            self.len -= 1;
            let ticket = Ticket(earliest as u32);
            let Slot { completed, issued, result, .. } = self.slots[ticket.0 as usize];
            done.push(Completion { ticket, result, issued, accepted: issued, completed: Instant::from_ns(completed) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;

    /// Inserts and removes at random and compares with a sorted list; `spread` sets how far in the future completions
    /// lie.
    fn against_a_sorted_list(seed: u64, spread: u64, step: u64, grid: u64) {
        let mut prng = Prng::from_seed(seed);
        let (mut pending, mut model, mut done) = (Pending::default(), Vec::new(), Done::new());
        let mut free: Vec<u32> = (0..300).collect();
        let mut now = 0;
        for _ in 0..20_000 {
            now += prng.uniform_below(step);
            if let Some(ticket) = free.pop().filter(|_| prng.uniform_below(8) > 0) {
                let completed = (now + prng.uniform_below(spread)) / grid * grid + grid;
                pending.push_operation(Ticket(ticket), Instant::from_ns(now), completed, Ok(1));
                model.push((completed, ticket));
                model.sort_unstable();
            }
            assert_eq!(pending.next().map(Instant::as_ns), model.first().map(|(completed, _)| *completed));
            if prng.uniform_below(3) == 0 {
                pending.take_completed(Instant::from_ns(now), &mut done);
                let due = model.partition_point(|(completed, _)| *completed <= now);
                let want: Vec<(u64, u32)> = model.drain(..due).collect();
                assert!(done.iter().map(|c| (c.completed.as_ns(), c.ticket.0)).eq(want), "seed {seed} spread {spread}");
                free.extend(done.drain(..).map(|c| c.ticket.0));
            }
            assert_eq!(pending.len(), model.len());
        }
    }

    #[test]
    fn order_is_that_of_a_sorted_list() {
        for (seed, (spread, step, grid)) in [
            (1, 1, 1),
            (100, 100, 1),
            (100_000, 1000, 1),
            (100_000, 1000, 50_000),
            (2_000_000, 10_000, 1),
            (2_200_000, 20_000, 1024),
            (50_000_000, 200_000, 1),
            (3_000_000, 5_000_000, 1),
        ]
        .into_iter()
        .enumerate()
        {
            against_a_sorted_list(seed as u64, spread, step, grid);
        }
    }
}
