//! Files of other users, and things that cannot be a target: refused, and not one byte of them may change.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]

use crate::safety_common;

use assay_device::safety::{Gate, Request, RuleId::*, Watermark, label, scratch};
use safety_common::live::{Loop, Mount, have, root, run, turn};
use safety_common::offer::{admit, dir, made, protected};
use std::io::Write;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
const EXT4: u64 = 8 << 20;
const BTRFS: u64 = 128 << 20;

#[test]
fn things_that_are_no_target() {
    let (_turn, dir) = (turn(), dir());
    let at = |name: &str| dir.path().join(name);
    rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("listener")).unwrap();
    symlink(at("nowhere"), at("dangling")).unwrap();
    for (what, path, rule) in [
        ("character device", PathBuf::from("/dev/null"), S1),
        ("directory", dir.path().to_path_buf(), S1),
        ("FIFO", at("fifo"), S1),
        ("socket", at("listener"), S1),
        ("a dangling link", at("dangling"), S0),
        ("nothing", at("missing"), S0),
    ] {
        protected(what, &path, &[], rule, if rule == S1 { what } else { "No such file" });
        assert_eq!(Gate::of_machine().admit_read(&Request::new(&path)).unwrap_err().rule, rule, "{what}");
    }
}

/// sysfs has no direct I/O: its files are read through the page cache, with a watermark.
#[test]
fn a_file_that_cannot_be_read_directly_is_read_through_the_cache() {
    let file = Path::new("/sys/kernel/mm/transparent_hugepage/enabled");
    if !file.exists() {
        return;
    }
    let pass = Gate::of_machine().admit_read(&Request::new(file)).unwrap();
    assert!(pass.result_watermarks().contains(&Watermark::Buffered) && !pass.full_shape().direct, "{pass:?}");
}

/// A person may ask for the page cache: then operations have any length, and the result has a watermark.
#[test]
fn a_file_is_used_through_the_page_cache_if_asked_for_and_a_device_never() {
    let (_turn, dir) = (turn(), dir());
    let path = dir.path().join("data");
    drop(scratch::create_scratch(&path, MIB).unwrap());
    let request = Request { page_cache: true, ..Request::new(&path) };
    let permit = Gate::of_machine().admit_target(&request).unwrap();
    assert!(permit.result_watermarks().contains(&Watermark::PageCache), "{permit:?}");
    assert!(!permit.result_watermarks().contains(&Watermark::Buffered) && !permit.full_shape().direct);
    assert_eq!((permit.geometry().size, permit.geometry().block), (MIB, 1));
    drop(permit);
    let pass = Gate::of_machine().admit_read(&request).unwrap();
    assert!(pass.result_watermarks().contains(&Watermark::PageCache) && pass.geometry().block == 1, "{pass:?}");
    // Without being asked for it is not.
    assert!(
        !Gate::of_machine()
            .admit_read(&Request::new(&path))
            .unwrap()
            .result_watermarks()
            .contains(&Watermark::PageCache)
    );
    if !root() {
        return;
    }
    let device = Loop::blank(dir.path(), "device", MIB);
    let request = Request { page_cache: true, ..Request::new(device.path()) };
    for refusal in
        [Gate::of_machine().admit_target(&request).unwrap_err(), Gate::of_machine().admit_read(&request).unwrap_err()]
    {
        assert_eq!(refusal.rule, S1);
        assert!(refusal.evidence.contains("only files are used through the page cache"), "{}", refusal.evidence);
    }
}

#[test]
fn files_of_somebody_else() {
    let (_turn, dir) = (turn(), dir());
    let at = |name: &str| dir.path().join(name);
    let plain = vec![7u8; 65536];
    std::fs::write(at("plain"), &plain).unwrap();
    std::fs::write(at("empty"), b"").unwrap();
    std::fs::write(at("short"), b"a note").unwrap();
    // A label for another length.
    let mut foreign = plain.clone();
    foreign.extend(label::label_bytes(8192));
    std::fs::write(at("foreign"), &foreign).unwrap();
    for (name, rule) in [("plain", S10), ("short", S10), ("empty", S3), ("foreign", S10)] {
        protected(name, &at(name), &[&at(name)], rule, "");
    }
    drop(scratch::create_scratch(&at("linked"), MIB).unwrap());
    std::fs::hard_link(at("linked"), at("other name")).unwrap();
    protected("two names", &at("linked"), &[&at("linked")], S10, "2 names");
    drop(scratch::create_scratch(&at("grown"), MIB).unwrap());
    std::fs::File::options().append(true).open(at("grown")).unwrap().write_all(b"more").unwrap();
    protected("grown since", &at("grown"), &[&at("grown")], S10, "not a file of this program");
    let sparse = std::fs::File::create(at("sparse")).unwrap();
    sparse.set_len(MIB).unwrap();
    sparse.write_all_at(&label::label_bytes(MIB), MIB - label::LABEL_LEN).unwrap();
    if !is_tmpfs(dir.path()) {
        protected("not reserved", &at("sparse"), &[&at("sparse")], S10, "reserved");
    }
    // A file system created inside our own file: the label is still there, but the data belongs to somebody.
    if have("mkfs.ext4") {
        drop(scratch::create_scratch(&at("used"), EXT4).unwrap());
        run(&["mkfs.ext4", "-q", "-F", "-E", "nodiscard", "-b", "4096", at("used").to_str().unwrap(), "2048"]).unwrap();
        protected("a file system in our file", &at("used"), &[&at("used")], S7, "ext2/3/4");
    }
}

/// Only what was granted to another rank of the same run is shared, and only with this very program: not with whoever says so.
#[test]
fn a_target_is_shared_with_the_ranks_of_the_same_run_alone() {
    let (_turn, dir) = (turn(), dir());
    let path = dir.path().join("data");
    drop(scratch::create_scratch(&path, MIB).unwrap());
    let own = std::process::id();
    let admit_beside = |ranks: &[u32]| Gate::of_machine().admit_target(&Request { ranks, ..Request::new(&path) });
    // Nobody holds it yet: this process is the first.
    let first = admit_beside(&[own]).unwrap();
    assert!(admit_beside(&[]).is_err(), "another run has no share");
    assert!(admit_beside(&[1]).is_err(), "that process does not hold it");
    let second = admit_beside(&[1, own]).unwrap();
    let how = second.gate_examination().rules.iter().find(|rule| rule.id == S2).unwrap().evidence.clone();
    assert!(how.contains("in the same run") && how.contains(&own.to_string()), "{how}");
    // The lock lasts until the last of them has ended.
    drop(first);
    assert!(admit_beside(&[]).is_err());
    drop(second);
    drop(admit_beside(&[]).unwrap());

    if !have("python3") {
        return;
    }
    let holds = "import fcntl, os, sys; f = os.open(sys.argv[1], os.O_RDWR); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); sys.stdin.read()";
    let mut other = std::process::Command::new("python3")
        .args(["-c", holds])
        .arg(&path)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 1];
    std::io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut said).unwrap();
    let refused = admit_beside(&[other.id()]).unwrap_err();
    assert_eq!(refused.rule, S13, "it runs another program, and has the file open for writing: {refused:?}");
    drop(other.stdin.take());
    other.wait().unwrap();
}

fn is_tmpfs(path: &Path) -> bool {
    rustix::fs::statfs(path).unwrap().f_type == 0x0102_1994
}

#[test]
fn a_shared_copy_is_refused() {
    if !(root() && have("mkfs.btrfs")) {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let Some(device) = made(dir.path(), "btrfs", BTRFS) else { return };
    let mount = Mount::new(&device.dev, dir.path(), "mount").unwrap();
    let (ours, copy) = (mount.point.join("ours"), mount.point.join("copy"));
    drop(scratch::create_scratch(&ours, MIB).unwrap());
    drop(admit(&ours, &[]).unwrap());
    run(&["cp", "--reflink=always", ours.to_str().unwrap(), copy.to_str().unwrap()]).unwrap();
    protected("a reflink copy", &copy, &[&copy], S10, "(reflink) at byte 0");
    // Everything except its end is rewritten in many pieces: the part that is still shared is beyond the kernel's first
    // answer.
    let file = std::fs::File::options().write(true).open(&copy).unwrap();
    let end = MIB - 8192;
    for first in [0, 4096] {
        (first..end).step_by(8192).for_each(|at| file.write_all_at(&[0; 4096], at).unwrap());
        file.sync_all().unwrap();
    }
    protected("a copy whose end is shared", &copy, &[&copy], S10, &format!("(reflink) at byte {end}"));
    file.write_all_at(&[0; 8192], end).unwrap();
    file.write_all_at(&label::label_bytes(MIB + label::LABEL_LEN), MIB).unwrap();
    file.sync_all().unwrap();
    drop(admit(&copy, &[]).unwrap());
}

/// The disk under a scratch file is found through the file system, also where `stat` names no device (btrfs).
#[test]
fn scratch_files_on_file_systems_of_every_kind() {
    let (_turn, dir) = (turn(), dir());
    for (kind, size) in [("ext4", 16 * MIB), ("xfs", 320 * MIB), ("btrfs", BTRFS)] {
        let Some(device) = root().then(|| made(dir.path(), kind, size)).flatten() else { continue };
        let mount = Mount::new(&device.dev, dir.path(), &format!("{kind}.mount")).unwrap();
        let permit = scratch::create_scratch(&mount.point.join("scratch"), MIB).unwrap();
        assert!(permit.full_shape().direct, "{kind}");
        assert_eq!(permit.result_watermarks(), [Watermark::Loop(device.dev[5..].to_owned())], "{kind}");
        assert!(permit.remove_scratch().unwrap(), "{kind}");
        let full = scratch::create_scratch(&mount.point.join("scratch"), size).unwrap_err();
        assert_eq!((full.rule, full.to_string().contains("are needed")), (S10, true), "{kind}: {full}");
    }
    let memory = Path::new("/dev/shm");
    if memory.is_dir() && is_tmpfs(memory) {
        let dir = tempfile::tempdir_in(memory).unwrap();
        let permit = scratch::create_scratch(&dir.path().join("scratch"), MIB).unwrap();
        assert_eq!(permit.result_watermarks(), [Watermark::Memory("tmpfs")]);
    }
}

/// A file of `size` bytes whose space is reserved and to which nobody has written.
fn reserved(path: &Path, size: u64) -> std::fs::File {
    let file = std::fs::File::options().create_new(true).read(true).write(true).open(path).unwrap();
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size).unwrap();
    file
}

/// The bytes of a file, without its label where it has one.
fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// The last step before a run writes labels it, so that it is the program's own from then on.
#[test]
fn a_file_that_was_only_reserved_is_taken_over() {
    let (_turn, dir) = (turn(), dir());
    let mut mounts = vec![(None, dir.path().join("here"))];
    std::fs::create_dir(dir.path().join("here")).unwrap();
    for (kind, size) in [("ext4", 16 * MIB), ("xfs", 320 * MIB), ("btrfs", BTRFS)] {
        let Some(device) = root().then(|| made(dir.path(), kind, size)).flatten() else { continue };
        let mount = Mount::new(&device.dev, dir.path(), &format!("{kind}.mount")).unwrap();
        let point = mount.point.clone();
        mounts.push((Some((mount, device)), point));
    }
    for (_, place) in &mounts {
        let path = place.join("reserved");
        drop(reserved(&path, MIB));
        let looked = Gate::of_machine().examine_request(&Request::new(&path)).unwrap();
        assert!(looked.rules.iter().any(|answer| answer.evidence.contains("nothing was ever written")), "{looked:?}");
        let permit = admit(&path, &[]).unwrap();
        assert_eq!(permit.geometry().size, MIB - label::LABEL_LEN);
        assert!(bytes(&path) == vec![0; MIB as usize], "admitting it changes nothing: {}", path.display());
        permit.recheck_target().unwrap();
        permit.recheck_target().unwrap();
        drop(permit);
        let (data, end) = (
            bytes(&path)[..(MIB - label::LABEL_LEN) as usize].to_vec(),
            bytes(&path).split_off((MIB - label::LABEL_LEN) as usize),
        );
        assert!(data.iter().all(|byte| *byte == 0) && end == label::label_bytes(MIB), "{}", path.display());
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.write_all_at(&[0; 4096], 0).unwrap();
        drop(file);
        drop(admit(&path, &[]).unwrap());
    }
}

#[test]
fn a_file_in_which_something_was_written_is_not() {
    let (_turn, dir) = (turn(), dir());
    let at = |name: &str| dir.path().join(name);
    // In the page cache only, whatever is written: also zeros are somebody's.
    let file = reserved(&at("one byte"), MIB);
    file.write_all_at(&[0], 500_000).unwrap();
    protected("one byte", &at("one byte"), &[&at("one byte")], S10, "it holds data at byte ");
    let file = reserved(&at("its end"), MIB);
    file.write_all_at(b"x", MIB - 1).unwrap();
    file.sync_all().unwrap();
    protected("its end", &at("its end"), &[&at("its end")], S10, "it holds data at byte ");
    let linked = reserved(&at("linked"), MIB);
    std::fs::hard_link(at("linked"), at("second name")).unwrap();
    protected("two names", &at("linked"), &[&at("linked")], S10, "2 names");
    drop(linked);
    drop(reserved(&at("odd"), MIB + 1));
    protected("odd", &at("odd"), &[&at("odd")], S10, "not whole blocks");
    drop(reserved(&at("small"), label::LABEL_LEN));
    protected("small", &at("small"), &[&at("small")], S10, "space for a label");
    let sparse = std::fs::File::create(at("holes")).unwrap();
    sparse.set_len(MIB).unwrap();
    if !is_tmpfs(dir.path()) {
        protected("holes", &at("holes"), &[&at("holes")], S10, "0 of its 1048576 bytes are reserved");
    }
    // Somebody has it open.
    let open = reserved(&at("open"), MIB);
    let mut child = std::process::Command::new("sleep").arg("60").stdin(open).spawn().unwrap();
    protected("open elsewhere", &at("open"), &[&at("open")], S6, "sleep");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Between being admitted and the first write somebody may write to it: then it is no longer anybody's to take.
#[test]
fn what_is_written_after_a_blank_file_was_admitted_stays() {
    let (_turn, dir) = (turn(), dir());
    let path = dir.path().join("reserved");
    let file = reserved(&path, MIB);
    let permit = admit(&path, &[]).unwrap();
    file.write_all_at(b"mine", 0).unwrap();
    let before = bytes(&path);
    let refused = permit.recheck_target().unwrap_err();
    assert!(refused.rule == S10 && refused.to_string().contains("it holds data at byte 0"), "{refused}");
    assert!(permit.recheck_target().is_err(), "it stays so");
    drop(permit);
    assert!(bytes(&path) == before);
}
