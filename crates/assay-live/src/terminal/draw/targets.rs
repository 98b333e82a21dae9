//! The third tab: what was done to each target and what was counted beneath them, and what each host carries.

use super::events::add_sentences;
use super::picture::{Picture, title_line};
use super::table::{Column, Table};
use crate::terminal::words::{count_text, shown_text};
use crate::view::counted::FlowCounts;
use assay_base::Bytes;
use assay_judge::judgement::{DatabaseFigures, ForeignFigures, MeterFigures, RankFigures, StepFigures};
use ratatui::text::Line;

/// Its lines.
pub(super) fn target_lines(picture: &Picture<'_>, columns: u16) -> Vec<Line<'static>> {
    let width = usize::from(columns);
    let mut lines = targets_table(picture).lines(width, 0, usize::MAX);
    let Some(judged) = &picture.state.judged else { return lines };
    let part = &judged.part;
    add_sentences(&mut lines, "databases", &database_sentences(part), columns);
    let mut beneath: Vec<String> = part.targets.meters.iter().map(MeterFigures::in_words).collect();
    beneath.extend(part.targets.foreign.iter().map(foreign_sentence));
    beneath.extend(part.targets.unwatched.iter().cloned());
    add_sentences(&mut lines, "beneath them", &beneath, columns);
    if !part.generator.ranks.is_empty() {
        lines.extend([Line::default(), title_line("hosts")]);
        lines.extend(ranks_table(&part.generator.ranks).lines(width, 0, usize::MAX));
    }
    lines
}

/// Each database with what it completed a minute, over all measured time.
fn database_sentences(part: &StepFigures) -> Vec<String> {
    let several = part.databases.len() > 1;
    let mut sentences = Vec::new();
    for (at, database) in part.databases.iter().enumerate() {
        let figures = part.streams.per_minute.iter();
        let figures: Vec<String> = figures
            .filter_map(|figure| if several { figure.figure_on_target(at) } else { Some(figure.in_words()) })
            .collect();
        sentences.push([figures, vec![DatabaseFigures::in_words(database)]].concat().join(", "));
    }
    sentences
}

fn foreign_sentence(disk: &ForeignFigures) -> String {
    format!("others on {}: {}", disk.head.name, disk.said.as_deref().unwrap_or("nothing notable"))
}

fn targets_table(picture: &Picture<'_>) -> Table {
    let Some(head) = &picture.state.head else { return Table::of_columns(Vec::new()) };
    let mut counts = vec![FlowCounts::default(); head.targets.len()];
    for (name, flow) in picture.state.counted.flows() {
        if let Some(at) = head.targets.iter().position(|target| *target == name.target) {
            counts[at].add_figures(flow);
        }
    }
    let totals = picture.state.judged.as_ref().map_or(&[][..], |judged| &judged.part.targets.each);
    let names = head.targets.iter().map(|target| shown_text(target)).collect();
    let kinds =
        (0..counts.len()).map(|at| totals.get(at).map_or_else(String::new, |target| shown_text(&target.head.kind)));
    let bytes = |figure: fn(&assay_judge::judgement::TargetTotals) -> u64| -> Vec<String> {
        let each = (0..counts.len()).map(|at| totals.get(at).map(figure));
        each.map(|bytes| bytes.map_or_else(|| "-".to_owned(), |bytes| Bytes::new(bytes).human_text())).collect()
    };
    let figures = |figure: fn(&FlowCounts) -> u64| counts.iter().map(|flow| count_text(figure(flow))).collect();
    Table::of_columns(vec![
        Column::of_texts("target", 0, names),
        Column::of_texts("kind", 4, kinds.collect()),
        Column::of_figures("read", 3, bytes(|target| target.read_bytes)),
        Column::of_figures("written", 3, bytes(|target| target.written_bytes)),
        Column::of_figures("completed", 1, figures(|flow| flow.completed)),
        Column::of_figures(
            "failed",
            1,
            figures(|flow| flow.errors.values().copied().fold(flow.short, u64::saturating_add)),
        ),
        Column::of_figures("in flight", 2, figures(|flow| flow.in_flight)),
        Column::of_figures("waiting", 2, figures(|flow| flow.waiting)),
    ])
}

fn ranks_table(ranks: &[RankFigures]) -> Table {
    let verdict = |rank: &RankFigures| rank.verdict.map_or_else(|| "-".to_owned(), |verdict| verdict.to_string());
    Table::of_columns(vec![
        Column::of_texts("host", 0, ranks.iter().map(|rank| shown_text(&rank.host)).collect()),
        Column::of_figures("rank", 1, ranks.iter().map(|rank| rank.rank.to_string()).collect()),
        Column::of_figures("parts of the load", 2, ranks.iter().map(|rank| count_text(rank.parts)).collect()),
        Column::of_texts("by its own log", 1, ranks.iter().map(verdict).collect()),
    ])
}
