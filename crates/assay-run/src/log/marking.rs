//! Asks a run that goes on in another process for a mark, and waits until the mark is in its log.

use crate::failure::{Failure, escaped_path};
use crate::files;
use crate::host::signals::StopCell;
use crate::log::marks::{LARGEST_REQUEST, MarkRequest, REQUEST};
use crate::log::{reading, rundir};
use assay_base::{Instant, MarkedPart, Span};
use assay_device::clock::{self, Clock};
use assay_record::{Entry, Event, EventKind, Header, MARK_ID, Reader};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time between two looks at the log.
const LOOK: Duration = Duration::from_millis(20);
/// How long a run may take at least: it looks once in each interval.
const PATIENCE: Span = Span::from_secs(30);
/// So many intervals may pass where they are long.
const INTERVALS: u64 = 3;
/// How long a run may take from taking a request to writing the mark.
const WRITTEN_WITHIN: Span = Span::from_secs(10);
/// What stands at the beginning of an event's line, and in how many bytes.
const EVENT: &[u8] = b"\"kind\":\"event\"";
const LONGEST_HEAD: usize = 80;
/// The most of a log that is read at once.
const READ_AT_ONCE: usize = 1 << 20;

/// The mark that somebody wants.
#[derive(Clone, Debug)]
pub struct MarkWish {
    /// What it says.
    pub text: String,
    /// What the part shows that begins with it; otherwise what usually follows.
    pub part: Option<MarkedPart>,
    /// How long to wait for the run, instead of the usual time.
    pub patience: Option<Span>,
}

/// Has the run in `dir` write the mark; returns the mark as the log has it.
///
/// # Errors
/// No run goes on there, it takes no marks, it did not take this one in time, or `stop` has ended the waiting; then there is no such
/// mark.
pub fn mark_run(dir: &Path, wish: &MarkWish, stop: &StopCell) -> Result<Event, Failure> {
    let request = MarkRequest { id: new_id(), text: wish.text.clone(), part: wish.part };
    if let Some(why) = request.fault() {
        return Err(Failure::bad_usage(why));
    }
    let path = rundir::log_in(dir);
    let file = reading::open_log_file(&path)?;
    let header = first_header(&file, &path)?;
    if !reading::is_being_written(&file) {
        return Err(Failure::bad_usage(format!("no run is in progress in {}", escaped_path(dir))));
    }
    refuse_unmarked_run(&header, dir)?;
    let usual = PATIENCE.max(Span::from_ns(header.interval_ns.saturating_mul(INTERVALS)));
    let clock = Clock::start();
    let from = file.metadata().map_err(|e| unreadable(&path, &e))?.len();
    Asking {
        request_path: path.with_file_name(REQUEST),
        log: NewLines { file: &file, offset: from, rest: Vec::new() },
        path: &path,
        request: &request,
        patience: wish.patience.unwrap_or(usual),
        clock,
        stop,
    }
    .ask_and_wait()
}

/// Two that ask at the same time have different numbers.
fn new_id() -> String {
    let now = clock::wall_time().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), now.as_nanos())
}

fn first_header(file: &File, path: &Path) -> Result<Header, Failure> {
    match reading::reader_from(file).next_entry().map_err(|e| unreadable(path, &e))? {
        Some(Ok(Entry::Header(header))) => Ok(*header),
        _ => Err(Failure::bad_workload(format!("{}: not a line of a run log", escaped_path(path)))),
    }
}

fn unreadable(path: &Path, why: &io::Error) -> Failure {
    Failure::host_unable(format!("the log {} cannot be read: {why}", escaped_path(path)))
}

/// Refuses a run that takes no marks, and says which does.
fn refuse_unmarked_run(header: &Header, dir: &Path) -> Result<(), Failure> {
    if header.takes_marks {
        return Ok(());
    }
    let why = if !header.hosts.is_empty() {
        "it is carried by several ranks, each of which keeps a log of its own"
    } else if header.step.as_ref().is_some_and(|step| step.is_certification()) {
        "it is a step of a certification, whose load is the same from beginning to end"
    } else if header.step.is_some() {
        "its workload has steps, each of which is judged by itself already"
    } else {
        "it is one of several runs, is simulated, or was begun by another version"
    };
    let dir = escaped_path(dir);
    Err(Failure::bad_usage(format!(
        "the run in {dir} takes no marks: {why}\n  = assay run takes them, of one workload"
    )))
}

/// A request, and what is watched until it is in the log.
struct Asking<'a> {
    request_path: PathBuf,
    log: NewLines<'a>,
    path: &'a Path,
    request: &'a MarkRequest,
    patience: Span,
    clock: Clock,
    stop: &'a StopCell,
}

impl Asking<'_> {
    fn ask_and_wait(mut self) -> Result<Event, Failure> {
        let until = self.clock.now() + self.patience;
        self.leave_request(until)?;
        // Set where the request has been taken, by the run or by somebody else.
        let mut taken: Option<Instant> = None;
        loop {
            // Looked at before the log is read: what a run wrote before it ended is still found.
            let goes_on = reading::is_being_written(self.log.file);
            if let Some(mark) = self.find_mark()? {
                return Ok(mark);
            }
            if self.stop.is_set() && self.withdraw() {
                return Err(Failure::cut_short(
                    "a signal asked for the end, and the request is withdrawn: nothing was marked",
                ));
            }
            let now = self.clock.now();
            if !goes_on {
                self.withdraw();
                return Err(Failure::host_unable("the run ended before it took the mark: its log has no such mark"));
            }
            if taken.is_none() && !self.is_pending() {
                taken = Some(now);
            }
            match taken {
                Some(since) if now.since(since) > WRITTEN_WITHIN => {
                    return Err(Failure::host_unable(
                        "the request is gone, and the mark is not in the log: look there before you ask again",
                    ));
                }
                None if now >= until && self.withdraw() => return Err(self.not_taken()),
                _ => std::thread::park_timeout(LOOK),
            }
        }
    }

    /// Leaves the request, as soon as no other one is there.
    fn leave_request(&self, until: Instant) -> Result<(), Failure> {
        let bytes = serde_json::to_vec(self.request).map_err(|e| Failure::internal_bug(format!("a request: {e}")))?;
        loop {
            // A link, or anything else that is no request, is not waited for.
            files::check_replaceable(&self.request_path).map_err(|e| self.cannot_ask(&e))?;
            match files::create_with(&self.request_path, &bytes, 0o644) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists && self.stop.is_set() => {
                    return Err(Failure::cut_short(
                        "a signal asked for the end while somebody else's mark was waited for: nothing was marked",
                    ));
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists && self.clock.now() < until => {
                    if !reading::is_being_written(self.log.file) {
                        return Err(Failure::host_unable("the run ended before it took the mark of somebody else"));
                    }
                    std::thread::park_timeout(LOOK);
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => return Err(self.not_taken()),
                other => return other.map_err(|e| self.cannot_ask(&e)),
            }
        }
    }

    fn cannot_ask(&self, why: &io::Error) -> Failure {
        Failure::host_unable(format!("the run cannot be asked by {}: {why}", escaped_path(&self.request_path)))
    }

    fn not_taken(&self) -> Failure {
        Failure::host_unable(format!(
            "the run did not take the mark within {}, and the request is withdrawn: nothing was marked (a run that is stopped takes \
             none, and each at most 100)",
            self.patience.human_text()
        ))
    }

    /// Whether the request is still there.
    fn is_pending(&self) -> bool {
        let bytes = files::read_own_file(&self.request_path, LARGEST_REQUEST).ok();
        let request: Option<MarkRequest> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        request.is_some_and(|request| request.id == self.request.id)
    }

    /// Takes the request back; false where the run has taken it.
    fn withdraw(&self) -> bool {
        self.is_pending() && files::take_away(&self.request_path).unwrap_or(false)
    }

    fn find_mark(&mut self) -> Result<Option<Event>, Failure> {
        let lines = self.log.read_lines().map_err(|e| unreadable(self.path, &e))?;
        let own = |event: &Event| {
            event.what == EventKind::Mark && event.details.get(MARK_ID).is_some_and(|id| *id == self.request.id)
        };
        Ok(lines.iter().filter_map(|line| event_in_line(line)).find(own))
    }
}

/// The event that a line of a log is, wherever it stands in the log.
fn event_in_line(line: &[u8]) -> Option<Event> {
    // Intervals are most of the lines, and much longer.
    let kind = &line[..line.len().min(LONGEST_HEAD)];
    if !kind.windows(EVENT.len()).any(|window| window == EVENT) {
        return None;
    }
    let mut reader = Reader::new(line);
    while let Ok(Some(item)) = reader.next_entry() {
        // By itself a line has another number than expected; what it says is there all the same.
        if let Ok(Entry::Event(event)) = item {
            return Some(event);
        }
    }
    None
}

/// The lines that are added to a log.
struct NewLines<'a> {
    file: &'a File,
    offset: u64,
    /// The beginning of a line that is not whole yet.
    rest: Vec<u8>,
}

impl NewLines<'_> {
    /// The events among the whole lines that were added since the last call, with their line feeds.
    fn read_lines(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let mut lines = Vec::new();
        let mut buffer = vec![0; READ_AT_ONCE];
        loop {
            let read = match self.file.read_at(&mut buffer, self.offset) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            };
            if read == 0 {
                return Ok(lines);
            }
            self.offset += read as u64;
            self.rest.extend_from_slice(&buffer[..read]);
            let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { continue };
            let left = self.rest.split_off(end + 1);
            let whole = std::mem::replace(&mut self.rest, left);
            lines.extend(whole.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec));
        }
    }
}
