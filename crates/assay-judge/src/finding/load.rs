//! Findings about the load: a slice that proves nothing, a schedule that was thinner than planned, a load that was not
//! delivered.

use crate::finding::class::Class;
use crate::finding::criterion::BrokenOn;
use crate::finding::flaw::Flaw;
use crate::finding::others::OthersUse;
use crate::judgement::Figure;
use crate::words::place_in_words;
use assay_base::Span;
use std::fmt;

/// The figure where nothing completed.
pub(crate) const NONE: &str = "none";

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LoadFinding {
    /// The slice with this number proves nothing.
    Slice(u64, Flaw),
    /// A window of this length proves nothing.
    Window(u64, Flaw),
    /// Fewer operations were due than the plan asks for.
    Thin { slice: u64, stream: String, scheduled: u64, expected: f64 },
    /// A stream's load was not delivered.
    NotDelivered(NotDelivered),
}

/// A load that was not delivered in one slice, on all targets or on one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NotDelivered {
    /// The stream.
    pub(crate) stream: String,
    /// What was measured, and where.
    pub(crate) figure: Figure,
    /// Number of slices in the plan.
    pub(crate) planned: u64,
    /// Who caused it.
    pub(crate) cause: Cause,
    /// The targets that did not take their load; known at the end.
    pub(crate) on: Option<BrokenOn>,
    /// What others did meanwhile, where they are the cause.
    pub(crate) others: Option<OthersUse>,
}

/// Why a load was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Nothing completed, but too few operations were due to conclude anything.
    TooFew,
    /// Nothing completed, and nothing was issued.
    NothingIssued,
    /// Operations were issued to the device, and none completed.
    NothingCompleted,
    /// Fewer operations were issued, because of the generator.
    Generator,
    /// Fewer operations were issued, because of the device.
    Device,
    /// Fewer operations were issued or none completed, while others used the device.
    Others,
}

impl Cause {
    /// How severe it is.
    pub(crate) fn severity_class(self) -> Class {
        match self {
            Cause::NothingCompleted | Cause::Device => Class::Broken,
            Cause::TooFew | Cause::NothingIssued | Cause::Generator | Cause::Others => Class::Unproven,
        }
    }

    /// Whether a share of the schedule says how much was delivered: where nothing was due, no share does.
    pub(crate) fn has_share(self) -> bool {
        matches!(self, Cause::Generator | Cause::Device | Cause::Others)
    }
}

impl LoadFinding {
    /// How severe it is.
    pub(crate) fn severity_class(&self) -> Class {
        match self {
            LoadFinding::NotDelivered(found) => found.cause.severity_class(),
            LoadFinding::Slice(..) | LoadFinding::Window(..) | LoadFinding::Thin { .. } => Class::Unproven,
        }
    }
}

impl fmt::Display for LoadFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadFinding::Slice(number, why) => write!(f, "slice {number} proves nothing: {why}"),
            LoadFinding::Window(length_ns, why) => {
                write!(f, "a slice of {} proves nothing: {why}", Span::from_ns(*length_ns).human_text())
            }
            LoadFinding::Thin { slice, stream, scheduled, expected } => write!(
                f,
                "in slice {slice} only {scheduled} operations of {stream} were due where the plan asks for {expected:.0}"
            ),
            LoadFinding::NotDelivered(found) => found.fmt(f),
        }
    }
}

impl fmt::Display for NotDelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotDelivered { stream, figure, planned, cause, on, others } = self;
        let none = format!("none of {} {stream} completed", figure.operations);
        let only = format!("only {} of the scheduled {stream} were issued", figure.text);
        write!(f, "{}: ", place_in_words(figure, *planned, None))?;
        match cause {
            Cause::TooFew => write!(f, "{none}: too few to say anything"),
            Cause::NothingIssued => write!(f, "{none}: the test machine issued nothing"),
            Cause::NothingCompleted => write!(f, "{none}: the device completed nothing"),
            Cause::Generator => write!(f, "{only}; the test machine could not keep up"),
            Cause::Device => write!(f, "{only}; the device could not take it"),
            Cause::Others => {
                let what = if figure.text == NONE { none } else { only };
                let others = others.as_ref().map(|others| format!(", but {others}"));
                write!(f, "{what}{}", others.unwrap_or_default())
            }
        }?;
        on.as_ref().map_or(Ok(()), |on| on.fmt(f))
    }
}
