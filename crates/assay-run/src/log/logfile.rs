//! The run log on disk: appended line by line, made durable at least every ten seconds. The collecting thread writes
//! it, never one that issues operations. Its space on the disk is reserved before the run begins.

use crate::failure::{Failure, escaped_path};
use crate::files;
use crate::log::lock::mark_as_written;
use crate::log::marks::{Mail, Mailbox, MarksSoFar};
use crate::log::remembered::{self, Remembered};
use assay_base::Measure;
use assay_device::usage::largest_file;
use assay_record::{Close, Entry, Writer};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// An open run log.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    /// Absent where nothing is stored and only a listener gets the lines.
    writer: Option<Writer<Box<dyn LogStorage>>>,
    listener: Option<Box<dyn Listen>>,
    unsynced: Unsynced,
    /// Number of lines that would survive a power cut.
    durable: u64,
    failed: Option<String>,
    reservation: Reservation,
    /// The same content in memory, for when the file cannot be read back.
    remembered: Remembered,
    /// Where others ask for marks.
    mailbox: Mailbox,
}

/// What was written and is not durable yet.
#[derive(Debug, Default)]
struct Unsynced {
    /// Number of lines.
    lines: u32,
    /// Whether there are events among them.
    has_event: bool,
    /// The end of the run's last interval, and the same when the file was last made durable; nanoseconds.
    at_ns: u64,
    synced_ns: u64,
    /// Whether intervals are longer than a line may wait to be made durable.
    slow: bool,
}

/// The storage of a log's bytes.
trait LogStorage: Write + std::fmt::Debug {
    /// Makes everything written durable.
    fn make_durable(&self) -> io::Result<()>;
    /// Bytes that are written.
    fn written_bytes(&self) -> io::Result<u64>;
    /// Reserves space from an offset on, without changing the length.
    fn reserve_space(&self, from: u64, bytes: u64) -> io::Result<()>;
    /// Bytes that are free on its file system.
    fn free_bytes(&self) -> io::Result<u64>;
    /// Releases space that was reserved and not used.
    fn release_space(&self) -> io::Result<()>;
}

/// The file of a log, whose bytes are summed while they are written.
#[derive(Debug)]
struct LogBytes {
    file: File,
    remembered: Remembered,
}

impl Write for LogBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.remembered.add_written(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl LogStorage for LogBytes {
    fn make_durable(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn written_bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn reserve_space(&self, from: u64, bytes: u64) -> io::Result<()> {
        Ok(rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::KEEP_SIZE, from, bytes)?)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let system = rustix::fs::fstatvfs(&self.file)?;
        Ok(system.f_bavail.saturating_mul(system.f_frsize))
    }

    fn release_space(&self) -> io::Result<()> {
        // Setting the present length frees the space reserved after it.
        self.file.set_len(self.file.metadata()?.len())
    }
}

/// The most that is reserved at once. A run that is killed leaves it, which no listing shows, until its log is opened the
/// next time.
const RESERVED_AT_ONCE: u64 = 1 << 30;
/// When less than this is left of what was reserved, more is.
const RESERVE_AHEAD: u64 = 64 << 20;

/// The reserved space of a log, as offsets in its file.
#[derive(Clone, Copy, Debug, Default)]
struct Reservation {
    until: u64,
    wanted: u64,
}

impl Drop for LogFile {
    fn drop(&mut self) {
        if let Some(writer) = &self.writer {
            let _ = writer.get_ref().release_space();
        }
    }
}

/// Gets every line as it is written.
pub trait Listen: std::fmt::Debug {
    /// Called for the next line.
    fn hear_entry(&mut self, entry: &Entry);
}

/// Number of lines after which the file is made durable, and the run time, which matters where intervals are long.
const SYNC_EVERY: u32 = 10;
const SYNC_AFTER_NS: u64 = 10_000_000_000;

impl LogFile {
    /// A new log at `path`, where nothing may exist yet.
    pub fn create_new(path: &Path) -> Result<LogFile, Failure> {
        let file = files::begin_file(path)
            .map_err(|e| Failure::host_unable(format!("the run log {} cannot be made: {e}", escaped_path(path))))?;
        mark_as_written(&file);
        Ok(LogFile::continue_behind(path, file, 0, MarksSoFar::default()))
    }

    /// The log at `path`, continued after the content of `file`, which has these marks; the next line has number `next`.
    pub(crate) fn continue_behind(path: &Path, file: File, next: u64, marks: MarksSoFar) -> LogFile {
        let remembered = Remembered::default();
        let bytes = LogBytes { file, remembered: remembered.clone() };
        let mut log = LogFile::new(path, Some(Writer::new(Box::new(bytes), next)));
        log.remembered = remembered;
        log.mailbox = Mailbox::beside_log(path, marks);
        log
    }

    fn new(path: &Path, writer: Option<Writer<Box<dyn LogStorage>>>) -> LogFile {
        LogFile {
            path: path.to_path_buf(),
            writer,
            listener: None,
            unsynced: Unsynced::default(),
            durable: 0,
            failed: None,
            reservation: Reservation::default(),
            remembered: Remembered::default(),
            mailbox: Mailbox::beside_log(path, MarksSoFar::default()),
        }
    }

    /// From now on keeps in memory what is written, with what the log holds already.
    pub(crate) fn keep_in_memory(&self, judge_on: Option<Measure>) {
        if self.writer.is_some() {
            self.remembered.begin_remembering(&self.path, judge_on);
        }
    }

    /// A log that is not stored.
    pub fn without_file() -> LogFile {
        LogFile::new(Path::new("(not kept)"), None)
    }

    /// The same log, with a listener.
    pub fn heard_by(mut self, listener: Box<dyn Listen>) -> LogFile {
        self.listener = Some(listener);
        self
    }

    /// Makes sure that there is room for a log of this size, and reserves it, so that a disk that fills up later does not
    /// end the run: all of it, or the first part of a long log, which is reserved further while it grows. The run must
    /// not begin when this fails.
    pub fn reserve_room(&mut self, bytes: u64) -> Result<(), Failure> {
        self.try_reserve(bytes).map_err(|e| {
            let room = assay_base::Bytes::new(bytes).human_text();
            let advice = if e.raw_os_error() == Some(rustix::io::Errno::FBIG.raw_os_error()) {
                "raise the largest size of a file that this process may write (ulimit -f)"
            } else {
                "free some space there, or give another directory with --out"
            };
            Failure::host_unable(format!(
                "the run log {} needs {room} on its disk, which cannot be reserved: {e}\n  = {advice}",
                escaped_path(&self.path)
            ))
        })
    }

    fn try_reserve(&mut self, bytes: u64) -> io::Result<()> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let keep = writer.get_ref();
        let from = keep.written_bytes()?;
        // The kernel compares the largest size of a file only when something is written.
        if largest_file().is_some_and(|largest| from.saturating_add(bytes) > largest) {
            return Err(rustix::io::Errno::FBIG.into());
        }
        let first = bytes.min(RESERVED_AT_ONCE);
        match keep.reserve_space(from, first) {
            // On a file system that cannot reserve space, the free space is checked alone.
            Err(e) if e.kind() == io::ErrorKind::Unsupported && keep.free_bytes()? < bytes => {
                return Err(io::ErrorKind::StorageFull.into());
            }
            Err(e) if e.kind() == io::ErrorKind::Unsupported => return Ok(()),
            other => other?,
        }
        if keep.free_bytes()? < bytes - first {
            let _ = keep.release_space();
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.reservation = Reservation { until: from + first, wanted: from.saturating_add(bytes) };
        Ok(())
    }

    /// Reserves the next part of a long log when the last one is nearly used. A disk without room for it may have some
    /// when the log gets there.
    fn reserve_ahead(&mut self) -> io::Result<()> {
        let (Reservation { until, wanted }, Some(writer)) = (self.reservation, &self.writer) else { return Ok(()) };
        if until < wanted && writer.get_ref().written_bytes()?.saturating_add(RESERVE_AHEAD) > until {
            let next = (wanted - until).min(RESERVED_AT_ONCE);
            if writer.get_ref().reserve_space(until, next).is_ok() {
                self.reservation.until = until + next;
            }
        }
        Ok(())
    }

    /// Appends a line. After a failure nothing more is written; what was written before stays. When this returns, the
    /// operating system has the event, so that no kill of this program loses it. It becomes durable with
    /// [`settle_events`](LogFile::settle_events) or the next line: of a thousand events at once, the last one must not wait for a
    /// thousand syncs. A listener hears it then: what it makes of the line never goes beyond the log.
    pub fn write_entry(&mut self, entry: &Entry) {
        self.remembered.hear_line(entry);
        self.append_line(entry);
        if let Some(listener) = &mut self.listener {
            listener.hear_entry(entry);
        }
    }

    fn append_line(&mut self, entry: &Entry) {
        let Some(writer) = self.writer.as_mut().filter(|_| self.failed.is_none()) else { return };
        let urgent = match entry {
            Entry::Interval(interval) => {
                self.unsynced.at_ns = interval.end_ns;
                self.unsynced.slow = interval.end_ns.saturating_sub(interval.start_ns) >= SYNC_AFTER_NS;
                self.unsynced.has_event || self.unsynced.at_ns.saturating_sub(self.unsynced.synced_ns) >= SYNC_AFTER_NS
            }
            Entry::Histograms(_) => self.unsynced.slow,
            Entry::Event(_) => {
                self.unsynced.has_event = true;
                false
            }
            // Every segment has a time line of its own.
            Entry::Header(_) => {
                self.unsynced.at_ns = 0;
                true
            }
            Entry::Close(_) => true,
        };
        let written = writer.write_entry(entry).and_then(|()| {
            self.unsynced.lines += 1;
            if urgent || self.unsynced.lines >= SYNC_EVERY {
                self.sync_file().and_then(|()| self.reserve_ahead())
            } else {
                Ok(())
            }
        });
        if let Err(e) = written {
            self.remembered.note_failed_write();
            self.failed = Some(e.to_string());
        }
    }

    /// Why this log will be judged FAIL whatever follows: once, when that becomes certain. Nothing in a simulation, which is
    /// not judged while it runs.
    pub fn newly_certain_failure(&self) -> Option<String> {
        self.remembered.newly_certain_failure()
    }

    /// The mark that somebody asks for behind the interval that was written last, which ended at `at_ns`. It is not written yet.
    pub(crate) fn take_mark(&mut self, at_ns: u64) -> Mail {
        // A mark that could not be written would be lost.
        if self.writer.is_none() || self.failed.is_some() { Mail::Nothing } else { self.mailbox.take_request(at_ns) }
    }

    /// Gives up a mark that was not taken before the run was interrupted; returns what it says.
    pub(crate) fn give_up_leftover_mark(&self) -> Option<String> {
        self.mailbox.give_up_leftover()
    }

    /// Makes written events durable; called when no line is waiting to be written.
    pub fn settle_events(&mut self) {
        if !self.unsynced.has_event || self.failed.is_some() {
            return;
        }
        if let Err(e) = self.sync_file() {
            self.remembered.note_failed_write();
            self.failed = Some(e.to_string());
        }
    }

    /// Appends the closing line.
    pub fn write_close(&mut self, close: Close) {
        self.write_entry(&Entry::Close(close));
    }

    fn sync_file(&mut self) -> io::Result<()> {
        (self.unsynced.lines, self.unsynced.synced_ns, self.unsynced.has_event) = (0, self.unsynced.at_ns, false);
        let Some(writer) = &self.writer else { return Ok(()) };
        writer.get_ref().make_durable()?;
        self.durable = writer.next_seq();
        Ok(())
    }

    /// Lines of the file, from its beginning, that were made durable by this run.
    #[cfg(test)]
    fn durable(&self) -> u64 {
        self.durable
    }

    /// Removes a log without content, and the run directory that was created for it, when the run could not even begin.
    pub(crate) fn forget_unbegun(&self) {
        let Some(writer) = &self.writer else { return };
        if writer.get_ref().written_bytes().map_or(true, |length| length > 0) {
            return;
        }
        remembered::forget_log(&self.path);
        let _ = files::remove_file(&self.path);
        // Directories with other content stay.
        for dir in self.path.ancestors().skip(1).take(2).filter(|dir| !dir.as_os_str().is_empty()) {
            if dir.file_name().is_some_and(|name| name == "assay-runs") || Some(dir) == self.path.parent() {
                let _ = files::remove_directory(dir);
            }
        }
    }

    /// The reason why the log could not be written, if it could not.
    pub fn write_failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Whether it contains no complete line.
    pub fn is_empty(&self) -> bool {
        self.writer.as_ref().is_none_or(|writer| writer.next_seq() == 0)
    }

    /// Bytes that were written to its file so far.
    pub(crate) fn bytes_written(&self) -> u64 {
        self.writer.as_ref().map_or(0, Writer::bytes_written)
    }

    /// Its path.
    pub fn log_path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
#[path = "logfile_tests.rs"]
mod tests;
