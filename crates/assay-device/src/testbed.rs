//! The environment of the engines' tests: real files and loop devices, refused system calls, and child processes with
//! fewer rights.

use crate::clock::Clock;
use crate::durable::Durable;
use crate::facts::Slots;
use crate::inline::Inline;
use crate::open::Target;
use crate::safety::Roots;
use crate::threads::Threads;
use crate::uring::Uring;
use assay_base::{BlockDevice, Completion, Direction, Done, Geometry, Op, Span, Ticket};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes an engine, for the tests that all engines must pass.
pub(crate) type Make = fn(Vec<Target>, Slots) -> Box<dyn BlockDevice>;

/// The engines that do real I/O.
pub(crate) const ENGINES: [(&str, Make); 3] = [
    ("io_uring", |targets, slots| Box::new(Uring::new(targets, slots, Clock::start()).unwrap())),
    ("threads", |targets, slots| Box::new(Threads::new(targets, slots, Clock::start()).unwrap())),
    ("inline", |targets, slots| Box::new(Inline::new(targets, slots, Clock::start()).unwrap())),
];

/// Slots of 8 KiB.
pub(crate) fn slots(count: u32) -> Slots {
    Slots { count, spare: 0, bytes: 8192 }
}

/// A scratch file of zeros that is removed when the value is dropped.
pub(crate) fn scratch(size: u64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(size).unwrap();
    file
}

/// Opens `path` without the page cache where the file system supports it (tmpfs before Linux 6.6 does not: then
/// buffered).
pub(crate) fn open(path: &Path, write: bool) -> File {
    let direct = OpenOptions::new().read(true).write(write).custom_flags(libc::O_DIRECT).open(path);
    direct.or_else(|_| OpenOptions::new().read(true).write(write).open(path)).unwrap()
}

/// The first `size` bytes of `path` as a target of 512-byte blocks.
pub(crate) fn target(path: &Path, size: u64, write: bool) -> Target {
    let file = open(path, write);
    let durable = Durable::from_file(&Roots::of_machine(), file.as_fd());
    Target::over_range(file.into(), 0, Geometry { size, block: 512 }, write).with_durable_writes(durable)
}

/// A loop device over a sparse file; detached when dropped. `None` without root or without loop devices.
pub(crate) struct Loop {
    pub(crate) path: PathBuf,
    _file: tempfile::NamedTempFile,
}

impl Loop {
    pub(crate) fn of(size: u64) -> Option<Loop> {
        let file = scratch(size);
        let attached = crate::losetup::attach(file.path(), &["--direct-io=on"]);
        let path = attached.map_err(|why| writeln!(std::io::stderr(), "skipped: {why}")).ok()?;
        Some(Loop { path: path.into(), _file: file })
    }

    /// Field `field` (from 1) of the device's statistics (Documentation/block/stat.rst).
    pub(crate) fn stat(&self, field: usize) -> u64 {
        let name = self.path.file_name().unwrap();
        let text = std::fs::read_to_string(Path::new("/sys/block").join(name).join("stat")).unwrap();
        text.split_whitespace().nth(field - 1).unwrap().parse().unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.path).status();
    }
}

/// A read or write of `len` bytes at `offset` of target 0.
pub(crate) fn op(direction: Direction, offset: u64, len: u32) -> Op {
    Op { target: 0, direction, durable: false, offset, len }
}

/// Submits every operation with a ticket of its own and waits for all of them; returns completions in the order of
/// tickets.
pub(crate) fn carry(device: &mut dyn BlockDevice, ops: &[Op]) -> Vec<Completion> {
    let clock = Clock::start();
    for (ticket, op) in ops.iter().enumerate() {
        device.submit_request(clock.now(), Ticket(ticket as u32), op);
    }
    let mut done = Done::new();
    while done.len() < ops.len() {
        device.poll_completions(clock.now(), &mut done);
        if done.len() < ops.len() {
            device.wait_for_completion(Span::from_secs(1));
        }
        assert!(clock.now().as_ns() < 60_000_000_000, "{} of {} completed", done.len(), ops.len());
    }
    done.sort_by_key(|completion| completion.ticket);
    done
}

/// Makes the kernel answer `errno` to `syscall` for the calling thread and the threads it starts, permanently.
pub(crate) fn refuse(syscall: libc::c_long, errno: i32) {
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let program = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0), // the number of the call
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, syscall as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: both calls concern only this thread; the program lives during the call, which copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}

/// Runs `body` in a thread of its own, in which it may have system calls refused.
pub(crate) fn apart(body: impl FnOnce() + Send + 'static) {
    std::thread::spawn(body).join().unwrap();
}

/// The variable by which a child process knows that it is one.
const CHILD: &str = "ASSAY_TEST_CHILD";

/// Runs `body` in a child process, as the test `name` of this binary, where it may change limits and identity.
pub(crate) fn in_child(name: &str, body: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        return body();
    }
    let exe = std::env::current_exe().unwrap();
    let output = Command::new(exe).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Limits a resource of this process, soft and hard; only in a child process.
pub(crate) fn limit(resource: rustix::process::Resource, soft: u64, hard: u64) {
    let limit = rustix::process::Rlimit { current: Some(soft), maximum: Some(hard) };
    rustix::process::setrlimit(resource, limit).unwrap();
}

/// Whether this process has all rights.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Becomes a user without rights permanently; only in a child process. The kernel counts locked memory per user, so
/// tests of that use a separate user each.
pub(crate) fn become_user(id: libc::uid_t) {
    // SAFETY: changes this process's identity and touches no memory.
    assert_eq!(unsafe { libc::setresuid(id, id, id) }, 0);
}

/// Runs as a user other than root, who has only the rights that the mode of a file gives.
pub(crate) fn without_rights<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let nobody = || {
            if rustix::process::geteuid().is_root() {
                // For this thread only; the capabilities of root are dropped too.
                let nobody = rustix::thread::Uid::from_raw(65534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            run()
        };
        scope.spawn(nobody).join().unwrap()
    })
}
