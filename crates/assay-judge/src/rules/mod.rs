//! The rules of proof: whether a window is valid, what its figures are, and the outcome of a criterion over all
//! windows.

pub(crate) mod criterion;
pub(crate) mod delivered;
pub(crate) mod disk;
pub(crate) mod durability;
pub(crate) mod gauge;
pub(crate) mod lateness;
pub(crate) mod load;
pub(crate) mod loops;
pub(crate) mod own_lag;
pub(crate) mod pressure;
pub(crate) mod tally;
pub(crate) mod unfinished;
pub(crate) mod value;
pub(crate) mod worst;
