//! One axis: the place of a value, and the places of the ticks.

use crate::render::html::figures::count_text;
use crate::words::clock_text;
use assay_base::{Bytes, Span};

/// Upper bound on the ticks of an axis, so that their labels do not touch even on a phone.
const MOST_TICKS: usize = 6;

/// The unit of the numbers on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds.
    Time,
    /// A share, 0 to 1.
    Share,
    /// Operations per second.
    PerSecond,
    /// A multiple of the workload's 1x.
    Load,
    /// A place in measured time, in nanoseconds.
    Clock,
    /// Bytes, in powers of two.
    Bytes,
}

/// Steps between ticks of a clock, in seconds; above them whole days.
const CLOCK: [u32; 19] =
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800];

/// An axis with its title, which names the unit.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub title: String,
    unit: Unit,
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    /// From zero to at least `high`.
    pub(crate) fn with_linear_scale(title: &str, unit: Unit, high: f64) -> Axis {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        Axis { title: title.to_owned(), unit, low: 0.0, high, logarithmic: false }
    }

    /// Logarithmic, from at most `low` to at least `high`, both ends at 1, 2 or 5 times a power of ten.
    pub(crate) fn with_log_scale(title: &str, unit: Unit, low: f64, high: f64) -> Axis {
        let (low, high) = if is_usable(low) && is_usable(high) { (low.min(high), low.max(high)) } else { (1.0, 10.0) };
        let (low, high) = match unit {
            Unit::Bytes => (low.log2().floor().exp2(), high.log2().ceil().exp2()),
            _ => (round_to_tick(low, false), round_to_tick(high, true)),
        };
        let high = if high > low { high } else { low * 10.0 };
        Axis { title: title.to_owned(), unit, low, high, logarithmic: true }
    }

    /// The place of a value, 0 to 1; the edge for values outside the axis, the beginning for a value that is not a
    /// number.
    pub(crate) fn place_of_value(&self, value: f64) -> f64 {
        let place = if self.logarithmic {
            (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            value / self.high
        };
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    /// Values and their labels.
    pub(crate) fn labelled_ticks(&self) -> Vec<(f64, String)> {
        let values = if self.logarithmic { self.logarithmic_ticks() } else { self.linear_ticks() };
        values.into_iter().map(|value| (value, self.tick_label(value))).collect()
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let least = self.high / (MOST_TICKS - 1) as f64;
        let of_clock = CLOCK.iter().map(|seconds| f64::from(*seconds) * 1e9).find(|step| *step >= least);
        let step = of_clock.filter(|_| self.unit == Unit::Clock).unwrap_or_else(|| round_to_tick(least, true));
        (0..MOST_TICKS).map(|n| n as f64 * step).filter(|value| *value <= self.high * 1.000_001).collect()
    }

    /// Multiples of 1, 2 and 5 where there is space for them, or of 1 and 5, otherwise powers of ten, if necessary only
    /// every second or third.
    fn logarithmic_ticks(&self) -> Vec<f64> {
        if self.unit == Unit::Bytes {
            let (first, last) = (self.low.log2().round() as i32, self.high.log2().round() as i32);
            let every = ((last - first) as usize).div_ceil(MOST_TICKS - 1).max(1);
            return (first..=last).step_by(every).map(|power| f64::from(power).exp2()).collect();
        }
        let within = |value: &f64| *value >= self.low * 0.999 && *value <= self.high * 1.001;
        let powers = || self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        for each in [&[1.0, 2.0, 5.0][..], &[1.0, 5.0]] {
            let fine: Vec<f64> =
                powers().flat_map(|power| each.iter().map(move |n| n * 10f64.powi(power))).filter(within).collect();
            if fine.len() <= MOST_TICKS {
                return fine;
            }
        }
        let tens: Vec<f64> = powers().map(|power| 10f64.powi(power)).filter(within).collect();
        let every = tens.len().div_ceil(MOST_TICKS + 1).max(1);
        // The top of an axis of shares is 100 %, and must be labelled.
        let skip = (tens.len() - 1) % every;
        tens.into_iter().skip(skip).step_by(every).collect()
    }

    fn tick_label(&self, value: f64) -> String {
        match self.unit {
            Unit::Time => Span::from_ns(value.round() as u64).human_text(),
            Unit::Share => format!("{}%", plain_decimals(value * 100.0)),
            Unit::PerSecond if value >= 10.0 => count_text(value.round() as u64),
            Unit::PerSecond => plain_decimals(value),
            Unit::Load => format!("{}x", plain_decimals(value)),
            Unit::Clock => clock_text(value.round() as u64),
            Unit::Bytes => Bytes::new(value.round() as u64).human_text(),
        }
    }
}

/// Whether a logarithmic axis can begin or end at this value.
fn is_usable(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// The next 1, 2 or 5 times a power of ten, upwards or downwards.
fn round_to_tick(value: f64, up: bool) -> f64 {
    let power = 10f64.powi(value.log10().floor() as i32);
    let all = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
    // A value that is already such a number must not move because of the last digit of its logarithm.
    let found = if up {
        all.iter().copied().find(|number| *number >= value * 0.999_999)
    } else {
        all.iter().rev().copied().find(|number| *number <= value * 1.000_001)
    };
    found.unwrap_or(power)
}

/// With as many decimals as it needs, at most six.
fn plain_decimals(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.labelled_ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_few_and_carry_their_unit() {
        let time = Axis::with_log_scale("t", Unit::Time, 130_000.0, 4_100_000.0);
        assert_eq!(labels(&time), ["100 µs", "200 µs", "500 µs", "1 ms", "2 ms", "5 ms"]);
        assert_eq!(
            labels(&Axis::with_log_scale("t", Unit::Time, 3e4, 4e6)),
            ["50 µs", "100 µs", "500 µs", "1 ms", "5 ms"]
        );
        assert_eq!(labels(&Axis::with_log_scale("t", Unit::Time, 1e3, 9e9)), ["10 µs", "1 ms", "100 ms", "10 s"]);
        let bytes = Axis::with_log_scale("b", Unit::Bytes, 5000.0, 1e9);
        assert_eq!(labels(&bytes), ["4 KiB", "64 KiB", "1 MiB", "16 MiB", "256 MiB"]);
        let share = Axis::with_log_scale("s", Unit::Share, 0.000_01, 1.0);
        assert_eq!(labels(&share), ["0.001%", "0.01%", "0.1%", "1%", "10%", "100%"]);
        assert_eq!(labels(&Axis::with_linear_scale("l", Unit::Load, 130.0)), ["0x", "50x", "100x"]);
        assert_eq!(
            labels(&Axis::with_linear_scale("r", Unit::PerSecond, 60_000.0)),
            ["0", "20,000", "40,000", "60,000"]
        );
        let clock = Axis::with_linear_scale("c", Unit::Clock, 12.0 * 3600e9);
        assert_eq!(labels(&clock), ["0:00:00", "3:00:00", "6:00:00", "9:00:00", "12:00:00"]);
        assert_eq!(labels(&Axis::with_linear_scale("s", Unit::Share, 0.034)), ["0%", "1%", "2%", "3%"]);
    }

    #[test]
    fn places_and_ugly_values() {
        let axis = Axis::with_log_scale("t", Unit::Time, 1e5, 1e7);
        assert!((axis.place_of_value(1e6) - 0.5).abs() < 1e-9);
        assert_eq!([0.0, -1.0, f64::INFINITY, f64::NAN].map(|value| axis.place_of_value(value)), [0.0, 0.0, 1.0, 0.0]);
        for (low, high) in [(0.0, 0.0), (f64::NAN, 5.0), (5.0, 5.0), (1.0, f64::INFINITY), (1e300, 1e305)] {
            let axis = Axis::with_log_scale("t", Unit::Load, low, high);
            assert!(axis.low < axis.high && axis.labelled_ticks().len() <= MOST_TICKS + 1, "{axis:?}");
            assert!(!axis.labelled_ticks().is_empty(), "{axis:?}");
        }
        for high in [0.0, -3.0, f64::NAN, f64::INFINITY, 1e-12, 1e18] {
            let axis = Axis::with_linear_scale("t", Unit::PerSecond, high);
            assert!((1..=MOST_TICKS).contains(&axis.labelled_ticks().len()), "{axis:?}");
        }
    }
}
