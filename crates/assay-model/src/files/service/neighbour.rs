//! A neighbour of a server: somebody appends to another file of the same file system and never syncs it. A sync of a few
//! bytes then waits for what others have in the journal.

use super::file::{ServiceFile, WhenFull};
use super::making::{FileAccess, MadeBy};
use super::step::{Amount, ServiceStep, StepCall, WhichFile};
use super::{Service, ServiceTask, mark_assumption};
use assay_base::{Bytes, Span};

/// The name of its file and of its thread.
const NEIGHBOUR: &str = "neighbour";
/// The name of the task that removes what it wrote long ago.
const REMOVAL: &str = "neighbour-removal";
/// It writes once in so many milliseconds: steadily, as a program does that is fed by another one.
const EACH_MS: u64 = 25;
/// Seconds after which it goes on in another file. The kernel writes back what is dirty for 30 s
/// (vm.dirty_expire_centisecs), and one file more stays, so that all of it is written back.
const SECONDS_OF_A_FILE: u64 = 30;
const FILES_KEPT: u32 = 1;

impl Service {
    /// The same server beside a neighbour that appends so many bytes a second; the error says what is in the way.
    pub fn beside_appends(&self, append: Bytes) -> Result<Service, String> {
        let is_used = self.files.iter().any(|file| file.name == NEIGHBOUR)
            || self.thread_names().iter().any(|name| *name == NEIGHBOUR || *name == REMOVAL);
        if is_used {
            return Err(format!("a file or a task is called {NEIGHBOUR}, as what writes beside it is: rename it"));
        }
        let file = self.files.len();
        let each_time = Bytes::new((append.get() * EACH_MS / 1000).max(1));
        let write = ServiceStep { amount: Amount::Bytes(each_time), ..ServiceStep::new(StepCall::Write, file) };
        let remove = ServiceStep { of: WhichFile::Old, ..ServiceStep::new(StepCall::Unlink, file) };
        let mut with = self.clone();
        with.files.push(ServiceFile {
            name: NEIGHBOUR.to_owned(),
            number: 1,
            size: Bytes::new(append.get().saturating_mul(SECONDS_OF_A_FILE)),
            made_by: MadeBy::Nothing,
            piece: each_time,
            block: None,
            access: FileAccess::Buffered,
            begins_with: Bytes::new(0),
            when_full: WhenFull::Next,
            ready: 0,
            keep: FILES_KEPT,
            make: vec![ServiceStep { of: WhichFile::New, ..ServiceStep::new(StepCall::Make, file) }],
            next: Vec::new(),
        });
        let writes = neighbour_task(NEIGHBOUR, write);
        with.tasks.push(ServiceTask { each: Some(Span::from_ms(EACH_MS)), ..writes });
        let removes = neighbour_task(REMOVAL, remove);
        with.tasks.push(ServiceTask { after_full: Some(file), ..removes });
        let assumed = format!("the neighbour appends {} a second steadily, and never syncs", append.human_text());
        with.assumed.push(mark_assumption(&assumed));
        Ok(with)
    }
}

/// A task of the neighbour's thread, without what begins it.
fn neighbour_task(name: &str, step: ServiceStep) -> ServiceTask {
    ServiceTask {
        name: name.to_owned(),
        thread: NEIGHBOUR.to_owned(),
        each: None,
        pause: None,
        with_changes: false,
        after_commits: None,
        after_bytes: None,
        after_full: None,
        steps: vec![step],
    }
}
