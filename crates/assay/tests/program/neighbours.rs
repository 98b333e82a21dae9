//! Somebody else on the disk of a run, in real time: on the target itself, on the disk beneath it, or on another one. A good
//! device is never FAIL and a bad one never PASS because of it. The disks lie in memory, and the kernel's throttle makes
//! them as slow as they have to be; a twin on a simulated device has more of it in `late/neighbours.rs`.

use super::bed::{Place, Said};
use super::devices::{Disk, Loop, Mounted, passed_over};
use super::throttle::Throttle;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The run's own load, in reads a second.
const RATE: u64 = 400;
const BLOCK: usize = 4096;
const SIZE: u64 = 64 << 20;
/// Trials at the same time, each on disks of its own.
const AT_A_TIME: usize = 3;
/// How many reads a neighbour has in flight at most.
const THREADS: u64 = 128;

/// Where the neighbour reads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reads {
    Target,
    Beneath,
    Elsewhere,
}

/// What the device carries, as a part of the run's own load.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Device {
    /// Enough for the run, and for any neighbour.
    Good,
    /// Enough for the run, not for a neighbour as well.
    Tight,
    /// Not enough for the run.
    Bad,
}

impl Device {
    fn operations_per_second(self) -> u64 {
        match self {
            Device::Good => RATE * 8,
            Device::Tight => RATE * 3 / 2,
            Device::Bad => RATE / 2,
        }
    }
}

/// A disk with data, throttled, and another that nothing limits.
struct Bed {
    place: Place,
    disk: Loop,
    other: Loop,
    throttle: Throttle,
}

impl Bed {
    fn new(device: Device) -> Option<Bed> {
        let place = Place::in_memory();
        for name in ["disk.img", "other.img"] {
            let bytes: Vec<u8> = (0..SIZE / 8).flat_map(|at| (at | 1 << 63).to_le_bytes()).collect();
            fs::write(place.path(name), bytes).unwrap();
        }
        let (disk, other) = (Loop::over(&place, "disk.img", SIZE)?, Loop::over(&place, "other.img", SIZE)?);
        let number = format!("/sys/block/{}/dev", disk.name());
        let throttle = Throttle::new(Path::new(&number), &[("read_iops", device.operations_per_second())])?;
        Some(Bed { place, disk, other, throttle })
    }

    /// Runs the program within the throttle while a neighbour reads, this many times as much as the run if the disk carries it.
    /// Returns how often the neighbour read, too.
    fn beside(&self, args: &[&str], reads: Reads, part: f64) -> (Said, u64) {
        let ends = AtomicBool::new(false);
        let path = if reads == Reads::Elsewhere { self.other.path() } else { self.disk.path() };
        std::thread::scope(|scope| {
            let (ends, throttle) = (&ends, &self.throttle);
            let reader = |number: u64| {
                scope.spawn(move || {
                    throttle.enter();
                    read_at(path, number, RATE as f64 * part / THREADS as f64, ends)
                })
            };
            let neighbour: Vec<_> = (0..THREADS).map(reader).collect();
            let output =
                self.throttle.within(&self.place.command(args)).current_dir(self.place.path(".")).output().unwrap();
            ends.store(true, Relaxed);
            (Said::of(output, args), neighbour.into_iter().map(|reader| reader.join().unwrap()).sum())
        })
    }
}

/// Reads blocks of a device at a rate until the end, and returns how many.
fn read_at(path: &str, number: u64, rate: f64, ends: &AtomicBool) -> u64 {
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).unwrap();
    let mut memory = vec![0u8; 2 * BLOCK];
    let aligned = memory.as_ptr().align_offset(BLOCK);
    let buffer = &mut memory[aligned..aligned + BLOCK];
    let began = Instant::now();
    let mut done = 0u64;
    while !ends.load(Relaxed) {
        let due = (done as f64 + number as f64 / THREADS as f64) / rate.max(1e-9);
        let early = due - began.elapsed().as_secs_f64();
        if early > 0.0 {
            std::thread::sleep(Duration::from_secs_f64(early.min(0.1)));
            continue;
        }
        let place = (done * 7919 + number * 104_729) % (SIZE / BLOCK as u64) * BLOCK as u64;
        std::os::unix::fs::FileExt::read_exact_at(&file, buffer, place).unwrap();
        done += 1;
    }
    done
}

const LOAD: [&str; 10] = [
    "--for",
    "6s",
    "--warm-up",
    "0s",
    "--slice",
    "6s",
    "--criterion",
    "reads response over 300ms at most 5%",
    "--out",
    "run",
];

/// The run's own load.
fn workload() -> String {
    format!(
        "name = \"w\"\nmodel = \"streams\"\n[[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"{RATE}/s\"\n"
    )
}

/// A verdict with its reason and warnings.
struct Judged {
    verdict: String,
    text: String,
    others: Vec<String>,
}

fn judged(place: &Place) -> Judged {
    let json: Value = serde_json::from_slice(&fs::read(place.path("run/verdict.json")).unwrap()).unwrap();
    let others = json["foreign"].as_array().into_iter().flatten();
    let others = others.filter(|disk| disk["notable_ns"].as_u64() > Some(0));
    Judged {
        verdict: json["verdict"].as_str().unwrap().to_owned(),
        text: format!("{} {}", json["reason"], json["warnings"]),
        others: others.map(|disk| disk["name"].as_str().unwrap().to_owned()).collect(),
    }
}

/// One run beside a neighbour, with everything that must hold of it; nothing where there are no such devices here.
fn run_beside(device: Device, reads: Reads, part: f64) -> Option<String> {
    let bed = Bed::new(device)?;
    bed.place.write("w.toml", &workload());
    let mounted = match reads {
        Reads::Beneath => Some(Mounted::ext4(&bed.disk, bed.place.path("files"))?),
        _ => None,
    };
    let target = match &mounted {
        Some(_) => {
            let made = bed.place.assay(&["prep", "files/data", "--create", "16MiB", "--skip-zero"]);
            assert_eq!(made.code, Some(0), "{made:?}");
            "files/data".to_owned()
        }
        None => bed.disk.path().to_owned(),
    };
    let (said, read) = bed.beside(&[&["run", "w.toml", &target][..], &LOAD].concat(), reads, part);
    let Judged { verdict, text, others } = judged(&bed.place);
    let shown = format!("{device:?}, neighbour {reads:?} {part}, {read} reads: {verdict} {text} {said:?}");
    let own_disk = bed.disk.name().to_owned();
    match device {
        Device::Tight if reads != Reads::Elsewhere && part >= 1.0 => assert_eq!(verdict, "INVALID", "{shown}"),
        Device::Good | Device::Tight => assert_ne!(verdict, "FAIL", "{shown}"),
        Device::Bad => assert_ne!(verdict, "PASS", "{shown}"),
    }
    match reads {
        // A hundredth is notable; less than what is open at the end of an interval is nobody. The queue of a bad disk keeps
        // the neighbour out.
        Reads::Target | Reads::Beneath if read > RATE => assert!(others.contains(&own_disk), "{shown}"),
        Reads::Target | Reads::Beneath if read > 0 => {}
        _ => assert!(!others.contains(&own_disk) && !text.contains(bed.other.name()), "{shown}"),
    }
    if verdict == "INVALID" && !said.out.contains("the test machine") {
        assert!(text.contains(&format!("another program used {own_disk}: ")), "{shown}");
    }
    // The page has it as well.
    let page = fs::read_to_string(bed.place.path("run/report.html")).unwrap();
    assert_eq!(page.contains(&format!("{own_disk} others")), others.contains(&own_disk), "{shown}");
    drop(mounted);
    Some(verdict)
}

/// The trials of a campaign, of which the first are those of a usual run of the tests.
fn trials() -> Vec<(Device, Reads, f64)> {
    let mut all = vec![
        (Device::Tight, Reads::Target, 2.0),
        (Device::Bad, Reads::Beneath, 0.5),
        (Device::Good, Reads::Elsewhere, 2.0),
    ];
    let usual = all.len();
    for device in [Device::Good, Device::Tight, Device::Bad] {
        for reads in [Reads::Target, Reads::Beneath, Reads::Elsewhere] {
            all.extend([0.25, 1.0].map(|part| (device, reads, part)));
        }
    }
    if std::env::var("ASSAY_CAMPAIGN").is_err() {
        all.truncate(usual);
    }
    all
}

#[test]
fn no_neighbour_accuses_a_good_disk_or_excuses_a_bad_one() {
    for several in trials().chunks(AT_A_TIME) {
        std::thread::scope(|scope| {
            for &(device, reads, part) in several {
                scope.spawn(move || match run_beside(device, reads, part) {
                    Some(verdict) => println!("{device:?}, {part} of the load on {reads:?}: {verdict}"),
                    None => passed_over("no throttled loop device"),
                });
            }
        });
    }
}

/// A bed on a tight device with the workload in `w.toml`.
fn tight_bed() -> Option<Bed> {
    let bed = Bed::new(Device::Tight)?;
    bed.place.write("w.toml", &workload());
    Some(bed)
}

/// What a procedure of several runs says of a disk that somebody else uses all the time.
#[test]
fn a_search_beside_a_neighbour_finds_no_limit_that_is_the_neighbours() {
    let Some(bed) = tight_bed() else { return passed_over("no throttled loop device") };
    let disk = bed.disk.path().to_owned();
    let args = ["limit", "w.toml", &disk, "--from", "1x", "--to", "2x", "--for", "4s", "--slice", "4s"];
    let (said, _) = bed.beside(&[&args[..], &LOAD[6..]].concat(), Reads::Target, 2.0);
    assert_eq!(said.code, Some(11), "{said:?}");
    assert!(said.out.contains("another program used"), "{said:?}");
}

/// The stress step of a certificate fails beside a neighbour as the load step does, and neither is the device's.
#[test]
fn a_certificate_beside_a_neighbour_is_none_and_accuses_nobody() {
    let Some(bed) = tight_bed() else { return passed_over("no throttled loop device") };
    let token = bed.disk.token(&bed.place);
    let disk = bed.disk.path().to_owned();
    let prepared = bed.place.assay(&["prep", &disk, "--skip-zero", "--destroy-data", &token, "--override", "S8"]);
    assert_eq!(prepared.code, Some(0), "{prepared:?}");
    bed.disk.until_free();
    // A certificate is judged by its workload alone.
    let criterion = "[[criterion]]\nstream = \"reads\"\nshare_over = \"300ms\"\nat_most = \"5%\"\n";
    bed.place.write("w.toml", &(workload() + criterion));
    let args = ["certify", "w.toml", &disk, "--at", "1x", "--for", "4s", "--slice", "4s", "--warm-up", "0s"];
    let (said, _) = bed.beside(&[&args[..], &["--out", "run"]].concat(), Reads::Target, 2.0);
    assert_eq!(said.code, Some(11), "{said:?}");
    assert_eq!(judged(&bed.place).verdict, "INVALID", "{said:?}");
    assert!(said.out.contains("another program used"), "{said:?}");
}
