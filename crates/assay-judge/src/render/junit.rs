//! The judgement as JUnit XML, for tools that show test results: a suite for the whole and for each step, a case for
//! each criterion, and one for the verdict itself, so that a step that failed for another reason (errors of the device,
//! a cut log) is not shown as passed.

use crate::judgement::{CriterionOutcome, Judgement, Outcome, StepFigures};
use crate::render::shown::figures_of_step;
use crate::verdict::Verdict;
use crate::words::broken_on;
use std::fmt::{self, Write};

/// The content of a suite: the judgement itself or one of its steps.
struct Suite<'a> {
    title: String,
    verdict: Verdict,
    reason: &'a str,
    /// `None` for the suite of all steps together.
    part: Option<&'a StepFigures>,
}

/// Writes the document.
pub fn write_junit(judgement: &Judgement, out: &mut dyn Write) -> fmt::Result {
    // Steps that passed do not imply a complete certification: one may be missing.
    let whole = Suite {
        title: format!("{} at {}", judgement.name, judgement.load),
        verdict: judgement.verdict,
        reason: &judgement.reason,
        part: judgement.steps.is_empty().then_some(&judgement.part),
    };
    let steps = judgement.steps.iter().map(|step| Suite {
        title: format!("step {}: {} at {}", step.number, step.title, step.load),
        verdict: step.verdict,
        reason: &step.reason,
        part: Some(&step.part),
    });
    let suites: Vec<Suite> = std::iter::once(whole).chain(steps).collect();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"{}\">", escaped_text(&judgement.name))?;
    suites.iter().try_for_each(|suite| write_suite(judgement, suite, out))?;
    writeln!(out, "</testsuites>")
}

fn write_suite(judgement: &Judgement, suite: &Suite, out: &mut dyn Write) -> fmt::Result {
    let all = suite.part.map_or(&[][..], |part| &part.criteria);
    let having = |outcomes: &[Outcome]| all.iter().filter(|criterion| outcomes.contains(&criterion.outcome)).count();
    let failures = having(&[Outcome::Fail]) + usize::from(suite.verdict == Verdict::Fail);
    let unproved = matches!(suite.verdict, Verdict::Invalid | Verdict::Incomplete);
    let errors = having(&[Outcome::Invalid, Outcome::Incomplete]) + usize::from(unproved);
    writeln!(
        out,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{}\" time=\"{:.3}\" timestamp=\"{}\">",
        escaped_text(&suite.title),
        all.len() + 1,
        having(&[Outcome::NotApplied]),
        suite.part.map_or(0.0, |part| part.time.measured_ns as f64 / 1e9),
        escaped_text(&judgement.created),
    )?;
    writeln!(out, "    <properties>")?;
    let seed = judgement.seed.to_string();
    let facts = [("tool", judgement.tool.as_str()), ("model", &judgement.model), ("seed", &seed)];
    let targets =
        suite.part.iter().flat_map(|part| &part.targets.each).map(|target| ("target", target.head.name.as_str()));
    let marks = judgement.watermarks.iter().map(|mark| ("watermark", mark.as_str()));
    let done: Vec<String> = suite.part.map(figures_of_step).into_iter().filter(|done| !done.is_empty()).collect();
    let done = done.iter().map(|done| ("figures", done.as_str()));
    for (name, value) in facts.into_iter().chain(targets).chain(done).chain(marks) {
        writeln!(out, "      <property name=\"{name}\" value=\"{}\"/>", escaped_text(value))?;
    }
    writeln!(out, "    </properties>")?;
    write_case(
        out,
        judgement,
        "verdict",
        verdict_of(suite.verdict).map(|(tag, kind)| (tag, kind, suite.reason.into())),
    )?;
    for criterion in all {
        let targets = suite.part.map_or(0, |part| part.targets.each.len());
        write_case(
            out,
            judgement,
            &format!("{} {}", criterion.asked.title, criterion.asked.bound),
            criterion_answer(criterion, targets),
        )?;
    }
    writeln!(out, "  </testsuite>")
}

/// One case: its content, if any, is an element with type and message.
fn write_case(
    out: &mut dyn Write,
    judgement: &Judgement,
    name: &str,
    inside: Option<(&str, &str, String)>,
) -> fmt::Result {
    write!(out, "    <testcase classname=\"{}\" name=\"{}\"", escaped_text(&judgement.name), escaped_text(name))?;
    match inside {
        None => writeln!(out, "/>"),
        Some((tag, "", message)) => writeln!(out, "><{tag} message=\"{}\"/></testcase>", escaped_text(&message)),
        Some((tag, kind, message)) => {
            writeln!(out, "><{tag} type=\"{kind}\" message=\"{}\"/></testcase>", escaped_text(&message))
        }
    }
}

fn verdict_of(verdict: Verdict) -> Option<(&'static str, &'static str)> {
    match verdict {
        Verdict::Pass => None,
        Verdict::Fail => Some(("failure", "FAIL")),
        Verdict::Invalid => Some(("error", "INVALID")),
        Verdict::Incomplete => Some(("error", "INCOMPLETE")),
    }
}

fn criterion_answer(criterion: &CriterionOutcome, targets: usize) -> Option<(&'static str, &'static str, String)> {
    let (tag, kind) = match criterion.outcome {
        Outcome::Pass => return None,
        Outcome::Fail => ("failure", "FAIL"),
        Outcome::Invalid => ("error", "INVALID"),
        Outcome::Incomplete => ("error", "INCOMPLETE"),
        Outcome::NotApplied => ("skipped", ""),
    };
    let measured = criterion.measured.as_ref().map(|figure| {
        let target = figure.target.as_ref().map_or(String::new(), |target| format!(" on {target}"));
        format!("{} in slice {}{target}, bound {}", figure.text, figure.window, criterion.asked.bound)
    });
    let words: Vec<String> = measured.into_iter().chain(criterion.note.clone()).collect();
    let message = if words.is_empty() { "nothing was judged".to_owned() } else { words.join("; ") };
    let broken = if criterion.broken > 0 {
        format!("; {} of {} slices broken", criterion.broken, criterion.windows)
    } else {
        String::new()
    };
    let on = broken_on(&criterion.broken_on, targets);
    let on = if on.is_empty() { on } else { format!(", {on}") };
    Some((tag, kind, message + &broken + &on))
}

/// Text for an attribute or an element of XML or HTML. Characters that XML 1.0 cannot contain become U+FFFD.
fn escaped_text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\n' | '\t' | '\r' => safe.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::escaped_text;

    #[test]
    fn nothing_leaves_an_attribute() {
        assert_eq!(escaped_text("a\"/><x y='&\u{0}\n\u{ffff}"), "a&quot;/&gt;&lt;x y=&apos;&amp;\u{fffd} \u{fffd}");
    }
}
