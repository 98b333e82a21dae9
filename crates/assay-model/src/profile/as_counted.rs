//! The part of a profile that does what was counted request by request, in a trace or while an application ran.

use super::{Flow, Habits, PartKind, ProfilePart, Seen, Sizes, Sourced};
use crate::address::Address;
use crate::extent::{Amount, Extent};
use crate::observed::{ArrivalShape, DerivedFlow, DerivedLoad, Observed, Side, WINDOWS};
use crate::plan::Arrival;
use assay_base::{Bytes, Rate, Share, Span};

/// Upper bound on the sizes of a flow in a profile; rarer ones count as the next larger one.
const SIZES_MAX: usize = 256;
/// The number of windows that must have been counted before an index is meaningful.
const LEAST_WINDOWS: u64 = 10;
/// The name of the places that reads and writes share.
const SHARED: &str = "hot";

/// How what was counted becomes a profile.
#[derive(Clone, Debug)]
pub struct Counting {
    /// For how long it was counted; nothing where that is not known.
    pub seconds: f64,
    /// When it ended, in the time of the requests.
    pub end: u64,
    /// Where it comes from, behind which the number of operations is written.
    pub source: String,
    /// What is behind the number of operations.
    pub words: String,
    /// How many such applications there are at once, each on places of its own.
    pub copies: u32,
    /// Sizes that occurred less often than this are counted as the next larger one.
    pub least_count: u64,
}

impl ProfilePart {
    /// An application with what was counted.
    pub fn from_counts(seen: &Observed, counting: &Counting) -> ProfilePart {
        let derived = seen.derive_load(counting.seconds, counting.end, counting.copies);
        let mut reads = counted_flow(&seen.reads, derived.reads.as_ref(), counting);
        let mut writes = counted_flow(&seen.writes, derived.writes.as_ref(), counting);
        if let Some(reads) = &mut reads {
            reads.habits.misses = misses_of(seen, counting);
        }
        if let Some(writes) = &mut writes {
            let source = counting.with_number(seen.writes.operations);
            writes.habits.rewritten =
                seen.rewritten_share().map(|share| Sourced::new(share_from_percent(share * 100.0), source));
        }
        place_flows(&derived, reads.as_mut(), writes.as_mut());
        let flushes = rate_over(seen.flushes, counting);
        ProfilePart {
            kind: PartKind::Application,
            in_flight: derived.in_flight.map(|steady| {
                let share = share_from_percent((steady.share * 1000.0).round() / 10.0);
                let source = format!(
                    "{}: {share} of the time this many, or one less of several, were in flight; without this line the rates are driven",
                    counting.source
                );
                Sourced::new(steady.depth.saturating_mul(counting.copies), source)
            }),
            flushes: flushes.map(|rate| Sourced::new(rate, format!("{}, {} flushes", counting.source, seen.flushes))),
            reads,
            writes,
            ..ProfilePart::default()
        }
    }
}

impl Counting {
    fn with_number(&self, operations: u64) -> String {
        let words = if self.words.is_empty() { String::new() } else { format!(" {}", self.words) };
        format!("{}, {operations} operations{words}", self.source)
    }
}

fn rate_over(operations: u64, counting: &Counting) -> Option<Rate> {
    let Counting { seconds, copies, .. } = counting;
    let one = (*seconds > 0.0 && operations > 0).then(|| rounded_rate(operations as f64 / seconds)).flatten()?;
    one.scaled_by(u64::from(*copies), 1)
}

/// Says which part of the drive each flow uses, and whether both have the same hot places.
fn place_flows(derived: &DerivedLoad, reads: Option<&mut Flow>, writes: Option<&mut Flow>) {
    let span = |flow: &Option<DerivedFlow>| flow.as_ref().map_or(0, |flow| flow.span.get());
    let begin_of_writes = derived.writes_begin.get();
    for (flow, begin, length) in [(reads, 0, span(&derived.reads)), (writes, begin_of_writes, span(&derived.writes))] {
        let Some(flow) = flow.filter(|flow| flow.seen.address.is_some()) else { continue };
        let [begin, length] = [begin, length].map(|bytes| Amount::Bytes(Bytes::new(bytes)));
        let source = flow.seen.address.as_ref().map_or_else(String::new, |address| address.source.clone());
        flow.seen.range = Some(Sourced::new(Extent::new(begin, Some(length)), format!("{source}: what was used")));
        flow.seen.places = derived.same_places.then(|| SHARED.to_owned());
    }
}

fn counted_flow(side: &Side, derived: Option<&DerivedFlow>, counting: &Counting) -> Option<Flow> {
    if side.operations == 0 {
        return None;
    }
    let source = counting.with_number(side.operations);
    let (lines, rarer) = sizes_with_shares(side, counting.least_count);
    let of_sizes = if rarer > 0 {
        format!("{source}; {rarer} rarer sizes are counted as the next larger one")
    } else {
        source.clone()
    };
    let times = if counting.copies > 1 { format!(", {} times", counting.copies) } else { String::new() };
    let of_rate = format!("{source} in {:.1} s{times}", counting.seconds);
    Some(Flow {
        rate: rate_over(side.operations, counting).map(|rate| Sourced::new(rate, of_rate)),
        sizes: Some(Sourced::new(Sizes::Each(lines), of_sizes)),
        durable: side.durable * 2 > side.operations,
        seen: seen_of(derived, counting, &source),
        habits: habits_of(side, counting, &source),
        ..Flow::default()
    })
}

fn seen_of(derived: Option<&DerivedFlow>, counting: &Counting, source: &str) -> Seen {
    let Some(derived) = derived else { return Seen::default() };
    let rate = Rate::per_second(1);
    let arrival = match derived.arrival {
        ArrivalShape::Steady => Arrival::Steady { rate },
        ArrivalShape::Poisson => Arrival::Poisson { rate },
        ArrivalShape::Bursty(bursts) => Arrival::Bursty { rate, bursts },
    };
    let address =
        if derived.goes_through { Address::Sequential } else { Address::Heat(Box::new(derived.heat.clone())) };
    Seen {
        address: Some(Sourced::new(address, source)),
        arrival: (counting.seconds > 0.0).then(|| Sourced::new(arrival, source)),
        ..Seen::default()
    }
}

fn habits_of(side: &Side, counting: &Counting, source: &str) -> Habits {
    let fit = side.zones.best_fit().filter(|_| side.addressed > 0);
    let of_fit =
        fit.map(|fit| format!("{source}; {} zones of {}", fit.zones, Bytes::new(fit.zone))).unwrap_or_default();
    let in_tenths = |share: f64| share_from_percent((share * 1000.0).round() / 10.0);
    Habits {
        sequential: (side.addressed > 1)
            .then(|| Sourced::new(in_tenths(side.sequential as f64 / side.addressed as f64), source)),
        zipf: fit.map(|fit| Sourced::new((fit.zipf, in_tenths(fit.error)), of_fit.clone())),
        hot_zones: fit.map(|fit| {
            let zones = [(1, fit.busiest.0), (10, fit.busiest.1)];
            let zones = zones.map(|(percent, part)| (Share::from_percent(percent), in_tenths(part)));
            Sourced::new(zones.to_vec(), of_fit)
        }),
        dispersion: dispersion_of(side, counting)
            .map(|indices| Sourced::new(indices, format!("{source}, variance by mean"))),
        ..Habits::default()
    }
}

/// Variance by mean of the arrivals in windows of several lengths.
fn dispersion_of(side: &Side, counting: &Counting) -> Option<Vec<(Span, f64)>> {
    if counting.seconds <= 0.0 {
        return None;
    }
    let counts = side.windows.counts_until(counting.end);
    let mut indices = Vec::new();
    for (window, counts) in WINDOWS.iter().zip(&counts) {
        if let Some(index) = counts.index_of_dispersion().filter(|_| counts.count >= LEAST_WINDOWS) {
            indices.push((Span::from_ns(*window), (index * 100.0).round() / 100.0));
        }
    }
    (!indices.is_empty()).then_some(indices)
}

/// Which share of the reads caches would not answer.
fn misses_of(seen: &Observed, counting: &Counting) -> Option<Sourced<Vec<(Bytes, Share)>>> {
    let ratios = seen.miss_ratios();
    let first_alike = ratios.iter().position(|ratio| Some(ratio.misses) == ratios.last().map(|last| last.misses))?;
    let in_tenths = |share: f64| share_from_percent((share * 1000.0).round() / 10.0);
    let points = ratios.iter().take(first_alike + 1).map(|ratio| (Bytes::new(ratio.cache), in_tenths(ratio.misses)));
    let source = counting.with_number(seen.reads.operations);
    Some(Sourced::new(points.collect(), format!("{source}; LRU, writes are put in")))
}

/// Sizes with their shares, and the number of sizes that were too rare for a line of their own.
fn sizes_with_shares(side: &Side, least_count: u64) -> (Vec<(Bytes, Share)>, usize) {
    let mut counts: Vec<u64> = side.sizes.values().copied().collect();
    counts.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
    let least = counts.get(SIZES_MAX - 1).copied().unwrap_or(0).max(least_count);
    let usual = counts.first().copied().unwrap_or(0);
    // Where nothing occurred that often, the usual size has to stand for all.
    let least = least.min(usual);
    let largest = side.sizes.iter().rfind(|(_, count)| **count >= least).map(|(size, _)| *size);
    let (mut lines, mut carried, mut rarer): (Vec<(Bytes, u64)>, u64, usize) = (Vec::new(), 0, 0);
    for (&size, &count) in &side.sizes {
        let room = lines.len() + 1 < SIZES_MAX;
        if Some(size) == largest || count >= least.max(1) && room && largest.is_some_and(|largest| size < largest) {
            lines.push((Bytes::new(size), count + std::mem::take(&mut carried)));
        } else {
            (carried, rarer) = (carried + count, rarer + 1);
        }
    }
    // What is larger than all sizes that are listed counts as the largest of them.
    if let Some((_, count)) = lines.last_mut() {
        *count += carried;
    }
    let total: u64 = side.sizes.values().sum();
    let shares = lines.into_iter().map(|(size, count)| {
        let ppb = u128::from(count) * 1_000_000_000 / u128::from(total.max(1));
        (size, Share::from_ppb(ppb as u64))
    });
    (shares.collect(), rarer)
}

/// A rate with a resolution of a millionth of an operation per second, which is more exact than any source.
pub fn measured_rate(value: f64) -> Option<Rate> {
    let millionths = (value * 1e6).round();
    (millionths.is_finite() && (0.0..1e18).contains(&millionths)).then_some(())?;
    Rate::from_ratio(millionths as u128, 1_000_000)
}

/// A computed rate, in hundredths; one below ten to four digits, so that a drive that does something twice a minute has
/// a rate too.
pub fn rounded_rate(value: f64) -> Option<Rate> {
    if value <= 0.0 || value >= 10.0 {
        return measured_rate((value * 100.0).round() / 100.0);
    }
    let unit = 10f64.powf(3.0 - value.log10().floor());
    measured_rate((value * unit).round() / unit)
}

/// A share of so many percent, to a ten-thousandth of a percent, which is more exact than any source.
pub fn share_from_percent(part: f64) -> Share {
    Share::from_ppb((part.clamp(0.0, 100.0) * 1e4).round() as u64 * 1000)
}
