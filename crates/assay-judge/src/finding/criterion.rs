//! Findings about a criterion: broken, broken only because of the generator, or not judged at all.

use crate::finding::class::Class;
use crate::finding::flaw::Late;
use crate::finding::others::OthersUse;
use crate::judgement::{BrokenTarget, Figure};
use crate::words::{bound_text, broken_on, measured_sentence, percent_text, place_in_words};
use assay_base::{Criterion, MarkedPart};
use std::fmt;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CriterionFinding {
    /// The criterion, as it was judged.
    pub(crate) criterion: Criterion,
    /// Its outcome.
    pub(crate) what: What,
}

/// The outcome of a criterion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// It is broken in a complete window.
    Broken(At, Extent),
    /// It was already broken in a window that was cut short.
    BrokenInCut(At, BrokenOn),
    /// It is broken, but would hold without the generator's own lag.
    ByTheGenerator(At),
    /// It holds, but the generator was late.
    Flawed(At, Late),
    /// It is broken, perhaps only because others used a disk of the run.
    BesideOthers(At, OthersUse),
    /// It is broken, perhaps only because something waited for a processor, for this share of the window.
    BusyProcessors(At, f64),
    /// Its window has fewer operations than it asks for.
    TooFew(At),
    /// It was broken in a window that was cut short, perhaps only because the generator was late; the value as text.
    HeldBack(String),
    /// The same, perhaps only because others used a disk of the run.
    CutBesideOthers(String, OthersUse),
    /// The run has no such stream.
    NoStream,
    /// No window could be judged.
    NotJudged,
    /// It names a part of the run, and nothing was measured in such a part.
    NotMarked(MarkedPart),
}

/// The window and the value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct At {
    /// What was measured, and where.
    pub(crate) figure: Figure,
    /// Number of windows in the plan.
    pub(crate) planned: u64,
    /// Length of the window where it is not the slice.
    pub(crate) own_ns: Option<u64>,
}

/// The targets that broke it by themselves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BrokenOn {
    /// The worst first.
    pub(crate) targets: Vec<BrokenTarget>,
    /// Number of all targets.
    pub(crate) of: usize,
}

/// The number of windows in which a criterion was broken, and where.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Extent {
    /// Number of broken windows.
    pub(crate) broken: u64,
    /// Number of judged windows.
    pub(crate) windows: u64,
    /// Number of windows that held before the first broken one.
    pub(crate) held_before: u64,
    /// On which targets.
    pub(crate) on: BrokenOn,
}

impl CriterionFinding {
    /// How severe it is.
    pub(crate) fn severity_class(&self) -> Class {
        match self.what {
            What::Broken(..) | What::BrokenInCut(..) => Class::Broken,
            _ => Class::Unproven,
        }
    }

    /// `in slice 6 (5 h to 6 h): 8.00% of reads had a response over 1 ms, bound < 5%`
    fn in_words(&self, At { figure, planned, own_ns }: &At, between: &str) -> String {
        let Criterion { stream, measure, bound, .. } = &self.criterion;
        let what = measured_sentence(stream, *measure, bound, &figure.text);
        format!("{}{between}: {what}, bound {}", place_in_words(figure, *planned, *own_ns), bound_text(bound))
    }
}

impl fmt::Display for CriterionFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let criterion = &self.criterion;
        match &self.what {
            What::Broken(at, extent) => write!(f, "{}{}", self.in_words(at, ""), extent.in_words(at)),
            What::BrokenInCut(at, on) => {
                // This is a single window, but it is named by its number nevertheless, because its planned end was not
                // reached.
                let at = At { planned: at.planned.max(2), ..at.clone() };
                let rest = "and the rest could not have changed that";
                write!(f, "{}, {rest}{on}", self.in_words(&at, ", which was cut short"))
            }
            What::ByTheGenerator(at) => {
                write!(f, "{}, but only because the test machine issued operations late", self.in_words(at, ""))
            }
            What::Flawed(at, why) => write!(f, "{}, but {why}", self.in_words(at, "")),
            What::BesideOthers(at, others) => write!(f, "{}, but {others}", self.in_words(at, "")),
            What::BusyProcessors(at, pressure) => write!(
                f,
                "{}, but processors were too busy: for {} of that time something waited for one",
                self.in_words(at, ""),
                percent_text(pressure.min(1.0))
            ),
            What::TooFew(at) => {
                let (found, least) = (at.figure.operations, criterion.least_operations);
                let place = place_in_words(&at.figure, at.planned, at.own_ns);
                let stream = &criterion.stream;
                write!(
                    f,
                    "{place}: too few: {found} operations of {stream}, and its bound needs {least} in each slice to say anything; \
                     choose longer slices"
                )
            }
            What::CutBesideOthers(value, others) => {
                write!(f, "{criterion} was {value} when it was cut short, but {others}")
            }
            What::HeldBack(value) => write!(
                f,
                "{criterion} was {value} when it was cut short, perhaps only because the test machine issued operations late"
            ),
            What::NoStream => write!(f, "the criterion \"{criterion}\" names a stream the run does not have"),
            What::NotMarked(part) => {
                let is_recovered = *part == MarkedPart::Recovered;
                let behind = if is_recovered { ", behind the time that is allowed for the recovery" } else { "" };
                write!(
                    f,
                    "the criterion \"{criterion}\" names the {part} part, and nothing was measured in one{behind}: assay mark divides \
                     a run while it goes on"
                )
            }
            What::NotJudged => {
                let why = match criterion.counted_threshold() {
                    Some(_) => "no operation completed, or the log does not count this threshold",
                    None => "no operation completed",
                };
                write!(f, "the criterion \"{criterion}\" could not be judged: {why}")
            }
        }
    }
}

impl Extent {
    /// ` (broken in 7 of 12 slices; it held in 5 before; on 2 of 4 targets, the worst first: …)`
    fn in_words(&self, at: &At) -> String {
        let mut parts = Vec::new();
        if at.planned > 1 {
            parts.push(format!("broken in {} of {} slices", self.broken, self.windows));
            parts.extend((self.held_before > 0).then(|| format!("it held in {} before", self.held_before)));
        }
        let on = broken_on(&self.on.targets, self.on.of);
        parts.extend((!on.is_empty()).then_some(on));
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
    }
}

impl fmt::Display for BrokenOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = broken_on(&self.targets, self.of);
        if on.is_empty() { Ok(()) } else { write!(f, " ({on})") }
    }
}
