//! A simulated cache of one size.

use super::segments::Segments;
use super::{Blocks, Writes};
use assay_base::Direction;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::str::FromStr;

/// Which block is evicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The block that was least recently used.
    #[default]
    Lru,
    /// The block that was put in first.
    Fifo,
    /// A hand goes round the slots and evicts the first block that was not used since the hand last passed it.
    Clock,
    /// As `clock`, on a device that appends everything to a log of segments ([`Segments`]): a block that is written again
    /// gets a new slot, its old one stays empty until the hand comes by, and the hand empties a segment at a time.
    Log,
}

impl FromStr for Policy {
    type Err = String;
    fn from_str(text: &str) -> Result<Policy, String> {
        match text {
            "lru" => Ok(Policy::Lru),
            "fifo" => Ok(Policy::Fifo),
            "clock" => Ok(Policy::Clock),
            "log" => Ok(Policy::Log),
            _ => Err(format!("\"{}\" is not a policy; write lru, fifo, clock or log", text.escape_debug())),
        }
    }
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Policy::Lru => "lru",
            Policy::Fifo => "fifo",
            Policy::Clock => "clock",
            Policy::Log => "log",
        })
    }
}

const NONE: u32 = u32::MAX;

/// A slot of the cache.
#[derive(Clone, Copy, Debug)]
struct Place {
    block: u64,
    /// Whether the block was used since the hand last passed it.
    used: bool,
    /// Whether the block was written and is not on the target yet.
    dirty: bool,
    /// `older` and `newer` are the neighbours in the order of use, for LRU.
    older: u32,
    newer: u32,
}

/// A simulated cache, which knows its blocks and not their data.
#[derive(Debug)]
pub struct Cache {
    policy: Policy,
    writes: Writes,
    capacity: usize,
    at: Blocks<u32>,
    places: Vec<Place>,
    /// The slot to examine next, for the policies other than LRU.
    hand: usize,
    oldest: u32,
    newest: u32,
    /// The blocks of the policy `log`; of the others, they are in `at` and `places`.
    segments: Option<Segments>,
    /// Dirty blocks that were evicted and not taken yet.
    evicted: VecDeque<u64>,
}

impl Cache {
    /// An empty cache of this many blocks, at most 2³² − 2, in segments of `segment` blocks where the policy is `log`.
    pub fn new(policy: Policy, writes: Writes, capacity: u64, segment: u64) -> Cache {
        let capacity = capacity.min(u64::from(NONE) - 1) as usize;
        Cache {
            policy,
            writes,
            capacity,
            at: Blocks::default(),
            places: Vec::new(),
            hand: 0,
            oldest: NONE,
            newest: NONE,
            segments: (policy == Policy::Log && capacity > 0).then(|| Segments::new(capacity as u32, segment)),
            evicted: VecDeque::new(),
        }
    }

    /// Whether the access is a hit. Afterwards the block is in the cache, unless the access bypasses the cache.
    pub fn access_block(&mut self, block: u64, direction: Direction) -> bool {
        let hit = self.pass_access(block, direction, false);
        self.evicted.clear();
        hit
    }

    /// As `access`, for a cache that may be write-back: if `stays` is set, the block becomes dirty, and is written when
    /// it is evicted; [`Cache::next_evicted`] then returns it.
    pub fn pass_access(&mut self, block: u64, direction: Direction, stays: bool) -> bool {
        let passes_by = !self.writes.changes_cache(direction);
        if let Some(segments) = &mut self.segments {
            return if passes_by {
                segments.has_block(block)
            } else {
                segments.pass_access(block, direction, stays, &mut self.evicted)
            };
        }
        let there = self.at.get(&block).copied();
        if passes_by || self.capacity == 0 {
            self.evicted.extend((stays && self.capacity == 0).then_some(block));
            return there.is_some();
        }
        match there {
            Some(place) => {
                self.touch_slot(place);
                self.places[place as usize].dirty |= stays;
            }
            None => self.put_block(block, stays),
        }
        there.is_some()
    }

    /// Removes a block: it was written in part, and a cache device holds whole blocks only. The other policies keep it.
    pub fn forget_block(&mut self, block: u64) {
        let was_dirty = self.segments.as_mut().and_then(|segments| segments.forget_block(block));
        self.evicted.extend((was_dirty == Some(true)).then_some(block));
    }

    /// Which block is evicted.
    pub fn eviction_policy(&self) -> Policy {
        self.policy
    }

    /// The next dirty block that was evicted and must be written to the target.
    pub fn next_evicted(&mut self) -> Option<u64> {
        self.evicted.pop_front()
    }

    fn touch_slot(&mut self, place: u32) {
        match self.policy {
            Policy::Fifo | Policy::Log => {}
            Policy::Clock => self.places[place as usize].used = true,
            Policy::Lru if self.newest == place => {}
            Policy::Lru => {
                self.unlink_slot(place);
                self.link_slot(place);
            }
        }
    }

    /// Puts a block into the cache, and evicts another one if there is no room.
    fn put_block(&mut self, block: u64, dirty: bool) {
        let new = Place { block, used: false, dirty, older: NONE, newer: NONE };
        let place = if self.places.len() < self.capacity {
            self.places.push(new);
            (self.places.len() - 1) as u32
        } else {
            let place = self.choose_victim();
            let old = std::mem::replace(&mut self.places[place as usize], new);
            self.at.remove(&old.block);
            self.evicted.extend(old.dirty.then_some(old.block));
            place
        };
        self.at.insert(block, place);
        if self.policy == Policy::Lru {
            self.link_slot(place);
        }
    }

    /// The slot whose block is evicted.
    fn choose_victim(&mut self) -> u32 {
        if self.policy == Policy::Lru {
            let oldest = self.oldest;
            self.unlink_slot(oldest);
            return oldest;
        }
        loop {
            let place = self.hand;
            self.hand = (self.hand + 1) % self.capacity;
            if !std::mem::take(&mut self.places[place].used) {
                return place as u32;
            }
        }
    }

    fn unlink_slot(&mut self, place: u32) {
        let Place { older, newer, .. } = self.places[place as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.places[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.places[newer as usize].older = older,
        }
    }

    fn link_slot(&mut self, place: u32) {
        let older = std::mem::replace(&mut self.newest, place);
        match older {
            NONE => self.oldest = place,
            older => self.places[older as usize].newer = place,
        }
        let linked = &mut self.places[place as usize];
        (linked.older, linked.newer) = (older, NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;
    use std::collections::VecDeque;

    fn hits(policy: Policy, writes: Writes, capacity: u64, accesses: &[(u64, Direction)]) -> Vec<bool> {
        let mut cache = Cache::new(policy, writes, capacity, 1);
        accesses.iter().map(|(block, direction)| cache.access_block(*block, *direction)).collect()
    }

    fn reads(blocks: &[u64]) -> Vec<(u64, Direction)> {
        blocks.iter().map(|block| (*block, Direction::Read)).collect()
    }

    #[test]
    fn each_policy_makes_room_in_its_own_way() {
        let accesses = reads(&[1, 2, 3, 1, 4, 1, 2, 3]);
        for (policy, expected) in [
            // Replacements: 4 for 2, 2 for 3, 3 for 4.
            (Policy::Lru, [false, false, false, true, false, true, false, false]),
            // Replacements: 4 for 1, 1 for 2, 2 for 3, 3 for 4.
            (Policy::Fifo, [false, false, false, true, false, false, false, false]),
            // The hand passes 1, which was used, and 2 is replaced by 4; then 3 by 2; then it passes 1, used again, and
            // 4 is replaced by 3.
            (Policy::Clock, [false, false, false, true, false, true, false, false]),
        ] {
            assert_eq!(hits(policy, Writes::Allocate, 3, &accesses), expected, "{policy}");
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        assert!("random".parse::<Policy>().unwrap_err().contains("lru, fifo, clock or log"));
    }

    #[test]
    fn a_write_around_the_cache_changes_nothing_in_it() {
        let (r, w) = (Direction::Read, Direction::Write);
        let accesses = [(1, w), (1, r), (2, r), (1, w), (3, r), (1, r)];
        // Around: the write to 1 neither puts it in nor makes it newer, so that 3 replaces it.
        assert_eq!(hits(Policy::Lru, Writes::Around, 2, &accesses), [false, false, false, true, false, false]);
        assert_eq!(hits(Policy::Lru, Writes::Allocate, 2, &accesses), [false, true, false, true, false, true]);
    }

    #[test]
    fn a_scan_larger_than_the_cache_never_hits_where_order_decides() {
        let scan: Vec<u64> = (0..50).flat_map(|_| 0..101).collect();
        for policy in [Policy::Lru, Policy::Fifo, Policy::Clock] {
            assert!(hits(policy, Writes::Allocate, 100, &reads(&scan)).iter().all(|hit| !hit), "{policy}");
            let all = hits(policy, Writes::Allocate, 101, &reads(&scan));
            assert_eq!(all.iter().filter(|hit| **hit).count(), 49 * 101, "{policy}");
        }
        assert!(hits(Policy::Lru, Writes::Allocate, 0, &reads(&scan)).iter().all(|hit| !hit));
    }

    /// Comparison with a slow and simple implementation on lists.
    #[test]
    fn agrees_with_lists() {
        let mut prng = Prng::from_seed(3);
        let accesses: Vec<(u64, Direction)> =
            (0..30_000).map(|_| (prng.uniform_below(300).min(prng.uniform_below(300)), Direction::Read)).collect();
        for policy in [Policy::Lru, Policy::Fifo] {
            let mut list: VecDeque<u64> = VecDeque::new();
            let expected: Vec<bool> = accesses
                .iter()
                .map(|(block, _)| {
                    let at = list.iter().position(|it| it == block);
                    if policy == Policy::Lru {
                        at.map(|at| list.remove(at));
                    }
                    if at.is_none() || policy == Policy::Lru {
                        list.push_front(*block);
                        list.truncate(64);
                    }
                    at.is_some()
                })
                .collect();
            assert_eq!(hits(policy, Writes::Allocate, 64, &accesses), expected, "{policy}");
        }
    }
}
