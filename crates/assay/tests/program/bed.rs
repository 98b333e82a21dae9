//! A place to run the program in, its output, and the run log that it left.

use assay_base::Direction;
use assay_record::{Close, Damage, Entry, Event, FlowInterval, Header, Interval, Reader};
use serde_json::Value;
use std::fs;
use std::io::BufReader;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing here takes this long unless it hangs.
const HANGS: Duration = Duration::from_secs(300);

/// A working directory on disk, with its own state directory, removed at the end.
pub struct Place {
    dir: TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place { dir: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }

    /// A place in memory, where no other program uses the disk of a target.
    pub fn in_memory() -> Place {
        Place { dir: tempfile::tempdir_in("/dev/shm").unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// The command that runs the program with these arguments in this directory.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.args(args).current_dir(self.dir.path()).env("XDG_STATE_HOME", self.path("state"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub fn assay(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().unwrap(), args)
    }

    /// Runs the program with `--out run` and reads the log that it left.
    pub fn run(&self, args: &[&str]) -> (Said, Log) {
        let said = self.assay(&[args, &["--out", "run"]].concat());
        let log = Log::of(&self.path("run"));
        (said, log)
    }

    /// Starts the program with `--out run` and waits until its log has this number of intervals.
    pub fn start(&self, args: &[&str], intervals: usize) -> Running {
        let mut running = self.begin(&[args, &["--out", "run"]].concat());
        let log = self.path("run/run.jsonl");
        until("the run's first intervals", || {
            assert!(running.is_alive(), "it ended before it was asked to");
            fs::read_to_string(&log).is_ok_and(|text| text.matches("\"kind\":\"interval\"").count() >= intervals)
        });
        running
    }

    /// Starts the program without waiting.
    pub fn begin(&self, args: &[&str]) -> Running {
        Running { child: Some(self.command(args).spawn().unwrap()) }
    }

    /// Names in the directory, except those that the test itself made.
    pub fn left(&self, made: &[&str]) -> Vec<String> {
        let names = fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| !made.contains(&name.as_str()));
        names.sort();
        names
    }
}

/// A text without its line breaks.
pub fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Waits until `holds` returns true; panics after a time that only a hang can explain.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < HANGS, "still waiting for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A program that was started; it is killed when dropped.
pub struct Running {
    child: Option<Child>,
}

impl Running {
    /// A program that was started in another way.
    pub fn of(child: Child) -> Running {
        Running { child: Some(child) }
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.as_mut().unwrap().try_wait().unwrap().is_none()
    }

    pub fn pid(&self) -> i32 {
        self.child.as_ref().unwrap().id() as i32
    }

    pub fn signal(&self, signal: i32) {
        let pid = self.pid();
        // SAFETY: a signal to a child process of ours that has not been waited for.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }

    /// Waits for the end of the program, and returns the signal that ended it.
    pub fn end_with_signal(mut self) -> Option<i32> {
        until("its end", || !self.is_alive());
        let status = self.child.take().unwrap().wait_with_output().unwrap().status;
        std::os::unix::process::ExitStatusExt::signal(&status)
    }

    /// Waits for the end of the program, which must come in time.
    pub fn end(mut self) -> Said {
        until("its end", || !self.is_alive());
        Said::of(self.child.take().unwrap().wait_with_output().unwrap(), &["(started)"])
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What a finished program left on its streams.
#[derive(Debug)]
pub struct Said {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn of(output: Output, args: &[&str]) -> Said {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let said = Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        assert!(!said.err.contains("panicked") && said.code != Some(70), "{args:?}: {}", said.err);
        said
    }

    /// The document on stdout, which must be only JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e} in stdout: {}\nstderr: {}", self.out, self.err))
    }

    /// Asserts that the program ended with a verdict, and with the exit code of that verdict.
    pub fn is_of_verdict(&self, dir: &Path) -> String {
        let text = fs::read_to_string(dir.join("verdict.json")).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        let json: Value = serde_json::from_str(&text).unwrap();
        let verdict = json["verdict"].as_str().unwrap().to_owned();
        let code = match verdict.as_str() {
            "PASS" => 0,
            "FAIL" => 10,
            "INVALID" => 11,
            "INCOMPLETE" => 12,
            other => panic!("{other} is no verdict"),
        };
        assert_eq!(self.code, Some(code), "{verdict}: {}{}", self.out, self.err);
        verdict
    }

    /// Whether a run passed, or proved nothing because this machine, busy with other tests, was late itself.
    pub fn passed_or_late(&self) -> bool {
        let text = [self.out.as_str(), self.err.as_str()].concat();
        let late = || text.split_whitespace().collect::<Vec<_>>().join(" ").contains("the test machine");
        self.code == Some(0) || self.code == Some(11) && late()
    }
}

/// A run log, read back.
pub struct Log {
    pub header: Header,
    pub intervals: Vec<Interval>,
    pub events: Vec<Event>,
    pub close: Option<Close>,
    pub damage: Vec<Damage>,
}

impl Log {
    /// The log in a run directory: the first segment's header, and the lines of all segments.
    pub fn of(dir: &Path) -> Log {
        let file = fs::File::open(dir.join("run.jsonl")).unwrap();
        let mut reader = Reader::new(BufReader::new(file));
        let (mut header, mut intervals, mut events, mut close, mut damage) = (None, vec![], vec![], None, vec![]);
        while let Some(entry) = reader.next_entry().unwrap() {
            match entry {
                Ok(Entry::Header(head)) => header = header.or(Some(*head)),
                Ok(Entry::Interval(interval)) => intervals.push(interval),
                Ok(Entry::Event(event)) => events.push(event),
                Ok(Entry::Close(end)) => close = Some(end),
                Ok(Entry::Histograms(_)) => {}
                Err(hurt) => damage.push(hurt),
            }
        }
        Log { header: header.unwrap(), intervals, events, close, damage }
    }

    /// The sum, over all intervals, of the flows that `which` chooses.
    fn sum(&self, which: impl Fn(usize) -> bool) -> FlowInterval {
        let mut sum = FlowInterval::default();
        for flow in self.intervals.iter().flat_map(|i| i.flows.iter().enumerate()).filter(|(at, _)| which(*at)) {
            let flow = flow.1;
            sum.scheduled += flow.scheduled;
            sum.issued += flow.issued;
            sum.ok += flow.ok;
            sum.bytes += flow.bytes;
            sum.short += flow.short;
            flow.errors.iter().for_each(|(name, n)| *sum.errors.entry(name.clone()).or_default() += n);
        }
        sum
    }

    /// The sum of one stream on all targets.
    pub fn stream(&self, name: &str) -> FlowInterval {
        self.sum(|at| self.header.streams[usize::from(self.header.flows[at].stream)].name == name)
    }

    /// The sum of all streams of one direction.
    pub fn direction(&self, direction: Direction) -> FlowInterval {
        self.sum(|at| self.header.streams[usize::from(self.header.flows[at].stream)].direction == Some(direction))
    }

    /// The sum of one flow.
    pub fn flow(&self, at: usize) -> FlowInterval {
        self.sum(|flow| flow == at)
    }

    /// Asserts the accounting identity of every interval: the operations that were carried in and those that were
    /// scheduled are as many as those that completed, were short, failed, or are carried out.
    pub fn intervals_add_up(&self) {
        let mut carried = vec![0; self.header.flows.len()];
        for interval in &self.intervals {
            for (flow, carried) in interval.flows.iter().zip(&mut carried) {
                assert!(flow.is_balanced(*carried), "interval {}: {flow:?} after {carried}", interval.index);
                *carried = flow.carried_out();
            }
        }
    }

    /// Asserts that nothing is lost: every interval adds up, and so does the closing line.
    pub fn adds_up(&self) {
        assert!(self.damage.is_empty(), "{:?}", self.damage);
        self.intervals_add_up();
        let close = self.close.as_ref().expect("a closing line");
        let all = self.sum(|_| true);
        assert_eq!(close.intervals, self.intervals.len() as u64);
        assert_eq!(close.issued, all.issued);
        assert_eq!(close.completed, all.ok + all.failed_operations() + all.short);
        assert_eq!(close.issued, close.completed + close.stuck);
    }

    /// The planned length of the measured time, in seconds.
    pub fn seconds(&self) -> f64 {
        self.header.phases.iter().map(|phase| phase.span_ns as f64 / 1e9).sum()
    }
}

/// Makes the kernel answer `errno` to every system call `call` of the program that `command` starts.
pub fn refuse(command: &mut Command, call: libc::c_long, errno: i32) {
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let program = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, call as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = move || {
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
        // SAFETY: both calls affect only the child's only thread, between fork and exec; neither allocates.
        let refused = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) != 0
        };
        if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: the closure makes only system calls.
    unsafe { command.pre_exec(filter) };
}
