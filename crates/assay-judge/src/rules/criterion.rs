//! Follows one criterion through its windows, over all targets together and on each alone.

use crate::finding::Finding;
use crate::finding::criterion::{At, BrokenOn as BrokenTargets, CriterionFinding, Extent, What};
use crate::finding::flaw::Late;
use crate::fold::cell::Cell;
use crate::fold::layout::Layout;
use crate::fold::window::Window;
use crate::judgement::{CriterionOutcome, Deciding, Figure, Outcome};
use crate::rules::broken::BrokenOn;
use crate::rules::lateness;
use crate::rules::unfinished::at_least;
use crate::rules::value::Value;
use crate::words::{bound_text, title};
use assay_base::{Criterion, Measure};

/// A criterion on its way through the log.
#[derive(Debug)]
pub struct Tracker {
    criterion: Criterion,
    measure: Measure,
    stream: Option<usize>,
    window_ns: u64,
    note: Option<String>,
    /// The window is the criterion's own, not the slice.
    own_window: bool,
    windows: u64,
    broken: u64,
    complete: u64,
    unproven: u64,
    held_before: u64,
    first_broken: Option<Figure>,
    first_generator: Option<Figure>,
    /// The first that was broken already when it was cut short.
    first_cut: Option<Figure>,
    /// The first window that holds and yet proves nothing, and why.
    first_flaw: Option<(Figure, Late)>,
    worst: Option<Figure>,
    targets: Vec<Option<Figure>>,
    broken_on: BrokenOn,
}

impl Tracker {
    /// Follows `criterion`, on `judge_on` instead of its own measure where that is given.
    pub fn new(
        criterion: &Criterion,
        judge_on: Option<Measure>,
        window_ns: u64,
        note: Option<String>,
        layout: &Layout,
    ) -> Tracker {
        Tracker {
            measure: judge_on.unwrap_or(criterion.measure),
            stream: layout.streams.iter().position(|head| head.name == criterion.stream),
            criterion: Criterion { measure: judge_on.unwrap_or(criterion.measure), ..criterion.clone() },
            window_ns,
            note,
            own_window: false,
            windows: 0,
            broken: 0,
            complete: 0,
            unproven: 0,
            held_before: 0,
            first_broken: None,
            first_generator: None,
            first_cut: None,
            first_flaw: None,
            worst: None,
            targets: vec![None; layout.targets.len()],
            broken_on: BrokenOn::new(layout.targets.len(), |a, b| a > b),
        }
    }

    /// Windows are called by their length where they are not slices.
    pub fn in_own_window(self, own_window: bool) -> Tracker {
        Tracker { own_window, ..self }
    }

    /// Length of the window where it is not the slice.
    fn own_ns(&self) -> Option<u64> {
        self.own_window.then_some(self.window_ns)
    }

    /// Windows that proved nothing so far.
    pub fn unproven(&self) -> u64 {
        self.unproven
    }

    /// How a window that was cut short is broken, whatever its rest would have brought: by all targets together, then by each
    /// alone. Empty where it is not.
    pub fn broken_by(&self, window: &Window, layout: &Layout) -> Vec<Figure> {
        let counts = !window.complete && !window.mixed && window.invalid.is_none();
        let Some(stream) = self.stream.filter(|_| counts) else { return Vec::new() };
        let flows = &layout.of_stream[stream];
        let alone = flows.iter().filter(|_| flows.len() > 1);
        let target = |flow: usize| Some(usize::from(layout.flows[flow].target));
        let alone = alone.map(|&flow| (&window.flows[flow], target(flow), flows.len()));
        let together = (&window.streams[stream], None, 1);
        let broken = [together].into_iter().chain(alone).filter_map(|(cell, target, shares)| {
            let value = Value::of(cell, self.measure, &self.criterion.bound, &layout.thresholds)?;
            let value = self.without_the_generator(value, cell, target, window, layout);
            let value = at_least(value, cell, window, (&layout.streams[stream], shares))?;
            let text = format!("at least {}", value.text(&self.criterion.bound));
            let figure = self.figure_of(value, text, target, window, layout);
            (!figure.within).then_some(figure)
        });
        broken.collect()
    }

    /// A window that was cut short is broken so.
    pub fn cut(&mut self, figures: Vec<Figure>, layout: &Layout) {
        for figure in figures {
            let target = figure.target.as_ref().and_then(|name| layout.targets.iter().position(|it| it == name));
            if let Some(target) = target {
                self.broken_on.add(target, &figure);
            }
            worse(&mut self.worst, figure.clone());
            self.first_cut.get_or_insert(figure);
        }
    }

    /// Judges one window; false when the criterion is broken in it.
    pub fn observe(&mut self, window: &Window, layout: &Layout) -> bool {
        self.complete += u64::from(window.complete && !window.repeated);
        let Some(stream) = self.stream.filter(|_| window.complete) else { return true };
        if window.invalid.is_some() {
            self.unproven += 1;
            return true;
        }
        let together = self.figure(&window.streams[stream], None, window, layout);
        let Some(together) = together else { return true };
        self.windows += 1;
        let flows = &layout.of_stream[stream];
        let mut alone = Vec::new();
        if flows.len() > 1 {
            for &flow in flows {
                let target = usize::from(layout.flows[flow].target);
                let figure = self.figure(&window.flows[flow], Some(target), window, layout);
                alone.extend(figure.map(|figure| (target, figure)));
            }
        }
        let flaw = if layout.lateness { lateness::flaw(window, stream, layout) } else { None };
        self.keep(together, alone, flaw)
    }

    fn figure(&self, cell: &Cell, target: Option<usize>, window: &Window, layout: &Layout) -> Option<Figure> {
        let bound = &self.criterion.bound;
        let value = Value::of(cell, self.measure, bound, &layout.thresholds)?;
        let figure = self.figure_of(value, value.text(bound), target, window, layout);
        let generator =
            !figure.within && self.without_the_generator(value, cell, target, window, layout).is_within(bound);
        Some(Figure { generator, ..figure })
    }

    fn figure_of(&self, value: Value, text: String, target: Option<usize>, window: &Window, layout: &Layout) -> Figure {
        Figure {
            window: window.number,
            start_ns: window.start_ns,
            end_ns: window.end_ns,
            target: target.map(|target| layout.targets[target].clone()),
            value: value.as_f64(),
            text,
            operations: value.operations(),
            within: value.is_within(&self.criterion.bound),
            generator: false,
        }
    }

    /// What of a value is the device's whatever the generator did.
    fn without_the_generator(
        &self,
        value: Value,
        cell: &Cell,
        target: Option<usize>,
        window: &Window,
        layout: &Layout,
    ) -> Value {
        let (measure, bound, thresholds) = (self.measure, &self.criterion.bound, &layout.thresholds);
        if !layout.lateness {
            return value.without_own_lag(cell, measure, bound, thresholds);
        }
        let all = self.stream.into_iter().flat_map(|stream| &layout.of_stream[stream]);
        let on = all.map(|flow| usize::from(layout.flows[*flow].target)).filter(|at| target.is_none_or(|it| it == *at));
        let left = match lateness::given_away_ns(window, on, layout) {
            Some(by_ns) => Value::less(cell, measure, bound, thresholds, by_ns),
            None => Value::floor(cell, measure, bound, thresholds),
        };
        left.unwrap_or(value)
    }

    fn keep(&mut self, together: Figure, alone: Vec<(usize, Figure)>, flaw: Option<Late>) -> bool {
        let broken = |figure: &&Figure| !figure.within && !figure.generator;
        let all_broken = alone.iter().all(|(_, figure)| !figure.within);
        let worst_alone =
            alone.iter().map(|(_, figure)| figure).filter(broken).max_by(|a, b| a.value.total_cmp(&b.value));
        // A bad device among good ones is named; when all are bad, together says it.
        let named = if all_broken { None } else { worst_alone };
        let culprit = named.or(Some(&together).filter(broken)).or(worst_alone).cloned();
        let pushed = alone.iter().map(|(_, figure)| figure).chain([&together]).find(|figure| figure.generator).cloned();
        let holds = culprit.is_none();
        if let Some(figure) = culprit {
            self.broken += 1;
            if self.first_broken.is_none() && self.unproven == 0 {
                self.held_before = self.windows - 1;
            }
            self.first_broken.get_or_insert(figure);
        } else if let Some(figure) = pushed {
            self.unproven += 1;
            self.first_generator.get_or_insert(figure);
        } else if let Some(why) = flaw {
            self.unproven += 1;
            self.first_flaw.get_or_insert((together.clone(), why));
        }
        // Of equal ones all together stand for each.
        worse(&mut self.worst, together);
        for (target, figure) in alone {
            if broken(&&figure) {
                self.broken_on.add(target, &figure);
            }
            worse(&mut self.worst, figure.clone());
            worse(&mut self.targets[target], figure);
        }
        holds
    }

    /// Windows that are complete.
    pub fn complete(&self) -> u64 {
        self.complete
    }

    /// What is followed.
    pub fn criterion(&self) -> &Criterion {
        &self.criterion
    }

    /// What speaks against PASS. `planned` is how many windows there should be.
    pub fn findings(&self, planned: u64, step: u32) -> Vec<Finding> {
        let at = |figure: &Figure| At { figure: figure.clone(), planned, own_ns: self.own_ns() };
        let on = || BrokenTargets { targets: self.broken_on.worst_first(), of: self.targets.len() };
        let mut findings = Vec::new();
        let mut find = |figure: &Figure, what: What| {
            findings.push(Finding::new(self.finding(what), self.deciding(figure, step)));
        };
        if let Some(figure) = &self.first_broken {
            let (broken, windows, held_before) = (self.broken, self.windows, self.held_before);
            find(figure, What::Broken(at(figure), Extent { broken, windows, held_before, on: on() }));
        }
        if let Some(figure) = self.first_cut.as_ref().filter(|_| self.first_broken.is_none()) {
            find(figure, What::BrokenInCut(at(figure), on()));
        }
        if let Some(figure) = &self.first_generator {
            find(figure, What::ByTheGenerator(at(figure)));
        }
        if let Some((figure, why)) = &self.first_flaw {
            find(figure, What::Flawed(at(figure), why.clone()));
        }
        if self.stream.is_none() {
            findings.push(Finding::of_step(self.finding(What::NoStream), step));
        } else if self.windows == 0 && self.complete > 0 && self.unproven == 0 {
            findings.push(Finding::of_step(self.finding(What::NotJudged), step));
        }
        findings
    }

    fn finding(&self, what: What) -> CriterionFinding {
        CriterionFinding { criterion: self.criterion.clone(), what }
    }

    fn deciding(&self, figure: &Figure, step: u32) -> Deciding {
        Deciding {
            step,
            slice: Some(figure.window),
            window_ns: self.own_ns(),
            stream: Some(self.criterion.stream.clone()),
            target: figure.target.clone(),
            measured: Some(figure.text.clone()),
            bound: Some(bound_text(&self.criterion.bound)),
            start_ns: figure.start_ns,
            end_ns: figure.end_ns,
        }
    }

    /// How it came out; in a stress step it was never asked.
    pub fn outcome(self, planned: u64, stress: bool) -> CriterionOutcome {
        let outcome = match () {
            () if stress => Outcome::NotApplied,
            () if self.broken > 0 || self.first_cut.is_some() => Outcome::Fail,
            () if self.unproven > 0 || self.stream.is_none() => Outcome::Invalid,
            () if self.complete < planned => Outcome::Incomplete,
            () if self.windows == 0 => Outcome::Invalid,
            () => Outcome::Pass,
        };
        CriterionOutcome {
            criterion: self.criterion.to_string(),
            title: title(&self.criterion.stream, self.measure, &self.criterion.bound),
            bound: bound_text(&self.criterion.bound),
            stream: Some(self.criterion.stream.clone()),
            measure: Some(self.measure),
            threshold: self.criterion.threshold(),
            window_ns: self.window_ns,
            outcome,
            windows: self.windows,
            broken: self.broken,
            broken_on: self.broken_on.worst_first(),
            measured: self
                .first_broken
                .or(self.first_cut)
                .or(self.first_generator)
                .or(self.first_flaw.map(|(figure, _)| figure))
                .or_else(|| self.worst.clone()),
            worst: self.worst,
            targets: self.targets.into_iter().flatten().collect(),
            note: self.note,
        }
    }
}

fn worse(kept: &mut Option<Figure>, figure: Figure) {
    if kept.as_ref().is_none_or(|kept| figure.value > kept.value) {
        *kept = Some(figure);
    }
}
