//! Bursts: a Markov-modulated Poisson process of two states (H. Heffes and D. M. Lucantoni, "A Markov modulated characterization of
//! packetized voice …", IEEE JSAC 4(6), 1986). The process is on or off, each time for an exponentially distributed while. While it is
//! off, the rate is the share `quiet` of the rate while it is on; the mean over both is the stream's rate. All parts of a stream
//! burst together, because the states are drawn with the stream's seed and only the operations with that of the part.

use super::part::Part;
use assay_base::{Instant, Prng, Rate, Share, Span, math};
use serde::{Deserialize, Serialize};

/// Parameters of the bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// Mean length of a burst.
    pub on: Span,
    /// Mean time between two bursts.
    pub off: Span,
    /// The rate between bursts, as a share of the rate in a burst.
    #[serde(default)]
    pub quiet: Share,
}

impl Bursts {
    /// The rate in a burst, as a multiple of the mean: (on + off) / (on + quiet · off).
    pub fn peak_to_mean(&self) -> f64 {
        let (on, off) = (self.on.as_secs_f64(), self.off.as_secs_f64());
        (on + off) / (on + self.quiet.as_f64() * off)
    }

    /// Variance of the number of operations in `span` seconds divided by the mean number, for a mean rate of `rate` per second: the
    /// index of dispersion for counts of Heffes and Lucantoni, for a process in its steady state.
    pub fn dispersion_index(&self, rate: f64, span: f64) -> f64 {
        let (ends, begins) = (1.0 / self.on.as_secs_f64(), 1.0 / self.off.as_secs_f64());
        let (high, both) = (rate * self.peak_to_mean(), ends + begins);
        let low = high * self.quiet.as_f64();
        let limit = 2.0 * (high - low).powi(2) * ends * begins / (both.powi(2) * (high * begins + low * ends));
        1.0 + limit * (1.0 + math::exp_m1(-both * span) / (both * span))
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Bursty {
    start: Instant,
    due: Instant,
    elapsed_ns: f64,
    /// When the current state ends.
    ends_ns: f64,
    is_on: bool,
    /// Mean lengths of the states off and on, and the mean time between operations in each, in nanoseconds.
    stays_ns: [f64; 2],
    gaps_ns: [f64; 2],
    states: Prng,
    prng: Prng,
}

impl Bursty {
    /// The part's operations of a stream with the mean rate `rate` that begins at `start`. `None` when the rate is zero.
    pub fn new(start: Instant, rate: Rate, bursts: Bursts, part: Part, mut states: Prng, prng: Prng) -> Option<Bursty> {
        if rate.is_zero() || part.of == 0 || bursts.on.is_zero() || bursts.off.is_zero() {
            return None;
        }
        let high = 1e9 / (rate.as_f64() * bursts.peak_to_mean()) * part.of as f64;
        let quiet = bursts.quiet.as_f64();
        let (on, off) = (bursts.on.as_ns() as f64, bursts.off.as_ns() as f64);
        // The first state is drawn as an observer would find it at a random time.
        let is_on = states.uniform_unit() * (on + off) <= on;
        let gaps_ns = [if quiet > 0.0 { high / quiet } else { f64::INFINITY }, high];
        let mut bursty = Bursty {
            start,
            due: start,
            elapsed_ns: 0.0,
            ends_ns: 0.0,
            is_on,
            stays_ns: [off, on],
            gaps_ns,
            states,
            prng,
        };
        bursty.draw_stay();
        bursty.advance_to_next();
        Some(bursty)
    }

    fn draw_stay(&mut self) {
        self.ends_ns += -math::ln(self.states.uniform_unit()) * self.stays_ns[usize::from(self.is_on)];
    }

    #[inline]
    pub(crate) fn next_due(&self) -> Instant {
        self.due
    }

    #[inline]
    pub(crate) fn advance_to_next(&mut self) {
        // The next gap as a multiple of the mean gap, which holds in either state.
        let mut left = -math::ln(self.prng.uniform_unit());
        loop {
            let gap = self.gaps_ns[usize::from(self.is_on)];
            let next = self.elapsed_ns + left * gap;
            if next < self.ends_ns {
                self.elapsed_ns = next;
                break;
            }
            left -= (self.ends_ns - self.elapsed_ns) / gap;
            self.change_state();
        }
        self.due = Instant::from_ns(self.start.as_ns().saturating_add(self.elapsed_ns as i64 as u64));
    }

    #[cold]
    fn change_state(&mut self) {
        self.elapsed_ns = self.ends_ns;
        self.is_on = !self.is_on;
        self.draw_stay();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(on: u64, off: u64, quiet: u64) -> Bursts {
        Bursts { on: Span::from_ms(on), off: Span::from_ms(off), quiet: Share::from_percent(quiet) }
    }

    fn bursty(rate: u64, bursts: Bursts, part: Part, seed: u64) -> Bursty {
        let (states, prng) = (Prng::for_path(seed, &[1]), Prng::for_path(seed, &[2, part.index]));
        Bursty::new(Instant::ZERO, Rate::per_second(rate), bursts, part, states, prng).unwrap()
    }

    /// Operations in each window of `window` ms.
    fn counts(mut bursty: Bursty, window: u64, windows: usize) -> Vec<f64> {
        let mut counts = vec![0f64; windows];
        while let Some(count) = counts.get_mut((bursty.next_due().as_ns() / (window * 1_000_000)) as usize) {
            *count += 1.0;
            bursty.advance_to_next();
        }
        counts
    }

    const WHOLE: Part = Part { index: 0, of: 1 };

    #[test]
    fn mean_and_index_of_dispersion() {
        // States are short, so that windows see many of them; the relative error of a variance from n independent windows is √(2/n).
        for (on, off, quiet, window) in [(2, 8, 10, 5), (2, 8, 0, 20), (10, 10, 50, 100), (20, 80, 10, 100)] {
            let (bursts, rate, windows) = (bursts(on, off, quiet), 5000u64, 40_000usize);
            let counts = counts(bursty(rate, bursts, WHOLE, 11), window, windows);
            let span = window as f64 / 1e3;
            let (n, expected) = (windows as f64, rate as f64 * span);
            let mean = counts.iter().sum::<f64>() / n;
            let long = bursts.dispersion_index(rate as f64, span * n);
            assert!(
                (mean - expected).abs() < 4.0 * (expected * long / n).sqrt(),
                "{on} {off}: mean {mean} of {expected}"
            );
            let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / n;
            let (found, formula) = (variance / mean, bursts.dispersion_index(rate as f64, span));
            assert!((found / formula - 1.0).abs() < 0.1, "{on} {off} {quiet}, {window} ms: {found}, not {formula}");
        }
    }

    #[test]
    fn parts_burst_together() {
        let bursts = bursts(50, 200, 0);
        let busy = |index| counts(bursty(20_000, bursts, Part { index, of: 3 }, 5), 10, 10_000);
        let (one, other) = (busy(0), busy(2));
        // A window that is busy in one part is also busy in the other, except where a burst begins or ends in it.
        let differ = one.iter().zip(&other).filter(|(a, b)| (**a > 20.0) != (**b > 20.0)).count();
        let busy = one.iter().filter(|count| **count > 20.0).count();
        assert!(busy > 1000 && differ < busy / 5, "{differ} of {busy}");
        assert!(one != other);
    }

    #[test]
    fn rates_that_schedule_nothing_and_quiet_that_is_none() {
        let new =
            |rate, bursts| Bursty::new(Instant::ZERO, rate, bursts, WHOLE, Prng::from_seed(1), Prng::from_seed(2));
        assert!(new(Rate::ZERO, bursts(1, 1, 0)).is_none());
        assert!(new(Rate::per_second(1), bursts(0, 1, 0)).is_none());
        // With the same rate between bursts as in them it is a Poisson process.
        assert!((bursts(1, 1, 100).dispersion_index(100.0, 1.0) - 1.0).abs() < 1e-12);
        assert!((bursts(2000, 8000, 10).peak_to_mean() - 10.0 / 2.8).abs() < 1e-12);
    }

    #[test]
    fn golden_vector() {
        let mut bursty = bursty(1000, bursts(20, 80, 10), WHOLE, 1);
        let first: Vec<u64> = (0..3).map(|_| (bursty.next_due().as_ns(), bursty.advance_to_next()).0).collect();
        assert_eq!(first, [5_668_307, 6_969_635, 10_824_702]);
    }
}
