//! The process that makes the calls on a directory, as the process sees it that holds the log.

use super::protocol::{Answer, Request};
use crate::failure::{Failure, one_line};
use crate::host::threads::thread_builder;
use assay_base::Span;
use assay_device::clock::Clock;
use assay_files::own_dir::{mount_for_this_process, point_for_memory};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often it is looked whether the process has ended.
const LOOK: Duration = Duration::from_millis(2);
/// The hidden verb with which this program is started to make the calls.
pub const VERB: &str = "directory-calls";
/// How long the process may take to end when nothing is wanted of it any more.
const FAREWELL: Span = Span::from_secs(3);

/// See the module.
#[derive(Debug)]
pub(super) struct Connection {
    process: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<Answer>,
    /// The last line of what the process complained about.
    complaint: Arc<Mutex<String>>,
}

impl Connection {
    /// Starts the process; `in_memory`: with a tmpfs of its own, where it may mount one.
    pub(super) fn start(in_memory: bool) -> Result<Connection, Failure> {
        let unable =
            |why: std::io::Error| Failure::host_unable(format!("no process can be started to make the calls: {why}"));
        let program = std::env::current_exe().map_err(unable)?;
        // A process group of its own: Ctrl-C of the terminal is for the process that holds the log.
        let mut command = Command::new(&program);
        // Nor does it hold the output of this program: whoever reads that would wait as long as a call hangs.
        command.arg(VERB).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        if let Some(point) = point_for_memory(&program).filter(|_| in_memory) {
            // One that may not do it looks for a tmpfs that is there.
            // SAFETY: between fork and exec only system calls are made.
            unsafe { command.pre_exec(move || mount_for_this_process(point).or(Ok(()))) };
        }
        let mut process = command.spawn().map_err(unable)?;
        let (sender, answers) = channel();
        if let Some(output) = process.stdout.take() {
            thread_builder("answers").spawn(move || forward_answers(output, &sender)).map_err(unable)?;
        }
        let complaint = Arc::<Mutex<String>>::default();
        if let Some(output) = process.stderr.take() {
            let kept = complaint.clone();
            thread_builder("complaints").spawn(move || keep_last_line(output, &kept)).map_err(unable)?;
        }
        Ok(Connection { requests: process.stdin.take(), process, answers, complaint })
    }

    /// The number of the process.
    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a request.
    pub(super) fn send(&mut self, request: &Request) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(request).expect("a request is plain data");
        line.push(b'\n');
        let sent = self.requests.as_mut().is_some_and(|requests| requests.write_all(&line).is_ok());
        if sent { Ok(()) } else { Err(self.describe_end()) }
    }

    /// The next answer; `None` if none comes within this time.
    pub(super) fn next_answer(&mut self, wait: Duration) -> Result<Option<Answer>, Failure> {
        match self.answers.recv_timeout(wait) {
            Ok(answer) => Ok(Some(answer)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.describe_end()),
        }
    }

    /// The failure of a process that ended by itself.
    fn describe_end(&mut self) -> Failure {
        let id = self.process_id();
        // It has closed its output, and so it is about to end.
        let text = match self.process.try_wait() {
            Ok(Some(status)) => {
                let complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
                let why = if complaint.is_empty() { String::new() } else { format!(" ({})", one_line(&*complaint)) };
                format!("the process {id}, which makes the calls on the directory, ended: {status}{why}")
            }
            _ => format!("the process {id}, which makes the calls on the directory, says nothing any more"),
        };
        Failure::host_unable(text)
    }
}

impl Drop for Connection {
    /// Ends the process. One that is in a call which does not return stays until the file system answers.
    fn drop(&mut self) {
        self.requests = None;
        let clock = Clock::start();
        while clock.now().since(assay_base::Instant::ZERO) < FAREWELL {
            // Its time on a processor is then part of this program's, for whoever measures that.
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::park_timeout(LOOK);
        }
        let _ = self.process.kill();
        let _ = self.process.try_wait();
    }
}

fn keep_last_line(output: ChildStderr, kept: &Mutex<String>) {
    for line in BufReader::new(output).lines() {
        let Ok(line) = line else { return };
        if !line.trim().is_empty() {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = line;
        }
    }
}

fn forward_answers(output: ChildStdout, sender: &Sender<Answer>) {
    for line in BufReader::new(output).lines() {
        let Some(answer) = line.ok().and_then(|line| serde_json::from_str(&line).ok()) else { return };
        if sender.send(answer).is_err() {
            return;
        }
    }
}
