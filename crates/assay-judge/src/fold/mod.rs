//! One pass over the log. Memory grows with slices × flows, not with intervals.

pub mod cell;
pub mod distribution;
pub mod failures;
pub mod finish;
pub mod layout;
pub mod series;
pub mod step;
pub mod window;
