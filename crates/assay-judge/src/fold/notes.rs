//! What was found while a step is read: what speaks against PASS, and what a reader should know.

use crate::rules::finding::{Class, Finding, nowhere};

/// Warnings kept.
const WARNINGS: usize = 20;

/// Collects over one step.
#[derive(Debug)]
pub(crate) struct Notes {
    step: u32,
    /// What speaks against PASS, in the order in which it was found.
    pub(crate) findings: Vec<Finding>,
    /// What a reader should know.
    pub(crate) warnings: Vec<String>,
    /// Places where the log contradicts itself.
    pub(crate) contradictions: u64,
    /// Lines of it are missing or unreadable.
    pub(crate) damaged: bool,
}

impl Notes {
    /// Nothing was found yet in step `step`.
    pub(crate) fn new(step: u32) -> Notes {
        Notes { step, findings: Vec::new(), warnings: Vec::new(), contradictions: 0, damaged: false }
    }

    /// Number of the step.
    pub(crate) fn step(&self) -> u32 {
        self.step
    }

    /// Something about the whole step.
    pub(crate) fn find(&mut self, class: Class, text: impl Into<String>) {
        self.findings.push(Finding::of_step(class, text, self.step));
    }

    /// Something at a moment of measured time.
    pub(crate) fn find_at(&mut self, class: Class, text: impl Into<String>, at_ns: u64) {
        let mut deciding = nowhere(self.step);
        (deciding.start_ns, deciding.end_ns) = (at_ns, at_ns);
        self.findings.push(Finding::new(class, text, deciding));
    }

    /// Something in the log contradicts itself. The first time is told.
    pub(crate) fn contradiction(&mut self, text: String, at_ns: u64) {
        self.contradictions += 1;
        let known = self.findings.iter().any(|finding| finding.text.starts_with("the log does not add up"));
        if !known {
            self.find_at(Class::Unproven, text, at_ns);
        }
    }

    /// Something a reader should know; a run that always warns is not listened to.
    pub(crate) fn warn(&mut self, text: String) {
        if self.warnings.len() < WARNINGS {
            self.warnings.push(text);
        }
    }
}
