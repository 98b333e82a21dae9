//! Every command of ACT's manual, typed as its readers type it: at a terminal, in the background, under sudo, with the
//! tools' own names. The manual's installation directory is here a directory of links to this program.

use super::bed::{Loop, assay, text};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// ACT's installation directory after `make`, with the manual's two example configurations. Nothing outside of it is
/// written.
struct Installed {
    dir: TempDir,
    /// Whether consent can be given in advance.
    consent: bool,
}

/// The manual, "ACT Configuration Reference": all fields, then those of act_storage only, and those of act_index only.
const EVERY: &str = "# a comment\ntest-duration-sec: 3\nreport-interval-sec: 1\nmicrosecond-histograms: no\n\
    service-threads: 20\nreplication-factor: 1\ndefrag-lwm-pct: 50\ndisable-odsync: no\nmax-lag-sec: 10\n";
const STORAGE: &str = "record-bytes: 1536\nrecord-bytes-range-max: 0\nlarge-block-op-kbytes: 128\nupdate-pct: 0\n\
    compress-pct: 100\ncommit-to-device: no\ntomb-raider: no\ntomb-raider-sleep-usec: 0\n";
const INDEX: &str = "cache-threads: 8\n";
/// Less than the 1x of the examples, because these tests do not measure how much the disk of a busy machine carries.
const LOAD: &str = "read-reqs-per-sec: 200\nwrite-reqs-per-sec: 100\n";

impl Installed {
    fn new() -> Option<Installed> {
        for program in ["sudo", "script", "unshare"] {
            if Command::new(program).arg("--version").output().is_err() {
                eprintln!("no {program} here: nothing is tested");
                return None;
            }
        }
        let dir = tempfile::tempdir().unwrap();
        for (place, tools) in [
            ("target/bin", &["act_prep", "act_storage", "act_index"][..]),
            ("analysis", &["act_latency.py"]),
            ("", &["act_prep"]),
        ] {
            std::fs::create_dir_all(dir.path().join(place)).unwrap();
            for tool in tools {
                std::os::unix::fs::symlink(assay(), dir.path().join(place).join(tool)).unwrap();
            }
        }
        std::fs::create_dir(dir.path().join("config")).unwrap();
        let write = |name: &str, more: &str| {
            let text = format!("device-names: <device-name(s)>\n{EVERY}{more}{LOAD}");
            std::fs::write(dir.path().join("config").join(name), text).unwrap();
        };
        write("act_storage.conf", STORAGE);
        write("act_index.conf", INDEX);
        let consent = Command::new(assay()).args(["consent", "--help"]).output().unwrap().status.success();
        if !consent {
            eprintln!("no consent in advance: what needs it is typed with the token, and not at a terminal");
        }
        Some(Installed { dir, consent })
    }

    /// Types these lines into a shell. The shell has a terminal if consent was given in advance, because nothing is
    /// asked there then. Consents and preparation records are stored in a place that only this shell uses. `before` is
    /// executed first, because sudo in the foreground would read the lines that are typed after it.
    fn type_in(&self, before: &str, lines: &[String]) -> String {
        let shell = "bash --noprofile --norc -i";
        let within = match self.consent {
            true => format!("script -qefc '{shell}' /dev/null"),
            false => "bash --noprofile --norc".to_owned(),
        };
        let alone = "mkdir -p /var/lib/assay && mount -t tmpfs -o mode=0755 tmpfs /var/lib/assay";
        let mut child = Command::new("unshare")
            .args(["-m", "bash", "-c", &format!("{alone} && {before} && exec {within}")])
            .current_dir(self.dir.path())
            .env_remove("XDG_STATE_HOME")
            .env(
                "PATH",
                format!("{}:{}", Path::new(assay()).parent().unwrap().display(), std::env::var("PATH").unwrap()),
            )
            .env("PS1", "$ ")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut typed = lines.join("\n");
        typed.push_str("\nexit\n");
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        text(&output.stdout) + &text(&output.stderr)
    }

    /// The command that allows these devices to be overwritten, and what replaces the manual's word `sudo`.
    fn sudo(&self, devices: &[&str]) -> (String, String) {
        let tokens: Vec<String> = devices.iter().map(|device| token(device)).collect();
        match self.consent {
            // A person would answer a question here. The test cannot see which part of the token is asked for, and
            // gives the whole token.
            true => {
                let consent = format!("{} consent {}", assay(), devices.join(" "));
                (format!("sudo {consent} --destroy-data {} < /dev/null", tokens.join(",")), "sudo".to_owned())
            }
            false => ("true".to_owned(), format!("sudo ASSAY_DESTROY_DATA={}", tokens.join(","))),
        }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default()
    }
}

fn token(device: &str) -> String {
    let output = Command::new(assay()).args(["devices", "--json", device]).output().unwrap();
    let devices: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    devices[0]["token"].as_str().unwrap_or_else(|| panic!("{device}: {devices}")).to_owned()
}

/// A partition of a device, as the manual's fdisk makes one for over-provisioning. The kernel is told of it if it does
/// not find it by itself; `None` where loop devices cannot have partitions.
struct Partition {
    disk: Loop,
    path: String,
}

impl Partition {
    fn of(disk: Loop) -> Option<Partition> {
        let mut table = Command::new("sfdisk").arg("-q").arg(&disk.path).stdin(Stdio::piped()).spawn().ok()?;
        table.stdin.take()?.write_all(b"label: gpt\nstart=2048, size=32768\n").ok()?;
        table.wait().ok()?;
        let path = format!("{}p1", disk.name());
        if !Path::new(&path).exists() {
            Command::new("partx").args(["-a", disk.name()]).output().ok()?;
        }
        Path::new(&path).exists().then_some(Partition { disk, path })
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        let _ = Command::new("partx").args(["-d", self.disk.name()]).output();
    }
}

#[test]
fn the_manuals_commands_work_as_they_are_typed() {
    let (Some(installed), Some(sdb), Some(sdc)) = (Installed::new(), Loop::of(24 << 20), Loop::of(24 << 20)) else {
        return;
    };
    let (sdb, sdc) = (sdb.name(), sdc.name());
    let (agree, sudo) = installed.sudo(&[sdb, sdc]);
    let line =
        |text: &str| text.replace("sudo ", &format!("{sudo} ")).replace("/dev/sdb", sdb).replace("/dev/sdc", sdc);
    // Line by line. `wait` and the output after it stand for the reader who comes back an hour later.
    let typed = [
            // "1. Prepare the Drives": one, then several at once, in the background.
            "sudo ./act_prep /dev/sdc &",
            "wait $!; echo prepared-one $?",
            "sudo ./act_prep /dev/sdb > prep-b.txt & B=$!",
            "sudo ./act_prep /dev/sdc > prep-c.txt & C=$!",
            "wait $B; echo prepared-b $?; wait $C; echo prepared-c $?",
            // "2. Create a Configuration File": a copy, with the names of the devices.
            "cp config/act_storage.conf actconfig.txt; cp config/act_index.conf actindex.txt",
            "sed -i 's#<device-name(s)>#/dev/sdb,/dev/sdc#' actconfig.txt actindex.txt",
            // "3. Run the test", and look at it while it runs.
            "sudo ./target/bin/act_storage actconfig.txt > output.txt & T=$!",
            "until grep -q 'after 1 sec:' output.txt || ! kill -0 $T; do sleep 0.1; done",
            "timeout 2 tail -f output.txt > seen.txt; ./analysis/act_latency.py -l output.txt -t 1 > partial.txt; echo partial $?",
            "wait $T; echo storage $?",
            "sudo ./target/bin/act_index actindex.txt > index.txt &",
            "wait $!; echo index $?",
            "cat output.txt | tail -n 3 > end.txt",
            // A hang-up reaches each of them; what was started to outlive it does.
            "kids() { for kid in $(pgrep -P $1); do echo $kid; kids $kid; done; }",
            "for how in 'sudo nohup' 'nohup sudo'; do rm -f hup.txt; $how ./target/bin/act_storage actconfig.txt > hup.txt 2> hup.err & T=$!; \
             until grep -q 'after 1 sec:' hup.txt || ! kill -0 $T; do sleep 0.1; done; \
             kill -HUP $T $(kids $T); wait $T; echo \"$how\" ended $? at $(grep -c '^after' hup.txt); done",
            "(trap '' HUP INT TERM; exec sudo ./target/bin/act_storage actconfig.txt) > hup.txt & T=$!; \
             until grep -q 'after 1 sec:' hup.txt || ! kill -0 $T; do sleep 0.1; done; \
             kill -HUP $T $(kids $T); wait $T; echo trapped ended $? at $(grep -c '^after' hup.txt)",
        ]
    .map(line);
    let said = installed.type_in(&agree, &typed);
    for done in ["prepared-one 0", "prepared-b 0", "prepared-c 0", "partial 0", "storage 0", "index 0"] {
        assert!(said.contains(done), "{done} in what the terminal shows:\n{said}\n{}", installed.read("output.txt"));
    }
    for done in ["sudo nohup ended 0 at 3", "nohup sudo ended 0 at 3", "trapped ended 0 at 3"] {
        assert!(said.contains(done), "{done} in what the terminal shows:\n{said}\n{}", installed.read("hup.err"));
    }
    assert!(!said.contains("Stopped"), "nothing was stopped by a question:\n{said}");
    for (file, words) in [
        ("prep-b.txt", format!("cleaning device {sdb}\n")),
        ("output.txt", format!("device-names: {sdb} {sdc}\n")),
        ("output.txt", "after 3 sec:\nreads (".to_owned()),
        ("seen.txt", " sec:\nreads (".to_owned()),
        ("partial.txt", "%>(ms)".to_owned()),
        ("index.txt", "Index device IO test\n".to_owned()),
        ("index.txt", "after 3 sec:\nreads (".to_owned()),
    ] {
        assert!(installed.read(file).contains(&words), "{words} in {file}:\n{}\n{said}", installed.read(file));
    }
    assert!(!installed.read("end.txt").is_empty());
    analyzed(&installed);
    // Then the verdict, which ACT leaves to its reader.
    let judged = Command::new(assay()).arg("judge").arg(installed.dir.path().join("output.txt")).output().unwrap();
    assert!(text(&judged.stdout).contains("2 targets"), "{}{}", text(&judged.stdout), text(&judged.stderr));
}

/// "4. Analyze ACT Output": each option alone and all together, as a shell command.
fn analyzed(installed: &Installed) {
    for (options, words) in [
        ("-l output.txt -t 1", "slice"),
        ("-l output.txt -t 1 -h reads", " reads"),
        ("-l output.txt -t 1 -h reads -h large-block-reads", "large-block-reads"),
        ("-l output.txt -t 2", "slice"),
        ("-l output.txt -t 1 -s 3", "      8"),
        ("-l output.txt -t 1 -n 3", "      4"),
        ("-l output.txt -t 1 -n 3 -e 3", "     64"),
        ("-l output.txt -t 1 -x", "      rate"),
        ("-l index.txt -t 1 -h reads -h writes -n 3 -e 3 -x", "writes"),
    ] {
        let output = Command::new("bash")
            .args(["-c", &format!("./analysis/act_latency.py {options}")])
            .current_dir(installed.dir.path())
            .output()
            .unwrap();
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{options}: {}", text(&output.stderr));
        assert!(shown.contains(words) && shown.contains("  max "), "{options}: {words} in\n{shown}");
    }
}

/// "over-provisioned using fdisk, make sure you specify the partition and not the raw device".
#[test]
fn a_partition_is_prepared_and_tested_as_the_manual_asks() {
    let (Some(installed), Some(disk)) = (Installed::new(), Loop::of(24 << 20)) else { return };
    let Some(partition) = Partition::of(disk) else {
        eprintln!("no partitions of loop devices here: nothing is tested");
        return;
    };
    let sdc1 = partition.path.as_str();
    let before = table(&partition);
    let (agree, sudo) = installed.sudo(&[sdc1]);
    let typed = [
        format!("{sudo} ./act_prep {sdc1} &"),
        "wait $!; echo prepared $?".to_owned(),
        format!("sed 's#<device-name(s)>#{sdc1}#' config/act_storage.conf > actconfig.txt"),
        format!("{sudo} ./target/bin/act_storage actconfig.txt > output.txt &"),
        "wait $!; echo tested $?".to_owned(),
    ];
    let said = installed.type_in(&agree, &typed);
    assert!(said.contains("prepared 0") && said.contains("tested 0"), "{said}\n{}", installed.read("output.txt"));
    assert!(installed.read("output.txt").contains("after 3 sec:"), "{said}");
    assert_eq!(table(&partition), before, "the partition table is as it was");
}

/// The part of the disk before its first partition.
fn table(partition: &Partition) -> Vec<u8> {
    let all = std::fs::read(&partition.disk.file).unwrap();
    all[..1 << 20].to_vec()
}

/// What a device sees from the drop-in and from the original, for each key of the manual. The originals are named by
/// two variables; without them, this test only shows that the bench sees what the drop-in does.
#[test]
fn a_device_sees_the_same_of_the_original_and_of_the_drop_in() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let given = |name: &str| std::env::var_os(name).is_some();
    let originals = given("ACT_STORAGE") && given("ACT_INDEX");
    let mut bench = Command::new(root.join("bench/act-device"));
    bench.arg("--check").env("ASSAY", assay());
    if !originals {
        bench.args(["--on", "loop"]).env("SCALE", "smoke");
    }
    let output = bench.output().unwrap();
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}{}", text(&output.stderr));
    assert!(shown.starts_with("| "), "{shown}{}", text(&output.stderr));
}
