//! The last word before a device is overwritten, where a person sits at the terminal: what it is, and four characters that
//! are printed on it. Without a terminal the consent token alone says so (rule `consent` of the gate).

use crate::failure::{Failure, tell};
use crate::signals;
use assay_base::{Instant, Span};
use assay_device::clock::Clock;
use assay_device::safety::Examination;
use std::io::{BufRead, IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Between the answers and the first write, where several devices lose their data at once.
const WINDOW: Span = Span::from_secs(10);
/// Characters that are asked for.
const ASKED: usize = 4;
/// How soon Ctrl-C is seen.
const TICK: Duration = Duration::from_millis(50);

/// Whether a person can be asked.
pub fn at_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Shows the devices and asks for each; `typed`: their tokens were typed by this person a moment ago, which is answer enough.
pub fn confirm(devices: &[&Examination], typed: bool) -> Result<(), Failure> {
    if devices.is_empty() || !at_terminal() {
        return Ok(());
    }
    let stop = signals::watch().map_err(|e| Failure::host(format!("signals cannot be watched: {e}")))?;
    tell("All data will be lost on:");
    devices
        .iter()
        .for_each(|device| tell(&format!("  {} -> {}", plain(&device.given.display()), plain(&device.subject()))));
    if !typed {
        let lines = typing();
        for device in devices {
            let Question { of, answer } = question(device);
            ask(&format!("Type the last {} of {of} of {}: ", answer.len(), plain(&device.given.display())));
            let given = line(&lines, || stop.is_set())?;
            if !given.trim().eq_ignore_ascii_case(&answer) {
                return Err(Failure::refused(format!(
                    "{} was not confirmed; nothing was written\n  = {of} ends in other characters than were typed",
                    plain(&device.given.display())
                )));
            }
        }
    }
    match devices.len() {
        1 => Ok(()),
        count => window(count, || stop.is_set()),
    }
}

/// What is asked of a device, and the right answer.
#[derive(Debug, PartialEq, Eq)]
struct Question {
    of: &'static str,
    answer: String,
}

/// A device without a serial number is known by its token.
fn question(device: &Examination) -> Question {
    let last = |text: &String| {
        let letters: Vec<char> = text.chars().filter(|c| c.is_ascii_graphic()).collect();
        letters[letters.len().saturating_sub(ASKED)..].iter().collect::<String>()
    };
    let serial = device.serial.as_ref().map(last).filter(|answer| !answer.is_empty());
    match (serial, &device.token) {
        (Some(answer), _) => Question { of: "the serial number", answer },
        (None, Some(token)) => Question { of: "the token", answer: last(token) },
        (None, None) => Question { of: "the path", answer: last(&device.real.display().to_string()) },
    }
}

/// What a device says of itself, without what would move a terminal's cursor.
fn plain(text: &dyn std::fmt::Display) -> String {
    text.to_string().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Lines from the keyboard, read aside: a signal is seen meanwhile.
fn typing() -> Receiver<String> {
    let (tell, told) = channel();
    let body = move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                break;
            }
        }
    };
    // Without it there is no answer, which is no consent.
    drop(crate::threads::builder("typing").spawn(body));
    told
}

fn ask(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn line(lines: &Receiver<String>, stopped: impl Fn() -> bool) -> Result<String, Failure> {
    loop {
        match lines.recv_timeout(TICK) {
            _ if stopped() => return Err(ended()),
            Ok(line) => return Ok(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(ended()),
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a person's time, not an operation's")]
fn window(devices: usize, stopped: impl Fn() -> bool) -> Result<(), Failure> {
    tell(&format!("Writing to {devices} devices begins in {WINDOW}; Ctrl-C ends it with nothing written."));
    let clock = Clock::start();
    while clock.now().since(Instant::ZERO) < WINDOW {
        if stopped() {
            return Err(ended());
        }
        std::thread::sleep(TICK);
    }
    Ok(())
}

fn ended() -> Failure {
    Failure::refused("ended before the first write; nothing was written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_device::safety::Gate;

    #[test]
    fn four_characters_that_are_printed_on_the_device() {
        let nothing = Gate::host().examine(std::path::Path::new("/nothing"));
        for (serial, token, of, answer) in [
            (Some("S4EWNX0N123456"), Some("deadbeef"), "the serial number", "3456"),
            (Some("  12 \x1b[2J"), Some("deadbeef"), "the serial number", "2[2J"),
            (Some("ab"), Some("deadbeef"), "the serial number", "ab"),
            (Some(" \n"), Some("deadbeef"), "the token", "beef"),
            (None, Some("deadbeef"), "the token", "beef"),
        ] {
            let device =
                Examination { serial: serial.map(Into::into), token: token.map(Into::into), ..nothing.clone() };
            assert_eq!(question(&device), Question { of, answer: answer.into() }, "{serial:?}");
        }
        assert_eq!(plain(&"a\x1b[2Jb\n"), "a?[2Jb?");
    }
}
