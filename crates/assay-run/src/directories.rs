//! Runs on a directory: clients that work on files in a directory of our own.
//!
//! All calls on the file system are made by another process, which is this program too: a process one of whose threads is
//! in a call that never returns can neither exit nor be killed. The process that was started by the user holds the log and
//! the verdict, and ends whatever the file system does. The two send each other lines ([`protocol`]) over two pipes.

mod activity;
mod carrying;
mod child;
mod connection;
mod findings;
mod links;
mod load;
mod protocol;
mod session;
mod target;

pub(crate) use carrying::DirectoryRun;
pub use child::serve_directory_calls;
pub(crate) use child::{FILE_SYSTEM_ID, MOUNT_NUMBER};
pub use connection::VERB;
pub(crate) use target::Directory;
pub use target::NamedDirectory;
