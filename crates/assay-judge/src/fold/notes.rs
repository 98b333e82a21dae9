//! What was found while a step is read: reasons against PASS, and what a reader should know.

use crate::finding::log::{Contradiction, LogFinding};
use crate::finding::{Finding, FindingKind, deciding_without_place};

/// Number of warnings kept.
const WARNINGS: usize = 20;

/// Collects over one step.
#[derive(Clone, Debug)]
pub(crate) struct Notes {
    step: u32,
    /// Reasons against PASS, in the order in which they were found.
    pub(crate) findings: Vec<Finding>,
    /// What a reader should know.
    pub(crate) warnings: Vec<String>,
    /// Places where the log contradicts itself.
    pub(crate) contradictions: u64,
    /// Lines of the log are missing or unreadable.
    pub(crate) damaged: bool,
}

impl Notes {
    /// Empty notes for step `step`.
    pub(crate) fn new(step: u32) -> Notes {
        Notes { step, findings: Vec::new(), warnings: Vec::new(), contradictions: 0, damaged: false }
    }

    /// Number of the step.
    pub(crate) fn step_number(&self) -> u32 {
        self.step
    }

    /// Adds a finding about the whole step.
    pub(crate) fn add_finding(&mut self, kind: impl Into<FindingKind>) {
        self.findings.push(Finding::of_step(kind, self.step));
    }

    /// Adds a finding at a moment of measured time.
    pub(crate) fn find_at(&mut self, kind: impl Into<FindingKind>, at_ns: u64) {
        let mut deciding = deciding_without_place(self.step);
        (deciding.start_ns, deciding.end_ns) = (at_ns, at_ns);
        self.findings.push(Finding::new(kind, deciding));
    }

    /// Adds a finding about the step that is reported once, however often it is found: `alike` recognises another of
    /// its kind.
    pub(crate) fn find_once(&mut self, kind: impl Into<FindingKind>, alike: impl Fn(&FindingKind) -> bool) {
        if !self.findings.iter().any(|known| alike(&known.kind)) {
            self.add_finding(kind);
        }
    }

    /// Adds a finding about the step, unless exactly the same was found before.
    pub(crate) fn find_new(&mut self, kind: impl Into<FindingKind>) {
        let kind = kind.into();
        if !self.findings.iter().any(|known| known.kind == kind) {
            self.add_finding(kind);
        }
    }

    /// Notes a contradiction in the log. Only the first one is reported.
    pub(crate) fn note_contradiction(&mut self, found: Contradiction, at_ns: u64) {
        self.contradictions += 1;
        if !self.findings.iter().any(|finding| matches!(finding.kind, FindingKind::Log(LogFinding::Contradiction(_)))) {
            self.find_at(LogFinding::Contradiction(found), at_ns);
        }
    }

    /// Notes that the log is damaged, or ends in the middle of a line. Only the first damage is reported.
    pub(crate) fn note_damage(&mut self, found: LogFinding) {
        match found {
            LogFinding::Damaged(_) => {
                self.find_once(found, |kind| matches!(kind, FindingKind::Log(LogFinding::Damaged(_))))
            }
            other => self.add_finding(other),
        }
    }

    /// Adds something that a reader should know; the number is limited, because nobody reads endless warnings.
    pub(crate) fn add_warning(&mut self, text: String) {
        if self.warnings.len() < WARNINGS {
            self.warnings.push(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::target::TargetFinding;

    #[test]
    fn contradictions_are_counted_and_the_first_is_reported() {
        let mut notes = Notes::new(3);
        (0..5).for_each(|index| notes.note_contradiction(Contradiction::Again { index }, 100 + index));
        assert_eq!((notes.step_number(), notes.contradictions, notes.findings.len()), (3, 5, 1));
        let deciding = &notes.findings[0].deciding;
        assert_eq!((deciding.step, deciding.start_ns, deciding.end_ns), (3, 100, 100));
    }

    #[test]
    fn twenty_warnings_are_kept() {
        let mut notes = Notes::new(1);
        (0..25).for_each(|n| notes.add_warning(n.to_string()));
        assert_eq!((notes.warnings.len(), notes.warnings[19].as_str()), (20, "19"));
    }

    #[test]
    fn the_same_is_found_once() {
        let mut notes = Notes::new(1);
        let said = |text: &str| TargetFinding::MediaErrors { target: text.to_owned(), before: 1, after: 2 };
        for (text, found) in [("a", 1), ("a", 1), ("b", 2), ("a", 2), ("b", 2)] {
            notes.find_new(said(text));
            assert_eq!(notes.findings.len(), found, "{text}");
        }
    }
}
