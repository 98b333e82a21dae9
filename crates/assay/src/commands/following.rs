//! The log of one run, shown while another process writes it.

use crate::progress::Progress;
use assay_judge::{Fold, Options};
use assay_record::{Entry, Reader};
use assay_run::failure::{Failure, escaped_path};
use assay_run::log::growing::GrowingFile;
use assay_run::log::judging::Log;
use assay_run::observer::Observer;
use std::io::{self, BufReader};
use std::path::Path;

/// Shows the run of a log to its end.
pub(super) fn follow_log(log: &Log, path: &Path, progress: &mut Progress) -> Result<(), Failure> {
    let (mut fold, mut is_certain) = (Fold::new(Options::default()), false);
    let mut reader = Reader::new(BufReader::with_capacity(1 << 16, GrowingFile::new(log)));
    let mut begun = false;
    while let Some(item) = reader.next_entry().map_err(|e| cannot_be_followed(path, &e))? {
        // Distributions decide nothing, and are the largest part of a log.
        if !matches!(item, Ok(Entry::Histograms(_))) {
            fold.take_item(&item);
        }
        if let Some(why) = fold.certain_failure().filter(|_| !is_certain) {
            progress.fails_for_certain(&why);
            is_certain = true;
        }
        match item {
            Ok(Entry::Header(head)) => {
                if let Some(step) = &head.step {
                    progress.begin_part(&format!("step {} of {}, {}", step.number, step.of, step.title));
                }
                progress.begin_run(&head);
                begun = true;
            }
            Ok(Entry::Interval(interval)) => progress.interval_ended(&interval),
            Ok(Entry::Event(event)) => progress.show_event(&event),
            Ok(Entry::Histograms(_)) => {}
            Ok(Entry::Close(_)) => progress.finish_part(),
            Err(damage) if !begun => return Err(Failure::bad_workload(format!("{}: {damage}", escaped_path(path)))),
            Err(damage) => progress.say_line(&damage.to_string()),
        }
    }
    progress.finish_part();
    Ok(())
}

fn cannot_be_followed(log: &Path, why: &io::Error) -> Failure {
    Failure::host_unable(format!("the log {} cannot be followed: {why}", escaped_path(log)))
}
