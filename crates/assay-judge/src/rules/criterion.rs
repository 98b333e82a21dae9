//! Judges one criterion window by window, over all targets together and on each alone.

use crate::finding::Finding;
use crate::finding::criterion::{At, CriterionFinding, Extent, What};
use crate::finding::flaw::Late;
use crate::finding::others::OthersUse;
use crate::fold::layout::Layout;
use crate::fold::window::Window;
use crate::judgement::{CriterionOutcome, Deciding, Figure, Outcome, Requirement};
use crate::rules::gauge::{Figures, Gauge, Scope, Unkept};
use crate::rules::tally::Tally;
use crate::rules::worst::Worst;
use crate::words::{bound_text, measure_title};
use assay_base::Criterion;

/// The windows over which a criterion is judged.
#[derive(Clone, Debug)]
pub(crate) struct Over {
    /// Length of a window.
    pub(crate) window_ns: u64,
    /// The window is the criterion's own, not the slice: its length is part of its name.
    pub(crate) own: bool,
    /// A note where that is another length than the criterion asks for.
    pub(crate) note: Option<String>,
}

/// Why a window proves nothing, whether its bound is kept or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excuse {
    /// Others used a disk of the run.
    Others,
    /// The generator was late.
    Generator,
    /// What could run waited for a processor.
    Processors,
    /// It has fewer operations than the criterion needs.
    TooFew,
}

/// What a criterion found in one window.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    /// False where it is broken.
    pub(crate) holds: bool,
    /// Why nobody is blamed for the window, and it proves nothing either.
    pub(crate) excuse: Option<Excuse>,
    /// Where its bound is not kept, whatever the reason is.
    pub(crate) unkept: Vec<Unkept>,
}

impl Observed {
    /// Nothing speaks against the criterion.
    fn nothing() -> Observed {
        Observed { holds: true, excuse: None, unkept: Vec::new() }
    }
}

/// The first figure of each kind of finding.
#[derive(Clone, Debug, Default)]
struct Firsts {
    broken: Option<Figure>,
    /// Over the bound because of the generator's own lag.
    generator: Option<Figure>,
    /// Already broken when its window was cut short.
    cut: Option<Figure>,
    /// From a window that keeps the bound but proves nothing, and why.
    flaw: Option<(Figure, Late)>,
    /// Over the bound, perhaps because of what others did on the disks.
    others: Option<(Figure, OthersUse)>,
    /// Of fewer operations than the criterion asks for.
    too_few: Option<Figure>,
    /// Over the bound, perhaps because something waited for a processor, for this share of the window.
    processors: Option<(Figure, f64)>,
}

/// The state of a criterion while the log is read.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    criterion: Criterion,
    /// Absent where the run has no such stream.
    gauge: Option<Gauge>,
    over: Over,
    tally: Tally,
    firsts: Firsts,
    worst: Worst,
}

impl Tracker {
    /// Judges a criterion on the measure that it names.
    pub(crate) fn new(criterion: Criterion, over: Over, layout: &Layout) -> Tracker {
        let scope = Scope::from_name(&criterion.stream, layout);
        Tracker {
            gauge: scope.map(|scope| Gauge::new(criterion.clone(), scope)),
            worst: Worst::new(
                layout.targets.len(),
                if criterion.bound.is_of_work() { |a, b| a < b } else { |a, b| a > b },
            ),
            criterion,
            over,
            tally: Tally::default(),
            firsts: Firsts::default(),
        }
    }

    /// Length of the window where it is not the slice.
    fn own_ns(&self) -> Option<u64> {
        self.over.own.then_some(self.over.window_ns)
    }

    /// Number of complete windows.
    pub(crate) fn complete_windows(&self) -> u64 {
        self.tally.complete
    }

    /// The criterion.
    pub(crate) fn criterion(&self) -> &Criterion {
        &self.criterion
    }

    /// How a window that was cut short broke the criterion, whatever the rest of it would have been. Empty where it did
    /// not.
    pub(crate) fn broken_by(&self, window: &Window, layout: &Layout) -> Vec<Figure> {
        self.gauge.as_ref().map_or_else(Vec::new, |gauge| gauge.broken_by(window, layout))
    }

    /// What others did on the disks of its targets in a window, in words.
    pub(crate) fn others_in_window(&self, figure: &Figure, window: &Window, layout: &Layout) -> Option<OthersUse> {
        self.gauge.as_ref()?.others_in_window(figure, window, layout)
    }

    /// Notes the figures by which a window that was cut short is broken.
    pub(crate) fn note_cut_window(&mut self, figures: Vec<Figure>, layout: &Layout) {
        for figure in figures {
            let target =
                figure.target.as_ref().and_then(|name| layout.targets.iter().position(|target| target == name));
            if let Some(target) = target {
                self.worst.count_broken_target(target, &figure);
            }
            self.worst.take_figure(&figure);
            self.firsts.cut.get_or_insert(figure);
        }
    }

    /// Counts a window without judging it: one that is too short says nothing.
    pub(crate) fn count_window(&mut self, window: &Window) {
        self.tally.complete += u64::from(window.complete && !window.repeated);
    }

    /// Judges one window.
    pub(crate) fn judge_window(&mut self, window: &Window, layout: &Layout) -> Observed {
        self.count_window(window);
        let Some(gauge) = self.gauge.as_ref().filter(|_| window.complete) else { return Observed::nothing() };
        if window.invalid.is_some() {
            self.tally.unproven += 1;
            return Observed::nothing();
        }
        let Some(figures) = gauge.read_window(window, layout) else { return Observed::nothing() };
        let flaw = gauge.flaw_of_window(window, layout);
        let unkept = gauge.unkept(&figures);
        let others =
            disturbed_figure(&figures).map(|figure| gauge.others_in_window(figure, window, layout).unwrap_or_default());
        self.tally.windows += 1;
        let (holds, excuse) = self.decide_window(&figures, flaw, others, window.processor_pressure);
        // Where figures are equal, the one over all targets together is kept.
        self.worst.take_figure(&figures.together);
        for (target, figure) in &figures.alone {
            if is_broken(figure) {
                self.worst.count_broken_target(*target, figure);
            }
            self.worst.take_figure(figure);
            self.worst.see_alone(*target, figure);
        }
        Observed { holds, excuse, unkept }
    }

    /// Whether the window holds, and why it proves nothing if it does not prove that.
    fn decide_window(
        &mut self,
        figures: &Figures,
        flaw: Option<Late>,
        others: Option<OthersUse>,
        pressure: Option<f64>,
    ) -> (bool, Option<Excuse>) {
        let culprit = culprit_figure(figures);
        let pushed =
            figures.alone.iter().map(|(_, figure)| figure).chain([&figures.together]).find(|figure| figure.generator);
        let disturbed = disturbed_figure(figures).cloned().zip(others);
        if let Some(figure) = culprit {
            self.tally.count_broken();
            self.firsts.broken.get_or_insert_with(|| figure.clone());
            return (false, None);
        }
        let too_few = all_figures(figures).find(|figure| figure.too_few);
        let pressed = all_figures(figures).find(|figure| figure.processors).zip(pressure);
        let excuse = if let Some(disturbed) = disturbed {
            self.firsts.others.get_or_insert(disturbed);
            Some(Excuse::Others)
        } else if let Some(figure) = pushed {
            self.firsts.generator.get_or_insert_with(|| figure.clone());
            Some(Excuse::Generator)
        } else if let Some((figure, pressure)) = pressed {
            self.firsts.processors.get_or_insert_with(|| (figure.clone(), pressure));
            Some(Excuse::Processors)
        } else if let Some(figure) = too_few {
            self.firsts.too_few.get_or_insert_with(|| figure.clone());
            Some(Excuse::TooFew)
        } else if let Some(why) = flaw {
            self.firsts.flaw.get_or_insert_with(|| (figures.together.clone(), why));
            Some(Excuse::Generator)
        } else {
            None
        };
        self.tally.unproven += u64::from(excuse.is_some());
        (true, excuse)
    }

    /// The reasons against PASS. `planned` is how many windows there should be.
    pub(crate) fn findings(&self, planned: u64, step: u32) -> Vec<Finding> {
        let mut findings = Vec::new();
        let Firsts { broken, generator, cut, flaw, others, too_few, processors } = &self.firsts;
        if let Some(figure) = broken {
            let Tally { broken, windows, held_before, .. } = self.tally;
            findings.push(self.finding_at(
                figure,
                What::Broken(
                    self.place_of_figure(figure, planned),
                    Extent { broken, windows, held_before, on: self.worst.broken_on() },
                ),
                step,
            ));
        }
        if let Some(figure) = cut.as_ref().filter(|_| broken.is_none()) {
            findings.push(self.finding_at(
                figure,
                What::BrokenInCut(self.place_of_figure(figure, planned), self.worst.broken_on()),
                step,
            ));
        }
        if let Some(figure) = generator {
            findings.push(self.finding_at(figure, What::ByTheGenerator(self.place_of_figure(figure, planned)), step));
        }
        if let Some((figure, pressure)) = processors {
            let what = What::BusyProcessors(self.place_of_figure(figure, planned), *pressure);
            findings.push(self.finding_at(figure, what, step));
        }
        if let Some(figure) = too_few {
            findings.push(self.finding_at(figure, What::TooFew(self.place_of_figure(figure, planned)), step));
        }
        if let Some((figure, why)) = flaw {
            findings.push(self.finding_at(
                figure,
                What::Flawed(self.place_of_figure(figure, planned), why.clone()),
                step,
            ));
        }
        if let Some((figure, others)) = others {
            findings.push(self.finding_at(
                figure,
                What::BesideOthers(self.place_of_figure(figure, planned), others.clone()),
                step,
            ));
        }
        if self.gauge.is_none() {
            findings.push(Finding::of_step(self.new_finding(What::NoStream), step));
        } else if self.tally.windows == 0 && self.tally.complete >= planned.max(1) && self.tally.unproven == 0 {
            // A run that is not complete yet is INCOMPLETE for that: the windows that are missing may have operations.
            findings.push(Finding::of_step(self.new_finding(What::NotJudged), step));
        }
        findings
    }

    /// A finding that a figure decided.
    fn finding_at(&self, figure: &Figure, what: What, step: u32) -> Finding {
        Finding::new(self.new_finding(what), self.deciding_place(figure, step))
    }

    /// The place of a figure.
    fn place_of_figure(&self, figure: &Figure, planned: u64) -> At {
        At { figure: figure.clone(), planned, own_ns: self.own_ns() }
    }

    fn new_finding(&self, what: What) -> CriterionFinding {
        CriterionFinding { criterion: self.criterion.clone(), what }
    }

    fn deciding_place(&self, figure: &Figure, step: u32) -> Deciding {
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
            part: None,
        }
    }

    /// The outcome; in a stress step the criterion does not apply.
    pub(crate) fn final_outcome(self, planned: u64, stress: bool) -> CriterionOutcome {
        let outcome = match self.tally.outcome_over_windows(planned) {
            _ if stress => Outcome::NotApplied,
            _ if self.firsts.cut.is_some() => Outcome::Fail,
            Outcome::Incomplete if self.gauge.is_none() => Outcome::Invalid,
            outcome => outcome,
        };
        let Firsts { broken, generator, cut, flaw, others, too_few, processors } = self.firsts;
        let others = others.map(|(figure, _)| figure);
        let processors = processors.map(|(figure, _)| figure);
        let unproven = others.or(generator).or(processors).or(too_few).or(flaw.map(|(figure, _)| figure));
        let first = broken.or(cut).or(unproven);
        CriterionOutcome {
            asked: asked_requirement(&self.criterion, self.over.window_ns),
            outcome,
            windows: self.tally.windows,
            broken: self.tally.broken,
            broken_on: self.worst.broken_worst_first(),
            measured: first.or_else(|| self.worst.worst_overall().cloned()),
            worst: self.worst.worst_overall().cloned(),
            targets: self.worst.worst_by_target(),
            note: self.over.note,
        }
    }
}

fn asked_requirement(criterion: &Criterion, window_ns: u64) -> Requirement {
    let Criterion { stream, measure, bound, .. } = criterion;
    Requirement {
        criterion: criterion.to_string(),
        title: measure_title(stream, *measure, bound),
        bound: bound_text(bound),
        stream: Some(stream.clone()),
        measure: bound.is_of_time().then_some(*measure),
        threshold: criterion.counted_threshold(),
        window_ns,
        exact_bound: Some(*bound),
    }
}

fn is_broken(figure: &Figure) -> bool {
    !figure.within && !figure.generator && !figure.others && !figure.too_few && !figure.processors
}

/// The figure over all targets together, and that of each.
fn all_figures(figures: &Figures) -> impl Iterator<Item = &Figure> {
    std::iter::once(&figures.together).chain(figures.alone.iter().map(|(_, figure)| figure))
}

/// The first figure that others may have pushed over the bound.
fn disturbed_figure(figures: &Figures) -> Option<&Figure> {
    std::iter::once(&figures.together)
        .chain(figures.alone.iter().map(|(_, figure)| figure))
        .find(|figure| figure.others)
}

/// The figure that represents a broken window: that of one bad target among good ones, or the one over all targets when
/// all are bad.
fn culprit_figure(figures: &Figures) -> Option<&Figure> {
    let alone: Vec<&Figure> = figures.alone.iter().map(|(_, figure)| figure).collect();
    let all_broken = alone.iter().all(|figure| !figure.within);
    let worst = alone.into_iter().filter(|figure| is_broken(figure)).max_by(|a, b| a.value.total_cmp(&b.value));
    let named = if all_broken { None } else { worst };
    named.or(Some(&figures.together).filter(|figure| is_broken(figure))).or(worst)
}
