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

impl Reader {
    /// Takes a line of a trace; false for any other line.
    pub(super) fn line(&mut self, place: Place, line: &str, found: &mut Findings) -> bool {
        if blkparse(place, line, found) {
            return true;
        }
        match line.trim_end() {
            "fio version 2 iolog" => {
                self.mode = Mode::Iolog { timed: false };
                found.remark(place, "an iolog of version 2 has no times: rates and bursts stay unknown");
                return true;
            }
            "fio version 3 iolog" => {
                self.mode = Mode::Iolog { timed: true };
                return true;
            }
            header if header.contains("BYTES") && header.contains("COMM") => {
                if let Some(snoop) = Snoop::of(header) {
                    self.mode = Mode::Snoop(snoop);
                    return true;
                }
            }
            _ => {}
        }
        match &self.mode {
            Mode::Unknown => false,
            Mode::Iolog { timed } => iolog(place, line, *timed, found),
            Mode::Snoop(snoop) => snoop.line(place, line, found),
        }
    }
}

/// `  8,16   1        1     0.000000000  1234  D  WS 223490 + 8 [fio]`.
fn blkparse(place: Place, line: &str, found: &mut Findings) -> bool {
    let text = line.trim_start();
    if !text.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let mut words = text.split_ascii_whitespace();
    let Some(device) = words.next().filter(|word| device_numbers(word)) else { return false };
    let Some(at) = words.nth(2).and_then(nanoseconds) else { return false };
    let (Some(action), Some(kind)) = (words.nth(1), words.next()) else { return false };
    let action = match action {
        "Q" => "Q",
        "D" => "D",
        "C" => "C",
        // Merges, plugs, splits and the like are steps between these events.
        _ => {
            found.saw("other events of blkparse");
            return true;
        }
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
    add(place, &Event { device, action, direction, at: Some(at), address, bytes: sectors * SECTOR, durable }, found);
    true
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
fn iolog(place: Place, line: &str, timed: bool, found: &mut Findings) -> bool {
    let mut words = line.split_ascii_whitespace();
    let at = if timed { words.next().and_then(|word| word.parse::<u64>().ok()) } else { None };
    let rest: Vec<&str> = words.collect();
    let known = ["add", "open", "close", "read", "write", "sync", "datasync", "trim", "wait"];
    let Some(kind) = rest.iter().rposition(|word| known.contains(word)).filter(|&kind| kind > 0) else {
        found.remark(place, "not a line of an iolog; it is left out");
        return true;
    };
    let number = |index: usize| rest.get(index)?.parse::<u64>().ok();
    let direction = match rest[kind] {
        "read" => Some(Direction::Read),
        "write" => Some(Direction::Write),
        "sync" | "datasync" | "trim" => None,
        _ => return true,
    };
    let whole = number(kind + 1).zip(number(kind + 2)).filter(|(_, bytes)| *bytes > 0 && *bytes < BYTES_MAX);
    if direction.is_some() && (whole.is_none() || timed && at.is_none()) {
        found.remark(place, "an operation without its time, offset or length: the line is cut and left out");
        return true;
    }
    let (address, bytes) = whole.unwrap_or_default();
    let device = rest[..kind].join(" ");
    let at = at.and_then(|microseconds| microseconds.checked_mul(1000));
    let event = Event { device: &device, action: "", direction, at, address: Some(address), bytes, durable: false };
    add(place, &event, found);
    true
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

    fn line(&self, place: Place, line: &str, found: &mut Findings) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if words.is_empty() {
            return false;
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
            found.remark(place, "an operation without all its columns: the line is cut and left out");
            return true;
        };
        let at = self.time.and_then(|(column, scale)| Some((number(word(column)?)? * scale) as u64));
        let address = word(self.address).and_then(|word| word.parse::<u64>().ok()?.checked_mul(SECTOR));
        let direction = direction(kind).filter(|_| bytes > 0);
        let durable = kind.contains('S');
        add(place, &Event { device, action: "", direction, at, address, bytes, durable }, found);
        true
    }
}
