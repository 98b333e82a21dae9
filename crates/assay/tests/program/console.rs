//! A terminal with a program in it: what a person sees at the end, with everything that was drawn and erased on the way.

use super::bed::until;
use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use vt100::Parser;

/// Lines that a terminal keeps above its screen.
const KEPT: usize = 20_000;

/// The two ends of a new pseudo-terminal of this size: the keyboard with the screen, and what a program is connected to. No
/// program that another test starts at the same time inherits them: the terminal would stay open with it.
pub fn pseudo_terminal(rows: u16, columns: u16) -> (File, File) {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let mut name = [0; 64];
    // SAFETY: the descriptor is owned by nobody else; the name has the length that is given; the size is read only.
    let master = unsafe {
        let master = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(master >= 0 && libc::grantpt(master) == 0 && libc::unlockpt(master) == 0, "a pseudo-terminal");
        assert_eq!(libc::ptsname_r(master, name.as_mut_ptr(), name.len()), 0, "its name");
        assert_eq!(libc::ioctl(master, libc::TIOCSWINSZ, &raw const size), 0, "its size");
        File::from_raw_fd(master)
    };
    // SAFETY: the kernel has ended the name with a zero byte.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    let slave = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(name.to_str().unwrap());
    (master, slave.unwrap())
}

/// Makes the command the first process of a session whose terminal is its standard input, so that Ctrl-C sends it a
/// signal.
pub fn lead_a_session(command: &mut Command) {
    let lead = || {
        // SAFETY: only system calls, between fork and exec.
        let leads = unsafe { libc::setsid() >= 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0 };
        if leads { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: see above.
    unsafe { command.pre_exec(lead) };
}

/// A program whose input, output and messages are one terminal.
pub struct Console {
    child: Child,
    keyboard: File,
    terminal: Arc<Mutex<Parser>>,
    screen: JoinHandle<()>,
}

impl Console {
    /// Starts the command at a terminal of this size.
    pub fn start(mut command: Command, size: (u16, u16)) -> Console {
        command.env("TERM", "xterm-256color").env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
        Console::start_as_is(command, size)
    }

    /// The same with the environment that the command has.
    pub fn start_as_is(mut command: Command, (rows, columns): (u16, u16)) -> Console {
        let (master, slave) = pseudo_terminal(rows, columns);
        command.stdin(slave.try_clone().unwrap()).stderr(slave.try_clone().unwrap()).stdout(slave);
        lead_a_session(&mut command);
        let child = command.spawn().unwrap();
        drop(command);
        let terminal = Arc::new(Mutex::new(Parser::new(rows, columns, KEPT)));
        let (mut master_end, parser) = (master.try_clone().unwrap(), terminal.clone());
        let screen = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The terminal returns EIO once nobody has its other end open.
            while let Ok(n) = master_end.read(&mut bytes) {
                parser.lock().unwrap().process(&bytes[..n]);
            }
        });
        Console { child, keyboard: master, terminal, screen }
    }

    /// Waits until these words are on the terminal.
    pub fn wait_for(&mut self, words: &str) {
        until(words, || {
            let ended = self.child.try_wait().unwrap();
            let shown = lines(&mut self.terminal.lock().unwrap()).join("\n");
            assert!(ended.is_none() || shown.contains(words), "ended without \"{words}\": {shown}");
            shown.contains(words)
        });
    }

    /// Waits until these words are not on the terminal any more.
    #[allow(dead_code, reason = "the tests of the view use it")]
    pub fn wait_until_gone(&mut self, words: &str) {
        until(words, || !lines(&mut self.terminal.lock().unwrap()).join("\n").contains(words));
    }

    /// Makes the terminal this many rows and columns large, as a person does with its window.
    #[allow(dead_code, reason = "the tests of the view use it")]
    pub fn resize(&mut self, (rows, columns): (u16, u16)) {
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        self.terminal.lock().unwrap().screen_mut().set_size(rows, columns);
        // SAFETY: the size is read only.
        let set = unsafe { libc::ioctl(self.keyboard.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
        assert_eq!(set, 0, "its new size");
    }

    /// Types text.
    pub fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the end: the exit code, and all lines of the terminal.
    pub fn end(mut self) -> (Option<i32>, Vec<String>) {
        until("its end", || self.child.try_wait().unwrap().is_some() && self.screen.is_finished());
        (self.child.wait().unwrap().code(), lines(&mut self.terminal.lock().unwrap()))
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All lines, also those that have left the screen at its top. Rows into which the terminal broke a line are one line.
fn lines(terminal: &mut MutexGuard<'_, Parser>) -> Vec<String> {
    let screen = terminal.screen_mut();
    let (rows, columns) = screen.size();
    screen.set_scrollback(usize::MAX);
    let above = screen.scrollback();
    let mut lines = vec![String::new()];
    for index in 0..above + usize::from(rows) {
        let offset = above.saturating_sub(index);
        screen.set_scrollback(offset);
        let row = (index + offset - above) as u16;
        let text = screen.rows(0, columns).nth(usize::from(row)).unwrap();
        lines.last_mut().unwrap().push_str(&text);
        if !screen.row_wrapped(row) {
            lines.push(String::new());
        }
    }
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    let filled = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines.truncate(filled);
    lines
}

#[test]
fn a_terminal_keeps_what_scrolls_away_and_joins_what_it_broke() {
    let mut command = Command::new("sh");
    let script = "seq 100; printf 'a%.0s' $(seq 100); echo; printf 'gone'; printf '\\r\\033[J'; echo last";
    command.args(["-c", script]);
    let (code, lines) = Console::start(command, (24, 80)).end();
    let numbers: Vec<String> = (1..=100).map(|n| n.to_string()).collect();
    assert_eq!((code, &lines[..100]), (Some(0), &numbers[..]));
    assert_eq!(lines[100..], ["a".repeat(100), "last".to_owned()]);
}
