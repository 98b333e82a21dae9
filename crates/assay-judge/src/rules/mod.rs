//! The rules of proof: whether a window proves anything, what its figures are, and what becomes of a criterion over all of them.

pub(crate) mod criterion;
pub(crate) mod delivered;
pub(crate) mod disk;
pub(crate) mod gauge;
pub(crate) mod lateness;
pub(crate) mod load;
pub(crate) mod own_lag;
pub(crate) mod tally;
pub(crate) mod unfinished;
pub(crate) mod value;
pub(crate) mod worst;
