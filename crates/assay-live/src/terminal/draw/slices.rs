//! The fourth tab: the slices of the step, the newest first.

use super::picture::{Picture, soft_line};
use super::table::{Column, Table};
use crate::terminal::words::{clock_text, share_text, shown_text};
use crate::view::judged::unkept_bounds;
use assay_judge::judgement::Slice;
use ratatui::text::Line;

/// Its lines.
pub(super) fn slice_lines(picture: &Picture<'_>, width: u16) -> Vec<Line<'static>> {
    let Some(judged) = &picture.state.judged else { return vec![soft_line(" no slice yet".to_owned())] };
    let slices: Vec<&Slice> = judged.part.slices.listed.iter().rev().collect();
    let cells = |cell: fn(&Slice) -> String| slices.iter().map(|slice| cell(slice)).collect::<Vec<_>>();
    let mut columns = vec![
        Column::of_texts("slice", 0, cells(|slice| slice.number.to_string())),
        Column::of_texts("state", 0, cells(|slice| shown_text(state_of_slice(slice).0))),
        Column::of_texts("from", 2, cells(|slice| clock_text(slice.start_ns))),
        Column::of_texts("to", 2, cells(|slice| clock_text(slice.end_ns))),
    ];
    if let (Some(threshold), Some(head)) = (picture.state.shown_threshold(), &picture.state.head) {
        let name = head.stream_name(picture.screen.stream);
        let share = |slice: &&Slice| slice.figures_of_stream(name, None)?.response.share_over(threshold.span);
        let shares = slices.iter().map(|slice| share(slice).map_or_else(|| "-".to_owned(), share_text)).collect();
        columns.push(Column::of_figures(&format!("{} over {}", picture.stream_name(), threshold.span), 1, shares));
    }
    columns.push(Column::of_texts("not kept", 3, cells(|slice| shown_text(&unkept_bounds(slice).join("; ")))));
    let mut table = Table::of_columns(columns);
    table.styles = slices.iter().map(|slice| picture.style_of_class(state_of_slice(slice).1)).collect();
    let mut lines = table.lines(usize::from(width), 0, usize::MAX);
    if judged.part.slices.left_out > 0 {
        lines.push(soft_line(format!(" {} slices are not listed", judged.part.slices.left_out)));
    }
    lines
}

/// How a slice stands: a word, and the class of its colour.
fn state_of_slice(slice: &Slice) -> (&str, &'static str) {
    match &slice.note {
        Some(note) => (note, "invalid"),
        None if !slice.within => ("BROKEN", "fail"),
        None if !slice.valid => ("unproven", "invalid"),
        None if !slice.complete => ("open", "incomplete"),
        None => ("kept", "pass"),
    }
}
