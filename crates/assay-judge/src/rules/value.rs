//! A criterion's value in one cell, compared in whole numbers and formatted for people.

use crate::fold::counters::{Counters, Lengths};
use crate::words::{percent_text, share_text};
use assay_base::{Bound, Bytes, Measure, Span};
use assay_record::Thresholds;

/// A measured value, exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    /// A share: a number of operations out of all.
    Share {
        /// At or over the threshold.
        over: u64,
        /// All that completed.
        of: u64,
    },
    /// A mean: the sum, and the number of operations.
    Mean {
        /// Sum in nanoseconds.
        sum_ns: u128,
        /// Operations.
        of: u64,
    },
    /// The work done in a period.
    Work {
        /// Operations that completed.
        operations: u64,
        /// Bytes of these operations.
        bytes: u64,
        /// Length of the period in nanoseconds.
        ns: u64,
    },
}

impl Value {
    /// What was done in `cell` within `ns` nanoseconds, for a bound on work. Zero is a value too. Operations that
    /// completed after the planned time do not count: otherwise a deep queue would make any device look fast.
    pub(crate) fn from_work(cell: &Counters, bound: &Bound, ns: u64) -> Option<Value> {
        let (late, bytes_late) = cell.drained;
        let work = Value::Work {
            operations: cell.work.ok - late.min(cell.work.ok),
            bytes: cell.work.bytes - bytes_late.min(cell.work.bytes),
            ns,
        };
        (bound.is_of_work() && ns > 0).then_some(work)
    }

    /// The same among this many operations more, all of which are as good as they can be: none over a threshold, none of
    /// any length; for work, with the mean size of those that are known.
    pub(crate) fn among_more(self, more: u64) -> Value {
        match self {
            Value::Share { over, of } => Value::Share { over, of: of.saturating_add(more) },
            Value::Mean { sum_ns, of } => Value::Mean { sum_ns, of: of.saturating_add(more) },
            Value::Work { operations, bytes, ns } => {
                let each = u128::from(bytes).div_ceil(u128::from(operations).max(1));
                let moved = u64::try_from(each.saturating_mul(u128::from(more))).unwrap_or(u64::MAX);
                // Where none is known, their size is not known either.
                let moved = if operations == 0 { u64::MAX } else { moved };
                let (operations, bytes) = (operations.saturating_add(more), bytes.saturating_add(moved));
                Value::Work { operations, bytes, ns }
            }
        }
    }

    /// The same if the time in which the generator gave the device no work, at most `by_ns`, had not passed.
    pub(crate) fn work_without(self, by_ns: u64) -> Value {
        match self {
            Value::Work { operations, bytes, ns } => {
                Value::Work { operations, bytes, ns: ns.saturating_sub(by_ns).max(1) }
            }
            other => other,
        }
    }

    /// The value of `cell`; `None` when nothing completed or the threshold is not counted exactly.
    pub(crate) fn from_measure(
        cell: &Counters,
        measure: Measure,
        bound: &Bound,
        thresholds: &Thresholds,
    ) -> Option<Value> {
        match bound {
            Bound::ErrorsAtMost(_) => Value::from_errors(cell),
            _ => Value::of_lengths(lengths_of_measure(cell, measure), bound, thresholds),
        }
    }

    /// How many of the operations that came back failed on the device; `None` when none came back.
    fn from_errors(cell: &Counters) -> Option<Value> {
        let of = cell.work.ok.saturating_add(cell.work.short).saturating_add(cell.failed_on_device());
        (of > 0).then(|| Value::Share { over: cell.failed_on_device(), of })
    }

    /// Nothing has a length because every operation failed: a share that [`Value::with_failed`] makes the whole.
    pub(crate) fn all_failed(cell: &Counters, bound: &Bound) -> Option<Value> {
        let none = cell.work.ok == 0 && cell.failed_on_device() > 0;
        (none && bound.is_of_time()).then_some(Value::Share { over: 0, of: 0 })
    }

    /// The same where operations may fail: one that failed is over any time. Otherwise a device that fails what takes it long would
    /// be a fast one.
    pub(crate) fn with_failed(self, cell: &Counters, bound: &Bound) -> Value {
        match (self, bound) {
            (Value::Share { over, of }, Bound::Over { .. } | Bound::OverAtMost { .. }) => {
                let failed = cell.failed_on_device();
                Value::Share { over: over.saturating_add(failed), of: of.saturating_add(failed) }
            }
            (other, _) => other,
        }
    }

    /// What would remain of it if every operation had taken `by_ns` less, as far as the counters show that with
    /// certainty.
    pub(crate) fn with_less_time(
        cell: &Counters,
        measure: Measure,
        bound: &Bound,
        thresholds: &Thresholds,
        by_ns: u64,
    ) -> Option<Value> {
        let lengths = lengths_of_measure(cell, measure);
        let of = lengths.total_count();
        match bound {
            Bound::Over { over, .. } | Bound::OverAtMost { over, .. } => {
                let longer = over.as_ns().saturating_add(by_ns);
                let first = thresholds.bounds_ns().partition_point(|bound| *bound < longer);
                let over = lengths.counts.get(first + 1..).map_or(0, crate::fold::counters::sum_of_counts);
                Some(Value::Share { over, of })
            }
            Bound::MeanAtMost(_) => {
                let less = u128::from(by_ns).saturating_mul(u128::from(of));
                Some(Value::Mean { sum_ns: lengths.sum_ns.saturating_sub(less), of })
            }
            Bound::ErrorsAtMost(_) => Value::from_errors(cell),
            Bound::RateAtLeast(_) | Bound::ThroughputAtLeast(_) => None,
        }
    }

    fn of_lengths(lengths: &Lengths, bound: &Bound, thresholds: &Thresholds) -> Option<Value> {
        let of = lengths.total_count();
        if of == 0 {
            return None;
        }
        match bound {
            Bound::Over { over, .. } | Bound::OverAtMost { over, .. } => {
                Some(Value::Share { over: lengths.count_over(thresholds, *over)?, of })
            }
            Bound::MeanAtMost(_) => Some(Value::Mean { sum_ns: lengths.sum_ns, of }),
            Bound::RateAtLeast(_) | Bound::ThroughputAtLeast(_) | Bound::ErrorsAtMost(_) => None,
        }
    }

    /// The same without what the generator's own lag added. Service does not include own lag.
    pub(crate) fn without_own_lag(
        self,
        cell: &Counters,
        measure: Measure,
        bound: &Bound,
        thresholds: &Thresholds,
    ) -> Value {
        if measure == Measure::Service {
            return self;
        }
        match (self, bound) {
            (Value::Share { over, of }, Bound::Over { over: span, .. } | Bound::OverAtMost { over: span, .. }) => {
                let forgiven = cell.forgiven_over(thresholds, *span).unwrap_or(0);
                Value::Share { over: over.saturating_sub(forgiven), of }
            }
            (Value::Mean { sum_ns, of }, _) => Value::Mean { sum_ns: sum_ns.saturating_sub(cell.own_lag.sum_ns), of },
            (other, _) => other,
        }
    }

    /// The part that the generator certainly did not cause; `None` when that is not counted exactly.
    pub(crate) fn from_floor(
        cell: &Counters,
        measure: Measure,
        bound: &Bound,
        thresholds: &Thresholds,
    ) -> Option<Value> {
        if let Bound::ErrorsAtMost(_) = bound {
            return Value::from_errors(cell);
        }
        let floor = cell.floors.as_ref().map(|[response, service]| match measure {
            Measure::Response => response,
            Measure::Service => service,
        });
        Value::of_lengths(floor.unwrap_or(lengths_of_measure(cell, measure)), bound, thresholds)
    }

    /// True when the bound holds.
    pub(crate) fn is_within(self, bound: &Bound) -> bool {
        match (self, bound) {
            (Value::Share { over, of }, Bound::Over { below, .. }) => below.is_above_part(over, of),
            (Value::Share { over, of }, Bound::OverAtMost { at_most, .. } | Bound::ErrorsAtMost(at_most)) => {
                at_most.allows_part(over, of)
            }
            (Value::Mean { sum_ns, of }, Bound::MeanAtMost(span)) => {
                sum_ns <= u128::from(span.as_ns()) * u128::from(of)
            }
            (Value::Work { operations, bytes, ns }, bound) => bound.is_done(operations, bytes, ns) == Some(true),
            _ => false,
        }
    }

    /// As a number: a share from 0 to 1, nanoseconds, or operations or bytes per second, as `bound` requires.
    pub(crate) fn as_f64(self, bound: &Bound) -> f64 {
        match self {
            Value::Work { operations, bytes, ns } => {
                let done = if matches!(bound, Bound::ThroughputAtLeast(_)) { bytes } else { operations };
                done as f64 * 1e9 / ns as f64
            }
            Value::Share { over, of } => over as f64 / of as f64,
            Value::Mean { sum_ns, of } => sum_ns as f64 / of as f64,
        }
    }

    /// Number of operations it was computed from.
    pub(crate) fn operation_count(self) -> u64 {
        match self {
            Value::Share { of, .. } | Value::Mean { of, .. } | Value::Work { operations: of, .. } => of,
        }
    }

    /// For people. The text never appears to be on the other side of the bound than the value.
    pub(crate) fn value_text(self, bound: &Bound) -> String {
        match (self, bound) {
            (
                Value::Share { .. },
                Bound::Over { below: limit, .. }
                | Bound::OverAtMost { at_most: limit, .. }
                | Bound::ErrorsAtMost(limit),
            ) => share_text(self.as_f64(bound), *limit),
            (Value::Share { .. }, _) => percent_text(self.as_f64(bound)),
            (Value::Mean { .. }, bound) => {
                let (mean, limit) =
                    (Span::from_ns(self.as_f64(bound) as u64), Span::from_ns(bound_as_number(bound) as u64));
                let alike = mean.human_text() == limit.human_text() && self.as_f64(bound) != limit.as_ns() as f64;
                if alike { format!("{:.3} ns", self.as_f64(bound)) } else { mean.human_text() }
            }
            (Value::Work { .. }, bound) => {
                let (done, limit) = (self.as_f64(bound), bound_as_number(bound));
                let text = work_text(bound, done);
                match bound {
                    _ if text != work_text(bound, limit) || done == limit => text,
                    Bound::ThroughputAtLeast(_) => format!("{done:.0} B/s"),
                    _ => format!("{done:.3}/s"),
                }
            }
        }
    }
}

fn lengths_of_measure(cell: &Counters, measure: Measure) -> &Lengths {
    match measure {
        Measure::Response => &cell.response,
        Measure::Service => &cell.service,
    }
}

/// The bound as a number, of the unit of [`Value::as_f64`].
pub(crate) fn bound_as_number(bound: &Bound) -> f64 {
    match bound {
        Bound::Over { below: share, .. } | Bound::OverAtMost { at_most: share, .. } | Bound::ErrorsAtMost(share) => {
            share.as_f64()
        }
        Bound::MeanAtMost(span) => span.as_ns() as f64,
        Bound::RateAtLeast(rate) => rate.as_f64(),
        Bound::ThroughputAtLeast(bytes) => bytes.get() as f64,
    }
}

/// Operations or bytes per second, for people.
pub(crate) fn work_text(bound: &Bound, per_second: f64) -> String {
    match bound {
        Bound::ThroughputAtLeast(_) => format!("{}/s", Bytes::new(per_second as u64).human_text()),
        _ if per_second >= 100.0 => format!("{per_second:.0}/s"),
        _ => format!("{per_second:.2}/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Share;
    use assay_record::FlowWork;

    #[test]
    fn work_is_counted_to_the_operation() {
        let cell =
            Counters { work: FlowWork { ok: 49_999, bytes: 49_999 << 12, ..FlowWork::default() }, ..Counters::new(1) };
        let ten = 10_000_000_000;
        let rate = Bound::RateAtLeast(assay_base::Rate::per_second(5000));
        let value = Value::from_work(&cell, &rate, ten).unwrap();
        assert_eq!((value.is_within(&rate), value.value_text(&rate).as_str()), (false, "4999.900/s"));
        // The generator caused a hundredth of a percent of the time.
        assert!(value.work_without(ten / 10_000).is_within(&rate));
        let throughput = Bound::ThroughputAtLeast(Bytes::from_kib(19_999));
        let value = Value::from_work(&cell, &throughput, ten).unwrap();
        assert_eq!((value.is_within(&throughput), value.value_text(&throughput).as_str()), (true, "20479590 B/s"));
        assert_eq!(Value::from_work(&cell, &Bound::MeanAtMost(Span::from_ms(1)), ten), None);
        let drained = Counters { drained: (9_999, 9_999 << 12), ..cell.clone() };
        let work = Value::Work { operations: 40_000, bytes: 40_000 << 12, ns: ten };
        assert_eq!(Value::from_work(&drained, &rate, ten), Some(work), "what completed after the end does not count");
        assert_eq!(work.operation_count(), 40_000);
        assert_eq!(Value::from_work(&cell, &rate, 0), None, "in no time nothing can be done");
        let nothing = Value::from_work(&Counters::new(1), &rate, ten).unwrap();
        assert_eq!((nothing.is_within(&rate), nothing.value_text(&rate).as_str()), (false, "0.00/s"));
    }

    fn bound(text: &str) -> Bound {
        text.parse::<assay_base::Criterion>().unwrap().bound
    }

    const MS: u64 = 1_000_000;

    /// Buckets below 1 ms, 2 ms, 8 ms, and above.
    fn cell(response: [u64; 4]) -> (Counters, Thresholds) {
        let mut cell = Counters::new(4);
        (cell.response.counts, cell.response.sum_ns) = (response.to_vec(), 100);
        (cell, Thresholds::from_bounds(vec![MS, 2 * MS, 8 * MS]))
    }

    #[test]
    fn what_failed_is_counted_only_where_something_came_back() {
        let (time, errors) = (bound("r response over 1ms below 5% per run"), bound("r errors at most 1% per run"));
        let failed = |ok, n: u64| {
            let errors = [("EIO".to_owned(), n), ("not submitted".to_owned(), 9)];
            Counters {
                work: FlowWork { ok, ..FlowWork::default() },
                errors: errors.into_iter().filter(|(_, n)| *n > 0).collect(),
                ..cell([0; 4]).0
            }
        };
        let (_, thresholds) = cell([0; 4]);
        for (ok, n, share, all_failed) in
            [(0, 0, None, false), (1, 0, Some((0, 1)), false), (0, 2, Some((2, 2)), true), (3, 1, Some((1, 4)), false)]
        {
            let it = failed(ok, n);
            let expected = share.map(|(over, of)| Value::Share { over, of });
            assert_eq!(Value::from_measure(&it, Measure::Response, &errors, &thresholds), expected, "{ok} {n}");
            assert_eq!(Value::with_less_time(&it, Measure::Response, &errors, &thresholds, 9).is_some(), ok + n > 0);
            let nothing = all_failed.then_some(Value::Share { over: 0, of: 0 });
            assert_eq!(Value::all_failed(&it, &time), nothing, "{ok} {n}");
            assert_eq!(Value::all_failed(&it, &errors), None, "a bound on errors has a value of its own");
        }
    }

    #[test]
    fn what_would_be_left_after_a_time_is_what_the_counters_show_for_certain() {
        let (over, mean) = (bound("r response over 1ms below 5% per run"), bound("r response mean at most 1s per run"));
        for (by_ns, left) in
            [(0, 111), (1, 11), (MS / 2, 11), (MS, 11), (MS + 1, 1), (7 * MS, 1), (7 * MS + 1, 0), (u64::MAX, 0)]
        {
            let (cell, thresholds) = cell([1000, 100, 10, 1]);
            let less = |bound: &Bound| Value::with_less_time(&cell, Measure::Response, bound, &thresholds, by_ns);
            assert_eq!(less(&over), Some(Value::Share { over: left, of: 1111 }), "{by_ns}");
            assert_eq!(less(&bound("r rate at least 5/s per run")), None, "work is not made of lengths");
            assert_eq!(less(&mean), Some(Value::Mean { sum_ns: if by_ns == 0 { 100 } else { 0 }, of: 1111 }));
        }
    }

    #[test]
    fn a_floor_is_of_the_measure_that_is_judged() {
        let over = bound("r response over 1ms below 5% per run");
        let (mut cell, thresholds) = cell([5, 5, 0, 0]);
        cell.service.counts = vec![7, 3, 0, 0];
        let share = |cell: &Counters, measure| Value::from_floor(cell, measure, &over, &thresholds);
        let of = |over| Some(Value::Share { over, of: 10 });
        assert_eq!(
            (share(&cell, Measure::Response), share(&cell, Measure::Service)),
            (of(5), of(3)),
            "none is counted"
        );
        let with = |counts: [u64; 4]| Lengths { counts: counts.to_vec(), ..Lengths::default() };
        cell.floors = Some([with([6, 4, 0, 0]), with([8, 2, 0, 0])]);
        assert_eq!((share(&cell, Measure::Response), share(&cell, Measure::Service)), (of(4), of(2)));
        cell.errors.insert("EIO".into(), 1);
        let errors = Value::from_floor(&cell, Measure::Response, &bound("r errors at most 1% per run"), &thresholds);
        assert_eq!(errors, Some(Value::Share { over: 1, of: 1 }), "the generator makes no errors");
    }

    #[test]
    fn a_mean_is_exact_where_it_would_read_like_its_bound() {
        let mean = bound("r response mean at most 30ms per run");
        for (sum_ns, text) in [(60 * MS, "20 ms"), (90 * MS, "30 ms"), (90 * MS + 1, "30000000.333 ns")] {
            let value = Value::Mean { sum_ns: sum_ns.into(), of: 3 };
            assert_eq!((value.value_text(&mean).as_str(), value.as_f64(&mean)), (text, sum_ns as f64 / 3.0));
        }
    }

    #[test]
    fn a_value_never_reads_as_its_bound_unless_it_is() {
        let below: Bound = Bound::Over { over: Span::from_ms(1), below: Share::from_percent(5) };
        for (over, of, text, within) in [
            (27, 1000, "2.70%", true),
            (50, 1000, "5.00%", false),
            (499_999, 10_000_000, "4.99999%", true),
            (1, 10_000_000, "0.0000%", true),
            (1, 100_000, "0.0010%", true),
            (0, 7, "0.00%", true),
        ] {
            let value = Value::Share { over, of };
            assert_eq!((value.value_text(&below).as_str(), value.is_within(&below)), (text, within), "{over} of {of}");
        }
        let mean = Bound::MeanAtMost(Span::from_ms(30));
        assert!(Value::Mean { sum_ns: 90_000_000, of: 3 }.is_within(&mean));
        assert!(!Value::Mean { sum_ns: 90_000_001, of: 3 }.is_within(&mean));
    }
}
