//! Real loop devices, mounts and helper processes, each undone when dropped. A test only touches what it created
//! itself.

#[path = "losetup.rs"]
pub mod losetup;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};

/// Whether loop devices may be created here; prints a message when not.
pub fn root() -> bool {
    let root = root_user() && Path::new("/dev/loop-control").exists();
    if !root {
        skip("needs root and loop devices");
    }
    root
}

/// Whether this runs as root.
pub fn root_user() -> bool {
    rustix::process::geteuid().is_root()
}

/// Tests of this file run one after the other: between fork and exec, a child process of one test would hold the
/// devices of another.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Whether as many loop devices can be attached at once; prints a message when not. A test that needs more than the eight of which every
/// machine has nodes asks this first.
pub fn enough_loops(count: usize) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let mut attached = Vec::new();
    while attached.len() < count {
        let image = dir.path().join(attached.len().to_string());
        std::fs::write(&image, [0; 4096]).unwrap();
        match losetup::attach(&image, &[]) {
            Ok(dev) => attached.push(Loop { image, dev }),
            Err(why) => {
                skip(&format!("needs {count} loop devices at once, and {} can be had: {why}", attached.len()));
                return false;
            }
        }
    }
    true
}

/// Reports that something was left out.
pub fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
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

/// Whether a program is installed; prints a message when not.
pub fn have(program: &str) -> bool {
    let found = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(program).exists());
    if !found {
        skip(&format!("{program} is not installed"));
    }
    found
}

/// An image file with a loop device on it.
pub struct Loop {
    pub image: PathBuf,
    pub dev: String,
}

impl Loop {
    /// A blank loop device.
    pub fn blank(dir: &Path, name: &str, size: u64) -> Loop {
        let image = dir.join(name);
        File::create(&image).unwrap().set_len(size).unwrap();
        Loop::over(&image, &["--direct-io=on"])
    }

    /// A loop device over something that exists.
    pub fn over(image: &Path, options: &[&str]) -> Loop {
        let dev = losetup::attach(image, options).unwrap_or_else(|why| panic!("{why}"));
        Loop { image: image.to_path_buf(), dev }
    }

    pub fn path(&self) -> &Path {
        Path::new(&self.dev)
    }

    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let file = File::options().write(true).open(&self.dev).unwrap();
        file.write_all_at(bytes, offset).unwrap();
        file.sync_all().unwrap();
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = run(&["losetup", "-d", &self.dev]);
    }
}

/// A mount.
pub struct Mount {
    pub point: PathBuf,
}

impl Mount {
    pub fn new(dev: &str, dir: &Path, name: &str) -> Result<Mount, String> {
        let point = dir.join(name);
        std::fs::create_dir_all(&point).unwrap();
        run(&["mount", dev, point.to_str().unwrap()])?;
        run(&["sync", "-f", point.to_str().unwrap()])?;
        Ok(Mount { point })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = run(&["umount", self.point.to_str().unwrap()]);
    }
}

/// A process that keeps something open until its input ends.
pub struct Holder {
    pub child: Child,
}

impl Holder {
    /// Starts it and waits for its line "held".
    pub fn start(command: &mut Command) -> Holder {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let held = lines.map_while(Result::ok).any(|line| line.contains("held"));
        assert!(held, "the holder could not hold");
        Holder { child }
    }

    /// A shell.
    pub fn shell(script: &str) -> Holder {
        Holder::start(Command::new("/bin/sh").args(["-c", script]))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Runs as a user other than root, who has only the rights that the mode of a file gives.
pub fn without_rights<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let nobody = || {
            if root_user() {
                // For this thread only; the capabilities of root are dropped too.
                let nobody = rustix::thread::Uid::from_raw(65534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            run()
        };
        scope.spawn(nobody).join().unwrap()
    })
}

/// The content of a file as one checksum over its non-zero blocks, so that the positions of holes do not matter.
pub fn sum(path: &Path) -> blake3::Hash {
    let mut file = File::open(path).unwrap();
    file.sync_all().unwrap();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&file.metadata().unwrap().len().to_le_bytes());
    let mut at = 0;
    while let Ok(data) = rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(at)) {
        let end = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(data)).unwrap();
        file.seek(SeekFrom::Start(data)).unwrap();
        let mut bytes = Vec::new();
        (&file).take(end - data).read_to_end(&mut bytes).unwrap();
        for (i, block) in bytes.chunks(4096).enumerate().filter(|(_, block)| block.iter().any(|b| *b != 0)) {
            hasher.update(&(data + 4096 * i as u64).to_le_bytes()).update(block);
        }
        at = end;
    }
    hasher.finalize()
}
