//! `assay live --csv`: the rows of `assay export --to csv`, written as their intervals come.

use crate::screen::print_to_stderr;
use crate::stdout::print_document;
use assay_formats::export::{Csv, Sink};
use assay_live::LineTaker;
use assay_record::{Damage, Entry};
use assay_run::failure::{Failure, escaped_path};
use assay_run::files;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// So many bytes of rows are written at once while a log is read that has many already.
const WRITE_AT_ONCE: usize = 1 << 16;

/// A table that grows with the log. Of several runs it is their tables one after another.
pub(super) struct CsvTable {
    /// Its file; standard output where it has none.
    file: Option<File>,
    path: PathBuf,
    rows: Csv,
    text: String,
    /// Whether it has ended before its log.
    is_over: bool,
}

/// Whether the table is to be written to standard output.
pub(super) fn is_standard_output(path: Option<&Path>) -> bool {
    path.is_some_and(|path| path.as_os_str() == "-")
}

impl CsvTable {
    /// Begins a table in a new file, or on standard output.
    pub(super) fn begin_table(path: &Path) -> Result<CsvTable, Failure> {
        let file = if is_standard_output(Some(path)) {
            None
        } else {
            let begun = files::begin_file(path).map_err(|e| {
                Failure::host_unable(format!("{} cannot be written: {e}", escaped_path(path)))
                    .with_advice("name a file that does not exist yet, or - for standard output")
            })?;
            Some(begun)
        };
        let path = path.to_owned();
        Ok(CsvTable { file, path, rows: Csv::default(), text: String::new(), is_over: false })
    }

    fn add_rows(&mut self, item: &Result<Entry, Damage>) -> Result<(), String> {
        let CsvTable { rows, text, .. } = self;
        match item {
            Ok(Entry::Header(header)) => rows.begin_segment(header, text),
            Ok(Entry::Interval(interval)) => rows.take_interval(interval, text),
            Ok(Entry::Event(event)) => rows.take_event(event, text),
            Ok(Entry::Histograms(_) | Entry::Close(_)) => Ok(()),
            Err(damage) if damage.torn_tail => Ok(()),
            Err(damage) => Err(format!("the log is damaged: {damage}")),
        }
    }

    fn write_rows(&mut self) {
        let text = std::mem::take(&mut self.text);
        let written = match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => {
                print_document(&text);
                Ok(())
            }
        };
        if let Err(e) = written {
            self.end_early(&format!("{} cannot be written: {e}", escaped_path(&self.path)));
        }
    }

    /// The page goes on without the table.
    fn end_early(&mut self, why: &str) {
        print_to_stderr(&format!("warning: the table ends here: {why}"));
        self.is_over = true;
    }
}

impl LineTaker for CsvTable {
    fn begin_log(&mut self) {
        self.rows = Csv::default();
    }

    fn take_item(&mut self, item: &Result<Entry, Damage>) {
        if self.is_over {
            return;
        }
        if let Err(why) = self.add_rows(item) {
            self.write_rows();
            self.end_early(&why);
        } else if self.text.len() > WRITE_AT_ONCE {
            self.write_rows();
        }
    }

    fn note_no_more_lines(&mut self) {
        if !self.text.is_empty() {
            self.write_rows();
        }
    }

    fn end_log(&mut self) {
        self.note_no_more_lines();
    }
}
