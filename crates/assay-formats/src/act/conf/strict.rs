//! Our reader of ACT config files: every dialect from 4.x to 6.6, nothing guessed. What is not plainly meant is refused with
//! file, line, column and what to write.

use super::keys::{self, ENTRIES, Entry, Key, Shape, Unit};
use super::{Conf, Kind, Production, suggest};
use crate::fault::{Fault, Note, nearest};
use assay_base::Share;

/// A larger file is not a config file.
const FILE_MAX: usize = 1 << 20;
/// ACT cuts lines after this many bytes and takes the rest for a new line.
const LINE_MAX: usize = 4095;
/// More devices than a host can have under test.
const DEVICES_MAX: usize = 1024;
/// Powers of two that a size of 64 bits can have.
const SHARES_MAX: usize = 65;

/// One line that sets something.
struct Item<'a> {
    entry: &'static Entry,
    line: usize,
    source: &'a str,
    /// The value without comment and outer blanks, and where it starts in `source`.
    value: &'a str,
    value_at: usize,
    key_at: usize,
}

/// Reads a config file. `kind` says which program it is for; without it the keys decide, and where they do not, it is a
/// storage test and a note says so. The notes mention what no longer means anything and which defaults were taken.
pub fn read(file_name: &str, text: &str, kind: Option<Kind>) -> Result<(Conf, Vec<Note>), Fault> {
    check_text(file_name, text)?;
    let mut notes = Vec::new();
    let mut items = Vec::new();
    for (index, source) in text.lines().enumerate() {
        if let Some(item) = read_line(file_name, index + 1, source, &mut notes)? {
            items.push(item);
        }
    }
    let mut reader = Reader { file: file_name, conf: Conf::new(Kind::Storage), items, notes };
    reader.conf.kind = reader.decide_kind(kind)?;
    reader.refuse_strays()?;
    reader.set_all()?;
    reader.check()?;
    Ok((reader.conf, reader.notes))
}

/// The same from bytes, which must be UTF-8.
pub fn read_bytes(file_name: &str, text: &[u8], kind: Option<Kind>) -> Result<(Conf, Vec<Note>), Fault> {
    match std::str::from_utf8(text) {
        Ok(text) => read(file_name, text, kind),
        Err(error) => {
            let good = text.get(..error.valid_up_to()).and_then(|good| std::str::from_utf8(good).ok()).unwrap_or("");
            let line = good.matches('\n').count() + 1;
            let start = good.rfind('\n').map_or(0, |i| i + 1);
            let source = &good[start..];
            let advice = "save the file as UTF-8, without a byte order mark";
            Err(Fault::at(file_name, line, source, source.len(), 1).because("this is not UTF-8 text", advice))
        }
    }
}

fn check_text(file: &str, text: &str) -> Result<(), Fault> {
    if text.len() > FILE_MAX {
        let message = format!("{} bytes are too many for a config file", text.len());
        return Err(Fault::whole(file).because(message, "give the path of an ACT config file, at most 1 MiB"));
    }
    for (index, line) in text.lines().enumerate() {
        let at = |offset: usize| Fault::at(file, index + 1, line, offset, 1);
        if line.starts_with('\u{feff}') {
            return Err(at(0).because("a byte order mark stands before the text", "save the file without it"));
        }
        if line.len() > LINE_MAX {
            let message = format!("the line has {} bytes; ACT would cut it after {LINE_MAX}", line.len());
            return Err(at(LINE_MAX).because(message, "shorten it; device-names may be given on several lines"));
        }
        if let Some(offset) = line.find(|c: char| c.is_control() && c != '\t') {
            return Err(at(offset).because("a control character stands in the text", "remove it"));
        }
    }
    Ok(())
}

/// What a line sets, if anything.
fn read_line<'a>(file: &str, line: usize, source: &'a str, notes: &mut Vec<Note>) -> Result<Option<Item<'a>>, Fault> {
    let content = source.split('#').next().unwrap_or("").trim_end();
    let key_at = content.len() - content.trim_start().len();
    let rest = &content[key_at..];
    if rest.is_empty() {
        return Ok(None);
    }
    if rest.starts_with("act config file for testing") {
        notes.push(Note { line, text: "taken for a comment, as act_config_helper writes it".to_owned() });
        return Ok(None);
    }
    let key_end = rest.find(|c: char| c == ':' || c.is_whitespace()).unwrap_or(rest.len());
    let (key, after) = rest.split_at(key_end);
    let Some(index) = keys::find(key) else {
        return Err(unknown(file, line, source, key_at, key));
    };
    let value = after.strip_prefix(':').unwrap_or(after).trim_start();
    let value_at = content.len() - value.len();
    if value.starts_with(':') {
        let fault = Fault::at(file, line, source, value_at, 1);
        return Err(fault.because("ACT takes this colon for the value", format!("write `{key}: value`")));
    }
    Ok(Some(Item { entry: &ENTRIES[index], line, source, value, value_at, key_at }))
}

fn unknown(file: &str, line: usize, source: &str, at: usize, key: &str) -> Fault {
    let fault = Fault::at(file, line, source, at, key.len());
    let shown: String = key.chars().take(60).collect();
    if let Some((name, value)) = key.split_once('=').filter(|(name, _)| keys::find(name).is_some()) {
        let value: String = value.chars().take(60).collect();
        return fault.because("a key ends with a colon, not with =", format!("write `{name}: {value}`"));
    }
    let names = ENTRIES.iter().map(|entry| entry.name);
    let advice = match nearest(&shown.to_lowercase(), names) {
        Some(name) => format!("did you mean {name}?"),
        None => "remove the line, or make it a comment with #".to_owned(),
    };
    fault.because(format!("\"{}\" is not a key of ACT", shown.escape_debug()), advice)
}

impl Item<'_> {
    fn name(&self) -> &'static str {
        self.entry.name
    }

    fn fault(&self, file: &str, at: usize, width: usize) -> Fault {
        Fault::at(file, self.line, self.source, at, width)
    }

    /// A fault that points at the key.
    fn at_key(&self, file: &str) -> Fault {
        self.fault(file, self.key_at, self.name().len())
    }

    /// A fault that points at the value, or where it should be.
    fn at_value(&self, file: &str) -> Fault {
        self.fault(file, self.value_at, self.value.len())
    }

    /// True where both set the same thing.
    fn same_as(&self, other: &Item) -> bool {
        self.entry.key == other.entry.key && (self.entry.key != Key::Obsolete || self.name() == other.name())
    }
}

struct Reader<'a> {
    file: &'a str,
    conf: Conf,
    items: Vec<Item<'a>>,
    notes: Vec<Note>,
}

impl Reader<'_> {
    fn note(&mut self, line: usize, text: impl Into<String>) {
        self.notes.push(Note { line, text: text.into() });
    }

    fn decide_kind(&mut self, asked: Option<Kind>) -> Result<Kind, Fault> {
        let of = |kind: Kind| self.items.iter().find(|item| item.entry.only == Some(kind));
        let wrong = |item: &Item, kind: Kind| {
            let message = format!("{} is no key of {}", item.name(), kind.program());
            Err(item.at_key(self.file).because(message, "remove it, or use the file for the other test"))
        };
        match (asked, of(Kind::Storage), of(Kind::Index)) {
            (Some(Kind::Storage), _, Some(item)) => wrong(item, Kind::Storage),
            (Some(Kind::Index), Some(item), _) => wrong(item, Kind::Index),
            (None, Some(storage), Some(index)) => {
                let message = format!("{} is of an index test, {} of a storage test", index.name(), storage.name());
                Err(index.at_key(self.file).because(message, "keep the keys of one of them"))
            }
            (Some(kind), ..) => Ok(kind),
            (None, _, Some(_)) => Ok(Kind::Index),
            (None, Some(_), None) => Ok(Kind::Storage),
            (None, None, None) => {
                self.note(0, "no key tells a storage test from an index test; taken for act_storage");
                Ok(Kind::Storage)
            }
        }
    }

    /// Refuses a key that stands twice; device-names may, and adds to the list.
    fn refuse_strays(&self) -> Result<(), Fault> {
        for (index, item) in self.items.iter().enumerate() {
            let first = self.items[..index].iter().find(|earlier| earlier.same_as(item));
            if let Some(first) = first.filter(|_| item.entry.shape != Shape::Devices) {
                let message = format!("{} is already set on line {}", item.name(), first.line);
                return Err(item.at_key(self.file).because(message, "keep one of the two lines"));
            }
        }
        Ok(())
    }

    fn set_all(&mut self) -> Result<(), Fault> {
        for item in std::mem::take(&mut self.items) {
            self.set(&item)?;
            self.mention(&item);
            self.items.push(item);
        }
        Ok(())
    }

    fn set(&mut self, item: &Item) -> Result<(), Fault> {
        if item.value.is_empty() {
            let fault = item.fault(self.file, item.value_at, 1);
            return Err(fault.because(format!("{} has no value", item.name()), example(item.entry)));
        }
        match item.entry.shape {
            Shape::Devices => self.add_devices(item),
            Shape::Number(unit, min, max) => {
                let value = self.number(item, unit, min, max)?;
                self.conf.set_number(item.entry.key, value);
                Ok(())
            }
            Shape::Flag => {
                let value = self.flag(item)?;
                self.conf.set_flag(item.entry.key, value);
                Ok(())
            }
            Shape::Word => self.set_word(item),
            Shape::Shares => self.set_shares(item),
        }
    }

    fn add_devices(&mut self, item: &Item) -> Result<(), Fault> {
        let mut at = item.value_at;
        for name in item.value.split(|c: char| matches!(c, ',' | ';') || c.is_whitespace()) {
            let fault = item.fault(self.file, at, name.len());
            at += name.len() + item.source[at + name.len()..].chars().next().map_or(0, char::len_utf8);
            if name.is_empty() {
                continue;
            }
            if self.conf.device_names.iter().any(|known| known == name) {
                let advice = "name it once; rates are for all devices together";
                return Err(fault.because("this device is named twice", advice));
            }
            if self.conf.device_names.len() == DEVICES_MAX {
                return Err(fault.because(format!("more than {DEVICES_MAX} devices"), "split the test"));
            }
            self.conf.device_names.push(name.to_owned());
        }
        Ok(())
    }

    fn number(&self, item: &Item, unit: Unit, min: u32, max: u32) -> Result<u32, Fault> {
        let what = match unit {
            Unit::PerSecond if item.name().contains("reqs") => "rate must be a whole number per second".to_owned(),
            _ => format!("{} must be a whole number{}", item.name(), of_unit(unit)),
        };
        if !item.value.bytes().all(|b| b.is_ascii_digit()) {
            let meant = suggest::number(item.value, unit).filter(|n| (u64::from(min)..=u64::from(max)).contains(n));
            let advice = meant.map_or_else(|| example(item.entry), |number| format!("write {number}"));
            return Err(item.at_value(self.file).because(what, advice));
        }
        let value = item.value.parse::<u32>().ok();
        value.filter(|value| (min..=max).contains(value)).ok_or_else(|| {
            let message = format!("{} must be from {min} to {max}", item.name());
            let advice = if value.is_some_and(|value| value < min) {
                format!("write {min} or more")
            } else {
                format!("write {max} or less")
            };
            item.at_value(self.file).because(message, advice)
        })
    }

    fn flag(&self, item: &Item) -> Result<bool, Fault> {
        match item.value {
            "yes" | "y" => Ok(true),
            "no" | "n" => Ok(false),
            other => {
                let advice = match other.to_lowercase().as_str() {
                    "yes" | "y" | "true" | "on" | "1" => "write yes",
                    "no" | "n" | "false" | "off" | "0" => "write no",
                    _ => "write yes or no",
                };
                Err(item.at_value(self.file).because(format!("{} must be yes or no", item.name()), advice))
            }
        }
    }

    /// scheduler-mode: it will be written to sysfs, so it must be one plain word.
    fn set_word(&mut self, item: &Item) -> Result<(), Fault> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if item.value.len() > 31 || !item.value.chars().all(plain) {
            let message = format!("{} must be the name of an I/O scheduler", item.name());
            return Err(item.at_value(self.file).because(message, "write none or mq-deadline"));
        }
        self.conf.scheduler_mode = Some(item.value.to_owned());
        Ok(())
    }

    fn set_shares(&mut self, item: &Item) -> Result<(), Fault> {
        let mut shares: Vec<Share> = Vec::new();
        let mut at = item.value_at;
        for word in item.value.split([',', ' ', '\t']) {
            let fault = item.fault(self.file, at, word.len());
            at += word.len() + 1;
            if word.is_empty() {
                continue;
            }
            let share = format!("{word}%").parse().ok().filter(|share| *share <= Share::WHOLE);
            let Some(share) = share else {
                return Err(fault.because("a share must be a percentage", "write a number from 0 to 100"));
            };
            if shares.last().is_some_and(|last| *last < share) || shares.len() == SHARES_MAX {
                let message = "shares over growing sizes must not rise, and there are at most 65";
                return Err(fault.because(message, "copy the row of the storage histogram"));
            }
            shares.push(share);
        }
        if shares.last() != Some(&Share::from_ppb(0)) {
            let fault = item.fault(self.file, item.source.len(), 1);
            return Err(fault.because("the last share must be 0: no record is larger", "add 0.00"));
        }
        let production = self.conf.production.get_or_insert_with(Production::default);
        match item.entry.key {
            Key::StorageReadHistogram => production.read_over = shares,
            _ => production.write_over = shares,
        }
        Ok(())
    }

    /// Notes on keys whose meaning has changed or gone.
    fn mention(&mut self, item: &Item) {
        let name = item.name();
        let text = match item.entry.key {
            Key::Obsolete => {
                format!("{name} means nothing any more: operations start when they are due, without queues")
            }
            Key::ServiceThreads | Key::CacheThreads => {
                format!("{name} does not change the load: operations start when they are due")
            }
            Key::SchedulerMode if matches!(item.value, "noop" | "cfq") => {
                format!("{name}: \"{}\" is of kernels before 5.0; today they offer none and mq-deadline", item.value)
            }
            _ => return,
        };
        self.note(item.line, text);
    }

    /// A fault at the line that sets `key`, or of the whole file.
    fn fault_of(&self, key: Key) -> Fault {
        match self.items.iter().rfind(|item| item.entry.key == key) {
            Some(item) => item.at_value(self.file),
            None => Fault::whole(self.file),
        }
    }

    fn check(&mut self) -> Result<(), Fault> {
        self.conf.check().map_err(|unfit| self.fault_of(unfit.key).because(unfit.message, unfit.advice))?;
        if let Some(unfit) = self.conf.unsound() {
            return Err(self.fault_of(unfit.key).because(unfit.message, unfit.advice));
        }
        if self.conf.read_reqs_per_sec == 0 && self.conf.write_reqs_per_sec == 0 {
            let message = "read-reqs-per-sec and write-reqs-per-sec can't both be zero";
            let advice = "1x is read-reqs-per-sec: 2000 and write-reqs-per-sec: 1000 per device";
            return Err(self.fault_of(Key::ReadReqsPerSec).because(message, advice));
        }
        self.check_commit_min()?;
        self.check_production()?;
        if !self.items.iter().any(|item| item.entry.key == Key::TestDurationSec) {
            self.note(0, "test-duration-sec is not given; taken as one day (86400)");
        }
        Ok(())
    }

    fn check_commit_min(&self) -> Result<(), Fault> {
        let min = self.conf.commit_min_bytes.map_or(1, |bytes| bytes.get());
        if !min.is_power_of_two() || min > self.conf.large_block.get() {
            let message = "commit-min-bytes must be a power of two, at most a large block";
            return Err(self.fault_of(Key::CommitMinBytes).because(message, "write 512, 1024, 2048 or 4096"));
        }
        Ok(())
    }

    fn check_production(&self) -> Result<(), Fault> {
        let Some(production) = &self.conf.production else {
            return Ok(());
        };
        let sized = !production.read_over.is_empty() && !production.write_over.is_empty();
        if self.conf.record_bytes.get() == 0 && !sized {
            let message = "record-bytes 0 takes sizes from storage-read-histogram and storage-write-histogram";
            return Err(self.fault_of(Key::RecordBytes).because(message, "give both, or a size"));
        }
        if let (Some(total), Some(frees)) = (production.total_lbw_per_sec, production.direct_frees)
            && frees > total
        {
            let message = "direct-frees must not exceed total-lbw-per-sec";
            return Err(self.fault_of(Key::DirectFrees).because(message, format!("write {total} or less")));
        }
        Ok(())
    }
}

fn of_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::PerSecond => " per second",
        Unit::Seconds => " of seconds",
        Unit::Microseconds => " of microseconds",
        Unit::Bytes => " of bytes",
        Unit::Kbytes => " of kilobytes (1024)",
        Unit::Mbytes => " of megabytes (1024 x 1024)",
        Unit::Percent => " of percent",
        Unit::Count => "",
    }
}

/// Advice for a value that is missing or that says nothing.
fn example(entry: &Entry) -> String {
    match entry.shape {
        Shape::Devices => "write /dev/… , several separated by commas".to_owned(),
        Shape::Number(_, min, max) => format!("write digits only, from {min} to {max}"),
        Shape::Flag => "write yes or no".to_owned(),
        Shape::Word => "write none or mq-deadline".to_owned(),
        Shape::Shares => "write percentages separated by commas, the last one 0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::{Bytes, Span};

    const GOOD: &str = "device-names: /dev/a\nread-reqs-per-sec: 2000\nwrite-reqs-per-sec: 1000\n";

    fn refusal(text: &str, kind: Option<Kind>) -> String {
        read("act.conf", text, kind).map(|_| ()).expect_err(text).to_string()
    }

    #[test]
    fn the_fault_of_the_style_guide() {
        let text = "# 30x\ndevice-names: /dev/a\nwrite-reqs-per-sec: 30000\nread-reqs-per-sec: 60k\n";
        let shown = "error: rate must be a whole number per second\n --> act.conf:4:20\n  4 | read-reqs-per-sec: 60k\n    |                    ^^^ write 60000";
        assert_eq!(refusal(text, None), shown);
    }

    #[test]
    fn nothing_is_guessed() {
        for (line, place, message, advice) in [
            ("test-duration-sec: 60x60", "4:20", "whole number of seconds", "write 3600"),
            ("test-duration-sec: 60 x 60 x 24", "4:20", "whole number of seconds", "write 86400"),
            ("test-duration-sec: 24h # a day", "4:20", "whole number of seconds", "write 86400"),
            ("test-duration-sec: 2.9", "4:20", "whole number of seconds", "digits only, from 1"),
            ("test-duration-sec: -5", "4:20", "whole number of seconds", "digits only"),
            ("test-duration-sec: 0", "4:20", "from 1 to 4294967295", "write 1 or more"),
            ("test-duration-sec: 4294967296", "4:20", "from 1 to 4294967295", "write 4294967295 or less"),
            ("test-duration-sec:", "4:19", "has no value", "digits only"),
            ("report-interval-sec: 1e6", "4:22", "whole number of seconds", "write 1000000"),
            ("microsecond-histograms: Yes", "4:25", "yes or no", "write yes"),
            ("microsecond-histograms: yikes", "4:25", "yes or no", "write yes or no"),
            ("tomb-raider: 0", "4:14", "yes or no", "write no"),
            ("read-reqs-per-sec: 1", "4:1", "already set on line 2", "keep one"),
            ("read-req-per-sec: 1", "4:1", "not a key of ACT", "did you mean read-reqs-per-sec?"),
            ("colour: red", "4:1", "not a key of ACT", "remove the line"),
            ("max-lag-sec=5", "4:1", "ends with a colon", "write `max-lag-sec: 5`"),
            ("max-lag-sec : 5", "4:13", "takes this colon for the value", "write `max-lag-sec: value`"),
            ("device-names: /dev/b, /dev/a", "4:23", "named twice", "name it once"),
            ("record-bytes: 200000", "4:15", "does not fit into a large block", "at most large-block"),
            ("record-bytes: 0", "4:15", "from 1 to 8388608", "in this range"),
            ("record-bytes-range-max: 1536", "4:25", "larger than record-bytes", "in this range"),
            ("large-block-op-kbytes: 96", "4:24", "power of two", "write 128"),
            ("large-block-op-kbytes: 0", "4:24", "from 1 to 8192", "write 1 or more"),
            ("defrag-lwm-pct: 100", "4:17", "from 0 to 99", "write 99 or less"),
            ("commit-min-bytes: 700", "4:19", "power of two", "write 512"),
            ("scheduler-mode: ../../x", "4:17", "name of an I/O scheduler", "write none"),
            ("cache-threads: 8\nrecord-bytes: 512", "4:1", "is of an index test", "keep the keys of one"),
            ("storage-read-histogram: 100, 50.5, 60, 0", "4:36", "must not rise", "copy the row"),
            ("storage-read-histogram: 100, 50.5", "4:34", "last share must be 0", "add 0.00"),
            ("storage-read-histogram: 100, 5x, 0", "4:30", "must be a percentage", "0 to 100"),
            ("max-lag-sec: 5\0", "4:15", "control character", "remove it"),
        ] {
            let text = refusal(&format!("{GOOD}{line}\n"), None);
            for part in [place, message, advice] {
                assert!(text.contains(part), "{line}: {part} is not in\n{text}");
            }
        }
    }

    #[test]
    fn texts_that_are_no_config_file() {
        let many: String = (0..1025).map(|i| format!("device-names: /dev/d{i}\n")).collect();
        for (text, part) in [
            (String::new(), "no device is named"),
            ("device-names: /dev/a".into(), "can't both be zero"),
            (format!("\u{feff}{GOOD}"), "byte order mark"),
            ("x".repeat(FILE_MAX + 1), "at most 1 MiB"),
            (format!("#{}", "x".repeat(LINE_MAX)), "ACT would cut it"),
            (many, "more than 1024 devices"),
            ("a\u{1b}[31m".into(), "control character"),
            ("\u{202e}: 1".into(), "not a key of ACT"),
        ] {
            assert!(refusal(&text, None).contains(part), "{part}");
        }
        let error = read_bytes("act.conf", b"max-lag-sec: 5\nab\xff", None).expect_err("not UTF-8").to_string();
        assert!(error.contains("act.conf:2:3") && error.contains("not UTF-8"), "{error}");
        assert!(refusal(&format!("{GOOD}record-bytes: 512"), Some(Kind::Index)).contains("no key of act_index"));
        assert!(refusal(&format!("{GOOD}cache-threads: 8"), Some(Kind::Storage)).contains("no key of act_storage"));
    }

    #[test]
    fn a_file_of_todays_dialect() {
        let text = "\r\n  device-names: /dev/a,/dev/b;/dev/c\t/dev/d # four\r\ndevice-names /dev/e\nread-reqs-per-sec 10\ncommit-to-device: yes\nrecord-bytes-range-max: 8100\nmax-lag-sec: 0";
        let (conf, notes) = read("f", text, None).unwrap();
        assert_eq!(conf.device_names, ["/dev/a", "/dev/b", "/dev/c", "/dev/d", "/dev/e"]);
        assert_eq!((conf.kind, conf.read_reqs_per_sec, conf.commit_to_device), (Kind::Storage, 10, true));
        assert_eq!((conf.max_lag, conf.test_duration), (Span::ZERO, Span::from_secs(86_400)));
        assert_eq!(conf.record_bytes_range_max, Some(Bytes::new(8100)));
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].to_string().contains("one day"));
    }

    #[test]
    fn a_file_of_the_4x_dialect_as_the_sizing_guide_shows_it() {
        let text = "##########\nact config file for testing 1 device(s) at non-standard load\n##########\n# comma-separated list:\ndevice-names: /dev/nvme0n1\nnum-queues: 4\nthreads-per-queue: 35\ntest-duration-sec: 7200\nreport-interval-sec: 1\nlarge-block-op-kbytes: 128\nrecord-bytes: 0\nstorage-read-histogram: 100.00,84.00, 68.36,12.68,0.00\nstorage-write-histogram: 100.00,85.78,0.00\ndirect-frees: 300\ntotal-lbw-per-sec: 1527\nlbr-req-offset: 090\nlbw-req-offset: 093\nread-reqs-per-sec: 10470\nwrite-reqs-per-sec: 5957\nmicrosecond-histograms: no\nscheduler-mode: noop\n";
        let (conf, notes) = read("f", text, None).unwrap();
        let production = conf.production.unwrap();
        assert_eq!(production.read_over[2], "68.36%".parse().unwrap());
        assert_eq!(
            (production.write_over.len(), production.direct_frees, production.total_lbw_per_sec),
            (3, Some(300), Some(1527))
        );
        assert_eq!((production.lbr_req_offset, production.read_size_offset), (Share::from_percent(90), Share::WHOLE));
        assert_eq!(conf.scheduler_mode.as_deref(), Some("noop"));
        let lines: Vec<usize> = notes.iter().map(|note| note.line).collect();
        assert_eq!(lines, [2, 6, 7, 21], "{notes:?}");
        let error = refusal(&text.replace("storage-write", "#"), None);
        assert!(error.contains("takes sizes from"), "{error}");
        assert!(refusal(&text.replace("300", "3000"), None).contains("write 1527 or less"));
    }

    #[test]
    fn the_keys_tell_the_kind() {
        for (line, asked, kind) in [
            ("cache-threads: 4", None, Kind::Index),
            ("num-cache-threads: 4", None, Kind::Index),
            ("update-pct: 4", None, Kind::Storage),
            ("max-lag-sec: 4", None, Kind::Storage),
            ("max-lag-sec: 4", Some(Kind::Index), Kind::Index),
        ] {
            let (conf, _) = read("f", &format!("{GOOD}{line}"), asked).unwrap();
            assert_eq!(conf.kind, kind, "{line}");
        }
    }
}
