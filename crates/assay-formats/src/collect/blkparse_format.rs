//! Output of `blkparse -f FORMAT`: the user gives the same format, and the lines are read by it.
//!
//! Source of the specifiers: blkparse(1) of blktrace 1.2. Of their values the device (`%D`, or `%M` and `%m`), the action
//! (`%a`), the kind (`%d`), the time (`%T` and `%t`), the sector (`%S`) and the size (`%n` sectors or `%N` bytes) count;
//! the others are passed over.

use super::seen::{Blkparse, LineContent, SECTOR};

/// A format of blkparse.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Format {
    pieces: Vec<Piece>,
}

/// A piece of a format.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    /// Text that stands in each line; any white space in it stands for any other.
    Text(String),
    /// The value of a specifier.
    Value(char),
}

/// All specifiers of blkparse(1).
const SPECIFIERS: &str = "acCdDeMmNnpPsStTuU";

impl Format {
    /// The format that was given to `blkparse -f`; the error says what is missing in it.
    pub fn parse(text: &str) -> Result<Format, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text.chars().peekable();
        while let Some(next) = rest.next() {
            match next {
                '%' => {
                    while rest.next_if(|digit| digit.is_ascii_digit() || *digit == '-').is_some() {}
                    let specifier = rest.next().ok_or("it ends behind a %")?;
                    if !SPECIFIERS.contains(specifier) {
                        return Err(format!("blkparse knows no %{specifier}"));
                    }
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Value(specifier));
                }
                '\\' => plain.push(match rest.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some(other) => other,
                    None => '\\',
                }),
                other => plain.push(other),
            }
        }
        let plain = plain.trim_end();
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain.to_owned()));
        }
        let format = Format { pieces };
        format.missing_value().map_or(Ok(format), |lacks| Err(format!("it has no {lacks}")))
    }

    /// The name of a value that is missing and without which no load can be made.
    fn missing_value(&self) -> Option<&'static str> {
        let wanted = [
            (&['a'][..], "%a (the action)"),
            (&['d'], "%d (read or write)"),
            (&['S'], "%S (the sector)"),
            (&['n', 'N'], "%n or %N (the size)"),
        ];
        wanted.into_iter().find(|(specifiers, _)| !self.has_any(specifiers)).map(|(_, name)| name)
    }

    fn has_any(&self, specifiers: &[char]) -> bool {
        specifiers.iter().any(|specifier| self.pieces.contains(&Piece::Value(*specifier)))
    }

    /// The content of a line; a line of another format does not belong to the trace.
    pub(super) fn parse_line<'a>(&self, line: &'a str) -> LineContent<'a> {
        self.parse_values(line).map_or(LineContent::Nothing, Values::into_content)
    }

    fn parse_values<'a>(&self, line: &'a str) -> Option<Values<'a>> {
        let mut rest = line.trim();
        let mut values = Values::default();
        for (at, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Text(text) => rest = rest_behind(text, rest)?,
                Piece::Value(specifier) => {
                    rest = rest.trim_start();
                    let end = match self.pieces.get(at + 1) {
                        _ if *specifier == 'D' => end_of_device(rest)?,
                        Some(Piece::Text(text)) => end_of_value(rest, text)?,
                        Some(Piece::Value(_)) => rest.find(char::is_whitespace)?,
                        None => rest.len(),
                    };
                    values.take_value(*specifier, &rest[..end])?;
                    rest = &rest[end..];
                }
            }
        }
        Some(values)
    }
}

/// The rest behind a text of the format.
fn rest_behind<'a>(text: &str, mut rest: &'a str) -> Option<&'a str> {
    let starts_with_space = text.starts_with(char::is_whitespace);
    if starts_with_space {
        rest = rest.trim_start();
    }
    for word in text.split_whitespace() {
        rest = rest.trim_start().strip_prefix(word)?;
    }
    Some(rest)
}

/// The end of `8,16`, which has a comma of its own.
fn end_of_device(rest: &str) -> Option<usize> {
    let (major, behind) = rest.split_once(',')?;
    let minor = behind.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(behind.len());
    let is_number = !major.is_empty() && major.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && minor > 0).then_some(major.len() + 1 + minor)
}

/// The end of a value that this text stands behind. A value may be padded with white space.
fn end_of_value(rest: &str, text: &str) -> Option<usize> {
    match text.split_whitespace().next() {
        Some(word) if !text.starts_with(char::is_whitespace) => rest.find(word),
        Some(_) | None => Some(rest.find(char::is_whitespace).unwrap_or(rest.len())),
    }
}

#[derive(Default)]
struct Values<'a> {
    device: Option<&'a str>,
    major: Option<u64>,
    minor: Option<u64>,
    action: &'a str,
    kind: &'a str,
    seconds: Option<u64>,
    nanoseconds: u64,
    sector: Option<u64>,
    sectors: Option<u64>,
}

impl<'a> Values<'a> {
    /// Takes a value; nothing if it is none of this specifier.
    fn take_value(&mut self, specifier: char, text: &'a str) -> Option<()> {
        let text = text.trim();
        let number = text.parse::<u64>().ok();
        match specifier {
            'a' => self.action = Some(text).filter(|text| !text.is_empty())?,
            'd' => self.kind = text,
            'D' => self.device = Some(text),
            'M' => self.major = Some(number?),
            'm' => self.minor = Some(number?),
            'T' => self.seconds = Some(number?),
            't' => self.nanoseconds = number.filter(|&ns| ns < 1_000_000_000)?,
            'S' => self.sector = Some(number?),
            'n' => self.sectors = Some(number?),
            'N' => self.sectors = Some(number? / SECTOR),
            _ => {}
        }
        Some(())
    }

    fn into_content(self) -> LineContent<'a> {
        let numbers = self.major.zip(self.minor).map(|(major, minor)| format!("{major},{minor}").into());
        let device = self.device.map(Into::into).or(numbers).unwrap_or_else(|| "device".into());
        let at = self.seconds.and_then(|s| s.checked_mul(1_000_000_000)?.checked_add(self.nanoseconds));
        let Values { action, kind, sector, sectors, .. } = self;
        Blkparse { device, action, kind, at, sector, sectors }.into_content()
    }
}

#[cfg(test)]
mod tests {
    use super::super::trace::Event;
    use super::*;
    use assay_base::Direction::{Read, Write};

    fn event<'a>(format: &str, line: &'a str) -> Event<'a> {
        match Format::parse(format).unwrap().parse_line(line) {
            LineContent::Event(event) => event,
            _ => panic!("{line} is no operation in {format}"),
        }
    }

    #[test]
    fn a_line_is_read_by_the_format_that_made_it() {
        for (format, line) in [
            (
                "%D %2c %8s %5T.%9t %5p %2a %3d %S + %n [%C]\\n",
                "8,16  1       12     7.000000250  1234  Q  WS 223490 + 8 [fio a]",
            ),
            ("%a,%d,%T.%t,%D,%S,%n\\n", "Q,WS,7.250,8,16,223490,8"),
            ("%M,%m %a %d %T.%t %S %N\\n", "8,16 Q WS 7.250 223490 4096"),
            ("%5T.%9t|%a|%d|%S|%n|%D", "    7.000000250|Q|WS|223490|8|8,16"),
        ] {
            let event = event(format, line);
            assert_eq!(
                (event.device.as_ref(), event.action, event.direction()),
                ("8,16", "Q", Some(Write)),
                "{format}"
            );
            assert_eq!((event.at, event.bytes, event.durable), (Some(7_000_000_250), 4096, true), "{format}");
            assert_eq!(event.address, Some(223_490 * 512), "{format}");
        }
        let bare = event("%a %d %S %n", "D R 8 16");
        assert_eq!((bare.device.as_ref(), bare.direction(), bare.at, bare.bytes), ("device", Some(Read), None, 8192));
    }

    #[test]
    fn other_lines_are_none_and_a_format_without_a_load_is_refused() {
        let format = Format::parse("%D %a %d %T.%t %S %n").unwrap();
        for line in ["", "CPU0 (sdb):", " Reads Queued: 44, 296KiB", "8,16 Q R x.5 8 8"] {
            assert!(matches!(format.parse_line(line), LineContent::Nothing), "{line}");
        }
        for (text, why) in [
            ("%D %d %n", "it has no %a (the action)"),
            ("%a %n", "it has no %d (read or write)"),
            ("%a %d %n", "it has no %S (the sector)"),
            ("%a %d %S", "it has no %n or %N (the size)"),
            ("%a %d %S %n %x", "blkparse knows no %x"),
            ("%a %d %S %n %", "it ends behind a %"),
            ("", "it has no %a (the action)"),
        ] {
            assert_eq!(Format::parse(text).unwrap_err(), why, "{text}");
        }
    }
}
