//! Writes a profile as a document: TOML that a person reads and edits, with the source of each number behind it.

use super::{Drive, Flow, LargeBlocks, PartKind, Profile, ProfilePart, Seen, Sizes, Sourced};
use crate::address::Address;
use crate::arrival::Bursts;
use crate::plan::Arrival;
use assay_base::Bytes;
use assay_base::text::one_line;
use std::collections::BTreeSet;
use std::fmt::Display;

/// Where comments begin, unless a value is longer.
const COMMENT_AT: usize = 44;
/// Upper bound on the proposed criteria of one part.
const CRITERIA_MAX: usize = 3;

/// The document. `head` are comment lines at its top.
pub fn write_profile(profile: &Profile, name: &str, head: &[String]) -> String {
    let mut out = Document::default();
    head.iter().for_each(|line| out.comment_line(line));
    out.blank_line();
    out.plain_value("name", quote_text(name));
    out.plain_value("model", quote_text("profile"));
    if let Some(drive) = &profile.drive {
        out.plain_value("drive", quote_text(drive));
    }
    profile.parts.iter().for_each(|part| part_of(part, &mut out));
    profile.drives.iter().for_each(|drive| drive_of(drive, &mut out));
    write_criteria(profile, &mut out);
    out.0
}

/// The response times of clients, as criteria that a person may enable: comments, because otherwise the standard
/// criteria apply.
fn write_criteria(profile: &Profile, out: &mut Document) {
    let mut told = BTreeSet::new();
    for part in &profile.parts {
        let Some(over) = &part.reads_over else { continue };
        let alone = profile.parts.iter().filter(|other| other.node == part.node).count() == 1;
        let stream = if alone { "reads".to_owned() } else { format!("{}.reads", part.name) };
        if !told.insert(stream.clone()) {
            continue;
        }
        out.blank_line();
        if told.len() == 1 {
            out.comment_line(
                "To require the response times that clients had in production, instead of the standard criteria, remove the # signs:",
            );
        }
        for (over, share) in over.value.iter().filter(|(_, share)| share.as_ppb() > 0).take(CRITERIA_MAX) {
            let criterion = [
                "[[criterion]]".to_owned(),
                format!("stream = {}", quote_text(&stream)),
                format!("share_over = {}", quote_text(over)),
                format!("at_most = {}", quote_text(share)),
            ];
            criterion.iter().for_each(|line| out.comment_line(line));
        }
    }
}

#[derive(Default)]
struct Document(String);

impl Document {
    fn blank_line(&mut self) {
        if !self.0.is_empty() && !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
    }

    fn comment_line(&mut self, line: &str) {
        let line = one_line(line);
        self.0 += if line.is_empty() { "#" } else { "# " };
        self.0 += &line;
        self.0.push('\n');
    }

    fn table_header(&mut self, header: &str) {
        self.blank_line();
        self.0 += header;
        self.0.push('\n');
    }

    fn plain_value(&mut self, key: &str, value: impl Display) {
        self.0 += &format!("{key} = {value}\n");
    }

    /// A value with a text form, and its source.
    fn sourced_display<T: Display>(&mut self, key: &str, value: &Option<Sourced<T>>) {
        self.sourced_value(key, value, |value| quote_text(value));
    }

    /// A value and its source.
    fn sourced_value<T>(&mut self, key: &str, value: &Option<Sourced<T>>, text: impl Fn(&T) -> String) {
        let Some(Sourced { value, source }) = value else { return };
        let line = format!("{key} = {}", text(value));
        self.0 += &format!("{line:COMMENT_AT$}  # {}\n", one_line(source));
    }
}

/// A text in TOML's basic quotes.
fn quote_text(text: impl Display) -> String {
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

fn pairs_as_text<A: Display, B: Display>(all: &[(A, B)]) -> String {
    let pairs: Vec<String> = all.iter().map(|(a, b)| format!("[{}, {}]", quote_text(a), quote_text(b))).collect();
    format!("[{}]", pairs.join(", "))
}

fn part_of(part: &ProfilePart, out: &mut Document) {
    let table = match part.kind {
        PartKind::Namespace => "namespace",
        PartKind::Application => "application",
    };
    out.table_header(&format!("[[{table}]]"));
    out.plain_value("name", quote_text(&part.name));
    if !part.node.is_empty() {
        out.plain_value("node", quote_text(&part.node));
    }
    if !part.drives.is_empty() {
        let drives: Vec<String> = part.drives.iter().map(quote_text).collect();
        out.plain_value("drives", format!("[{}]", drives.join(", ")));
    }
    out.sourced_value("in_flight", &part.in_flight, u32::to_string);
    out.sourced_display("flushes", &part.flushes);
    if part.commit_to_device {
        out.plain_value("commit_to_device", true);
    }
    if let Some(least) = part.commit_min {
        out.plain_value("commit_min", quote_text(least));
    }
    if let Some(share) = part.compress_to {
        out.plain_value("compress_to", quote_text(share));
    }
    for (name, flow) in [("reads", &part.reads), ("writes", &part.writes)] {
        if let Some(flow) = flow {
            out.table_header(&format!("[{table}.{name}]"));
            flow_of(flow, out);
        }
    }
    if part.kind == PartKind::Namespace {
        out.table_header(&format!("[{table}.large_blocks]"));
        blocks_of(&part.large_blocks, out);
    }
    if part.reads_over.is_some() || part.writes_over.is_some() {
        out.table_header(&format!("[{table}.clients]"));
        out.sourced_value("reads_over", &part.reads_over, |all| pairs_as_text(all));
        out.sourced_value("writes_over", &part.writes_over, |all| pairs_as_text(all));
    }
}

fn flow_of(flow: &Flow, out: &mut Document) {
    out.sourced_display("rate", &flow.rate);
    let key = match flow.sizes.as_ref().map(|sizes| &sizes.value) {
        Some(Sizes::Each(_)) => "sizes",
        _ => "larger_than",
    };
    out.sourced_value(key, &flow.sizes, |sizes| match sizes {
        Sizes::LargerThan(lines) | Sizes::Each(lines) => pairs_as_text(lines),
    });
    if key == "larger_than" && flow.sizes.is_some() {
        out.plain_value("position", quote_text(flow.position));
    }
    if flow.durable {
        out.plain_value("durable", true);
    }
    write_seen(&flow.seen, out);
    let habits = &flow.habits;
    out.sourced_display("sequential", &habits.sequential);
    out.sourced_value("zipf", &habits.zipf, |(exponent, _)| format!("{exponent:.2}"));
    out.sourced_value("zipf_error", &habits.zipf, |(_, error)| quote_text(error));
    out.sourced_value("hot_zones", &habits.hot_zones, |all| pairs_as_text(all));
    out.sourced_value("dispersion", &habits.dispersion, |all| {
        let pairs = all.iter().map(|(window, index)| format!("[{}, {index:.2}]", quote_text(window)));
        format!("[{}]", pairs.collect::<Vec<_>>().join(", "))
    });
    out.sourced_value("misses", &habits.misses, |all| pairs_as_text(all));
    out.sourced_display("rewritten", &habits.rewritten);
    out.sourced_value("hours", &habits.hours, |all| {
        format!("[{}]", all.iter().map(|rate| format!("{rate:.1}")).collect::<Vec<_>>().join(", "))
    });
}

/// Where operations go and when they come.
fn write_seen(seen: &Seen, out: &mut Document) {
    out.sourced_value("address", &seen.address, address_as_text);
    out.sourced_value("range", &seen.range, |range| {
        let size =
            range.length.map_or_else(String::new, |length| format!(", size = {}", quote_text(String::from(length))));
        format!("{{ from = {}{size} }}", quote_text(String::from(range.begin)))
    });
    if let Some(places) = &seen.places {
        out.plain_value("places", quote_text(places));
    }
    out.sourced_value("arrival", &seen.arrival, |arrival| match arrival {
        Arrival::Bursty { bursts: Bursts { on, off, quiet }, .. } => {
            let (on, off, quiet) = (quote_text(on), quote_text(off), quote_text(quiet));
            format!("{{ bursty = {{ on = {on}, off = {off}, quiet = {quiet} }} }}")
        }
        other => quote_text(other.arrival_name()),
    });
}

/// An address as a person writes it: one of the two that are made of what was seen.
fn address_as_text(address: &Address) -> String {
    let Address::Heat(map) = address else { return quote_text("sequential") };
    let mut text = format!(
        "{{ heat = {}, area = {}, unit = {}",
        pairs_as_text(&map.zones),
        quote_text(map.area),
        quote_text(map.unit)
    );
    if !map.run_lengths.is_empty() {
        let lengths = map.run_lengths.iter().map(|(length, share)| format!("[{length}, {}]", quote_text(share)));
        text += &format!(", run_lengths = [{}]", lengths.collect::<Vec<_>>().join(", "));
    }
    if map.interleaved > 1 {
        text += &format!(", interleaved = {}", map.interleaved);
    }
    text + " }"
}

fn blocks_of(blocks: &LargeBlocks, out: &mut Document) {
    out.plain_value("size", quote_text(blocks.size));
    out.sourced_display("writes", &blocks.writes);
    out.sourced_display("direct_frees", &blocks.direct_frees);
    out.sourced_display("reads", &blocks.reads);
    if blocks.writes.is_none() {
        out.plain_value("defrag_below", quote_text(blocks.defrag_below));
    }
    out.plain_value("write_scale", quote_text(blocks.write_scale));
    out.plain_value("read_scale", quote_text(blocks.read_scale));
    if !blocks.durable {
        out.plain_value("durable", false);
    }
}

fn drive_of(drive: &Drive, out: &mut Document) {
    out.table_header("[[iostat]]");
    out.plain_value("drive", quote_text(&drive.name));
    if !drive.node.is_empty() {
        out.plain_value("node", quote_text(&drive.node));
    }
    out.sourced_display("reads", &drive.reads);
    out.sourced_display("writes", &drive.writes);
    out.sourced_value("read_bytes", &drive.read_bytes, as_kib);
    out.sourced_value("write_bytes", &drive.write_bytes, as_kib);
    out.sourced_display("read_await", &drive.read_await);
    out.sourced_display("write_await", &drive.write_await);
    out.sourced_display("reads_deviation", &drive.reads_deviation);
    out.sourced_display("writes_deviation", &drive.writes_deviation);
    if drive.reports > 0 {
        out.plain_value("reports", drive.reports);
    }
}

/// Bytes in KiB, as iostat prints them, where that is exact with two decimals.
fn as_kib(bytes: &Bytes) -> String {
    let n = u128::from(bytes.get());
    if !(n * 100).is_multiple_of(1024) {
        return quote_text(bytes);
    }
    quote_text(format_args!(
        "{}KiB",
        format!("{}.{:02}", n / 1024, n * 100 / 1024 % 100).trim_end_matches("00").trim_end_matches('.')
    ))
}
