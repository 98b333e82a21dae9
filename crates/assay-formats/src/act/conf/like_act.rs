//! A config file as ACT 6.6 reads it: lines as `fgets` cuts them, words as `strtok` splits them, numbers as `strtoul`
//! parses them, ACT's messages, ACT's order of checks. Wherever ACT refuses, this refuses with the same bytes. Where
//! ACT would continue with something that nobody wrote (`60x60` as 60, `Yes` as no, an overflow as 0) or crash, this
//! says so and refuses too.

use super::keys::{self, ENTRIES, Entry, Key, Shape, WRITE_BLOCK_MAX};
use super::{Conf, Kind, echo};
use assay_base::Span;
use std::fmt::Write;

/// The exit code of every refusal.
const REFUSED: u8 = 255;
/// A larger file is not a config file.
const FILE_MAX: usize = 1 << 20;
/// ACT has 8 MiB of stack for a buffer of one record, and 4 KiB of it are for alignment; a larger record makes it
/// crash.
const RECORD_MAX: u64 = WRITE_BLOCK_MAX as u64 - 4096;

/// The program's reaction to a config file.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// It runs. `stdout` is what was printed until then: banner and configuration.
    Accepted {
        /// The file's meaning, with `service_threads` filled in.
        conf: Box<Conf>,
        /// Printed so far.
        stdout: String,
    },
    /// It ends.
    Refused {
        /// Everything it prints.
        stdout: String,
        /// Its exit code.
        exit: u8,
    },
}

/// The state of the reader.
struct Reader {
    conf: Conf,
    stdout: String,
    /// The first value that ACT would have accepted although it should not.
    nonsense: Option<String>,
}

/// ACT's own verdict, which comes before ours: an error message that ends the run.
type Verdict = Result<(), String>;

/// Reads `text` as the program of `kind` would on a machine with `cpus` processors.
pub fn read_like_act(text: &[u8], kind: Kind, cpus: u32) -> Outcome {
    let mut reader = Reader { conf: Conf::new(kind), stdout: String::new(), nonsense: None };
    // ACT 6.6 has no defaults here, although its README gives some.
    (reader.conf.test_duration, reader.conf.tomb_raider_sleep) = (Span::ZERO, Span::ZERO);
    // Writing to a String does not fail.
    let _ = echo::write_banner(kind, &mut reader.stdout);
    let verdict =
        reader.read_text(text).and_then(|()| reader.check_conf(cpus)).and_then(|()| match reader.nonsense.take() {
            Some(nonsense) => Err(nonsense),
            None => Ok(()),
        });
    if let Err(message) = verdict {
        reader.stdout.push_str(&format!("ERROR: {message}\n"));
        return Outcome::Refused { stdout: reader.stdout, exit: REFUSED };
    }
    let _ = echo::write_configuration(&reader.conf, &mut reader.stdout);
    Outcome::Accepted { conf: Box::new(reader.conf), stdout: reader.stdout }
}

/// Splits a text like `fgets` with this buffer: after each LF, and where the buffer is full.
fn cut_lines(text: &[u8], buffer: usize) -> impl Iterator<Item = (&[u8], bool)> {
    let whole = text.split_inclusive(|&b| b == b'\n');
    whole.flat_map(move |line| {
        let pieces = line.chunks(buffer - 1);
        let cut = pieces.len() > 1;
        pieces.map(move |piece| (piece, cut))
    })
}

fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The first word by `delimiters`, and what follows the delimiter that ended it.
fn next_token(text: &[u8], delimiters: impl Fn(u8) -> bool) -> Option<(&[u8], &[u8])> {
    let start = text.iter().position(|&b| !delimiters(b))?;
    let rest = &text[start..];
    let end = rest.iter().position(|&b| delimiters(b)).unwrap_or(rest.len());
    Some((&rest[..end], rest.get(end + 1..).unwrap_or(&[])))
}

fn text_from_bytes(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A short form of the user's word, without control characters, for a message of ours.
fn quoted_word(word: &str) -> String {
    let shown: String = word.chars().take(60).collect();
    format!("'{}'", shown.escape_debug())
}

impl Reader {
    fn add_notice(&mut self, nonsense: String) {
        self.nonsense.get_or_insert(nonsense);
    }

    fn read_text(&mut self, text: &[u8]) -> Verdict {
        if text.len() > FILE_MAX {
            return Err("config file larger than 1 MiB".to_owned());
        }
        let buffer = if self.conf.kind == Kind::Storage { 4096 } else { 1024 };
        for (line, cut) in cut_lines(text, buffer) {
            if cut {
                self.add_notice(format!("config line longer than {} bytes", buffer - 1));
            }
            self.read_line(line)?;
        }
        Ok(())
    }

    fn read_line(&mut self, line: &[u8]) -> Verdict {
        let terminated = line.split(|&b| b == 0).next().unwrap_or(line);
        if terminated.len() < line.len() {
            self.add_notice("config file contains a NUL byte".to_owned());
        }
        let content = terminated.split(|&b| b == b'#').next().unwrap_or(terminated);
        let Some((tag, rest)) = next_token(content, |b| is_white(b) || b == b':') else {
            return Ok(());
        };
        let tag = text_from_bytes(tag);
        let Some(entry) = self.find_entry(&tag) else {
            return Err(format!("ignoring unknown config item '{tag}'"));
        };
        match entry.shape {
            Shape::Devices => self.read_devices(rest),
            Shape::Flag => self.read_flag(entry, rest),
            _ => self.read_number(entry, rest),
        }
        Ok(())
    }

    /// The key, if this program knows it in version 6.6.
    fn find_entry(&self, tag: &str) -> Option<&'static Entry> {
        let entry = &ENTRIES[keys::index_of_key(tag)?];
        let unknown_here = entry.only.is_some_and(|only| only != self.conf.kind);
        (entry.now && !unknown_here).then_some(entry)
    }

    fn read_devices(&mut self, rest: &[u8]) {
        let max = if self.conf.kind == Kind::Storage { 128 } else { 16 };
        let mut rest = rest;
        while let Some((name, after)) = next_token(rest, |b| is_white(b) || matches!(b, b',' | b';')) {
            let shown = text_from_bytes(name);
            if self.conf.device_names.len() == max {
                self.stdout.push_str("ERROR: too many device names\n");
                return self.conf.device_names.clear();
            }
            if name.len() >= 128 {
                self.stdout.push_str(&format!("ERROR: bad device name '{shown}'\n"));
                return self.conf.device_names.clear();
            }
            if name.starts_with(b":") || std::str::from_utf8(name).is_err() {
                self.add_notice(format!("device-names: {} is not a path", quoted_word(&shown)));
            }
            self.conf.device_names.push(shown);
            rest = after;
        }
    }

    /// The only word of a value; notices words that ACT would drop.
    fn single_value(&mut self, entry: &Entry, rest: &[u8]) -> Option<String> {
        let (word, after) = next_token(rest, is_white)?;
        if let Some((extra, _)) = next_token(after, is_white) {
            self.add_notice(format!("{}: {} follows the value", entry.name, quoted_word(&text_from_bytes(extra))));
        }
        Some(text_from_bytes(word))
    }

    fn read_flag(&mut self, entry: &Entry, rest: &[u8]) {
        let word = self.single_value(entry, rest).unwrap_or_default();
        if keys::parse_flag(&word).is_none() {
            self.add_notice(format!("{}: {} is neither yes nor no", entry.name, quoted_word(&word)));
        }
        self.conf.set_flag(entry.key, word.starts_with('y'));
    }

    fn read_number(&mut self, entry: &Entry, rest: &[u8]) {
        let Some(word) = self.single_value(entry, rest) else {
            self.stdout.push_str("ERROR: missing integer config value\n");
            self.add_notice(format!("{}: its value is missing", entry.name));
            return self.conf.set_number(entry.key, 0);
        };
        let digits = word.strip_prefix('+').unwrap_or(&word);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            self.add_notice(format!("{}: {} is not a whole number", entry.name, quoted_word(&word)));
        }
        let value = u32::try_from(strtoul(word.as_bytes())).unwrap_or_else(|_| {
            self.stdout.push_str(&format!("ERROR: {word} overflows unsigned int\n"));
            self.add_notice(format!("{}: {} is more than {}", entry.name, quoted_word(&word), u32::MAX));
            0
        });
        let settled = self.stored_value(entry.key, value);
        self.conf.set_number(entry.key, settled);
    }

    /// The value that ACT stores: its large block is a 32-bit number of bytes.
    fn stored_value(&mut self, key: Key, value: u32) -> u32 {
        if key != Key::LargeBlockOpKbytes {
            return value;
        }
        let bytes = value.wrapping_mul(1024);
        if bytes / 1024 != value {
            self.add_notice(format!("large-block-op-kbytes: {value} is too large"));
        }
        bytes / 1024
    }

    fn check_conf(&mut self, cpus: u32) -> Verdict {
        if self.conf.device_names.is_empty() {
            return Err(invalid_message(Key::DeviceNames));
        }
        if self.conf.service_threads.is_none() {
            let _ = writeln!(self.stdout, "detected {cpus} CPUs\n");
            self.conf.service_threads = Some(cpus.saturating_mul(5)).filter(|threads| *threads != 0);
        }
        let threads = self.conf.service_threads.ok_or_else(|| invalid_message(Key::ServiceThreads))?;
        self.conf.check_like_act().map_err(|unfit| invalid_message(unfit.key))?;
        self.check_load(threads)?;
        if let Some(unfit) = self.conf.first_unsound() {
            self.add_notice(format!("{}: {}", keys::name_of(unfit.key), unfit.message));
        }
        if self.conf.kind == Kind::Storage && self.conf.record_stored().1 > RECORD_MAX {
            self.add_notice(format!("record-bytes: more than {RECORD_MAX} bytes, which crash ACT"));
        }
        Ok(())
    }

    /// ACT's checks of the load, in its 32-bit arithmetic.
    fn check_load(&mut self, threads: u32) -> Verdict {
        let conf = &self.conf;
        let (reads, writes) = (conf.read_reqs_per_sec, conf.write_reqs_per_sec);
        if reads.wrapping_add(writes) == 0 {
            return Err("read-reqs-per-sec and write-reqs-per-sec can't both be zero".to_owned());
        }
        let replicated = conf.replication_factor.wrapping_mul(writes);
        let updates = writes.wrapping_mul(conf.update_pct) / 100;
        let total = match conf.kind {
            Kind::Storage => {
                reads.wrapping_add(updates).wrapping_add(if conf.commit_to_device { replicated } else { 0 })
            }
            Kind::Index => reads.wrapping_add(replicated),
        };
        // A storage test may have large-block operations only.
        let none_at_all = conf.kind == Kind::Storage && total == 0;
        if total / threads == 0 && !none_at_all {
            return Err("load config too small".to_owned());
        }
        let exact = [conf.replicated_writes(), u64::from(writes) * u64::from(conf.update_pct.max(1)), u64::from(reads)];
        if exact.iter().sum::<u64>() > u64::from(u32::MAX) {
            self.add_notice(
                "read-reqs-per-sec and write-reqs-per-sec: the load is too large for ACT to add up".to_owned(),
            );
        }
        Ok(())
    }
}

/// The message of ACT for a key without a usable value.
fn invalid_message(key: Key) -> String {
    format!("invalid or missing configuration of '{}'", keys::name_of(key))
}

/// C's `strtoul(text, NULL, 10)` with 64 bits: leading blanks, a sign, digits; the rest is dropped.
fn strtoul(text: &[u8]) -> u64 {
    let blanks = text.iter().take_while(|b| b.is_ascii_whitespace() || **b == 0x0b).count();
    let (negative, digits) = match &text[blanks..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let mut value: u64 = 0;
    for digit in digits.iter().take_while(|b| b.is_ascii_digit()) {
        let next = value.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit - b'0')));
        let Some(next) = next else {
            return u64::MAX;
        };
        value = next;
    }
    if negative { value.wrapping_neg() } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last line printed, or `accepted`.
    fn last(lines: &str, kind: Kind) -> String {
        match read_like_act(lines.as_bytes(), kind, 2) {
            Outcome::Accepted { .. } => "accepted".to_owned(),
            Outcome::Refused { stdout, exit } => {
                assert_eq!(exit, 255);
                stdout.lines().last().unwrap_or_default().to_owned()
            }
        }
    }

    const GOOD: &str = "device-names: /dev/a\ntest-duration-sec: 2\nread-reqs-per-sec: 200\nwrite-reqs-per-sec: 100\n";

    #[test]
    fn what_act_lets_pass_is_refused_in_our_words() {
        for (line, said) in [
            ("", "accepted"),
            ("microsecond-histograms: y", "accepted"),
            ("max-lag-sec: +5", "accepted"),
            ("max-lag-sec 5", "accepted"),
            ("read-reqs-per-sec: 400", "accepted"),
            ("test-duration-sec: 60x60", "ERROR: test-duration-sec: '60x60' is not a whole number"),
            ("test-duration-sec: 60 x 60", "ERROR: test-duration-sec: 'x' follows the value"),
            ("max-lag-sec: -18446744073709551611", "ERROR: max-lag-sec: '-18446744073709551611' is not a whole number"),
            ("read-reqs-per-sec: 4294967296", "ERROR: read-reqs-per-sec: '4294967296' is more than 4294967295"),
            ("read-reqs-per-sec:", "ERROR: read-reqs-per-sec: its value is missing"),
            ("microsecond-histograms: Yes", "ERROR: microsecond-histograms: 'Yes' is neither yes nor no"),
            ("tomb-raider: true", "ERROR: tomb-raider: 'true' is neither yes nor no"),
            ("tomb-raider: 1", "ERROR: tomb-raider: '1' is neither yes nor no"),
            ("tomb-raider: nope", "ERROR: tomb-raider: 'nope' is neither yes nor no"),
            ("tomb-raider:", "accepted"),
            ("tomb-raider: No", "accepted"),
            ("tomb-raider: NO", "accepted"),
            ("tomb-raider: false", "accepted"),
            ("tomb-raider: 0", "accepted"),
            ("tomb-raider: off # comment", "accepted"),
            ("large-block-op-kbytes: 0", "ERROR: large-block-op-kbytes: a large block of 0 KB holds nothing"),
            ("large-block-op-kbytes: 4194432", "ERROR: large-block-op-kbytes: 4194432 is too large"),
            ("record-bytes: 200000", "ERROR: record-bytes: a record does not fit into a large block"),
            ("device-names: :", "ERROR: device-names: ':' is not a path"),
            ("max-lag-sec: 5\0 junk", "ERROR: config file contains a NUL byte"),
            (
                "write-reqs-per-sec: 4294967295\nreplication-factor: 2",
                "ERROR: read-reqs-per-sec and write-reqs-per-sec: the load is too large for ACT to add up",
            ),
        ] {
            assert_eq!(last(&format!("{GOOD}{line}\n"), Kind::Storage), said, "{line}");
        }
    }

    #[test]
    fn acts_own_refusals_come_first() {
        for (text, said) in [
            ("".to_owned(), "ERROR: invalid or missing configuration of 'device-names'"),
            (format!("{GOOD}test-duration-sec: x"), "ERROR: invalid or missing configuration of 'test-duration-sec'"),
            (format!("{GOOD}max-lag-sec: 5x\nnum-queues: 8"), "ERROR: ignoring unknown config item 'num-queues'"),
            (format!("{GOOD}service-threads: 201"), "ERROR: load config too small"),
            (
                format!("#{}\n{GOOD}", "x".repeat(5000)),
                &format!("ERROR: ignoring unknown config item '{}'", "x".repeat(906)),
            ),
        ] {
            assert_eq!(last(&text, Kind::Storage), said, "{text}");
        }
        assert_eq!(
            last(&format!("{GOOD}record-bytes: 5"), Kind::Index),
            "ERROR: ignoring unknown config item 'record-bytes'"
        );
        assert_eq!(
            last(&format!("{GOOD}cache-threads: 0"), Kind::Index),
            "ERROR: invalid or missing configuration of 'cache-threads'"
        );
    }

    #[test]
    fn numbers_as_c_takes_them() {
        for (text, value) in [
            ("60x60", 60),
            ("2.9", 2),
            ("", 0),
            ("-5", u64::MAX - 4),
            ("+7", 7),
            ("99999999999999999999999", u64::MAX),
            ("-99999999999999999999999", u64::MAX),
            ("\x0b12", 12),
        ] {
            assert_eq!(strtoul(text.as_bytes()), value, "{text:?}");
        }
    }
}
