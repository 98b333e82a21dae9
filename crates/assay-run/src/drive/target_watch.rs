//! Whether the files that a run works on are, at its end, what they were when it began, and whether somebody else had one
//! of them open for writing meanwhile.
//!
//! The times of a file say nothing about others, because the writes of the run change them too. But every file is open
//! before the watch begins and stays open until it has ended: whoever closes one that was open for writing, as the kernel
//! tells (inotify), is somebody else. Where the run wrote a file that is deleted, replaced or cut at its end, what was
//! written is no longer there, which is FAIL; what somebody else did besides is INVALID. What happens below the file
//! system, or on another machine that shares it, is not told by the kernel.
//!
//! Block devices are watched by their counters; here only their identity is compared at the end.

use crate::open::targets::{Altered, FileStamp, RealTarget, Targets};
use assay_base::Instant;
use assay_device::safety::other_writers;
use assay_record::{Event, EventKind};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::mem::MaybeUninit;

/// Bytes that are read of the kernel's notices at once: each has 16.
const BUFFER: usize = 4096;

/// The targets of a run while it goes on.
#[derive(Debug)]
pub(super) struct TargetWatch<'a> {
    targets: Vec<Watched<'a>>,
    /// The kernel's notices; `None` if there is no file among the targets, or the kernel gives none.
    notices: Option<OwnedFd>,
    /// The reason why there are no notices although there is a file.
    blind: Option<String>,
}

/// One target.
#[derive(Debug)]
struct Watched<'a> {
    /// Index among the targets.
    index: usize,
    real: &'a RealTarget,
    /// The stamp of a file when the run began; `None` for a device.
    before: Option<FileStamp>,
    /// The number by which notices name it.
    number: Option<i32>,
    /// The number of times that others have opened it and not closed it yet.
    open: u64,
    /// Whether somebody else had it open for writing, or it is not known who had it open.
    was_written: bool,
    /// Whether it was said already that somebody else had it open for writing.
    is_told: bool,
}

/// The content of a notice about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileNotice {
    Opened,
    ClosedAfterReading,
    ClosedAfterWriting,
    /// The kernel could not keep all notices.
    Lost,
}

impl<'a> TargetWatch<'a> {
    /// Begins to watch the real targets, which are open.
    pub(super) fn begin_watch(targets: &'a Targets) -> TargetWatch<'a> {
        let watched = targets.real_targets().iter().enumerate().map(|(index, real)| Watched {
            index,
            real,
            before: real.file_stamp(),
            number: None,
            open: 0,
            was_written: false,
            is_told: false,
        });
        let mut watch = TargetWatch { targets: watched.collect(), notices: None, blind: None };
        if watch.targets.iter().any(|target| target.before.is_some()) {
            match watch.ask_for_notices() {
                Ok(notices) => watch.notices = Some(notices),
                Err(why) => watch.blind = Some(why.to_string()),
            }
        }
        watch
    }

    fn ask_for_notices(&mut self) -> Result<OwnedFd, Errno> {
        let notices = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let wanted = WatchFlags::OPEN | WatchFlags::CLOSE_WRITE | WatchFlags::CLOSE_NOWRITE;
        for target in self.targets.iter_mut().filter(|target| target.before.is_some()) {
            target.number = Some(inotify::add_watch(&notices, target.real.open_path(), wanted)?);
        }
        Ok(notices)
    }

    /// The events that are reported once, when the run begins.
    pub(super) fn initial_warning(&self) -> Option<String> {
        let why = self.blind.as_ref()?;
        Some(format!("the kernel does not tell whether somebody else writes to the files of the run: {why}"))
    }

    /// Reports what others did since the last call. It asks only the kernel, and no file, which may hang.
    pub(super) fn changes_since_last(&mut self, now: Instant) -> Vec<Event> {
        for (number, notice) in self.read_notices() {
            self.take_notice(number, notice);
        }
        let mut events = Vec::new();
        for target in self.targets.iter_mut().filter(|target| target.was_written && !target.is_told) {
            target.is_told = true;
            let text = format!("somebody else had {} open for writing during the run", target.real.name);
            events.push(target.target_event(now, EventKind::Disturbed, text));
        }
        events
    }

    fn read_notices(&self) -> Vec<(Option<i32>, FileNotice)> {
        let mut read = Vec::new();
        let Some(notices) = &self.notices else { return read };
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = inotify::Reader::new(notices, &mut buffer);
        while let Ok(event) = reader.next() {
            let flags = event.events();
            for (flag, notice) in [
                (ReadFlags::OPEN, FileNotice::Opened),
                (ReadFlags::CLOSE_NOWRITE, FileNotice::ClosedAfterReading),
                (ReadFlags::CLOSE_WRITE, FileNotice::ClosedAfterWriting),
            ] {
                if flags.contains(flag) {
                    read.push((Some(event.wd()), notice));
                }
            }
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                read.push((None, FileNotice::Lost));
            }
        }
        read
    }

    fn take_notice(&mut self, number: Option<i32>, notice: FileNotice) {
        let concerned = self.targets.iter_mut().filter(|target| match number {
            Some(_) => target.number == number,
            None => target.number.is_some(),
        });
        for target in concerned {
            match notice {
                FileNotice::Opened => target.open += 1,
                FileNotice::ClosedAfterReading => target.open = target.open.saturating_sub(1),
                FileNotice::ClosedAfterWriting => {
                    target.open = target.open.saturating_sub(1);
                    target.was_written = true;
                }
                FileNotice::Lost => target.was_written = true,
            }
        }
    }

    /// Reports what others did until the end, and whether the targets are still what was written. It asks the files: a run whose
    /// targets hang does not call it.
    pub(super) fn end_watch(&mut self, now: Instant) -> Vec<Event> {
        let mut events = self.changes_since_last(now);
        for target in &self.targets {
            events.extend(target.find_alteration().map(|altered| target.altered_event(now, altered)));
            events.extend(target.still_written(now));
        }
        events
    }
}

impl Watched<'_> {
    /// Whether somebody has it open for writing now, who has opened it during the run.
    fn still_written(&self, now: Instant) -> Option<Event> {
        if self.open == 0 || self.is_told {
            return None;
        }
        let text = match other_writers(self.real.as_fd()) {
            Ok(others) if others.is_empty() => return None,
            Ok(others) => format!("somebody else has {} open for writing: {}", self.real.name, others.join("; ")),
            Err(why) => {
                format!("somebody else has opened {} during the run, who cannot be found: {why}", self.real.name)
            }
        };
        Some(self.target_event(now, EventKind::Disturbed, text))
    }

    fn find_alteration(&self) -> Option<Altered> {
        self.real.altered_since(self.before.as_ref())
    }

    fn altered_event(&self, now: Instant, altered: Altered) -> Event {
        let name = &self.real.name;
        match altered {
            Altered::Gone(how) if self.real.is_written() => {
                let text = format!("{name}: what the run wrote is no longer there: {how}");
                self.target_event(now, EventKind::ConditionBroken, text)
            }
            Altered::Gone(how) | Altered::ByOthers(how) => self.target_event(
                now,
                EventKind::Disturbed,
                format!("{name}: somebody else changed it during the run: {how}"),
            ),
        }
    }

    fn target_event(&self, now: Instant, what: EventKind, text: String) -> Event {
        let details = BTreeMap::from([("target".to_owned(), self.index.to_string())]);
        Event { at_ns: now.as_ns(), what, text, details }
    }
}
