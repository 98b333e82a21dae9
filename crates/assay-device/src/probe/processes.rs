//! What each process of the machine has read from and written to disks so far: a hint at who the others on a disk are. The
//! kernel counts per process and not per disk, and shows the figures of other users' processes to root only. Of a process
//! its name and number are kept, never its arguments.

use crate::safety::{Roots, read_attribute};
use std::collections::BTreeMap;
use std::path::Path;

/// The bytes that a process has moved between memory and disks since it began, with its children that ended.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ProcessIo {
    /// Its name (`/proc/PID/comm`); any process may choose its own.
    pub name: String,
    /// Bytes that it caused to be read.
    pub read_bytes: u64,
    /// Bytes that it caused to be written.
    pub written_bytes: u64,
}

/// Processes by their number.
pub type Processes = BTreeMap<u32, ProcessIo>;

/// Every process whose figures may be seen, and the number of those whose figures may not. Threads of the kernel are left
/// out: what they move, they move for others, such as for a loop device or a journal.
pub fn visible_processes(roots: &Roots) -> (Processes, usize) {
    let Ok(entries) = std::fs::read_dir(&roots.proc) else { return (Processes::new(), 0) };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let (mut seen, mut hidden) = (Processes::new(), 0);
    for pid in pids {
        let dir = roots.proc.join(pid.to_string());
        match std::fs::read_to_string(dir.join("io")) {
            Ok(_) if is_of_the_kernel(&dir) => {}
            Ok(text) => seen.extend(parse_io(&text).map(|io| (pid, with_name(io, &dir)))),
            // One that has ended meanwhile is not hidden.
            Err(e) => hidden += usize::from(e.kind() == std::io::ErrorKind::PermissionDenied),
        }
    }
    (seen, hidden)
}

/// The bytes that one process has moved; `None` where that may not be seen, or where there is no such process.
pub fn process_io(roots: &Roots, pid: u32) -> Option<ProcessIo> {
    parse_io(&std::fs::read_to_string(roots.proc.join(pid.to_string()).join("io")).ok()?)
}

/// The processes that moved most between two looks, the largest first: number, name, and what they moved. Those in
/// `without` are left out.
pub fn busiest_processes(before: &Processes, now: &Processes, without: &[u32], most: usize) -> Vec<(u32, ProcessIo)> {
    let others = now.iter().filter(|(pid, _)| !without.contains(pid));
    let mut all: Vec<_> = others.map(|(pid, now)| (*pid, now.moved_since(before.get(pid)))).collect();
    all.retain(|(_, moved)| moved.total_bytes() > 0);
    all.sort_by_key(|(_, moved)| std::cmp::Reverse(moved.total_bytes()));
    all.truncate(most);
    all
}

/// PF_KTHREAD, include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Whether a process is a thread of the kernel: its flags are the seventh figure behind its name (proc(5), stat).
fn is_of_the_kernel(dir: &Path) -> bool {
    let stat = read_attribute(&dir.join("stat")).unwrap_or_default();
    let flags = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(6)?.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & KERNEL_THREAD != 0)
}

fn with_name(io: ProcessIo, dir: &Path) -> ProcessIo {
    ProcessIo { name: read_attribute(&dir.join("comm")).unwrap_or_else(|| "unnamed".to_owned()), ..io }
}

/// Reads `/proc/PID/io` (proc(5)).
fn parse_io(text: &str) -> Option<ProcessIo> {
    // What was removed before it was written to the disk is counted among the written bytes.
    let written_bytes =
        number_of_key(text, "write_bytes")?.saturating_sub(number_of_key(text, "cancelled_write_bytes").unwrap_or(0));
    Some(ProcessIo { name: String::new(), read_bytes: number_of_key(text, "read_bytes")?, written_bytes })
}

impl ProcessIo {
    /// The bytes that were moved since `before`.
    fn moved_since(&self, before: Option<&ProcessIo>) -> ProcessIo {
        // A number may belong to another process by now, which has counted from the beginning.
        let before = before.filter(|before| before.name == self.name && before.read_bytes <= self.read_bytes);
        let before = before.filter(|before| before.written_bytes <= self.written_bytes).cloned().unwrap_or_default();
        ProcessIo {
            name: self.name.clone(),
            read_bytes: self.read_bytes - before.read_bytes,
            written_bytes: self.written_bytes - before.written_bytes,
        }
    }

    fn total_bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.written_bytes)
    }
}

fn number_of_key(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    line.and_then(|value| value.trim().parse::<u64>().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(read: u64, written: u64, cancelled: u64) -> String {
        format!(
            "rchar: 9\nwchar: 9\nsyscr: 1\nsyscw: 1\nread_bytes: {read}\nwrite_bytes: {written}\ncancelled_write_bytes: {cancelled}\n"
        )
    }

    fn machine(processes: &[(u32, &str, String)]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        for (pid, name, io) in processes {
            let at = dir.path().join(pid.to_string());
            std::fs::create_dir_all(&at).unwrap();
            std::fs::write(at.join("comm"), name).unwrap();
            std::fs::write(at.join("io"), io).unwrap();
        }
        std::fs::create_dir_all(dir.path().join("sys")).unwrap();
        let roots = Roots { proc: dir.path().into(), ..Roots::of_machine() };
        (dir, roots)
    }

    fn names(found: Vec<(u32, ProcessIo)>) -> Vec<(u32, String, u64, u64)> {
        found.into_iter().map(|(pid, moved)| (pid, moved.name, moved.read_bytes, moved.written_bytes)).collect()
    }

    #[test]
    fn the_busiest_are_named_by_what_they_moved_since() {
        let (_before, roots) = machine(&[
            (4_194_401, "dd\n", io(1000, 0, 0)),
            (4_194_402, "backup", io(50, 700, 200)),
            (4_194_403, "quiet", io(7, 7, 0)),
            (4_194_404, "ours", io(0, 0, 0)),
            (4_194_405, "gone", io(0, 0, 0)),
        ]);
        let (before, hidden) = visible_processes(&roots);
        assert_eq!((before.len(), hidden), (5, 0));
        assert_eq!(before[&4_194_402].written_bytes, 500, "without what never reached the disk");
        let (_now, roots) = machine(&[
            (4_194_401, "dd\n", io(4000, 0, 0)),
            (4_194_402, "backup", io(50, 9700, 200)),
            (4_194_403, "quiet", io(7, 7, 0)),
            (4_194_404, "ours", io(99_999, 0, 0)),
            // Another process has the number now.
            (4_194_405, "tar", io(60, 0, 0)),
            (4_194_406, "new", io(80, 0, 0)),
        ]);
        let now = visible_processes(&roots).0;
        let named = |pid, name: &str, read, written| (pid, name.to_owned(), read, written);
        assert_eq!(
            names(busiest_processes(&before, &now, &[4_194_404], 3)),
            [named(4_194_402, "backup", 0, 9000), named(4_194_401, "dd", 3000, 0), named(4_194_406, "new", 80, 0)]
        );
        assert_eq!(busiest_processes(&before, &now, &[], 9).len(), 5, "one that moved nothing is not named");
    }

    #[test]
    fn what_the_kernel_moves_for_others_is_left_out() {
        let (dir, roots) = machine(&[(4_194_401, "kworker) 0", io(9, 0, 0)), (4_194_402, "dd", io(9, 0, 0))]);
        let stat = |flags: u64| format!("1 (kworker) 0) S 2 0 0 0 -1 {flags} 0 0\n");
        std::fs::write(dir.path().join("4194401/stat"), stat(0x0420_8060 & !KERNEL_THREAD)).unwrap();
        std::fs::write(dir.path().join("4194402/stat"), stat(0x0040_0000)).unwrap();
        assert_eq!(visible_processes(&roots).0.keys().collect::<Vec<_>>(), [&4_194_401, &4_194_402]);
        std::fs::write(dir.path().join("4194401/stat"), stat(0x0420_8060)).unwrap();
        assert_eq!(visible_processes(&roots).0.keys().collect::<Vec<_>>(), [&4_194_402]);
    }

    #[test]
    fn damaged_figures_are_none() {
        for text in ["", "read_bytes: 1\n", "read_bytes: -1\nwrite_bytes: 2\n", "read_bytes:1\nwrite_bytes: 2\n"] {
            assert_eq!(parse_io(text), None, "{text:?}");
        }
        assert!(process_io(&Roots::of_machine(), std::process::id()).is_some(), "a process sees its own");
        assert_eq!(process_io(&Roots::of_machine(), u32::MAX), None);
    }
}
