//! The directory of a run, with its log: the log is written, read, judged and continued here, and the results are written
//! beside it.

mod act_log;
pub mod growing;
pub mod header;
pub mod judging;
mod lock;
pub mod logfile;
pub mod marking;
pub(crate) mod marks;
pub mod reading;
pub(crate) mod reading_ahead;
pub(crate) mod remembered;
pub(crate) mod rest;
pub mod results;
pub(crate) mod resume;
pub mod rundir;
pub mod tool;
pub mod unfinished;
