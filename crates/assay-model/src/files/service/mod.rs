//! One server as a load on a file system: a writer, which makes durable all commits that came in while it was busy with
//! those before them, and tasks that begin by a timer, after so many commits or bytes, or when a file is full. How many
//! commits are in a group and how large its writes are follows from what waits; nothing here says it.
//!
//! Servers in which several threads compete for the right to flush, such as the backends of PostgreSQL, have one writer
//! here: whichever of their threads has the lock flushes for all that came, and the others wait for it.

mod calls;
mod file;
mod making;
mod neighbour;
mod on_device;
mod room;
mod step;
mod streams;

pub use calls::ServiceCall;
pub use file::{ServiceFile, WhenFull};
pub use making::{FileAccess, MadeBy};
pub use room::ServiceRoom;
pub use step::{Amount, ServiceStep, StepCall, StepPlace, WhichFile};
pub use streams::{COMMIT, DurableStreams, ServiceStream};

use crate::skip::is_zero_span;
use assay_base::{Bytes, Share, Span};
use serde::{Deserialize, Serialize};

/// An assumption of ours, marked as one wherever it is shown.
pub(crate) fn mark_assumption(text: &str) -> String {
    format!("[A] {text}")
}

/// A server. See the module.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Service {
    /// Its files; steps name them by their place here.
    pub files: Vec<ServiceFile>,
    /// What makes commits durable.
    pub writer: ServiceWriter,
    /// What else it does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<ServiceTask>,
    /// What of this description nobody measured or documented, in words, each marked as [`mark_assumption`] does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// Whether it can be a load of streams on a block device.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub streams: bool,
    /// How long the run lasts, from which follows how much its files grow; zero where no run is planned yet.
    #[serde(default, skip_serializing_if = "is_zero_span")]
    pub lasts: Span,
}

/// The thread that takes all commits that came in during its last group.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ServiceWriter {
    /// Its name, with which the names of its streams begin.
    pub name: String,
    /// Bytes of one commit in the log.
    pub entry: Bytes,
    /// Bytes of one group besides its commits.
    pub group: Bytes,
    /// The most commits that one group takes; all that wait where there is no such number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// Further bytes that some commits have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<CommitImages>,
    /// What it does for a group. A commit is durable when the last of these steps is done.
    pub steps: Vec<ServiceStep>,
}

/// Bytes that a part of all commits has besides its entry, such as images of pages that a checkpoint makes necessary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CommitImages {
    /// Which part of all commits.
    pub share: Share,
    /// How many bytes.
    pub bytes: Bytes,
}

/// Something that the server does besides commits. It begins when one of its reasons holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ServiceTask {
    /// Its name, with which the names of its streams begin.
    pub name: String,
    /// The thread that does it, where that also does something else: the writer's name or that of another task.
    pub thread: String,
    /// This long after it began last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Span>,
    /// This long after it ended last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Span>,
    /// Of `each` and `pause`: only if there were commits since it began last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_changes: bool,
    /// After so many commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_commits: Option<u64>,
    /// After so many bytes of commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_bytes: Option<Bytes>,
    /// Each time the writer has moved on to another file of this kind, which is its place in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_full: Option<usize>,
    /// What it does.
    pub steps: Vec<ServiceStep>,
}

impl Service {
    /// The threads that it has, each with its name: first the writer's, then those of tasks in their order.
    pub fn thread_names(&self) -> Vec<&str> {
        let mut names = vec![self.writer.name.as_str()];
        for task in &self.tasks {
            if !names.contains(&task.thread.as_str()) {
                names.push(&task.thread);
            }
        }
        names
    }

    /// The place of a file's name in the list.
    pub fn file_named(&self, name: &str) -> Option<usize> {
        self.files.iter().position(|file| file.name == name)
    }

    /// All steps, with the name of the thread or task whose streams they are in: those of the writer, of tasks, and of the
    /// writer when it moves on to the next file.
    pub fn all_steps(&self) -> Vec<(&str, &ServiceStep)> {
        let mut steps: Vec<(&str, &ServiceStep)> = Vec::new();
        let writer = self.writer.name.as_str();
        steps.extend(self.writer.steps.iter().map(|step| (writer, step)));
        for file in &self.files {
            steps.extend(file.make.iter().chain(&file.next).map(|step| (writer, step)));
        }
        for task in &self.tasks {
            steps.extend(task.steps.iter().map(|step| (task.name.as_str(), step)));
        }
        steps
    }

    /// Whether a step makes the files of this kind, so that there are none at first.
    pub fn is_created_by_a_step(&self, file: usize) -> bool {
        self.all_steps().iter().any(|(_, step)| step.call == StepCall::Create && step.file == file)
    }

    /// Bytes of the log for one commit, in the mean, without those of its group.
    pub fn bytes_of_commit(&self) -> f64 {
        let images = self.writer.images.map_or(0.0, |images| images.share.as_f64() * images.bytes.get() as f64);
        self.writer.entry.get() as f64 + images
    }
}
