//! Reads what was collected on production hosts: Aerospike's tables and logs, `asinfo`, `iostat`, traces of block I/O.
//! Each reader is a small state machine that gets one line at a time, so that a log of many gigabytes is read in
//! bounded memory. The kind of a file is detected from its content: a file may contain several kinds of text, like a
//! copied terminal session.
//!
//! Sources: "Advanced Flash Device Sizing" (2018) for asloglatency, `drv_ssd` lines and iostat of sysstat 10; Aerospike's
//! documentation on latency histograms; outputs of sysstat 12.6, fio 3.33 and blkparse 1.2.

mod asinfo;
mod asloglatency;
pub mod assemble;
mod blkparse_format;
mod container;
mod findings;
mod iostat;
mod json;
mod options;
mod recording;
mod seen;
mod server_log;
mod text;
mod tolerance;
mod trace;
mod trace_lines;

pub use assay_model::observed::Moments;
pub use blkparse_format::Format as BlkparseFormat;
pub use findings::{Blocks, Counter, DriveSeen, FileSeen, Findings, Found, Histogram, Place, Remark, Trace, Unit};
pub use options::Options;
pub use recording::{Played, Recorder};

use assay_base::text::one_line;
use memchr::memchr;

/// Longest line that is examined; the rest of a longer one is skipped and reported.
const LINE_MAX: usize = 64 << 10;

/// Reads the files of one collection, one after the other.
pub struct Collector {
    options: Options,
    found: Findings,
    readers: Readers,
    partial: Vec<u8>,
    /// Whether the rest of the present line, beyond the longest examined length, is being skipped.
    over: bool,
    line: u64,
    json: Option<json::Machine>,
    started: bool,
}

#[derive(Default)]
struct Readers {
    asloglatency: asloglatency::Reader,
    server: server_log::Reader,
    iostat: iostat::Reader,
    trace: trace_lines::Reader,
}

impl Readers {
    fn new(options: &Options) -> Readers {
        Readers { trace: trace_lines::Reader::new(options.blkparse_format.clone()), ..Readers::default() }
    }
}

impl Collector {
    /// The state before the first file.
    pub fn new(options: Options) -> Collector {
        Collector {
            readers: Readers::new(&options),
            options,
            found: Findings::default(),
            partial: Vec::new(),
            over: false,
            line: 0,
            json: None,
            started: false,
        }
    }

    /// Begins a file. `node` is the machine that it comes from, if the user named it; files of one `group` come from
    /// one machine.
    pub fn begin_file(&mut self, name: &str, node: &str, group: &str) {
        let (name, node, group) = (one_line(name), one_line(node), group.to_owned());
        self.found.files.push(FileSeen { name, node, group, ..FileSeen::default() });
        self.readers = Readers::new(&self.options);
        (self.line, self.json, self.started, self.over) = (0, None, false, false);
        self.partial.clear();
    }

    /// The next bytes of the file.
    pub fn feed_bytes(&mut self, mut bytes: &[u8]) {
        if !self.started {
            let Some(first) = bytes.iter().position(|byte| !byte.is_ascii_whitespace()) else { return };
            self.started = true;
            let is_json = bytes[first] == b'{' && !looks_like_histogram(&bytes[first..]);
            self.json = (is_json && !container::is_json_line(&bytes[first..])).then(json::Machine::default);
        }
        if let Some(machine) = &mut self.json {
            let place = Place { file: self.found.current_file(), line: 0 };
            return machine.feed_bytes(bytes, place, &self.options, &mut self.found);
        }
        while let Some(end) = memchr(b'\n', bytes) {
            if self.partial.is_empty() && !self.over && end <= LINE_MAX {
                self.take_line(&bytes[..end]);
            } else {
                self.keep_bytes(&bytes[..end]);
                self.flush_line();
            }
            bytes = &bytes[end + 1..];
        }
        self.keep_bytes(bytes);
    }

    fn keep_bytes(&mut self, bytes: &[u8]) {
        let room = LINE_MAX.saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.over |= bytes.len() > room;
    }

    fn flush_line(&mut self) {
        let line = std::mem::take(&mut self.partial);
        let over = std::mem::take(&mut self.over);
        self.take_line(&line);
        if over {
            let text = format!("the line is longer than {LINE_MAX} bytes; only its beginning was looked at");
            self.found.add_remark(self.current_place(), text);
        }
        self.partial = line;
        self.partial.clear();
    }

    fn current_place(&self) -> Place {
        Place { file: self.found.current_file(), line: self.line }
    }

    fn take_line(&mut self, bytes: &[u8]) {
        self.line += 1;
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let place = self.current_place();
        let lossy;
        let line = match std::str::from_utf8(bytes) {
            Ok(line) => line,
            Err(_) => {
                lossy = String::from_utf8_lossy(bytes).into_owned();
                &lossy
            }
        };
        let unpacked = container::from_json_line(line);
        let line = unpacked.as_deref().unwrap_or(line).trim_start_matches('\u{feff}');
        let found = &mut self.found;
        let Readers { asloglatency, server, iostat, trace } = &mut self.readers;
        // The longest files are the server's logs and traces: their readers are tried first, and decide from the first
        // bytes. Lines with a prompt above the output, or with a remark, are skipped.
        let aside = line.starts_with("$ ") || line.starts_with("# ");
        let taken = aside
            || server.take_line(place, line, found)
            || trace.take_line(place, line, found)
            || asloglatency.take_line(place, line, &self.options, found)
            || iostat.take_line(place, line, &self.options, found)
            || asinfo::take_line(place, line, found)
            || container::without_prefix(line).is_some_and(|line| server.take_line(place, line, found));
        let seen = found.current_file_seen();
        seen.lines += 1;
        if !taken && !line.trim().is_empty() {
            seen.other += 1;
            if seen.first_other.is_none() {
                seen.first_other = Some((place.line, line.chars().take(80).collect()));
            }
        }
    }

    /// The file has ended.
    pub fn end_file(&mut self) {
        if !self.partial.is_empty() || self.over {
            let other = self.found.current_file_seen().other;
            self.flush_line();
            if self.found.current_file_seen().other == other {
                let text = "the file ends within this line: if it was cut here, the last number is shorter than it was";
                self.found.add_remark(self.current_place(), text.to_owned());
            }
        }
        let place = self.current_place();
        if let Some(machine) = self.json.take() {
            machine.end_file(place, &self.options, &mut self.found);
        }
        self.readers.asloglatency.end_table(&self.options, &mut self.found);
        self.readers.server.end_file(&mut self.found);
        self.readers.trace.end_file(&mut self.found);
        self.readers.iostat.end_file(place, &self.options, &mut self.found);
    }

    /// Everything that was found.
    pub fn finish(self) -> Findings {
        self.found
    }
}

/// Distinguishes `{ycsb}-read` from a JSON document.
fn looks_like_histogram(bytes: &[u8]) -> bool {
    let name = bytes[1..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.$ ".contains(byte)).count();
    bytes.get(1 + name..).is_some_and(|rest| name > 0 && rest.starts_with(b"}-"))
}

#[cfg(test)]
mod tests;
