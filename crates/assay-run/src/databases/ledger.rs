//! The ledger of a run's commits, a file beside its log. Each commit that the database has acknowledged is written to
//! the file before its session sends anything else, so that no entry is lost if this program is killed. The file is
//! synced once a second, so that a loss of power loses only the last entries.

use crate::failure::{Failure, escaped_path};
use crate::files;
use crate::host::threads::thread_builder;
use assay_model::tpcc::{Outcome, Transaction};
use assay_record::{Commit, CommitsHead, CommitsWriter, Committed};
use assay_sql::Acknowledge;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Name of the file in a run directory.
pub(super) const FILE: &str = "ledger.bin";

/// Time between two syncs of the file.
const SYNC: Duration = Duration::from_secs(1);

/// A ledger that is being written.
#[derive(Debug)]
pub(crate) struct LedgerFile {
    path: PathBuf,
    /// The name of the run in the database.
    pub(crate) run: String,
    state: Mutex<State>,
    synced: File,
}

#[derive(Debug)]
struct State {
    file: File,
    writer: CommitsWriter,
    ended: bool,
    /// The error after which nothing more is written.
    failed: Option<String>,
}

impl State {
    /// Appends bytes, unless an earlier write failed: entries after a missing piece would prove nothing.
    fn append_bytes(&mut self, bytes: &[u8]) {
        if self.failed.is_none()
            && let Err(why) = self.file.write_all(bytes)
        {
            self.failed = Some(why.to_string());
        }
    }
}

impl LedgerFile {
    /// Begins the ledger of a run in `dir`.
    pub(super) fn create_in(dir: &Path, head: &CommitsHead) -> Result<Arc<LedgerFile>, Failure> {
        let path = dir.join(FILE);
        let mut file = files::begin_file(&path).map_err(|why| cannot_be_written(&path, &why))?;
        let (writer, bytes) = CommitsWriter::begin_ledger(head);
        file.write_all(&bytes).and_then(|()| file.sync_data()).map_err(|why| cannot_be_written(&path, &why))?;
        let synced = file.try_clone().map_err(|why| cannot_be_written(&path, &why))?;
        let state = Mutex::new(State { file, writer, ended: false, failed: None });
        let ledger = Arc::new(LedgerFile { path: path.clone(), run: head.run.clone(), state, synced });
        let weak = Arc::downgrade(&ledger);
        thread_builder("ledger").spawn(move || keep_durable(&weak)).map_err(|why| cannot_be_written(&path, &why))?;
        Ok(ledger)
    }

    /// Path of the file.
    pub(super) fn file_path(&self) -> &Path {
        &self.path
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_entry(&self, entry: impl FnOnce(&mut CommitsWriter) -> [u8; 40]) {
        let mut state = self.lock_state();
        // A session may receive an answer after the end of the run.
        if !state.ended && state.failed.is_none() {
            let entry = entry(&mut state.writer);
            state.append_bytes(&entry);
        }
    }

    /// Closes the ledger with the last number that each session has sent. The error says why the ledger is not
    /// complete.
    pub(super) fn close_ledger(&self, sent: &[u64]) -> Result<(), String> {
        let mut state = self.lock_state();
        let bytes = state.writer.encode_end(sent);
        state.append_bytes(&bytes);
        state.ended = true;
        match &state.failed {
            Some(why) => Err(why.clone()),
            None => self.synced.sync_data().map_err(|why| why.to_string()),
        }
    }

    /// Removes the file, because the run did not begin.
    pub(crate) fn remove_file(&self) {
        // If the file stays, it has no entries and claims nothing.
        let _ = files::remove_file(&self.path);
    }
}

impl Acknowledge for LedgerFile {
    fn note_commit(&self, session: u32, seq: u64, transaction: &Transaction, outcome: &Outcome) {
        let what = match (transaction, outcome) {
            (Transaction::NewOrder(asked), Outcome::Ordered(made)) => {
                Committed::Order { warehouse: asked.warehouse, district: asked.district, order: made.order }
            }
            (Transaction::Payment(asked), _) => Committed::Payment { amount: asked.amount },
            (Transaction::Delivery(_), _) => Committed::Delivery,
            _ => return,
        };
        self.append_entry(|writer| writer.encode_commit(&Commit { session, seq, what }));
    }

    fn note_reconnect(&self, session: u32, seq: u64) {
        self.append_entry(|writer| writer.encode_found_number(session, seq));
    }
}

/// Syncs a ledger once a second, as long as it is in use.
fn keep_durable(ledger: &Weak<LedgerFile>) {
    while let Some(ledger) = ledger.upgrade() {
        // An error is reported when the ledger is closed.
        if let Err(why) = ledger.synced.sync_data() {
            ledger.lock_state().failed.get_or_insert(why.to_string());
        }
        drop(ledger);
        sleep_for(SYNC);
    }
}

#[expect(clippy::disallowed_methods, reason = "a thread of its own waits between two syncs")]
pub(super) fn sleep_for(span: Duration) {
    std::thread::sleep(span);
}

fn cannot_be_written(path: &Path, why: &std::io::Error) -> Failure {
    Failure::host_unable(format!("{} cannot be written: {why}", escaped_path(path)))
}
