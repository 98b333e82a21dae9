//! The tree through the kernel: every call of a client does what it does on any file system, each fault that is set is
//! what the client sees, and the account agrees.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a test of real time")]

use assay_faultfs::{FaultTree, Lie, TreeOperation};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// A mounted tree; `None`, with a message on stderr, where FUSE cannot be mounted.
fn mounted(dir: &tempfile::TempDir) -> Option<FaultTree> {
    match FaultTree::mount(dir.path()) {
        Ok(tree) => Some(tree),
        Err(e) => {
            eprintln!("passed over: no FUSE mount here: {e}");
            None
        }
    }
}

fn errno(result: io::Result<impl Sized>) -> Option<i32> {
    result.err().and_then(|e| e.raw_os_error())
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

/// The result of a system call that returns -1 where it fails.
fn checked(result: i64) -> io::Result<i64> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// close(2) of a file, whose errors the standard library drops.
fn close(file: File) -> io::Result<i64> {
    use std::os::fd::IntoRawFd;
    // SAFETY: the descriptor is ours, and is closed once.
    checked(i64::from(unsafe { libc::close(file.into_raw_fd()) }))
}

fn lock(file: &File, kind: i32, waits: bool) -> io::Result<i64> {
    let lock = libc::flock { l_type: kind as i16, l_whence: libc::SEEK_SET as i16, l_start: 0, l_len: 10, l_pid: 0 };
    // Locks of an open file description: the two descriptors of one process exclude each other.
    let command = if waits { libc::F_OFD_SETLKW } else { libc::F_OFD_SETLK };
    // SAFETY: the structure lives during the call.
    checked(i64::from(unsafe { libc::fcntl(file.as_raw_fd(), command, &raw const lock) }))
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn open_rw(path: &Path) -> File {
    File::options().read(true).write(true).open(path).unwrap()
}

#[test]
fn names_and_contents_are_those_of_any_file_system() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_tree) = mounted(&dir) else { return };
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("a/b")).unwrap();
    fs::write(at("a/one"), vec![7; 300_000]).unwrap();
    assert_eq!(fs::read(at("a/one")).unwrap(), vec![7; 300_000]);
    fs::hard_link(at("a/one"), at("a/b/two")).unwrap();
    std::os::unix::fs::symlink("a/b/two", at("three")).unwrap();
    assert_eq!((fs::metadata(at("three")).unwrap().nlink(), fs::metadata(at("a")).unwrap().nlink()), (2, 3));
    assert_eq!(fs::read_link(at("three")).unwrap(), Path::new("a/b/two"));
    assert_eq!(errno(fs::hard_link(at("a/one"), at("a/b/two"))), Some(libc::EEXIST));
    fs::rename(at("a/one"), at("four")).unwrap();
    assert_eq!((names(&at("")), names(&at("a"))), (vec!["a".into(), "four".into(), "three".into()], vec!["b".into()]));
    assert_eq!(errno(fs::remove_dir(at("a"))), Some(libc::ENOTEMPTY));
    assert_eq!(errno(fs::remove_file(at("a"))), Some(libc::EISDIR));
    fs::set_permissions(at("four"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(fs::metadata(at("a/b/two")).unwrap().mode() & 0o777, 0o640);
    let open = File::open(at("a/b/two")).unwrap();
    fs::remove_file(at("a/b/two")).unwrap();
    fs::remove_file(at("four")).unwrap();
    assert_eq!((open.metadata().unwrap().nlink(), open.metadata().unwrap().len()), (0, 300_000));
    assert_eq!(errno(File::open(at("three"))), Some(libc::ENOENT));
    // SAFETY: the paths live during the calls.
    unsafe {
        checked(i64::from(libc::mknod(c_path(&at("five")).as_ptr(), libc::S_IFREG | 0o600, 0))).unwrap();
        checked(i64::from(libc::mkfifo(c_path(&at("six")).as_ptr(), 0o600))).unwrap();
        checked(i64::from(libc::access(c_path(&at("five")).as_ptr(), libc::R_OK))).unwrap();
    }
    use std::os::unix::fs::FileTypeExt;
    assert!(fs::metadata(at("five")).unwrap().is_file() && fs::metadata(at("six")).unwrap().file_type().is_fifo());
    fs::create_dir(at("many")).unwrap();
    for number in 0..3000 {
        File::create(at(&format!("many/a-name-of-some-length-{number}"))).unwrap();
    }
    assert_eq!(names(&at("many")).len(), 3000, "a listing has several parts");
    fs::remove_dir_all(at("many")).unwrap();
    assert_eq!(errno(fs::metadata(at("many"))), Some(libc::ENOENT));
}

#[test]
fn bytes_are_cut_appended_reserved_punched_copied_and_mapped() {
    let dir = tempfile::tempdir().unwrap();
    let Some(tree) = mounted(&dir) else { return };
    let at = |name: &str| dir.path().join(name);
    fs::write(at("a"), vec![1; 10_000]).unwrap();
    let mut file = open_rw(&at("a"));
    file.set_len(6000).unwrap();
    let mut appending = File::options().append(true).open(at("a")).unwrap();
    appending.write_all(&[2; 100]).unwrap();
    assert_eq!((file.metadata().unwrap().len(), fs::read(at("a")).unwrap()[6099]), (6100, 2));
    let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: calls on an open descriptor.
    unsafe {
        checked(i64::from(libc::fallocate(file.as_raw_fd(), punch, 100, 1000))).unwrap();
        checked(i64::from(libc::fallocate(file.as_raw_fd(), 0, 6100, 900))).unwrap();
    }
    let bytes = fs::read(at("a")).unwrap();
    assert_eq!((bytes.len(), bytes[99], &bytes[100..1100], bytes[1100]), (7000, 1, &[0; 1000][..], 1));
    let copy = File::create(at("b")).unwrap();
    // SAFETY: no offsets are given, and both descriptors are open.
    let copied = unsafe {
        libc::copy_file_range(file.as_raw_fd(), std::ptr::null_mut(), copy.as_raw_fd(), std::ptr::null_mut(), 7000, 0)
    };
    assert_eq!((copied, fs::read(at("b")).unwrap() == bytes), (7000, true));
    assert_eq!(tree.truth().calls_of(TreeOperation::CopyRange), 1);
    // SAFETY: the mapping is within the file, and is unmapped at the end.
    unsafe {
        let flags = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        let map = libc::mmap(std::ptr::null_mut(), 7000, flags.0, flags.1, file.as_raw_fd(), 0).cast::<u8>();
        assert_eq!(*map.add(6099), 2);
        *map.add(5) = 99;
        checked(i64::from(libc::msync(map.cast(), 7000, libc::MS_SYNC))).unwrap();
        libc::munmap(map.cast(), 7000);
    }
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut first = [0; 6];
    file.read_exact(&mut first).unwrap();
    assert_eq!((first, fs::read(at("a")).unwrap()[5]), ([1, 1, 1, 1, 1, 99], 99));
    let mut direct = File::options();
    std::os::unix::fs::OpenOptionsExt::custom_flags(direct.read(true), libc::O_DIRECT);
    let aligned = direct.open(at("a")).unwrap();
    #[repr(align(4096))]
    struct Aligned([u8; 4096]);
    let mut buffer = Box::new(Aligned([0; 4096]));
    assert_eq!((aligned.read_at(&mut buffer.0, 0).unwrap(), buffer.0[5]), (4096, 99));
}

#[test]
fn attributes_and_locks_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let Some(tree) = mounted(&dir) else { return };
    let path = dir.path().join("a");
    let (one, other) = (File::create(&path).unwrap(), open_rw(&path));
    let (name, mut value) = (c"user.assay", [0u8; 16]);
    // SAFETY: path, name and value live during the calls, and the lengths are theirs.
    let (before, length) = unsafe {
        let path = c_path(&path);
        let before = checked(libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), 16) as i64);
        checked(i64::from(libc::setxattr(path.as_ptr(), name.as_ptr(), b"12345".as_ptr().cast(), 5, 0))).unwrap();
        (before, libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), 16))
    };
    assert_eq!((errno(before), length, &value[..5]), (Some(libc::ENODATA), 5, &b"12345"[..]));
    lock(&one, libc::F_WRLCK, false).unwrap();
    assert_eq!(errno(lock(&other, libc::F_WRLCK, false)), Some(libc::EAGAIN));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lock(&other, libc::F_WRLCK, true));
        while tree.truth().held == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        lock(&one, libc::F_UNLCK, false).unwrap();
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(errno(lock(&one, libc::F_WRLCK, false)), Some(libc::EAGAIN));
}

/// Each kind of call, made so that the fault of that kind is the only one it can meet.
fn make_call(operation: TreeOperation, dir: &Path) -> io::Result<()> {
    let (file, at) = (dir.join("file"), |name: &str| dir.join(name));
    match operation {
        TreeOperation::Lookup | TreeOperation::Stat => fs::metadata(&file).map(drop),
        TreeOperation::Create => File::create_new(at("new")).map(drop),
        TreeOperation::Open => File::open(&file).map(drop),
        TreeOperation::Close => close(File::open(&file)?).map(drop),
        // SAFETY: the path lives during the call.
        TreeOperation::Access => {
            checked(i64::from(unsafe { libc::access(c_path(&file).as_ptr(), libc::R_OK) })).map(drop)
        }
        TreeOperation::Readdir => fs::read_dir(dir)?.try_for_each(|entry| entry.map(drop)),
        TreeOperation::Readlink => fs::read_link(at("symlink")).map(drop),
        TreeOperation::Read => File::open(&file)?.read_at(&mut [0; 10], 0).map(drop),
        TreeOperation::Write => open_rw(&file).write_all_at(&[1; 10], 0),
        TreeOperation::Truncate => open_rw(&file).set_len(5),
        TreeOperation::Fsync => open_rw(&file).sync_data(),
        TreeOperation::FsyncDir => File::open(dir)?.sync_all(),
        TreeOperation::Rename => fs::rename(at("moved"), at("moved2")),
        TreeOperation::Link => fs::hard_link(&file, at("linked")),
        TreeOperation::Symlink => std::os::unix::fs::symlink("x", at("new-symlink")),
        TreeOperation::Unlink => fs::remove_file(at("doomed")),
        TreeOperation::Mkdir => fs::create_dir(at("new-directory")),
        TreeOperation::Rmdir => fs::remove_dir(at("directory")),
        TreeOperation::Mknod => {
            // SAFETY: the path lives during the call.
            checked(i64::from(unsafe { libc::mknod(c_path(&at("node")).as_ptr(), libc::S_IFREG | 0o600, 0) })).map(drop)
        }
        TreeOperation::Chmod => fs::set_permissions(&file, fs::Permissions::from_mode(0o600)),
        TreeOperation::Statfs => assay_faultfs::f_type(&file).map(drop),
        TreeOperation::Fallocate => {
            // SAFETY: a call on an open descriptor.
            checked(i64::from(unsafe { libc::fallocate(open_rw(&file).as_raw_fd(), 0, 0, 100) })).map(drop)
        }
        TreeOperation::Lock => lock(&open_rw(&file), libc::F_WRLCK, false).map(drop),
        TreeOperation::Getxattr | TreeOperation::Setxattr => {
            let (path, name, mut value) = (c_path(&file), c"user.a", [0u8; 4]);
            let is_read = operation == TreeOperation::Getxattr;
            // SAFETY: path, name and value live during the call, and the length is that of the value.
            let result = unsafe {
                if is_read {
                    libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), 4) as i64
                } else {
                    i64::from(libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), 4, 0))
                }
            };
            checked(result).map(drop)
        }
        TreeOperation::CopyRange => {
            let (from, to) = (File::open(&file)?, open_rw(&at("copy")));
            // SAFETY: no offsets are given, and both descriptors are open.
            let copied = unsafe {
                libc::copy_file_range(
                    from.as_raw_fd(),
                    std::ptr::null_mut(),
                    to.as_raw_fd(),
                    std::ptr::null_mut(),
                    9,
                    0,
                )
            };
            checked(copied as i64).map(drop)
        }
    }
}

fn prepare(dir: &Path) {
    for name in ["file", "moved", "doomed", "copy"] {
        fs::write(dir.join(name), [9; 100]).unwrap();
    }
    fs::create_dir(dir.join("directory")).unwrap();
    std::os::unix::fs::symlink("file", dir.join("symlink")).unwrap();
    make_call(TreeOperation::Setxattr, dir).unwrap();
}

#[test]
fn each_kind_of_call_fails_alone_and_is_counted() {
    for (operation, name) in TreeOperation::ALL {
        let dir = tempfile::tempdir().unwrap();
        let Some(tree) = mounted(&dir) else { return };
        prepare(dir.path());
        tree.set(&format!("reset=1 {name}.errno=EDQUOT"));
        assert_eq!(errno(make_call(operation, dir.path())), Some(libc::EDQUOT), "{name}");
        assert!(tree.truth().failed_with(operation, libc::EDQUOT) > 0, "{name}");
        tree.set(&format!("{name}.errno=off"));
        assert_eq!(errno(make_call(operation, dir.path())), None, "{name}");
        assert!(tree.truth().calls_of(operation) > 1, "{name}");
    }
}

#[test]
fn each_kind_of_call_is_delayed_alone() {
    let dir = tempfile::tempdir().unwrap();
    let Some(tree) = mounted(&dir) else { return };
    prepare(dir.path());
    for (operation, name) in TreeOperation::ALL {
        tree.set(&format!("{name}.delay=20ms"));
        let begin = Instant::now();
        make_call(operation, dir.path()).unwrap();
        assert!(begin.elapsed() >= Duration::from_millis(20), "{name} took {:?}", begin.elapsed());
        tree.set(&format!("{name}.delay=off"));
    }
}

#[test]
fn every_nth_write_fails_and_the_account_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let Some(tree) = mounted(&dir) else { return };
    let file = File::create(dir.path().join("a")).unwrap();
    tree.set("reset=1 write.errno=ENOSPC write.every=7 fsync.errno=EIO close.errno=ENOSPC");
    let outcomes: Vec<_> = (0..70).map(|number| errno(file.write_at(&[1; 10], number * 10))).collect();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Some(libc::ENOSPC)).count(), 10);
    assert_eq!(errno(file.sync_all()), Some(libc::EIO));
    assert_eq!(errno(close(file)), Some(libc::ENOSPC));
    let truth = tree.truth();
    assert_eq!((truth.calls_of(TreeOperation::Write), truth.failed_with(TreeOperation::Write, libc::ENOSPC)), (70, 10));
    let account = fs::read_to_string(dir.path().join("truth")).unwrap();
    assert!(account.contains("write 70\n") && account.contains("close_errno_28 1\n"), "{account}");
}

#[test]
fn the_whole_tree_is_stale_read_only_or_full() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_tree) = mounted(&dir) else { return };
    let at = |name: &str| dir.path().join(name);
    prepare(dir.path());
    let open = open_rw(&at("file"));
    // By the file of the control, as a user of the program does.
    let mut ctl = File::options().write(true).open(at("ctl")).unwrap();
    ctl.write_all(b"stale=1").unwrap();
    assert_eq!(
        (errno(open.read_at(&mut [0; 4], 0)), errno(fs::metadata(at("file")))),
        (Some(libc::ESTALE), Some(libc::ESTALE))
    );
    ctl.write_all(b"stale=0 read_only=1").unwrap();
    assert_eq!(open.read_at(&mut [0; 4], 0).unwrap(), 4);
    assert_eq!(
        (errno(open.write_at(b"x", 0)), errno(fs::remove_file(at("doomed")))),
        (Some(libc::EROFS), Some(libc::EROFS))
    );
    ctl.write_all(b"read_only=0 space=1MiB files=8").unwrap();
    assert_eq!(errno(fs::write(at("file"), vec![0; 2 << 20])), Some(libc::ENOSPC));
    File::create(at("last")).unwrap();
    assert_eq!(errno(File::create(at("beyond"))), Some(libc::ENOSPC));
    assert!(errno(ctl.write_all(b"colour=red")) == Some(libc::EINVAL), "what is not understood is refused");
    assert!(!names(dir.path()).contains(&"ctl".to_owned()));
}

#[test]
fn a_stall_and_a_hang_hold_every_call_until_they_end() {
    let dir = tempfile::tempdir().unwrap();
    let Some(tree) = mounted(&dir) else { return };
    prepare(dir.path());
    let begin = Instant::now();
    tree.set("stall=300ms");
    make_call(TreeOperation::Unlink, dir.path()).unwrap();
    assert!(begin.elapsed() >= Duration::from_millis(300));
    for (fault, end) in [("hang=1", "hang=0"), ("mkdir.hang=1", "mkdir.hang=0")] {
        tree.set(fault);
        std::thread::scope(|scope| {
            let hanging = scope.spawn(|| {
                make_call(TreeOperation::Mkdir, dir.path()).unwrap();
                fs::remove_dir(dir.path().join("new-directory")).unwrap();
            });
            while tree.truth().held == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            if fault == "mkdir.hang=1" {
                make_call(TreeOperation::Stat, dir.path()).unwrap();
            }
            assert!(!hanging.is_finished());
            tree.set(end);
            hanging.join().unwrap();
        });
    }
}

#[test]
fn what_was_written_is_falsified_and_the_account_names_each_file() {
    let dir = tempfile::tempdir().unwrap();
    let Some(tree) = mounted(&dir) else { return };
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("d")).unwrap();
    tree.set("lost_every=2 torn_every=3 zeroed_every=5 undeleted_every=2");
    for number in 1..=5u8 {
        let file = File::create(at(&format!("d/{number}"))).unwrap();
        file.write_all_at(&[number; 8192], 0).unwrap();
    }
    let read = |name: &str| fs::read(at(name)).unwrap();
    let torn = [[3; 4096], [0; 4096]].concat();
    let zeroed = [[0; 4096], [5; 4096]].concat();
    let expected = [vec![1; 8192], vec![0; 8192], torn, vec![0; 8192], zeroed];
    for (number, bytes) in expected.iter().enumerate() {
        assert!(read(&format!("d/{}", number + 1)) == *bytes, "file {}", number + 1);
    }
    fs::remove_file(at("d/2")).unwrap();
    fs::remove_file(at("d/4")).unwrap();
    assert_eq!(names(&at("d")), ["1", "3", "4", "5"]);
    let truth = tree.truth();
    assert_eq!((truth.paths_of(Lie::Lost), truth.paths_of(Lie::Torn)), (vec!["d/2", "d/4"], vec!["d/3"]));
    assert_eq!((truth.paths_of(Lie::Zeroed), truth.paths_of(Lie::Undeleted)), (vec!["d/5"], vec!["d/4"]));
}

#[test]
fn files_are_swapped_cut_torn_zeroed_taken_away_and_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let Some(tree) = mounted(&dir) else { return };
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("d")).unwrap();
    for (name, byte) in [("d/a", 1u8), ("d/b", 2), ("c", 3)] {
        fs::write(at(name), [byte; 8192]).unwrap();
    }
    // Pages of an open file are forgotten too.
    let open = File::open(at("d/a")).unwrap();
    let first = || {
        let mut byte = [0];
        open.read_exact_at(&mut byte, 0).unwrap();
        byte[0]
    };
    assert_eq!(first(), 1);
    tree.set("swap=d/a,d/b");
    assert_eq!((first(), fs::read(at("d/b")).unwrap()), (2, vec![1; 8192]));
    tree.set("tear=d/b cut=c vanish=d/a");
    assert_eq!(fs::read(at("d/b")).unwrap(), [&[1; 2048][..], &[0; 2048], &[1; 4096]].concat());
    assert_eq!((fs::read(at("c")).unwrap(), names(&at("d"))), (vec![3; 4096], vec!["b".to_owned()]));
    fs::remove_file(at("c")).unwrap();
    tree.set("restore=c restore=d/a zero=d/a");
    assert_eq!(fs::read(at("c")).unwrap(), [3; 4096]);
    assert_eq!(fs::read(at("d/a")).unwrap(), [[0; 4096], [2; 4096]].concat());
    let truth = tree.truth();
    assert_eq!(truth.paths_of(Lie::Undeleted), ["c", "d/a"]);
    assert_eq!(truth.paths_of(Lie::Swapped), ["d/a,d/b"]);
}
