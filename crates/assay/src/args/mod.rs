//! Options that several verbs share, one group per file. Options of a single verb are in its file in `commands`.

mod access;
mod behind;
pub(crate) mod consent_file;
mod jobs;
mod judged;
mod live;
mod lookaside;
mod on_directory;
mod output;
mod pace;
mod ranks;
mod search;
mod subject;
mod tiles;

pub(crate) use access::Access;
pub(crate) use behind::BehindCache;
pub(crate) use jobs::{ActTest, Jobs};
pub(crate) use judged::Judged;
pub(crate) use live::{BesideRun, LiveLog};
#[cfg(feature = "live")]
pub(crate) use live::{ListenAddress, OtlpUrl, Serving};
pub(crate) use lookaside::Lookaside;
pub(crate) use on_directory::OnDirectory;
pub(crate) use output::Output;
pub(crate) use pace::Pace;
pub(crate) use ranks::{JoinHow, Ranks, join_hosts, leave_with_result};
pub(crate) use search::Search;
pub(crate) use subject::Subject;
pub(crate) use tiles::TileCount;
