//! A suite as text. Names are hostile input: the page cleans them.

use super::comparison::{ClassTable, Row, SuiteComparison};
use super::{Ceilings, Suite};
use crate::compare::{answer_text, value_text};
use crate::render::{Page, cut_to_width};
use std::fmt;

/// Width of a value in characters, and of the first column.
const VALUE: usize = 26;
const TITLE: usize = 14;
/// The figures that a terminal shows: the others are on the page and in the JSON.
const SHOWN: [&str; 2] = ["p50", "p99"];
/// At most this many runs without figures are listed with their reasons.
const LISTED: usize = 12;

/// The tables, for a terminal; what it comes to stands at the end.
pub fn write_text(suite: &Suite, out: &mut dyn fmt::Write) -> fmt::Result {
    let comparison = suite.compare();
    let mut page = Page::default();
    page.add_text("", &suite_in_words(suite));
    page.add_text("", &suite.watermarks.join(", "));
    for table in &comparison.tables {
        page.add_blank_line();
        add_table(&mut page, suite, table);
    }
    page.add_blank_line();
    comparison.ceilings.iter().for_each(|ceilings| page.add_text("  ", &ceilings_in_words(ceilings)));
    suite.remarks.iter().for_each(|remark| page.add_text("  ", remark));
    suite.lost.iter().for_each(|lost| page.add_text("  lost: ", &suite.loss_in_words(lost)));
    add_unusable_runs(&mut page, suite);
    page.add_blank_line();
    page.add_text("", &comparison.method);
    page.add_text("", &chance_in_words(&comparison));
    page.add_blank_line();
    conclusions_in_words(suite, &comparison).iter().for_each(|sentence| page.add_text("", sentence));
    page.write_lines(out)
}

fn add_table(page: &mut Page, suite: &Suite, table: &ClassTable) {
    page.add_text("", &class_in_words(table));
    for member in suite.members.iter().filter(|member| table.labels.contains(&member.label)) {
        page.add_text(&format!("  {}: ", cut_to_width(&member.label, 30)), &member_in_words(suite, &member.label));
    }
    table.differences.iter().for_each(|sentence| page.add_text("  differs: ", sentence));
    let head: String = table.labels.iter().map(|label| format!(" {:>VALUE$}", cut_to_width(label, VALUE))).collect();
    page.add_blank_line();
    page.add_wide_line(format!("{:TITLE$}{head}", ""));
    table.rows.iter().filter(|row| row.principal).for_each(|row| add_row(page, row));
}

fn add_row(page: &mut Page, row: &Row) {
    page.add_wide_line(row.title());
    for figure in row.figures.iter().filter(|figure| SHOWN.contains(&figure.what.as_str())) {
        let values: String =
            figure.values.iter().map(|value| format!(" {:>VALUE$}", value_text(figure, *value))).collect();
        page.add_wide_line(format!("  {:w$}{values}", figure.what, w = TITLE - 2));
        if figure.against_first.is_empty() {
            continue;
        }
        let answers: String =
            figure.against_first.iter().map(|answer| format!(" {:>VALUE$}", answer_text(figure, answer))).collect();
        page.add_wide_line(format!("{:w$}{answers}", "", w = TITLE + VALUE + 1));
    }
}

fn add_unusable_runs(page: &mut Page, suite: &Suite) {
    let unusable = || suite.unusable_runs();
    for run in unusable().take(LISTED) {
        let place = suite.place_in_words(run.place);
        page.add_text("  ", &format!("without figures: {place}: {} ({})", run.verdict, run.reason));
    }
    let more = unusable().count().saturating_sub(LISTED);
    if more > 0 {
        page.add_line(format!("  and {more} more"));
    }
    suite.aside.as_sentences().iter().take(LISTED).for_each(|line| page.add_text("  ", line));
}

/// `mounts cephfs, nfs: commit (20s), mailspool (20s); 5 rounds`.
pub(super) fn suite_in_words(suite: &Suite) -> String {
    let labels: Vec<&str> = suite.members.iter().map(|member| member.label.as_str()).collect();
    let mut workloads = Vec::new();
    for workload in &suite.workloads {
        let cache = if workload.cache.is_empty() { String::new() } else { format!(", cache {}", workload.cache) };
        workloads.push(format!("{} ({}{cache})", workload.name, workload.length));
    }
    let rounds = if suite.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", suite.rounds) };
    format!("{} {}: {}; {rounds}, seed {}", suite.compared, labels.join(", "), workloads.join(", "), suite.seed)
}

/// `class shared: cephfs, nfs`.
pub(super) fn class_in_words(table: &ClassTable) -> String {
    let labels = table.labels.join(", ");
    if table.class.contains(" and ") {
        return format!("classes {}, compared anyway, though they do different work: {labels}", table.class);
    }
    format!("class {}: {labels}", table.class)
}

/// The facts of a member.
pub(super) fn member_in_words(suite: &Suite, label: &str) -> String {
    let Some(member) = suite.members.iter().find(|member| member.label == label) else { return String::new() };
    let facts: Vec<String> = member.facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let about: Vec<String> = member.about.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let about = if about.is_empty() { String::new() } else { format!("; as its user says: {}", about.join(", ")) };
    format!("{}; {}{about}", member.target, facts.join("; "))
}

/// `mailspool on cephfs: 812.4/s, in memory 52 times as many; limited by the link …`.
fn ceilings_in_words(ceilings: &Ceilings) -> String {
    let Ceilings { workload, label, rate, times_in_memory, client_share, link, cached, limited_by } = ceilings;
    let mut words = vec![format!("{workload} on {label}: {rate:.1}/s")];
    words.extend(times_in_memory.map(|times| format!("in memory {times:.2} times as many")));
    words.extend(client_share.map(|share| format!("client {:.0}%", share * 100.0)));
    words.extend(link.as_ref().map(|link| format!("link {} {:.0}%", link.name, link.share * 100.0)));
    words.extend(cached.map(|cached| format!("in the page cache before {}", cached.in_words())));
    let limits = if limited_by.is_empty() { String::new() } else { format!("; {}", limited_by.join("; ")) };
    format!("{}{limits}", words.join(", "))
}

/// How many figures differ, and how many would by chance.
pub(super) fn chance_in_words(comparison: &SuiteComparison) -> String {
    let SuiteComparison { told, differing, .. } = comparison;
    if *told == 0 {
        return "No two mounts have a figure that could be told apart.".to_owned();
    }
    format!(
        "{differing} of {told} figures differ, those of single operations included; about {:.0} would by chance alone.",
        *told as f64 / 20.0
    )
}

/// What it comes to, a sentence for each member but the first of its class.
pub(super) fn conclusions_in_words(suite: &Suite, comparison: &SuiteComparison) -> Vec<String> {
    let mut sentences = Vec::new();
    for table in &comparison.tables {
        if let [alone] = table.labels.as_slice() {
            sentences.push(format!(
                "{alone} is the only one of its class ({}); --anyway compares it with the others.",
                table.class
            ));
        }
        sentences.extend(table.conclusions.iter().map(|conclusion| format!("{}.", conclusion.sentence)));
    }
    if suite.rounds < super::rounds::LEAST_ROUNDS as u32 {
        sentences.push(
            "Fewer than 3 rounds tell nothing: the same command with --resume and --rounds 5 goes on with it."
                .to_owned(),
        );
    }
    sentences
}
