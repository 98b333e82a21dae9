//! A log that grows line by line while the test holds it as a run holds its log, and a server that reads it.

use super::bed::{Place, Running, until};
use super::http;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout};

/// The lines of a complete log.
pub fn lines_of(place: &Place, dir: &str) -> Vec<String> {
    let text = std::fs::read_to_string(place.path(dir).join("run.jsonl")).unwrap();
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// A log that is being written.
pub struct Writer {
    file: File,
}

impl Writer {
    /// Begins a log in a new directory.
    pub fn begin(place: &Place, dir: &str) -> Writer {
        std::fs::create_dir_all(place.path(dir)).unwrap();
        let path = place.path(dir).join("run.jsonl");
        let file = OpenOptions::new().create_new(true).append(true).open(path).unwrap();
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
        Writer { file }
    }

    pub fn append(&mut self, lines: &[String]) {
        self.file.write_all(lines.concat().as_bytes()).unwrap();
    }

    pub fn append_bytes(&mut self, bytes: &[u8]) {
        self.file.write_all(bytes).unwrap();
    }
}

/// A server: `assay live`.
pub struct Live {
    pub running: Running,
    pub port: u16,
    /// What it printed: the address.
    pub url: String,
    _said: BufReader<ChildStdout>,
}

impl Live {
    pub fn serve(place: &Place, args: &[&str]) -> Live {
        let mut command = place.command(&[&["live"], args].concat());
        let mut child: Child = command.stderr(std::process::Stdio::inherit()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut url = String::new();
        said.read_line(&mut url).unwrap();
        let url = url.trim_end().to_owned();
        Live { running: Running::of(child), port: port_in(&url), url, _said: said }
    }

    /// The snapshot once the log was read up to line `seq`.
    pub fn at(&self, seq: usize) -> serde_json::Value {
        let mut snapshot = serde_json::Value::Null;
        until(&format!("line {seq}"), || {
            snapshot = http::get(self.port, "/snapshot.json").json();
            snapshot["lines"] != 0 && snapshot["seq"] == seq as u64
        });
        snapshot
    }

    /// The snapshot once nothing more will come.
    pub fn at_end(&self) -> serde_json::Value {
        let mut snapshot = serde_json::Value::Null;
        until("the end of the log", || {
            snapshot = http::get(self.port, "/snapshot.json").json();
            snapshot["over"] == true
        });
        snapshot
    }
}

pub fn port_in(url: &str) -> u16 {
    let after = url.rsplit_once(':').unwrap_or_else(|| panic!("no port in {url:?}")).1;
    after.split('/').next().unwrap().parse().unwrap()
}

/// The same lines as somebody would forge them who wants the streams of a run to be very many.
pub fn with_streams(lines: &[String], streams: usize) -> Vec<String> {
    let mut forged = Vec::new();
    for line in lines {
        let mut entry: serde_json::Value = serde_json::from_str(line).unwrap();
        match entry["kind"].as_str().unwrap() {
            "header" => {
                let (stream, flow) = (entry["streams"][0].clone(), entry["flows"][0].clone());
                let named = |at: usize| {
                    let mut stream = stream.clone();
                    stream["name"] = format!("s{at}").into();
                    stream
                };
                let numbered = |at: usize| {
                    let mut flow = flow.clone();
                    flow["stream"] = at.into();
                    flow
                };
                entry["streams"] = (0..streams).map(named).collect();
                entry["flows"] = (0..streams).map(numbered).collect();
            }
            "interval" => entry["flows"] = vec![entry["flows"][0].clone(); streams].into(),
            "histograms" => continue,
            _ => {}
        }
        let members = entry.as_object_mut().unwrap();
        let [_, seq, kind] = ["crc", "seq", "kind"].map(|name| members.remove(name).unwrap());
        // These two stand before all others.
        forged.push(sealed(&format!("\"seq\":{seq},\"kind\":{kind},{}", &entry.to_string()[1..])));
    }
    forged
}

/// A line with its checksum; `rest` is what stands behind that.
fn sealed(rest: &str) -> String {
    format!("{{\"crc\":\"{:08x}\",{rest}\n", crc_fast::crc32_iscsi(rest.as_bytes()))
}

/// The same lines with another name in the place of one: names of streams may not be hostile, but a log may be forged.
pub fn renamed(lines: &[String], from: &str, to: &str) -> Vec<String> {
    let (from, to) = (serde_json::json!(from).to_string(), serde_json::json!(to).to_string());
    lines.iter().map(|line| sealed(&line[18..].trim_end().replace(&from, &to))).collect()
}
