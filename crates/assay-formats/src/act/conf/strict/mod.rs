//! Our reader of ACT config files: every dialect from 4.x to 6.6, without guessing. A value that is not clear is
//! refused with file, line, column and what to write.

mod values;

use super::keys::{self, ENTRIES, Entry, Key, Shape};
use super::{Conf, Kind};
use crate::note::Note;
use assay_base::fault::{Fault, nearest_known_name};

/// A larger file is not a config file.
const FILE_MAX: usize = 1 << 20;
/// ACT cuts lines after this many bytes and treats the rest as a new line.
const LINE_MAX: usize = 4095;

/// One line that sets something.
struct Item<'a> {
    entry: &'static Entry,
    line: usize,
    source: &'a str,
    /// The value without comment and surrounding blanks, and its position in `source`.
    value: &'a str,
    value_at: usize,
    key_at: usize,
}

/// Reads a config file. `kind` says which program it is for; without it the keys decide, and a file that fits both
/// programs is refused. The notes mention keys without a meaning today, and the defaults used.
pub fn read_conf(file_name: &str, text: &str, kind: Option<Kind>) -> Result<(Conf, Vec<Note>), Fault> {
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
    reader.check_conf()?;
    if kind.is_none() && reader.program_of_keys().is_none() {
        let message = "it fits both of ACT's tests: no key of it is for act_index or for act_storage alone";
        let advice = "write --model act-index for the index test, or --model act-storage for the storage test";
        return Err(Fault::in_file(file_name).with_reason(message, advice));
    }
    Ok((reader.conf, reader.notes))
}

/// Whether a config file fits both programs: none of its lines sets a key that only one of them knows.
pub fn fits_both(text: &str) -> bool {
    let mut notes = Vec::new();
    let lines = text.lines().enumerate();
    let mut items = lines.filter_map(|(index, source)| read_line("", index + 1, source, &mut notes).ok().flatten());
    items.all(|item| item.entry.only.is_none())
}

/// The same from bytes, which must be UTF-8.
pub fn read_bytes(file_name: &str, text: &[u8], kind: Option<Kind>) -> Result<(Conf, Vec<Note>), Fault> {
    match std::str::from_utf8(text) {
        Ok(text) => read_conf(file_name, text, kind),
        Err(error) => {
            let good = text.get(..error.valid_up_to()).and_then(|good| std::str::from_utf8(good).ok()).unwrap_or("");
            let line = good.matches('\n').count() + 1;
            let start = good.rfind('\n').map_or(0, |i| i + 1);
            let source = &good[start..];
            let advice = "save the file as UTF-8, without a byte order mark";
            Err(Fault::in_line(file_name, line, source, source.len(), 1).with_reason("this is not UTF-8 text", advice))
        }
    }
}

fn check_text(file: &str, text: &str) -> Result<(), Fault> {
    if text.len() > FILE_MAX {
        let message = format!("{} bytes are too many for a config file", text.len());
        return Err(Fault::in_file(file).with_reason(message, "give the path of an ACT config file, at most 1 MiB"));
    }
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('\u{feff}') {
            let fault = Fault::in_line(file, index + 1, line, 0, 1);
            return Err(fault.with_reason("a byte order mark stands before the text", "save the file without it"));
        }
        if line.len() > LINE_MAX {
            let message = format!("the line has {} bytes; ACT would cut it after {LINE_MAX}", line.len());
            let fault = Fault::in_line(file, index + 1, line, LINE_MAX, 1);
            return Err(fault.with_reason(message, "shorten it; device-names may be given on several lines"));
        }
        if let Some(offset) = line.find(|c: char| c.is_control() && c != '\t') {
            let fault = Fault::in_line(file, index + 1, line, offset, 1);
            return Err(fault.with_reason("a control character stands in the text", "remove it"));
        }
    }
    Ok(())
}

/// The item of a line, if the line sets anything.
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
    let Some(index) = keys::index_of_key(key) else {
        return Err(unknown_key(file, line, source, key_at, key));
    };
    let value = after.strip_prefix(':').unwrap_or(after).trim_start();
    let value_at = content.len() - value.len();
    if value.starts_with(':') {
        let fault = Fault::in_line(file, line, source, value_at, 1);
        return Err(fault.with_reason("ACT takes this colon for the value", format!("write `{key}: value`")));
    }
    Ok(Some(Item { entry: &ENTRIES[index], line, source, value, value_at, key_at }))
}

fn unknown_key(file: &str, line: usize, source: &str, at: usize, key: &str) -> Fault {
    let fault = Fault::in_line(file, line, source, at, key.len());
    let shown: String = key.chars().take(60).collect();
    if let Some((name, value)) = key.split_once('=').filter(|(name, _)| keys::index_of_key(name).is_some()) {
        let value: String = value.chars().take(60).collect();
        return fault.with_reason("a key ends with a colon, not with =", format!("write `{name}: {value}`"));
    }
    let names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
    let advice = match nearest_known_name(&shown.to_lowercase(), &names) {
        Some(name) => format!("did you mean {name}?"),
        None => "remove the line, or make it a comment with #".to_owned(),
    };
    fault.with_reason(format!("\"{}\" is not a key of ACT", shown.escape_debug()), advice)
}

impl Item<'_> {
    fn key_name(&self) -> &'static str {
        self.entry.name
    }

    fn fault_at(&self, file: &str, at: usize, width: usize) -> Fault {
        Fault::in_line(file, self.line, self.source, at, width)
    }

    /// A fault that points at the key.
    fn at_key(&self, file: &str) -> Fault {
        self.fault_at(file, self.key_at, self.key_name().len())
    }

    /// A fault that points at the value, or where it should be.
    fn at_value(&self, file: &str) -> Fault {
        self.fault_at(file, self.value_at, self.value.len())
    }

    /// Whether both set the same thing.
    fn same_as(&self, other: &Item) -> bool {
        self.entry.key == other.entry.key && (self.entry.key != Key::Obsolete || self.key_name() == other.key_name())
    }
}

struct Reader<'a> {
    file: &'a str,
    conf: Conf,
    items: Vec<Item<'a>>,
    notes: Vec<Note>,
}

impl Reader<'_> {
    fn add_note(&mut self, line: usize, text: impl Into<String>) {
        self.notes.push(Note { line, text: text.into() });
    }

    fn decide_kind(&self, asked: Option<Kind>) -> Result<Kind, Fault> {
        match (asked, self.first_item_of(Kind::Storage), self.first_item_of(Kind::Index)) {
            (Some(Kind::Storage), _, Some(item)) => Err(self.not_a_key_of(item, Kind::Storage)),
            (Some(Kind::Index), Some(item), _) => Err(self.not_a_key_of(item, Kind::Index)),
            (None, Some(storage), Some(index)) => {
                let message =
                    format!("{} is of an index test, {} of a storage test", index.key_name(), storage.key_name());
                Err(index.at_key(self.file).with_reason(message, "keep the keys of one of them"))
            }
            (Some(kind), ..) => Ok(kind),
            (None, ..) => Ok(self.program_of_keys().unwrap_or(Kind::Storage)),
        }
    }

    /// The first item with a key that only this program has.
    fn first_item_of(&self, kind: Kind) -> Option<&Item<'_>> {
        self.items.iter().find(|item| item.entry.only == Some(kind))
    }

    fn not_a_key_of(&self, item: &Item<'_>, kind: Kind) -> Fault {
        let message = format!("{} is not a key of {}", item.key_name(), kind.program_name());
        item.at_key(self.file).with_reason(message, "remove it, or use the file for the other test")
    }

    /// The program that its keys are for; `None` where they are for both.
    fn program_of_keys(&self) -> Option<Kind> {
        self.items.iter().find_map(|item| item.entry.only)
    }

    /// Refuses a key that is given twice, except device-names, where it extends the list.
    fn refuse_strays(&self) -> Result<(), Fault> {
        for (index, item) in self.items.iter().enumerate() {
            let first = self.items[..index].iter().find(|earlier| earlier.same_as(item));
            if let Some(first) = first.filter(|_| item.entry.shape != Shape::Devices) {
                let message = format!("{} is already set on line {}", item.key_name(), first.line);
                return Err(item.at_key(self.file).with_reason(message, "keep one of the two lines"));
            }
        }
        Ok(())
    }

    fn set_all(&mut self) -> Result<(), Fault> {
        for item in std::mem::take(&mut self.items) {
            self.set_value(&item)?;
            self.add_key_notes(&item);
            self.items.push(item);
        }
        Ok(())
    }

    /// Adds notes on keys whose meaning has changed or disappeared.
    fn add_key_notes(&mut self, item: &Item) {
        let name = item.key_name();
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
        self.add_note(item.line, text);
    }

    /// A fault at the line that sets `key`, or of the whole file.
    fn fault_of(&self, key: Key) -> Fault {
        match self.items.iter().rfind(|item| item.entry.key == key) {
            Some(item) => item.at_value(self.file),
            None => Fault::in_file(self.file),
        }
    }

    fn check_conf(&mut self) -> Result<(), Fault> {
        self.conf
            .check_like_act()
            .map_err(|unfit| self.fault_of(unfit.key).with_reason(unfit.message, unfit.advice))?;
        if let Some(unfit) = self.conf.first_unsound() {
            return Err(self.fault_of(unfit.key).with_reason(unfit.message, unfit.advice));
        }
        if self.conf.read_reqs_per_sec == 0 && self.conf.write_reqs_per_sec == 0 {
            let message = "read-reqs-per-sec and write-reqs-per-sec can't both be zero";
            let advice = "1x is read-reqs-per-sec: 2000 and write-reqs-per-sec: 1000 per device";
            return Err(self.fault_of(Key::ReadReqsPerSec).with_reason(message, advice));
        }
        self.check_commit_min()?;
        self.check_production()?;
        if !self.items.iter().any(|item| item.entry.key == Key::TestDurationSec) {
            self.add_note(0, "test-duration-sec is not given; taken as one day (86400)");
        }
        Ok(())
    }

    fn check_commit_min(&self) -> Result<(), Fault> {
        let min = self.conf.commit_min_bytes.map_or(1, |bytes| bytes.get());
        if !min.is_power_of_two() || min > self.conf.large_block.get() {
            let message = "commit-min-bytes must be a power of two, at most a large block";
            return Err(self.fault_of(Key::CommitMinBytes).with_reason(message, "write 512, 1024, 2048 or 4096"));
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
            return Err(self.fault_of(Key::RecordBytes).with_reason(message, "give both, or a size"));
        }
        if let (Some(total), Some(frees)) = (production.total_lbw_per_sec, production.direct_frees)
            && frees > total
        {
            let message = "direct-frees must not exceed total-lbw-per-sec";
            return Err(self.fault_of(Key::DirectFrees).with_reason(message, format!("write {total} or less")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
