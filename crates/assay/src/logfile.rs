//! The run log on disk: appended line by line, made durable at least every ten seconds. It is written by the thread that
//! collects, never by one that issues operations. Its room on the disk is reserved before the run begins.

use crate::failure::Failure;
use crate::resume::Scan;
use assay_record::{Close, Entry, Event, Reader, Writer};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// An open run log.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    /// Absent where the run is only listened to.
    writer: Option<Writer<Box<dyn Keep>>>,
    listener: Option<Box<dyn Listen>>,
    unsynced: u32,
    /// Lines that a power cut leaves.
    durable: u64,
    failed: Option<String>,
}

/// Where the bytes of a log go.
trait Keep: Write + std::fmt::Debug {
    /// Makes durable what was written.
    fn sync(&self) -> io::Result<()>;
    /// Reserves room behind what is there, without changing the length.
    fn reserve(&self, bytes: u64) -> io::Result<()>;
    /// Gives back what was reserved and not used.
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
        // Setting the length it has frees what was reserved behind it.
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

/// Is told of every line as it is written.
pub trait Listen: std::fmt::Debug {
    /// The next line.
    fn hear(&mut self, entry: &Entry);
}

/// Lines after which the file is made durable; with an interval of a second, ten seconds.
const SYNC_EVERY: u32 = 10;

impl LogFile {
    /// A new log at `path`, where nothing may be yet.
    pub fn create(path: &Path) -> Result<LogFile, Failure> {
        let file = File::options().append(true).create_new(true).open(path);
        let file = file.map_err(|e| Failure::host(format!("the run log {} cannot be made: {e}", path.display())))?;
        mark_as_written(&file);
        // The name itself must survive a power cut too.
        if let Some(dir) = path.parent().and_then(|dir| File::open(dir).ok()) {
            let _ = dir.sync_all();
        }
        Ok(LogFile::new(path, Some(Writer::new(Box::new(file), 0))))
    }

    fn new(path: &Path, writer: Option<Writer<Box<dyn Keep>>>) -> LogFile {
        LogFile { path: path.to_path_buf(), writer, listener: None, unsynced: 0, durable: 0, failed: None }
    }

    /// A log that nobody keeps.
    pub fn unkept() -> LogFile {
        LogFile::new(Path::new("(not kept)"), None)
    }

    /// The same log, with a listener.
    pub fn heard_by(mut self, listener: Box<dyn Listen>) -> LogFile {
        self.listener = Some(listener);
        self
    }

    /// Reserves the room that a log of this size will take, so that a disk that fills up later does not end the run. The
    /// run must not begin when this fails.
    pub fn reserve(&self, bytes: u64) -> Result<(), Failure> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let reserved = match writer.get_ref().reserve(bytes) {
            // A file system that cannot reserve is asked what is free.
            Err(e) if e.kind() == io::ErrorKind::Unsupported => self.fits(bytes),
            other => other,
        };
        reserved.map_err(|e| {
            let room = assay_base::Bytes::new(bytes).human();
            Failure::host(format!(
                "the run log {} needs {room} on its disk, which cannot be reserved: {e}\n  = make room there, or name another place with --out",
                self.path.display()
            ))
        })
    }

    fn fits(&self, bytes: u64) -> io::Result<()> {
        let free = assay_device::usage::free_bytes(self.path.parent().unwrap_or(Path::new(".")))?;
        if free < bytes { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    /// A log that is continued behind its last whole line; an unfinished one is cut off.
    pub fn append(path: &Path, scan: &Scan) -> Result<LogFile, Failure> {
        let open = || {
            let file = File::options().append(true).open(path)?;
            if !mark_as_written(&file) {
                return Err(io::Error::other("another run is writing it"));
            }
            if scan.torn > 0 {
                file.set_len(scan.length)?;
            }
            Ok(file)
        };
        let file = open().map_err(|e: io::Error| {
            Failure::host(format!("the run log {} cannot be continued: {e}", path.display()))
        })?;
        let mut log = LogFile::new(path, Some(Writer::new(Box::new(file) as Box<dyn Keep>, scan.next_seq)));
        if scan.torn > 0 {
            let text = format!("{} bytes of an unfinished line were given up", scan.torn);
            log.write(&Entry::Event(Event { at_ns: 0, what: "torn-tail".into(), text, details: Default::default() }));
        }
        Ok(log)
    }

    /// Appends a line. After a failure nothing more is written; what was written before stays.
    pub fn write(&mut self, entry: &Entry) {
        if let Some(listener) = &mut self.listener {
            listener.hear(entry);
        }
        let Some(writer) = self.writer.as_mut().filter(|_| self.failed.is_none()) else { return };
        let urgent = !matches!(entry, Entry::Interval(_) | Entry::Histograms(_));
        let written = writer.write(entry).and_then(|()| {
            self.unsynced += 1;
            if urgent || self.unsynced >= SYNC_EVERY { self.sync() } else { Ok(()) }
        });
        if let Err(e) = written {
            self.failed = Some(e.to_string());
        }
    }

    /// Appends the closing line.
    pub fn close(&mut self, close: Close) {
        self.write(&Entry::Close(close));
    }

    fn sync(&mut self) -> io::Result<()> {
        self.unsynced = 0;
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

    /// Removes a log that holds nothing, and the run directory that was made for it: the run could not even begin.
    pub fn forget_unbegun(&self) {
        if self.writer.is_none() || self.path.metadata().map_or(true, |meta| meta.len() > 0) {
            return;
        }
        let _ = std::fs::remove_file(&self.path);
        // Directories with something else in them stay.
        for dir in self.path.ancestors().skip(1).take(2).filter(|dir| !dir.as_os_str().is_empty()) {
            if dir.file_name().is_some_and(|name| name == "assay-runs") || Some(dir) == self.path.parent() {
                let _ = std::fs::remove_dir(dir);
            }
        }
    }

    /// Why the log could not be kept, if so.
    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Holds the lock that says that a log is being written; the kernel lets go of it when its holder ends, however that comes.
/// False when somebody else holds it. A file system without locks is none.
fn mark_as_written(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    // A reader that looks holds the lock for a moment.
    for _ in 0..50 {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::park_timeout(std::time::Duration::from_millis(10)),
            _ => return true,
        }
    }
    false
}

/// Whether somebody is writing this log.
pub fn is_being_written(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    let held = flock(file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK);
    let _ = flock(file, FlockOperation::Unlock);
    held
}

/// Bytes of a log that are read at once: they are still in the processor's cache when they are summed and parsed.
pub const READ_AT_ONCE: usize = 128 << 10;

/// Opens a log for reading.
pub fn read(path: &Path) -> Result<Reader<BufReader<File>>, Failure> {
    Ok(Reader::new(BufReader::with_capacity(READ_AT_ONCE, open(path)?)))
}

/// Opens the file of a log.
pub fn open(path: &Path) -> Result<File, Failure> {
    let unreadable = |why: &dyn std::fmt::Display, advice: &str| {
        Failure::workload(format!("the log {} cannot be read: {why}", path.display())).advised(advice)
    };
    // A pipe is not waited for.
    let file =
        File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path).map_err(
            |e| match several_in(path.parent()) {
                Some(run) => {
                    unreadable(&e, &format!("a search or a curve has a log for each of its runs; name one: {run}"))
                }
                None => unreadable(&e, "name a run directory or the run.jsonl in it"),
            },
        )?;
    match file.metadata() {
        // What never ends would be read for ever.
        Ok(meta) if !meta.is_file() => Err(unreadable(&"it is no file", "name a run directory or the run.jsonl in it")),
        _ => Ok(file),
    }
}

/// One of the runs of a search or a curve, if `dir` is its directory.
fn several_in(dir: Option<&Path>) -> Option<String> {
    let entries = std::fs::read_dir(dir?).ok()?.flatten();
    let mut runs: Vec<_> = entries.map(|entry| entry.path()).filter(|run| run.join("run.jsonl").is_file()).collect();
    runs.sort();
    runs.pop().map(|run| run.display().to_string())
}

#[cfg(test)]
#[path = "logfile_tests.rs"]
mod tests;
