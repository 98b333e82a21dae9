//! One pass over the log. Memory grows with slices × flows, not with intervals.

pub mod cell;
pub mod changes;
pub mod clocks;
pub mod failures;
pub mod finish;
pub mod integrity;
pub mod late;
pub mod layout;
pub mod series;
pub mod steady;
pub mod step;
pub mod told;
pub mod window;
