//! `assay check`: whether a database holds what its transactions must have left.

use crate::stdout::{print_document, print_json};
use assay_model::tpcc::checks::{Check as Condition, Violation};
use assay_run::databases::{self, After, Checked, Loaded};
use assay_run::failure::{Failure, code};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// `assay check`
#[derive(clap::Args, Debug)]
pub(crate) struct Check {
    /// The database, which assay prep has loaded: sqlite:FILE, postgres://ROLE@HOST/DATABASE or mysql://USER@HOST/DATABASE
    pub database: String,
    /// The directory of a run with --verify or --crash-test: also ask whether the database still has all commits that it
    /// acknowledged to that run, for example after a loss of power
    #[arg(long, value_name = "RUNDIR")]
    pub after: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// The result as a document.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    verdict: &'static str,
    #[serde(flatten)]
    loaded: &'a Loaded,
    conditions: usize,
    violations: Vec<Violated<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a After>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    losses: Vec<String>,
}

/// A place where a condition does not hold.
#[derive(Serialize)]
struct Violated<'a> {
    condition: &'static str,
    rule: &'static str,
    place: &'a [i64],
    left: Option<i64>,
    right: Option<i64>,
    text: String,
}

impl<'a> Violated<'a> {
    fn new(violation: &'a Violation) -> Violated<'a> {
        let Violation { check, key, left, right } = violation;
        let (condition, rule, text) = (check.condition_name(), check.rule_text(), violation.to_string());
        Violated { condition, rule, place: key, left: *left, right: *right, text }
    }
}

/// Examines a database; a violation is FAIL, and so is the loss of a commit.
pub(crate) fn check_database(args: &Check) -> Result<u8, Failure> {
    let url = databases::parse_url(&args.database)?;
    let (checked, after) = match &args.after {
        Some(dir) => databases::check_after(&url, dir).map(|(checked, after)| (checked, Some(after)))?,
        None => (databases::check_database(&url)?, None),
    };
    let holds = checked.violations.is_empty() && after.as_ref().is_none_or(After::has_no_losses);
    if args.json {
        print_json(&Document {
            schema: 1,
            verdict: verdict_word(holds),
            loaded: &checked.loaded,
            conditions: Condition::ALL.len(),
            violations: checked.violations.iter().map(Violated::new).collect(),
            after: after.as_ref(),
            losses: after.as_ref().map(After::loss_sentences).unwrap_or_default(),
        })?;
    } else {
        print_document(&checked_text(&checked, after.as_ref()));
    }
    Ok(if holds { code::DONE } else { code::FAILED })
}

fn verdict_word(holds: bool) -> &'static str {
    if holds { "PASS" } else { "FAIL" }
}

fn checked_text(checked: &Checked, after: Option<&After>) -> String {
    let Checked { loaded, violations } = checked;
    let mut text = String::new();
    let warehouses = if loaded.warehouses == 1 { "warehouse" } else { "warehouses" };
    let _ = writeln!(text, "{}: {} {warehouses}, seed {}", loaded.database, loaded.warehouses, loaded.seed);
    if let Some(after) = after {
        commits_in_words(after, &mut text);
    }
    for violation in violations {
        let _ = writeln!(text, "  {violation}");
    }
    let of = Condition::ALL.len();
    let _ = match violations.as_slice() {
        [] => writeln!(text, "PASS: all {of} conditions hold"),
        _ => {
            let mut broken: Vec<&str> = violations.iter().map(|violation| violation.check.condition_name()).collect();
            broken.dedup();
            writeln!(text, "FAIL: {} of {of} conditions do not hold", broken.len())
        }
    };
    let _ = writeln!(text, "{}", loaded.derived);
    text
}

/// Describes what became of the commits of a run.
fn commits_in_words(after: &After, text: &mut String) {
    for loss in after.loss_sentences() {
        let _ = writeln!(text, "  {loss}");
    }
    let After { acknowledged, lost, sessions, .. } = after;
    let _ = match (after.has_no_losses(), lost) {
        (true, _) => writeln!(text, "PASS: all {acknowledged} acknowledged commits of {sessions} sessions are there"),
        (false, 0) => writeln!(text, "FAIL: what {acknowledged} acknowledged commits left is not what is there"),
        (false, lost) => writeln!(text, "FAIL: {lost} of {acknowledged} acknowledged commits are lost"),
    };
    if !after.ended {
        text.push_str("the run was killed: what it had sent beyond the commits is not known\n");
    }
}
