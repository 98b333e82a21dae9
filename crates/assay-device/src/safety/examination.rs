//! What is known about a target, and the answer of each rule.

use super::openers::Inode;
use super::rule::{Refusal, RuleAnswer, RuleId};
use super::standing::Marks;
use super::subject::Kind;
use super::watermark::Watermark;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The findings about a target, and the answer of each rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Examination {
    /// The name that was given.
    pub given: PathBuf,
    /// The name with all links resolved; empty when there is none.
    pub real: PathBuf,
    /// The kind of thing it is.
    pub kind: Kind,
    /// Usable bytes.
    pub size: Option<u64>,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// World-wide identifier.
    pub wwid: Option<String>,
    /// Other names: `/dev/disk/by-id/…` and the like.
    pub by_id: Vec<String>,
    /// The consent token, for a block device.
    pub token: Option<String>,
    /// The marks that the token is computed from.
    pub marks: Marks,
    /// Disk sequence number.
    pub diskseq: Option<u64>,
    /// The answers, in the order in which the rules were evaluated.
    pub rules: Vec<RuleAnswer>,
    /// Why a result on it cannot be a certificate.
    pub watermarks: Vec<Watermark>,
    /// The record of a consent under which this run may share the device with another one.
    pub shared_under: Option<Inode>,
    /// Whether S6 refuses for no other reason than that this is a container, which nobody has confirmed.
    pub is_in_container: bool,
    /// Names of the processes that use it (S6), for a consent that is given in advance.
    pub users: BTreeSet<String>,
    /// Whether every evaluated rule passes.
    pub accepted: bool,
    /// Whether a consent given earlier permits the writing.
    pub agreed_earlier: bool,
}

impl Examination {
    pub(super) fn without_findings(given: &Path) -> Examination {
        Examination {
            given: given.to_path_buf(),
            real: PathBuf::new(),
            kind: Kind::Missing,
            size: None,
            model: None,
            serial: None,
            wwid: None,
            by_id: Vec::new(),
            token: None,
            marks: Marks::new(),
            diskseq: None,
            rules: Vec::new(),
            watermarks: Vec::new(),
            shared_under: None,
            is_in_container: false,
            users: BTreeSet::new(),
            accepted: false,
            agreed_earlier: false,
        }
    }

    /// `given -> real, kind, model, serial, size` in one line.
    pub fn subject_line(&self) -> String {
        if self.kind == Kind::Missing {
            return String::new();
        }
        let model = self.model.iter().map(|m| format!(", model {m}"));
        let serial = self.serial.iter().map(|s| format!(", serial {s}"));
        let wwid = self.wwid.iter().map(|w| format!(", WWID {w}"));
        let size = self.size.iter().map(|s| format!(", {s} bytes"));
        let names = self.by_id.iter().take(1).map(|n| format!(", {n}"));
        let rest: String = model.chain(serial).chain(wwid).chain(size).chain(names).collect();
        format!("{}, {}{rest}", self.real.display(), self.kind)
    }
}

/// The refusal for an examination with at least one rule that does not hold.
pub(super) fn into_refusal(exam: Examination) -> Refusal {
    let subject = exam.subject_line();
    let mut failed: Vec<RuleAnswer> = exam.rules.into_iter().filter(|answer| !answer.may_continue()).collect();
    // The system's own disk comes first, then what no flag can override, what a flag can override, the missing consent.
    failed.sort_by_key(|answer| (answer.id != RuleId::S5, answer.id == RuleId::Consent, answer.overridable));
    let mut failed = failed.into_iter();
    let first = failed.next();
    // The evidence of a refused claim (S2) already says who uses the device; where rights are missing nothing was
    // claimed.
    let mut answers = first.iter().chain(failed.as_slice());
    let unclaimed = answers.any(|answer| answer.id == RuleId::S2 && !answer.lacks_rights);
    let also = failed.filter(|answer| !(unclaimed && matches!(answer.id, RuleId::S4 | RuleId::S6))).collect();
    Refusal {
        given: exam.given,
        subject,
        is_in_container: exam.is_in_container,
        rule: first.as_ref().map_or(RuleId::S0, |answer| answer.id),
        unpermitted: first.as_ref().is_some_and(|answer| answer.lacks_rights),
        evidence: first.map_or_else(|| "it could not be examined".to_owned(), |answer| answer.evidence),
        also,
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::Unopened;
    use super::*;

    /// The refusal for the rules that do not hold, given in order, with the rules it names: the first one is its main
    /// reason.
    fn named(failed: &[RuleId]) -> Vec<RuleId> {
        let answer = |id: &RuleId| RuleAnswer::new(*id, Err(format!("{id} does not hold")));
        let holds = RuleAnswer::new(RuleId::S1, Ok("a block device".into()));
        let rules = failed.iter().map(answer).chain([holds]).collect();
        let refusal = into_refusal(Examination { rules, ..Examination::without_findings(Path::new("/dev/sda")) });
        assert_eq!(refusal.evidence, format!("{} does not hold", refusal.rule));
        refusal.failed_rules().collect()
    }

    #[test]
    fn a_refusal_names_what_weighs_most_first() {
        use RuleId::*;
        for (failed, expected) in [
            // The system's own disk comes before what no flag can override.
            (&[S3, S5][..], &[S5, S3][..]),
            (&[S2, S4, S5, S6], &[S5, S2]),
            // What no flag can override comes before what a flag can, and that before the missing consent.
            (&[S6, S7, S9], &[S9, S6, S7]),
            (&[Consent, S7, S14], &[S14, S7, Consent]),
            (&[Consent, S8, S5], &[S5, S8, Consent]),
            // The others keep the order in which they were evaluated.
            (&[S3, S9, S14], &[S3, S9, S14]),
            // A refused claim already says who uses it.
            (&[S2, S4, S6, S7], &[S2, S7]),
            (&[S4, S6], &[S4, S6]),
        ] {
            assert_eq!(named(failed), expected, "{failed:?}");
        }
    }

    #[test]
    fn where_rights_are_missing_nothing_was_claimed_and_every_rule_is_named() {
        let unopened = Unopened { text: "not permitted".into(), lacks_rights: true };
        let rules = vec![
            RuleAnswer::from_unopened(RuleId::S2, unopened),
            RuleAnswer::new(RuleId::S4, Err("mounted".into())),
            RuleAnswer::new(RuleId::S6, Err("open".into())),
        ];
        let refusal = into_refusal(Examination { rules, ..Examination::without_findings(Path::new("/dev/sda")) });
        assert_eq!(refusal.failed_rules().collect::<Vec<_>>(), [RuleId::S2, RuleId::S4, RuleId::S6]);
        assert!(refusal.unpermitted && !refusal.lacks_rights(), "S4 speaks against it");
    }

    #[test]
    fn a_refusal_of_no_rule_says_that_nothing_could_be_examined() {
        let refusal = into_refusal(Examination::without_findings(Path::new("/dev/sda")));
        assert_eq!((refusal.rule, refusal.evidence.as_str()), (RuleId::S0, "it could not be examined"));
        assert!(!refusal.unpermitted && refusal.also.is_empty());
    }

    #[test]
    fn a_subject_is_told_in_one_line() {
        let mut exam = Examination::without_findings(Path::new("/dev/sda"));
        assert_eq!(exam.subject_line(), "");
        exam.kind = Kind::Other("FIFO");
        exam.real = "/tmp/fifo".into();
        assert_eq!(exam.subject_line(), "/tmp/fifo, FIFO");
        exam.model = Some("M".into());
        exam.serial = Some("S".into());
        exam.wwid = Some("W".into());
        exam.size = Some(512);
        exam.by_id = vec!["first".into(), "second".into()];
        assert_eq!(exam.subject_line(), "/tmp/fifo, FIFO, model M, serial S, WWID W, 512 bytes, first");
    }
}
