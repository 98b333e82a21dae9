//! Which arrival has the counts that were seen: evenly spaced, independent, or in bursts.
//!
//! For bursts of two states ([`Bursts`]) the index of dispersion over a window w is 1 + L·(1 − (1 − e^(−βw))/(βw)), where β
//! is the sum of the rates at which states end, and L its limit. β and L are those that come closest to the indices
//! counted. How large a part of the time bursts have follows from the skewness of the counts: rare bursts have a long
//! tail.

use super::moments::Moments;
use super::windows::WINDOWS;
use crate::arrival::Bursts;
use assay_base::{Share, Span, math};

/// The number of windows that must have been counted before an index is meaningful.
const LEAST_WINDOWS: u64 = 10;
/// Up to this index over every window, arrivals are independent.
const INDEPENDENT: f64 = 1.25;
/// Below this index, over windows with several arrivals, they are evenly spaced.
const EVEN: f64 = 0.3;
/// Shortest and longest time constants that are tried, in seconds, and how many.
const SHORTEST: f64 = 2e-4;
const LONGEST: f64 = 30.0;
const TRIED: usize = 120;

/// When operations are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivalShape {
    /// Evenly spaced.
    Steady,
    /// Independent.
    Poisson,
    /// In bursts.
    Bursty(Bursts),
}

/// An index of dispersion over windows of a length.
#[derive(Clone, Copy, Debug)]
struct Index {
    window: f64,
    index: f64,
    /// How exactly it is known: the number of windows, at most.
    weight: f64,
    mean: f64,
}

/// The arrival for counts in windows of the lengths of [`WINDOWS`], at a mean rate per second.
pub fn fit_arrival(counts: &[Moments; WINDOWS.len()], rate: f64) -> ArrivalShape {
    let indices = indices_of(counts);
    let several = |index: &&Index| index.mean >= 2.0;
    if indices.iter().any(|index| several(&index)) && indices.iter().filter(several).all(|index| index.index < EVEN) {
        return ArrivalShape::Steady;
    }
    let noise = |index: &Index| 4.0 * (2.0 / index.weight).sqrt();
    if rate <= 0.0 || indices.iter().all(|index| index.index < INDEPENDENT + noise(index).min(1.0)) {
        return ArrivalShape::Poisson;
    }
    fit_bursts(counts, &indices, rate).map_or(ArrivalShape::Poisson, ArrivalShape::Bursty)
}

fn indices_of(counts: &[Moments; WINDOWS.len()]) -> Vec<Index> {
    let known = WINDOWS.iter().zip(counts).filter(|(_, counts)| counts.count >= LEAST_WINDOWS);
    let index = |(window, counts): (&u64, &Moments)| {
        let index = counts.index_of_dispersion()?;
        Some(Index { window: *window as f64 / 1e9, index, weight: counts.count as f64, mean: counts.mean })
    };
    known.filter_map(index).collect()
}

/// 1 − (1 − e^(−x))/x.
fn saturation(x: f64) -> f64 {
    1.0 + math::exp_m1(-x) / x
}

/// The limit L that comes closest for a β, and how far off the indices are then.
fn best_limit(indices: &[Index], beta: f64) -> (f64, f64) {
    // Relative errors: an index is known to √(2/n) of itself.
    let (mut above, mut below) = (0.0, 0.0);
    for Index { window, index, weight, .. } in indices {
        let (share, weight) = (saturation(beta * window), weight.min(1000.0) / (index * index));
        above += weight * share * (index - 1.0);
        below += weight * share * share;
    }
    let limit = if below > 0.0 { (above / below).max(0.0) } else { 0.0 };
    let off = indices.iter().map(|Index { window, index, weight, .. }| {
        let predicted = 1.0 + limit * saturation(beta * window);
        weight.min(1000.0) * (predicted / index - 1.0).powi(2)
    });
    (limit, off.sum())
}

fn fit_bursts(counts: &[Moments; WINDOWS.len()], indices: &[Index], rate: f64) -> Option<Bursts> {
    let step = math::ln(LONGEST / SHORTEST) / (TRIED - 1) as f64;
    let constants = (0..TRIED).map(|at| SHORTEST * math::exp(step * at as f64));
    let tried = constants.map(|constant| (1.0 / constant, best_limit(indices, 1.0 / constant)));
    let (beta, (limit, _)) = tried.min_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    // Variance of the rate over its mean squared: L = 2·variance/(β·mean).
    let variation = limit * beta / (2.0 * rate);
    if variation <= 0.0 {
        return None;
    }
    let on = share_of_time_on(counts, beta).min(1.0 / (1.0 + variation));
    // The rates that have this mean and variance: mean + d·(1 − on) in a burst, mean − d·on between bursts.
    let apart = (variation / (on * (1.0 - on))).sqrt();
    let (high, low) = (1.0 + apart * (1.0 - on), (1.0 - apart * on).max(0.0));
    let lasting = |seconds: f64| Span::from_us((seconds * 1e6).round().max(1.0) as u64);
    // To a thousandth of a percent.
    let quiet = Share::from_ppb((low / high * 1e5).round() as u64 * 10_000);
    // 1/on + 1/off = β, and on/(on + off) is the share of the time.
    Some(Bursts { on: lasting(1.0 / (beta * (1.0 - on))), off: lasting(1.0 / (beta * on)), quiet })
}

/// The share of the time that bursts have, by the skewness of the counts in windows that are shorter than a burst: for two
/// states it is (1 − 2p)/√(p(1 − p)).
fn share_of_time_on(counts: &[Moments; WINDOWS.len()], beta: f64) -> f64 {
    let shorter = |window: &u64| *window as f64 / 1e9 <= 0.5 / beta;
    let at = WINDOWS.iter().rposition(shorter).unwrap_or(0);
    let Some(skewness) = counts[at].skewness_of_rate() else { return 0.5 };
    (0.5 * (1.0 - skewness / (4.0 + skewness * skewness).sqrt())).clamp(0.001, 0.999)
}

#[cfg(test)]
mod tests {
    use super::super::windows::WindowCounts;
    use super::*;
    use crate::arrival::{Bursty, Part};
    use assay_base::{Instant, Prng, Rate};

    fn counts_of(times: impl Iterator<Item = u64>, end: u64) -> [Moments; WINDOWS.len()] {
        let mut windows = WindowCounts::default();
        times.take_while(|at| *at < end).for_each(|at| windows.add_arrival(0, at));
        windows.counts_until(end)
    }

    /// Operations of a stream with such bursts.
    fn bursty_times(rate: u64, bursts: Bursts) -> impl Iterator<Item = u64> {
        let (states, prng) = (Prng::from_seed(8), Prng::from_seed(9));
        let part = Part { index: 0, of: 1 };
        let mut bursty = Bursty::new(Instant::ZERO, Rate::per_second(rate), bursts, part, states, prng).unwrap();
        std::iter::from_fn(move || {
            let due = bursty.next_due().as_ns();
            bursty.advance_to_next();
            Some(due)
        })
    }

    #[test]
    fn bursts_that_were_drawn_are_found_again() {
        for (on, off, quiet) in [(20, 80, 10), (50, 50, 0), (200, 800, 0), (5, 45, 20)] {
            let bursts = Bursts { on: Span::from_ms(on), off: Span::from_ms(off), quiet: Share::from_percent(quiet) };
            let rate = 2000.0;
            let found = fit_arrival(&counts_of(bursty_times(2000, bursts), 300_000_000_000), rate);
            let ArrivalShape::Bursty(found) = found else { panic!("{on} {off} {quiet}: {found:?}") };
            for window in [0.01, 0.1, 1.0] {
                let (meant, fitted) = (bursts.dispersion_index(rate, window), found.dispersion_index(rate, window));
                assert!((fitted / meant - 1.0).abs() < 0.15, "{on} {off} {quiet}, {window} s: {fitted}, not {meant}");
            }
            let (meant, fitted) = (bursts.peak_to_mean(), found.peak_to_mean());
            assert!((fitted / meant - 1.0).abs() < 0.25, "{on} {off} {quiet}: peak {fitted}, not {meant}");
        }
    }

    #[test]
    fn even_and_independent_ones_have_no_bursts() {
        let even = counts_of((0..).map(|at| at * 1_000_000), 60_000_000_000);
        assert_eq!(fit_arrival(&even, 1000.0), ArrivalShape::Steady);
        let (mut prng, mut now) = (Prng::from_seed(1), 0.0);
        let independent = std::iter::from_fn(move || {
            now += -math::ln(prng.uniform_unit()) * 1e6;
            Some(now as u64)
        });
        assert_eq!(fit_arrival(&counts_of(independent, 60_000_000_000), 1000.0), ArrivalShape::Poisson);
        assert_eq!(fit_arrival(&Default::default(), 0.0), ArrivalShape::Poisson);
    }
}
