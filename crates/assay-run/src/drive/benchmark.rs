//! The speed of the generator alone, measured just before a run: what it could do here if the device were not the
//! limit.

use assay_base::{Geometry, Instant, Span};
use assay_device::clock::Clock;
use assay_device::null::Null;
use assay_engine::shell::{Sink, Spin, Stop, Waiting};
use assay_engine::{Host, Limits, Setup, Worker, run_real};
use assay_model::arrival::Part;
use assay_model::workload;
use assay_record::{CloseReason, Event, Frame, Thresholds};

/// The length of the self-benchmark.
const BENCHMARK: Span = Span::from_ms(50);
/// The load it runs: the smallest possible operations, one after the other without a pause, fully recorded.
const LOAD: &str = "model = \"streams\"\nduration = \"1h\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\nin_flight = 128\n";

/// Operations per second of one worker on a device that does nothing: what the generator could do here if the device
/// were not the limit. `None` when no time passed.
pub(crate) fn self_benchmark(clock: Clock) -> Option<f64> {
    let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
    let plan = workload::read_workload("self-benchmark", LOAD).ok()?.make_plan(&adjust).ok()?;
    let null = Null::new(vec![Geometry { size: 1 << 30, block: 512 }]);
    let (part, start) = (Part { index: 0, of: 1 }, clock.now());
    let bound = assay_engine::in_flight_bound(&plan, part);
    let thresholds = Thresholds::new([]);
    let mut worker = Worker::new(
        &plan,
        null,
        Setup { part, thresholds, bound, start, run: 0, limits: Limits::default(), ledger: None, gates: None },
    )?;
    let host = BenchmarkHost { clock, end: start + BENCHMARK };
    run_real(&mut worker, &host, &mut DiscardingSink, Waiting { spin: Spin::Fixed(Span::ZERO) });
    let passed = clock.now().since(start);
    (!passed.is_zero()).then(|| worker.operation_totals().completed as f64 / (passed.as_ns() as f64 * 1e-9))
}

struct BenchmarkHost {
    clock: Clock,
    end: Instant,
}

impl Host for BenchmarkHost {
    fn now(&self) -> Instant {
        self.clock.now()
    }
    fn stood_still(&self, _: Instant, _: Instant) -> Option<(Instant, Instant)> {
        None
    }
    fn requested_stop(&self) -> Option<Stop> {
        (self.clock.now() >= self.end).then_some(Stop::Drain(CloseReason::Interrupted))
    }
}

struct DiscardingSink;

impl Sink for DiscardingSink {
    fn receive_frame(&mut self, _: Frame) {}
    fn receive_event(&mut self, _: Event) {}
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_alone_carries_operations() {
        assert!(self_benchmark(Clock::start()).unwrap() > 1000.0);
    }
}
