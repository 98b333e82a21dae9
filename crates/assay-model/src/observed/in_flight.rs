//! How many requests a device has at a time, and whether that is a constant: an application that keeps a number of
//! requests in flight issues the next one when one completes, and its rate follows the device.

/// Upper bound on what is told apart.
const DEEPEST: usize = 1024;
/// The share of the time in which a number must be in flight to be called constant.
const CONSTANT: f64 = 0.85;
/// Requests after which it can be said.
const LEAST: u64 = 2000;

/// The time for which each number was in flight.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    ns: Vec<u64>,
    now: i64,
    since: Option<u64>,
    issued: u64,
}

/// A number that was nearly always in flight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SteadyDepth {
    /// The number.
    pub depth: u32,
    /// The share of the time in which it was that, or one less of several.
    pub share: f64,
}

impl InFlight {
    /// At `at`, `change` more are in flight. Those that were in flight before the watch began complete too: the number is
    /// never less than none.
    pub fn change_number(&mut self, at: u64, change: i32) {
        if let Some(since) = self.since {
            let depth = (self.now.max(0) as usize).min(DEEPEST);
            if self.ns.len() <= depth {
                self.ns.resize(depth + 1, 0);
            }
            self.ns[depth] += at.saturating_sub(since);
        }
        self.since = Some(self.since.map_or(at, |since| since.max(at)));
        self.now = (self.now + i64::from(change)).max(0);
        self.issued += u64::from(change > 0);
    }

    /// No time passes across this.
    pub fn restart_time(&mut self) {
        (self.since, self.now) = (None, 0);
    }

    /// The mean number in flight.
    pub fn mean_number(&self) -> Option<f64> {
        let all: u64 = self.ns.iter().sum();
        let weighted: f64 = self.ns.iter().enumerate().map(|(depth, ns)| depth as f64 * *ns as f64).sum();
        (all > 0).then(|| weighted / all as f64)
    }

    /// The number that is in flight nearly always, if there is one. With several in flight, the moment between a
    /// completion and the next request counts as well.
    pub fn steady_depth(&self) -> Option<SteadyDepth> {
        let all: u64 = self.ns.iter().sum();
        let (deepest, _) = self.ns.iter().enumerate().rev().find(|(_, ns)| **ns as f64 >= 0.001 * all as f64)?;
        let at = |depth: usize| self.ns.get(depth).copied().unwrap_or(0);
        let nearly = if deepest >= 4 { at(deepest - 1) } else { 0 };
        let share = (at(deepest) + nearly) as f64 / all as f64;
        let is_constant = (1..DEEPEST).contains(&deepest) && share >= CONSTANT && self.issued >= LEAST;
        is_constant.then_some(SteadyDepth { depth: deepest as u32, share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;

    #[test]
    fn a_constant_number_is_found_and_a_changing_one_is_not() {
        let mut closed = InFlight::default();
        (0..8).for_each(|_| closed.change_number(0, 1));
        for at in 1..5000u64 {
            closed.change_number(at * 1000, -1);
            closed.change_number(at * 1000 + 20, 1);
        }
        assert_eq!(closed.steady_depth().map(|steady| steady.depth), Some(8));
        assert!((closed.mean_number().unwrap() - 8.0).abs() < 0.1);
        // Requests that come by chance and each take a while.
        let (mut open, mut prng, mut ends, mut now) = (InFlight::default(), Prng::from_seed(1), Vec::new(), 0u64);
        for _ in 0..5000 {
            now += prng.uniform_below(2000);
            ends.sort_unstable();
            while ends.first().is_some_and(|end| *end <= now) {
                open.change_number(ends.remove(0), -1);
            }
            open.change_number(now, 1);
            ends.push(now + 4000);
        }
        assert_eq!(open.steady_depth(), None);
        assert_eq!(InFlight::default().steady_depth(), None);
    }

    #[test]
    fn completions_of_what_was_issued_before_count_for_nothing() {
        let mut late = InFlight::default();
        late.change_number(5, -1);
        late.change_number(6, 1);
        late.change_number(4, -1);
        assert_eq!(late.now, 0);
    }
}
