//! The windows of one part of a run, judged by themselves: by the same rules as a whole step, from the mark on.

use crate::finding::criterion::What;
use crate::finding::{Finding, FindingKind};
use crate::fold::layout::Layout;
use crate::fold::notes::Notes;
use crate::fold::placement::Placed;
use crate::fold::slices::{JudgedStretch, SeenWindow, Slices};
use crate::judgement::{CriterionOutcome, Outcome};
use crate::options::Options;
use crate::rules::criterion::{Over, Tracker};
use assay_base::{Bound, Criterion, MarkedPart, MarkedParts};
use assay_record::Header;

/// Which criteria are judged in which parts.
#[derive(Clone, Debug)]
pub(crate) struct PartRules {
    step: u32,
    header: Header,
    options: Options,
    criteria: Vec<Criterion>,
    /// The parts in which the load must be delivered.
    load_in: MarkedParts,
}

impl PartRules {
    /// The rules of a step that is judged by these criteria.
    pub(crate) fn new(step: u32, header: &Header, criteria: &[Criterion], options: &Options) -> PartRules {
        // What windows are made of; the plan is not needed.
        let header = Header { plan: serde_json::Value::Null, ..header.clone() };
        let (options, criteria) = (options.clone(), criteria.to_vec());
        PartRules { step, header, options, load_in: parts_with_load(&criteria), criteria }
    }

    /// Whether some criterion names parts, so that each is judged from the beginning on.
    pub(crate) fn name_parts(&self) -> bool {
        self.criteria.iter().any(|criterion| !criterion.parts.is_every())
    }

    /// The parts in which the load must be delivered.
    pub(crate) fn load_in(&self) -> MarkedParts {
        self.load_in
    }

    /// Whether anything is asked of a part.
    pub(crate) fn ask_for(&self, kind: MarkedPart) -> bool {
        self.load_in.has_part(kind) || self.criteria.iter().any(|criterion| criterion.parts.has_part(kind))
    }

    /// The criteria, in their order.
    pub(crate) fn criteria(&self) -> &[Criterion] {
        &self.criteria
    }

    /// Windows of a part of this kind, from `begins_ns` on.
    pub(crate) fn windows_of(&self, kind: MarkedPart, begins_ns: u64, by_interval: bool, layout: &Layout) -> Slices {
        let stretch = JudgedStretch { begins_ns, part: Some(kind), by_interval };
        let mut slices = Slices::of_stretch(self.step, &self.header, &self.criteria, &self.options, stretch, layout);
        if !self.load_in.has_part(kind) {
            slices.note_unasked(u64::MAX);
        }
        slices
    }

    /// The outcome of a criterion that was judged nowhere.
    pub(crate) fn outcome_without_part(&self, order: usize, completed: bool, layout: &Layout) -> CriterionOutcome {
        let criterion = self.criteria[order].clone();
        let allows = matches!(criterion.bound, Bound::ErrorsAtMost(_));
        let over = Over { window_ns: self.header.slice_ns, own: false, note: None };
        let outcome = Tracker::new(criterion, over, layout).final_outcome(1, allows);
        match outcome.outcome {
            Outcome::Incomplete if completed => CriterionOutcome { outcome: Outcome::Invalid, ..outcome },
            _ => outcome,
        }
    }
}

/// The parts in which the load must be delivered: those that a criterion on times or work names. One on errors allows something, and
/// asks for nothing.
fn parts_with_load(criteria: &[Criterion]) -> MarkedParts {
    let asking = criteria.iter().filter(|criterion| !matches!(criterion.bound, Bound::ErrorsAtMost(_)));
    let named = asking.fold(MarkedParts::NONE, |sum, criterion| sum.joined_with(criterion.parts));
    if named == MarkedParts::NONE { MarkedParts::EVERY } else { named }
}

/// A stretch that is being judged.
#[derive(Clone, Debug)]
pub(crate) struct JudgedPart {
    /// The part to which its outcome belongs, by its index.
    pub(crate) part: usize,
    /// As what it is judged.
    pub(crate) kind: MarkedPart,
    slices: Slices,
    notes: Notes,
    /// Whether anything was measured in it.
    has_intervals: bool,
}

/// What was found in a stretch that has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndedStretch {
    /// The part to which it belongs, by its index.
    pub(crate) part: usize,
    /// The outcome of the load, where it is asked for.
    pub(crate) load: Option<CriterionOutcome>,
    /// The outcome of each criterion, with its place among all.
    pub(crate) criteria: Vec<(usize, CriterionOutcome)>,
    /// The reasons against PASS.
    pub(crate) findings: Vec<Finding>,
    /// The windows that were judged last.
    pub(crate) seen: Vec<SeenWindow>,
}

impl JudgedPart {
    /// A stretch of a part, from its first interval on.
    pub(crate) fn new(part: usize, kind: MarkedPart, slices: Slices, step: u32) -> JudgedPart {
        JudgedPart { part, kind, slices, notes: Notes::new(step), has_intervals: false }
    }

    /// The part with which the step began, whose windows are those of the step so far.
    pub(crate) fn begun_with_step(slices: &Slices, has_intervals: bool, step: u32) -> JudgedPart {
        let kind = MarkedPart::Healthy;
        JudgedPart { has_intervals, ..JudgedPart::new(0, kind, slices.as_part(kind), step) }
    }

    /// Adds an interval, and returns the windows that have ended with it. In a disturbed part others are at work on purpose: what
    /// they do there excuses nothing.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout) -> Vec<SeenWindow> {
        self.has_intervals = true;
        let disturbed = placed.disturbed.filter(|_| self.kind != MarkedPart::Disturbed);
        self.slices.add_interval(&Placed { disturbed, ..*placed }, layout, &mut self.notes);
        self.slices.take_seen()
    }

    /// The windows, for what happens to all windows alike.
    pub(crate) fn windows_mut(&mut self) -> &mut Slices {
        &mut self.slices
    }

    /// What speaks against PASS so far.
    pub(crate) fn findings_so_far(&self) -> Vec<Finding> {
        self.slices.of_criteria().into_iter().chain(self.slices.load.findings.iter().cloned()).filter(decides).collect()
    }

    /// Ends it; `at_ns` is the mark that ends it, if one does. Nothing where nothing was measured in it.
    pub(crate) fn end_stretch(
        mut self,
        at_ns: Option<u64>,
        rules: &PartRules,
        layout: &Layout,
    ) -> Option<EndedStretch> {
        if !self.has_intervals {
            return None;
        }
        if let Some(at_ns) = at_ns {
            self.slices.ends_at(at_ns);
        }
        self.slices.close_open_windows(layout, &mut self.notes);
        let seen = self.slices.take_seen();
        let mut findings = std::mem::take(&mut self.notes.findings);
        findings.extend(self.slices.of_criteria());
        findings.append(&mut self.slices.load.take_findings());
        let Slices { stress, judged, load, .. } = self.slices;
        let slice_ns = judged[0].windows.length_ns();
        let load = rules.load_in().has_part(self.kind).then(|| load.final_outcome(slice_ns));
        let mut criteria = Vec::new();
        for windows in judged {
            let planned = windows.windows.planned_windows();
            let outcomes = windows.trackers.into_iter();
            criteria.extend(outcomes.map(|(order, tracker)| (order, tracker.final_outcome(planned, stress))));
        }
        findings.retain(decides);
        Some(EndedStretch { part: self.part, load, criteria, findings, seen })
    }
}

/// Whether a finding in a stretch says something about the step: that a criterion met no operation in one of several parts does not.
fn decides(finding: &Finding) -> bool {
    !matches!(&finding.kind, FindingKind::Criterion(found) if matches!(found.what, What::NotJudged | What::NoStream))
}

/// How severe an outcome is: the greatest of several decides.
pub(crate) fn severity_of(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::NotApplied => 0,
        Outcome::Pass => 1,
        Outcome::Incomplete => 2,
        Outcome::Invalid => 3,
        Outcome::Fail => 4,
    }
}

/// The outcome over several stretches: the most severe one, with the windows of all. Nothing of none.
pub(crate) fn join_outcomes(outcomes: &[&CriterionOutcome]) -> Option<CriterionOutcome> {
    let judged = outcomes.iter().filter(|outcome| outcome.windows > 0);
    let worst = judged.clone().max_by_key(|outcome| severity_of(outcome.outcome)).or(outcomes.first())?;
    // Of equals the first, as everywhere.
    let first = outcomes.iter().find(|outcome| {
        severity_of(outcome.outcome) == severity_of(worst.outcome) && (outcome.windows > 0) == (worst.windows > 0)
    })?;
    let figures = outcomes.iter().filter_map(|outcome| outcome.worst.as_ref());
    let is_of_work = first.asked.exact_bound.is_none_or(|bound| bound.is_of_work());
    let worst_figure = if is_of_work {
        figures.min_by(|a, b| a.value.total_cmp(&b.value))
    } else {
        figures.max_by(|a, b| a.value.total_cmp(&b.value))
    };
    let sum = |count: fn(&CriterionOutcome) -> u64| outcomes.iter().fold(0u64, |sum, it| sum.saturating_add(count(it)));
    Some(CriterionOutcome {
        windows: sum(|outcome| outcome.windows),
        broken: sum(|outcome| outcome.broken),
        worst: worst_figure.cloned(),
        note: None,
        ..(*first).clone()
    })
}
