//! The rules of proof: whether a window proves anything, what its figures are, and what becomes of a criterion over all of them.

pub mod criterion;
pub mod delivered;
pub mod disk;
pub mod gauge;
pub mod lateness;
pub mod load;
pub mod own_lag;
pub mod tally;
pub mod unfinished;
pub mod value;
pub mod worst;
