//! Options that several verbs have, each group in a file of its own. Those of one verb stand beside it in `commands`.

mod access;
mod judged;
mod output;
mod pace;
mod search;
mod subject;

pub use access::Access;
pub use judged::Judged;
pub use output::Output;
pub use pace::Pace;
pub use search::Search;
pub use subject::Subject;
