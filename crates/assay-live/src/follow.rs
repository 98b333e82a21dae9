//! Reads logs to their ends while they grow, and publishes what they come to whenever everything that is there was read.

use crate::published::{FollowedRun, Published};
use crate::view::View;
use crate::view::standing::Standing;
use assay_judge::Options;
use assay_record::{Damage, Entry, Reader};
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Bytes of a log that are read at once.
const READ_AT_ONCE: usize = 128 << 10;

/// What is known of a log besides its bytes.
pub trait GrowingLog {
    /// Its length, in bytes.
    fn length(&self) -> u64;
    /// How long ago it was written to.
    fn age(&self) -> Duration;
}

/// What takes the lines of logs besides: a table that is written at the same time.
pub trait LineTaker {
    /// A log begins.
    fn begin_log(&mut self) {}
    /// Its next line, or a place where it is damaged.
    fn take_item(&mut self, item: &Result<Entry, Damage>);
    /// All lines that are there were taken.
    fn note_no_more_lines(&mut self) {}
    /// Nobody writes the log any more.
    fn end_log(&mut self) {}
}

/// Takes none.
#[derive(Debug)]
pub struct NoTaker;

impl LineTaker for NoTaker {
    fn take_item(&mut self, _: &Result<Entry, Damage>) {}
}

/// Publishes the states of the logs that it reads one after another.
#[derive(Debug)]
pub struct Publisher {
    options: Options,
    runs: Vec<FollowedRun>,
    sender: watch::Sender<Arc<Published>>,
}

impl Publisher {
    /// A publisher that judges by these options, and where its states are to be had: only the newest is kept.
    pub fn new(options: Options) -> (Publisher, watch::Receiver<Arc<Published>>) {
        let (sender, receiver) = watch::channel(Arc::new(Published::before_anything(Vec::new())));
        (Publisher { options, runs: Vec::new(), sender }, receiver)
    }

    /// Reads a log from its beginning. `bytes` ends when nobody writes the log any more and everything was read; until then a read
    /// waits for more. `name` is that of the run among several; `also` takes each line too.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn follow_log(
        &mut self,
        name: &str,
        bytes: impl Read,
        log: &dyn GrowingLog,
        also: &mut dyn LineTaker,
    ) -> io::Result<()> {
        also.begin_log();
        self.runs.push(FollowedRun::that_begins(name));
        let mut view = View::new(self.options.clone());
        let mut reader = Reader::new(BufReader::with_capacity(READ_AT_ONCE, bytes));
        while let Some(item) = reader.next_entry()? {
            view.take_item(&item, reader.next_seq().saturating_sub(1));
            also.take_item(&item);
            if reader.offset_behind_line() >= log.length() {
                view.judge_if_due();
                let standing = view.standing();
                self.publish_state(&view, standing, log.age());
                also.note_no_more_lines();
            }
        }
        also.end_log();
        let standing = view.end_log();
        self.publish_state(&view, standing, log.age());
        Ok(())
    }

    /// Nothing more will come.
    pub fn end_all(&mut self) {
        self.sender.send_modify(|last| *last = Arc::new(last.with_the_end()));
    }

    fn publish_state(&mut self, view: &View, standing: Standing, age: Duration) {
        if let Some(run) = self.runs.last_mut() {
            run.note_state(view, &standing);
        }
        let state = Published::from_view(view, standing, self.runs.clone(), age, false);
        // Nobody needs to be there to read it.
        self.sender.send_replace(Arc::new(state));
    }
}
