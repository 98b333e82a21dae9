//! The run log on disk: appended line by line, made durable at least every ten seconds. The collecting thread writes
//! it, never one that issues operations. Its space on the disk is reserved before the run begins.

use crate::failure::{Failure, shown};
use crate::files;
use assay_record::{Close, Entry, Writer};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// An open run log.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    /// Absent where nothing is stored and only a listener gets the lines.
    writer: Option<Writer<Box<dyn Keep>>>,
    listener: Option<Box<dyn Listen>>,
    unsynced: u32,
    /// The end of the run's last interval, and the same when the file was last made durable; nanoseconds.
    at_ns: u64,
    synced_ns: u64,
    /// Whether intervals are longer than a line may wait to be made durable.
    slow: bool,
    /// Whether events were written that are not durable yet.
    unsynced_event: bool,
    /// Number of lines that would survive a power cut.
    durable: u64,
    failed: Option<String>,
}

/// The storage of a log's bytes.
trait Keep: Write + std::fmt::Debug {
    /// Makes everything written durable.
    fn sync(&self) -> io::Result<()>;
    /// Reserves space after the present end, without changing the length.
    fn reserve(&self, bytes: u64) -> io::Result<()>;
    /// Releases space that was reserved and not used.
    fn release(&self) -> io::Result<()>;
}

impl Keep for File {
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn reserve(&self, bytes: u64) -> io::Result<()> {
        let from = self.metadata()?.len();
        Ok(rustix::fs::fallocate(self, rustix::fs::FallocateFlags::KEEP_SIZE, from, bytes)?)
    }

    fn release(&self) -> io::Result<()> {
        // Setting the present length frees the space reserved after it.
        self.set_len(self.metadata()?.len())
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        if let Some(writer) = &self.writer {
            let _ = writer.get_ref().release();
        }
    }
}

/// Gets every line as it is written.
pub trait Listen: std::fmt::Debug {
    /// Called for the next line.
    fn hear(&mut self, entry: &Entry);
}

/// Number of lines after which the file is made durable, and the run time, which matters where intervals are long.
const SYNC_EVERY: u32 = 10;
const SYNC_AFTER_NS: u64 = 10_000_000_000;

impl LogFile {
    /// A new log at `path`, where nothing may exist yet.
    pub fn create(path: &Path) -> Result<LogFile, Failure> {
        let file = files::begin(path)
            .map_err(|e| Failure::host(format!("the run log {} cannot be made: {e}", shown(path))))?;
        mark_as_written(&file);
        Ok(LogFile::new(path, Some(Writer::new(Box::new(file), 0))))
    }

    /// The log at `path`, continued after the content of `file`; the next line has number `next`.
    pub(crate) fn behind(path: &Path, file: File, next: u64) -> LogFile {
        LogFile::new(path, Some(Writer::new(Box::new(file), next)))
    }

    fn new(path: &Path, writer: Option<Writer<Box<dyn Keep>>>) -> LogFile {
        LogFile {
            path: path.to_path_buf(),
            writer,
            listener: None,
            unsynced: 0,
            at_ns: 0,
            synced_ns: 0,
            slow: false,
            unsynced_event: false,
            durable: 0,
            failed: None,
        }
    }

    /// A log that is not stored.
    pub fn unkept() -> LogFile {
        LogFile::new(Path::new("(not kept)"), None)
    }

    /// The same log, with a listener.
    pub fn heard_by(mut self, listener: Box<dyn Listen>) -> LogFile {
        self.listener = Some(listener);
        self
    }

    /// Reserves the space that a log of this size will take, so that a disk that fills up later does not end the run.
    /// The run must not begin when this fails.
    pub fn reserve(&self, bytes: u64) -> Result<(), Failure> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let reserved = match writer.get_ref().reserve(bytes) {
            // On a file system that cannot reserve space, the free space is checked instead.
            Err(e) if e.kind() == io::ErrorKind::Unsupported => self.fits(bytes),
            other => other,
        };
        reserved.map_err(|e| {
            let room = assay_base::Bytes::new(bytes).human();
            Failure::host(format!(
                "the run log {} needs {room} on its disk, which cannot be reserved: {e}\n  = free some space there, or give another directory with --out",
                shown(&self.path)
            ))
        })
    }

    fn fits(&self, bytes: u64) -> io::Result<()> {
        let free = assay_device::usage::free_bytes(self.path.parent().unwrap_or(Path::new(".")))?;
        if free >= bytes { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    /// Appends a line. After a failure nothing more is written; what was written before stays. When this returns, the
    /// operating system has the event, so that no kill of this program loses it. It becomes durable with
    /// [`settle`](LogFile::settle) or the next line: of a thousand events at once, the last one must not wait for a
    /// thousand syncs.
    pub fn write(&mut self, entry: &Entry) {
        if let Some(listener) = &mut self.listener {
            listener.hear(entry);
        }
        let Some(writer) = self.writer.as_mut().filter(|_| self.failed.is_none()) else { return };
        let urgent = match entry {
            Entry::Interval(interval) => {
                self.at_ns = interval.end_ns;
                self.slow = interval.end_ns.saturating_sub(interval.start_ns) >= SYNC_AFTER_NS;
                self.unsynced_event || self.at_ns.saturating_sub(self.synced_ns) >= SYNC_AFTER_NS
            }
            Entry::Histograms(_) => self.slow,
            Entry::Event(_) => {
                self.unsynced_event = true;
                false
            }
            // Every segment has a time line of its own.
            Entry::Header(_) => {
                self.at_ns = 0;
                true
            }
            Entry::Close(_) => true,
        };
        let written = writer.write(entry).and_then(|()| {
            self.unsynced += 1;
            if urgent || self.unsynced >= SYNC_EVERY { self.sync() } else { Ok(()) }
        });
        if let Err(e) = written {
            self.failed = Some(e.to_string());
        }
    }

    /// Makes written events durable; called when no line is waiting to be written.
    pub fn settle(&mut self) {
        if !self.unsynced_event || self.failed.is_some() {
            return;
        }
        if let Err(e) = self.sync() {
            self.failed = Some(e.to_string());
        }
    }

    /// Appends the closing line.
    pub fn close(&mut self, close: Close) {
        self.write(&Entry::Close(close));
    }

    fn sync(&mut self) -> io::Result<()> {
        (self.unsynced, self.synced_ns, self.unsynced_event) = (0, self.at_ns, false);
        let Some(writer) = &self.writer else { return Ok(()) };
        writer.get_ref().sync()?;
        self.durable = writer.seq();
        Ok(())
    }

    /// Lines of the file, from its beginning, that were made durable by this run.
    #[cfg(test)]
    fn durable(&self) -> u64 {
        self.durable
    }

    /// Removes a log without content, and the run directory that was created for it, when the run could not even begin.
    pub(crate) fn forget_unbegun(&self) {
        if self.writer.is_none() || self.path.metadata().map_or(true, |meta| meta.len() > 0) {
            return;
        }
        let _ = std::fs::remove_file(&self.path);
        // Directories with other content stay.
        for dir in self.path.ancestors().skip(1).take(2).filter(|dir| !dir.as_os_str().is_empty()) {
            if dir.file_name().is_some_and(|name| name == "assay-runs") || Some(dir) == self.path.parent() {
                let _ = std::fs::remove_dir(dir);
            }
        }
    }

    /// Why the log could not be written, if it could not.
    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Whether it contains no complete line.
    pub fn is_empty(&self) -> bool {
        self.writer.as_ref().is_none_or(|writer| writer.seq() == 0)
    }

    /// Bytes that were written to its file so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.writer.as_ref().map_or(0, Writer::bytes)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Takes the lock that shows that a log is being written; the kernel releases it when its holder ends for any reason.
/// False when another process holds it. On a file system without locks the result is true.
pub(crate) fn mark_as_written(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    // A reader that checks holds the lock for a moment.
    for _ in 0..50 {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::park_timeout(std::time::Duration::from_millis(10)),
            _ => return true,
        }
    }
    false
}

#[cfg(test)]
#[path = "logfile_tests.rs"]
mod tests;
