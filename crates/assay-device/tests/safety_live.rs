//! Protected targets on real loop devices: each is offered with its valid token, each must be refused by the right rule,
//! and not one byte of it may change. A blank device and our own must still be accepted.
#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]

mod safety_common;

use assay_base::stamp::Stamp;
use assay_device::safety::{
    Examination, Expect, Gate, Kind, Needs, Permit, Refusal, Request, Roots, RuleId, RuleId::*, Watermark, label,
    scratch,
};
use safety_common::live::{Holder, Loop, Mount, have, root, root_user, run, skip, sum, turn};
use safety_common::tree::Tree;
use std::io::Write;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1 << 20;
/// Smallest sizes the makers of file systems accept.
const EXT4: u64 = 8 * MIB;
const XFS: u64 = 320 * MIB;
const BTRFS: u64 = 128 * MIB;

/// A block aligned for direct I/O.
#[repr(C, align(4096))]
struct Block([u8; 4096]);

fn examine(path: &Path) -> Examination {
    Gate::host().examine(path)
}

/// Offers a target as a careless person would: with its valid token.
fn admit(path: &Path, overrides: &[RuleId]) -> Result<Permit, Refusal> {
    offer(path, examine(path).token, overrides)
}

fn offer(path: &Path, token: Option<String>, overrides: &[RuleId]) -> Result<Permit, Refusal> {
    let tokens: Vec<String> = token.into_iter().collect();
    Gate::host().admit(&Request { tokens: &tokens, overrides, ..Request::new(path) })
}

/// It is refused by `rule`, with every override there is where that rule has none, and `kept` stays as it was.
fn protected(what: &str, path: &Path, kept: &[&Path], rule: RuleId, words: &str) {
    let before: Vec<_> = kept.iter().map(|file| sum(file)).collect();
    let exam = examine(path);
    assert!(!exam.accepted, "{what}: shown as accepted");
    let refusal = offer(path, exam.token.clone(), &[]).expect_err(what);
    assert_eq!(refusal.rule, rule, "{what}: {refusal}");
    assert!(refusal.to_string().contains(words), "{what}: {refusal}");
    if !rule.overridable() {
        assert!(offer(path, exam.token, &[S6, S7, S8]).is_err(), "{what}: overridden");
    }
    let after: Vec<_> = kept.iter().map(|file| sum(file)).collect();
    assert_eq!(before, after, "{what}: bytes changed");
}

fn dir() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("assay-safety-").tempdir().unwrap()
}

fn made(dir: &Path, kind: &str, size: u64) -> Option<Loop> {
    let program = format!("mkfs.{kind}");
    if !have(&program) {
        return None;
    }
    let device = Loop::blank(dir, kind, size);
    let options: &[&str] = match kind {
        "ext4" => &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
        _ => &["-q", "-f"],
    };
    let command: Vec<&str> = [program.as_str()].iter().chain(options).chain([&device.dev.as_str()]).copied().collect();
    run(&command).unwrap();
    Some(device)
}

#[test]
fn a_blank_device_is_accepted_with_its_token_only() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "blank", 16 * MIB);
    let exam = examine(device.path());
    assert!(exam.accepted, "{exam:?}");
    assert_eq!(exam.watermarks.first(), Some(&Watermark::Loop(device.dev[5..].to_owned())));
    let token = exam.token.clone().unwrap();
    assert_eq!(token.len(), 8);
    let gate = Gate::host();
    let request = Request::new(device.path());
    for tokens in [vec![], vec!["00000000".to_owned()], vec![String::new()], vec![token[..7].to_owned()]] {
        let refusal = gate.admit(&Request { tokens: &tokens, ..request }).unwrap_err();
        assert_eq!(refusal.rule, Consent, "{refusal}");
    }
    let tokens = ["deadbeef".to_owned(), token];
    let permit = gate.admit(&Request { tokens: &tokens, ..request }).unwrap();
    assert_eq!(permit.shape().size, 16 * MIB);
    assert!(permit.shape().direct && permit.covers(16 * MIB - 512, 512) && !permit.covers(16 * MIB - 512, 513));
    assert!(!permit.covers(u64::MAX, 512));
    assert!(permit.recheck().is_ok() && permit.overrides().is_empty());
    // The control: one byte written through a permit shows in the sum by which all the others are judged.
    let before = sum(&device.image);
    let mut block = Block([0; 4096]);
    block.0[77] = 1;
    assert_eq!(rustix::io::pwrite(permit.fd(), &block.0, 8 * MIB).unwrap(), 4096);
    rustix::fs::fsync(permit.fd()).unwrap();
    assert_ne!(sum(&device.image), before);
    assert!(!permit.remove_scratch().unwrap(), "a device is no scratch file");
}

#[test]
fn the_workload_must_fit_in_size_and_blocks() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "blank", MIB);
    let tokens = [examine(device.path()).token.unwrap()];
    for (extent, alignment, rule) in [
        (u128::from(MIB), 512, None),
        (u128::from(MIB) + 1, 512, Some(S14)),
        (u128::from(u64::MAX) + 1 + u128::from(MIB), 512, Some(S14)),
        (0, 100, Some(S3)),
    ] {
        let needs = Needs { extent, alignment };
        let done = Gate::host().admit(&Request { tokens: &tokens, needs, ..Request::new(device.path()) });
        assert_eq!(done.err().map(|refusal| refusal.rule), rule, "{extent} {alignment}");
    }
}

#[test]
fn a_device_we_prepared_is_known_again() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "ours", 8 * MIB);
    let mut block = vec![0xabu8; 4096];
    Stamp { run: 1, generation: 2 }.put(&mut block);
    for i in 0..8 * MIB / 4096 {
        std::fs::File::options().write(true).open(&device.image).unwrap().write_all_at(&block, i * 4096).unwrap();
    }
    run(&["sync", "-f", device.image.to_str().unwrap()]).unwrap();
    drop(admit(device.path(), &[]).unwrap());
    // Somebody made a partition table on it since: its first sector still opens with our stamp.
    if have("sfdisk") {
        run(&["sh", "-c", &format!("echo ',,83' | sfdisk -q --label dos {}", device.dev)]).unwrap();
        protected("a table over our data", device.path(), &[&device.image], S7, "DOS partition table");
    }
}

/// The disk this very test runs on.
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
        let link = dir.path().join(format!("{kind}.link"));
        symlink(device.path(), &link).unwrap();
        protected(&format!("{kind} by symlink"), &link, &[&device.image], S2, "is mounted on");
        let node = dir.path().join(format!("{kind}.node"));
        let Kind::Block(number) = examine(device.path()).kind else { panic!("a block device") };
        run(&["mknod", node.to_str().unwrap(), "b", &number.major.to_string(), &number.minor.to_string()]).unwrap();
        protected(&format!("{kind} by mknod"), &node, &[&device.image], S2, "is mounted on");
        // Reading a device in use is harmless and allowed; what comes out cannot write.
        let pass = Gate::host().admit_read(&Request::new(device.path())).unwrap();
        assert!(rustix::io::pwrite(pass.fd(), &[0; 512], 0).is_err());
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
    run(&["sh", "-c", &format!("printf ',10M,83\\n,,83\\n' | sfdisk -q --label dos {}", image.display())]).unwrap();
    let disk = Loop::over(&image, &["--direct-io=on", "-P"]);
    let part = |n: u32| PathBuf::from(format!("{}p{n}", disk.dev));
    // A kernel that reads no partition tables still takes partitions that are told to it.
    if !part(2).exists() {
        let told =
            run(&["addpart", &disk.dev, "1", "2048", "20480"]).and(run(&["addpart", &disk.dev, "2", "22528", "20480"]));
        if let Err(why) = told {
            return skip(&why);
        }
    }
    protected("a partition table", disk.path(), &[&image], S7, "DOS partition table");
    let blank = admit(&part(2), &[]).unwrap();
    assert_eq!(blank.describe().token.as_ref().map(String::len), Some(8));
    protected("the disk of an admitted partition", disk.path(), &[&image], S2, "EBUSY");
    drop(blank);
    let tokens: Vec<_> = [disk.path(), &part(1), &part(2)].iter().map(|path| examine(path).token).collect();
    assert!(tokens[0] != tokens[1] && tokens[1] != tokens[2] && tokens[0] != tokens[2]);
    run(&["mkfs.ext4", "-q", "-F", part(1).to_str().unwrap()]).unwrap();
    let _mount = Mount::new(part(1).to_str().unwrap(), dir.path(), "p1").unwrap();
    protected("the disk of a mounted partition", disk.path(), &[&image], S2, "is mounted on");
    protected("a mounted partition", &part(1), &[&image], S2, "is mounted on");
    protected("the sibling of a mounted partition", &part(2), &[&image], S4, "is mounted on");
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
        run(&["mkfs.ext4", "-q", "-F", "-b", "4096", "-J", &format!("device={}", journal.dev), &data.dev])
            .or_else(|_| run(&["mkfs.ext4", "-q", "-F", "-J", &format!("device={}", journal.dev), &data.dev]))
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
    protected("the backing file of a mounted loop", &lower.image, &[&lower.image], S10, "somebody's file");
    drop((mount, upper));

    // Even a scratch file of our own, once a loop device stands on it.
    let ours = dir.path().join("ours");
    drop(scratch::create(&ours, MIB).unwrap());
    let above = Loop::over(&ours, &[]);
    protected("our own file beneath a loop", &ours, &[&ours], S10, "it is the backing file of");
    let twin = Loop::over(&ours, &[]);
    protected("two loops on one file", twin.path(), &[&ours], S9, "is bound to the same");
    drop((above, twin));
    drop(admit(&ours, &[]).unwrap());
}

#[test]
fn open_in_another_process() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "open", MIB);
    let reader = Holder::shell(&format!("exec 3<{}; echo held; read x", device.dev));
    protected("open elsewhere", device.path(), &[&device.image], S6, &format!("process {} ", reader.child.id()));
    let permit = admit(device.path(), &[S6]).unwrap();
    assert_eq!((permit.overrides(), permit.watermarks().contains(&Watermark::Overridden(S6))), (vec![S6], true));
    drop((permit, reader));
    // The image of a loop device, open in a process, is that device too.
    let _image = Holder::shell(&format!("exec 3<{}; echo held; read x", device.image.display()));
    protected("its image open elsewhere", device.path(), &[&device.image], S6, "has");
}

/// Runs as a second instance: takes what it is told to and holds it.
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
    drop(scratch::create(&file, MIB).unwrap());
    let device = root().then(|| Loop::blank(dir.path(), "device", MIB));
    let mut targets = vec![(file.clone(), file, S13)];
    targets.extend(device.as_ref().map(|d| (PathBuf::from(&d.dev), d.image.clone(), S2)));
    for (path, kept, rule) in targets {
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(program);
        command.args(["--exact", "second_instance", "--ignored", "--nocapture"]).env("ASSAY_TEST_HOLD", &path);
        let holder = Holder::start(&mut command);
        protected("second instance", &path, &[&kept], rule, &format!("process {} ", holder.child.id()));
        drop(holder);
        assert!(admit(&path, &[]).is_ok(), "free again");
    }
}

/// Marks by hand where the tool may be missing; the medium is otherwise blank.
#[test]
fn signatures() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let size = 8 * MIB;
    let device = Loop::blank(dir.path(), "marked", size);
    let uberblock = 0x00ba_b10cu64.to_le_bytes();
    let bcache = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
    let marks: &[(&str, u64, &[u8])] = &[
        ("LVM physical volume", 512, b"LABELONE"),
        ("GPT", 512, b"EFI PART"),
        ("GPT second header", size - 512, b"EFI PART"),
        ("md RAID 1.2", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
        ("md RAID 1.0", size - 8192, &[0xfc, 0x4e, 0x2b, 0xa9]),
        ("md RAID 0.90", size - 65536, &[0xfc, 0x4e, 0x2b, 0xa9]),
        ("LUKS", 0, b"LUKS\xba\xbe"),
        ("bcache", 4120, bcache),
        ("ZFS", 256 * 1024 + 128 * 1024 + 7 * 1024, &uberblock),
        ("ZFS", size - 256 * 1024 + 128 * 1024, &uberblock),
        ("swap", 4086, b"SWAPSPACE2"),
        ("btrfs", 0x1_0040, b"_BHRfS_M"),
        ("xfs", 0, b"XFSB"),
        ("Oracle ASM", 32, b"ORCLDISK"),
        ("Intel RAID", size - 1024, b"Intel Raid ISM Cfg Sig. "),
        ("DOS partition table", 510, &[0x55, 0xaa]),
    ];
    for (name, offset, bytes) in marks {
        device.write(*offset, bytes);
        protected(name, device.path(), &[&device.image], S7, name);
        // Overriding the signature alone does not do: the data is unknown too.
        assert_eq!(admit(device.path(), &[S7]).unwrap_err().rule, S8, "{name}");
        let permit = admit(device.path(), &[S7, S8]).unwrap();
        assert_eq!(permit.overrides(), [S7, S8], "{name}");
        drop(permit);
        device.write(*offset, &vec![0; bytes.len()]);
    }
    assert!(admit(device.path(), &[]).is_ok(), "blank again");
    for (command, name) in
        [(vec!["mkswap", &device.dev], "swap"), (vec!["mkfs.ext4", "-q", "-F", &device.dev], "ext2/3/4")]
    {
        if have(command[0]) {
            run(&command).unwrap();
            protected(command[0], device.path(), &[&device.image], S7, name);
            device.write(0, &vec![0; size as usize]);
        }
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

/// A real device in an imagined process table.
#[test]
fn in_a_container_and_on_an_overlay() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "blank", MIB);
    let tree = Tree::new();
    let gate = Gate::new(Roots { proc: tree.path("proc"), ..Roots::host() });
    let tokens: Vec<String> = gate.examine(device.path()).token.into_iter().collect();
    let request = Request { tokens: &tokens, ..Request::new(device.path()) };
    assert!(gate.admit(&request).is_ok());
    // An overlay names no disk; the exclusive claim on the target shows that it is not beneath.
    tree.mounts("1 0 0:30 / / rw - overlay overlay rw\n");
    assert!(gate.admit(&request).is_ok());
    std::fs::remove_file(tree.path("proc/self/ns/pid")).unwrap();
    symlink("pid:[4026532222]", tree.path("proc/self/ns/pid")).unwrap();
    let refusal = gate.admit(&request).unwrap_err();
    assert_eq!((refusal.rule, refusal.to_string().contains("--in-container")), (S6, true), "{refusal}");
    let permit = gate.admit(&Request { in_container: true, ..request }).unwrap();
    assert!(permit.watermarks().contains(&Watermark::Container));
}

/// Consent by serial number and size instead of a token: both must be right.
#[test]
fn consent_by_name() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "blank", MIB);
    let Kind::Block(number) = examine(device.path()).kind else { panic!("a block device") };
    let tree = Tree::new();
    let name = device.dev.strip_prefix("/dev/").unwrap();
    let described = tree.disk("pci0/ata1", name, &number.to_string());
    std::fs::write(described.join("serial"), "S-77\n").unwrap();
    let gate = Gate::new(Roots { sys: tree.path("sys"), ..Roots::host() });
    for (serial, size, rule) in [("S-77", MIB, None), ("S-77", MIB + 512, Some(Consent)), ("S-78", MIB, Some(Consent))]
    {
        let expect = Expect { serial: serial.into(), size };
        let done = gate.admit(&Request { expect: Some(&expect), ..Request::new(device.path()) });
        assert_eq!(done.err().map(|refusal| refusal.rule), rule, "{serial} {size}");
    }
    // S12: another serial number behind the same name.
    let expect = Expect { serial: "S-77".into(), size: MIB };
    let permit = gate.admit(&Request { expect: Some(&expect), ..Request::new(device.path()) }).unwrap();
    assert!(permit.recheck().is_ok());
    std::fs::write(described.join("serial"), "S-99\n").unwrap();
    assert_eq!(permit.recheck().unwrap_err().rule, S12);
}

#[test]
fn unknown_data() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    // No multiple of 4 KiB: the last sectors are read too.
    let size = 64 * MIB + 1536;
    let device = Loop::blank(dir.path(), "unknown", size);
    for (what, from, to) in
        [("the first MiB", 700_000, 700_010), ("the last sector", size - 3, size), ("the middle", 2 * MIB, 62 * MIB)]
    {
        device.write(from, &vec![0x5a; (to - from) as usize]);
        protected(what, device.path(), &[&device.image], S8, "unknown data");
        assert!(admit(device.path(), &[S8]).is_ok(), "{what}: it is for a person to say");
        device.write(from, &vec![0; (to - from) as usize]);
    }
    assert!(admit(device.path(), &[]).is_ok());
}

#[test]
fn devices_that_cannot_be_written() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let image = dir.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(MIB).unwrap();
    let fixed = Loop::over(&image, &["-r"]);
    protected("read-only", fixed.path(), &[&image], S3, "read-only");
    drop(fixed);
    let empty = dir.path().join("empty");
    std::fs::File::create(&empty).unwrap();
    match run(&["losetup", "-f", "--show", empty.to_str().unwrap()]) {
        Ok(dev) => {
            let device = Loop { image: empty, dev };
            protected("size 0", device.path(), &[], S3, "size is 0");
        }
        Err(why) => skip(&why),
    }
}

#[test]
fn things_that_are_no_target() {
    let (_turn, dir) = (turn(), dir());
    let at = |name: &str| dir.path().join(name);
    rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    symlink(at("nowhere"), at("dangling")).unwrap();
    for (what, path, rule) in [
        ("character device", PathBuf::from("/dev/null"), S1),
        ("directory", dir.path().to_path_buf(), S1),
        ("FIFO", at("fifo"), S1),
        ("socket", at("socket"), S1),
        ("a dangling link", at("dangling"), S0),
        ("nothing", at("missing"), S0),
    ] {
        protected(what, &path, &[], rule, if rule == S1 { what } else { "No such file" });
        assert_eq!(Gate::host().admit_read(&Request::new(&path)).unwrap_err().rule, rule, "{what}");
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
    // A label that belongs to another length.
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
    protected("grown since", &at("grown"), &[&at("grown")], S10, "somebody's file");
    let sparse = std::fs::File::create(at("sparse")).unwrap();
    sparse.set_len(MIB).unwrap();
    sparse.write_all_at(&label::label(MIB), MIB - label::LABEL_LEN).unwrap();
    if !is_tmpfs(dir.path()) {
        protected("not reserved", &at("sparse"), &[&at("sparse")], S10, "reserved");
    }
    // A file system made inside our own file: the label is still there, the data is somebody's.
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
    protected("a reflink copy", &copy, &[&copy], S10, "shared with another file");
}

#[test]
fn a_change_of_the_device_is_noticed() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let first = Loop::blank(dir.path(), "first", MIB);
    let second = Loop::blank(dir.path(), "second", MIB);
    let link = dir.path().join("link");
    symlink(first.path(), &link).unwrap();
    let permit = admit(&link, &[]).unwrap();
    assert!(permit.recheck().is_ok());
    std::fs::remove_file(&link).unwrap();
    let gone = permit.recheck().unwrap_err();
    assert_eq!(gone.rule, S12, "{gone}");
    symlink(second.path(), &link).unwrap();
    let moved = permit.recheck().unwrap_err();
    assert_eq!((moved.rule, moved.to_string().contains("leads to")), (S12, true), "{moved}");
    std::fs::remove_file(&link).unwrap();
    symlink(first.path(), &link).unwrap();
    assert!(permit.recheck().is_ok());
    std::fs::File::options().write(true).open(&first.image).unwrap().set_len(MIB / 2).unwrap();
    run(&["losetup", "-c", &first.dev]).unwrap();
    let shrunk = permit.recheck().unwrap_err();
    assert_eq!((shrunk.rule, shrunk.to_string().contains("its size was")), (S12, true), "{shrunk}");
}
