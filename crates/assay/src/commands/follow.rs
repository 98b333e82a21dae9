//! `assay watch`: shows the progress of a run in another terminal or in the background, and its result once it has
//! ended.

use super::result;
use crate::progress::Progress;
use crate::stdout::show;
use assay_judge::Options;
use assay_record::{Entry, Reader};
use assay_run::failure::{Failure, shown};
use assay_run::judging::Log;
use assay_run::observer::Observer;
use assay_run::rundir;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::time::Duration;

/// `assay watch`
#[derive(clap::Args, Debug)]
pub(crate) struct Watch {
    /// The run directory, or the run.jsonl in it
    pub dir: PathBuf,
}

/// Time between two checks of a log that has not grown.
const LOOK: Duration = Duration::from_millis(200);

/// Follows the run in a directory to its end and prints its result; the exit code is that of the verdict.
pub(crate) fn watch(args: &Watch) -> Result<u8, Failure> {
    let path = rundir::log_in(&args.dir);
    let log = Log::open(&path)?;
    let mut progress = Progress::new(false);
    let mut reader = Reader::new(BufReader::with_capacity(1 << 16, Growing { log: &log }));
    let mut begun = false;
    let failed = |e: io::Error| Failure::host(format!("the log {} cannot be followed: {e}", shown(&path)));
    while let Some(item) = reader.next_entry().map_err(failed)? {
        match item {
            Ok(Entry::Header(head)) => {
                if let Some(step) = &head.step {
                    progress.title(&format!("step {} of {}, {}", step.number, step.of, step.title));
                }
                progress.start(&head);
                begun = true;
            }
            Ok(Entry::Interval(interval)) => progress.interval(&interval),
            Ok(Entry::Event(event)) => progress.event(&event),
            Ok(Entry::Histograms(_)) => {}
            Ok(Entry::Close(_)) => progress.finish(),
            Err(damage) if !begun => return Err(Failure::workload(format!("{}: {damage}", shown(&path)))),
            Err(damage) => progress.say(&damage.to_string()),
        }
    }
    progress.finish();
    let judgement = log.judge(Options::default())?;
    show(&result::text(&judgement, &args.dir.to_string_lossy())?);
    Ok(judgement.verdict.exit_code())
}

/// A file that does not end as long as another process writes it.
struct Growing<'a> {
    log: &'a Log,
}

impl Read for Growing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Checked before reading: what the writer wrote before it ended is still read.
            let grows = self.log.is_being_written();
            let n = self.log.read(buffer)?;
            if n > 0 || !grows {
                return Ok(n);
            }
            std::thread::park_timeout(LOOK);
        }
    }
}
