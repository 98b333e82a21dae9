//! Files of other users, and things that cannot be a target: refused, and not one byte of them may change.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]

mod safety_common;

use assay_device::safety::{Gate, Request, RuleId::*, Watermark, label, scratch};
use safety_common::live::{Mount, have, root, run, turn};
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
        assert_eq!(Gate::host().admit_read(&Request::new(&path)).unwrap_err().rule, rule, "{what}");
    }
}

/// sysfs has no direct I/O: its files are read through the page cache, with a watermark.
#[test]
fn a_file_that_cannot_be_read_directly_is_read_through_the_cache() {
    let file = Path::new("/sys/kernel/mm/transparent_hugepage/enabled");
    if !file.exists() {
        return;
    }
    let pass = Gate::host().admit_read(&Request::new(file)).unwrap();
    assert!(pass.watermarks().contains(&Watermark::Buffered) && !pass.shape().direct, "{pass:?}");
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
    foreign.extend(label::label(8192));
    std::fs::write(at("foreign"), &foreign).unwrap();
    for (name, rule) in [("plain", S10), ("short", S10), ("empty", S3), ("foreign", S10)] {
        protected(name, &at(name), &[&at(name)], rule, "");
    }
    drop(scratch::create(&at("linked"), MIB).unwrap());
    std::fs::hard_link(at("linked"), at("other name")).unwrap();
    protected("two names", &at("linked"), &[&at("linked")], S10, "2 names");
    drop(scratch::create(&at("grown"), MIB).unwrap());
    std::fs::File::options().append(true).open(at("grown")).unwrap().write_all(b"more").unwrap();
    protected("grown since", &at("grown"), &[&at("grown")], S10, "not a file of this program");
    let sparse = std::fs::File::create(at("sparse")).unwrap();
    sparse.set_len(MIB).unwrap();
    sparse.write_all_at(&label::label(MIB), MIB - label::LABEL_LEN).unwrap();
    if !is_tmpfs(dir.path()) {
        protected("not reserved", &at("sparse"), &[&at("sparse")], S10, "reserved");
    }
    // A file system created inside our own file: the label is still there, but the data belongs to somebody.
    if have("mkfs.ext4") {
        drop(scratch::create(&at("used"), EXT4).unwrap());
        run(&["mkfs.ext4", "-q", "-F", "-E", "nodiscard", "-b", "4096", at("used").to_str().unwrap(), "2048"]).unwrap();
        protected("a file system in our file", &at("used"), &[&at("used")], S7, "ext2/3/4");
    }
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
    drop(scratch::create(&ours, MIB).unwrap());
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
    file.write_all_at(&label::label(MIB + label::LABEL_LEN), MIB).unwrap();
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
        let permit = scratch::create(&mount.point.join("scratch"), MIB).unwrap();
        assert!(permit.shape().direct, "{kind}");
        assert_eq!(permit.watermarks(), [Watermark::Loop(device.dev[5..].to_owned())], "{kind}");
        assert!(permit.remove_scratch().unwrap(), "{kind}");
        let full = scratch::create(&mount.point.join("scratch"), size).unwrap_err();
        assert_eq!((full.rule, full.to_string().contains("are needed")), (S10, true), "{kind}: {full}");
    }
    let memory = Path::new("/dev/shm");
    if memory.is_dir() && is_tmpfs(memory) {
        let dir = tempfile::tempdir_in(memory).unwrap();
        let permit = scratch::create(&dir.path().join("scratch"), MIB).unwrap();
        assert_eq!(permit.watermarks(), [Watermark::Memory("tmpfs")]);
    }
}
