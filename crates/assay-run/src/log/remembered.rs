//! What a run has measured, kept in memory while it is written to the log: the log is judged while it grows, and its bytes
//! are summed.
//!
//! The disk of the log may die while a run goes on, and somebody may change the log. What was measured is not lost then:
//! the judgement is made from memory. A result without its log proves less, so that it is never PASS.
//!
//! Simulated runs are not remembered: they can be repeated to the byte, and judging costs as much as simulating.

use crate::failure::{Failure, escaped_path};
use crate::log::reading;
use assay_base::Measure;
use assay_judge::judgement::LogSum;
use assay_judge::{Fold, Judgement, Options, Verdict};
use assay_model::Phase;
use assay_record::{Entry, Header, PhaseKind};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The judgements of a log.
#[derive(Debug)]
pub(crate) struct Judged {
    /// Of all of it.
    pub(crate) whole: Judgement,
    /// Of each phase that was asked for.
    pub(crate) phases: Vec<Judgement>,
}

/// The log of one run, in memory.
struct Memory {
    options: Options,
    fold: Fold,
    /// A judge for each measured phase, with its name, if the run has several of them.
    phases: Vec<(String, Fold)>,
    hasher: blake3::Hasher,
    bytes: u64,
    /// Whether a line could not be written, which is then nowhere else.
    has_more: bool,
    /// Whether a certain FAIL was asked for and found.
    has_failed: bool,
}

/// The place where a log and those who judge it find its content in memory.
#[derive(Clone, Default)]
pub(crate) struct Remembered(Arc<Mutex<Option<Memory>>>);

impl fmt::Debug for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remembered({})", if self.lock_memory().is_some() { "all" } else { "nothing" })
    }
}

/// The logs that this process writes, by their paths.
static LOGS: Mutex<Vec<(PathBuf, Remembered)>> = Mutex::new(Vec::new());

fn lock_logs() -> MutexGuard<'static, Vec<(PathBuf, Remembered)>> {
    LOGS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Remembered {
    fn lock_memory(&self) -> MutexGuard<'_, Option<Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to remember the log at `path`, with what it holds already. A log that cannot be read is not remembered.
    pub(crate) fn begin_remembering(&self, path: &Path, judge_on: Option<Measure>) {
        if self.lock_memory().is_some() {
            return;
        }
        let options = Options { judge_on, ..Options::default() };
        let memory = Memory {
            fold: Fold::new(options.clone()),
            options,
            phases: Vec::new(),
            hasher: blake3::Hasher::new(),
            bytes: 0,
            has_more: false,
            has_failed: false,
        };
        let Some(memory) = memory.with_content_of(path) else { return };
        *self.lock_memory() = Some(memory);
        let mut logs = lock_logs();
        logs.retain(|(known, _)| known != path);
        logs.push((path.to_owned(), self.clone()));
    }

    /// Adds the next line, before it is written.
    pub(crate) fn hear_line(&self, entry: &Entry) {
        if let Some(memory) = self.lock_memory().as_mut() {
            memory.add_entry(entry);
        }
    }

    /// Why the log will be judged FAIL whatever follows: once, when that becomes certain.
    pub(crate) fn newly_certain_failure(&self) -> Option<String> {
        let mut memory = self.lock_memory();
        let memory = memory.as_mut().filter(|memory| !memory.has_failed)?;
        let why = memory.fold.certain_failure();
        memory.has_failed = why.is_some();
        why
    }

    /// Adds bytes that were written.
    pub(crate) fn add_written(&self, bytes: &[u8]) {
        if let Some(memory) = self.lock_memory().as_mut() {
            memory.hasher.update(bytes);
            memory.bytes += bytes.len() as u64;
        }
    }

    /// Notes that a line could not be written.
    pub(crate) fn note_failed_write(&self) {
        if let Some(memory) = self.lock_memory().as_mut() {
            memory.has_more = true;
        }
    }
}

/// A log that is summed while it is read.
struct Summed<'a> {
    log: File,
    hasher: &'a mut blake3::Hasher,
    bytes: u64,
}

impl Read for Summed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.log.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

impl Memory {
    fn add_entry(&mut self, entry: &Entry) {
        if let Entry::Header(header) = entry {
            self.begin_phases(header);
        }
        self.fold.take_entry(entry);
        self.phases.iter_mut().for_each(|(_, fold)| fold.take_entry(entry));
    }

    /// From the first header on, the phases that a procedure may ask for are judged one by one.
    fn begin_phases(&mut self, header: &Header) {
        let judged: Vec<_> = header.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).collect();
        if judged.len() > 1 && self.phases.is_empty() {
            for phase in judged {
                let options = Options { phase: Some(phase.name.clone()), ..self.options.clone() };
                self.phases.push((phase.name.clone(), Fold::new(options)));
            }
        }
    }

    /// The judgements of the whole, and of these phases. `None` where there is nothing to judge.
    fn finish_judgements(self, phases: &[Phase], why: &str) -> Option<Judged> {
        let mut known = self.phases;
        let mut judged = Vec::new();
        for phase in phases {
            let at = known.iter().position(|(name, _)| *name == phase.name)?;
            judged.push(without_log(known.swap_remove(at).1.finish().ok()?, why));
        }
        Some(Judged { whole: without_log(self.fold.finish().ok()?, why), phases: judged })
    }

    /// The same after what a log holds already.
    fn with_content_of(mut self, path: &Path) -> Option<Memory> {
        let mut hasher = blake3::Hasher::new();
        let mut summed = Summed { log: reading::open_log_file(path).ok()?, hasher: &mut hasher, bytes: 0 };
        let mut reader = reading::reader_from(&mut summed);
        while let Some(item) = reader.next_entry().ok()? {
            match &item {
                Ok(entry) => self.add_entry(entry),
                Err(_) => self.fold.take_item(&item),
            }
        }
        self.bytes = summed.bytes;
        self.hasher = hasher;
        Some(self)
    }

    fn sum_so_far(&self) -> LogSum {
        LogSum { bytes: self.bytes, blake3: self.hasher.finalize().to_hex().to_string() }
    }
}

/// Forgets a log.
pub(crate) fn forget_log(path: &Path) {
    lock_logs().retain(|(known, _)| known != path);
}

/// The judgements of a log, of these phases too, that this process has written: those that were made by reading it, unless
/// what was read is not what was written, or is less.
pub(crate) fn compare_with_remembered(
    path: &Path,
    read: Result<Judged, Failure>,
    phases: &[Phase],
    notify: impl FnOnce(&str),
) -> Result<Judged, Failure> {
    let known = lock_logs().iter().find(|(known, _)| known == path).map(|(_, remembered)| remembered.clone());
    forget_log(path);
    let Some(memory) = known.and_then(|remembered| remembered.lock_memory().take()) else { return read };
    let why = match &read {
        Ok(judged) if judged.whole.log.as_ref() != Some(&memory.sum_so_far()) => {
            "it does not hold what this run has written to it".to_owned()
        }
        Ok(_) if !memory.has_more => return read,
        Ok(_) => "not all of it could be written".to_owned(),
        Err(why) => format!("it cannot be read back: {}", why.user_message()),
    };
    let is_readable = read.is_ok() && memory.has_more;
    let Some(judged) = memory.finish_judgements(phases, &why) else { return read };
    // What could not be written decides only where it shows that the target failed.
    let is_failure_in_log = read.as_ref().is_ok_and(|read| read.whole.verdict == Verdict::Fail);
    if is_readable && (judged.whole.verdict != Verdict::Fail || is_failure_in_log) {
        return read;
    }
    notify(&format!("error: the run log {}: {why}; the result below is made from memory", escaped_path(path)));
    Ok(judged)
}

/// A result whose log proves nothing is no PASS.
fn without_log(mut judgement: Judgement, why: &str) -> Judgement {
    judgement.log = None;
    // First: a summary lists only some of the warnings, and a busy machine causes several.
    judgement.warnings.insert(0, format!("this result was made from memory, because of the run log: {why}"));
    if judgement.verdict == Verdict::Pass {
        judgement.verdict = Verdict::Incomplete;
        judgement.reason = format!("every bound held, but there is no log that proves it: {why}");
    }
    judgement
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::code;
    use crate::log::header::HeaderFacts;
    use crate::log::logfile::LogFile;
    use assay_record::{Event, TargetHead};
    use std::fs;

    /// A log of a run that was cut short, remembered or not, with an I/O error or without.
    fn log(path: &Path, is_remembered: bool, has_error: bool) -> LogFile {
        let plan = crate::workloads::find_workload("random-read").unwrap().make_plan(&Default::default()).unwrap();
        let target =
            TargetHead { name: "disk".to_owned(), size_bytes: 1 << 30, block_bytes: 512, ..TargetHead::default() };
        let facts = HeaderFacts { targets: vec![target], ..HeaderFacts::default() };
        let header = crate::log::header::make_header(&plan, facts);
        let mut log = LogFile::create_new(path).unwrap();
        if is_remembered {
            log.keep_in_memory(None);
        }
        log.write_entry(&Entry::Header(Box::new(header)));
        if has_error {
            let details = [("flow", "0"), ("errno", "5")].map(|(name, value)| (name.to_owned(), value.to_owned()));
            let text = "an operation failed with EIO".to_owned();
            log.write_entry(&Entry::Event(Event { at_ns: 1, what: "io-error".into(), text, details: details.into() }));
        }
        log
    }

    /// What is said of the log at `path` at the end, and the judgement.
    fn ended(path: &Path) -> (Result<Judgement, Failure>, String) {
        let mut said = String::new();
        let read = crate::log::results::judge_file(path, None).map(|whole| Judged { whole, phases: Vec::new() });
        let judged = compare_with_remembered(path, read, &[], |text| said.push_str(text));
        (judged.map(|judged| judged.whole), said)
    }

    #[test]
    fn a_log_that_is_what_was_written_is_judged_as_it_is_read() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run.jsonl");
        let log = log(&path, true, true);
        drop(log);
        let read = crate::log::results::judge_file(&path, None).unwrap();
        let (judged, said) = ended(&path);
        let judged = judged.unwrap();
        assert_eq!((judged.verdict, judged.log, said.as_str()), (Verdict::Fail, read.log, ""));
    }

    #[test]
    fn a_log_that_is_gone_or_another_one_is_judged_from_memory() {
        type Change = fn(&Path);
        let changes: [Change; 3] = [
            |path| fs::remove_file(path).unwrap(),
            |path| fs::write(path, "").unwrap(),
            |path| fs::write(path, fs::read_to_string(path).unwrap().replace("EIO", "oie")).unwrap(),
        ];
        for change in changes {
            for (has_error, verdict) in [(true, Verdict::Fail), (false, Verdict::Incomplete)] {
                let place = tempfile::tempdir().unwrap();
                let path = place.path().join("run.jsonl");
                drop(log(&path, true, has_error));
                if !has_error {
                    // Something must differ.
                    fs::write(&path, "x").unwrap();
                }
                change(&path);
                let (judged, said) = ended(&path);
                let judged = judged.unwrap();
                assert_eq!((judged.verdict, judged.log), (verdict, None), "{}", judged.reason);
                assert!(said.contains("made from memory") && judged.warnings[0].contains("from memory"));
            }
        }
    }

    #[test]
    fn nothing_is_remembered_unasked() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run.jsonl");
        drop(log(&path, false, true));
        fs::remove_file(&path).unwrap();
        assert_eq!(ended(&path).0.unwrap_err().code, code::WORKLOAD);
    }

    #[test]
    fn what_would_have_passed_is_incomplete_without_its_log() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run.jsonl");
        drop(log(&path, true, false));
        let mut judged = ended(&path).0.unwrap();
        for (before, after) in [
            (Verdict::Pass, Verdict::Incomplete),
            (Verdict::Fail, Verdict::Fail),
            (Verdict::Invalid, Verdict::Invalid),
            (Verdict::Incomplete, Verdict::Incomplete),
        ] {
            judged.verdict = before;
            assert_eq!(without_log(judged.clone(), "why").verdict, after);
        }
    }
}
