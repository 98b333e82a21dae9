//! A log to be judged, ours or one that ACT wrote: opened once, examined as often as necessary, and read to its end.

use crate::certificate;
use crate::failure::{Failure, escaped_path};
use crate::host::ranks::comparing::compare_with_ranks;
use crate::log::{act_log, reading, reading_ahead};
use assay_base::{Measure, Span};
use assay_device::clock;
use assay_formats::act::{import, latency};
use assay_judge::compare::Sampled;
use assay_judge::{Fold, Judgement, Options};
use assay_model::Phase;
use assay_record::{Entry, Reader};
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// ACT's banner is near the beginning.
const START: usize = 64 << 10;

/// An open log.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    of_act: bool,
}

impl Log {
    /// Opens the log at `path`.
    ///
    /// # Errors
    /// There is no such file, it is not a regular file, or it is a table made from a log.
    pub fn open_log(path: &Path) -> Result<Log, Failure> {
        let file = reading::open_log_file(path)?;
        let beginning = first_bytes(&file).unwrap_or_default();
        let of_act = import::looks_like(&beginning);
        if !of_act && latency::is_table(&beginning) {
            return Err(Failure::bad_workload(format!(
                "{} is a table that act_latency made from a log, and the log itself is judged\n  = name the log: the table's first lines say which one it was",
                escaped_path(path)
            )));
        }
        Ok(Log { path: path.to_path_buf(), file, of_act })
    }

    /// Whether ACT wrote it.
    pub fn is_of_act(&self) -> bool {
        self.of_act
    }

    /// Whether another process is writing it.
    pub fn is_being_written(&self) -> bool {
        reading::is_being_written(&self.file)
    }

    /// Its length by now, in bytes; 0 where the kernel does not say.
    pub fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |meta| meta.len())
    }

    /// How long ago it was written to; zero where the kernel does not say, or says that it will be.
    pub fn age(&self) -> Duration {
        let written = self.file.metadata().and_then(|meta| meta.modified());
        written.ok().and_then(|written| clock::wall_time().duration_since(written).ok()).unwrap_or_default()
    }

    /// The opened file, positioned at its beginning.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn from_the_beginning(&self) -> Result<&File, Failure> {
        (&self.file).rewind().map_err(|e| self.unusable_log(&e))?;
        Ok(&self.file)
    }

    /// Reads on from the current position.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn read_bytes(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(buffer)
    }

    /// A reader for the lines of a log of ours, from its beginning.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn line_reader(&self) -> Result<Reader<BufReader<&File>>, Failure> {
        Ok(reading::reader_from(self.from_the_beginning()?))
    }

    /// The length of its intervals; `None` where it does not begin like a log of ours.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn interval_length(&self) -> Result<Option<Span>, Failure> {
        match self.line_reader()?.next_entry() {
            Ok(Some(Ok(Entry::Header(header)))) => Ok(Some(Span::from_ns(header.interval_ns))),
            _ => Ok(None),
        }
    }

    /// Judges it.
    ///
    /// # Errors
    /// It cannot be read, or it contains nothing to judge.
    pub fn judge_log(&self, options: Options) -> Result<Judgement, Failure> {
        let log = self.from_the_beginning()?;
        if self.of_act {
            return act_log::judge_act_log(&escaped_path(&self.path), log, options, &mut |_| Ok(()));
        }
        let mut judgement = certificate::judge_with_sum(log, &options).map_err(|e| self.unusable_log(&e))?.judgement;
        if !self.is_being_written() {
            compare_with_ranks(&self.path, &mut judgement);
        }
        Ok(judgement)
    }

    /// Judges it, and takes the samples that a comparison needs.
    ///
    /// # Errors
    /// As [`judge_log`](Log::judge_log), or it contains no samples that can be compared.
    pub fn judge_with_samples(&self) -> Result<(Judgement, Sampled), Failure> {
        let log = self.from_the_beginning()?;
        if self.of_act {
            let mut sampled = Sampled::of_one_measure(import::counts_waiting);
            let judgement = act_log::judge_act_log(&escaped_path(&self.path), log, Options::default(), &mut |entry| {
                sampled.take_entry(entry)
            })?;
            return Ok((judgement, sampled));
        }
        let (mut fold, mut sampled) = (Fold::new(Options::default()), Sampled::default());
        let read = reading_ahead::for_each_entry(&mut reading::reader_from(log), |item| {
            if let Ok(entry) = item {
                sampled.take_entry(entry)?;
            }
            fold.take_item(item);
            Ok::<(), String>(())
        });
        read.map_err(|e| self.unusable_log(&e))?.map_err(|why| self.unusable_log(&why))?;
        Ok((fold.finish().map_err(|e| self.unusable_log(&e))?, sampled))
    }

    /// Judges each of these measured phases by itself. The log, which is our own, is read once.
    pub(crate) fn judge_phases(&self, judge_on: Option<Measure>, phases: &[Phase]) -> Result<Vec<Judgement>, Failure> {
        let log = self.from_the_beginning()?;
        let names = phases.iter().map(|phase| Some(phase.name.clone()));
        let mut folds: Vec<Fold> =
            names.map(|phase| Fold::new(Options { judge_on, phase, ..Options::default() })).collect();
        let read = reading_ahead::for_each_entry(&mut reading::reader_from(log), |item| {
            folds.iter_mut().for_each(|fold| fold.take_item(item));
            Ok::<(), Infallible>(())
        });
        let Ok(()) = read.map_err(|e| self.unusable_log(&e))?;
        folds.into_iter().map(|fold| fold.finish().map_err(|e| self.unusable_log(&e))).collect()
    }

    fn unusable_log(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::bad_workload(format!("{}: {why}", escaped_path(&self.path)))
    }
}

/// The first bytes, independent of the current position.
fn first_bytes(file: &File) -> io::Result<Vec<u8>> {
    let mut start = vec![0; START];
    let mut length = 0;
    while length < START {
        match file.read_at(&mut start[length..], length as u64) {
            Ok(0) => break,
            Ok(n) => length += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    start.truncate(length);
    Ok(start)
}
