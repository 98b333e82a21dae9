//! When the operations of a log were due, by the arithmetic of the ACT that wrote it. A log is compared with what its
//! ACT intended to do; where that is less than its configuration asks for, [`shortfall_sentences`] says so.
//!
//! From ACT's sources, 5.0 to 6.6:
//!
//! - A rate is divided by the number of threads in whole numbers, and each thread gets the quotient. (Since 6.0 this
//!   applies to the service threads of `act_storage`; before that to the generators of reads and to those of writes,
//!   separately; and always to the threads of `act_index`.)
//! - Since 6.0 a service thread decides at random whether its next operation is a read or a committed write. Only their
//!   sum has a schedule. Each of the two counts deviates randomly from its share, over a day by many times what a slice
//!   may lack.
//! - Each cache thread of `act_index` waits as if it had to serve all the devices: with n devices they do one n-th.
//! - Large blocks per second are exact, and printed with two digits.

use super::super::conf::{Conf, Kind};
use super::super::log::{Header as Head, Program};
use assay_base::{Bytes, Rate};

/// A service thread draws one of this many parts, to choose between a read and a write (ACT's source).
const SPLIT: u128 = 1 << 20;
/// Number of standard deviations by which a random count may be below its mean.
const SIGMAS: f64 = 6.0;

/// The kind of schedule of one histogram.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Due {
    /// Not known.
    Unknown,
    /// Evenly spaced, at this rate.
    Even(Rate),
    /// Drawn at random from a schedule with the second rate, with the first rate on average.
    Drawn(Rate, Rate),
}

/// The schedules of the histograms in a log.
#[derive(Debug)]
pub(super) struct Schedule {
    due: Vec<Due>,
}

impl Schedule {
    /// For the histograms `names`.
    pub(super) fn new(head: &Head, names: &[String]) -> Schedule {
        let drawn = drawn_rate(head);
        Schedule { due: names.iter().map(|name| Due::new(head, name, drawn)).collect() }
    }

    /// Mean rate of a histogram.
    pub(super) fn mean_rate(&self, flow: usize) -> Option<Rate> {
        match self.due[flow] {
            Due::Unknown => None,
            Due::Even(rate) | Due::Drawn(rate, _) => Some(rate),
        }
    }

    /// For each histogram, how many operations were due `after` the start and have not ended; `ended` are the numbers
    /// that have.
    pub(super) fn operations_behind(&self, after: assay_base::Span, ended: &[u64]) -> Vec<u64> {
        let drawn: Vec<(usize, Rate, Rate)> = self
            .due
            .iter()
            .enumerate()
            .filter_map(|(index, due)| due.drawn_rates().map(|(own, all)| (index, own, all)))
            .collect();
        let together = drawn.iter().fold(0u64, |sum, (index, ..)| sum.saturating_add(ended[*index]));
        let each = self.due.iter().zip(ended).map(|(due, ended)| match *due {
            Due::Unknown => 0,
            Due::Even(rate) => rate.operations_in(after).saturating_sub(*ended),
            Due::Drawn(own, all) if drawn.len() == 1 => least_drawn(own, all, after).saturating_sub(*ended),
            Due::Drawn(own, all) => {
                let missing = all.operations_in(after).saturating_sub(together);
                (missing as f64 * own.as_f64() / all.as_f64()).round() as u64
            }
        });
        each.collect()
    }
}

impl Due {
    /// For the histogram `name`; `drawn` is the rate from which reads and writes are drawn together.
    fn new(head: &Head, name: &str, drawn: Option<Rate>) -> Due {
        match (histogram_rate(head, name), drawn) {
            (None, _) => Due::Unknown,
            (Some(rate), Some(total)) if matches!(name, "reads" | "writes") => Due::Drawn(rate, total),
            (Some(rate), _) => Due::Even(rate),
        }
    }

    fn drawn_rates(self) -> Option<(Rate, Rate)> {
        if let Due::Drawn(own, all) = self { Some((own, all)) } else { None }
    }
}

/// The smallest count that a random draw from `all` can have reached by then, except by extreme chance. (The other part
/// is in no histogram.)
fn least_drawn(own: Rate, all: Rate, after: assay_base::Span) -> u64 {
    let share = own.as_f64() / all.as_f64();
    let of = all.operations_in(after) as f64;
    (of * share - SIGMAS * (of * share * (1.0 - share)).sqrt()).max(0.0) as u64
}

/// The sum from which reads and writes are drawn, if the log's ACT does that.
fn drawn_rate(head: &Head) -> Option<Rate> {
    let (reads, writes) = internal_rates(head)?;
    (head.program == Program::Storage && head.major >= 6 && reads > 0 && writes > 0)
        .then(|| Rate::per_second(rate_over_threads(reads.saturating_add(writes), thread_count(head))))
}

/// Reads and committed writes per second as `act_storage` derives them. A log without the writes has none, and its
/// reads are still due.
fn internal_rates(head: &Head) -> Option<(u64, u64)> {
    let writes = derived_number(head, "internal-write-reqs-per-sec").unwrap_or(0);
    Some((derived_number(head, "internal-read-reqs-per-sec")?, writes))
}

/// A whole number of the derived configuration.
fn derived_number(head: &Head, key: &str) -> Option<u64> {
    written_value(head, key)?.parse().ok()
}

fn written_value<'a>(head: &'a Head, key: &str) -> Option<&'a str> {
    head.derived.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

fn item_number(head: &Head, key: &str) -> Option<u64> {
    head.item_value(key)?.parse::<u32>().ok().map(u64::from)
}

/// Number of service threads; one where the log gives no number.
fn thread_count(head: &Head) -> u64 {
    item_number(head, "service-threads").unwrap_or(1).max(1)
}

fn device_count(head: &Head) -> u64 {
    item_number(head, "num-devices").unwrap_or(head.devices.len() as u64).max(1)
}

/// The total rate of threads that each have a whole quotient.
fn rate_over_threads(rate: u64, threads: u64) -> u64 {
    rate / threads * threads
}

/// In ACT 5.x, the number of threads that make reads, and of those that make writes, where it has both.
fn generator_threads(head: &Head, reads: u64, writes: u64) -> (u64, u64) {
    let all = thread_count(head);
    if writes == 0 {
        return (all, 1);
    }
    let of_reads = (u128::from(all) * u128::from(reads) / u128::from(reads + writes).max(1)) as u64;
    let of_reads = of_reads.max(1);
    (of_reads, all.saturating_sub(of_reads).max(1))
}

/// The average rate of a histogram, over all devices.
fn histogram_rate(head: &Head, name: &str) -> Option<Rate> {
    // A log of ours: its arrivals are independent, their number varies, and our own log allows a better judgement of
    // the load.
    if written_value(head, super::super::export::WRITTEN_BY).is_some() {
        return None;
    }
    let found = match head.program {
        // Up to 4.x the log contains no derived values.
        Program::Act if matches!(name, "reads" | "device-reads") => {
            let updates = item_number(head, "write-reqs-per-sec").unwrap_or(0)
                * item_number(head, "update-pct").unwrap_or(0)
                / 100;
            Rate::per_second(item_number(head, "read-reqs-per-sec")?.saturating_add(updates))
        }
        Program::Act => return None,
        Program::Storage => storage_rate(head, name)?,
        Program::Index => index_rate(head, name)?,
    };
    Some(found).filter(|rate| !rate.is_zero())
}

fn storage_rate(head: &Head, name: &str) -> Option<Rate> {
    let read = match name {
        "large-block-reads" | "large-block-writes" => return large_blocks(head, name),
        // Up to 5.x there are also device histograms.
        "reads" | "device-reads" => true,
        "writes" | "device-writes" => false,
        _ => return None,
    };
    let (reads, writes) = internal_rates(head)?;
    if head.major < 6 {
        let (readers, writers) = generator_threads(head, reads, writes);
        return Some(Rate::per_second(if read {
            rate_over_threads(reads, readers)
        } else {
            rate_over_threads(writes, writers)
        }));
    }
    let all = u128::from(reads) + u128::from(writes);
    let part = SPLIT * u128::from(reads) / all.max(1);
    let drawn = rate_over_threads(u64::try_from(all).ok()?, thread_count(head));
    Rate::from_ratio(u128::from(drawn) * if read { part } else { SPLIT - part }, SPLIT)
}

/// Large blocks as ACT computes them, where the log shows the rounded value of that; otherwise the value in the log.
fn large_blocks(head: &Head, name: &str) -> Option<Rate> {
    let shown = written_value(head, &format!("{name}-per-sec"))?;
    let computed = computed_rate(head, name).filter(|rate| format!("{:.2}", rate.as_f64()) == shown);
    computed.or_else(|| format!("{shown}/s").parse().ok())
}

/// A number of the configuration.
fn config_number(head: &Head, key: &str) -> Option<u32> {
    head.item_value(key)?.parse::<u32>().ok()
}

fn computed_rate(head: &Head, name: &str) -> Option<Rate> {
    let conf = Conf {
        write_reqs_per_sec: config_number(head, "write-reqs-per-sec")?,
        replication_factor: config_number(head, "replication-factor").unwrap_or(1),
        record_bytes: Bytes::new(config_number(head, "record-bytes")?.into()),
        record_bytes_range_max: config_number(head, "record-bytes-range-max")
            .filter(|max| *max > 0)
            .map(|max| Bytes::new(max.into())),
        large_block: Bytes::from_kib(config_number(head, "large-block-op-kbytes")?.into()),
        ..Conf::new(Kind::Storage)
    };
    let below = u128::from(config_number(head, "defrag-lwm-pct")?.min(99));
    let committed = head.item_value("commit-to-device").is_some_and(|flag| flag.starts_with('y'));
    // Committed writes are done one by one; only what defragmentation moves is written in large blocks.
    let amplified = if committed && name == "large-block-writes" { below } else { 100 };
    let kept = u128::from(conf.records_per_large_block()) * (100 - below);
    Rate::from_ratio(u128::from(conf.replicated_writes()) * amplified, kept)
}

fn index_rate(head: &Head, name: &str) -> Option<Rate> {
    let cache = Rate::from_ratio(
        derived_number(head, "cache-thread-reads-and-writes-per-sec").unwrap_or(0).into(),
        device_count(head).into(),
    )?;
    match name {
        "writes" | "device-writes" => Some(cache),
        // Up to 5.x service reads have another name, and those of the device are all reads.
        "trans-reads" => Some(Rate::per_second(rate_over_threads(service_reads(head)?, thread_count(head)))),
        "reads" | "device-reads" => {
            Rate::per_second(rate_over_threads(service_reads(head).unwrap_or(0), thread_count(head)))
                .checked_plus(cache)
        }
        _ => None,
    }
}

fn service_reads(head: &Head) -> Option<u64> {
    derived_number(head, "service-thread-reads-per-sec").or_else(|| derived_number(head, "trans-thread-reads-per-sec"))
}

/// How much of a rate is lost where ACT divides it by its threads.
fn shortfall_sentence(what: &str, asked: u64, threads: u64) -> Option<String> {
    let offered = rate_over_threads(asked, threads);
    (offered < asked).then(|| {
        format!(
            "ACT OFFERED LESS THAN ITS CONFIG: {offered} of {asked} {what} a second, because ACT divides a rate by \
             {threads} threads in whole numbers"
        )
    })
}

/// By how much the log's ACT offers less than its configuration asks for, because of its own defects.
pub(super) fn shortfall_sentences(head: &Head) -> Vec<String> {
    let mut found = Vec::new();
    match (head.program, internal_rates(head), service_reads(head)) {
        (Program::Storage, Some((reads, writes)), _) if head.major >= 6 => {
            let what = if writes == 0 { "reads" } else { "reads and writes" };
            found.extend(shortfall_sentence(what, reads.saturating_add(writes), thread_count(head)));
        }
        (Program::Storage, Some((reads, writes)), _) => {
            let (readers, writers) = generator_threads(head, reads, writes);
            found.extend(shortfall_sentence("reads", reads, readers));
            found.extend(shortfall_sentence("writes", writes, writers));
        }
        (Program::Index, _, Some(reads)) => {
            found.extend(shortfall_sentence("service reads", reads, thread_count(head)))
        }
        _ => {}
    }
    let cache = derived_number(head, "cache-thread-reads-and-writes-per-sec").unwrap_or(0);
    let n = device_count(head);
    if head.program == Program::Index && cache > 0 && n > 1 {
        found.push(format!(
            "ACT OFFERED LESS THAN ITS CONFIG: {:.0} of {cache} cache reads, and as many writes, a second, because act_index \
             with {n} devices does one part in {n} of them",
            cache as f64 / n as f64
        ));
    }
    found
}
