//! How a workload is certified, where that differs from the usual load and stress step, and other bounds that somebody asks
//! for by name.

use assay_base::{Bytes, Criterion, Multiple, Span};

/// How a workload is certified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// The load step.
    pub load: CertifiedTime,
    /// The step at a higher load.
    pub stress: Option<StressStep>,
    /// The step beside a neighbour that writes, where it is asked for.
    pub beside: Option<BesideStep>,
    /// A quick look: the load step alone, and shorter.
    pub quick: Option<QuickLook>,
}

/// Length and windows of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CertifiedTime {
    /// Measured time.
    pub length: Span,
    /// Judging window.
    pub slice: Span,
}

/// A quick look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuickLook {
    /// Length and windows.
    pub time: CertifiedTime,
    /// Its criteria, in place of the workload's; none where those are kept. A percentile of what is rare needs a longer time.
    pub criteria: Vec<Criterion>,
}

/// A step at a higher load, judged by criteria of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StressStep {
    /// How many times the load of the load step.
    pub times: Multiple,
    /// Length and windows.
    pub time: CertifiedTime,
    /// Its criteria, in place of the workload's.
    pub criteria: Vec<Criterion>,
}

/// A step beside a neighbour that appends to another file of the same file system and never syncs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BesideStep {
    /// Bytes that it appends in a second.
    pub append: Bytes,
    /// Length and windows.
    pub time: CertifiedTime,
}

/// Bounds that somebody else asks for, by a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The name.
    pub name: String,
    /// Each in place of the workload's criterion of the same stream, measure and kind.
    pub criteria: Vec<Criterion>,
}
