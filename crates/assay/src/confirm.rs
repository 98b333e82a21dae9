//! The last question before a device is overwritten, where a person is at the terminal: it shows the device, and asks
//! for four characters that are printed on it. Without a terminal the consent token alone is sufficient (rule `consent`
//! of the gate).

use crate::screen::print_to_stderr;
use crate::terminal;
use assay_base::{Instant, Span};
use assay_device::clock::Clock;
use assay_device::safety::Examination;
use assay_judge::for_a_shell;
use assay_run::failure::{Failure, escaped_path, one_line};
use assay_run::host::signals;
use std::io::{BufRead, IsTerminal};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Time between the answers and the first write, where several devices lose their data together.
const WINDOW: Span = Span::from_secs(10);
/// Number of characters that are asked for.
const ASKED: usize = 4;
/// The time between two checks for a Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

/// The kind of reader at the other end of input and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TerminalReader {
    /// A person who can answer.
    Person,
    /// A terminal, but its shell has put this program into the background: reading would stop it.
    Background,
    /// No terminal: a script, a service.
    Nobody,
}

/// Finds out whether a person can be asked.
pub(crate) fn find_seat() -> TerminalReader {
    let input = std::io::stdin();
    if !(input.is_terminal() && terminal::shows_messages()) {
        return TerminalReader::Nobody;
    }
    match rustix::termios::tcgetpgrp(&input) {
        Ok(foreground) if foreground != rustix::process::getpgrp() => TerminalReader::Background,
        // A terminal that does not belong to this session has no job control: reading from it works.
        Ok(_) | Err(_) => TerminalReader::Person,
    }
}

/// Shows the devices and asks about each one without an earlier consent; `typed`: this person has just typed their
/// tokens, which is sufficient.
pub(crate) fn confirm_destruction(devices: &[&Examination], typed: bool) -> Result<(), Failure> {
    let devices: Vec<&Examination> = devices.iter().copied().filter(|device| !device.agreed_earlier).collect();
    if devices.is_empty() {
        return Ok(());
    }
    match find_seat() {
        TerminalReader::Nobody => return Ok(()),
        TerminalReader::Background => return Err(nobody_answers(&devices)),
        TerminalReader::Person => {}
    }
    let stop = signals::stop_on_signals()?;
    ask_each(&devices, typed, || stop.is_set())?;
    match devices.len() {
        1 => Ok(()),
        count => wait_before_first_write(count, || stop.is_set()),
    }
}

/// The same question where nothing is written yet.
pub(crate) fn ask_for_agreement(devices: &[&Examination]) -> Result<(), Failure> {
    let stop = signals::stop_on_signals()?;
    ask_each(devices, false, || stop.is_set())
}

fn nobody_answers(devices: &[&Examination]) -> Failure {
    let names: Vec<String> = devices.iter().map(|device| for_a_shell(&device.given.to_string_lossy())).collect();
    Failure::refused_for_safety(format!(
        "a background process cannot ask at the terminal whether {} may be overwritten; nothing was written\n  = \
         a drop-in: agree first with assay consent {}\n  = assay itself: start it in the foreground, with --detach if it should continue in the background",
        names.join(" and "),
        names.join(" ")
    ))
}

fn ask_each(devices: &[&Examination], typed: bool, stopped: impl Fn() -> bool) -> Result<(), Failure> {
    print_to_stderr("All data will be lost on:");
    devices.iter().for_each(|device| {
        print_to_stderr(&format!("  {} -> {}", escaped_path(&device.given), one_line(device.subject_line())))
    });
    if typed {
        return Ok(());
    }
    let lines = typed_lines();
    for device in devices {
        let Question { of, answer } = confirmation_question(device);
        terminal::write_question(&format!(
            "Type the last {} of {of} of {}: ",
            answer.len(),
            escaped_path(&device.given)
        ));
        let given = read_line(&lines, &stopped)?;
        if !given.trim().eq_ignore_ascii_case(&answer) {
            return Err(Failure::refused_for_safety(format!(
                "{} was not confirmed; nothing was written\n  = the typed characters are not the last ones of {of}",
                escaped_path(&device.given)
            )));
        }
    }
    Ok(())
}

/// The question about a device, and the right answer.
#[derive(Debug, PartialEq, Eq)]
struct Question {
    of: &'static str,
    answer: String,
}

/// For a device without a serial number, the question is about its token.
fn confirmation_question(device: &Examination) -> Question {
    let serial = device.serial.as_ref().map(|serial| last_characters(serial)).filter(|answer| !answer.is_empty());
    match (serial, &device.token) {
        (Some(answer), _) => Question { of: "the serial number", answer },
        (None, Some(token)) => Question { of: "the token", answer: last_characters(token) },
        (None, None) => Question { of: "the path", answer: last_characters(&device.real.to_string_lossy()) },
    }
}

/// The last printable characters of a text.
fn last_characters(text: &str) -> String {
    let letters: Vec<char> = text.chars().filter(|c| c.is_ascii_graphic()).collect();
    letters[letters.len().saturating_sub(ASKED)..].iter().collect()
}

/// Reads lines from the keyboard in a separate thread, so that a signal is noticed meanwhile.
fn typed_lines() -> Receiver<String> {
    let (sender, receiver) = channel();
    // Without the thread there is no answer, which counts as no consent.
    drop(assay_run::host::threads::thread_builder("typing").spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    }));
    receiver
}

fn read_line(lines: &Receiver<String>, stopped: impl Fn() -> bool) -> Result<String, Failure> {
    loop {
        match lines.recv_timeout(TICK) {
            _ if stopped() => return Err(ended_by_user()),
            Ok(line) => return Ok(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(ended_by_user()),
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a person's time, not an operation's")]
fn wait_before_first_write(devices: usize, stopped: impl Fn() -> bool) -> Result<(), Failure> {
    print_to_stderr(&format!("Writing to {devices} devices begins in {WINDOW}; Ctrl-C ends it with nothing written."));
    let clock = Clock::start();
    while clock.now().since(Instant::ZERO) < WINDOW {
        if stopped() {
            return Err(ended_by_user());
        }
        std::thread::sleep(TICK);
    }
    Ok(())
}

fn ended_by_user() -> Failure {
    Failure::refused_for_safety("ended before the first write; nothing was written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_device::safety::Gate;

    #[test]
    fn four_characters_that_are_printed_on_the_device() {
        let nothing = Gate::of_machine().examine_path(std::path::Path::new("/nothing"));
        for (serial, token, of, answer) in [
            (Some("S4EWNX0N123456"), Some("deadbeef"), "the serial number", "3456"),
            (Some("  12 \x1b[2J"), Some("deadbeef"), "the serial number", "2[2J"),
            (Some("ab"), Some("deadbeef"), "the serial number", "ab"),
            (Some(" \n"), Some("deadbeef"), "the token", "beef"),
            (None, Some("deadbeef"), "the token", "beef"),
        ] {
            let device =
                Examination { serial: serial.map(Into::into), token: token.map(Into::into), ..nothing.clone() };
            assert_eq!(confirmation_question(&device), Question { of, answer: answer.into() }, "{serial:?}");
        }
    }
}
