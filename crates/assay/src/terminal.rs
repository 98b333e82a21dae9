//! Standard output and standard error. This is the only file that writes to them, because it also owns the block of lines at
//! the bottom of a terminal that shows how a run gets on: the block is taken away before anything else is written, and
//! drawn again only behind a message of a run that goes on. What was printed is therefore never erased with it.
//!
//! The cursor stays in the last line of the block. What the terminal adds there itself (`^C`) disappears with the block.

#[cfg(feature = "live")]
use rustix::termios::tcgetattr;
use rustix::termios::{OptionalActions, Termios, tcsetattr};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Width where the terminal does not tell.
const WIDTH: usize = 80;
/// Columns at the end of a line of the block that stay empty: room for two `^C`, so that they do not begin a new line.
const MARGIN: usize = 5;

/// The lines of the block that are on the terminal now.
static BLOCK: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn lock_block() -> MutexGuard<'static, Vec<String>> {
    // The lines are whole even if another thread panicked.
    BLOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether standard output goes to a terminal.
pub(crate) fn shows_output() -> bool {
    io::stdout().is_terminal()
}

/// Whether standard error goes to a terminal.
pub(crate) fn shows_messages() -> bool {
    io::stderr().is_terminal()
}

/// The width of the terminal that standard output goes to, if it has one.
pub(crate) fn columns_of_output() -> Option<usize> {
    column_count(&io::stdout())
}

/// Whether messages go to a terminal that can take lines away again.
#[allow(clippy::disallowed_methods, reason = "the binary reads the environment")]
pub(crate) fn has_block() -> bool {
    shows_messages() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The number of columns that a line of the block may take.
pub(crate) fn columns_of_block() -> usize {
    column_count(&io::stderr()).unwrap_or(WIDTH).saturating_sub(MARGIN).max(1)
}

fn column_count(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Draws the block anew, or draws it if it is not there. Lines that are too long are cut.
pub(crate) fn draw_block(lines: &[String]) {
    let mut shown = lock_block();
    let room = columns_of_block();
    let lines: Vec<String> = lines.iter().map(|line| cut_to_columns(line, room).into_owned()).collect();
    if *shown != lines {
        write_messages(&format!("{}{}", erasing_sequence(&shown), lines.join("\n")));
        *shown = lines;
    }
}

/// Takes the block away.
pub(crate) fn remove_block() {
    let mut shown = lock_block();
    write_messages(&erasing_sequence(&shown));
    shown.clear();
}

/// Writes a text of whole lines to standard error, above the block if there is one.
pub(crate) fn write_message(text: &str) {
    let shown = lock_block();
    write_messages(&format!("{}{text}{}", erasing_sequence(&shown), shown.join("\n")));
}

/// Writes a question to standard error; what is typed stands behind it.
pub(crate) fn write_question(text: &str) {
    remove_block();
    write_messages(text);
}

/// Writes a document, or a part of one, to standard output. Results come when nothing runs any more: the block does not
/// come back.
pub(crate) fn write_output(text: &str) -> io::Result<()> {
    remove_block();
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// The same for a program that writes the rest again later: `rest` is what could not be written. (Rust's own buffer would
/// keep that, and print it twice.)
pub(crate) fn output_of(rest: &mut &[u8]) -> io::Result<()> {
    remove_block();
    let mut out = io::stdout().lock();
    out.flush()?;
    while !rest.is_empty() {
        match rustix::io::write(std::os::fd::AsFd::as_fd(&out), rest) {
            Ok(n) => *rest = &rest[n..],
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Takes the block away, or gives back a terminal that was taken, before a panic is reported in its place.
pub(crate) fn report_panics_without_block() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back_terminal();
        if let Ok(mut shown) = BLOCK.try_lock() {
            write_messages(&erasing_sequence(&shown));
            shown.clear();
        }
        report(panic);
    }));
}

/// A run of two days must not end because nobody reads its messages any more, so errors are ignored. One call of `write`
/// for each message: other programs may write to the same terminal.
fn write_messages(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The sequence that erases these lines from the cursor's on, which is the last of them (ECMA-48: CPL and ED).
fn erasing_sequence(lines: &[String]) -> String {
    match lines.len() {
        0 => String::new(),
        1 => "\r\u{1b}[J".to_owned(),
        lines => format!("\u{1b}[{}F\u{1b}[J", lines - 1),
    }
}

/// `line` cut to `room` columns. A character outside the scripts of Europe may take two.
fn cut_to_columns(line: &str, room: usize) -> Cow<'_, str> {
    if line.chars().map(width_of).sum::<usize>() <= room {
        return Cow::Borrowed(line);
    }
    let mut used = 1;
    let kept = line.chars().take_while(|c| {
        used += width_of(*c);
        used <= room
    });
    Cow::Owned(kept.collect::<String>() + "…")
}

/// The number of columns that a character may take.
fn width_of(character: char) -> usize {
    if character < '\u{1100}' { 1 } else { 2 }
}

/// The standard output of a process that this program has started itself, which reads it.
pub(crate) fn lines_for_parent() -> impl std::io::Write {
    std::io::stdout().lock()
}

/// How the terminal was before a view took it.
static BEFORE_VIEW: Mutex<Option<Termios>> = Mutex::new(None);
/// DEC private modes 1049 and 25: another screen than the one with the lines of the shell, without a cursor; and back.
#[cfg(feature = "live")]
const TAKE: &str = "\u{1b}[?1049h\u{1b}[?25l";
const GIVE_BACK: &str = "\u{1b}[0m\u{1b}[?25h\u{1b}[?1049l";

/// Whether a view can be shown: there are keys and a screen, and the screen is more than a printer.
#[cfg(feature = "live")]
pub(crate) fn can_show_view() -> bool {
    let term = crate::environment::environment_variable("TERM");
    io::stdin().is_terminal() && shows_output() && term.is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// The terminal of standard input and output, taken for a view. It is given back when this is dropped, before a panic is reported, and by
/// nothing else.
#[cfg(feature = "live")]
#[must_use]
pub(crate) struct TakenTerminal(());

#[cfg(feature = "live")]
impl TakenTerminal {
    /// Takes it: what is typed comes at once and is not shown, and what stands on the terminal comes back later.
    pub(crate) fn take_terminal() -> io::Result<TakenTerminal> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        *BEFORE_VIEW.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        let taken = TakenTerminal(());
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        write_output(TAKE)?;
        Ok(taken)
    }

    /// What writes on it.
    pub(crate) fn output(&self) -> impl Write {
        io::stdout()
    }
}

#[cfg(feature = "live")]
impl Drop for TakenTerminal {
    fn drop(&mut self) {
        give_back_terminal();
    }
}

/// Makes the terminal what it was, if a view has taken it. It may be closed by now.
fn give_back_terminal() {
    let Ok(mut before) = BEFORE_VIEW.try_lock() else { return };
    if let Some(before) = before.take() {
        let _ = io::stdout().write_all(GIVE_BACK.as_bytes()).and_then(|()| io::stdout().flush());
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}
