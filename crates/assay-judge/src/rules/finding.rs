//! What speaks against PASS, and which of several findings decides.

use crate::judgement::Deciding;
use crate::verdict::Verdict;

/// Kinds of findings, the heaviest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// An operation failed, was short or never came back, or the target was lost. True even if the run was cut.
    Errors,
    /// Something stood between the run and the device, so that no slice says anything about it.
    Between,
    /// A complete, valid slice over its bound, or a load that was not held.
    Broken,
    /// The generator was the bottleneck, or the log cannot be trusted.
    Unproven,
    /// Something that was planned is not there.
    Missing,
}

/// One reason against PASS.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its weight.
    pub class: Class,
    /// The sentence.
    pub text: String,
    /// Where it was found.
    pub deciding: Deciding,
}

impl Finding {
    /// A finding at a place.
    pub fn new(class: Class, text: impl Into<String>, deciding: Deciding) -> Finding {
        Finding { class, text: text.into(), deciding }
    }

    /// A finding about the whole step.
    pub fn of_step(class: Class, text: impl Into<String>, step: u32) -> Finding {
        Finding::new(class, text, nowhere(step))
    }

    /// What it makes of the run.
    pub fn verdict(&self) -> Verdict {
        match self.class {
            Class::Errors | Class::Broken => Verdict::Fail,
            Class::Between | Class::Unproven => Verdict::Invalid,
            Class::Missing => Verdict::Incomplete,
        }
    }

    /// True when it names a place in time.
    pub fn is_placed(&self) -> bool {
        self.deciding.slice.is_some() || self.deciding.stream.is_some() || self.deciding.target.is_some()
    }
}

/// The step and nothing more precise.
pub fn nowhere(step: u32) -> Deciding {
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
    }
}

/// The finding that decides: the heaviest, of those the earliest.
pub fn deciding(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().min_by_key(|finding| (finding.class, finding.deciding.start_ns))
}
