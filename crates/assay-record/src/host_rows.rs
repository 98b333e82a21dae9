//! An interval as two rows of numbers, for a run whose load comes from several hosts: in one row are the numbers that add up over
//! the hosts, in the other those of which the largest counts. Both are integers, so that every order of adding gives the same.
//!
//! [`RowLayout`] says which number stands where, and follows from the header of the log; all hosts of a run have the same one.
//! [`DistributionRows`] are the same for distributions, of which only the cells that any host has filled are sent.

use crate::cells::CELLS;
use crate::header::Header;
use crate::interval::{DiskCounters, FlowHistograms, FlowInterval, Histograms, Interval, Lateness, PARTS, Timing};
use crate::loops::LoopInterval;
use crate::packed::{Filled, Unpacker, pack_cells};
use crate::pauses::Pauses;
use assay_base::Code;

/// Under this name stand, in the sum of all hosts, errors whose name is not in the table of those that have a place.
const OTHER_ERRORS: &str = "other";

/// Kinds of times that have a distribution: response, service, lag.
const KINDS: usize = 3;

/// Above every number of an interval, and below 2⁶³, above which some libraries cannot compare.
const ABOVE_ALL: u64 = 1 << 62;

/// An interval as two rows of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalRows {
    /// Those that add up.
    pub sums: Vec<u64>,
    /// Those of which the largest counts.
    pub maxima: Vec<u64>,
}

/// Which number of an interval stands where in its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLayout {
    flows: usize,
    /// Counts between the thresholds.
    buckets: usize,
    /// Targets, whose lateness may be counted.
    targets: usize,
    loops: usize,
}

/// Goes through the numbers of an interval in a fixed order: to take them out, or to put them in.
trait PassNumbers {
    /// A number that adds up.
    fn pass_sum(&mut self, number: &mut u64);

    /// A number of which the largest counts.
    fn pass_maximum(&mut self, number: &mut u64);

    /// So many counts in their sparse form, which add up.
    fn pass_counts(&mut self, sparse: &mut Vec<u64>, buckets: usize);
}

/// Takes the numbers out.
#[derive(Default)]
struct TakeOut {
    rows: IntervalRows,
    /// What has no place in the rows.
    misplaced: Option<String>,
}

impl PassNumbers for TakeOut {
    fn pass_sum(&mut self, number: &mut u64) {
        self.rows.sums.push(*number);
    }

    fn pass_maximum(&mut self, number: &mut u64) {
        self.rows.maxima.push((*number).min(ABOVE_ALL));
    }

    fn pass_counts(&mut self, sparse: &mut Vec<u64>, buckets: usize) {
        let begin = self.rows.sums.len();
        self.rows.sums.resize(begin + buckets, 0);
        if let Err(bucket) = Timing::add_to(sparse, &mut self.rows.sums[begin..]) {
            self.misplaced = Some(format!("a count of bucket {bucket}, of {buckets}"));
        }
    }
}

/// Puts the numbers of rows in.
struct PutIn<'a> {
    sums: std::slice::Iter<'a, u64>,
    maxima: std::slice::Iter<'a, u64>,
}

impl PassNumbers for PutIn<'_> {
    fn pass_sum(&mut self, number: &mut u64) {
        *number = self.sums.next().copied().unwrap_or(0);
    }

    fn pass_maximum(&mut self, number: &mut u64) {
        *number = self.maxima.next().copied().unwrap_or(0);
    }

    fn pass_counts(&mut self, sparse: &mut Vec<u64>, buckets: usize) {
        let (counts, rest) = self.sums.as_slice().split_at(buckets.min(self.sums.len()));
        *sparse = Timing::sparse_counts(counts);
        self.sums = rest.iter();
    }
}

impl RowLayout {
    /// The layout of the intervals that follow this header.
    pub fn from_header(header: &Header) -> RowLayout {
        RowLayout {
            flows: header.flows.len(),
            buckets: header.thresholds_ns.len() + 1,
            targets: header.targets.len(),
            loops: header.loops.len(),
        }
    }

    /// How many flows the intervals have.
    pub fn flow_count(&self) -> usize {
        self.flows
    }

    /// The rows of an interval. What is counted for the host alone has no place in them: its clocks, and what it used.
    ///
    /// # Errors
    /// The interval does not have this layout; says what has no place.
    pub fn interval_rows(&self, interval: &Interval) -> Result<IntervalRows, String> {
        if (interval.flows.len(), interval.loops.len()) != (self.flows, self.loops) {
            let (flows, loops) = (interval.flows.len(), interval.loops.len());
            return Err(format!("{flows} flows and {loops} loops in place of {} and {}", self.flows, self.loops));
        }
        if let Some(late) = interval.lateness.iter().find(|late| usize::from(late.target) >= self.targets) {
            return Err(format!("the lateness of target {}, of {}", late.target, self.targets));
        }
        if interval.cache.is_some() || interval.flows.iter().any(|flow| !flow.counted.is_empty()) {
            return Err("counters of a cache or of transactions".to_owned());
        }
        let mut taking = TakeOut::default();
        self.pass_interval(&mut interval.clone(), &mut taking);
        match taking.misplaced {
            Some(what) => Err(what),
            None => Ok(taking.rows),
        }
    }

    /// The rows of a host that has nothing more to count.
    pub fn empty_rows(&self) -> IntervalRows {
        let mut nothing = Interval {
            flows: vec![FlowInterval::default(); self.flows],
            loops: vec![LoopInterval::default(); self.loops],
            ..Interval::default()
        };
        let mut taking = TakeOut::default();
        self.pass_interval(&mut nothing, &mut taking);
        taking.rows
    }

    /// The interval of all hosts, from the sums and the largest of their rows.
    ///
    /// # Errors
    /// The rows have other lengths than this layout.
    pub fn interval_from_rows(&self, rows: &IntervalRows) -> Result<Interval, String> {
        let empty = self.empty_rows();
        if (rows.sums.len(), rows.maxima.len()) != (empty.sums.len(), empty.maxima.len()) {
            return Err(format!("rows of {} and {} numbers", rows.sums.len(), rows.maxima.len()));
        }
        let mut interval = Interval {
            flows: vec![FlowInterval::default(); self.flows],
            loops: vec![LoopInterval::default(); self.loops],
            ..Interval::default()
        };
        self.pass_interval(&mut interval, &mut PutIn { sums: rows.sums.iter(), maxima: rows.maxima.iter() });
        Ok(interval)
    }

    fn pass_interval(&self, interval: &mut Interval, numbers: &mut dyn PassNumbers) {
        let mut phase = u64::from(interval.phase);
        for number in [&mut interval.index, &mut interval.start_ns, &mut interval.end_ns, &mut phase] {
            numbers.pass_maximum(number);
        }
        interval.phase = phase as u16;
        interval.flows.iter_mut().for_each(|flow| pass_flow(flow, self.buckets, numbers));
        interval.loops.iter_mut().for_each(|slots| pass_loop(slots, numbers));
        let late = std::mem::take(&mut interval.lateness);
        for target in 0..self.targets as u16 {
            let known = late.iter().find(|late| late.target == target);
            let mut of_target = known.cloned().unwrap_or(Lateness { target, ..Lateness::default() });
            pass_lateness(&mut of_target, self.buckets, numbers);
            interval.lateness.extend(of_target.says_something().then_some(of_target));
        }
        let counted: Vec<DiskCounters> = interval.disks.drain(..).chain(interval.shared_disks.drain(..)).collect();
        for target in 0..self.targets as u16 {
            let known = counted.iter().find(|disk| disk.target == target);
            interval.disks.extend(pass_disk(target, known.copied(), numbers));
        }
    }
}

fn pass_flow(flow: &mut FlowInterval, buckets: usize, numbers: &mut dyn PassNumbers) {
    flow.for_each_count(|count| numbers.pass_sum(count));
    pass_errors(flow, numbers);
    pass_timing(&mut flow.response, buckets, numbers);
    pass_timing(&mut flow.service, buckets, numbers);
    numbers.pass_sum(&mut flow.submit.sum_ns);
    numbers.pass_maximum(&mut flow.submit.max_ns);
    pass_timing(&mut flow.lag, buckets, numbers);
    pass_timing(&mut flow.own_lag, buckets, numbers);
    numbers.pass_counts(&mut flow.forgiven, buckets);
    pass_floor(&mut flow.floor, &flow.response, buckets, numbers);
    pass_floor(&mut flow.service_floor, &flow.service, buckets, numbers);
    let mut failures = flow.failures.take().unwrap_or_default();
    numbers.pass_counts(&mut failures.at, PARTS);
    pass_timing(&mut failures.response, buckets, numbers);
    flow.failures = (!failures.at.is_empty()).then_some(failures);
}

/// A floor is absent where it equals the whole time, which is so where nothing was taken off its sum.
fn pass_floor(floor: &mut Option<Timing>, whole: &Timing, buckets: usize, numbers: &mut dyn PassNumbers) {
    let mut present = floor.take().unwrap_or_else(|| whole.clone());
    pass_timing(&mut present, buckets, numbers);
    *floor = (present.sum_ns != whole.sum_ns).then_some(present);
}

fn pass_timing(timing: &mut Timing, buckets: usize, numbers: &mut dyn PassNumbers) {
    numbers.pass_sum(&mut timing.sum_ns);
    numbers.pass_maximum(&mut timing.max_ns);
    numbers.pass_counts(&mut timing.counts, buckets);
}

fn pass_errors(flow: &mut FlowInterval, numbers: &mut dyn PassNumbers) {
    let mut errors = std::mem::take(&mut flow.errors);
    let mut counted = Code::all_names().map(|name| (name, errors.remove(name).unwrap_or(0))).collect::<Vec<_>>();
    counted.push((OTHER_ERRORS, errors.into_values().fold(0, u64::saturating_add)));
    for (name, mut count) in counted {
        numbers.pass_sum(&mut count);
        if count > 0 {
            flow.errors.insert(name.to_owned(), count);
        }
    }
}

fn pass_loop(slots: &mut LoopInterval, numbers: &mut dyn PassNumbers) {
    // Numbers below zero add up as their two's complements do.
    let mut open = slots.open_ns as u64;
    numbers.pass_sum(&mut open);
    slots.open_ns = open as i64;
    numbers.pass_sum(&mut slots.paused_ns);
    pass_pauses(&mut slots.idle, numbers);
}

fn pass_pauses(pauses: &mut Pauses, numbers: &mut dyn PassNumbers) {
    numbers.pass_sum(&mut pauses.sum_ns);
    numbers.pass_maximum(&mut pauses.max_ns);
    numbers.pass_sum(&mut pauses.count);
}

fn pass_lateness(late: &mut Lateness, buckets: usize, numbers: &mut dyn PassNumbers) {
    numbers.pass_maximum(&mut late.shift_ns);
    numbers.pass_maximum(&mut late.gap_ns);
    pass_pauses(&mut late.idle, numbers);
    pass_pauses(&mut late.overslept, numbers);
    numbers.pass_counts(&mut late.idle_in, buckets);
}

/// The counters of the block device of a target: a host that has none, or of which another rank counts them, adds nothing. `None` where
/// no host has any.
fn pass_disk(target: u16, known: Option<DiskCounters>, numbers: &mut dyn PassNumbers) -> Option<DiskCounters> {
    let mut hosts = u64::from(known.is_some());
    let mut disk = known.unwrap_or_default();
    disk.target = target;
    numbers.pass_sum(&mut hosts);
    let DiskCounters { target: _, reads, read_bytes, writes, written_bytes, flushes } = &mut disk;
    for number in [reads, read_bytes, writes, written_bytes, flushes] {
        numbers.pass_sum(number);
    }
    (hosts > 0).then_some(disk)
}

/// The distributions of all flows since the line of distributions before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistributionRows {
    first: u64,
    /// By flow: response, service, lag.
    times: Vec<[Filled; KINDS]>,
}

impl DistributionRows {
    /// Those of a line, of a log with so many flows.
    ///
    /// # Errors
    /// The line cannot be read; says why.
    pub fn from_line(line: &Histograms, flows: usize) -> Result<DistributionRows, String> {
        let mut times = vec![<[Filled; KINDS]>::default(); flows];
        let mut unpacker = Unpacker::default();
        for of_flow in &line.flows {
            let place = times.get_mut(usize::from(of_flow.flow));
            let place = place.ok_or_else(|| format!("distributions of flow {}, of {flows}", of_flow.flow))?;
            let texts = [&of_flow.response, &of_flow.service, &of_flow.lag];
            for (kind, text) in texts.into_iter().enumerate() {
                place[kind] = unpacker.unpack_text(text, of_flow.overflow[kind])?;
            }
        }
        Ok(DistributionRows { first: line.first, times })
    }

    /// Those of a host that has none, of so many flows.
    pub fn without_any(flows: usize) -> DistributionRows {
        DistributionRows { first: ABOVE_ALL, times: vec![<[Filled; KINDS]>::default(); flows] }
    }

    /// A row of which the largest numbers say which cells any host has filled: of the first interval, and of the first cell of each
    /// distribution, the distance to a number that is larger than all, and the number behind the last cell.
    pub fn extents(&self) -> Vec<u64> {
        let mut row = vec![ABOVE_ALL - self.first.min(ABOVE_ALL)];
        for filled in self.times.iter().flatten() {
            let ends = filled.cells.first().zip(filled.cells.last());
            let (first, behind) =
                ends.map_or((0, 0), |(first, last)| (CELLS as u64 - u64::from(first.0), u64::from(last.0) + 1));
            row.extend([first, behind]);
        }
        row
    }

    /// The counts of the cells between these extents, in a row that adds up.
    pub fn counts_within(&self, extents: &[u64]) -> Vec<u64> {
        let mut row = Vec::new();
        for (filled, ends) in self.times.iter().flatten().zip(extents[1..].chunks_exact(2)) {
            row.push(filled.overflow);
            let cells = cells_between(ends);
            let begin = row.len();
            row.resize(begin + cells.len(), 0);
            for (cell, count) in filled.filled_cells().filter(|(cell, _)| cells.contains(cell)) {
                row[begin + (cell - cells.start) as usize] = count;
            }
        }
        row
    }

    /// The line of all hosts, which ends with the interval `last` of this phase, from the largest extents and the sums of counts.
    ///
    /// # Errors
    /// The rows have other lengths than these extents say.
    pub fn line_from_rows(extents: &[u64], counts: &[u64], last: u64, phase: u16) -> Result<Histograms, String> {
        let mut rest = counts;
        let mut take = |many: usize| {
            let (taken, left) = rest.split_at_checked(many).ok_or("a row of counts is too short")?;
            rest = left;
            Ok::<&[u64], String>(taken)
        };
        let (away, ends) = extents.split_first().ok_or("a row of extents is empty")?;
        let mut flows = Vec::new();
        for (flow, ends) in ends.chunks_exact(2 * KINDS).enumerate() {
            let mut kinds = <[Filled; KINDS]>::default();
            for (filled, ends) in kinds.iter_mut().zip(ends.chunks_exact(2)) {
                filled.overflow = take(1)?[0];
                let cells = cells_between(ends);
                let counts = take(cells.len())?.iter().copied();
                filled.cells = cells.zip(counts).filter(|(_, count)| *count > 0).collect();
            }
            let [response, service, lag] = &kinds;
            let is_empty = |filled: &Filled| filled.overflow == 0 && filled.cells.is_empty();
            if is_empty(lag) && is_empty(response) {
                continue;
            }
            let text = |filled: &Filled| pack_cells(filled.filled_cells());
            flows.push(FlowHistograms {
                flow: flow as u16,
                response: text(response),
                service: text(service),
                lag: text(lag),
                overflow: [response.overflow, service.overflow, lag.overflow],
            });
        }
        if !rest.is_empty() {
            return Err("a row of counts is too long".to_owned());
        }
        Ok(Histograms { first: ABOVE_ALL - away.min(&ABOVE_ALL), last, phase, flows })
    }
}

/// The cells that two numbers of a row of extents include.
fn cells_between(ends: &[u64]) -> std::ops::Range<u32> {
    let most = CELLS as u64;
    let first = most - ends[0].min(most);
    first.min(ends[1]) as u32..ends[1].min(most) as u32
}

#[cfg(test)]
#[path = "host_rows_tests.rs"]
mod tests;
