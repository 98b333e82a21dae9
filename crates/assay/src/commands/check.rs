//! `assay check`: whether a database holds what its transactions must have left.

use crate::stdout::{print, print_json};
use assay_model::tpcc::checks::{Check as Condition, Violation};
use assay_run::databases::{self, Checked, Loaded};
use assay_run::failure::{Failure, code};
use serde::Serialize;
use std::fmt::Write;

/// `assay check`
#[derive(clap::Args, Debug)]
pub(crate) struct Check {
    /// The database: sqlite:FILE, which assay prep has loaded
    pub database: String,
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
    fn of(violation: &'a Violation) -> Violated<'a> {
        let Violation { check, key, left, right } = violation;
        let (condition, rule, text) = (check.name(), check.rule(), violation.to_string());
        Violated { condition, rule, place: key, left: *left, right: *right, text }
    }
}

/// Examines a database; a violation is FAIL.
pub(crate) fn check(args: &Check) -> Result<u8, Failure> {
    let checked = databases::check(&databases::named(&args.database)?)?;
    let holds = checked.violations.is_empty();
    if args.json {
        print_json(&Document {
            schema: 1,
            verdict: verdict(holds),
            loaded: &checked.loaded,
            conditions: Condition::ALL.len(),
            violations: checked.violations.iter().map(Violated::of).collect(),
        })?;
    } else {
        print(&text(&checked));
    }
    Ok(if holds { code::DONE } else { code::FAILED })
}

fn verdict(holds: bool) -> &'static str {
    if holds { "PASS" } else { "FAIL" }
}

fn text(checked: &Checked) -> String {
    let Checked { loaded, violations } = checked;
    let mut text = String::new();
    let warehouses = if loaded.warehouses == 1 { "warehouse" } else { "warehouses" };
    let _ = writeln!(text, "{}: {} {warehouses}, seed {}", loaded.database, loaded.warehouses, loaded.seed);
    for violation in violations {
        let _ = writeln!(text, "  {violation}");
    }
    let of = Condition::ALL.len();
    let _ = match violations.as_slice() {
        [] => writeln!(text, "PASS: all {of} conditions hold"),
        _ => {
            let mut broken: Vec<&str> = violations.iter().map(|violation| violation.check.name()).collect();
            broken.dedup();
            writeln!(text, "FAIL: {} of {of} conditions do not hold", broken.len())
        }
    };
    let _ = writeln!(text, "{}", loaded.derived);
    text
}
