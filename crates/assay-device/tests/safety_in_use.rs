//! Targets in use, on real loop devices: each is offered with its valid token, must be refused by the right rule, and
//! not one byte of it may change.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]

use crate::safety_common;

use assay_device::safety::{Gate, Kind, Request, RuleId::*, Watermark, scratch};
use safety_common::live::{Holder, Loop, Mount, have, root, root_user, run, skip, turn};
use safety_common::offer::{admit, dir, examine, made, protected};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1 << 20;
const EXT4: u64 = 8 << 20;
const XFS: u64 = 320 << 20;
const BTRFS: u64 = 128 << 20;

/// The disk that this test itself runs on.
#[test]
fn the_root_disk() {
    let (_turn, table) = (turn(), std::fs::read_to_string("/proc/self/mountinfo").unwrap());
    let root = table.lines().find(|line| line.split(' ').nth(4) == Some("/")).and_then(|line| line.split(" - ").nth(1));
    let disk = root.and_then(|rest| rest.split(' ').nth(1)).map(PathBuf::from).unwrap_or_default();
    if !(root_user() && disk.starts_with("/dev") && disk.exists()) {
        return skip("the root file system shows no disk, or not to us");
    }
    protected("the root disk", &disk, &[], S5, "lies on");
}

/// Somebody whom no list of processes shows has claimed the device, and lets it go a moment later.
#[test]
fn a_device_that_becomes_free_in_a_moment_is_waited_for() {
    use std::os::unix::fs::OpenOptionsExt;
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "claimed", MIB);
    let claim = || {
        let exclusively = rustix::fs::OFlags::EXCL.bits() as i32;
        std::fs::OpenOptions::new().read(true).custom_flags(exclusively).open(device.path()).unwrap()
    };
    let kept = claim();
    let refused = admit(device.path(), &[]).unwrap_err();
    assert_eq!(refused.rule, S2, "{refused}");
    std::thread::scope(|scope| {
        let (claimed, let_go) = std::sync::mpsc::channel();
        scope.spawn(move || {
            let_go.recv().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(100));
            drop(kept);
        });
        claimed.send(()).unwrap();
        admit(device.path(), &[]).unwrap();
    });
}

#[test]
fn mounted_file_systems() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    for (kind, size) in [("ext4", EXT4), ("xfs", XFS), ("btrfs", BTRFS)] {
        let Some(device) = made(dir.path(), kind, size) else { continue };
        let before = admit(device.path(), &[]).unwrap_err();
        assert_eq!(before.rule, S7, "an unmounted {kind}: {before}");
        let _mount = Mount::new(&device.dev, dir.path(), &format!("{kind}.mount")).unwrap();
        protected(kind, device.path(), &[&device.image], S2, "is mounted on");
        let refused = admit(device.path(), &[]).unwrap_err();
        assert!(refused.also.iter().all(|answer| answer.id != S7), "{kind}: what was not to be read was not judged");
        let size = examine(device.path()).rules.into_iter().find(|answer| answer.id == S3);
        assert!(size.is_some_and(|answer| answer.ok), "{kind}: its size is told although it is in use");
        let link = dir.path().join(format!("{kind}.link"));
        symlink(device.path(), &link).unwrap();
        protected(&format!("{kind} by symlink"), &link, &[&device.image], S2, "is mounted on");
        let node = dir.path().join(format!("{kind}.node"));
        let Kind::Block(number) = examine(device.path()).kind else { panic!("a block device") };
        run(&["mknod", node.to_str().unwrap(), "b", &number.major.to_string(), &number.minor.to_string()]).unwrap();
        protected(&format!("{kind} by mknod"), &node, &[&device.image], S2, "is mounted on");
        // Reading a device in use is harmless and allowed; the result cannot be used to write.
        let pass = Gate::of_machine().admit_read(&Request::new(device.path())).unwrap();
        assert!(rustix::io::pwrite(pass.borrow_fd(), &[0; 512], 0).is_err());
    }
}

#[test]
fn mounted_where_we_do_not_see_it() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let Some(device) = made(dir.path(), "ext4", EXT4) else { return };
    let point = dir.path().join("point");
    std::fs::create_dir(&point).unwrap();
    if have("unshare") {
        let script = format!("mount {} {} && echo held && read x", device.dev, point.display());
        let _holder = Holder::start(Command::new("unshare").args(["-m", "/bin/sh", "-c", &script]));
        protected("another mount namespace", device.path(), &[&device.image], S2, "is mounted on");
    }
    let mount = Mount::new(&device.dev, dir.path(), "lazy").unwrap();
    let inside = mount.point.join("inside");
    std::fs::File::create(&inside).unwrap().sync_all().unwrap();
    let held = std::fs::File::open(&inside).unwrap();
    run(&["umount", "-l", mount.point.to_str().unwrap()]).unwrap();
    protected("lazily unmounted, still held", device.path(), &[&device.image], S2, "EBUSY");
    drop(held);
}

#[test]
fn whole_disk_partitions_and_siblings() {
    if !(root() && have("sfdisk") && have("mkfs.ext4")) {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let image = dir.path().join("disk");
    std::fs::File::create(&image).unwrap().set_len(24 * MIB).unwrap();
    run(&["sh", "-c", &format!("printf ',10M,83\\n,10M,83\\n' | sfdisk -q --label dos {}", image.display())]).unwrap();
    let disk = Loop::over(&image, &["--direct-io=on", "-P"]);
    let part = |n: u32| PathBuf::from(format!("{}p{n}", disk.dev));
    // A kernel that does not read partition tables still accepts partitions that are added explicitly.
    if !part(2).exists() {
        let told =
            run(&["addpart", &disk.dev, "1", "2048", "20480"]).and(run(&["addpart", &disk.dev, "2", "22528", "20480"]));
        if let Err(why) = told {
            return skip(&why);
        }
    }
    protected("a partition table", disk.path(), &[&image], S7, "DOS partition table");
    let blank = admit(&part(2), &[]).unwrap();
    assert_eq!(blank.gate_examination().token.as_ref().map(String::len), Some(8));
    protected("the disk of an admitted partition", disk.path(), &[&image], S2, "EBUSY");
    assert!(!lockable(disk.path()), "the lock by which udev and repart agree is on the whole disk");
    drop(blank);
    assert!(lockable(disk.path()), "and goes with the permit");
    let locked = Holder::start(Command::new("flock").args([&disk.dev, "-c", "echo held; read x"]));
    let process = format!("process {} ", locked.child.id());
    // The holder of the lock also has the disk open; that rule alone can be overridden, the lock cannot.
    let refusal = admit(&part(2), &[S6]).expect_err("a partition of a locked disk");
    assert_eq!(refusal.rule, S13, "{refusal}");
    assert!(refusal.to_string().contains("another run has locked") && refusal.to_string().contains(&process));
    drop(locked);
    let tokens: Vec<_> = [disk.path(), &part(1), &part(2)].iter().map(|path| examine(path).token).collect();
    assert!(tokens[0] != tokens[1] && tokens[1] != tokens[2] && tokens[0] != tokens[2]);
    run(&["mkfs.ext4", "-q", "-F", part(1).to_str().unwrap()]).unwrap();
    let _mount = Mount::new(part(1).to_str().unwrap(), dir.path(), "p1").unwrap();
    protected("the disk of a mounted partition", disk.path(), &[&image], S2, "is mounted on");
    protected("a mounted partition", &part(1), &[&image], S2, "is mounted on");
    if !have("blkid") {
        return;
    }
    // What lies beside it is in use, and shares the drive with it.
    let permit = admit(&part(2), &[]).unwrap_or_else(|refusal| panic!("the sibling of a mounted partition: {refusal}"));
    let mounted = Watermark::SharedDisk(format!("{}p1 is mounted", &disk.dev[5..]));
    assert!(permit.result_watermarks().contains(&mounted), "{:?}", permit.result_watermarks());
}

/// Whether nobody holds the lock of this device; it is released immediately.
fn lockable(device: &Path) -> bool {
    let node = std::fs::File::open(device).unwrap();
    rustix::fs::flock(&node, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[test]
fn btrfs_second_member_and_external_journal() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    if have("mkfs.btrfs") {
        let first = Loop::blank(dir.path(), "first", BTRFS);
        let second = Loop::blank(dir.path(), "second", BTRFS);
        run(&["mkfs.btrfs", "-q", "-f", &first.dev, &second.dev]).unwrap();
        run(&["btrfs", "device", "scan", &first.dev, &second.dev]).unwrap();
        {
            let _mount = Mount::new(&first.dev, dir.path(), "btrfs").unwrap();
            protected(
                "btrfs second member",
                second.path(),
                &[&first.image, &second.image],
                S2,
                "carries a mounted file system",
            );
        }
        protected("btrfs second member, not mounted", second.path(), &[&second.image], S7, "btrfs");
        let _ = run(&["btrfs", "device", "scan", "--forget"]);
    }
    if have("mkfs.ext4") {
        let journal = Loop::blank(dir.path(), "journal", EXT4);
        let data = Loop::blank(dir.path(), "data", EXT4);
        run(&["mke2fs", "-q", "-F", "-O", "journal_dev", &journal.dev]).unwrap();
        run(&[
            "mkfs.ext4",
            "-q",
            "-F",
            "-E",
            "lazy_itable_init=0",
            "-b",
            "4096",
            "-J",
            &format!("device={}", journal.dev),
            &data.dev,
        ])
        .or_else(|_| {
            run(&[
                "mkfs.ext4",
                "-q",
                "-F",
                "-E",
                "lazy_itable_init=0",
                "-J",
                &format!("device={}", journal.dev),
                &data.dev,
            ])
        })
        .unwrap();
        protected("an ext4 journal, not in use", journal.path(), &[&journal.image], S7, "ext2/3/4");
        let _mount = Mount::new(&data.dev, dir.path(), "data.mount").unwrap();
        protected("an external journal", journal.path(), &[&journal.image, &data.image], S2, "EBUSY");
    }
}

#[test]
fn beneath_a_loop_device() {
    if !(root() && have("mkfs.ext4")) {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let lower = Loop::blank(dir.path(), "lower", EXT4);
    let upper = Loop::over(lower.path(), &[]);
    protected("the lower of two loops", lower.path(), &[&lower.image], S4, "is the backing device of");
    run(&["mkfs.ext4", "-q", "-F", &upper.dev]).unwrap();
    let mount = Mount::new(&upper.dev, dir.path(), "upper").unwrap();
    protected("the lower loop of a mounted loop", lower.path(), &[&lower.image], S4, "is mounted on");
    protected("the upper loop, mounted", upper.path(), &[&lower.image], S2, "is mounted on");
    protected("the backing file of a mounted loop", &lower.image, &[&lower.image], S10, "not a file of this program");
    drop((mount, upper));

    // Even a scratch file of our own, once a loop device is bound to it.
    let ours = dir.path().join("ours");
    drop(scratch::create_scratch(&ours, MIB).unwrap());
    let above = Loop::over(&ours, &[]);
    protected("our own file beneath a loop", &ours, &[&ours], S10, "it is the backing file of");
    let twin = Loop::over(&ours, &[]);
    protected("two loops on one file", twin.path(), &[&ours], S9, "is bound to the same");
    drop((above, twin));
    drop(admit(&ours, &[]).unwrap());
}

#[test]
fn a_scratch_file_open_in_another_process() {
    let (_turn, dir) = (turn(), dir());
    let file = dir.path().join("scratch");
    drop(scratch::create_scratch(&file, MIB).unwrap());
    let writer = Holder::shell(&format!("exec 3<>{}; echo held; read x", file.display()));
    protected("open elsewhere", &file, &[&file], S6, &format!("process {} ", writer.child.id()));
    drop(writer);
    let reader = Holder::shell(&format!("exec 3<{}; echo held; read x", file.display()));
    names_its_reader(&file, &reader);
}

/// Admits a target that somebody reads, and asserts that who reads it is named, as a limit of the result.
fn names_its_reader(path: &Path, reader: &Holder) {
    let process = format!("process {} (sh) has ", reader.child.id());
    assert!(examine(path).accepted, "shown as refused: {:?}", examine(path));
    let permit = admit(path, &[]).unwrap_or_else(|refusal| panic!("{refusal}"));
    let named = |mark: &Watermark| matches!(mark, Watermark::Reader(who) if who.contains(&process) && who.ends_with("open for reading"));
    assert!(
        permit.result_watermarks().iter().any(named) && permit.overridden_rules().is_empty(),
        "{:?}",
        permit.result_watermarks()
    );
}

#[test]
fn open_in_another_process() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "open", MIB);
    for how in ["3<>", "3>>", "3>"] {
        let writer = Holder::shell(&format!("exec {how}{}; echo held; read x", device.dev));
        protected("open elsewhere", device.path(), &[&device.image], S6, &format!("process {} ", writer.child.id()));
        let permit = admit(device.path(), &[S6]).unwrap();
        assert_eq!(
            (permit.overridden_rules(), permit.result_watermarks().contains(&Watermark::Overridden(S6))),
            (vec![S6], true)
        );
    }
    // The image of a loop device that a process has open is that device too.
    let image = Holder::shell(&format!("exec 3<>{}; echo held; read x", device.image.display()));
    protected("its image open elsewhere", device.path(), &[&device.image], S6, "has");
    drop(image);
    for path in [device.path(), &device.image] {
        let reader = Holder::shell(&format!("exec 3<{}; echo held; read x", path.display()));
        names_its_reader(device.path(), &reader);
    }
    // Whoever reads one and writes another way is no mere reader.
    let both = Holder::shell(&format!("exec 3<{0} 4<>{0} 5<{0}; echo held; read x", device.dev));
    protected("read and written", device.path(), &[&device.image], S6, &format!("process {} ", both.child.id()));
}

/// A run of this program that only reads measures: it is not disturbed, although it could not lose anything.
#[test]
fn a_run_that_only_reads_is_not_written_over() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "read", MIB);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "safety_in_use::a_reading_instance", "--ignored", "--nocapture"])
        .env("ASSAY_TEST_HOLD", device.path());
    let reading = Holder::start(&mut command);
    let process = format!("process {} ", reading.child.id());
    protected("read by a run", device.path(), &[&device.image], S13, &process);
    assert!(
        examine(device.path()).rules.iter().any(|answer| answer.id == S6 && answer.evidence.contains("has locked it"))
    );
    assert_eq!(admit(device.path(), &[S6]).unwrap_err().rule, S13, "the lock is not overridden");
    assert!(Gate::of_machine().admit_read(&Request::new(device.path())).is_ok(), "two may read");
    drop(reading);
    assert!(admit(device.path(), &[]).is_ok());
}

/// Runs as an instance that only reads: admits the target that it is told to and holds it.
#[test]
#[ignore = "started by the test of readers"]
fn a_reading_instance() {
    let Some(path) = std::env::var_os("ASSAY_TEST_HOLD") else { return };
    let pass = Gate::of_machine().admit_read(&Request::new(Path::new(&path))).unwrap();
    std::io::stdout().write_all(b"held\n").unwrap();
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
    drop(pass);
}

/// Runs as another program: a thread of it with files of its own has the device open, and its first thread has ended.
#[test]
#[ignore = "started by the test of threads"]
fn a_thread_with_files_of_its_own() {
    let Some(path) = std::env::var_os("ASSAY_TEST_HOLD") else { return };
    let holder = std::thread::spawn(move || {
        // SAFETY: only this thread's table of files is copied; nothing else uses it.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_FILES) }, 0);
        let _device = std::fs::File::options().read(true).write(true).open(path).unwrap();
        std::io::stdout().write_all(b"held\n").unwrap();
        std::io::stdout().flush().unwrap();
        let _ = std::io::stdin().read_line(&mut String::new());
        std::process::exit(0);
    });
    if std::env::var_os("ASSAY_TEST_ALONE").is_some() {
        // SAFETY: ends the thread that the test harness waits in; the holder ends the process.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
    holder.join().unwrap();
}

/// The list of a process's open files is that of its first thread.
#[test]
fn open_in_a_thread_with_files_of_its_own() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "device", MIB);
    for alone in [false, true] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "safety_in_use::a_thread_with_files_of_its_own",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ]);
        command.env("ASSAY_TEST_HOLD", device.path());
        if alone {
            command.env("ASSAY_TEST_ALONE", "1");
        }
        let holder = Holder::start(&mut command);
        let process = format!("process {} ", holder.child.id());
        protected("open in a thread", device.path(), &[&device.image], S6, &process);
        drop(holder);
        assert!(admit(device.path(), &[]).is_ok(), "given back");
    }
}

/// Somebody may be measuring it: looking costs the device nothing and takes nothing from its user.
#[test]
fn a_look_does_not_read_what_somebody_uses() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "device", 8 * MIB);
    let reads = || {
        let _ = run(&["udevadm", "settle"]);
        let stat = std::fs::read_to_string(format!("/sys/block/{}/stat", &device.dev[5..])).unwrap();
        stat.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    let looked_at = |what: &str, held: bool| {
        let before = reads();
        let exam = examine(device.path());
        assert_eq!((exam.accepted, reads() == before), (!held, held), "{what}: {exam:?}");
        let unread =
            |id| exam.rules.iter().any(|rule| rule.id == id && rule.evidence.contains("not read because it is in use"));
        assert_eq!((unread(S7), unread(S8)), (held, held), "{what}: {exam:?}");
        assert_eq!(exam.size, Some(8 * MIB), "{what}");
    };
    // The control: a device without users is read.
    looked_at("nobody's", false);
    let permit = admit(device.path(), &[]).unwrap();
    looked_at("under test", true);
    drop(permit);
    let open = Holder::shell(&format!("exec 3<>{}; echo held; read x", device.dev));
    looked_at("open elsewhere", true);
    // Who agrees to that user wants to know what is on it.
    let before = reads();
    let exam = Gate::of_machine().examine_request(&Request { overrides: &[S6], ..Request::new(device.path()) });
    assert!(exam.is_ok() && reads() > before, "open elsewhere, which is agreed to: {exam:?}");
    drop(open);
    let reads = Holder::shell(&format!("exec 3<{}; flock -s 3; echo held; read x", device.dev));
    looked_at("measured by a run that reads", true);
    drop(reads);
    looked_at("given back", false);
}

/// Runs as a second instance: admits the target that it is told to and holds it.
#[test]
#[ignore = "started by the test of two instances"]
fn second_instance() {
    let Some(path) = std::env::var_os("ASSAY_TEST_HOLD") else { return };
    let permit = admit(Path::new(&path), &[]).unwrap();
    std::io::stdout().write_all(b"held\n").unwrap();
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
    drop(permit);
}

#[test]
fn a_second_instance_is_refused_and_told_who_holds_it() {
    let (_turn, dir) = (turn(), dir());
    let file = dir.path().join("scratch");
    drop(scratch::create_scratch(&file, MIB).unwrap());
    let device = root().then(|| Loop::blank(dir.path(), "device", MIB));
    let mut targets = vec![(file.clone(), file, S13)];
    targets.extend(device.as_ref().map(|d| (PathBuf::from(&d.dev), d.image.clone(), S2)));
    for (path, kept, rule) in targets {
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(program);
        command
            .args(["--exact", "safety_in_use::second_instance", "--ignored", "--nocapture"])
            .env("ASSAY_TEST_HOLD", &path);
        let holder = Holder::start(&mut command);
        protected("second instance", &path, &[&kept], rule, &format!("process {} ", holder.child.id()));
        let refusal = admit(&path, &[]).unwrap_err();
        let itself = refusal.evidence.contains(&format!("process {} ", holder.child.id()));
        assert!(itself, "the rule that comes first names it, not only those beside it: {refusal}");
        drop(holder);
        assert!(admit(&path, &[]).is_ok(), "free again");
    }
}

#[test]
fn active_swap() {
    if !(root() && have("mkswap") && have("swapon")) {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "swap", 4 * MIB);
    run(&["mkswap", &device.dev]).unwrap();
    if let Err(why) = run(&["swapon", &device.dev]) {
        return skip(&why);
    }
    let shown = std::panic::catch_unwind(|| protected("active swap", device.path(), &[], S2, "is active swap"));
    run(&["swapoff", &device.dev]).unwrap();
    shown.unwrap();
}
