//! Whether data became durable is known from the flushes that the device counts: as many for each sync as file systems
//! make, none where something swallows syncs. Every bound here is one of counts.

use crate::bed::{Place, in_one_line};
use crate::losetup;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One client that makes something durable, with what it writes before.
fn workload(writes: &str) -> String {
    format!(
        "name = \"log\"\nmodel = \"files\"\nclients = 1\nrate = \"100/s\"\narrival = \"steady\"\nduration = \"2s\"\nslice = \"2s\"\n\
         interval = \"500ms\"\ncache = \"warm\"\nio = \"4KiB\"\n[tree]\nfiles = 2\nsize = \"64KiB\"\n[[do]]\nname = \"commit\"\n\
         steps = [\"open\", \"{writes}\", \"fdatasync\", \"close\"]\n"
    )
}

/// A file system on a loop device of its own, until it is dropped.
struct OnLoop {
    place: Place,
    device: String,
}

fn succeeds(program: &str, args: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(args).output().map_err(|why| format!("{program}: {why}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn text_of(path: &Path) -> &str {
    path.to_str().unwrap()
}

impl OnLoop {
    /// `None` where none can be made, which it says.
    fn new(kind: &str, options: &str) -> Option<OnLoop> {
        let place = Place::new();
        let image = place.path("image");
        OnLoop::over(&image, place, kind, options)
    }

    fn over(image: &Path, place: Place, kind: &str, options: &str) -> Option<OnLoop> {
        let point = place.path("mount");
        fs::File::create(image).unwrap().set_len(600 << 20).unwrap();
        fs::create_dir(&point).unwrap();
        let made = losetup::attach(image, &["--direct-io=on"]).map(|device| OnLoop { place, device });
        let made = made.and_then(|made| {
            made.set_write_cache("write back");
            succeeds(&format!("mkfs.{kind}"), &["-q", &made.device])?;
            succeeds("mount", &["-o", options, &made.device, text_of(&point)]).map(|()| made)
        });
        made.inspect_err(|why| eprintln!("skipped: no {kind} can be mounted: {why}")).ok()
    }

    /// What the queue of the device says of its cache. A loop device keeps it when another file is put behind it.
    fn set_write_cache(&self, cache: &str) {
        let name = self.device.strip_prefix("/dev/").unwrap();
        fs::write(format!("/sys/block/{name}/queue/write_cache"), cache).unwrap();
    }

    fn directory(&self, name: &str) -> PathBuf {
        let path = self.place.path("mount").join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn run(&self, writes: &str, directory: &Path, out: &str) -> Value {
        self.place.write("w.toml", &workload(writes));
        let said = self.place.assay(&["run", "w.toml", text_of(directory), "--out", out]);
        let text = fs::read_to_string(self.place.path(out).join("verdict.json"));
        serde_json::from_str(&text.unwrap_or_else(|why| panic!("{why}: {said:?}"))).unwrap()
    }
}

impl Drop for OnLoop {
    fn drop(&mut self) {
        let _ = succeeds("umount", &[text_of(&self.place.path("mount"))]);
        self.set_write_cache("write back");
        let _ = succeeds("losetup", &["-d", &self.device]);
    }
}

fn flushes_per_sync(result: &Value) -> f64 {
    let durability = &result["durability"][0];
    assert!(durability["syncs"].as_u64().is_some_and(|syncs| syncs > 0), "{durability}");
    durability["flushes_per_sync"].as_f64().unwrap_or_else(|| panic!("{durability}"))
}

#[test]
fn file_systems_flush_once_for_what_was_written_before_and_twice_where_a_file_grows() {
    for (kind, writes, least, most) in [
        ("ext4", "overwrite", 0.95, 1.4),
        ("ext4", "append", 1.8, 2.4),
        ("xfs", "overwrite", 0.95, 1.4),
        ("xfs", "append", 1.8, 2.4),
        ("btrfs", "append", 1.8, 2.6),
    ] {
        let Some(on) = OnLoop::new(kind, "defaults") else { continue };
        let result = on.run(writes, &on.directory("data"), "run");
        let durability = &result["durability"][0];
        assert_eq!(durability["write_cache"], "write back", "{kind}: {durability}");
        assert!(on.device.ends_with(durability["device"].as_str().unwrap()), "{}: {durability}", on.device);
        let each = flushes_per_sync(&result);
        assert!((least..most).contains(&each), "{kind} {writes}: {each} flushes for each sync");
        assert!(!result["reason"].as_str().unwrap().contains("durable"), "{result}");
    }
}

#[test]
fn without_barriers_nothing_is_durable_whatever_the_times_are() {
    let Some(on) = OnLoop::new("ext4", "barrier=0") else { return };
    let result = on.run("append", &on.directory("data"), "run");
    let reason = result["reason"].as_str().unwrap();
    assert_eq!(result["verdict"], "INVALID", "{reason}");
    // The file system may flush a few times for itself, while it makes the directory.
    assert!(reason.contains("was made durable") && reason.contains("reached loop"), "{reason}");
    assert!(flushes_per_sync(&result) < 0.2, "{result}");
    // The same log says the same again, and the page shows it.
    assert_eq!(on.place.assay(&["judge", "run"]).code, Some(11));
    let page = fs::read_to_string(on.place.path("run/report.html")).unwrap();
    assert!(page.contains("Made durable") && page.contains(" flushes of loop"), "the page says it");
}

#[test]
fn a_device_without_a_write_cache_needs_no_flush_and_says_so() {
    let Some(on) = OnLoop::new("ext4", "defaults") else { return };
    on.set_write_cache("write through");
    let result = on.run("append", &on.directory("data"), "run");
    assert_eq!(flushes_per_sync(&result), 0.0, "the kernel leaves flushes out");
    assert!(!result["reason"].as_str().unwrap().contains("nothing was made durable"), "{result}");
    let said = in_one_line(&on.place.assay(&["judge", "run"]).out);
    assert!(said.contains("says that it has no write cache"), "{said}");
}

/// A directory in memory, until it is dropped.
struct InMemory(tempfile::TempDir);

impl InMemory {
    fn new() -> Option<InMemory> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = succeeds("mount", &["-t", "tmpfs", "tmpfs", text_of(dir.path())]);
        mounted.map(|()| InMemory(dir)).inspect_err(|why| eprintln!("skipped: no tmpfs can be mounted: {why}")).ok()
    }
}

impl Drop for InMemory {
    fn drop(&mut self) {
        let _ = succeeds("umount", &[text_of(self.0.path())]);
    }
}

/// Each sync flushes the disk, and none reaches a medium.
#[test]
fn a_disk_whose_file_is_in_memory_makes_nothing_durable() {
    let Some(memory) = InMemory::new() else { return };
    let Some(on) = OnLoop::over(&memory.0.path().join("image"), Place::new(), "ext4", "defaults") else { return };
    let result = on.run("append", &on.directory("data"), "run");
    let reason = result["reason"].as_str().unwrap();
    assert_eq!(result["verdict"], "INVALID", "{reason}");
    assert!(reason.contains("nothing was made durable") && reason.contains("tmpfs, which is memory"), "{reason}");
}

/// Flushes are counted over the whole run: what is switched off for a part of it would not be missed.
#[test]
fn a_mount_or_a_cache_that_is_changed_meanwhile_proves_nothing() {
    for (change, told) in [("barrier", "the mount options of"), ("cache", "write cache of loop")] {
        let Some(on) = OnLoop::new("ext4", "defaults") else { return };
        on.place.write("w.toml", &workload("append").replace("duration = \"2s\"", "duration = \"4s\""));
        let directory = on.directory("data");
        let running = on.place.start(&["run", "w.toml", text_of(&directory)], 1);
        if change == "barrier" {
            succeeds("mount", &["-o", "remount,barrier=0", text_of(&on.place.path("mount"))]).unwrap();
        } else {
            on.set_write_cache("write through");
        }
        let said = running.end();
        assert_eq!(said.code, Some(11), "{change}: {said:?}");
        assert!(in_one_line(&said.out).contains(told), "{change}: {}", said.out);
    }
}

#[test]
fn a_volatile_overlay_and_memory_make_nothing_durable() {
    let Some(on) = OnLoop::new("ext4", "defaults") else { return };
    for (options, volatile) in [("", false), (",volatile", true)] {
        let [lower, upper, work, point] = ["lower", "upper", "work", "over"].map(|name| on.directory(name));
        let layers =
            format!("lowerdir={},upperdir={},workdir={}{options}", text_of(&lower), text_of(&upper), text_of(&work));
        if let Err(why) = succeeds("mount", &["-t", "overlay", "overlay", "-o", &layers, text_of(&point)]) {
            eprintln!("skipped: no overlay can be mounted: {why}");
            return;
        }
        let out = if volatile { "volatile" } else { "plain" };
        let result = on.run("append", &point, out);
        succeeds("umount", &[text_of(&point)]).unwrap();
        let reason = result["reason"].as_str().unwrap();
        if volatile {
            assert_eq!(result["verdict"], "INVALID", "{reason}");
            assert!(reason.contains("nothing was made durable") && reason.contains("volatile"), "{reason}");
        } else {
            assert!(flushes_per_sync(&result) >= 1.8, "{result}");
        }
    }
    let memory = on.directory("memory");
    succeeds("mount", &["-t", "tmpfs", "tmpfs", text_of(&memory)]).unwrap();
    let result = on.run("append", &memory, "memory");
    succeeds("umount", &[text_of(&memory)]).unwrap();
    let reason = result["reason"].as_str().unwrap();
    assert!(result["verdict"] == "INVALID" && reason.contains("tmpfs is memory"), "{reason}");
}

/// A server that waits in its writes, and makes no other sync.
#[test]
fn writes_through_o_dsync_are_as_durable_as_the_place_is() {
    let Some(on) = OnLoop::new("ext4", "defaults") else { return };
    let service = "name = \"log\"\nmodel = \"service\"\nrate = \"100/s\"\narrival = \"steady\"\nduration = \"2s\"\nslice = \"2s\"\n\
                   interval = \"500ms\"\n[[file]]\nname = \"log\"\nsize = \"4MiB\"\nmade_by = \"zeros\"\nblock = \"4KiB\"\n\
                   when_full = \"start\"\naccess = \"dsync\"\n[writer]\nname = \"w\"\nentry = \"1000B\"\nsteps = [{ write = \"log\" }]\n";
    on.place.write("service.toml", service);
    let run = |directory: &Path, out: &str| -> Value {
        let said = on.place.assay(&["run", "service.toml", text_of(directory), "--out", out]);
        let text = fs::read_to_string(on.place.path(out).join("verdict.json"));
        serde_json::from_str(&text.unwrap_or_else(|why| panic!("{why}: {said:?}"))).unwrap()
    };
    let result = run(&on.directory("data"), "disk");
    assert_eq!(result["durability"][0]["streams"][0], "w-write", "{result}");
    let each = flushes_per_sync(&result);
    assert!((0.95..1.4).contains(&each), "{each} flushes for each write");
    let memory = on.directory("memory");
    succeeds("mount", &["-t", "tmpfs", "tmpfs", text_of(&memory)]).unwrap();
    let result = run(&memory, "memory");
    succeeds("umount", &[text_of(&memory)]).unwrap();
    let reason = result["reason"].as_str().unwrap();
    assert!(result["verdict"] == "INVALID" && reason.contains("nothing was made durable"), "{reason}");
}

/// The kernel answers each sync at once and does nothing, as a library does that swallows them below the system calls.
#[test]
fn syncs_that_the_kernel_does_not_carry_out_are_missed_at_the_disk() {
    for (call, writes) in [(libc::SYS_fdatasync, "append"), (libc::SYS_fsync, "append")] {
        let Some(on) = OnLoop::new("ext4", "defaults") else { return };
        let sync = if call == libc::SYS_fsync { "fsync" } else { "fdatasync" };
        on.place.write("w.toml", &workload(writes).replace("\"fdatasync\"", &format!("\"{sync}\"")));
        let directory = on.directory("data");
        let mut command = on.place.command(&["run", "w.toml", text_of(&directory), "--out", "run"]);
        crate::bed::refuse(&mut command, call, 0);
        let output = command.output().unwrap();
        let text = fs::read_to_string(on.place.path("run/verdict.json"));
        let result: Value = serde_json::from_str(&text.unwrap_or_else(|why| panic!("{why}: {output:?}"))).unwrap();
        let reason = result["reason"].as_str().unwrap();
        assert_eq!(result["verdict"], "INVALID", "{sync}: {reason}");
        assert!(reason.contains("was made durable"), "{sync}: {reason}");
    }
}

/// What the C library of this process is told has no effect: the calls are system calls of our own.
#[test]
fn a_library_that_swallows_syncs_changes_nothing_here() {
    let Some(on) = OnLoop::new("ext4", "defaults") else { return };
    let (source, library) = (on.place.path("swallow.c"), on.place.path("swallow.so"));
    let swallowed = "int fsync(int f){(void)f;return 0;}\nint fdatasync(int f){(void)f;return 0;}\n\
                     int msync(void*a,unsigned long n,int f){(void)a;(void)n;(void)f;return 0;}\n\
                     int syncfs(int f){(void)f;return 0;}\n";
    fs::write(&source, swallowed).unwrap();
    if let Err(why) = succeeds("gcc", &["-shared", "-fPIC", "-o", text_of(&library), text_of(&source)]) {
        eprintln!("skipped: no library can be made: {why}");
        return;
    }
    on.place.write("w.toml", &workload("append"));
    let directory = on.directory("data");
    let mut command = on.place.command(&["run", "w.toml", text_of(&directory), "--out", "run"]);
    let output = command.env("LD_PRELOAD", &library).output().unwrap();
    let text = fs::read_to_string(on.place.path("run/verdict.json"));
    let result: Value = serde_json::from_str(&text.unwrap_or_else(|why| panic!("{why}: {output:?}"))).unwrap();
    let each = flushes_per_sync(&result);
    assert!((1.8..2.4).contains(&each), "{each} flushes for each sync");
}
