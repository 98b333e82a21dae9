//! The output of `iostat` of sysstat 10 to 12, with any columns: they are recognised by their names. The first report
//! after a line about the system is the mean since the start of the system, and is dropped.

use super::findings::{DriveSeen, Findings, NAMES_MAX, Place};
use super::options::Options;
use super::text::{parse_human_number, report_time};
use std::collections::BTreeSet;

/// Columns that are used: the name in the text, our name, and the factor to our unit (operations, KiB, milliseconds).
const COLUMNS: [(&str, &str, f64); 22] = [
    ("r/s", "r/s", 1.0),
    ("w/s", "w/s", 1.0),
    ("d/s", "d/s", 1.0),
    ("f/s", "f/s", 1.0),
    ("rkB/s", "rkB/s", 1.0),
    ("wkB/s", "wkB/s", 1.0),
    ("dkB/s", "dkB/s", 1.0),
    ("rMB/s", "rkB/s", 1024.0),
    ("wMB/s", "wkB/s", 1024.0),
    ("dMB/s", "dkB/s", 1024.0),
    ("rsec/s", "rkB/s", 0.5),
    ("wsec/s", "wkB/s", 0.5),
    ("dsec/s", "dkB/s", 0.5),
    ("rrqm/s", "rrqm/s", 1.0),
    ("wrqm/s", "wrqm/s", 1.0),
    ("await", "await", 1.0),
    ("r_await", "r_await", 1.0),
    ("w_await", "w_await", 1.0),
    ("aqu-sz", "aqu-sz", 1.0),
    ("avgqu-sz", "aqu-sz", 1.0),
    ("%util", "util", 1.0),
    ("util", "util", 1.0),
];
/// Columns of reports that do not separate reads and writes.
const UNDIRECTED: [&str; 4] = ["tps", "kB_read/s", "Blk_read/s", "MB_read/s"];
/// No device does this many per second: a counter wrapped or was reset.
const IMPOSSIBLE: f64 = 1e9;

/// Whether a word can be a column of iostat, used or not: this excludes prose that mentions r/s.
fn like_a_column(word: &str) -> bool {
    word.len() <= 16
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "/%_-".contains(c))
        && (word.contains(['/', '%', '_', '-']) || ["await", "svctm", "tps", "util"].contains(&word))
        || ["kB_read", "kB_wrtn", "kB_dscd"].contains(&word)
}

/// The column with this name in the text.
pub(super) fn find_column(name: &str) -> Option<Column> {
    COLUMNS.iter().find(|(theirs, ..)| *theirs == name).map(|&(_, ours, scale)| (ours, scale))
}

#[derive(Default)]
pub(super) struct Reader {
    table: Option<Table>,
    reports: Reports,
}

/// Our name of a column, and the factor to our unit.
type Column = (&'static str, f64);

struct Table {
    columns: Vec<Option<Column>>,
    /// The device's name comes after the numbers (`iostat -h`).
    name_last: bool,
}

/// The position in a sequence of reports.
#[derive(Default)]
pub(super) struct Reports {
    /// Reports since the line about the system; `None` where there was no such line.
    since_start: Option<u64>,
    /// Columns that this report has shown so far: a table with a column that it has already shown begins another
    /// report.
    shown: BTreeSet<&'static str>,
    time: Option<i64>,
    /// Number of reports in the file.
    pub count: u64,
    /// Number of values in the first reports that were dropped, with their device.
    dropped: u64,
    dropped_at: Option<Place>,
}

impl Reports {
    /// A line about the system: iostat was started.
    pub(super) fn start_iostat(&mut self) {
        self.since_start = Some(0);
        self.shown.clear();
        self.time = None;
    }

    /// Begins a report.
    pub(super) fn begin_report(&mut self) {
        self.count += 1;
        self.shown.clear();
        if let Some(n) = &mut self.since_start {
            *n += 1;
        }
    }

    /// Its time.
    pub(super) fn set_time(&mut self, place: Place, time: i64, found: &mut Findings) {
        if let Some(before) = self.time.filter(|before| time < *before) {
            found.add_remark(place, format!("the clock goes back by {} s", before - time));
        }
        self.time = Some(time);
    }

    /// The values of one device.
    pub(super) fn take_device(
        &mut self,
        place: Place,
        name: &str,
        values: &[(&'static str, f64)],
        options: &Options,
        found: &mut Findings,
    ) {
        if self.since_start == Some(1) && !options.keep_first_report {
            self.dropped += 1;
            self.dropped_at.get_or_insert(place);
            return;
        }
        if let Some((column, value)) = values.iter().find(|(_, value)| *value < 0.0 || *value > IMPOSSIBLE) {
            let text = format!("{name} has {value} {column}: a counter wrapped or began anew; the line is left out");
            return found.add_remark(place, text);
        }
        let key = (place.file, name.to_owned());
        if !found.drives.contains_key(&key) && found.drives.len() >= NAMES_MAX {
            return;
        }
        let number = self.count;
        let late = self.since_start.is_some_and(|n| n > 2) || (self.since_start.is_none() && number > 1);
        if late && !found.drives.contains_key(&key) {
            found.add_remark(
                place,
                format!("{name} appears in report {number} of this file; its means are over the reports that show it"),
            );
        }
        let drive = found.drives.entry(key).or_insert_with(|| DriveSeen { first: place, ..DriveSeen::default() });
        // A report in several tables (`iostat -xh`) counts as one report.
        drive.reports += u64::from(drive.report != number);
        drive.report = number;
        drive.last = place;
        values.iter().for_each(|(column, value)| drive.columns.entry(column).or_default().add_value(*value));
        let operations: f64 = values.iter().filter(|(c, _)| ["r/s", "w/s"].contains(c)).map(|(_, value)| value).sum();
        if let Some(time) = self.time {
            drive.hours[(time.rem_euclid(86_400) / 3600) as usize].add_value(operations);
        }
    }

    /// The file has ended.
    pub(super) fn end_file(&mut self, place: Place, found: &mut Findings) {
        if self.count > 0 {
            let reports = found.current_file_seen().kinds.entry("reports of iostat").or_default();
            *reports += self.count;
        }
        let Some(dropped) = self.dropped_at.take() else { return };
        let used = found.drives.iter().any(|((file, _), drive)| *file == place.file && drive.reports > 0);
        let text = if used {
            "the first report is the mean since the machine started and is dropped"
        } else {
            "the only report is the mean since the machine started and is dropped; run `iostat -x 1 60`, or add \
                 --keep-first-report where it was made with `iostat -y`"
        };
        found.add_remark(dropped, text);
    }
}

impl Reader {
    /// Takes a line of iostat; false for any other line.
    pub(super) fn take_line(&mut self, place: Place, line: &str, options: &Options, found: &mut Findings) -> bool {
        let text = line.trim();
        if text.is_empty() {
            self.table = None;
            return false;
        }
        if let Some(host) = machine_name(text) {
            self.reports.start_iostat();
            found.current_file_seen().host.get_or_insert(host.to_owned());
            return true;
        }
        if text.starts_with("avg-cpu") {
            return true;
        }
        if let Some(time) = report_time(text) {
            self.reports.set_time(place, time, found);
            return true;
        }
        // Every header has a rate among its columns, and no row has.
        if text.contains("/s") && self.take_header(place, text, found) {
            return true;
        }
        if self.table.is_some() {
            return self.take_row(place, text, options, found);
        }
        // The row with the shares of the processor.
        text.split_whitespace().count() == 6 && text.split_whitespace().all(|word| parse_human_number(word).is_some())
    }

    fn take_header(&mut self, place: Place, text: &str, found: &mut Findings) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        let undirected = words.iter().any(|word| UNDIRECTED.contains(word));
        let known: Vec<_> = words.iter().map(|word| find_column(word)).collect();
        let own = known.iter().flatten().any(|(ours, _)| ["r/s", "w/s", "d/s", "f/s"].contains(ours));
        let name_last = known.first().is_some_and(Option::is_some);
        let numbers = if name_last { &words[..words.len() - 1] } else { words.get(1..).unwrap_or_default() };
        if words.len() < 3 || !(own || undirected) || !numbers.iter().all(|word| like_a_column(word)) {
            return false;
        }
        if !own {
            self.table = None;
            found.add_remark(
                place,
                "this report does not separate reads and writes (it has only tps); run `iostat -x` without -s",
            );
            return true;
        }
        let columns: Vec<_> = if name_last { known[..known.len() - 1].to_vec() } else { known[1..].to_vec() };
        let shown: BTreeSet<&'static str> =
            columns.iter().flatten().map(|(ours, _)| *ours).filter(|ours| !["util", "aqu-sz"].contains(ours)).collect();
        if self.reports.count == 0 || !self.reports.shown.is_disjoint(&shown) {
            self.reports.begin_report();
        }
        self.reports.shown.extend(shown);
        self.table = Some(Table { columns, name_last });
        true
    }

    fn take_row(&mut self, place: Place, text: &str, options: &Options, found: &mut Findings) -> bool {
        let Some(table) = &self.table else { return false };
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() < 2 {
            self.table = None;
            return false;
        }
        let parts = if table.name_last { words.split_last() } else { words.split_first() };
        let (name, numbers) = parts.unwrap_or((&"", &[]));
        let values: Option<Vec<(f64, Option<f64>)>> = numbers.iter().map(|word| parse_human_number(word)).collect();
        let Some(values) = values.filter(|values| values.len() == table.columns.len()) else {
            let text = format!(
                "a line of {} words in a table of {} columns; it is left out",
                words.len(),
                table.columns.len() + 1
            );
            found.add_remark(place, text);
            return true;
        };
        let values = table.columns.iter().zip(values);
        let values: Vec<_> =
            values.filter_map(|(column, (value, suffix))| in_our_units(*column, value, suffix)).collect();
        self.reports.take_device(place, name, &values, options, found);
        true
    }

    /// The file has ended.
    pub(super) fn end_file(&mut self, place: Place, _options: &Options, found: &mut Findings) {
        self.reports.end_file(place, found);
    }
}

/// A value of a column in our unit; nothing if we do not use the column.
fn in_our_units(column: Option<Column>, value: f64, suffix: Option<f64>) -> Option<(&'static str, f64)> {
    let (ours, scale) = column?;
    // A suffix gives the unit itself, in bytes.
    let scaled = match suffix {
        Some(bytes) if ours.ends_with("kB/s") => value * bytes / 1024.0,
        Some(bytes) => value * bytes,
        None => value * scale,
    };
    Some((ours, scaled))
}

/// `Linux 6.1.0 (node-1) 11/22/26 _x86_64_ (2 CPU)`, separated by tabs: the machine's name.
fn machine_name(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("Linux ")?;
    let (_, host) = rest.split_once(" (")?;
    let (host, rest) = host.split_once(')')?;
    rest.contains("CPU)").then_some(host)
}
