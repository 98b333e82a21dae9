//! A cluster of PostgreSQL that ends with the test program.
//!
//! The server listens on a socket only and does not run as root. It is held by a shell that stops it and removes its
//! files when its standard input is closed, which happens when the test program ends, however it does.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The directory of the newest server's programs.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut found: Vec<PathBuf> = versions.map(|it| it.path()).filter(|it| it.join("bin/initdb").exists()).collect();
    found.sort_by_key(|path| version(path));
    found.pop().map(|path| path.join("bin"))
}

/// A server of our own.
pub struct Cluster {
    pub dir: PathBuf,
    programs: PathBuf,
    shell: Mutex<Option<Child>>,
    port: std::sync::atomic::AtomicU16,
}

/// A program that is not run as root.
fn unprivileged(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(program);
    command
}

/// An empty directory of the user who runs the server.
fn directory() -> PathBuf {
    directory_in(&std::env::temp_dir())
}

fn directory_in(place: &Path) -> PathBuf {
    let dir = tempfile::tempdir_in(place).unwrap().keep();
    if rustix::process::geteuid().is_root() {
        succeeds(Command::new("chown").arg("nobody:nogroup").arg(&dir));
    }
    dir
}

pub fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl Cluster {
    /// Makes a cluster, or none where the server is not installed.
    pub fn make(options: &str) -> Option<Cluster> {
        Cluster::make_in(&std::env::temp_dir(), options)
    }

    /// The same with its files in a directory below this one.
    pub fn make_in(place: &Path, options: &str) -> Option<Cluster> {
        let Some(programs) = programs() else {
            assert!(std::env::var_os("CI").is_none(), "PostgreSQL is not installed: scripts/test-needs installs it");
            println!("skipped: PostgreSQL is not installed");
            return None;
        };
        let dir = directory_in(place);
        let data = dir.join("data");
        let mut initdb = unprivileged(&programs.join("initdb"));
        initdb.current_dir(&dir).arg("-D").arg(&data);
        succeeds(initdb.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]));
        let cluster = Cluster { dir, programs, shell: Mutex::new(None), port: 5432.into() };
        cluster.start(options);
        Some(cluster)
    }

    /// Starts a server on a copy of the files of one that [`Cluster::rest`]s.
    #[allow(dead_code, reason = "the tests of the program, which share this file, use it")]
    pub fn copy_of(other: &Cluster, options: &str) -> Cluster {
        let dir = directory();
        succeeds(unprivileged(Path::new("cp")).arg("-r").arg(other.dir.join("data")).arg(&dir));
        let cluster = Cluster { dir, programs: other.programs.clone(), shell: Mutex::new(None), port: 5432.into() };
        cluster.start(options);
        cluster
    }

    /// The cluster of this test program.
    pub fn shared() -> Option<&'static Cluster> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        SHARED.get_or_init(|| Cluster::make("-c fsync=off")).as_ref()
    }

    pub fn start(&self, options: &str) {
        let (dir, programs) = (self.dir.display(), self.programs.display());
        let script = format!(
            "{programs}/postgres -D {dir}/data -k {dir} -c listen_addresses= -c max_connections=60 {options} \
             >>{dir}/log 2>&1 & pid=$!; read -r line; [ \"$line\" = rest ] && kill -INT $pid || kill -QUIT $pid; \
             wait $pid; [ -n \"$line\" ] || rm -rf {dir}"
        );
        let mut shell = unprivileged(Path::new("/bin/sh"));
        shell.current_dir(&self.dir).args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::null());
        // In a group of its own, so that it outlives what kills the group of the test program.
        *self.shell.lock().unwrap() = Some(shell.process_group(0).spawn().unwrap());
        let begin = Instant::now();
        while !self.psql("template1", &["-c", "SELECT 1"]).output().unwrap().status.success() {
            let log = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
            assert!(begin.elapsed() < Duration::from_secs(60), "the server does not start: {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The number of the server's first process.
    pub fn server(&self) -> rustix::process::Pid {
        let text = std::fs::read_to_string(self.dir.join("data/postmaster.pid")).unwrap();
        rustix::process::Pid::from_raw(text.lines().next().unwrap().parse().unwrap()).unwrap()
    }

    /// All processes of the server.
    pub fn processes(&self) -> Vec<rustix::process::Pid> {
        let first = self.server();
        let children = format!("/proc/{0}/task/{0}/children", first.as_raw_nonzero());
        let children = std::fs::read_to_string(children).unwrap();
        let children = children.split_whitespace().filter_map(|it| rustix::process::Pid::from_raw(it.parse().unwrap()));
        std::iter::once(first).chain(children).collect()
    }

    /// Kills every process of the server, as a crash of its host would, and starts it again.
    pub fn crash(&self, options: &str) {
        for process in self.processes() {
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
        self.stop();
        self.wait_for_children();
        let _ = std::fs::remove_file(self.dir.join("data/postmaster.pid"));
        self.start(options);
    }

    /// Stops the server and leaves its files.
    pub fn stop(&self) {
        self.end(b"keep\n");
    }

    /// With a line the shell leaves the files where they are.
    fn end(&self, line: &[u8]) {
        let mut shell = self.shell.lock().unwrap().take().unwrap();
        std::io::Write::write_all(&mut shell.stdin.take().unwrap(), line).unwrap();
        shell.wait().unwrap();
    }

    /// Waits until no process works in the data directory. A session that began while the others were killed ends a moment
    /// later by itself, and a server does not start while one has its memory.
    fn wait_for_children(&self) {
        let data = self.dir.join("data");
        let is_at_work =
            |process: std::fs::DirEntry| std::fs::read_link(process.path().join("cwd")).is_ok_and(|it| it == data);
        let begin = Instant::now();
        while std::fs::read_dir("/proc").unwrap().flatten().any(is_at_work) {
            assert!(begin.elapsed() < Duration::from_secs(60), "processes of the server do not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Stops the server in order, so that it writes everything first, and leaves its files.
    #[allow(dead_code, reason = "the tests of the program, which share this file, use it")]
    pub fn stop_in_order(&self) {
        rustix::process::kill_process(self.server(), rustix::process::Signal::INT).unwrap();
        let begin = Instant::now();
        while self.dir.join("data/postmaster.pid").exists() {
            assert!(begin.elapsed() < Duration::from_secs(60), "the server does not stop");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.stop();
    }

    /// Stops the server after it has written all that it has in memory. The files stay until the test program ends.
    #[allow(dead_code, reason = "the tests of the program, which share this file, use it")]
    pub fn rest(&self) {
        self.end(b"rest\n");
        let mut shell = unprivileged(Path::new("/bin/sh"));
        shell.args(["-c", &format!("read -r line; rm -rf {}", self.dir.display())]).stdin(Stdio::piped());
        *self.shell.lock().unwrap() = Some(shell.process_group(0).spawn().unwrap());
    }

    /// Stops the server and starts it again on another port, which is part of the name of its socket too.
    pub fn restart(&self, port: u16, options: &str) {
        self.stop();
        self.port.store(port, Ordering::Relaxed);
        self.start(options);
    }

    pub fn psql(&self, database: &str, arguments: &[&str]) -> Command {
        let mut command = self.client("psql");
        command.args(["-d", database, "-XAtq", "-v", "ON_ERROR_STOP=1"]).args(arguments);
        command
    }

    /// A program of the server's packages that connects to it.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        let port = self.port.load(Ordering::Relaxed).to_string();
        command.arg("-h").arg(&self.dir).args(["-p", &port, "-U", "postgres"]);
        command.env_remove("PGOPTIONS").env("PGTZ", "UTC");
        command
    }
}
