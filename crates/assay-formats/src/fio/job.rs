//! One job: the keys that count for it, and typed answers to what they say.
//!
//! A job remembers which of its keys the lowering has read. A key that was not read would be ignored silently, so it is
//! refused.

use super::alike::is_as_fio;
use super::engine_keys::OF_PROFILES;
use super::keys::Class;
use super::number::{Amount, Reading, Wrong, parse_percent, parse_time};
use super::text::{Entry, JobFile, Section, Value};
use assay_base::{Fault, Span};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A job and its keys.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub file: &'a JobFile,
    pub section: &'a Section,
    pub name: String,
    /// For each name the last key with it, and the position of that key: a key at a later position overrides one at an
    /// earlier.
    keys: BTreeMap<&'static str, (usize, &'a Entry)>,
    asked: RefCell<BTreeSet<&'static str>>,
    /// Notes for the reader of the plan.
    notes: RefCell<Vec<String>>,
}

/// Keys that need no reading, because they change no operation: their class says everything about them.
const REMARKS: [&str; 39] = [
    "allrandrepeat",
    "buffer_compress_chunk",
    "continue_on_error",
    "dedupe_global",
    "description",
    "exit_what",
    "exitall",
    "exitall_on_error",
    "filetype",
    "hipri",
    "hipri_percentage",
    "ignore_error",
    "invalidate",
    "io_submit_mode",
    "iodepth_batch",
    "iodepth_batch_complete_max",
    "iodepth_batch_complete_min",
    "iodepth_low",
    "kb_base",
    "name",
    "randrepeat",
    "serialize_overlap",
    "sqthread_poll",
    "stonewall",
    "thinkcycles",
    "thinktime_spin",
    "unlink",
    "unlink_each_loop",
    "verify_backlog",
    "verify_backlog_batch",
    "verify_fatal",
    "verify_interval",
    "verify_offset",
    "verify_pattern",
    "verify_pattern_interval",
    "verify_policy",
    "verify_state_load",
    "verify_state_save",
    "wait_for",
];

/// Keys that are about writing alone: in a job that only reads they do nothing.
const OF_WRITES: [&str; 18] = [
    "atomic",
    "buffer_compress_chunk",
    "buffer_compress_percentage",
    "buffer_pattern",
    "dedupe_global",
    "dedupe_mode",
    "dedupe_percentage",
    "dedupe_working_set_percentage",
    "file_append",
    "sync_file_range",
    "trim_backlog",
    "trim_backlog_batch",
    "trim_percentage",
    "trim_verify_zero",
    "write_barrier",
    "write_hint",
    "writefua",
    "zero_buffers",
];

/// All jobs of a file, in its order. Sections whose name begins with `global` set defaults for the sections after them.
pub(super) fn all_jobs(file: &JobFile) -> Result<Vec<Job<'_>>, Fault> {
    let mut globals: Vec<&Entry> = Vec::new();
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for section in &file.sections {
        if section.is_global() {
            globals.extend(&section.entries);
        } else {
            jobs.push(Job::new(file, section, &globals));
        }
    }
    Ok(jobs)
}

impl<'a> Job<'a> {
    fn new(file: &'a JobFile, section: &'a Section, globals: &[&'a Entry]) -> Job<'a> {
        let all = globals.iter().copied().chain(&section.entries);
        let keys: BTreeMap<_, _> = all.enumerate().map(|(at, entry)| (entry.key.name, (at, entry))).collect();
        let own = section.entries.iter().rfind(|entry| entry.key.name == "name").and_then(|entry| entry.value.as_ref());
        let name = own.map_or_else(|| section.name.clone(), |value| value.text.clone());
        Job { file, section, name, keys, asked: RefCell::default(), notes: RefCell::default() }
    }

    /// Refuses variables that are not set in keys that describe the load.
    pub(super) fn refuse_unset(&self) -> Result<(), Fault> {
        let described = self.effective_entries().into_iter().filter(|entry| entry.key.class <= Class::Differs);
        let mut unset = described.filter_map(|entry| entry.value.as_ref()?.unset.as_deref());
        unset.next().cloned().map_or(Ok(()), Err)
    }

    /// Refuses the job if it has a key of the class `Refused`. `writes` says that it writes: what is about writing alone
    /// does nothing otherwise, which is noted.
    pub(super) fn refuse_unsupported(&self, writes: bool) -> Result<(), Fault> {
        for entry in self.effective_entries().into_iter().filter(|entry| !writes && is_of_writes(entry)) {
            self.asked.borrow_mut().insert(entry.key.name);
            self.note_difference(entry, "without effect: the job writes nothing");
        }
        let mut refused = self.effective_entries().into_iter().filter(|entry| entry.key.class == Class::Refused);
        let Some(entry) = refused.find(|entry| writes || !is_of_writes(entry)) else { return Ok(()) };
        let (name, told) = (entry.key.name, entry.key.told);
        // The text is only a remedy: another key does the same better.
        if told.starts_with("use ") || told.starts_with("write ") {
            return Err(self.file.fault_at(entry.place, format!("{name} is not driven"), told));
        }
        let (why, remedy) = told.split_once([';', ':']).unwrap_or((told, "remove this key"));
        Err(self.file.fault_at(entry.place, format!("{name} is not driven: {}", why.trim()), remedy.trim()))
    }

    /// Refuses keys that describe the load and that nobody has read, and adds a note about each key that needs no
    /// reading and differs from fio. Must be called after everything else has read its keys.
    pub(super) fn refuse_unread_keys(&self, page_cache: bool) -> Result<(), Fault> {
        let asked = self.asked.borrow().clone();
        for entry in self.effective_entries().into_iter().filter(|entry| entry.key.class <= Class::Differs) {
            let is_remark = REMARKS.contains(&entry.key.name) || OF_PROFILES.contains(entry.key);
            match (asked.contains(entry.key.name), is_remark) {
                (false, false) => {
                    return Err(self.not_yet(entry, "this key", "remove it, if the job is the same without"));
                }
                (_, true) if entry.key.class == Class::Differs && !is_as_fio(entry, page_cache) => {
                    self.note_difference(entry, entry.key.told);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The keys that have an effect, in their order.
    pub(super) fn effective_entries(&self) -> Vec<&'a Entry> {
        let mut all: Vec<_> = self.keys.values().copied().collect();
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().map(|(_, entry)| entry).collect()
    }

    /// The key, if it is written.
    pub(super) fn find_entry(&self, key: &'static str) -> Option<&'a Entry> {
        self.asked.borrow_mut().insert(key);
        self.keys.get(key).map(|(_, entry)| *entry)
    }

    /// Whether key `one` overrides key `other` because it stands after it.
    pub(super) fn is_later(&self, one: &'static str, other: &'static str) -> bool {
        self.keys.get(one).map(|(at, _)| at) > self.keys.get(other).map(|(at, _)| at)
    }

    /// Adds a note for the reader of the plan.
    pub(super) fn add_note(&self, note: impl Into<String>) {
        let note = note.into();
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Adds a note about a key that differs from fio, with the line of the key.
    pub(super) fn note_difference(&self, entry: &Entry, difference: &str) {
        let (file, line) = self.file.file_and_line(entry.place);
        let value = entry.value.as_ref().map_or(String::new(), |value| format!("={}", value.text));
        self.add_note(format!("{file}:{line}: {}{value}: {difference}", entry.key.name));
    }

    /// All notes.
    pub(super) fn all_notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// A fault at a key's value, or at the key itself if it has no value.
    pub(super) fn fault_at_entry(&self, entry: &Entry, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        self.file.fault_at(entry.value.as_ref().map_or(entry.place, |value| value.place), what, remedy)
    }

    /// The fault for a key that cannot be driven yet.
    pub(super) fn not_yet(&self, entry: &Entry, what: &str, remedy: &str) -> Fault {
        self.file.fault_at(entry.place, format!("{what} is not driven yet"), remedy)
    }

    /// The fault for a part of a value that is wrong.
    pub(super) fn fault_in_value(&self, value: &Value, wrong: Wrong) -> Fault {
        self.file.fault_at(value.part_place(wrong.from, wrong.to), wrong.what, wrong.remedy)
    }

    /// The value of a key, if the key is present; a key without a value is refused.
    pub(super) fn value_of_key(&self, key: &'static str) -> Result<Option<(&'a Entry, &'a Value)>, Fault> {
        let Some(entry) = self.find_entry(key) else { return Ok(None) };
        match entry.value.as_ref().filter(|value| !value.text.is_empty()) {
            Some(Value { unset: Some(fault), .. }) => Err((**fault).clone()),
            Some(value) => Ok(Some((entry, value))),
            None => Err(self.file.fault_at(entry.place, format!("{key} has no value"), format!("write {key}=…"))),
        }
    }

    /// The value of a key as text.
    pub(super) fn text_of_key(&self, key: &'static str) -> Result<Option<&'a str>, Fault> {
        Ok(self.value_of_key(key)?.map(|(_, value)| value.text.as_str()))
    }

    /// Whether a switch is on. A switch without a value is on.
    pub(super) fn is_switched_on(&self, key: &'static str) -> Result<bool, Fault> {
        let Some(entry) = self.find_entry(key) else { return Ok(false) };
        match entry.value.as_ref().map(|value| value.text.as_str()) {
            None | Some("1") => Ok(true),
            Some("0") => Ok(false),
            Some(_) => Err(self.fault_at_entry(entry, format!("{key} is a switch"), "write 1 or 0")),
        }
    }

    /// How numbers of this key are read.
    pub(super) fn reading_of_key(&self, entry: &Entry, value: &Value) -> Reading {
        let base = self.keys.get("kb_base").and_then(|(_, base)| base.value.as_ref());
        let sizes = [
            "bs",
            "bsrange",
            "bssplit",
            "ba",
            "size",
            "io_size",
            "offset",
            "offset_increment",
            "offset_align",
            "filesize",
            "rate",
            "rate_min",
            "zonesize",
            "zonerange",
            "zoneskip",
        ];
        Reading {
            true_units: base.is_some_and(|base| base.text == "1000"),
            behind_blank: value.behind_blank,
            key: entry.key.name,
            noun: if sizes.contains(&entry.key.name) { " bytes" } else { "" },
        }
    }

    /// A number.
    pub(super) fn count_of_key(&self, key: &'static str) -> Result<Option<u64>, Fault> {
        let Some((entry, value)) = self.value_of_key(key)? else { return Ok(None) };
        self.reading_of_key(entry, value)
            .parse_count(&value.text)
            .map(Some)
            .map_err(|wrong| self.fault_in_value(value, wrong))
    }

    /// A number from `least` to `most`.
    pub(super) fn number_within<N: TryFrom<u64>>(
        &self,
        key: &'static str,
        least: u64,
        most: u64,
    ) -> Result<Option<N>, Fault> {
        let (Some(number), Some(entry)) = (self.count_of_key(key)?, self.find_entry(key)) else { return Ok(None) };
        let fitting = N::try_from(number).ok().filter(|_| (least..=most).contains(&number));
        fitting.map(Some).ok_or_else(|| {
            self.fault_at_entry(entry, format!("{key} of {number} is out of range"), format!("write {least} to {most}"))
        })
    }

    /// A length in bytes, or a share of the file; none if it is zero, which stands for all of the file.
    pub(super) fn length_of_key(&self, key: &'static str) -> Result<Option<(&'a Entry, Amount)>, Fault> {
        Ok(self.amount_of_key(key)?.filter(|(_, amount)| *amount != Amount::Bytes(0)))
    }

    /// A size in bytes, or a share of the file.
    pub(super) fn amount_of_key(&self, key: &'static str) -> Result<Option<(&'a Entry, Amount)>, Fault> {
        let Some((entry, value)) = self.value_of_key(key)? else { return Ok(None) };
        let amount = self.reading_of_key(entry, value).parse_amount(&value.text);
        amount.map(|amount| Some((entry, amount))).map_err(|wrong| self.fault_in_value(value, wrong))
    }

    /// A time; a number without a unit is in units of `unit`.
    pub(super) fn time_of_key(&self, key: &'static str, unit: Span) -> Result<Option<Span>, Fault> {
        let Some((entry, value)) = self.value_of_key(key)? else { return Ok(None) };
        parse_time(&value.text, unit, self.reading_of_key(entry, value))
            .map(Some)
            .map_err(|wrong| self.fault_in_value(value, wrong))
    }

    /// A share in percent.
    pub(super) fn percent_of_key(&self, key: &'static str) -> Result<Option<u64>, Fault> {
        let Some((_, value)) = self.value_of_key(key)? else { return Ok(None) };
        parse_percent(&value.text).map(Some).map_err(|wrong| self.fault_in_value(value, wrong))
    }

    /// Values for reads and for writes: `a,b`, or one value for both. An empty value is absent. A third one is for
    /// discards; jobs that discard are refused.
    pub(super) fn pair_of_key<T: Clone>(
        &self,
        key: &'static str,
        read: impl Fn(Reading, &str) -> Result<T, Wrong>,
    ) -> Result<[Option<T>; 2], Fault> {
        let Some((entry, value)) = self.value_of_key(key)? else { return Ok([None, None]) };
        let reading = self.reading_of_key(entry, value);
        let mut found = Vec::new();
        let mut at = 0;
        for part in value.text.split(',') {
            let one = if part.is_empty() { None } else { Some(read(reading, part)) };
            let one = one.transpose().map_err(|wrong| self.fault_in_value(value, wrong.shifted_by(at)))?;
            found.push((at, part.len(), one));
            at += part.len() + 1;
        }
        match found.as_slice() {
            [(_, _, both)] => Ok([both.clone(), both.clone()]),
            [(_, _, reads), (_, _, writes)] => Ok([reads.clone(), writes.clone()]),
            [(_, _, reads), (_, _, writes), _] => {
                self.note_difference(
                    entry,
                    "the third value is without effect: it is for discards, and the job has none",
                );
                Ok([reads.clone(), writes.clone()])
            }
            [_, _, _, (at, length, _), ..] => {
                let place = value.part_place(*at, at + length);
                Err(self.file.fault_at(place, "a fourth value", "write one for reads and one for writes"))
            }
            [] => Ok([None, None]),
        }
    }
}

/// Whether a key is about writing alone.
fn is_of_writes(entry: &Entry) -> bool {
    OF_WRITES.contains(&entry.key.name)
}
