//! Every verb that writes, pointed at everything that must not be written, with the valid token: the verb refuses, with
//! evidence, and not one byte changes. These are the kinds of targets that other tools have destroyed most often. The
//! controls are a blank device and a scratch file, to which the same command lines do write.

use super::bed::Place;
use super::live::{Holder, Loop, Mount, enough_loops, have, root, run, sum};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MIB: u64 = 1 << 20;
/// The loop devices of all kinds together, and that of a control.
const MOST_AT_ONCE: usize = 23;

/// The command with which a verb would write to `target`, with consent in `token`.
type Writer = fn(&Place, target: &str, token: &str) -> Command;

/// All verbs that write. If a verb that can be given consent is missing here,
/// `every_verb_that_takes_consent_is_in_the_table` fails. Each runs at 1x for a second, which is 24 large-block writes:
/// at a tenth of that load, one run in ten would write nothing.
const WRITERS: [(&str, Writer); 17] = [
    ("prep", |place, target, token| with(place, token, &["prep", target, "--skip-zero"])),
    ("prep --discard", |place, target, token| with(place, token, &["prep", target, "--skip-zero", "--discard"])),
    ("certify", |place, target, token| {
        with(place, token, &["certify", target, "--at", "1x", "--for", "1s", "--warm-up", "0s"])
    }),
    ("certify --quick", |place, target, token| {
        with(place, token, &["certify", target, "--quick", "--at", "1x", "--for", "1s", "--warm-up", "0s"])
    }),
    ("run", |place, target, token| with(place, token, &["run", "act-storage", target, "--for", "1s"])),
    ("run --create", |place, target, token| {
        with(place, token, &["run", "act-storage", target, "--for", "1s", "--create", "16MiB"])
    }),
    ("run act.conf", |place, target, token| {
        let conf = conf(place, target);
        with(place, token, &["run", conf.to_str().unwrap(), "--model", "act-storage", "--for", "1s"])
    }),
    ("limit", |place, target, token| {
        with(place, token, &["limit", "act-storage", target, "--for", "1s", "--from", "1x", "--to", "1x"])
    }),
    ("curve", |place, target, token| {
        with(place, token, &["curve", "act-storage", target, "--for", "1s", "--max", "1x", "--points", "100%"])
    }),
    ("fit", |place, target, token| {
        with(place, token, &["fit", profile(place, target).to_str().unwrap(), target, "--for", "1s", "--rounds", "1"])
    }),
    ("size", |place, target, token| {
        let profile = profile(place, target);
        let size = ["size", profile.to_str().unwrap(), target, "--fit-for", "1s", "--rounds", "1"];
        with(place, token, &[&size[..], &["--for", "1s", "--to", "1x", "--resolution", "1x"]].concat())
    }),
    ("as act_storage", |place, target, token| {
        drop_in(place, token, &["act_storage", conf(place, target).to_str().unwrap()])
    }),
    ("as act_index", |place, target, token| {
        drop_in(place, token, &["act_index", conf(place, target).to_str().unwrap()])
    }),
    ("as act_prep", |place, target, token| drop_in(place, token, &["act_prep", target])),
    ("as seekmark", |place, target, token| {
        drop_in(place, token, &["seekmark", "-f", target, "-w", "destroy-data", "-s9"])
    }),
    ("as seekmark --destroy-data", |place, target, token| {
        with(place, token, &["as", "seekmark", "-f", target, "-w", "destroy-data", "-s9"])
    }),
    ("as act_prep --agreed-before", |place, target, token| {
        let agree = "\"$0\" consent \"$1\" --destroy-data \"$2\" >&2 && exec \"$0\" as act_prep \"$1\"";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", agree, env!("CARGO_BIN_EXE_assay"), target, token]);
        command
            .current_dir(place.path("."))
            .env("XDG_STATE_HOME", place.path("state"))
            .stdin(std::process::Stdio::null());
        command
    }),
];

fn with(place: &Place, token: &str, words: &[&str]) -> Command {
    place.command(&[words, &["--destroy-data", token]].concat())
}

fn drop_in(place: &Place, token: &str, words: &[&str]) -> Command {
    let mut command = place.command(&[&["as"], words].concat());
    command.env("ASSAY_DESTROY_DATA", token);
    command
}

/// 24 large-block writes a second, as in the other rows.
fn profile(place: &Place, target: &str) -> PathBuf {
    let text = "name = \"p\"\nmodel = \"profile\"\n[[namespace]]\nname = \"n\"\ndrives = [\"sda\"]\n[namespace.large_blocks]\nwrites = \"24/s\"\n[[iostat]]\ndrive = \"sda\"\nwrites = \"24/s\"\n";
    place.write(&format!("{}.toml", target.replace('/', "_")), text)
}

fn conf(place: &Place, target: &str) -> PathBuf {
    let name = format!("{}.conf", target.replace('/', "_"));
    place.write(&name, &format!("device-names: {target}\ntest-duration-sec: 1\nwrite-reqs-per-sec: 1000\n"))
}

/// The table has exactly the verbs that can be given consent, according to the program's own help, and the drop-ins.
#[test]
fn every_verb_that_takes_consent_is_in_the_table() {
    let place = Place::new();
    let help = place.assay(&["--help"]).out;
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let verbs: Vec<&str> =
        commands.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).map(str::trim).collect();
    let verbs = verbs.into_iter().map(|line| line.split(' ').next().unwrap()).filter(|verb| *verb != "help");
    let (mut writing, mut others) = (Vec::new(), 0);
    for verb in verbs {
        match place.assay(&[verb, "--help"]).out.contains("--destroy-data") {
            true => writing.push(verb.to_owned()),
            false => others += 1,
        }
    }
    assert!(others > 5 && writing.len() > 3, "{writing:?}");
    // The program itself lists its drop-ins; the one that only reads logs does not write.
    let told = place.assay(&["as", "nothing"]).err;
    let tools = told
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("act_") || *word == "seekmark");
    writing.extend(tools.filter(|tool| *tool != "act_latency").map(|tool| format!("as {tool}")));
    // `consent` stores a consent and writes to no target; the table tests what a consent allows.
    writing.retain(|verb| verb != "consent");
    let first = |name: &str| name.split(" --").next().unwrap().replace(" act.conf", "");
    let mut table: Vec<String> = WRITERS.iter().map(|(name, _)| first(name)).collect();
    table.sort();
    table.dedup();
    writing.sort();
    assert_eq!(table, writing, "a verb that can write joins the table, and with it every protected target");
}

/// A target that must not be written.
struct Protected {
    what: &'static str,
    path: PathBuf,
    /// The files that contain its bytes.
    kept: Vec<PathBuf>,
    /// What the refusal names.
    evidence: &'static str,
    /// Originals whose drop-ins refuse this target in the original's words, before anything is opened; all other verbs
    /// reach the gate.
    theirs: &'static [&'static str],
}

/// Things that are kept as long as this lives; the last one is dropped first.
#[derive(Default)]
struct Kept {
    #[allow(dead_code, reason = "held, and undone when dropped")]
    things: Vec<Box<dyn std::any::Any>>,
}

impl Kept {
    fn keep<T: 'static>(&mut self, thing: T) {
        self.things.insert(0, Box::new(thing));
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for thing in std::mem::take(&mut self.things) {
            drop(thing);
        }
    }
}

fn protected(what: &'static str, path: impl AsRef<Path>, kept: &[&Path], evidence: &'static str) -> Protected {
    let kept = kept.iter().map(|path| path.to_path_buf()).collect();
    Protected { what, path: path.as_ref().to_path_buf(), kept, evidence, theirs: &[] }
}

fn marked(dir: &Path, name: &str, offset: u64, bytes: &[u8]) -> Loop {
    let device = Loop::blank(dir, name, 8 * MIB);
    device.write(offset, bytes);
    device
}

fn ext4(dir: &Path, name: &str) -> Loop {
    let device = Loop::blank(dir, name, 8 * MIB);
    mkfs(&device.dev, &[]);
    device
}

/// Makes a file system completely, so that the kernel writes nothing of it later.
fn mkfs(device: &str, options: &[&str]) {
    let whole = ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
    run(&[&whole[..], options, &[device]].concat()).unwrap();
}

/// All kinds of protected targets that can be built here.
fn build(dir: &Path, held: &mut Kept) -> Vec<Protected> {
    let mut all = Vec::new();
    signatures(dir, held, &mut all);
    files(dir, &mut all);
    if have("mkfs.ext4") {
        mounted(dir, held, &mut all);
        stacked(dir, held, &mut all);
        partitions(dir, held, &mut all);
    }
    other_file_systems(dir, held, &mut all);
    in_use(dir, held, &mut all);
    all
}

fn signatures(dir: &Path, held: &mut Kept, all: &mut Vec<Protected>) {
    for (what, offset, bytes, evidence) in [
        ("LVM physical volume", 512, &b"LABELONE"[..], "LVM"),
        ("GPT", 512, b"EFI PART", "GPT"),
        ("swap signature", 4086, b"SWAPSPACE2", "swap"),
        ("md member", 4096, &[0xfc, 0x4e, 0x2b, 0xa9], "md RAID"),
        ("LUKS", 0, b"LUKS\xba\xbe", "LUKS"),
        ("DOS partition table", 510, &[0x55, 0xaa], "DOS partition table"),
        ("unknown data", 3 * MIB, &[0x5a; 4 << 20], "unknown data"),
    ] {
        let device = marked(dir, what, offset, bytes);
        all.push(protected(what, device.path(), &[&device.image], evidence));
        held.keep(device);
    }
    let image = dir.join("fixed");
    fs::File::create(&image).unwrap().set_len(8 * MIB).unwrap();
    let fixed = Loop::over(&image, &["-r"]);
    all.push(protected("read-only", fixed.path(), &[&image], "read-only"));
    held.keep(fixed);
}

fn files(dir: &Path, all: &mut Vec<Protected>) {
    let file = dir.join("somebodys-file");
    fs::write(&file, "precious\n".repeat(1 << 20)).unwrap();
    let theirs = &["act_storage", "act_index"];
    all.push(Protected { theirs, ..protected("somebody's file", &file, &[&file], "not a file of this program") });
    all.push(Protected { theirs, ..protected("a directory", dir, &[], "directory") });
    all.push(Protected { theirs, ..protected("/dev/null", "/dev/null", &[], "character device") });
}

fn mounted(dir: &Path, held: &mut Kept, all: &mut Vec<Protected>) {
    let device = ext4(dir, "unmounted");
    all.push(protected("ext4 signature", device.path(), &[&device.image], "ext"));
    held.keep(device);

    let device = ext4(dir, "mounted");
    held.keep(Mount::new(&device.dev, dir, "point").unwrap());
    let (link, node) = (dir.join("link"), dir.join("node"));
    std::os::unix::fs::symlink(device.path(), &link).unwrap();
    let number = rustix::fs::stat(device.path()).unwrap().st_rdev;
    let (major, minor) = (rustix::fs::major(number).to_string(), rustix::fs::minor(number).to_string());
    run(&["mknod", node.to_str().unwrap(), "b", &major, &minor]).unwrap();
    for (what, path) in [("mounted", device.path()), ("mounted, by symlink", &link), ("mounted, by mknod", &node)] {
        all.push(protected(what, path, &[&device.image], "is mounted on"));
    }
    held.keep(device);

    if have("unshare") {
        let device = ext4(dir, "elsewhere");
        let point = dir.join("elsewhere.point");
        fs::create_dir(&point).unwrap();
        let script = format!("mount {} {} && echo held && read x", device.dev, point.display());
        held.keep(Holder::start(Command::new("unshare").args(["-m", "/bin/sh", "-c", &script])));
        all.push(protected("mounted in another namespace", device.path(), &[&device.image], "is mounted on"));
        held.keep(device);
    }

    let device = ext4(dir, "lazy");
    let mount = Mount::new(&device.dev, dir, "lazy.point").unwrap();
    let inside = fs::File::create(mount.point.join("inside")).unwrap();
    inside.sync_all().unwrap();
    // What is in the journal only would be written to its own place half a minute later, while the bytes are compared.
    for _ in 0..2 {
        rustix::fs::syncfs(&inside).unwrap();
    }
    run(&["umount", "-l", mount.point.to_str().unwrap()]).unwrap();
    all.push(protected("lazily unmounted", device.path(), &[&device.image], "EBUSY"));
    held.keep(inside);
    held.keep(device);

    let (journal, data) = (Loop::blank(dir, "journal", 8 * MIB), Loop::blank(dir, "data", 8 * MIB));
    run(&["mke2fs", "-q", "-F", "-O", "journal_dev", &journal.dev]).unwrap();
    mkfs(&data.dev, &["-J", &format!("device={}", journal.dev)]);
    held.keep(Mount::new(&data.dev, dir, "data.point").unwrap());
    all.push(protected("external journal", journal.path(), &[&journal.image, &data.image], "EBUSY"));
    held.keep(data);
    held.keep(journal);
}

fn stacked(dir: &Path, held: &mut Kept, all: &mut Vec<Protected>) {
    let lower = Loop::blank(dir, "lower", 8 * MIB);
    let upper = Loop::over(lower.path(), &[]);
    mkfs(&upper.dev, &[]);
    held.keep(Mount::new(&upper.dev, dir, "upper.point").unwrap());
    all.push(protected("lower loop of a mounted loop", lower.path(), &[&lower.image], "is mounted on"));
    let theirs = &["act_storage", "act_index"];
    let file = protected("backing file of a mounted loop", &lower.image, &[&lower.image], "not a file of this program");
    all.push(Protected { theirs, ..file });
    held.keep(upper);
    held.keep(lower);
}

fn partitions(dir: &Path, held: &mut Kept, all: &mut Vec<Protected>) {
    let disk = Loop::blank(dir, "disk", 24 * MIB);
    let told =
        run(&["addpart", &disk.dev, "1", "2048", "20480"]).and(run(&["addpart", &disk.dev, "2", "22528", "20480"]));
    if let Err(why) = told {
        return super::live::skip(&why);
    }
    let part = |n: u32| format!("{}p{n}", disk.dev);
    mkfs(&part(1), &[]);
    held.keep(Mount::new(&part(1), dir, "p1.point").unwrap());
    for (what, path) in [
        ("whole disk of a mounted partition", disk.dev.clone()),
        ("mounted partition", part(1)),
        ("sibling of a mounted partition", part(2)),
    ] {
        all.push(protected(what, path, &[&disk.image], "is mounted on"));
    }
    held.keep(disk);
}

fn other_file_systems(dir: &Path, held: &mut Kept, all: &mut Vec<Protected>) {
    if have("mkfs.xfs") {
        let device = Loop::blank(dir, "xfs", 320 * MIB);
        run(&["mkfs.xfs", "-q", "-f", &device.dev]).unwrap();
        held.keep(Mount::new(&device.dev, dir, "xfs.point").unwrap());
        all.push(protected("mounted xfs", device.path(), &[&device.image], "is mounted on"));
        held.keep(device);
    }
    if have("mkfs.btrfs") {
        let (first, second) = (Loop::blank(dir, "first", 128 * MIB), Loop::blank(dir, "second", 128 * MIB));
        run(&["mkfs.btrfs", "-q", "-f", &first.dev, &second.dev]).unwrap();
        run(&["btrfs", "device", "scan", &first.dev, &second.dev]).unwrap();
        held.keep(Mount::new(&first.dev, dir, "btrfs.point").unwrap());
        all.push(protected("btrfs second member", second.path(), &[&first.image, &second.image], "mounted"));
        held.keep(first);
        held.keep(second);
    }
}

fn in_use(dir: &Path, held: &mut Kept, all: &mut Vec<Protected>) {
    let device = Loop::blank(dir, "open", 8 * MIB);
    held.keep(Holder::shell(&format!("exec 3<>{}; echo held; read x", device.dev)));
    all.push(protected("held open", device.path(), &[&device.image], "process "));
    held.keep(device);
    if have("mkswap") {
        let device = Loop::blank(dir, "swapped", 8 * MIB);
        run(&["mkswap", &device.dev]).unwrap();
        if run(&["swapon", &device.dev]).is_ok() {
            // The kernel may swap pages out meanwhile, so that no bytes are compared.
            all.push(protected("active swap", device.path(), &[], "is active swap"));
            held.keep(Swap(device.dev.clone()));
        }
        held.keep(device);
    }
}

struct Swap(String);

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = run(&["swapoff", &self.0]);
    }
}

fn token(place: &Place, path: &Path) -> String {
    let said = place.assay(&["devices", "--json", path.to_str().unwrap()]);
    said.json()[0]["token"].as_str().unwrap_or("00000000").to_owned()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Points every writer at one target.
fn point_all(place: &Place, target: &Protected) -> Vec<String> {
    let path = target.path.to_str().unwrap();
    let token = token(place, &target.path);
    let sums = || target.kept.iter().map(|file| sum(file)).collect::<Vec<_>>();
    let mut wrong = Vec::new();
    for (verb, writer) in &WRITERS {
        let before = sums();
        let output = writer(place, path, &token).output().unwrap();
        let told = text(&output);
        let named = match target.theirs.iter().any(|tool| verb.ends_with(tool)) {
            // A line with an error must name the target. A drop-in that ended because of its configuration, which names
            // the target too, would prove nothing.
            true => {
                let refused = |line: &str| line.starts_with("ERROR: ") && line.contains(path);
                output.status.code() == Some(255) && told.lines().any(refused)
            }
            false => {
                output.status.code() == Some(4)
                    && told.contains(target.evidence)
                    && told.contains("nothing was written")
            }
        };
        if !named {
            wrong.push(format!(
                "{verb} on {}: {:?} without \"{}\": {told}",
                target.what, output.status, target.evidence
            ));
        }
        if before != sums() {
            wrong.push(format!("{verb} on {}: bytes changed", target.what));
        }
    }
    wrong
}

#[test]
fn no_verb_writes_to_a_protected_target() {
    if !(root() && enough_loops(MOST_AT_ONCE)) {
        return;
    }
    let place = Place::new();
    let dir = place.path("kinds");
    fs::create_dir(&dir).unwrap();
    let mut held = Kept::default();
    let kinds = build(&dir, &mut held);
    assert!(kinds.len() >= 22, "{} kinds: a tool is missing here", kinds.len());
    // Targets on one medium are tried one after the other, because two examinations at the same time would notice each
    // other.
    let mut groups: Vec<Vec<&Protected>> = Vec::new();
    for kind in &kinds {
        match groups.iter_mut().find(|group| !kind.kept.is_empty() && group[0].kept.first() == kind.kept.first()) {
            Some(group) => group.push(kind),
            None => groups.push(vec![kind]),
        }
    }
    let next = std::sync::atomic::AtomicUsize::new(0);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let worker = || {
            let mut wrong = Vec::new();
            while let Some(group) = groups.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                group.iter().for_each(|kind| wrong.extend(point_all(&place, kind)));
            }
            wrong
        };
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), kinds.len() * WRITERS.len(), wrong.join("\n"));
    let made = |name: &String| name.ends_with(".conf") || name.ends_with(".toml");
    assert_eq!(place.left(&["kinds"]).into_iter().filter(|name| !made(name)).collect::<Vec<_>>(), [""; 0]);
    drop(held);
}

/// The control: on a blank device, each of the same command lines writes.
#[test]
fn the_same_command_lines_write_to_a_blank_device() {
    if !root() {
        return;
    }
    let place = Place::new();
    for (verb, writer) in &WRITERS {
        // `certify` continues with what `prep` made; ACT's tools take devices as they are.
        let device = Loop::blank(&place.path("."), "blank", 16 * MIB);
        let token = token(&place, device.path());
        if *verb == "certify" {
            let prepared = with(&place, &token, &["prep", &device.dev, "--skip-zero"]).output().unwrap();
            assert!(prepared.status.success(), "{}", text(&prepared));
        }
        let before = sum(&device.image);
        let output = writer(&place, &device.dev, &token).output().unwrap();
        let code = output.status.code();
        assert!(code != Some(4) && code != Some(2), "{verb}: {code:?} {}", text(&output));
        assert_ne!(sum(&device.image), before, "{verb} wrote nothing: {}", text(&output));
        drop(device);
        fs::remove_file(place.path("blank")).unwrap();
    }
}
