//! How a target is offered to the gate, and what must be true for a protected one.

use super::live::{Loop, have, run, sum};
use assay_device::safety::{Examination, Gate, Permit, Refusal, Request, RuleId, RuleId::*};
use std::path::Path;

pub fn examine(path: &Path) -> Examination {
    Gate::of_machine().examine_path(path)
}

/// Offers a target as a careless person would: with its valid token.
pub fn admit(path: &Path, overrides: &[RuleId]) -> Result<Permit, Refusal> {
    offer(path, examine(path).token, overrides)
}

pub fn offer(path: &Path, token: Option<String>, overrides: &[RuleId]) -> Result<Permit, Refusal> {
    let tokens: Vec<String> = token.into_iter().collect();
    Gate::of_machine().admit_target(&Request { tokens: &tokens, overrides, ..Request::new(path) })
}

/// It is refused by `rule`, also with every override that does not apply to that rule, and `kept` stays unchanged.
pub fn protected(what: &str, path: &Path, kept: &[&Path], rule: RuleId, words: &str) {
    let before: Vec<_> = kept.iter().map(|file| sum(file)).collect();
    let exam = examine(path);
    assert!(!exam.accepted, "{what}: shown as accepted");
    // Lock and consent are checked only for a request to write.
    let seen = exam.rules.iter().any(|answer| answer.id == rule && !answer.ok);
    assert!(seen || rule == S13, "{what}: a look does not see {rule}");
    let refusal = offer(path, exam.token.clone(), &[]).expect_err(what);
    assert_eq!(refusal.rule, rule, "{what}: {refusal}");
    assert!(refusal.to_string().contains(words), "{what}: {refusal}");
    if !rule.may_override() {
        assert!(offer(path, exam.token, &[S6, S7, S8]).is_err(), "{what}: overridden");
    }
    let after: Vec<_> = kept.iter().map(|file| sum(file)).collect();
    assert_eq!(before, after, "{what}: bytes changed");
}

pub fn dir() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("assay-safety-").tempdir().unwrap()
}

pub fn made(dir: &Path, kind: &str, size: u64) -> Option<Loop> {
    let program = format!("mkfs.{kind}");
    if !have(&program) {
        return None;
    }
    let device = Loop::blank(dir, kind, size);
    let options: &[&str] = match kind {
        "ext4" => &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
        _ => &["-q", "-f"],
    };
    let command: Vec<&str> = [program.as_str()].iter().chain(options).chain([&device.dev.as_str()]).copied().collect();
    run(&command).unwrap();
    Some(device)
}
