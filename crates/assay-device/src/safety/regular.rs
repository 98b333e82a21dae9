//! The rules for files (S10): the program writes only to files that it created itself, with their space reserved, and to files whose
//! space somebody reserved and to which nobody has written. Such a file gets the program's label, and is one of its own from then on.

use super::fingerprint::{Fingerprint, Opened, has_label};
use super::inquiry::{Inquiry, Mode};
use super::label::LABEL_LEN;
use super::openers::{Inode, LOOKS, Openers, WantedObjects, find_openers, find_settled, in_words, wait_a_little};
use super::roots::{DevNum, Roots};
use super::rule::{RuleId, Unopened};
use super::shape::Shape;
use super::sharing::{Held, Partner, copy_descriptor};
use super::subject::Subject;
use super::watermark::{self, Watermark};
use super::{blank, family, kernel, usage};
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

/// Bytes of a page.
const PAGE: u32 = 4096;

/// Evaluates S2 to S14. `None`: it could not be opened or is not ours.
pub(super) fn inquire_regular_file(inquiry: &mut Inquiry<'_>, subject: &Subject, inode: Inode) -> Option<Opened> {
    let page_cache = inquiry.request.page_cache;
    let shared = shared_with_a_rank(inquiry, inode);
    let is_shared = shared.is_some();
    let Granted { file, direct } = match shared {
        Some(granted) => granted,
        None => open_alone(inquiry, subject, inode)?,
    };
    let whole = file_shape(&file, direct, page_cache)
        .and_then(|shape| inquiry.fits_blocks(shape.logical_block).map(|()| shape));
    inquiry.enter_answer(RuleId::S3, whole.as_ref().map(Shape::to_string).map_err(Clone::clone));
    let whole = whole.ok()?;
    let owned = examine_ownership(inquiry, &file, &whole, inode);
    // The rank to which it was granted labels it, before any of them writes.
    let blank = owned.as_ref().is_ok_and(|owned| owned.blank) && !is_shared;
    if !inquiry.enter_answer(RuleId::S10, owned.map(|owned| owned.to_string())) {
        return None;
    }
    let shape = Shape { size: whole.size - LABEL_LEN, ..whole };
    inquiry.exam.size = Some(shape.size);
    let found = program_or_log(inquiry, subject);
    inquiry.enter_answer(RuleId::S5, found);
    let found = check_other_openers(inquiry, inode);
    inquiry.enter_answer(RuleId::S6, found);
    inquiry.check_contents(&file, shape.size);
    let marks = file_watermarks(inquiry, &file, &subject.real, direct);
    inquiry.enter_answer(RuleId::S11, Ok(marks_in_words(&marks)));
    inquiry.exam.watermarks.extend(marks);
    if inquiry.mode == Mode::Look {
        return None;
    }
    let locked = lock_file(inquiry, &file, inode);
    inquiry.enter_answer(RuleId::S13, locked);
    inquiry.fits_size(shape.size);
    let fingerprint = Fingerprint::of_file(inquiry.request.path, inode, whole.size);
    Some(Opened { file, disk: None, shape, fingerprint, blank })
}

/// An open file, and whether it is open for direct I/O.
struct Granted {
    file: File,
    direct: bool,
}

/// S2, where another rank of the same run holds the file: `None` where none does.
fn shared_with_a_rank(inquiry: &mut Inquiry<'_>, inode: Inode) -> Option<Granted> {
    if inquiry.mode == Mode::Look || inquiry.request.ranks.is_empty() {
        return None;
    }
    let held = Held::File(inode);
    let copy = |partner: Partner| Some((copy_descriptor(&partner, held)?, partner));
    let (file, partner) = inquiry.partners_on(held).into_iter().find_map(copy)?;
    let direct = rustix::fs::fcntl_getfl(&file).is_ok_and(|flags| flags.contains(OFlags::DIRECT));
    inquiry.enter_answer(RuleId::S2, Ok(format!("shared with {partner}, to which it was granted, in the same run")));
    Some(Granted { file, direct })
}

/// S2, where this process alone uses the file.
fn open_alone(inquiry: &mut Inquiry<'_>, subject: &Subject, inode: Inode) -> Option<Granted> {
    // A run that works on this file sees when somebody opens it for writing, and proves nothing then.
    if inquiry.mode == Mode::Write && is_locked(subject) {
        let found = check_other_openers(inquiry, inode);
        inquiry.enter_answer(RuleId::S6, found);
        let locked = locked_by_others(inquiry, inode);
        inquiry.enter_answer(RuleId::S13, Err(locked));
        return None;
    }
    let access = if inquiry.mode == Mode::Write { OFlags::RDWR } else { OFlags::RDONLY };
    let page_cache = inquiry.request.page_cache;
    let (file, direct) = match open_direct(subject, access, page_cache) {
        Ok(opened) => opened,
        Err(e) => {
            inquiry.answer_unopened(RuleId::S2, Unopened::from_errno(e));
            return None;
        }
    };
    let how = match (direct, page_cache) {
        (true, _) => "opened for direct I/O",
        (false, true) => "opened through the page cache, as asked",
        (false, false) => "opened; direct I/O is not available",
    };
    inquiry.enter_answer(RuleId::S2, Ok(how.into()));
    Some(Granted { file, direct })
}

/// Opens it for direct I/O where the file system supports it, otherwise or if it is asked for through the page cache.
pub(super) fn open_direct(subject: &Subject, access: OFlags, page_cache: bool) -> Result<(File, bool), Errno> {
    if page_cache {
        return subject.open_resolved(access).map(|file| (file, false));
    }
    match subject.open_resolved(access | OFlags::DIRECT) {
        Ok(file) => Ok((file, true)),
        Err(Errno::INVAL) => subject.open_resolved(access).map(|file| (file, false)),
        Err(e) => Err(e),
    }
}

/// Size and blocks of the whole file; an error for an empty one. Through the page cache operations have any length, at any byte.
pub(super) fn file_shape(file: &File, direct: bool, page_cache: bool) -> Result<Shape, String> {
    let size = file.metadata().map_err(|e| e.to_string())?.len();
    if size == 0 {
        return Err("its size is 0".into());
    }
    if page_cache {
        return Ok(Shape { size, logical_block: 1, physical_block: PAGE, dma_alignment: 1, direct });
    }
    // File systems that do not report it (btrfs, tmpfs, FUSE) work in pages.
    let alignment = kernel::direct_alignment(file.as_fd()).filter(kernel::is_usable);
    let (memory, offset) = alignment.unwrap_or((PAGE, PAGE));
    if !offset.is_power_of_two() {
        return Err(format!("its block size of {offset} bytes is not a power of two"));
    }
    let size = size / u64::from(offset) * u64::from(offset);
    Ok(Shape { size, logical_block: offset, physical_block: offset, dma_alignment: memory, direct })
}

/// A file that may be written to.
#[derive(Debug)]
struct Owned {
    /// Nothing was ever written to it, and it has no label yet.
    blank: bool,
}

impl fmt::Display for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.blank { "nothing was ever written to it" } else { "labelled" };
        write!(f, "{what}, one name, space reserved")
    }
}

/// S10.
fn examine_ownership(inquiry: &Inquiry<'_>, file: &File, whole: &Shape, inode: Inode) -> Result<Owned, String> {
    let blank = match has_label(file, whole.size) {
        Ok(true) if whole.size > LABEL_LEN => false,
        Ok(_) => blank::is_blank(file, whole.size).map(|()| true)?,
        Err(e) => return Err(format!("its label could not be read: {e}")),
    };
    let stat = rustix::fs::fstat(file).map_err(|e| format!("fstat: {e}"))?;
    if stat.st_nlink != 1 {
        return Err(format!("it has {} names (hard links), so another user may need it", stat.st_nlink));
    }
    not_in_the_kernels_hands(inquiry, inode)?;
    match kernel::shared_extent(file.as_fd()) {
        Ok(Some(at)) => return Err(format!("its blocks are shared with another file (reflink) at byte {at}")),
        Ok(None) | Err(Errno::OPNOTSUPP | Errno::NOTTY) => {}
        Err(e) => return Err(format!("FIEMAP: {e}")),
    }
    let magic = rustix::fs::fstatfs(file).map_err(|e| format!("fstatfs: {e}"))?.f_type;
    let counted = watermark::of_file_system(magic as u64).is_none();
    let reserved = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
    if counted && reserved < whole.size {
        return Err(format!(
            "only {reserved} of its {} bytes are reserved, so writing could run out of space; delete it and create it again with --create",
            whole.size
        ));
    }
    Ok(Owned { blank })
}

/// Whether it is neither active swap nor the backing of a loop device.
fn not_in_the_kernels_hands(inquiry: &Inquiry<'_>, inode: Inode) -> Result<(), String> {
    if usage::active_swaps(inquiry.roots)?.iter().any(|path| inode_at(path) == Some(inode)) {
        return Err("it is active swap".into());
    }
    let loops = family::all_loops(inquiry.roots)?;
    let above = loops.iter().find(|l| match l.backing {
        Some(backing) => (Inode { device: backing.device, inode: backing.inode }) == inode,
        None => Path::new(&l.path) == inquiry.exam.real,
    });
    above.map_or(Ok(()), |l| Err(format!("it is the backing file of {}", l.name)))
}

/// S5 for a file: it must not be the program itself, nor inside the log directory.
fn program_or_log(inquiry: &Inquiry<'_>, subject: &Subject) -> Result<String, String> {
    if usage::program_path(inquiry.roots)?.is_some_and(|program| program == subject.real) {
        return Err("it is this program".into());
    }
    match inquiry.request.log_dir.map(usage::existing_prefix) {
        Some(dir) if inquiry.request.log_dir.is_some_and(Path::exists) && subject.real.starts_with(&dir) => {
            Err(format!("it is in the log directory {}", dir.display()))
        }
        _ => Ok("neither the program nor in the log directory".into()),
    }
}

/// S6 for a file. Processes of other users cannot be seen without root; since the label says that the data is ours,
/// nobody loses anything. Whoever only reads it is named.
fn check_other_openers(inquiry: &mut Inquiry<'_>, inode: Inode) -> Result<String, String> {
    let mut seen = find_settled(inquiry.roots, &WantedObjects { inodes: vec![inode], ..WantedObjects::default() })?;
    let partners = inquiry.partners_on(Held::File(inode));
    seen.found.retain(|opener| !partners.iter().any(|partner| partner.pid == opener.pid));
    inquiry.exam.watermarks.extend(seen.reading_openers().map(|reader| Watermark::Reader(reader.to_string())));
    match seen.using_openers().next() {
        None => Ok(format!("none of {}, {} not seen", seen.describe_extent(), seen.hidden)),
        Some(_) => Err(in_words(seen.using_openers())),
    }
}

/// S11 for a file: the watermarks of its file system and of the disk under it.
pub(super) fn file_watermarks(inquiry: &Inquiry<'_>, file: &File, real: &Path, direct: bool) -> Vec<Watermark> {
    let mut marks: Vec<Watermark> = match (direct, inquiry.request.page_cache) {
        (true, _) => Vec::new(),
        (false, true) => vec![Watermark::PageCache],
        (false, false) => vec![Watermark::Buffered],
    };
    let magic = rustix::fs::fstatfs(file).map(|fs| fs.f_type as u64).unwrap_or(0);
    if let Some(mark) = watermark::of_file_system(magic) {
        marks.push(mark);
        return marks;
    }
    let device =
        rustix::fs::fstat(file).ok().and_then(|s| usage::disk_under(inquiry.roots, real, DevNum::from_stat(s.st_dev)));
    match device {
        Some(device) => marks.extend(watermark::of_device(inquiry.roots, device)),
        None => marks.push(Watermark::UnknownBacking),
    }
    let log = inquiry.request.log_dir.and_then(|dir| log_disk(inquiry.roots, dir));
    if log.is_some() && log == device {
        marks.push(Watermark::LogOnTarget);
    }
    marks
}

fn marks_in_words(marks: &[Watermark]) -> String {
    match marks {
        [] => "on a disk of this host".into(),
        marks => format!("not certifiable: {}", marks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// S13 for a file. After a run ends, the kernel closes the files that io_uring held only a moment later: as long as no
/// process is seen that has the file open, this may be the only reason.
fn lock_file(inquiry: &Inquiry<'_>, file: &File, inode: Inode) -> Result<String, String> {
    for look in 0.. {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::WOULDBLOCK) => {}
            Err(e) => return Err(format!("it cannot be locked: {e}")),
        }
        let seen = find_openers(inquiry.roots, &WantedObjects { inodes: vec![inode], ..WantedObjects::default() })?;
        if is_lock_kept(look, &seen) {
            return Err(format!("another run has locked it: {}", in_words(&seen.found)));
        }
        wait_a_little();
    }
    Ok("locked".into())
}

/// Why a file that another run has locked is refused, with the processes that have it open as far as they can be seen.
fn locked_by_others(inquiry: &Inquiry<'_>, inode: Inode) -> String {
    match find_openers(inquiry.roots, &WantedObjects { inodes: vec![inode], ..WantedObjects::default() }) {
        Ok(seen) if !seen.found.is_empty() => format!("another run has locked it: {}", in_words(&seen.found)),
        _ => "another run has locked it".to_owned(),
    }
}

/// Whether another run has locked a file and keeps the lock, found out without opening it for writing.
fn is_locked(subject: &Subject) -> bool {
    let Ok(file) = subject.open_resolved(OFlags::RDONLY | OFlags::NONBLOCK) else { return false };
    for _ in 0..LOOKS {
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK) {
            return false;
        }
        wait_a_little();
    }
    true
}

/// Whether the lock belongs to somebody who keeps it, after `look` repeated attempts.
fn is_lock_kept(look: u32, seen: &Openers) -> bool {
    look >= LOOKS || !seen.found.is_empty()
}

/// The log directory's own disk, for the watermark of files.
fn log_disk(roots: &Roots, log_dir: &Path) -> Option<DevNum> {
    let real = usage::existing_prefix(log_dir);
    let stat = rustix::fs::stat(&real).ok()?;
    usage::disk_under(roots, &real, DevNum::from_stat(stat.st_dev))
}

fn inode_at(path: &str) -> Option<Inode> {
    let stat = rustix::fs::stat(path).ok()?;
    Some(Inode { device: DevNum::from_stat(stat.st_dev), inode: stat.st_ino })
}

#[cfg(test)]
mod tests {
    use super::super::openers::{Access, Opener};
    use super::*;

    #[test]
    fn a_lock_nobody_seems_to_hold_is_waited_for_and_no_other() {
        let nobody = Openers::default();
        let opener = Opener { pid: 7, name: "assay".into(), path: "/tmp/scratch".into(), access: Access::Locking };
        let somebody = Openers { found: vec![opener], ..Openers::default() };
        for (look, seen, end) in [
            (0, &nobody, false),
            (LOOKS - 1, &nobody, false),
            (LOOKS, &nobody, true),
            (LOOKS + 1, &nobody, true),
            (0, &somebody, true),
            (LOOKS, &somebody, true),
        ] {
            assert_eq!(is_lock_kept(look, seen), end, "{look} {seen:?}");
        }
    }

    /// A machine with this line in `/proc/swaps`, and with a loop device on this path.
    fn machine(dir: &Path, swap: &str, looped: &str) -> Roots {
        std::fs::create_dir_all(dir.join("proc")).unwrap();
        std::fs::write(dir.join("proc/swaps"), format!("Filename Type Size Used Priority\n{swap} file 9 0 -2\n"))
            .unwrap();
        std::fs::create_dir_all(dir.join("sys/block/loop3/loop")).unwrap();
        std::fs::write(dir.join("sys/block/loop3/dev"), "7:3\n").unwrap();
        std::fs::write(dir.join("sys/block/loop3/loop/backing_file"), format!("{looped}\n")).unwrap();
        Roots { proc: dir.join("proc"), sys: dir.join("sys"), dev: dir.join("dev") }
    }

    #[test]
    fn active_swap_and_the_backing_of_a_loop_are_in_the_kernels_hands() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        let (file, other, gone) = (at("file"), at("other"), at("gone"));
        std::fs::write(&file, "1").unwrap();
        std::fs::write(&other, "2").unwrap();
        std::fs::hard_link(&file, at("second name")).unwrap();
        let stat = rustix::fs::stat(&file).unwrap();
        let inode = Inode { device: DevNum::from_stat(stat.st_dev), inode: stat.st_ino };
        for (swap, looped, real, refusal) in [
            (&other, &other, &file, None),
            (&file, &other, &file, Some("active swap")),
            (&gone, &other, &file, None),
            (&other, &file, &file, Some("backing file of loop3")),
            (&other, &at("second name"), &file, Some("backing file of loop3")),
            // A path that leads nowhere is compared as it is printed.
            (&other, &gone, &gone, Some("backing file of loop3")),
            (&other, &gone, &file, None),
        ] {
            let roots = machine(dir.path(), swap, looped);
            let exam = crate::safety::Examination {
                real: real.into(),
                ..crate::safety::Examination::without_findings(Path::new(real))
            };
            let request = crate::safety::Request::new(Path::new(real));
            let inquiry = Inquiry { roots: &roots, request, mode: Mode::Look, exam };
            let found = not_in_the_kernels_hands(&inquiry, inode);
            let told = refusal.is_none_or(|words| found.as_ref().is_err_and(|why| why.contains(words)));
            assert!(found.is_err() == refusal.is_some() && told, "{swap} {looped} {real}: {found:?}");
        }
    }

    #[test]
    fn watermarks_of_a_file_are_told_in_words() {
        assert_eq!(marks_in_words(&[]), "on a disk of this host");
        assert_eq!(
            marks_in_words(&[Watermark::Memory("tmpfs"), Watermark::LogOnTarget]),
            "not certifiable: tmpfs is a file system in memory, the run log is on the same disk"
        );
    }

    #[test]
    fn a_file_that_is_nothing_but_a_label_is_none_of_ours() {
        use std::os::unix::fs::FileExt;
        let roots = Roots::of_machine();
        let request = crate::safety::Request::new(Path::new("file"));
        let exam = crate::safety::Examination::without_findings(Path::new("file"));
        let inquiry = Inquiry { roots: &roots, request, mode: Mode::Look, exam };
        let none = Inode { device: DevNum { major: 0, minor: 0 }, inode: 0 };
        for (data, ours_by_label) in [(0, false), (4096, true)] {
            let (file, size) = (tempfile::tempfile().unwrap(), data + LABEL_LEN);
            file.write_all_at(&super::super::label::label_bytes(size), data).unwrap();
            let whole = Shape { size, logical_block: 4096, physical_block: 4096, dma_alignment: 4096, direct: true };
            // A file without a name is refused as well, but for another reason.
            let refused = examine_ownership(&inquiry, &file, &whole, none).err().unwrap();
            assert_eq!(refused.starts_with("it has 0 names"), ours_by_label, "{data}: {refused}");
            assert_eq!(refused.starts_with("not a file of this program"), !ours_by_label, "{data}: {refused}");
        }
    }

    #[test]
    fn a_log_on_the_disk_of_the_file_is_told() {
        let dir = tempfile::tempdir().unwrap().keep().canonicalize().unwrap();
        let at = |name: &str| dir.join(name);
        for name in ["file", "one", "two", "proc/self", "dev", "sys/class/block/sdy", "sys/class/block/sdz"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        for (disk, number) in [("sdy", "8:16"), ("sdz", "8:32")] {
            std::fs::write(at("dev").join(disk), "").unwrap();
            std::fs::write(at("sys/class/block").join(disk).join("dev"), number).unwrap();
        }
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        let mounted = |lines: &[(&str, &str)]| {
            let line =
                |(name, disk): &(&str, &str)| format!("1 0 0:5 / {} rw - ext4 /dev/{disk} rw\n", at(name).display());
            std::fs::write(at("proc/self/mountinfo"), lines.iter().map(line).collect::<String>()).unwrap();
        };
        let file = tempfile::tempfile_in(&dir).unwrap();
        let magic = rustix::fs::fstatfs(&file).unwrap().f_type as u64;
        assert_eq!(watermark::of_file_system(magic), None, "the directory for temporary files must be on a disk");
        let both: &[_] = &[("file", "sdy"), ("one", "sdy"), ("two", "sdz")];
        for (lines, log, device_known, told) in [
            (both, None, true, false),
            (both, Some("one"), true, true),
            (both, Some("two"), true, false),
            (&[], None, false, false),
            (&[], Some("one"), false, false),
        ] {
            mounted(lines);
            let log = log.map(at);
            let request = crate::safety::Request { log_dir: log.as_deref(), ..crate::safety::Request::new(&dir) };
            let exam = crate::safety::Examination::without_findings(&dir);
            let inquiry = Inquiry { roots: &roots, request, mode: Mode::Look, exam };
            let marks = file_watermarks(&inquiry, &file, &at("file/scratch"), true);
            assert_eq!(marks.contains(&Watermark::LogOnTarget), told, "{log:?}: {marks:?}");
            assert!(device_known || marks == [Watermark::UnknownBacking], "{log:?}: {marks:?}");
        }
        std::fs::remove_dir_all(dir).unwrap();
    }
}
