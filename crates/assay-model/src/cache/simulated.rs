//! A simulated cache of one size.

use super::{Blocks, Writes};
use assay_base::Direction;
use serde::{Deserialize, Serialize};
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
    /// As `clock`, on a device that appends everything to a log: a block that is written again gets a new slot, and its
    /// old one stays empty until the hand comes by.
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
/// The block number of a slot whose block has moved to another slot. No target is so large that it has this block.
const LEFT: u64 = u64::MAX;

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

/// What an access did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Whether the block was in the cache.
    pub hit: bool,
    /// The dirty block that was evicted, if there was one; it must be written to the target.
    pub evicted: Option<u64>,
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
}

impl Cache {
    /// An empty cache of this many blocks, at most 2³² − 2.
    pub fn new(policy: Policy, writes: Writes, capacity: u64) -> Cache {
        Cache {
            policy,
            writes,
            capacity: capacity.min(u64::from(NONE) - 1) as usize,
            at: Blocks::default(),
            places: Vec::new(),
            hand: 0,
            oldest: NONE,
            newest: NONE,
        }
    }

    /// Whether the access is a hit. Afterwards the block is in the cache, unless the access bypasses the cache.
    pub fn access(&mut self, block: u64, direction: Direction) -> bool {
        self.pass(block, direction, false).hit
    }

    /// As `access`, for a cache that may be write-back: if `stays` is set, the block becomes dirty, and is written when
    /// it is evicted.
    pub fn pass(&mut self, block: u64, direction: Direction, stays: bool) -> Passed {
        let there = self.at.get(&block).copied();
        if !self.writes.touches(direction) || self.capacity == 0 {
            return Passed { hit: there.is_some(), evicted: (stays && self.capacity == 0).then_some(block) };
        }
        let evicted = match there {
            Some(place) if self.policy == Policy::Log && direction == Direction::Write => {
                let left = &mut self.places[place as usize];
                let was_dirty = left.dirty;
                (left.block, left.used, left.dirty) = (LEFT, false, false);
                self.at.remove(&block);
                self.put(block, stays || was_dirty)
            }
            Some(place) => {
                self.touch(place);
                self.places[place as usize].dirty |= stays;
                None
            }
            None => self.put(block, stays),
        };
        Passed { hit: there.is_some(), evicted }
    }

    fn touch(&mut self, place: u32) {
        match self.policy {
            Policy::Fifo => {}
            Policy::Clock | Policy::Log => self.places[place as usize].used = true,
            Policy::Lru if self.newest == place => {}
            Policy::Lru => {
                self.unlink(place);
                self.link(place);
            }
        }
    }

    /// Puts a block into the cache, and returns the dirty block that was evicted for it, if there was one.
    fn put(&mut self, block: u64, dirty: bool) -> Option<u64> {
        let new = Place { block, used: false, dirty, older: NONE, newer: NONE };
        let mut evicted = None;
        let place = if self.places.len() < self.capacity {
            self.places.push(new);
            (self.places.len() - 1) as u32
        } else {
            let place = self.victim();
            let old = std::mem::replace(&mut self.places[place as usize], new);
            if old.block != LEFT {
                self.at.remove(&old.block);
            }
            evicted = old.dirty.then_some(old.block);
            place
        };
        self.at.insert(block, place);
        if self.policy == Policy::Lru {
            self.link(place);
        }
        evicted
    }

    /// The slot whose block is evicted.
    fn victim(&mut self) -> u32 {
        if self.policy == Policy::Lru {
            let oldest = self.oldest;
            self.unlink(oldest);
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

    fn unlink(&mut self, place: u32) {
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

    fn link(&mut self, place: u32) {
        let older = std::mem::replace(&mut self.newest, place);
        match older {
            NONE => self.oldest = place,
            older => self.places[older as usize].newer = place,
        }
        let it = &mut self.places[place as usize];
        (it.older, it.newer) = (older, NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;
    use std::collections::VecDeque;

    fn hits(policy: Policy, writes: Writes, capacity: u64, accesses: &[(u64, Direction)]) -> Vec<bool> {
        let mut cache = Cache::new(policy, writes, capacity);
        accesses.iter().map(|(block, direction)| cache.access(*block, *direction)).collect()
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

    /// A cache of three slots holds 1, 2 and 3. The second write of 1 reuses the slot of 1, because the hand finds it
    /// empty. The second write of 2 leaves a slot that stays empty until the hand has come round.
    #[test]
    fn what_is_written_again_leaves_its_place_in_a_log() {
        let (r, w) = (Direction::Read, Direction::Write);
        let accesses = [(1, r), (2, r), (3, r), (3, w), (2, r), (3, r), (1, r)];
        assert_eq!(hits(Policy::Clock, Writes::Allocate, 3, &accesses), [false, false, false, true, true, true, true]);
        assert_eq!(hits(Policy::Log, Writes::Allocate, 3, &accesses), [false, false, false, true, true, true, false]);
        assert_eq!("log".parse(), Ok(Policy::Log));
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
        let mut prng = Prng::seeded(3);
        let accesses: Vec<(u64, Direction)> =
            (0..30_000).map(|_| (prng.below(300).min(prng.below(300)), Direction::Read)).collect();
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
