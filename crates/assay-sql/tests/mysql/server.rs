//! A MariaDB server that ends with the test program.
//!
//! The server listens on a socket only, unless it is told otherwise, and does not run as root. It is held by a shell that
//! ends it and removes its files when its standard input is closed, which happens when the test program ends, however it
//! does.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A server of our own.
pub struct Server {
    pub dir: PathBuf,
    shell: Mutex<Option<Child>>,
}

/// A program that is not run as root.
fn unprivileged(program: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(program);
    command
}

/// A directory of the user who runs the server, with one for its temporary files.
fn directory() -> PathBuf {
    let dir = tempfile::tempdir().unwrap().keep();
    std::fs::create_dir(dir.join("tmp")).unwrap();
    if rustix::process::geteuid().is_root() {
        succeeds(Command::new("chown").args(["-R", "nobody:nogroup"]).arg(&dir));
    }
    dir
}

pub fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Where Debian has the server, which is not on everybody's path.
const PROGRAM: &str = "/usr/sbin/mariadbd";

impl Server {
    /// Makes a server, or none where it is not installed.
    pub fn make(options: &str) -> Option<Server> {
        if !Path::new(PROGRAM).exists() {
            assert!(std::env::var_os("CI").is_none(), "MariaDB is not installed: scripts/test-needs installs it");
            println!("skipped: MariaDB is not installed");
            return None;
        }
        let dir = directory();
        let mut install = unprivileged("mariadb-install-db");
        install.current_dir(&dir).args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        install.args(["--innodb-log-file-size=16M", "--innodb-flush-method=nosync"]);
        let at = |option: &str, name: &str| format!("--{option}={}", dir.join(name).display());
        succeeds(install.args([at("datadir", "data"), at("tmpdir", "tmp")]));
        let server = Server { dir, shell: Mutex::new(None) };
        server.start(options);
        Some(server)
    }

    /// A server that is not started yet, on a copy of the files of one that [`Server::rest`]s.
    #[allow(dead_code, reason = "the tests of the program, which share this file, use it")]
    pub fn copy_of(other: &Server) -> Server {
        let dir = directory();
        succeeds(unprivileged("cp").arg("-r").arg(other.dir.join("data")).arg(&dir));
        Server { dir, shell: Mutex::new(None) }
    }

    /// The server of this test program, which waits for no disk.
    pub fn shared() -> Option<&'static Server> {
        static SHARED: OnceLock<Option<Server>> = OnceLock::new();
        SHARED.get_or_init(|| Server::make("--innodb-flush-method=nosync")).as_ref()
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.join("socket")
    }

    pub fn start(&self, options: &str) {
        let network = if options.contains("--port") { "" } else { "--skip-networking" };
        let dir = self.dir.display();
        let script = format!(
            "{PROGRAM} --no-defaults --datadir={dir}/data --tmpdir={dir}/tmp --socket={dir}/socket --pid-file={dir}/pid \
             --innodb-log-file-size=16M --max-connections=100 {network} {options} >>{dir}/log 2>&1 & pid=$!; read -r line; \
             [ -n \"$line\" ] && kill -TERM $pid || kill -KILL $pid; wait $pid; [ -n \"$line\" ] || rm -rf {dir}"
        );
        let mut shell = unprivileged("/bin/sh");
        shell.current_dir(&self.dir).args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::null());
        // In a group of its own, so that it outlives what kills the group of the test program.
        *self.shell.lock().unwrap() = Some(shell.stderr(Stdio::null()).process_group(0).spawn().unwrap());
        let begin = Instant::now();
        while !self.client(&["-e", "SELECT 1"]).output().unwrap().status.success() {
            let log = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
            assert!(begin.elapsed() < Duration::from_secs(60), "the server does not start: {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The number of the server's process.
    pub fn process(&self) -> rustix::process::Pid {
        let text = std::fs::read_to_string(self.dir.join("pid")).unwrap();
        rustix::process::Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    }

    /// Kills the server, as a crash would, and starts it again.
    pub fn crash(&self, options: &str) {
        rustix::process::kill_process(self.process(), rustix::process::Signal::KILL).unwrap();
        self.restart(options);
    }

    /// Stops the server, if it still runs, and starts it again.
    pub fn restart(&self, options: &str) {
        self.stop();
        self.start(options);
    }

    /// Stops the server, if it still runs, and leaves its files.
    pub fn stop(&self) {
        let mut shell = self.shell.lock().unwrap().take().unwrap();
        // With a line the shell leaves the files where they are.
        std::io::Write::write_all(&mut shell.stdin.take().unwrap(), b"keep\n").unwrap();
        shell.wait().unwrap();
    }

    /// Stops the server. The files stay until the test program ends.
    #[allow(dead_code, reason = "the tests of the program, which share this file, use it")]
    pub fn rest(&self) {
        self.stop();
        let mut shell = unprivileged("/bin/sh");
        shell.args(["-c", &format!("read -r line; rm -rf {}", self.dir.display())]).stdin(Stdio::piped());
        *self.shell.lock().unwrap() = Some(shell.process_group(0).spawn().unwrap());
    }

    pub fn client(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("mariadb");
        command.arg("--no-defaults").arg("-S").arg(self.socket()).args(["-u", "root", "-N", "-B", "--unbuffered"]);
        command.args(arguments).env_remove("MYSQL_PWD");
        command
    }
}
