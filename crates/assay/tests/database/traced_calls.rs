//! Calls that a program makes to its files, as strace prints them, in the order in which they began.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::bed::until;

/// A call of a program to one of its files.
#[derive(Clone, Debug)]
pub struct TracedCall {
    pub call: String,
    pub path: String,
    /// What a write returned.
    pub bytes: u64,
    /// Where a `pwrite64` wrote.
    pub offset: u64,
}

/// A program that strace watches. It is ended when this is dropped.
pub struct TracedProgram {
    strace: Child,
    trace: PathBuf,
}

const CALLS: &str = "trace=write,pwrite64,pwritev,fdatasync,fsync,fallocate,ftruncate,renameat,rename";

/// Why nothing can be traced here, if so.
pub fn cannot_trace() -> Option<String> {
    let tried = Command::new("strace").args(["-f", "-y", "-o", "/dev/null", "true"]).output();
    match tried {
        Err(why) => Some(format!("no strace: {why}")),
        Ok(output) if !output.status.success() => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Ok(_) => None,
    }
}

impl TracedProgram {
    /// Starts a program under strace, which writes to this file. Messages of the program go to `stderr`.
    pub fn start(trace: &Path, program: &Command, stderr: Stdio) -> TracedProgram {
        let mut strace = TracedProgram::strace(trace);
        strace.arg(program.get_program()).args(program.get_args());
        if let Some(place) = program.get_current_dir() {
            strace.current_dir(place);
        }
        for (name, value) in program.get_envs() {
            strace.env(name, value.unwrap());
        }
        TracedProgram { strace: strace.stderr(stderr).spawn().unwrap(), trace: trace.to_owned() }
    }

    /// Watches processes that run already, and all that they start.
    pub fn attach(trace: &Path, processes: &[rustix::process::Pid]) -> TracedProgram {
        let mut strace = TracedProgram::strace(trace);
        for process in processes {
            strace.args(["-p", &process.as_raw_nonzero().to_string()]);
        }
        let mut program =
            TracedProgram { strace: strace.stderr(Stdio::null()).spawn().unwrap(), trace: trace.to_owned() };
        until("strace to attach", || {
            assert!(program.strace.try_wait().unwrap().is_none(), "strace cannot attach to {processes:?}");
            processes.iter().all(|process| is_traced(*process))
        });
        program
    }

    fn strace(trace: &Path) -> Command {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-y", "-s", "0", "-e", CALLS, "-o"]).arg(trace);
        strace.stdin(Stdio::null()).stdout(Stdio::null());
        strace
    }

    /// How long the trace is now.
    pub fn position(&self) -> u64 {
        std::fs::metadata(&self.trace).map_or(0, |trace| trace.len())
    }

    /// What a program writes to its standard error that was started with a pipe there.
    pub fn messages(&mut self) -> impl Iterator<Item = String> + use<> {
        BufReader::new(self.strace.stderr.take().unwrap()).lines().map_while(Result::ok)
    }

    /// Calls to files below a directory that began after a position.
    pub fn calls_since(&self, position: u64, below: &Path) -> Vec<TracedCall> {
        self.calls_between(position, self.position(), below)
    }

    /// Calls to files below a directory that began after one position and before another.
    pub fn calls_between(&self, begin: u64, end: u64, below: &Path) -> Vec<TracedCall> {
        let mut file = std::fs::File::open(&self.trace).unwrap();
        file.seek(SeekFrom::Start(begin)).unwrap();
        let mut text = Vec::new();
        file.take(end - begin).read_to_end(&mut text).unwrap();
        let mut calls = read_calls(&String::from_utf8_lossy(&text));
        let below = below.to_str().unwrap();
        calls.retain(|call| call.path.starts_with(below));
        calls
    }

    /// Waits for the program to end by itself, and returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.strace.wait().unwrap().code()
    }
}

impl Drop for TracedProgram {
    fn drop(&mut self) {
        // What strace itself has started is ended; what it attached to is left alone.
        let pid = self.strace.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let mut pids: Vec<i32> = children.split_whitespace().filter_map(|child| child.parse().ok()).collect();
        if pids.is_empty() {
            pids.push(pid as i32);
        }
        for pid in pids {
            // SAFETY: a child of ours that has not been waited for, or a child of it, which ends with it.
            unsafe { libc::kill(pid, libc::SIGTERM) };
        }
        for _ in 0..500 {
            if self.strace.try_wait().unwrap().is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.strace.kill();
        let _ = self.strace.wait();
    }
}

fn is_traced(process: rustix::process::Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|tracer| tracer.trim() != "0"))
}

/// Calls of a trace, in the order of their beginnings.
fn read_calls(text: &str) -> Vec<TracedCall> {
    let mut lines: Vec<String> = Vec::new();
    let mut unfinished: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if let Some(begin) = rest.strip_suffix(" <unfinished ...>") {
            unfinished.insert(thread, lines.len());
            lines.push(begin.to_owned());
        } else if let Some((_, end)) = rest.split_once(" resumed>") {
            if let Some(begun) = unfinished.remove(thread) {
                lines[begun].push_str(end);
            }
        } else {
            lines.push(rest.to_owned());
        }
    }
    lines.iter().filter_map(|line| read_call(line)).collect()
}

/// A line such as `pwrite64(9</disk/db>, ""..., 4096, 8192) = 4096`.
fn read_call(line: &str) -> Option<TracedCall> {
    let (call, rest) = line.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(") ")?;
    let (_, path) = arguments.split_once('<')?;
    let (path, rest) = path.split_once('>')?;
    let bytes = result.trim().strip_prefix("= ")?.split_whitespace().next()?.parse().ok()?;
    let offset = rest.rsplit_once(", ").and_then(|(_, last)| last.parse().ok()).unwrap_or(0);
    Some(TracedCall { call: call.to_owned(), path: path.to_owned(), bytes, offset })
}

/// Files on which both calls were made: `write` and `fdatasync` are those of a log that is appended to.
pub fn files_with(calls: &[TracedCall], write: &str, sync: &str) -> Vec<String> {
    let has = |path: &str, name: &str| calls.iter().any(|call| call.path == path && call.call == name);
    let mut paths: Vec<String> = calls.iter().map(|call| call.path.clone()).collect();
    paths.sort();
    paths.dedup();
    paths.retain(|path| has(path, write) && has(path, sync));
    paths
}

/// The writes before each sync of a file.
pub fn synced_writes(calls: &[TracedCall], path: &str, write: &str, sync: &str) -> Vec<Vec<TracedCall>> {
    let (mut groups, mut open) = (Vec::new(), Vec::new());
    for call in calls.iter().filter(|call| call.path == path) {
        if call.call == write {
            open.push(call.clone());
        } else if call.call == sync {
            groups.push(std::mem::take(&mut open));
        }
    }
    groups
}
