//! What is found out just before a run: which way to its targets is the truer one, and how fast the generator is alone.

use crate::failure::Failure;
use crate::targets::Real;
use assay_base::{Direction, Geometry, Instant, Prng, Span};
use assay_device::clock::Clock;
use assay_device::null::Null;
use assay_device::paths::{self, Paths};
use assay_device::safety::Roots;
use assay_device::select::Choice;
use assay_engine::shell::{Sink, Spin, Stop, Waiting};
use assay_engine::{Host, Limits, Setup, Worker, run_real};
use assay_model::arrival::Part;
use assay_model::{Arrival, Plan, workload};
use assay_record::{CloseReason, Event, Frame, Thresholds};
use std::collections::BTreeMap;

/// io_uring is called the slower way when it takes so much longer than a plain read.
const EXCESS: Span = Span::from_us(10);
/// A worker that carries its operations itself may be busy with them for this share of the time, by what a read costs after a
/// pause. Above one, because in a row a read costs half as much (zram: 5 µs and 2.3 µs): beyond it operations would wait for
/// each other.
const BUSY: f64 = 1.2;
/// A page is written to memory in so many times what reading one takes (it is compressed, or made first).
const WRITE: f64 = 2.0;
/// What a device in memory works on at a time, in bytes.
const PAGE: f64 = 4096.0;
/// Targets that are compared; the others of a large run are of the same kind.
const COMPARED: usize = 4;

/// The engine of a run.
pub struct Chosen {
    /// Never `Auto` where the answer is known.
    pub choice: Choice,
    /// How many workers carry it.
    pub workers: usize,
    /// What the log says of how it was chosen.
    pub facts: BTreeMap<String, String>,
    /// What the user should hear.
    pub warning: Option<String>,
}

impl Chosen {
    /// What was asked for, with nothing to say about it.
    pub fn asked(choice: Choice, workers: usize) -> Chosen {
        Chosen { choice, workers, facts: BTreeMap::new(), warning: None }
    }
}

/// How many workers carry a run, and how many it may have: the same where the user said it.
#[derive(Clone, Copy, Debug)]
pub struct Workers {
    /// Enough for io_uring.
    pub usual: usize,
    /// No more than that.
    pub most: usize,
}

/// Compares the ways to `targets` and settles what `auto` means.
pub fn choose(plan: &Plan, targets: &[Real], asked: Choice, workers: Workers, clock: Clock) -> Result<Chosen, Failure> {
    let alone =
        |stream: &assay_model::Stream| matches!(stream.arrival, Arrival::Closed { in_flight, .. } if in_flight > 1);
    if asked == Choice::Inline && plan.streams.iter().any(alone) {
        return Err(Failure::usage(
            "--engine inline carries one operation at a time, and the workload has a stream with more in_flight; use io_uring or threads",
        ));
    }
    let mut chosen = Chosen::asked(asked, workers.usual);
    let mut prng = Prng::seeded(plan.seed);
    let compared = targets.iter().take(COMPARED);
    let compared: Vec<(&Real, Paths)> =
        compared.filter_map(|real| Some((real, paths::compare(&real.target, clock, &mut prng)?))).collect();
    let Some((_, worst)) = compared.iter().max_by_key(|(_, paths)| paths.excess()) else { return Ok(chosen) };
    let Paths { uring, pread, reads, carried, bytes } = worst;
    let words = format!(
        "{} through io_uring, {} by pread: medians of {reads} reads at queue depth 1",
        uring.human(),
        pread.human()
    );
    chosen.facts.insert("ways to the target".to_owned(), words);
    chosen.facts.insert("reads before the run".to_owned(), format!("{carried} of {bytes} bytes on a target"));
    if worst.excess() <= EXCESS {
        return Ok(chosen);
    }
    let slowest = compared.iter().map(|(_, paths)| paths.pread).max().unwrap_or(Span::ZERO);
    let enough = one_by_one(plan, slowest).map(|enough| enough.max(workers.usual)).filter(|n| *n <= workers.most);
    if let Some(enough) = enough.filter(|_| asked == Choice::Auto && in_memory(targets)) {
        (chosen.choice, chosen.workers) = (Choice::Inline, enough);
        let why = "io_uring would hand each operation of this device in memory to a kernel thread";
        chosen.facts.insert("engine chosen".to_owned(), why.to_owned());
    } else if asked != Choice::Inline && asked != Choice::Threads {
        chosen.warning = Some(format!(
            "io_uring is the slower way to this target, by {}: the kernel hands its operations to threads of its own, and service includes that",
            worst.excess().human()
        ));
    }
    Ok(chosen)
}

fn in_memory(targets: &[Real]) -> bool {
    let roots = Roots::host();
    targets.iter().all(|real| real.disk.is_some_and(|disk| paths::answers_in_the_call(&roots, disk)))
}

/// How many workers carry the load one operation at a time each, when a page is read in `read`; `None` for a load that waits
/// for its operations.
fn one_by_one(plan: &Plan, read: Span) -> Option<usize> {
    let share = |stream: &assay_model::Stream| {
        let cost = if stream.direction == Direction::Write { WRITE } else { 1.0 };
        let pages = (stream.size.in_blocks(512).mean() / PAGE).ceil().max(1.0);
        Some(stream.arrival.rate()?.as_f64() * pages * cost * read.as_secs_f64())
    };
    let busy: f64 = plan.streams.iter().map(share).sum::<Option<f64>>()?;
    Some((busy / BUSY).ceil().max(1.0) as usize)
}

/// How long the self-benchmark runs.
const BENCHMARK: Span = Span::from_ms(50);
/// What it runs: the shortest operations there are, one after the other as fast as it goes, fully recorded.
const LOAD: &str = "model = \"streams\"\nduration = \"1h\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\nin_flight = 128\n";

/// Operations per second of one worker on a device that does nothing: what the generator could do here, if the device were
/// not the limit. `None` when no time passed.
pub fn self_benchmark(clock: Clock) -> Option<f64> {
    let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
    let plan = workload::read("self-benchmark", LOAD).ok()?.plan(&adjust).ok()?;
    let null = Null::new(vec![Geometry { size: 1 << 30, block: 512 }]);
    let (part, start) = (Part { index: 0, of: 1 }, clock.now());
    let bound = Worker::<Null>::bound(&plan, part);
    let thresholds = Thresholds::new([]);
    let mut worker = Worker::new(
        &plan,
        null,
        Setup { part, thresholds, bound, start, run: 0, limits: Limits::default(), ledger: None },
    )?;
    let host = Brief { clock, end: start + BENCHMARK };
    run_real(&mut worker, &host, &mut Nowhere, Waiting { spin: Spin::Fixed(Span::ZERO), inline: false });
    let passed = clock.now().since(start);
    (!passed.is_zero()).then(|| worker.totals().completed as f64 / (passed.as_ns() as f64 * 1e-9))
}

struct Brief {
    clock: Clock,
    end: Instant,
}

impl Host for Brief {
    fn now(&self) -> Instant {
        self.clock.now()
    }
    fn voluntary_switches(&self) -> u64 {
        0
    }
    fn stop(&self) -> Option<Stop> {
        (self.clock.now() >= self.end).then_some(Stop::Drain(CloseReason::Interrupted))
    }
}

struct Nowhere;

impl Sink for Nowhere {
    fn frame(&mut self, _: Frame) {}
    fn event(&mut self, _: Event) {}
    fn spent(&mut self) -> Option<Frame> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(keys: &str) -> Plan {
        let file = format!("model = \"streams\"\n[[stream]]\nname = \"s\"\nsize = \"4KiB\"\n{keys}");
        let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
        workload::read("t", &file).unwrap().plan(&adjust).unwrap()
    }

    #[test]
    fn how_many_workers_carry_a_load_one_by_one() {
        let needed = |keys: &str, us| one_by_one(&plan(keys), Span::from_us(us));
        assert_eq!(needed("direction = \"read\"\nrate = \"100000/s\"", 12), Some(1));
        assert_eq!(needed("direction = \"read\"\nrate = \"100000/s\"", 13), Some(2));
        assert_eq!(needed("direction = \"write\"\nrate = \"100000/s\"", 7), Some(2), "a write costs two reads");
        assert_eq!(needed("direction = \"read\"\nrate = \"10/s\"", 1), Some(1));
        assert_eq!(needed("direction = \"read\"\nin_flight = 4", 1), None, "a closed loop is no load");
    }

    #[test]
    fn the_generator_alone_carries_operations() {
        assert!(self_benchmark(Clock::start()).unwrap() > 1000.0);
    }

    #[test]
    fn inline_is_refused_for_more_than_one_at_a_time() {
        let clock = Clock::start();
        let refusal = choose(
            &plan("direction = \"read\"\nin_flight = 4"),
            &[],
            Choice::Inline,
            Workers { usual: 1, most: 1 },
            clock,
        )
        .err()
        .unwrap();
        assert!(format!("{refusal:?}").contains("one operation at a time"), "{refusal:?}");
        assert!(
            choose(
                &plan("direction = \"read\"\nin_flight = 1"),
                &[],
                Choice::Inline,
                Workers { usual: 1, most: 1 },
                clock
            )
            .is_ok()
        );
    }
}
