//! `iostat -o JSON`: read as a stream, whether it has many lines or one. Only the innermost objects are needed, one per
//! device, and the few texts before them.

use super::findings::{Findings, Place};
use super::iostat::{Reports, find_column};
use super::options::Options;
use super::text;
use super::text::report_time;
use serde_json::{Map, Value};

/// Longest innermost object, or text between two brackets, that is examined.
const STRETCH_MAX: usize = 64 << 10;

/// A state machine that gets bytes.
#[derive(Default)]
pub(super) struct Machine {
    stretch: Vec<u8>,
    over: bool,
    quoted: bool,
    escaped: bool,
    line: u64,
    depth: i64,
    reports: Reports,
    known: bool,
}

impl Machine {
    /// The next bytes.
    pub(super) fn feed_bytes(&mut self, bytes: &[u8], place: Place, options: &Options, found: &mut Findings) {
        for &byte in bytes {
            self.line += u64::from(byte == b'\n');
            let place = Place { line: self.line + 1, ..place };
            if self.quoted {
                self.quoted = byte != b'"' || self.escaped;
                self.escaped = byte == b'\\' && !self.escaped;
                self.keep_byte(byte);
                continue;
            }
            match byte {
                b'"' => {
                    self.quoted = true;
                    self.keep_byte(byte);
                }
                b'{' | b'[' => {
                    self.depth += 1;
                    self.open_bracket(place, found);
                    self.stretch.clear();
                    self.over = false;
                }
                b'}' | b']' => {
                    self.depth -= 1;
                    if byte == b'}' {
                        self.close_object(place, options, found);
                    }
                    self.stretch.clear();
                    self.over = false;
                }
                _ => self.keep_byte(byte),
            }
        }
    }

    fn keep_byte(&mut self, byte: u8) {
        self.over |= self.stretch.len() >= STRETCH_MAX;
        if !self.over {
            self.stretch.push(byte);
        }
    }

    /// The text before a bracket: the machine's name, the time of a report, or the beginning of a report.
    fn open_bracket(&mut self, place: Place, found: &mut Findings) {
        let Ok(stretch) = std::str::from_utf8(&self.stretch) else { return };
        if let Some(host) = text_of_key(stretch, "\"nodename\"") {
            self.known = true;
            self.reports.start_iostat();
            found.current_file_seen().host.get_or_insert(assay_base::text::one_line(host));
        }
        if let Some(time) = text_of_key(stretch, "\"timestamp\"").and_then(report_time) {
            self.reports.set_time(place, time, found);
        }
        if stretch.trim_end().trim_end_matches(':').trim_end().ends_with("\"disk\"") {
            self.known = true;
            self.reports.begin_report();
        }
    }

    /// An innermost object: the values of a device.
    fn close_object(&mut self, place: Place, options: &Options, found: &mut Findings) {
        if self.over || !self.stretch.windows(13).any(|window| window == b"\"disk_device\"") {
            return;
        }
        let object = [b"{", &self.stretch[..], b"}"].concat();
        let Ok(Value::Object(values)) = serde_json::from_slice::<Value>(&object) else {
            return found.add_remark(place, "an object of a device that is not JSON; it is left out");
        };
        let Some(Value::String(name)) = values.get("disk_device") else { return };
        let columns = known_columns(&values);
        if !columns.iter().any(|(ours, _)| *ours == "r/s") {
            return found.add_remark(place, format!("{name} has no r/s; run `iostat -x -o JSON` without -s"));
        }
        let name = assay_base::text::one_line(name);
        self.reports.take_device(place, &name, &columns, options, found);
    }

    /// The file has ended.
    pub(super) fn end_file(mut self, place: Place, _options: &Options, found: &mut Findings) {
        let place = Place { line: self.line + 1, ..place };
        found.current_file_seen().lines += self.line;
        if self.depth != 0 || self.quoted {
            found.add_remark(place, "the JSON document is cut; its whole objects are used");
        }
        if !self.known {
            found.current_file_seen().other += 1;
            found.current_file_seen().first_other = Some((1, "a JSON document that is not iostat's".to_owned()));
        }
        self.reports.end_file(place, found);
    }
}

/// The text behind a key with its quotes.
fn text_of_key<'a>(stretch: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = stretch.split_once(key)?;
    rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?.split('"').next()
}

fn known_columns(values: &Map<String, Value>) -> Vec<(&'static str, f64)> {
    values
        .iter()
        .filter_map(|(name, value)| {
            let (ours, scale) = find_column(name)?;
            let number = value.as_f64().or_else(|| text::parse_number(value.as_str()?))?;
            Some((ours, number * scale))
        })
        .collect()
}
