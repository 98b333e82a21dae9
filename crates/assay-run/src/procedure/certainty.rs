//! Ends a run when nothing can change its verdict any more: it is judged while it is written, and FAIL cannot become
//! anything else. A certification does so unless it is told to go on, and a plain run where it is asked to.

use crate::failure::{Failure, escaped_path};
use crate::host::signals::StopCell;
use crate::log::logfile::{Listen, LogFile};
use crate::log::{reading, results, rundir};
use crate::observer::Observer;
use crate::procedure::steps::{Course, EndedStep, Task};
use assay_base::Measure;
use assay_judge::{Fold, Options, Verdict};
use assay_record::{CloseReason, Entry};
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

/// Carries the tasks out until all are over or FAIL is certain; `resumed` is the directory of an earlier call whose log is
/// continued.
pub fn run_until_certain(
    course: &Course<'_>,
    mut tasks: Vec<Task>,
    log: LogFile,
    resumed: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<(), Failure> {
    let judge_on = course.how.manner.judge_on;
    let mut so_far = Fold::new(Options { judge_on, ..Options::default() });
    if let Some(dir) = resumed {
        read_into(&mut so_far, &rundir::log_in(dir))?;
        if so_far.fails_already() {
            observer.say_line(&format!(
                "{} is decided: its verdict is FAIL whatever follows; without --stop-when-certain the rest is run",
                escaped_path(dir)
            ));
            return Ok(());
        }
    }
    tasks.iter_mut().filter_map(|task| task.head.as_mut()).for_each(|head| head.until_certain = true);
    let (listener, certain) = Certainty::new(so_far, course.stop);
    let mut log = log.heard_by(Box::new(listener));
    course.run_tasks(tasks, &mut log, observer, &|log, observer, ended| {
        let fails = has_failed(log, judge_on, ended, &certain);
        if fails {
            observer.say_line("the verdict is certain: FAIL. The rest is not run (--stop-when-certain)");
        }
        Ok(fails)
    })
}

/// Whether what the log holds decides: FAIL was certain while it was written, or the step that has just ended has failed.
/// (The last window of a step ends with the step.)
pub(crate) fn has_failed(log: &LogFile, judge_on: Option<Measure>, ended: EndedStep, certain: &Cell<bool>) -> bool {
    // A log that cannot be read back does not decide; the end of the run says so.
    certain.get()
        || ended.more
            && ended.reason == CloseReason::Completed
            && results::judge_file(log.log_path(), judge_on).is_ok_and(|judgement| judgement.verdict == Verdict::Fail)
}

/// Reads what a log already contains into `fold`.
pub(crate) fn read_into(fold: &mut Fold, log: &Path) -> Result<(), Failure> {
    let mut reader = reading::open_reader(log)?;
    while let Some(item) = reader.next_entry().map_err(|why| unreadable_log(log, &why))? {
        fold.take_item(&item);
    }
    Ok(())
}

fn unreadable_log(log: &Path, why: &std::io::Error) -> Failure {
    Failure::bad_workload(format!("the log {} cannot be read: {why}", escaped_path(log)))
}

/// Judges the log while it is written, and ends the run when nothing can change its verdict any more.
#[derive(Debug)]
pub(crate) struct Certainty {
    fold: Fold,
    stop: StopCell,
    certain: Rc<Cell<bool>>,
}

impl Certainty {
    /// Continues from what `fold` has read. The cell tells whether a certain FAIL was found.
    pub(crate) fn new(fold: Fold, stop: &StopCell) -> (Certainty, Rc<Cell<bool>>) {
        let certain = Rc::new(Cell::new(false));
        (Certainty { fold, stop: stop.clone(), certain: certain.clone() }, certain)
    }
}

impl Listen for Certainty {
    fn hear_entry(&mut self, entry: &Entry) {
        // Distributions decide nothing, and are the largest part of a log.
        if matches!(entry, Entry::Histograms(_)) {
            return;
        }
        self.fold.take_entry(entry);
        if !self.certain.get() && self.fold.fails_already() {
            self.certain.set(true);
            if !matches!(entry, Entry::Close(_)) {
                self.stop.ask_because("the verdict was certain: FAIL");
            }
        }
    }
}
