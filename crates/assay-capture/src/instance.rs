//! A tracefs instance of our own: its buffers, its filter and its events are apart from those of everybody else who
//! traces, and the kernel removes all of it with the directory.

use crate::trouble::Trouble;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Where tracefs is mounted.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// How our instances are called, before the number of the process.
const PREFIX: &str = "assay-";
/// Memory of all buffers together, where the user says nothing.
const BUFFERS: u64 = 16 << 20;
/// The largest buffer of a processor, where the user says nothing.
const BUFFER_MAX: u64 = 2 << 20;

/// An instance, which is removed when this is dropped.
#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    pipes: Vec<Pipe>,
}

/// The buffer of one processor.
#[derive(Debug)]
pub struct Pipe {
    file: File,
    stats: PathBuf,
}

/// What was lost in all buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lost {
    /// Events that were overwritten before they were read, or for which there was no room.
    pub events: u64,
}

/// Where tracefs is: where it usually is, or anywhere else.
pub fn tracefs_mount() -> Result<PathBuf, Trouble> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut known = MOUNTS.iter().map(PathBuf::from).chain(mounts_of_tracefs(&mounts));
    known.find(|mount| mount.join("instances").is_dir()).ok_or_else(|| {
        Trouble::of_host(
            "tracefs is not mounted, or not visible to this user",
            "run it as root, after: mount -t tracefs tracefs /sys/kernel/tracing",
        )
    })
}

/// The places at which tracefs is mounted; none with a space in its name, which the kernel writes in another way.
fn mounts_of_tracefs(mounts: &str) -> impl Iterator<Item = PathBuf> + '_ {
    mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (at, kind) = (words.next()?, words.next()?);
        (kind == "tracefs").then(|| PathBuf::from(at))
    })
}

/// Removes what captures left that were killed: instances of ours whose process is gone. Returns how many.
pub fn remove_stale(tracefs: &Path, proc: &Path) -> usize {
    let Ok(entries) = fs::read_dir(tracefs.join("instances")) else { return 0 };
    let mut removed = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if number.is_some_and(|number| !is_ours(proc, number)) {
            // One that is in use, by a process that is not visible here, stays: the kernel refuses.
            removed += usize::from(fs::remove_dir(entry.path()).is_ok());
        }
    }
    removed
}

/// Whether a process of this program has this number.
fn is_ours(proc: &Path, number: u32) -> bool {
    fs::read_to_string(proc.join(number.to_string()).join("comm")).is_ok_and(|name| name.starts_with("assay"))
}

impl Instance {
    /// An instance for this process, in which nothing is traced yet. `buffer` is the size of the buffer of one processor.
    pub fn create(tracefs: &Path, buffer: Option<u64>) -> Result<Instance, Trouble> {
        let path = tracefs.join("instances").join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&path).map_err(|e| refuse_instance(&path, &e))?;
        let mut instance = Instance { path, pipes: Vec::new() };
        instance.change_setting("tracing_on", "0")?;
        instance.change_setting("trace_clock", "mono")?;
        let processors = instance.processor_dirs()?;
        let usual = (BUFFERS / processors.len().max(1) as u64).clamp(8192, BUFFER_MAX);
        instance.change_setting("buffer_size_kb", &(buffer.unwrap_or(usual) / 1024).max(8).to_string())?;
        for processor in processors {
            instance.pipes.push(Pipe::open(&processor)?);
        }
        Ok(instance)
    }

    fn processor_dirs(&self) -> Result<Vec<PathBuf>, Trouble> {
        let below = self.path.join("per_cpu");
        let entries = fs::read_dir(&below).map_err(|e| Trouble::of_file(&below, "read", &e))?;
        let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        all.sort();
        Ok(all)
    }

    /// Writes a setting.
    pub fn change_setting(&self, name: &str, value: &str) -> Result<(), Trouble> {
        let path = self.path.join(name);
        write_setting(&path, value).map_err(|e| Trouble::of_file(&path, &format!("set to \"{value}\""), &e))
    }

    /// The kernel's description of an event; `None` where it has no such event.
    pub fn event_format(&self, event: &str) -> Option<String> {
        fs::read_to_string(self.path.join("events/block").join(event).join("format")).ok()
    }

    /// Traces an event where a filter holds.
    pub fn enable_event(&self, event: &str, filter: &str) -> Result<(), Trouble> {
        self.change_setting(&format!("events/block/{event}/filter"), filter)?;
        self.change_setting(&format!("events/block/{event}/enable"), "1")
    }

    /// The buffers, one for each processor.
    pub fn all_pipes(&mut self) -> &mut [Pipe] {
        &mut self.pipes
    }

    /// What was lost so far.
    pub fn lost_so_far(&self) -> Lost {
        let each = self.pipes.iter().filter_map(|pipe| fs::read_to_string(&pipe.stats).ok());
        Lost { events: each.map(|text| lost_events(&text)).sum() }
    }

    /// Waits until there is something to read, a signal comes, or this many milliseconds have passed.
    pub fn wait_for_events(&self, milliseconds: u32) -> Result<(), Trouble> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut waited: Vec<PollFd<'_>> =
            self.pipes.iter().map(|pipe| PollFd::from_borrowed_fd(pipe.file.as_fd(), PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(milliseconds) * 1_000_000 };
        match poll(&mut waited, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(e) => Err(Trouble::of_file(&self.path, "waited for", &e.into())),
        }
    }
}

impl Drop for Instance {
    /// The kernel removes an instance only when none of its files is open.
    fn drop(&mut self) {
        self.pipes.clear();
        let _ = fs::remove_dir(&self.path);
    }
}

/// `overrun: 3` and `dropped events: 0` of a processor's `stats`.
fn lost_events(text: &str) -> u64 {
    let value = |line: &str| {
        let (name, value) = line.split_once(':')?;
        matches!(name.trim(), "overrun" | "dropped events").then(|| value.trim().parse::<u64>().ok())?
    };
    text.lines().filter_map(value).sum()
}

fn refuse_instance(path: &Path, error: &io::Error) -> Trouble {
    let remedy = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::ROFS) => {
            "mount tracefs so that it can be written: mount -o remount,rw /sys/kernel/tracing"
        }
        Some(rustix::io::Errno::EXIST) => "this process has an instance already",
        _ => "run it as root; in a container, give it /sys/kernel/tracing",
    };
    Trouble::of_host(format!("{} cannot be made: {error}", path.to_string_lossy().escape_debug()), remedy)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file of tracefs is a setting, which exists: nothing is created or followed"
)]
fn write_setting(path: &Path, value: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(path).and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes()))
}

impl Pipe {
    #[expect(clippy::disallowed_methods, reason = "a file of tracefs, which must not block")]
    fn open(processor: &Path) -> Result<Pipe, Trouble> {
        use std::os::unix::fs::OpenOptionsExt;
        let path = processor.join("trace_pipe_raw");
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(&path);
        let file = file.map_err(|e| Trouble::of_file(&path, "read", &e))?;
        Ok(Pipe { file, stats: processor.join("stats") })
    }

    /// The next page; nothing where all has been read.
    pub fn read_page<'a>(&mut self, room: &'a mut [u8]) -> Result<Option<&'a [u8]>, Trouble> {
        match self.file.read(room) {
            Ok(0) => Ok(None),
            Ok(read) => Ok(Some(&room[..read])),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(e) => Err(Trouble::of_file(&self.stats.with_file_name("trace_pipe_raw"), "read", &e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_is_said_by_the_kernel() {
        let text = "entries: 5\noverrun: 12\ncommit overrun: 0\nbytes: 4\ndropped events: 3\nread events: 9\n";
        assert_eq!(lost_events(text), 15);
        assert_eq!(lost_events("overrun: many\n\nx"), 0);
    }

    #[test]
    fn tracefs_is_found_among_mounts() {
        let mounts = "proc /proc proc rw 0 0\nnone /tmp/t tracefs rw 0 0\ntracefs /x ext4 rw 0 0\n\nodd\n";
        assert_eq!(mounts_of_tracefs(mounts).collect::<Vec<_>>(), [PathBuf::from("/tmp/t")]);
    }

    /// The places of captures that are gone are removed, and nothing else.
    #[test]
    fn only_what_is_ours_and_gone_is_removed() {
        let place = std::env::temp_dir().join(format!("assay-capture-stale-{}", std::process::id()));
        let (tracefs, proc) = (place.join("t"), place.join("p"));
        for name in ["assay-11", "assay-12", "assay-13", "assay-x", "other", "assay-14"] {
            fs::create_dir_all(tracefs.join("instances").join(name)).unwrap();
        }
        for (number, name) in [(12, "assay\n"), (13, "cat\n")] {
            fs::create_dir_all(proc.join(number.to_string())).unwrap();
            fs::write(proc.join(number.to_string()).join("comm"), name).unwrap();
        }
        // A directory that is not empty stands for an instance that is in use.
        fs::create_dir(tracefs.join("instances/assay-14/used")).unwrap();
        assert_eq!(remove_stale(&tracefs, &proc), 2);
        let mut left: Vec<String> = fs::read_dir(tracefs.join("instances"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["assay-12", "assay-14", "assay-x", "other"]);
        fs::remove_dir_all(place).unwrap();
    }
}
