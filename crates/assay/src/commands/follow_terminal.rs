//! `assay watch` on a terminal: a view with tabs, made of the same states as the page of `assay live`.

use super::published_logs::{follow_all, refuse_what_is_no_log};
use crate::screen::{KeptBack, colours_are_wanted};
use crate::stdout::{show_text, sign_for_terminal};
use crate::terminal::{self, TakenTerminal};
use assay_judge::{Options, Verdict};
use assay_live::terminal::{Appearance, Connections, Left, show_until_left, state_as_text};
use assay_live::{NoTaker, Published, Publisher};
use assay_run::failure::Failure;
use assay_run::host::{signals, threads};
use std::os::fd::AsFd;
use std::path::Path;

/// How the view of a run ended.
pub(super) enum Viewed {
    /// Whoever looked left while the run went on, or lost the terminal: the exit code.
    Left(u8),
    /// Nothing more was to come: the result is to be printed.
    ToTheEnd,
}

/// Shows a run, or all runs of a procedure, until a person leaves.
pub(super) fn view_on_terminal(dir: &Path) -> Result<Viewed, Failure> {
    refuse_what_is_no_log(dir)?;
    let (mut publisher, states) = Publisher::new(Options::default());
    let stop = signals::stop_on_signals()?;
    // What is said in the meantime is said when the terminal is what it was.
    let kept_back = KeptBack::begin();
    let followed = dir.to_owned();
    let reader = threads::thread_builder("log reader").spawn(move || {
        // Without an end the view learns that nobody reads any more.
        follow_all(&followed, &mut publisher, &mut NoTaker).map(|()| publisher.end_all())
    });
    let reader =
        reader.map_err(|e| Failure::host_unable(format!("the thread that reads the log could not be started: {e}")))?;
    let appearance = Appearance { colours: colours_are_wanted(), sign_for: sign_for_terminal() };
    let unusable = |e: std::io::Error| Failure::host_unable(format!("the terminal cannot be used: {e}"));
    let taken = TakenTerminal::take_terminal().map_err(unusable)?;
    let input = std::io::stdin();
    let is_told_to_end = || stop.is_set();
    let connections = Connections {
        output: taken.output(),
        input: input.as_fd(),
        states: states.clone(),
        is_told_to_end: &is_told_to_end,
    };
    let left = show_until_left(connections, appearance);
    drop(taken);
    drop(kept_back);
    let state = states.borrow().clone();
    match left {
        Ok(Left::ReaderGone) => match reader.join() {
            Ok(Err(failure)) => Err(failure),
            _ => Err(Failure::internal_bug("the log is not read any more")),
        },
        Ok(Left::ByKey) if state.over => Ok(Viewed::ToTheEnd),
        Ok(Left::ByKey) => {
            leave_state(&state, dir, appearance);
            Ok(Viewed::Left(code_so_far(&state)))
        }
        Ok(Left::ByRequest) => {
            leave_state(&state, dir, appearance);
            signals::end_as_signalled();
            Ok(Viewed::Left(code_so_far(&state)))
        }
        Ok(Left::TerminalClosed) => Ok(Viewed::Left(code_so_far(&state))),
        Err(e) => Err(unusable(e)),
    }
}

/// Leaves the last state on the terminal, as text.
fn leave_state(state: &Published, dir: &Path, appearance: Appearance) {
    let columns = terminal::columns_of_output().and_then(|columns| u16::try_from(columns).ok()).unwrap_or(80);
    let text = state_as_text(state, columns, appearance);
    let dir = assay_judge::for_a_shell(&dir.to_string_lossy());
    let goes_on =
        if state.over { String::new() } else { format!("\nthe run goes on; assay watch {dir} shows it again\n") };
    show_text(&format!("{text}{goes_on}"));
}

/// The exit code for a run whose end was not waited for.
fn code_so_far(state: &Published) -> u8 {
    state.standing.verdict().unwrap_or(Verdict::Incomplete).exit_code()
}
