//! The outcome of each criterion, and what decided.

use assay_base::{Bound, Criterion, Measure, Span};
use serde::{Deserialize, Serialize};

/// The slice, stream and target that decided, with the figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deciding {
    /// Step number, 1-based; 1 when the log has no steps.
    pub step: u32,
    /// Window number, 1-based; the slice when the window is the slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<u64>,
    /// Length of that window where it is not the slice but the criterion's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ns: Option<u64>,
    /// Stream, where the place is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Target; absent for all targets together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The measured value as text: `21.3%`, `1.23 ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// The bound as text: `below 5%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// Begin and end in measured time.
    pub start_ns: u64,
    /// See `start_ns`.
    pub end_ns: u64,
    /// The part of the run that decided by itself, in words: `part 2 (disturbed, "scrub begins")`. Absent where the run as a whole
    /// decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

/// The outcome of a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Held in every window.
    Pass,
    /// Broken in a complete, valid window.
    Fail,
    /// Some window proves nothing, and none is broken.
    Invalid,
    /// Some window is missing or cut, and none is broken.
    Incomplete,
    /// Criteria on times are not applied in stress steps.
    NotApplied,
}

/// What a criterion requires.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredRequirement")]
pub struct Requirement {
    /// The criterion as its text, or `load delivered at least 99.9% per slice`.
    pub criterion: String,
    /// What is measured, in words: `reads response over 1 ms`.
    pub title: String,
    /// The bound in words: `< 5%`.
    pub bound: String,
    /// Stream; absent for the built-in criterion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// The measure that was judged; absent for the built-in criterion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<Measure>,
    /// The threshold whose operations it counts, if it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Span>,
    /// Length of its windows as judged.
    pub window_ns: u64,
    /// The bound itself, for what is drawn or sorted by it; absent for the built-in criterion. No file has it, because
    /// `criterion` says the same.
    #[serde(skip_serializing)]
    pub exact_bound: Option<Bound>,
}

/// A requirement as a file has it: see the members of [`Requirement`].
#[derive(Deserialize)]
struct StoredRequirement {
    criterion: String,
    title: String,
    bound: String,
    #[serde(default)]
    stream: Option<String>,
    #[serde(default)]
    measure: Option<Measure>,
    #[serde(default)]
    threshold: Option<Span>,
    window_ns: u64,
}

impl From<StoredRequirement> for Requirement {
    /// Reads the bound from the text of the criterion. Only what comes from a file is read so: the judge has the criterion.
    fn from(stored: StoredRequirement) -> Requirement {
        let StoredRequirement { criterion, title, bound, stream, measure, threshold, window_ns } = stored;
        let exact_bound = criterion.parse().ok().map(|read: Criterion| read.bound);
        Requirement { criterion, title, bound, stream, measure, threshold, window_ns, exact_bound }
    }
}

/// One criterion and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriterionOutcome {
    /// What it requires.
    #[serde(flatten)]
    pub asked: Requirement,
    /// Its outcome.
    pub outcome: Outcome,
    /// Number of windows judged.
    pub windows: u64,
    /// Number of those that were over the bound.
    pub broken: u64,
    /// The targets that broke it by themselves, the worst first, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken_on: Vec<BrokenTarget>,
    /// The deciding figure: the first broken window, otherwise the worst; absent when nothing was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Figure>,
    /// The worst figure of all windows, on one target or on all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<Figure>,
    /// The worst figure of each single target, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Figure>,
    /// Anything else that the reader must know: `judged over 30 min, the whole measured time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A target that broke a criterion by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenTarget {
    /// Its name.
    pub target: String,
    /// Number of windows in which it did.
    pub windows: u64,
    /// The worst figure of these windows.
    pub worst: Figure,
}

/// A measured value of a criterion in one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Window number, 1-based.
    pub window: u64,
    /// Begin in measured time.
    pub start_ns: u64,
    /// End in measured time.
    pub end_ns: u64,
    /// Target; absent for all targets together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// A share (0 to 1) or a mean in nanoseconds, according to the criterion.
    pub value: f64,
    /// The same for people: `2.70%`, `1.23 ms`.
    pub text: String,
    /// Number of operations it was computed from.
    pub operations: u64,
    /// False where the value is over the bound.
    pub within: bool,
    /// Set where the value would be within the bound without the generator's own lag.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_false")]
    pub generator: bool,
    /// Set where it may be within the bound without what others did on the disks of the run.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_false")]
    pub others: bool,
    /// Set where it is of fewer operations than the criterion asks for, so that it says nothing.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_false")]
    pub too_few: bool,
    /// Set where it may be within the bound if nothing had waited for a processor.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_false")]
    pub processors: bool,
}
