//! The fifth tab: what happened, the newest first, and what the judge warns of.

use super::picture::{Picture, soft_line, title_line, wrapped_text};
use crate::terminal::words::{clock_text, shown_text};
use ratatui::text::Line;

/// Its lines.
pub(super) fn event_lines(picture: &Picture<'_>, width: u16) -> Vec<Line<'static>> {
    let columns = usize::from(width).saturating_sub(13).max(8);
    let mut lines = Vec::new();
    for event in picture.state.events.iter().rev() {
        let text = wrapped_text(&shown_text(&format!("{}: {}", event.what, event.text)), columns);
        for (at, text) in text.into_iter().enumerate() {
            let clock = if at == 0 { clock_text(event.at_ns) } else { String::new() };
            lines.push(Line::from(format!(" {clock:>10}  {text}")));
        }
    }
    if lines.is_empty() {
        lines.push(soft_line(" nothing happened so far".to_owned()));
    }
    let judged = picture.state.judged.as_ref();
    let marks = picture.state.head.as_ref().map_or(&[][..], |head| &head.run.watermarks);
    add_sentences(&mut lines, "limits of what it proves", marks, width);
    add_sentences(&mut lines, "warnings", judged.map_or(&[], |judged| &judged.warnings), width);
    lines
}

/// Sentences below a title, if there are any.
pub(super) fn add_sentences(lines: &mut Vec<Line<'static>>, title: &str, sentences: &[String], width: u16) {
    if sentences.is_empty() {
        return;
    }
    lines.extend([Line::default(), title_line(title)]);
    for sentence in sentences {
        let wrapped = wrapped_text(&shown_text(sentence), usize::from(width).saturating_sub(4).max(8));
        lines.extend(wrapped.into_iter().enumerate().map(|(at, text)| {
            let indent = if at == 0 { " " } else { "   " };
            Line::from(format!("{indent}{text}"))
        }));
    }
}
