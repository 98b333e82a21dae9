//! The parts into which marks divide a step: each is summed and judged by itself.
//!
//! A mark stands in the log behind the interval that was written last, and a part begins with the next one: it consists of whole
//! intervals, and the parts add up to the step. The windows of a part begin where it begins; the last one ends with it. The step as
//! a whole keeps its own slices, whatever is marked, for the criteria that must hold in every part. So a mark can make a verdict only
//! more severe, except where the criteria of the run name the parts in which they hold.

use crate::finding::Finding;
use crate::finding::criterion::{CriterionFinding, What};
use crate::finding::flaw::Flaw;
use crate::fold::counters::Counters;
use crate::fold::layout::Layout;
use crate::fold::part_windows::{EndedStretch, JudgedPart, PartRules, join_outcomes, severity_of};
use crate::fold::placement::Placed;
use crate::fold::recovery::{Level, Recovery};
use crate::fold::slices::{SeenWindow, Slices};
use crate::fold::times::summarize_times;
use crate::fold::totals::Totals;
use crate::judgement::{CriterionOutcome, PartFigures, PartStream, part_in_words};
use crate::options::Options;
use crate::rules::gauge::Scope;
use assay_base::{Bound, Criterion, MarkedPart};
use assay_record::{Event, Header, PART};

/// The most parts of a step: a log may claim anything.
const MOST_PARTS: usize = 1000;

/// One part while the log is read.
#[derive(Clone, Debug)]
struct Part {
    kind: MarkedPart,
    text: String,
    start_ns: u64,
    /// Where its last interval ends in measured time.
    end_ns: u64,
    measured_ns: u64,
    /// Each stream over all its targets, and how many of its operations completed within the planned time.
    streams: Vec<(Counters, u64)>,
    /// What was found in the stretches of it that were judged.
    load: Vec<CriterionOutcome>,
    criteria: Vec<(usize, CriterionOutcome)>,
    recovery: Option<Recovery>,
}

/// The parts of a step. There are none until a mark divides it, unless its criteria name parts.
#[derive(Clone, Debug)]
pub(crate) struct MarkedPartsFold {
    step: u32,
    rules: PartRules,
    /// How long the disturbed part goes on, for the criteria, after the mark that ends it.
    allowed_ns: u64,
    parts: Vec<Part>,
    /// What is being judged; nothing where nothing is asked of the part.
    judged: Option<JudgedPart>,
    /// As what the time is judged, unless a disturbed part goes on for the criteria.
    present: MarkedPart,
    /// Where the recovered part begins for the criteria, while a disturbed one goes on for them.
    recovers_at_ns: Option<u64>,
    findings: Vec<Finding>,
}

impl MarkedPartsFold {
    /// The state before the first interval.
    pub(crate) fn new(
        step: u32,
        header: &Header,
        criteria: &[Criterion],
        options: &Options,
        layout: &Layout,
    ) -> MarkedPartsFold {
        let mut fold = MarkedPartsFold {
            step,
            rules: PartRules::new(step, header, criteria, options),
            allowed_ns: layout.plan.recovery_at_most.as_ns(),
            parts: Vec::new(),
            judged: None,
            present: MarkedPart::Healthy,
            recovers_at_ns: None,
            findings: Vec::new(),
        };
        if fold.rules.name_parts() {
            let begin_ns = header.measured_before_ns;
            fold.add_part(MarkedPart::Healthy, String::new(), begin_ns, layout);
            fold.judge_as(MarkedPart::Healthy, begin_ns, layout);
        }
        fold
    }

    /// Whether the load is asked for in some parts only, so that it is judged there and not over the whole step.
    pub(crate) fn have_the_load(&self) -> bool {
        !self.rules.load_in().is_every()
    }

    /// As what the time from a moment on is judged, which is not before what was measured last.
    pub(crate) fn kind_at(&self, at_ns: u64) -> MarkedPart {
        let goes_on = self.recovers_at_ns.is_some_and(|recovers_at_ns| at_ns < recovers_at_ns);
        if goes_on { MarkedPart::Disturbed } else { self.present }
    }

    /// Whether the load is asked for from a moment on.
    pub(crate) fn ask_for_load_at(&self, at_ns: u64) -> bool {
        self.rules.load_in().has_part(self.kind_at(at_ns))
    }

    fn add_part(&mut self, kind: MarkedPart, text: String, start_ns: u64, layout: &Layout) {
        let counters = (Counters::new(layout.times.thresholds.bucket_count()), 0);
        self.parts.push(Part {
            kind,
            text,
            start_ns,
            end_ns: start_ns,
            measured_ns: 0,
            streams: vec![counters; layout.streams.len()],
            load: Vec::new(),
            criteria: Vec::new(),
            recovery: None,
        });
    }

    /// Begins a stretch of the last part.
    fn judge_as(&mut self, kind: MarkedPart, begins_ns: u64, layout: &Layout) {
        let part = self.parts.len() - 1;
        let slices = self.rules.ask_for(kind).then(|| self.rules.windows_of(kind, begins_ns, false, layout));
        self.judged = slices.map(|slices| JudgedPart::new(part, kind, slices, self.step));
    }

    /// A mark divides the step at `at_ns` of measured time. The error says why it cannot.
    pub(crate) fn begin_part(&mut self, event: &Event, at_ns: u64, so_far: &WholeStep<'_>) -> Result<(), String> {
        let layout = so_far.layout;
        let named = event.details.get(PART).ok_or("a mark without a part")?;
        let kind: MarkedPart = named.parse()?;
        if self.parts.len() >= MOST_PARTS {
            return Err(format!("more than {MOST_PARTS} marks"));
        }
        if self.parts.is_empty() {
            self.take_first_part(so_far);
        }
        self.end_recovery(layout);
        let healthy = self.healthy_level();
        self.add_part(kind, event.text.clone(), at_ns, layout);
        // What completes while the run drains belongs to what was measured last, and is judged as that was.
        if layout.is_draining_at(at_ns) {
            return Ok(());
        }
        let was_recovering_to = self.recovers_at_ns.filter(|recovers_at_ns| at_ns < *recovers_at_ns);
        // Nobody is given time for a recovery from nothing, or twice for the same one.
        self.recovers_at_ns = match (kind, self.present) {
            (MarkedPart::Recovered, MarkedPart::Disturbed) => Some(at_ns.saturating_add(self.allowed_ns)),
            (MarkedPart::Recovered, MarkedPart::Recovered) => was_recovering_to,
            _ => None,
        }
        .filter(|recovers_at_ns| at_ns < *recovers_at_ns);
        self.present = kind;
        let allowed_ns = self.recovers_at_ns.map_or(0, |recovers_at_ns| recovers_at_ns - at_ns);
        let judged_as = self.kind_at(at_ns);
        let goes_on = allowed_ns > 0 && self.judged.as_ref().is_some_and(|judged| judged.kind == judged_as);
        if !goes_on {
            self.end_stretch(Some(at_ns), layout);
            self.judge_as(judged_as, at_ns, layout);
        }
        if kind == MarkedPart::Recovered {
            let intervals = self.rules.ask_for(kind).then(|| self.rules.windows_of(kind, at_ns, true, layout));
            let recovery = Recovery::new(at_ns, allowed_ns, intervals, healthy);
            self.last_part_mut().recovery = Some(recovery);
        }
        Ok(())
    }

    fn last_part_mut(&mut self) -> &mut Part {
        self.parts.last_mut().expect("a step that is divided has a part")
    }

    /// What came before the first mark is the first part.
    fn take_first_part(&mut self, so_far: &WholeStep<'_>) {
        let WholeStep { slices, totals, layout } = *so_far;
        self.add_part(MarkedPart::Healthy, String::new(), 0, layout);
        let has_intervals = totals.measured_ns > 0;
        let part = self.last_part_mut();
        part.measured_ns = totals.measured_ns;
        part.end_ns = totals.measured_ns;
        for (flow, head) in totals.flows.iter().zip(&layout.flows) {
            let (counters, in_time) = &mut part.streams[usize::from(head.stream)];
            counters.merge_flow(&flow.cell);
            *in_time = in_time.saturating_add(flow.in_time);
        }
        self.judged = Some(JudgedPart::begun_with_step(slices, has_intervals, self.step));
    }

    /// What the healthy parts did so far.
    fn healthy_level(&self) -> Option<Level> {
        let mut level = None;
        for part in self.parts.iter().filter(|part| part.kind == MarkedPart::Healthy) {
            let level = level.get_or_insert_with(Level::default);
            let streams = part.streams.iter();
            streams.for_each(|(counters, _)| level.add(counters.work.ok, counters.response.sum_ns, 0));
            level.add(0, 0, part.measured_ns);
        }
        level
    }

    /// Adds an interval.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let Some(part) = self.parts.last_mut() else { return };
        part.add_interval(placed, layout);
        if let Some(recovery) = &mut part.recovery {
            recovery.add_interval(placed, layout);
        }
        // What drains is no part of its own.
        let begins = |at_ns: &u64| placed.at_ns >= *at_ns && !layout.is_draining_at(placed.at_ns);
        if let Some(at_ns) = self.recovers_at_ns.filter(begins) {
            self.begin_recovered(at_ns.max(placed.at_ns), layout);
        }
        let Some(judged) = &mut self.judged else { return };
        let (kind, seen) = (judged.kind, judged.add_interval(placed, layout));
        self.show_to_recovery(kind, &seen);
    }

    /// The time that is allowed for the recovery is over.
    fn begin_recovered(&mut self, at_ns: u64, layout: &Layout) {
        self.recovers_at_ns = None;
        if let Some(recovery) = &mut self.last_part_mut().recovery {
            recovery.end_allowance();
        }
        self.end_stretch(Some(at_ns), layout);
        self.judge_as(MarkedPart::Recovered, at_ns, layout);
    }

    fn show_to_recovery(&mut self, kind: MarkedPart, seen: &[SeenWindow]) {
        let recovery = self.parts.last_mut().and_then(|part| part.recovery.as_mut());
        if let Some(recovery) = recovery.filter(|_| kind == MarkedPart::Recovered) {
            recovery.see_windows(seen);
        }
    }

    /// The intervals of a recovery end before its windows do.
    fn end_recovery(&mut self, layout: &Layout) {
        let within = self.recovers_at_ns.is_some();
        let Some(recovery) = self.parts.last_mut().and_then(|part| part.recovery.as_mut()) else { return };
        recovery.end_intervals(layout);
        if within {
            recovery.end_allowance();
        }
    }

    /// Ends what is being judged, at a mark or where nothing follows.
    fn end_stretch(&mut self, at_ns: Option<u64>, layout: &Layout) {
        let Some(judged) = self.judged.take() else { return };
        let kind = judged.kind;
        let Some(ended) = judged.end_stretch(at_ns, &self.rules, layout) else { return };
        let EndedStretch { part, load, criteria, findings, seen } = ended;
        let said = part_in_words(part + 1, self.parts[part].kind, &self.parts[part].text);
        self.findings.extend(findings.into_iter().map(|finding| finding.within_part(&said)));
        self.parts[part].load.extend(load);
        self.parts[part].criteria.extend(criteria);
        // A stretch ends before the next part begins, or just after: it is shown to the recovery that it belongs to.
        if let Some(recovery) = self.parts[part].recovery.as_mut().filter(|_| kind == MarkedPart::Recovered) {
            recovery.see_windows(&seen);
        }
    }

    /// Something is missing after what was added last.
    pub(crate) fn note_hole(&mut self) {
        if let Some(judged) = &mut self.judged {
            judged.windows_mut().note_hole();
        }
    }

    /// Marks the open windows as invalid, and says why.
    pub(crate) fn spoil_open_windows(&mut self, why: &Flaw) {
        if let Some(judged) = &mut self.judged {
            judged.windows_mut().spoil_open_windows(why);
        }
    }

    /// The run continues at `at_ns` after an interruption at `from_ns`, in the part in which it was. What was measured of a window is
    /// judged as it is; the windows begin anew.
    pub(crate) fn resume_after_gap(&mut self, from_ns: u64, at_ns: u64, layout: &Layout) {
        if self.parts.is_empty() {
            return;
        }
        if let Some(recovery) = &mut self.last_part_mut().recovery {
            recovery.note_interruption();
        }
        let kind = self.kind_at(at_ns);
        self.end_stretch(Some(from_ns), layout);
        self.judge_as(kind, at_ns, layout);
    }

    /// The measured time ended as planned, earlier than it could have.
    pub(crate) fn ends_at(&mut self, at_ns: u64) {
        if let Some(judged) = &mut self.judged {
            judged.windows_mut().ends_at(at_ns);
        }
    }

    /// Ends the last part.
    pub(crate) fn close_open_windows(&mut self, layout: &Layout) {
        self.end_recovery(layout);
        self.end_stretch(None, layout);
    }

    /// What was found so far, also in windows of the part that goes on.
    pub(crate) fn findings_so_far(&self) -> Vec<Finding> {
        let mut findings = self.findings.clone();
        if let Some(judged) = &self.judged {
            let part = &self.parts[judged.part];
            let said = part_in_words(judged.part + 1, part.kind, &part.text);
            findings.extend(judged.findings_so_far().into_iter().map(|finding| finding.within_part(&said)));
        }
        findings
    }

    /// The reasons against PASS; `completed` says whether the run ended as planned, so that nothing more can come.
    pub(crate) fn take_findings(&mut self, completed: bool, layout: &Layout) -> Vec<Finding> {
        let mut findings = std::mem::take(&mut self.findings);
        let naming = self.rules.criteria().iter().enumerate().filter(|(_, criterion)| !criterion.parts.is_every());
        for (order, criterion) in naming {
            let unknown = Scope::from_name(&criterion.stream, layout).is_none();
            let what = if unknown { Some(What::NoStream) } else { self.lacking_part(order, criterion) };
            let found = what.filter(|_| unknown || completed && !matches!(criterion.bound, Bound::ErrorsAtMost(_)));
            let found = found.map(|what| CriterionFinding { criterion: criterion.clone(), what });
            findings.extend(found.map(|found| Finding::of_step(found, self.step)));
        }
        findings
    }

    /// The first part that a criterion names and in which it was not judged.
    fn lacking_part(&self, order: usize, criterion: &Criterion) -> Option<What> {
        let mut named = criterion.parts.in_order();
        let lacking = named.find(|kind| !self.parts.iter().any(|part| part.kind == *kind && part.has_judged(order)))?;
        let was_there = self.parts.iter().any(|part| part.kind == lacking && !part.criteria.is_empty());
        Some(if was_there { What::NotJudged } else { What::NotMarked(lacking) })
    }

    /// The outcome of a criterion that names parts, over all of them.
    pub(crate) fn outcome_of_criterion(&self, order: usize, completed: bool, layout: &Layout) -> CriterionOutcome {
        let all = self.parts.iter().flat_map(|part| &part.criteria).filter(|(at, _)| *at == order);
        let outcomes: Vec<&CriterionOutcome> = all.map(|(_, outcome)| outcome).collect();
        join_outcomes(&outcomes).unwrap_or_else(|| self.rules.outcome_without_part(order, completed, layout))
    }

    /// The places of the criteria that name parts.
    pub(crate) fn naming_criteria(&self) -> Vec<usize> {
        let all = self.rules.criteria().iter().enumerate();
        all.filter(|(_, criterion)| !criterion.parts.is_every()).map(|(order, _)| order).collect()
    }

    /// The outcome of the load, where it is asked for in some parts only; nothing where it was judged in none.
    pub(crate) fn outcome_of_load(&self) -> Option<CriterionOutcome> {
        join_outcomes(&self.parts.iter().flat_map(|part| &part.load).collect::<Vec<_>>())
    }

    /// The figures.
    pub(crate) fn finish(self, layout: &Layout) -> Vec<PartFigures> {
        self.parts.iter().map(|part| part.figures(layout)).collect()
    }
}

/// What a step is made of so far: the first part of it, when a mark ends it.
pub(crate) struct WholeStep<'a> {
    pub(crate) slices: &'a Slices,
    pub(crate) totals: &'a Totals,
    pub(crate) layout: &'a Layout,
}

impl Part {
    fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let drains = layout.is_draining_at(placed.at_ns);
        if !drains {
            self.measured_ns = self.measured_ns.saturating_add(placed.length_ns());
            self.end_ns = placed.at_ns.saturating_add(placed.length_ns());
        }
        for (flow, head) in placed.interval.flows.iter().zip(&layout.flows) {
            let (counters, in_time) = &mut self.streams[usize::from(head.stream)];
            // The windows reported a bucket that does not exist.
            let _ = counters.add_interval(flow);
            if !drains {
                *in_time = in_time.saturating_add(flow.ok);
            }
        }
    }

    /// Whether a criterion was judged in it.
    fn has_judged(&self, order: usize) -> bool {
        self.criteria.iter().any(|(at, outcome)| *at == order && outcome.windows > 0)
    }

    fn figures(&self, layout: &Layout) -> PartFigures {
        let mut orders: Vec<usize> = self.criteria.iter().map(|(order, _)| *order).collect();
        orders.sort_unstable();
        orders.dedup();
        let of_criteria = orders.into_iter().filter_map(|order| {
            let own = self.criteria.iter().filter(|(at, _)| *at == order);
            join_outcomes(&own.map(|(_, outcome)| outcome).collect::<Vec<_>>())
        });
        let load = join_outcomes(&self.load.iter().collect::<Vec<_>>());
        let criteria: Vec<CriterionOutcome> = load.into_iter().chain(of_criteria).collect();
        let streams = self.streams.iter().zip(&layout.streams);
        PartFigures {
            kind: self.kind,
            text: self.text.clone(),
            start_ns: self.start_ns,
            measured_ns: self.measured_ns,
            outcome: criteria.iter().map(|outcome| outcome.outcome).max_by_key(|outcome| severity_of(*outcome)),
            criteria,
            streams: streams
                .map(|((counters, in_time), stream)| PartStream {
                    name: stream.head.name.clone(),
                    operations: counters.work.ok,
                    bytes: counters.work.bytes,
                    failed: counters.failed_operations().saturating_add(counters.work.short),
                    rate_achieved: (self.measured_ns > 0).then(|| *in_time as f64 * 1e9 / self.measured_ns as f64),
                    response: summarize_times(&counters.response, None, layout),
                    response_p99_below_ns: counters
                        .response
                        .p99_between(&layout.times.thresholds)
                        .and_then(|(_, upper)| upper),
                })
                .collect(),
            recovery: self
                .recovery
                .as_ref()
                .filter(|_| self.measured_ns > 0)
                .map(|recovery| recovery.finish(self.end_ns, layout)),
        }
    }
}
