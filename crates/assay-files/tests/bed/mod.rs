//! What the tests stand on: file systems that are mounted for a test and unmounted after it, trees, and pictures of what
//! must not change. A test only touches what it made itself.

use assay_files::own_dir::{Conditions, Names, OwnDir, Place, Request, Resolution, Wants};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Reports that something was left out.
pub fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Whether this runs as root; prints a message when not.
pub fn root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("needs root, to mount and to give files away");
    }
    root
}

/// Runs a command; its output when it succeeded.
pub fn run(command: &[&str]) -> Result<String, String> {
    let path = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";
    let output = Command::new(command[0]).args(&command[1..]).env("PATH", path).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("{command:?}: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("{command:?}: {}", text(&output.stderr)))
    }
}

/// Something that is mounted until it is dropped.
pub struct Mounted {
    pub point: PathBuf,
    device: Option<String>,
}

impl Mounted {
    /// Mounts with these arguments of `mount` on a directory, which is made if it is not there.
    pub fn new(arguments: &[&str], point: &Path) -> Mounted {
        std::fs::create_dir_all(point).unwrap();
        let command = [&["mount"], arguments, &[point.to_str().unwrap()]].concat();
        run(&command).unwrap_or_else(|why| panic!("{why}"));
        Mounted { point: point.to_owned(), device: None }
    }

    pub fn tmpfs(point: &Path, options: &str) -> Mounted {
        Mounted::new(&["-t", "tmpfs", "-o", options, "tmpfs"], point)
    }

    /// A file system of this type on a loop device of its own, over an image beside the mount point; the reason, where
    /// this machine lacks something for it.
    pub fn on_loop(kind: &str, point: &Path) -> Result<Mounted, String> {
        let image = point.with_extension("image");
        std::fs::File::create(&image).unwrap().set_len(320 << 20).unwrap();
        run(&[&format!("mkfs.{kind}"), "-q", image.to_str().unwrap()])?;
        Mounted::image(&image, kind, point)
    }

    /// An ext4 with blocks of 4 KiB that does nothing by itself: its tables are written before it is mounted, and its device does not lie in the
    /// page cache.
    pub fn quiet_ext4(point: &Path) -> Result<Mounted, String> {
        let image = point.with_extension("image");
        std::fs::File::create(&image).unwrap().set_len(320 << 20).unwrap();
        let at_once = "lazy_itable_init=0,lazy_journal_init=0";
        run(&["mkfs.ext4", "-q", "-b", "4096", "-E", at_once, image.to_str().unwrap()])?;
        Mounted::image_with(&image, "ext4", point, &["--direct-io=on"])
    }

    /// A file system in an image, which is mounted as it is.
    pub fn image(image: &Path, kind: &str, point: &Path) -> Result<Mounted, String> {
        Mounted::image_with(image, kind, point, &[])
    }

    fn image_with(image: &Path, kind: &str, point: &Path, options: &[&str]) -> Result<Mounted, String> {
        let device = run(&[&["losetup", "-f", "--show"], options, &[image.to_str().unwrap()]].concat())?;
        std::fs::create_dir_all(point).unwrap();
        let mounted = run(&["mount", "-t", kind, &device, point.to_str().unwrap()]);
        let disk = Mounted { point: point.to_owned(), device: Some(device) };
        mounted.map(|_| disk)
    }

    pub fn remount(&self, options: &str) {
        run(&["mount", "-o", &format!("remount,{options}"), self.point.to_str().unwrap()]).unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = run(&["umount", "-l", self.point.to_str().unwrap()]);
        if let Some(device) = &self.device {
            let _ = run(&["losetup", "-d", device]);
        }
    }
}

/// Every file system that this machine can make, each mounted below a directory, by its name.
pub fn file_systems(below: &Path) -> Vec<(&'static str, Mounted)> {
    let mut all = Vec::new();
    for kind in ["ext4", "xfs", "btrfs"] {
        match Mounted::on_loop(kind, &below.join(kind)) {
            Ok(mounted) => all.push((kind, mounted)),
            Err(why) => skip(&format!("{kind}: {why}")),
        }
    }
    let tmpfs = Mounted::tmpfs(&below.join("tmpfs"), "size=300m");
    // Its two layers lie on two file systems, so that files and directories have other device numbers.
    for directory in ["lower", "tmpfs/upper", "tmpfs/work"] {
        std::fs::create_dir(below.join(directory)).unwrap();
    }
    let at = |name: &str| below.join(name).display().to_string();
    let layers = format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("tmpfs/upper"), at("tmpfs/work"));
    let overlay = Mounted::new(&["-t", "overlay", "-o", &layers, "overlay"], &below.join("overlay"));
    all.push(("overlay", overlay));
    all.push(("tmpfs", tmpfs));
    all
}

/// A small workload.
pub const SMALL: Wants = Wants { bytes: 1 << 20, files: 100, open_files: 10 };

/// Opens a place that has to be accepted.
pub fn open(path: &Path) -> Place {
    Place::open(path, Conditions::default()).unwrap_or_else(|why| panic!("{why}"))
}

/// Makes a directory for a run.
pub fn make(path: &Path, run: &str) -> OwnDir {
    make_with(path, run, None)
}

pub fn make_with(path: &Path, run: &str, resolution: Option<Resolution>) -> OwnDir {
    OwnDir::make(open(path), Request { run, wants: SMALL, resolution }).unwrap_or_else(|why| panic!("{why}"))
}

/// How many entries [`plant`] makes.
pub const PLANTED: u64 = 23;

/// Makes a tree of a run: two directories, one of them two levels deep, with files, a hard link and a symbolic link.
pub fn plant(own: &Path, names: &Names) {
    let (first, second) = (own.join(names.directory(0)), own.join(names.directory(1)));
    let deep = second.join(names.directory(2));
    for directory in [&first, &second, &deep] {
        std::fs::create_dir(directory).unwrap();
    }
    for number in 0..18 {
        let parent = [own, &first, &deep][number % 3];
        std::fs::write(parent.join(names.file(number as u64)), "ours").unwrap();
    }
    std::fs::hard_link(own.join(names.file(0)), deep.join(names.file(100))).unwrap();
    symlink("anywhere", first.join(names.symlink(0))).unwrap();
}

/// Names, types, owners and contents of everything in a directory. No link is followed.
pub fn picture(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(at) = directories.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let facts = path.symlink_metadata().unwrap();
            let what = if facts.is_dir() {
                directories.push(path.clone());
                String::new()
            } else if facts.is_symlink() {
                path.read_link().unwrap().display().to_string()
            } else {
                String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned()
            };
            found.insert(path, format!("{:o} {} {what}", facts.mode(), facts.uid()));
        }
    }
    found
}

/// The names in a directory.
pub fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Runs as a user other than root.
pub fn as_nobody<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let nobody = || {
            // For this thread only; the capabilities of root are dropped too.
            let nobody = rustix::thread::Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            act()
        };
        scope.spawn(nobody).join().unwrap()
    })
}
