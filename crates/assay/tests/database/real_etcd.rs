//! An etcd of our own on a directory, and an open load of puts to it through its gateway of JSON over HTTP.

use super::bed::until;
use super::traced_calls::TracedProgram;
use base64::Engine;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How many bytes a key and a value have.
pub const KEY: usize = 32;
pub const VALUE: usize = 1024;
/// How many connections share the load.
const CLIENTS: u64 = 20;

/// A server that strace watches.
pub struct RealEtcd {
    pub program: TracedProgram,
    port: u16,
}

/// A port that nobody uses at this moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl RealEtcd {
    /// Starts a server whose files are below a directory, or none where it is not installed.
    pub fn start(directory: &Path, trace: &Path) -> Option<RealEtcd> {
        if Command::new("etcd").arg("--version").output().is_err() {
            println!("skipped: etcd is not installed");
            return None;
        }
        let (port, peers) = (free_port(), free_port());
        let (clients, peers) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peers}"));
        let mut etcd = Command::new("etcd");
        etcd.arg("--data-dir").arg(directory.join("etcd"));
        etcd.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        etcd.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        etcd.args(["--initial-cluster", &format!("default={peers}")]);
        let etcd = RealEtcd { program: TracedProgram::start(trace, &etcd, Stdio::null()), port };
        until("etcd to answer", || etcd.answers());
        Some(etcd)
    }

    fn answers(&self) -> bool {
        let Ok(stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        Connection::new(stream).put("first", 1).is_ok()
    }

    fn connection(&self) -> Connection {
        Connection::new(TcpStream::connect(("127.0.0.1", self.port)).unwrap())
    }

    /// Makes a database with free pages, as one has that is in use for long: pages that are written again are on blocks of
    /// the file system that are written already.
    pub fn age(&self) {
        let mut connection = self.connection();
        for _ in 0..24 {
            connection.put("filling", 1_000_000).unwrap();
        }
        let answer = connection.post("/v3/kv/compaction", "{\"revision\":\"24\",\"physical\":true}").unwrap();
        assert!(answer.contains("revision"), "{answer}");
        connection.put("filling", 1).unwrap();
        self.load(100, Duration::from_millis(500));
    }

    /// Puts so many times a second, each at its time whether or not those before it are answered, and returns their
    /// number. Page commits that follow are over when it returns.
    pub fn load(&self, per_second: u64, length: Duration) -> u64 {
        let begin = Instant::now();
        let puts = per_second * length.as_millis() as u64 / 1000;
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                scope.spawn(move || self.load_of_client(client, puts, begin, per_second));
            }
        });
        std::thread::sleep(Duration::from_millis(500));
        puts
    }

    fn load_of_client(&self, client: u64, puts: u64, begin: Instant, per_second: u64) {
        let mut connection = self.connection();
        for put in (client..puts).step_by(CLIENTS as usize) {
            let wanted = begin + Duration::from_micros(put * 1_000_000 / per_second);
            std::thread::sleep(wanted.saturating_duration_since(Instant::now()));
            connection.put(&format!("{:0KEY$}", put % 500), VALUE).unwrap();
        }
    }
}

/// A connection that stays open.
struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn new(stream: TcpStream) -> Connection {
        stream.set_nodelay(true).unwrap();
        Connection { stream: BufReader::new(stream) }
    }

    fn put(&mut self, key: &str, bytes: usize) -> std::io::Result<String> {
        let encoded = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        let (key, value) = (encoded(key.as_bytes()), encoded(&vec![b'v'; bytes]));
        self.post("/v3/kv/put", &format!("{{\"key\":\"{key}\",\"value\":\"{value}\"}}"))
    }

    fn post(&mut self, path: &str, body: &str) -> std::io::Result<String> {
        let head = format!("POST {path} HTTP/1.1\r\nHost: etcd\r\nContent-Length: {}\r\n\r\n", body.len());
        self.stream.get_mut().write_all([head.as_str(), body].concat().as_bytes())?;
        let (mut length, mut first) = (0, String::new());
        self.stream.read_line(&mut first)?;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            if line.trim_end().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        if first.contains(" 200 ") { Ok(answer) } else { Err(std::io::Error::other(first + &answer)) }
    }
}
