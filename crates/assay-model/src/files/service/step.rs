//! One step of a writer or a task: a call, on which file, how many bytes, and where.

use super::calls::ServiceCall;
use super::making::MadeBy;
use crate::skip::is_zero_share;
use assay_base::{Bytes, Share};
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ServiceStep {
    /// What is done.
    pub call: StepCall,
    /// On files of this kind, by its place in the list.
    pub file: usize,
    /// On which of them.
    #[serde(default)]
    pub of: WhichFile,
    /// How many bytes.
    #[serde(default)]
    pub amount: Amount,
    /// The most bytes of one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece: Option<Bytes>,
    /// Where in the file.
    #[serde(default)]
    pub at: StepPlace,
    /// The name of its stream, where that is not made of the names of its thread and its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The calls are spread over this part of the time until the task begins again.
    #[serde(default, skip_serializing_if = "is_zero_share")]
    pub spread: Share,
    /// Behind so many writes the kernel is told to write them back (sync_file_range); 0: it is not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flush_every: u32,
    /// And what was written back before that is waited for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush_waits: bool,
    /// The stream of the time from the beginning of this step to the end of the step with the same word in `until_here`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_here: Option<String>,
    /// See `from_here`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_here: Option<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepCall {
    /// Writes.
    Write,
    /// Writes through a mapping.
    MmapWrite,
    /// Reads.
    Read,
    /// Reads by sendfile(2).
    Sendfile,
    /// fsync(2).
    Fsync,
    /// fdatasync(2).
    Fdatasync,
    /// msync(2).
    Msync,
    /// ftruncate(2) to where the file was written up to.
    Truncate,
    /// Gives the file another name.
    Rename,
    /// fsync(2) of the directory that the file is in.
    FsyncDir,
    /// Makes an empty file, which becomes the current one.
    Create,
    /// Removes it; of old ones, all but those that are kept.
    Unlink,
    /// Makes a file as the description of its kind says, to be a next one.
    Make,
    /// Makes next ones of the old ones, which get other names.
    Recycle,
    /// From now on the file is written from its beginning on again. This is no call.
    Restart,
    /// Makes the file as much larger as `bytes` says, by ftruncate(2).
    Extend,
}

/// Which of the files of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhichFile {
    /// The one that is written to.
    #[default]
    Current,
    /// The one that was full last; of `unlink`, all that were.
    Old,
    /// The next one.
    New,
    /// Each of those that are used at the same time.
    Each,
}

/// How many bytes a step moves.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    /// Of the writer: all that waits. Of a step without bytes: nothing.
    #[default]
    Group,
    /// One call of so many bytes.
    Bytes(Bytes),
    /// Calls of `page` bytes: `pages` of them, and `per_commit` for each commit since the task began last. What is less
    /// than a whole one is kept for the next time.
    Pages {
        /// Bytes of one call.
        page: Bytes,
        /// Calls each time.
        pages: f64,
        /// Calls for each commit.
        per_commit: f64,
    },
}

/// Where in a file a step reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepPlace {
    /// Behind what was written before.
    #[default]
    End,
    /// At the beginning.
    Start,
    /// The first two pages in turn, as a database writes its meta pages.
    FirstTwo,
    /// At pages that are drawn, each as likely as any other.
    Random,
    /// Of a reader: from the beginning of the file on, behind what it read before; again from there when it has caught up.
    Follow,
}

impl ServiceStep {
    /// A step with nothing but a call and a file.
    pub fn new(call: StepCall, file: usize) -> ServiceStep {
        ServiceStep {
            call,
            file,
            of: WhichFile::default(),
            amount: Amount::default(),
            piece: None,
            at: StepPlace::default(),
            name: None,
            spread: Share::default(),
            flush_every: 0,
            flush_waits: false,
            from_here: None,
            until_here: None,
        }
    }

    /// The calls on the kernel that it may make on files that are made so, each once.
    pub fn calls(&self, made_by: MadeBy) -> Vec<ServiceCall> {
        let mut calls = match self.call {
            StepCall::Write => vec![ServiceCall::Write],
            StepCall::MmapWrite => vec![ServiceCall::MmapWrite],
            StepCall::Read => vec![ServiceCall::Read],
            StepCall::Sendfile => vec![ServiceCall::Sendfile],
            StepCall::Fsync => vec![ServiceCall::Fsync],
            StepCall::Fdatasync => vec![ServiceCall::Fdatasync],
            StepCall::Msync => vec![ServiceCall::Msync],
            StepCall::Truncate | StepCall::Extend => vec![ServiceCall::Truncate],
            StepCall::Rename => vec![ServiceCall::Rename],
            StepCall::FsyncDir => vec![ServiceCall::FsyncDir],
            StepCall::Create => vec![ServiceCall::Create],
            StepCall::Unlink => vec![ServiceCall::Unlink],
            StepCall::Recycle => vec![ServiceCall::Rename, ServiceCall::FsyncDir],
            StepCall::Restart => Vec::new(),
            StepCall::Make => match made_by {
                MadeBy::Nothing => vec![ServiceCall::Create],
                MadeBy::Fallocate | MadeBy::FallocateKeepSize => vec![ServiceCall::Create, ServiceCall::Fallocate],
                MadeBy::Zeros | MadeBy::Written => vec![ServiceCall::Create, ServiceCall::Zero],
                MadeBy::Truncate => vec![ServiceCall::Create, ServiceCall::Truncate],
            },
        };
        if self.flush_every > 0 {
            calls.push(ServiceCall::FlushRange);
        }
        if self.flush_waits {
            calls.push(ServiceCall::AwaitRange);
        }
        calls
    }

    /// Bytes that it moves in the mean when so many commits came since the last time; `group` are those of the writer's
    /// group.
    pub fn mean_bytes(&self, commits: f64, group: f64) -> f64 {
        match self.amount {
            Amount::Group => group,
            Amount::Bytes(bytes) => bytes.get() as f64,
            Amount::Pages { page, pages, per_commit } => page.get() as f64 * (pages + per_commit * commits),
        }
    }
}
