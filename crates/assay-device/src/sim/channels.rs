//! Servers; the next operation always goes to the one that is free first.

/// When each server is free, in nanoseconds: a ring in ascending order. Most new times are the latest of all, so
/// inserting one takes few steps, whereas a heap would always go down to a leaf.
#[derive(Clone, Debug)]
pub(super) struct Channels {
    ring: Box<[u64]>,
    /// Index of the first, and their number; the ring's length is a power of two.
    head: usize,
    count: usize,
}

impl Channels {
    /// `count` servers, at least 1, free at the origin of time.
    pub(super) fn new(count: usize) -> Channels {
        assert!(count > 0, "a device without a channel serves nothing");
        Channels { ring: vec![0; count.next_power_of_two()].into(), head: 0, count }
    }

    pub(super) fn channel_count(&self) -> u64 {
        self.count as u64
    }

    /// The time at which the first one is free.
    #[inline]
    pub(super) fn first_free(&self) -> u64 {
        self.ring[self.head & (self.ring.len() - 1)]
    }

    /// Sets the time of the server that is free first to `free`.
    #[inline]
    pub(super) fn replace_first(&mut self, free: u64) {
        let ring = &mut *self.ring;
        let mask = ring.len() - 1;
        self.head = (self.head + 1) & mask;
        let mut place = self.head + self.count - 1;
        while place > self.head && ring[(place - 1) & mask] > free {
            ring[place & mask] = ring[(place - 1) & mask];
            place -= 1;
        }
        ring[place & mask] = free;
    }

    /// Stops all of them, idle or not at `at`, for `pause`.
    #[cold]
    pub(super) fn pause_all(&mut self, at: u64, pause: u64) {
        self.change_each(|free| *free = at.max(*free) + pause);
    }

    /// The idle time of all of them together up to `at`, if none is busy; they count as free from `at` on.
    #[cold]
    pub(super) fn idle_until(&mut self, at: u64) -> u64 {
        let mut idle = 0;
        self.change_each(|free| idle += at - std::mem::replace(free, at));
        idle
    }

    fn change_each(&mut self, mut change: impl FnMut(&mut u64)) {
        let mask = self.ring.len() - 1;
        (self.head..self.head + self.count).for_each(|place| change(&mut self.ring[place & mask]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;

    #[test]
    fn the_first_is_always_the_least() {
        for count in [1, 2, 3, 7, 16, 100] {
            let (mut channels, mut model) = (Channels::new(count), vec![0u64; count]);
            let mut prng = Prng::from_seed(count as u64);
            for _ in 0..5000 {
                let least = model.iter().copied().min().unwrap();
                assert_eq!(channels.first_free(), least);
                let free = least + prng.uniform_below(1000);
                channels.replace_first(free);
                *model.iter_mut().find(|time| **time == least).unwrap() = free;
                if prng.uniform_below(100) == 0 {
                    channels.pause_all(free, 7);
                    model.iter_mut().for_each(|time| *time = free.max(*time) + 7);
                }
                if prng.uniform_below(100) == 0 {
                    let at = model.iter().copied().max().unwrap() + 5;
                    assert_eq!(channels.idle_until(at), model.iter().map(|time| at - time).sum::<u64>());
                    model.fill(at);
                }
            }
        }
    }
}
