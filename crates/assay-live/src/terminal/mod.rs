//! A view of a run on a terminal: the same states as those of the page, drawn once a second.
//!
//! `screen` says what is on it and what keys change, `keys` reads these from bytes, `draw` makes the picture of a state. What acts is
//! here: it waits for keys and for the time, and hands the picture to the terminal. It only reads: whoever leaves it leaves the run alone.
//! To take the terminal and to give it back, whatever happens, is the caller's part.

mod draw;
mod keys;
mod screen;
mod words;

use crate::published::Published;
use draw::{Picture, draw_picture};
use keys::KeyReader;
use ratatui::Terminal;
use ratatui::backend::{CrosstermBackend, TestBackend};
use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use screen::{Reaction, Screen};
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

pub use draw::Appearance;
pub use ratatui::layout::Size as TerminalSize;

/// Time between two pictures while nothing is typed.
const REDRAW: Duration = Duration::from_secs(1);
/// Whether somebody else ends the view is asked this often.
const LOOK: Duration = Duration::from_millis(250);
/// Rows of the state that stays as text, at most.
const TEXT_ROWS: u16 = 24;
/// Its columns.
const TEXT_COLUMNS: std::ops::RangeInclusive<u16> = 60..=200;

/// Why a view ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// A person wanted to leave.
    ByKey,
    /// The process was told to end.
    ByRequest,
    /// Nobody has the terminal open any more.
    TerminalClosed,
    /// The log is not read any more, although it has not ended.
    ReaderGone,
}

/// What a view is connected with.
pub struct Connections<'a, W: Write> {
    /// What writes on the terminal.
    pub output: W,
    /// What is typed there.
    pub input: BorrowedFd<'a>,
    /// Where the states come from.
    pub states: watch::Receiver<Arc<Published>>,
    /// Whether the process is told to end.
    pub is_told_to_end: &'a dyn Fn() -> bool,
}

/// Shows the newest state until somebody leaves.
///
/// # Errors
/// The terminal cannot be written or waited for.
pub fn show_until_left<W: Write>(connections: Connections<'_, W>, appearance: Appearance) -> io::Result<Left> {
    let Connections { output, input, mut states, is_told_to_end } = connections;
    let mut terminal = Terminal::new(CrosstermBackend::new(output))?;
    let (mut screen, mut keys) = (Screen::default(), KeyReader::default());
    let mut drawn_at: Option<Instant> = None;
    loop {
        if is_told_to_end() {
            return Ok(Left::ByRequest);
        }
        if states.has_changed().is_err() && !states.borrow().over {
            return Ok(Left::ReaderGone);
        }
        if drawn_at.is_none_or(|at| at.elapsed() >= REDRAW) {
            let state = states.borrow_and_update().clone();
            draw_state(&mut terminal, &mut screen, &state, appearance)?;
            drawn_at = Some(Instant::now());
        }
        match wait_for_input(input)? {
            Input::Nothing => {}
            Input::Closed => return Ok(Left::TerminalClosed),
            Input::Bytes(bytes) => {
                let streams = states.borrow().head.as_ref().map_or(0, |head| head.streams.len());
                for key in keys.take_bytes(&bytes) {
                    match screen.take_key(key, streams) {
                        Reaction::Ignore => {}
                        Reaction::Draw => drawn_at = None,
                        Reaction::DrawAnew => {
                            // `clear` would ask the terminal where its cursor is, and take what is typed for the answer.
                            let whole = terminal.get_frame().area();
                            terminal.resize(whole)?;
                            drawn_at = None;
                        }
                        Reaction::Leave => return Ok(Left::ByKey),
                    }
                }
            }
        }
        if terminal.size()? != terminal.get_frame().area().as_size() {
            drawn_at = None;
        }
    }
}

fn draw_state<W: Write>(
    terminal: &mut Terminal<CrosstermBackend<W>>,
    screen: &mut Screen,
    state: &Published,
    appearance: Appearance,
) -> io::Result<()> {
    screen.keep_stream_within(state.head.as_ref().map_or(0, |head| head.streams.len()));
    let mut last_first_row = 0;
    terminal.draw(|frame| last_first_row = draw_picture(frame, &Picture { state, screen, appearance }))?;
    screen.keep_within(last_first_row);
    Ok(())
}

/// What came from a terminal within [`LOOK`].
enum Input {
    Nothing,
    Bytes(Vec<u8>),
    /// Its other end is closed.
    Closed,
}

fn wait_for_input(input: BorrowedFd<'_>) -> io::Result<Input> {
    let mut ready = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
    match poll(&mut ready, Some(&wait)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Input::Nothing),
        Ok(_) => {}
        Err(e) => return Err(e.into()),
    }
    let mut bytes = [0; 256];
    match rustix::io::read(input, &mut bytes) {
        Ok(0) | Err(rustix::io::Errno::IO) => Ok(Input::Closed),
        Ok(n) => Ok(Input::Bytes(bytes[..n].to_vec())),
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(Input::Nothing),
        Err(e) => Err(e.into()),
    }
}

/// The newest state as text, as the first tab has it, in so many columns.
pub fn state_as_text(state: &Published, columns: u16, appearance: Appearance) -> String {
    let columns = columns.clamp(*TEXT_COLUMNS.start(), *TEXT_COLUMNS.end());
    let rows = picture_rows(state, b"", Size::new(columns, TEXT_ROWS), appearance);
    // The tabs and the last row are for keys.
    let rows = &rows[1..rows.len() - 1];
    let shown = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
    let mut text: String = rows[..shown].iter().flat_map(|row| [row.as_str(), "\n"]).collect();
    if state.lines > 0 {
        text += &format!(" up to line {} of the log\n", state.seq);
    }
    text
}

/// The rows that a terminal of this size shows when these bytes were typed on it.
pub fn picture_rows(state: &Published, typed: &[u8], size: Size, appearance: Appearance) -> Vec<String> {
    let streams = state.head.as_ref().map_or(0, |head| head.streams.len());
    let mut screen = Screen::default();
    // A picture in memory cannot fail.
    let Ok(mut terminal) = Terminal::new(TestBackend::new(size.width, size.height));
    for key in KeyReader::default().take_bytes(typed) {
        screen.take_key(key, streams);
    }
    let Ok(_) = terminal.draw(|frame| {
        draw_picture(frame, &Picture { state, screen: &screen, appearance });
    });
    let cells = terminal.backend().buffer().content();
    let rows = cells.chunks(usize::from(size.width).max(1)).map(|row| {
        // A wide sign stands in the first of its two cells, and the other one is empty.
        let mut hidden = 0;
        let mut text = String::new();
        for cell in row {
            if hidden == 0 {
                text.push_str(cell.symbol());
                hidden = words::width_of(cell.symbol()).max(1);
            }
            hidden -= 1;
        }
        text.trim_end().to_owned()
    });
    rows.collect()
}
