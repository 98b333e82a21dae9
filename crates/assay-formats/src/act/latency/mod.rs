//! A reimplementation of `act_latency.py`: the same arguments give the same bytes and the same exit code, for the
//! original's logs and for ours. It follows every oddity of the original (prefix matching of histogram names, buckets
//! counted by how many were found, rounding before averaging), because users compare tables across years.
//!
//! Two things differ. Where the original ends with a Python traceback (exit code 1), this ends with the same code, the
//! same output so far, and one line that says why. And logs that ACT 5.x wrote are read too, by the rules of the 5.x
//! analyzer (which differs only in its default histograms); a log that merely claims to be 5.x is refused as by the
//! original.

mod args;
mod table;

use super::lines::{LineFault, Lines};
use super::number;
use args::{ArgsFault, Options};
use std::fmt::{self, Write};
use std::io::{self, BufRead};
use table::{BUCKETS, Columns, Round, Table};

/// Opens the log. It is called again each time the original returns to the start of its file, which is a few times per
/// run, so a pipe does not work (nor does it with the original).
pub type Open<'a> = &'a mut dyn FnMut(&str) -> io::Result<Box<dyn BufRead>>;

/// The result of the analyzer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// 0; 255 where the original reports an error; 1 where it ends with a traceback.
    pub code: u8,
    /// One line for stderr, in place of a traceback.
    pub complaint: Option<String>,
}

/// Why the analyzer stops early.
enum Stop {
    /// After a message of the original, which was already written.
    Refused,
    /// The original would crash here.
    Crash(String),
    /// The output is closed.
    Out(fmt::Error),
}

impl From<fmt::Error> for Stop {
    fn from(error: fmt::Error) -> Stop {
        Stop::Out(error)
    }
}

impl From<LineFault> for Stop {
    fn from(fault: LineFault) -> Stop {
        Stop::Crash(match fault {
            LineFault::Io(error) => format!("reading the log: {error}"),
            LineFault::TooLong => "the log has a line of more than a MiB; is it an ACT log?".to_owned(),
            LineFault::NotText => "the log is not UTF-8 text; is it an ACT log?".to_owned(),
        })
    }
}

/// Whether a text begins like a table that this analyzer, or the original, made from a log.
pub fn is_table(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    text.lines().any(|line| line.contains(" is ACT version ") || line.trim_start().starts_with("%>("))
}

const USAGE: &str = "Usage:
 -l act_storage or act_index output file
    MANDATORY - NO DEFAULT
    e.g. act_out.txt
 -h histogram to analyse
    default: depends on config read from output file
 -t analysis slice interval in seconds
    default: 3600
 -s start display from this bucket
    default: 0
 -n number of buckets to display
    default: 7
 -e show start bucket then every n-th bucket
    default: 1
 -x (show extra information for each slice)
    default: not set
";

/// Runs the analyzer on the words after its name; the table goes to `out`. Errors only when `out` does.
pub fn run_analyzer(args: &[String], open: Open, out: &mut dyn Write) -> Result<Ended, fmt::Error> {
    match analyze_log(args, open, out) {
        Ok(()) => Ok(Ended { code: 0, complaint: None }),
        Err(Stop::Refused) => Ok(Ended { code: 255, complaint: None }),
        Err(Stop::Crash(why)) => Ok(Ended { code: 1, complaint: Some(format!("error: {why}")) }),
        Err(Stop::Out(error)) => Err(error),
    }
}

fn analyze_log(args: &[String], open: Open, out: &mut dyn Write) -> Result<(), Stop> {
    let (name, options) = read_options(args, out)?;
    let mut log = Log::open_log(&name, open, out)?;
    let head = read_head(&mut log, &options, out)?;
    let mut table = Table::new(Columns::from_options(&options), &head.histograms, head.scale, head.round);
    table.write_head(out)?;
    write_slices(&mut log, &mut table, head.slice_time, out)?;
    table.write_foot(out)?;
    Ok(())
}

/// Writes one of the original's messages and stops.
fn refuse_with_message<T>(out: &mut dyn Write, message: &str) -> Result<T, Stop> {
    writeln!(out, "{message}")?;
    Err(Stop::Refused)
}

fn read_options(args: &[String], out: &mut dyn Write) -> Result<(String, Options), Stop> {
    writeln!(out, "act_latency.py {}", args.join(" "))?;
    let options = match Options::parse_args(args) {
        Ok(options) => options,
        Err(ArgsFault::Getopt(message)) => {
            return refuse_with_message(out, &format!("{message}\n{}", USAGE.trim_end()));
        }
        Err(ArgsFault::NotInteger { option, value }) => {
            return Err(Stop::Crash(format!("{option} takes a whole number, not \"{}\"", value.escape_debug())));
        }
    };
    let Some(name) = options.log.clone() else {
        return refuse_with_message(out, USAGE.trim_end());
    };
    if options.slice < 1 {
        return refuse_with_message(out, "slice must be more than 0");
    }
    if !(0..BUCKETS as i128).contains(&options.start_bucket) {
        return Err(Stop::Crash(format!("start_bucket must be from 0 to {}", BUCKETS - 1)));
    }
    if options.num_buckets < 1 {
        return refuse_with_message(out, "num_buckets must be more than 0");
    }
    if options.every_nth < 1 {
        return refuse_with_message(out, "every_nth must be more than 0");
    }
    Ok((name, options))
}

/// The log file: its lines, and how to return to its start.
struct Log<'a> {
    name: &'a str,
    open: Open<'a>,
    lines: Lines<Box<dyn BufRead>>,
}

impl<'a> Log<'a> {
    /// The lines from the start. If the first read fails (a directory), the file counts as not found, as in the
    /// original.
    fn open_log(name: &'a str, open: Open<'a>, out: &mut dyn Write) -> Result<Log<'a>, Stop> {
        let source = open(name).and_then(|mut source| source.fill_buf().map(|_| ()).map(|()| source));
        match source {
            Ok(source) => Ok(Log { name, open, lines: Lines::new(source) }),
            Err(_) => refuse_with_message(out, &format!("log file {name} not found")),
        }
    }

    fn rewind(&mut self) -> Result<(), Stop> {
        let source = (self.open)(self.name);
        self.lines = Lines::new(source.map_err(|error| Stop::Crash(format!("opening the log again: {error}")))?);
        Ok(())
    }

    /// The next line for which `fits` holds, or `None` at the end.
    fn find_line(&mut self, fits: impl Fn(&str) -> bool) -> Result<Option<String>, Stop> {
        loop {
            match self.lines.next()? {
                "" => return Ok(None),
                line if fits(line) => return Ok(Some(line.to_owned())),
                _ => {}
            }
        }
    }

    /// Writes `first` and the lines after it up to a blank one, stripped, then an empty line.
    fn echo_lines(&mut self, first: &str, out: &mut dyn Write) -> Result<(), Stop> {
        let mut line = number::strip_like_python(first).to_owned();
        while !line.is_empty() {
            writeln!(out, "{line}")?;
            line = number::strip_like_python(self.lines.next()?).to_owned();
        }
        writeln!(out)?;
        Ok(())
    }
}

/// The figures of the table that the head of the log states.
struct Head {
    histograms: Vec<String>,
    slice_time: i128,
    scale: &'static str,
    round: Round,
}

/// The word `index` of a line, separated by blanks, where the original takes it without checking.
fn nth_word<'a>(line: &'a str, index: usize, what: &str) -> Result<&'a str, Stop> {
    line.split(' ').nth(index).ok_or_else(|| Stop::Crash(format!("the log's {what} line has no value")))
}

fn read_head(log: &mut Log, options: &Options, out: &mut dyn Write) -> Result<Head, Stop> {
    let rules = read_version(log, out)?;
    let interval = read_interval(log, out)?;
    let scale = read_scale(log, out)?;
    // Rounded up to whole intervals.
    let slice_time = options.slice.checked_add(interval - 1).map(|sum| sum / interval * interval);
    let slice_time = slice_time.ok_or_else(|| Stop::Crash("the slice is too long".to_owned()))?;
    if slice_time != options.slice {
        writeln!(out, "analyzing time slices of {slice_time} seconds")?;
    }
    let defaults = echo_configuration(log, rules, out)?;
    let histograms = if options.histograms.is_empty() { defaults } else { options.histograms.clone() };
    Ok(Head { histograms, slice_time, scale, round: rules.rounding_function() })
}

/// The version whose rules apply.
#[derive(Clone, Copy, PartialEq)]
enum Rules {
    /// 5.0 to 5.2, whose analyzer ran only under Python 2 and therefore rounded ties away from zero.
    Five,
    /// 5.3, whose analyzer runs under Python 3.
    FiveLate,
    Six,
}

impl Rules {
    fn rounding_function(self) -> Round {
        if self == Rules::Five { number::round_away } else { number::round_like_python }
    }
}

/// Finds and prints the version. The log is left after the line with the version.
fn read_version(log: &mut Log, out: &mut dyn Write) -> Result<Rules, Stop> {
    let Some(line) = log.find_line(|line| line.starts_with("ACT version"))? else {
        return refuse_with_message(out, &format!("{} ACT version not found", log.name));
    };
    let version = number::strip_like_python(nth_word(&line, 2, "version")?);
    writeln!(out, "{} is ACT version {version}\n", log.name)?;
    let number = number::float_like_python(version)
        .ok_or_else(|| Stop::Crash(format!("\"{}\" is not a version number", version.escape_debug())))?;
    if (5.0..6.0).contains(&number) && is_5x(log)? {
        return Ok(if number < 5.3 { Rules::Five } else { Rules::FiveLate });
    }
    // A version of "nan" is accepted, as in the original, where both comparisons are false.
    if !number.is_nan() && !(6.0..7.0).contains(&number) {
        return refuse_with_message(out, &format!("{} ACT version not compatible", log.name));
    }
    Ok(Rules::Six)
}

/// Items that 5.x prints in every log, and later versions in none.
const MARKS_OF_5X: [&str; 3] = ["num-queues:", "threads-per-queue:", "max-reqs-queued:"];

/// Whether ACT 5.x wrote the log. Leaves the log after the version.
fn is_5x(log: &mut Log) -> Result<bool, Stop> {
    let line = log.find_line(|line| is_item_of_5x(line) || line.starts_with("after "))?;
    log.rewind()?;
    log.find_line(|line| line.starts_with("ACT version"))?;
    Ok(line.is_some_and(|line| is_item_of_5x(&line)))
}

fn is_item_of_5x(line: &str) -> bool {
    MARKS_OF_5X.iter().any(|mark| line.starts_with(mark))
}

fn read_interval(log: &mut Log, out: &mut dyn Write) -> Result<i128, Stop> {
    let Some(line) = log.find_line(|line| line.starts_with("report-interval-sec"))? else {
        return refuse_with_message(out, "can't find report interval");
    };
    let interval = number::int_like_python(nth_word(&line, 1, "report-interval-sec")?)
        .ok_or_else(|| Stop::Crash("the log's report-interval-sec is not a whole number".to_owned()))?;
    if interval < 1 {
        return refuse_with_message(out, "reporting interval must be more than 0");
    }
    Ok(interval)
}

fn read_scale(log: &mut Log, out: &mut dyn Write) -> Result<&'static str, Stop> {
    log.rewind()?;
    match log.find_line(|line| line.starts_with("microsecond-histograms"))? {
        None => writeln!(out, "can't find histograms' scale, assuming milliseconds")?,
        Some(line) if nth_word(&line, 1, "microsecond-histograms")?.starts_with('y') => return Ok(" %>(us)"),
        Some(_) => {}
    }
    Ok(" %>(ms)")
}

/// Prints the three blocks of the head, and returns the default histograms. The log is left where the data begins.
fn echo_configuration(log: &mut Log, rules: Rules, out: &mut dyn Write) -> Result<Vec<String>, Stop> {
    log.rewind()?;
    let Some(first) = log.find_line(|line| line.ends_with("CONFIGURATION\n"))? else {
        return refuse_with_message(out, "can't find configuration");
    };
    let five = rules != Rules::Six;
    let defaults: &[&str] = match (first.starts_with("ACT-STORAGE"), first.starts_with("ACT-INDEX")) {
        (true, _) if five => &["reads", "device-reads"],
        (_, true) if five => &["trans-reads", "device-reads"],
        (false, false) => return refuse_with_message(out, "can't recognize configuration"),
        _ => &["reads"],
    };
    log.echo_lines(&first, out)?;
    let Some(first) = log.find_line(|line| line.starts_with("DERIVED CONFIGURATION"))? else {
        return refuse_with_message(out, "can't find derived configuration");
    };
    log.echo_lines(&first, out)?;
    log.rewind()?;
    let Some(first) = log.find_line(|line| line.starts_with("HISTOGRAM NAMES\n"))? else {
        return refuse_with_message(out, "can't find histogram names");
    };
    log.echo_lines(&first, out)?;
    Ok(defaults.iter().map(|&name| name.to_owned()).collect())
}

fn write_slices(log: &mut Log, table: &mut Table, slice_time: i128, out: &mut dyn Write) -> Result<(), Stop> {
    let mut after = slice_time;
    while read_chunk(&mut log.lines, table, after, slice_time)? {
        table.write_slice(out)?;
        after = after.saturating_add(slice_time);
    }
    if table.slice_count() == 0 {
        return refuse_with_message(out, &format!("could not find {slice_time} seconds of data"));
    }
    Ok(())
}

/// Reads the block `after` seconds, searching forward; false where there is none or it contains no requested histogram.
fn read_chunk(lines: &mut Lines<impl BufRead>, table: &mut Table, after: i128, slice_time: i128) -> Result<bool, Stop> {
    if !lines.skip_past_after(&format!("{after} "))? {
        return Ok(false);
    }
    let (buckets, round) = (table.bucket_count(), table.rounding_function());
    let mut found = false;
    let mut line = lines.next()?.to_owned();
    while !number::strip_like_python(&line).is_empty() {
        match table.groups.iter_mut().find(|group| line.starts_with(&group.name)) {
            Some(group) => {
                let (next, total, values) = read_histogram(&line, lines, &group.name, buckets)?;
                let taken = group.take_block(total, values, slice_time, round);
                taken.ok_or_else(|| Stop::Crash("the log's counts are out of range".to_owned()))?;
                line = next;
                found = true;
            }
            None => lines.next()?.clone_into(&mut line),
        }
    }
    Ok(found)
}

/// Reads one histogram from its head line on; returns the first line after it, the total, and the counts.
fn read_histogram(
    head: &str,
    lines: &mut Lines<impl BufRead>,
    name: &str,
    buckets: usize,
) -> Result<(String, i128, Vec<i128>), Stop> {
    let total = number::int_like_python(text_in_brackets(head)).ok_or_else(|| not_in_range("the total", name))?;
    let mut values = vec![0; buckets];
    let mut lowest = 0;
    let line = loop {
        let line = lines.next()?;
        let found = read_buckets(line, lowest, &mut values).ok_or_else(|| not_in_range("a count", name))?;
        if found == 0 {
            break line.to_owned();
        }
        // The original continues from the number of buckets found, not from the last bucket.
        lowest += found;
    };
    Ok((line, total, values))
}

fn not_in_range(what: &str, name: &str) -> Stop {
    Stop::Crash(format!("{what} of histogram {name} is not a number in range"))
}

/// The text between the first `(` and the first ` total)`, with the result of Python's slices where one is missing.
fn text_in_brackets(line: &str) -> &str {
    let from = line.find('(').map_or(0, |i| i + 1);
    let to = line.find(" total)").or_else(|| line.char_indices().last().map(|(i, _)| i)).unwrap_or(0);
    line.get(from..to).unwrap_or("")
}

/// Takes the buckets from `lowest` on that are in `line` as `(BB: COUNT)`; returns their number, or `None` for a count
/// that is not a number. If a bucket occurs twice, the first one counts.
fn read_buckets(line: &str, lowest: usize, values: &mut [i128]) -> Option<usize> {
    let mut seen = [false; BUCKETS];
    for (at, _) in line.match_indices('(') {
        let text = &line[at + 1..];
        let Some(bucket) = bucket_label(text.as_bytes()).filter(|b| (lowest..values.len()).contains(b)) else {
            continue;
        };
        let Some(end) = text[4..].find(')') else {
            continue;
        };
        if !std::mem::replace(&mut seen[bucket], true) {
            values[bucket] = number::int_like_python(&text[4..4 + end])?;
        }
    }
    Some(seen.iter().filter(|seen| **seen).count())
}

/// The bucket of a text that begins with `BB: `.
fn bucket_label(text: &[u8]) -> Option<usize> {
    match text {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9', b':', b' ', ..] => {
            Some(usize::from(tens - b'0') * 10 + usize::from(ones - b'0'))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_by_pythons_slices() {
        for (line, text) in [
            ("reads (2010 total)\n", "2010"),
            ("RAW READS          (1999 total)\n", "1999"),
            ("12\n", "12"),
            ("reads 12\n", "reads 12"),
            ("(12\n", "12"),
            ("12 total)\n", "12"),
            (" total) (3\n", ""),
            ("", ""),
        ] {
            assert_eq!(text_in_brackets(line), text, "{line:?}");
        }
    }

    #[test]
    fn buckets_of_a_line() {
        let read = |line: &str, lowest| {
            let mut values = [0; 4];
            (read_buckets(line, lowest, &mut values), values)
        };
        assert_eq!(read(" (00: 0000000007) (02: 1)\n", 0), (Some(2), [7, 0, 1, 0]));
        assert_eq!(read(" (00: 0000000007) (02: 1)\n", 1), (Some(1), [0, 0, 1, 0]));
        assert_eq!(read(" (01: 5) (01: 6) (09: 1)", 0), (Some(1), [0, 5, 0, 0]));
        assert_eq!(read("(01: x)", 0).0, None);
        assert_eq!(read("(01: 5", 0), (Some(0), [0; 4]));
        assert_eq!(read("(1: 5) (001: 5) ((03: 4)", 0), (Some(1), [0, 0, 0, 4]));
    }
}
