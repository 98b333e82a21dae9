//! The picture of a state: the same state gives the same picture, whatever stood on the terminal before.
//!
//! Each tab has a file. What is said by a colour is said by a word too.

mod bars;
mod events;
mod overview;
mod picture;
mod slices;
mod table;
mod targets;
mod time;

use super::screen::Tab;
use super::words::{clock_text, cut_to_width, shown_text};
use picture::{soft_line, soft_span, wrapped_text};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

pub use picture::Appearance;
pub(super) use picture::Picture;

/// A terminal that is smaller shows one column.
const SMALLEST: (u16, u16) = (60, 15);
/// Seconds without a line of the log after which the view says so.
const LATE: u64 = 12;
/// The most rows for the reason of how a run stands.
const REASON_ROWS: usize = 3;
/// The longest bar of what is done.
const LONGEST_BAR: usize = 60;

const KEYS: [(&str, &str); 8] = [
    ("1 to 5, Tab", "overview, time, targets and hosts, slices, events"),
    ("left, right", "another stream"),
    ("up, down", "further rows of a list; also PgUp, PgDn, Home, End"),
    ("?", "these keys, and back"),
    ("Ctrl-L", "draw everything once more"),
    ("q, Ctrl-C", "leave; the run goes on, and its state stays as text"),
    ("", ""),
    ("", "Nothing here changes the run: this view only reads its log."),
];

/// Draws a picture. Returns the row with which the list of the tab can begin at the latest.
pub(super) fn draw_picture(frame: &mut Frame<'_>, picture: &Picture<'_>) -> usize {
    let area = frame.area();
    let last_first_row = if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        draw_one_column(frame, picture)
    } else {
        draw_tab(frame, picture)
    };
    for cell in &mut frame.buffer_mut().content {
        if !cell.symbol().is_ascii() {
            let signs: String = cell.symbol().chars().map(picture.appearance.sign_for).collect();
            cell.set_symbol(&signs);
        }
    }
    last_first_row
}

fn draw_tab(frame: &mut Frame<'_>, picture: &Picture<'_>) -> usize {
    let standing = standing_lines(picture, usize::from(frame.area().width));
    let rows = [1, 1, standing.len() as u16, 2].map(Constraint::Length);
    let [tabs, head, banner, progress, body, foot] =
        Layout::vertical([rows[0], rows[1], rows[2], rows[3], Constraint::Min(0), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(Paragraph::new(tab_line(picture, tabs.width)), tabs);
    frame.render_widget(Paragraph::new(head_line(picture, head.width)), head);
    frame.render_widget(Paragraph::new(standing), banner);
    frame.render_widget(Paragraph::new(progress_line(picture, progress.width)), progress);
    frame.render_widget(Paragraph::new(foot_line(picture, foot.width)), foot);
    if picture.screen.shows_keys {
        draw_keys(frame, body);
        return 0;
    }
    match picture.screen.tab {
        Tab::Overview => overview::draw_overview(frame, body, picture),
        Tab::Time => time::draw_times(frame, body, picture),
        Tab::Targets => draw_list(frame, body, picture, targets::target_lines(picture, body.width)),
        Tab::Slices => draw_list(frame, body, picture, slices::slice_lines(picture, body.width)),
        Tab::Events => draw_list(frame, body, picture, events::event_lines(picture, body.width)),
    }
}

/// A terminal with little room: the most important lines of the tab.
fn draw_one_column(frame: &mut Frame<'_>, picture: &Picture<'_>) -> usize {
    let area = frame.area();
    let mut lines = standing_lines(picture, usize::from(area.width));
    lines.push(progress_line(picture, area.width));
    lines.extend(match picture.screen.tab {
        _ if picture.screen.shows_keys => KEYS.iter().map(|(key, what)| Line::from(format!("{key}: {what}"))).collect(),
        Tab::Overview => overview::one_column(picture),
        Tab::Time => time::percentile_lines(picture),
        Tab::Targets => targets::target_lines(picture, area.width),
        Tab::Slices => slices::slice_lines(picture, area.width),
        Tab::Events => events::event_lines(picture, area.width),
    });
    draw_list(frame, area, picture, lines)
}

/// Draws as many lines as there is room for. Returns with which of them the list can begin at the latest.
fn draw_list(frame: &mut Frame<'_>, area: Rect, picture: &Picture<'_>, lines: Vec<Line<'static>>) -> usize {
    let room = usize::from(area.height);
    let last_first_row = lines.len().saturating_sub(room);
    let first = picture.screen.first_row.min(last_first_row);
    let rest = lines.len().saturating_sub(first + room);
    let mut shown: Vec<Line<'static>> = lines.into_iter().skip(first).take(room).collect();
    if rest > 0
        && let Some(last) = shown.last_mut()
    {
        *last = soft_line(format!(" … {} more lines below", rest + 1));
    }
    frame.render_widget(Paragraph::new(shown), area);
    last_first_row
}

fn draw_keys(frame: &mut Frame<'_>, area: Rect) {
    let lines: Vec<Line<'_>> = KEYS.iter().map(|(key, what)| Line::from(format!(" {key:14}{what}"))).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn tab_line(picture: &Picture<'_>, width: u16) -> Line<'static> {
    let mut spans = Vec::new();
    let mut used = 0;
    for (at, tab) in Tab::ALL.into_iter().enumerate() {
        let is_open = tab == picture.screen.tab;
        // A terminal without reversed letters shows the brackets.
        let text =
            if is_open { format!("[{} {}]", at + 1, tab.title()) } else { format!(" {} {} ", at + 1, tab.title()) };
        used += text.len();
        spans.push(Span::styled(
            text,
            if is_open { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() },
        ));
    }
    let help = "? keys  q leaves";
    let room = usize::from(width).saturating_sub(used);
    if room > help.len() {
        spans.push(soft_span(format!("{help:>room$}")));
    }
    Line::from(spans)
}

fn head_line(picture: &Picture<'_>, width: u16) -> Line<'static> {
    let Some(head) = &picture.state.head else { return Line::from(" no log yet") };
    let run = &head.run;
    let mut words = format!(" {}, load {}, seed {}", shown_text(&run.name), shown_text(&run.load), run.seed);
    if let Some(step) = &head.step {
        words += &format!(", step {} of {}: {}", step.number, step.of, shown_text(&step.title));
    }
    // A mark begins with its word; the fifth tab has its sentence.
    let marks = run.watermarks.iter().map(|mark| shown_text(mark.split(':').next().unwrap_or_default()));
    let marks: Vec<String> = marks.collect();
    if !marks.is_empty() {
        words += &format!(", {}", marks.join(", "));
    }
    Line::from(cut_to_width(&words, usize::from(width)))
}

/// How the run stands, in a word, and why.
fn standing_lines(picture: &Picture<'_>, width: usize) -> Vec<Line<'static>> {
    let standing = picture.state.standing_in_words();
    let style = picture.style_of_class(standing.class).add_modifier(Modifier::BOLD);
    let word = format!(" {} ", standing.word);
    let indent = word.len() + 1;
    let mut texts = wrapped_text(&shown_text(&standing.text), width.saturating_sub(indent).max(8));
    if texts.len() > REASON_ROWS {
        texts.truncate(REASON_ROWS);
        texts.push("…".to_owned());
    }
    let mut lines = Vec::new();
    for (at, text) in texts.into_iter().enumerate() {
        let begin = if at == 0 { word.clone() } else { " ".repeat(word.len()) };
        let begin_style = if at == 0 { style.add_modifier(Modifier::REVERSED) } else { Style::new() };
        lines.push(Line::from(vec![Span::styled(begin, begin_style), Span::raw(format!(" {text}"))]));
    }
    if lines.is_empty() {
        lines.push(Line::from(Span::styled(word, style.add_modifier(Modifier::REVERSED))));
    }
    lines
}

/// Phase, measured time, and a bar of it.
fn progress_line(picture: &Picture<'_>, width: u16) -> Line<'static> {
    let state = picture.state;
    let (Some(head), Some(moment)) = (&state.head, state.newest_moment()) else { return Line::default() };
    let (done, total) = (moment.measured_ns, moment.planned_ns);
    let phase = shown_text(head.phase_name(moment.phase));
    let text = format!(" {phase}: {} of {}", clock_text(done), clock_text(total));
    let percent = (done.min(total) as f64 / total.max(1) as f64 * 100.0) as u64;
    let left = format!("{percent}%, {} left", clock_text(total.saturating_sub(done)));
    let room = usize::from(width).saturating_sub(text.len() + left.len() + 7).min(LONGEST_BAR);
    if room < 5 {
        return Line::from(cut_to_width(&format!("{text}, {left}"), usize::from(width)));
    }
    let filled = (room as u64 * percent / 100) as usize;
    let tip = if filled < room { ">" } else { "" };
    Line::from(format!("{text}  [{:room$}]  {left}", "=".repeat(filled) + tip))
}

/// Up to which line the picture goes, and whether further ones come.
fn foot_line(picture: &Picture<'_>, width: u16) -> Line<'static> {
    let state = picture.state;
    let judged = state.judged.as_ref().map_or_else(String::new, |judged| format!(", judged up to line {}", judged.seq));
    let text =
        if state.lines == 0 { " no line yet".to_owned() } else { format!(" line {} of the log{judged}", state.seq) };
    let age = state.log_age().as_secs();
    let note = if state.over {
        "ended: q leaves and prints the result".to_owned()
    } else if state.lines > 0 && !state.standing_in_words().ended && age >= LATE {
        format!("no new interval for {age} s")
    } else {
        String::new()
    };
    let room = usize::from(width).saturating_sub(text.len() + 2);
    Line::from(vec![
        soft_span(text),
        Span::styled(format!("  {note:>room$}"), Style::new().add_modifier(Modifier::BOLD)),
    ])
}
