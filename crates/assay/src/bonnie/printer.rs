//! What a run as bonnie++ hears of its log: the figures for its table, what is judged, and what the original says on
//! standard error.

use crate::screen::print_to_stderr;
use crate::terminal;
use assay_formats::bonnie::{RowCollector, Test};
use assay_judge::{Fold, Options};
use assay_record::{CloseReason, Entry, EventKind, Header};
use assay_run::log::logfile::Listen;
use std::cell::RefCell;
use std::rc::Rc;

/// What was heard of a log so far.
pub(super) struct Heard {
    /// The figures.
    pub(super) figures: RowCollector,
    /// What is judged.
    pub(super) judged: Fold,
    /// How the phase before ended.
    pub(super) ended: Option<CloseReason>,
}

/// Hears a log.
pub(super) struct Printer {
    heard: Rc<RefCell<Heard>>,
    /// Whether it says what is tested.
    speaks: bool,
    test: Option<Test>,
    /// Whether the line that says what is tested has no end yet.
    is_line_open: bool,
}

impl std::fmt::Debug for Printer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Printer({:?})", self.test)
    }
}

impl Printer {
    /// A printer, and what it hears.
    pub(super) fn new(machine: Option<String>, speaks: bool) -> (Printer, Rc<RefCell<Heard>>) {
        let figures = RowCollector::with_name(machine);
        let heard = Heard { figures, judged: Fold::new(Options::default()), ended: None };
        let heard = Rc::new(RefCell::new(heard));
        (Printer { heard: heard.clone(), speaks, test: None, is_line_open: false }, heard)
    }

    fn begin_test(&mut self, header: &Header) {
        let mut heard = self.heard.borrow_mut();
        // A plan that this program has made can be read.
        let _ = heard.figures.begin_phase(header);
        self.test = heard.figures.current_test();
        if let Some(test) = self.test.filter(|_| self.speaks) {
            terminal::write_question(test.begin_text());
            self.is_line_open = true;
        }
    }

    fn end_test(&mut self, reason: CloseReason) {
        let Some(test) = self.test.take().filter(|_| self.is_line_open) else { return };
        let end = if reason == CloseReason::Completed { test.end_text() } else { "" };
        terminal::write_question(&format!("{end}\n"));
        self.is_line_open = false;
    }

    /// Says what somebody must see, on a line of its own.
    fn tell(&mut self, text: &str) {
        if self.is_line_open {
            terminal::write_question("\n");
            self.is_line_open = false;
        }
        print_to_stderr(&format!("assay: {text}"));
    }
}

impl Listen for Printer {
    fn hear_entry(&mut self, entry: &Entry) {
        self.heard.borrow_mut().judged.take_entry(entry);
        match entry {
            Entry::Header(header) => self.begin_test(header),
            Entry::Interval(interval) => self.heard.borrow_mut().figures.add_interval(interval),
            Entry::Event(event) => match event.what {
                EventKind::Stuck
                | EventKind::TargetLost
                | EventKind::ConditionBroken
                | EventKind::EngineFailed
                | EventKind::Warning
                | EventKind::IoError
                | EventKind::Disturbed => self.tell(&event.text),
                _ => {}
            },
            Entry::Histograms(_) => {}
            Entry::Close(close) => {
                let mut heard = self.heard.borrow_mut();
                heard.figures.end_phase(close.reason);
                heard.ended = Some(close.reason);
                drop(heard);
                self.end_test(close.reason);
            }
        }
    }
}
