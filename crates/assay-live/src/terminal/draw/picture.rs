//! What is drawn, and the lines that all tabs are made of.

use crate::published::Published;
use crate::terminal::screen::Screen;
use crate::terminal::words::{cut_to_width, shown_text, width_of};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// What the terminal can show.
#[derive(Clone, Copy, Debug)]
pub struct Appearance {
    /// Whether it has colours, and they are wanted.
    pub colours: bool,
    /// What takes the place of a character that the terminal may not have.
    pub sign_for: fn(char) -> char,
}

/// What is drawn.
#[derive(Debug)]
pub(crate) struct Picture<'a> {
    pub(crate) state: &'a Published,
    pub(crate) screen: &'a Screen,
    pub(crate) appearance: Appearance,
}

/// The text in lines of at most so many columns, broken at its spaces where there are any.
pub(super) fn wrapped_text(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width_of(line) + 1 + width_of(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut_to_width(word, columns)),
        }
    }
    lines
}

pub(super) fn soft_span(text: String) -> Span<'static> {
    Span::styled(text, Style::new().add_modifier(Modifier::DIM))
}

pub(super) fn soft_line(text: String) -> Line<'static> {
    Line::from(soft_span(text))
}

pub(super) fn title_line(text: &str) -> Line<'static> {
    Line::from(Span::styled(format!(" {text}"), Style::new().add_modifier(Modifier::BOLD)))
}

impl Picture<'_> {
    /// The colour of a class of results, where the terminal has colours.
    pub(super) fn style_of_class(&self, class: &str) -> Style {
        let colour = match class {
            "pass" => Color::Green,
            "fail" => Color::Red,
            "invalid" => Color::Yellow,
            _ => return Style::new(),
        };
        if self.appearance.colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// The name of the stream that is shown.
    pub(super) fn stream_name(&self) -> String {
        self.state.head.as_ref().map_or_else(String::new, |head| shown_text(head.stream_name(self.screen.stream)))
    }

    /// Which stream it is: `stream reads (1 of 3)`.
    pub(super) fn stream_in_words(&self) -> String {
        let streams = self.state.head.as_ref().map_or(0, |head| head.streams.len());
        let number = if streams > 1 { format!(" ({} of {streams})", self.screen.stream + 1) } else { String::new() };
        format!("{}{number}", self.stream_name())
    }
}
