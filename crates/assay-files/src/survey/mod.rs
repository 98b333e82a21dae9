//! A real directory as a description from which the like of it is made: how many files, how large, how deep, how many in
//! a directory, how long their names, how many links. Neither a name nor a path nor a byte of a file goes into it.

mod counts;
mod text;
mod walk;

pub use counts::{LeftOut, TreeCounts};
pub use text::tree_table;
pub use walk::{Remark, Survey, survey_tree};
