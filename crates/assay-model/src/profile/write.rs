//! Writes a profile as a document: TOML that a person reads and edits, with the source of each number behind it.

use super::{Drive, Flow, Kind, LargeBlocks, Profile, ProfilePart, Sizes, Sourced};
use assay_base::Bytes;
use assay_base::text::one_line;
use std::collections::BTreeSet;
use std::fmt::Display;

/// Where comments begin, unless a value is longer.
const COMMENT_AT: usize = 44;
/// Upper bound on the proposed criteria of one part.
const CRITERIA_MAX: usize = 3;

/// The document. `head` are comment lines at its top.
pub fn write(profile: &Profile, name: &str, head: &[String]) -> String {
    let mut out = Document::default();
    head.iter().for_each(|line| out.comment(line));
    out.blank();
    out.plain("name", quoted(name));
    out.plain("model", quoted("profile"));
    if let Some(drive) = &profile.drive {
        out.plain("drive", quoted(drive));
    }
    profile.parts.iter().for_each(|part| part_of(part, &mut out));
    profile.drives.iter().for_each(|drive| drive_of(drive, &mut out));
    criteria(profile, &mut out);
    out.0
}

/// The response times of clients, as criteria that a person may enable: comments, because otherwise the standard
/// criteria apply.
fn criteria(profile: &Profile, out: &mut Document) {
    let mut told = BTreeSet::new();
    for part in &profile.parts {
        let Some(over) = &part.reads_over else { continue };
        let alone = profile.parts.iter().filter(|other| other.node == part.node).count() == 1;
        let stream = if alone { "reads".to_owned() } else { format!("{}.reads", part.name) };
        if !told.insert(stream.clone()) {
            continue;
        }
        out.blank();
        if told.len() == 1 {
            out.comment(
                "To require the response times that clients had in production, instead of the standard criteria, remove the # signs:",
            );
        }
        for (over, share) in over.value.iter().filter(|(_, share)| share.as_ppb() > 0).take(CRITERIA_MAX) {
            let criterion = [
                "[[criterion]]".to_owned(),
                format!("stream = {}", quoted(&stream)),
                format!("share_over = {}", quoted(over)),
                format!("at_most = {}", quoted(share)),
            ];
            criterion.iter().for_each(|line| out.comment(line));
        }
    }
}

#[derive(Default)]
struct Document(String);

impl Document {
    fn blank(&mut self) {
        if !self.0.is_empty() && !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
    }

    fn comment(&mut self, line: &str) {
        let line = one_line(line);
        self.0 += if line.is_empty() { "#" } else { "# " };
        self.0 += &line;
        self.0.push('\n');
    }

    fn table(&mut self, header: &str) {
        self.blank();
        self.0 += header;
        self.0.push('\n');
    }

    fn plain(&mut self, key: &str, value: impl Display) {
        self.0 += &format!("{key} = {value}\n");
    }

    /// A value with a text form, and its source.
    fn said<T: Display>(&mut self, key: &str, value: &Option<Sourced<T>>) {
        self.sourced(key, value, |value| quoted(value));
    }

    /// A value and its source.
    fn sourced<T>(&mut self, key: &str, value: &Option<Sourced<T>>, text: impl Fn(&T) -> String) {
        let Some(Sourced { value, source }) = value else { return };
        let line = format!("{key} = {}", text(value));
        self.0 += &format!("{line:COMMENT_AT$}  # {}\n", one_line(source));
    }
}

/// A text in TOML's basic quotes.
fn quoted(text: impl Display) -> String {
    let text = text.to_string();
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            c if c.is_control() || c == '\u{7f}' => out += &format!("\\u{:04X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

fn pairs<A: Display, B: Display>(all: &[(A, B)]) -> String {
    let pairs: Vec<String> = all.iter().map(|(a, b)| format!("[{}, {}]", quoted(a), quoted(b))).collect();
    format!("[{}]", pairs.join(", "))
}

fn part_of(part: &ProfilePart, out: &mut Document) {
    let table = match part.kind {
        Kind::Namespace => "namespace",
        Kind::Application => "application",
    };
    out.table(&format!("[[{table}]]"));
    out.plain("name", quoted(&part.name));
    if !part.node.is_empty() {
        out.plain("node", quoted(&part.node));
    }
    if !part.drives.is_empty() {
        let drives: Vec<String> = part.drives.iter().map(quoted).collect();
        out.plain("drives", format!("[{}]", drives.join(", ")));
    }
    if part.commit_to_device {
        out.plain("commit_to_device", true);
    }
    if let Some(least) = part.commit_min {
        out.plain("commit_min", quoted(least));
    }
    if let Some(share) = part.compress_to {
        out.plain("compress_to", quoted(share));
    }
    for (name, flow) in [("reads", &part.reads), ("writes", &part.writes)] {
        if let Some(flow) = flow {
            out.table(&format!("[{table}.{name}]"));
            flow_of(flow, out);
        }
    }
    if part.kind == Kind::Namespace {
        out.table(&format!("[{table}.large_blocks]"));
        blocks_of(&part.large_blocks, out);
    }
    if part.reads_over.is_some() || part.writes_over.is_some() {
        out.table(&format!("[{table}.clients]"));
        out.sourced("reads_over", &part.reads_over, |all| pairs(all));
        out.sourced("writes_over", &part.writes_over, |all| pairs(all));
    }
}

fn flow_of(flow: &Flow, out: &mut Document) {
    out.said("rate", &flow.rate);
    let key = match flow.sizes.as_ref().map(|sizes| &sizes.value) {
        Some(Sizes::Each(_)) => "sizes",
        _ => "larger_than",
    };
    out.sourced(key, &flow.sizes, |sizes| match sizes {
        Sizes::LargerThan(lines) | Sizes::Each(lines) => pairs(lines),
    });
    if key == "larger_than" && flow.sizes.is_some() {
        out.plain("position", quoted(flow.position));
    }
    if flow.durable {
        out.plain("durable", true);
    }
    let habits = &flow.habits;
    out.said("sequential", &habits.sequential);
    out.sourced("zipf", &habits.zipf, |(exponent, _)| format!("{exponent:.2}"));
    out.sourced("zipf_error", &habits.zipf, |(_, error)| quoted(error));
    out.sourced("hot_zones", &habits.hot_zones, |all| pairs(all));
    out.sourced("dispersion", &habits.dispersion, |all| {
        let pairs = all.iter().map(|(window, index)| format!("[{}, {index:.2}]", quoted(window)));
        format!("[{}]", pairs.collect::<Vec<_>>().join(", "))
    });
    out.sourced("hours", &habits.hours, |all| {
        format!("[{}]", all.iter().map(|rate| format!("{rate:.1}")).collect::<Vec<_>>().join(", "))
    });
}

fn blocks_of(blocks: &LargeBlocks, out: &mut Document) {
    out.plain("size", quoted(blocks.size));
    out.said("writes", &blocks.writes);
    out.said("direct_frees", &blocks.direct_frees);
    out.said("reads", &blocks.reads);
    if blocks.writes.is_none() {
        out.plain("defrag_below", quoted(blocks.defrag_below));
    }
    out.plain("write_scale", quoted(blocks.write_scale));
    out.plain("read_scale", quoted(blocks.read_scale));
    if !blocks.durable {
        out.plain("durable", false);
    }
}

fn drive_of(drive: &Drive, out: &mut Document) {
    out.table("[[iostat]]");
    out.plain("drive", quoted(&drive.name));
    if !drive.node.is_empty() {
        out.plain("node", quoted(&drive.node));
    }
    out.said("reads", &drive.reads);
    out.said("writes", &drive.writes);
    out.sourced("read_bytes", &drive.read_bytes, kib);
    out.sourced("write_bytes", &drive.write_bytes, kib);
    out.said("read_await", &drive.read_await);
    out.said("write_await", &drive.write_await);
    out.said("reads_deviation", &drive.reads_deviation);
    out.said("writes_deviation", &drive.writes_deviation);
    if drive.reports > 0 {
        out.plain("reports", drive.reports);
    }
}

/// Bytes in KiB, as iostat prints them, where that is exact with two decimals.
fn kib(bytes: &Bytes) -> String {
    let n = u128::from(bytes.get());
    if !(n * 100).is_multiple_of(1024) {
        return quoted(bytes);
    }
    quoted(format_args!(
        "{}KiB",
        format!("{}.{:02}", n / 1024, n * 100 / 1024 % 100).trim_end_matches("00").trim_end_matches('.')
    ))
}
