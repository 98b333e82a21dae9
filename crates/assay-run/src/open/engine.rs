//! Decides just before a run which path to its targets to use: the one that adds less delay.

use crate::cache::page_cache;
use crate::failure::Failure;
use crate::open::targets::RealTarget;
use assay_base::{Prng, Span};
use assay_device::clock::Clock;
use assay_device::paths::{self, Paths};
use assay_device::safety::Roots;
use assay_device::select::Choice;
use assay_model::{Arrival, Plan};
use std::collections::BTreeMap;

/// io_uring counts as the slower path when it takes this much longer than a plain read.
const EXCESS: Span = Span::from_us(10);
/// A worker that carries out its operations itself may be busy with them for this share of the time, computed from the
/// cost of a read after a pause. It is above one, because consecutive reads cost half as much (zram: 5 µs and 2.3 µs);
/// beyond it operations would wait for each other.
const BUSY: f64 = 1.2;
/// Writing a page to a device in memory takes this many times as long as reading one (it is compressed, or allocated
/// first).
const WRITE: f64 = 2.0;
/// The unit in which a device in memory works, in bytes.
const PAGE: f64 = 4096.0;
/// The longest pause before each read, as between operations at two thousand per second: without it, the kernel's
/// threads would still be awake from the read before, and their delay would look shorter than it is.
const PAUSE: Span = Span::from_us(500);
/// Number of targets that are compared; the others of a large run are of the same kind.
const COMPARED: usize = 4;

/// The engine of a run.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// Never `Auto` where the answer is known.
    pub choice: Choice,
    /// How many workers carry it.
    pub workers: usize,
    /// Why the workers have no real-time priority although they could; `None` where there is no reason.
    pub normal: Option<String>,
    /// What the log says about the choice.
    pub facts: BTreeMap<String, String>,
    /// A warning for the user.
    pub warning: Option<String>,
}

impl Chosen {
    /// What was asked for, without anything to report.
    pub(crate) fn by_request(choice: Choice, workers: usize) -> Chosen {
        Chosen { choice, workers, normal: None, facts: BTreeMap::new(), warning: None }
    }
}

/// How many workers carry a run, and how many there may be: the same where the user gave the number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workers {
    /// Enough workers for io_uring.
    pub usual: usize,
    /// Upper bound on the number of workers.
    pub most: usize,
}

/// Priority of the thread that compares the paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// That of a worker.
    Workers,
    /// Normal priority.
    Normal,
}

/// What is compared, and for which load.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    /// The load.
    pub plan: &'a Plan,
    /// The engine that was asked for.
    pub requested: Choice,
    /// The possible numbers of workers.
    pub workers: Workers,
    /// All targets answer within the call.
    pub in_memory: bool,
    /// Workers have another priority than normal threads.
    pub in_real_time: bool,
}

/// Measures the paths to `targets`, with the priority of the calling thread: one entry for each target that could be
/// compared.
pub(crate) fn measure_paths(plan: &Plan, targets: &[RealTarget], workers: Workers, clock: Clock) -> Vec<Paths> {
    let mut prng = Prng::from_seed(plan.load.seed);
    let pause = comparison_pause(plan, workers.usual);
    // What memory answers shows nothing about the way to a disk.
    let direct = targets.iter().enumerate().filter(|(index, _)| !page_cache::is_cached(plan, *index));
    direct.take(COMPARED).filter_map(|(_, real)| paths::compare_paths(&real.target, pause, clock, &mut prng)).collect()
}

/// Operations per second that are scheduled, over all streams, where they are most; 0 for a load without a rate.
pub(crate) fn scheduled_rate(plan: &Plan) -> f64 {
    plan.load.streams.iter().filter_map(|stream| stream.arrival.peak_rate()).sum()
}

/// The mean time between operations of one worker; `None` for a load without a rate.
pub(crate) fn time_between_operations(plan: &Plan, workers: usize) -> Option<Span> {
    let rate = scheduled_rate(plan);
    (rate > 0.0).then(|| Span::from_ns((workers as f64 / rate * 1e9) as u64))
}

/// The pause before each read of the comparison: a device with frequent requests often answers with threads that are
/// still awake.
fn comparison_pause(plan: &Plan, workers: usize) -> Span {
    time_between_operations(plan, workers).map_or(PAUSE, |gap| gap.min(PAUSE))
}

/// Decides what `auto` means and which priority the workers have, from what `measured` finds out about the paths to the
/// targets.
pub(crate) fn choose_engine<E>(
    case: Case<'_>,
    mut measured: impl FnMut(Priority) -> Result<Vec<Paths>, E>,
) -> Result<Chosen, E> {
    let Case { plan, requested, workers, in_memory, in_real_time } = case;
    let mut chosen = Chosen::by_request(requested, workers.usual);
    let compared = measured(Priority::Workers)?;
    let Some(worst) = compared.iter().max_by_key(|paths| paths.uring_excess()) else { return Ok(chosen) };
    let Paths { uring, pread, reads, carried, bytes } = worst;
    let words = format!(
        "{} through io_uring, {} by pread: medians of {reads} reads at queue depth 1",
        uring.human_text(),
        pread.human_text()
    );
    chosen.facts.insert("ways to the target".to_owned(), words);
    let mut all = *carried;
    let mut excess = worst.uring_excess();
    let slowest = compared.iter().map(|paths| paths.pread).max().unwrap_or(Span::ZERO);
    let enough = one_by_one(plan, slowest).map(|enough| enough.max(workers.usual)).filter(|n| *n <= workers.most);
    let by_uring = requested != Choice::Inline && requested != Choice::Threads;
    if let Some(enough) = enough.filter(|_| requested == Choice::Auto && in_memory) {
        (chosen.choice, chosen.workers) = (Choice::Inline, enough);
        let why = "a device in memory works within the call, which the worker makes itself";
        chosen.facts.insert("engine chosen".to_owned(), why.to_owned());
    } else if by_uring && in_real_time {
        let at_normal = measured(Priority::Normal)?;
        all += at_normal.first().map_or(0, |paths| paths.carried);
        if are_slower(&compared, &at_normal) {
            // Measured again: a moment in which the machine was busy is not a property of the target.
            let again = measured(Priority::Workers)?;
            all += again.first().map_or(0, |paths| paths.carried);
            if are_slower(&again, &at_normal) {
                let real_time = longest_by_uring(&compared).min(longest_by_uring(&again)).human_text();
                let normal = longest_by_uring(&at_normal).human_text();
                let why = format!("at real-time priority a read takes {real_time} instead of {normal}");
                chosen.normal = Some(why);
                excess = at_normal.iter().map(Paths::uring_excess).max().unwrap_or(Span::ZERO);
            }
        }
    }
    chosen.facts.insert("reads before the run".to_owned(), format!("{all} of {bytes} bytes on a target"));
    if chosen.choice != Choice::Inline && by_uring && excess > EXCESS {
        chosen.warning = Some(format!(
            "io_uring takes {} longer than a plain read of this target, which service includes: the kernel hands operations to threads of its own; compare with --engine threads",
            excess.human_text()
        ));
    }
    Ok(chosen)
}

/// The engine `inline` carries one operation at a time, so no stream may ask for more.
pub(crate) fn refuse_impossible(plan: &Plan, requested: Choice, workers: Option<u16>) -> Result<(), Failure> {
    let cached = plan.caches.simulated.is_some() || plan.caches.device.is_some();
    if cached && workers.is_some_and(|workers| workers > 1) {
        return Err(Failure::bad_usage(
            "a load with a cache is carried by one worker, which has the cache: leave out --workers",
        ));
    }
    let mut arrivals = plan.load.streams.iter().map(|stream| &stream.arrival);
    let deep = arrivals.any(|arrival| matches!(arrival, Arrival::Closed { in_flight, .. } if *in_flight > 1))
        || plan.load.loops.iter().any(|closed_loop| closed_loop.slot_count() > 1);
    if requested == Choice::Inline && deep {
        return Err(Failure::bad_usage(
            "--engine inline carries one operation at a time, and the workload has a stream or a loop with more in_flight; use io_uring or threads",
        ));
    }
    Ok(())
}

/// True where all targets answer within the call.
pub(crate) fn in_memory(targets: &[RealTarget]) -> bool {
    let roots = Roots::of_machine();
    targets.iter().all(|real| real.disk.is_some_and(|disk| paths::answers_in_the_call(&roots, disk)))
}

/// How many workers carry the load if each carries one operation at a time, when a page is read in `read`; `None` for a
/// closed loop.
fn one_by_one(plan: &Plan, read: Span) -> Option<usize> {
    let busy: f64 = plan.load.streams.iter().map(|stream| time_of_worker(stream, read)).sum::<Option<f64>>()?;
    Some((busy / BUSY).ceil().max(1.0) as usize)
}

/// The share of its time for which a worker is busy with a stream; `None` for one without a rate.
fn time_of_worker(stream: &assay_model::Stream, read: Span) -> Option<f64> {
    let cost = if stream.writes_blocks() { WRITE } else { 1.0 };
    let pages = stream.as_block().map_or(1.0, |block| (block.size.in_blocks(512).mean_size() / PAGE).ceil().max(1.0));
    Some(stream.arrival.peak_rate()? * pages * cost * read.as_secs_f64())
}

fn longest_by_uring(targets: &[Paths]) -> Span {
    targets.iter().map(|paths| paths.uring).max().unwrap_or(Span::ZERO)
}

/// True if reads through io_uring take longer than they took at normal priority.
fn are_slower(targets: &[Paths], at_normal: &[Paths]) -> bool {
    !at_normal.is_empty() && longest_by_uring(targets).saturating_sub(longest_by_uring(at_normal)) > EXCESS
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload;

    fn plan(keys: &str) -> Plan {
        let file = format!("model = \"streams\"\n[[stream]]\nname = \"s\"\nsize = \"4KiB\"\n{keys}");
        let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
        workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap()
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
    fn inline_is_refused_for_more_than_one_at_a_time() {
        let refusal =
            refuse_impossible(&plan("direction = \"read\"\nin_flight = 4"), Choice::Inline, None).err().unwrap();
        assert!(format!("{refusal:?}").contains("one operation at a time"), "{refusal:?}");
        assert!(refuse_impossible(&plan("direction = \"read\"\nin_flight = 1"), Choice::Inline, None).is_ok());
    }

    /// The choice for 1000 reads per second, given microseconds through io_uring and by pread, at both priorities.
    fn chosen(requested: Choice, in_memory: bool, [real_time, normal]: [(u64, u64); 2]) -> (Chosen, usize) {
        chosen_after(requested, in_memory, [real_time, normal, real_time])
    }

    /// The same, given the values at real-time priority, at normal priority, and at real-time priority when measured
    /// again.
    fn chosen_after(requested: Choice, in_memory: bool, at: [(u64, u64); 3]) -> (Chosen, usize) {
        let plan = plan("direction = \"read\"\nrate = \"1000/s\"");
        let workers = Workers { usual: 1, most: 2 };
        let mut asked_for = 0;
        let measured = |priority| {
            let (uring, pread) = at[asked_for];
            assert_eq!(priority == Priority::Normal, asked_for == 1);
            asked_for += 1;
            let (uring, pread) = (Span::from_us(uring), Span::from_us(pread));
            Ok::<_, ()>(vec![Paths { uring, pread, reads: 64, carried: 144, bytes: 4096 }])
        };
        let chosen =
            choose_engine(Case { plan: &plan, requested, workers, in_memory, in_real_time: true }, measured).unwrap();
        (chosen, asked_for)
    }

    #[test]
    fn the_way_and_the_priority_are_chosen_by_measurement() {
        // A disk for which the priority makes no difference: as was asked for.
        let (disk, _) = chosen(Choice::Auto, false, [(85, 80), (83, 80)]);
        assert_eq!((disk.choice, disk.normal, disk.warning), (Choice::Auto, None, None));
        assert_eq!(disk.facts["reads before the run"], "288 of 4096 bytes on a target");
        // A disk whose kernel threads wake slowly behind a real-time thread.
        let (by_threads, _) = chosen(Choice::Auto, false, [(105, 90), (45, 40)]);
        assert!(by_threads.normal.unwrap().contains("105 µs instead of 45 µs"));
        assert_eq!(by_threads.facts["reads before the run"], "432 of 4096 bytes on a target", "looked at once more");
        assert_eq!(by_threads.warning, None, "at the priority that the workers have both ways are as long");
        // A busy moment that passes.
        let (passed, _) = chosen_after(Choice::Auto, false, [(105, 90), (45, 40), (48, 40)]);
        assert_eq!(passed.normal, None);
        // Slow at both priorities.
        let (slow, _) = chosen(Choice::Auto, false, [(60, 20), (55, 20)]);
        assert!(slow.normal.is_none() && slow.warning.unwrap().contains("takes 40 µs longer"));
        // In memory the worker makes the call itself, and nothing else is compared: with consecutive reads the other
        // path may look short.
        for by_threads in [45, 13] {
            let (memory, times) = chosen(Choice::Auto, true, [(by_threads, 5); 2]);
            assert_eq!((memory.choice, memory.normal, times), (Choice::Inline, None, 1));
        }
        // An explicit choice is kept.
        let (threads, times) = chosen(Choice::Threads, false, [(105, 50), (45, 40)]);
        assert_eq!((threads.choice, threads.normal, threads.warning, times), (Choice::Threads, None, None, 1));
    }

    #[test]
    fn the_pause_is_that_between_operations_of_the_load() {
        let of = |keys: &str, workers| comparison_pause(&plan(keys), workers);
        assert_eq!(of("direction = \"read\"\nrate = \"100/s\"", 1), PAUSE);
        assert_eq!(of("direction = \"read\"\nrate = \"10000/s\"", 1), Span::from_us(100));
        assert_eq!(of("direction = \"read\"\nrate = \"10000/s\"", 2), Span::from_us(200));
        assert_eq!(of("direction = \"read\"\nin_flight = 1", 1), PAUSE);
    }
}
