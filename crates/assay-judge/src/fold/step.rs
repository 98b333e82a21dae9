//! Folds the segments of one step: places every interval in measured time, checks that the counts add up, and hands windows
//! to the rules as they end.

use crate::fold::cell::Cell;
use crate::fold::clocks::{ClockFold, Told};
use crate::fold::failures::{Failures, is_damage};
use crate::fold::finish::targets;
use crate::fold::integrity::IntegrityFold;
use crate::fold::layout::Layout;
use crate::fold::series::SeriesFold;
use crate::fold::steady::SteadyFold;
use crate::fold::told::{Told as Failed, Uncounted};
use crate::fold::window::{Window, Windows, adds_up};
use crate::judge::Options;
use crate::judgement::{
    Deciding, DiskCount, DiskTotals, Gap, GeneratorCost, Health, LatenessTotals, Slice, SliceStream,
};
use crate::rules::criterion::Tracker;
use crate::rules::disk;
use crate::rules::finding::{Class, Finding, deciding, nowhere};
use crate::rules::lateness;
use crate::rules::load::LoadTracker;
use crate::verdict::Verdict;
use assay_base::{Criterion, Span};
use assay_record::{
    Close, CloseReason, Event, Filled, FlowInterval, Header, Histograms, Interval, PhaseKind, Times, Unpacker,
};
use std::collections::BTreeMap;

/// Slices kept in full; beyond them only broken ones are.
const SLICES: usize = 2000;
/// Events kept.
const EVENTS: usize = 1000;
/// Flows whose distributions are kept apart; with more, only those of whole streams are.
const FLOW_TIMES: usize = 64;

/// What a block device and the run itself counted over the same intervals.
#[derive(Clone, Copy, Debug, Default)]
pub struct TargetSums {
    /// Bytes the run moved.
    pub read_bytes: u64,
    /// Bytes the run moved.
    pub written_bytes: u64,
    /// The device's counters and the run's own in the intervals with counters.
    pub disk: DiskTotals,
    /// Reads whose data were looked at.
    pub sampled: u64,
    /// Those that met a block that was never written.
    pub blank: u64,
    /// Any interval had counters.
    pub counted: bool,
    /// How far the generator put the schedule behind since the segment began, at most: given idle, and the largest shift.
    pub idle_ns: u64,
    pub shift_ns: u64,
}

/// Windows of one length and the criteria judged on them.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) windows: Windows,
    pub(crate) trackers: Vec<(usize, Tracker)>,
}

/// What a segment needs to place its intervals.
#[derive(Debug)]
struct Segment {
    phases: Vec<(PhaseKind, u64)>,
    measured_before: u64,
    next_index: u64,
    /// Where the interval before ended.
    ended_ns: Option<u64>,
    phase: Option<u16>,
    phase_start: u64,
    phase_base: u64,
    carried: Option<Vec<u64>>,
    found: u64,
    issued: u64,
    completed: u64,
    stuck: u64,
    whole: bool,
    closed: Option<Close>,
    /// A phase that is judged was reached.
    measured: bool,
    /// Set where the warm-up was to last until the load is steady; says what became of that.
    waited: Option<Waited>,
    /// Failures that events tell of.
    failed: Failed,
}

/// What became of waiting for a steady load.
#[derive(Debug)]
enum Waited {
    Untold,
    Steady,
    Not(String),
}

/// One step on its way through the log.
#[derive(Debug)]
pub struct StepFold {
    pub(crate) number: u32,
    pub(crate) header: Header,
    pub(crate) layout: Layout,
    pub(crate) stress: bool,
    pub(crate) judged: Vec<Judged>,
    pub(crate) load: LoadTracker,
    pub(crate) totals: Vec<Cell>,
    /// Of each flow, what completed within the planned time.
    pub(crate) in_time: Vec<u64>,
    pub(crate) maxima: Vec<(u64, u64)>,
    pub(crate) stream_maxima: Vec<(u64, u64)>,
    pub(crate) flow_times: Vec<Option<[Times; 3]>>,
    pub(crate) stream_times: Vec<Option<[Times; 3]>>,
    unpacker: Unpacker,
    /// The latest three distributions.
    unpacked: [Filled; 3],
    pub(crate) slices: Vec<Slice>,
    pub(crate) slices_left_out: u64,
    pub(crate) series: SeriesFold,
    pub(crate) steady: SteadyFold,
    pub(crate) events: Vec<Event>,
    pub(crate) events_left_out: u64,
    /// Events from here on still stand on the run's time line, not in measured time.
    unplaced: usize,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) target_sums: Vec<TargetSums>,
    /// Of each flow that reads: how many completed, and of how many the data were looked at.
    pub(crate) looked: Vec<(u64, u64)>,
    pub(crate) cost: Option<GeneratorCost>,
    pub(crate) measured_ns: u64,
    /// Intervals of the measured phase.
    pub(crate) intervals: u64,
    /// Those of slices that are complete and prove something.
    pub(crate) valid_intervals: u64,
    /// What happened to the machine's time.
    pub(crate) clocks: ClockFold,
    /// What the targets said of their health, before and after.
    pub(crate) health: Vec<Option<Health>>,
    /// Segments begun.
    pub(crate) segments: u64,
    /// Places where the log contradicts itself.
    pub(crate) contradictions: u64,
    /// Times the machine was found changed.
    pub(crate) environment_changes: u64,
    /// The latest, until the windows know of it.
    changed: Option<String>,
    pub(crate) findings: Vec<Finding>,
    /// What failed so far, by flow.
    failures: BTreeMap<usize, Failures>,
    pub(crate) warnings: Vec<String>,
    pub(crate) integrity: IntegrityFold,
    /// How late the generator was on each target.
    pub(crate) late: Vec<LatenessTotals>,
    told_of_rests: bool,
    cursor: u64,
    follows: bool,
    segment: Segment,
    pub(crate) damaged: bool,
}

impl Segment {
    fn new(header: &Header) -> Segment {
        Segment {
            phases: header.phases.iter().map(|phase| (phase.kind, phase.span_ns)).collect(),
            measured_before: header.measured_before_ns,
            next_index: 0,
            ended_ns: None,
            phase: None,
            phase_start: 0,
            phase_base: 0,
            carried: Some(vec![0; header.flows.len()]),
            found: 0,
            issued: 0,
            completed: 0,
            stuck: 0,
            whole: true,
            closed: None,
            measured: false,
            waited: header.phases.iter().any(|phase| phase.steady_round_ns.is_some()).then_some(Waited::Untold),
            failed: Failed::default(),
        }
    }

    /// Whether what happened at `at_ns`, which is not before the last interval, happened while it was measured. A phase that may
    /// end early is taken to last until its first interval.
    fn is_measured(&self, at_ns: u64) -> bool {
        let warm_up = self.phases.iter().take_while(|(kind, _)| *kind != PhaseKind::Measure);
        self.measured || at_ns >= warm_up.fold(0u64, |sum, (_, span)| sum.saturating_add(*span))
    }

    /// A moment of the run's time line in measured time; `None` before the first interval.
    fn measured_at(&self, at_ns: u64) -> Option<u64> {
        let (kind, _) = *self.phases.get(usize::from(self.phase?))?;
        let offset = if kind == PhaseKind::Measure { at_ns.saturating_sub(self.phase_start) } else { 0 };
        Some(self.phase_base.saturating_add(offset))
    }

    /// The interval's place in measured time; `None` in a phase that is not judged.
    fn place(&mut self, interval: &Interval, joins: bool) -> Option<u64> {
        if self.phase != Some(interval.phase) {
            let index = usize::from(interval.phase);
            let before = self.phases.iter().take(index);
            let planned = before.clone().fold(0u64, |sum, (_, span)| sum.saturating_add(*span));
            let measured = before.filter(|(kind, _)| *kind == PhaseKind::Measure);
            self.phase_base = measured.fold(self.measured_before, |sum, (_, span)| sum.saturating_add(*span));
            // A phase begins where its first interval does; when that may be missing, where it was planned.
            self.phase_start = if joins { interval.start_ns } else { planned.min(interval.start_ns) };
            self.phase = Some(interval.phase);
        }
        let (kind, _) = *self.phases.get(usize::from(interval.phase))?;
        self.measured |= kind == PhaseKind::Measure;
        let offset = interval.start_ns.saturating_sub(self.phase_start);
        (kind == PhaseKind::Measure).then(|| self.phase_base.saturating_add(offset))
    }
}

impl StepFold {
    /// Begins a step; the error says what in its header cannot be.
    pub fn new(number: u32, header: Header, options: &Options) -> Result<StepFold, String> {
        let mut criteria = options.criteria.clone().unwrap_or_else(|| header.criteria.clone());
        if let Some(slice) = options.slice {
            // One that is judged on the log's slices is judged on these instead.
            let follows = |criterion: &&mut Criterion| criterion.window.map(Span::as_ns) == Some(header.slice_ns);
            criteria.iter_mut().filter(follows).for_each(|criterion| criterion.window = Some(slice));
        }
        let layout = Layout::new(&header, &criteria)?;
        let slice_ns = options.slice.map_or(header.slice_ns, Span::as_ns).max(1);
        let stress = header.step.as_ref().is_some_and(|step| step.stress);
        let judged = windows_of(&criteria, slice_ns, options, &layout);
        let least = criteria.iter().filter_map(Criterion::threshold).min();
        let threshold = least.filter(|span| layout.thresholds.first_over(*span).is_some());
        let slices = judged[0].windows.planned();
        let mut clocks = ClockFold::default();
        clocks.begin(header.clocks);
        let health = vec![None; header.targets.len()];
        Ok(StepFold {
            number,
            stress,
            late: if layout.lateness { vec![LatenessTotals::default(); layout.targets.len()] } else { Vec::new() },
            load: LoadTracker::new(number, slices, threshold.filter(|_| !stress), &layout),
            series: SeriesFold::new(&layout, threshold.unwrap_or(Span::from_ms(1))),
            steady: SteadyFold::new(&header, &layout),
            totals: vec![Cell::new(layout.thresholds.buckets()); layout.flows.len()],
            in_time: vec![0; layout.flows.len()],
            maxima: vec![(0, 0); layout.flows.len()],
            stream_maxima: vec![(0, 0); layout.streams.len()],
            flow_times: vec![None; layout.flows.len()],
            stream_times: vec![None; layout.streams.len()],
            unpacker: Unpacker::default(),
            unpacked: Default::default(),
            target_sums: vec![TargetSums::default(); layout.targets.len()],
            looked: vec![(0, 0); layout.flows.len()],
            segment: Segment::new(&header),
            cursor: header.measured_before_ns,
            follows: header.measured_before_ns == 0,
            judged,
            layout,
            header,
            slices: Vec::new(),
            slices_left_out: 0,
            events: Vec::new(),
            events_left_out: 0,
            unplaced: 0,
            gaps: Vec::new(),
            cost: None,
            measured_ns: 0,
            intervals: 0,
            valid_intervals: 0,
            clocks,
            health,
            segments: 1,
            contradictions: 0,
            environment_changes: 0,
            changed: None,
            findings: Vec::new(),
            failures: BTreeMap::new(),
            warnings: Vec::new(),
            integrity: IntegrityFold::default(),
            told_of_rests: false,
            damaged: false,
        })
    }

    /// Goes on with a segment that continues this step. The error says why it cannot be the same step.
    pub fn resume(&mut self, header: &Header) -> Result<(), String> {
        let same = header.flows == self.header.flows
            && header.thresholds_ns == self.header.thresholds_ns
            && header.streams == self.header.streams
            && header.interval_ns == self.header.interval_ns
            && header.targets.len() == self.header.targets.len();
        let other = self.header.targets.iter().zip(&header.targets).find_map(|(was, now)| now.differs_from(was));
        if let Some(differs) = other.filter(|_| same) {
            return Err(format!("continues a step with something else than it began with: {differs}"));
        }
        if !same {
            return Err("continues a step with other streams, targets or thresholds".into());
        }
        let before = self.segment.closed.as_ref().map_or("cut off without a closing line", |close| ended(close.reason));
        let gap = Gap { at_ns: self.cursor, before: before.to_owned(), resumed: header.created.clone() };
        self.gaps.push(gap);
        self.check_segment();
        self.totals.iter_mut().for_each(Cell::end_segment);
        let at = header.measured_before_ns;
        for index in 0..self.judged.len() {
            // What was seen in a whole window stays seen, also where it is measured once more.
            if let Some(window) = self.judged[index].windows.close_whole(&self.layout) {
                self.window(index, window);
            }
            if let Some(window) = self.judged[index].windows.resume(self.cursor, at, &self.layout) {
                self.cut(index, &window);
            }
        }
        (self.cursor, self.follows) = (at, false);
        self.steady.resume();
        self.segments += 1;
        self.clocks.begin(header.clocks);
        self.segment = Segment::new(header);
        self.target_sums.iter_mut().for_each(|sums| (sums.idle_ns, sums.shift_ns) = (0, 0));
        Ok(())
    }

    /// Others wrote to its targets since they were prepared: a certification then proves nothing of what was prepared, and any
    /// other run says so.
    pub fn foreign(&mut self, told: Vec<String>) {
        match self.header.step {
            Some(_) => {
                let found = told.into_iter().map(|text| Finding::of_step(Class::Unproven, text, self.number));
                self.findings.extend(found);
            }
            None => told.into_iter().for_each(|text| self.warn(text)),
        }
    }

    /// Lines are missing or unreadable here.
    pub fn damage(&mut self) {
        self.damaged = true;
        self.segment.whole = false;
        self.segment.carried = None;
    }

    /// Adds an interval.
    pub fn interval(&mut self, interval: &Interval) {
        let joins = interval.index == self.segment.next_index;
        if !joins {
            self.missing(interval);
        }
        self.check_times(interval, joins);
        self.segment.next_index = interval.index.saturating_add(1);
        self.segment.found += 1;
        if interval.flows.len() != self.layout.flows.len() {
            let text = format!(
                "the log does not add up: interval {} has figures for {} flows of {}",
                interval.index,
                interval.flows.len(),
                self.layout.flows.len()
            );
            self.spoil(text);
            self.segment.carried = None;
            self.segment.whole = false;
            return;
        }
        let at = self.segment.place(interval, joins);
        self.place_events();
        self.intervals += u64::from(at.is_some_and(|at| !self.layout.drains(at)));
        let carried = self.account(interval);
        self.sum_targets(interval);
        if let Some(at) = at {
            self.measured(at, interval, &carried);
        }
        self.look_at_clocks(interval, at);
        self.spoil_changed();
    }

    /// Intervals follow each other on the run's time line, without overlap or gap, and before the closing line.
    fn check_times(&mut self, interval: &Interval, joins: bool) {
        let tolerance = self.layout.tolerance_ns();
        let before = self.segment.ended_ns.replace(interval.end_ns).filter(|_| joins);
        let apart = before.is_some_and(|ended| ended.abs_diff(interval.start_ns) > tolerance);
        if apart || interval.end_ns < interval.start_ns || self.segment.closed.is_some() {
            let text = format!(
                "the log does not add up: interval {} from {} ns to {} ns does not follow what stands before it",
                interval.index, interval.start_ns, interval.end_ns
            );
            self.spoil(text);
        }
    }

    fn look_at_clocks(&mut self, interval: &Interval, at: Option<u64>) {
        let Some(sample) = interval.clocks else { return };
        match self.clocks.observe(sample, interval.end_ns, at.unwrap_or(self.cursor)) {
            Told::Nothing => {}
            Told::Set(text) => self.warn(text),
            Told::Slept(text) => self.environment(&text),
            Told::Contradiction(what) => {
                self.spoil(format!("the log does not add up: interval {}: {what}", interval.index));
            }
        }
    }

    fn warn(&mut self, text: String) {
        if self.warnings.len() < 20 {
            self.warnings.push(text);
        }
    }

    /// The machine is not what it was: the interval in which that was found, whose line follows, proves nothing.
    fn environment(&mut self, text: &str) {
        self.environment_changes += 1;
        self.changed.get_or_insert_with(|| text.to_owned());
        self.warn(text.to_owned());
    }

    fn spoil_changed(&mut self) {
        if let Some(text) = self.changed.take() {
            self.judged.iter_mut().for_each(|judged| judged.windows.spoil(&text));
        }
    }

    fn missing(&mut self, interval: &Interval) {
        self.segment.whole = false;
        self.segment.carried = None;
        let next = self.segment.next_index;
        if interval.index < next {
            self.spoil(format!("the log does not add up: interval {} comes twice or too late", interval.index));
            return;
        }
        self.judged.iter_mut().for_each(|judged| judged.windows.hole());
        let last = interval.index.saturating_sub(1);
        let text = if next == last {
            format!("interval {next} is missing")
        } else {
            format!("intervals {next} to {last} are missing")
        };
        if !self.findings.iter().any(|finding| finding.class == Class::Missing && finding.text.starts_with("interval"))
        {
            self.findings.push(Finding::of_step(Class::Missing, text, self.number));
        }
    }

    /// Checks the accounting identity; gives what was carried in.
    fn account(&mut self, interval: &Interval) -> Vec<u64> {
        let carried = self.segment.carried.take();
        let mut fault = None;
        for (index, flow) in interval.flows.iter().enumerate() {
            if let Err(why) = adds_up(flow, carried.as_ref().map(|carried| carried[index])) {
                fault.get_or_insert((index, why));
            }
            let segment = &mut self.segment;
            segment.issued = segment.issued.saturating_add(flow.issued);
            let ended = flow.ended();
            segment.completed = segment.completed.saturating_add(ended);
            self.segment.failed.interval(index, flow);
            self.errors(index, interval.start_ns, flow);
            self.integrity.add(flow);
            let (read, seen) = &mut self.looked[index];
            (*read, *seen) = (read.saturating_add(flow.ok), seen.saturating_add(flow.sampled));
            if flow.damaged > 0 && !flow.errors.keys().any(|name| is_damage(name)) {
                let why = format!("{} damaged places and no read that met one", flow.damaged);
                fault.get_or_insert((index, why));
            }
        }
        self.segment.stuck = interval.flows.iter().fold(0, |sum, flow| sum.saturating_add(flow.stuck));
        if let Some((index, why)) = fault {
            let stream = &self.layout.streams[usize::from(self.layout.flows[index].stream)].name;
            let target = self.layout.target_of(index);
            let text = format!("the log does not add up: interval {}, {stream} on {target}: {why}", interval.index);
            self.spoil(text);
        }
        self.segment.carried = Some(interval.flows.iter().map(FlowInterval::carried_out).collect());
        carried.unwrap_or_else(|| vec![0; interval.flows.len()])
    }

    /// An error, a short or a stuck operation decides, in whatever phase; each flow has one finding, which counts on.
    fn errors(&mut self, index: usize, start_ns: u64, flow: &FlowInterval) {
        let next = self.findings.len();
        if !self.failures.contains_key(&index) && !Failures::in_interval(flow) {
            return;
        }
        let failures = self.failures.entry(index).or_insert_with(|| Failures::first(next, start_ns));
        failures.add(flow);
        let stream = self.layout.streams[usize::from(self.layout.flows[index].stream)].name.clone();
        let target = self.layout.target_of(index).to_owned();
        let measured = failures.measured();
        let (at, place) = (Span::from_ns(failures.first_ns).human(), failures.place());
        let rule = failures.rule();
        let text = format!("{stream} on {target}: {measured}{place}, first {at} into the run; {rule}");
        match self.findings.get_mut(failures.finding) {
            Some(finding) => (finding.text, finding.deciding.measured) = (text, Some(measured)),
            None => {
                let place = nowhere(self.number);
                let (start_ns, end_ns) = (self.cursor, self.cursor);
                let (stream, target, measured) = (Some(stream), Some(target), Some(measured));
                let deciding = Deciding { stream, target, measured, start_ns, end_ns, ..place };
                self.findings.push(Finding::new(Class::Errors, text, deciding));
            }
        }
    }

    fn sum_targets(&mut self, interval: &Interval) {
        for (index, sums) in self.target_sums.iter_mut().enumerate() {
            let disk = interval.disks.iter().find(|disk| usize::from(disk.target) == index);
            if let Some(disk) = disk {
                sums.counted = true;
                let count = |operations, bytes| DiskCount { operations, bytes };
                sums.disk.reads = sums.disk.reads.plus(count(disk.reads, disk.read_bytes));
                sums.disk.writes = sums.disk.writes.plus(count(disk.writes, disk.written_bytes));
            }
            for late in interval.lateness.iter().filter(|late| usize::from(late.target) == index) {
                add(&mut sums.idle_ns, late.idle.sum_ns);
                sums.shift_ns = sums.shift_ns.max(late.shift_ns);
            }
            for (head, flow) in self.layout.flows.iter().zip(&interval.flows) {
                if usize::from(head.target) != index {
                    continue;
                }
                let writes = self.layout.streams[usize::from(head.stream)].direction == assay_base::Direction::Write;
                add(if writes { &mut sums.written_bytes } else { &mut sums.read_bytes }, flow.bytes);
                add(&mut sums.sampled, flow.sampled);
                add(&mut sums.blank, flow.blank);
                if disk.is_some() {
                    let own = if writes { &mut sums.disk.own_writes } else { &mut sums.disk.own_reads };
                    *own = own.plus(DiskCount { operations: flow.ended(), bytes: flow.bytes });
                }
            }
        }
    }

    fn measured(&mut self, at: u64, interval: &Interval, carried: &[u64]) {
        let length = interval.end_ns.saturating_sub(interval.start_ns);
        let tolerance = self.layout.tolerance_ns();
        let joins = self.follows && at <= self.cursor.saturating_add(tolerance);
        if at > self.cursor.saturating_add(tolerance) {
            self.judged.iter_mut().for_each(|judged| judged.windows.hole());
        }
        for index in 0..self.judged.len() {
            let ended = self.judged[index].windows.add(at, joins, interval, carried, &self.layout);
            if let Some(window) = ended {
                self.window(index, window);
            }
        }
        self.totals(at, interval);
        self.series.add(at, interval, &self.layout);
        self.steady.add(at, interval, &self.layout);
        if let Some(host) = &interval.host {
            let cost = self.cost.get_or_insert_default();
            add(&mut cost.cpu_ns, host.cpu_ns);
            add(&mut cost.run_queue_ns, host.run_queue_ns);
            add(&mut cost.steal_ns, host.steal_ns);
            add(&mut cost.sampled_ns, length);
            cost.resident_bytes_max = cost.resident_bytes_max.max(host.resident_bytes);
        }
        // What is drained behind the planned end was asked for before it: it is no time in which load was offered.
        if !self.layout.drains(at) || self.measured_ns == 0 {
            add(&mut self.measured_ns, length);
        }
        self.cursor = at.saturating_add(length);
        self.follows = true;
    }

    fn totals(&mut self, at: u64, interval: &Interval) {
        let drains = self.layout.drains(at);
        let mut by_stream = vec![(0u64, 0u64); self.layout.streams.len()];
        for (index, flow) in interval.flows.iter().enumerate() {
            // A bucket that does not exist was reported by the windows.
            let _ = self.totals[index].add_interval(flow);
            if !drains {
                add(&mut self.in_time[index], flow.ok);
            }
            let most = &mut self.maxima[index];
            *most = (most.0.max(flow.in_flight), most.1.max(flow.waiting));
            let sums = &mut by_stream[usize::from(self.layout.flows[index].stream)];
            *sums = (sums.0.saturating_add(flow.in_flight), sums.1.saturating_add(flow.waiting));
        }
        for (most, sums) in self.stream_maxima.iter_mut().zip(by_stream) {
            *most = (most.0.max(sums.0), most.1.max(sums.1));
        }
    }

    fn window(&mut self, index: usize, mut window: Window) {
        let is_slice = index == 0;
        // Windows shorter than a slice rest on the operations in `forgiven` alone: their percentiles mean little.
        if self.judged[index].windows.length_ns() >= self.judged[0].windows.length_ns() {
            self.load.check_own_lag(&mut window, is_slice, &self.layout);
        }
        if is_slice && window.complete && !self.stress {
            self.look_at_rests(&window);
        }
        if !window.complete && self.is_broken_already(index, &window) {
            if is_slice {
                self.keep_slice(&window, false, None);
            }
            return;
        }
        let (mut within, mut pushed) = (true, false);
        for (_, tracker) in &mut self.judged[index].trackers {
            let before = tracker.unproven();
            // In a stress step no criterion applies, and no slice is over for one.
            within &= tracker.observe(&window, &self.layout) || self.stress;
            pushed |= tracker.unproven() > before;
        }
        if let (Some(why), false) = (&window.invalid, is_slice) {
            let text = format!(
                "the window of {} proves nothing: {why}",
                Span::from_ns(self.judged[index].windows.length_ns()).human()
            );
            let known = self.findings.iter().any(|finding| finding.text == text);
            if !known && window.complete {
                self.findings.push(Finding::of_step(Class::Unproven, text, self.number));
            }
        }
        if is_slice {
            let seen = self.load.observe(&window, &self.layout);
            within &= seen.within;
            let flaw = match () {
                () if !within || window.invalid.is_some() => None,
                () if !seen.proves => Some("the load was not offered"),
                () if pushed && self.layout.lateness => Some("the test machine was too late to prove anything"),
                () if pushed => Some("over a bound only by the test machine's own lag"),
                () => None,
            };
            if window.complete && window.invalid.is_none() && flaw.is_none() && !window.repeated {
                self.valid_intervals += window.intervals;
            }
            self.keep_slice(&window, within, flaw);
        }
    }

    /// A window that was cut short and is measured afresh: what it showed stays true.
    fn cut(&mut self, index: usize, window: &Window) {
        if self.is_broken_already(index, window) && index == 0 {
            self.keep_slice(window, false, None);
        }
    }

    /// Whether a window that was cut short broke a criterion, whatever the rest of it would have been. Where the generator held
    /// back too much it proves nothing, as a whole one would.
    fn is_broken_already(&mut self, index: usize, window: &Window) -> bool {
        if self.stress {
            return false;
        }
        let held_back = self.load.is_held_back(window, &self.layout);
        let mut broken = false;
        for (_, tracker) in &mut self.judged[index].trackers {
            let figures = tracker.broken_by(window, &self.layout);
            let Some(figure) = figures.first() else { continue };
            if held_back {
                let text = format!(
                    "{} was {} when it was cut short, but the test machine had issued 1% of all operations too late",
                    tracker.criterion(),
                    figure.text
                );
                self.findings.push(Finding::of_step(Class::Unproven, text, self.number));
            } else {
                broken = true;
                tracker.cut(figures, &self.layout);
            }
        }
        broken
    }

    /// Keeps the worst share of each target, and says once that there was one.
    fn look_at_rests(&mut self, window: &Window) {
        let length = window.end_ns.saturating_sub(window.start_ns);
        for (kept, late) in self.late.iter_mut().zip(&window.late) {
            kept.add(late, length, &self.layout);
        }
        if !self.told_of_rests
            && let Some(text) = lateness::warning(window, &self.layout)
        {
            self.told_of_rests = true;
            self.warn(text);
        }
    }

    /// `flaw`: why it proves nothing, though its window does not say so.
    fn keep_slice(&mut self, window: &Window, within: bool, flaw: Option<&str>) {
        let full = self.slices.len() >= SLICES;
        if full && (within && flaw.is_none() || self.slices.len() >= 2 * SLICES) {
            self.slices_left_out += 1;
            return;
        }
        let length = window.end_ns.saturating_sub(window.start_ns);
        let note = match () {
            () if !window.complete && !within => Some("not complete, and broken already".to_owned()),
            () if !window.complete => Some("not complete, does not count".to_owned()),
            () if flaw.is_some() => flaw.map(str::to_owned),
            () if window.repeated => Some("measured once more".to_owned()),
            () if length < self.judged[0].windows.length_ns() => {
                Some(format!("{} long", Span::from_ns(length).human()))
            }
            () => None,
        };
        self.slices.push(Slice {
            number: window.number,
            start_ns: window.start_ns,
            end_ns: window.end_ns,
            complete: window.complete,
            valid: window.invalid.is_none() && flaw.is_none(),
            within,
            note,
            streams: slice_streams(window, &self.layout),
        });
    }

    /// Adds distributions; those of phases that are not judged are skipped. The error says what is wrong with them.
    pub fn histograms(&mut self, line: &Histograms) -> Result<(), String> {
        let kind = self.segment.phases.get(usize::from(line.phase)).map(|(kind, _)| *kind);
        if kind != Some(PhaseKind::Measure) {
            return Ok(());
        }
        // The line follows its last interval; its middle is taken as its place.
        let back = line.last.saturating_sub(line.first).saturating_mul(self.layout.interval_ns) / 2;
        let at = self.cursor.saturating_sub(back.saturating_add(self.layout.interval_ns));
        for flow in &line.flows {
            let index = usize::from(flow.flow);
            let head = self
                .layout
                .flows
                .get(index)
                .ok_or_else(|| format!("distributions of flow {index}, which is not there"))?;
            let texts = [&flow.response, &flow.service, &flow.lag];
            for ((into, text), overflow) in self.unpacked.iter_mut().zip(texts).zip(flow.overflow) {
                self.unpacker.unpack_into(text, overflow, into)?;
            }
            let times = &self.unpacked;
            let stream = usize::from(head.stream);
            self.series.add_times(at, stream, &times[0]);
            let alone = self.layout.of_stream[stream].len() == 1;
            if !alone && self.layout.flows.len() <= FLOW_TIMES {
                add_times(&mut self.flow_times[index], times);
            }
            add_times(&mut self.stream_times[stream], times);
        }
        Ok(())
    }

    /// Keeps an event.
    pub fn event(&mut self, event: Event) {
        self.integrity.event(&event, &self.layout.targets);
        self.segment.failed.event(&event, self.layout.flows.len());
        match event.what.as_str() {
            "warning" | "environment" => self.warn(event.text.clone()),
            "environment-changed" => self.environment(&event.text),
            "health" => return self.health(event),
            _ => {}
        }
        // The ring was too small, or the kernel looked away: what was not counted proves nothing.
        let lost = |name| event.details.get(name).is_some_and(|n: &String| n != "0");
        if event.what == "engine-health" && (lost("submissions_dropped") || lost("completions_overflowed")) {
            let text = format!("the engine lost count of its operations: {}", event.text);
            self.findings.push(Finding::new(Class::Unproven, text, nowhere(self.number)));
        }
        if let Some(waited) = &mut self.segment.waited {
            match event.what.as_str() {
                "steady" => *waited = Waited::Steady,
                "not-steady" => *waited = Waited::Not(event.text.clone()),
                _ => {}
            }
        }
        if self.events.len() < EVENTS {
            self.events.push(event);
        } else {
            self.events_left_out += 1;
        }
    }

    /// What a target says of its own health: the first time is before, the last is after. It grows no list, and more damage
    /// to its medium than before is an error of the device.
    fn health(&mut self, mut event: Event) {
        let target = event.details.remove("target").and_then(|index| index.parse::<usize>().ok());
        let Some((target, health)) = target.and_then(|at| Some((at, self.health.get_mut(at)?))) else { return };
        let health =
            health.get_or_insert_with(|| Health { before: event.details.clone(), after: event.details.clone() });
        health.after = event.details;
        let errors = |of: &BTreeMap<String, String>| of.get("media errors").and_then(|n| n.parse::<u128>().ok());
        let (Some(before), Some(after)) = (errors(&health.before), errors(&health.after)) else { return };
        if after > before {
            let name = &self.header.targets[target].name;
            let text = format!("{name} reports {after} media errors, {before} before the run");
            self.findings.push(Finding::of_step(Class::Errors, text, self.number));
        }
    }

    /// Moves events from the run's time line into measured time. An interval's line follows its events, so that they are
    /// placed by it; what happened in a warm-up stands at the beginning of what it warmed up for.
    fn place_events(&mut self) {
        for event in &mut self.events[self.unplaced..] {
            // Written by a run that continues the log, before its own header: it knows no place.
            let knows = event.what != "torn-tail";
            let at = self.segment.measured_at(event.at_ns).filter(|_| knows);
            event.at_ns = at.unwrap_or(self.cursor);
        }
        self.unplaced = self.events.len();
    }

    /// Ends a segment.
    pub fn close(&mut self, close: Close) {
        self.segment.closed = Some(close);
    }

    /// What failed in intervals that the log lost, as far as events tell of it: that decides as well as what was counted.
    fn count_told(&mut self) {
        let (uncounted, lost) = std::mem::take(&mut self.segment.failed).end();
        for Uncounted { flow, first_ns, interval } in uncounted {
            if flow >= self.layout.flows.len() {
                let text = "an operation failed, of no stream that the log names";
                self.findings.push(Finding::of_step(Class::Errors, text, self.number));
                continue;
            }
            self.errors(flow, first_ns, &interval);
            self.integrity.add(&interval);
            if self.segment.is_measured(first_ns) {
                self.totals[flow].add_failures(&interval);
            }
        }
        if let Some(told) = lost.filter(|_| self.segment.closed.is_none()) {
            self.findings.push(Finding::of_step(Class::Errors, format!("the target was lost: {told}"), self.number));
        }
    }

    /// What a segment's end says, and whether its closing line agrees with what was found.
    fn check_segment(&mut self) {
        self.place_events();
        self.count_told();
        self.check_steady();
        let Some(close) = self.segment.closed.take() else { return };
        let told = if close.text.is_empty() { String::new() } else { format!(": {}", close.text) };
        let finding = match close.reason {
            CloseReason::TargetLost => Some((Class::Errors, format!("the target was lost{told}"))),
            CloseReason::DeviceLag if self.segment.issued == 0 => {
                Some((Class::Unproven, format!("nothing was issued before the schedule fell behind{told}")))
            }
            CloseReason::DeviceLag if self.generator_behind_ns().saturating_mul(2) > self.header.max_lag_ns => {
                let behind = Span::from_ns(self.generator_behind_ns()).human();
                let text =
                    format!("the schedule fell behind, by up to {behind} because the test machine was late{told}");
                Some((Class::Unproven, text))
            }
            CloseReason::DeviceLag => Some((
                Class::Broken,
                format!("the load was not held: the device was too slow, and the schedule fell behind{told}"),
            )),
            CloseReason::GeneratorLag => {
                Some((Class::Unproven, format!("the test machine was too slow and let the schedule fall behind{told}")))
            }
            CloseReason::EngineFailed => Some((Class::Unproven, format!("the engine failed{told}"))),
            CloseReason::Completed | CloseReason::Interrupted | CloseReason::LogFailed => None,
        };
        if let Some((class, text)) = finding {
            let mut deciding = nowhere(self.number);
            (deciding.start_ns, deciding.end_ns) = (self.cursor, self.cursor);
            self.findings.push(Finding::new(class, text, deciding));
        }
        let late =
            self.segment.ended_ns.is_some_and(|ended| ended > close.at_ns.saturating_add(self.layout.tolerance_ns()));
        if late {
            self.spoil(format!(
                "the log does not add up: the run was closed at {} ns, before its last interval ended",
                close.at_ns
            ));
        }
        let segment = &self.segment;
        if close.intervals != segment.found && !self.damaged {
            let text = format!("the closing line speaks of {} intervals, {} are there", close.intervals, segment.found);
            self.findings.push(Finding::of_step(Class::Missing, text, self.number));
        } else if segment.whole
            && (close.issued, close.completed, close.stuck) != (segment.issued, segment.completed, segment.stuck)
        {
            let text = format!(
                "the log does not add up: the closing line speaks of {} issued, {} completed, {} stuck; the intervals of {}, {}, {}",
                close.issued, close.completed, close.stuck, segment.issued, segment.completed, segment.stuck
            );
            self.contradictions += 1;
            self.findings.push(Finding::of_step(Class::Unproven, text, self.number));
        }
        self.segment.closed = Some(close);
    }

    /// How far the generator may have put the schedule of a target behind in this segment, where that is counted.
    fn generator_behind_ns(&self) -> u64 {
        let behind = self.target_sums.iter().map(|sums| sums.idle_ns.saturating_add(sums.shift_ns)).max();
        behind.filter(|_| self.layout.lateness).unwrap_or(0)
    }

    /// A certification that was to begin with a steady load and did not proves nothing; any other run says so.
    fn check_steady(&mut self) {
        if !self.segment.measured {
            return;
        }
        let why = match self.segment.waited.take() {
            None | Some(Waited::Steady) => return,
            Some(Waited::Not(why)) => why,
            Some(Waited::Untold) => "the log does not say that it was".to_owned(),
        };
        if self.header.step.is_some() {
            let text = format!("never reached a steady state before it was measured: {why}");
            self.findings.push(Finding::of_step(Class::Unproven, text, self.number));
        } else {
            self.warnings.push(format!("measured without having reached a steady state: {why}"));
        }
    }

    /// Something in the log contradicts itself: what is open proves nothing.
    fn spoil(&mut self, text: String) {
        self.contradictions += 1;
        self.judged.iter_mut().for_each(|judged| judged.windows.spoil(&text));
        let known = self.findings.iter().any(|finding| finding.text.starts_with("the log does not add up"));
        if !known {
            let mut deciding = nowhere(self.number);
            (deciding.start_ns, deciding.end_ns) = (self.cursor, self.cursor);
            self.findings.push(Finding::new(Class::Unproven, text, deciding));
        }
    }

    /// Ends the step: closes what is open and says how the last segment ended.
    pub(crate) fn end(&mut self) -> Option<CloseReason> {
        self.spoil_changed();
        for index in 0..self.judged.len() {
            if let Some(window) = self.judged[index].windows.close(&self.layout) {
                self.window(index, window);
            }
        }
        self.check_segment();
        self.segment.closed.as_ref().map(|close| close.reason)
    }

    /// What the criteria found in the windows that have ended. In a stress step they do not count.
    pub(crate) fn of_criteria(&self) -> Vec<Finding> {
        let judged = self.judged.iter().filter(|_| !self.stress);
        let of_one = judged.flat_map(|judged| {
            let planned = judged.windows.planned();
            judged.trackers.iter().flat_map(move |(_, tracker)| tracker.findings(planned, self.number))
        });
        of_one.collect()
    }

    /// Whether what was found so far makes the step FAIL, if nothing else is found.
    pub(crate) fn fails_already(&self) -> bool {
        let mut found = self.of_criteria();
        found.extend(self.findings.iter().chain(&self.load.findings).cloned());
        if found.is_empty() {
            return false;
        }
        // What outweighs it is known from the first operations on: that something stands between the run and the device.
        found.extend(disk::check(&targets(self), self.number).0);
        deciding(&found).map(Finding::verdict) == Some(Verdict::Fail)
    }

    /// What the last segment's closing line says.
    pub(crate) fn closing_text(&self) -> String {
        self.segment.closed.as_ref().map(|close| close.text.clone()).unwrap_or_default()
    }

    /// Measured time that has been reached.
    pub(crate) fn reached_ns(&self) -> u64 {
        self.cursor
    }
}

/// The windows that are needed: the slices first, then each other length that a criterion asks for.
fn windows_of(criteria: &[Criterion], slice_ns: u64, options: &Options, layout: &Layout) -> Vec<Judged> {
    let fresh = |length: Option<u64>| Judged { windows: Windows::new(length, layout.planned_ns), trackers: Vec::new() };
    let mut keys = vec![Some(slice_ns.max(layout.interval_ns))];
    let mut judged = vec![fresh(keys[0])];
    for (order, criterion) in criteria.iter().enumerate() {
        let asked = criterion.window.map(Span::as_ns);
        let key = asked.map(|ns| ns.max(layout.interval_ns));
        let index = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
            keys.push(key);
            judged.push(fresh(key));
            judged.len() - 1
        });
        let length = judged[index].windows.length_ns();
        let human = |ns| Span::from_ns(ns).human();
        let note = match asked {
            Some(asked) if asked > length => Some(format!("judged over {}, the whole measured time", human(length))),
            Some(asked) if asked < length => Some(format!("judged per {}, the length of an interval", human(length))),
            _ => None,
        };
        let tracker = Tracker::new(criterion, options.judge_on, length, note, layout).in_own_window(index > 0);
        judged[index].trackers.push((order, tracker));
    }
    judged
}

fn slice_streams(window: &Window, layout: &Layout) -> Vec<SliceStream> {
    let entry = |stream: usize, target: Option<&str>, cell: &Cell| SliceStream {
        stream: layout.streams[stream].name.clone(),
        target: target.map(str::to_owned),
        counts: cell.counts(),
        response: cell.response.slice_times(&layout.thresholds, &layout.shown),
        service: cell.service.slice_times(&layout.thresholds, &layout.shown),
        own_lag_p99_below_ns: cell.own_lag.p99_between(&layout.thresholds).and_then(|(_, upper)| upper),
    };
    let mut entries = Vec::new();
    for (stream, flows) in layout.of_stream.iter().enumerate() {
        if flows.len() != 1 {
            entries.push(entry(stream, None, &window.streams[stream]));
        }
        entries.extend(flows.iter().map(|&flow| entry(stream, Some(layout.target_of(flow)), &window.flows[flow])));
    }
    entries
}

fn add_times(sum: &mut Option<[Times; 3]>, times: &[Filled; 3]) {
    let sum = sum.get_or_insert_with(Default::default);
    sum.iter_mut().zip(times).for_each(|(sum, times)| sum.add_filled(times));
}

fn add(sum: &mut u64, n: u64) {
    *sum = sum.saturating_add(n);
}

/// How a segment ended, in words.
pub(crate) fn ended(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::Completed => "completed",
        CloseReason::Interrupted => "interrupted",
        CloseReason::DeviceLag => "stopped, the device fell behind",
        CloseReason::GeneratorLag => "stopped, the generator fell behind",
        CloseReason::TargetLost => "stopped, the target was lost",
        CloseReason::LogFailed => "stopped, the log could not be kept",
        CloseReason::EngineFailed => "stopped, the engine failed",
    }
}
