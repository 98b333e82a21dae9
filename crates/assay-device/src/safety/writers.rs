//! Which other processes have a file open for writing, looked for when somebody is known to have opened it.

use super::openers::Inode;
use super::roots::{DevNum, Roots, read_attribute};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The bits of the flags of an open file that distinguish reading from writing; 0 is reading only
/// (include/uapi/asm-generic/fcntl.h).
const ACCESS: u32 = 3;

/// The other processes that have a file open for writing, each in words.
///
/// # Errors
/// The file cannot be examined, or processes are hidden from this one.
pub fn other_writers(file: BorrowedFd<'_>) -> io::Result<Vec<String>> {
    let facts = File::from(file.try_clone_to_owned()?).metadata()?;
    find_writers(&Roots::of_machine(), Inode { device: DevNum::from_stat(facts.dev()), inode: facts.ino() })
}

fn find_writers(roots: &Roots, wanted: Inode) -> io::Result<Vec<String>> {
    let (mut found, mut hidden) = (Vec::new(), 0);
    for process in std::fs::read_dir(&roots.proc)? {
        let process = process?;
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if pid == std::process::id() {
            continue;
        }
        match std::fs::read_dir(process.path().join("fd")) {
            Ok(files) => {
                if files.flatten().any(|file| may_write(&process.path(), &file.path(), wanted)) {
                    let name = read_attribute(&process.path().join("comm")).unwrap_or_else(|| "unnamed".into());
                    found.push(format!("process {pid} ({name})"));
                }
            }
            Err(why) => hidden += u32::from(why.kind() == io::ErrorKind::PermissionDenied),
        }
    }
    match hidden {
        0 => Ok(found),
        _ if !found.is_empty() => Ok(found),
        _ => Err(io::Error::other(format!("{hidden} processes are hidden"))),
    }
}

/// Whether an open file of a process is the one that is wanted, and is open for writing.
fn may_write(process: &Path, file: &Path, wanted: Inode) -> bool {
    let is_wanted = std::fs::metadata(file)
        .is_ok_and(|facts| Inode { device: DevNum::from_stat(facts.dev()), inode: facts.ino() } == wanted);
    let number = file.file_name().unwrap_or_default();
    is_wanted && read_attribute(&process.join("fdinfo").join(number)).is_none_or(|info| is_for_writing(&info))
}

/// What the flags in `/proc/PID/fdinfo` say; flags that cannot be read may be those of a writer.
fn is_for_writing(info: &str) -> bool {
    let flags = info.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    flags.is_none_or(|flags| flags & ACCESS != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::process::{Command, Stdio};

    #[test]
    fn flags_say_who_may_write() {
        for (info, writes) in [
            ("pos:\t0\nflags:\t0100000\nmnt_id:\t1", false),
            ("pos:\t0\nflags:\t0100001\nmnt_id:\t1", true),
            ("pos:\t0\nflags:\t02100002\nmnt_id:\t1", true),
            ("", true),
        ] {
            assert_eq!(is_for_writing(info), writes, "{info:?}");
        }
    }

    #[test]
    fn a_process_that_has_it_open_for_writing_is_found_and_a_reader_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "content").unwrap();
        let file = File::open(&path).unwrap();
        for (redirection, writes) in [("<", false), (">>", true), ("<>", true)] {
            let mut holder = Command::new("sh");
            holder.args(["-c", &format!("exec 3{redirection}'{}'; echo ready; read -r line", path.display())]);
            let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut ready = [0; 6];
            std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut ready).unwrap();
            let found = other_writers(file.as_fd());
            drop(holder.stdin.take());
            let _ = holder.wait();
            let expected = format!("process {} (sh)", holder.id());
            assert_eq!(found.unwrap().contains(&expected), writes, "{redirection}");
        }
    }
}
