//! Options that several verbs have, each group in a file of its own. Those of one verb stand beside it in `commands`.

mod access;
mod judged;
mod output;
mod pace;
mod search;
mod subject;

pub(crate) use access::Access;
pub(crate) use judged::Judged;
pub(crate) use output::Output;
pub(crate) use pace::Pace;
pub(crate) use search::Search;
pub(crate) use subject::Subject;
