//! What is known of a target, and what each rule says of it.

use super::rule::{Refusal, RuleAnswer, RuleId};
use super::standing::Marks;
use super::subject::Kind;
use super::watermark::Watermark;
use std::path::{Path, PathBuf};

/// What is known of a target and what each rule says of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Examination {
    /// The name that was given.
    pub given: PathBuf,
    /// The name with all links resolved; empty when there is none.
    pub real: PathBuf,
    /// What it is.
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
    /// What the token is made of.
    pub marks: Marks,
    /// Disk sequence number.
    pub diskseq: Option<u64>,
    /// Answers, in the order asked.
    pub rules: Vec<RuleAnswer>,
    /// Why a result on it cannot be a certificate.
    pub watermarks: Vec<Watermark>,
    /// Whether every rule that was asked passes.
    pub accepted: bool,
    /// Whether a consent given earlier is what lets it be written.
    pub agreed_earlier: bool,
}

impl Examination {
    pub(super) fn nothing(given: &Path) -> Examination {
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
            accepted: false,
            agreed_earlier: false,
        }
    }

    /// `given -> real, kind, model, serial, size` in one line.
    pub fn subject(&self) -> String {
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

/// The refusal of an examination with at least one rule that does not hold.
pub(super) fn refusal(exam: Examination) -> Refusal {
    let subject = exam.subject();
    let mut failed: Vec<RuleAnswer> = exam.rules.into_iter().filter(|answer| !answer.passes()).collect();
    // The system's own disk is said first, then what no flag can change, what a flag can change, the missing consent.
    failed.sort_by_key(|answer| (answer.id != RuleId::S5, answer.id == RuleId::Consent, answer.overridable));
    let mut failed = failed.into_iter();
    let first = failed.next();
    // The evidence of a refused claim (S2) already says who uses the device; where rights are missing nothing was claimed.
    let refused = |answer: &RuleAnswer| answer.id == RuleId::S2 && !answer.lacks_rights;
    let unclaimed = first.iter().chain(failed.as_slice()).any(refused);
    let told = |id: RuleId| unclaimed && matches!(id, RuleId::S4 | RuleId::S6);
    let also = failed.filter(|answer| !told(answer.id)).collect();
    Refusal {
        given: exam.given,
        subject,
        rule: first.as_ref().map_or(RuleId::S0, |answer| answer.id),
        unpermitted: first.as_ref().is_some_and(|answer| answer.lacks_rights),
        evidence: first.map_or_else(|| "it could not be examined".to_owned(), |answer| answer.evidence),
        also,
    }
}
