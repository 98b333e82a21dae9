//! The rules of proof, in the order in which they weigh.

pub mod broken;
pub mod criterion;
pub mod disk;
pub mod lateness;
pub mod load;
pub mod unfinished;
pub mod value;
