//! Reads one step of the log: gives each line to the state machines that need it.
//!
//! A header begins a segment. Intervals are placed in measured time, and every state machine gets the same placed
//! interval: the accounts check whether it adds up, the slices pass windows to the rules, the others sum. Only this
//! file knows all of them.

use crate::finding::course::CourseFinding;
use crate::finding::flaw::Flaw;
use crate::finding::log::{Contradiction, LogFinding};
use crate::finding::target::TargetFinding;
use crate::finding::{Finding, FindingKind, deciding_finding};
use crate::fold::accounts::Place;
use crate::fold::answer::AnswerFold;
use crate::fold::clocks::ClockNotice;
use crate::fold::closing::ending_in_words;
use crate::fold::database::Databases;
use crate::fold::distributions::Distributions;
use crate::fold::durability::Durability;
use crate::fold::environment::Environment;
use crate::fold::events::Events;
use crate::fold::failures::FlowFailures;
use crate::fold::integrity::IntegrityFold;
use crate::fold::layout::Layout;
use crate::fold::loops::LoopTotals;
use crate::fold::marked_parts::{MarkedPartsFold, WholeStep};
use crate::fold::notes::Notes;
use crate::fold::others::{Disturbance, Others};
use crate::fold::phases::Phases;
use crate::fold::placement::{Disturbing, Placed, Placement};
use crate::fold::rank_verdicts::RankVerdicts;
use crate::fold::reported::Uncounted;
use crate::fold::segment::{EndFacts, EndNews, Segment};
use crate::fold::series::SeriesFold;
use crate::fold::silences::Silences;
use crate::fold::slices::Slices;
use crate::fold::steady::SteadyFold;
use crate::fold::targets::Targets;
use crate::fold::totals::Totals;
use crate::judgement::{Gap, TargetTotals};
use crate::options::Options;
use crate::rules::disk;
use crate::rules::durability::check_durability;
use crate::verdict::Verdict;
use assay_base::{Criterion, Span};
use assay_record::{Close, CloseReason, Event, EventKind, Header, Histograms, Interval, LifeNews, StepHead};
use std::collections::BTreeSet;

/// What is summed over the measured time.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) totals: Totals,
    pub(crate) distributions: Distributions,
    pub(crate) phases: Phases,
    pub(crate) loops: LoopTotals,
    pub(crate) series: SeriesFold,
    pub(crate) steady: SteadyFold,
    pub(crate) silences: Silences,
    pub(crate) answer: Option<AnswerFold>,
    /// The same for each part into which marks divide it.
    pub(crate) parts: MarkedPartsFold,
}

/// One step while the log is read.
#[derive(Clone, Debug)]
pub(crate) struct StepFold {
    pub(crate) header: Header,
    pub(crate) layout: Layout,
    segment: Segment,
    pub(crate) placement: Placement,
    pub(crate) slices: Slices,
    pub(crate) measured: Measured,
    pub(crate) targets: Targets,
    pub(crate) others: Others,
    pub(crate) correctness: Correctness,
    pub(crate) environment: Environment,
    pub(crate) happened: Happened,
    pub(crate) notes: Notes,
}

/// Whether operations did what they should.
#[derive(Clone, Debug)]
pub(crate) struct Correctness {
    failures: FlowFailures,
    pub(crate) integrity: IntegrityFold,
    pub(crate) databases: Databases,
    pub(crate) durability: Durability,
}

/// What the events of a step tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Happened {
    pub(crate) events: Events,
    /// Flows whose streams are done.
    done: BTreeSet<String>,
    /// What each of several ranks proves by itself.
    pub(super) ranks: RankVerdicts,
    /// The beginnings and ends of streams, until their place in measured time is known.
    news: Vec<LifeNews>,
}

impl StepFold {
    /// Begins a step; the error says which part of its header is impossible.
    pub(crate) fn new(number: u32, header: Header, options: &Options) -> Result<StepFold, String> {
        let criteria = judged_criteria(&header, options);
        let layout = Layout::new(&header, &criteria)?;
        let mut environment = Environment::default();
        environment.clocks.begin_segment(header.clocks);
        let threshold = layout.times.counted_threshold().unwrap_or(Span::from_ms(1));
        Ok(StepFold {
            segment: Segment::new(&header),
            placement: Placement::new(&header),
            slices: Slices::new(number, &header, &criteria, options, &layout),
            measured: Measured {
                totals: Totals::new(&layout),
                distributions: Distributions::new(&layout, !options.without_distributions),
                phases: Phases::new(&header, &layout, !options.without_distributions),
                loops: LoopTotals::default(),
                series: SeriesFold::new(&header, &layout, threshold),
                steady: SteadyFold::new(&header, &layout),
                silences: Silences::new(&layout),
                answer: AnswerFold::new(header.question.is_some(), &criteria, header.slice_ns, &layout),
                parts: MarkedPartsFold::new(number, &header, &criteria, options, &layout),
            },
            targets: Targets::new(&layout),
            others: Others::new(&header, &layout),
            correctness: Correctness {
                failures: FlowFailures::default(),
                integrity: IntegrityFold::default(),
                databases: Databases::new(header.databases.len()),
                durability: Durability::new(&header),
            },
            environment,
            happened: Happened { ranks: RankVerdicts::of_ranks(&header.hosts), ..Happened::default() },
            notes: Notes::new(number),
            header,
            layout,
        })
    }

    /// The databases of which the segment that was read last does not say whether others have written to them, though
    /// nobody asked to leave that out.
    pub(crate) fn not_compared(&self) -> Vec<String> {
        let heads = self.header.databases.iter().enumerate();
        let lacking =
            heads.filter(|(target, head)| !head.unchecked && !self.correctness.databases.was_compared(*target));
        lacking.map(|(_, head)| head.url.clone()).collect()
    }

    /// Whether it was interrupted and continued.
    pub(crate) fn was_continued(&self) -> bool {
        !self.happened.events.gaps.is_empty()
    }

    /// Continues with a segment of the same step. The error says why it cannot be the same step.
    pub(crate) fn continue_with_segment(&mut self, header: &Header) -> Result<(), String> {
        self.check_same(header)?;
        let before = self
            .segment
            .accounts
            .closing_line()
            .map_or("cut off without a closing line", |close| ending_in_words(close.reason));
        let from = self.placement.reached_ns();
        let gap = Gap { at_ns: from, before: before.to_owned(), resumed: header.created.clone() };
        self.happened.events.gaps.push(gap);
        self.check_segment();
        self.measured.totals.end_segment();
        self.slices.resume_after_gap(from, header.measured_before_ns, &self.layout, &mut self.notes);
        self.measured.parts.resume_after_gap(from, header.measured_before_ns, &self.layout);
        self.placement.continue_with_segment(header);
        self.measured.steady.begin_new_rounds();
        self.measured.phases.continue_with_segment(header);
        self.measured.series.continue_with_segment(header);
        self.correctness.databases.continue_with_segment();
        self.happened.news.clear();
        if header.measured_before_ns == 0 {
            self.layout.lives.start_over();
            self.happened.done.clear();
        }
        self.environment.clocks.begin_segment(header.clocks);
        self.happened.ranks = RankVerdicts::of_ranks(&header.hosts);
        self.segment = Segment::new(header);
        self.targets.continue_with_segment();
        self.correctness.durability.continue_with_segment(header);
        self.others.continue_with_segment(header);
        self.layout.watched = self.others.watched_disks().to_vec();
        Ok(())
    }

    fn check_same(&self, header: &Header) -> Result<(), String> {
        // A process that continues it alone would carry what several ranks had carried, or a part of it.
        if !self.header.hosts.is_empty() || !header.hosts.is_empty() {
            return Err("continues a run of several ranks, which nobody can".into());
        }
        let same = header.flows == self.header.flows
            && header.thresholds_ns == self.header.thresholds_ns
            && header.streams == self.header.streams
            && header.interval_ns == self.header.interval_ns
            && header.loops == self.header.loops
            && header.targets.len() == self.header.targets.len();
        if !same {
            return Err("continues a step with other streams, targets or thresholds".into());
        }
        match self.header.targets.iter().zip(&header.targets).find_map(|(was, now)| now.differs_from(was)) {
            Some(differs) => Err(format!("continues a step with something else than it began with: {differs}")),
            None => Ok(()),
        }
    }

    /// Others wrote to its targets after their preparation: a certification then proves nothing about what was
    /// prepared, and any other run gets a warning.
    pub(crate) fn note_foreign_writes(&mut self, found: Vec<TargetFinding>) {
        let certifies = self.header.step.as_ref().is_some_and(StepHead::is_certification);
        for found in found {
            if certifies { self.notes.add_finding(found) } else { self.notes.add_warning(found.to_string()) }
        }
    }

    /// Notes that lines are missing or unreadable here.
    pub(crate) fn note_damage(&mut self, found: LogFinding) {
        self.notes.damaged = true;
        self.notes.note_damage(found);
        self.segment.accounts.note_missing_part();
    }

    /// Adds an interval.
    pub(crate) fn add_interval(&mut self, interval: &Interval) {
        let place = self.segment.accounts.classify_interval(interval);
        let joins = place == Place::Next;
        self.note_missing_intervals(&place, interval);
        let followed = self.segment.accounts.follow_interval(interval, joins, self.layout.tolerance_ns());
        self.spoil_unless(followed);
        if interval.flows.len() != self.layout.flows.len() {
            let (found, flows) = (interval.flows.len(), self.layout.flows.len());
            self.spoil_open_windows(Contradiction::Flows { index: interval.index, found, of: flows });
            return self.segment.accounts.note_missing_part();
        }
        let at_ns = self.placement.place_interval(interval, joins);
        self.happened.events.place_events(&self.placement);
        self.learn_lives();
        let kind = self.measured.parts.kind_at(at_ns.unwrap_or(self.placement.reached_ns()));
        self.correctness.failures.enter_part(kind);
        let carried = self.check_accounts(interval);
        let opened = self.segment.accounts.open_in_loops(interval);
        self.targets.add_interval(interval, &self.layout);
        self.correctness.durability.add_interval(interval);
        let disturbance = self.others.observe_interval(at_ns, interval, &self.layout);
        if let Some(at_ns) = at_ns {
            self.add_measured_interval(at_ns, interval, &carried, &opened, disturbance.as_ref());
        }
        self.others.remember_interval(interval);
        self.look_at_clocks(interval, at_ns);
        self.spoil_changed();
    }

    /// Takes what was told about the lives of streams before the interval that was placed last.
    fn learn_lives(&mut self) {
        if self.placement.has_measured() {
            for news in std::mem::take(&mut self.happened.news) {
                let at_ns = self.placement.measured_at(news.at_ns).unwrap_or(0);
                self.layout.lives.take_news(news, at_ns);
            }
        }
    }

    fn note_missing_intervals(&mut self, place: &Place, interval: &Interval) {
        match *place {
            Place::Next => {}
            Place::Again => self.spoil_open_windows(Contradiction::Again { index: interval.index }),
            Place::Behind(first, last) => {
                self.note_hole();
                self.notes.find_once(LogFinding::Intervals(first, last), |kind: &FindingKind| {
                    matches!(kind, FindingKind::Log(LogFinding::Intervals(..)))
                });
            }
        }
    }

    /// Checks the accounting identity and counts failures; returns what was carried in.
    fn check_accounts(&mut self, interval: &Interval) -> Vec<u64> {
        let (carried, adds_up) = self.segment.accounts.add_interval(interval, &self.layout);
        let at_ns = self.placement.reached_ns();
        let first = self.placement.moment_at(interval.start_ns);
        for (index, flow) in interval.flows.iter().enumerate() {
            self.segment.failed.take_interval(index, flow);
            self.correctness.failures.add_flow_interval(index, first, flow, at_ns, &self.layout, &mut self.notes);
            self.correctness.integrity.add_flow_interval(flow);
        }
        self.spoil_unless(adds_up);
        carried
    }

    fn add_measured_interval(
        &mut self,
        at_ns: u64,
        interval: &Interval,
        carried: &[u64],
        opened: &[i64],
        by: Option<&Disturbance>,
    ) {
        let tolerance = self.layout.tolerance_ns();
        if !self.placement.follows_without_hole(at_ns, tolerance) {
            self.note_hole();
        }
        let disturbed = by.map(|by| Disturbing { by, previous: self.others.previous_flows() });
        let placed = Placed {
            at_ns,
            joins: self.placement.continues_segment(at_ns, tolerance),
            interval,
            carried,
            opened,
            disturbed,
        };
        self.slices.add_interval(&placed, &self.layout, &mut self.notes);
        if !self.measured.parts.ask_for_load_at(at_ns) {
            self.slices.note_unasked(at_ns.saturating_add(placed.length_ns()));
        }
        self.measured.parts.add_interval(&placed, &self.layout);
        self.measured.totals.add_interval(&placed, &self.layout);
        self.measured.series.add_interval(&placed, &self.layout);
        self.measured.phases.add_interval(&placed, &self.layout);
        self.measured.loops.add_interval(&placed, &self.layout);
        self.measured.steady.add_interval(&placed, &self.layout);
        self.measured.silences.add_interval(&placed, &self.layout);
        self.placement.advance_past_interval(&placed);
    }

    /// Something is missing after what was added last.
    fn note_hole(&mut self) {
        self.slices.note_hole();
        self.measured.parts.note_hole();
    }

    fn spoil_windows(&mut self, why: &Flaw) {
        self.slices.spoil_open_windows(why);
        self.measured.parts.spoil_open_windows(why);
    }

    fn look_at_clocks(&mut self, interval: &Interval, at_ns: Option<u64>) {
        let Some(sample) = interval.clocks else { return };
        let at_ns = at_ns.unwrap_or(self.placement.reached_ns());
        match self.environment.clocks.observe_sample(sample, interval.end_ns, at_ns) {
            ClockNotice::Nothing => {}
            ClockNotice::Set(text) => self.notes.add_warning(text),
            ClockNotice::Slept(ns) => self.note_change(Flaw::Slept(ns)),
            ClockNotice::Contradiction(why) => {
                self.spoil_open_windows(Contradiction::Clocks { index: interval.index, why })
            }
        }
    }

    fn note_change(&mut self, how: Flaw) {
        self.notes.add_warning(how.to_string());
        self.environment.note_change(how);
    }

    fn spoil_changed(&mut self) {
        if let Some(how) = self.environment.take_change() {
            self.spoil_windows(&how);
        }
    }

    /// Adds distributions; those of phases that are not judged are skipped. The error says what is wrong with them.
    pub(crate) fn add_histograms(&mut self, line: &Histograms) -> Result<(), String> {
        if !self.placement.is_judged_phase(line.phase) {
            return Ok(());
        }
        // The line follows its last interval; the middle of its intervals is taken as its place.
        let back = line.last.saturating_sub(line.first).saturating_mul(self.layout.interval_ns) / 2;
        let at = self.placement.reached_ns().saturating_sub(back.saturating_add(self.layout.interval_ns));
        let Measured { distributions, series, phases, answer, .. } = &mut self.measured;
        for flow in &line.flows {
            let (stream, times) = distributions.add_flow(flow, &self.layout)?;
            if let Some(answer) = answer {
                answer.add_times(at, stream, times);
            }
            let responses = &times[0];
            series.add_times(at, stream, responses, &self.layout);
            phases.add_times(line.phase, stream, responses);
        }
        Ok(())
    }

    /// A mark divides the step behind what was measured last. The error says why it makes no sense.
    pub(crate) fn take_mark(&mut self, event: Event) -> Result<(), String> {
        if !self.header.takes_marks {
            self.happened.events.keep_event(event);
            return Err("a run that takes no marks has one".to_owned());
        }
        let so_far = WholeStep { slices: &self.slices, totals: &self.measured.totals, layout: &self.layout };
        let taken = self.measured.parts.begin_part(&event, self.placement.reached_ns(), &so_far);
        self.happened.events.keep_event(event);
        taken
    }

    /// Keeps an event.
    pub(crate) fn keep_event(&mut self, event: Event) {
        self.correctness.integrity.take_event(&event, &self.layout.targets);
        self.segment.failed.take_event(&event, self.layout.flows.len());
        self.segment.warm_up.take_event(&event);
        self.correctness.databases.take_event(&event);
        self.happened.ranks.take_event(&event);
        match event.what {
            EventKind::Warning | EventKind::Environment => self.notes.add_warning(event.text.clone()),
            EventKind::EnvironmentChanged => self.note_change(Flaw::Changed(event.text.clone())),
            // Health events are not added to a list.
            EventKind::Health => return self.targets.take_health(event, &self.header.targets, &mut self.notes),
            EventKind::EngineHealth => self.engine_health(&event),
            EventKind::ConditionBroken => self.notes.add_finding(TargetFinding::Condition(event.text.clone())),
            EventKind::Disturbed => self.notes.add_finding(TargetFinding::Disturbed(event.text.clone())),
            EventKind::Unchecked => self.notes.add_finding(TargetFinding::Unchecked(event.text.clone())),
            EventKind::StreamEnd | EventKind::StreamBegin => {
                self.happened.news.extend(self.layout.lives.news_from_event(&event));
                let ended = event.details.get("flow").filter(|_| event.what == EventKind::StreamEnd);
                self.happened.done.extend(ended.cloned());
            }
            _ => {}
        }
        self.happened.events.keep_event(event);
    }

    /// The ring was too small, or the kernel dropped requests: what was not counted proves nothing.
    fn engine_health(&mut self, event: &Event) {
        if has_lost(event, "submissions_dropped") || has_lost(event, "completions_overflowed") {
            self.notes.add_finding(CourseFinding::LostCount(event.text.clone()));
        }
    }

    /// Ends a segment.
    pub(crate) fn close_segment(&mut self, close: Close) {
        self.segment.accounts.take_closing_line(close);
    }

    /// What a segment's end shows: failures in intervals that the log lost, as far as events report them, count like
    /// those in the counters.
    fn check_segment(&mut self) {
        self.happened.events.place_events(&self.placement);
        let at_ns = self.placement.reached_ns();
        for Uncounted { flow, first_ns, interval } in self.segment.take_uncounted() {
            if flow >= self.layout.flows.len() {
                self.notes.add_finding(CourseFinding::UnknownFlow);
                continue;
            }
            let first = self.placement.moment_at(first_ns);
            self.correctness.failures.add_flow_interval(flow, first, &interval, at_ns, &self.layout, &mut self.notes);
            self.correctness.integrity.add_flow_interval(&interval);
            if self.placement.is_measured(first_ns) {
                self.measured.totals.add_failures(flow, &interval);
            }
        }
        let known = EndFacts {
            certifies: self.header.step.as_ref().is_some_and(StepHead::is_certification),
            measured: self.placement.has_measured(),
            damaged: self.notes.damaged,
            generator_behind_ns: if self.layout.times.lateness { self.targets.generator_behind_ns() } else { 0 },
            max_lag_ns: self.header.max_lag_ns,
            tolerance_ns: self.layout.tolerance_ns(),
            others: self.others.use_on_any_target(&self.layout),
            locked: self.is_locked(),
        };
        for said in self.segment.end_segment(known) {
            match said {
                EndNews::OfStep(found) => self.notes.add_finding(found),
                EndNews::Now(found) => self.notes.find_at(found, at_ns),
                EndNews::Spoils(found) => self.spoil_open_windows(found),
                EndNews::Contradicts(found) => {
                    self.notes.contradictions += 1;
                    self.notes.add_finding(LogFinding::Contradiction(found));
                }
                EndNews::Warning(text) => self.notes.warnings.push(text),
            }
        }
    }

    /// Whether everything that failed met a lock of somebody else.
    fn is_locked(&self) -> bool {
        let failed = self.notes.findings.iter().filter_map(|finding| match &finding.kind {
            FindingKind::Failed(failures) => Some(failures.are_locks()),
            _ => None,
        });
        let all: Vec<bool> = failed.collect();
        !all.is_empty() && all.into_iter().all(|lock| lock)
    }

    /// The log contradicts itself: the open windows prove nothing.
    fn spoil_open_windows(&mut self, found: Contradiction) {
        self.spoil_windows(&Flaw::Contradiction(found.clone()));
        self.notes.note_contradiction(found, self.placement.reached_ns());
    }

    fn spoil_unless(&mut self, adds_up: Result<(), Contradiction>) {
        if let Err(found) = adds_up {
            self.spoil_open_windows(found);
        }
    }

    /// Ends the step: closes the open windows and returns how the last segment ended.
    pub(crate) fn end_step(&mut self) -> Option<CloseReason> {
        self.spoil_changed();
        self.learn_lives();
        self.end_when_done();
        self.slices.close_open_windows(&self.layout, &mut self.notes);
        self.measured.parts.close_open_windows(&self.layout);
        self.check_segment();
        let reason = self.closing_line().map(|close| close.reason);
        for found in self.happened.ranks.reasons_against_pass(reason == Some(CloseReason::Completed)) {
            self.notes.add_finding(found);
        }
        reason
    }

    /// A phase that ends when every stream has done its operations was planned to last as long as it did.
    fn end_when_done(&mut self) {
        let until_done = self.header.phases.iter().any(|phase| phase.until_done);
        let completed = self.closing_line().is_some_and(|close| close.reason == CloseReason::Completed);
        let reached_ns = self.placement.reached_ns();
        let flows = self.layout.flows.iter().enumerate();
        let mut ending = flows.filter(|(_, flow)| self.layout.lives.has_own_end(usize::from(flow.stream)));
        let done = ending.all(|(index, _)| self.happened.done.contains(&index.to_string()));
        if until_done && completed && done && (1..self.layout.planned_ns).contains(&reached_ns) {
            self.layout.planned_ns = reached_ns;
            self.slices.ends_at(reached_ns);
            self.measured.parts.ends_at(reached_ns);
        }
    }

    /// The last segment's closing line.
    pub(crate) fn closing_line(&self) -> Option<&Close> {
        self.segment.accounts.closing_line()
    }

    /// What was done to the targets so far.
    pub(crate) fn target_totals(&self) -> Vec<TargetTotals> {
        self.targets.target_totals(&self.header, &self.slices.rests.targets)
    }

    /// Finds what failed more often than it may over the whole step, once the criteria have spoken.
    pub(crate) fn count_failures(&mut self, notes: &mut Notes) {
        // Of a part of a step the share is not known: what is still to come may be without errors.
        let reached = self.placement.reached_ns();
        if reached.saturating_add(self.layout.tolerance_ns()) >= self.layout.planned_ns {
            self.correctness.failures.too_many(reached, &self.layout, notes);
        }
    }

    /// Takes the notes out.
    pub(crate) fn take_notes(&mut self) -> Notes {
        let step = self.notes.step_number();
        std::mem::replace(&mut self.notes, Notes::new(step))
    }

    /// Why what was found so far makes the step FAIL, whatever else is found; nothing where it does not.
    pub(crate) fn certain_failure(&self) -> Option<String> {
        let mut found = self.slices.of_criteria();
        found.extend(self.measured.parts.findings_so_far());
        found.extend(self.notes.findings.iter().chain(&self.slices.load.findings).cloned());
        if found.is_empty() {
            return None;
        }
        // Only one class of findings outweighs these, a cache between the run and the device, and it shows from the first
        // operations on.
        found.extend(disk::check_targets(&self.target_totals(), self.notes.step_number(), self.others.is_counted()).0);
        found.extend(check_durability(&self.correctness.durability.figures(), self.notes.step_number()));
        deciding_finding(&found).filter(|finding| finding.verdict() == Verdict::Fail).map(Finding::as_sentence)
    }
}

/// Whether a counter of an event is not zero.
fn has_lost(event: &Event, name: &str) -> bool {
    event.details.get(name).is_some_and(|n| n != "0")
}

/// The criteria that are judged: the log's, unless the options name others.
fn judged_criteria(header: &Header, options: &Options) -> Vec<Criterion> {
    let mut criteria = options.criteria.clone().unwrap_or_else(|| header.criteria.clone());
    if let Some(slice) = options.slice {
        // A criterion whose window is the log's slice is judged on the slice of the options instead.
        let follows = |criterion: &&mut Criterion| criterion.window.map(Span::as_ns) == Some(header.slice_ns);
        criteria.iter_mut().filter(follows).for_each(|criterion| criterion.window = Some(slice));
    }
    criteria
}
