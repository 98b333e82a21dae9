//! Lines of traces: blkparse, biosnoop (bcc), iosnoop (perf-tools), and fio's iolog of versions 2 and 3.

use super::findings::{Findings, Place};
use super::text::number;
use super::trace::{Event, add};
use assay_base::Direction;

/// The kernel's sector size.
const SECTOR: u64 = 512;
/// Upper bound on the size of an operation; larger ones are ignored.
const BYTES_MAX: u64 = 1 << 32;

#[derive(Default)]
pub(super) struct Reader {
    mode: Mode,
}

#[derive(Default)]
enum Mode {
    #[default]
    Unknown,
    /// Whether lines begin with a time.
    Iolog { timed: bool },
    /// Columns under the header of biosnoop or iosnoop.
    Snoop(Snoop),
}

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

/// What a line of a trace is.
pub(super) enum Seen<'a> {
    /// No line of a trace.
    Nothing,
    /// A line that says nothing about operations.
    Empty,
    /// The line with which a trace of fio begins that has no times.
    Untimed,
    /// Events of this kind, which are not counted.
    Other(&'static str),
    /// A line that is damaged, and how a remark about it ends.
    Damaged(&'static str, &'static str),
    /// An operation.
    Event(Event<'a>),
}

impl Reader {
    /// Takes a line of a trace; false for any other line.
    pub(super) fn line(&mut self, place: Place, line: &str, found: &mut Findings) -> bool {
        match self.read(line) {
            Seen::Nothing => return false,
            Seen::Empty => {}
            Seen::Untimed => found.remark(place, "an iolog of version 2 has no times: rates and bursts stay unknown"),
            Seen::Other(kind) => found.saw(kind),
            Seen::Damaged(what, end) => found.remark(place, format!("{what}{end}")),
            Seen::Event(event) => add(place, &event, found),
        }
        true
    }

    /// Says what a line is.
    pub(super) fn read<'a>(&mut self, line: &'a str) -> Seen<'a> {
        match blkparse(line) {
            Seen::Nothing => {}
            seen => return seen,
        }
        match line.trim_end() {
            "fio version 2 iolog" => {
                self.mode = Mode::Iolog { timed: false };
                return Seen::Untimed;
            }
            "fio version 3 iolog" => {
                self.mode = Mode::Iolog { timed: true };
                return Seen::Empty;
            }
            header if header.contains("BYTES") && header.contains("COMM") => {
                if let Some(snoop) = Snoop::of(header) {
                    self.mode = Mode::Snoop(snoop);
                    return Seen::Empty;
                }
            }
            _ => {}
        }
        match &self.mode {
            Mode::Unknown => Seen::Nothing,
            Mode::Iolog { timed } => iolog(line, *timed),
            Mode::Snoop(snoop) => snoop.line(line),
        }
    }

    /// For how long a line of an iolog without times waits, in nanoseconds since the wait before it.
    pub(super) fn wait(&self, line: &str) -> Option<u64> {
        let Mode::Iolog { timed: false } = self.mode else { return None };
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let at = words.iter().rposition(|word| *word == "wait").filter(|at| *at > 0)?;
        words.get(at + 1)?.parse::<u64>().ok()?.checked_mul(1000)
    }
}

/// `  8,16   1        1     0.000000000  1234  D  WS 223490 + 8 [fio]`.
fn blkparse(line: &str) -> Seen<'_> {
    let text = line.trim_start();
    if !text.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return Seen::Nothing;
    }
    let mut words = text.split_ascii_whitespace();
    let Some(device) = words.next().filter(|word| device_numbers(word)) else { return Seen::Nothing };
    let Some(at) = words.nth(2).and_then(nanoseconds) else { return Seen::Nothing };
    let (Some(action), Some(kind)) = (words.nth(1), words.next()) else { return Seen::Nothing };
    let action = match action {
        "Q" => "Q",
        "D" => "D",
        "C" => "C",
        // Merges, plugs, splits and the like are steps between these events.
        _ => return Seen::Other("other events of blkparse"),
    };
    let mut next = || words.next()?.parse::<u64>().ok();
    let sector = next();
    let sectors = words.next().filter(|word| *word == "+").and_then(|_| words.next()?.parse::<u64>().ok());
    let known = sector.zip(sectors).filter(|(_, sectors)| *sectors > 0 && *sectors < BYTES_MAX / SECTOR);
    // F before the operation's letter means a flush, after it FUA.
    let letters = kind.strip_prefix('F').unwrap_or(kind);
    let direction = match (letters.contains('D') || known.is_none(), letters.contains('R'), letters.contains('W')) {
        (true, ..) => None,
        (_, true, _) => Some(Direction::Read),
        (_, _, true) => Some(Direction::Write),
        _ => None,
    };
    let (sector, sectors) = known.unwrap_or_default();
    let durable = letters.contains('S') || letters.contains('F');
    let address = sector.checked_mul(SECTOR);
    let device = device.into();
    Seen::Event(Event { device, action, direction, at: Some(at), address, bytes: sectors * SECTOR, durable })
}

/// `8,16`.
fn device_numbers(word: &str) -> bool {
    let digits = |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once(',').is_some_and(|(major, minor)| digits(major) && digits(minor))
}

/// `12.000123456` seconds, exactly.
fn nanoseconds(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.split_once('.')?;
    let fits = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let scale = 10u64.pow(9u32.checked_sub(u32::try_from(fraction.len()).ok()?)?);
    let fraction = fraction.parse::<u64>().ok().filter(|_| fits)? * scale;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

fn direction(kind: &str) -> Option<Direction> {
    match kind.strip_prefix('F').unwrap_or(kind).as_bytes().first()? {
        b'R' | b'r' => Some(Direction::Read),
        b'W' | b'w' => Some(Direction::Write),
        _ => None,
    }
}

/// `143 fioimg read 4046848 4096`, in microseconds since the job began; without a time in version 2.
fn iolog(line: &str, timed: bool) -> Seen<'static> {
    let mut words = line.split_ascii_whitespace();
    let at = if timed { words.next().and_then(|word| word.parse::<u64>().ok()) } else { None };
    let rest: Vec<&str> = words.collect();
    let known = ["add", "open", "close", "read", "write", "sync", "datasync", "trim", "wait"];
    let Some(kind) = rest.iter().rposition(|word| known.contains(word)).filter(|&kind| kind > 0) else {
        return Seen::Damaged("not a line of an iolog", "; it is left out");
    };
    let number = |index: usize| rest.get(index)?.parse::<u64>().ok();
    let direction = match rest[kind] {
        "read" => Some(Direction::Read),
        "write" => Some(Direction::Write),
        "sync" | "datasync" | "trim" => None,
        _ => return Seen::Empty,
    };
    let whole = number(kind + 1).zip(number(kind + 2)).filter(|(_, bytes)| *bytes > 0 && *bytes < BYTES_MAX);
    if direction.is_some() && (whole.is_none() || timed && at.is_none()) {
        return Seen::Damaged("an operation without its time, offset or length: the line is cut", " and left out");
    }
    let (address, bytes) = whole.unwrap_or_default();
    let device = rest[..kind].join(" ").into();
    let at = at.and_then(|microseconds| microseconds.checked_mul(1000));
    Seen::Event(Event { device, action: "", direction, at, address: Some(address), bytes, durable: false })
}

impl Snoop {
    /// The columns for a header such as `TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)` or `COMM PID TYPE DEV BLOCK
    /// BYTES LATms`.
    fn of(header: &str) -> Option<Snoop> {
        let names: Vec<&str> = header.split_ascii_whitespace().collect();
        let at = |wanted: &[&str]| names.iter().position(|name| wanted.contains(name));
        let time = [("TIME(s)", 1e9), ("TIME(ms)", 1e6), ("STARTs", 1e9), ("TIMEs", 1e9)];
        let time = time.iter().find_map(|&(name, scale)| Some((at(&[name])?, scale)));
        Some(Snoop {
            columns: names.len(),
            command: at(&["COMM"])?,
            time,
            device: at(&["DISK", "DEV"])?,
            direction: at(&["T", "TYPE"])?,
            address: at(&["SECTOR", "BLOCK"])?,
            bytes: at(&["BYTES"])?,
        })
    }

    fn line<'a>(&self, line: &'a str) -> Seen<'a> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if words.is_empty() {
            return Seen::Nothing;
        }
        // A name of several words shifts the columns after it.
        let shift = words.len().checked_sub(self.columns);
        let word = |column: usize| {
            let shift = if column > self.command { shift? } else { 0 };
            words.get(column + shift).copied()
        };
        let bytes = word(self.bytes).and_then(|word| word.parse::<u64>().ok());
        let (Some(bytes), Some(device), Some(kind), Some(_)) =
            (bytes.filter(|bytes| *bytes < BYTES_MAX), word(self.device), word(self.direction), shift)
        else {
            return Seen::Damaged("an operation without all its columns: the line is cut", " and left out");
        };
        let at = self.time.and_then(|(column, scale)| Some((number(word(column)?)? * scale) as u64));
        let address = word(self.address).and_then(|word| word.parse::<u64>().ok()?.checked_mul(SECTOR));
        let direction = direction(kind).filter(|_| bytes > 0);
        let durable = kind.contains('S');
        Seen::Event(Event { device: device.into(), action: "", direction, at, address, bytes, durable })
    }
}
