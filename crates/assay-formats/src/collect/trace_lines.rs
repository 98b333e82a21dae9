//! Lines of traces: blkparse in its own or in a given format, biosnoop (bcc), iosnoop (perf-tools), and fio's iolog of
//! versions 2 and 3.

use super::blkparse_format::Format;
use super::findings::{Findings, Place};
use super::seen::{BYTES_MAX, Blkparse, LineContent, SECTOR};
use super::text::parse_number;
use super::trace::{Event, add_operation};
use assay_base::Direction;
use assay_model::observed::Asked;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Reader {
    mode: Mode,
    /// The format that `blkparse -f` was given, if the user says so.
    blkparse: Option<Format>,
    /// Damaged lines by what is wrong with them: prose behind a table is one remark, not one for each line.
    damaged: BTreeMap<&'static str, DamagedLines>,
}

/// Lines with the same damage.
struct DamagedLines {
    first: Place,
    end: &'static str,
    further: u64,
}

#[derive(Default)]
enum Mode {
    #[default]
    Unknown,
    /// Whether lines begin with a time.
    Iolog { timed: bool },
    /// Columns under the header of biosnoop or iosnoop, or of iosnoop's rows without it.
    Snoop(Snoop),
    /// Rows of bpftrace's biosnoop, which say neither what was done nor how much.
    Bpftrace,
}

/// What bpftrace's biosnoop lacks.
const NO_BYTES: &str = "bpftrace's biosnoop prints neither the direction nor the size of an operation: trace with that of bcc (biosnoop-bpfcc in Debian's bpfcc-tools)";

/// The positions of the columns: those after the command's name, which may contain spaces, are counted from the right.
struct Snoop {
    columns: usize,
    command: usize,
    time: Option<(usize, f64)>,
    device: usize,
    direction: usize,
    address: usize,
    bytes: usize,
}

impl Reader {
    /// A reader of traces; lines of blkparse are in this format.
    pub(super) fn new(blkparse: Option<Format>) -> Reader {
        Reader { blkparse, ..Reader::default() }
    }

    /// Takes a line of a trace; false for any other line.
    pub(super) fn take_line(&mut self, place: Place, line: &str, found: &mut Findings) -> bool {
        match self.read_line(line) {
            LineContent::Nothing => return false,
            LineContent::Empty => {}
            LineContent::Untimed => {
                found.add_remark(place, "an iolog of version 2 has no times: rates and bursts stay unknown")
            }
            LineContent::Other(kind) => found.count_line(kind),
            LineContent::Damaged(what, end) => {
                let lines = self.damaged.entry(what).or_insert(DamagedLines { first: place, end, further: 0 });
                lines.further += u64::from(lines.first != place);
            }
            LineContent::Event(event) => add_operation(place, &event, found),
        }
        true
    }

    /// The file has ended.
    pub(super) fn end_file(&mut self, found: &mut Findings) {
        for (what, lines) in std::mem::take(&mut self.damaged) {
            let DamagedLines { first, end, further } = lines;
            let further = if further > 0 { format!("; so are {further} further lines") } else { String::new() };
            found.add_remark(first, format!("{what}{end}{further}"));
        }
    }

    /// Says what a line is.
    pub(super) fn read_line<'a>(&mut self, line: &'a str) -> LineContent<'a> {
        let seen = self.blkparse.as_ref().map_or_else(|| parse_blkparse(line), |format| format.parse_line(line));
        if !matches!(seen, LineContent::Nothing) {
            return seen;
        }
        match line.trim_end() {
            "fio version 2 iolog" => {
                self.mode = Mode::Iolog { timed: false };
                return LineContent::Untimed;
            }
            "fio version 3 iolog" => {
                self.mode = Mode::Iolog { timed: true };
                return LineContent::Empty;
            }
            header if header.contains("BYTES") && header.contains("COMM") => {
                if let Some(snoop) = Snoop::from_header(header) {
                    self.mode = Mode::Snoop(snoop);
                    return LineContent::Empty;
                }
            }
            header if header.starts_with("TIME(ms)") && header.contains("COMM") && header.ends_with("LAT(ms)") => {
                self.mode = Mode::Bpftrace;
                return LineContent::Damaged(NO_BYTES, "");
            }
            _ => {}
        }
        if let Mode::Unknown = self.mode
            && let Some(snoop) = Snoop::from_row(line)
        {
            self.mode = Mode::Snoop(snoop);
        }
        match &self.mode {
            Mode::Unknown => LineContent::Nothing,
            Mode::Bpftrace if line.starts_with(|first: char| first.is_ascii_digit()) => LineContent::Empty,
            Mode::Bpftrace => LineContent::Nothing,
            Mode::Iolog { timed } => parse_iolog(line, *timed),
            Mode::Snoop(snoop) => snoop.read_line(line),
        }
    }

    /// For how long a line of an iolog without times waits, in nanoseconds since the wait before it.
    pub(super) fn wait_of_line(&self, line: &str) -> Option<u64> {
        let Mode::Iolog { timed: false } = self.mode else { return None };
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let at = words.iter().rposition(|word| *word == "wait").filter(|at| *at > 0)?;
        words.get(at + 1)?.parse::<u64>().ok()?.checked_mul(1000)
    }
}

/// `  8,16   1        1     0.000000000  1234  D  WS 223490 + 8 [fio]`.
fn parse_blkparse(line: &str) -> LineContent<'_> {
    let text = line.trim_start();
    if !text.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return LineContent::Nothing;
    }
    let mut words = text.split_ascii_whitespace();
    let Some(device) = words.next().filter(|word| device_numbers(word)) else { return LineContent::Nothing };
    let Some(at) = words.nth(2).and_then(parse_nanoseconds) else { return LineContent::Nothing };
    let (Some(action), Some(kind)) = (words.nth(1), words.next()) else { return LineContent::Nothing };
    let sector = words.next().and_then(|word| word.parse().ok());
    let sectors = words.next().filter(|word| *word == "+").and_then(|_| words.next()?.parse().ok());
    Blkparse { device: device.into(), action, kind, at: Some(at), sector, sectors }.into_content()
}

/// `8,16`.
pub(super) fn device_numbers(word: &str) -> bool {
    word.split_once(',').is_some_and(|(major, minor)| is_device_number(major) && is_device_number(minor))
}

fn is_device_number(part: &str) -> bool {
    (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// `12.000123456` seconds, exactly.
fn parse_nanoseconds(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.split_once('.')?;
    let fits = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let scale = 10u64.pow(9u32.checked_sub(u32::try_from(fraction.len()).ok()?)?);
    let fraction = fraction.parse::<u64>().ok().filter(|_| fits)? * scale;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

fn parse_direction(kind: &str) -> Option<Direction> {
    match kind.strip_prefix('F').unwrap_or(kind).as_bytes().first()? {
        b'R' | b'r' => Some(Direction::Read),
        b'W' | b'w' => Some(Direction::Write),
        _ => None,
    }
}

/// `143 fioimg read 4046848 4096`, in microseconds since the job began; without a time in version 2.
fn parse_iolog(line: &str, timed: bool) -> LineContent<'static> {
    let mut words = line.split_ascii_whitespace();
    let at = if timed { words.next().and_then(|word| word.parse::<u64>().ok()) } else { None };
    let rest: Vec<&str> = words.collect();
    let known = ["add", "open", "close", "read", "write", "sync", "datasync", "trim", "wait"];
    let Some(kind) = rest.iter().rposition(|word| known.contains(word)).filter(|&kind| kind > 0) else {
        return LineContent::Damaged("not a line of an iolog", "; it is left out");
    };
    let asked = match rest[kind] {
        "read" => Asked::Data(Direction::Read),
        "write" => Asked::Data(Direction::Write),
        "sync" | "datasync" => Asked::Flush,
        "trim" => Asked::Discard,
        _ => return LineContent::Empty,
    };
    let [offset, bytes] = [kind + 1, kind + 2].map(|index| rest.get(index)?.parse::<u64>().ok());
    let whole = offset.zip(bytes).filter(|(_, bytes)| *bytes > 0 && *bytes < BYTES_MAX);
    if matches!(asked, Asked::Data(_)) && (whole.is_none() || timed && at.is_none()) {
        return LineContent::Damaged(
            "an operation without its time, offset or length: the line is cut",
            " and left out",
        );
    }
    let (address, bytes) = whole.unwrap_or_default();
    let device = rest[..kind].join(" ").into();
    let at = at.and_then(|microseconds| microseconds.checked_mul(1000));
    LineContent::Event(Event { device, action: "", asked, at, address: Some(address), bytes, durable: false })
}

/// The column with one of these names.
fn column_of(names: &[&str], wanted: &[&str]) -> Option<usize> {
    names.iter().position(|name| wanted.contains(name))
}

impl Snoop {
    /// The columns for a header such as `TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)` or `COMM PID TYPE DEV BLOCK
    /// BYTES LATms`.
    fn from_header(header: &str) -> Option<Snoop> {
        let names: Vec<&str> = header.split_ascii_whitespace().collect();
        let time = [("TIME(s)", 1e9), ("TIME(ms)", 1e6), ("STARTs", 1e9), ("TIMEs", 1e9)];
        let time = time.iter().find_map(|&(name, scale)| Some((column_of(&names, &[name])?, scale)));
        Some(Snoop {
            columns: names.len(),
            command: column_of(&names, &["COMM"])?,
            time,
            device: column_of(&names, &["DISK", "DEV"])?,
            direction: column_of(&names, &["T", "TYPE"])?,
            address: column_of(&names, &["SECTOR", "BLOCK"])?,
            bytes: column_of(&names, &["BYTES"])?,
        })
    }

    /// The columns of iosnoop for a row of it without its header, as `grep` leaves them: `asd 5555 R 259,0 2244 131072
    /// 0.50`, with up to two times before it (`-s`, `-t`).
    fn from_row(row: &str) -> Option<Snoop> {
        const BEHIND_COMMAND: usize = 6;
        let words: Vec<&str> = row.split_ascii_whitespace().collect();
        let pid = words.len().checked_sub(BEHIND_COMMAND).filter(|&pid| pid > 0)?;
        let &[process, kind, device, block, bytes, latency] = words.get(pid..)? else { return None };
        let digits = [process, block, bytes].iter().all(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        let letters = kind.len() <= 6 && kind.bytes().all(|byte| b"RWDFSAMN".contains(&byte));
        let is_row = digits && letters && device_numbers(device) && parse_nanoseconds(latency).is_some();
        let times = words[..pid - 1].iter().take_while(|word| parse_nanoseconds(word).is_some()).count();
        (is_row && times <= 2).then(|| Snoop {
            columns: times + 1 + BEHIND_COMMAND,
            command: times,
            time: (times > 0).then_some((0, 1e9)),
            device: times + 3,
            direction: times + 2,
            address: times + 4,
            bytes: times + 5,
        })
    }

    /// Whether a line below the header is a row of the table, if perhaps a cut one: it begins with a time, or has the
    /// number of a process behind the name of a command.
    fn is_row(&self, words: &[&str]) -> bool {
        match self.time {
            Some((column, _)) => words.get(column).is_some_and(|word| is_decimal(word)),
            None => words.iter().skip(self.command + 1).take(4).any(|word| is_decimal(word)),
        }
    }

    /// The word in a column of a row. A name of several words shifts the columns after it.
    fn word_in_column<'a>(&self, words: &[&'a str], column: usize) -> Option<&'a str> {
        let shift = if column > self.command { words.len().checked_sub(self.columns)? } else { 0 };
        words.get(column + shift).copied()
    }

    fn read_line<'a>(&self, line: &'a str) -> LineContent<'a> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if !self.is_row(&words) {
            return LineContent::Nothing;
        }
        let bytes = self.word_in_column(&words, self.bytes).and_then(|word| word.parse::<u64>().ok());
        let (device, kind) = (self.word_in_column(&words, self.device), self.word_in_column(&words, self.direction));
        let (Some(bytes), Some(device), Some(kind), true) =
            (bytes.filter(|bytes| *bytes < BYTES_MAX), device, kind, words.len() >= self.columns)
        else {
            return LineContent::Damaged("an operation without all its columns: the line is cut", " and left out");
        };
        let at = self
            .time
            .and_then(|(column, scale)| Some((parse_number(self.word_in_column(&words, column)?)? * scale) as u64));
        let address =
            self.word_in_column(&words, self.address).and_then(|word| word.parse::<u64>().ok()?.checked_mul(SECTOR));
        let direction = parse_direction(kind).filter(|_| bytes > 0);
        let nothing = if kind.contains('D') { Asked::Discard } else { Asked::Flush };
        let asked = direction.map_or(nothing, Asked::Data);
        let durable = kind.contains('S');
        LineContent::Event(Event { device: device.into(), action: "", asked, at, address, bytes, durable })
    }
}

/// Whether a word has only digits and points.
fn is_decimal(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
