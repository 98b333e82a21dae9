//! The reasons against PASS, as values: each finding has its kind with its figures, and the place where it was found.
//!
//! The effect of a finding follows from its kind. Its sentence is made last, by `Display`, in one file for each family.

mod class;
pub(crate) mod course;
pub(crate) mod criterion;
pub(crate) mod failed;
pub(crate) mod flaw;
pub(crate) mod load;
pub(crate) mod log;
pub(crate) mod others;
pub(crate) mod target;

pub(crate) use class::Class;

use crate::finding::course::{CourseFinding, Ending};
use crate::finding::criterion::What;
use crate::finding::load::{Cause, LoadFinding};
use crate::judgement::Deciding;
use crate::verdict::Verdict;
use std::fmt;

/// What was found, by family.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FindingKind {
    /// The log itself is incomplete, or contradicts itself.
    Log(log::LogFinding),
    /// How the run went and how it ended.
    Course(course::CourseFinding),
    /// Operations of one flow failed.
    Failed(failed::Failures),
    /// A criterion was broken, or could not be judged.
    Criterion(Box<criterion::CriterionFinding>),
    /// The planned load was not delivered, or a slice of it proves nothing.
    Load(Box<load::LoadFinding>),
    /// Facts about a target, its block device or the data on it.
    Target(target::TargetFinding),
}

macro_rules! families {
    ($($family:ident($value:ty)),*) => {$(
        impl From<$value> for FindingKind {
            fn from(value: $value) -> FindingKind {
                FindingKind::$family(value.into())
            }
        }
    )*};
}
families!(
    Log(log::LogFinding),
    Course(course::CourseFinding),
    Failed(failed::Failures),
    Criterion(criterion::CriterionFinding),
    Load(load::LoadFinding),
    Target(target::TargetFinding)
);

impl FindingKind {
    /// How severe it is.
    pub(crate) fn severity_class(&self) -> Class {
        match self {
            FindingKind::Log(finding) => finding.severity_class(),
            FindingKind::Course(finding) => finding.severity_class(),
            FindingKind::Failed(finding) => finding.severity_class(),
            FindingKind::Criterion(finding) => finding.severity_class(),
            FindingKind::Load(finding) => finding.severity_class(),
            FindingKind::Target(finding) => finding.severity_class(),
        }
    }
}

impl FindingKind {
    /// Whether it says what others did on a disk of the run.
    pub(crate) fn names_others(&self) -> bool {
        match self {
            FindingKind::Criterion(found) => matches!(found.what, What::BesideOthers(..) | What::CutBesideOthers(..)),
            FindingKind::Load(found) => {
                matches!(&**found, LoadFinding::NotDelivered(found) if found.cause == Cause::Others)
            }
            FindingKind::Course(found) => {
                matches!(found, CourseFinding::Ended(Ending::BesideOthers(_) | Ending::Locked, _))
            }
            FindingKind::Failed(found) => found.are_locks(),
            FindingKind::Log(_) | FindingKind::Target(_) => false,
        }
    }

    /// Whether it says what one of several ranks proves by itself.
    fn is_of_one_rank(&self) -> bool {
        matches!(self, FindingKind::Course(CourseFinding::RankAlone { .. } | CourseFinding::RankUnjudged { .. }))
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FindingKind::Log(finding) => finding.fmt(f),
            FindingKind::Course(finding) => finding.fmt(f),
            FindingKind::Failed(finding) => finding.fmt(f),
            FindingKind::Criterion(finding) => finding.fmt(f),
            FindingKind::Load(finding) => finding.fmt(f),
            FindingKind::Target(finding) => finding.fmt(f),
        }
    }
}

/// One reason against PASS.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    /// What was found.
    pub(crate) kind: FindingKind,
    /// Where it was found.
    pub(crate) deciding: Deciding,
}

impl Finding {
    /// A finding at a place.
    pub(crate) fn new(kind: impl Into<FindingKind>, deciding: Deciding) -> Finding {
        Finding { kind: kind.into(), deciding }
    }

    /// A finding about the whole step.
    pub(crate) fn of_step(kind: impl Into<FindingKind>, step: u32) -> Finding {
        Finding::new(kind, deciding_without_place(step))
    }

    /// The same, found in a part of the run that was judged by itself.
    pub(crate) fn within_part(mut self, part: &str) -> Finding {
        self.deciding.part = Some(part.to_owned());
        self
    }

    /// How severe it is.
    pub(crate) fn severity_class(&self) -> Class {
        self.kind.severity_class()
    }

    /// The sentence.
    pub(crate) fn as_sentence(&self) -> String {
        match &self.deciding.part {
            Some(part) => format!("in {part}: {}", self.kind),
            None => self.kind.to_string(),
        }
    }

    /// The verdict that it leads to.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.severity_class() {
            Class::Errors | Class::Broken => Verdict::Fail,
            Class::Between | Class::Unproven => Verdict::Invalid,
            Class::Missing => Verdict::Incomplete,
        }
    }

    /// True where something failed which no load excuses: not a bound that was broken, also not one on the share of
    /// operations that may fail.
    pub(crate) fn is_failure(&self) -> bool {
        let excess = matches!(&self.kind, FindingKind::Failed(failures) if failures.more_than.is_some());
        self.severity_class() == Class::Errors && !excess
    }

    /// True when it names a place in time.
    pub(crate) fn is_placed(&self) -> bool {
        self.deciding.slice.is_some() || self.deciding.stream.is_some() || self.deciding.target.is_some()
    }
}

/// A place that names only the step.
pub(crate) fn deciding_without_place(step: u32) -> Deciding {
    Deciding {
        step,
        slice: None,
        window_ns: None,
        stream: None,
        target: None,
        measured: None,
        bound: None,
        start_ns: 0,
        end_ns: 0,
        part: None,
    }
}

/// The finding that decides: the most severe one, and of several such the earliest. What names others on a disk comes before
/// other reasons why nothing is proven, such as a schedule that they cut short; what one rank proves by itself comes behind what all
/// prove together.
pub(crate) fn deciding_finding(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().min_by_key(|finding: &&Finding| {
        let kind = &finding.kind;
        (finding.severity_class(), kind.is_of_one_rank(), !kind.names_others(), finding.deciding.start_ns)
    })
}
